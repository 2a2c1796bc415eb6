#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# Installs what is missing, builds, and runs a sweep. Four trainers with different learning rates and batch
# sizes learn Fashion-MNIST from one producer, which decodes and augments it once for all of them. Then four
# loaders of torch are measured for ten seconds, to see what separate loading would have cost. After the build
# it takes about two minutes on two cores, and ends by itself; Ctrl-C ends all of it.
#   sh examples/quickstart.sh [OPTION VALUE]...   options of the sweep: --epochs 2 --accuracy 0.8
# With BATCHCAST_COMMAND set to a batchcast command, it installs and builds nothing: it runs that, and the
# sweep in the folder `examples` beside it.
set -eu
cd "$(dirname "$0")/.."

if [ -z "${BATCHCAST_COMMAND-}" ]; then
  sh cmake/bootstrap.sh quickstart
  cmake --preset release >/dev/null
  cmake --build --preset release --target batchcast_cli example_07_sweep
  BATCHCAST_COMMAND=$PWD/build/release/batchcast
fi
export BATCHCAST_COMMAND

echo "One producer, four trainers. While they run, \`$BATCHCAST_COMMAND ls\` shows them in another terminal;"
echo "and if one of them is killed, the others go on."
# It ends what it has started, and producers remove their streams' directories, however it ends.
exec "$(dirname "$BATCHCAST_COMMAND")/examples/example_07_sweep" \
  /usr/share/datasets/fashion-mnist examples/fashion-train.toml "$@"
