#!/usr/bin/env bash
# The unit of systemd is accepted without a remark and exposes little, alone and with TLS. Exit code 77 where systemd-analyze is absent.
#   systemd_unit_test.sh PROGRAM FOLDER_OF_UNIT
set -euo pipefail

program=$(realpath "$1")
folder=$2
most_exposure=20   # in tenths, of 0 to 100
command -v systemd-analyze >/dev/null || { echo "skipped: no systemd-analyze"; exit 77; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# check NAME [DROP_IN]
check() {
  local unit=$work/$1/vtrain-serve.service said
  mkdir -p "$unit.d"
  # The program lies where its package puts it; here it lies in the build folder.
  sed "s#^ExecStart=vtrain #ExecStart=$program #" "$folder/vtrain-serve.service" > "$unit"
  [[ -z ${2:-} ]] || sed "s#^ExecStart=vtrain #ExecStart=$program #" "$folder/$2" > "$unit.d/$2"
  said=$(systemd-analyze verify "$unit" 2>&1) || { echo "$1: verify failed: $said"; exit 1; }
  [[ -z $said ]] || { echo "$1: verify says: $said"; exit 1; }
  said=$(systemd-analyze security --no-pager --offline=true --threshold=$most_exposure "$unit" 2>&1) ||
    { echo "$1: too much exposure: $said"; exit 1; }
  echo "$1: $(tail -n 1 <<< "$said")"
}

check alone
check tls tls.conf
