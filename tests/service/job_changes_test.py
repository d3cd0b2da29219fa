"""The routes of jobs of `vtrain serve`: what reports, nodes, tenants and restarts change, with answers worked out by hand."""

import json
import unittest

from harness import SECOND, begin_text, date, end_text, run, seconds_of
from known_jobs import ELASTIC, RIGID, SLACK, T0, JobTest


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
        job = service.json("POST", "/v1/jobs/1/progress", {"fraction": 0.5})  # it came with work done
        self.assertAlmostEqual(job["progress"], 0.5, 6)
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

    def test_policy_without_an_answer_at_once(self):
        options = ("--policy", "elasticflow", "--placement", "count", "--interruption-cost", "none")
        refused = run("serve", "--listen", "127.0.0.1:0", "--cluster", "1x8:a100", "--state", str(self.folder / "state"), *options)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("--policy: it decides once in a slot", refused.stderr)


if __name__ == "__main__":
    unittest.main()
