# SPDX-License-Identifier: BSL-1.0
# The workloads of Kueue's scheduler benchmark as a trace: see r7_kueue_baseline.json.
BEGIN {
  print "job_id,submit_s,duration_s,gpus,tenant,priority,class"
  for (cohort = 0; cohort < 5; ++cohort) {
    for (queue = 0; queue < 6; ++queue) {
      tenant = "cohort" cohort "-" queue
      workloads("small", 350, 0.1, 1, 0.2, 50)
      workloads("medium", 100, 0.5, 5, 0.5, 100)
      workloads("large", 50, 1.2, 20, 1, 200)
    }
  }
}
function workloads(kind, count, every, gpus, runs, priority, i) {
  for (i = 1; i <= count; ++i) {
    printf "%s-%s-%d,%.1f,%s,%d,%s,%d,%s\n", kind, tenant, i, every * i, runs, gpus, tenant, priority, kind
  }
}
