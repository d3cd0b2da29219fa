"""Kueue's scalability set-ups in virtual time: within the ranges that its own project expects of a real controller."""

import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SETUPS = pathlib.Path(__file__).parents[3] / "shared/golden/kueue/performance"


def amount(text):
    """A Kubernetes quantity of CPUs."""
    return float(text[:-1]) / 1000 if text.endswith("m") else float(text)


def write_inputs(setup, folder):
    """Writes the objects and the jobs: a CPU is a GPU, all pods of a workload are one gang. Returns the CPUs."""
    flavor = setup["resource_flavor"]["name"]
    items = [{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": flavor}}]
    jobs = []
    cpus = 0
    for cohorts in setup["cohort_sets"]:
        for cohort in range(cohorts["count"]):
            for queues in cohorts["queue_sets"]:
                for number in range(queues["count_per_cohort"]):
                    name = f"{queues['class']}-{cohort}-{number}"
                    quota = {"name": queues["resource"], "nominalQuota": queues["nominal_quota"],
                             "borrowingLimit": queues["borrowing_limit"]}
                    spec = {"cohortName": f"cohort-{cohort}", "queueingStrategy": queues["queueing_strategy"], "namespaceSelector": {},
                            "preemption": {"reclaimWithinCohort": queues["reclaim_within_cohort"],
                                           "withinClusterQueue": queues["within_cluster_queue"]},
                            "resourceGroups": [{"coveredResources": [queues["resource"]],
                                                "flavors": [{"name": flavor, "resources": [quota]}]}]}
                    items.append({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": name},
                                  "spec": spec})
                    cpus += amount(queues["nominal_quota"])
                    for workloads in queues["workload_sets"]:
                        for i in range(workloads["count"]):
                            for each in workloads["workloads"]:
                                gpus = each["pods"] * amount(each["request_per_pod"][queues["resource"]])
                                submit = (i + 1) * workloads["creation_interval_ms"]
                                jobs.append((submit, name, each["class"], int(gpus), each["runtime_ms"], each["priority"]))
    (folder / "objects.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    jobs.sort(key=lambda job: job[0])
    with open(folder / "jobs.csv", "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["job_id", "queue", "tenant", "submit_s", "num_gpus", "duration_s", "priority"])
        for i, (submit, queue, kind, gpus, runtime, priority) in enumerate(jobs):
            rows.writerow([f"{kind}/{i}", queue, kind, submit / 1000, gpus, runtime / 1000, priority])
    return int(cpus)


def run(setup, folder):
    """Figures of a replay: last end, average time from submission to the last start by class, usage, evictions."""
    cpus = write_inputs(setup, folder)
    subprocess.run([os.environ["VTRAIN"], "replay", "--trace", folder / "jobs.csv", "--cluster", f"{cpus // 20}x20", "--policy",
                    f"kueue:objects={folder}/objects.json,resource=cpu", "--deadlines", "none", "--out", folder / "run"],
                   check=True, capture_output=True)
    waits, ends, used, evictions = {}, [], 0, 0
    with open(folder / "run/jobs.csv", newline="") as file:
        for row in csv.DictReader(file):
            assert row["state"] == "completed", row
            # Work that was done before an eviction is not lost here, so the last start is no later than this.
            waits.setdefault(row["tenant"], []).append(float(row["wait_s"]))
            ends.append(float(row["end_s"]))
            used += float(row["gpu_seconds"])
            evictions += int(row["preemptions"])
    first = min(workloads["creation_interval_ms"] for cohorts in setup["cohort_sets"] for queues in cohorts["queue_sets"]
                for workloads in queues["workload_sets"]) / 1000
    return {"last_end_s": max(ends), "usage_percent": 100 * used / (cpus * (max(ends) - first)), "evictions": evictions,
            "wait_s": {kind: sum(each) / len(each) for kind, each in waits.items()}}


@unittest.skipUnless(SETUPS.is_dir(), "skipped: no set-ups")
class Performance(unittest.TestCase):
    def test_setups(self):
        for name in ("baseline", "large-scale", "tas"):
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                setup = json.loads((SETUPS / f"{name}.json").read_text())
                found = run(setup, pathlib.Path(folder))
                print(name, json.dumps(found), file=sys.stderr)
                ranges = setup["expected_ranges"]
                self.assertLessEqual(found["last_end_s"] * 1000, ranges["max_wall_ms"])
                # No schedule ends before the work is done at full quota, or before the last workload comes.
                self.assertGreaterEqual(found["last_end_s"] * 1000, setup["derived"]["ideal_makespan_ms_at_full_quota"])
                self.assertGreaterEqual(found["usage_percent"], ranges["min_usage_percent"]["cq"])
                self.assertLessEqual(found["usage_percent"], 100)
                for kind, most in ranges["max_average_time_to_admission_ms"].items():
                    self.assertLessEqual(found["wait_s"][kind] * 1000, most, kind)


if __name__ == "__main__":
    unittest.main()
