"""`vtrain serve` is killed at random instants while clients submit jobs and report on them.

After each restart every acknowledged job is there with its decision, every acknowledged change has happened, and what was not acknowledged
has happened whole or not at all. VTRAIN_TEST_ROUNDS multiplies the number of instants.
"""

import http.client
import json
import random
import threading
import time
import unittest

from harness import ROUNDS, SECOND, ServiceTest, date

T0 = 1_772_323_200 * SECOND
POINTS = int(50 * ROUNDS)
POINTS_OF_A_STATE = 10
CLIENTS = 6
DECISION = ("id", "name", "tenant", "model", "iterations", "submitted", "deadline", "gpus", "elastic", "admitted", "promised", "reason")


class Client(threading.Thread):
    """Submits jobs and changes them until the service is gone."""

    def __init__(self, service, name, seed):
        super().__init__()
        self.service, self.label, self.random = service, name, random.Random(seed)
        self.sent = {}  # bodies by name
        self.acknowledged = {}  # jobs by name
        self.cancelled, self.asked_to_cancel = set(), set()

    def run(self):
        try:
            while True:
                self.submit()
                if self.random.random() < 0.4:
                    self.change()
        except (OSError, http.client.HTTPException):
            pass  # the service is gone

    def submit(self):
        name = f"{self.label}-{len(self.sent)}"
        body = {
            "name": name,
            "model": "gpt3-125m",
            "iterations": self.random.randint(100, 100_000),
            "gpus": self.random.choice([1, 2, 8]),
            "rigid": self.random.random() < 0.5,
        }
        if self.random.random() < 0.8:
            body["deadline"] = f"{self.random.randint(1, 400)}h"
        self.sent[name] = body
        self.acknowledged[name] = self.service.submit(**body, headers={"Idempotency-Key": name})

    def change(self):
        job = self.random.choice(list(self.acknowledged.values()))
        if not job["admitted"] or job["id"] in self.asked_to_cancel:
            return
        if self.random.random() < 0.5:
            self.service.json("POST", f"/v1/jobs/{job['id']}/progress", {"fraction": 0.1})
            return
        self.asked_to_cancel.add(job["id"])
        self.service.json("DELETE", f"/v1/jobs/{job['id']}")
        self.cancelled.add(job["id"])


class Crashes(ServiceTest):
    def test_kills_at_random_instants(self):
        random_ = random.Random(1)
        decided, acknowledged, unanswered = {}, 0, 0
        for point in range(POINTS):
            state = f"state-{point // POINTS_OF_A_STATE}"
            if point % POINTS_OF_A_STATE == 0:
                decided, cancelled, may_be_cancelled = {}, set(), set()
            service = self.serve_jobs(cluster="4x8:a100", state=state)
            service.move_clock(T0 + point * SECOND)
            self.check_all(service, decided, cancelled, may_be_cancelled)
            clients = [Client(service, f"{point}-{number}", point * CLIENTS + number) for number in range(CLIENTS)]
            for client in clients:
                client.start()
            time.sleep(random_.uniform(0, 0.2))
            service.kill()
            for client in clients:
                client.join()
            service = self.serve_jobs(cluster="4x8:a100", state=state)
            service.move_clock(T0 + point * SECOND)
            found = {job["name"]: job for job in service.all_jobs()}
            for client in clients:
                for name, job in client.acknowledged.items():
                    decided[name] = job
                    acknowledged += 1
                cancelled |= client.cancelled
                may_be_cancelled |= client.asked_to_cancel
                for name in client.sent.keys() - client.acknowledged.keys():
                    # It is there as it would have been answered, or not at all, and can be sent again.
                    unanswered += 1
                    again = service.submit(**client.sent[name], headers={"Idempotency-Key": name})
                    if name in found:
                        self.assertEqual(again["id"], found[name]["id"])
                    decided[name] = again
            self.check_all(service, decided, cancelled, may_be_cancelled)
            # No input differs from what was decided before.
            self.assertIn("vtrain_state_redecided_total 0\n", service.ask("GET", "/metrics")[1])
            self.assertEqual(service.stop(), 0)
        # Kills that hit nothing test nothing.
        self.assertGreater(acknowledged, 5 * POINTS)
        self.assertGreater(unanswered, POINTS)

    def check_all(self, service, decided, cancelled, may_be_cancelled):
        jobs = service.all_jobs()
        self.assertEqual([int(job["id"]) for job in jobs], list(range(len(jobs), 0, -1)))
        self.assertEqual(len(jobs), len(decided))
        for job in jobs:
            before = decided[job["name"]]
            self.assertEqual({key: job[key] for key in DECISION}, {key: before[key] for key in DECISION})
            if job["id"] in cancelled:
                self.assertEqual(job["state"], "cancelled")
            elif job["id"] not in may_be_cancelled:
                self.assertNotEqual(job["state"], "cancelled")


if __name__ == "__main__":
    unittest.main()
