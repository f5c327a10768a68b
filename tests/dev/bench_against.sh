#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# ./dev bench --against: first the comparison, with made-up measurements, then the command, in a repository
# with benchmarks.
# shellcheck source=tests/support/program_test.sh
source "$2/tests/support/program_test.sh"
command -v git >/dev/null 2>&1 || { echo 'needs git' && exit 77; }

# The output of Google Benchmark for lines NAME REAL_TIME CPU_TIME UNIT. Without times the benchmark failed.
as_json() {
  local name real cpu unit
  printf '{\n  "context": {\n    "host_name": "h",\n    "load_avg": [1,2,3]\n  },\n  "benchmarks": [\n'
  while read -r name real cpu unit; do
    printf '    {\n      "name": "%s",\n      "run_type": "iteration",\n' "$name"
    [ -n "$real" ] || printf '      "error_occurred": true,\n      "error_message": "no place",\n'
    printf '      "real_time": %s,\n      "cpu_time": %s,\n' "${real:-0.0}" "${cpu:-0.0}"
    printf '      "time_unit": "%s"\n    },\n' "${unit:-ns}"
  done
  printf '    {\n      "name": "fitted_BigO",\n      "cpu_coefficient": 1.0e+00,\n      "time_unit": "ns"\n'
  printf '    }\n  ]\n}\n'
}

compare() { awk -f "$sources/bench/compare.awk" "$@"; }
# line NAME: what the table in `out` says of a benchmark, with single spaces.
line() { grep -F -- " $1" out | tr -s ' '; }

# --- the comparison: five rounds, each with other times
mkdir rounds
round=0
for times in '100 110 130' '101 111 90' '99 109 106' '100 500 120' '100 110 94'; do
  round=$((round + 1))
  read -r steady slower noisy <<<"$times"
  as_json >rounds/before.allot_micro.1.$round.json <<TEXT
steady $steady 1.00e+02 ns
slower<4>(a|b)/quotas:10 1 1.00e+02 ns
faster 1 1.00e+02 ns
noisy 1 1.00e+02 ns
two_percent 1 1.00e+02 ns
own_clock/manual_time 100 500 us
other_unit 1 2.5 ms
gone 1 1 ns
failing 1 1 ns
failed
TEXT
  as_json >rounds/after.allot_micro.1.$round.json <<TEXT
steady $steady 1.00e+02 ns
slower<4>(a|b)/quotas:10 1 ${slower}e+00 ns
faster 1 8.00e+01 ns
noisy 1 $noisy ns
two_percent 1 102 ns
own_clock/manual_time 120 500 us
other_unit 1 2500 us
new 1 1 ns
failing
failed
TEXT
done
exits 1 compare -v rev=base rounds/*.json
says "$(head -n 1 out | tr -s ' ')" ' base now change deviation'
says "$(sed -n 2p out | tr -s ' ')" '*+20.0 % 0.0 % worse allot_micro own_clock/manual_time'
# One disturbed round neither hides a change nor creates one.
says "$(sed -n 3p out | tr -s ' ')" ' 100.00 ns 110.00 ns +10.0 % 1.0 % worse * slower<4>(a|b)/quotas:10'
says "$(line noisy)" '* +6.0 % 1?.0 % allot_micro noisy'
says "$(line two_percent)" '* +2.0 % 0.0 % allot_micro two_percent'
says "$(line other_unit)" ' 2.50 ms 2.50 ms +0.0 % 0.0 % allot_micro other_unit'
says "$(line faster)" '* -20.0 % 0.0 % better allot_micro faster'
for told in 'only before: allot_micro gone' 'only now: allot_micro new' 'fails now: allot_micro failing' \
  'failed before: allot_micro failed' '2 worse, 1 better, 4 the same, 1 that fail now'; do
  grep -qxF "$told" out || fail "'$told' is not in the table: $(<out)"
done
! grep -q BigO out || fail 'what is fitted to several benchmarks is in the table'

exits 0 compare -v filters=1 rounds/*.json
says "$(<out)" $'allot_micro\t^(own_clock/manual_time|slower<4>\\\\(a\\\\|b\\\\)/quotas:10|faster)$'

# Measured again, one is worse as before; two differ in another direction than before, which is chance.
for round in 1 2 3; do
  as_json >rounds/before.allot_micro.2.$round.json <<TEXT
own_clock/manual_time 100 1
slower<4>(a|b)/quotas:10 1 100
faster 1 100
TEXT
  as_json >rounds/after.allot_micro.2.$round.json <<TEXT
own_clock/manual_time 110 1
slower<4>(a|b)/quotas:10 1 50
faster 1 150
TEXT
done
exits 1 compare rounds/*.json
says "$(line own_clock)" '* +10.0 % 0.0 % worse *'
says "$(line slower)" '* -50.0 % 0.0 % allot_micro slower*'
says "$(line faster)" '* +50.0 % 0.0 % allot_micro faster'

exits 0 compare rounds/before.*.1.*.json
rm -r rounds && mkdir rounds
: >rounds/before.allot_micro.1.1.json
exits 2 compare rounds/*.json

# --- the command; `cmake` builds a program from bench/micro/times.cpp that prints the times given there
unset $(git rev-parse --local-env-vars 2>/dev/null)
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 ALLOT_TRACES=none
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org
export -f as_json
cmake() {
  [ "$1" = --build ] || return 0
  local dir=$2
  [ "$dir" != --preset ] || dir=build/release
  mkdir -p "$dir/bench"
  cp "$dir/../../bench/micro/times.cpp" "$dir/bench/times"
  cat >"$dir/bench/allot_micro" <<'PROGRAM'
#!/usr/bin/env bash
for option in "$@"; do
  case $option in
    --benchmark_filter=*) filter=${option#*=} ;;
    --benchmark_out=*) file=${option#*=} ;;
  esac
done
while read -r name times; do
  [[ ! $name =~ $filter ]] || echo "$name $times"
done <"${0%/*}/times" | as_json >"$file"
PROGRAM
  chmod +x "$dir/bench/allot_micro"
}
bench() {
  (
    source repository/dev
    needs() { :; }
    main bench "$@"
  )
}
state() { git -C repository status --porcelain && git -C repository diff --cached; }
trees() { git -C repository worktree list --porcelain | grep '^worktree .*/build/against/' | sed 's|.*/||'; }

mkdir -p repository/bench/micro
cp -r "$1" "$(dirname "$1")/.dev" repository
cp "$sources/bench/compare.awk" repository/bench/
printf '/build/\n' >repository/.gitignore
printf 'steady 1 100 ns\nodd[0]+ 1 100 ns\n' >repository/bench/micro/times.cpp
git -C repository init -q && git -C repository add . && git -C repository commit -q -m first
first=$(git -C repository rev-parse --short HEAD)

exits 0 bench --against HEAD
says "$(<out)" "*check out $first *round 5 of 5 *0 worse, 0 better, 2 the same*"
[ "$(trees)" = "$first" ] || fail "checked out: $(trees)"
[ -z "$(state)" ] || fail "the user's tree changed: $(state)"

# The tree as it is, with what is staged and what is not.
printf 'steady 1 100 ns\nodd[0]+ 1 150 ns\nnew 1 1 ns\n' >repository/bench/micro/times.cpp
git -C repository add .
echo 'newer 1 1 ns' >>repository/bench/micro/times.cpp
before=$(state)
touch repository/build/against/"$first"/build/kept
exits 1 bench --rounds 3 --against HEAD
says "$(<out)" '*round 3 of 3 *What was worse or better, again:*round 6 of 6 *+50.0 % *worse *odd*only now:*1 worse, 0 better*'
[ "$(state)" = "$before" ] || fail "the user's tree changed: $(state)"
[ -e repository/build/against/"$first"/build/kept ] || fail 'the build of the revision was not kept'
! grep -q steady repository/build/against/rounds/after.allot_micro.2.*.json ||
  fail 'what was the same was measured again, too'
# From a hook, which gets the location of the user's index.
in_hook() { (export GIT_DIR=$PWD/repository/.git GIT_INDEX_FILE=$PWD/repository/.git/index && "$@"); }
rm -rf repository/build/against
exits 0 in_hook bench --against HEAD steady
says "$(<out)" '*0 worse, 0 better, 1 the same*'
[ "$(state)" = "$before" ] || fail "from a hook the user's tree changed: $(state)"

# Another revision replaces the first; a directory that was removed or changed is created again.
git -C repository commit -q -a -m second
second=$(git -C repository rev-parse --short HEAD)
exits 0 bench --against HEAD
[ "$(trees)" = "$second" ] || fail "checked out: $(trees)"
[ ! -e repository/build/against/"$first" ] || fail 'the first revision is still there'
echo 'odd 1 1 ns' >repository/build/against/"$second"/bench/micro/times.cpp
exits 0 bench --against HEAD
rm -rf repository/build
exits 0 bench --against HEAD
says "$(<out)" '*0 worse, 0 better, 4 the same*'
# Git also forgets other worktrees whose directories no longer exist.
rm -rf repository/build/against
exits 0 bench --against HEAD~1 steady
[ "$(trees)" = "$first" ] || fail "checked out: $(trees)"

# A revision without benchmarks, and programs that are on one side only.
git -C repository rm -q --cached bench/micro/times.cpp
git -C repository commit -q -m third
exits 2 bench --against HEAD
says "$(<out)" '* has no allot_micro: left out*'
says "$(<err)" '*have no benchmark program in common.'

# --- invalid arguments
refused() { # PATTERN ARGUMENTS...
  local pattern=$1
  shift
  exits 2 bench "$@"
  says "$(<err)" "$pattern"
}
refused "./dev bench: this repository has no revision 'nothing'." --against nothing
refused "./dev bench: this repository has no revision ''." --against
refused "./dev bench: this repository has no revision '--all'." --against --all
refused "./dev bench: --rounds needs a number from 3 on, not '2'*" --against HEAD --rounds 2
refused "./dev bench: --rounds needs a number from 3 on, not ''*" --against HEAD --rounds
refused './dev bench: --rounds belongs to --against REV.' --rounds 5
refused "./dev bench: two filters, 'a' and 'b'*" --against HEAD a b
refused '*./dev bench*' --frobnicate
git -C repository add . && git -C repository commit -q -m fourth
refused "./dev bench: no benchmark matches 'nothing'." --against HEAD nothing
rm -rf repository/.git
refused './dev bench: --against needs the git repository; * is not the top of one.' --against HEAD
conclude
