#!/usr/bin/env python3
"""Compares deadline policies over a grid of clusters, costs, placements and deadlines.

Writes rows.csv with one row for each replay, and table.md. Rows that are there already are not computed again.
"""

import argparse
import concurrent.futures
import csv
import gzip
import io
import json
import pathlib
import statistics
import subprocess
import sys

DAY = 24 * 3600
FORTNIGHT = 14 * DAY
CLUSTER_GPUS = 128 * 8
OURS = "deadline"
POLICIES = ("srtf", "edf", "edf-admission", "elasticflow:costs=free", "elasticflow", "chronus", OURS)
COSTS = ("none", "30s", "2m", "checkpoint")
PLACEMENTS = ("count", "consolidate")
DEADLINES = ("elasticflow", "1:2")
KEYS = ("workload", "costs", "placement", "deadlines", "seed", "policy")
FIGURES = ("jobs", "rejected", "met", "by_jobs", "by_gpu_hours", "cpu_s")
BETTER_BY = 0.02  # on both measures: then the cell is lost


class Recorded:
    """Consecutive days of a recorded trace, with columns for submission, duration and GPUs."""

    def __init__(self, file, columns, assign, choose):
        self.file, self.columns, self.assign, self.choose = file, columns, assign, choose

    def cut(self, folder, target):
        """Writes the rows of the chosen fortnight."""
        text = gzip.decompress((folder / self.file).read_bytes()).decode()
        reader = csv.DictReader(io.StringIO(text))
        submit, duration, gpus = self.columns
        rows = sorted(((float(row[submit]), row) for row in reader), key=lambda each: each[0])
        first_day = self.choose([(time, float(row[duration]) * float(row[gpus])) for time, row in rows])
        kept = [row for time, row in rows if first_day * DAY <= time < first_day * DAY + FORTNIGHT]
        with target.open("w", newline="") as out:
            writer = csv.DictWriter(out, reader.fieldnames)
            writer.writeheader()
            writer.writerows(kept)


def works_of_fortnights(jobs):
    """GPU-seconds submitted in each fortnight, by its first day."""
    last_day = int(jobs[-1][0] // DAY)
    by_day = [0.0] * (last_day + 1)
    for time, work in jobs:
        by_day[int(time // DAY)] += work
    return [sum(by_day[day:day + 14]) for day in range(max(last_day - 12, 1))]


def busiest(jobs):
    works = works_of_fortnights(jobs)
    return works.index(max(works))


def first_full(jobs):
    """The first fortnight in which jobs ask for nine tenths of the cluster."""
    enough = 0.9 * CLUSTER_GPUS * FORTNIGHT
    return next(day for day, work in enumerate(works_of_fortnights(jobs)) if work >= enough)


RECORDED = {
    "itp": Recorded("itp/cluster04.csv.gz", ("submission_time", "duration", "num_gpu"), "lingjun", busiest),
    "philly": Recorded("philly/philly_reconstructed.csv.gz", ("submit_time_s", "duration_s", "num_gpus"), "zoo",
                       first_full),
}
WORKLOADS = ("day", *RECORDED)


def workload_options(workload, out):
    if workload == "day":
        return ["--cluster", "16x8:a100"]
    return ["--trace", str(out / f"{workload}.csv"), "--cluster", "128x8:a100", "--assign", RECORDED[workload].assign]


def replay(options, key):
    workload, costs, placement, deadlines, seed, policy = key
    command = [options.vtrain, "replay", "--policy", policy, "--json", "--quiet", *workload_options(workload, options.out),
               "--interruption-cost", costs, "--placement", placement, "--deadlines", deadlines, "--seed", seed]
    done = subprocess.run(["/usr/bin/env", "bash", "-c", 'TIMEFORMAT="%U"; time "$@"', "_", *command],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}\n{done.stderr}")
    found = json.loads(done.stdout)
    return (found["jobs"], found["rejected"], found["deadline_met"], round(found["deadline_satisfactory_ratio"], 6),
            round(found["deadline_satisfactory_ratio_by_gpu_hours"], 6), done.stderr.split()[-1])


def read_rows(file):
    if not file.exists():
        return {}
    with file.open() as rows:
        return {tuple(row[key] for key in KEYS): tuple(row[figure] for figure in FIGURES)
                for row in csv.DictReader(rows)}


def fill(options, wanted):
    """Replays what is missing; each row is on disk as soon as it is known."""
    file = options.out / "rows.csv"
    rows = read_rows(file)
    missing = [key for key in wanted if key not in rows or key[-1].split(":")[0] in options.again]
    if missing or not file.exists():
        kept = {key: row for key, row in rows.items() if key not in set(missing)}
        with file.open("w", newline="") as out, concurrent.futures.ThreadPoolExecutor(options.processes) as pool:
            writer = csv.writer(out)
            writer.writerow((*KEYS, *FIGURES))
            writer.writerows((*key, *row) for key, row in kept.items())
            runs = {pool.submit(replay, options, key): key for key in missing}
            for run in concurrent.futures.as_completed(runs):
                writer.writerow((*runs[run], *run.result()))
                out.flush()
    rows = read_rows(file)
    return {key: (float(rows[key][3]), float(rows[key][4])) for key in wanted}


def mean(rows, cell, policy, seeds, which):
    return statistics.fmean(rows[(*cell, seed, policy)][which] for seed in seeds)


def table(rows, cells, policies, seeds):
    """A line for each cell: deadlines met by jobs / by GPU-hours, in percent, and who wins where we lose."""
    lines = ["| workload | cost | placement | deadlines | " + " | ".join(policies) + " | lost to |",
             "|---" * (len(policies) + 5) + "|"]
    num_lost = 0
    for cell in cells:
        both = {policy: [mean(rows, cell, policy, seeds, which) for which in (0, 1)] for policy in policies}
        lost = [policy for policy in policies
                if OURS in both and all(both[policy][which] > both[OURS][which] + BETTER_BY for which in (0, 1))]
        num_lost += bool(lost)
        shown = " | ".join(f"{100 * jobs:.1f} / {100 * hours:.1f}" for jobs, hours in both.values())
        lines.append(f"| {' | '.join(cell)} | {shown} | {', '.join(lost)} |")
    total = " | ".join(
        " / ".join(f"{100 * statistics.fmean(mean(rows, cell, policy, seeds, which) for cell in cells):.1f}"
                   for which in (0, 1)) for policy in policies)
    lines.append(f"| mean of {len(cells)} cells | | | | {total} | {num_lost} cells |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vtrain", default="build/release/bin/vtrain", help="the program")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("runs/deadlines"), help="folder for rows.csv and table.md")
    parser.add_argument("--traces", type=pathlib.Path, help="folder with itp/cluster04.csv.gz and "
                        "philly/philly_reconstructed.csv.gz; without, only the generated day is replayed")
    parser.add_argument("--processes", type=int, default=2, help="replays at the same time")
    parser.add_argument("--again", default="", help="policies whose finished rows are computed again, separated by commas")
    for name, values in (("workloads", WORKLOADS), ("costs", COSTS), ("placements", PLACEMENTS), ("deadlines", DEADLINES),
                         ("seeds", "12345")):
        parser.add_argument(f"--{name}", default=",".join(values), help="part of the grid, separated by commas")
    parser.add_argument("--policies", default=";".join(POLICIES), help="policies, separated by semicolons")
    options = parser.parse_args()
    options.again = set(filter(None, options.again.split(",")))
    options.out.mkdir(parents=True, exist_ok=True)
    workloads = [workload for workload in options.workloads.split(",") if workload == "day" or options.traces]
    for workload in workloads:
        if workload != "day" and not (options.out / f"{workload}.csv").exists():
            RECORDED[workload].cut(options.traces, options.out / f"{workload}.csv")
    policies = options.policies.split(";")
    seeds = options.seeds.split(",")
    cells = [(workload, costs, placement, deadlines) for workload in workloads for costs in options.costs.split(",")
             for placement in options.placements.split(",") for deadlines in options.deadlines.split(",")]
    wanted = [(*cell, seed, policy) for seed in seeds for cell in cells for policy in policies]
    text = table(fill(options, wanted), cells, policies, seeds)
    (options.out / "table.md").write_text(text)
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
