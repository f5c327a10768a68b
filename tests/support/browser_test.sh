# shellcheck shell=bash
# SPDX-License-Identifier: BSL-1.0
# Shared by the tests of pages in a headless Chromium. Sourced with `sources`, the top of the sources, set.
browser=${ALLOT_BROWSER:-}
for name in chromium chromium-browser google-chrome-stable google-chrome; do
  [ -n "$browser" ] || browser=$(command -v "$name" || true)
done

has_browser() { [ -n "$browser" ] && command -v python3 >/dev/null; }
# For a test of nothing but pages.
skip_without_browser() {
  has_browser && return
  echo "skipped: no chromium or no python3 on this machine"
  exit 77
}
# finds PAGE NAME SCRIPT [OPTION...]: what tests/support/browser.py finds in the page, with `helpers` before the script;
# its pictures are left in the directory `pictures`.
finds() {
  local page=$1 name=$2
  printf '%s' "${helpers:-}$3" >script.js
  shift 3
  mkdir -p "$pictures"
  timeout 300 python3 "$sources/tests/support/browser.py" "$browser" "$page" script.js --pictures "$pictures/$name" "$@" 2>&1
}
# The same, where nothing must be found.
opens() {
  local found
  found=$(finds "$@") || fail "$found"
}
