/// The batch script of `vtrain sweep --slurm-template`.
#pragma once

#include <string_view>

namespace vtrain {

/// A batch script that starts a sweep on the nodes of a Slurm job.
inline constexpr std::string_view kSlurmTemplate = R"(#!/bin/bash
# A sweep of vtrain on a Slurm cluster: the ranks of the job share the runs, and rank 0 writes the results.
#
#   sbatch sweep.sh SPEC.json [RESULTS.sqlite]
#
# A job that ends too early (its time limit, a node that fails) may be submitted again: nothing is repeated.
#SBATCH --job-name=vtrain-sweep
#SBATCH --ntasks=64
#SBATCH --cpus-per-task=1
#SBATCH --mem-per-cpu=1G
#SBATCH --time=12:00:00
#SBATCH --output=vtrain-sweep-%j.log
set -euo pipefail

if [[ -z "${SLURM_JOB_ID:-}" ]]; then
  echo "error: this is a batch script; submit it to Slurm: sbatch $(basename "$0") SPEC.json" >&2
  exit 2
fi
if [[ -z "${1:-}" ]]; then
  echo "error: no spec; submit it with one: sbatch sweep.sh SPEC.json" >&2
  exit 2
fi
spec=$1
name=$(basename "$spec")
results=${2:-${name%.json}.sqlite}

# mpirun knows the nodes of the job. With VTRAIN_LAUNCH='srun --mpi=pmix' Slurm starts the ranks itself; srun without
# --mpi=pmix starts them without a connection, which vtrain refuses.
read -ra launch <<< "${VTRAIN_LAUNCH:-mpirun}"
exec "${launch[@]}" "${VTRAIN:-vtrain}" sweep "$spec" --out "$results"
)";

}  // namespace vtrain
