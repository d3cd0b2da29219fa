"""The routes of jobs of `vtrain serve`: decisions, keys, lists and figures, with answers worked out by hand."""

import json
import shutil
import subprocess
import threading
import unittest

from harness import SECOND, begin_text, date, end_text, run
from known_jobs import ELASTIC, ITERATIONS, MINUTE, RIGID, SLACK, T0, JobTest


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
