#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# The packages, each made and used by a consumer. With --whole also the program and allot::lab.
#   packages.sh SOURCES DIR [--whole BUILD]     works in DIR; BUILD is a finished build with the program
set -euo pipefail
sources=$(cd "$1" && pwd)
whole=${4:+$(cd "$4" && pwd)}
mkdir -p "$2" && cd "$2"
cxx=${CXX:-c++}
consumers=$sources/tests/consumers
headers_only=(-DALLOT_BUILD_TESTS=OFF -DALLOT_BUILD_EXAMPLES=OFF -DALLOT_BUILD_BENCH=OFF)
version=$(sed -nE 's/.*int version_(major|minor|patch) = ([0-9]+);/\2/p' "$sources/include/allot/core/version.hpp" | paste -sd.)

say() { printf '\n--- %s\n' "$1"; }
fail() { printf '%s\n' "$1" >&2 && exit 1; }

# consumes PROJECT NAME OPTION...: configures, builds and runs the consumer in tests/consumers/PROJECT.
consumes() {
  cmake -S "$consumers/$1" -B "$2" -G Ninja "${@:3}" >"$2.txt" 2>&1 && cmake --build "$2" >>"$2.txt" 2>&1 ||
    { cat "$2.txt" && return 1; }
  "$2/consumer"
}

say "cmake --install: the headers need no package and nothing is built"
rm -rf build prefix moved && cmake -S "$sources" -B build -G Ninja "${headers_only[@]}" -DALLOT_GRAPH=OFF >configure.txt
! grep -q "Boost" configure.txt || fail "Boost was looked for"
cmake --install build --prefix "$PWD/prefix" >install.txt

say "pkg-config"
export PKG_CONFIG_PATH=$PWD/prefix/share/pkgconfig
[ "$(pkg-config --modversion allot)" = "$version" ] || fail "allot.pc has another version than the headers"
mv prefix moved # the package finds itself
PKG_CONFIG_PATH=$PWD/moved/share/pkgconfig
# shellcheck disable=SC2046
"$cxx" -std=c++20 $(pkg-config --cflags allot) "$consumers/main.cpp" -o by_pkg_config && ./by_pkg_config
[ -f moved/share/doc/allot/README.md ] || fail "no documentation is installed"

# What dpkg would do on a separate machine, below a directory. (dpkg's root is not that of its scripts; there
# are none.)
scratch_dpkg() { dpkg --root="$PWD/root" --force-not-root --force-depends --log=/dev/null "$@"; }
deb() { # BUILD
  rm -rf root debs && mkdir -p root/var/lib/dpkg/{info,updates} debs
  touch root/var/lib/dpkg/{status,available}
  (cd "$1" && cpack -G DEB -B "$OLDPWD/debs") >cpack.txt 2>&1 || { cat cpack.txt && return 1; }
  scratch_dpkg -i debs/*.deb
}
deb_goes() {
  scratch_dpkg -P allot
  local left
  left=$(find root -path root/var/lib/dpkg -prune -o -type f -print)
  [ -z "$left" ] || fail "removing the package leaves $left"
}
if command -v dpkg >/dev/null 2>&1; then
  say "deb, of the headers"
  deb build
  consumes installed by_deb -DWANTED="$version" -DCMAKE_PREFIX_PATH="$PWD/root/usr"
  deb_goes
else
  say "deb: skipped, there is no dpkg"
fi

say "FetchContent by tag"
# A repository of the working tree, as a remote one would be.
rm -rf repository && mkdir repository
(cd "$sources" && if [ -e .git ]; then git ls-files -z --cached --others --exclude-standard; else find . -type f ! -path './build/*' -print0; fi) |
  while IFS= read -r -d '' file; do [ ! -f "$sources/$file" ] || printf '%s\0' "$file"; done |
  tar -C "$sources" --null -T - -c | tar -C repository -x
unset $(git rev-parse --local-env-vars)
as_somebody=(-c user.name=allot -c user.email=allot@localhost -c core.hooksPath=/dev/null -c commit.gpgsign=false)
git -C repository init -q
git -C repository add -A
git -C repository "${as_somebody[@]}" commit -qm "$version"
git -C repository "${as_somebody[@]}" tag -m "$version" "v$version"
consumes fetch_by_tag by_tag -DREPOSITORY="file://$PWD/repository" -DTAG="v$version"

say "vcpkg: what the portfile does"
for features in core "core;graph"; do
  cmake -D OUT="$PWD/vcpkg" -D FEATURES="$features" -P "$consumers/vcpkg.cmake" >vcpkg.txt 2>&1 || { cat vcpkg.txt && exit 1; }
done
consumes installed by_vcpkg -DWANTED="$version" -DCMAKE_PREFIX_PATH="$PWD/vcpkg/packages" "-DCOMPONENTS=gpu;sim;graph"

say "Conan"
if [ ! -x conan/bin/conan ]; then
  python3 -m venv conan && conan/bin/pip install --quiet --disable-pip-version-check 'conan>=2,<3' ||
    { echo "skipped: Conan can't be installed here" && rm -rf conan; }
fi
if [ -x conan/bin/conan ]; then
  export CONAN_HOME=$PWD/conan_home
  [ -f "$CONAN_HOME/profiles/default" ] || conan/bin/conan profile detect >/dev/null 2>&1
  for boost in none ${whole:+system}; do
    # No server is contacted, and nothing is written into the sources.
    conan/bin/conan create "$sources" -o "allot/*:boost=$boost" -s compiler.cppstd=20 --build=missing \
      --no-remote -c tools.cmake.cmaketoolchain:generator=Ninja -c tools.cmake.cmaketoolchain:user_presets= \
      -c tools.cmake.cmake_layout:test_folder="$PWD/conan_test" >conan.txt 2>&1 || { tail -n 40 conan.txt && exit 1; }
    grep -q "allot/$version" conan.txt || fail "conanfile.py has another version than the headers"
  done
  conan/bin/conan create "$sources" --no-remote -s compiler.cppstd=17 >conan.txt 2>&1 && fail "C++17 is not refused"
  true
fi

[ -n "$whole" ] || exit 0
say "deb, of everything"
command -v dpkg >/dev/null 2>&1 || { echo "skipped, there is no dpkg" && exit 0; }
deb "$whole"
program=$PWD/root/usr/bin/allot
[ -f "$("$program" --help | sed -n 's/^Files are described in \(.*\); .*/\1/p')" ] || fail "--help does not say where the files are"
"$program" decide root/usr/share/allot/scenarios/three_teams.json >decision.json
say "policies of one's own, against the installed package"
bash "$consumers/own_policies.sh" "$PWD/root/usr" "$sources/examples/own_policies" own_policies
deb_goes
