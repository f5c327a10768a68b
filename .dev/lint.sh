# SPDX-License-Identifier: BSL-1.0
# The checks of form and the reference. Read by ../dev.

lint_failures=0

sources() { find include examples tests bench \( -name '*.hpp' -o -name '*.cpp' \) | sort; }
headers() { find include bench/lab/include -name '*.hpp' | sort; }
as_includes() { sed -E 's|^.*include/(allot/.*)|#include <\1>|'; }

# Every check prints what is wrong and nothing when all is well. (quickstart.cpp is set as the README shows it.)
check_format() {
  sources | grep -v '^examples/quickstart.cpp$' | xargs clang-format-14 --dry-run -Werror 2>&1 |
    sed -nE 's/^([^:]*):.*: error: .*/\1: not formatted (clang-format-14 -i mends it)/p' | sort -u
}

# Style and script of the pages. esbuild, which makes both smaller, also warns of what no browser knows: a property, a
# brace that is missing, a key that an object has twice.
check_pages() {
  find bench .docs packaging/web \( -name '*.css' -o -name '*.js' \) | sort | while read -r file; do
    esbuild --log-level=warning --color=false "$file" --outfile=/dev/null 2>&1 </dev/null | grep .
  done
}

# Includes run one way: core <- quota <- fairshare <- preemption <- scheduler <- presets <- systems; extras stands
# on preemption, gpu on core, sim on scheduler and gpu. What is in a detail/ is for the room around it.
check_directions() {
  local room allowed reach=""
  for room in core quota fairshare preemption scheduler presets systems extras gpu sim; do
    case $room in
      extras) allowed="core|quota|fairshare|preemption|extras" ;;
      gpu) allowed="core|gpu" ;;
      sim) allowed="core|quota|fairshare|preemption|scheduler|gpu|sim" ;;
      *) reach=$reach${reach:+|}$room allowed=$reach ;;
    esac
    [ -d "include/allot/$room" ] || continue
    grep -rnE '#include [<"]allot/' "include/allot/$room" | grep -vE "[<\"]allot/($allowed)(/|\.hpp)" |
      sed 's/$/: not a room that this one stands on/'
  done
  grep -nE '#include <allot/(gpu|sim)/' include/allot/allot.hpp 2>/dev/null |
    sed 's|^|include/allot/allot.hpp:|; s/$/: not part of what a host needs/'
  grep -rnE '#include <allot/.*/detail/' include examples bench |
    awk '{ split($0, part, /[<>]/); room = part[2]; sub(/detail\/.*/, "", room)
           sub(/^bench\/lab\//, "")
           if (index($0, "include/" room) != 1) print $0 ": the inside of another room" }'
  grep -rnE '#include "' include | sed 's/$/: headers of the library are included as <allot\/...>/'
}

check_header_form() {
  local file
  for file in $(headers); do
    [ "$(sed -n 2p "$file")" = "#pragma once" ] || echo "$file:2: no #pragma once"
  done
  for file in $(sources); do
    [ "$(sed -n 1p "$file")" = "// SPDX-License-Identifier: BSL-1.0" ] || echo "$file:1: no SPDX line"
  done
  grep -rnE '\b(TODO|FIXME|XXX|HACK)\b' include examples tests bench --include='*.[ch]pp'
}

# A public header that nothing but its own test includes is a claim that nobody sees kept. (The page of concepts, and
# the views of Boost.Graph and the nouns of a room, are for hosts alone.)
check_users() {
  local header name
  find include/allot -mindepth 2 -name '*.hpp' -not -path '*/detail/*' | sort | while read -r header; do
    name=${header#include/}
    case $name in */customization.hpp | */fwd.hpp | */graph.hpp | */topology_graph.hpp) continue ;; esac
    grep -rqF "<$name>" include bench/lab examples || echo "$header: nothing in include, bench/lab or examples includes it"
  done
}

# Floating point rounds, and not the same way everywhere: none where decisions are made. Comments may speak
# of it.
check_integers() {
  (cd include/allot && grep -rnE '\b(double|float)\b' quota preemption scheduler systems) |
    grep -E '^[^:]*:[0-9]+:([^/]|/[^/])*\b(double|float)\b' |
    sed 's,^,include/allot/,; s/$/: floating point/'
}

# What the README shows of settings is in a test, line by line.
check_readme() {
  local line test=tests/presets/standard.cpp shown
  shown=$(awk '/^```/ { inside = 0 } /^allot::queue_settings settings/ { inside = 1 } inside' README.md)
  while IFS= read -r line; do
    [ -n "$line" ] && grep -qF -- "$line" $test || echo "README.md: not in $test: $line"
  done <<<"$shown"
}

version_of_headers() {
  sed -nE 's/.*int version_(major|minor|patch) = ([0-9]+);/\2/p' include/allot/core/version.hpp | paste -sd.
}

# What else names the version; CMake and with it allot.pc take it from the header.
check_version() {
  local header file found
  header=$(version_of_headers)
  while read -r file found; do
    [ "$header" = "$found" ] ||
      echo "$file: the version is ${found:-missing}, that of core/version.hpp is $header"
  done <<EOF
CHANGELOG.md $(sed -nE 's/^## \[([0-9][^]]*)\].*/\1/p' CHANGELOG.md | head -n 1)
conanfile.py $(sed -nE 's/^ *version = "(.*)"$/\1/p' conanfile.py)
packaging/vcpkg/allot/vcpkg.json $(sed -nE 's/^ *"version": "(.*)",?$/\1/p' packaging/vcpkg/allot/vcpkg.json)
EOF
  # The README's examples: find_package(allot 0.2 ...), GIT_TAG v0.2.0.
  grep -noE 'find_package\(allot [0-9.]+' README.md | grep -vE " ${header%.*}\$" |
    sed "s/^/README.md:/; s/\$/: the version is $header/"
  grep -noE 'GIT_TAG v[0-9.]+' README.md | grep -vE " v$header\$" |
    sed "s/^/README.md:/; s/\$/: the version is $header/"
}

# What an #include costs, in lines after the preprocessor, without those of comments: the same on every machine, unlike
# seconds.
preprocessed_lines() { "${CXX:-c++}" -std=c++20 -E -P -Iinclude "$1" 2>/dev/null | wc -l; }

check_budget() { # HEADER LINES
  local lines
  [ -f "include/allot/$1" ] || return 0
  lines=$(preprocessed_lines "include/allot/$1")
  [ "$lines" -gt 0 ] || echo "$1: does not preprocess"
  [ "$lines" -le "$2" ] || echo "$1: $lines preprocessed lines, $2 allowed"
}

# The headings of all pages in the form of doxygen's index of names: a script that sets searchData.
sections_of() {
  echo 'var searchData = ['
  awk '
    FNR == 1 { page = FILENAME; sub(/.*\//, "", page); chapter = page; sub(/\.html$/, "", chapter) }
    id != "" && sub(/ *<\/h[1-6]>.*/, "") {
      gsub(/<[^>]*>/, ""); gsub(/["\\]/, "\\\\&")
      printf "[\"%s\",[\"%s\",[\"../%s#%s\",1,\"%s\"]]],\n", id, $0, page, id, chapter
    }
    { id = "" }
    /<h[1-6]><a class="anchor" id="/ { id = $0; sub(/.*id="/, "", id); sub(/".*/, "", id) }
  ' "$1"/[a-z]*.html
  echo ']'
}

# Writes the reference. Found is all that doxygen says of it: a link to nothing, a snippet that is gone. What
# has no docstring is left for check_docstrings.
check_reference() {
  mkdir -p "$logs"
  rm -rf build/docs/html
  { cat .docs/Doxyfile && echo "PROJECT_NUMBER = $(version_of_headers)"; } | doxygen - >"$logs/docs.txt" 2>&1 ||
    echo "doxygen: exit status $?; see $logs/docs.txt"
  # Doxygen's own search fails on pages that are files, and knows no sections.
  cp .docs/search.js build/docs/html/search/ || echo "the reference has no search"
  sections_of build/docs/html >build/docs/html/search/sections.js
  grep -v ' is not documented\.$' "$logs/docs.txt" | sed "s|^$PWD/||"
}

# The public names without a docstring, by what doxygen said when it wrote the reference. Constructors,
# destructors and operators have no name of their own. Doxygen says nothing of concepts and empty classes.
check_docstrings() {
  {
    sed -nE "s|^$PWD/||; s/ is not documented\.$/: no docstring/p" "$logs/docs.txt" |
      grep -vE 'Member operator|Member ~?([A-Za-z_]+)(<.*>)?\(.*of (class|struct) (.*::)?\1(<.*>)?:' |
      sed -E 's/: warning: (Member|Compound) /: /'
    find include -name '*.hpp' -not -path '*/detail/*' -print0 | xargs -0 awk '
      FNR == 1 { inside = generic = 0 }
      /^namespace detail/ { inside = 1 }
      /^}  \/\/ namespace detail/ { inside = 0 }
      /^template/ && !generic { generic = 1; docstring = above ~ /^\/\/\// }
      /^(concept|struct|class) / && !/^[^{=]*;$/ && !inside {
        if (!generic) docstring = above ~ /^\/\/\//
        if (!docstring) print FILENAME ":" FNR ": " $1 " " $2 ": no docstring"
      }
      /[;{}]$/ { generic = 0 }
      { above = $0 }'
  } | sort -u
}

# What the tables of the documents lack: settings of a quota that the guide does not explain, functions of the scheduler
# of which the page on threads does not say what they change.
check_tables() {
  sed -n '/^struct queue_settings {/,/^};/p' include/allot/scheduler/settings.hpp |
    sed -nE 's/^  [a-z_:<>0-9]+ ([a-z_]+)( =.*|\{\});$/\1/p' | while read -r name; do
    grep -qE "^\| \`$name[.\`]" .docs/guide.md || echo ".docs/guide.md: the settings lack $name"
  done
  sed -n '/^ public:/,/^ private:/p' include/allot/scheduler/scheduler.hpp |
    sed -nE 's/^  [a-z[][^(=;]* [&*]?([a-z_]+)\(.*/\1/p' | grep -vxE 'make|explicit|static_assert|scheduler' | sort -u |
    while read -r name; do
      grep -qF "\`$name\`" .docs/threads.md || echo ".docs/threads.md: lacks scheduler::$name"
    done
}

# The public concepts that the page of concepts does not have, or, of scheduler/, the table that says what a host may
# supply.
check_concepts() {
  local room concept table=include/allot/scheduler/customization.hpp
  find include/allot -name '*.hpp' -not -path '*/detail/*' -print0 | xargs -0 awk '
    FNR == 1 || /^}  \/\/ namespace detail/ { inside = 0 }
    /^namespace detail/ { inside = 1 }
    /^concept / && !inside { split(FILENAME, path, "/"); print path[3], $2 }' | sort -u |
    while read -r room concept; do
      grep -qE "@ref allot::([a-z]+::)?$concept\)" .docs/parts.md || echo ".docs/parts.md: no concept $concept"
      [ "$room" != scheduler ] || grep -q "\`$concept\`" $table || echo "$table: no concept $concept"
    done
}

# Rooms with more public types and concepts than they should need: a smoke alarm. What is no promise belongs
# into the room's detail/.
check_public_names() {
  find include/allot -name '*.hpp' -not -path '*/detail/*' -print0 | xargs -0 awk -v most=106 '
    FNR == 1 || /^}  \/\/ namespace detail/ { inside = 0 }
    /^namespace detail/ { inside = 1 }
    /^(concept|struct|class|enum class|using) / && !/^[^{=]*;$/ && !inside {
      split(FILENAME, path, "/")
      ++count[path[3]]
    }
    END {
      for (room in count) {
        if (count[room] > most) print "include/allot/" room ": " count[room] " public types and concepts, " most " allowed"
      }
    }'
}

# How many functions a host compiles to without optimisation: half of its time, and the same on every machine with
# this compiler.
check_functions() { # SOURCE MOST
  local object=build/lint/functions.o count
  mkdir -p build/lint
  "${CXX:-g++}" -std=c++20 -O0 -Iinclude -c "$1" -o $object 2>/dev/null || echo "$1: does not compile"
  count=$(nm $object | grep -c ' [tTwW] ')
  [ "$count" -le "$2" ] || echo "$1: $count functions, $2 allowed"
}

# What takes longest to compile is a scheduler with a cycle: how many different ones a library or program has. The
# numbers are no rule of the house: they tune the build. Who needs one more raises them, and knows what it costs.
check_types() { # FILE WHAT MOST
  local count
  [ -f "$1" ] || return 0
  count=$(nm -C "$1" 2>/dev/null | sed -nE "s/^[0-9a-f]+ [A-Za-z] ($2)\$/\\1/p" | sort -u | wc -l)
  [ "$count" -gt 0 ] || echo "$1: no $2 in it"
  [ "$count" -le "$3" ] || echo "$1: $count different ones, $3 allowed"
}

tidy() { # FILE [OPTION...]: what clang-tidy finds
  local file=$1
  shift
  clang-tidy-14 --quiet "$@" "$file" -- -std=c++20 -Iinclude -Ibench/lab/include -Ibench -I. 2>/dev/null |
    grep -E ' (error|warning): '
}

# Several files as one: `inside` puts each into a namespace of its own, after all that any of them includes. The
# library's namespace cannot be opened there, so files that define what is in it go `beside` each other.
as_one() { # HOW FILE...
  local how=$1 file
  shift
  [ "$how" = beside ] || cat "$@" | grep -E '^#include ' | sort -u
  for file in "$@"; do
    [ "$how" = beside ] || printf 'namespace of_%s {\n' "$(basename "${file%.cpp}")"
    printf '#include "%s"  // NOLINT(bugprone-suspicious-include)\n' "$file"
    [ "$how" = beside ] || echo '}'
  done
}

# Most of what clang-tidy does it does with what a file includes, so several files go through it as one. Those
# that do not get along with others (the same name in the anonymous namespaces of two) go through together
# after that; one cheap check finds them out.
tidy_together() { # HOW FILE...
  local how=$1 together found clash check='--checks=-*,misc-static-assert' apart=()
  shift
  while [ $# -gt 1 ]; do
    together=build/lint/$(tr -c 'a-z0-9_\n' '-' <<<"${1%.cpp}").cpp
    as_one "$how" "$@" >"$together"
    found=$(tidy "$together" $check)
    clash=$(sed -nE "s|^$PWD/||; s|^\./||; s/^([^:]*):[0-9:]* error: .*\[clang-diagnostic-error.*/\1/p" <<<"$found" |
      sort -u | grep -xF "$(printf '%s\n' "${@:2}")")
    if [ -n "$clash" ]; then
      apart+=($clash)
      set -- $(printf '%s\n' "$@" | grep -vxF "$clash")
    elif [ -n "$found" ]; then
      apart+=("${@:2}")
      set -- "$1"
    else
      tidy "$together"
      break
    fi
  done
  [ $# -ne 1 ] || tidy "$1"
  [ ${#apart[@]} -eq 0 ] || tidy_together "$how" "${apart[@]}"
}

# The headers once, in a file that includes them all; everything else in groups, the longest first, but for
# what names something of its own in the global namespace (::job). Tests are left out: they would take minutes
# and say little of the library. json_src.cpp is Boost's.
check_tidy() {
  local all=build/lint/all_headers.cpp others alone
  mkdir -p build/lint
  headers | as_includes >$all
  others=$(find examples bench/micro bench/scale bench/lab/allot.cpp -name '*.cpp' | sort)
  alone=$(grep -lE '[ (<]::[a-z]' $others)
  export -f tidy tidy_together as_one
  {
    find bench/lab -name '*.cpp' ! -name allot.cpp ! -name json_src.cpp | sort | in_groups 2 | sed 's/^/beside/'
    echo beside $all
    grep -vxF "$alone" <<<"$others" | in_groups 3 | sed 's/^/inside/'
    sed 's/^/inside /' <<<"$alone"
  } | xargs -P "$jobs" -L 1 bash -c 'tidy_together "$@"' _ | sort -u
}

in_groups() { # COUNT: the lines, dealt into so many
  awk -v count="$1" '{ group[NR % count] = group[NR % count] " " $0 } END { for (g in group) print group[g] }'
}

lint() { # WHAT CHECK...
  local what=$1 begin=$SECONDS found
  shift
  printf '  %-34s ' "$what"
  found=$("$@")
  if [ -z "$found" ]; then
    printf 'ok  %4d s\n' $((SECONDS - begin))
  else
    lint_failures=$((lint_failures + 1))
    printf 'FAILED\n'
    sed 's/^/    /' <<<"$found"
  fi
}

run_docs() {
  needs docs
  lint "reference" check_reference
  lint "every public name has a docstring" check_docstrings
  lint "every concept is on its page" check_concepts
  [ $lint_failures -eq 0 ] || return 1
  printf '\n%s/build/docs/html/index.html\n' "$PWD"
}

run_lint() {
  needs lint docs
  lint "format" check_format
  lint "style and script of the pages" check_pages
  lint "includes run one way" check_directions
  lint "form of headers" check_header_form
  lint "every header has a user" check_users
  lint "few public names a room" check_public_names
  lint "decisions are integer" check_integers
  lint "the README's settings are tested" check_readme
  lint "version and changelog agree" check_version
  lint "reference" check_reference
  lint "every public name has a docstring" check_docstrings
  lint "every concept is on its page" check_concepts
  lint "tables of the documents are whole" check_tables
  local budget
  for budget in core/vector.hpp:17000 quota/ledger.hpp:36000 allot.hpp:56200 gpu/inventory.hpp:45700 \
    sim/simulator.hpp:80800 systems/by_name/any_preset.hpp:76900; do
    [ -f "include/allot/${budget%:*}" ] || continue
    lint "cost of ${budget%:*}" check_budget "${budget%:*}" "${budget#*:}"
    printf '    %d of %d preprocessed lines\n' "$(preprocessed_lines "include/allot/${budget%:*}")" \
      "${budget#*:}"
  done
  lint "functions of a host" check_functions examples/quickstart.cpp 3700
  # Tuning of the build, where ./dev test has made it.
  lint "cycles in the program" check_types build/test/bench/liballot_lab.a 'vtable for allot::v0::detail::cycle_of<.*' 16
  lint "simulators in the program" check_types build/test/bench/liballot_lab.a \
    'allot::v0::sim::simulator<[0-9]+ul, .*>::decisions\(\) const' 2
  lint "schedulers in the tests of systems" check_types build/test/tests/test_systems 'allot::v0::scheduler<.*::step\(long\)' 18
  lint "schedulers in the tests of scheduler" check_types build/test/tests/test_scheduler \
    'allot::v0::scheduler<.*::step\(long\)' 60
  lint_result
}

lint_result() {
  [ $lint_failures -eq 0 ] && echo "lint: nothing found" && return 0
  echo "lint: $lint_failures checks failed"
  return 1
}

# The public ones among the headers on standard input, each by itself: it includes what it needs.
headers_alone() {
  export CXX
  sed '/\/detail\//d' | as_includes | xargs -r -P "$jobs" -d '\n' -n 1 bash -c '
    found=$("${CXX:-g++}" -std=c++20 -fsyntax-only -Iinclude -Ibench/lab/include -x c++ - <<<"$0" 2>&1) ||
      { echo "$0"; echo "$found"; exit 1; }'
}
all_headers_alone() { headers | headers_alone; }

# Listing runs their registration and costs nothing.
list_benchmarks() {
  configure release && build release allot_micro allot_scale || return 1
  local program
  for program in micro scale; do
    build/release/bench/allot_$program --benchmark_list_tests >"$logs/benchmarks-$program.txt" || return 1
  done
}

# With the tests that .ci/run leaves out.
sanitize_all() {
  configure sanitize -DALLOT_TESTS_LEFT_OUT=
  build sanitize
  step "test (sanitize)" sanitize-test ctest --preset sanitize --parallel "$jobs"
}
