#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# The page for browsers: page.sh ALLOT SOURCES, after a build of it. Its program must decide what the program `allot`
# decides, and it must work, be whole and keep quiet in a headless Chromium at three widths, light and dark; without a
# browser that part is left out.
mkdir -p "$2/build/web/tests" && allot=$(realpath "$1") && cd "$2/build/web/tests" || exit 1
# shellcheck source=tests/support/program_test.sh
source "$2/tests/support/program_test.sh" "$allot" "$2"

page=$sources/build/web/allot.html
program=$sources/build/web/program/allot_web.js
policies='standard kueue_fair runai static_quotas'

hash_of() { sed -n 's/.*"decision_hash": *"\([^"]*\)".*/\1/p' "$1/summary.json"; }
now_ms() { echo $(($(date +%s%N) / 1000000)); }

# --- the same decisions, byte for byte the same jobs and page

# Busy days of three teams, one above the others: jobs of any size that are preempted and start again.
awk 'BEGIN {
  srand(52)
  printf "{\"format\": \"allot-scenario/1\", \"cluster\": {\"nodes\": [{\"name\": \"node\", \"count\": 16, \"gpus\": 8}]},\n"
  printf " \"quotas\": [{\"name\": \"all\", \"nominal\": \"cluster\", \"inclusive\": true, \"preempt\": {\"children\": true}},\n"
  printf "  {\"name\": \"a\", \"parent\": \"all\", \"nominal\": {\"gpu\": 48}, \"borrow\": {\"gpu\": 64}},\n"
  printf "  {\"name\": \"b\", \"parent\": \"all\", \"nominal\": {\"gpu\": 64}, \"lend\": {\"gpu\": 32}, \"weight\": 2.5},\n"
  printf "  {\"name\": \"c\", \"parent\": \"all\", \"nominal\": {\"gpu\": 8}}], \"jobs\": ["
  split("all a b c", of)
  for (i = 0; i < 1200; ++i) {
    printf "%s\n  {\"id\": \"%d\", \"quota\": \"%s\", \"submit_s\": %d, \"duration_s\": %d, \"priority\": %d, \"checkpoint_s\": 600,",
           i ? "," : "", i, of[i % 40 == 0 ? 1 : 2 + int(rand() * 3)], rand() * 302400, 60 + rand() * rand() * 40000, rand() * 3
    size = rand()
    if (size < 0.1) printf " \"request\": {\"gpu\": 0.%d}}", 1 + rand() * 9
    else if (size < 0.8) printf " \"request\": {\"gpu\": %d}}", 2 ^ int(rand() * 4)
    else printf " \"request\": {\"gpu\": 8}, \"pods\": %d}", 2 + rand() * 6
  }
  print "]}"
}' >busy.json

for scenario in busy.json "$sources"/bench/lab/scenarios/{three_teams,topology_and_mig}.json \
  "$sources"/bench/lab/experiments/{r4_over_quota,r5_multi_level}.json; do
  for policy in $policies; do
    name=$(basename "$scenario" .json)-$policy
    begin=$(now_ms)
    exits 0 "$allot" replay "$scenario" --policy "$policy" --out "native-$name"
    took=$(($(now_ms) - begin))
    in_web=$(node "$sources/packaging/web/tests/decides.js" "$program" "$scenario" "$policy" "web-$name" 2>err) ||
      { fail "$name: $(<err)" && continue; }
    [ "$scenario" != busy.json ] ||
      printf '%-14s 1,200 jobs: %5d ms, in WebAssembly %5d ms\n' "$policy" "$took" "$in_web"
    [ -n "$(hash_of "native-$name")" ] && [ "$(hash_of "native-$name")" = "$(hash_of "web-$name")" ] ||
      fail "$name: other decisions, $(hash_of "native-$name") and $(hash_of "web-$name")"
    for file in jobs.csv tenants.csv cdf.csv; do
      cmp -s "native-$name/$file" "web-$name/$file" || fail "$name: another $file"
    done
    # All of the page but the name of the scenario's file, which was scenario.json there.
    sed "s/$(basename "$scenario")/scenario.json/g" "native-$name/report.html" | cmp -s - "web-$name/report.html" ||
      fail "$name: another report.html"
  done
done

# --- the page

# shellcheck source=tests/support/browser_test.sh
source "$sources/tests/support/browser_test.sh"
if ! has_browser; then
  echo "skipped: the page itself, as no chromium is on this machine"
  conclude
  exit
fi
pictures=$sources/build/web
# shellcheck disable=SC2016
helpers='
  const root = document.documentElement;
  const until = async (what, holds) => {
    for (let i = 0; i < 600; ++i) { if (holds()) return true; await new Promise(go => setTimeout(go, 25)); }
    problems.push("never: " + what + "; " + text("said") + " " + text("problems"));
    return false;
  };
  const run_done = n => until("run " + n, () => Number(root.dataset.run) >= n && by("report").contentDocument?.getElementById("when")?.textContent);
  const set = (e, value) => { e.value = value; say(e, new Event("change", {bubbles: true})); };
  const inside = () => by("report").contentDocument;
  const row = policy => document.querySelector("#results tr[data-policy=" + policy + "]");
  const fits = () => {
    check("wider than the screen: " + root.scrollWidth + " of " + root.clientWidth, root.scrollWidth <= root.clientWidth);
    const d = inside().documentElement;
    check("the report is wider than its frame: " + d.scrollWidth + " of " + d.clientWidth, d.scrollWidth <= d.clientWidth);
    whole_texts();
  };
  // What would be saved as a file.
  const saved = async label => {
    const made = [], as_it_was = URL.createObjectURL, click = HTMLAnchorElement.prototype.click;
    URL.createObjectURL = blob => { made.push(blob); return "#"; };
    HTMLAnchorElement.prototype.click = () => {};
    [...document.querySelectorAll("#saves button")].find(b => b.textContent === label).click();
    URL.createObjectURL = as_it_was;
    HTMLAnchorElement.prototype.click = click;
    return made[0].text();
  };
'

# What the page makes of its first example, and what `allot` makes of the scenario that it saves.
found=$(finds "$page" saved '
  if (await run_done(1)) problems.push("scenario " + JSON.stringify(await saved("Save the scenario")));
' --widths 800 --schemes light)
printf '%s\n' "$found" | python3 -c '
import json, sys
for line in sys.stdin:
    at = line.find(": scenario \"")
    if at < 0:
        sys.exit(line)
    open("first.json", "w").write(json.loads(line[at + 11:]))
' || fail "no scenario was saved: $found"
hashes=
for policy in $policies; do
  exits 0 "$allot" replay first.json --policy "$policy" --out "first-$policy"
  hashes="$hashes$policy: '$(hash_of "first-$policy")', "
done

opens "$page" first "
  const hashes = {$hashes};
  if (await run_done(1)) {
    check('four policies', document.querySelectorAll('#results tbody tr').length === 4);
    check('nothing is wrong: ' + text('problems'), by('problems').hidden);
    const now = inside().getElementById('now');
    check('any instant: ' + now.textContent, /GPUs in use by/.test(now.textContent));
    check('its nodes', inside().querySelectorAll('#nodes p b').length === 32);
    for (const policy of Object.keys(hashes)) {
      row(policy).click();
      await until('the report of ' + policy, () => inside()?.body?.innerText.includes(hashes[policy]));
      check('its name', text('report-head') === 'Under ' + policy);
    }
    row('standard').click();
    await until('standard again', () => inside()?.body?.innerText.includes(hashes.standard) && inside().getElementById('when')?.textContent);
    fits();
  }
"

# Two teams that lend: one that may not borrow waits.
opens "$page" edited "
  if (await run_done(1)) {
    const before = row('standard').cells[1].textContent;
    const vision = [...by('quota-table').tBodies[0].rows].find(r => r.querySelector('input').value === 'vision');
    set(vision.querySelector('select[aria-label=borrows]'), 'none');
    check('it says that the results are old: ' + text('said'), /changed/.test(text('said')));
    by('simulate').click();
    await run_done(2);
    const after = row('standard').cells[1].textContent;
    check('it waits longer: ' + before + ', ' + after, before !== after);
    check('vision is in the report', inside().body.innerText.includes('vision'));
    // More than there is: the program's own words.
    const owns = () => [...by('quota-table').tBodies[0].rows].find(r => r.querySelector('input').value === 'vision').querySelector('[data-key=owns]');
    set(owns(), 99);
    by('simulate').click();
    await until('a complaint', () => !by('problems').hidden && Number(root.dataset.run) === 3);
    check('of the quotas: ' + text('problems'), /lab|vision/.test(text('problems')));
    whole_texts();
    set(owns(), 16);
    by('simulate').click();
    await run_done(4);
    check('mended', by('problems').hidden && !by('report-part').hidden);
    fits();
    const slider = inside().getElementById('slider');
    slider.value = Number(slider.max) / 2;
    slider.dispatchEvent(new Event('input', {bubbles: true}));
    check('another instant', inside().getElementById('when').textContent !== 'day 0, 00:00:00');
  }
"

# A job is drawn, moved, changed and removed; all as text and back.
opens "$page" drawn "
  if (await run_done(1)) {
    const jobs = () => Number(/^([\\d,]+) job/.exec(text('wanted'))[1]);
    [...by('examples').querySelectorAll('button')].at(-1).click();
    check('none', jobs() === 0 && by('report-part').hidden);
    by('drawing').scrollIntoView({block: 'center'});
    const box = () => by('drawing').getBoundingClientRect();
    const at = (x, y) => [box().left + x * box().width, box().top + y];
    await mouse(at(0.25, 100), at(0.5, 70));
    check('one', jobs() === 1 && !by('chosen-job').hidden);
    const f = by('chosen-job').elements;
    check('from six hours on: ' + f.submit.value, Math.abs(f.submit.value - 6) < 0.3);
    check('for six hours: ' + f.duration.value, Math.abs(f.duration.value - 6) < 0.3);
    check('of the first team', f.quota.value === 'team a');
    check('whole nodes: ' + f.gpus.value, f.gpus.value > 8 && f.gpus.value % 8 === 0);
    // It has fallen to the bottom of its lane.
    by('drawing').scrollIntoView({block: 'center'});
    const lane = (box().height - 22) / 2;
    await mouse(at(0.35, lane - 5), at(0.6, 2 * lane - 5));
    check('moved to the other: ' + f.quota.value + ' ' + f.submit.value, f.quota.value === 'team b' && Math.abs(f.submit.value - 12) < 0.5);
    set(f.gpus, 16);
    by('at-random').click();
    check('many', jobs() === 61);
    by('as-text').open = true;
    await until('the table', () => by('csv').value.split('\\n').length === 63);
    const csv = by('csv').value;
    by('remove-all').click();
    check('none again', jobs() === 0);
    by('csv').value = csv.replace('team b', 'nobody');
    by('take-over').click();
    check('refused: ' + text('problems'), jobs() === 0 && /no quota .nobody/.test(text('problems')));
    by('csv').value = csv;
    by('take-over').click();
    check('all of them', jobs() === 61 && by('problems').hidden);
    by('simulate').click();
    await run_done(2);
    check('four policies', document.querySelectorAll('#results tbody tr').length === 4);
    by('as-text').open = false;
    by('drawing').focus();
    say(by('drawing'), new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}));
    check('the keyboard chooses', !by('chosen-job').hidden);
    fits();
    say(by('drawing'), new KeyboardEvent('keydown', {key: 'Delete', bubbles: true}));
    check('and removes', jobs() === 60);
  }
"

# The other examples, and names that would break a page without escaping.
opens "$page" week "
  if (await run_done(1)) {
    let n = 1;
    for (const b of [...by('examples').querySelectorAll('button')].slice(1, 3)) {
      b.click();
      await run_done(++n);
      check(b.textContent + ': ' + text('problems'), by('problems').hidden && document.querySelectorAll('#results tbody tr').length === 4);
    }
    const name = '</script><img src=x onerror=problems.push(1)>';
    set(by('quota-table').tBodies[0].rows[1].querySelector('input'), name);
    by('simulate').click();
    await run_done(++n);
    await until('its name', () => inside()?.body?.innerText.includes(name));
    check('a name became an element', !inside().querySelector('img') && !document.querySelector('img'));
    set(by('quota-table').tBodies[0].rows[1].querySelector('input'), 'vision');
    by('simulate').click();
    await run_done(++n);
    await until('the name that it had', () => inside()?.body?.innerText.includes('vision'));
    fits();
  }
"

conclude
