# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# Completion for bash, installed as share/bash-completion/completions/batchcast. What there is to complete, the
# command says itself: commands, options and their choices with --help, streams and consumers with `ls`.

# The words of `batchcast ARGUMENT... --help` that begin a line of commands.
_batchcast_commands() { "$@" --help 2>/dev/null | sed -n 's/^  \([a-z][a-z-]*\)  .*/\1/p'; }

_batchcast_options() { "$@" --help 2>/dev/null | grep -E '^  -' | grep -oE -- '(^  |, )--?[a-z][a-z-]*' | tr -d ' ,'; }

# _batchcast_value OPTION COMMAND...: what it takes, as the help has it: `TEXT`, `{keep,drop}`; a flag: nothing.
_batchcast_value() {
  local option=$1
  shift
  "$@" --help 2>/dev/null | sed -nE "s/^  (--?[a-z-]+, )*$option(, --[a-z-]+)* ([^ ]+).*/\3/p"
}

# _batchcast_streams BATCHCAST [dead]: the streams that a producer serves now; with `dead` also those of killed ones.
_batchcast_streams() {
  "$1" ls 2>/dev/null |
    awk -v dead="${2-}" '/^[^ ]/ && $2 ~ /^[0-9]+$/ && ($3 != "dead" || dead != "") { print $1 }
      dead != "" && $2 == "dead," { sub(/:$/, "", $1); print $1 }'
}

# _batchcast_consumers BATCHCAST STREAM
_batchcast_consumers() {
  "$1" ls 2>/dev/null | awk -v stream="$2" '/^[^ ]/ { here = $1 == stream } /^  [^( ]/ && here { print $1 }'
}

# Offers those lines of its input that begin as what is completed, each so that the shell takes it for one word.
# `compgen -W` would run commands in them: a consumer may be called `$(command)`.
_batchcast_offer() {
  local word
  while IFS= read -r word; do
    [[ $word != "$current"* ]] || COMPREPLY+=("$(printf %q "$word")")
  done
}

_batchcast() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local -a command=("${COMP_WORDS[0]}") words=()
  local i value usage argument
  COMPREPLY=()
  # bash gives `--tail=drop` as three words.
  [ "$current" != = ] || current=
  [ "$previous" != = ] || previous=${COMP_WORDS[COMP_CWORD - 2]}

  # The command, and of `bench` the second word too.
  for ((i = 1; i < COMP_CWORD; ++i)); do
    _batchcast_commands "${command[@]}" | grep -qxF -- "${COMP_WORDS[i]}" || break
    command+=("${COMP_WORDS[i]}")
  done
  # The words after it that are neither options nor values of options.
  for (( ; i < COMP_CWORD; ++i)); do
    case ${COMP_WORDS[i]} in
      =) i=$((i + 1)) ;;
      -*)
        [ "${COMP_WORDS[i + 1]}" = = ] || [ -z "$(_batchcast_value "${COMP_WORDS[i]}" "${command[@]}")" ] ||
          i=$((i + 1))
        ;;
      *) words+=("${COMP_WORDS[i]}") ;;
    esac
  done

  case $previous in -*) value=$(_batchcast_value "$previous" "${command[@]}") ;; esac
  case ${value-} in
    "") ;;
    "{"*)
      value=${value//[\{\}]/}
      _batchcast_offer <<<"${value//,/$'\n'}"
      return
      ;;
    TEXT*)
      [ "$previous" != --recipe ] || _batchcast_offer < <("${COMP_WORDS[0]}" recipe --list 2>/dev/null)
      compopt -o filenames 2>/dev/null # what a shell would read in a file's name is escaped
      mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$current")
      return
      ;;
    *) return ;;
  esac

  case $current in
    -*) _batchcast_offer < <(_batchcast_options "${command[@]}") && return ;;
  esac
  if [ ${#words[@]} -eq 0 ]; then
    _batchcast_offer < <(_batchcast_commands "${command[@]}")
  fi
  usage=$("${command[@]}" --help 2>/dev/null | sed -n 's/^Usage: .*\[OPTIONS\] *//p')
  argument=$(echo "$usage" | awk -v n=$((${#words[@]} + 1)) '{ print $n }')
  case ${command[1]-}:$argument in
    stop:STREAM | ls:*STREAM*)
      _batchcast_offer < <(_batchcast_streams "${COMP_WORDS[0]}" dead)
      ;;
    *:STREAM | peek:SOURCE)
      _batchcast_offer < <(_batchcast_streams "${COMP_WORDS[0]}")
      ;;
    *:CONSUMER)
      _batchcast_offer < <(_batchcast_consumers "${COMP_WORDS[0]}" "${words[0]}")
      ;;
  esac
}

complete -o default -F _batchcast batchcast
