#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# Makes the Pythons of tests/python, in build/python:
#   venv     numpy 2 without torch, and what builds the package: nanobind, scikit-build-core
#   torch2   PyPI's torch, the files that tests/torch/setup.sh installed, numpy 2, frameworks
# The third is Debian's python3 with its torch 1.13, numpy 1.24 and pytest. 200 MB to load. Does
# nothing where they stand.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
dir=$root/build/python

# stamp FILE...: of what an environment is made. It is written last: whatever stands without it is
# half an installation.
stamp() { cat "$@" | sha256sum; }
stands() { [ "$(cat "$1/complete" 2>/dev/null)" = "$2" ]; }
pip_install() {
  "$dir/venv/bin/python" -m pip --python "$1/bin/python" install --no-cache-dir --no-compile \
    --quiet --disable-pip-version-check -r "$2" >&2
}

mkdir -p "$dir"
plain=$(stamp "$here/setup.sh" "$here/requirements.txt")
if ! stands "$dir/venv" "$plain"; then
  echo "tests/python: installing numpy and nanobind into $dir/venv" >&2
  rm -rf "$dir/venv"
  # Debian's python3, whichever another is active.
  /usr/bin/python3 -m venv "$dir/venv"
  pip_install "$dir/venv" "$here/requirements.txt"
  echo "$plain" >"$dir/venv/complete"
fi

from=$(echo "$root"/build/torch/venv/lib/python3*/site-packages)
if [ ! -d "$from/torch" ]; then
  echo "tests/python: without PyPI's torch, see tests/torch/setup.sh" >&2
  exit 0
fi
torch2=$(stamp "$here/setup.sh" "$here/requirements-torch2.txt" "$here/cuda_stand_ins.sh" \
  "$root/tests/torch/requirements.txt")
if ! stands "$dir/torch2" "$torch2"; then
  echo "tests/python: installing frameworks beside torch into $dir/torch2" >&2
  rm -rf "$dir/torch2"
  /usr/bin/python3 -m venv --without-pip "$dir/torch2"
  packages=$(echo "$dir"/torch2/lib/python3*/site-packages)
  # Links: the C++ tests keep their torch without anything of CUDA's beside it.
  cp -al "$from"/torch "$from"/torch-* "$from"/torchgen "$from"/functorch "$from"/nvidia \
    "$from"/nvidia_* "$packages"
  metadata=$(echo "$packages"/torch-*/METADATA)
  sed -i -E '/^Requires-Dist: (nvidia|cuda|triton)/d' "$metadata"
  sh "$here/cuda_stand_ins.sh" "$packages/torch" "$packages/nvidia/cu13/lib"
  pip_install "$dir/torch2" "$here/requirements-torch2.txt"
  # What tests import is compiled here, once.
  env -u PYTHONDONTWRITEBYTECODE "$dir/torch2/bin/python" -W ignore -c "
import importlib.util
import numpy, pytest, torch, torch.distributed.run, torch.nn.parallel, torch.utils.data
for name in ('accelerate', 'datasets', 'lightning', 'lmdb', 'optuna', 'transformers.trainer',
             'trl.trainer.sft_trainer'):
    if importlib.util.find_spec(name.split('.')[0]):
        importlib.import_module(name)
torch.ones(2, requires_grad=True).sum().backward()" >&2
  echo "$torch2" >"$dir/torch2/complete"
fi
