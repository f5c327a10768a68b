# SPDX-License-Identifier: BSL-1.0
# Packages, releases, other compilers, and the night. Read by ../dev.

run_packages() {
  case ${1:-} in
    '' | --whole) ;;
    *) usage >&2 && exit 2 ;;
  esac
  needs build packages
  step "packages" packages bash tests/consumers/packages.sh "$PWD" build/packages
  grep skipped "$logs/packages.txt" | sed 's/^/    /'
  [ -n "${1:-}" ] || return 0
  configure release
  build release all
  step "packages of everything" packages-whole \
    bash tests/consumers/packages.sh "$PWD" build/packages --whole build/release
}

# As a stranger gets it, but for the lab, which the build of the program has compiled.
make_wheel() {
  [ -x build/python/env/bin/pip ] || python3 -m venv build/python/env || return 1
  rm -rf build/python/wheel
  build/python/env/bin/pip --disable-pip-version-check wheel packaging/python --no-deps -w build/python/wheel \
    --config-settings=cmake.define.ALLOT_LAB_BUILD="$PWD/build/release" || return 1
  local wheel
  wheel=$(echo build/python/wheel/allot-*.whl)
  build/python/env/bin/pip --disable-pip-version-check install "$wheel[test]" &&
    build/python/env/bin/pip --disable-pip-version-check install --no-deps --force-reinstall "$wheel"
}

run_python() {
  [ $# -eq 0 ] || { usage >&2 && exit 2; }
  needs build python
  configure release
  build release allot_lab
  step "wheel" python-wheel make_wheel
  # Outside of the sources: what is tested is what is installed.
  step "tests of the wheel" python-tests build/python/env/bin/python -m pytest -q -p no:cacheprovider packaging/python/tests
  tail -n 1 "$logs/python-tests.txt" | sed 's/^/    /'
}

# What speaks against a release of this tree, a line each.
check_release() { # VERSION
  check_version
  grep -qE "^## \[$1\] - [0-9]{4}-[0-9]{2}-[0-9]{2}\$" CHANGELOG.md ||
    echo "CHANGELOG.md: the section of $1 has no date: expected '## [$1] - YYYY-MM-DD'"
  [ -z "$(git status --porcelain)" ] || echo "the working tree is not clean: git status says what has changed"
  local tagged
  tagged=$(git rev-parse --quiet --verify "v$1^{commit}")
  [ -z "$tagged" ] || [ "$tagged" = "$(git rev-parse HEAD)" ] ||
    echo "the tag v$1 is on another commit: this is not version $1, or not any more"
}

# The archive of a commit, the same bytes for the same commit, and what a consumer does with it.
write_archive() { # VERSION
  local name=allot-$1 out=build/release-files installed
  rm -rf $out && mkdir -p $out/check
  git archive --format=tar --prefix="$name/" HEAD | gzip -n >"$out/$name.tar.gz" &&
    (cd $out && sha256sum "$name.tar.gz" >"$name.tar.gz.sha256") &&
    tar -C $out/check -xzf "$out/$name.tar.gz" &&
    cmake -S "$out/check/$name" -B $out/check/build -DALLOT_BUILD_TESTS=OFF -DALLOT_BUILD_EXAMPLES=OFF \
      -DALLOT_BUILD_BENCH=OFF -DALLOT_GRAPH=OFF &&
    cmake --install $out/check/build --prefix $out/check/prefix || return 1
  installed=$(sed -n 's/^Version: //p' $out/check/prefix/share/pkgconfig/allot.pc)
  [ "$installed" = "$1" ] || { echo "allot.pc: the version is $installed, that of the archive is $1" && return 1; }
  "${CXX:-c++}" -std=c++20 -I$out/check/prefix/include "$out/check/$name/examples/quickstart.cpp" \
    -o $out/check/quickstart &&
    $out/check/quickstart | diff tests/examples/quickstart.expected - || return 1
  rm -rf $out/check
}

run_release() {
  [ $# -eq 0 ] || { usage >&2 && exit 2; }
  # In a hook they would lead git to the index of the user.
  unset $(git rev-parse --local-env-vars 2>/dev/null)
  local version
  version=$(version_of_headers)
  [ -e .git ] || { echo "./dev release needs the git repository" >&2 && exit 2; }
  lint "everything says $version" check_release "$version"
  [ $lint_failures -eq 0 ] || return 1
  step "archive" release write_archive "$version"
  printf '\n'
  (cd build/release-files && cat ./*.sha256)
  printf '%s/build/release-files\nWhat is left to do: packaging/RELEASE.md\n' "$PWD"
}

# COMPILER LIBRARY, as in the table of the README.
compilers() {
  cat <<'TEXT'
g++-12 libstdc++
clang++-14 libstdc++
clang++-16 libstdc++
clang++-16 libc++
clang++-19 libstdc++
clang++-19 libc++
TEXT
}

# Every header without a warning, also through -isystem, where only some of a compiler's warnings are silent; then
# every example, whose output has to be as expected. {fmt} as headers, because its library is libstdc++'s.
check_compiler() { # COMPILER LIBRARY
  local cxx=$1 flags=(-std=c++20) out=build/compilers/$1-$2 source name
  [ "$2" = libstdc++ ] || flags+=(-stdlib=libc++)
  local strict=(-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Werror)
  mkdir -p "$out"
  headers | as_includes >"$out/all_headers.cpp"
  printf 'int main() {}\n' >>"$out/all_headers.cpp"
  "$cxx" "${flags[@]}" "${strict[@]}" -Iinclude -Ibench/lab/include -fsyntax-only "$out/all_headers.cpp" || return 1
  "$cxx" "${flags[@]}" -Werror -isystem include -isystem bench/lab/include -fsyntax-only "$out/all_headers.cpp" || return 1
  for source in examples/*.cpp; do
    name=$(basename "$source" .cpp)
    [ -f "tests/examples/$name.expected" ] || continue
    "$cxx" "${flags[@]}" -O1 -DFMT_HEADER_ONLY -isystem include "$source" -o "$out/$name" &&
      "$out/$name" | diff "tests/examples/$name.expected" - || { echo "$source failed" && return 1; }
  done
}

run_compilers() {
  local cxx library begin log
  mkdir -p "$logs"
  while read -r cxx library; do
    log=$logs/compiler-$cxx-$library.txt
    if ! echo 'int main() {}' | "$cxx" ${library:+-x c++} $([ "$library" = libstdc++ ] || echo -stdlib=libc++) \
      -Werror -include version - -o /dev/null >"$log" 2>&1; then
      printf '  %-34s skipped: %s\n' "$cxx, $library" \
        "$(command -v "$cxx" >/dev/null 2>&1 && echo "no $library for it here" || echo "not installed")"
      continue
    fi
    begin=$SECONDS
    printf '  %-34s ' "$cxx, $library"
    if check_compiler "$cxx" "$library" </dev/null >"$log" 2>&1; then
      printf 'ok  %4d s\n' $((SECONDS - begin))
    else
      printf 'FAILED\n'
      grep -E 'error|failed' "$log" | head -n 20 | sed 's/^/    /'
      lint_failures=$((lint_failures + 1))
    fi
  done < <(compilers)
}

# As many new worlds under the laws as there is time for.
try_worlds() { # MINUTES [FIRST SEED]
  build_files tests/scheduler/laws_worlds.cpp
  ALLOT_MINUTES=$1 ALLOT_FROM=${2:-} build/test/tests/test_files --test-case='laws: whatever meets*'
}

run_nightly() {
  local minutes= from=
  while [ $# -gt 0 ]; do
    case $1 in
      --minutes) minutes=${2:?expected a number of minutes} ;;
      --from) from=${2:?expected a seed} ;;
      *) usage >&2 && exit 2 ;;
    esac
    shift 2
  done
  if [ -n "$minutes$from" ]; then
    needs build test
    try_worlds "${minutes:-10}" "$from" && try_schedules "${minutes:-10}" "$from"
    return
  fi
  needs everything
  lint "clang-tidy" check_tidy
  run_compilers
  lint "headers by themselves" all_headers_alone
  lint_result && run_tests --all --long && run_fuzz --seconds 600 && try_worlds 10 && try_schedules 10 && list_benchmarks && sanitize_all &&
    run_packages --whole && run_python && page_for_browsers && soak_slurm && soak_kueue && tables_are_current
}
