#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# failed_once.sh SIMULATION: what the simulation found stays mended. Each of these mutants puts a fault back that
# it had found, and has to be caught.
set -u
simulation=$1
shift
"$simulation" --schedules 500000 --seconds 60 \
  $("$simulation" --found | sed 's/^/--mutant /')
