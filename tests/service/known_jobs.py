"""Jobs with known run times for tests of the routes of jobs.

The clock is simulated. Most jobs are rigid and take all eight GPUs of one node, so that they run one after the other: R is the time of
such a job, which is its iterations times the iteration time of the best plan of `vtrain plan`.
"""

import json

from harness import SECOND, ServiceTest, run

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
