/* SPDX-License-Identifier: BSL-1.0
   The script of the report. */
(() => {
'use strict';
const {by, make, num, clock, span, part_of, show_tip, hide_tip, put_cursor, ticks_between} = lab;
const d = JSON.parse(by('data').textContent);
const gpus = x => num(x) + (x === 1 ? ' GPU' : ' GPUs');
const at_time = (since, seconds) => clock(d.begin + since, seconds);
const colour = k => 'var(--c' + d.layers[k].colour + ')';

// --- what is shown: a range of time, as parts of the whole, and some quotas or all

let from = 0, to = 1;
const is_whole = () => from === 0 && to === 1;
const only = new Set();
const is_shown = layer => only.size === 0 || only.has(layer);

// --- any instant

const job = j => ({id: d.jobs[5 * j], layer: d.jobs[5 * j + 1], gpus: d.jobs[5 * j + 2],
  submit: d.jobs[5 * j + 3], priority: d.jobs[5 * j + 4], sets: d.podSets[j]});
const has_stops = d.stops.length > 0;
const times = has_stops ? d.stops : (() => {
  const all = new Set([0]);
  for (let i = 0; i < d.runs.length; i += 5) all.add(d.runs[i + 1]).add(d.runs[i + 2]);
  for (let i = 0; i < d.stays.length; i += 4) all.add(d.stays[i + 1]).add(d.stays[i + 2]);
  return [...all].sort((a, b) => a - b);
})();
const index_at = t => {
  let low = 0, high = times.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (times[middle] <= t) low = middle; else high = middle;
  }
  return low;
};
// "3:0-7;4:2*500" is eight whole GPUs of node 3 and half of one of node 4.
const places = text => text === '' ? [] : text.split(';').map(pod => {
  const [where, milli] = pod.split('*'), [node, devices] = where.split(':'), list = [];
  for (const part of (devices || '').split(',')) {
    if (part === '') continue;
    const [a, b] = part.split('-').map(Number);
    for (let i = a; i <= (b === undefined ? a : b); ++i) list.push(i);
  }
  return {node: Number(node), devices: list, part: milli ? milli / 1000 : 1};
});
const running_at = t => {
  const of_job = new Map();
  for (let i = 0; i < d.runs.length; i += 5) {
    if (d.runs[i + 1] > t || d.runs[i + 2] <= t) continue;
    const j = d.runs[i], where = places(d.runs[i + 4]);
    let r = of_job.get(j);
    if (!r) of_job.set(j, r = {j, ...job(j), since: d.runs[i + 1], until: d.runs[i + 2], pods: [], has: 0});
    r.since = Math.min(r.since, d.runs[i + 1]);
    r.until = Math.max(r.until, d.runs[i + 2]);
    r.pods.push(...where);
    r.has += where.length ? where.reduce((n, p) => n + p.devices.length * p.part, 0) : r.gpus;
  }
  return [...of_job.values()].sort((a, b) => b.has - a.has || a.since - b.since || a.j - b.j);
};
const waiting_at = t => {
  const list = [];
  for (let i = 0; i < d.stays.length; i += 4) {
    if (d.stays[i + 1] > t || d.stays[i + 2] <= t) continue;
    const notes = d.stays[i + 3];
    let why = null;
    for (let n = 0; n < notes.length && notes[n] <= t; n += 2) why = d.reasons[notes[n + 1]];
    list.push({j: d.stays[i], ...job(d.stays[i]), since: d.stays[i + 1], why});
  }
  return list.sort((a, b) => b.priority - a.priority || a.submit - b.submit);
};

const slider = by('slider');
const nodes = by('nodes');
const node_names = d.nodes.filter((_, i) => i % 2 === 0), node_gpus = d.nodes.filter((_, i) => i % 2);
const is_dense = node_gpus.reduce((n, g) => n + g, 0) > 2048;
const node_bodies = node_names.map((name, n) => {
  const node = make('div'), body = make('p');
  node.append(make('span', '', name), body);
  node.title = name;
  if (!is_dense) for (let g = 0; g < node_gpus[n]; ++g) body.append(make('b'));
  nodes.append(node);
  return body;
});
if (is_dense) nodes.className = 'dense';
if (d.allNodes > node_names.length) {
  nodes.append(make('div', 'note', 'and ' + num(d.allNodes - node_names.length) + ' nodes more'));
}
const show_nodes = running => {
  const on = node_gpus.map(g => Array.from({length: g}, () => []));
  for (const r of running) for (const p of r.pods) for (const g of p.devices) {
    if (on[p.node]) on[p.node][g].push({r, part: p.part});
  }
  on.forEach((devices, n) => {
    if (is_dense) {
      const of = d.layers.map(() => 0);
      for (const shares of devices) for (const s of shares) of[s.r.layer] += s.part;
      let at = 0;
      const stripes = of.flatMap((x, k) => {
        if (x === 0) return [];
        const from = at;
        at += 100 * x / devices.length;
        return [colour(k) + ' ' + from + '% ' + at + '%'];
      });
      node_bodies[n].style.background = stripes.length ?
        'linear-gradient(to right,' + stripes.join(',') + ',var(--idle) ' + at + '%)' : '';
      node_bodies[n].title = node_names[n] + ': ' + num(of.reduce((a, b) => a + b, 0)) + ' of ' + devices.length;
      return;
    }
    devices.forEach((shares, g) => {
      const cell = node_bodies[n].children[g], before = (devices[g - 1] || [])[0];
      cell.title = shares.map(s => s.r.id + ', ' + d.layers[s.r.layer].name +
        (s.part < 1 ? ', ' + num(s.part * 100) + ' %' : '')).join('\n') || 'idle';
      cell.dataset.jobs = ' ' + shares.map(s => s.r.j).join(' ') + ' ';
      const after = (devices[g + 1] || [])[0], mine = shares[0];
      const same = other => mine && other && mine.part === 1 && other.r === mine.r;
      cell.className = (same(before) ? 'join ' : '') + (same(after) ? 'open ' : '') +
        (shares.length && !shares.some(s => is_shown(s.r.layer)) ? 'faded' : '');
      if (shares.length === 1 && shares[0].part === 1) {
        cell.style.background = colour(shares[0].r.layer);
      } else if (shares.length === 0) {
        cell.style.background = '';
      } else {
        let at = 0;
        cell.style.background = 'linear-gradient(to top,' + shares.map(s => {
          const from = at;
          at += 100 * s.part;
          return colour(s.r.layer) + ' ' + from + '% ' + Math.max(from, at - 4) + '%,var(--back) ' +
            Math.max(from, at - 4) + '% ' + at + '%';
        }).join(',') + ',var(--idle) ' + at + '%)';
      }
    });
  });
};
const nominal_at = (k, t) => {
  const list = d.layers[k].nominal;
  let n = null;
  for (let i = 0; i < list.length && list[i] <= t; i += 2) n = list[i + 1];
  return n;
};
const show_teams = (t, used, waiting) => {
  const owns = d.layers.map((_, k) => nominal_at(k, t));
  const span_now = Math.min(d.capacity.length - 1, Math.floor(t / d.width));
  const whole = Math.max(1e-9, d.bounded ? d.capacity[span_now] : 0, ...used, ...owns.map(n => n || 0));
  by('teams').replaceChildren(...d.layers.map((l, k) => {
    const team = make('div', is_shown(k) ? 'team' : 'team faded'), name = make('span'), bar = make('div', 'bar'), fill = make('i');
    name.append(make('b', 'dot q' + l.colour), l.name);
    name.title = l.name;
    let text = owns[k] === null ? gpus(used[k]) : num(used[k]) + ' of ' + gpus(owns[k]);
    const over = owns[k] === null ? 0 : used[k] - owns[k];
    if (over > 1e-6) text += ', ' + num(over) + ' over';
    text += ' · ' + (waiting[k] ? num(waiting[k]) + ' waiting' : 'none waits');
    fill.style.width = 100 * used[k] / whole + '%';
    fill.style.background = colour(k);
    bar.append(fill);
    if (owns[k]) {
      const mark = make('u');
      mark.style.left = 'calc(' + 100 * owns[k] / whole + '% - 1px)';
      mark.title = 'owns ' + gpus(owns[k]);
      bar.append(mark);
    }
    team.append(name, make('span', '', text), bar);
    return team;
  }));
};
const shown_all = {};
const fill_table = (table, key, head, rows, empty) => {
  const most = shown_all[key] ? 400 : 12;
  table.replaceChildren();
  if (rows.length === 0) {
    table.append(make('caption', 'note', empty));
    return;
  }
  const top = table.createTHead().insertRow();
  for (const h of head) {
    const th = make('th', h[1] || '', h[0]);
    th.scope = 'col';
    top.append(th);
  }
  const body = table.createTBody();
  for (const cells of rows.slice(0, most)) {
    const tr = body.insertRow();
    cells.forEach((c, i) => {
      const td = make('td', head[i][1] || '');
      td.append(...[].concat(c));
      tr.append(td);
    });
    tr.dataset.job = cells.job;
  }
  if (rows.length > most || shown_all[key]) {
    const td = body.insertRow().insertCell();
    td.colSpan = head.length;
    const more = make('button', 'at', shown_all[key] ? 'show fewer' :
      'and ' + num(rows.length - most) + ' more');
    more.type = 'button';
    more.onclick = () => {
      shown_all[key] = !shown_all[key];
      show(now);
    };
    if (rows.length > 12) td.append(more);
  }
};
const with_sets = j => j.sets ? j.id + ' (' + j.sets + ')' : j.id;
const named = j => {
  const button = make('button', 'at name', with_sets(j));
  button.type = 'button';
  button.dataset.history = j.j;
  return [make('b', 'dot q' + d.layers[j.layer].colour), button];
};
const node_list = pods => {
  const names = [...new Set(pods.map(p => p.node))].map(n => node_names[n] ?? 'node ' + n);
  return names.length > 3 ? names.slice(0, 2).join(', ') + ' and ' + (names.length - 2) + ' more' :
    names.join(', ');
};
const before_in_queue = (w, all) => all.filter(o => o.layer === w.layer).indexOf(w);
let now = 0;
const show = i => {
  now = Math.max(0, Math.min(times.length - 1, i));
  const t = times[now], running = running_at(t), waiting = waiting_at(t);
  const used = d.layers.map(() => 0), waits = d.layers.map((_, k) => has_stops ? d.waiting[k][now] : 0);
  for (const r of running) used[r.layer] += r.has;
  if (!has_stops) for (const w of waiting) ++waits[w.layer];
  const all_waiting = waits.reduce((a, b) => a + b, 0), all_used = used.reduce((a, b) => a + b, 0);
  // The range goes where the instant is.
  if (t / d.span < from || t / d.span > to) {
    const half = (to - from) / 2, middle = Math.min(1 - half, Math.max(half, t / d.span));
    set_range(middle - half, middle + half);
  }
  slider.value = t;
  by('when').textContent = at_time(t, true);
  slider.setAttribute('aria-valuetext', at_time(t, true) + ', ' + gpus(all_used) + ' in use, ' +
    num(all_waiting) + ' jobs waiting');
  by('now').textContent = gpus(all_used) + ' in use by ' + num(running.length) +
    (running.length === 1 ? ' job, ' : ' jobs, ') + num(all_waiting) + ' waiting';
  by('before').disabled = now === 0;
  by('after').disabled = now === times.length - 1;
  for (const plot of over_time) {
    const mark = plot.querySelector('.mark');
    mark.style.display = 'block';
    mark.style.left = 100 * (t / d.span - from) / (to - from) + '%';
  }
  show_nodes(running);
  show_teams(t, used, waits);
  const runs_shown = running.filter(r => is_shown(r.layer)), waits_shown = waiting.filter(w => is_shown(w.layer));
  const part_of_all = (part, all) => num(part) + (part < all ? ' of ' + num(all) : '');
  by('run-head').textContent = 'Running: ' + part_of_all(runs_shown.length, running.length);
  const waits_counted = waits.reduce((n, of, k) => n + (is_shown(k) ? of : 0), 0);
  by('wait-head').textContent = 'Waiting: ' + part_of_all(waits_counted, all_waiting);
  const has_nodes = node_names.length > 0;
  fill_table(by('run-table'), 'run',
    [['job', 't'], ['GPUs'], ['for'], ['to go'], ...(has_nodes ? [['on', 't']] : [])],
    runs_shown.map(r => Object.assign([named(r), num(r.has), span(t - r.since), span(r.until - t),
      ...(has_nodes ? [node_list(r.pods)] : [])], {job: r.j})), 'nothing runs');
  fill_table(by('wait-table'), 'wait', [['job', 't'], ['GPUs'], ['for'], ['why', 't why']],
    waits_shown.map(w => [named(w), num(w.gpus), span(t - w.since),
      (w.since > w.submit ? 'was preempted; ' : '') + (w.why ?? (before_in_queue(w, waiting) < 8 ?
        'its scheduler was not asked yet' : 'further back in its queue'))]), waits_counted ? 'not listed' : 'no job waits');
  if (waits_counted > waits_shown.length) {
    const more = by('wait-table').createTFoot().insertRow().insertCell();
    more.colSpan = 4;
    more.textContent = 'and ' + num(waits_counted - waits_shown.length) + ' further back in the queues, which this page only counts';
  }
};
slider.addEventListener('input', () => show(index_at(Number(slider.value))));
slider.addEventListener('keydown', e => {
  const far = Math.max(1, Math.round(times.length / 20));
  const to = {ArrowLeft: now - 1, ArrowDown: now - 1, ArrowRight: now + 1, ArrowUp: now + 1,
    PageDown: now - far, PageUp: now + far, Home: 0, End: times.length - 1}[e.key];
  if (to === undefined) return;
  e.preventDefault();
  show(to);
});
by('before').addEventListener('click', () => show(now - 1));
by('after').addEventListener('click', () => show(now + 1));
const go_to = t => {
  show(index_at(t));
  by('moment').scrollIntoView({behavior: 'smooth', block: 'start'});
};
document.addEventListener('click', e => {
  const to = e.target.closest('[data-at]');
  if (to) go_to(Number(to.dataset.at) - d.begin);
});
const light = j => {
  for (const cell of nodes.querySelectorAll('.lit')) cell.classList.remove('lit');
  if (j === undefined) return;
  for (const cell of nodes.querySelectorAll('[data-jobs*=" ' + j + ' "]')) cell.classList.add('lit');
};
by('run-table').addEventListener('pointerover', e => light(e.target.closest('tr')?.dataset.job));
by('run-table').addEventListener('pointerleave', () => light());

// --- what is under the pointer

const plots = [...document.querySelectorAll('.plot')];
const is_over_time = plot => !plot.dataset.kind.startsWith('cdf:');
const over_time = plots.filter(is_over_time);
// A part of the whole time from a part of the plot.
const whole_part = x => from + x * (to - from);
const rows_for = (kind, x) => {
  const i = Math.min(d.capacity.length - 1, Math.floor(x * d.span / d.width));
  const at = at_time(i * d.width);
  const layers = pick => d.layers.map((l, k) => [l.name, pick(k), 'q' + l.colour]).filter((_, k) => is_shown(k));
  if (kind === 'gpus') {
    const sum = d.used.reduce((n, of) => n + of[i], 0);
    return [at, [...layers(k => num(d.used[k][i])),
      ['in use', num(sum) + (d.bounded ? ' of ' + num(d.capacity[i]) : '')]]];
  }
  if (kind.startsWith('quota:')) {
    const k = Number(kind.slice(6)), owns = nominal_at(k, i * d.width);
    return [at, [['in use', num(d.used[k][i]), 'q' + d.layers[k].colour], ['of it borrowed', num(d.borrowed[k][i])],
      ['lent to others', num(d.lent[k][i])], ['fair share', num(d.entitled[k][i])],
      ...(owns === null ? [] : [['owns', num(owns)]])]];
  }
  if (kind === 'lending') {
    return [at, layers(k => d.borrowed[k][i] >= d.lent[k][i] ? 'borrows ' + num(d.borrowed[k][i] - d.lent[k][i]) :
      'lends ' + num(d.lent[k][i] - d.borrowed[k][i]))];
  }
  if (kind === 'waiting') return [at, layers(k => num(d.pending[k][i]))];
  if (kind === 'reserved') return [at, layers(k => num(d.reserved[k][i]))];
  if (kind === 'utilisation') {
    const all = d.capacity[i] || 1, used = d.used.reduce((n, of) => n + of[i], 0);
    return [at, [['in use', num(100 * used / all) + ' %'], ['idle on nodes partly in use', num(100 * d.stranded[i] / all) + ' %'],
      ['idle', num(Math.max(0, 100 * (all - used) / all)) + ' %']]];
  }
  if (kind === 'preemptions') {
    const n = d.cuts[0].length, k = Math.min(n - 1, Math.floor(x * n));
    return [at_time(k * d.span / n), layers(l => num(d.cuts[l][k]))];
  }
  if (kind.startsWith('cdf:')) {
    const of = d.cdfs[Number(kind.slice(4))], n = of.parts[0].length, most = Math.exp(x * Math.log(of.longest));
    return ['up to ' + (of.ratio ? num(most) + ' times' : span(most)),
      layers(l => num(of.parts[l][Math.round(x * (n - 1))]) + ' %')];
  }
  return ['', []];
};
for (const plot of plots) {
  const kind = plot.dataset.kind, is_time = is_over_time(plot);
  let begin = null, was_dragged = false;
  const chosen = make('b', 'chosen');
  plot.append(chosen);
  plot.addEventListener('pointermove', e => {
    const x = part_of(plot, e);
    if (begin !== null && Math.abs(e.clientX - begin.clientX) > 5) {
      was_dragged = true;
      const a = part_of(plot, begin);
      chosen.style.display = 'block';
      chosen.style.left = 100 * Math.min(a, x) + '%';
      chosen.style.width = 100 * Math.abs(a - x) + '%';
    }
    for (const p of plots) if (is_over_time(p) === is_time && (is_time || p === plot)) put_cursor(p, x);
    show_tip(e, ...rows_for(kind, is_time ? whole_part(x) : x));
  });
  plot.addEventListener('pointerleave', () => { if (begin === null) hide_tip(); });
  if (!is_time) continue;
  plot.addEventListener('pointerdown', e => {
    if (e.button !== 0) return;
    begin = e;
    was_dragged = false;
    plot.setPointerCapture(e.pointerId);
  });
  const end = e => {
    chosen.style.display = 'none';
    if (begin !== null && was_dragged && e.type === 'pointerup') {
      const ends = [part_of(plot, begin), part_of(plot, e)].map(whole_part).sort((a, b) => a - b);
      set_range(...ends);
      hide_tip();
    }
    begin = null;
  };
  plot.addEventListener('pointerup', end);
  plot.addEventListener('pointercancel', end);
  plot.addEventListener('click', e => {
    if (!was_dragged) show(index_at(whole_part(part_of(plot, e)) * d.span));
    was_dragged = false;
  });
  plot.addEventListener('dblclick', () => set_range(0, 1));
}

// --- a range of time

const steps = [1, 2, 5, 15, 30, 60, 120, 300, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 259200, 432000,
  604800, 864000, 1209600, 1728000, 2592000, 5184000];
const time_labels = plot => {
  const begin = d.begin + from * d.span, end = d.begin + to * d.span, least = (end - begin) / 8;
  const step = steps.find(s => s >= least) ?? steps[steps.length - 1] * Math.ceil(least / steps[steps.length - 1]);
  const labels = [];
  for (let t = Math.ceil(begin / step) * step; t <= end; t += step) {
    const is_day = step >= 86400 || t % 86400 === 0;
    const text = step >= 86400 ? (labels.length ? '' : 'day ') + num(t / 86400) : is_day || !labels.length ?
      clock(t, step < 60).replace(/, 00:00(:00)?$/, '') : clock(t, step < 60).replace(/^.*, /, '');
    const label = make('i', '', text), at = (t - begin) / (end - begin);
    if (at > 0.96) label.className = 'end'; else label.style.left = 100 * at + '%';
    // The first has more to say than the others.
    if (labels.length === 1 && step < 86400 && at - parseFloat(labels[0].style.left) / 100 < 0.13) continue;
    labels.push(label);
  }
  plot.parentElement.querySelector('.x').replaceChildren(...labels, ...[...plot.parentElement.querySelectorAll('.x em')]);
};
for (const plot of over_time) {
  plot.axis = plot.parentElement.querySelector('.x').innerHTML;
  plot.values = plot.parentElement.querySelector('.y').innerHTML;
  plot.drawing = plot.querySelector('svg').innerHTML;
  for (const word of plot.querySelectorAll('.word')) word.at = parseFloat(word.style.left) / 100;
}
// What runs or waits, change by change, where the page has all of it and there is not too much.
const most_exact = 4000;
const exact_changes = kind => {
  if (has_stops) return null;
  const begin = from * d.span, end = to * d.span, list = kind === 'gpus' ? d.runs : d.stays, changes = [];
  for (let i = 0, n = kind === 'gpus' ? 5 : 4; i < list.length; i += n) {
    const [j, a, b] = [list[i], list[i + 1], list[i + 2]];
    if (b <= begin || a >= end) continue;
    const pods = kind === 'gpus' ? places(list[i + 4]) : [], layer = d.jobs[5 * j + 1];
    const much = kind !== 'gpus' ? 1 : pods.length ? pods.reduce((n, p) => n + p.devices.length * p.part, 0) : d.jobs[5 * j + 2];
    changes.push([Math.max(a, begin), layer, much], [b, layer, -much]);
    if (changes.length > 2 * most_exact) return null;
  }
  return changes.sort((a, b) => a[0] - b[0]);
};
const draw_exactly = plot => {
  const kind = plot.dataset.kind, changes = exact_changes(kind);
  if (changes === null) return;
  const has = d.layers.map(() => 0), heights = [];
  changes.forEach(([t, layer, much], i) => {
    has[layer] += much;
    if (i + 1 === changes.length || changes[i + 1][0] !== t) {
      let sum = 0;
      heights.push([t, has.map(n => sum += n)]);
    }
  });
  let top = Number(plot.dataset.top);
  if (kind === 'waiting') {
    top = Math.max(1, ...heights.map(h => h[1][h[1].length - 1]));
    const ticks = ticks_between(0, top).filter(v => v % 1 === 0), labels = plot.parentElement.querySelector('.y');
    labels.replaceChildren(...ticks.map(v => {
      const label = make('i', '', num(v));
      label.style.bottom = 100 * v / top + '%';
      return label;
    }), labels.querySelector('em'));
    const grid = [...plot.querySelectorAll('.grid')];
    grid.forEach((g, i) => i < ticks.length ? g.setAttribute('d', 'M0 ' + 1000 * (1 - ticks[i] / top) + 'H1000') : g.remove());
  }
  // Areas are drawn from the sum of all down to the first.
  const areas = [...plot.querySelectorAll('path.area')], x = t => (1000 * t / d.span).toFixed(3);
  d.layers.forEach((_, k) => areas[areas.length - 1 - k].setAttribute('d', 'M' + x(from * d.span) + ' 1000' +
    heights.map(([t, sums]) => 'H' + x(t) + 'V' + (1000 * (1 - sums[k] / top)).toFixed(2)).join('') + 'H' + x(to * d.span) + 'V1000Z'));
};
const range_text = by('tools') ? make('output', 'range') : null;
const set_range = (a, b) => {
  const least = Math.min(1, 10 / d.span);
  if (b - a < least) [a, b] = [Math.max(0, (a + b - least) / 2), Math.min(1, (a + b + least) / 2)];
  [from, to] = [Math.max(0, a), Math.min(1, b)];
  for (const plot of over_time) {
    const svg = plot.querySelector('svg');
    svg.innerHTML = plot.drawing;
    plot.parentElement.querySelector('.y').innerHTML = plot.values;
    svg.setAttribute('viewBox', 1000 * from + ' 0 ' + 1000 * (to - from) + ' 1000');
    plot.classList.toggle('zoomed', !is_whole());
    for (const word of plot.querySelectorAll('.word')) {
      const at = (word.at - from) / (to - from);
      word.style.left = 100 * at + '%';
      word.hidden = !is_whole() && (at < 0.05 || at > 0.95 || ['gpus', 'waiting'].includes(plot.dataset.kind));
    }
    if (is_whole()) {
      plot.parentElement.querySelector('.x').innerHTML = plot.axis;
      continue;
    }
    time_labels(plot);
    if (plot.dataset.kind === 'gpus' || plot.dataset.kind === 'waiting') draw_exactly(plot);
  }
  slider.min = from * d.span;
  slider.max = is_whole() ? times[times.length - 1] : to * d.span;
  range_text.textContent = is_whole() ? 'drag over a chart for a part of the time' :
    [from, to].map(x => at_time(x * d.span, (to - from) * d.span < 7200)).join(' to ');
  by('whole').disabled = by('out').disabled = is_whole();
  const t = times[now];
  if (t < from * d.span || t > to * d.span) show(index_at((from + to) / 2 * d.span));
  else show(now);
  // A link to what is seen.
  const seen = is_whole() ? '' : '#from=' + Math.round(d.begin + from * d.span) + '&to=' + Math.round(d.begin + to * d.span);
  if (location.hash !== seen && has_begun) history.replaceState(null, '', seen || location.pathname);
};
const zoom = factor => {
  const half = (to - from) / 2 * factor, middle = Math.min(1 - half, Math.max(half, times[now] / d.span));
  half >= 0.5 ? set_range(0, 1) : set_range(middle - half, middle + half);
};

// --- the bar above the charts: quotas, jobs, the range

const tool = (id, text, title, act) => {
  const button = make('button', 'toggle', text);
  button.type = 'button';
  button.id = id;
  button.title = title;
  button.addEventListener('click', act);
  return button;
};
const dim = document.head.appendChild(make('style'));
const set_only = () => {
  const others = d.layers.filter((_, k) => !is_shown(k)).map(l => l.colour);
  dim.textContent = others.map(c => `.plot:not([data-kind^="quota:"]) .area.q${c}{fill:var(--idle)}` +
    `.plot .curve.s${c}{opacity:.15}.word.w${c}{display:none}`).join('');
  for (const plot of plots) {
    const quota = /^quota:(\d+)$/.exec(plot.dataset.kind);
    if (quota) plot.parentElement.parentElement.hidden = !is_shown(Number(quota[1]));
  }
  // Rows with a quota's colour are those of its jobs.
  const shown = new Set(d.layers.filter((_, k) => is_shown(k)).map(l => 'q' + l.colour));
  for (const row of document.querySelectorAll('main figure:not(#moment) tr, main > .scroll tr, main > details tr')) {
    const dots = [...row.querySelectorAll('.dot')];
    row.hidden = dots.length > 0 && !dots.some(dot => [...dot.classList].some(c => shown.has(c)));
  }
  for (const button of by('quotas').children) button.setAttribute('aria-pressed', only.has(Number(button.value)));
  show(now);
};
const quotas = make('span', 'quotas');
quotas.id = 'quotas';
if (d.layers.length > 1) d.layers.forEach((l, k) => {
  const button = tool('', l.name, 'only the jobs of these quotas', () => {
    if (!only.delete(k)) only.add(k);
    set_only();
  });
  button.removeAttribute('id');
  button.prepend(make('b', 'dot q' + l.colour));
  button.value = k;
  button.setAttribute('aria-pressed', false);
  quotas.append(button);
});
const find = make('input'), found = make('div');
find.type = 'search';
find.id = 'find';
find.placeholder = 'find a job';
find.setAttribute('aria-label', 'find a job by its name');
find.autocomplete = 'off';
found.id = 'found';
const finder = make('span', 'finder');
finder.append(find, found);
const all_jobs = d.jobs.length / 5;
find.addEventListener('input', () => {
  const wanted = find.value.trim().toLowerCase(), begins = [], has = [];
  for (let j = 0; wanted && j < all_jobs && begins.length < 8; ++j) {
    const at = d.jobs[5 * j].toLowerCase().indexOf(wanted);
    if (at === 0) begins.push(j); else if (at > 0 && has.length < 8) has.push(j);
  }
  const hits = [...begins, ...has].slice(0, 8);
  found.replaceChildren(...hits.map(j => {
    const row = make('div');
    row.append(...named({j, ...job(j)}), make('span', '', gpus(d.jobs[5 * j + 2])));
    return row;
  }));
  if (wanted && !hits.length) {
    found.append(make('div', 'note', has_stops ? 'not among the ' + num(all_jobs) +
      ' jobs of this page; jobs.csv has all' : 'no job is called so'));
  }
});
find.addEventListener('keydown', e => {
  if (e.key === 'Enter') found.querySelector('button')?.click();
  if (e.key === 'Escape') { find.value = ''; found.replaceChildren(); }
});
by('tools').append(quotas, finder, range_text, tool('in', '+', 'half of the range', () => zoom(0.5)),
  tool('out', '\u2212', 'twice the range', () => zoom(2)), tool('whole', 'all', 'the whole time', () => set_range(0, 1)));

// --- the history of a job

const story = document.body.appendChild(make('aside'));
story.id = 'history';
story.hidden = true;
story.setAttribute('aria-label', 'history of a job');
const history_of = j => {
  const steps = [];
  for (let i = 0; i < d.runs.length; i += 5) {
    if (d.runs[i] !== j) continue;
    const pods = places(d.runs[i + 4]), where = pods.length ? ' on ' + node_list(pods) : '';
    const has = pods.length ? pods.reduce((n, p) => n + p.devices.length * p.part, 0) : d.jobs[5 * j + 2];
    steps.push({from: d.runs[i + 1], to: d.runs[i + 2], runs: true,
      what: (d.runs[i + 3] ? 'has ' + gpus(has) + ' more' : 'runs') + where});
  }
  for (let i = 0; i < d.stays.length; i += 4) {
    if (d.stays[i] !== j) continue;
    const notes = d.stays[i + 3], submit = d.jobs[5 * j + 3];
    steps.push({from: d.stays[i + 1], to: d.stays[i + 2], runs: false,
      what: d.stays[i + 1] > submit ? 'preempted, waits' : 'submitted, waits'});
    for (let n = 0; n < notes.length; n += 2) {
      steps.push({from: notes[n], to: notes[n + 2] ?? d.stays[i + 2], runs: false, why: true, what: d.reasons[notes[n + 1]]});
    }
  }
  return steps.sort((a, b) => a.from - b.from || (a.why ? 1 : 0) - (b.why ? 1 : 0));
};
const show_history = j => {
  const of = {j, ...job(j)}, steps = history_of(j);
  const head = make('h3'), close = tool('close', '\u00d7', 'close', () => {
    story.hidden = true;
    light();
  });
  head.append(make('b', 'dot q' + d.layers[of.layer].colour), with_sets(of), close);
  const facts = make('p', 'note', d.layers[of.layer].name + ', ' + gpus(of.gpus) + (of.priority ? ', priority ' + of.priority : '') +
    ', submitted ' + at_time(of.submit, true));
  const begin = Math.min(of.submit, ...steps.map(s => s.from)), end = Math.max(begin + 1, ...steps.map(s => s.to));
  const strip = make('div', 'strip');
  for (const s of steps.filter(s => !s.why)) {
    const piece = make('i', s.runs ? 'q' + d.layers[of.layer].colour : '');
    piece.style.left = 100 * (s.from - begin) / (end - begin) + '%';
    piece.style.width = Math.max(0.5, 100 * (s.to - s.from) / (end - begin)) + '%';
    strip.append(piece);
  }
  const table = make('table');
  for (const s of steps) {
    const row = table.insertRow(), when = make('button', 'at', at_time(s.from, true));
    when.type = 'button';
    when.dataset.at = d.begin + s.from;
    row.insertCell().append(when);
    row.insertCell().append(s.why ? make('small', '', s.what) : s.what);
    row.insertCell().textContent = s.why ? '' : span(s.to - s.from);
  }
  const last = steps.filter(s => !s.why).pop(), row = table.insertRow();
  row.insertCell().textContent = last ? at_time(last.to, true) : '';
  row.insertCell().textContent = !last ? '' : last.to < d.span ? 'ends' : last.runs ? 'ends, or the replay does' : 'still waits when the replay ends';
  row.insertCell();
  story.replaceChildren(head, facts, strip, table);
  if (has_stops) story.append(make('p', 'note', 'This page has only some of the runs and waits; jobs.csv and events.csv have all.'));
  story.hidden = false;
  light(j);
};
document.addEventListener('click', e => {
  const asked = e.target.closest('[data-history]'), cell = e.target.closest('#nodes b[data-jobs]');
  if (asked) {
    show_history(Number(asked.dataset.history));
    found.replaceChildren();
  } else if (cell && cell.dataset.jobs.trim()) {
    show_history(Number(cell.dataset.jobs.trim().split(' ')[0]));
  } else if (!e.target.closest('.finder')) {
    found.replaceChildren();
  }
});
document.addEventListener('keydown', e => { if (e.key === 'Escape') { story.hidden = true; light(); } });

// The page may be opened at an instant, or for a range: report.html#at=86400, report.html#from=86400&to=172800.
let has_begun = false;
const asked = new URLSearchParams(location.hash.slice(1)), number_of = key => Number(asked.get(key)) - d.begin;
const busiest = d.pending.length ? d.capacity.reduce((best, _, i) => {
  const n = d.pending.reduce((sum, of) => sum + of[i], 0);
  return n > best[0] ? [n, i] : best;
}, [-1, 0])[1] : 0;
now = index_at(asked.has('at') ? number_of('at') : (busiest + 0.5) * d.width);
if (number_of('to') > number_of('from')) set_range(number_of('from') / d.span, number_of('to') / d.span);
else set_range(0, 1);
has_begun = true;
})();
