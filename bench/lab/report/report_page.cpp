// SPDX-License-Identifier: BSL-1.0
// The style of the lab's pages, and the script of the report.
#include "lab/report/report.hpp"

namespace allot {
inline namespace v0 {
namespace lab {
namespace report {

namespace {

// The colours of the quotas are those of Okabe and Ito, which people with any colour vision can tell apart,
// and two more. Each has its own colour for text on it.
constexpr std::string_view style = R"css(
:root{color-scheme:light dark;--back:#fff;--ink:#1b212c;--soft:#5d6675;--line:#e1e5eb;--panel:#f5f6f8;
--idle:#e4e8ee;--lent:#c9ced7;--busy:#5f6e84;--stranded:#cf9f8c;--alarm:#b3401a;--shadow:#0003;
--c0:#0072b2;--c1:#e69f00;--c2:#009e73;--c3:#cc79a7;--c4:#56b4e9;--c5:#d55e00;--c6:#8a6fb8;--c7:#a39b2d;
--c8:#8d95a3}
@media(prefers-color-scheme:dark){:root{--back:#12151b;--ink:#e5e9f0;--soft:#9aa4b4;--line:#2b313c;
--panel:#1b2029;--idle:#2a303b;--lent:#4a5260;--busy:#7c8ca3;--stranded:#a86f5a;--alarm:#f08a5d;--shadow:#000a;
--c0:#3d9bd9;--c1:#eeb13a;--c2:#29b68a;--c3:#dd92ba;--c4:#86cdf5;--c5:#ee7d2e;--c6:#ab94da;--c7:#c4bb50;
--c8:#77818f}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0 auto;overflow-wrap:break-word;max-width:1160px;padding:24px 20px 56px;background:var(--back);color:var(--ink);
font:15px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
h1{font-size:26px;line-height:1.2;margin:0}h2{font-size:18px;line-height:1.3;margin:0}
h3{font-size:15px;margin:0;font-weight:600}
header p,figcaption p,.note{color:var(--soft);margin:2px 0 0}
.note{font-size:13px}
.facts{display:flex;flex-wrap:wrap;gap:2px 18px;margin:10px 0 0;font-size:13px;color:var(--soft)}
.facts div{display:flex;gap:6px}.facts dt{font-weight:400}.facts dd{margin:0;color:var(--ink)}
code{font:12px/1.4 ui-monospace,SFMono-Regular,Menlo,"DejaVu Sans Mono",monospace}
.tiles{display:grid;grid-template-columns:repeat(4,1fr);gap:10px;margin:20px 0 0;padding:0}
.tiles div{background:var(--panel);border-radius:8px;padding:10px 14px;min-width:0}
.tiles dt{color:var(--soft);font-size:13px}.tiles dd{margin:0}
.tiles b{display:block;font-size:22px;line-height:1.3;font-weight:600;font-variant-numeric:tabular-nums}
.tiles small{display:block;color:var(--soft);font-size:13px}
figure{margin:36px 0 0}figcaption{margin-bottom:8px}
.chart{position:relative;padding:20px 8px 22px 52px}
.plot{position:relative;height:130px;border-bottom:1px solid var(--soft);touch-action:pan-y}
.tall .plot{height:260px}
.plot svg{position:absolute;inset:0;width:100%;height:100%;display:block;overflow:visible}
.y{position:absolute;left:0;top:20px;bottom:22px;width:46px}
.y em{position:absolute;right:0;top:-20px;font-style:normal;white-space:nowrap;direction:rtl}
.y i,.y em,.x i{font-size:12px;line-height:16px;color:var(--soft);font-variant-numeric:tabular-nums}
.y i,.x i{position:absolute;font-style:normal;white-space:nowrap}
.y i{right:0;transform:translateY(50%)}
.chart.titled{padding-bottom:40px}.titled .y{bottom:40px}
.x em{position:absolute;left:50%;top:20px;transform:translateX(-50%);font-style:normal;font-size:12px;
line-height:16px;color:var(--soft);white-space:nowrap}
.x{position:relative;height:0}.x i{transform:translateX(-50%);top:4px}.x i.end{transform:none;right:-6px}
.word{position:absolute;transform:translate(-50%,-50%);font-style:normal;font-size:13px;font-weight:600;
white-space:nowrap;pointer-events:none;color:#fff}
.w1,.w3,.w4,.w7{color:#14171c}
@media(prefers-color-scheme:dark){.word{color:#0d1014}}
path{vector-effect:non-scaling-stroke;fill:none;stroke-width:1;stroke-linejoin:round}
.grid{stroke:var(--line)}.axis{stroke:var(--soft)}.capacity{stroke:var(--ink);stroke-width:1.5}
.entitled{stroke:var(--ink);stroke-width:1}
.nominal{stroke:var(--ink);stroke-width:1.5;stroke-dasharray:5 4}
.curve{stroke-width:2}.everyone{stroke:var(--ink);stroke-dasharray:5 4}
.dash1{stroke-dasharray:8 4}.dash2{stroke-dasharray:2 4}.dots{stroke-width:7;stroke-linecap:round;stroke-dasharray:none}
path.band{stroke:none;opacity:.15}
path.area,rect{stroke:none}
.lent{fill:var(--lent);background:var(--lent)}
.busy{fill:var(--busy);background:var(--busy)}.stranded{fill:var(--stranded);background:var(--stranded)}
.q0{fill:var(--c0);background:var(--c0)}.q1{fill:var(--c1);background:var(--c1)}
.q2{fill:var(--c2);background:var(--c2)}.q3{fill:var(--c3);background:var(--c3)}
.q4{fill:var(--c4);background:var(--c4)}.q5{fill:var(--c5);background:var(--c5)}
.q6{fill:var(--c6);background:var(--c6)}.q7{fill:var(--c7);background:var(--c7)}
.q8{fill:var(--c8);background:var(--c8)}
.s0{stroke:var(--c0)}.s1{stroke:var(--c1)}.s2{stroke:var(--c2)}.s3{stroke:var(--c3)}.s4{stroke:var(--c4)}
.s5{stroke:var(--c5)}.s6{stroke:var(--c6)}.s7{stroke:var(--c7)}.s8{stroke:var(--c8)}
.pale{opacity:.45}
.legend{display:flex;flex-wrap:wrap;gap:4px 18px;margin:6px 0 0 52px;font-size:13px}
.legend b,#tip b,.dot{display:inline-block;width:11px;height:11px;border-radius:2px;margin-right:6px}
.legend b.rule{height:0;width:18px;border-radius:0;background:none;border-top:1.5px solid var(--ink);
vertical-align:middle}
.legend b.nominal,.legend b.everyone,.legend b.dash1{border-top-style:dashed}
.legend b.curve{border-top-width:3px}.legend b.dash2{border-top-style:dotted}
.legend b.s0{border-color:var(--c0)}.legend b.s1{border-color:var(--c1)}.legend b.s2{border-color:var(--c2)}
.legend b.s3{border-color:var(--c3)}.legend b.s4{border-color:var(--c4)}.legend b.s5{border-color:var(--c5)}
.legend b.s6{border-color:var(--c6)}.legend b.s7{border-color:var(--c7)}.legend b.s8{border-color:var(--c8)}
.panels{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,320px),1fr));gap:18px 28px}
.panels.two{grid-template-columns:repeat(auto-fit,minmax(min(100%,440px),1fr))}
.cursor,.mark{position:absolute;top:0;bottom:0;width:0;border-left:1px solid var(--ink);pointer-events:none;
display:none}
.mark{border-left:2px solid var(--alarm)}
#tip{position:fixed;z-index:1;display:none;pointer-events:none;background:var(--back);
border:1px solid var(--line);border-radius:6px;box-shadow:0 2px 10px var(--shadow);padding:7px 11px;
font-size:13px;font-variant-numeric:tabular-nums}
#tip p{margin:0 0 2px;font-weight:600}#tip table{font-size:13px}#tip td{border:0;padding:0 0 0 10px}
#tip td:first-child{padding:0}
.scrub{padding:0 8px 0 52px}
.scrub input{width:calc(100% + 16px);margin:0 -8px;height:28px;accent-color:var(--alarm)}
.steps{display:flex;flex-wrap:wrap;align-items:center;gap:6px 10px;margin:4px 0 14px}
button{font:inherit;color:var(--ink);background:var(--panel);border:1px solid var(--line);border-radius:6px;
padding:4px 12px;min-width:44px;min-height:36px;cursor:pointer}
button:hover{border-color:var(--soft)}
:focus-visible{outline:2px solid var(--c0);outline-offset:2px}
button.at{all:unset;cursor:pointer;text-decoration:underline dotted;text-underline-offset:3px}
button.at:focus-visible{outline:2px solid var(--c0)}
#when{font-weight:600;font-size:17px;font-variant-numeric:tabular-nums;min-width:11em}
#now{color:var(--soft);font-variant-numeric:tabular-nums}
.columns{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:18px 32px;margin-bottom:18px}
.columns>:only-child,.columns>[hidden]+*{grid-column:1/-1}
#teams{font-size:14px}
.team{display:flex;flex-wrap:wrap;gap:0 12px;margin-bottom:10px}
.team span:nth-child(2){margin-left:auto;text-align:right;font-variant-numeric:tabular-nums;color:var(--soft)}
.team span:first-child{max-width:100%;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.bar{flex:0 0 100%;position:relative;height:14px;border-radius:3px;background:var(--idle);margin-top:2px}
.bar i{position:absolute;top:0;bottom:0;left:0;border-radius:3px}
.bar u{position:absolute;top:-3px;bottom:-3px;border-left:2px dashed var(--ink)}
#nodes{display:grid;grid-template-columns:repeat(auto-fill,minmax(166px,1fr));gap:8px 16px;align-content:start}
#nodes.dense{grid-template-columns:repeat(auto-fill,minmax(56px,1fr));gap:4px 8px}
#nodes span{display:block;font-size:12px;line-height:16px;color:var(--soft);overflow:hidden;
text-overflow:ellipsis;white-space:nowrap}
#nodes p{display:flex;flex-wrap:wrap;gap:2px;margin:0}
#nodes p b{width:18px;height:18px;background:var(--idle);border-radius:3px}
#nodes p b.join{position:relative;border-top-left-radius:0;border-bottom-left-radius:0}
#nodes p b.open{border-top-right-radius:0;border-bottom-right-radius:0}
#nodes p b.join::before{content:"";position:absolute;right:100%;top:0;bottom:0;width:2px;background:inherit}
#nodes p b.lit{outline:2px solid var(--ink);outline-offset:0}
#nodes.dense p{height:8px;border-radius:2px;background:var(--idle)}
.scroll{overflow-x:auto;background:linear-gradient(90deg,var(--back) 12px,transparent 40px) local,
linear-gradient(270deg,var(--back) 12px,transparent 40px) local,linear-gradient(90deg,var(--soft),transparent 10px),
linear-gradient(270deg,var(--soft),transparent 10px)}
table{border-collapse:collapse;font-size:14px;font-variant-numeric:tabular-nums;white-space:nowrap}
th,td{padding:4px 14px 4px 0;text-align:right;border-bottom:1px solid var(--line);vertical-align:top}
th{font-weight:600;color:var(--soft);vertical-align:bottom;font-size:13px}
th.group{text-align:center;border-bottom:1px solid var(--soft)}tr.groups th{border-bottom:0;padding-bottom:0}
th:last-child,td:last-child{padding-right:2px}
th:first-child,td:first-child,.t{text-align:left}
.scroll th:first-child,.scroll td:first-child{position:sticky;left:0;background:var(--back);padding-right:12px}
.wide th{white-space:normal}
td.why,.columns td[colspan]{white-space:normal}td.why{min-width:13em}
.columns table{width:100%}
td small{color:var(--soft)}
tr.lit td{background:var(--panel)}
td.zero{color:var(--soft)}
.win{font-weight:600}
details{margin-top:8px}summary{cursor:pointer;color:var(--soft);font-size:14px}
.gap{margin-top:18px}
.means{columns:2 380px;column-gap:32px;margin:8px 0 0;font-size:14px}.means dt{font-weight:600}
.means dd{margin:0 0 8px;color:var(--soft);break-before:avoid}
@media(max-width:820px){.columns{grid-template-columns:minmax(0,1fr)}}
@media(max-width:640px){body{padding:18px 14px 40px}h1{font-size:22px}
.tiles{grid-template-columns:repeat(2,1fr);gap:8px}.tiles div{padding:8px 10px}.tiles b{font-size:19px}
.chart{padding-left:38px;padding-right:4px}.y{width:33px}.scrub{padding:0 4px 0 38px}.legend{margin-left:0}
.tall .plot{height:210px}.word{display:none}td.why{min-width:9em}
.x i:nth-child(even){display:none}
#nodes{grid-template-columns:repeat(auto-fill,minmax(150px,1fr));gap:8px 10px}
#nodes p b{width:16px;height:16px}
figure{margin-top:30px}}
@media print{body{max-width:none}.scrub,.steps button{display:none}}
)css";

constexpr std::string_view light_style = R"css(
text{font:12px system-ui,"DejaVu Sans",Helvetica,Arial,sans-serif;fill:#1b212c}
.title{font-size:14px;font-weight:600}.tick{font-size:11px;fill:#5d6675}.right{text-anchor:end}
.middle{text-anchor:middle}.word{font-weight:600;fill:#fff}.w1,.w3,.w4,.w7{fill:#14171c}
path{fill:none;stroke-width:1;stroke-linejoin:round}
.grid{stroke:#e1e5eb}.axis{stroke:#5d6675}.capacity{stroke:#1b212c;stroke-width:1.5}.entitled{stroke:#1b212c}
.nominal{stroke:#1b212c;stroke-width:1.5;stroke-dasharray:5 4}
.curve{stroke-width:2}.everyone{stroke:#1b212c;stroke-dasharray:5 4}
.dash1{stroke-dasharray:8 4}.dash2{stroke-dasharray:2 4}.dots{stroke-width:7;stroke-linecap:round;stroke-dasharray:none}
.band{opacity:.15}
.lent{fill:#c9ced7}.busy{fill:#5f6e84}.stranded{fill:#cf9f8c}
.q0{fill:#0072b2}.q1{fill:#e69f00}.q2{fill:#009e73}.q3{fill:#cc79a7}.q4{fill:#56b4e9}.q5{fill:#d55e00}
.q6{fill:#8a6fb8}.q7{fill:#a39b2d}.q8{fill:#8d95a3}
.s0{stroke:#0072b2}.s1{stroke:#e69f00}.s2{stroke:#009e73}.s3{stroke:#cc79a7}.s4{stroke:#56b4e9}
.s5{stroke:#d55e00}.s6{stroke:#8a6fb8}.s7{stroke:#a39b2d}.s8{stroke:#8d95a3}
.pale{opacity:.45}
)css";

constexpr std::string_view script = R"js(
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
  submit: d.jobs[5 * j + 3], priority: d.jobs[5 * j + 4]});
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
const named = j => [make('b', 'dot q' + d.layers[j.layer].colour), j.id];
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
)js";

}  // namespace

void begin_page(std::string& html, std::string_view title) {
  html += "<!doctype html>\n<html lang=en><head><meta charset=utf-8>\n";
  html += "<meta name=viewport content=\"width=device-width,initial-scale=1\">\n";
  html += "<meta name=generator content=allot>\n<title>";
  html.append(escaped(title)).append("</title>\n<style>").append(style).append("</style></head>\n<body>\n");
}

void end_page(std::string& html, bool with_script) {
  if (with_script) html.append("<script>").append(script).append("</script>\n");
  html += "</body></html>\n";
}

std::string_view drawing_style() noexcept {
  return light_style;
}

}  // namespace report
}  // namespace lab
}  // namespace v0
}  // namespace allot
