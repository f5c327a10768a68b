#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# The program with the policies of the gallery: each by its name, and those that know speeds from the scenario's.
# shellcheck source=tests/support/program_test.sh
source "$2/tests/support/program_test.sh"

cat >two.json <<'JSON'
{"format": "allot-scenario/1", "quotas": [{"name": "q", "nominal": "cluster"}],
 "cluster": {"nodes": [{"name": "v", "gpus": 1, "gpu_model": "V100"}, {"name": "k", "gpus": 1, "gpu_model": "K80"}]},
 "speeds": [{"class": "picky", "gpu_model": {"K80": 0.25}}],
 "jobs": [{"id": "a", "request": {"gpu": 1}, "duration_s": 1440, "estimate_s": 1440, "checkpoint_s": 0},
          {"id": "b", "request": {"gpu": 1}, "duration_s": 1440, "estimate_s": 1440, "checkpoint_s": 0, "class": "picky"}]}
JSON
for policy in srtf srsf qssf tiresias gittins themis gavel_las gavel_makespan committed wfp3 unicep; do
  exits 0 "$allot" replay two.json --policy $policy --out $policy
  says "$(cut -d, -f1,4,5 $policy/jobs.csv | tail -n 2)" $'a,0,1440\nb,0,5760'
done
for policy in gavel_las_models gavel_makespan_models; do
  exits 0 "$allot" replay two.json --policy $policy --out $policy
  says "$(cut -d, -f1,4,5 $policy/jobs.csv | tail -n 2)" $'a,0,1440\nb,0,1440'
done

conclude
