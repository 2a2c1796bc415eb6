#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# bare_path.sh FOLDER: fills FOLDER with links to the commands of a bare Debian with git and of what
# `cmake/bootstrap.sh tests operate` installs, and to no others of this machine: as PATH it makes a test that needs more
# fail here, too. ccache is linked where it is: no test sees it.
set -eu
cd "$(dirname "$0")/.."
rm -rf "${1:?}"
mkdir -p "$1"
folder=$(cd "$1" && pwd)

# What dpkg would bring for the packages on stdin, with all that they depend on: of alternatives, and of those
# that provide what is asked for, the first that is installed.
with_dependencies() {
  {
    sed 's/^/wanted\t/'
    dpkg-query -W -f='${db:Status-Status}\t${Package}\t${binary:Package}\t${Essential}\t${Priority}\t'\
'${Pre-Depends}, ${Depends}\t${Provides}\n'
  } | awk -F '\t' '
    function plain(name) { gsub(/[[:space:]]|\(.*|:.*/, "", name); return name }
    function want(name) { if (!(name in taken)) { taken[name] = 1; queue[++last] = name } }
    function want_one_of(group, names, i, n, name) {
      n = split(group, names, "|")
      for (i = 1; i <= n; ++i) {
        name = plain(names[i])
        if (!(name in full) && name in provider) name = provider[name]
        if (name in full) return want(name)
      }
    }
    $1 == "wanted" { asked[++asks] = $2 }
    $1 == "installed" {
      full[$2] = $3
      depends[$2] = $6
      if ($4 == "yes" || $5 == "required") asked[++asks] = $2
      n = split($7, provided, ",")
      for (i = 1; i <= n; ++i) if (!(plain(provided[i]) in provider)) provider[plain(provided[i])] = $2
    }
    END {
      for (i = 1; i <= asks; ++i) want_one_of(asked[i])
      for (at = 1; at <= last; ++at) {
        n = split(depends[queue[at]], groups, ",")
        for (g = 1; g <= n; ++g) want_one_of(groups[g])
        print full[queue[at]]
      }
    }'
}

asked=$(sh cmake/bootstrap.sh packages tests operate)
packages=$(printf '%s\n' apt git ca-certificates "$asked" | with_dependencies)
# shellcheck disable=SC2086 # a list of names
commands=$(dpkg-query -L $packages | sed -nE 's|^(/usr)?(/s?bin/[^/]+)$|/usr\2|p' | sort -u)
for command in $commands; do
  [ ! -x "$command" ] || ln -sf "$command" "$folder/"
done

# Commands that several packages offer: the first one of these packages.
for link in /usr/bin/* /usr/sbin/*; do
  case $(readlink "$link") in /etc/alternatives/*) ;; *) continue ;; esac
  name=$(basename "$link")
  for command in $(readlink -f "$link") $(update-alternatives --list "$name" 2>/dev/null); do
    if [ ! -e "$folder/$name" ] && echo "$commands" | grep -qxF "$command"; then
      ln -s "$command" "$folder/$name"
    fi
  done
done
! command -v ccache >/dev/null || ln -sf "$(command -v ccache)" "$folder/"
