#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Opens the page of a governor in a headless Chromium, on a phone, a tablet and a large screen, in both colour
# schemes: nothing is said in the console, nothing is wider than the screen, no text is cut, and the jobs of one quota
# or user can be picked out. The page is that of a large cluster, made by the governor's own test. The pictures are
# left in build/hosts. Without a browser the test is skipped (77). $1 are the tests of the governor.
# shellcheck source=tests/support/program_test.sh
source "$2/tests/support/program_test.sh"
tests=$1

browser=${ALLOT_BROWSER:-}
for name in chromium chromium-browser google-chrome-stable google-chrome; do
  [ -n "$browser" ] || browser=$(command -v "$name" || true)
done
if [ -z "$browser" ]; then
  echo "skipped: no chromium on this machine"
  exit 77
fi

browse() {
  timeout 300 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars \
    --user-data-dir="$scratch/profile" --virtual-time-budget=5000 "$@" 2>browser.log
}

ALLOT_PAGE=$scratch/page.html "$tests" --test-case='page: of a large and busy cluster' >made.txt || fail "$(<made.txt)"
[ -s page.html ] || fail "there is no page"

# It loads itself again, also when the address leads to a part of it.
python3 -u -m http.server --bind 127.0.0.1 0 >server.log 2>&1 &
server=$!
for _ in $(seq 50); do
  port=$(sed -nE 's/.*port ([0-9]+).*/\1/p' server.log)
  [ -n "$port" ] && break
  sleep 0.1
done
browse --virtual-time-budget=12000 --dump-dom "http://127.0.0.1:$port/page.html#k1" >/dev/null
kill "$server"
loads=$(grep -c 'GET /page.html' server.log)
[ "$loads" -ge 2 ] || fail "it was loaded $loads times in 12 s"
# Once is enough for the rest.
sed -i 's/data-refresh=5/data-refresh=0/' page.html

# The page allows no script; a copy with this one says what is wrong with it.
cat >check.part <<'JS'
<script>
const problems = [];
const check = (what, holds) => { if (!holds) problems.push(what); };
const all = (what, of = document) => [...of.querySelectorAll(what)];
const is_shown = e => e.getClientRects().length > 0;
const screen_width = document.documentElement.clientWidth;
try {
  check('something comes from elsewhere', all('[src],link,iframe,img').length === 0);
  check('there is no text', document.body.innerText.length > 5000);
  check('wider than the screen: ' + document.documentElement.scrollWidth,
    document.documentElement.scrollWidth <= screen_width);
  for (const e of all('body *').filter(is_shown)) {
    const box = e.getBoundingClientRect();
    // Lines of a chart end at its edge; what a cell of the GPU map has no room for is under the pointer.
    if (e.closest('svg') || e.closest('.gpus')) continue;
    const where = e.tagName + '.' + e.className + ' "' + e.textContent.slice(0, 40) + '"';
    check('beyond the screen, ' + Math.round(box.right) + ': ' + where, box.left >= -1 && box.right <= screen_width + 1);
    const can_hide = getComputedStyle(e).overflowX !== 'visible';
    check('cut: ' + where, !can_hide || e.scrollWidth <= e.clientWidth + 1);
  }
  const plots = all('.plot');
  check('charts: ' + plots.length, plots.length === 3);
  for (const p of plots) {
    check('a chart has no size', p.clientWidth > 200 && p.clientHeight > 80);
    const drawn = all('path.area', p).map(i => i.getBoundingClientRect());
    check('nothing is drawn', drawn.some(b => b.width > 20 && b.height > 5));
    check('there is no gap where no governor ran', drawn.length > 1 && drawn.every(b => b.width < p.clientWidth - 5));
  }
  for (const i of all('.plot path')) check('a path is not a path', !/NaN|undefined|Infinity/.test(i.getAttribute('d')));
  const under = all('.hover i').find(i => /evicted: \d/.test(i.title));
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
  const pick = (what, mark) => {
    const link = all('.j ' + what).filter(is_shown)[0];
    location.hash = link.getAttribute('href');
    const left = rows();
    check(what + ' picks nothing', left.length > 0 && left.length < everything);
    check(what + ' leaves others', left.every(r => r.querySelector('a[href="' + link.getAttribute('href') + '"]')));
    check(what + ' is not said', all('.only').filter(is_shown).length === 1);
    location.hash = '#all';
    check(what + ' does not end', rows().length === everything);
  };
  pick('a[href^="#w"]');
  pick('a[href^="#k"]');
  // A quota above others has the jobs of all of them.
  location.hash = all('.quota a').find(a => a.innerText === 'organisation').getAttribute('href');
  check('not all of the organisation: ' + rows().length, rows().length >= everything);
} catch (e) { problems.push('thrown: ' + e); }
const verdict = document.createElement('pre');
verdict.textContent = 'VER' + 'DICT ' + (problems.length ? problems.slice(0, 8).join(' | ') : 'none') + ' END';
document.body.prepend(verdict);
</script>
JS
awk 'FNR == NR { script = script $0 "\n"; next }
     /http-equiv=Content-Security-Policy/ { next }
     { if (sub(/<\/body><\/html>$/, "")) print $0 script "</body></html>"; else print }' check.part page.html >checked.html

pictures=$sources/build/hosts
mkdir -p "$pictures"
for screen in 390,light 390,dark 650,light 800,light 800,dark 900,light 1000,light 1400,light 1400,dark; do
  width=${screen%,*}
  dark=()
  [ "${screen#*,}" = light ] || dark=(--blink-settings=preferredColorScheme=0)
  said=$(browse --window-size="$width,900" "${dark[@]}" --dump-dom "file://$scratch/checked.html" |
    grep -o 'VERDICT .* END' | tail -n 1)
  case $said in
    'VERDICT none END') ;;
    '') fail "$screen: the browser said nothing: $(tail -n 3 browser.log)" ;;
    *) fail "$screen: $said" ;;
  esac
  case $width in 650 | 900 | 1000) continue ;; esac
  # The page as it is.
  picture=$pictures/page_${screen/,/_}.png
  browse --window-size="$width,2400" "${dark[@]}" --enable-logging=stderr --screenshot="$picture" \
    "file://$scratch/page.html" >/dev/null
  grep CONSOLE browser.log >console && fail "$screen: in the console: $(<console)"
  [ -s "$picture" ] || fail "$screen: no picture"
done
cp page.html "$pictures/page.html"

conclude
