#!/usr/bin/env bash
# Submits the batch script of `vtrain sweep --slurm-template` to a real Slurm of three nodes on this machine, once with mpirun and once
# with srun --mpi=pmix, and compares the results with those of threads. A job that is cancelled is submitted again and repeats nothing.
# Exit code 77 where slurmctld, slurmd, munge or MPI are absent, or without root.
#   sweep_on_slurm.sh PROGRAM SHARED
set -euo pipefail

program=$1
cluster=$2/tools/slurm-cluster
skip() { echo "skipped: $*"; exit 77; }
for command in slurmctld slurmd munged sbatch mpirun python3; do
  command -v "$command" >/dev/null || skip "no $command"
done
[[ $(id -u) == 0 ]] || skip "needs root"
[[ -x $cluster ]] || skip "third-party tool $cluster absent"
[[ -e $(dirname "$program")/libvtrain_mpi.so ]] || skip "vtrain was built without MPI"

work=$(mktemp -d /tmp/vtrain-slurm-XXXXXX)
# The folder stays where something failed, for a look at its logs.
finish() {
  local code=$?
  bash "$cluster" stop "$work/slurm" || true
  if (( code == 0 )); then rm -rf "$work"; else echo "kept: $work"; fi
}
trap finish EXIT
bash "$cluster" start "$work/slurm" --nodes 3 --cpus 2
eval "$(bash "$cluster" env "$work/slurm")"

cd "$work"
export XDG_CACHE_HOME=$work/cache VTRAIN=$program
# Open MPI starts as root only if told so twice.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
echo '{"spec_version": 1, "policies": ["fifo", "easy", "srtf", "edf"], "seeds": "1-100"}' > grid.json
"$program" sweep --slurm-template > sweep.sh
"$program" sweep grid.json --out threads.sqlite --threads 2
rows() {
  python3 -c 'import sqlite3, sys
for row in sqlite3.connect(sys.argv[1]).execute("SELECT * FROM runs ORDER BY run"): print(row)' "$1"
}

# submit RESULTS: submits the script and waits for its end, as three tasks on three nodes.
submit() {
  sbatch --wait --ntasks=3 --nodes=3 --mem-per-cpu=100 --time=5 --output="$1.log" sweep.sh grid.json "$1" || { cat "$1.log"; return 1; }
  cat "$1.log"
}

echo "== mpirun =="
submit mpirun.sqlite
cmp <(rows threads.sqlite) <(rows mpirun.sqlite)
grep -q "on 2 ranks" mpirun.sqlite.log

echo "== srun --mpi=pmix =="
VTRAIN_LAUNCH='srun --mpi=pmix' submit srun.sqlite
cmp <(rows threads.sqlite) <(rows srun.sqlite)
grep -q "on 2 ranks" srun.sqlite.log

echo "== plain srun is refused =="
if VTRAIN_LAUNCH='srun --mpi=none' submit plain.sqlite; then echo "error: it ran"; exit 1; fi
grep -q "start them with srun --mpi=pmix or mpirun" plain.sqlite.log

echo "== a job that is cancelled goes on =="
job=$(sbatch --parsable --ntasks=3 --nodes=3 --mem-per-cpu=100 --time=5 --output=cancelled.log sweep.sh grid.json cancelled.sqlite)
until [[ $(stat -c %s cancelled.sqlite-wal 2>/dev/null || echo 0) -ge 60000 ]]; do sleep 0.02; done
scancel --signal=KILL --full "$job"
while squeue -h -j "$job" 2>/dev/null | grep -q .; do sleep 0.2; done
before=$(rows cancelled.sqlite | wc -l)
(( before > 0 && before < 400 )) || { echo "error: $before runs before the end"; exit 1; }
submit cancelled.sqlite
grep -q "400 runs of 400: $before before, $((400 - before)) now" cancelled.sqlite.log
cmp <(rows threads.sqlite) <(rows cancelled.sqlite)
echo "passed"
