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
  "$@" --help 2>/dev/null | sed -nE "s/^  (-[a-z], )?$option ([^ ]+).*/\2/p"
}

# The streams that a producer serves now.
_batchcast_streams() { "$1" ls 2>/dev/null | awk '/^[^ ]/ && $2 ~ /^[0-9]+$/ && $3 != "dead" { print $1 }'; }

# _batchcast_consumers BATCHCAST STREAM
_batchcast_consumers() {
  "$1" ls 2>/dev/null | awk -v stream="$2" '/^[^ ]/ { here = $1 == stream } /^  [^( ]/ && here { print $1 }'
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
  # What stands behind it and is neither option nor an option's value.
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
      mapfile -t COMPREPLY < <(compgen -W "${value//,/ }" -- "$current")
      return
      ;;
    TEXT*)
      [ "$previous" != --recipe ] ||
        mapfile -t COMPREPLY < <(compgen -W "$("${COMP_WORDS[0]}" recipe 2>/dev/null)" -- "$current")
      mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$current")
      return
      ;;
    *) return ;;
  esac

  case $current in
    -*) mapfile -t COMPREPLY < <(compgen -W "$(_batchcast_options "${command[@]}")" -- "$current") && return ;;
  esac
  if [ ${#words[@]} -eq 0 ]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_batchcast_commands "${command[@]}")" -- "$current")
  fi
  usage=$("${command[@]}" --help 2>/dev/null | sed -n 's/^Usage: .*\[OPTIONS\] *//p')
  argument=$(echo "$usage" | awk -v n=$((${#words[@]} + 1)) '{ print $n }')
  case ${command[1]-}:$argument in
    *:STREAM | peek:SOURCE)
      mapfile -t COMPREPLY < <(compgen -W "$(_batchcast_streams "${COMP_WORDS[0]}")" -- "$current")
      ;;
    *:CONSUMER)
      mapfile -t COMPREPLY < <(compgen -W "$(_batchcast_consumers "${COMP_WORDS[0]}" "${words[0]}")" -- "$current")
      ;;
  esac
}

complete -o default -F _batchcast batchcast
