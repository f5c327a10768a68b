#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Sweeps: the files they leave, what they run again, shards, failures and bad input.
# shellcheck source=tests/support/program_test.sh
source "$2/tests/support/program_test.sh"

# same DIR DIR: the tables are the same, and so are the results of each point, except for the run times.
same() {
  local file
  for file in table.csv table.json; do cmp -s "$1/$file" "$2/$file" || fail "$file of $1 and $2 differ"; done
  # wall_s is the last figure before the worst tenant's; the hash says that the decisions are the same.
  diff <(cut -d, -f1-9 "$1/results.csv") <(cut -d, -f1-9 "$2/results.csv") >/dev/null || fail "results of $1 and $2 differ"
}

cat >teams.csv <<'CSV'
job_id,submit_s,duration_s,tenant,gpus
1,0,100,b,8
2,45,20,a,4
3,67,10,a,4
CSV
cat >teams.json <<'JSON'
{"format": "allot-scenario/1", "cluster": {"nodes": [{"name": "n", "count": 2, "gpus": 4}]},
 "quotas": [{"name": "all"}, {"name": "a", "parent": "all", "nominal": {"gpu": 4}},
            {"name": "b", "parent": "all", "nominal": {"gpu": 4}}],
 "trace": {"file": "teams.csv"}}
JSON
cat >mix.json <<'JSON'
// An experiment.
{"format": "allot-experiment/1",
 "scenarios": ["teams.json",
   {"name": "mix", "nodes": "2x8", "tenants": {"serving": 2, "x": 6, "y": 8},
    "generate": {"days": 2, "gpus": 16, "serving": 0.1, "training": {"x": 6, "y": 8}, "serving_tenant": "serving"},
    "loads": [0.8, {"arrivals": 1.5}]}],
 "policies": ["static_quotas", {"name": "guarded", "preset": "standard", "set": {"guard": "final_share"}}, "fifo"],
 "seeds": [3, 4], "baseline": "static_quotas"}
JSON

# --- a sweep, and the same again: nothing is run twice
exits 0 "$allot" sweep mix.json --list
says "$(wc -l <out)" 15
says "$(sed -n 1p out)" 'to run  teams.static_quotas.seed-3'
exits 0 "$allot" sweep mix.json --out one --jobs 2
says "$(<out)" '*teams, 1 seed*guarded*mix, load 0.8, 2 seeds*±*mix, load x1.5, 2 seeds*one: results.csv, table.csv, table.json (15 points run, 0 were there, 0 of 15 not done)'
says "$(ls one | tr '\n' ' ')" 'points results.csv sweep.json table.csv table.json '
says "$(ls one/points/teams.guarded.seed-3 | tr '\n' ' ')" 'point.json summary.json '
says "$(wc -l <one/results.csv)" 16
says "$(wc -l <one/table.csv)" 10
nothing_half_done
touch -d '2001-01-01' one/points/*/summary.json
exits 0 "$allot" sweep mix.json --out one
says "$(<out)" '*[(]0 points run, 15 were there, 0 of 15 not done)'
exits 0 "$allot" sweep mix.json --out one --list
says "$(sort -u -k1,1 out | cut -d' ' -f1)" done
# Estimates for the jobs of a trace: random ones with every seed, exact ones once. The jobs are the same.
cat >said.json <<'JSON'
{"format": "allot-experiment/1", "policies": ["fifo"], "seeds": [3, 4],
 "scenarios": ["teams.json", {"name": "exact", "file": "teams.json", "estimates": "exact"},
               {"name": "people", "file": "teams.json", "estimates": "tsafrir"}]}
JSON
exits 0 "$allot" sweep said.json --out said --full
says "$(cd said/points && echo *)" 'exact.fifo.seed-3 people.fifo.seed-3 people.fifo.seed-4 teams.fifo.seed-3'
says "$(cut -d, -f19 said/points/exact.fifo.seed-3/jobs.csv | tr '\n' ' ')" 'estimate_s 100 20 10 '
says "$(cut -d, -f19 said/points/people.fifo.seed-4/jobs.csv | tr '\n' ' ')" 'estimate_s [369]00 300 300 '
cmp -s <(cut -d, -f1-18 said/points/people.fifo.seed-4/jobs.csv) <(cut -d, -f1-18 said/points/teams.fifo.seed-3/jobs.csv) ||
  fail 'estimates changed the jobs'
sed 's/"exact", "file"/"exact", "fil"/; s/tsafrir/people/; s/"estimates": "exact"/"generate": {}, "estimates": "exact"/' said.json >wrong.json
exits 2 "$allot" sweep wrong.json --out wrong
says "$(<err)" '*/scenarios/1/estimates: the jobs are generated: say "estimates" in "generate"*/scenarios/2/estimates: there is no model of estimates "people"*'
# The figures are those of the replay.
exits 0 "$allot" replay teams.json --policy fifo --seed 3 --out alone
says "$(grep -o '"decision_hash": "[0-9a-f]*"' one/points/teams.fifo.seed-3/summary.json)" \
  "$(grep -o '"decision_hash": "[0-9a-f]*"' alone/summary.json)"
# Means and differences over pairs of seeds, computed here a second time from the rows of the points.
awk -F, '
  NR == 1 { for (i = 1; i <= NF; ++i) if ($i == "queue_s/mean") q = i; next }
  $2 == "mix" && $4 == "0.8" { v[$3, $5] = $q }
  END {
    a = v["static_quotas", 3]; b = v["static_quotas", 4]; c = v["fifo", 3]; d = v["fifo", 4]
    m = (c + d) / 2; s = sqrt((c - m) ^ 2 + (d - m) ^ 2)
    e = (c - a + d - b) / 2; t = sqrt((c - a - e) ^ 2 + (d - b - e) ^ 2)
    printf "%.2f %.2f %.2f %.2f\n", m, s, e, t
  }' one/results.csv >expected
awk -F, '
  NR == 1 { for (i = 1; i <= NF; ++i) if ($i == "queue_s/mean") q = i; next }
  $1 == "mix" && $2 == "fifo" && $3 == "0.8" { printf "%.2f %.2f %.2f %.2f\n", $q, $(q + 1), $(q + 2), $(q + 3) }
' one/table.csv >found
cmp -s expected found || fail "table.csv says $(<found), the points $(<expected)"

# A trace under a deterministic policy is run once, under one that places at random with every seed.
printf '%s' '{"format": "allot-experiment/1", "scenarios": ["teams.json"], "seeds": [3, 4],
  "policies": ["fifo", {"name": "drawn", "preset": "standard", "set": {"placement": "random"}}]}' >drawn.json
exits 0 "$allot" sweep drawn.json --list
says "$(<out)" $'to run  teams.fifo.seed-3\nto run  teams.drawn.seed-3\nto run  teams.drawn.seed-4'

# --- every model of `allot generate` is the same workload here, with the same parameters
same_as_generated() { # MODEL JSON OPTIONS...
  local model=$1 parameters=$2
  shift 2
  printf '{"format": "allot-experiment/1", "policies": ["fifo"], "seeds": [5],
    "scenarios": [{"name": "g", "nodes": "4x8", "generate": {"model": "%s", "gpus": 32%s}}]}' "$model" "$parameters" >g.json
  rm -rf g g.csv g_alone
  exits 0 "$allot" sweep g.json --out g --full
  exits 0 "$allot" generate --model "$model" --gpus 32 --seed 5 "$@" --out g.csv
  exits 0 "$allot" replay --nodes 4x8 --trace g.csv --policy fifo --seed 5 --out g_alone
  cmp -s g/points/g.fifo.seed-5/jobs.csv g_alone/jobs.csv || fail "$model $parameters: jobs.csv differ"
  says "$(grep '"decision_hash"' g/points/g.fifo.seed-5/summary.json)" "$(grep '"decision_hash"' g_alone/summary.json)"
}
for model in mix philly helios openb inference interactive teams; do
  same_as_generated $model ', "days": 2, "load": 0.6' --days 2 --load 0.6
done
same_as_generated mix ', "jobs": 400, "tenants": 4, "serving": 0.2, "interactive": 0.05' --jobs 400 --tenants 4 \
  --serving 0.2 --interactive 0.05
same_as_generated philly ', "days": 2, "checkpoint_s": "none", "restart_s": 7.5' --days 2 --checkpoint none --restart 7.5
same_as_generated helios ', "jobs": 300, "checkpoint_s": 3600' --jobs 300 --checkpoint 1h
same_as_generated teams ', "days": 2, "serving": 0.3' --days 2 --serving 0.3
same_as_generated uniform ', "jobs": 200, "tenants": 5, "mean_duration_s": 600' --jobs 200 --tenants 5 --mean-duration 10m
# Tenants by name; at a given load, serving and sessions keep their part.
printf '%s' '{"format": "allot-experiment/1", "policies": ["fifo"], "loads": [0.45],
  "scenarios": [{"name": "g", "nodes": "4x8", "tenants": {"sv": 8, "x": 8, "y": 16},
    "generate": {"model": "mix", "gpus": 32, "days": 3, "load": 0.9, "serving": 0.2, "interactive": 0.1,
                 "training": {"x": 1, "y": 2}, "serving_tenant": "sv"}}]}' >named.json
exits 0 "$allot" sweep named.json --out named --full
says "$(cut -d, -f2 named/points/g.fifo.load-0.45.seed-1/jobs.csv | sort -u | tr '\n' ' ')" 'quota sv x y '
sed 's/, "loads": \[0.45\]//; s/"load": 0.9, "serving": 0.2, "interactive": 0.1/"load": 0.45, "serving": 0.1, "interactive": 0.05/' \
  named.json >scaled.json
exits 0 "$allot" sweep scaled.json --out scaled --full
cmp -s named/points/*/jobs.csv scaled/points/*/jobs.csv || fail 'a load did not scale serving and sessions with it'

# --- what changes is run again, and nothing else
sed 's/"seeds": \[3, 4\]/"seeds": [3, 4, 5]/' mix.json >more.json
cp mix.json kept.json
cp more.json mix.json
exits 0 "$allot" sweep mix.json --out one
says "$(<out)" '*[(]6 points run, 15 were there, 0 of 21 not done)'
cp kept.json mix.json
sed -i 's/"final_share"/"none"/' mix.json
exits 0 "$allot" sweep mix.json --out one
says "$(<out)" '*[(]5 points run, 10 were there, 0 of 15 not done)'
cp kept.json mix.json
sed -i 's/^3,67,10/3,67,11/' teams.csv
exits 0 "$allot" sweep mix.json --out one
says "$(<out)" '*[(]7 points run, 8 were there, 0 of 15 not done)'
sed -i 's/^3,67,11/3,67,10/' teams.csv
rm one/points/mix.fifo.load-0.8.seed-3/point.json
echo '{"format": "allot-summary/1"' >one/points/mix.fifo.load-0.8.seed-4/summary.json
exits 0 "$allot" sweep mix.json --out one
says "$(<out)" '*[(]5 points run, 10 were there, 0 of 15 not done)'

# --- a part of each run is measured: as `replay` does it, and another part is another point
printf '%s' '{"format": "allot-experiment/1", "policies": ["fifo"], "warm_up": 40, "no_drain": true,
  "scenarios": ["teams.json", {"name": "late", "file": "teams.json", "warm_up": 0, "no_drain": false, "window": "50,2m"},
                {"name": "never", "file": "teams.json", "window": "1h,"}]}' >part.json
exits 0 "$allot" sweep part.json --out measured --full
says "$(<out)" 'teams, 1 seed; measured without the first 40s, up to the last submission
*late, 1 seed; measured from 50s to 2m
*'
says "$(<err)" 'never.fifo.seed-1: no job was submitted in the part that is measured (from 1h on, without the first 40s, up to the last submission)'
exits 0 "$allot" replay teams.json --policy fifo --seed 1 --warm-up 40 --no-drain --out measured_alone
says "$(grep -vE '"(wall_s|policy_name)"' measured/points/teams.fifo.seed-1/summary.json)" \
  "$(grep -vE '"(wall_s|policy_name)"' measured_alone/summary.json)"
says "$(tr -d ' \n' <measured/points/late.fifo.seed-1/summary.json)" '*"window":{"from_s":50,"to_s":12[0-9.]*,"jobs":1},*'
says "$(<measured/points/late.fifo.seed-1/point.json)" '*"measured": "from 50s to 2m"*'
says "$(grep -c '"measured": "from 50s to 2m"' measured/sweep.json)" 1
sed -i 's/"window": "50,2m"/"window": "50,1m"/' part.json
exits 0 "$allot" sweep part.json --out measured --full
says "$(<out)" '*[(]1 points run, 2 were there, 0 of 3 not done)'
sed -i 's/"warm_up": 40/"warm_up": "40s", "grace": 1/' part.json
exits 0 "$allot" sweep part.json --out measured --full
says "$(<out)" '*[(]3 points run, 0 were there, 0 of 3 not done)'
sed -i 's/, "grace": 1//' part.json
exits 0 "$allot" sweep part.json --out measured --full
exits 0 "$allot" compare measured --figures queue_s/mean
says "$(<out)" '*late/fifo measures another part of its run (from 50s to 1m) than teams/fifo (without the first 40s, up to the last submission): their figures are of other times and jobs.*'
exits 0 "$allot" compare measured_alone measured/points/teams.fifo.seed-1
says "$(<out)" '*
measured without the first 40s, up to the last submission*'
exits 0 "$allot" compare measured_alone measured/points/teams.fifo.seed-1 --html measured.html
says "$(<measured.html)" '*<td>measured<td><code>without the first 40s, up to the last submission</code>*'
exits 0 "$allot" compare measured --html measured.html --force
says "$(<measured.html)" '*<td class=t>measured<td>without the first 40s, up to the last submission*'

# --- shards, apart and together
for i in 0 1 2; do exits 0 "$allot" sweep mix.json --out "part-$i" --shard "$i/3" --jobs 1; done
says "$(<out)" '*[(]5 points run, 0 were there, 0 of 5 not done)'
exits 0 "$allot" sweep --merge part-0 part-1 part-2 --out whole
says "$(<out)" '*whole: results.csv, table.csv, table.json (0 of 15 points not done)'
same one whole
exits 3 "$allot" sweep --merge part-0 part-2 --out half
says "$(<err)" '*: to run*'
exits 0 "$allot" sweep --merge part-1 --out half
same one half
exits 0 "$allot" sweep mix.json --out whole
says "$(<out)" '*[(]0 points run, 15 were there, 0 of 15 not done)'
exits 0 "$allot" sweep mix.json --out shared --shard 0/2
exits 0 "$allot" sweep mix.json --out shared --shard 1/2
same one shared
# All begin at once, in a directory that none has made yet.
for i in 0 1 2 3 4; do "$allot" sweep mix.json --out at_once --shard "$i/5" --jobs 1 >/dev/null & done
for job in $(jobs -p); do exits 0 wait "$job"; done
exits 0 "$allot" sweep mix.json --out at_once
says "$(<out)" '*[(]0 points run, 15 were there, 0 of 15 not done)'
same one at_once
# Of another input, or with other decisions.
sed 's/"seeds": \[3, 4\]/"seeds": [3, 5]/' kept.json >mix.json
exits 0 "$allot" sweep mix.json --out other --shard 0/15
exits 2 "$allot" sweep --merge part-0 other --out bad
says "$(<err)" "other: its points are not those of part-0*"
cp kept.json mix.json
cp -r part-1 strange
sed -i 's/"decision_hash": "./"decision_hash": "x/' strange/points/*/summary.json
exits 2 "$allot" sweep --merge part-1 strange --out bad2
says "$(<err)" "strange/points/*: the same point was decided otherwise*"
nothing_half_done

# --- points that fail, and points stopped by a guard: the others are complete, and the reason is stored
sed 's/"trace"/"jobs": [{"id": "big", "quota": "a", "request": {"gpu": 8}, "state": "running", "nodes": ["n-0"]}], &/' \
  teams.json >broken.json
sed 's/"teams.json"/"teams.json", "broken.json"/; s/"baseline"/"max_queue": 20, &/' mix.json >failing.json
exits 3 "$allot" sweep failing.json --out failing
says "$(<err)" '*broken.guarded.seed-3: failed: broken.json: /jobs/0/nodes: the running job does not fit there*'
says "$(grep -c ',failed,' failing/results.csv)" "$(grep -c 'broken' failing/results.csv)"
says "$(grep 'broken.guarded' failing/results.csv)" '*,failed,*broken.json: /jobs/0/nodes*'
says "$(<failing/points/broken.guarded.seed-3/point.json)" '*"state": "failed"*"reason": "broken.json*'
says "$(grep ',stopped,' failing/results.csv | head -n 1)" '*max_queue at *'
says "$(grep '^mix,fifo,x1.5' failing/table.csv)" 'mix,fifo,x1.5,2,0,*'
exits 3 "$allot" sweep failing.json --out failing
says "$(<out)" '*[(]3 points run, 15 were there, *'

# --- compare takes sweeps, runs of several seeds, and everything that is in a summary
# Like is compared with like: in each scenario at each load, with the baseline of the experiment.
exits 0 "$allot" compare one --figures queue_s/mean,worst_tenant/queue_s/mean
says "$(<out)" '9 configurations, each compared with static_quotas
  guarded: guarded = standard (guard final_share)

teams
  policy *queue_s/mean *worst_tenant/queue_s/mean*
  static_quotas *
  guarded *
  fifo *
mix, load 0.8
*
  static_quotas *±*
  guarded *
mix, load x1.5
*'
says "$(grep -cE 'ran (other jobs|the jobs)' out)" 0
says "$(awk '/^  / && length > 84' out)" ''
exits 0 "$allot" compare one
says "$(awk '/^mix, load 0.8$/ { on = 1 } /^mix, load x1.5$/ { on = 0 } on' out)" '*utilisation*wait, mean*preemptions*'
exits 0 "$allot" compare one --figures queue_s/mean --format csv
awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) at[$i] = i }
  NR == 2 { printf "%.3f\n", $at["mix/fifo@0.8 mean"] - $at["mix/static_quotas@0.8 mean"] }' out >expected
awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) at[$i] = i }
  NR == 2 { printf "%.3f\n", $at["mix/fifo@0.8 difference"] }' out >found
cmp -s expected found || fail "the difference is $(<found), expected $(<expected)"
# Another baseline comes first in every set.
sed 's/"baseline": "static_quotas"/"baseline": "fifo"/' mix.json >other_baseline.json
exits 0 "$allot" sweep other_baseline.json --out other_baseline
exits 0 "$allot" compare other_baseline --figures queue_s/mean
says "$(grep -A1 '^  policy' out | grep -c '^  fifo')" 3
# As wide as the terminal.
if command -v script >/dev/null; then
  script -qec "stty cols 300; '$allot' compare one" /dev/null >wide
  says "$(grep -c '^  policy' wide)" 3
fi
mkdir several
for seed in 3 4; do
  cp -r "one/points/mix.fifo.load-0.8.seed-$seed" "several/a-$seed"
done
exits 0 "$allot" compare several one/points/mix.static_quotas.load-0.8.seed-3
says "$(<out)" '*several*policy*fifo x2*utilisation*±*static_quotas*utilisation*mean ± standard deviation*'
exits 0 "$allot" compare several several --format markdown
says "$(<out)" '|*| several*|---|---:*| wait, mean |*± *| = |*'
exits 0 "$allot" compare several one/points/mix.static_quotas.load-0.8.seed-3 --format csv
says "$(<out)" 'figure,several runs,several mean,several sd,*jobs/total,2,*tenants/serving/queue_s/mean,*'
exits 2 "$allot" compare several --figures nothing
exits 2 "$allot" compare several several --figures no/such
says "$(<err)" '*"no/such"*'
exits 2 "$allot" compare several points
exits 2 "$allot" compare several several --format pdf

# Sides that completed other jobs: it is said at the figures, and there are means over what all completed.
for policy in fifo standard; do exits 0 "$allot" replay teams.json --policy $policy --until 112 --out "until_$policy"; done
exits 0 "$allot" compare until_fifo until_standard
says "$(<out)" '*  wait, mean  *  completion, mean [*] *72 s *15 s *[*]: over the jobs that each side completed (of waits: started): as many, but
perhaps not the same ones. Completed: until_fifo 2, until_standard 2; never started: until_fifo 0, until_standard 0.
--common compares the jobs that all sides completed.*'
exits 0 "$allot" compare until_fifo until_standard --common
says "$(<out)" '*  jobs completed on all sides *1 *1 *=*  their completion, mean *43 s *10 s *'
exits 0 "$allot" compare until_fifo until_standard --common --format csv
says "$(grep ^common/jct_s/mean out)" 'common/jct_s/mean,1,43,,1,10,*'
exits 0 "$allot" compare until_fifo until_standard --common --html common.html
says "$(<common.html)" '*completion, mean&nbsp;<abbr *>[*]</abbr><td>*jobs completed on all sides<td>1<td>1*<p class=note>[*]: over the jobs*'
exits 0 "$allot" replay teams.json --policy fifo --out until_end
exits 0 "$allot" compare until_fifo until_end
says "$(<out)" '*completion, mean [*] *which are not the same.
Completed: until_fifo 2, until_end 3;*'
exits 0 "$allot" compare until_end until_end
says "$(grep -c ' [*]' out)" 0
exits 2 "$allot" compare one --common --html common.html --force
says "$(<err)" '*/jobs.csv: No such file*a sweep keeps them with --full*'
# The policies of a sweep, with all that is set.
exits 0 "$allot" compare one --figures jain
says "$(<out)" '*guarded = standard (guard final_share)*'

# As a page: the configurations of a sweep with their means, deviations and differences, set by set.
exits 0 "$allot" compare one --html one.html
says "$(<one.html)" '<!doctype html>*9 configurations compared*15 replays*<h2>teams</h2>*static_quotas*<h2>mix, load 0.8</h2>*±*<h2>mix, load x1.5</h2>*</html>'
says "$(grep -c '<svg' one.html)" "$(grep -c '</svg>' one.html)"
grep -qE 'https?:|src=|@import|NaN|inf[^o]' one.html && fail 'the page refers to something outside, or has a number that is none'
# The bars of one figure: the lines show what the table says.
says "$(grep -A40 '<h2>mix, load 0.8</h2>' one.html)" '*Wait before the first start, mean*class=whisker*'
exits 0 "$allot" compare several one/points/mix.static_quotas.load-0.8.seed-3 --html several.html
says "$(<several.html)" '*2 configurations compared*several*mix.static_quotas.load-0.8.seed-3*'
exits 2 "$allot" compare one --html one.html
says "$(<err)" '*one.html exists*--force*'
exits 0 "$allot" compare one --html one.html --force
exits 2 "$allot" compare several --html never.html
says "$(<err)" 'several: expected two sides or more to compare, found one'
exits 2 "$allot" compare points --html never.html
[ ! -e never.html ] || fail 'a page was written for wrong input'

# --- curves over the load: as tables, as drawings, in the page
printf '%s' '{"format": "allot-experiment/1", "policies": ["fifo", "standard"], "seeds": [1, 2], "loads": [0.5, 0.8, 1.1],
  "scenarios": [{"name": "curved", "nodes": "2x8", "tenants": {"x": 6, "y": 10},
    "generate": {"model": "philly", "days": 2, "gpus": 16, "training": {"x": 6, "y": 10}}}]}' >loads.json
exits 0 "$allot" sweep loads.json --out loads
exits 0 "$allot" compare loads --curve queue_s/mean,jain
says "$(<out)" 'curved over load: Wait before the first start, mean (mean ± standard deviation over the seeds)
  load *0.5 *0.8 *1.1*  fifo *±*  standard *±*
curved over load: Fairness (Jain) *'
exits 0 "$allot" compare loads --curve queue_s/mean --format csv --svg drawn
says "$(sed -n 1,2p out)" 'figure,scenario,policy,load,runs,mean,sd,p10,p90
queue_s/mean,curved,fifo,0.5,2,*'
says "$(wc -l <out)" 7
says "$(<err)" 'drawn: curved.queue_s-mean.svg'
says "$(<drawn/curved.queue_s-mean.svg)" '<svg xmlns=*>curved: Wait before the first start, mean</text>*class="band q0"*class="band q1"*>load: the work *>fifo</text>*>standard</text>*</svg>'
if command -v xmllint >/dev/null; then xmllint --noout drawn/*.svg || fail 'a drawing is not XML'; fi
# The means are those of table.csv.
awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == "queue_s/mean") q = i; next } { print $2 "," $3 "," $q "," $(q + 1) }' \
  loads/table.csv | sort >expected
awk -F, 'NR > 1 { print $3 "," $4 "," $6 "," $7 }' out | sort >found
cmp -s expected found || fail "the curve has $(<found), table.csv $(<expected)"
exits 2 "$allot" compare loads --curve jain,queue_s/mean --svg drawn
says "$(<err)" '*drawn/curved.queue_s-mean.svg exists*--force*'
[ ! -e drawn/curved.jain.svg ] || fail 'a part of the drawings was written'
exits 0 "$allot" compare loads --svg drawn --force
says "$(ls drawn | tr '\n' ' ')" '*curved.allocation_rate.svg *curved.jain.svg *curved.queue_s-mean.svg *'
exits 0 "$allot" compare loads --html curves.html
says "$(<curves.html)" '*<h2>curved over load</h2>*<h3>Wait before the first start, mean</h3>*class="band q0"*<em>load: the work *standard</span>*<h2>load 0.5</h2>*</html>'
exits 0 "$allot" compare loads --curve tenants/x/queue_s/mean --html curves.html --force
says "$(<curves.html)" '*<h3>tenants/x/queue_s/mean</h3>*'
exits 2 "$allot" compare loads --curve queue_s/maen
says "$(<err)" '--curve: none of the runs has a figure "queue_s/maen" (did you mean "queue_s/mean"?)*'
for sides in one "several one/points/mix.static_quotas.load-0.8.seed-3"; do
  # shellcheck disable=SC2086
  exits 2 "$allot" compare $sides --curve queue_s/mean
  says "$(<err)" '--curve: expected a sweep that ran a scenario at two loads or more*'
done
exits 2 "$allot" compare one/points/mix.static_quotas.load-0.8.seed-3 --curve queue_s/mean --html never.html
exits 2 "$allot" compare loads --curve queue_s/mean --all
exits 2 "$allot" compare loads --svg drawn --html never.html --force
[ ! -e never.html ] || fail 'a page was written for wrong input'

# --- interrupts: finished points are kept, and the same command continues
sed 's/"seeds": \[3, 4\]/"seeds": {"count": 40}/; s/"days": 2/"days": 30/' mix.json >long.json
interrupt() { # SIGNAL STATUS
  local process status i
  touch stamp
  sleep 0.01
  "$allot" sweep long.json --out long --jobs 2 >out 2>err &
  process=$!
  for ((i = 0; i < 2000; ++i)); do
    [ -n "$(find long -name point.json -newer stamp 2>/dev/null)" ] && break
    sleep 0.005
  done
  kill "-$1" "$process"
  wait "$process"
  status=$?
  [ "$status" -eq "$2" ] || [ "$status" -eq 0 ] || fail "$1: exit status $status: $(<err)"
  if [ "$status" -ne 0 ]; then says "$(<err)" '*interrupted: * points are to run; the same command goes on'; fi
  [ -f long/results.csv ] || fail 'there are no results of what was done'
  grep -q ',failed,' long/results.csv && fail 'an interrupt is no failure of a point'
  nothing_half_done
}
set -m # otherwise SIGINT is ignored in the background
interrupt INT 130
done_before=$(find long -name point.json | wc -l)
interrupt TERM 143
set +m
[ "$(find long -name point.json | wc -l)" -ge "$done_before" ] || fail 'a point that was done is gone'

# --- bad input: with its place, and nothing is written
bad() { # PATTERN PART REPLACEMENT
  local text
  text=$(<kept.json)
  printf '%s' "${text/"$2"/$3}" >bad.json
  exits 2 "$allot" sweep bad.json --out wrong
  # shellcheck disable=SC2053
  [[ $(<err) == $1 ]] || fail "expected '$1', found '$(<err)'"
  [ ! -s out ] || fail "something was printed: $(<out)"
  [ ! -e wrong ] || { fail "something was written for: $3" && rm -rf wrong; }
}
bad '*bad.json: /polices: unknown key "polices" (did you mean "policies"?)*' '"policies"' '"polices"'
bad 'bad.json: /format: expected "allot-experiment/1"*' 'allot-experiment/1' 'allot-experiment/2'
bad 'bad.json: /scenarios/0: nowhere.json: No such file*' '"teams.json"' '"nowhere.json"'
bad 'nowhere.csv: No such file*' '"teams.json"' '{"file": "teams.json", "trace": "nowhere.csv"}'
bad 'bad.json: /scenarios/1/generate/days: expected*' '"days": 2' '"days": 0'
bad 'bad.json: /scenarios/1/generate/day: unknown key*' '"days": 2' '"day": 2'
bad 'bad.json: /scenarios/1/generate/model: there is no model "phily" (expected mix, philly, *, uniform), found*' \
  '"days": 2' '"model": "phily"'
bad 'bad.json: /scenarios/1/generate/jobs: only the models mix, *uniform have it, found 5*' '"days": 2' '"jobs": 5'
bad 'bad.json: /scenarios/1/generate/interactive: only the model mix has it*' '"days": 2' '"interactive": 0.1'
bad 'bad.json: /scenarios/1/generate/jobs: expected days or jobs*' '"days": 2' '"model": "mix", "days": 2, "jobs": 9'
bad 'bad.json: /scenarios/1/generate/training: there are "tenants": expected one of the two*' \
  '"days": 2' '"model": "mix", "tenants": 3'
bad 'bad.json: /scenarios/1/generate/serving: expected a number from 0 to the load*' '"serving": 0.1' '"serving": 0.91'
bad 'bad.json: /scenarios/1/generate/load: expected a number from 0 to 10*' '"days": 2' '"load": 11'
bad 'bad.json: /scenarios/1/generate/load: expected more than 0*' '"days": 2' '"load": 0'
bad 'bad.json: /scenarios/1/generate/checkpoint_s: expected seconds or "none"*' '"days": 2' '"checkpoint_s": "never"'
bad 'bad.json: /scenarios/1/generate/serving_tenant: expected a tenant that does not train*' \
  '"serving_tenant": "serving"' '"serving_tenant": "x"'
bad 'bad.json: /scenarios/1: the load 20 is of a model: expected at most 10*' '[0.8,' '[20,'
bad 'bad.json: /scenarios/1/nodes: expected nodes and GPUs of each, as in "16x8"*' '"2x8"' '"2*8"'
bad 'bad.json: /scenarios/1/loads/0: expected more than 0*' '[0.8,' '[0,'
bad 'bad.json: /scenarios/1/loads/1: the load is there twice*' '{"arrivals": 1.5}' '0.8'
bad 'bad.json: /policies/2: there is no preset "fofo"*"fifo"*' '"fifo"]' '"fofo"]'
bad 'bad.json: /policies/1/set/gard: unknown key*' '"guard"' '"gard"'
bad 'bad.json: /policies/2: a policy before has the same name*' '"fifo"]' '"static_quotas"]'
bad 'bad.json: /policies/1: expected a name of letters*' '"guarded"' '"../up"'
bad 'bad.json: /seeds/1: the seed is there twice*' '[3, 4]' '[3, 3]'
bad 'bad.json: /seeds/0: expected*' '[3, 4]' '[-1]'
bad 'bad.json: /seeds: the key "count" is missing*' '[3, 4]' '{"from": 1}'
bad 'bad.json: /baseline: none of the policies is called "none"*' '"baseline": "static_quotas"' '"baseline": "none"'
bad 'bad.json: /until: expected seconds, or a time such as*' '"baseline"' '"until": "3 weeks", "baseline"'
bad 'bad.json: /window: expected FROM,TO (either may be left out), as in "3600,86400" or "12h,", found "40"' \
  '"baseline"' '"window": "40", "baseline"'
bad 'bad.json: /window: expected "FROM,TO", as in "3600,86400" or "12h,", found *' '"baseline"' '"window": [1, 2], "baseline"'
bad 'bad.json: /scenarios/1/window: expected a time that is after 70, found "40"' '"loads"' '"window": "70,40", "loads"'
bad 'bad.json: /warm_up: expected seconds, or a time such as*found "soon"' '"baseline"' '"warm_up": "soon", "baseline"'
bad 'bad.json: /warm_up: expected seconds*found "-1"' '"baseline"' '"warm_up": -1, "baseline"'
bad 'bad.json: /warm_up: expected seconds*' '"baseline"' '"warm_up": true, "baseline"'
bad 'bad.json: /no_drain: expected*' '"baseline"' '"no_drain": 1, "baseline"'
bad 'bad.json: /warm_up: nothing would be measured: the first 1d are left out, and the replay ends at 1d' \
  '"baseline"' '"until": "1d", "warm_up": "1d", "baseline"'
bad 'bad.json: /scenarios/0/window: nothing would be measured: the window begins at 2d, and the replay ends at 1d' \
  '"scenarios": ["teams.json"' '"until": "1d", "scenarios": [{"file": "teams.json", "window": "2d,"}'
bad 'bad.json: line 3, column*' '"scenarios"' 'scenarios'
exits 2 "$allot" sweep nowhere.json --out wrong
exits 2 "$allot" sweep mix.json
says "$(<err)" '--out: expected*'
exits 2 "$allot" sweep --out wrong
for shard in 3/3 -1/3 1 a/b 1/0 1/2/3 ''/; do
  exits 2 "$allot" sweep mix.json --out wrong "--shard=$shard"
  says "$(<err)" "--shard: expected i/n, part i of n with i from 0 to n - 1, as in 0/8; found \"$shard\"*"
done
exits 2 "$allot" sweep mix.json --out wrong --trace nobody=teams.csv
says "$(<err)" '--trace: expected "teams" or "mix" before =*'
exits 2 "$allot" sweep mix.json --merge part-0 --out wrong
exits 2 "$allot" sweep --merge nowhere --out wrong
[ ! -e wrong ] || fail 'something was written for wrong input'
# The directory of another experiment, and one that belongs to no sweep.
cp mix.json another.json
exits 2 "$allot" sweep another.json --out one
says "$(<err)" 'one: it has the sweep of the experiment "mix", expected one of "another"*'
exits 2 "$allot" sweep mix.json --out alone
says "$(<err)" 'alone: it has other files, and no sweep.json*'
exits 2 "$allot" sweep mix.json --out teams.csv
says "$(<err)" 'teams.csv: expected a directory*'
exits 2 "$allot" sweep --merge part-0 failing --out wrong
says "$(<err)" 'failing: it has the sweep of the experiment "failing", and part-0 that of "mix"*'

# --- a full disk: a limit on the size of files fails in the same way
(ulimit -f 1 && exec "$allot" sweep mix.json --out full --jobs 1) >out 2>err
[ $? -eq 2 ] || fail 'a file that could not be written was not noticed'
says "$(<err)" "*can't write *"
nothing_half_done

# The replays of a sweep that is killed end with it.
if [ -e /proc/self/stat ]; then
  printf '%s' '{"format": "allot-experiment/1", "policies": ["fifo"], "seeds": [1],
    "scenarios": [{"nodes": "128x8", "tenants": {"t0": 500, "t1": 300, "t2": 224},
                   "generate": {"model": "uniform", "gpus": 1024, "jobs": 500000, "load": 0.9}}]}' >endless.json
  "$allot" sweep endless.json --out endless --jobs 1 >/dev/null 2>&1 &
  sweep=$!
  replays() { grep -l "^PPid:.$sweep\$" /proc/[0-9]*/status 2>/dev/null | tr -dc '0-9\n'; }
  for ((i = 0; i < 200; ++i)); do
    replay=$(replays)
    [ -z "$replay" ] || break
    sleep 0.05
  done
  [ -n "$replay" ] || fail "the sweep replays nothing"
  kill -KILL $sweep
  wait $sweep 2>/dev/null
  # Where nobody waits for it, it stays as a zombie.
  is_running() { grep -qs '^State:.[^ZX]' "/proc/$replay/status"; }
  for ((i = 0; i < 100; ++i)); do
    is_running || break
    sleep 0.05
  done
  ! is_running || fail "a replay goes on without its sweep"
fi

conclude
