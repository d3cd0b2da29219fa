"""Random requests to every route of `vtrain serve`, made from the schemas of its /openapi.json.

Whatever comes, the answer has a status of 2xx or 4xx (503 where the service says that it is busy), is valid JSON of the described kind,
and a refused request changes nothing. VTRAIN_TEST_ROUNDS multiplies the number of requests.
"""

import json
import random
import shutil
import socket
import ssl
import string
import unittest
import urllib.parse

from harness import ROUNDS, SECOND, ServiceTest, date
from kubernetes_test import review

T0 = 1_772_323_200 * SECOND  # 2026-03-01T00:00:00Z
MEMORY_GROWTH = 256 << 20

# What `scontrol show job` prints.
DUMP = "JobId=7 JobName=run UserId=a(1) Account=a JobState=RUNNING StartTime=2026-03-01T00:00:00 TresPerNode=gres:gpu:8 NumNodes=1"
# Bodies that are accepted, to begin with.
BODIES = {
    ("post", "/v1/jobs"): [
        {"model": "gpt3-125m", "iterations": 1000, "deadline": "10d"},
        {"model": "gpt3-1.3b", "tokens": "1B", "deadline": "2026-06-01T00:00:00Z", "gpus": 8, "name": "a", "global_batch": 64},
        {"model": "gpt3-1.3b", "iterations": 100, "gpus": 4, "rigid": True, "gpu_type": "a100"},
        {"model": "gpt3-1.3b", "iterations": 100, "deadline": "1d", "dry_run": True},
    ],
    ("post", "/v1/predict"): [
        {"model": "gpt3-125m", "plan": {"data": 8, "global_batch": 64, "micro_batch": 1, "recompute": "none"}, "profile": "a100"}
    ],
    ("post", "/v1/jobs/{id}/progress"): [{"fraction": 0.5}],
    ("post", "/v1/jobs/{id}/completion"): [{"state": "completed"}, {"state": "failed"}],
    ("put", "/v1/nodes/{name}"): [{"state": "down"}, {"state": "up"}, {"state": "drains"}],
    ("post", "/v1/kubernetes/validate"): [review("a"), review("b", dryRun=True), review("c", operation="DELETE")],
    ("post", "/v1/clock"): [{"now": f"2026-03-{day:02}T00:00:00Z"} for day in range(2, 30)],
    ("put", "/v1/snapshot"): [{"jobs": []}, {"dumps": [DUMP]}, {"dumps": [DUMP, "NodeName=node-1 State=IDLE Gres=gpu:8"]}],
    ("post", "/v1/plans"): [{"spec_version": 1, "model": "gpt3-125m", "gpus": "8", "target": {"profile": "a100"}, "top": 1}],
}
ODD = [None, True, False, 0, -1, 1, 0.5, 1e308, -1e308, 2**31, 2**63, -(2**63), 2**64, 10**400, "", "x", "0", "-1", "1e999", "NaN"]
ODD += ["x" * 300, "x" * 70_000, "\0", "\x7f", "a\nb", "../x", "é", "\ud800", "10d", "1B", "a100", "/dev/stdin", [], [[]], [1, "a"], {}]
ODD += [{"a": {}}, {"model": "gpt3-125m"}]


def nested(depth):
    value = 1
    for _ in range(depth):
        value = [value]
    return value


class Fuzz(ServiceTest):
    def setUp(self):
        super().setUp()
        self.random = random.Random(1)
        self.tokens = [self.new_token(role) for role in ("a:submit", "b:submit", "a:read", "platform:operate")]
        self.operator = self.tokens[-1]

    def begin(self, *arguments, context=None):
        self.service = self.serve_jobs("--tokens", str(self.folder / "tokens"), *arguments, cluster="2x8:a100", context=context)
        self.service.move_clock(T0, token=self.operator)
        for number, token in enumerate(self.tokens[:2] * 3):
            self.service.submit(model="gpt3-1.3b", iterations=1000 + number, deadline="30d", token=token)
        self.document = self.service.json("GET", "/openapi.json")
        self.now = T0
        return self.service

    def memory(self):
        with open(f"/proc/{self.service.process.pid}/status") as status:
            return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmRSS"))

    def state(self):
        """All that can be seen of the jobs."""
        ask = self.service.ask
        return [ask("GET", path, token=self.operator) for path in ("/v1/jobs?limit=1000", "/v1/cluster")]

    # Requests.

    def value_of(self, schema):
        """A value that the schema allows, or nearly."""
        if "enum" in schema:
            return self.random.choice(schema["enum"])
        kind = schema.get("type")
        if isinstance(kind, list):
            kind = self.random.choice(kind)
        if kind == "integer" or kind == "number":
            low, high = schema.get("minimum", 0), schema.get("maximum", 1000)
            near = [low, low + 1, high, high - 1, low - 1, high + 1, 1, 2, 8, 64, self.random.randint(1, 1000)]
            value = self.random.choice(near)
            return int(value) if kind == "integer" else value * self.random.choice([1, 0.5])
        if kind == "boolean":
            return self.random.random() < 0.5
        if kind == "array":
            return [self.value_of(schema.get("items", {})) for _ in range(self.random.randint(0, 3))]
        if kind == "object":
            return {key: self.value_of(part) for key, part in schema.get("properties", {}).items() if self.random.random() < 0.5}
        choices = ["gpt3-125m", "10d", "1h", "1B", "a100", "a", "2026-04-01T00:00:00Z", date(self.now + SECOND), "x", ""]
        return self.random.choice(choices)

    def object_of(self, method, path, schema):
        known = BODIES.get((method, path))
        if known and self.random.random() < 0.7:
            body = dict(self.random.choice(known))
        else:
            body = self.value_of(dict(schema, type="object"))
        for _ in range(self.random.choice([0, 0, 1, 2])):
            keys = list(schema.get("properties", {})) + list(body)
            if not keys:
                break
            key, how = self.random.choice(keys), self.random.random()
            if how < 0.2:
                body.pop(key, None)
            elif how < 0.3:
                body[self.random.choice(["", "x", key.upper(), key + " ", "dry_run", "model"])] = self.random.choice(ODD)
            elif how < 0.35:
                body[key] = nested(self.random.choice([10, 63, 64, 65, 500]))
            elif how < 0.65:
                body[key] = self.value_of(schema.get("properties", {}).get(key, {}))
            else:
                body[key] = self.random.choice(ODD)
        return body

    def bytes_of(self, body):
        """The text of a body, sometimes broken."""
        text = json.dumps(body, ensure_ascii=self.random.random() < 0.8).encode(errors="surrogatepass")
        how = self.random.uniform(0.4, 1)
        if how < 0.8:
            return text
        if how < 0.83:
            return text[: self.random.randrange(len(text) + 1)]
        if how < 0.85:
            return text.replace(b'"', b"'")
        if how < 0.88:  # the first key twice
            first = text[1:].split(b",")[0].rstrip(b"}")
            return b"{" + first + b"," + text[1:] if first else text
        if how < 0.92:
            at = self.random.randrange(len(text))
            return text[:at] + self.random.choice([b"\xff", b"\xc3", b"\xed\xa0\x80", b"\0", b"NaN", b"1e999", b"//"]) + text[at:]
        if how < 0.96:
            return self.random.choice([b"", b"null", b"NaN", b"[]", b"{}", b'"x"', b"[" * 100_000, b'{"a":' * 50_000, b"\xef\xbb\xbf" + text])
        broken = bytearray(text)
        for _ in range(self.random.randint(1, 5)):
            broken[self.random.randrange(len(broken))] = self.random.randrange(256)
        return bytes(broken)

    def word(self, name):
        """A value of a parameter."""
        good = {"id": range(1, 60), "job": range(1, 60), "cursor": range(1, 60), "limit": [1, 10, 1000], "name": ["node-1", "node-2"]}
        if self.random.random() < 0.7:
            return str(self.random.choice(good.get(name, ["running", "refused", "waiting", "completed"])))
        odd = ["", "x", "1" * 30, "9223372036854775807", "9223372036854775808", "%00", "%", "%zz", "%2F", "..", "%ff", "a" * 3000, "é", "+", "1.0"]
        return self.random.choice(odd + ["".join(self.random.choices(string.printable[:94], k=5))])

    def path_of(self, path, operation):
        query = []
        for parameter in operation.get("parameters", []):
            if parameter["in"] == "path":
                path = path.replace("{" + parameter["name"] + "}", urllib.parse.quote(self.word(parameter["name"]), safe="%"))
            elif self.random.random() < 0.5:
                query.append(parameter["name"] + "=" + urllib.parse.quote(self.word(parameter["name"]), safe="%=&?"))
        if self.random.random() < 0.05:
            query.append(urllib.parse.quote(self.word(""), safe="%=&?"))
        return path + ("?" + "&".join(query) if query else "")

    def request_of(self, method, path, operation):
        """Bytes of a request that closes its connection, and whether its sender has a token."""
        headers = {"Host": "localhost", "Connection": "close"}
        how = self.random.random()
        if how < 0.8:
            headers["Authorization"] = "Bearer " + self.random.choice(self.tokens + [self.operator] * 3)
        elif how < 0.95:
            good = self.operator
            headers["Authorization"] = self.random.choice(["Bearer x", "Bearer " + good[:-1], "Basic YTpi", "Bearer", "Bearer " + "x" * 5000])
        if self.random.random() < 0.2:
            headers["Idempotency-Key"] = self.random.choice(["key-1", "key-2", "x" * 257, "é", "a\tb", ""])
        body = b""
        if "requestBody" in operation:
            ((_, content),) = operation["requestBody"]["content"].items()
            body = self.bytes_of(self.object_of(method, path, content["schema"]))
            kinds = ["application/json"] * 9 + ["text/plain", "application/json; charset=utf-8", "application/x-www-form-urlencoded", ""]
            headers["Content-Type"] = self.random.choice(kinds)
        elif self.random.random() < 0.1:
            body = b"{}"
        length = len(body) if self.random.random() < 0.97 else self.random.choice([0, len(body) + 10, len(body) // 2, -1, 10**12])
        if "requestBody" in operation or body:
            headers["Content-Length"] = str(length)
        line = f"{method.upper()} {self.path_of(path, operation)} HTTP/1.1\r\n"
        head = line + "".join(f"{name}: {value}\r\n" for name, value in headers.items()) + "\r\n"
        return head.encode() + body

    def send(self, request):
        """The answer to bytes: status, headers and body; None for a connection that is closed without one."""
        answer = b""
        with socket.create_connection(("127.0.0.1", self.service.port), timeout=60) as client:
            try:
                client.sendall(request)
                client.shutdown(socket.SHUT_WR)
                while piece := client.recv(65536):
                    answer += piece
            except ConnectionError:
                pass  # it was refused while it was sent
        if not answer:
            return None
        head, _, body = answer.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines[1:])
        return int(lines[0].split(" ")[1]), headers, body

    def check(self, request, operation):
        """Sends a request and checks its answer; True if it may have changed something."""
        answer = self.send(request)
        place = (request[:2000], answer and answer[0], answer and answer[2][:2000])
        self.assertIsNone(self.service.process.poll(), place)
        if answer is None:
            return False
        status, headers, body = answer
        self.assertTrue(200 <= status < 300 or 400 <= status < 500 or (status == 503 and "retry-after" in headers), place)
        if status >= 400:
            self.assertEqual(headers["content-type"], "application/problem+json", place)
            problem = json.loads(body)
            self.assertEqual(problem["status"], status, place)
            self.assertTrue(problem["title"] and problem["detail"], place)
            return False
        self.assertIn(str(status), operation["responses"], place)
        if headers["content-type"] == "application/json":
            schema = operation["responses"][str(status)]["content"]["application/json"]["schema"]
            self.conforms(json.loads(body), schema, place)
        return True

    def conforms(self, value, schema, place):
        """A value is as its schema says."""
        kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float), "null": type(None)}
        kind = schema.get("type", [])
        allowed = [kinds[each] for each in ([kind] if isinstance(kind, str) else kind)]
        if allowed:
            self.assertTrue(any(isinstance(value, each) for each in allowed), (value, schema, place))
        if "enum" in schema:
            self.assertIn(value, schema["enum"], place)
        if isinstance(value, list):
            for each in value:
                self.conforms(each, schema.get("items", {}), place)
        if isinstance(value, dict):
            for key, part in value.items():
                self.conforms(part, schema.get("properties", {}).get(key, {}), place)
            for key in schema.get("required", []):
                self.assertIn(key, value, place)

    def operations(self):
        return [(method, path, each) for path, methods in self.document["paths"].items() for method, each in methods.items()]

    def test_requests_made_from_the_schemas(self):
        self.begin()
        operations = self.operations()
        # Routes that change jobs are asked more often, searches less.
        weights = [1 if path == "/v1/plans" else 5 if "jobs" in path else 3 if method != "get" else 1 for method, path, _ in operations]
        answered = {}
        before, memory = self.state(), None
        for number in range(int(1500 * ROUNDS)):
            method, path, operation = self.random.choices(operations, weights)[0]
            request = self.request_of(method, path, operation)
            if self.check(request, operation):
                answered[method, path] = answered.get((method, path), 0) + 1
                if method != "get":
                    before = self.state()
            elif method != "get":
                self.assertEqual(self.state(), before, request[:2000])
            if number % 50 == 49:  # time goes on, and jobs end
                now = json.loads(before[1][1])["now"]
                self.service.ask("POST", "/v1/clock", {"now": now.replace("Z", ".5Z")}, token=self.operator)
                live = [job["id"] for job in self.service.all_jobs(token=self.operator) if job["state"] in ("waiting", "running")]
                for id_ in live[20:]:
                    self.service.ask("DELETE", "/v1/jobs/" + id_, token=self.operator)
                before = self.state()
            if number == 200:
                memory = self.memory()
        self.assertLess(self.memory(), memory + MEMORY_GROWTH)
        # Requests that are all refused test little: each route has answered some.
        self.assertEqual({(method, path) for method, path, _ in operations} - answered.keys(), set())
        self.assertEqual(self.service.stop(), 0)
        # What was accepted can be repeated.
        again = self.serve_jobs("--tokens", str(self.folder / "tokens"), cluster="2x8:a100")
        self.assertEqual(again.ask("GET", "/v1/jobs?limit=1000", token=self.operator), before[0])

    def test_broken_tls(self):
        if shutil.which("openssl") is None:
            self.skipTest("openssl is not installed")
        key, certificate = self.new_certificate()
        context = ssl.create_default_context(cafile=certificate)
        self.begin("--certificate", str(certificate), "--key", str(key), context=context)
        before = self.state()
        body = json.dumps(BODIES["post", "/v1/jobs"][0]).encode()
        head = f"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self.operator}\r\n"
        request = (head + f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n").encode() + body
        for _ in range(int(60 * ROUNDS)):
            incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
            tls = context.wrap_bio(incoming, outgoing, server_hostname="localhost")
            with socket.create_connection(("127.0.0.1", self.service.port), timeout=30) as client:
                try:
                    self.break_tls(client, tls, incoming, outgoing, request)
                except OSError:
                    pass  # the service has hung up
            self.assertIsNone(self.service.process.poll())
        self.assertEqual(self.state(), before)
        self.assertEqual(self.service.stop(), 0)

    def break_tls(self, client, tls, incoming, outgoing, request):
        """Speaks TLS up to a point, and then cuts or breaks what is sent."""
        is_broken_at_once = self.random.random() < 0.5
        while True:
            try:
                tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                sent = outgoing.read()
                if is_broken_at_once and self.random.random() < 0.7:
                    client.sendall(self.broken(sent))
                    return
                client.sendall(sent)
                piece = client.recv(65536)
                if not piece:
                    return
                incoming.write(piece)
        client.sendall(outgoing.read())
        # Without its last byte the request is not complete, so nothing may happen.
        tls.write(request[: self.random.randrange(1, len(request))])
        client.sendall(self.broken(outgoing.read()))

    def broken(self, data):
        at = self.random.randrange(len(data))
        how = self.random.random()
        if how < 0.4:
            return data[:at]
        if how < 0.7:
            return data[:at] + bytes([data[at] ^ (1 << self.random.randrange(8))]) + data[at + 1 :]
        return data + bytes(self.random.randrange(256) for _ in range(self.random.randint(1, 40)))


if __name__ == "__main__":
    unittest.main()
