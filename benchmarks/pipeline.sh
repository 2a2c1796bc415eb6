#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# Images per second on one core, from files to normalised crops: batchcast, libjpeg-turbo alone and the
# peers, in turns; and per CPU second other formats and recipes, against DALI and torchvision. See README.md in this
# folder.
# Usage: pipeline.sh [--quick] [--rounds N] [--seconds S] [--images DIR] [--peers DIR]
#                    [--cases all|crops|others|stages|NAME] [--build-dir DIR] [--batchcast P]
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=benchmarks/common.sh
. "$root/benchmarks/common.sh"
# shellcheck source=benchmarks/images.sh
. "$root/benchmarks/images.sh"

cases=all
pipeline_option() {
  case $1 in
    --cases) cases=${2:?--cases needs all, crops, others, stages or the name of one of these} shift_by=2 ;;
    *) image_option "$@" ;;
  esac
}
read_options pipeline_option "$@"

# rate_from KEY: that number of what a run printed; of A/B the one divided by the other.
rate_from() {
  case $1 in
    */*) awk -v a="$(json_value "${1%/*}" <"$scratch/out")" -v b="$(json_value "${1#*/}" <"$scratch/out")" \
      'BEGIN { if (b > 0) printf "%.2f", a / b }' ;;
    *) json_value "$1" <"$scratch/out" ;;
  esac
}

# measure NAME KEY COMMAND...: one run on one core; its rate goes to the results. A peer that fails is
# left out from then on; batchcast and its yardstick must not fail.
measure() {
  name=$1 key=$2
  shift 2
  ! grep -qx "$name" "$scratch/failed" || return 0
  if taskset -c "$core" "$@" >"$scratch/out" 2>"$scratch/err"; then
    rate=$(rate_from "$key")
  else
    rate=
  fi
  if [ -z "$rate" ]; then
    tail -n 20 "$scratch/err" "$scratch/out" >&2
    case $name in
      batchcast* | jpeg_rows* | *.batchcast | *.codec) die "$name failed" ;;
    esac
    echo "$name failed and is left out" >&2
    echo "$name" >>"$scratch/failed"
    return 0
  fi
  record "$name" "$rate"
  echo "round $round, $name: $rate images/s" >&2
}

batchcast_run() {
  measure "$1" samples_per_second "$batchcast" bench pipeline "imagefolder:$images" --recipe "$2" \
    --workers 1 --seconds "$seconds" --json
}

peer_run() {
  name=$1 script=$2
  shift 2
  [ -z "$python" ] || measure "$name" images_per_second "$python" \
    "$root/benchmarks/peers/$script" "$images" --workers 1 --seconds "$seconds" "$@"
}

run_crops() {
  measure jpeg_rows images_per_second "$jpeg_rows" "$images" --seconds "$seconds"
  batchcast_run batchcast_f32 imagenet-train
  batchcast_run batchcast_u8 "$root/benchmarks/imagenet-train-u8.toml"
  measure jpeg_rows_whole images_per_second "$jpeg_rows" "$images" --whole --seconds "$seconds"
  [ -z "$opencv" ] || measure opencv images_per_second "$opencv" "$images" --seconds "$seconds"
  peer_run torchvision torchvision_dataloader.py --warm-up 8
  peer_run dali dali_pipeline.py --warm-up 4
  peer_run dali_no_antialias dali_pipeline.py --warm-up 4 --no-antialias
  peer_run spdl spdl_pipeline.py --warm-up 6
}

# each_other COMMAND: calls it for each other case, with its name, source, recipe, what torchvision does, what
# DALI does (or -), the seconds in which the first batch of both is there, and the batch size where it is not 64:
# of large images a batch takes so long that few of 64 end while it is measured. pil:NAME stands where torchvision
# lacks the stage, and is what Pillow does.
each_other() {
  "$1" progressive "imagefolder:$build_dir/images-progressive" imagenet-train train train 8
  "$1" png "imagefolder:$build_dir/images-png" imagenet-train train train 8
  "$1" webp "imagefolder:$build_dir/images-webp" imagenet-train train train 8
  "$1" jitter_erasing "imagefolder:$images" "$root/benchmarks/imagenet-jitter-erasing.toml" jitter_erasing jitter 8
  "$1" rand_augment "imagefolder:$images" "$root/benchmarks/imagenet-rand-augment.toml" rand_augment rand-augment 10
  "$1" trivial_augment_wide "imagefolder:$images" "$root/benchmarks/imagenet-trivial-augment.toml" \
    trivial_augment_wide trivial-augment 10
  "$1" simclr_two_views "imagefolder:$images" simclr simclr - 20
  "$1" deit "imagefolder:$images" deit deit - 10
  "$1" segmentation "webdataset:$build_dir/images-masks.tar" "$root/benchmarks/segmentation.toml" segmentation - 15
  "$1" eval_12_megapixels "imagefolder:$build_dir/images-large" imagenet-eval eval eval 30 4
  "$1" eval_256_224 "imagefolder:$images" imagenet-eval eval eval 8
  "$1" letterbox "imagefolder:$images" "$root/benchmarks/letterbox.toml" pil:letterbox - 15
  "$1" pad_if_smaller "imagefolder:$images" "$root/benchmarks/pad-if-smaller.toml" pil:pad_if_smaller - 15
  "$1" map_ids "webdataset:$build_dir/images-masks.tar" "$root/benchmarks/map-ids.toml" pil:map_ids - 15
  "$1" map_colors "webdataset:$build_dir/images-masks.tar" "$root/benchmarks/map-colors.toml" pil:map_colors - 15
}

# each_stage COMMAND: calls it for each stage that is measured alone, with its name, its parameters, and the
# libraries that have it, on images of 224 x 224 in an array.
each_stage() {
  "$1" pil_gaussian_blur 'radius = [0.1, 2]' pil
  "$1" jpeg 'quality = [30, 95]' 'pil torchvision'
  "$1" gaussian_noise 'sigma = 0.1' torchvision
  "$1" timm_rand_augment 'increasing = false' timm
  "$1" timm_auto_augment 'magnitude_std = 0.5' timm
  "$1" timm_aug_mix 'magnitude = 5, mixture_width = 4, chain_depth = 2' timm
}

is_stage() {
  each_stage echo | grep -q "^$1 "
}

is_wanted() {
  case $cases in
    all | others | "$1") ;;
    stages) is_stage "$1" ;;
    *) false ;;
  esac
}

# needs FORM: whether a case that is wanted has images of that form.
needs() {
  case $cases in
    all | others | "$1") ;;
    eval_12_megapixels) [ "$1" = large ] ;;
    segmentation) [ "$1" = masks ] ;;
    *) [ "$1" = array ] && { [ "$cases" = stages ] || is_stage "$cases"; } ;;
  esac
}

prepare_others() {
  for form in progressive png webp large masks array; do
    needs $form || continue
    count=400
    [ $form = large ] && count=48
    [ $form = array ] && count=64
    "$drawer" "$root/benchmarks/make_variants.py" "$images" "$build_dir/images-$form" $form \
      --images $count >&2 || die "make_variants.py failed"
    find "$build_dir/images-$form" -type f -exec cat {} + >/dev/null
  done
  needs masks || return 0
  tar -C "$build_dir/images-masks" --exclude=.batchcast-images.json --sort=name -cf "$build_dir/images-masks.tar" . ||
    die "the masks cannot be packed"
}

# Per CPU second: DALI has threads of its own beside its workers, and so has batchcast.
run_other() {
  is_wanted "$1" || return 0
  other=$1 source=$2 torchvision=$4 dali=$5 warm_up=$6 batch=${7:-64}
  measure "$other.batchcast" samples/cpu_seconds "$batchcast" bench pipeline "$source" \
    --recipe "$3" --workers 1 --seconds "$seconds" --batch-size "$batch" --json
  folder=${source#*:}
  # Where the codec takes most of the time: the codec alone, for the same crops, and OpenCV.
  case $other in
    progressive) measure "$other.codec" images/cpu_seconds "$jpeg_rows" "$folder" --seconds "$seconds" ;;
    png | webp) measure "$other.codec" images/cpu_seconds "$png_webp_rows" "$folder" --seconds "$seconds" ;;
  esac
  case $other in
    progressive | png | webp)
      [ -z "$opencv" ] || measure "$other.opencv" images/cpu_seconds "$opencv" "$folder" --seconds "$seconds" ;;
  esac
  case $torchvision in
    pil:*)
      measure "$other.pil" images/cpu_seconds "$drawer" "$root/benchmarks/peers/pil_recipes.py" "${folder%.tar}" \
        --workers 1 --seconds "$seconds" --warm-up "$warm_up" --batch-size "$batch" --recipe "${torchvision#pil:}"
      return 0
      ;;
  esac
  [ -n "$python" ] || return 0
  measure "$other.torchvision" images/cpu_seconds "$python" "$root/benchmarks/peers/torchvision_recipes.py" \
    "${folder%.tar}" --workers 1 --seconds "$seconds" --warm-up "$warm_up" \
    --batch-size "$batch" --recipe "$torchvision"
  [ "$dali" = - ] || measure "$other.dali" images/cpu_seconds "$python" \
    "$root/benchmarks/peers/dali_pipeline.py" "$folder" --workers 1 --seconds "$seconds" --warm-up "$warm_up" \
    --batch-size "$batch" --"$dali"
}

# Per CPU second, too; the peers have no loader, and nothing but the stage.
run_stage() {
  is_wanted "$1" || return 0
  cat >"$scratch/stage.toml" <<END
[[field]]
name = "image"
stages = [{ stage = "$1", $2 }, { stage = "to", dtype = "u8", layout = "hwc" }]
END
  array=$build_dir/images-array
  measure "$1.batchcast" samples/cpu_seconds "$batchcast" bench pipeline "npy:$array/image.npy" \
    --recipe "$scratch/stage.toml" --workers 1 --seconds "$seconds" --json
  [ -n "$python" ] || return 0
  for library in $3; do
    measure "$1.$library" images/cpu_seconds "$python" "$root/benchmarks/peers/stages.py" "$array" --workers 1 \
      --seconds "$seconds" --warm-up 12 --library "$library" --stage "$1"
  done
}

# One row per case and peer: case, then median min max of batchcast's images a CPU second, the peer, its images,
# the ratios to it, and the batch size.
other_row() {
  is_wanted "$1" || return 0
  for peer in codec opencv dali pil timm torchvision; do
    [ "$(rates "$1.$peer")" = "- - -" ] ||
      echo "$1 $(rates "$1.batchcast") $peer $(rates "$1.$peer") $(ratios "$1.batchcast" "$1.$peer") ${7:-64}"
  done
  case $4 in pil:*) return 0 ;; esac
  [ -n "$python" ] || echo "$1 $(rates "$1.batchcast") - - - - - - - ${7:-64}"
}

other_table() {
  awk '
    BEGIN {
      f = "%-22s %10s | %-12s %10s %6s %13s\n"
      printf "\n" f, "per CPU second", "batchcast", "beside", "it", "ratio", "min-max"
    }
    function number(v, digits) { return v == "-" ? v : sprintf("%." digits "f", v) }
    { printf f, ($1 == last ? "" : $1), ($1 == last ? "" : number($2, 0)), $5, number($6, 0), number($9, 2),
        number($10, 2) "-" number($11, 2)
      last = $1
      if ($12 != 64 && !($1 in small)) small[$1] = $12 }
    END { for (name in small) print name ": batches of " small[name] ", the others of 64" }' "$scratch/other_rows"
}

other_json() {
  awk '
    { printf "%s{\"name\":\"%s\",\"images_per_cpu_second\":%s", (NR > 1 ? "," : ""), $1, $2
      if ($5 != "-") printf ",\"peer\":\"%s\",\"its_images_per_cpu_second\":%s,\"ratio\":%s", $5, $6, $9
      if ($12 != 64) printf ",\"batch_size\":%s", $12
      printf "}" }' "$scratch/other_rows"
}

# One row per case: name, median min max, then what batchcast has of it as f32 and as u8.
rows() {
  awk '$2 !~ /[.]/ && !seen[$2]++ { print $2 }' "$scratch/results" | while read -r name; do
    echo "$name $(rates "$name") $(ratios batchcast_f32 "$name") $(ratios batchcast_u8 "$name")"
  done
}

crop_table() {
  awk '
    BEGIN {
      target["jpeg_rows"] = ">= 0.90"; target["torchvision"] = ">= 4"; target["dali"] = ">= 2.5"
      target["dali_no_antialias"] = "> 1"; target["spdl"] = "> 1"; target["opencv"] = "> 1"
      f = "%-18s %9s %15s | %9s %9s %8s\n"
      printf f, "", "images/s", "min-max", "f32 / it", "u8 / it", "target"
    }
    { printf f, $1, sprintf("%.0f", $2), sprintf("%.0f-%.0f", $3, $4), sprintf("%.2f", $5),
        sprintf("%.2f", $8), target[$1] }' "$scratch/rows"
}

has_crops() {
  [ "$cases" = all ] || [ "$cases" = crops ]
}

table() {
  if has_crops; then crop_table; fi
  [ "$cases" = crops ] || other_table
}

json() {
  awk -v machine="$(machine_json)" -v rounds="$rounds" -v seconds="$seconds" -v others="$others" \
    -v images="$(images_json)" -v other_cases="$(other_json)" '
    BEGIN { printf "{\"benchmark\":\"pipeline\",\"machine\":{%s},\"rounds\":%s,\"seconds\":%s," \
                   "\"others_percent\":%s,\"images\":%s,\"cases\":[",
              machine, rounds, seconds, others, images }
    { printf "%s{\"name\":\"%s\",\"images_per_second\":%s,\"min\":%s,\"max\":%s", (NR > 1 ? "," : ""),
        $1, $2, $3, $4
      printf ",\"f32_ratio\":%s,\"u8_ratio\":%s}", $5, $8 }
    END { print "],\"per_cpu_second\":[" other_cases "]}" }' "$scratch/rows"
}

turns() {
  if has_crops; then run_crops; fi
  [ "$cases" = crops ] || each_other run_other
  [ "$cases" = crops ] || each_stage run_stage
}

case $cases in
  all | crops | others | stages) ;;
  *)
    names=$({ each_other echo && each_stage echo; } | cut -d' ' -f1 | xargs)
    case " $names " in
      *" $cases "*) ;;
      *) die "--cases is all, crops, others, stages or one of these, not $cases: $names" ;;
    esac
    ;;
esac
make_scratch
build
prepare_images
[ "$cases" = crops ] || prepare_others
find_python
jpeg_rows=$(binary jpeg_rows)
[ -n "$jpeg_rows" ] || die "no jpeg_rows in $build_dir"
png_webp_rows=$(binary png_webp_rows)
[ -n "$png_webp_rows" ] || die "no png_webp_rows in $build_dir"
opencv=$(binary opencv_crop)
[ -n "$opencv" ] || echo "OpenCV is not installed and is left out" >&2
core=$(last_core)
note_load
each_round turns
rows >"$scratch/rows"
: >"$scratch/other_rows"
[ "$cases" = crops ] || { each_other other_row && each_stage other_row; } >"$scratch/other_rows"
show_results
