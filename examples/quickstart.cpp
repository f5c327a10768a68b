// SPDX-License-Identifier: BSL-1.0
#include <allot/allot.hpp>
#include <cstdio>
struct job { const char* name; allot::quota_id team; int gpus; };
struct my_jobs {  // what the library asks of a host: three functions over its own job type
  using job = const ::job*;
  allot::quota_id quota(job j) const { return j->team; }
  allot::resources<> request(job j) const { return allot::gpus(j->gpus); }
  int priority(job) const { return 0; }
};
int main() {
  auto lab = allot::make_scheduler(allot::standard{}, my_jobs{}, {{.name = "lab"},
      {.name = "vision", .parent = "lab", .nominal = allot::gpus(4)},
      {.name = "speech", .parent = "lab", .nominal = allot::gpus(4)}}).value();
  const job train{"train", lab.tree().find("vision"), 6}, tune{"tune", lab.tree().find("speech"), 3};
  for (const job* arrives : {&train, &tune})
    if (lab.submit(arrives))
      allot::settle(lab, 0, [&](const auto& plan) {  // carries out one plan after the other
        for (const auto& a : plan.admissions)
          std::printf("start %s, %s of it borrowed\n", a.what->name, to_string(a.borrows[0]).c_str());
        for (const auto& e : plan.evictions) {
          std::printf("evict %s for %s\n", e.what->name, lab.what(e.beneficiary)->name);
          lab.evicted(e.id);  // it has gone
        }
      });
}
