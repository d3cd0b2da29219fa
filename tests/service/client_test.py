"""integrations/python/vtrain_client.py against `vtrain serve`, and against a service whose answers are given.

VTRAIN names the program.
"""

import http.server
import json
import os
import pathlib
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "integrations/python"))
from vtrain_client import Client, Problem  # noqa: E402

PLAN = {"tensor": 2, "data": 4, "pipeline": 1, "global_batch": 64, "micro_batch": 1, "recompute": "none"}


class Script(http.server.BaseHTTPRequestHandler):
    """Answers with the next of the server's answers: status, headers, body; None cuts the connection. Keeps the requests."""

    protocol_version = "HTTP/1.1"

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.requests.append((self.command, self.path, json.loads(body) if body else None, self.headers))
        answer = self.server.answers.pop(0)
        self.close_connection = True
        if answer is None:
            return
        status, headers, document = answer
        text = document if isinstance(document, bytes) else json.dumps(document).encode()
        self.send_response(status)
        for key, value in {"Content-Length": str(len(text)), **headers}.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_DELETE = answer

    def log_message(self, *_):
        pass


class Requests(unittest.TestCase):
    def script(self, *answers, **options):
        """A client of a service with some answers."""
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Script)
        self.server.answers, self.server.requests = list(answers), []
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        return Client(f"http://127.0.0.1:{self.server.server_port}", **options)

    def test_requests(self):
        client = self.script(*[(200, {}, {"ok": True})] * 9, token="vt_x")
        client.predict("m", PLAN, profile="h100")
        client.plans(model="m", gpus="8")
        client.submit("m", "1B", deadline="1d", dry_run=True)
        client.job("1/2")
        client.progress("17", 0.5)
        client.completion("17")
        client.cancel("17")
        client.cluster()
        client.eta("17")
        self.assertEqual(
            [request[:3] for request in self.server.requests],
            [
                ("POST", "/v1/predict", {"model": "m", "plan": PLAN, "profile": "h100"}),
                ("POST", "/v1/plans", {"model": "m", "gpus": "8"}),
                ("POST", "/v1/jobs", {"model": "m", "tokens": "1B", "deadline": "1d", "dry_run": True}),
                ("GET", "/v1/jobs/1%2F2", None),
                ("POST", "/v1/jobs/17/progress", {"fraction": 0.5}),
                ("POST", "/v1/jobs/17/completion", {"state": "completed"}),
                ("DELETE", "/v1/jobs/17", None),
                ("GET", "/v1/cluster", None),
                ("GET", "/v1/eta?job=17", None),
            ],
        )
        for method, _, _, headers in self.server.requests:
            self.assertEqual(headers["Authorization"], "Bearer vt_x")
            self.assertEqual("Idempotency-Key" in headers, method == "POST")

    def test_pages(self):
        pages = [
            {"jobs": [{"id": "3"}, {"id": "2"}], "next": "a b&"},
            {"jobs": [], "next": "c"},
            {"jobs": [{"id": "1"}], "next": None},
        ]
        client = self.script(*[(200, {}, page) for page in pages])
        self.assertEqual([job["id"] for job in client.jobs(state="running", limit=2)], ["3", "2", "1"])
        start = "/v1/jobs?state=running&limit=2"
        self.assertEqual([request[1] for request in self.server.requests], [start, start + "&cursor=a+b%26", start + "&cursor=c"])

    def test_requests_are_repeated(self):
        busy = {"title": "Service Unavailable", "status": 503, "detail": "too many wait"}
        client = self.script(None, (503, {"Retry-After": "1"}, busy), (200, {}, b'{"id": "1"}'))
        begin = time.monotonic()
        self.assertEqual(client.submit("m", "1B"), {"id": "1"})
        self.assertGreaterEqual(time.monotonic() - begin, 1.1)
        self.assertEqual(len({request[3]["Idempotency-Key"] for request in self.server.requests}), 1)
        client = self.script((429, {}, {}), (200, {}, {}))
        client.cancel("1")
        client = self.script((200, {"Content-Length": "99"}, {"cut": 1}), (200, {}, {}))
        self.assertEqual(client.cluster(), {})
        client = self.script(*[(503, {"Retry-After": "Sat, 28 Nov 2026 17:00:00 GMT"}, busy)] * 2, retries=1)
        with self.assertRaises(Problem) as caught:
            client.cluster()
        self.assertEqual((caught.exception.status, caught.exception.detail), (503, "too many wait"))
        # Nobody waits an hour in a call.
        client = self.script((503, {"Retry-After": "3600"}, busy))
        self.assertRaises(Problem, client.cluster)

    def test_problems(self):
        for document, field, text in (
            ({"title": "Bad Request", "status": 400, "detail": "expected a number", "field": "gpus"}, "gpus", "400: gpus: expected a number"),
            (b"<html>", None, "400: <html>"),
            ([1], None, "400: [1]"),
            (b"\xff", None, "400: \ufffd"),
            ({}, None, "400: "),
        ):
            client = self.script((400, {}, document))
            with self.assertRaises(Problem) as caught:
                client.submit("m", "1B")
            self.assertEqual((caught.exception.status, caught.exception.field, str(caught.exception)), (400, field, text))

    def test_tokens_stay_where_they_belong(self):
        client = self.script((307, {"Location": "http://127.0.0.1:1/"}, {}), token="vt_x")
        with self.assertRaises(Problem) as caught:
            client.cluster()
        self.assertEqual(caught.exception.status, 307)
        for url, token in (
            ("http://example.org", "x"),
            ("http://localhost.example.org", "x"),
            ("file://localhost/etc/passwd", None),
            ("127.0.0.1:8080", None),
        ):
            self.assertRaises(ValueError, Client, url, token)
        Client("http://example.org")
        Client("https://example.org", "x", context=ssl.create_default_context())

    def test_nobody_answers(self):
        begin = time.monotonic()
        self.assertRaises(OSError, Client("http://127.0.0.1:1", retries=2).cluster)
        self.assertLess(time.monotonic() - begin, 5)
        silent = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(silent.close)
        self.assertRaises(OSError, Client(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout=0.2, retries=1).cluster)


class OfService(unittest.TestCase):
    """Against the program."""

    def serve(self, *arguments):
        process = subprocess.Popen(
            [os.environ["VTRAIN"], "serve", "--listen", "127.0.0.1:0", "--log", "events", *arguments],
            stderr=subprocess.PIPE, text=True,
        )
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        return f"http://127.0.0.1:{json.loads(process.stderr.readline())['port']}"

    def test_predictions_and_plans(self):
        client = Client(self.serve())
        self.assertGreater(client.predict("llama3-8b", PLAN, profile="h100")["iteration_time_s"], 0)
        self.assertIn("best", client.plans(spec_version=1, model="llama3-8b", gpus="8", target={"profile": "h100"}, top=2))
        with self.assertRaises(Problem) as caught:
            client.predict("lama3-8b", PLAN)
        self.assertEqual((caught.exception.status, caught.exception.field), (400, "model"))
        self.assertIn("did you mean", caught.exception.detail)

    def test_jobs(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        client = Client(self.serve("--cluster", "2x8:a100", "--state", folder.name + "/state.db"))
        job = client.submit("gpt3-13b", "1M", "key", deadline="2d", gpus=8, rigid=True, name="a")
        self.assertEqual((job["state"], job["promised"], job["held_gpus"]), ("running", True, 8))
        self.assertEqual(client.submit("gpt3-13b", "1M", "key", deadline="2d", gpus=8, rigid=True, name="a")["id"], job["id"])
        self.assertTrue(client.job(job["id"])["forecast"]["in_time"])
        client.submit("gpt3-13b", "1M", deadline="2d", gpus=8, dry_run=True)
        others = [client.submit("gpt3-13b", "1M", gpus=8, name=name)["id"] for name in "bc"]
        self.assertEqual([each["name"] for each in client.jobs(limit=1)], ["c", "b", "a"])
        self.assertEqual(client.submit("gpt3-13b", "300B", deadline="1h")["state"], "refused")
        self.assertEqual([each["state"] for each in client.jobs(state="refused")], ["refused"])
        self.assertEqual(client.progress(job["id"], 0.5)["state"], "running")
        self.assertEqual(client.completion(job["id"])["state"], "completed")
        self.assertEqual(client.cancel(others[0])["state"], "cancelled")
        self.assertEqual(client.cluster()["gpus"], 16)
        self.assertEqual([each["id"] for each in client.eta()["jobs"]], others[1:])
        with self.assertRaises(Problem) as caught:
            client.job("999")
        self.assertEqual(caught.exception.status, 404)


if __name__ == "__main__":
    unittest.main()
