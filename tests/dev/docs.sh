#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# `./dev docs` reports public names without a docstring and pages with broken references, and fails; it
# accepts names that need no docstring. $1: the script dev, $2: the top of the sources.
set -uo pipefail
top=$2
command -v doxygen >/dev/null || exit 77

rm -rf docs && mkdir docs && cd docs || exit 1
mkdir -p include tests
cp -r "$top/include/allot" include
cp -r "$top/.docs" "$top/.dev" "$top/examples" "$top/dev" .
cp -r "$top/tests/README.md" "$top/tests/examples" tests
for chapter in bench/lab packaging/python; do mkdir -p $chapter && cp "$top/$chapter/README.md" $chapter; done

failures=0
expect() { # WHAT STATUS PATTERN...: what `./dev docs` does now; a pattern that begins with ! must not match
  local what=$1 wanted=$2 status said pattern
  shift 2
  said=$(./dev docs 2>&1)
  status=$?
  for pattern in "$@"; do
    if [[ $pattern = !* ]]; then
      ! grep -qE -- "${pattern#!}" <<<"$said" && continue
    else
      grep -qE -- "$pattern" <<<"$said" && continue
    fi
    failures=$((failures + 1))
    printf '%s: expected %s in\n%s\n' "$what" "$pattern" "$said"
  done
  [ $status -eq "$wanted" ] && return
  failures=$((failures + 1))
  printf '%s: exit status %d\n%s\n' "$what" $status "$said"
}

expect "the reference" 0 '/build/docs/html/index\.html$'
[ -s build/docs/html/index.html ] || { echo "no index.html" && exit 1; }
for chapter in program hosts host_slurm host_kueue host_governor python; do
  [ -s "build/docs/html/$chapter.html" ] || { echo "no chapter $chapter" && exit 1; }
done
grep -q '&amp;#35;\|<code>,</code>' build/docs/html/*.html && { echo "a README is not shown as written" && exit 1; }
# The search knows them and their sections, and needs no server.
grep -qs 'program\.html' build/docs/html/search/pages_*.js || { echo "the search does not know the program" && exit 1; }
grep -qsF '"A replay",["../program.html#program-a-replay"' build/docs/html/search/sections.js ||
  { echo "the search does not know the sections" && exit 1; }
grep -qs "'sections'" build/docs/html/search/search.js || { echo "the search is doxygen's" && exit 1; }


# In a headless Chromium, if there is one, no page says anything, is wider than the screen or cuts a text, and the search
# finds a section.
sources=$top pictures=$top/build/pictures
# shellcheck source=tests/support/browser_test.sh
source "$top/tests/support/browser_test.sh"
finds_a_section="
  check('there is next to no text', document.body.innerText.length > 500);
  const results = by('MSearchResultsWindow');
  by('MSearchField').value = 'a replay';
  say(by('MSearchField'), new KeyboardEvent('keyup', {key: 'y'}));
  for (let i = 0; i < 100 && !results.querySelector('a'); ++i) await new Promise(done => setTimeout(done, 20));
  check('the search finds no section: ' + results.textContent.slice(0, 80),
    results.querySelector('a')?.getAttribute('href') === 'program.html#program-a-replay');
  whole_texts();
"
for page in index guide presets program host_kueue python annotated classallot_1_1scheduler; do
  has_browser || break
  finds "build/docs/html/$page.html" "reference-$page" "$finds_a_section" --site || exit 1
done

cat >include/allot/core/extra.hpp <<'CPP'
// SPDX-License-Identifier: BSL-1.0
#pragma once
namespace allot {
inline namespace v0 {
struct bare_struct {};
/// Has one, and so have the members of its group.
struct documented {
  documented() = default;
  explicit documented(int) {}
  friend bool operator==(documented, documented) = default;
  int operator()(int) const;
  int bare_member = 0;
  /// @{
  /// Both.
  int grouped_first = 0;
  int grouped_second = 0;
  /// @}
};
void bare_function(documented);
template <class T>
concept bare_concept = requires(T t) { t.x(); };
namespace detail {
struct inside {};
template <class T>
concept inside_concept = requires(T t) { t.x(); };
}  // namespace detail
}  // namespace v0
}  // namespace allot
CPP
expect "names without docstrings" 1 'core/extra\.hpp:5: struct bare_struct' \
  'parts\.md: no concept bare_concept' 'core/extra\.hpp:.*bare_member' \
  'core/extra\.hpp:.*bare_function' 'core/extra\.hpp:.*bare_concept' \
  '!(grouped|operator|documented\(|inside|index\.html$)'
rm include/allot/core/extra.hpp

echo 'See @ref allot::no_such_thing.' >>.docs/guide.md
expect "a reference to nothing" 1 '^ *\.docs/guide\.md:[0-9]+: .*no_such_thing' '!index\.html$'
echo '\snippet presets.cpp gone' >.docs/presets/fifo.md
expect "a snippet that is gone" 1 'gone'

[ $failures -eq 0 ]
