/* SPDX-License-Identifier: BSL-1.0
   The script of the report. */
(() => {
'use strict';
const by = id => document.getElementById(id);
const d = JSON.parse(by('data').textContent);
const make = (tag, css, text) => {
  const e = document.createElement(tag);
  if (css) e.className = css;
  if (text !== undefined) e.textContent = text;
  return e;
};
const num = x => x.toLocaleString('en', {maximumFractionDigits: x < 10 && x % 1 ? 2 : 1});
const gpus = x => num(x) + (x === 1 ? ' GPU' : ' GPUs');
const two = n => String(n).padStart(2, '0');
const clock = (since, seconds) => {
  const t = Math.floor(d.begin + since), s = t % 86400;
  return 'day ' + Math.floor(t / 86400).toLocaleString('en') + ', ' + two(Math.floor(s / 3600)) + ':' +
    two(Math.floor(s % 3600 / 60)) + (seconds ? ':' + two(s % 60) : '');
};
const span = s => s < 120 ? num(Math.round(s)) + ' s' : s < 7200 ? num(Math.round(s / 60)) + ' min' :
  s < 172800 ? num(Math.round(s / 360) / 10) + ' h' : num(Math.round(s / 8640) / 10) + ' d';
const colour = k => 'var(--c' + d.layers[k].colour + ')';

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
    list.push({...job(d.stays[i]), since: d.stays[i + 1], why});
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
      cell.className = (same(before) ? 'join ' : '') + (same(after) ? 'open' : '');
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
    const team = make('div', 'team'), name = make('span'), bar = make('div', 'bar'), fill = make('i');
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
const named = j => [make('b', 'dot q' + d.layers[j.layer].colour), j.sets ? j.id + ' (' + j.sets + ')' : j.id];
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
  slider.value = t;
  by('when').textContent = clock(t, true);
  slider.setAttribute('aria-valuetext', clock(t, true) + ', ' + gpus(all_used) + ' in use, ' +
    num(all_waiting) + ' jobs waiting');
  by('now').textContent = gpus(all_used) + ' in use by ' + num(running.length) +
    (running.length === 1 ? ' job, ' : ' jobs, ') + num(all_waiting) + ' waiting';
  by('before').disabled = now === 0;
  by('after').disabled = now === times.length - 1;
  for (const mark of document.querySelectorAll('.plot:not([data-kind=waits]) .mark')) {
    mark.style.display = 'block';
    mark.style.left = 100 * t / d.span + '%';
  }
  show_nodes(running);
  show_teams(t, used, waits);
  by('run-head').textContent = 'Running: ' + num(running.length);
  by('wait-head').textContent = 'Waiting: ' + num(all_waiting);
  const has_nodes = node_names.length > 0;
  fill_table(by('run-table'), 'run',
    [['job', 't'], ['GPUs'], ['for'], ['to go'], ...(has_nodes ? [['on', 't']] : [])],
    running.map(r => Object.assign([named(r), num(r.has), span(t - r.since), span(r.until - t),
      ...(has_nodes ? [node_list(r.pods)] : [])], {job: r.j})), 'nothing runs');
  fill_table(by('wait-table'), 'wait', [['job', 't'], ['GPUs'], ['for'], ['why', 't why']],
    waiting.map(w => [named(w), num(w.gpus), span(t - w.since),
      (w.since > w.submit ? 'was preempted; ' : '') + (w.why ?? (before_in_queue(w, waiting) < 8 ?
        'its scheduler was not asked yet' : 'further back in its queue'))]), all_waiting ? 'not listed' : 'no job waits');
  if (all_waiting > waiting.length) {
    const more = by('wait-table').createTFoot().insertRow().insertCell();
    more.colSpan = 4;
    more.textContent = 'and ' + num(all_waiting - waiting.length) + ' further back in the queues, which this page only counts';
  }
};
slider.max = times[times.length - 1];
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

const tip = document.body.appendChild(make('div'));
tip.id = 'tip';
const plots = [...document.querySelectorAll('.plot')];
const rows_for = (kind, x) => {
  const i = Math.min(d.capacity.length - 1, Math.floor(x * d.span / d.width));
  const at = clock(i * d.width), layers = pick => d.layers.map((l, k) => [l.name, pick(k), l.colour]);
  if (kind === 'gpus') {
    const sum = d.used.reduce((n, of) => n + of[i], 0);
    return [at, [...layers(k => num(d.used[k][i])),
      ['in use', num(sum) + (d.bounded ? ' of ' + num(d.capacity[i]) : '')]]];
  }
  if (kind.startsWith('quota:')) {
    const k = Number(kind.slice(6)), owns = nominal_at(k, i * d.width);
    return [at, [['in use', num(d.used[k][i]), d.layers[k].colour], ['of it borrowed', num(d.borrowed[k][i])],
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
    return [at, [['in use', num(100 * used / all) + ' %'], ['idle beside others', num(100 * d.stranded[i] / all) + ' %'],
      ['idle', num(Math.max(0, 100 * (all - used) / all)) + ' %']]];
  }
  if (kind === 'preemptions') {
    const n = d.cuts[0].length, k = Math.min(n - 1, Math.floor(x * n));
    return [clock(k * d.span / n), layers(l => num(d.cuts[l][k]))];
  }
  if (kind === 'waits') {
    const n = d.cdf[0].length, k = Math.round(x * (n - 1));
    return ['within ' + span(Math.exp(x * Math.log(d.longest))), layers(l => num(d.cdf[l][k]) + ' %')];
  }
  return ['', []];
};
const hide = () => {
  tip.style.display = 'none';
  for (const p of plots) p.querySelector('.cursor').style.display = 'none';
};
const part_of = (plot, e) => {
  const box = plot.getBoundingClientRect();
  return Math.min(1, Math.max(0, (e.clientX - box.left) / box.width));
};
for (const plot of plots) {
  const kind = plot.dataset.kind;
  plot.addEventListener('pointermove', e => {
    const x = part_of(plot, e), [title, rows] = rows_for(kind, x);
    for (const p of plots) {
      const cursor = p.querySelector('.cursor'), same = (p.dataset.kind === 'waits') === (kind === 'waits');
      cursor.style.display = same ? 'block' : 'none';
      cursor.style.left = 100 * x + '%';
    }
    const table = make('table');
    for (const [name, value, mark] of rows) {
      const tr = table.insertRow(), first = tr.insertCell();
      if (mark !== undefined) first.append(make('b', 'q' + mark));
      first.append(name);
      tr.insertCell().textContent = value;
    }
    tip.replaceChildren(make('p', '', title), table);
    tip.style.display = 'block';
    const left = e.clientX + 16 + tip.offsetWidth > innerWidth ? e.clientX - tip.offsetWidth - 16 : e.clientX + 16;
    tip.style.left = Math.max(4, left) + 'px';
    tip.style.top = Math.max(4, Math.min(e.clientY + 14, innerHeight - tip.offsetHeight - 8)) + 'px';
  });
  plot.addEventListener('pointerleave', hide);
  if (kind !== 'waits') plot.addEventListener('click', e => show(index_at(part_of(plot, e) * d.span)));
}
addEventListener('scroll', hide, {passive: true});

// The page may be opened at an instant: report.html#at=86400.
const asked = /^#at=([0-9.]+)$/.exec(location.hash);
const busiest = d.pending.length ? d.capacity.reduce((best, _, i) => {
  const n = d.pending.reduce((sum, of) => sum + of[i], 0);
  return n > best[0] ? [n, i] : best;
}, [-1, 0])[1] : 0;
show(index_at(asked ? Number(asked[1]) - d.begin : (busiest + 0.5) * d.width));
})();
