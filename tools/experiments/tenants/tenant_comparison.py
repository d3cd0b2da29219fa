#!/usr/bin/env python3
"""Compares policies that know tenants with those that do not, on a week of a recorded trace.

Cuts the week, writes the tree of tenants and Slurm's files, runs `vtrain compare`, and writes table.md beside its report.
"""

import argparse
import csv
import json
import pathlib
import shutil
import subprocess
import sys

# Nodes, GPUs of each, type.
CLUSTER = ((64, 8, "a100"), (32, 8, "h100"), (64, 4, "v100-sxm3"))
POLICIES = ("fifo", "easy", "srtf", "fair-share", "drf", "kueue", "slurm", "elasticflow", "deadline")

# Nodes that each virtual cluster had: its weight, and its part of the cluster as quota.
SHARES = {
    # Hu et al., SC'21 (S-Lab-System-Group/HeliosArtifact, for Philly).
    "philly": {"6214e9": 64, "7f04ca": 32, "11cb48": 16, "b436b2": 64, "ee9e8c": 64, "e13805": 16, "6c71a0": 32,
               "2869ce": 16, "ed69ec": 8, "103959": 8, "0e4a51": 32},
    # Gu et al., ASPLOS'23: nodes of 8 GPUs in their simulations of the ten clusters.
    "itp": {"cluster01": 64, "cluster02": 64, "cluster03": 64, "cluster04": 128, "cluster05": 64, "cluster06": 64,
            "cluster07": 128, "cluster08": 128, "cluster09": 128, "cluster10": 32},
}
# First day of the week.
WEEKS = {"philly": 63, "itp": 21}


def run(command, folder=None):
    done = subprocess.run([str(part) for part in command], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")
    return done.stdout


def parts_of(total, weights):
    """Whole parts of a total in proportion to weights; the largest remainders are rounded up."""
    exact = {name: total * weight / sum(weights.values()) for name, weight in weights.items()}
    parts = {name: int(part) for name, part in exact.items()}
    by_remainder = sorted(weights, key=lambda name: parts[name] - exact[name])
    for name in by_remainder[:total - sum(parts.values())]:
        parts[name] += 1
    return parts


def write_tree(file, weights):
    quotas = {gpu_type: parts_of(nodes * gpus, weights) for nodes, gpus, gpu_type in CLUSTER}
    tenants = [{"name": name, "weight": weight,
                "quotas": [{"gpu_type": gpu_type, "gpus": parts[name]} for gpu_type, parts in quotas.items()]}
               for name, weight in weights.items()]
    file.write_text(json.dumps({"version": 1, "tenants": tenants}, indent=1) + "\n")


def write_slurm(folder, weights):
    """One partition, priorities by fair share alone, an account with one user for each tenant."""
    folder.mkdir(exist_ok=True)
    nodes = "\n".join(f"NodeName={gpu_type[0]}[0-{number - 1}] CPUs={8 * gpus} Gres=gpu:{gpu_type}:{gpus}"
                      for number, gpus, gpu_type in CLUSTER)
    (folder / "slurm.conf").write_text(f"""SelectType=select/cons_tres
GresTypes=gpu
AccountingStorageTRES=gres/gpu
AccountingStorageEnforce=associations
SchedulerType=sched/backfill
PriorityType=priority/multifactor
PriorityWeightFairshare=100000
PriorityDecayHalfLife=1-0
{nodes}
PartitionName=gpu Nodes=ALL Default=YES MaxTime=UNLIMITED TRESBillingWeights="CPU=0,GRES/gpu=1.0"
""")
    lines = ["Cluster - 'shared':Fairshare=1:QOS='normal'", "Parent - 'root'"]
    lines += [f"Account - '{name}':Description='{name}':Organization='{name}':Fairshare={weight}"
              for name, weight in weights.items()]
    for name in weights:
        lines += [f"Parent - '{name}'", f"User - '{name}':DefaultAccount='{name}':Fairshare=1"]
    (folder / "associations-dump.cfg").write_text("\n".join(lines) + "\n")


def cut(options, target):
    """The week's jobs of the tenants."""
    weights = SHARES[options.workload]
    start = WEEKS[options.workload]
    traces = ([options.traces / "philly/philly_reconstructed.csv.gz"] if options.workload == "philly" else
              [options.traces / f"itp/{name}.csv.gz" for name in weights])
    rows = []
    for trace in traces:
        run([options.vtrain, "trace", "slice", trace, "--from", f"{start}d", "--until", f"{start + 7}d", "--clip", "7d", "--out",
             target, "--force", "--quiet"])
        with target.open() as file:
            for row in csv.DictReader(file):
                tenant = row["tenant"] if options.workload == "philly" else trace.name.split(".")[0]
                if tenant in weights:
                    rows.append({"job_id": f"{tenant}-{row['job_id']}", "tenant": tenant,
                                 **{key: row[key] for key in ("submit_s", "num_gpus", "duration_s")}})
    rows.sort(key=lambda row: float(row["submit_s"]))
    with target.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def duration(seconds):
    hours = seconds / 3600
    return f"{hours:.1f} h" if hours >= 1 else f"{60 * hours:.1f} min"


def table(folder, policies):
    lines = ["| policy | deadlines met | by GPU-hours | average JCT | average wait | Jain of tenants | p95 deficit | preemptions |",
             "|---|---|---|---|---|---|---|---|"]
    for policy in policies:
        found = json.loads((folder / policy.replace(":", "-") / "summary.json").read_text())
        shares = found["shares"]
        lines.append(f"| {policy.split(':')[0]} | {100 * found['deadline_satisfactory_ratio']:.1f} % | "
                     f"{100 * found['deadline_satisfactory_ratio_by_gpu_hours']:.1f} % | {duration(found['avg_jct_s'])} | "
                     f"{duration(found['avg_waiting_time_s'])} | {shares['jain_index']:.3f} | "
                     f"{100 * shares['p95_deficit']:.1f} % | {found['preemptions']:,} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workload", choices=SHARES)
    parser.add_argument("--traces", type=pathlib.Path, required=True, help="folder with philly/ and itp/")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for inputs, report and table")
    parser.add_argument("--vtrain", default="build/release/bin/vtrain", help="the program")
    parser.add_argument("--policies", type=lambda text: text.split(","), default=POLICIES)
    options = parser.parse_args()
    options.vtrain = pathlib.Path(options.vtrain).resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    weights = SHARES[options.workload]
    cut(options, options.out / "week.csv")
    write_tree(options.out / "tree.json", weights)
    write_slurm(options.out / "slurm", weights)
    runs = options.out / "runs"
    shutil.rmtree(runs, ignore_errors=True)
    policies = ["slurm:folder=slurm" if policy == "slurm" else policy for policy in options.policies]
    print(run([options.vtrain, "compare", "--trace", "week.csv", "--cluster",
               "+".join(f"{nodes}x{gpus}:{gpu_type}" for nodes, gpus, gpu_type in CLUSTER), "--tenant-tree", "tree.json",
               "--policies", ",".join(policies), "--assign", "zoo", "--deadlines", "1:2", "--estimates", "rounded",
               "--placement", "consolidate", "--seed", "1", "--out", "runs"], options.out))
    found = table(runs, policies)
    (options.out / "table.md").write_text(found)
    print(found, end="")


if __name__ == "__main__":
    main()
