# SPDX-License-Identifier: BSL-1.0
# The hosts: allot-slurm. Read by ../dev.

# Why there can be no Slurm cluster here: nothing where there can be one. Installs what is missing if that is possible.
slurm_is_out() {
  (needs slurm) >"$logs/slurm-packages.txt" 2>&1 || {
    echo "Slurm is not installed and can't be: $(grep -m 1 Missing "$logs/slurm-packages.txt")"
    return
  }
  python3 examples/hosts/slurm/cluster/cluster.py -- true >"$logs/slurm-cluster.txt" 2>&1 || tail -n 1 "$logs/slurm-cluster.txt"
}

run_slurm() {
  local what=${1:-story} cluster=examples/hosts/slurm/cluster
  [ $# -eq 0 ] || shift
  case $what in
    story | test | soak | measure) ;;
    *) usage >&2 && exit 2 ;;
  esac
  needs build slurm
  # doctest, for the tests that need no Slurm.
  [ "$what" != test ] || needs test
  configure release
  case $what in
    test) build release allot_slurm allot_slurm_clock allot_slurm_tests ;;
    *) build release allot_slurm ;;
  esac
  case $what in
    story) python3 $cluster/story.py --keep build/slurm "$@" ;;
    test) test_slurm "$@" ;;
    soak) python3 examples/hosts/slurm/tests/real_cluster.py --keep build/slurm/soak --soak "$@" ;;
    measure) python3 $cluster/measure.py "$@" ;;
  esac
}

# Those against a Slurm that is made up, then those on real clusters; the last line counts both.
test_slurm() { # [PART...]
  local log=$logs/slurm-test.txt counted passed failed
  build/release/examples/hosts/slurm/allot_slurm_tests >"$log" 2>&1
  local status=$?
  cat "$log"
  counted=$(sed -nE 's/^\[doctest\] test cases: .* ([0-9]+) passed \| +([0-9]+) failed.*/\1 \2/p' "$log")
  # It ended before it could count.
  counted=${counted:-0 1}
  python3 examples/hosts/slurm/tests/real_cluster.py --keep build/slurm/tests "$@" | tee "$log"
  status=$((status + PIPESTATUS[0]))
  read -r passed failed < <(tail -n 1 "$log" | sed -nE 's/^([0-9]+) passed, ([0-9]+) failed$/\1 \2/p')
  printf 'with the unit tests:\n%d passed, %d failed\n' $((${passed:-0} + ${counted% *})) $((${failed:-1} + ${counted#* }))
  return $((status > 0))
}

soak_slurm() {
  local why
  why=$(slurm_is_out)
  [ -z "$why" ] || { printf '  %-34s skipped: %s\n' "soak on Slurm" "$why" && return 0; }
  run_slurm soak
}
