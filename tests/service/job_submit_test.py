"""integrations/slurm/job_submit.lua without Slurm: comments, GPUs, time limits, and whatever a service may answer.

Needs Lua 5.1 and lua-socket, Debian's `lua5.1 lua-socket`; exit code 77 without them. VTRAIN_TEST_ROUNDS multiplies the random answers.
"""

import json
import os
import pathlib
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

SCRIPT = pathlib.Path(__file__).parents[2] / "integrations/slurm/job_submit.lua"
ROUNDS = float(os.environ.get("VTRAIN_TEST_ROUNDS", "1"))
UNSET = 4294967294
COMMENT = "vtrain: model=gpt3-13b tokens=300B deadline=10d"

# What slurmctld gives the script, and the calls of one process.
DRIVER = """
local function print_line(kind) return function(format, ...) print(kind .. " " .. string.format(format, ...)) end end
slurm = {SUCCESS = 0, ERROR = -1, log_info = print_line("info"), log_error = print_line("error"), log_user = print_line("user")}
assert(dofile(arg[1]) == slurm.SUCCESS)
for _, call in ipairs(dofile(arg[2])) do
  local code = call.record and slurm_job_modify(call.job, call.record, {}, call.user) or slurm_job_submit(call.job, {}, 1000)
  print("code " .. code)
  print("comment " .. tostring(call.job.comment))
  print("limit " .. tostring(call.job.time_limit))
end
"""


def lua(value):
    """A value as Lua writes it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {lua(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "{" + ", ".join(map(lua, value)) + "}"
    if isinstance(value, (str, bytes)):
        data = value.encode() if isinstance(value, str) else value
        return '"' + "".join(f"\\{byte:03d}" for byte in data) + '"'
    return json.dumps(value)


def answer_of(document, status="201 Created"):
    body = json.dumps(document).encode()
    return f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def job_answer(**changes):
    return answer_of(
        {"id": "17", "state": "waiting", "admitted": True, "promised": True, "reason": None, "time_limit_s": 3660, **changes}
    )


class Service:
    """Answers each connection with the next of some bytes; None: never. Keeps the requests."""

    def __init__(self, *answers, pause_s=0):
        self.answers = answers
        self.pause_s = pause_s
        self.heads, self.bodies = [], []
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.socket.getsockname()[1]
        self.open = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        for answer in self.answers:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            self.open.append(client)
            with client.makefile("rb") as stream:
                head = b""
                while (line := stream.readline()) not in (b"\r\n", b""):
                    head += line
                fields = dict(line.split(": ", 1) for line in head.decode().splitlines()[1:])
                self.heads.append(fields)
                self.bodies.append(json.loads(stream.read(int(fields["Content-Length"]))))
            if answer is None:
                continue
            try:
                if self.pause_s:
                    for byte in answer:
                        client.sendall(bytes([byte]))
                        time.sleep(self.pause_s)
                else:
                    client.sendall(answer)
            except OSError:
                pass
            client.close()

    def close(self):
        for each in [self.socket, *self.open]:
            each.close()


class JobSubmit(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="vtrain-lua-"))
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "driver.lua").write_text(DRIVER)

    def service(self, *answers, **options):
        service = Service(*answers, **options)
        self.addCleanup(service.close)
        return service

    def calls(self, calls, port=9, **settings):
        """Runs calls in one process. Returns for each a dictionary with code, comment, limit, and what was said to user and log."""
        text = SCRIPT.read_text()
        for key, value in {"port": port, "token_file": "", **settings}.items():
            old = next(line for line in text.splitlines() if line.startswith(f"  {key} = "))
            text = text.replace(old, f"  {key} = {lua(value)},", 1)
        (self.folder / "job_submit.lua").write_text(text)
        (self.folder / "calls.lua").write_text("return " + lua(calls))
        begin = time.monotonic()
        done = subprocess.run(
            ["lua5.1", *(self.folder / f"{name}.lua" for name in ("driver", "job_submit", "calls"))],
            capture_output=True, timeout=60,
        )
        self.seconds = time.monotonic() - begin
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        made, now = [], {}
        for line in done.stdout.decode(errors="surrogateescape").splitlines():
            kind, _, rest = line.partition(" ")
            now[kind] = rest
            if kind == "limit":
                made.append(now)
                now = {}
        self.assertEqual(len(made), len(calls))
        return made

    def submit(self, service, settings=None, **job):
        """One job of 8 GPUs on two nodes, with changes."""
        fields = {"comment": COMMENT, "min_nodes": 2, "tres_per_node": "gres:gpu:4", "time_limit": UNSET, **job}
        fields = {key: value for key, value in fields.items() if value is not None}
        port = {} if service is None else {"port": service.port}
        return self.calls([{"job": fields}], **port, **(settings or {}))[0]

    def ask(self, answer=None, **job):
        """Submits a job to a service with one answer. Returns the outcome and the body of the request."""
        service = self.service(answer or job_answer())
        made = self.submit(service, **job)
        return made, service.bodies[0] if service.bodies else None

    def test_an_admitted_job(self):
        made, body = self.ask(
            name='a "b"\\', account="nlp",
            comment="my run; vtrain: model=gpt3-13b  tokens=300B deadline=10d global_batch=512",
        )
        self.assertEqual(
            body,
            {"model": "gpt3-13b", "tokens": "300B", "deadline": "10d", "global_batch": 512, "name": 'a "b"\\', "tenant": "nlp", "gpus": 8, "rigid": True},
        )
        self.assertEqual(made["code"], "0")
        self.assertEqual(made["comment"], "my run; vtrain: job=17 model=gpt3-13b  tokens=300B deadline=10d global_batch=512")
        self.assertEqual(made["limit"], "61")
        self.assertEqual(made["user"], "vtrain: job 17, in time for its deadline; time limit 61 min")
        self.assertTrue(made["info"].startswith("vtrain: user 1000: job 17"))

    def test_iterations_in_place_of_tokens(self):
        _, body = self.ask(comment='vtrain: model="gpt3-13b" iterations=500 plan="tensor=8"')
        self.assertEqual(body, {"model": "gpt3-13b", "iterations": 500, "gpus": 8, "rigid": True})

    def test_a_refused_job(self):
        answer = job_answer(
            state="refused", admitted=False, promised=False, reason="64 GPUs are promised %s\n é",
            earliest_deadline="2026-12-05T12:00:00Z",
        )
        made, _ = self.ask(answer)
        self.assertEqual(made["code"], "-1")
        self.assertEqual(
            made["user"], "vtrain: refused: 64 GPUs are promised %s  é; the earliest deadline is 2026-12-05T12:00:00Z",
        )
        self.assertEqual(made["comment"], COMMENT)

    def test_other_jobs_pass_untouched(self):
        for comment in (None, "", "llama3", "vtrain model=x", "VTRAIN: model=x"):
            made = self.submit(None, comment=comment)
            self.assertEqual(
                (made["code"], made["comment"], made["limit"]),
                ("0", comment if comment is not None else "nil", str(UNSET)),
            )
            self.assertNotIn("user", made)

    def test_time_limits(self):
        for asked, answer, limit, said in (
            (UNSET, 3661, "62", "time limit 62 min"),
            (4294967295, 60, "1", "shortened to 1 min"),
            (100, 3600, "60", "shortened to 60 min"),
            (60, 3600, "60", None),
            (59, 3600, "59", "shorter than the 60 min"),
            (UNSET, None, str(UNSET), None),
            (UNSET, -1, str(UNSET), None),
            (UNSET, 1e300, str(UNSET), None),
        ):
            made, _ = self.ask(job_answer(time_limit_s=answer), time_limit=asked)
            self.assertEqual((made["code"], made["limit"]), ("0", limit))
            self.assertIn(said or "in time for its deadline", made["user"])
        service = self.service(job_answer(time_limit_s=3600))
        self.assertEqual(self.submit(service, {"shorten_time_limits": False}, time_limit=100)["limit"], "100")

    def test_gpus(self):
        nothing = {"tres_per_node": None, "min_nodes": None}
        for job, gpus, kind in (
            ({"tres_per_node": "gres:gpu:a100:4"}, 8, "a100"),
            ({"tres_per_node": "gres/gpu:h100=4,gres:mps:100"}, 8, "h100"),
            ({"tres_per_node": "gres:gpu"}, 2, None),
            ({"tres_per_node": "gpu:a100"}, 2, "a100"),
            ({"tres_per_node": "gres:gpu:a100:2,gres:gpu:a100:1"}, 6, "a100"),
            ({"min_nodes": UNSET}, 4, None),
            ({"max_nodes": 2}, 8, None),
            ({"min_nodes": UNSET, "num_tasks": 16, "ntasks_per_node": 8}, 8, None),
            ({**nothing, "tres_per_job": "gres:gpu:12"}, 12, None),
            ({**nothing, "tres_per_task": "gres:gpu:2", "num_tasks": 6}, 12, None),
            ({"tres_per_node": None, "tres_per_task": "gres:gpu:1", "ntasks_per_node": 8}, 16, None),
            ({"tres_per_node": None, "tres_per_socket": "gres:gpu:2", "sockets_per_node": 2}, 8, None),
            ({"tres_per_node": "gres:gpu:a100_80:4"}, 8, "a100_80"),
        ):
            made, body = self.ask(**job)
            self.assertEqual(made["code"], "0", made)
            self.assertEqual((body["gpus"], body.get("gpu_type")), (gpus, kind), job)
        service = self.service(job_answer())
        self.submit(service, {"gpu_types": {"a100_80": "a100"}}, tres_per_node="gres:gpu:a100_80:4")
        self.assertEqual(service.bodies[0]["gpu_type"], "a100")

    def test_jobs_that_cannot_be_asked_for(self):
        for job, said in (
            ({"tres_per_node": None}, "no GPUs"),
            ({"tres_per_node": "gres:gpus:4"}, "no GPUs"),
            ({"tres_per_node": "gres:gpu:0"}, "no GPUs"),
            ({"tres_per_node": "gres:gpu:x:y:4"}, "not understood"),
            ({"tres_per_node": "gres:gpu:a100:1,gres:gpu:h100:1"}, "several types"),
            ({"max_nodes": 4}, "a range"),
            ({"min_nodes": UNSET, "num_tasks": 16}, "-N"),
            ({"array_inx": "0-3"}, "job array"),
            ({"tres_per_node": None, "tres_per_socket": "gres:gpu:2"}, "sockets"),
            ({"comment": "vtrain: model=gpt3-13b deadline=1d"}, "either tokens= or"),
            ({"comment": COMMENT + " iterations=5"}, "either tokens= or"),
            ({"comment": "vtrain:"}, "no model="),
            ({"comment": "vtrain: hello %s%n"}, "understood at 'hello %s%n'"),
            ({"comment": COMMENT + " x=1"}, "unknown key, 'x'"),
            ({"comment": COMMENT + " model=a"}, "model= twice"),
            ({"comment": COMMENT + ' plan="a'}, "not understood"),
            ({"comment": COMMENT + ' plan="a"b'}, "not understood"),
            ({"comment": COMMENT + ' plan=a"b"'}, "not understood"),
            ({"comment": COMMENT + " global_batch=1}"}, "global_batch="),
            ({"comment": "vtrain: model=a iterations=007"}, "iterations="),
        ):
            made = self.submit(None, **job)
            self.assertEqual(made["code"], "0")
            self.assertIn(said, made["user"])
            self.assertIn("no promise for this job, since it", made["user"])
            self.assertNotIn("job_submit.lua", made["error"])
            self.assertEqual(self.submit(None, {"without_answer": "refuse"}, **job)["code"], "-1")

    def test_ids_come_from_the_service_alone(self):
        for text in ("job=99 model=gpt3-13b tokens=1B", "model=gpt3-13b job=99 tokens=1B", "job=99"):
            made, _ = self.ask(comment="vtrain: " + text)
            self.assertNotIn("99", made["comment"])
            self.assertNotIn("99", self.submit(None, comment="vtrain:" + text)["comment"])
        for id_ in ('1 x', "", 17, "9" * 65, None, {}, "1\n2"):
            made, _ = self.ask(job_answer(id=id_))
            self.assertEqual((made["code"], made["comment"]), ("0", COMMENT))
            self.assertIn("no job that waits or runs", made["user"])

    def test_changes(self):
        record = {"comment": "vtrain: job=17 model=gpt3-13b"}
        for before, after, expected, user in (
            (record, "vtrain: job=99 model=x", "vtrain: job=17 model=x", 1000),
            (record, "vtrain:", "vtrain: job=17", 1000),
            (record, "other", "other", 1000),
            (record, None, "nil", 1000),
            ({}, "vtrain: job=5 x", "vtrain: x", 1000),
            (record, "vtrain: job=99", "vtrain: job=99", 0),
        ):
            job = {"comment": after} if after is not None else {"time_limit": 5}
            made = self.calls([{"job": job, "record": before, "user": user}])[0]
            self.assertEqual((made["code"], made["comment"]), ("0", expected))

    def test_texts_of_all_bytes(self):
        every = bytes(range(1, 256)).replace(b'"', b"").replace(b" ", b"")
        _, body = self.ask(
            name=every + "é€😀".encode() + b"\xed\xa0\x80\xc0\xaf\xf5\x80\x80\x80\xe2\x82",
            comment=b"vtrain: model=" + every + b" tokens=1",
        )
        self.assertTrue(body["name"].startswith("".join(map(chr, range(1, 32)))))
        self.assertTrue(body["name"].endswith("é€😀???" + "??" + "????" + "??"))
        made, _ = self.ask(job_answer(state="refused", reason="é€😀 \\ / \" \x7f \u0001"))
        self.assertTrue(made["user"].endswith('é€😀 \\ / "    '), made["user"])
        raw = answer_of({}).replace(b"Content-Length: 2", b"Content-Length: 99")[:-2]
        body = b'{"state": "refused", "reason": "\\ud83d\\ude00\\u20ac\\u00e9\\ud83d\\u0041\\/"}'
        made, _ = self.ask(raw.replace(b"99", str(len(body)).encode()) + body)
        self.assertEqual(made["user"], "vtrain: refused: 😀€é?A/")

    def test_errors_of_the_service(self):
        problem = {"title": "Bad Request", "status": 400, "detail": "unknown model 'x'", "field": "model"}
        for status, body, said in (
            ("400 Bad Request", problem, "answers 400, model: unknown model 'x'"),
            ("503 Busy", {"title": "busy"}, "answers 503, busy"),
            ("500 Oops", {}, "answers 500, without a reason"),
            ("429 Slow", [], "answers 429"),
            ("302 Found", {}, "answers 302"),
        ):
            made, _ = self.ask(answer_of(body, status))
            self.assertEqual((made["code"], made["comment"], made["limit"]), ("0", COMMENT, str(UNSET)))
            self.assertIn(said, made["user"])
            self.assertIn(said, made["error"])
            made = self.submit(self.service(answer_of(body, status)), {"without_answer": "refuse"})
            self.assertEqual(made["code"], "-1")
            self.assertIn("refused, since the service " + said, made["user"])

    def test_a_service_that_is_slow_or_down(self):
        made = self.submit(None, {"port": 1})
        self.assertIn("cannot be reached: connection refused", made["user"])
        for service in (self.service(None), self.service(), self.service(job_answer(), pause_s=0.1)):
            made = self.submit(service)
            self.assertIn("does not answer in 2 s", made["user"])
            self.assertTrue(1.9 < self.seconds < 2.8, self.seconds)
            self.assertEqual((made["code"], made["limit"]), ("0", str(UNSET)))
        self.assertIn("one of this machine", self.submit(None, {"address": "example.org"})["user"])

    def test_tokens(self):
        token = self.folder / "token"
        for text, header in (("vt_a_b\n", "Bearer vt_a_b"), ("a.b~c+/=", "Bearer a.b~c+/=")):
            token.write_text(text)
            service = self.service(job_answer())
            self.assertEqual(self.submit(service, {"token_file": str(token)})["limit"], "61")
            self.assertEqual(service.heads[0]["Authorization"], header)
        for text in ("", "a b", "a\r\nX-Role: operate", "é"):
            token.write_text(text)
            self.assertIn("no token in", self.submit(None, {"token_file": str(token)})["user"])
        self.assertIn("no token: ", self.submit(None, {"token_file": str(self.folder / "missing")})["user"])

    def test_keys(self):
        job = {"comment": COMMENT, "tres_per_job": "gres:gpu:8"}
        for behaviour, is_same in (("refuse", True), ("pass", False)):
            # The third job is another one: the first answer has come with the second.
            service = self.service(b"", job_answer(), job_answer())
            codes = [
                each["code"] for each in self.calls([{"job": dict(job)} for _ in range(3)], port=service.port, without_answer=behaviour)
            ]
            self.assertEqual(codes, ["-1" if is_same else "0", "0", "0"])
            keys = [head["Idempotency-Key"] for head in service.heads]
            self.assertEqual((keys[0] == keys[1], len(set(keys))), (is_same, 2 if is_same else 3))
            self.assertTrue(all(len(key) == 32 for key in keys))

    def test_answers_that_are_none(self):
        good = job_answer()
        bodies = [
            b"", b"[", b"{", b"null", b"1", b'"x"', b"[1,]", b'{"a"}', b'{"a":}', b'{"id": "17"', b"[" * 100000,
            b'{"a":' * 50000, b"\0", b'{"id": "\x01"}', b'"\\u12"', b'"\\x"', b"-", b"1e", b"1.2.3", b"truefalse",
            b"{} {}", b'{"state": "done"}', b'{"id": {}, "state": "waiting"}', b"[" * 64 + b"]" * 64,
        ]
        answers = [f"HTTP/1.1 201 Created\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body for body in bodies]
        answers += [
            b"", b"HTTP/1.1", b"HTTP/1.1 201 Created\r\n", b"\r\n\r\n", good[:-1], good[:60], b"SSH-2.0-x\r\n\r\n",
            b"HTTP/1.1 201 x\r\n\r\n{}", b"x" * 300000, good.replace(b"Content-Length", b"Length"),
            good.replace(b"Content-Length: ", b"Content-Length: 9999999999999999"), good.replace(b"201", b"99999"),
        ]
        random_ = random.Random(1)
        for _ in range(int(300 * ROUNDS)):
            answer = bytearray(good)
            for _ in range(random_.randint(1, 4)):
                at = random_.randrange(len(answer))
                answer[at : at + random_.randint(0, 3)] = bytes(random_.randrange(256) for _ in range(random_.randint(0, 3)))
            answers.append(bytes(answer))
        service = self.service(*answers)
        job = {"comment": COMMENT, "tres_per_job": "gres:gpu:8"}
        made = self.calls([{"job": dict(job)} for _ in answers], port=service.port)
        for answer, each in zip(answers, made):
            self.assertNotIn("job_submit.lua", each["user"], answer[:200])
            self.assertTrue(each["code"] == "0" or "refused: " in each["user"], (answer, each))
        for answer, each in list(zip(answers, made))[: len(bodies) + 12]:
            self.assertIn("no promise for this job, since the service", each["user"], answer[:200])


if __name__ == "__main__":
    if shutil.which("lua5.1") is None or subprocess.run(
        ["lua5.1", "-e", "require 'socket'"], capture_output=True,
    ).returncode != 0:
        print("skipped: Lua 5.1 and lua-socket are not installed")
        sys.exit(77)
    unittest.main()
