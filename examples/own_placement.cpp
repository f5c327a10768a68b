// SPDX-License-Identifier: BSL-1.0
//
// A placement of your own (own_placement.hpp) under the preset `standard`. Two teams share three machines,
// and their quotas count CPUs, memory and GPUs: training borrows at most 4 GPUs, serving may borrow anything.
#include <allot/allot.hpp>
#include <allot/scheduler/sentences.hpp>

#include <fmt/core.h>

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "own_placement.hpp"

namespace {

using own_placement::amounts;
using own_placement::machines;

amounts of(std::int64_t cpus, std::int64_t gib, std::int64_t gpus) {
  return {allot::quantity::whole(cpus), allot::quantity::whole(gib), allot::gpus(gpus)};
}

struct job {
  std::string name;
  allot::quota_id team;
  amounts needs;
};
struct jobs_view {
  using job = const ::job*;
  allot::quota_id quota(job j) const { return j->team; }
  amounts request(job j) const { return j->needs; }
  int priority(job) const { return 0; }
  amounts pod_request(job j) const { return j->needs; }
};

class host {
 public:
  void submit(const std::string& team, const std::string& name, const amounts& needs) {
    jobs_.push_back({name, lab_.tree().find(team), needs});
    ids_[name] = lab_.submit(&jobs_.back());
  }
  void finish(const std::string& name) { lab_.finished(ids_.at(name)); }
  void close(std::size_t machine) {
    lab_.nodes().close(machine);
    lab_.retry();
  }

  void settle() {
    allot::settle(lab_, 0, [&](const auto& plan) {
      for (const auto& e : plan.evictions) {
        fmt::print("  {}\n", sentence(lab_, e, names_, name_of));
        lab_.evicted(e.id);
      }
      for (const auto& a : plan.admissions) {
        fmt::print("  {}, on {}\n", sentence(lab_, a, names_, name_of),
                   lab_.places().name(lab_.places().machine_of(a.where)));
      }
    });
    for (const auto& [name, id] : ids_) {
      if (lab_.state(id) == allot::job_state::pending)
        fmt::print("  {}\n", sentence(lab_, lab_.why(id), names_, name_of));
    }
  }
  void show() const {
    for (std::size_t m = 0; m < lab_.places().size(); ++m) {
      fmt::print("  {}: {} free\n", lab_.places().name(m), names_.text(lab_.places().free(m)));
    }
  }

 private:
  static const std::string& name_of(const job* j) { return j->name; }

  const allot::dimension_names<3> names_{"CPUs", "GiB", "GPUs"};
  allot::scheduler_for<allot::standard, jobs_view, machines> lab_ =
      allot::make_scheduler(
          allot::standard{}, jobs_view{},
          {{.name = "lab"},
           {.name = "training",
            .parent = "lab",
            .nominal = of(64, 512, 8),
            .borrow = {allot::limit::all(), allot::limit::all(), allot::limit::at_most(allot::gpus(4))}},
           {.name = "serving", .parent = "lab", .nominal = of(96, 512, 8)}},
          machines{{{"gpu-1", of(64, 384, 8)}, {"gpu-2", of(64, 384, 8)}, {"cpu-1", of(32, 256, 0)}}})
          .value();
  std::deque<job> jobs_;
  std::map<std::string, allot::job_id> ids_;
};

}  // namespace

int main() {
  host h;
  fmt::print("1. Training wants 14 of the 16 GPUs. It owns 8 and may borrow 4.\n");
  h.submit("training", "pretrain", of(48, 256, 8));
  h.submit("training", "finetune", of(16, 64, 4));
  h.submit("training", "sweep", of(4, 32, 2));
  h.settle();

  fmt::print("2. Jobs without GPUs go where they cost no GPU its CPUs.\n");
  h.submit("serving", "tokenize", of(28, 128, 0));
  h.submit("serving", "index", of(16, 192, 0));
  h.settle();
  h.show();

  fmt::print("3. Serving wants 4 of its GPUs. They are free, but not the CPUs beside them.\n");
  h.submit("serving", "chat", of(40, 64, 4));
  h.settle();

  fmt::print("4. It wants its other 4 as well: sweep borrows two of them.\n");
  h.submit("serving", "search", of(8, 64, 4));
  h.settle();

  fmt::print("5. gpu-2 is closed for maintenance. What runs there may end.\n");
  h.close(1);
  h.finish("pretrain");
  h.submit("training", "retrain", of(48, 64, 2));
  h.settle();
  h.show();
}
