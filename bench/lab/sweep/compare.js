/* SPDX-License-Identifier: BSL-1.0
   The script of the pages that compare. */
(() => {
'use strict';
const {by, make, num, clock, span, ticks_between, part_of, show_tip, hide_tip, put_cursor} = lab;
const svg_of = plot => plot.querySelector('svg');
const path = (css, d) => {
  const p = document.createElementNS(document.querySelector('svg').namespaceURI, 'path');
  p.setAttribute('class', css);
  p.setAttribute('d', d);
  return p;
};

// --- curves that are there as they were drawn: the values are read off their paths

const steps_of = d => {
  const steps = [];
  let x = 0, y = 0;
  for (const [, letter, a, b] of d.matchAll(/([MVHZ])([\d.]*) ?([\d.]*)/g)) {
    if (letter === 'M') [x, y] = [Number(a), Number(b)];
    else if (letter === 'V') y = Number(a);
    else if (letter === 'H') x = Number(a);
    steps.push([x, y]);
  }
  return steps;
};
// The height where the curve is at x; both in thousandths of the plot.
const height_at = (steps, x) => {
  let y = steps[0][1];
  for (const [to, height] of steps) {
    if (to > x) break;
    y = height;
  }
  return y;
};
for (const plot of document.querySelectorAll('.plot[data-kind^="lines:"],.plot[data-kind^="stack:"]')) {
  const [kind, axis, ...ends] = plot.dataset.kind.split(':');
  const [first, last] = ends.map(Number), top = Number(plot.dataset.top), bottom = Number(plot.dataset.bottom);
  const names = {};
  for (const entry of plot.closest('figure').querySelectorAll('.legend span')) {
    names[entry.firstChild.className.match(/\d+/)[0]] = entry.textContent;
  }
  const curves = [...plot.querySelectorAll(kind === 'lines' ? 'path.curve' : 'path.area')].map(p => ({
    colour: p.getAttribute('class').match(/[sq](\d+)/)[1], steps: steps_of(p.getAttribute('d'))}));
  plot.addEventListener('pointermove', e => {
    const x = part_of(plot, e);
    const values = curves.map(c => bottom + (1 - height_at(c.steps, 1000 * x) / 1000) * (top - bottom));
    // A layer reaches from the one that was drawn after it up to its own curve.
    const rows = curves.map((c, k) => [names[c.colour], num(kind === 'lines' ? values[k] : values[k] - (values[k + 1] ?? 0)),
      'q' + c.colour]);
    if (kind === 'stack') rows.reverse();
    const unit = plot.parentElement.querySelector('.y em').textContent;
    show_tip(e, axis === 'time' ? clock(first + x * last) : 'within ' + span(Math.exp(x * Math.log(first))),
      rows.map(([name, value, mark]) => [name, value + (unit === '%' ? ' %' : ''), mark]));
    put_cursor(plot, x);
  });
  plot.addEventListener('pointerleave', hide_tip);
}

// --- curves over the load

const data = by('curves');
if (!data) return;
const colour_of = k => k % 8 + (k < 8 ? '' : ' dash' + (1 + Math.floor(k / 8) % 2));
const units = {
  time: most => most < 120 ? [1, 's'] : most < 7200 ? [60, 'min'] : most < 172800 ? [3600, 'h'] : [86400, 'd'],
  rate: () => [0.01, '%'],
};
const shown = (v, kind) => kind === 'time' ? (v < 0 ? '−' : '') + span(Math.abs(v)) :
  kind === 'rate' ? num(100 * v) + ' %' : kind === 'index' ? v.toFixed(3) : num(v);
const usual_spans = new Map([[1, '1 s'], [10, '10 s'], [60, '1 min'], [600, '10 min'], [3600, '1 h'], [21600, '6 h'],
  [86400, '1 d'], [604800, '7 d'], [2592000, '30 d'], [15552000, '180 d']]);
const log_ticks = (a, b, kind) => {
  if (kind === 'time') return [...usual_spans.keys()].filter(v => v >= a && v <= b);
  const ticks = [];
  for (let power = 10 ** Math.floor(Math.log10(a)); power <= b; power *= 10) {
    for (const v of b / a < 50 ? [power, 2 * power, 5 * power] : [power]) if (v >= a && v <= b) ticks.push(v);
  }
  return ticks;
};
const hidden = new Set();
const charts = JSON.parse(data.textContent).map((c, number) => {
  const plot = document.querySelector('.plot[data-kind="curve:' + number + '"]');
  c.plot = plot;
  c.chart = plot.parentElement;
  const lines = c.sides.flatMap(s => s.points.filter(p => p).map(p => p[0])).sort((a, b) => a - b);
  const middle = lines[lines.length >> 1], most = lines[lines.length - 1];
  c.can_log = lines[0] >= 0 && most > 0 && c.kind !== 'rate' && c.kind !== 'index';
  // One that is far above all others would press them to the ground.
  c.is_log = c.can_log && most > 20 * Math.max(middle, most * 1e-6);
  const range = c.loads[c.loads.length - 1] - c.loads[0];
  c.at = c.loads.map(l => 0.04 + 0.92 * (l - c.loads[0]) / range);
  return c;
});
const draw = c => {
  const sides = c.sides.map((s, k) => ({...s, k})).filter(s => !hidden.has(s.name) && s.points.some(p => p));
  const all = sides.flatMap(s => s.points.filter(p => p).flatMap(p => p.slice(0, 3)));
  const most = Math.max(...all, 0), least = Math.min(...all, most), above = all.filter(v => v > 0);
  const is_log = c.is_log && above.length > 0;
  let bottom, top, ticks, unit = ['', ''];
  if (is_log) {
    top = most * 1.1;
    bottom = Math.max(Math.min(...above), most * 1e-6) / 1.1;
    ticks = log_ticks(bottom, top, c.kind);
  } else {
    // With zero, unless all lies in the last quarter.
    bottom = least >= 0 && least < 0.75 * most || least >= most ? 0 : least;
    top = most > bottom ? most : bottom + 1;
    ticks = ticks_between(bottom, top);
    unit = units[c.kind]?.(Math.max(Math.abs(most), Math.abs(least))) ?? [1, c.unit ??= c.chart.querySelector('.y em').textContent];
    ticks = ticks_between(bottom / unit[0], top / unit[0]).map(v => v * unit[0]);
  }
  const part = v => is_log ? Math.max(0, Math.log(Math.max(v, bottom) / bottom) / Math.log(top / bottom)) :
    (v - bottom) / (top - bottom);
  const y = v => (1000 * (1 - part(v))).toFixed(2), x = i => (1000 * c.at[i]).toFixed(2);
  const svg = svg_of(c.plot), bands = [], lines = [];
  for (const s of sides) {
    // Where a load has no value, the line is interrupted.
    const pieces = s.points.reduce((all, p, i) => {
      if (p) all[all.length - 1].push(i); else all.push([]);
      return all;
    }, [[]]).filter(piece => piece.length);
    for (const piece of pieces) {
      const upper = piece.map(i => x(i) + ' ' + y(s.points[i][2])), lower = piece.map(i => x(i) + ' ' + y(s.points[i][1]));
      const line = piece.map(i => x(i) + ' ' + y(s.points[i][0]));
      if (piece.length > 1) bands.push(path('band q' + s.k % 8, 'M' + [...upper, ...lower.reverse()].join('L') + 'Z'));
      lines.push(path('curve s' + colour_of(s.k), 'M' + line.join('L')));
      lines.push(path('dots curve s' + colour_of(s.k), line.map(p => 'M' + p + 'h0').join('')));
    }
  }
  svg.replaceChildren(...ticks.map(v => path('grid', 'M0 ' + y(v) + 'H1000')), ...bands, ...lines,
    ...(bottom < 0 ? [path('axis', 'M0 ' + y(0) + 'H1000')] : []));
  const labels = make('div', 'y');
  labels.setAttribute('aria-hidden', true);
  for (const v of ticks) {
    const label = make('i', '', is_log ? (c.kind === 'time' && usual_spans.get(v)) || shown(v, c.kind) : (v < 0 ? '−' : '') + num(Math.abs(v) / unit[0]));
    label.style.bottom = 100 * part(v) + '%';
    labels.append(label);
  }
  labels.append(make('em', '', is_log ? 'log' : unit[1]));
  c.chart.querySelector('.y').replaceWith(labels);
  // Names at the ends of the lines, as near to them as they can be without covering one another.
  const ends = make('div', 'ends'), room = c.plot.clientHeight, distance = 15;
  const named = sides.map(s => {
    const i = s.points.findLastIndex(p => p);
    return {s, to: room * (1 - part(s.points[i][0]))};
  }).sort((a, b) => a.to - b.to);
  named.forEach((n, i) => { n.at = Math.max(n.to, i ? named[i - 1].at + distance : 0); });
  for (let i = named.length, limit = room; i-- > 0; limit = named[i].at - distance) named[i].at = Math.min(named[i].at, limit);
  for (const {s, at} of named) {
    const label = make('i', '', '');
    label.append(make('b', 'rule curve s' + colour_of(s.k)), s.name);
    label.style.top = at + 'px';
    label.title = s.name;
    ends.append(label);
  }
  c.chart.querySelector('.ends')?.remove();
  c.chart.append(ends);
};
const draw_all = () => charts.forEach(draw);
for (const c of charts) {
  c.chart.classList.add('ended');
  c.chart.parentElement.querySelector('.legend')?.remove();
  if (c.can_log) {
    const button = make('button', 'toggle', 'log');
    button.type = 'button';
    button.title = 'logarithmic scale';
    const press = () => button.setAttribute('aria-pressed', c.is_log);
    button.addEventListener('click', () => {
      c.is_log = !c.is_log;
      press();
      draw(c);
    });
    press();
    c.chart.parentElement.querySelector('h3').append(button);
  }
  c.plot.addEventListener('pointermove', e => {
    const at = part_of(c.plot, e);
    const i = c.at.reduce((best, x, k) => Math.abs(x - at) < Math.abs(c.at[best] - at) ? k : best, 0);
    const rows = c.sides.map((s, k) => [s, s.points[i], k]).filter(([s, p]) => p && !hidden.has(s.name))
      .sort((a, b) => b[1][0] - a[1][0]).map(([s, p, k]) => [s.name, shown(p[0], c.kind) +
        (p[3] === null ? '' : ' (' + shown(p[1], c.kind) + ' to ' + shown(p[2], c.kind) + ')'), 'q' + k % 8]);
    show_tip(e, c.chart.parentElement.querySelector('h3').firstChild.textContent + ' at ' + num(c.loads[i]), rows);
    put_cursor(c.plot, c.at[i]);
  });
  c.plot.addEventListener('pointerleave', hide_tip);
}
// One legend for all charts of a scenario: a policy in it is hidden with a click.
for (const part of new Set(charts.map(c => c.chart.closest('figure')))) {
  const legend = make('p', 'legend series');
  const sides = charts.find(c => c.chart.closest('figure') === part).sides;
  sides.forEach((s, k) => {
    const button = make('button', 'toggle');
    button.type = 'button';
    button.setAttribute('aria-pressed', true);
    button.append(make('b', 'rule curve s' + colour_of(k)), s.name);
    button.addEventListener('click', () => {
      if (!hidden.delete(s.name)) hidden.add(s.name);
      for (const b of document.querySelectorAll('.series button')) {
        b.setAttribute('aria-pressed', !hidden.has(b.textContent));
      }
      draw_all();
    });
    legend.append(button);
  });
  part.querySelector('figcaption').append(legend);
}
draw_all();
addEventListener('resize', draw_all);
})();
