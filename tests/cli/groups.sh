#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# sh groups.sh BATCHCAST MULTIPROCESS    ranks of a group, and nodes that serve shards, as their launchers name them;
# the second program attaches many consumers at once.
set -u
batchcast=$1
multiprocess=$2

here=$(cd "$(dirname "$0")" && pwd)
. "$here/support.sh"

# Whatever started these tests is no launcher of theirs.
unset LOCAL_RANK LOCAL_WORLD_SIZE GROUP_RANK GROUP_WORLD_SIZE WORLD_SIZE JOB_COMPLETION_INDEX PET_NODE_RANK \
  PET_NNODES OMPI_COMM_WORLD_SIZE OMPI_COMM_WORLD_LOCAL_RANK OMPI_COMM_WORLD_LOCAL_SIZE SLURM_JOB_ID SLURM_JOBID \
  SLURM_STEP_ID SLURM_STEPID SLURM_NNODES

# as_rank RANK WORLD COMMAND... &    as torchrun starts it
as_rank() {
  rank=$1
  world=$2
  shift 2
  exec env LOCAL_RANK="$rank" LOCAL_WORLD_SIZE="$world" MASTER_ADDR=localhost MASTER_PORT=29500 \
    TORCHELASTIC_RUN_ID=none "$@"
}

echo "-- what is no group"
expect 2 '`ranks` is no group: it has no rank and world\. It is NAME:RANK/WORLD' consume s --group ranks
expect 2 '`` is no group: it is empty; .*NAME:RANK/WORLD' consume s --group ""
expect 2 'is no group: ranks are numbered from 0' consume s --group ranks:2/2
expect 2 'no launcher did: of LOCAL_RANK .*NAME:RANK/WORLD' consume s --group auto
expect 2 'a rank of a group' consume s --group ranks:0/2 --digest
export LOCAL_RANK=1
expect 2 'LOCAL_RANK=1 is there and LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT is not' consume s --group auto
unset LOCAL_RANK

echo "-- the shard of a node"
"$batchcast" dump synthetic:2x8 --dtype u8 --samples 50 --positions 0:50 --out "$work/data" >"$work/out" 2>&1 ||
  fail "dump failed"
data=npy:$work/data/image.npy
export GROUP_RANK=1 GROUP_WORLD_SIZE=3
expect 0 '^--shard auto is 1/3: torchrun \(GROUP_RANK=1, GROUP_WORLD_SIZE=3\)$' \
  ensure nodes "$data" --shard auto --idle-exit 20
expect 0 '^served$' ensure nodes "$data" --shard auto
expect 0 '^served$' ensure nodes "$data" --shard 1/3
export GROUP_RANK=2
expect 1 'shard.index: the stream has 1, asked for 2' ensure nodes "$data" --shard auto
unset GROUP_RANK GROUP_WORLD_SIZE
expect 2 'JOB_COMPLETION_INDEX .Kubernetes. none is set.*--shard I/N' ensure nodes "$data" --shard auto
expect 0 'is stopped' stop nodes
until_true test ! -e "$work/streams/nodes"

echo "-- a job on several nodes whose stream is no shard"
lone() {
  GROUP_RANK=1 GROUP_WORLD_SIZE=3 timeout 60 "$batchcast" consume nodes --group lone:0/1 --batch-size 4 --epochs 1 \
    >"$work/out" 2>"$work/lone"
}
expect 0 '^served$' ensure nodes "$data"
lone
same "warnings" 1 "$(grep -cE 'warning: .*group `lone` is of a job on several nodes.*--shard auto' "$work/lone")"
expect 0 'is stopped' stop nodes
until_true test ! -e "$work/streams/nodes"
expect 0 '^served$' ensure nodes "$data" --shard 1/3
lone
same "warnings where it is one" 0 "$(grep -c 'several nodes' "$work/lone")"
expect 0 'is stopped' stop nodes

echo "-- what the ranks of one node get of a job on several"
expect 2 'shard does not go with a `synthetic:` source' serve synthetic:8 --stream nodes --shard blocks
expect 0 '^served$' ensure nodes "$data" --shard blocks --idle-exit 20
expect 0 '^served$' ensure nodes "$data" --shard blocks
expect 1 'shard: the stream has what its ranks here get .`blocks`., asked for all samples' ensure nodes "$data"
expect 1 'shard: the stream has what its ranks here get' ensure nodes "$data" --shard 1/3
lone
same "consumers that do not say which ranks they are" 1 \
  "$(grep -cE 'nothing says which of its ranks .*NAME:RANK/WORLD@FIRST/JOB' "$work/lone")"
expect 0 '"samples":16[,}]' consume nodes --group here:0/1@1/3 --batch-size 4 --epochs 1 --verify --json
expect 0 '"samples":32[,}]' consume nodes --group pair:0/1@2/3 --batch-size 4 --epochs 2 --verify --json
expect 0 '"samples":50[,}]' consume nodes --batch-size 4 --epochs 1 --verify --json
expect 2 'a job of 3 ranks has no 2 from its rank 2 on' consume nodes --group here:0/2@2/3
expect 0 'is stopped' stop nodes
until_true test ! -e "$work/streams/nodes"
expect 0 '^served$' ensure nodes "$data" --shard 1/3
expect 1 'shard: the stream has whole epochs, or a share of them, asked for `blocks`' \
  ensure nodes "$data" --shard blocks
expect 0 'is stopped' stop nodes
export JOB_COMPLETION_INDEX=0
expect 2 'PET_NNODES.*`completions`' serve "$data" --stream nodes --shard auto
unset JOB_COMPLETION_INDEX

echo "-- two ranks, every byte, and one consumer beside them"
# said FILE TEXT    waits for it
said() {
  checks=$((checks + 1))
  until_true grep -qF "$2" "$work/$1" || fail "$1 does not say '$2': $(cat "$work/$1")"
}
export BATCHCAST_PROGRESS_EVERY_S=0.1
serve synthetic:3x8x8 --stream pair --samples 1003 --epochs 2 --memory 1MiB --wait-for 2 --json
consume() { timeout 60 "$batchcast" consume pair --json "$@"; }
consume --group ranks:0/2 --batch-size 16 --name first --verify >"$work/rank.0" 2>"$work/rank.0.err" &
until_true lists '"group":"ranks","missing":\[1\],"state":"forming","world":2'
ls_shows '^  ranks: 1 of 2 ranks, without 1 +forming'
ls_shows '^forming: its ranks begin once the last of them has come'
ls_shows '^pair: waits for 2 consumers \(a group counts as one\)'
ls_shows '"waits_for":"consumers"' --json
said serve.err 'waits for 2 consumers (--wait-for 2; a group counts as one)  rank 1 of `ranks` is missing'
consume --group ranks:1/2 --batch-size 16 --name second --verify >"$work/rank.1" 2>"$work/rank.1.err" &
until_true lists '"group":"ranks","missing":\[\],"state":"running","world":2'
ls_shows '^pair .* starting '  # a group is one of the two
ls_shows '^pair: waits for 1 more consumer \(a group counts as one\)'
said serve.err 'waits for 1 more consumer (--wait-for 2; a group counts as one)'
ls_shows '^  ranks: 2 of 2 ranks +running'
ls_shows '^    1: second .* lockstep'
consume --batch-size 37 --name beside >"$work/beside" 2>"$work/beside.err"
wait
for rank in 0 1; do
  out="$work/rank.$rank"
  has_keys "$out" group rank world
  # Of 1,003 samples, 31 batches of 32 and one of 5 each: 10 of the last 11, and one is left out.
  same "samples of rank $rank" 1002 "$(value samples "$out")"
  same "batches of rank $rank" 64 "$(value batches "$out")"
  for count in missing duplicated torn; do same "$count of rank $rank" 0 "$(value $count "$out")"; done
  same "verified bytes of rank $rank" $((1002 * (3 * 8 * 8 * 4 + 16))) "$(value verified_bytes "$out")"
done
same "samples of who is beside them" 2006 "$(value samples "$work/beside")"
same "what is left of it" "" "$(ls "$work/streams")"

echo "-- whole last batches"
serve synthetic:3x8x8 --stream pair --samples 1003 --epochs 1 --memory 1MiB --json
consume --group ranks:0/2 --batch-size 16 --tail pad --verify >"$work/rank.0" 2>"$work/rank.0.err" &
consume --group ranks:1/2 --batch-size 16 --tail pad --verify >"$work/rank.1" 2>"$work/rank.1.err" &
wait
for rank in 0 1; do
  same "samples of padded rank $rank" 512 "$(value samples "$work/rank.$rank")"
  for count in missing duplicated torn; do same "$count of padded $rank" 0 "$(value $count "$work/rank.$rank")"; done
done

echo "-- ranks end with the receipts of all, or with the time that they were given"
serve synthetic:8 --stream pair --dtype u8 --samples 1000 --memory 1MiB
for times in 1 2 3; do
  consume --group ranks:0/2 --batch-size 16 --epochs 1 >"$work/rank.0" 2>"$work/rank.0.err" &
  first=$!
  consume --group ranks:1/2 --batch-size 16 --epochs 1 >"$work/rank.1" 2>"$work/rank.1.err" &
  wait $first $!
  for rank in 0 1; do same "receipts of rank $rank, $times" '"match"' "$(value receipts "$work/rank.$rank")"; done
done
consume --group ranks:0/2 --batch-size 16 --seconds 0.3 >"$work/rank.0" 2>"$work/rank.0.err" &
first=$!
consume --group ranks:1/2 --batch-size 16 --seconds 0.3 >"$work/rank.1" 2>"$work/rank.1.err" &
second=$!
for one in $first $second; do
  wait $one
  same "exit code once the time is up" 0 $?
done
expect 0 'is stopped' stop pair
until_true test ! -e "$work/streams/pair"

echo "-- a rank is killed"
serve synthetic:8 --stream pair --dtype u8 --samples 1000000000 --memory 1MiB
as_rank 0 2 timeout 60 "$batchcast" consume pair --group auto --json >"$work/rank.0" 2>"$work/rank.0.err" &
first=$!
as_rank 1 2 "$batchcast" consume pair --group auto >"$work/rank.1" 2>"$work/rank.1.err" &
second=$!
until_true lists '"group":"none@localhost:29500","missing":\[\],"state":"running"'
kill -KILL $second
wait $first
same "exit code of the rank that is left" 4 $?
checks=$((checks + 1))
grep -qE 'info: group `auto` is none@localhost:29500:0/2: torchrun \(LOCAL_RANK=0, ' "$work/rank.0.err" ||
  fail "it does not say where its rank comes from: $(cat "$work/rank.0.err")"
grep -q '"error":.*rank 1' "$work/rank.0" || fail "it does not say who broke the group: $(cat "$work/rank.0")"
expect 0 'is stopped' stop pair
wait

echo "-- what is too long for an answer comes in pages, and ranks that are not listed are counted"
serve synthetic:8 --stream wide --samples 1000 --memory 1MiB --max-consumers 200
timeout 60 "$batchcast" consume wide --group wide:0/100 --batch-size 1 >/dev/null 2>&1 &
until_true lists '"missing_left_out":35'
ls_shows '^  wide: 1 of 100 ranks, without 1, 2, 3, 4, … +forming'
expect 0 'is stopped' stop wide
wait
mkfifo "$work/leave"
exec 9<>"$work/leave"
for group in "" group=all; do
  serve synthetic:8 --stream wide --samples 1000 --memory 1MiB --max-consumers 250
  rm -f "$work/crowd"
  # shellcheck disable=SC2086
  "$multiprocess" --role sit_together parent=$$ stream=wide count=250 $group <&9 >"$work/crowd" 2>&1 &
  until_true grep -qs '^sit' "$work/crowd" || fail "250 consumers do not attach: $(cat "$work/crowd")"
  ls_shows '"lag":' --json
  same "consumers of ls" 250 "$(grep -o '"lag":' "$work/out" | wc -l)"
  same "that ls leaves out" 0 "$(grep -c consumers_left_out "$work/out")"
  [ -z "$group" ] || ls_shows '^  all: 250 of 250 ranks +running'
  echo >&9
  expect 0 'is stopped' stop wide
  wait
done

finish
