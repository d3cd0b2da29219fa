#!/usr/bin/env python3
"""Predicts the runs of configurations.json, or of the file --runs, and compares the predictions with what was measured.

    compare.py predict --vtrain build/release/bin/vtrain --profile PROFILE --out h200/predictions.json
    compare.py table   --measured h200/measured.json --predictions h200/predictions.json

`predict` needs no GPU and is meant to be run before the training: a file of predictions is never overwritten.
`vtrain validate measured.json` compares with what is predicted now."""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import runs as described

# What was set out to reach, in per cent.
MEAN_ERROR, WORST_ERROR, MEMORY_ERROR = 5, 12, 10


def predict(all_runs, vtrain, profile):
    """Iteration time and peak memory of each run by the physical predictor."""
    predictions = {}
    with tempfile.TemporaryDirectory() as folder:
        for run in all_runs:
            config = pathlib.Path(folder) / f"{run['id']}.json"
            config.write_text(json.dumps(described.config_of(run)))
            command = [vtrain, "predict", str(config), "--profile", profile, "--json"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise SystemExit(f"{run['id']}: {done.stderr.strip()}")
            answer = json.loads(done.stdout)
            answer = answer[0] if isinstance(answer, list) else answer
            predictions[run["id"]] = {"iteration_time_s": answer["iteration_time_s"],
                                      "iteration_time_interval_s": answer["iteration_time_interval_s"],
                                      "peak_bytes": answer["memory"]["peak_bytes_per_gpu"],
                                      "peak_interval_bytes": answer["memory"]["interval_bytes"], "profile": profile}
    return predictions


def compare(all_runs, records, predictions):
    """Rows of id, measured and predicted time, their difference in per cent, and the same of the memory."""
    measured = {record["id"]: record["measured"] for record in records["runs"]}
    rows = []
    for run in all_runs:
        truth, guess = measured.get(run["id"]), predictions.get(run["id"])
        if truth is None or guess is None:
            continue
        rows.append({"id": run["id"], "measured_s": truth["iteration_s"], "predicted_s": guess["iteration_time_s"],
                     "error_percent": 100 * (guess["iteration_time_s"] / truth["iteration_s"] - 1),
                     "memory_error_percent":
                         100 * (guess["peak_bytes"] / described.GIBIBYTE / truth["mem_alloc_gib"] - 1)})
    return rows


def summarize(rows):
    errors = [abs(row["error_percent"]) for row in rows]
    memory = [abs(row["memory_error_percent"]) for row in rows]
    return {"n": len(rows), "mape_percent": sum(errors) / len(rows), "worst_percent": max(errors),
            "worst_memory_percent": max(memory)}


def print_table(rows):
    width = max(len(row["id"]) for row in rows)
    print(f"{'run':{width}}  measured s  predicted s   error %  memory error %")
    for row in rows:
        print(f"{row['id']:{width}}  {row['measured_s']:10.4f}  {row['predicted_s']:11.4f}  {row['error_percent']:+8.1f}"
              f"  {row['memory_error_percent']:+14.1f}")
    total = summarize(rows)
    print(f"\n{total['n']} runs: mean error {total['mape_percent']:.1f} % (goal {MEAN_ERROR}), worst "
          f"{total['worst_percent']:.1f} % (goal {WORST_ERROR}), worst of memory {total['worst_memory_percent']:.1f} % "
          f"(goal {MEMORY_ERROR})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    before = commands.add_parser("predict")
    before.add_argument("--vtrain", default="vtrain")
    before.add_argument("--profile", required=True)
    before.add_argument("--out", required=True, type=pathlib.Path)
    after = commands.add_parser("table")
    after.add_argument("--measured", required=True)
    after.add_argument("--predictions", required=True)
    for each in (before, after):
        each.add_argument("--runs", default=described.FOLDER / "configurations.json", help="file of the runs [configurations.json]")
    arguments = parser.parse_args()
    all_runs = described.load_runs(arguments.runs)
    if arguments.command == "predict":
        if arguments.out.exists():
            raise SystemExit(f"{arguments.out} is there already: predictions are made once, before the training")
        described.write_json(arguments.out, predict(all_runs, arguments.vtrain, arguments.profile))
        return 0
    rows = compare(all_runs, described.read_json(arguments.measured, described.NO_RECORDS),
                   described.read_json(arguments.predictions, {}))
    if not rows:
        raise SystemExit("no run has been both measured and predicted")
    print_table(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
