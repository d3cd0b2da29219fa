"""Records the log of a real Slurm of four nodes: the jobs that users submit at random for an hour, on this machine.

    record_slurm_log.py FOLDER [JOBS]

Writes FOLDER/sacct.txt, the setup that the policy `slurm` reads, and estimates.txt: the first start that Slurm estimated for each job that
waited. Jobs only sleep. Needs what real_slurm_test.py needs.
"""

import pathlib
import random
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from slurm_daemons import SlurmDaemons, why_not  # noqa: E402
from slurm_users import QUEUE, USERS, add_tenants, submit, write_setup  # noqa: E402

SEED = 7
MEAN_GAP_S = 14
COLUMNS = "JobID,JobName,User,Account,QOS,Partition,State,Submit,Start,End,Timelimit,NNodes,ReqTRES,AllocTRES"


def kinds_of_jobs(chance):
    """Three kinds of each user, as (name, nodes, GPUs of each node, median seconds, spread, limit in minutes)."""
    kinds = {}
    for user, _, _ in USERS:
        kinds[user] = []
        for name in ("train", "tune", "eval"):
            nodes = 1 if name != "train" else chance.choice([1, 1, 2, 4])
            gpus = 8 if nodes > 1 else chance.choice([1, 2, 4, 8])
            median = min(chance.lognormvariate(3.7, 0.7), 150)
            limit = max(1, round(median * chance.uniform(2, 6) / 60 + 0.5))
            kinds[user].append((name, nodes, gpus, median, chance.uniform(0.1, 0.5), limit))
    return kinds


def workload(jobs):
    """Rows for `submit`, with their offsets in seconds."""
    chance = random.Random(SEED)
    kinds = kinds_of_jobs(chance)
    at = 0.0
    rows = []
    for _ in range(jobs):
        at += chance.expovariate(1 / MEAN_GAP_S)
        user, account, _ = chance.choice(USERS)
        name, nodes, gpus, median, spread, limit = chance.choice(kinds[user])
        seconds = max(3, round(median * chance.lognormvariate(0, spread)))
        rows.append({"offset": at, "name": name, "user": user, "account": account, "qos": chance.choice(["normal", "normal", "high", "low"]),
                     "partition": "short" if limit <= 10 else "long", "nodes": nodes, "cpus": 1, "gres": f"gpu:{gpus}",
                     "time_limit": limit, "sleep": seconds})
    return rows


def note_estimates(slurm, found):
    """Keeps the first estimate of each waiting job."""
    for line in slurm.run("squeue", "-ah", "-t", "PD", "-o", "%i|%T|%V|%S").splitlines():
        job = line.split("|")[0]
        if not line.endswith("|N/A"):
            found.setdefault(job, line)


def record(folder, jobs):
    with SlurmDaemons(4, QUEUE) as slurm:
        add_tenants(slurm)
        zero = time.time()
        estimates = {}
        for row in workload(jobs):
            while (left := zero + row["offset"] - time.time()) > 0:
                note_estimates(slurm, estimates)
                time.sleep(min(2, max(0.01, left)))
            submit(slurm, row, {})
        while slurm.run("squeue", "-ha"):
            note_estimates(slurm, estimates)
            time.sleep(2)
        time.sleep(3)
        (folder / "sacct.txt").write_text(slurm.run("sacct", "-aDXP", "-S", "now-1days", "-o", COLUMNS))
        (folder / "estimates.txt").write_text("JOBID|STATE|SUBMIT_TIME|START_TIME\n" + "".join(f"{line}\n" for line in estimates.values()))
        write_setup(slurm, folder)


if __name__ == "__main__":
    if why_not():
        sys.exit(f"no Slurm can run here: {why_not()}")
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    record(out, int(sys.argv[2]) if len(sys.argv) > 2 else 250)
