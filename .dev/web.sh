# SPDX-License-Identifier: BSL-1.0
# The page for browsers (packaging/web). Read by ../dev.

# A toolchain of its own: settings for this machine's compilers are not meant for it.
configure_web() {
  env -u CC -u CXX -u CFLAGS -u CXXFLAGS -u LDFLAGS -u CMAKE_CXX_COMPILER_LAUNCHER -u CMAKE_C_COMPILER_LAUNCHER \
    emcmake cmake -S packaging/web -B build/web/program -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DALLOT_PAGE="$PWD/build/web/allot.html"
}

build_web() {
  # Emscripten's tools are modules of Debian's Node; a Node from elsewhere does not look for them there.
  NODE_PATH=/usr/share/nodejs${NODE_PATH:+:$NODE_PATH} cmake --build build/web/program --parallel "$jobs" --target allot_page
}

run_web() {
  local what=${1:-}
  [ $# -le 1 ] && [[ $what == '' || $what == test ]] || { usage >&2 && exit 2; }
  needs build web
  step "configure (web)" web-configure configure_web
  step "build (web)" web-build build_web
  printf '    build/web/allot.html: %s KB, %s KB packed with gzip\n' $(($(wc -c <build/web/allot.html) / 1000)) \
    $(($(gzip -9 -c build/web/allot.html | wc -c) / 1000))
  [ "$what" = test ] || return 0
  configure release
  build release allot_program
  step "test (web)" web-test bash packaging/web/tests/page.sh build/release/allot "$PWD"
  sed 's/^/    /' "$logs/web-test.txt"
}

# ./dev web test, where Emscripten is or can be installed.
page_for_browsers() {
  if (needs web) >"$logs/web-packages.txt" 2>&1; then
    run_web test
  else
    printf '  %-34s skipped: Emscripten is not installed\n' "page for browsers"
  fi
}
