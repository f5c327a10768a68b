#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# HiveD's configuration as a scenario: nodes, the cells around them, and what virtual clusters own.
# shellcheck source=tests/support/program_test.sh
source "$2/tests/support/program_test.sh"

imports() { # STATUS: of the file on standard input; the scenario is in `out`, notes and errors in `err`
  "$allot" import hived - >out 2>err
  local status=$?
  if [[ $(<err) == *'built without yaml-cpp'* ]]; then
    echo 'skipped: this program was built without yaml-cpp'
    exit 77
  fi
  [ "$status" -eq "$1" ] || fail "exit status $status, expected $1: $(<err)"
  [ "$status" -ne 0 ] || "$allot" check out >checked 2>&1 || fail "check: $(<checked)"
}

# --- two kinds of devices: nodes in racks of two within a row, one by itself, one of which a part is pinned

cat >hived.yaml <<'YAML'
kubeApiServerAddress: http://10.10.10.10:8080  # of no concern
physicalCluster:
  skuTypes:
    V100: {gpu: 1, cpu: 5, memory: 54Gi}
  cellTypes:
    V100-SWITCH:
      childCellType: V100
      childCellNumber: 2
    V100-NODE:
      childCellType: V100-SWITCH
      childCellNumber: 4
      isNodeLevel: true
    V100-RACK: {childCellType: V100-NODE, childCellNumber: 2}
    V100-ROW: {childCellType: V100-RACK, childCellNumber: 2}
    K80-NODE:
      childCellType: K80
      childCellNumber: 4
      isNodeLevel: true
  physicalCells:
  - cellType: V100-ROW
    cellChildren:
    - pinnedCellId: first-rack
      cellChildren:
      - cellAddress: 0.0.0.1
      - cellAddress: 0.0.0.2
        cellChildren: null
    - cellAddress: right
      cellChildren:
      - cellAddress: 3
      - cellAddress: "0.0.0.4"
  - cellType: V100-NODE
    cellAddress: lonely
    cellChildren:
    - pinnedCellId: half
      cellChildren: [{cellAddress: 6}, {cellAddress: 7}]
    - {}
  - cellType: K80-NODE
    cellAddress: old
  - cellType: K80-NODE
    cellAddress: lonely
virtualClusters:
  vc1:
    virtualCells:
    - cellType: V100-ROW.V100-RACK.V100-NODE
      cellNumber: 1
    - cellType: V100-ROW.V100-RACK.V100-NODE.V100-SWITCH
      cellNumber: 3
    pinnedCells:
    - pinnedCellId: half
  vc2:
    virtualCells:
    - cellType: K80-NODE
      cellNumber: 2
    pinnedCells: [{pinnedCellId: first-rack}]
YAML
imports 0 <hived.yaml
diff -u - out <<'JSON' || fail 'the scenario is not what was expected'
{
  "format": "allot-scenario/1",
  "policy": "standard",
  "resources": [
    "K80/gpu",
    "V100/gpu"
  ],
  "cluster": {
    "topology": [
      "cells-2",
      "cells-1"
    ],
    "nodes": [
      {"name": "0.0.0.1", "gpus": 8, "gpu_model": "V100", "cpu_milli": 40000, "memory_mib": 442368, "labels": {"cells-2": "V100-ROW.0", "cells-1": "V100-ROW.0/0"}},
      {"name": "0.0.0.2", "gpus": 8, "gpu_model": "V100", "cpu_milli": 40000, "memory_mib": 442368, "labels": {"cells-2": "V100-ROW.0", "cells-1": "V100-ROW.0/0"}},
      {"name": "3", "gpus": 8, "gpu_model": "V100", "cpu_milli": 40000, "memory_mib": 442368, "labels": {"cells-2": "V100-ROW.0", "cells-1": "V100-ROW.0/right"}},
      {"name": "0.0.0.4", "gpus": 8, "gpu_model": "V100", "cpu_milli": 40000, "memory_mib": 442368, "labels": {"cells-2": "V100-ROW.0", "cells-1": "V100-ROW.0/right"}},
      {"name": "lonely", "gpus": 4, "gpu_model": "V100", "cpu_milli": 20000, "memory_mib": 221184, "labels": {"cells-2": "lonely", "cells-1": "lonely"}},
      {"name": "old", "gpus": 4, "gpu_model": "K80", "labels": {"cells-2": "old", "cells-1": "old"}},
      {"name": "lonely/K80", "gpus": 4, "gpu_model": "K80", "labels": {"cells-2": "lonely/K80", "cells-1": "lonely/K80"}}
    ]
  },
  "quotas": [
    {
      "name": "physicalCluster",
      "nominal": "cluster",
      "inclusive": true
    },
    {
      "name": "vc1",
      "parent": "physicalCluster",
      "nominal": {"V100/gpu": 16}
    },
    {
      "name": "vc2",
      "parent": "physicalCluster",
      "nominal": {"K80/gpu": 8, "V100/gpu": 16}
    }
  ]
}
JSON
notes 'virtual cluster vc1: 1 pinned cell counts (half) as GPUs' 'HiveD guarantees cells' 'cells within a node are not carried over'

# --- one kind of device: it is the gpu; nodes alone have no topology

tiny() { # CELLTYPES CELLS VIRTUAL
  printf 'physicalCluster:\n  cellTypes: {N: {childCellType: T4, childCellNumber: 4, isNodeLevel: true}%s}\n  physicalCells: [%s]\nvirtualClusters: {a: {virtualCells: [%s]}}\n' \
    "$1" "$2" "$3"
}
two='{cellType: N, cellAddress: n0}, {cellType: N, cellAddress: n1}'
imports 0 < <(tiny '' "$two" '{cellType: N, cellNumber: 2}')
grep -q '"nominal": {"gpu": 8}' out && ! grep -q topology out || fail "one kind of device: $(<out)"

# --- what is wrong is said where it is

wrong() { # MESSAGE CELLTYPES CELLS VIRTUAL
  imports 2 < <(tiny "${@:2}")
  says "$(<err)" "*standard input: $1*"
}
wrong '/virtualClusters/a/virtualCells/0: no physical cell has one of the type "M"' '' "$two" '{cellType: M, cellNumber: 1}'
wrong '/virtualClusters/a/virtualCells/0: expected a cellNumber' '' "$two" '{cellType: N}'
wrong '/physicalCluster/physicalCells/0: its cellType "M" is none of cellTypes' '' '{cellType: M}' ''
wrong '/physicalCluster/physicalCells/1: expected a cellAddress, the name of the node' '' '{cellType: N, cellAddress: n0}, {cellType: N}' ''
wrong '/physicalCluster/physicalCells/0: expected cellChildren' ', R: {childCellType: N, childCellNumber: 2}' '{cellType: R}' ''
wrong '/physicalCluster/physicalCells/0/cellChildren/0: there is no cell of node level' ', R: {childCellType: X, childCellNumber: 2}' \
  '{cellType: R, cellChildren: [{}]}' ''
wrong '/physicalCluster/physicalCells/0: a cell of the type "A" contains itself' \
  ', A: {childCellType: B, childCellNumber: 1}, B: {childCellType: A, childCellNumber: 1}' '{cellType: A}' ''
wrong '/physicalCluster/cellTypes/R: expected childCellType and childCellNumber' ', R: {}' "$two" ''
imports 2 < <(tiny '' "$two" '{cellType: N, cellNumber: 3}')
says "$(<err)" '*physicalCluster*12*8*'
imports 2 <<<'virtualClusters: {}'
says "$(<err)" '*expected the configuration of HiveD*'
imports 2 <<<$'physicalCluster:\n  cellTypes: &x {}\n  physicalCells: *x'
says "$(<err)" '*standard input: line 3, column 18: an alias*'
"$allot" import swf hived.yaml >out 2>err && fail 'a configuration of HiveD passes for SWF'
says "$(<err)" '*which allot import hived reads*'

conclude
