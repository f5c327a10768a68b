# SPDX-License-Identifier: BSL-1.0
# The hosts: allot-slurm and allot-kueue. Read by ../dev.

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
    # The story ends with a sweep.
    *) build release allot_slurm allot ;;
  esac
  case $what in
    story) python3 $cluster/story.py --keep build/slurm "$@" ;;
    test) test_host slurm "$@" ;;
    soak) python3 examples/hosts/slurm/tests/real_cluster.py --keep build/slurm/soak --soak "$@" ;;
    measure) python3 $cluster/measure.py "$@" ;;
  esac
}

# Those against a Slurm or Kueue that is made up, then those on real clusters; the last line counts both.
test_host() { # slurm | kueue [PART...]
  local host=$1 counted passed failed
  local log=$logs/$host-test.txt
  shift
  "build/release/examples/hosts/$host/allot_${host}_tests" >"$log" 2>&1
  local status=$?
  cat "$log"
  counted=$(sed -nE 's/^\[doctest\] test cases: .* ([0-9]+) passed \| +([0-9]+) failed.*/\1 \2/p' "$log")
  # It ended before it could count.
  counted=${counted:-0 1}
  python3 "examples/hosts/$host/tests/real_cluster.py" --keep "build/$host/tests" "$@" | tee "$log"
  status=$((status + PIPESTATUS[0]))
  read -r passed failed < <(tail -n 1 "$log" | sed -nE 's/^([0-9]+) passed, ([0-9]+) failed$/\1 \2/p')
  printf 'with the unit tests:\n%d passed, %d failed\n' $((${passed:-0} + ${counted% *})) $((${failed:-1} + ${counted#* }))
  return $((status > 0))
}

# The tests of hosts that need no cluster, of those whose packages are there; into `hosts`: governor, slurm, kueue.
build_host_tests() {
  needs build test
  (needs kueue) >"$logs/kueue-packages.txt" 2>&1 || true
  configure release
  mapfile -t hosts < <(cmake --build build/release --target help | sed -nE 's/^allot_(governor|slurm|kueue)_tests: .*/\1/p')
  local tests=("${hosts[@]/#/allot_}")
  build release "${tests[@]/%/_tests}"
}
host_test() { echo "$PWD/build/release/examples/hosts/$1/allot_$1_tests"; }

# 10,000 schedules of faults are among them; and the page of a governor in a browser, if there is one.
test_hosts() {
  local hosts host top=$PWD governor page status=0
  build_host_tests
  [ ${#hosts[@]} -gt 0 ] || { echo "neither libslurm nor what allot-kueue needs is there" && return 75; }
  for host in "${hosts[@]}"; do "$(host_test "$host")" || status=1; done
  governor=$(host_test governor)
  mkdir -p build/hosts
  page=$(cd build/hosts && bash "$top/tests/hosts/page_browser.sh" "$governor" "$top")
  case $? in 0 | 77) ;; *) status=1 ;; esac
  echo "the page: $page"
  return $status
}

# New random schedules of faults for so many minutes, from a seed on if that is given, for each host at once.
try_schedules() { # MINUTES [FIRST SEED]
  local hosts host begun=() status=0
  build_host_tests
  for host in "${hosts[@]}"; do
    ALLOT_MINUTES=$1 ALLOT_FROM=${2:-} "$(host_test "$host")" --test-suite=schedules &
    begun+=($!)
  done
  for host in "${begun[@]}"; do wait "$host" || status=1; done
  return $status
}

soak_slurm() {
  local why
  why=$(slurm_is_out)
  [ -z "$why" ] || { printf '  %-34s skipped: %s\n' "soak on Slurm" "$why" && return 0; }
  run_slurm soak
}

go_is_new_enough() {
  local version
  version=$(go env GOVERSION 2>/dev/null | sed -n 's/^go\([0-9.]*\).*/\1/p')
  [ -n "$version" ] && [ "$(printf '1.26\n%s\n' "$version" | sort -V | head -n 1)" = 1.26 ]
}

kueue_is_built() {
  [ -n "${ALLOT_KUEUE_PROGRAMS:-}" ] || [ "$(cat build/kueue/made-of 2>/dev/null)" = "$(kueue_is_made_of)" ]
}
kueue_is_made_of() {
  local from=examples/hosts/kueue/cluster
  cat $from/*/go.mod $from/*/go.sum $from/control-plane/main.go | sha256sum
}

# The control plane, kubectl, Kueue with its objects, and kwok, for examples/hosts/kueue/cluster: into build/kueue, unless they
# are there already. The first time it takes minutes of all processors, and gigabytes in Go's own caches.
build_kueue_cluster() {
  kueue_is_built && return 0
  local into=build/kueue version kueue
  go_is_new_enough || { echo "no Go 1.26 or later, which builds Kubernetes and Kueue: https://go.dev/dl" >&2 && return 2; }
  rm -f $into/made-of
  mkdir -p $into
  version=$(module control-plane k8s.io/kubernetes Version) && kueue=$(module control-plane sigs.k8s.io/kueue Dir) &&
    # Clients parse the version, and without this there is none.
    go_build control-plane control-plane . "-X k8s.io/component-base/version.gitVersion=$version -X k8s.io/client-go/pkg/version.gitVersion=$version" &&
    go_build control-plane kubectl k8s.io/kubernetes/cmd/kubectl "-X k8s.io/component-base/version.gitVersion=$version" &&
    go_build control-plane kueue sigs.k8s.io/kueue/cmd/kueue &&
    go_build kwok kwok sigs.k8s.io/kwok/cmd/kwok &&
    $into/kubectl kustomize "$kueue/config/components/crd" >$into/crds.yaml &&
    # Its first document is the Service before Kueue.
    $into/kubectl kustomize "$kueue/config/components/webhook" | sed '1,/^---$/d' >$into/webhooks.yaml &&
    kueue_is_made_of >$into/made-of
}

module() { # DIRECTORY MODULE FIELD
  (cd "examples/hosts/kueue/cluster/$1" && go mod download "$2" && go list -m -f "{{.$3}}" "$2")
}

go_build() { # DIRECTORY PROGRAM PACKAGE [LINKER-OPTIONS]
  local output=$PWD/build/kueue/$2
  (cd "examples/hosts/kueue/cluster/$1" && nice go build -mod=readonly -ldflags "-s -w ${4:-}" -o "$output" "$3")
}

# Why there can be no Kubernetes cluster here: nothing where there can be one. Builds what is missing if that is possible.
kueue_is_out() {
  (needs kueue) >"$logs/kueue-packages.txt" 2>&1 || {
    echo "what allot-kueue needs is not installed and can't be: $(grep -m 1 Missing "$logs/kueue-packages.txt")"
    return
  }
  build_kueue_cluster >"$logs/kueue-programs.txt" 2>&1 || {
    echo "Kubernetes and Kueue can't be built here: $(tail -n 1 "$logs/kueue-programs.txt")"
    return
  }
  python3 examples/hosts/kueue/cluster/cluster.py -- true >"$logs/kueue-cluster.txt" 2>&1 || tail -n 1 "$logs/kueue-cluster.txt"
}

soak_kueue() {
  local why
  why=$(kueue_is_out)
  [ -z "$why" ] || { printf '  %-34s skipped: %s\n' "soak on Kueue" "$why" && return 0; }
  run_kueue && run_kueue test --kills 20 && run_kueue soak && run_kueue compare --only replay
}

run_kueue() {
  local what=${1:-story} cluster=examples/hosts/kueue/cluster
  [ $# -eq 0 ] || shift
  case $what in
    build | cluster | story | test | soak | compare) ;;
    *) usage >&2 && exit 2 ;;
  esac
  step "Kubernetes, Kueue and kwok" kueue-programs build_kueue_cluster
  [ "$what" != cluster ] || exec python3 $cluster/cluster.py "$@"
  [ "$what" != build ] || return 0
  needs build kueue
  # doctest, for the tests that need no cluster.
  [ "$what" != test ] || needs test
  configure release
  case $what in
    test) build release allot allot_kueue allot_kueue_tests ;;
    *) build release allot_kueue ;;
  esac
  case $what in
    story) python3 $cluster/story.py --keep build/kueue "$@" ;;
    test) test_host kueue "$@" ;;
    soak) python3 examples/hosts/kueue/tests/real_cluster.py --keep build/kueue/soak --soak "$@" ;;
    compare) python3 bench/hosts/kueue.py --keep build/kueue/compare.json "$@" ;;
  esac
}
