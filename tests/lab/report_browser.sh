#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Opens the pages of replay and compare in a headless Chromium, at three widths, light and dark: no word on the
# console, no network access, nothing wider than the screen or cut, and what can be moved, found or chosen works.
# Without a browser the test is skipped (77).
# shellcheck source=tests/support/program_test.sh
source "$2/tests/support/program_test.sh"

# shellcheck source=tests/support/browser_test.sh
source "$2/tests/support/browser_test.sh"
skip_without_browser
pictures=$(dirname "$allot")/pictures
helpers="
  const key = name => say(by('slider'), new KeyboardEvent('keydown', {key: name, bubbles: true, cancelable: true}));
  const move = value => { by('slider').value = value; say(by('slider'), new Event('input', {bubbles: true})); };
"

# --- a replay computed by hand, with names that would break a page without escaping

cat >small.json <<'JSON'
{"format": "allot-scenario/1",
 "cluster": {"nodes": [{"name": "n,</script><b>", "count": 2, "gpus": 4}]},
 "quotas": [{"name": "all"},
            {"name": "a \"</script><img src=x onerror=alert(1)>", "parent": "all", "nominal": {"gpu": 4}},
            {"name": "c & <!--", "parent": "all", "nominal": {"gpu": 4}}],
 "jobs": [{"id": "</script><script>problems.push('a job id ran')</script>", "quota": "c & <!--",
           "request": {"gpu": 8}, "total": true, "duration_s": 100},
          {"id": "half", "quota": "c & <!--", "request": {"gpu": 0.5}, "submit_s": 10, "duration_s": 2.5},
          {"id": "yes'\"\\", "quota": "a \"</script><img src=x onerror=alert(1)>", "request": {"gpu": 4}, "submit_s": 20,
           "duration_s": 30}]}
JSON
"$allot" replay small.json --out small >/dev/null || fail "replay"
opens small/report.html small "
    const cells = () => [...document.querySelectorAll('#nodes p b')];
    const lit = () => cells().filter(b => b.style.background !== '').length;
    const rows = [...document.querySelectorAll('table.wide td:first-child')].map(td => td.textContent);
    check('two rows of one name: ' + rows, rows.includes('all') && new Set(rows).size === rows.length);
    check('not eight cells', cells().length === 8);
    key('Home');
    check('at the beginning: ' + text('when'), text('when') === 'day 0, 00:00:00');
    check('one job has all: ' + text('now'), text('now') === '8 GPUs in use by 1 job, 0 waiting' && lit() === 8);
    key('ArrowRight');
    check('half has come: ' + text('when'), text('when') === 'day 0, 00:00:10');
    check('and waits', text('wait-head') === 'Waiting: 1' && /half/.test(text('wait-table')));
    check('with a reason: ' + text('wait-table'), /all of all is in use, 0.5 GPU short/.test(text('wait-table')));
    check('a value for those who do not see it', by('slider').getAttribute('aria-valuetext').includes('8 GPUs'));
    move(21);
    check('the gang had to go: ' + text('when'), text('when') === 'day 0, 00:00:20');
    check('yes runs, with its name', text('run-table').includes('yes\\'\"\\\\') && text('run-head') === 'Running: 2');
    check('half of a GPU is drawn', cells().some(b => b.style.background.includes('gradient')));
    check('four and a half: ' + text('now'), text('now').startsWith('4.5 GPUs in use by 2 jobs, 1 waiting'));
    check('it says that it was preempted', /was preempted/.test(text('wait-table')));
    key('End');
    check('nothing runs at the end', text('run-head') === 'Running: 0' && lit() === 0 && by('after').disabled);
    by('before').click();
    check('one back', text('run-head') === 'Running: 1');
    document.querySelector('button.at[data-at]').click();
    check('to the preemption: ' + text('when'), text('when') === 'day 0, 00:00:20');
    const plot = document.querySelector('.plot'), box = plot.getBoundingClientRect();
    const at = x => ({clientX: box.left + x * box.width, clientY: box.top + 9, bubbles: true});
    say(plot, new MouseEvent('click', at(0)));
    check('a click on a chart moves it: ' + text('when'), text('when') === 'day 0, 00:00:00');
    for (const p of document.querySelectorAll('.plot')) {
      say(p, new PointerEvent('pointermove', at(0.3)));
      check('figures under the pointer: ' + p.dataset.kind, by('tip').style.display === 'block' &&
        by('tip').querySelectorAll('tr').length > 1 && !/NaN|undefined/.test(text('tip')));
    }
    say(plot, new PointerEvent('pointerleave', {}));
    check('gone with the pointer', by('tip').style.display === 'none');

    // A range of time is dragged over a chart: all charts over time show it, and what runs then change by change.
    const views = () => [...document.querySelectorAll('.plot:not([data-kind^=cdf]) svg')].map(s => s.getAttribute('viewBox'));
    plot.scrollIntoView({block: 'center'});
    const there = plot.getBoundingClientRect();
    await mouse([there.left + 0.1 * there.width, there.top + 50], [there.left + 0.3 * there.width, there.top + 50]);
    check('a range: ' + text('tools'), new Set(views()).size === 1 && !views()[0].startsWith('0 0 1000'));
    check('the slider has it', Number(by('slider').min) > 9 && Number(by('slider').max) < 60);
    check('the instant is in it: ' + text('when'), Number(by('slider').value) >= Number(by('slider').min));
    check('four and a half of eight: ' + plot.querySelector('path.area').getAttribute('d'),
      plot.querySelector('path.area').getAttribute('d').includes('V437.50'));
    check('an axis for it', plot.parentElement.querySelectorAll('.x i').length > 2);
    check('a link to it', /^#from=\\d+&to=\\d+$/.test(location.hash));
    check('other axes stay', document.querySelector('.plot[data-kind=\"cdf:0\"] svg').getAttribute('viewBox') === '0 0 1000 1000');
    const before_zoom = views()[0];
    by('in').click();
    check('half of it', views()[0] !== before_zoom);
    by('whole').click();
    check('and back', views()[0] === '0 0 1000 1000' && by('whole').disabled && location.hash === '');
    check('no piece of text is left over', plot.parentElement.querySelectorAll('.x em').length === 1);

    // A job is found, and its history told.
    by('find').value = 'HAL';
    say(by('find'), new Event('input'));
    check('one is called so: ' + text('found'), by('found').children.length === 1 && /^half0.5 GPUs\$/.test(text('found')));
    by('found').querySelector('button').click();
    check('its history: ' + text('history'), !by('history').hidden && /submitted, waits/.test(text('history')) &&
      /all of all is in use/.test(text('history')) && /runs on n/.test(text('history')));
    whole_texts();
    document.querySelector('#history button[data-at]').click();
    check('to when it came: ' + text('when'), text('when') === 'day 0, 00:00:10');
    document.querySelector('#run-table button').click();
    check('of the gang: ' + text('history'), /preempted, waits/.test(text('history')) && /runs on n.* and n|runs on n/.test(text('history')));
    say(document, new KeyboardEvent('keydown', {key: 'Escape'}));
    check('closed', by('history').hidden);
    by('find').value = 'nobody';
    say(by('find'), new Event('input'));
    check('nobody: ' + text('found'), text('found') === 'no job is called so');

    // Only the jobs of some quotas.
    move(21);
    const filter = [...by('quotas').children];
    check('a button each: ' + filter.length, filter.length === 2);
    filter[0].click();
    check('one of two: ' + text('run-head'), text('run-head') === 'Running: 1 of 2' && /yes/.test(text('run-table')) &&
      !/half/.test(text('run-table')));
    check('its panel alone', [...document.querySelectorAll('.plot[data-kind^=quota]')].filter(p => p.checkVisibility()).length === 1);
    filter[0].click();
    check('all again', text('run-head') === 'Running: 2');

    // Distributions from zero, and one scale for what stands side by side.
    const cdfs = [...document.querySelectorAll('.plot[data-kind^=cdf]')];
    check('first start, all waiting, completion, slowdown: ' + cdfs.length, cdfs.length === 4);
    check('from zero', cdfs.every(p => p.dataset.bottom === '0'));
    check('one scale', new Set([...document.querySelectorAll('.plot[data-kind^=quota]')].map(p => p.dataset.top)).size === 1);
"

# --- every name of a list of hostile ones, of quotas, jobs, classes and nodes

{
  printf '{"format": "allot-scenario/1", "cluster": {"nodes": ['
  sed 's/.*/{"name": &, "gpus": 1},/' "$sources/tests/lab/hostile_names.json"
  printf '{"name": "last", "gpus": 1}]}, "quotas": ['
  sed 's/.*/{"name": &, "nominal": {"gpu": 1}},/' "$sources/tests/lab/hostile_names.json"
  printf '{"name": "last"}], "jobs": ['
  sed 's/.*/{"id": &, "quota": &, "class": &, "request": {"gpu": 1}, "duration_s": 9},/' "$sources/tests/lab/hostile_names.json"
  printf '{"id": "last", "quota": "last", "request": {"gpu": 99}}]}'
} >hostile.json
"$allot" replay hostile.json --out hostile >/dev/null 2>&1 || fail "replay of hostile names"
"$allot" replay hostile.json --policy fifo --out hostile-fifo >/dev/null 2>&1 || fail "replay of hostile names"
"$allot" compare hostile hostile-fifo --html hostile.html || fail "compare --html of hostile names"
names=$(sed 's/</\\u003c/g' "$sources/tests/lab/hostile_names.json" | tr '\n' ',')
shows_all="
  const flat = t => t.replace(/[\\r\\n]+/g, ' ').replace(/\\s+/g, ' ').trim();
  const cells = new Set([...document.querySelectorAll('td, th, span, button, tspan, text')].map(e => flat(e.textContent)));
  for (const name of [$names]) {
    if (!cells.has(flat(name))) problems.push('not shown as it is: ' + JSON.stringify(name));
  }
  check('a name became an element', document.querySelectorAll('img, iframe, object, [onload], [onerror]').length === 0);
"
opens hostile/report.html hostile "$shows_all
  move(Number(by('slider').max) / 2);
  check('something runs', !/^Running: 0$/.test(text('run-head')));
"
opens hostile.html hostile-compared "
  check('a name became an element', document.querySelectorAll('img, iframe, object, [onload], [onerror]').length === 0);
  check('three charts and more', document.querySelectorAll('.plot').length >= 4);
"

# --- a name of seventy letters takes no number out of sight

cat >wide_name.json <<'JSON'
{"format": "allot-scenario/1", "cluster": {"nodes": [{"name": "n", "gpus": 4}]},
 "quotas": [{"name": "a_quota_whose_name_has_seventy_letters_and_no_space_where_it_may_break_"}],
 "jobs": [{"id": "one", "quota": "a_quota_whose_name_has_seventy_letters_and_no_space_where_it_may_break_",
           "request": {"gpu": 1}, "duration_s": 9},
          {"id": "big", "quota": "a_quota_whose_name_has_seventy_letters_and_no_space_where_it_may_break_",
           "request": {"gpu": 9}, "duration_s": 9}]}
JSON
"$allot" replay wide_name.json --out wide_name >/dev/null 2>&1 || fail "replay of a long name"
opens wide_name/report.html wide-name "
  const numbers = [...document.querySelectorAll('td:not(.t)')].filter(td => td.cellIndex === 1 && td.checkVisibility());
  check('no numbers: ' + numbers.length, numbers.length >= 2);
  for (const td of numbers) check('out of sight: ' + name_of(td.parentElement), td.getBoundingClientRect().right <= innerWidth);
"

# --- more than a page can hold: evenly spaced instants

"$allot" generate --days 110 --seed 3 --load 0.7 --out long.csv >/dev/null || fail "generate"
"$allot" replay "$sources/bench/lab/scenarios/two_weeks_lending.json" --trace long.csv --policy standard --out long \
  >/dev/null || fail "replay of the long trace"
[ "$(wc -c <long/report.html)" -lt 5000000 ] || fail "the page is large: $(wc -c <long/report.html)"
grep -q '"stops":\[0,' long/report.html || fail "the long replay has no stops, so this tests nothing"
opens long/report.html long "
  key('Home');
  const seen = new Set();
  for (let i = 0; i < 40; ++i) { key('PageUp'); seen.add(text('when')); }
  check('twenty steps of a twentieth: ' + seen.size, seen.size >= 19);
  move(Number(by('slider').max) / 2);
  check('something runs in the middle', !/^Running: 0$/.test(text('run-head')));
  check('as many as are listed or more', document.querySelectorAll('#run-table tr').length > 5);
"

# --- a comparison

"$allot" replay small.json --policy fifo --out fifo >/dev/null || fail "replay under fifo"
"$allot" compare fifo small --html compared.html || fail "compare --html"
opens compared.html compared "
  // Nobody wins by less than a hundredth.
  for (const cell of document.querySelectorAll('.beside td.win')) {
    const row = cell.parentElement, said = /^[+-]([\\d.]+) %$/.exec(row.cells[2].querySelector('small').textContent);
    check('bold for nothing: ' + row.textContent, !said || Number(said[1]) >= 0.9);
  }
  for (const p of document.querySelectorAll('.plot')) {
    p.scrollIntoView({block: 'center'});
    const box = p.getBoundingClientRect();
    say(p, new PointerEvent('pointermove', {clientX: box.left + box.width / 2, clientY: box.top + 9, bubbles: true}));
    check('figures under the pointer: ' + p.dataset.kind, by('tip').style.display === 'block' &&
      by('tip').querySelectorAll('tr').length === 2 && !/NaN|undefined/.test(text('tip')));
  }
  const box = document.querySelector('.scroll');
  check('a run is out of sight: ' + box.scrollWidth, box.scrollWidth <= box.clientWidth);
  check('a row for each of two quotas and runs', document.querySelectorAll('.below td:first-child').length === 4);
  check('what the figures mean', document.querySelectorAll('.means dt').length > 10);
  check('both runs have a column', /fifo/.test(document.querySelector('table').rows[0].textContent) &&
    /small/.test(document.querySelector('table').rows[0].textContent));
  check('three charts and more', document.querySelectorAll('.plot').length >= 4);
"

# --- a comparison of configurations, which has bars with deviations

cat >sweep.json <<'JSON'
{"format": "allot-experiment/1", "loads": [0.7, 0.9], "policies": ["static_quotas", "standard"], "seeds": [1, 2, 3],
 "scenarios": [{"name": "mix", "nodes": "2x8", "tenants": {"a": 6, "b": 10},
   "generate": {"model": "mix", "days": 2, "gpus": 16, "training": {"a": 6, "b": 10}, "serving_tenant": "a"}}]}
JSON
"$allot" sweep sweep.json --out swept >/dev/null || fail "sweep"
"$allot" compare swept --html sides.html || fail "compare --html of a sweep"
opens sides.html sides "
    check('curves and two sets', document.querySelectorAll('h2').length === 4);
    check('what the figures mean', document.querySelectorAll('.means dt').length > 10);
    const curves = document.querySelector('figure');
    check('curves over the load', curves.querySelectorAll('.plot').length >= 4);
    for (const plot of curves.querySelectorAll('.chart')) {
      const drawn = plot.querySelector('path.curve.s0').getBoundingClientRect();
      const title = plot.querySelector('.x em').getBoundingClientRect();
      check('a curve is not there: ' + drawn.width, drawn.width > 100);
      check('a title is not below its axis', title.top > plot.querySelector('.plot').getBoundingClientRect().bottom);
      check('a title is too wide: ' + title.left + ' to ' + title.right, title.left >= 0 && title.right <= innerWidth);
      check('both policies are named at their ends', plot.querySelectorAll('.ends i').length === 2);
    }
    // What a bar shows is its part of the whole, where there is one.
    for (const r of document.querySelectorAll('.bar svg')) {
      const said = /: ([\\d.]+) % /.exec(r.getAttribute('aria-label'));
      if (said) check('a bar of ' + said[1] + ' %', Math.abs(Number(said[1]) - r.querySelector('rect').getAttribute('width') / 10) < 0.1);
    }
    // The figures under the pointer, of every policy; one less when it is hidden.
    const plot = curves.querySelector('.plot'), box = plot.getBoundingClientRect();
    const at = {clientX: box.left + 5, clientY: box.top + 9, bubbles: true};
    say(plot, new PointerEvent('pointermove', at));
    check('two values: ' + text('tip'), by('tip').querySelectorAll('tr').length === 2 && / at 0.7/.test(text('tip')));
    const hide = document.querySelector('.series button');
    hide.click();
    say(plot, new PointerEvent('pointermove', at));
    check('one is hidden', by('tip').querySelectorAll('tr').length === 1 && curves.querySelectorAll('path.curve.s0').length === 0);
    hide.click();
    // A logarithmic axis.
    const log = curves.querySelector('h3 .toggle'), axis = log.parentElement.parentElement.querySelector('.y');
    const was = log.getAttribute('aria-pressed');
    log.click();
    check('another axis', log.getAttribute('aria-pressed') !== was &&
      log.parentElement.parentElement.querySelector('.y em').textContent !== axis.querySelector('em').textContent);
    apart('.chart .y');
    // The contents lead to every part, and the heads of tables stay in sight.
    const links = [...document.querySelectorAll('.contents a')];
    check('contents', links.length === 3 && links.every(a => document.querySelector(a.getAttribute('href'))?.tagName === 'FIGURE'));
    for (const folded of document.querySelectorAll('details')) folded.open = true;
    whole_texts();
    const table = document.querySelector('.scroll.tall'), corner = table.querySelector('th');
    table.scrollTop = 200;
    table.scrollLeft = 50;
    const edge = table.getBoundingClientRect(), head = corner.getBoundingClientRect();
    check('the head goes: ' + head.top + ' of ' + edge.top, Math.abs(head.top - edge.top) < 2 && Math.abs(head.left - edge.left) < 2);
    check('bars with whiskers', document.querySelectorAll('.bar rect').length >= 16 &&
      document.querySelectorAll('.whisker').length >= 8);
    for (const r of document.querySelectorAll('.bar svg')) {
      const b = r.getBoundingClientRect();
      check('a bar is not there: ' + b.width + ' x ' + b.height, b.width > 200 && b.height > 8);
    }
"

conclude
