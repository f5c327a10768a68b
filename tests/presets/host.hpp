// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/quota/builder.hpp>
#include <allot/scheduler/scheduler.hpp>

#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace allot_test {

struct preset_job {
  std::string name;
  allot::quota_id quota;
  int gpus;
  int priority;
  allot::instant submitted;
  allot::instant length;
  bool preemptible;
  allot::instant ready = std::numeric_limits<allot::instant>::min();
};
/// One type for every preset, so that presets with the same parts are compiled once.
struct preset_view {
  using job = const preset_job*;

  allot::quota_id quota(job j) const { return j->quota; }
  allot::resources<> request(job j) const { return allot::gpus(j->gpus); }
  int priority(job j) const { return j->priority; }
  allot::instant submitted(job j) const { return j->submitted; }
  std::uint64_t id(job j) const { return static_cast<std::uint64_t>(j->submitted); }
  allot::instant duration(job j) const { return j->length; }
  allot::instant estimate(job j) const { return j->length; }
  bool preemptible(job j) const { return j->preemptible; }
  allot::instant ready_at(job j) const { return j->ready; }
};

/// A host that schedules by quota alone under one preset, carries out plans at once, and keeps a log: "+a1"
/// for a start, "-a1>b1" for an eviction in favour of b1.
template <class Preset>
class preset_host {
 public:
  struct options {
    int priority = 0;
    allot::instant length = 1;
    bool preemptible = true;
    allot::instant ready = std::numeric_limits<allot::instant>::min();
  };

  explicit preset_host(std::vector<allot::quota_spec<1>> specs, const Preset& preset = {})
      : names_(allot::build_quota_tree(specs).value()),
        scheduler_(allot::make_scheduler(preset, preset_view{}, std::move(specs)).value()) {}

  auto& scheduler() { return scheduler_; }
  allot::quota_id quota(std::string_view name) const { return names_.find(name); }
  allot::job_id id(const std::string& name) const { return ids_.at(name); }

  void submit(std::string_view name, std::string_view to, int gpus) { submit(name, to, gpus, options{}); }
  void submit(std::string_view name, std::string_view to, int gpus, options o) {
    jobs_.push_back(
        {std::string{name}, quota(to), gpus, o.priority, ++now_, o.length, o.preemptible, o.ready});
    ids_[std::string{name}] = scheduler_.submit(&jobs_.back());
  }
  void finish(std::string_view name) { scheduler_.finished(ids_.at(std::string{name})); }

  /// Runs the scheduler until it decides nothing more; returns what happened.
  std::string settle() {
    std::string diary;
    for (const auto* plan = &scheduler_.step(++now_); !plan->empty(); plan = &scheduler_.step(++now_)) {
      for (const auto& e : plan->evictions) {
        diary += " -" + e.what->name + ">" + scheduler_.what(e.beneficiary)->name;
        scheduler_.evicted(e.id);
      }
      for (const auto& a : plan->admissions) diary += " +" + a.what->name;
    }
    return diary.empty() ? diary : diary.substr(1);
  }
  int used(std::string_view name) const {
    return static_cast<int>(scheduler_.ledger().own_usage(quota(name), 0).in_milli() / 1000);
  }

 private:
  allot::quota_tree<1> names_;
  allot::scheduler_for<Preset, preset_view> scheduler_;
  std::deque<preset_job> jobs_;
  std::map<std::string, allot::job_id> ids_;
  allot::instant now_ = 0;
};

}  // namespace allot_test
