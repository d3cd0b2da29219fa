"""Tenants of a test's Slurm, its schedulers, and what their users do."""

import os
import subprocess

SCHEDULER = """SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=1,bf_resolution=1,bf_continue,bf_window=1440
PriorityType=priority/multifactor
PriorityCalcPeriod=1
PriorityDecayHalfLife=1-0
"""
QUEUE = SCHEDULER + """PriorityWeightAge=20000
PriorityWeightFairshare=100000
PriorityWeightJobSize=5000
PriorityWeightQOS=30000
PriorityWeightPartition=8000
PriorityWeightAssoc=3000
PriorityMaxAge=0-00:10:00
PartitionName=short Nodes=ALL Default=YES MaxTime=10 PriorityJobFactor=10 State=UP
PartitionName=long Nodes=ALL MaxTime=60 PriorityJobFactor=2 State=UP
"""

ACCOUNTS = [("science", "root", 60), ("industry", "root", 40), ("vision", "science", 30), ("speech", "science", 10),
            ("search", "industry", 5)]
# Users that every system has: none need be made.
USERS = [("daemon", "vision", 10), ("bin", "vision", 20), ("games", "vision", 5), ("man", "speech", 1), ("lp", "speech", 2),
         ("mail", "search", 7), ("news", "search", 3), ("backup", "search", 1)]
QOS = [("high", 100), ("low", 10)]


def add_tenants(slurm):
    for name, parent, share in ACCOUNTS:
        slurm.run("sacctmgr", "-i", "add", "account", name, "cluster=test", f"parent={parent}", f"fairshare={share}")
    for name, priority in QOS:
        slurm.run("sacctmgr", "-i", "add", "qos", name, f"priority={priority}")
    slurm.run("sacctmgr", "-i", "modify", "qos", "normal", "set", "priority=40")
    slurm.run("sacctmgr", "-i", "modify", "account", "science,industry", "set", "qos=normal,high,low")
    for name, account, share in USERS:
        slurm.run("sacctmgr", "-i", "add", "user", name, f"account={account}", f"fairshare={share}")
    slurm.run("sacctmgr", "-i", "modify", "account", "speech", "set", "priority=50")
    slurm.run("sacctmgr", "-i", "modify", "user", "mail", "set", "priority=200")


def submit(slurm, row, ids):
    nodes = row["nodes"]
    command = ["sbatch", "--parsable", f"--uid={row['user']}", "--gid=nogroup", "--chdir=/", "-o", "/dev/null", "-J", row["name"],
               f"-N{nodes}", f"-n{nodes}", f"-c{row['cpus']}", f"--time={row['time_limit']}", "-A", row["account"], "-q",
               row["qos"], "-p", row["partition"], f"--gres={row['gres']}"]
    if row.get("nice"):
        command.append(f"--nice={row['nice']}")
    if row.get("dependency"):
        kind, name = row["dependency"].split(":")
        command.append(f"--dependency={kind}:{ids[name]}")
    ids[row["name"]] = slurm.run(*command, f"--wrap=exec sleep {row['sleep']}").strip()


def write_setup(slurm, folder):
    """Writes what the policy reads."""
    (folder / "slurm.conf").write_text((slurm.folder / "slurm.conf").read_text())
    slurm.run("sacctmgr", "dump", "test", f"file={folder}/associations-dump.cfg")
    (folder / "qos.txt").write_text(slurm.run("sacctmgr", "-P", "show", "qos"))
    (folder / "sshare.txt").write_text(slurm.run("sshare", "-alP"))
    (folder / "controller-associations.txt").write_text(slurm.run("scontrol", "show", "assoc_mgr", "flags=assoc"))


def run_program(*command):
    """Runs vtrain and returns what it prints."""
    done = subprocess.run([os.environ["VTRAIN"], *command], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return done.stdout
