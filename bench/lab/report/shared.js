/* SPDX-License-Identifier: BSL-1.0
   What the scripts of all pages use. */
const lab = (() => {
'use strict';
const by = id => document.getElementById(id);
const make = (tag, css, text) => {
  const e = document.createElement(tag);
  if (css) e.className = css;
  if (text !== undefined) e.textContent = text;
  return e;
};
const num = x => x.toLocaleString('en', {maximumFractionDigits: Math.abs(x) < 10 && x % 1 ? 2 : 1});
const two = n => String(n).padStart(2, '0');
// In simulated time, which is in seconds.
const clock = (time, seconds) => {
  const t = Math.floor(time), s = t % 86400;
  return 'day ' + Math.floor(t / 86400).toLocaleString('en') + ', ' + two(Math.floor(s / 3600)) + ':' +
    two(Math.floor(s % 3600 / 60)) + (seconds ? ':' + two(s % 60) : '');
};
const span = s => s < 120 ? num(Math.round(s)) + ' s' : s < 7200 ? num(Math.round(s / 60)) + ' min' :
  s < 172800 ? num(Math.round(s / 360) / 10) + ' h' : num(Math.round(s / 8640) / 10) + ' d';
// Ticks of an axis from a to b: at most six, at 1, 2 or 5 times a power of ten.
const ticks_between = (a, b) => {
  const power = 10 ** Math.floor(Math.log10((b - a) / 5 || 1));
  const step = [1, 2, 5, 10].map(f => f * power).find(s => (b - a) / s <= 5.01), ticks = [];
  for (let v = Math.ceil(a / step - 1e-9) * step; v <= b + 1e-9 * step; v += step) ticks.push(v);
  return ticks;
};

// --- what is under the pointer

const tip = make('div');
tip.id = 'tip';
document.body.append(tip);
const part_of = (plot, e) => {
  const box = plot.getBoundingClientRect();
  return Math.min(1, Math.max(0, (e.clientX - box.left) / box.width));
};
// Rows of a name, a value, and the class of a mark.
const show_tip = (e, title, rows) => {
  const table = make('table');
  for (const [name, value, mark] of rows) {
    const tr = table.insertRow(), first = tr.insertCell();
    if (mark !== undefined) first.append(make('b', mark));
    first.append(name);
    tr.insertCell().textContent = value;
  }
  tip.replaceChildren(make('p', '', title), table);
  tip.style.display = 'block';
  const left = e.clientX + 16 + tip.offsetWidth > innerWidth ? e.clientX - tip.offsetWidth - 16 : e.clientX + 16;
  tip.style.left = Math.max(4, left) + 'px';
  tip.style.top = Math.max(4, Math.min(e.clientY + 14, innerHeight - tip.offsetHeight - 8)) + 'px';
};
const hide_tip = () => {
  tip.style.display = 'none';
  for (const c of document.querySelectorAll('.cursor')) c.style.display = 'none';
};
const put_cursor = (plot, x) => {
  const cursor = plot.querySelector('.cursor');
  cursor.style.display = x >= 0 && x <= 1 ? 'block' : 'none';
  cursor.style.left = 100 * x + '%';
};
addEventListener('scroll', hide_tip, {passive: true});
return {by, make, num, clock, span, ticks_between, part_of, show_tip, hide_tip, put_cursor};
})();
