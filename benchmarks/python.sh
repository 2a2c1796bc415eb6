#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# What Python trainers get: batches as torch tensors, handed over to one and to four, beside
# torch.multiprocessing's queues; four of them on one stream of JPEGs, against four DataLoaders; and what
# producers in Python give: a source, a dataset of Hugging Face's, a DataLoader. See README.md in this folder.
# Usage: python.sh [--quick] [--rounds N] [--seconds S] [--warm-up S] [--images DIR] [--peers DIR]
#                  [--cases all|trainers|producers] [--package DIR] [--build-dir DIR] [--batchcast P]
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=benchmarks/common.sh
. "$root/benchmarks/common.sh"
# shellcheck source=benchmarks/images.sh
. "$root/benchmarks/images.sh"

trainers=4
cases=all
warm_up=20 # seconds: four times the imports of torch take their time
python_option() {
  case $1 in
    --warm-up) warm_up=${2:?--warm-up needs a number} shift_by=2 ;;
    --cases) cases=${2:?--cases needs all, trainers or producers} shift_by=2 ;;
    *) package_option "$@" ;;
  esac
}
read_options python_option "$@"
case $cases in
  all | trainers | producers) ;;
  *) die "--cases is all, trainers or producers, not $cases" ;;
esac

# trainers_run NAME NUMBER ARGUMENT...: that many at once on the stream NAME, in the same seconds.
trainers_run() {
  stream=$1
  wanted=$2
  shift 2
  start_together "$wanted" "$warm_up" "$python" "$root/benchmarks/python_trainer.py" "$stream" "$@"
  await_together || die "python_trainer.py $stream failed: $(cat "$scratch"/run.*.err "$scratch/serve.err")"
}

# batches_of RATE: images as batches of 64.
batches_of() {
  awk -v rate="$1" 'BEGIN { printf "%.1f", rate / 64 }'
}

# hand_over NUMBER: batches of 38.5 MB that the producer does not fill.
hand_over() {
  "$python_feed" feed "$1" 2>"$scratch/serve.err" &
  producer=$!
  trainers_run feed "$1"
  end_producer
  result "tensors_$1" "$(batches_of "$(slowest)")"
}

queues() {
  "$python" "$root/benchmarks/peers/torch_queues.py" --consumers "$1" --seconds "$seconds" \
    --begin-at $(($(date +%s) + warm_up)) >"$scratch/out" 2>"$scratch/err" || {
    tail -n 5 "$scratch/err" >&2
    echo "torch_queues.py failed and is left out" >&2
    return 0
  }
  result "queues_$1" "$(batches_of "$(json_value images_per_second <"$scratch/out")")"
}

# images_run NUMBER: that many trainers on one stream of the images.
images_run() {
  "$batchcast" serve "imagefolder:$images" --recipe imagenet-train --stream images --memory 1GiB \
    --wait-for "$1" >/dev/null 2>"$scratch/serve.err" &
  producer=$!
  trainers_run images "$1" --touch
  end_producer
  result "images_${1}_total" "$(total)"
  result "images_${1}_slowest" "$(slowest)"
}

# Four trainers with a DataLoader each, which has one worker process: two each are slower on two cores.
dataloaders() {
  start_together $trainers "$warm_up" \
    "$python" "$root/benchmarks/peers/torchvision_dataloader.py" "$images" --workers 1
  if await_together; then
    result dataloaders "$(total)"
  else
    tail -n 5 "$scratch"/run.*.err >&2
    echo "torchvision_dataloader.py failed and is left out" >&2
  fi
}

# sources_run NAME NUMBER WHAT FIRST: that many trainers on a stream of python_sources.py.
sources_run() {
  "$python" "$root/benchmarks/python_sources.py" "$3" "$4" sources --wait-for "$2" >/dev/null 2>"$scratch/serve.err" &
  producer=$!
  trainers_run sources "$2" --touch
  end_producer
  result "$1" "$(total)"
}

# The image folder in C++, with two workers, as `memory` has them.
folder_run() {
  "$batchcast" serve "imagefolder:$images" --recipe imagenet-train --stream folder --memory 1GiB --workers 2 \
    --wait-for 1 >/dev/null 2>"$scratch/serve.err" &
  producer=$!
  trainers_run folder 1 --touch
  end_producer
  result folder "$(total)"
}

# alone NAME NUMBER WHAT FIRST: loaders of python_sources.py, measured by themselves in the same seconds. Their worker
# processes begin, too.
alone() {
  start_together "$2" $((warm_up + 10 * $2)) "$python" "$root/benchmarks/python_sources.py" "$3" "$4"
  await_together || die "python_sources.py $3 failed: $(tail -n 5 "$scratch"/run.*.err)"
  result "$1" "$(total)"
}

trainers() {
  hand_over 1
  queues 1
  hand_over $trainers
  queues $trainers
  images_run 1
  images_run $trainers
  dataloaders
}

producers() {
  folder_run
  sources_run memory 1 memory "$images"
  alone iterated 1 iterate "$images"
  sources_run loader 1 loader "$images"
  [ -n "$saved" ] || return 0
  sources_run huggingface_1 1 huggingface "$saved"
  alone datasets_1 1 dataloader "$saved"
  sources_run huggingface_$trainers $trainers huggingface "$saved"
  alone datasets_$trainers $trainers dataloader "$saved"
}

# Once, into the folder that the images are in. Sets `saved`, to nothing where there is no library for it.
save_dataset() {
  saved=$build_dir/images-huggingface
  "$python" "$root/benchmarks/python_sources.py" save "$images" "$saved" >/dev/null 2>"$scratch/err" && return
  tail -n 1 "$scratch/err" >&2
  echo "datasets is left out: $python -m pip install -r benchmarks/peers/datasets.txt" >&2
  saved=
}

rate_rows() {
  for name in tensors_1 queues_1 tensors_$trainers queues_$trainers; do
    echo "$name $(rates "$name") batches/s $(target_of "$name")"
  done
  for name in images_1_total images_${trainers}_total images_${trainers}_slowest dataloaders; do
    echo "$name $(rates "$name") images/s -"
  done
  for name in folder memory iterated loader huggingface_1 datasets_1 huggingface_$trainers datasets_$trainers; do
    echo "$name $(rates "$name") images/s -"
  done
}

target_of() {
  case $1 in
    tensors_1) echo 20000 ;;
    "tensors_$trainers") echo 6000 ;;
    *) echo - ;;
  esac
}

ratio_rows() {
  echo "each_over_single $(ratios images_${trainers}_slowest images_1_slowest) x 0.95"
  echo "total_over_dataloaders $(ratios images_${trainers}_total dataloaders) x 20"
  echo "memory_over_folder $(ratios memory folder) x 0.85"
  echo "loader_over_iterated $(ratios loader iterated) x 0.95"
  echo "huggingface_over_datasets_1 $(ratios huggingface_1 datasets_1) x 5"
  echo "huggingface_over_datasets_$trainers $(ratios huggingface_$trainers datasets_$trainers) x 16"
}

table() {
  awk 'BEGIN { f = "%-28s %10s %19s %-10s %8s\n"; printf f, "", "median", "min-max", "", "target" }
    $2 != "-" {
      form = $5 == "x" ? "%.2f" : "%.0f"
      printf f, $1, sprintf(form, $2), sprintf(form "-" form, $3, $4), $5, $6 == "-" ? "" : ">= " $6
    }' "$scratch/rows"
}

json() {
  flat_json python "\"torch\":\"$torch\"," "" ",\"images\":$(images_json)" <"$scratch/rows"
}

turns() {
  [ "$cases" = producers ] || trainers
  [ "$cases" = trainers ] || producers
}

make_scratch
need_python
build_package batchcast_python_benchmarks
prepare_images
python_feed=$(binary python_feed)
[ -x "$python_feed" ] || die "there is no python_feed beside $batchcast"
torch=$("$python" -c 'import torch, batchcast; print(torch.__version__)') ||
  die "$python cannot import torch and batchcast from $PYTHONPATH"
own_streams
[ "$cases" = trainers ] || save_dataset
note_load
each_round turns
{
  rate_rows
  ratio_rows
} >"$scratch/rows"
show_results
