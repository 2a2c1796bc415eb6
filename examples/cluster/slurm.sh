#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# A data-parallel job on nodes of Slurm: torchrun on each node, a rank for each of its GPUs, and one
# stream on each node. Where nodes have no GPUs, a node has one rank.
#
#   sbatch --nodes=4 --gpus-per-node=8 slurm.sh examples/python/ddp.py /data/mnist
#SBATCH --job-name=batchcast
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
set -eu
first=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun torchrun --nnodes="$SLURM_JOB_NUM_NODES" --nproc-per-node="${SLURM_GPUS_ON_NODE:-1}" \
  --rdzv-backend=c10d --rdzv-id="$SLURM_JOB_ID" --rdzv-endpoint="$first:29500" "$@"
