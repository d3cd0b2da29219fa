"""A trace that is sent to `vtrain serve` job by job gets the decisions and times of `vtrain replay`.

Each job is submitted when the simulated clock shows its submission, exact to the nanosecond; 1970 is time 0 of the trace. Answers show
whole seconds: a start is the second it is in, an end the second by which it is over. So are the times of the replay rounded here.
VTRAIN_TEST_ROUNDS multiplies the number of traces.
"""

import csv
import decimal
import unittest

from harness import ROUNDS, SECOND, ServiceTest, begin_text, date, end_text, run

# Policy and interruption costs. Without costs `elasticflow` decides once a slot, so that the service has no answer at once.
SETUPS = [
    ("deadline:unpromised=reject", "none"),
    ("deadline:unpromised=reject", "auto"),
    ("deadline:unpromised=reject", "90s"),
    ("elasticflow", "auto"),
    ("elasticflow", "90s"),
]
CLUSTER = "4x8:a100"


def nanoseconds(seconds):
    """Of a decimal number of seconds."""
    return int(decimal.Decimal(seconds) * SECOND)


def rows_of(file):
    with open(file, newline="") as text:
        return list(csv.DictReader(text))


class ReplayEquality(ServiceTest):
    def generate(self, seed):
        trace = self.folder / f"trace-{seed}.csv"
        made = run(
            *("trace", "generate", "--jobs", "80", "--cluster", CLUSTER, "--load", "6", "--seed", str(seed)),
            *("--deadlines", "elasticflow,best-effort=0.2", "--out", str(trace)),
        )
        self.assertEqual(made.returncode, 0, made.stderr)
        return trace

    def replay(self, trace, policy, cost):
        out = self.folder / "run"
        done = run(
            *("replay", "--trace", str(trace), "--cluster", CLUSTER, "--policy", policy, "--placement", "count"),
            *("--interruption-cost", cost, "--out", str(out), "--force"),
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return {row["job_id"]: row for row in rows_of(out / "jobs.csv")}

    def serve_trace(self, trace, policy, cost, state):
        """The jobs as the service shows them after the last end, by their names in the trace."""
        service = self.serve_jobs(
            "--policy", policy, "--placement", "count", "--interruption-cost", cost, cluster=CLUSTER, state=state
        )
        decided = {}
        for row in rows_of(trace):
            service.move_clock(nanoseconds(row["submit_s"]))
            body = {
                "name": row["job_id"],
                "tenant": row["tenant"],
                "model": row["model"],
                "iterations": int(row["iterations"]),
                "global_batch": int(row["global_batch"]),
                "gpus": int(row["num_gpus"]),
            }
            if row["deadline_s"]:
                body["deadline"] = date(nanoseconds(row["deadline_s"]))
            decided[row["job_id"]] = service.submit(**body)
        service.move_clock(nanoseconds("1e9"))
        jobs = {job["name"]: job for job in service.all_jobs()}
        for name, job in jobs.items():  # what was said at once stays
            for key in ("id", "admitted", "promised", "reason", "deadline", "gpus", "run_time_s"):
                self.assertEqual(job[key], decided[name][key], (name, key))
        self.assertEqual(service.stop(), 0)
        return jobs

    def compare(self, trace, policy, cost):
        replayed = self.replay(trace, policy, cost)
        served = self.serve_trace(trace, policy, cost, state=f"{trace.stem}-{policy.split(':')[0]}-{cost}")
        self.assertEqual(replayed.keys(), served.keys())
        for name, row in replayed.items():
            job = served[name]
            place = (trace.stem, policy, cost, name, row, job)
            self.assertAlmostEqual(job["run_time_s"], float(row["duration_s"]), 6, place)
            self.assertEqual(job["promised"], row["promise"] != "", place)
            self.promised += row["promise"] == "kept"
            if row["state"] == "rejected":
                self.rejected += 1
                self.assertEqual((job["state"], job["started"]), ("refused", None), place)
                continue
            self.assertEqual(job["state"], "completed", place)
            self.assertEqual(job["started"], begin_text(nanoseconds(row["start_s"])), place)
            self.assertEqual(job["ended"], end_text(nanoseconds(row["finished_s"])), place)

    def test_generated_traces(self):
        self.promised = self.rejected = 0
        for seed in range(1, 1 + int(2 * ROUNDS)):
            trace = self.generate(seed)
            for policy, cost in SETUPS:
                with self.subTest(seed=seed, policy=policy, cost=cost):
                    self.compare(trace, policy, cost)
        # Traces that decide nothing test nothing.
        self.assertGreater(self.promised, 100 * ROUNDS)
        self.assertGreater(self.rejected, 5 * ROUNDS)


if __name__ == "__main__":
    unittest.main()
