#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Opens the page of a governor in a headless Chromium, on a phone, a tablet and a large screen, in both colour
# schemes: nothing is said in the console, nothing is wider than the screen, no text is cut, and the jobs of one quota
# or user can be picked out. The page is that of a large cluster, made by the governor's own test. The pictures are
# left in build/hosts. Without a browser the test is skipped (77). $1 are the tests of the governor.
# shellcheck source=tests/support/program_test.sh
source "$2/tests/support/program_test.sh"
# shellcheck source=tests/support/browser_test.sh
source "$2/tests/support/browser_test.sh"
skip_without_browser
pictures=$sources/build/hosts

ALLOT_PAGE=$scratch/page.html "$1" --test-case='page: of a large and busy cluster' >made.txt || fail "$(<made.txt)"
[ -s page.html ] || fail "there is no page"

# It loads itself again, also when the address leads to a part of it.
opens "page.html#k1" again "" --widths 800 --schemes light --loads 2
# Once is enough for the rest.
sed -i 's/data-refresh=5/data-refresh=0/' page.html

opens page.html page "
  const all = (what, of = document) => [...of.querySelectorAll(what)];
  const is_shown = e => e.getClientRects().length > 0;
  check('there is no text', document.body.innerText.length > 5000);
  for (const e of all('body *').filter(is_shown)) {
    const box = e.getBoundingClientRect();
    // Lines of a chart end at its edge; what a cell of the GPU map has no room for is under the pointer.
    if (e.closest('svg') || e.closest('.gpus')) continue;
    check('beyond the screen, ' + Math.round(box.right) + ': ' + name_of(e), box.left >= -1 && box.right <= innerWidth + 1);
    const can_hide = getComputedStyle(e).overflowX !== 'visible';
    check('cut: ' + name_of(e), !can_hide || e.scrollWidth <= e.clientWidth + 1);
  }
  const plots = all('.plot');
  check('charts: ' + plots.length, plots.length === 3);
  for (const p of plots) {
    check('a chart has no size', p.clientWidth > 200 && p.clientHeight > 80);
    const drawn = all('path.area', p).map(i => i.getBoundingClientRect());
    check('nothing is drawn', drawn.some(b => b.width > 20 && b.height > 5));
    check('there is no gap where no governor ran', drawn.length > 1 && drawn.every(b => b.width < p.clientWidth - 5));
  }
  const under = all('.hover i').find(i => /evicted: [0-9]/.test(i.title));
  check('no figures under the pointer', under && under.getBoundingClientRect().width >= 1);
  check('the configuration that was refused', is_shown(document.querySelector('.alert')) &&
    /was refused/.test(document.querySelector('.alert').innerText));
  const states = all('td.state').map(e => e.innerText);
  check('nodes that are not up: ' + states, states.includes('down') && states.includes('drained'));
  for (const bar of all('.bar')) {
    const [nominal, fair] = ['u', 's'].map(m => bar.querySelector(m)?.getBoundingClientRect());
    check('two marks coincide', !nominal || !fair || nominal.bottom <= fair.bottom - 4);
  }

  const rows = () => all('.j').filter(is_shown);
  const everything = rows().length;
  check('rows: ' + everything, everything > 50);
  const pick = what => {
    const links = row => all('a', row).map(a => a.hash);
    const of = all('.j a').filter(is_shown).find(a => a.hash.startsWith(what)).hash;
    location.hash = of;
    const left = rows();
    check(what + ' picks nothing', left.length > 0 && left.length < everything);
    check(what + ' leaves others', left.every(row => links(row).includes(of)));
    check(what + ' is not said', all('.only').filter(is_shown).length === 1);
    location.hash = '#all';
    check(what + ' does not end', rows().length === everything);
  };
  pick('#w');
  pick('#k');
  // A quota above others has the jobs of all of them.
  location.hash = all('.quota a').find(a => a.innerText === 'organisation').hash;
  check('not all of the organisation: ' + rows().length, rows().length >= everything);
" --widths 390,650,800,900,1000,1400
cp page.html "$pictures/page.html"

conclude
