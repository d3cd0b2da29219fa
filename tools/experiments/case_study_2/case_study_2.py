#!/usr/bin/env python3
"""Deadline-aware elastic scheduling of LLM training on 1,024 A100, with and without knowledge of 3D-parallel plans.

Drives the `vtrain` program; needs nothing but Python's standard library. The README beside this file states the set-up.

  python3 case_study_2.py --vtrain build/release/bin/vtrain
  python3 case_study_2.py --loads 1 --seeds 3 --jobs 100
  python3 case_study_2.py --arrivals itp/cluster04.csv.gz
  python3 case_study_2.py --loads 1 --seeds 20 --prediction-errors none,lognormal:0.05,lognormal:0.1,lognormal:0.2
"""

import argparse
import csv
import json
import math
import pathlib
import random
import statistics
import subprocess
import sys

CLUSTER = "128x8:a100"
STACK = "megatron-2021"  # as in the paper
GPUS = 1024
MAX_HOURS = 24

# Model of the zoo, how often it is drawn, and the numbers of GPUs that a job of it asks for, each as often.
MODELS = [
    ("megatron-1.7b", 25, (8, 16, 32)),
    ("megatron-3.6b", 20, (8, 16, 32)),
    ("megatron-7.5b", 20, (16, 32, 64)),
    ("megatron-18.4b", 15, (32, 64, 128)),
    ("megatron-39.1b", 10, (64, 128, 256)),
    ("megatron-76.1b", 6, (128, 256, 512)),
    ("gpt3-175b", 4, (256, 512)),
]

# Compared runs: label, --curves, policy. The first is what the others are divided by.
BASE = ("elasticflow, data-parallel", "data-parallel", "elasticflow")
OTHERS = [
    ("elasticflow, best plan", "best-plan", "elasticflow"),
    ("edf", "best-plan", "edf:resize=no"),
    ("las", "best-plan", "las"),
    ("fifo", "best-plan", "fifo"),
]


class Vtrain:
    """The program, run in the folder of one workload."""

    def __init__(self, program):
        self.program = program

    def run(self, *arguments):
        command = [str(self.program), *map(str, arguments)]
        try:
            done = subprocess.run(command, capture_output=True, text=True)
        except OSError as error:
            sys.exit(f"error: --vtrain: expected the program, found '{self.program}': {error.strerror}")
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}\n{done.stderr.strip()}")
        return done.stdout

    def iteration_times(self):
        """Published batch and seconds of an iteration with the best plan, by model and number of GPUs."""
        times = {}
        for model, _, sizes in MODELS:
            plans = json.loads(self.run("plan", model, "--stack", STACK, "--gpus", ",".join(map(str, sizes)), "--json"))
            for count in plans["counts"]:
                times[model, count["num_gpus"]] = (plans["global_batch"], count["plans"][0]["iteration_time_s"])
        return times


def read_jobs(path):
    """Rows of a trace in the format of vtrain, which may begin with comments."""
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def write_jobs(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def generated_arrivals(vtrain, path, jobs, seed, span_s=None):
    """Jobs with the rhythm and durations of ITP; with a span, over that span."""
    generate = ["trace", "generate", "--force", "--shape", "itp", "--assign", "none", "--deadlines", "none", "--arrivals", "diurnal",
                "--jobs", jobs, "--max-hours", MAX_HOURS, "--cluster", CLUSTER, "--seed", seed, "--out", path]
    vtrain.run(*generate, "--load", 1)
    rows = read_jobs(path)
    if span_s is None:
        return rows
    work = sum(int(row["num_gpus"]) * float(row["duration_s"]) for row in rows)
    vtrain.run(*generate, "--load", repr(work / (GPUS * span_s)))
    return read_jobs(path)


def recorded_arrivals(rows, jobs, seed):
    """As many recorded jobs, one after the other, from a place that the seed chooses; durations are cut."""
    if len(rows) < jobs:
        sys.exit(f"expected at least {jobs} jobs in the trace of --arrivals, found {len(rows)}")
    first = random.Random(f"window {seed}").randrange(len(rows) - jobs + 1)
    origin = float(rows[first]["submit_s"])
    return [{"submit_s": float(row["submit_s"]) - origin,
             "duration_s": min(float(row["duration_s"]), MAX_HOURS * 3600)} for row in rows[first:first + jobs]]


def make_trace(vtrain, folder, arguments, recorded, times, load, seed):
    """Writes the jobs of one load and seed, with deadlines; returns the file."""
    arrivals_file = folder / "arrivals.csv"
    arrivals = (recorded_arrivals(recorded, arguments.jobs, seed) if recorded
                else generated_arrivals(vtrain, arrivals_file, arguments.jobs, seed))
    draw = random.Random(f"models {seed}")
    jobs = []
    work = 0
    for number, arrival in enumerate(arrivals, 1):
        model, _, sizes = draw.choices(MODELS, [weight for _, weight, _ in MODELS])[0]
        num_gpus = draw.choice(sizes)
        batch, iteration_s = times[model, num_gpus]
        iterations = max(1, round(float(arrival["duration_s"]) / iteration_s))
        work += num_gpus * iterations * iteration_s
        jobs.append({"job_id": number, "submit_s": 0, "num_gpus": num_gpus, "model": model, "global_batch": batch,
                     "iterations": iterations})
    span_s = work / (load * GPUS)
    if recorded:
        stretch = span_s / arrivals[-1]["submit_s"]
        submissions = [arrival["submit_s"] * stretch for arrival in arrivals]
    else:
        submissions = [float(row["submit_s"])
                       for row in generated_arrivals(vtrain, arrivals_file, arguments.jobs, seed, span_s)]
        arrivals_file.unlink()
    for job, submit_s in zip(jobs, submissions):
        job["submit_s"] = round(submit_s)
    write_jobs(folder / "jobs.csv", jobs)
    trace = folder / "trace.csv"
    vtrain.run("trace", "convert", folder / "jobs.csv", "--profile", "a100", "--stack", STACK, "--deadlines", "elasticflow", "--seed", seed,
               "--force", "--out", trace)
    return trace


def replay(vtrain, folder, trace, error="none", seed=1):
    """Replays the trace under everything compared; returns summaries and JCTs of completed jobs by label. The seed draws errors."""
    results = {}
    for curves in ("data-parallel", "best-plan"):
        labels = {policy: label for label, kind, policy in [BASE, *OTHERS] if kind == curves}
        out = folder / curves
        vtrain.run("compare", "--trace", trace, "--cluster", CLUSTER, "--stack", STACK, "--curves", curves,
                   "--policies", ",".join(labels), "--interruption-cost", "none", "--timeline", "never",
                   "--prediction-error", error, "--seed", seed, "--out", out)
        for policy, label in labels.items():
            run = policy.replace(":", "-")
            summary = json.loads((out / run / "summary.json").read_text())
            jct = {row["job_id"]: float(row["jct_s"]) for row in read_jobs(out / run / "jobs.csv")
                   if row["state"] == "completed"}
            results[label] = (summary, jct)
    return results


def student_t(degrees):
    """The 97.5 % quantile of Student's t distribution: its density summed by Simpson's rule, then bisection."""
    scale = math.exp(math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2)) / math.sqrt(degrees * math.pi)

    def probability(t, steps=2000):
        density = [scale * (1 + (i * t / steps) ** 2 / degrees) ** (-(degrees + 1) / 2) for i in range(steps + 1)]
        return 0.5 + t / steps / 3 * (density[0] + density[-1] + 4 * sum(density[1:-1:2]) + 2 * sum(density[2:-1:2]))

    low, high = 0.0, 100.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if probability(middle) < 0.975 else (low, middle)
    return high


def ratio_interval(ratios):
    """Geometric mean of the seeds' ratios and its 95 % interval: Student's t on their logarithms."""
    logs = [math.log(ratio) for ratio in ratios]
    mean = statistics.fmean(logs)
    if len(logs) < 2:
        return math.exp(mean), math.nan, math.nan
    half = student_t(len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half)


def show_ratio(ratios):
    if any(not ratio > 0 or math.isinf(ratio) for ratio in ratios):
        return "-"
    mean, low, high = ratio_interval(ratios)
    return f"{mean:.3f}" if math.isnan(low) else f"{mean:.3f} [{low:.3f}, {high:.3f}]"


def jct_ratio(jct, base):
    """Average JCT over the jobs that completed in both runs, as a ratio."""
    both = jct.keys() & base.keys()
    return sum(jct[job] for job in sorted(both)) / sum(base[job] for job in sorted(both)) if both else math.nan


def divide(a, b):
    return a / b if b else math.inf


def table_rows(load, by_seed):
    """One row for each run compared: averages over seeds, then ratios to the base."""
    rows = []
    for label, _, _ in [BASE, *OTHERS]:
        runs = [results[label] for results in by_seed]
        bases = [results[BASE[0]] for results in by_seed]
        mean = {key: statistics.fmean(summary[key] for summary, _ in runs)
                for key in ("deadline_satisfactory_ratio", "avg_jct_s", "makespan_s", "rejected", "completed")}
        row = [f"{load:g}", label, f"{100 * mean['deadline_satisfactory_ratio']:.1f} %",
               f"{mean['avg_jct_s'] / 3600:.2f} h", f"{mean['makespan_s'] / 3600:.1f} h", f"{mean['rejected']:.1f}"]
        if label == BASE[0]:
            row += ["1", "1", "1"]
        else:
            pairs = list(zip(runs, bases))
            row += [show_ratio([divide(a["deadline_met"], b["deadline_met"]) for (a, _), (b, _) in pairs]),
                    show_ratio([jct_ratio(a, b) for (_, a), (_, b) in pairs]),
                    show_ratio([a["makespan_s"] / b["makespan_s"] for (a, _), (b, _) in pairs])]
        rows.append(row)
    return rows


def error_rows(load, error, by_seed):
    """One row for each run compared under wrong predictions; the ratio is to the base with equal errors."""
    rows = []
    for label, _, _ in [BASE, *OTHERS]:
        runs = [results[label][0] for results in by_seed]
        bases = [results[BASE[0]][0] for results in by_seed]
        given, kept, met, rejected = (statistics.fmean(run[key] for run in runs) for key in (
            "promises_given", "promises_kept", "deadline_satisfactory_ratio", "rejected"))
        ratio = [divide(run["deadline_met"], base["deadline_met"]) for run, base in zip(runs, bases)]
        rows.append([f"{load:g}", error, label, f"{100 * met:.1f} %", f"{rejected:.1f}", f"{100 * kept / given:.1f} %" if given else "-",
                     "1" if label == BASE[0] else show_ratio(ratio)])
    return rows


ERROR_HEADER = ["load", "prediction error", "policy, plans", "deadlines met", "rejected", "promises kept", "deadlines, ratio"]

HEADER = ["load", "policy, plans", "deadlines met", "avg JCT", "makespan", "rejected", "deadlines, ratio", "JCT, ratio",
          "makespan, ratio"]


def markdown(rows, header=HEADER):
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    line = lambda cells: "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths)) + " |"
    return "\n".join([line(header), line(["-" * width for width in widths]), *map(line, rows)])


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vtrain", type=pathlib.Path, default="build/release/bin/vtrain", help="the program")
    parser.add_argument("--loads", default="0.5,1,1.5,2", help="offered loads, separated by commas")
    parser.add_argument("--seeds", type=int, default=100, help="number of workloads for each load")
    parser.add_argument("--jobs", type=int, default=200, help="jobs of a workload")
    parser.add_argument("--arrivals", help="a trace whose submissions and durations are taken instead of generated ones")
    parser.add_argument("--prediction-errors", help="values of --prediction-error, separated by commas: another table, of what they change")
    parser.add_argument("--out", type=pathlib.Path, default="runs/case_study_2", help="folder for traces and reports")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    if arguments.jobs < 2 or arguments.seeds < 1:
        sys.exit("expected at least 2 jobs and 1 seed")
    vtrain = Vtrain(arguments.vtrain)
    arguments.out.mkdir(parents=True, exist_ok=True)
    times = vtrain.iteration_times()
    recorded = None
    if arguments.arrivals:
        vtrain.run("trace", "convert", arguments.arrivals, "--to", "vtrain", "--force", "--out", arguments.out / "recorded.csv")
        recorded = read_jobs(arguments.out / "recorded.csv")
    rows = []
    errors = arguments.prediction_errors.split(",") if arguments.prediction_errors else ["none"]
    for load in map(float, arguments.loads.split(",")):
        by_error = {error: [] for error in errors}
        for seed in range(1, arguments.seeds + 1):
            folder = arguments.out / f"load-{load:g}" / f"seed-{seed}"
            folder.mkdir(parents=True, exist_ok=True)
            trace = make_trace(vtrain, folder, arguments, recorded, times, load, seed)
            for error, by_seed in by_error.items():
                by_seed.append(replay(vtrain, folder, trace, error, seed))
            print(f"load {load:g}, seed {seed} of {arguments.seeds}", file=sys.stderr)
        for error, by_seed in by_error.items():
            rows += error_rows(load, error, by_seed) if arguments.prediction_errors else table_rows(load, by_seed)
    table = markdown(rows, ERROR_HEADER if arguments.prediction_errors else HEADER)
    (arguments.out / "table.md").write_text(table + "\n")
    print(table)
    print(f"\nratios to {BASE[0]}: geometric mean over {arguments.seeds} seeds, 95 % interval by Student's t on logarithms")
    print(f"reports: {arguments.out}/load-*/seed-*/{{best-plan,data-parallel}}/report.html")


if __name__ == "__main__":
    main()
