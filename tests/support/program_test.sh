# shellcheck shell=bash
# SPDX-License-Identifier: BSL-1.0
# Shared by the tests of the program from outside. Sourced with their arguments: $1: the program, $2: the top
# of the sources. They work in a fresh directory below the one where they are started.
set -uo pipefail
export LC_ALL=C
allot=$1
sources=$2
# The location of the published traces, if they are available.
# shellcheck disable=SC2034
traces=${ALLOT_TRACES:-$sources/../shared/traces}
failures=0
scratch=$PWD/scratch
rm -rf "$scratch"
mkdir "$scratch"
cd "$scratch" || exit 1

fail() {
  printf 'FAILED: %s\n' "$*"
  failures=$((failures + 1))
}
# says TEXT PATTERN: the text matches the pattern of bash.
says() {
  # shellcheck disable=SC2053
  [[ $1 == $2 ]] || fail "expected '$2', found '$1'"
}
# exits STATUS COMMAND...: output in `out` and `err`.
exits() {
  local expected=$1 status
  shift
  "$@" >out 2>err
  status=$?
  [ "$status" -eq "$expected" ] || fail "$*: exit status $status, expected $expected: $(<out) $(<err)"
}
# notes TEXT...: `err` has a note that begins with each of these texts.
notes() {
  local text
  for text in "$@"; do grep -qF "note: $text" err || fail "there is no note: $text: $(<err)"; done
}
nothing_half_done() {
  local partial
  partial=$(find . -name '*.partial-*')
  [ -z "$partial" ] || fail "left behind: $partial"
}
# The last line of each test. The files of a failed one are kept.
conclude() {
  if [ "$failures" -gt 0 ]; then
    echo "$failures failures"
    exit 1
  fi
  cd .. && rm -rf "$scratch"
  echo 'all as expected'
}
