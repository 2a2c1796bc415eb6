#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# sh man_page.sh BATCHCAST PAGE    writes batchcast(1) to PAGE, out of what `--help` of every command prints
set -eu
batchcast=$1
page=$2

. "$(dirname "$0")/help_pages.sh"

# Help to roff: an entry begins two columns into its line, what it does stands behind it or below,
# and an example keeps its lines.
roff='
function plain(text) {
  gsub(/\\/, "\\e", text)
  gsub(/-/, "\\-", text)
  if (text ~ /^[.\047]/) text = "\\&" text
  return text
}
NR == 1 && !top { print ".SS " plain(command); print plain($0); next }
NR == 1 { next }
/^Usage: / { if (!top) print ".PP\n.B " plain(substr($0, 8)); next }
/^[A-Z][A-Za-z ]*:$/ { if (top) print ".PP\n" plain($0); entries = 1; footer = 0; next }
/^$/ { footer = entries; fresh = 1; next }
top && /^[^ ]/ { exit }
!footer && /^  [^ ]/ {
  entries = 1
  name = substr($0, 3)
  text = ""
  if (match(name, /  +/)) { text = substr(name, RSTART + RLENGTH); name = substr(name, 1, RSTART - 1) }
  print ".TP\n.B " plain(name)
  if (text != "") print plain(text)
  next
}
footer && fresh { print ".PP"; fresh = 0 }
footer && /^  / { if (!example) print ".nf"; print plain($0); example = 1; next }
example { print ".fi\n.PP"; example = 0 }
{ sub(/^ +/, ""); print plain($0) }
END { if (example) print ".fi" }
'

# as_roff COMMAND...: what its help says, without what frames it; nothing: of the command as a whole.
as_roff() {
  top=0
  [ $# -gt 0 ] || top=1
  "$batchcast" "$@" --help | awk -v top="$top" -v command="batchcast $*" "$roff"
}

{
  version=$("$batchcast" --version)
  printf '.\\" Made of what the command says with --help.\n'
  printf '.TH BATCHCAST 1 "" "%s" "User Commands"\n' "$version"
  cat <<'END'
.SH NAME
batchcast \- serve a dataset to any number of trainers on this machine
.SH SYNOPSIS
.B batchcast
.I COMMAND
[\fIOPTIONS\fR]
.SH DESCRIPTION
One process decodes and augments a dataset once. Any number of trainers on the same machine
take it out of shared memory, each with a batch size of its own.
.SH COMMANDS
END
  as_roff
  each_command as_roff
  cat <<'END'
.SH EXIT STATUS
.TP
.B 0
All well.
.TP
.B 1
A promise did not hold, or some data did not verify.
.TP
.B 2
Wrong arguments.
.TP
.B 3
The environment: no such stream, no memory.
.TP
.B 4
The stream ended early.
.SH ENVIRONMENT
.TP
.B BATCHCAST_DIR
The directory that holds the streams. Without it
.IR $XDG_RUNTIME_DIR/batchcast ,
else
.IR /tmp/batchcast\-UID .
.TP
.B BATCHCAST_COMMAND
The command with which a trainer starts a stream.
.SH FILES
.TP
.I DIRECTORY/STREAM/serve.log
What a producer said that
.B batchcast ensure
started.
END
} >"$page.new"
mv "$page.new" "$page"
