"""The routes of jobs of `vtrain serve`, with answers worked out by hand.

The clock is simulated. Most jobs are rigid and take all eight GPUs of one node, so that they run one after the other: R is the time of
such a job, which is its iterations times the iteration time of the best plan of `vtrain plan`.
"""

import json
import shutil
import subprocess
import threading
import unittest

from harness import SECOND, ServiceTest, begin_text, date, end_text, run, seconds_of

T0 = 1_772_323_200 * SECOND  # 2026-03-01T00:00:00Z
ITERATIONS = 10_000
RIGID = {"model": "gpt3-1.3b", "iterations": ITERATIONS, "gpus": 8, "rigid": True}
ELASTIC = {"model": "gpt3-1.3b", "iterations": ITERATIONS, "gpus": 8}
MINUTE = 60 * SECOND
# Plans of several jobs leave less than a millisecond unused, as relative speeds are rounded.
SLACK = SECOND // 1000


class JobTest(ServiceTest):
    @classmethod
    def setUpClass(cls):
        found = run("plan", "gpt3-1.3b", "--gpus", "8", "--profile", "a100", "--json")
        plan = json.loads(found.stdout)["best"]
        # The predictor rounds an iteration to a nanosecond.
        cls.R = round(plan["iteration_time_s"] * SECOND) * ITERATIONS

    def start(self, *arguments, now=T0, cost="none", **more):
        service = self.serve_jobs("--interruption-cost", cost, *arguments, **more)
        if "--tokens" not in arguments:
            service.move_clock(now)
        return service

    def problem(self, service, method, path, body=None, token=None):
        """Status and field of a problem."""
        status, text = service.ask(method, path, body, token=token)
        found = json.loads(text)
        self.assertEqual(service.headers["Content-Type"], "application/problem+json", text)
        self.assertEqual(found["status"], status)
        return status, found.get("field")


class Decisions(JobTest):
    def test_a_job_that_runs_at_once(self):
        service = self.start()
        job = service.submit(**RIGID, name="first", deadline="10d")
        self.assertEqual(service.headers["Location"], "/v1/jobs/1")
        run_time = job.pop("run_time_s")
        self.assertAlmostEqual(run_time, self.R / SECOND, 9)
        limit = job.pop("time_limit_s")
        self.assertEqual(limit % 60, 0)
        self.assertGreater(limit, run_time)
        expected = {
            "id": "1", "name": "first", "tenant": "", "model": "gpt3-1.3b", "tokens": 10_000 * 512 * 2048.0, "iterations": 10_000,
            "submitted": "2026-03-01T00:00:00Z", "deadline": "2026-03-11T00:00:00Z", "gpus": 8, "elastic": False, "state": "running",
            "admitted": True, "promised": True, "reason": None, "held_gpus": 8, "started": "2026-03-01T00:00:00Z", "ended": None,
            "progress": 0, "source": "service", "external_id": None,
        }  # fmt: skip
        self.assertEqual(job, expected)
        forecast = {"start": "2026-03-01T00:00:00Z", "end": end_text(T0 + self.R), "in_time": True}
        self.assertEqual(service.job(1)["forecast"], forecast)
        service.move_clock(T0 + self.R // 4)
        self.assertAlmostEqual(service.job(1)["progress"], 0.25, 6)
        service.move_clock(T0 + self.R)
        done = service.job(1)
        self.assertEqual((done["state"], done["ended"], done["progress"]), ("completed", end_text(T0 + self.R), 1))
        self.assertEqual((done["held_gpus"], done["started"]), (0, "2026-03-01T00:00:00Z"))
        self.assertNotIn("forecast", done)

    def test_jobs_one_after_the_other(self):
        service = self.start()
        R = self.R
        self.assertTrue(service.submit(**RIGID, deadline=date(T0 + R))["promised"])
        second = service.submit(**RIGID, deadline=date(T0 + 2 * R + SLACK))
        self.assertEqual((second["state"], second["promised"], second["held_gpus"]), ("waiting", True, 0))
        forecast = {"start": begin_text(T0 + R), "end": end_text(T0 + 2 * R), "in_time": True}
        self.assertEqual(service.job(2)["forecast"], forecast)
        third = service.submit(**RIGID, deadline=date(T0 + 3 * R - 1))
        self.assertEqual((third["state"], third["admitted"], third["promised"]), ("refused", False, False))
        self.assertEqual(third["reason"], "the GPUs that it needs until its deadline are promised to other jobs")
        # The first whole minute from now by which three of them are done.
        earliest = T0 + -(-3 * R // MINUTE) * MINUTE
        self.assertEqual(third["earliest_deadline"], date(earliest))
        self.assertNotIn("earliest_deadline", service.job(3))
        for deadline, answer in [(earliest - MINUTE, "no"), (earliest, "yes"), (earliest + MINUTE, "yes")]:
            asked = service.submit(200, **RIGID, deadline=date(deadline), dry_run=True)
            self.assertEqual(asked["answer"], answer, deadline)
        self.assertFalse(service.submit(**RIGID, deadline=date(earliest - MINUTE))["promised"])
        self.assertTrue(service.submit(**RIGID, deadline=date(earliest))["promised"])
        self.assertEqual([job["id"] for job in service.all_jobs()], ["5", "4", "3", "2", "1"])
        service.move_clock(T0 + 3 * R)
        ends = [(job["state"], job["ended"]) for job in service.all_jobs()]
        refused = ("refused", date(T0))
        expected = [("completed", end_text(T0 + 3 * R)), refused, refused]
        self.assertEqual(ends, expected + [("completed", end_text(T0 + 2 * R)), ("completed", end_text(T0 + R))])
        promises = service.json("GET", "/v1/cluster")["promises"]
        self.assertEqual(promises, {"open": 0, "kept": 3, "broken": 0, "at_risk": []})

    def test_a_deadline_before_the_run_time(self):
        service = self.start()
        # 10,000 iterations of 5.3675 s.
        job = service.submit(**RIGID, deadline=date(T0 + self.R - 1))
        self.assertEqual(job["state"], "refused")
        self.assertIn("the deadline is too early: alone on 8 GPUs it would take 14 h 55 m", job["reason"])
        self.assertEqual(job["earliest_deadline"], date(T0 + -(-self.R // MINUTE) * MINUTE))
        self.assertEqual(service.submit(**RIGID, deadline=date(T0 + self.R))["state"], "running")

    def test_an_earliest_deadline_is_a_whole_second_that_suffices(self):
        # So many whole minutes before the time from which it would be promised, which is within a second.
        needed = T0 + 2 * self.R + SLACK
        service = self.start()
        service.submit(**RIGID, deadline=date(T0 + self.R))
        service.move_clock(needed - (needed - T0) // MINUTE * MINUTE)
        refused = service.submit(**RIGID, deadline="1d")
        self.assertEqual(refused["earliest_deadline"], end_text(needed))
        self.assertTrue(service.submit(**RIGID, deadline=refused["earliest_deadline"])["promised"])

    def test_jobs_without_deadline_yield(self):
        service = self.start()
        R = self.R
        best_effort = service.submit(**RIGID)
        self.assertEqual((best_effort["state"], best_effort["deadline"], best_effort["promised"]), ("running", None, False))
        service.move_clock(T0 + R // 2)
        urgent = service.submit(**RIGID, deadline=date(T0 + R // 2 + R))
        self.assertEqual((urgent["state"], urgent["promised"]), ("running", True))
        first = service.job(1)
        self.assertEqual((first["state"], first["held_gpus"]), ("waiting", 0))
        self.assertAlmostEqual(first["progress"], 0.5, 6)
        self.assertEqual(first["forecast"]["end"], end_text(T0 + 2 * R))
        self.assertTrue(first["forecast"]["in_time"])
        service.move_clock(T0 + 2 * R + SECOND)
        self.assertEqual([job["state"] for job in service.all_jobs()], ["completed", "completed"])

    def test_fewest_gpus_are_requested_by_default(self):
        service = self.start()
        slow = service.submit(model="gpt3-1.3b", iterations=ITERATIONS, deadline="30d")
        self.assertEqual((slow["gpus"], slow["elastic"]), (1, True))
        fast = service.submit(model="gpt3-1.3b", iterations=ITERATIONS, rigid=True, deadline=date(T0 + self.R))
        self.assertEqual((fast["gpus"], fast["elastic"], fast["promised"]), (8, False, True))

    def test_tokens_are_iterations(self):
        service = self.start()
        by_tokens = service.submit(model="gpt3-1.3b", tokens="10B", gpus=8, rigid=True)
        # An iteration trains 512 sequences of 2,048 tokens: 10^10 / 1,048,576 = 9,536.74.
        self.assertEqual((by_tokens["iterations"], by_tokens["tokens"]), (9537, 1e10))
        self.assertAlmostEqual(by_tokens["run_time_s"], self.R / ITERATIONS * 9537 / SECOND, 6)

    def test_dry_runs_are_those_of_the_command(self):
        service = self.start()
        expected = run(
            *("admit", "gpt3-1.3b", "--tokens", "10B", "--deadline", "20h", "--gpus", "8", "--rigid", "--cluster", "1x8:a100"),
            *("--policy", "deadline:unpromised=reject", "--placement", "consolidate", "--interruption-cost", "none", "--json"),
        )
        self.assertEqual(expected.returncode, 0, expected.stderr)
        body = {"model": "gpt3-1.3b", "tokens": "10B", "deadline": "20h", "gpus": 8, "rigid": True}
        found = service.submit(200, **body, dry_run=True)
        self.assertEqual(found.pop("now"), date(T0))
        expected = json.loads(expected.stdout)
        expected.setdefault("tenant", "")
        self.assertEqual(found, expected)
        self.assertEqual(service.all_jobs(), [])
        self.assertEqual(self.problem(service, "POST", "/v1/jobs", dict(RIGID, dry_run=True)), (400, "deadline"))

    def test_deadlines_as_dates(self):
        service = self.start()
        day = 24 * 3600 * SECOND
        for text, seconds in [
            ("2026-03-05T12:00:00Z", 4.5 * 86400),
            ("2026-03-05 12:00", 4.5 * 86400),
            ("2026-03-05T14:00:00+02:00", 4.5 * 86400),
            ("2026-03-05T11:59:59.25Z", 4.5 * 86400 - 1),
            ("1w", 7 * 86400),
            ("1.5d", 1.5 * 86400),
            ("36000.25s", 36001),  # a whole second
        ]:
            job = service.submit(model="gpt3-125m", iterations=10, deadline=text)
            self.assertEqual(job["deadline"], date(T0 + int(seconds) * SECOND), text)
            self.assertTrue(job["promised"])
        service.move_clock(T0 + day)
        for text in ("2026-03-01T23:59:59Z", "2026-03-02T00:00:00Z", "yesterday", "0s", "-1d", "10", "2026-13-01", "2026-03-05T12"):
            body = {"model": "gpt3-125m", "iterations": 10, "deadline": text}
            self.assertEqual(self.problem(service, "POST", "/v1/jobs", body), (400, "deadline"), text)

    def test_bad_fields_are_named(self):
        service = self.start()
        changes = [
            ("model", "no-such-model"), ("model", "../model.json"), ("model", 3), ("model", None), ("model", ""),
            ("tokens", "many"), ("tokens", 300), ("tokens", "0"), ("tokens", "-1B"),
            ("iterations", 0), ("iterations", -1), ("iterations", 1.5), ("iterations", "10"), ("iterations", 10**16),
            ("deadline", 10), ("deadline", "soon"),
            ("name", 1), ("name", "x" * 257), ("name", "a\nb"), ("name", "\x7f"),
            ("tenant", []), ("tenant", "a\tb"),
            ("global_batch", 0), ("global_batch", 1e99), ("global_batch", "512"),
            ("gpus", 0), ("gpus", 9), ("gpus", -8), ("gpus", True), ("gpus", "8"),
            ("rigid", 1), ("rigid", "yes"), ("dry_run", 0),
            ("gpu_type", "h100"), ("gpu_type", 100),
            ("colour", "red"), ("Model", "gpt3-1.3b"),
        ]  # fmt: skip
        for field, value in changes:
            body = {"model": "gpt3-1.3b", "iterations": 10, "deadline": "10d"}
            if field == "tokens":
                del body["iterations"]
            body[field] = value
            self.assertEqual(self.problem(service, "POST", "/v1/jobs", body), (400, field), (field, value))
        for body, field in [
            ({"iterations": 10}, "model"),
            ({"model": "gpt3-1.3b"}, "tokens"),
            ({"model": "gpt3-1.3b", "tokens": "1B", "iterations": 3}, "tokens"),
        ]:
            self.assertEqual(self.problem(service, "POST", "/v1/jobs", body), (400, field))
        for body in ("", "[]", "null", "3", '"x"', "{", '{"model": "gpt3-1.3b", "iterations": 10} x'):
            self.assertEqual(service.ask("POST", "/v1/jobs", body)[0], 400, body)
        service.submit(**RIGID)
        for path, values in [
            ("/v1/jobs/1/progress", [("fraction", 2), ("fraction", -0.1), ("fraction", "half"), ("fraction", None), ("part", 0.5)]),
            ("/v1/jobs/1/completion", [("state", "running"), ("state", 1), ("how", "completed")]),
            ("/v1/clock", [("now", "tomorrow"), ("now", 3), ("now", "2026-02-01T00:00:00Z"), ("then", "2026-04-01T00:00:00Z")]),
        ]:
            for field, value in values:
                self.assertEqual(self.problem(service, "POST", path, {field: value}), (400, field), (path, field, value))
        self.assertEqual(self.problem(service, "PUT", "/v1/nodes/node-1", {"state": "broken"}), (400, "state"))
        for query, field in [("limit=0", "limit"), ("limit=1001", "limit"), ("limit=x", "limit"), ("cursor=x", "cursor")]:
            self.assertEqual(self.problem(service, "GET", "/v1/jobs?" + query), (400, field))
        self.assertEqual(self.problem(service, "GET", "/v1/jobs?state=lost"), (400, "state"))
        for id_ in ("2", "0", "-1", "x", "01x", "9223372036854775807", "99999999999999999999", "1%2F2"):
            self.assertEqual(self.problem(service, "GET", "/v1/jobs/" + id_)[0], 404, id_)
        self.assertEqual([job["state"] for job in service.all_jobs()], ["running"])


class Idempotency(JobTest):
    def test_the_same_key_is_one_job(self):
        service = self.start()
        key = {"Idempotency-Key": "run-7"}
        first = service.submit(**RIGID, deadline="10d", headers=key)
        again = service.submit(**RIGID, deadline="10d", headers=key)
        self.assertEqual(first, again)
        self.assertEqual(service.headers["Location"], "/v1/jobs/1")
        self.assertEqual(service.submit(**ELASTIC, headers=key)["id"], "1")
        self.assertEqual(service.submit(**RIGID, tenant="other", headers=key)["id"], "2")  # keys are of a tenant
        self.assertEqual(service.submit(**RIGID)["id"], "3")
        self.assertEqual(service.submit(**RIGID)["id"], "4")
        service.stop()
        service = self.start()
        self.assertEqual(service.submit(**RIGID, headers=key)["id"], "1")
        self.assertEqual(len(service.all_jobs()), 4)

    def test_the_same_key_from_many_at_once(self):
        service = self.start()
        answers = []

        def submit(number):
            status, text = service.ask("POST", "/v1/jobs", dict(RIGID, deadline="10d"), headers={"Idempotency-Key": f"key-{number % 3}"})
            answers.append((status, number % 3, json.loads(text)["id"]))

        threads = [threading.Thread(target=submit, args=(number,)) for number in range(60)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([answer[0] for answer in answers], [201] * 60)
        self.assertEqual(len({answer[1:] for answer in answers}), 3)  # one id for each key
        self.assertEqual(sorted(job["id"] for job in service.all_jobs()), ["1", "2", "3"])

    def test_refusals_are_repeated(self):
        service = self.start()
        key = {"Idempotency-Key": "refused"}
        body = dict(RIGID, deadline="1h")
        first = service.submit(**body, headers=key)
        self.assertEqual((first["state"], first["earliest_deadline"]), ("refused", date(T0 + -(-self.R // MINUTE) * MINUTE)))
        self.assertEqual(service.submit(**body, headers=key), first)
        service.stop()
        service = self.start()
        self.assertEqual(service.submit(**body, headers=key), first)
        service.submit(**RIGID, deadline=date(T0 + self.R + SLACK))
        later = service.submit(**body, headers=key)
        self.assertEqual(later["earliest_deadline"], date(T0 + -(-2 * self.R // MINUTE) * MINUTE))

    def test_unusable_keys(self):
        service = self.start()
        for key in ("x" * 257, "a\tb"):
            status, text = service.ask("POST", "/v1/jobs", RIGID, headers={"Idempotency-Key": key})
            self.assertEqual((status, json.loads(text)["field"]), (400, "Idempotency-Key"))
        self.assertEqual(service.all_jobs(), [])


class Lists(JobTest):
    def test_pages(self):
        service = self.start()
        for number in range(25):
            service.submit(**RIGID, name=f"run-{number + 1}")
        pages, query = [], "limit=10"
        while query:
            page = service.json("GET", "/v1/jobs?" + query)
            pages.append([int(job["id"]) for job in page["jobs"]])
            query = page["next"] and f"limit=10&cursor={page['next']}"
        self.assertEqual(pages, [list(range(25, 15, -1)), list(range(15, 5, -1)), list(range(5, 0, -1))])
        # A new job comes before what was shown: pages go on where they were.
        cursor = service.json("GET", "/v1/jobs?limit=10")["next"]
        service.submit(**RIGID)
        self.assertEqual(service.json("GET", f"/v1/jobs?limit=1&cursor={cursor}")["jobs"][0]["id"], "15")
        self.assertIsNone(service.json("GET", "/v1/jobs?limit=26")["next"])
        for id_ in range(3, 26, 2):
            service.json("DELETE", f"/v1/jobs/{id_}")
        listed = lambda query: [int(job["id"]) for job in service.json("GET", "/v1/jobs?" + query)["jobs"]]
        self.assertEqual(listed("state=running"), [1])
        self.assertEqual(listed("state=cancelled&limit=3"), [25, 23, 21])
        self.assertEqual(listed("state=cancelled&limit=3&cursor=21"), [19, 17, 15])
        self.assertEqual(listed("state=waiting"), list(range(26, 1, -2)))
        self.assertEqual(listed("state=refused"), [])


class Tenants(JobTest):
    def setUp(self):
        super().setUp()
        self.a, self.b = self.new_token("a:submit"), self.new_token("b:submit")
        self.reader, self.operator = self.new_token("a:read"), self.new_token("platform:operate")
        self.service = self.start("--tokens", str(self.folder / "tokens"))
        self.service.move_clock(T0, token=self.operator)

    def test_others_see_nothing(self):
        service = self.service
        job = service.submit(**RIGID, name="private-run", deadline="10d", token=self.a)
        self.assertEqual(job["tenant"], "a")
        for token in (self.a, self.reader, self.operator):
            self.assertEqual(service.job(1, token=token)["name"], "private-run")
            self.assertEqual([each["id"] for each in service.all_jobs(token=token)], ["1"])
        self.assertEqual(service.all_jobs(token=self.b), [])
        unknown = service.ask("GET", "/v1/jobs/2", token=self.b)
        self.assertEqual(unknown[0], 404)
        hidden = service.ask("GET", "/v1/jobs/1", token=self.b)
        self.assertEqual(hidden, (404, unknown[1].replace("job 2", "job 1")))
        self.assertEqual(service.ask("GET", "/v1/eta?job=1", token=self.b)[0], 404)
        self.assertEqual(service.json("GET", "/v1/eta", token=self.b), {"jobs": []})
        self.assertEqual(service.ask("POST", "/v1/jobs/1/progress", {"fraction": 0.5}, token=self.b)[0], 404)
        self.assertEqual(service.ask("POST", "/v1/jobs/1/completion", {"state": "failed"}, token=self.b)[0], 404)
        self.assertEqual(service.ask("DELETE", "/v1/jobs/1", token=self.b)[0], 404)
        self.assertEqual(service.job(1, token=self.a)["state"], "running")
        for path in ("/v1/cluster", "/v1/jobs", "/v1/eta"):
            self.assertNotIn("private-run", service.ask("GET", path, token=self.b)[1])

    def test_roles(self):
        service = self.service
        for token, status in ((None, 401), (self.reader, 403), (self.a, 201), (self.operator, 201)):
            self.assertEqual(service.ask("POST", "/v1/jobs", RIGID, token=token)[0], status)
        for method, path, body in [
            ("POST", "/v1/jobs/1/progress", {"fraction": 0.5}),
            ("POST", "/v1/jobs/1/completion", {"state": "completed"}),
            ("DELETE", "/v1/jobs/1", None),
        ]:
            self.assertEqual(service.ask(method, path, body, token=self.reader)[0], 403, path)
        for token in (self.reader, self.a):
            self.assertEqual(service.ask("PUT", "/v1/nodes/node-1", {"state": "drains"}, token=token)[0], 403)
            self.assertEqual(service.ask("POST", "/v1/clock", {"now": date(T0)}, token=token)[0], 403)
        self.assertEqual(service.ask("PUT", "/v1/nodes/node-1", {"state": "drains"}, token=self.operator)[0], 200)
        self.assertEqual(service.ask("POST", "/v1/jobs", dict(RIGID, tenant="b"), token=self.a)[0], 403)
        self.assertEqual(service.submit(**RIGID, tenant="a", token=self.a)["tenant"], "a")
        self.assertEqual(service.submit(**RIGID, tenant="b", token=self.operator)["tenant"], "b")
        self.assertEqual(service.submit(**RIGID, token=self.operator)["tenant"], "platform")
        self.assertEqual([job["tenant"] for job in service.all_jobs(token=self.b)], ["b"])

    def test_promises_at_risk_and_dry_runs_name_no_jobs_of_others(self):
        service = self.service
        R = self.R
        service.submit(**RIGID, name="secret-of-a", deadline=date(T0 + 3 * R + SLACK), token=self.a)
        service.submit(**RIGID, name="secret-of-b", deadline=date(T0 + 10 * R + SLACK), token=self.b)
        # A dry run that displaces both.
        body = dict(RIGID, deadline=date(T0 + R), dry_run=True)
        for token, secrets in ((self.a, ["secret-of-b"]), (self.b, ["secret-of-a"])):
            text = service.ask("POST", "/v1/jobs", body, token=token)[1]
            self.assertEqual(json.loads(text)["answer"], "yes")
            for secret in secrets:
                self.assertNotIn(secret, text)
        service.move_clock(T0 + R // 2, token=self.operator)
        # Five times slower than predicted: it ends at 5 R.
        service.json("POST", "/v1/jobs/1/progress", {"fraction": 0.1}, token=self.a)
        at_risk = lambda token: service.json("GET", "/v1/cluster", token=token)["promises"]["at_risk"]
        self.assertEqual((at_risk(self.a), at_risk(self.b), at_risk(self.operator)), (["1"], [], ["1"]))

    def test_dry_runs_show_no_numbers_of_others_jobs(self):
        service = self.service
        service.submit(**RIGID, deadline=date(T0 + 3 * self.R + SLACK), token=self.a)
        body = dict(RIGID, deadline=date(T0 + self.R), dry_run=True)
        displaced = lambda token: [each["job"] for each in service.json("POST", "/v1/jobs", body, token=token)["displaced"]]
        self.assertEqual(displaced(self.a), ["1"])
        self.assertEqual(displaced(self.operator), ["1"])
        self.assertNotIn("1", displaced(self.b))


class Reports(JobTest):
    def test_progress_moves_the_end(self):
        R = self.R
        # A quarter of the run time has passed. What is left takes as much longer as what is done.
        for fraction, end in [(0.25, R), (0.5, R / 2), (0.125, 2 * R), (0.2, 1.25 * R), (0.9, R / 3.6)]:
            with self.subTest(fraction=fraction):
                service = self.start(state=f"state-{fraction}")
                service.submit(**RIGID, deadline=date(T0 + R))
                service.move_clock(T0 + R // 4)
                job = service.json("POST", "/v1/jobs/1/progress", {"fraction": fraction})
                self.assertAlmostEqual(job["progress"], fraction, 6)
                forecast = service.job(1)["forecast"]
                self.assertAlmostEqual(seconds_of(forecast["end"]), (T0 + end) / SECOND, delta=1.01)
                self.assertEqual(forecast["in_time"], end <= R)
                self.assertEqual(service.json("GET", "/v1/cluster")["promises"]["at_risk"], [] if end <= R else ["1"])
                service.move_clock(T0 + int(end) + SECOND)
                self.assertEqual(service.job(1)["state"], "completed")
                promises = service.json("GET", "/v1/cluster")["promises"]
                self.assertEqual((promises["kept"], promises["broken"]), (1, 0) if end <= R else (0, 1))
                service.stop()

    def test_progress_again(self):
        service = self.start()
        R = self.R
        service.submit(**RIGID)
        service.move_clock(T0 + R // 4)
        service.json("POST", "/v1/jobs/1/progress", {"fraction": 0.125})  # half as fast: 2 R in all
        service.move_clock(T0 + R // 2)
        service.json("POST", "/v1/jobs/1/progress", {"fraction": 0.25})  # as expected now
        self.assertAlmostEqual(seconds_of(service.job(1)["forecast"]["end"]), (T0 + 2 * R) / SECOND, delta=1.01)
        service.move_clock(T0 + R)
        done = service.json("POST", "/v1/jobs/1/progress", {"fraction": 1})
        self.assertEqual(done["progress"], 1)
        self.assertEqual(seconds_of(service.job(1)["ended"]), seconds_of(end_text(T0 + R)))

    def test_progress_of_an_elastic_job(self):
        service = self.start()
        service.submit(**ELASTIC)
        end = seconds_of(service.job(1)["forecast"]["end"]) - T0 // SECOND
        self.assertAlmostEqual(end, self.R / SECOND, delta=1.01)  # alone it gets all GPUs
        service.move_clock(T0 + self.R // 4)
        service.json("POST", "/v1/jobs/1/progress", {"fraction": 0.125})
        found = seconds_of(service.job(1)["forecast"]["end"])
        # Work is whole iterations.
        self.assertAlmostEqual(found, (T0 + 2 * self.R) / SECOND, delta=7)

    def test_progress_before_there_is_a_pace(self):
        service = self.start()
        service.submit(**RIGID)
        service.move_clock(T0 + self.R // 100)
        service.json("POST", "/v1/jobs/1/progress", {"fraction": 0.5})  # it came with work done
        found = seconds_of(service.job(1)["forecast"]["end"])
        self.assertAlmostEqual(found, (T0 + self.R // 100 + self.R / 2) / SECOND, delta=1.01)

    def test_an_early_end_frees_gpus(self):
        service = self.start()
        R = self.R
        service.submit(**RIGID, deadline=date(T0 + R))
        service.submit(**RIGID, deadline=date(T0 + 3 * R + SLACK))
        service.move_clock(T0 + R // 2)
        done = service.json("POST", "/v1/jobs/1/completion", {"state": "completed"})
        self.assertEqual((done["state"], done["ended"], done["held_gpus"]), ("completed", end_text(T0 + R // 2), 0))
        self.assertEqual((done["progress"], done["promised"]), (1, True))
        second = service.job(2)
        self.assertEqual((second["state"], second["held_gpus"], second["started"]), ("running", 8, begin_text(T0 + R // 2)))
        self.assertEqual(second["forecast"]["end"], end_text(T0 + R // 2 + R))
        failed = service.json("POST", "/v1/jobs/2/completion", {"state": "failed"})
        self.assertEqual((failed["state"], failed["progress"]), ("failed", 0))
        cluster = service.json("GET", "/v1/cluster")
        self.assertEqual(cluster["gpus_in_use"], 0)
        self.assertEqual(cluster["jobs"], {"running": 0, "waiting": 0})
        self.assertEqual(cluster["promises"]["kept"], 1)

    def test_a_late_end(self):
        service = self.start()
        R = self.R
        service.submit(**RIGID, deadline=date(T0 + R))
        service.move_clock(T0 + R + 100 * SECOND)
        self.assertEqual(service.job(1)["state"], "completed")  # as predicted
        done = service.json("POST", "/v1/jobs/1/completion", {"state": "completed"})
        self.assertEqual(done["ended"], end_text(T0 + R + 100 * SECOND))
        promises = service.json("GET", "/v1/cluster")["promises"]
        self.assertEqual((promises["kept"], promises["broken"]), (0, 1))

    def test_cancel(self):
        service = self.start()
        R = self.R
        for deadline in (T0 + R, T0 + 2 * R + SLACK, T0 + 3 * R + SLACK):
            service.submit(**RIGID, deadline=date(deadline))
        self.assertEqual([job["state"] for job in service.all_jobs()], ["waiting", "waiting", "running"])
        service.move_clock(T0 + R // 2)
        waiting = service.json("DELETE", "/v1/jobs/2")
        self.assertEqual((waiting["state"], waiting["started"], waiting["ended"]), ("cancelled", None, end_text(T0 + R // 2)))
        running = service.json("DELETE", "/v1/jobs/1")
        self.assertEqual((running["state"], running["started"], running["held_gpus"]), ("cancelled", date(T0), 0))
        self.assertAlmostEqual(running["progress"], 0.5, 6)
        self.assertEqual(service.job(3)["started"], begin_text(T0 + R // 2))
        for method, path, body in [
            ("DELETE", "/v1/jobs/1", None),
            ("POST", "/v1/jobs/1/progress", {"fraction": 0.7}),
            ("POST", "/v1/jobs/1/completion", {"state": "completed"}),
        ]:
            self.assertEqual(self.problem(service, method, path, body)[0], 422, path)
        promises = service.json("GET", "/v1/cluster")["promises"]
        self.assertEqual(promises, {"open": 1, "kept": 0, "broken": 0, "at_risk": []})

    def test_gpus_over_time(self):
        service = self.start()
        R = self.R
        service.submit(**RIGID, deadline=date(T0 + R))
        service.submit(**dict(RIGID, gpus=4), deadline=date(T0 + 10 * R + SLACK))
        planned = service.json("GET", "/v1/cluster")["gpus_over_time"]
        self.assertEqual([step["planned_gpus"] for step in planned], [8, 4, 0])
        self.assertEqual([step["time"] for step in planned[:2]], [date(T0), begin_text(T0 + R)])
        half = round(service.job(2)["run_time_s"] * SECOND)
        self.assertEqual(planned[2]["time"], begin_text(T0 + R + half))


class Nodes(JobTest):
    def node(self, service, name, state, expected=200):
        return service.json("PUT", f"/v1/nodes/{name}", {"state": state}, expected)

    def test_down_and_up(self):
        service = self.start(cluster="2x8:a100")
        R = self.R
        for _ in range(2):
            service.submit(**RIGID, deadline=date(T0 + 3 * R + SLACK))
        self.assertEqual([job["state"] for job in service.all_jobs()], ["running", "running"])
        service.move_clock(T0 + R // 2)
        self.assertEqual(self.node(service, "node-1", "down"), {"name": "node-1", "gpu_type": "a100", "gpus": 8, "state": "down"})
        cluster = service.json("GET", "/v1/cluster")
        self.assertEqual((cluster["gpus"], cluster["gpus_in_use"], cluster["gpus_out_of_service"]), (16, 8, 8))
        self.assertEqual([node["state"] for node in cluster["nodes"]], ["down", "up"])
        self.assertEqual(sorted(job["state"] for job in service.all_jobs()), ["running", "waiting"])
        service.move_clock(T0 + R * 3 // 4)
        self.node(service, "node-1", "up")
        self.assertEqual([job["state"] for job in service.all_jobs()], ["running", "running"])
        self.assertEqual(service.json("GET", "/v1/cluster")["gpus_out_of_service"], 0)

    def test_drains(self):
        service = self.start()
        R = self.R
        service.submit(**RIGID, deadline=date(T0 + R))
        self.node(service, "node-1", "drains")
        self.assertEqual(service.job(1)["state"], "running")
        second = service.submit(**RIGID)
        self.assertEqual(second["state"], "waiting")
        service.move_clock(T0 + R)
        states = [job["state"] for job in service.all_jobs()]
        self.assertEqual(states, ["waiting", "completed"])  # nothing starts there
        self.assertEqual(service.json("GET", "/v1/cluster")["promises"]["kept"], 1)
        service.move_clock(T0 + 2 * R)
        self.node(service, "node-1", "up")
        self.assertEqual(service.job(2)["started"], begin_text(T0 + 2 * R))

    def test_bad_nodes(self):
        service = self.start()
        for name in ("node-2", "node-0", "x", "node-1%20"):
            self.assertEqual(self.problem(service, "PUT", f"/v1/nodes/{name}", {"state": "down"})[0], 404, name)
        service.stop()
        service = self.start("--placement", "count", state="count")
        self.assertEqual(self.problem(service, "PUT", "/v1/nodes/node-1", {"state": "down"})[0], 422)


class Restarts(JobTest):
    def views(self, service):
        """All answers about jobs and cluster."""
        ids = [job["id"] for job in service.all_jobs()]
        paths = ["/v1/jobs?limit=1000", "/v1/cluster", "/v1/eta"] + [f"/v1/jobs/{id_}" for id_ in ids]
        return {path: service.json("GET", path) for path in paths}

    def fill(self, service):
        """Jobs in all states on two nodes; returns the time of the last input."""
        R = self.R
        service.submit(**ELASTIC, deadline=date(T0 + 4 * R + SLACK), name="elastic", tenant="a")
        service.submit(**RIGID, deadline=date(T0 + R), name="é", tenant="b")
        service.submit(**RIGID, deadline=date(T0 + R), name="refused")
        service.submit(**ELASTIC, name="best-effort")
        service.submit(**RIGID, name="cancelled")
        service.submit(**RIGID, deadline=date(T0 + 5 * R + SLACK), name="node")
        service.move_clock(T0 + R // 10)
        service.json("DELETE", "/v1/jobs/5")
        service.json("POST", "/v1/jobs/2/progress", {"fraction": 0.08})
        service.json("PUT", "/v1/nodes/node-2", {"state": "down"})
        service.move_clock(T0 + R // 5)
        service.json("PUT", "/v1/nodes/node-2", {"state": "drains"})
        service.move_clock(T0 + R // 4)
        service.json("PUT", "/v1/nodes/node-2", {"state": "up"})
        service.submit(model="gpt3-125m", iterations=10, name="short", deadline="10d")
        service.move_clock(T0 + R // 3)
        service.json("POST", "/v1/jobs/6/completion", {"state": "failed"})
        return T0 + R // 3

    def test_answers_after_restarts(self):
        for cost in ("none", "auto"):
            for policy in ("deadline:unpromised=reject", "deadline", "elasticflow:costs=known"):
                if (cost, policy) == ("none", "elasticflow:costs=known"):
                    continue  # it decides once a slot
                with self.subTest(policy=policy, cost=cost):
                    options = dict(cluster="2x8:a100", state=f"{policy}-{cost}")
                    start = lambda now=T0: self.start("--policy", policy, cost=cost, now=now, **options)
                    service = start()
                    now = self.fill(service)
                    before = self.views(service)
                    self.assertEqual(service.stop(), 0)
                    service = start(now)
                    self.assertEqual(self.views(service), before)
                    service.kill()
                    service = start(now)
                    self.assertEqual(self.views(service), before)
                    self.assertIn("vtrain_state_redecided_total 0\n", service.ask("GET", "/metrics")[1])
                    self.assertEqual(service.submit(**RIGID)["id"], "8")
                    service.stop()

    def test_another_cluster(self):
        service = self.start()
        R = self.R
        service.submit(**RIGID, deadline=date(T0 + R))
        service.submit(**RIGID, deadline=date(T0 + 2 * R + SLACK))
        service.move_clock(T0 + R // 4)
        service.json("PUT", "/v1/nodes/node-1", {"state": "drains"})
        service.stop()
        service = self.start(cluster="2x8:a100", now=T0 + R // 4)
        cluster = service.json("GET", "/v1/cluster")
        self.assertEqual((cluster["gpus"], cluster["gpus_in_use"], cluster["gpus_out_of_service"]), (16, 16, 0))
        self.assertEqual(cluster["promises"], {"open": 2, "kept": 0, "broken": 0, "at_risk": []})
        jobs = service.all_jobs()
        self.assertEqual([job["promised"] for job in jobs], [True, True])
        self.assertEqual(service.job(1)["forecast"]["end"], end_text(T0 + R))
        self.assertEqual(service.job(2)["forecast"]["end"], end_text(T0 + R // 4 + R))
        service.kill()
        again = self.start(cluster="2x8:a100", now=T0 + R // 4)
        self.assertEqual(again.all_jobs(), jobs)

    def test_a_smaller_cluster_breaks_promises_and_says_so(self):
        service = self.start(cluster="2x8:a100")
        R = self.R
        for _ in range(2):
            service.submit(**RIGID, deadline=date(T0 + R + R // 2))
        service.stop()
        service = self.start()
        promises = service.json("GET", "/v1/cluster")["promises"]
        self.assertEqual((promises["open"], len(promises["at_risk"])), (2, 1))

    def test_another_policy(self):
        service = self.start(cost="auto")
        service.submit(**RIGID, deadline=date(T0 + self.R))
        service.submit(**RIGID, deadline=date(T0 + 3 * self.R + SLACK))
        service.stop()
        service = self.start("--policy", "elasticflow", cost="auto")
        self.assertEqual(service.json("GET", "/v1/cluster")["policy"], "elasticflow")
        self.assertEqual([job["promised"] for job in service.all_jobs()], [True, True])
        service.stop()
        refused = run("serve", "--listen", "127.0.0.1:0", "--cluster", "1x8:a100", "--state", str(self.folder / "state"), "--policy", "srtf")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("promises no deadlines", refused.stderr)


class Figures(JobTest):
    def test_metrics_with_jobs(self):
        service = self.start()
        service.submit(**RIGID, deadline=date(T0 + self.R))
        service.submit(**RIGID, deadline=date(T0 + 2 * self.R + SLACK))
        service.submit(**RIGID, deadline=date(T0 + self.R))
        text = service.ask("GET", "/metrics")[1]
        for line in (
            'kueue_admission_attempts_total{result="success"} 2',
            'kueue_admission_attempts_total{result="inadmissible"} 1',
            "kueue_pending_workloads 1",
            "kueue_admitted_active_workloads 1",
            'vtrain_promises{state="open"} 2',
            'vtrain_gpus{use="held"} 8',
            'vtrain_gpus{use="all"} 8',
        ):
            self.assertIn(line + "\n", text)
        if shutil.which("promtool") is None:
            self.skipTest("promtool is not installed")
        checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
        self.assertEqual((checked.returncode, checked.stdout + checked.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
