#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Drawings for GraphViz: where they go, and that GraphViz reads them, whatever the names.
# shellcheck source=tests/support/program_test.sh
source "$2/tests/support/program_test.sh"
scenarios=$2/bench/lab/scenarios

# readable FILE: GraphViz, if it is there, can read it and shows what is in it.
readable() {
  command -v dot >/dev/null || return 0
  dot -Tsvg "$1" >drawn.svg 2>err || fail "GraphViz does not read $1: $(<err)"
  [ ! -s err ] || fail "GraphViz warns of $1: $(<err)"
}

for file in "$scenarios"/*.json; do
  exits 0 "$allot" draw "$file"
  says "$(<out)" "digraph G {*label=\"quotas of ${file##*/}\"*}"
  cp out quotas.dot
  readable quotas.dot
done
exits 0 "$allot" draw "$scenarios/three_teams.json" --out quotas.dot --force
says "$(<out)$(<err)" ''
says "$(<quotas.dot)" 'digraph G {*nominal *->*}'
exits 2 "$allot" draw "$scenarios/three_teams.json" --out quotas.dot
says "$(<err)" '*quotas.dot exists*--force*'
exits 0 "$allot" draw --topology "$scenarios/topology_and_mig.json" --out topology.dot
says "$(<topology.dot)" 'digraph G {*label="block a*style=rounded*->*}'
readable topology.dot
exits 0 "$allot" draw --topology --nodes 16x8 - <"$scenarios/three_teams.json"
says "$(<out)" '*"topology of standard input"*"node-1\\n8 GPUs"*'

# Hostile names.
names=$2/tests/lab/hostile_names.json
{
  printf '{"format": "allot-scenario/1", "cluster": {"nodes": ['
  while IFS= read -r name; do printf '{"name": %s, "gpus": 1, "pool": %s},' "$name" "$name"; done <"$names"
  printf ']}, "quotas": ['
  while IFS= read -r name; do printf '{"name": %s},' "$name"; done <"$names"
  printf ']}'
} >hostile.json
for what in '' --topology; do
  # shellcheck disable=SC2086
  exits 0 "$allot" draw $what hostile.json --out hostile.dot --force
  [ "$(wc -l <hostile.dot)" -eq $((4 + $(wc -l <"$names"))) ] || fail "a name breaks a line of the drawing"
  LC_ALL=C grep -q $'[\x01-\x09\x0b-\x1f]' hostile.dot && fail 'there is a control character in the drawing'
  readable hostile.dot
done

# Bad input.
printf '{"format": "allot-scenario/1", "quotas": [{"name": "q"}]}' >quotas.json
exits 2 "$allot" draw --topology quotas.json --out never.dot
says "$(<err)" 'quotas.json: there are no nodes to draw: expected a "cluster", or --nodes'
exits 2 "$allot" draw nowhere.json --out never.dot
says "$(<err)" 'nowhere.json: No such file*'
exits 2 "$allot" draw --out never.dot
[ ! -e never.dot ] || fail 'a drawing was written for wrong input'

conclude
