"""`vtrain serve` as clients see it: answers, tokens, TLS, signals, and input that is wrong in every way.

VTRAIN names the program. VTRAIN_TEST_ROUNDS multiplies the number of random requests.
"""

import copy
import json
import random
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import unittest

from harness import ROUNDS, ServiceTest, run

PREDICTION = {
    "model": "llama3-8b",
    "plan": {"tensor": 2, "data": 4, "pipeline": 1, "global_batch": 64, "micro_batch": 1, "recompute": "none"},
    "profile": "h100",
    "stack": "megatron-core",
}
SEARCH = {"spec_version": 1, "model": "llama3-8b", "gpus": "8,16", "target": {"profile": "h100"}, "top": 2}


class Answers(ServiceTest):
    def test_predictions_are_those_of_the_command(self):
        service = self.serve()
        body = json.dumps(PREDICTION)
        expected = run("predict", "-", "--json", text=body)
        self.assertEqual(expected.returncode, 0, expected.stderr)
        for _ in range(2):  # computed, then kept
            self.assertEqual(service.ask("POST", "/v1/predict", body), (200, expected.stdout))
        self.assertEqual(service.stop(), 0)
        self.assertEqual([line["event"] for line in service.log], ["request", "request", "stopping", "stopped"])
        self.assertEqual(service.log[0]["path"], "/v1/predict")
        self.assertEqual(service.log[0]["status"], 200)

    def test_calibrated_predictions_are_those_of_the_command(self):
        service = self.serve("--calibrate", "published")
        body = json.dumps(PREDICTION)
        expected = run("predict", "-", "--json", "--calibrate", "published", text=body)
        self.assertEqual(service.ask("POST", "/v1/predict", body), (200, expected.stdout))

    def test_calibrated_searches_are_those_of_the_command(self):
        service = self.serve("--calibrate", "published")
        status, text = service.ask("POST", "/v1/plans", dict(SEARCH, target={"profile": "h100", "stack": "fsdp-eager"}))
        self.assertEqual(status, 200, text)
        plans = json.loads(text)
        self.assertEqual(service.ask("POST", "/v1/plans", {"spec": plans["spec"]}), (200, text))
        options = ("--profile", "h100", "--stack", "fsdp-eager", "--calibrate", "published", "--top", "2")
        expected = json.loads(run("plan", "llama3-8b", "--gpus", "8,16", *options, "--json").stdout)
        del plans["spec"], expected["spec"]
        self.assertEqual(plans, expected)

    def test_searches_are_those_of_the_command(self):
        service = self.serve()
        spec = self.folder / "spec.json"
        spec.write_text(json.dumps(SEARCH))
        expected = run("plan", "--spec", str(spec), "--json")
        self.assertEqual(expected.returncode, 0, expected.stderr)
        status, text = service.ask("POST", "/v1/plans", SEARCH)
        self.assertEqual((status, text), (200, expected.stdout))
        # What a search answers can be asked again.
        again = {"spec": json.loads(text)["spec"]}
        self.assertEqual(service.ask("POST", "/v1/plans", again), (200, expected.stdout))

    def test_errors_name_the_place(self):
        service = self.serve()

        def problem(path, body):
            status, text = service.ask("POST", path, body)
            self.assertEqual(service.headers["Content-Type"], "application/problem+json")
            found = json.loads(text)
            self.assertEqual(found["status"], status)
            return status, found.get("field"), found["detail"]

        def changed(base, **changes):
            body = copy.deepcopy(base)
            for key, value in changes.items():
                part = body
                *groups, last = key.split("__")
                for group in groups:
                    part = part[group]
                part[last] = value
            return body

        status, field, detail = problem("/v1/predict", changed(PREDICTION, plan__tensor="2"))
        self.assertEqual((status, field), (400, "plan.tensor"))
        self.assertIn("expected", detail)
        status, field, detail = problem("/v1/predict", changed(PREDICTION, model="lama3-8b"))
        self.assertIn("did you mean", detail)
        self.assertEqual(problem("/v1/predict", changed(PREDICTION, pln={}))[:2], (400, "pln"))
        self.assertEqual(problem("/v1/predict", "{")[0], 400)
        self.assertEqual(problem("/v1/predict", "")[0], 400)
        self.assertEqual(problem("/v1/plans", changed(SEARCH, gpus="zero"))[:2], (400, "gpus"))
        self.assertEqual(problem("/v1/plans", changed(SEARCH, target__headroom=99))[:2], (400, "target.headroom"))
        status, field, detail = problem("/v1/plans", changed(SEARCH, model="llama3-70b", gpus="1"))
        self.assertEqual((status, field), (422, "gpus"))
        self.assertIn("it fits on", detail)
        self.assertEqual(problem("/v1/plans", changed(SEARCH, gpus="1-4096"))[:2], (400, "gpus"))

    def test_requests_name_no_files(self):
        service = self.serve()
        model = self.folder / "model.json"
        model.write_text(json.dumps({"base": "llama3-8b"}))
        cluster = self.folder / "cluster.json"
        cluster.write_text(json.dumps({"groups": [{"num_nodes": 1, "gpus_per_node": 8, "gpu_type": "h100"}]}))
        bodies = []
        for name in (str(model), "/no/such/h100.json", "../../etc/passwd", "/dev/stdin", "-/", "missing.json"):
            bodies.append(("/v1/predict", dict(PREDICTION, model=name)))
            bodies.append(("/v1/predict", dict(PREDICTION, profile=name)))
            bodies.append(("/v1/plans", dict(SEARCH, model=name)))
            for key in ("cluster", "profile", "calibration"):
                bodies.append(("/v1/plans", dict(SEARCH, target={key: name})))
        bodies.append(("/v1/plans", dict(SEARCH, target={"cluster": str(cluster)})))
        bodies.append(("/v1/plans", dict(SEARCH, files={"a": {"path": "/etc/passwd", "sha256": "0" * 64}})))
        bodies.append(("/v1/plans", {"spec": dict(SEARCH, files={"a": {"path": "/etc/passwd", "sha256": "0"}})}))
        for path, body in bodies:
            status, text = service.ask("POST", path, body)
            self.assertEqual(status, 400, (body, text))
            self.assertNotIn("No such file", text)
            self.assertNotIn("root:", text)

    def test_the_service_describes_itself(self):
        service = self.serve()
        self.assertEqual(service.ask("GET", "/healthz"), (200, '{\n  "status": "ok"\n}\n'))
        self.assertEqual(service.ask("GET", "/readyz")[0], 200)
        document = json.loads(service.ask("GET", "/openapi.json")[1])
        self.assertEqual(document["openapi"], "3.1.0")
        self.assertIn("/v1/predict", document["paths"])
        for path, operations in document["paths"].items():
            for method in operations:
                # Each operation that is described is there, and no other.
                status, _ = service.ask(method.upper(), path, {} if method == "post" else None)
                self.assertIn(status, (200, 400), path)
        for path in ("/", "/v1/predict/x", "/v2/predict", "/metrics/"):
            self.assertEqual(service.ask("GET", path)[0], 404)
        self.assertEqual(service.ask("PUT", "/v1/predict", {})[0], 405)
        self.assertEqual(service.headers["Allow"], "POST")

    def test_metrics_are_what_prometheus_reads(self):
        service = self.serve("--cluster", "4x8:a100", "--state", str(self.folder / "state"))
        service.ask("POST", "/v1/predict", PREDICTION)
        service.ask("GET", "/no\"such")
        status, text = service.ask("GET", "/metrics")
        self.assertEqual(status, 200)
        self.assertIn('vtrain_http_requests_total{route="/v1/predict",method="POST",code="200"} 1\n', text)
        self.assertIn('vtrain_http_requests_total{route="",method="",code="404"} 1\n', text)
        if shutil.which("promtool") is None:
            self.skipTest("promtool is not installed")
        checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
        self.assertEqual((checked.returncode, checked.stdout + checked.stderr), (0, ""))


class Security(ServiceTest):
    def test_other_machines_need_tokens(self):
        for address in ("0.0.0.0:0", "[::]:0"):
            refused = run("serve", "--listen", address)
            self.assertEqual(refused.returncode, 2)
            self.assertIn("needs --tokens", refused.stderr)

    def test_roles(self):
        read = self.new_token("research:read")
        operate = self.new_token("platform:operate")
        self.assertNotIn(read.split("_")[2], (self.folder / "tokens").read_text())
        service = self.serve("--tokens", str(self.folder / "tokens"))
        self.assertEqual(service.ask("GET", "/healthz")[0], 200)
        self.assertEqual(service.ask("POST", "/v1/predict", PREDICTION)[0], 401)
        self.assertEqual(service.headers["WWW-Authenticate"], 'Bearer realm="vtrain"')
        self.assertEqual(service.ask("GET", "/metrics")[0], 401)
        for token in (read, operate):
            self.assertEqual(service.ask("POST", "/v1/predict", PREDICTION, token)[0], 200)
        for token in (read[:-1], read + "0", read.replace("vt_", "vt-"), "x", "vt_", "vt__", operate[:20] + read[20:]):
            self.assertEqual(service.ask("POST", "/v1/predict", PREDICTION, token)[0], 401)

    def test_tokens_are_read_again_on_sighup(self):
        first = self.new_token("research:read")
        service = self.serve("--tokens", str(self.folder / "tokens"))
        second = self.new_token("research:read")
        self.assertEqual(service.ask("GET", "/metrics", token=second)[0], 401)
        self.reload(service, "reloaded")
        self.assertEqual(service.ask("GET", "/metrics", token=second)[0], 200)
        (self.folder / "tokens").write_text("broken\n")
        self.reload(service, "cannot reload, the former stays")
        self.assertEqual(service.ask("GET", "/metrics", token=first)[0], 200)

    def reload(self, service, event):
        before = len(service.log)
        service.process.send_signal(signal.SIGHUP)
        for _ in range(200):
            if any(line["event"] == event for line in service.log[before:]):
                return
            threading.Event().wait(0.05)
        self.fail(f"no {event}: {service.log[before:]}")

    def test_requests_of_a_tenant_are_limited(self):
        token = self.new_token("a:read")
        other = self.new_token("b:read")
        service = self.serve("--tokens", str(self.folder / "tokens"), "--requests-per-second", "5")
        statuses = [service.ask("GET", "/metrics", token=token)[0] for _ in range(30)]
        self.assertIn(429, statuses)
        self.assertEqual(service.headers["Retry-After"], "1")
        self.assertEqual(service.ask("GET", "/metrics", token=other)[0], 200)

    def test_pages_of_others_cannot_post(self):
        service = self.serve()
        self.assertEqual(service.ask("POST", "/v1/predict", PREDICTION, headers={"Content-Type": "text/plain"})[0], 415)
        self.assertEqual(service.ask("POST", "/v1/predict", PREDICTION, headers={"Host": "evil.example"})[0], 421)

    def test_tls(self):
        if shutil.which("openssl") is None:
            self.skipTest("openssl is not installed")
        key, certificate = self.new_certificate()
        context = ssl.create_default_context(cafile=certificate)
        service = self.serve("--certificate", str(certificate), "--key", str(key), context=context)
        body = json.dumps(PREDICTION)
        expected = run("predict", "-", "--json", text=body).stdout
        self.assertEqual(service.ask("POST", "/v1/predict", body), (200, expected))
        old = ssl.create_default_context(cafile=certificate)
        old.set_ciphers("ALL:@SECLEVEL=0")
        old.minimum_version = ssl.TLSVersion.TLSv1
        old.maximum_version = ssl.TLSVersion.TLSv1_1
        with self.assertRaises((ssl.SSLError, ConnectionError)):
            with socket.create_connection(("localhost", service.port)) as plain:
                old.wrap_socket(plain, server_hostname="localhost")
        # A handshake that is cut anywhere, or is none.
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        hello = context.wrap_bio(incoming, outgoing, server_hostname="localhost")
        try:
            hello.do_handshake()
        except ssl.SSLWantReadError:
            pass
        hello = outgoing.read()
        for size in (0, 1, 5, 20, len(hello) - 1, len(hello)):
            with socket.create_connection(("localhost", service.port)) as client:
                client.sendall(hello[:size])
        with socket.create_connection(("localhost", service.port)) as client:
            client.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            client.settimeout(30)
            self.assertNotIn(b"200", client.recv(1000))
        self.assertEqual(service.ask("GET", "/healthz")[0], 200)
        self.assertEqual(service.stop(), 0)


class State(ServiceTest):
    def test_one_service_has_a_state_and_others_may_copy_it(self):
        state, copy_ = str(self.folder / "state"), str(self.folder / "copy")
        service = self.serve("--cluster", "4x8:a100", "--state", state)
        refused = run("serve", "--listen", "127.0.0.1:0", "--cluster", "4x8:a100", "--state", state)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("another service uses this state", refused.stderr)
        self.assertEqual(run("serve", "--backup", copy_, "--state", state).returncode, 0)
        self.assertEqual(run("serve", "--backup", copy_, "--state", state).returncode, 2)
        self.assertEqual(service.stop(), 0)
        self.assertEqual(self.serve("--cluster", "4x8:a100", "--state", copy_).stop(), 0)

    def test_other_files_are_refused_and_left(self):
        for content in ("text", "", "SQLite format 3\0" + "x" * 200):
            file = self.folder / "file"
            file.write_text(content)
            refused = run("serve", "--listen", "127.0.0.1:0", "--cluster", "4x8:a100", "--state", str(file))
            self.assertEqual(refused.returncode, 2)
            self.assertIn("expected the state of a vtrain service", refused.stderr)
            self.assertEqual(file.read_text(), content)


class WrongInput(ServiceTest):
    """Whatever a client sends: a status of 4xx, or an answer, and the service goes on."""

    ODD = [None, True, False, 0, -1, 1e308, -1e308, 2**63, -(2**63), 2**64, 10**400, 0.5, "", "x" * 5000, "\0", "../x", "é", "\ud800"]
    ODD += [[], [[]], [1, 2], {}, {"a": {}}, {"model": "llama3-8b"}]

    def mutate(self, value, random_):
        """A copy with a few parts replaced, removed or added."""
        value = copy.deepcopy(value)
        for _ in range(random_.randint(1, 3)):
            parts = [(value, key) for key in value]
            for part in list(value.values()):
                if isinstance(part, dict):
                    parts += [(part, key) for key in part]
            if not parts:
                return value
            part, key = random_.choice(parts)
            choice = random_.random()
            if choice < 0.15:
                del part[key]
            elif choice < 0.25:
                part[random_.choice(["x", "", "spec", "files", "experts", "context"])] = random_.choice(self.ODD)
            elif choice < 0.45:
                part[key] = random_.choice([1, 2, 3, 8, 64, 1000, 10**6, 10**9])
            else:
                part[key] = random_.choice(self.ODD)
        return value

    def check(self, service, path, body):
        status, text = service.ask("POST", path, body)
        self.assertTrue(status == 200 or 400 <= status < 500, (status, path, body, text))
        self.assertIsNone(service.process.poll())
        json.loads(text)

    def test_mutated_bodies(self):
        random_ = random.Random(1)
        service = self.serve("--log", "events")
        for _ in range(int(150 * ROUNDS)):
            self.check(service, "/v1/predict", self.mutate(PREDICTION, random_))
            self.check(service, "/v1/plans", self.mutate(SEARCH, random_))
        self.assertEqual(service.stop(), 0)

    def test_mutated_bytes(self):
        random_ = random.Random(2)
        service = self.serve("--log", "events")
        for _ in range(int(100 * ROUNDS)):
            body = bytearray(json.dumps(random_.choice([PREDICTION, SEARCH])).encode())
            for _ in range(random_.randint(1, 6)):
                body[random_.randrange(len(body))] = random_.randrange(256)
            self.check(service, random_.choice(["/v1/predict", "/v1/plans"]), bytes(body))

    def test_nesting_and_size(self):
        service = self.serve()
        for body in ("[" * 100_000, '{"a":' * 40_000, "[" * 50_000 + "]" * 50_000, '{"model":' + "[" * 1000 + "]" * 1000 + "}"):
            for path in ("/v1/predict", "/v1/plans"):
                self.assertEqual(service.ask("POST", path, body)[0], 400)
        self.assertEqual(service.ask("POST", "/v1/predict", "[" + "0," * 200_000 + "0]")[0], 413)

    def test_bytes_that_are_no_request(self):
        random_ = random.Random(3)
        service = self.serve("--log", "events")
        body = json.dumps(PREDICTION)
        good = (
            "POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}"
        ).encode()
        for _ in range(int(100 * ROUNDS)):
            request = bytearray(good)
            for _ in range(random_.randint(1, 8)):
                at = random_.randrange(len(request))
                request[at : at + random_.randint(0, 3)] = bytes(random_.randrange(256) for _ in range(random_.randint(0, 3)))
            request = request[: random_.randint(1, len(request))]
            with socket.create_connection(("127.0.0.1", service.port), timeout=60) as client:
                client.sendall(request)
                client.shutdown(socket.SHUT_WR)
                answer = b""
                while piece := client.recv(65536):
                    answer += piece
            for line in answer.split(b"\r\n"):
                if line.startswith(b"HTTP/1.1 "):
                    self.assertIn(line.split(b" ")[1][:1], b"124", (request, answer))
        self.assertEqual(service.ask("GET", "/healthz")[0], 200)
        self.assertEqual(service.stop(), 0)


if __name__ == "__main__":
    unittest.main()
