#!/usr/bin/env python3
"""Measures how the time of a replay grows with the number of jobs, and prints a table.

    python3 tests/bench/growth.py [--program build/release/bin/vtrain] [--policies easy,conservative] [--placements count,yarn]

The workload is generated at load 1.5, so that the queue grows with the number of jobs; time limits equal run times. Each
cell is the user time of a whole process, seconds, the least of three runs where it is short; the last column is the largest
factor between one size and the next, which should stay near 2.
`--types` gives half of the nodes and half of the jobs to each of two GPU types. `--limits lognormal:0.5` makes time limits
that are longer than the run times, so that jobs end early. A replay that takes longer than `--limit-s` ends its row.
"""

import argparse
import csv
import os
import pathlib
import random
import resource
import subprocess
import sys
import tempfile

PROJECT = pathlib.Path(__file__).resolve().parents[2]
PLACEMENTS = ["count", "yarn", "best-fit", "fgd", "consolidate", "consolidate-strict", "buddy"]
POLICIES = ["fifo", "fit-first", "sjf", "srtf", "srsf", "las", "elasticflow-las", "gittins", "edf", "elasticflow-edf",
            "edf-admission", "elasticflow", "chronus", "easy", "easy-fast", "conservative"]
CLUSTER, TYPED_CLUSTER = "16x8:a100", "8x8:a100+8x8:h100"


def user_seconds(command, limit_s):
    """User time of a command; None if it takes longer than the limit."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit_s, limit_s)))
    message = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    if os.WIFSIGNALED(status):
        return None
    if status != 0:
        sys.exit(f"{' '.join(command)}: {message.decode(errors='replace')}")
    return usage.ru_utime


def least_user_seconds(command, limit_s):
    """The least of up to three runs, which together take a second or more."""
    times = []
    while len(times) < 3 and sum(times) < 1:
        time = user_seconds(command, limit_s)
        if time is None:
            return None
        times.append(time)
    return min(times)


def make_trace(arguments, num_jobs, folder):
    trace = os.path.join(folder, f"jobs-{num_jobs}.csv")
    subprocess.run([arguments.program, "trace", "generate", "--jobs", str(num_jobs), "--load", str(arguments.load), "--seed", "3",
                    "--cluster", CLUSTER, "--out", trace], check=True, stdout=subprocess.DEVNULL)
    if arguments.types:
        choice = random.Random(num_jobs)
        with open(trace, newline="") as file:
            rows = list(csv.DictReader(file))
        with open(trace, "w", newline="") as file:
            writer = csv.DictWriter(file, [*rows[0], "gpu_type"])
            writer.writeheader()
            writer.writerows({**row, "gpu_type": choice.choice(["a100", "h100"])} for row in rows)
    return trace


def spec_of(policy, folder):
    """The policy with the arguments that it can't do without."""
    if policy != "gittins":
        return policy
    sample = os.path.join(folder, "service.csv")
    with open(sample, "w") as file:
        file.write("duration\n" + "".join(f"{300 * i}\n" for i in range(1, 101)))
    return f"gittins:distribution={sample}"


def measure_row(arguments, traces, policy, placement):
    """The times by size, as far as the limit allows."""
    times = []
    for num_jobs in arguments.sizes:
        command = [arguments.program, "replay", "--trace", traces[num_jobs], "--cluster", TYPED_CLUSTER if arguments.types else CLUSTER,
                   "--policy", policy, "--placement", placement]
        if arguments.limits != "exact":
            command += ["--estimates", arguments.limits]
        time = least_user_seconds(command, arguments.limit_s)
        if time is None:
            break
        times.append(time)
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(PROJECT / "build/release/bin/vtrain"))
    parser.add_argument("--policies", type=lambda text: text.split(","), default=POLICIES)
    parser.add_argument("--placements", type=lambda text: text.split(","), default=PLACEMENTS)
    parser.add_argument("--sizes", type=lambda text: [int(size) for size in text.split(",")], default=[4000, 8000, 16000, 32000])
    parser.add_argument("--load", type=float, default=1.5)
    parser.add_argument("--limits", default="exact", help="exact, or a rule of --estimates")
    parser.add_argument("--types", action="store_true", help="jobs ask for one of two GPU types")
    parser.add_argument("--limit-s", type=int, default=120, help="longest user time of a replay, seconds")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        traces = {num_jobs: make_trace(arguments, num_jobs, folder) for num_jobs in arguments.sizes}
        print("| policy | placement | " + " | ".join(f"{size:,}" for size in arguments.sizes) + " | largest factor |")
        print("|---|---|" + "---:|" * (len(arguments.sizes) + 1))
        for policy in arguments.policies:
            for placement in arguments.placements:
                times = measure_row(arguments, traces, spec_of(policy, folder), placement)
                cells = [f"{time:.2f}" for time in times] + ["-"] * (len(arguments.sizes) - len(times))
                factors = [later / earlier for earlier, later in zip(times, times[1:])]
                factor = f"{max(factors):.1f}" if factors and len(times) == len(arguments.sizes) else "-"
                print(f"| `{policy}` | {placement} | " + " | ".join(cells) + f" | {factor} |", flush=True)


if __name__ == "__main__":
    main()
