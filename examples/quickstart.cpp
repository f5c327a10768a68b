// SPDX-License-Identifier: BSL-1.0
// Two teams own 4 GPUs each. Vision borrows what speech leaves idle, until speech takes it back.
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
  auto tree = allot::build_quota_tree<1>({{.name = "lab"},
                                          {.name = "vision", .parent = "lab", .nominal = allot::gpus(4)},
                                          {.name = "speech", .parent = "lab", .nominal = allot::gpus(4)}});
  const job train{"train", tree.value().find("vision"), 6}, tune{"tune", tree.value().find("speech"), 3};
  allot::scheduler<my_jobs> lab{my_jobs{}, tree.value()};
  for (const job* arrives : {&train, &tune}) {
    lab.submit(arrives);
    for (const auto* plan = &lab.step(0); !plan->empty(); plan = &lab.step(0)) {
      for (const auto& a : plan->admissions)
        std::printf("start %s, %s of it borrowed\n", a.what->name, to_string(a.borrows[0]).c_str());
      for (const auto& e : plan->evictions) {
        std::printf("evict %s for %s\n", e.what->name, lab.what(e.beneficiary)->name);
        lab.evicted(e.id);  // it has gone
      }
    }
  }
}
