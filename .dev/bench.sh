# SPDX-License-Identifier: BSL-1.0
# The benchmarks, and the experiments whose tables the documents show. Read by ../dev.

# The benchmark programs that are built from the sources in DIR.
bench_programs() { # DIR
  local size
  for size in micro scale; do
    [ -z "$(find "$1/bench/$size" -name '*.cpp' 2>/dev/null)" ] || echo "allot_$size"
  done
}

run_bench() {
  local rev rounds filter program programs
  while [ $# -gt 0 ]; do
    case $1 in
      --against) rev=${2:-} && shift ;;
      --rounds) rounds=${2:-} && shift ;;
      -*) usage >&2 && exit 2 ;;
      *)
        [ -z "${filter:-}" ] ||
          bench_refused "two filters, '$filter' and '$1'; one can match either: '$filter|$1'."
        filter=$1
        ;;
    esac
    shift
  done
  if [ -n "${rev+given}" ]; then
    bench_against "$rev" "${rounds-5}" "${filter:-.}"
    return
  fi
  [ -z "${rounds+given}" ] || bench_refused "--rounds belongs to --against REV."
  needs build bench
  configure release
  programs=($(bench_programs .))
  if [ ${#programs[@]} -eq 0 ]; then
    echo "There are no benchmarks in bench/micro and bench/scale."
    return 1
  fi
  build release "${programs[@]}"
  for program in "${programs[@]}"; do
    echo
    "build/release/bench/$program" --benchmark_filter="${filter:-.}" \
      --benchmark_out="build/release/$program.json" --benchmark_out_format=json || return 1
  done
}

bench_refused() { # WHY
  printf './dev bench: %s\n' "$1" >&2
  exit 2
}

# Measures a revision and the working tree in turns. The exit status is 1 when something is worse.
bench_against() { # REV ROUNDS FILTER
  local rev=$1 rounds=$2 filter=$3 commit short top program again out=build/against/rounds
  local -A filter_of=()
  [[ $rounds =~ ^([3-9]|[1-9][0-9]+)$ ]] ||
    bench_refused "--rounds needs a number from 3 on, not '$rounds'; fewer do not tell a change from noise."
  # In a hook they would lead git to the index of the user.
  unset $(git rev-parse --local-env-vars 2>/dev/null)
  [ -e .git ] || bench_refused "--against needs the git repository; $PWD is not the top of one."
  commit=$(git rev-parse --verify --quiet "$rev^{commit}") ||
    bench_refused "this repository has no revision '$rev'."
  short=$(git rev-parse --short "$commit")
  top=$(pwd -P)/build/against/$short

  needs build bench
  step "check out $short" against-checkout check_out "$commit" "$top"
  for program in $(comm -12 <(bench_programs "$top") <(bench_programs .)); do filter_of[$program]=$filter; done
  comm -23 <(bench_programs "$top") <(bench_programs .) | sed 's/.*/  the working tree has no &: left out/'
  comm -13 <(bench_programs "$top") <(bench_programs .) | sed "s/.*/  $short has no &: left out/"
  [ ${#filter_of[@]} -gt 0 ] || bench_refused "$short and the working tree have no benchmark program in common."
  configure release
  build release "${!filter_of[@]}"
  step "configure ($short)" against-configure configure_strictly release -S "$top"
  step "build ($short)" against-build \
    cmake --build "$top/build/release" --parallel "$jobs" --target "${!filter_of[@]}"

  rm -rf $out
  measure 1 "$rounds"
  # Machines are noisy and benchmarks are hundreds: some differ once by chance.
  again=$(awk -f bench/compare.awk -v filters=1 $out/*.json)
  if [ -n "$again" ]; then
    filter_of=()
    while IFS=$'\t' read -r program filter; do filter_of[$program]=$filter; done <<<"$again"
    echo "  What was worse or better, again:"
    measure 2 $((2 * rounds))
  fi
  echo
  awk -f bench/compare.awk -v rev="$short" $out/*.json
  case $? in
    0) return 0 ;;
    2) bench_refused "no benchmark matches '$filter'." ;;
    *) return 1 ;;
  esac
}

# Checks a commit out in the directory TOP below build/against, where its build stays for the next time. Those
# of other commits go.
check_out() { # COMMIT TOP
  local word path
  while read -r word path; do
    [[ $word != worktree || $path != "${2%/*}"/* || $path = "$2" ]] || git worktree remove --force "$path"
  done < <(git worktree list --porcelain)
  [ -e "$2/.git" ] && git -C "$2" diff --quiet "$1" && return
  git worktree remove --force "$2" 2>/dev/null
  rm -rf "$2"
  git -c core.hooksPath=/dev/null worktree add --force --detach "$2" "$1"
}

measure() { # PASS ROUNDS
  local round
  mkdir -p "$out"
  for round in $(seq "$2"); do
    step "round $round of $2" against-round run_round "$1" "$round"
  done
}

# Program by program, so that less time passes between the two sides.
run_round() { # PASS ROUND
  local program side
  # Published traces are looked for beside the repository, and a checkout below build/ is elsewhere.
  export ALLOT_TRACES=${ALLOT_TRACES:-$PWD/../shared/traces}
  for program in "${!filter_of[@]}"; do
    for side in "before $top" "after $PWD"; do
      "${side#* }/build/release/bench/$program" --benchmark_filter="${filter_of[$program]}" \
        --benchmark_min_time=0.05 --benchmark_out="$out/${side%% *}.$program.$1.$2.json" \
        --benchmark_out_format=json || return 1
    done
  done
}

sweep_experiment() { # NAME EXPERIMENT [OPTION...]
  local out=build/experiments program=build/release/allot
  step "sweep ($1)" "experiments-$1" "$program" sweep "${@:2}" --out "$out/$1"
  "$program" compare "$out/$1" --html "$out/$1.html"
}

# One with scenarios of philly128, or without them if there is no trace of it.
sweep_philly() { # NAME TRACES SCENARIO...
  local from=bench/lab/experiments out=build/experiments scenario given=()
  if [ -f "$2/philly128/jobs.csv" ]; then
    for scenario in "${@:3}"; do given+=(--trace "$scenario=$2/philly128/jobs.csv"); done
    sweep_experiment "$1" "$from/$1.json" "${given[@]}"
  else
    echo "    without philly128: there is no trace of it"
    grep -v '"trace": "philly128/jobs.csv"' "$from/$1.json" | sed "s|\.\./scenarios|$PWD/bench/lab/scenarios|" >"$out/$1.json"
    sweep_experiment "$1" "$out/$1.json"
  fi
}

run_experiments() { # [TRACES]
  [ $# -le 1 ] || { usage >&2 && exit 2; }
  local traces=${1:-${ALLOT_TRACES:-}} out=build/experiments from=bench/lab/experiments
  [ -z "${1:-}" ] || [ -f "$1/philly128/jobs.csv" ] || { echo "./dev experiments: no $1/philly128/jobs.csv" >&2 && exit 2; }
  needs build packages # for its Python
  configure release
  build release allot
  rm -rf $out && mkdir -p $out
  sweep_philly headline "$traces" philly128 || return 1
  sweep_experiment generated_mix $from/generated_mix.json || return 1
  sweep_philly reservations "$traces" philly-exact philly-tsafrir philly-none || return 1
  sweep_experiment reservation_options $from/reservation_options.json || return 1
  python3 $from/tables.py "$logs/experiments-headline.txt" $out/headline/table.json $out/reservations/table.json \
    $out/reservation_options/table.json || return 1
  git diff --stat -- README.md bench/lab/README.md
  printf '\n%s\n' $out/headline.html $out/generated_mix.html $out/reservations.html $out/reservation_options.html
}

run_paper() { # [OPTION | NAME]...
  local given=()
  [ -z "${ALLOT_TRACES:-}" ] || given=(--traces "$ALLOT_TRACES")
  needs build packages # for its Python
  configure release
  build release gallery_allot
  python3 bench/lab/experiments/published.py "${given[@]}" build/release/examples/gallery/gallery_allot \
    build/experiments/published "$@"
}

# With the traces that are there.
tables_are_current() {
  run_experiments || return 1
  [ -z "$(git status --porcelain -- README.md bench/lab/README.md)" ] ||
    { echo "the tables of README.md and bench/lab/README.md were not current: commit what ./dev experiments wrote" && return 1; }
}
