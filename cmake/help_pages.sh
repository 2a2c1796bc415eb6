# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# What is made of `--help`: sourced with $batchcast set.

# The commands that a help page lists, one a line.
commands_of() { "$batchcast" "$@" --help | sed -n 's/^  \([a-z][a-z-]*\)  .*/\1/p'; }

# each_command FUNCTION    calls it with every command, and with every command and its part
each_command() {
  for command in $(commands_of); do
    "$1" "$command"
    for part in $(commands_of "$command"); do
      "$1" "$command" "$part"
    done
  done
}
