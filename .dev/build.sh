# SPDX-License-Identifier: BSL-1.0
# Building, the tests, the fuzzers and the demo. Read by ../dev.

# CMake only warns of a -D that names no option; then what it was meant to switch on is never built.
configure_strictly() { # PRESET [OPTION...]
  local output
  output=$(cmake --preset "$@" 2>&1)
  local status=$?
  printf '%s\n' "$output"
  [ $status -eq 0 ] && [[ $output != *"not used by the project"* ]]
}

# Commands that run at the same time, as in .ci/run, take turns in a build directory.
in_turn() { # PRESET COMMAND...
  (
    ! command -v flock >/dev/null || flock 9
    "${@:2}"
  ) 9>"$logs/$1.lock"
}

configure() { # PRESET [OPTION...]
  step "configure ($1)" "$1-configure" in_turn "$1" configure_strictly "$@"
}

build() { # PRESET [TARGET...]
  local preset=$1
  shift
  step "build ($preset)" "$preset-build" in_turn "$preset" \
    cmake --build --preset "$preset" --parallel "$jobs" ${@:+--target "$@"}
}

# "12 passed, 0 failed", from the log of a ctest run.
counts() {
  sed -nE 's/^[0-9]+% tests passed, ([0-9]+) tests failed out of ([0-9]+)$/\1 \2/p' "$1" |
    while read -r bad all; do echo "$((all - bad)) passed, $bad failed"; done
}

# Builds test files as a program of their own, build/test/tests/test_files.
build_files() { # FILE...
  local file list
  for file in "$@"; do
    [ -f "$file" ] || { echo "./dev test: there is no $file" >&2 && exit 2; }
    list=${list:+$list;}$PWD/$file
  done
  configure test "-DALLOT_TEST_FILES=$list"
  build test test_files
}
test_files() { # FILE...
  build_files "$@"
  build/test/tests/test_files
}

# Configures, builds and runs the tests of a preset. What begins with -D is an option of CMake, the rest of the
# arguments goes to ctest.
run_suite() {
  local preset=$1 options=()
  shift
  while [[ ${1:-} == -D* ]]; do
    options+=("$1")
    shift
  done
  configure "$preset" ${options[@]+"${options[@]}"}
  build "$preset"
  step "test ($preset)" "$preset-test" ctest --preset "$preset" --parallel "$jobs" "$@"
}

run_tests() {
  local more=OFF files=()
  while [ $# -gt 0 ]; do
    case $1 in
      --all) more=ON ;;
      --long) export ALLOT_LONG=1 ;;
      tests/*/*.cpp) files+=("$1") ;;
      *) usage >&2 && exit 2 ;;
    esac
    shift
  done
  [ ${#files[@]} -eq 0 ] || [ $more = OFF ] ||
    { echo "./dev test: --all builds all files, and ${files[0]} is one; give either." >&2 && exit 2; }
  needs build test
  if [ ${#files[@]} -gt 0 ]; then
    test_files "${files[@]}"
    return
  fi
  rm -f "$logs/test-test.txt"
  # The files of the last `./dev test FILE` may be gone by now.
  (run_suite test "-DALLOT_MORE_TESTS=$more" -DALLOT_TEST_FILES=)
  local status=$? result
  result=$(counts "$logs/test-test.txt" 2>/dev/null)
  echo "${result:-0 passed, 1 failed (the tests were not built)}"
  return $status
}

# Each with a seed of its own, which it prints.
mutate() { # READER SECONDS [DIRECTORY...]
  local top=$PWD reader=$1 seconds=$2
  shift 2
  mkdir -p "build/fuzz/$reader"
  (cd "build/fuzz/$reader" && "$top/build/test/tests/mutate_$reader" "$seconds" 0 \
    "$top/tests/fuzz/corpus/$reader" "$@")
}
run_fuzz() {
  local seconds=60
  case ${1:-} in
    '') ;;
    --hours) seconds=$((3600 * ${2:?expected a number of hours})) ;;
    --seconds) seconds=${2:?expected a number of seconds} ;;
    *) usage >&2 && exit 2 ;;
  esac
  needs build test
  configure test -DALLOT_MORE_TESTS=ON
  build test mutate_scenario mutate_trace mutate_experiment mutate_objects
  # Scenarios are what most users write by hand.
  step "mutated scenarios" fuzz-scenario mutate scenario $((seconds / 2 + 1)) "$PWD/bench/lab/scenarios"
  step "mutated traces" fuzz-trace mutate trace $((seconds / 6 + 1))
  step "mutated experiments" fuzz-experiment mutate experiment $((seconds / 6 + 1))
  step "mutated objects of clusters" fuzz-objects mutate objects $((seconds / 6 + 1))
  cat "$logs"/fuzz-{scenario,trace,experiment,objects}.txt | sed 's/^/  /'
}

run_build() {
  needs build
  configure release
  build release allot_program
}

run_demo() {
  needs build
  configure release
  local log=$logs/demo-build.txt begin=$SECONDS
  # The story is a small program and there first: it is shown while the rest is built.
  echo "  build (demo): the story comes first, and the rest while you read it"
  cmake --build --preset release --parallel "$jobs" --target example_pai_child_preemption allot_demo \
    </dev/null 2>&1 | tee "$log" | while IFS= read -r line; do
    [[ $line == *"Linking CXX executable examples/pai_child_preemption"* ]] && demo_story
  done
  if [ "${PIPESTATUS[0]}" -ne 0 ]; then
    last_words "$log"
    printf '\nThe whole log: %s\n' "$log"
    return 1
  fi
  # What was built before is told now.
  grep -q "Linking CXX executable examples/pai_child_preemption" "$log" || demo_story
  printf '\n  %-34s ok  %4d s\n' "build (demo)" $((SECONDS - begin))
  demo_weeks
}

demo_story() {
  echo
  build/release/examples/pai_child_preemption
}

demo_weeks() {
  local program=build/release/bench/allot_demo out=build/demo scenarios=bench/lab/scenarios
  rm -rf $out && mkdir -p $out
  cat <<'TEXT'

Two weeks of the three teams on the same 128 GPUs, once cut into fixed parts (A 24, B 39, C 65), once lending
to each other (quota1 = 128 with B's 48 and C's 80 in it, A's service on quota1 itself):

TEXT
  "$program" generate $out/two_weeks.csv &&
    "$program" replay $scenarios/two_weeks_fixed.json $out/two_weeks.csv static_quotas \
      $out/static_quotas >$out/static_quotas.txt &&
    "$program" replay $scenarios/two_weeks_lending.json $out/two_weeks.csv standard \
      $out/standard >$out/standard.txt &&
    "$program" compare $out/static_quotas $out/standard || return 1
  cat <<TEXT

The workload:           $out/two_weeks.csv
What happened to it:    $out/static_quotas and $out/standard; open report.html in a browser.
The whole program:      ./dev build, then build/release/allot --help
TEXT
}
