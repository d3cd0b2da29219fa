#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gres=gpu:8
TP=${TP:-4}
ARGS=( --num-layers 24 --hidden-size 1024 # sizes
  --num-attention-heads 16 --seq-length 1024 )
if [[ $TP == 4 && -n "$TP" ]] ; then ARGS+=("--sequence-parallel"); fi
case $TP in 2|4) MBS=1;; *) MBS=2;; esac
for x in a b; do echo $x; done
CMD="python pretrain_gpt.py ${ARGS[@]} --tensor-model-parallel-size $((TP * 1)) --micro-batch-size $MBS"
srun bash -c "$CMD"
