"""The program `vtrain serve` for tests: processes, requests, tokens, certificates, and a clock that tests move.

VTRAIN names the program. VTRAIN_TEST_ROUNDS multiplies the number of random cases.
"""

import datetime
import http.client
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import unittest

PROGRAM = os.environ["VTRAIN"]
ROUNDS = float(os.environ.get("VTRAIN_TEST_ROUNDS", "1"))


def run(*arguments, text=""):
    """Runs the program to its end."""
    return subprocess.run([PROGRAM, *arguments], input=text, capture_output=True, text=True, timeout=120)


class Service:
    """A running service on a free port."""

    def __init__(self, *arguments, context=None):
        self.context = context
        self.process = subprocess.Popen(
            [PROGRAM, "serve", "--listen", "127.0.0.1:0", *arguments], stderr=subprocess.PIPE, text=True
        )
        self.log = []
        first = json.loads(self.process.stderr.readline())
        assert first["event"] == "listening", first
        self.port = first["port"]
        self.reader = threading.Thread(target=self._read_log)
        self.reader.start()

    def _read_log(self):
        for line in self.process.stderr:
            self.log.append(json.loads(line))

    def connect(self):
        """A connection that waits longer than the service works on a request."""
        if self.context:
            return http.client.HTTPSConnection("localhost", self.port, timeout=90, context=self.context)
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=90)

    def ask(self, method, path, body=None, token=None, headers=None):
        """Status and text of an answer."""
        connection = self.connect()
        headers = dict(headers or {})
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
        if token:
            headers["Authorization"] = "Bearer " + token
        if body is not None and not isinstance(body, (str, bytes)):
            body = json.dumps(body)
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        self.headers = response.headers
        return response.status, text

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(60)
        self.reader.join()
        self.process.stderr.close()
        return code


SECOND = 10**9  # in nanoseconds


def date(nanoseconds):
    """A time since 1970, exact to the nanosecond, as requests may have it."""
    whole, part = divmod(nanoseconds, SECOND)
    text = datetime.datetime.fromtimestamp(whole, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
    return text + (f".{part:09}" if part else "") + "Z"


def begin_text(nanoseconds):
    """A time as answers show it: the second that it is in."""
    return date(nanoseconds // SECOND * SECOND)


def end_text(nanoseconds):
    """The end of something as answers show it: the second by which it is over."""
    return date(-(-nanoseconds // SECOND) * SECOND)


def seconds_of(text):
    """Whole seconds since 1970 of a time in an answer."""
    return int(datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=datetime.timezone.utc).timestamp())


class JobService(Service):
    """A service with jobs on a simulated clock."""

    def __init__(self, state, *arguments, cluster="1x8:a100", context=None):
        super().__init__(
            "--simulated-clock", "--log", "events", "--state", str(state), "--cluster", cluster, *arguments, context=context
        )

    def json(self, method, path, body=None, expected=200, **more):
        """The answer to a request, whose status is as expected."""
        status, text = self.ask(method, path, body, **more)
        assert status == expected, (method, path, body, status, text)
        return json.loads(text)

    def submit(self, expected=201, token=None, headers=None, **body):
        return self.json("POST", "/v1/jobs", body, expected, token=token, headers=headers)

    def job(self, id_, token=None):
        return self.json("GET", f"/v1/jobs/{id_}", token=token)

    def move_clock(self, nanoseconds, token=None):
        self.json("POST", "/v1/clock", {"now": date(nanoseconds)}, token=token)

    def all_jobs(self, token=None):
        """All jobs, the newest first, by pages of the largest size."""
        jobs, cursor = [], ""
        while cursor is not None:
            page = self.json("GET", f"/v1/jobs?limit=1000&cursor={cursor}", token=token)
            jobs += page["jobs"]
            cursor = page["next"]
        return jobs

    def kill(self):
        """Ends the process at once, as a crash does."""
        self.process.kill()
        self.process.wait(60)
        self.reader.join()
        self.process.stderr.close()


class ServiceTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="vtrain-serve-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def serve(self, *arguments, context=None):
        service = Service(*arguments, context=context)
        self.addCleanup(lambda: service.process.poll() is None and service.stop())
        return service

    def serve_jobs(self, *arguments, state="state", **more):
        service = JobService(self.folder / state, *arguments, **more)
        self.addCleanup(lambda: service.process.poll() is None and service.stop())
        return service

    def new_token(self, role):
        made = run("serve", "--tokens", str(self.folder / "tokens"), "--new-token", role)
        self.assertEqual(made.returncode, 0, made.stderr)
        return made.stdout.strip()

    def new_certificate(self):
        """Files of a key and its certificate for `localhost`; needs the program openssl."""
        key, certificate = self.folder / "key.pem", self.folder / "certificate.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
            + ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate],
            check=True,
            capture_output=True,
        )
        return key, certificate
