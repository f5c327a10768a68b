/* SPDX-License-Identifier: BSL-1.0
   The page: quotas to edit, jobs to draw, the policies beside each other, and the report of one of them. */
(() => {
'use strict';
const {by, make, num, span, ticks_between} = lab;
const policies = [
  {name: 'standard', title: 'Lends what is idle; owners get it back at once. Who borrows gets it by weight.'},
  {name: 'kueue_fair', title: 'Kueue with fair sharing.'},
  {name: 'runai', title: 'KAI Scheduler, of Run:ai.'},
  {name: 'static_quotas', title: 'Fixed parts: nobody lends, nobody borrows.'},
];
const colours = 9;

// --- the scenario: what is drawn is made of it, and it alone

const state = {nodes: 16, gpus: 8, days: 1, checkpoint: 1800, quotas: [], jobs: [], next: 1};
const cluster = () => state.nodes * state.gpus;
const root = () => state.quotas[0];
const children = name => state.quotas.filter(q => q.parent === name);
// The report's colours, once there is one.
let known_colours = null;
const colour_of = name => {
  if (known_colours?.has(name)) return known_colours.get(name);
  const lanes = lanes_shown().map(q => q.name);
  return Math.min(colours - 1, Math.max(0, lanes.indexOf(name)));
};
// Who may have jobs: those without children, and those that have some.
const lanes_shown = () => state.quotas.filter(q =>
  children(q.name).length === 0 || (q !== root() && q.has_lane) || state.jobs.some(j => j.quota === q.name));
const whole_gpus = g => g <= 0 ? 1 : g < 1 ? Math.max(0.1, Math.round(g * 10) / 10) :
  g <= state.gpus ? Math.round(g) : state.gpus * Math.round(g / state.gpus);
const pods_of = job => job.gpus > state.gpus ? Math.ceil(job.gpus / state.gpus) : 1;
const amount = a => typeof a === 'number' ? {gpu: a} : a;

const scenario_text = () => {
  const quotas = state.quotas.map(q => {
    const has_children = children(q.name).length > 0, of = {name: q.name};
    if (q.parent) of.parent = q.parent;
    of.nominal = q === root() ? 'cluster' : {gpu: q.owns};
    if (has_children) of.inclusive = true;
    if (q.weight !== 1) of.weight = q.weight;
    if (q.lends !== 'all') of.lend = amount(q.lends);
    if (q.borrows !== 'all') of.borrow = amount(q.borrows);
    // A team above others may take what it lent them.
    if (has_children && state.jobs.some(j => j.quota === q.name)) of.preempt = {children: true};
    return of;
  });
  const jobs = state.jobs.map(j => {
    const pods = pods_of(j), of = {id: j.id, quota: j.quota, request: {gpu: pods > 1 ? state.gpus : j.gpus}};
    if (pods > 1) of.pods = pods;
    of.submit_s = Math.round(j.submit);
    of.duration_s = Math.max(1, Math.round(j.duration));
    if (j.priority) of.priority = j.priority;
    if (state.checkpoint) of.checkpoint_s = state.checkpoint;
    return of;
  });
  const lines = list => '[\n    ' + list.map(x => JSON.stringify(x)).join(',\n    ') + '\n  ]';
  return '{\n  "format": "allot-scenario/1",\n  "policy": ' + JSON.stringify(shown || policies[0].name) +
    ',\n  "cluster": {"nodes": [{"name": "node", "count": ' + state.nodes + ', "gpus": ' + state.gpus + '}]},\n  "quotas": ' +
    lines(quotas) + ',\n  "jobs": ' + lines(jobs) + '\n}\n';
};

// --- examples

// The same sequence in every browser.
const random_from = seed => () => {
  seed = (seed + 0x6d2b79f5) | 0;
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
};
const hour = 3600;
const quota = (name, parent, owns, more) => ({name, parent, owns, weight: 1, lends: 'all', borrows: 'all', ...more});
const job = (quota, submit_h, hours, gpus, priority) => ({id: quota.toLowerCase().replace(/[^a-z0-9]+/g, '-') + '-' + state.next++,
  quota, submit: submit_h * hour, duration: hours * hour, gpus, priority: priority || 0});
let seed = 1;
// Jobs as clusters have them: most are small, the large ones are long; together they want `load` percent of the GPUs.
const draw_at_random = (count, load) => {
  const random = random_from(seed++), until = state.days * 24 * hour, from = lanes_shown();
  const owned = from.map(q => Math.max(1, q.owns || 0)), all = owned.reduce((a, b) => a + b, 0);
  const most = Math.max(1, cluster() / 2), drawn = [];
  for (let i = 0; i < count; ++i) {
    let at = random() * all, k = 0;
    while (k + 1 < from.length && at >= owned[k]) at -= owned[k++];
    const gpus = Math.min(most, 2 ** Math.floor(random() ** 1.3 * 6.5));
    const duration = Math.exp(Math.log(1200) + random() * Math.log(36)) * (gpus > state.gpus ? 1.6 : 1);
    drawn.push({...job(from[k].name, 0, 1, whole_gpus(gpus), 0), submit: random() * until * 0.85, duration});
  }
  const wanted = drawn.reduce((n, j) => n + j.gpus * j.duration, 0), wish = load / 100 * cluster() * until;
  for (const j of drawn) {
    j.duration = Math.min(until, Math.max(300, Math.round(j.duration * wish / wanted / 60) * 60));
    j.submit = Math.round(j.submit / 60) * 60;
  }
  state.jobs.push(...drawn.sort((a, b) => a.submit - b.submit));
};
const set_up = (nodes, gpus, days, quotas) => Object.assign(state, {nodes, gpus, days, checkpoint: 1800, quotas, jobs: [], next: 1});
const examples = {
  'two teams over a day': () => {
    set_up(4, 8, 1, [quota('lab', '', 32), quota('vision', 'lab', 16), quota('speech', 'lab', 16)]);
    state.jobs = [job('vision', 0, 6, 8), job('vision', 0.5, 9, 16), job('vision', 1, 8, 8), job('speech', 6, 8, 16),
      job('speech', 8, 3, 4), job('vision', 10, 5, 8), job('vision', 12, 4, 16), job('speech', 15, 6, 8), job('speech', 16, 4, 16)];
  },
  'three teams, one above the others': () => {
    set_up(16, 8, 1, [quota('cluster', '', 128), quota('A: services', 'cluster', 128, {has_lane: true}),
      quota('B: training', 'A: services', 48), quota('C: research', 'A: services', 80)]);
    state.jobs = [job('B: training', 0, 20, 32), job('B: training', 0.2, 18, 16), job('B: training', 1, 12, 8),
      job('C: research', 0, 20, 32), job('C: research', 0.3, 16, 32), job('C: research', 1, 12, 8)];
    for (let i = 0; i < 6; ++i) state.jobs.push(job('A: services', 5 + i / 4, 6 - i / 3, 8));
    state.jobs.push(job('C: research', 9, 8, 16), job('B: training', 12, 6, 16));
  },
  'a busy week of four teams': () => {
    set_up(16, 8, 7, [quota('cluster', '', 128), quota('vision', 'cluster', 48), quota('language', 'cluster', 48),
      quota('speech', 'cluster', 24), quota('students', 'cluster', 8, {weight: 0.5})]);
    seed = 7;
    draw_at_random(240, 95);
  },
  'nothing': () => set_up(16, 8, 1, [quota('cluster', '', 128), quota('team a', 'cluster', 64), quota('team b', 'cluster', 64)]),
};
for (const [name, set] of Object.entries(examples)) {
  const button = make('button', '', name);
  button.type = 'button';
  button.onclick = () => {
    set();
    chosen = null;
    known_colours = null;
    show_all();
    forget();
    if (state.jobs.length) simulate();
  };
  by('examples').append(button);
}

// --- quotas

const field = (type, value, name) => {
  const e = make('input');
  e.type = type;
  e.value = value;
  e.setAttribute('aria-label', name);
  return e;
};
const options = (select, all, value) => {
  select.replaceChildren(...all.map(([key, text]) => {
    const o = make('option', '', text);
    o.value = key;
    return o;
  }));
  select.value = value;
};
// A limit: all, nothing, or so many GPUs.
const limit_field = (q, key, what) => {
  const box = make('span', 'amount'), select = make('select'), number = field('number', 0, what + ' at most, GPUs');
  select.setAttribute('aria-label', what);
  options(select, [['all', 'all'], ['none', 'nothing'], ['some', 'at most']], typeof q[key] === 'number' ? 'some' : q[key]);
  number.min = 0;
  number.value = typeof q[key] === 'number' ? q[key] : 8;
  number.hidden = select.value !== 'some';
  const took = () => {
    number.hidden = select.value !== 'some';
    q[key] = number.hidden ? select.value : Math.max(0, Number(number.value));
    changed();
  };
  select.onchange = took;
  number.onchange = took;
  box.append(select, number);
  return box;
};
const rename = (q, name) => {
  for (const c of children(q.name)) c.parent = name;
  for (const j of state.jobs) if (j.quota === q.name) j.quota = name;
  q.name = name;
};
const is_below = (q, name) => {
  for (let at = q; at; at = state.quotas.find(o => o.name === at.parent)) if (at.name === name) return true;
  return false;
};
const remove_quota = q => {
  for (const c of children(q.name)) c.parent = q.parent;
  state.jobs = state.jobs.filter(j => j.quota !== q.name);
  state.quotas.splice(state.quotas.indexOf(q), 1);
  chosen = null;
  known_colours = null;
  quotas_changed();
};
const show_quotas = () => {
  const lanes = new Set(lanes_shown());
  by('quota-table').tBodies[0].replaceChildren(...state.quotas.map(q => {
    const tr = make('tr', q === root() ? 'root' : ''), cell = (...of) => tr.insertCell().append(...of);
    const name = field('text', q.name, 'name'), dot = make('b', 'dot' + (lanes.has(q) ? ' q' + colour_of(q.name) : ''));
    name.maxLength = 60;
    name.onchange = () => {
      const is_free = name.value.trim() && !state.quotas.some(o => o !== q && o.name === name.value.trim());
      if (!is_free) {
        name.value = q.name;
        return;
      }
      rename(q, name.value.trim());
      quotas_changed();
    };
    cell(dot, name);
    if (q === root()) {
      const rest = tr.insertCell();
      rest.colSpan = 5;
      rest.textContent = 'everything: ' + num(cluster()) + ' GPUs';
      tr.insertCell();
      return tr;
    }
    const parent = make('select');
    parent.setAttribute('aria-label', 'within');
    options(parent, state.quotas.filter(o => !is_below(o, q.name)).map(o => [o.name, o.name]), q.parent);
    parent.onchange = () => {
      q.parent = parent.value;
      quotas_changed();
    };
    cell(parent);
    const number = (key, least, step) => {
      const e = field('number', q[key], key);
      e.min = least;
      e.step = step;
      e.dataset.key = key;
      e.onchange = () => {
        if (!e.checkValidity() || e.value === '') {
          e.value = q[key];
          return;
        }
        q[key] = Number(e.value);
        changed();
      };
      cell(e);
    };
    number('owns', 0, 'any');
    number('weight', 0, 'any');
    cell(limit_field(q, 'lends', 'lends'));
    cell(limit_field(q, 'borrows', 'borrows'));
    const remove = make('button', 'small', '×');
    remove.type = 'button';
    remove.title = 'Remove ' + q.name;
    remove.setAttribute('aria-label', remove.title);
    remove.disabled = state.quotas.length <= 2;
    remove.onclick = () => remove_quota(q);
    cell(remove);
    return tr;
  }));
};
by('add-quota').onclick = () => {
  let n = state.quotas.length;
  while (state.quotas.some(q => q.name === 'team ' + n)) ++n;
  const left = cluster() - children(root().name).reduce((sum, q) => sum + q.owns, 0);
  state.quotas.push(quota('team ' + n, root().name, Math.max(0, left)));
  known_colours = null;
  quotas_changed();
};
for (const [id, key] of [['node-count', 'nodes'], ['node-gpus', 'gpus']]) {
  by(id).onchange = () => {
    const e = by(id);
    if (!e.checkValidity() || e.value === '') e.value = state[key];
    state[key] = Number(e.value);
    for (const j of state.jobs) j.gpus = whole_gpus(j.gpus);
    quotas_changed();
  };
}

// --- the drawing

const drawing = by('drawing'), head = 26, foot = 22, side = 2;
let chosen = null, boxes = [], hand = null, hovered = null;
const lane_height = () => innerWidth < 640 ? 84 : 104;
const until = () => state.days * 24 * hour;
// A lane reaches to what is wanted at once, or owned, and some way above it, so that there is room to draw.
let lanes = [];
const lay_out = () => {
  const width = drawing.clientWidth - 2 * side, each = lane_height();
  boxes = [];
  lanes = lanes_shown().map((q, k) => ({q, top: k * (head + each) + head, height: each, peak: 0}));
  for (const lane of lanes) {
    const own = state.jobs.filter(j => j.quota === lane.q.name).sort((a, b) => a.submit - b.submit || b.duration - a.duration);
    const placed = [];
    for (const j of own) {
      // The lowest place that is free as long as it runs.
      const beside = placed.filter(p => p.j.submit + p.j.duration > j.submit).sort((a, b) => a.low - b.low);
      let low = 0;
      for (const p of beside) {
        if (low + j.gpus <= p.low + 1e-9) break;
        low = Math.max(low, p.low + p.j.gpus);
      }
      placed.push({j, low});
      lane.peak = Math.max(lane.peak, low + j.gpus);
    }
    lane.scale = Math.max(lane.peak * 1.12, (lane.q.owns || 0) * 1.3, state.gpus);
    for (const {j, low} of placed) {
      boxes.push({j, lane, x: side + width * j.submit / until(), w: Math.max(3, width * j.duration / until()),
        y: lane.top + lane.height * (1 - (low + j.gpus) / lane.scale), h: Math.max(2.5, lane.height * j.gpus / lane.scale)});
    }
  }
};
const paint = () => {
  lay_out();
  const width = drawing.clientWidth, height = lanes.length * (head + lane_height()) + foot, dense = devicePixelRatio || 1;
  drawing.style.height = height + 'px';
  drawing.width = Math.round(width * dense);
  drawing.height = Math.round(height * dense);
  const c = drawing.getContext('2d'), style = getComputedStyle(document.documentElement);
  const ink = name => style.getPropertyValue('--' + name).trim(), family = getComputedStyle(document.body).fontFamily;
  c.scale(dense, dense);
  c.textBaseline = 'middle';
  const shade = new Map(lanes.map(l => [l.q.name, ink('c' + colour_of(l.q.name))]));
  // A tick every so many hours, in days if there are several.
  const by_day = state.days > 2, unit = by_day ? 24 * hour : hour, all = until() / unit;
  const ticks = ticks_between(0, all).filter(t => Number.isInteger(t));
  for (const lane of lanes) {
    c.fillStyle = ink('panel');
    c.fillRect(side, lane.top, width - 2 * side, lane.height);
    c.font = '600 13px ' + family;
    c.fillStyle = shade.get(lane.q.name);
    c.fillRect(side, lane.top - 15, 11, 11);
    c.fillStyle = ink('ink');
    const name = lane.q.name.length > 40 ? lane.q.name.slice(0, 38) + '…' : lane.q.name;
    c.fillText(name, side + 17, lane.top - 9);
    const after = side + 17 + c.measureText(name).width + 12;
    c.font = '12px ' + family;
    c.fillStyle = ink('soft');
    if (width > 520 || after < width * 0.55) {
      c.textAlign = 'right';
      c.fillText(lane.peak ? 'wants up to ' + num(lane.peak) + ' GPUs at once' : 'no jobs', width - side, lane.top - 9);
      c.textAlign = 'left';
    }
    c.fillStyle = ink('line');
    for (const t of ticks) if (t > 0 && t < all) c.fillRect(side + (width - 2 * side) * t / all, lane.top, 1, lane.height);
  }
  for (const b of boxes) {
    const gap = b.h > 5 ? 1 : 0.5;
    c.globalAlpha = hovered && hovered !== b.j && b.j !== chosen ? 0.75 : 1;
    c.fillStyle = shade.get(b.j.quota);
    c.beginPath();
    c.roundRect(b.x, b.y + gap / 2, Math.max(2, b.w - 1), Math.max(2, b.h - gap), Math.min(3, b.h / 3));
    c.fill();
    if (b.j === chosen) {
      c.globalAlpha = 1;
      c.strokeStyle = ink('ink');
      c.lineWidth = 2;
      c.stroke();
    }
  }
  c.globalAlpha = 1;
  for (const lane of lanes) {
    if (!lane.q.owns || lane.q === root() || children(lane.q.name).length) continue;
    const y = Math.round(lane.top + lane.height * (1 - lane.q.owns / lane.scale)) + 0.5;
    c.strokeStyle = ink('ink');
    c.lineWidth = 1;
    c.setLineDash([5, 4]);
    c.beginPath();
    c.moveTo(side, y);
    c.lineTo(width - side, y);
    c.stroke();
    c.setLineDash([]);
    c.font = '12px ' + family;
    c.textAlign = 'right';
    const text = 'owns ' + num(lane.q.owns), w = c.measureText(text).width;
    c.fillStyle = ink('panel');
    c.globalAlpha = 0.8;
    c.fillRect(width - side - w - 10, y - 17, w + 8, 15);
    c.globalAlpha = 1;
    c.fillStyle = ink('ink');
    c.fillText(text, width - side - 6, y - 9);
    c.textAlign = 'left';
  }
  c.font = '12px ' + family;
  c.fillStyle = ink('soft');
  const last = Math.floor(all);
  for (const t of ticks) {
    c.textAlign = t === 0 ? 'left' : t === last && t === all ? 'right' : 'center';
    c.fillText(by_day ? 'day ' + t : t + ' h', side + (width - 2 * side) * t / all, height - foot / 2 + 2);
  }
  c.textAlign = 'left';
  if (hand?.rubber) {
    const r = hand.rubber;
    c.fillStyle = shade.get(r.lane.q.name);
    c.globalAlpha = 0.65;
    c.fillRect(r.x, r.y, r.w, r.h);
    c.globalAlpha = 1;
    c.strokeStyle = ink('ink');
    c.strokeRect(r.x, r.y, r.w, r.h);
  }
};

const place_of = e => {
  const box = drawing.getBoundingClientRect();
  return {x: e.clientX - box.left, y: e.clientY - box.top};
};
const time_at = x => Math.max(0, Math.min(until(), (x - side) / (drawing.clientWidth - 2 * side) * until()));
// In steps that a hand can keep.
const step = () => state.days <= 1 ? 900 : state.days <= 3 ? 1800 : hour;
const rounded = t => Math.round(t / step()) * step();
const lane_at = y => lanes.find(l => y >= l.top - head && y < l.top + l.height) || null;
const box_at = p => boxes.findLast(b => p.x >= b.x - 1 && p.x <= b.x + b.w + 1 && p.y >= b.y - 1 && p.y <= b.y + b.h + 1);
const is_end = (b, p) => b.w > 16 && p.x > b.x + b.w - 7;
const describe = j => [['GPUs', num(j.gpus)], ['submitted', clock_of(j.submit)], ['runs', span(j.duration)]];
const clock_of = t => lab.clock(t, false);
drawing.addEventListener('pointerdown', e => {
  if (e.button !== 0) return;
  const p = place_of(e), lane = lane_at(p.y), box = box_at(p);
  if (!lane) return;
  hand = {from: p, lane, box, end: box && is_end(box, p), was: box && {...box.j}, moved: false};
  drawing.setPointerCapture(e.pointerId);
  lab.hide_tip();
});
drawing.addEventListener('pointermove', e => {
  const p = place_of(e);
  if (!hand) {
    const box = box_at(p);
    drawing.style.cursor = box ? is_end(box, p) ? 'ew-resize' : 'grab' : lane_at(p.y) ? 'crosshair' : 'default';
    if (hovered !== (box?.j || null)) {
      hovered = box?.j || null;
      paint();
    }
    if (box) lab.show_tip(e, box.j.id, describe(box.j));
    else lab.hide_tip();
    return;
  }
  if (!hand.moved && Math.hypot(p.x - hand.from.x, p.y - hand.from.y) < 4) return;
  hand.moved = true;
  if (hand.box) {
    const j = hand.box.j;
    chosen = j;
    if (hand.end) {
      j.duration = Math.max(step(), rounded(time_at(p.x)) - j.submit);
    } else {
      const by_time = time_at(p.x) - time_at(hand.from.x);
      j.submit = Math.min(until() - step(), Math.max(0, rounded(hand.was.submit + by_time)));
      const lane = lane_at(p.y);
      if (lane) j.quota = lane.q.name;
    }
    lab.show_tip(e, j.id, describe(j));
  } else {
    const lane = hand.lane, a = rounded(time_at(Math.min(p.x, hand.from.x))), b = rounded(time_at(Math.max(p.x, hand.from.x)));
    const up = Math.abs(p.y - hand.from.y) / lane.height * lane.scale;
    // Powers of two within a node, whole nodes above.
    const small = 2 ** Math.round(Math.log2(Math.max(1, up)));
    const gpus = Math.min(cluster(), up > state.gpus * 0.75 ? Math.max(state.gpus, whole_gpus(up)) : Math.min(state.gpus, small));
    const x = t => side + (drawing.clientWidth - 2 * side) * t / until(), tall = lane.height * gpus / lane.scale;
    const y = p.y < hand.from.y ? hand.from.y - tall : hand.from.y;
    hand.drawn = {submit: a, duration: Math.max(step(), b - a), gpus};
    hand.rubber = {lane, x: x(a), w: Math.max(3, x(a + hand.drawn.duration) - x(a)), y: Math.max(lane.top, Math.min(lane.top + lane.height - tall, y)), h: tall};
    lab.show_tip(e, 'a job of ' + lane.q.name, describe(hand.drawn));
  }
  paint();
});
const let_go = e => {
  if (!hand) return;
  const {box, drawn, moved, lane} = hand;
  hand = null;
  lab.hide_tip();
  if (!moved || e.type === 'pointercancel') {
    if (e.type !== 'pointercancel') chosen = box ? box.j : null;
    show_drawing();
    return;
  }
  if (drawn) {
    chosen = {...job(lane.q.name, 0, 1, drawn.gpus), ...drawn};
    chosen.id = free_id(chosen.id);
    state.jobs.push(chosen);
  }
  changed();
};
drawing.addEventListener('pointerup', let_go);
drawing.addEventListener('pointercancel', let_go);
drawing.addEventListener('pointerleave', () => {
  hovered = null;
  if (!hand) lab.hide_tip();
  paint();
});
drawing.addEventListener('keydown', e => {
  if (e.key === 'Delete' || e.key === 'Backspace') {
    e.preventDefault();
    remove_job();
    return;
  }
  const way = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[e.key];
  if (!way || state.jobs.length === 0) return;
  e.preventDefault();
  const sorted = boxes.map(b => b.j), at = sorted.indexOf(chosen);
  chosen = sorted[at < 0 ? 0 : (at + way + sorted.length) % sorted.length];
  show_drawing();
});
const free_id = id => {
  let free = id, n = 2;
  while (state.jobs.some(j => j.id === free)) free = id + '.' + n++;
  return free;
};
const remove_job = () => {
  if (!chosen) return;
  state.jobs.splice(state.jobs.indexOf(chosen), 1);
  chosen = null;
  changed();
};
by('remove-job').onclick = remove_job;
by('remove-all').onclick = () => {
  state.jobs = [];
  chosen = null;
  changed();
};
by('add-job').onclick = () => {
  chosen = job(lanes_shown()[0].name, 0, Math.max(1, state.days * 4), state.gpus);
  chosen.id = free_id(chosen.id);
  state.jobs.push(chosen);
  changed();
};
by('at-random').onclick = () => {
  if (!by('random-count').checkValidity() || !by('random-load').checkValidity()) return;
  draw_at_random(Number(by('random-count').value) || 0, Number(by('random-load').value) || 0);
  const taken = new Set();
  for (const j of state.jobs) {
    while (taken.has(j.id)) j.id += '.2';
    taken.add(j.id);
  }
  chosen = null;
  changed();
};
by('days').onchange = () => {
  state.days = Number(by('days').value);
  changed();
};
by('checkpoint').onchange = () => {
  state.checkpoint = Number(by('checkpoint').value);
  changed();
};

// --- the job that is chosen, and all of them as text

const form = by('chosen-job');
const hours = t => String(Math.round(t / hour * 1000) / 1000);
const show_job = () => {
  form.hidden = !chosen;
  if (!chosen) return;
  options(form.elements.quota, state.quotas.map(q => [q.name, q.name]), chosen.quota);
  form.elements.id.value = chosen.id;
  form.elements.gpus.value = chosen.gpus;
  form.elements.submit.value = hours(chosen.submit);
  form.elements.duration.value = hours(chosen.duration);
  form.elements.priority.value = chosen.priority;
  const pods = pods_of(chosen);
  by('pods').textContent = pods > 1 ? pods + ' nodes, which start together' : '';
};
form.addEventListener('submit', e => e.preventDefault());
form.addEventListener('change', () => {
  const f = form.elements, id = f.id.value.trim();
  if (id && !state.jobs.some(j => j !== chosen && j.id === id)) chosen.id = id;
  chosen.quota = f.quota.value;
  const value = (name, was, unit) => f[name].checkValidity() && f[name].value !== '' ? Number(f[name].value) * unit : was;
  chosen.gpus = Math.min(cluster(), whole_gpus(value('gpus', chosen.gpus, 1)));
  chosen.submit = value('submit', chosen.submit, hour);
  chosen.duration = Math.max(1, value('duration', chosen.duration, hour));
  chosen.priority = value('priority', chosen.priority, 1);
  quotas_changed();
});
const csv_field = text => /[",\r\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
const show_text = () => {
  if (!by('as-text').open) return;
  by('csv').value = 'job_id,submit_s,duration_s,gpus,tenant,priority\n' + state.jobs.map(j =>
    [csv_field(j.id), Math.round(j.submit), Math.round(j.duration), j.gpus, csv_field(j.quota), j.priority].join(',') + '\n').join('');
};
by('as-text').addEventListener('toggle', show_text);
const csv_rows = text => {
  const rows = [[]];
  let at = 0;
  while (at < text.length) {
    let value = '';
    if (text[at] === '"') {
      for (++at; at < text.length && (text[at] !== '"' || text[at + 1] === '"'); ++at) {
        if (text[at] === '"') ++at;
        value += text[at];
      }
      ++at;
    }
    while (at < text.length && !/[,\r\n]/.test(text[at])) value += text[at++];
    rows.at(-1).push(value);
    if (text[at] !== ',') {
      if (text[at] === '\r' && text[at + 1] === '\n') ++at;
      rows.push([]);
    } else if (at + 1 === text.length) {
      rows.at(-1).push('');
    }
    ++at;
  }
  return rows.filter(r => r.some(value => value.trim() !== ''));
};
by('take-over').onclick = () => {
  const [top, ...rows] = csv_rows(by('csv').value), wrong = [], jobs = [], names = new Set();
  const column = name => (top || []).findIndex(h => h.trim() === name);
  for (const name of ['job_id', 'submit_s', 'duration_s', 'gpus', 'tenant']) if (column(name) < 0) wrong.push('there is no column ' + name);
  if (wrong.length === 0) rows.forEach((r, i) => {
    const value = name => (r[column(name)] ?? '').trim(), number = name => value(name) === '' ? NaN : Number(value(name));
    const j = {id: value('job_id'), quota: value('tenant'), submit: number('submit_s'), duration: number('duration_s'),
      gpus: number('gpus'), priority: column('priority') < 0 ? 0 : Number(value('priority'))};
    const says = what => wrong.push('row ' + (i + 2) + ': ' + what);
    if (!j.id || names.has(j.id)) says('job_id "' + j.id + '" is ' + (j.id ? 'there twice' : 'empty'));
    names.add(j.id);
    if (!(j.submit >= 0)) says('submit_s is not a time');
    if (!(j.duration > 0)) says('duration_s is not a time');
    if (!(j.gpus > 0)) says('gpus is not an amount');
    if (!Number.isInteger(j.priority)) says('priority is not a whole number');
    if (!state.quotas.some(q => q.name === j.quota)) says('there is no quota "' + j.quota + '"');
    jobs.push({...j, gpus: whole_gpus(j.gpus)});
  });
  complain(wrong.length ? 'The table was not taken over.\n' + wrong.slice(0, 20).join('\n') : '');
  if (wrong.length) return;
  state.jobs = jobs;
  const end = jobs.reduce((t, j) => Math.max(t, j.submit + j.duration), 0) / 86400;
  state.days = [0.5, 1, 3, 7, 14].find(days => days >= end) || 14;
  chosen = null;
  show_all();
  changed();
};

// --- all that is shown

const show_drawing = () => {
  paint();
  show_job();
  show_text();
  const wanted = state.jobs.reduce((n, j) => n + j.gpus * j.duration, 0);
  by('wanted').textContent = num(state.jobs.length) + (state.jobs.length === 1 ? ' job wants ' : ' jobs want ') +
    num(Math.round(wanted / hour)) + ' GPU-hours, ' + num(Math.round(100 * wanted / cluster() / until())) + ' % of what there is';
};
const show_owned = () => {
  const owned = children(root().name).reduce((n, q) => n + q.owns, 0), left = cluster() - owned;
  by('owned').textContent = num(cluster()) + ' GPUs' + (left > 0 ? ', ' + num(left) + ' of which nobody owns' :
    left < 0 ? ': the teams own ' + num(-left) + ' more' : '');
  by('owned').style.color = left < 0 ? 'var(--alarm)' : '';
};
const show_all = () => {
  by('node-count').value = state.nodes;
  by('node-gpus').value = state.gpus;
  by('days').value = state.days;
  by('checkpoint').value = state.checkpoint;
  show_quotas();
  show_owned();
  show_drawing();
};
// What was simulated is of another scenario now.
const changed = () => {
  show_owned();
  show_drawing();
  if (results.size) by('said').textContent = 'changed since; simulate again';
};

const quotas_changed = () => {
  show_quotas();
  changed();
};

// --- the program, in a worker, so that the page can be used while it computes

let worker = null, is_ready = false, run = 0, begin = 0, shown = policies[0].name;
const results = new Map();
const complain = text => {
  by('problems').textContent = text;
  by('problems').hidden = text === '';
};
const start_worker = () => {
  const url = URL.createObjectURL(new Blob([by('program').textContent], {type: 'text/javascript'}));
  worker = new Worker(url);
  worker.onmessage = e => {
    URL.revokeObjectURL(url);
    heard(e.data);
  };
  worker.onerror = e => {
    complain('The program can\'t be run in this browser: ' + e.message);
    by('said').textContent = '';
  };
};
const heard = m => {
  if (m.ready) {
    is_ready = true;
    document.documentElement.dataset.ready = 'yes';
    by('said').textContent = '';
    if (state.jobs.length) simulate();
    return;
  }
  if (m.number !== undefined && m.number !== run) return;
  if (m.broken !== undefined) {
    complain('The program broke off' + (m.policy ? ' under ' + m.policy : '') + ': ' + m.broken);
    by('said').textContent = '';
    by('simulate').disabled = false;
    worker.terminate();
    is_ready = false;
    start_worker();
    return;
  }
  results.set(m.policy, m);
  if (m.status !== 0) complain(m.said.replaceAll('/scenario.json', 'scenario.json'));
  const is_last = results.size === policies.length;
  by('said').textContent = is_last ? 'simulated in ' + num(Math.round(performance.now() - begin)) + ' ms' :
    'simulating: ' + results.size + ' of ' + policies.length;
  by('simulate').disabled = !is_last;
  if (m.policy === shown || is_last) show_report(shown);
  show_results();
  if (is_last) document.documentElement.dataset.run = run;
};
const forget = () => {
  results.clear();
  show_results();
  by('report-part').hidden = true;
  by('said').textContent = '';
  complain('');
};
const simulate = () => {
  if (!is_ready) return;
  ++run;
  results.clear();
  complain('');
  if (state.jobs.length === 0) {
    forget();
    complain('There are no jobs yet: draw some.');
    return;
  }
  begin = performance.now();
  by('simulate').disabled = true;
  by('said').textContent = 'simulating';
  // The one whose report is open first.
  const order = [shown, ...policies.map(p => p.name).filter(p => p !== shown)];
  worker.postMessage({number: run, scenario: scenario_text(), policies: order});
};
by('simulate').onclick = simulate;

const show_results = () => {
  const table = by('results'), there = policies.filter(p => results.get(p.name)?.status === 0);
  table.replaceChildren();
  if (there.length === 0) return;
  const top = table.createTHead().insertRow();
  for (const text of ['policy', 'mean wait', 'longest wait', 'mean completion', 'GPUs in use', 'preempted', 'lost GPU-h']) {
    const th = make('th', '', text);
    th.scope = 'col';
    top.append(th);
  }
  const body = table.createTBody();
  for (const p of there) {
    const s = results.get(p.name).summary, tr = body.insertRow(), cell = text => tr.insertCell().append(text);
    const name = make('button', 'at', p.name);
    name.type = 'button';
    tr.insertCell().append(name, make('small', '', p.title));
    cell(s.queue_s?.mean == null ? '–' : span(s.queue_s.mean));
    cell(span(s.max_wait_s));
    cell(s.jct_s?.mean == null ? '–' : span(s.jct_s.mean));
    cell(s.allocation_rate === null ? '–' : num(s.allocation_rate * 100) + ' %');
    cell(num(s.preemptions));
    cell(num(s.lost_gpu_h));
    if (s.jobs.completed < s.jobs.total) {
      const left = make('small', '', num(s.jobs.total - s.jobs.completed) + ' of ' + num(s.jobs.total) + ' jobs never ended');
      left.style.color = 'var(--alarm)';
      left.style.display = 'block';
      tr.cells[0].append(left);
    }
    tr.dataset.policy = p.name;
    tr.setAttribute('aria-current', p.name === shown);
    tr.onclick = () => {
      show_report(p.name);
      show_results();
      by('report-part').scrollIntoView({behavior: 'smooth', block: 'start'});
    };
  }
};
const save = (name, text, type) => {
  const link = make('a');
  link.href = URL.createObjectURL(new Blob([text], {type}));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
};
const show_report = name => {
  const r = results.get(name);
  shown = name;
  by('report-part').hidden = r?.status !== 0;
  if (r?.status !== 0) return;
  by('report-head').textContent = 'Under ' + name;
  by('report').srcdoc = r.report;
};
by('report').addEventListener('load', () => {
  const data = by('report').contentDocument?.getElementById('data');
  if (!data) return;
  // One quota has one colour, in the drawing and in the report.
  known_colours = new Map(JSON.parse(data.textContent).layers.map(l => [l.name, l.colour]));
  show_quotas();
  paint();
});
for (const [text, act] of [
  ['To any instant', () => by('report').contentDocument.getElementById('moment').scrollIntoView({behavior: 'smooth', block: 'start'})],
  ['Save the report', () => save('report-' + shown + '.html', results.get(shown).report, 'text/html')],
  ['Save jobs.csv', () => save('jobs-' + shown + '.csv', results.get(shown).jobs, 'text/csv')],
  ['Save the scenario', () => save('scenario.json', scenario_text(), 'application/json')],
]) {
  const button = make('button', '', text);
  button.type = 'button';
  button.onclick = act;
  by('saves').append(button);
}

addEventListener('resize', paint);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', paint);
by('size').textContent = 'The program in this page is ' + num(Math.round(by('program').textContent.length / 1e5) / 10) + ' MB.';
examples['two teams over a day']();
show_all();
start_worker();
})();
