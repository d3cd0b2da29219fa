"""`vtrain serve` under a mixed load for minutes, on a simulated clock that goes on: nothing grows but the list of jobs.

The rule: the first quarter warms up. From the second to the last quarter the mean resident memory grows by at most 16 MiB and 4 KiB for
each job that came between, which the service never forgets; the largest number of descriptors grows by at most 8. No answer has a status
of 5xx but 503. VTRAIN_SOAK_MINUTES says how long it takes, 5 by default.
"""

import http.client
import json
import os
import random
import statistics
import threading
import time
import unittest

from harness import SECOND, ServiceTest

MINUTES = float(os.environ.get("VTRAIN_SOAK_MINUTES", "5"))
T0 = 1_772_323_200 * SECOND
CLUSTER = "16x8:a100"
NODES = 16
PREDICTION = {"model": "gpt3-125m", "plan": {"data": 8, "global_batch": 64, "micro_batch": 1, "recompute": "none"}, "profile": "a100"}
MEMORY = 16 << 20
MEMORY_OF_A_JOB = 4 << 10
DESCRIPTORS = 8


class Load(threading.Thread):
    """A client with one connection that does one thing after the other."""

    def __init__(self, test, seed):
        super().__init__()
        self.test, self.random, self.live = test, random.Random(seed), []
        self.statuses = {}
        self.error = None

    def run(self):
        try:
            self.connection = self.test.service.connect()
            while not self.test.over.is_set():
                self.random.choices([self.submit, self.read, self.report, self.predict, self.spoil], [4, 6, 3, 4, 2])[0]()
            self.connection.close()
        except Exception as error:  # a thread's exception would be lost
            self.error = error

    def ask(self, method, path, body=None, headers=None):
        text = body if body is None or isinstance(body, bytes) else json.dumps(body)
        self.connection.request(method, path, text, dict(headers or {}, **{"Content-Type": "application/json"}))
        response = self.connection.getresponse()
        text = response.read()
        self.statuses[response.status] = self.statuses.get(response.status, 0) + 1
        return response.status, text

    def submit(self):
        body = {
            "model": self.random.choice(["gpt3-125m", "gpt3-1.3b", "gpt3-6.7b"]),
            "iterations": self.random.randint(10, 5000),
            "gpus": self.random.choice([1, 2, 4, 8, 16]),
            "rigid": self.random.random() < 0.3,
            "name": f"run-{self.random.random()}",
        }
        if self.random.random() < 0.9:
            body["deadline"] = f"{self.random.randint(1, 100)}h"
        if self.random.random() < 0.05:
            body.update(dry_run=True, deadline="10h")
        status, text = self.ask("POST", "/v1/jobs", body, {"Idempotency-Key": str(self.random.random())})
        if status == 201:
            job = json.loads(text)
            self.test.num_jobs += 1
            if job["admitted"]:
                self.live = self.live[-30:] + [job["id"]]

    def read(self):
        paths = ["/v1/jobs", "/v1/jobs?state=running&limit=1000", "/v1/cluster", "/metrics", "/readyz", "/openapi.json"]
        paths += [f"/v1/jobs/{id_}" for id_ in self.live[-3:]]
        if self.random.random() < 0.02:
            paths = ["/v1/eta"]
        self.ask("GET", self.random.choice(paths))

    def report(self):
        if not self.live:
            return
        id_ = self.random.choice(self.live)
        what = self.random.random()
        if what < 0.5:
            self.ask("POST", f"/v1/jobs/{id_}/progress", {"fraction": self.random.random()})
        elif what < 0.7:
            self.ask("POST", f"/v1/jobs/{id_}/completion", {"state": self.random.choice(["completed", "failed"])})
        elif what < 0.9:
            self.ask("DELETE", f"/v1/jobs/{id_}")
        else:
            node = f"node-{self.random.randint(1, NODES)}"
            self.ask("PUT", f"/v1/nodes/{node}", {"state": self.random.choice(["down", "drains"])})
            self.ask("PUT", f"/v1/nodes/{node}", {"state": "up"})

    def predict(self):
        plan = dict(PREDICTION["plan"], global_batch=8 * self.random.randint(1, 500))
        self.ask("POST", "/v1/predict", dict(PREDICTION, plan=plan))

    def spoil(self):
        """A request that is refused, or a connection that is cut."""
        if self.random.random() < 0.8:
            path = self.random.choice(["/v1/jobs", "/v1/predict", "/v1/jobs/1/progress", "/v1/nothing"])
            self.ask("POST", path, self.random.choice([b"{", b"[]", b'{"model": 1}', b"\xff", b'{"a":' * 100]))
            return
        other = http.client.HTTPConnection("127.0.0.1", self.test.service.port, timeout=60)
        other.putrequest("POST", "/v1/jobs")
        other.putheader("Content-Type", "application/json")
        other.putheader("Content-Length", "1000")
        other.endheaders()
        other.send(b'{"model"')
        other.close()


class Soak(ServiceTest):
    def figures(self):
        """Resident memory in bytes, descriptors, and jobs so far."""
        folder = f"/proc/{self.service.process.pid}"
        with open(folder + "/status") as status:
            memory = next(int(line.split()[1]) << 10 for line in status if line.startswith("VmRSS"))
        return memory, len(os.listdir(folder + "/fd")), self.num_jobs

    def test_nothing_grows(self):
        self.service = self.serve_jobs(cluster=CLUSTER)
        self.service.move_clock(T0)
        self.num_jobs = 0
        self.over = threading.Event()
        loads = [Load(self, seed) for seed in range(8)]
        for load in loads:
            load.start()
        begin, seconds = time.monotonic(), MINUTES * 60
        samples = [[] for _ in range(4)]
        try:
            while (passed := time.monotonic() - begin) < seconds:
                # Ten simulated minutes a second, so that jobs end.
                self.service.move_clock(T0 + int(passed * 600 * SECOND))
                samples[int(4 * passed / seconds)].append(self.figures())
                time.sleep(0.2)
        finally:
            self.over.set()
            for load in loads:
                load.join()
        self.assertEqual([load.error for load in loads], [None] * len(loads))
        statuses = {}
        for load in loads:
            for status, count in load.statuses.items():
                statuses[status] = statuses.get(status, 0) + count
        memory = [statistics.mean(sample[0] for sample in quarter) for quarter in samples]
        descriptors = [max(sample[1] for sample in quarter) for quarter in samples]
        jobs = [statistics.mean(sample[2] for sample in quarter) for quarter in samples]
        found = f"memory {[round(each / (1 << 20), 1) for each in memory]} MiB, descriptors {descriptors}, jobs {jobs}, {statuses}"
        print(found)
        self.assertTrue(all(status < 500 or status == 503 for status in statuses), found)
        self.assertLess(memory[3] - memory[1], MEMORY + MEMORY_OF_A_JOB * (jobs[3] - jobs[1]), found)
        self.assertLessEqual(descriptors[3], descriptors[1] + DESCRIPTORS, found)
        self.assertEqual(self.service.stop(), 0)


if __name__ == "__main__":
    unittest.main()
