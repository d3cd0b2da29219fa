"""Figures of `vtrain serve` on the loopback, as a table: medians of several runs. Needs wrk; asserts nothing.

    python3 tests/bench/serve_bench.py --program build/release/bin/vtrain
"""

import argparse
import http.client
import json
import os
import pathlib
import re
import resource
import signal
import socket
import statistics
import subprocess
import tempfile
import time

PREDICTION = {"model": "llama3-8b", "plan": {"tensor": 2, "data": 4, "global_batch": 64, "micro_batch": 1, "recompute": "none"}, "profile": "h100"}
# Weeks on 8 GPUs, and a deadline far off.
JOB = {"model": "gpt3-1.3b", "iterations": 400_000, "gpus": 8, "rigid": True, "deadline": "300d"}
LIVE_JOBS = 1000

POST = """
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.body = [[%s]]
"""

# Each job that is admitted is cancelled again, so that the number of live jobs stays.
ADMIT_AND_CANCEL = """
local body, ids = [[%s]], {}
local headers = {["Content-Type"] = "application/json"}
function request()
  local id = table.remove(ids, 1)
  if id then return wrk.format("DELETE", "/v1/jobs/" .. id, headers) end
  return wrk.format("POST", "/v1/jobs", headers, body)
end
function response(status, _, text)
  if status == 201 then table.insert(ids, text:match('"id": "(%%d+)"')) end
end
"""


class Service:
    def __init__(self, program, *arguments):
        command = [program, "serve", "--listen", "127.0.0.1:0", "--log", "events", *arguments]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self.port = json.loads(self.process.stderr.readline())["port"]

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, json.dumps(body) if body else None, {"Content-Type": "application/json"})
        text = connection.getresponse().read()
        connection.close()
        return json.loads(text)

    def resident_bytes(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmRSS"))

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        self.process.stderr.close()


def milliseconds(text):
    number, unit = re.fullmatch(r"([\d.]+)(us|ms|s|m)", text).groups()
    return float(number) * {"us": 1e-3, "ms": 1, "s": 1000, "m": 60_000}[unit]


def wrk(service, folder, script, connections, seconds, path):
    """Requests a second, p50 and p99 in milliseconds, and answers that are not 2xx."""
    file = folder / "script.lua"
    file.write_text(script)
    command = ["wrk", "--latency", "-t1", f"-c{connections}", f"-d{seconds}s", "-s", file, f"http://127.0.0.1:{service.port}{path}"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    refused = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
    found = lambda pattern: re.search(pattern, text)[1]
    return (
        float(found(r"Requests/sec:\s+([\d.]+)")),
        milliseconds(found(r"\n +50% +(\S+)")),
        milliseconds(found(r"\n +99% +(\S+)")),
        int(refused[1]) if refused else 0,
    )


def syncs_a_second(folder, seconds=2):
    """Rate at which the disk makes pages of 4 KiB durable, one after the other."""
    file = os.open(folder / "page", os.O_RDWR | os.O_CREAT, 0o600)
    begin, count = time.monotonic(), 0
    while time.monotonic() - begin < seconds:
        os.pwrite(file, b"x" * 4096, 4096 * count)
        os.fdatasync(file)
        count += 1
    os.close(file)
    return count / seconds


class Bench:
    def __init__(self, arguments):
        self.arguments = arguments
        self.rows = []

    def row(self, name, runs, form):
        """The median of each figure; refusals are added."""
        figures = [statistics.median(run[i] for run in runs) for i in range(3)]
        refused = sum(run[3] for run in runs)
        self.rows.append((name, form.format(*figures) + (f", {refused} refused" if refused else "")))
        print(*self.rows[-1], flush=True)

    def repeat(self, work):
        return [work() for _ in range(self.arguments.runs)]

    def predictions(self, folder):
        service = Service(self.arguments.program)
        script = POST % json.dumps(PREDICTION)
        wrk(service, folder, script, 64, 1, "/v1/predict")
        runs = self.repeat(lambda: wrk(service, folder, script, 64, self.arguments.seconds, "/v1/predict"))
        self.row("known predictions, 64 connections", runs, "{:,.0f} a second, p50 {:.1f} ms, p99 {:.1f} ms")
        service.stop()

    def jobs(self, folder):
        state = str(folder / "state")
        service = Service(self.arguments.program, "--cluster", "2000x8:a100", "--state", state)
        for _ in range(LIVE_JOBS):
            job = service.ask("POST", "/v1/jobs", JOB)
            assert job["promised"], job
        for connections in (1, 16, 64):
            syncs = []

            def measure():
                syncs.append(syncs_a_second(folder))
                return wrk(service, folder, ADMIT_AND_CANCEL % json.dumps(JOB), connections, self.arguments.seconds, "/v1/jobs")

            runs = self.repeat(measure)
            disk = f"; the disk alone {statistics.median(syncs):,.0f} syncs a second"
            name = f"admissions and cancellations, {connections} connections, {LIVE_JOBS:,} live jobs"
            self.row(name, runs, "{:,.0f} a second, p50 {:.1f} ms, p99 {:.1f} ms" + disk)
        live = service.ask("GET", "/v1/cluster")["jobs"]
        times = self.repeat(lambda: self.time_of(service, dict(JOB, dry_run=True)))
        name = f"dry run, {live['running'] + live['waiting']:,} live jobs"
        self.rows.append((name, f"{statistics.median(times):.2f} s"))
        print(*self.rows[-1], flush=True)
        for path in ("/v1/jobs?limit=100", "/v1/cluster", "/v1/jobs/500"):
            runs = self.repeat(lambda: wrk(service, folder, "", 8, self.arguments.seconds, path))
            self.row(f"GET {path}, 8 connections", runs, "{:,.0f} a second, p50 {:.1f} ms, p99 {:.1f} ms")
        service.stop()
        begin = time.monotonic()
        service = Service(self.arguments.program, "--cluster", "2000x8:a100", "--state", state)
        last = service.ask("GET", "/v1/jobs?limit=1")["jobs"][0]["id"]
        self.rows.append((f"start with {int(last):,} jobs in the state", f"{time.monotonic() - begin:.2f} s"))
        service.stop()

    def time_of(self, service, body):
        begin = time.monotonic()
        service.ask("POST", "/v1/jobs", body)
        return time.monotonic() - begin

    def idle_connections(self):
        number = 10_000
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        service = Service(self.arguments.program)
        service.ask("POST", "/v1/predict", PREDICTION)
        before = service.resident_bytes()
        connections = [socket.create_connection(("127.0.0.1", service.port)) for _ in range(number)]
        for connection in connections:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        for connection in connections:
            assert connection.recv(4096).startswith(b"HTTP/1.1 200")
        figures = f"{service.resident_bytes() / 1e6:.0f} MB resident, {before / 1e6:.0f} MB before"
        self.rows.append((f"{number:,} idle connections", figures))
        for connection in connections:
            connection.close()
        service.stop()

    def table(self):
        print("\n| what | measured |\n|---|---|")
        for name, figures in self.rows:
            print(f"| {name} | {figures} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default="build/bench/bin/vtrain")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=5)
    bench = Bench(parser.parse_args())
    with tempfile.TemporaryDirectory() as folder:
        bench.predictions(pathlib.Path(folder))
        bench.idle_connections()
        bench.jobs(pathlib.Path(folder))
    bench.table()


if __name__ == "__main__":
    main()
