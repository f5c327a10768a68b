// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/gpu/inventory.hpp>
#include <allot/quota/builder.hpp>
#include <allot/scheduler/scheduler.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace allot_test {

struct host_job {
  std::string name;
  allot::quota_id quota;
  allot::quantity gpus;
  std::int64_t priority = 0;
  bool preemptible = true;
  std::uint64_t number = 0;
};

/// A view with every optional member, for jobs in one dimension.
struct host_view {
  using job = const host_job*;
  allot::quota_id quota(job j) const { return j->quota; }
  allot::resources<> request(job j) const { return j->gpus; }
  std::int64_t priority(job j) const { return j->priority; }
  allot::instant submitted(job j) const { return static_cast<allot::instant>(j->number); }
  std::uint64_t id(job j) const { return j->number; }
  bool preemptible(job j) const { return j->preemptible; }
  allot::gpu::pod_request pod_request(job j) const { return {.gpus = j->gpus, .total = true}; }
};

/// A host whose jobs have names and are released when the test says so. Plans are printed as a line: "-b1>a1"
/// b1 is evicted for a1, "~a1" a1 is reserved, "+a1" a1 starts, in this order.
template <class Placement = allot::no_placement, class Policies = allot::policies<>>
class host {
 public:
  using scheduler_type = allot::scheduler<host_view, Placement, Policies>;

  struct options {
    std::int64_t priority = 0;
    bool preemptible = true;
  };

  explicit host(std::vector<allot::quota_spec<>> specs, Placement places = {}, Policies policies = {})
      : scheduler_(host_view{}, allot::build_quota_tree<1>(std::move(specs)).value(), std::move(places),
                   std::move(policies)) {}

  [[nodiscard]] scheduler_type& scheduler() { return scheduler_; }
  [[nodiscard]] allot::quota_id quota(const std::string& name) const { return scheduler_.tree().find(name); }
  [[nodiscard]] allot::job_id id(const std::string& name) const { return ids_.at(name); }
  [[nodiscard]] allot::job_state state(const std::string& name) const { return scheduler_.state(id(name)); }
  [[nodiscard]] std::int64_t used(const std::string& name) const {
    return scheduler_.ledger().own_usage(quota(name), 0).in_milli() / 1000;
  }
  /// What the view shows of the job.
  [[nodiscard]] host_job& shown(const std::string& name) {
    return *std::find_if(jobs_.begin(), jobs_.end(), [&](const host_job& j) { return j.name == name; });
  }
  auto why(const std::string& name) { return scheduler_.why(id(name)); }

  /// A job that has not been submitted.
  const host_job* job(const std::string& name, const std::string& in, std::int64_t gpus, options o) {
    jobs_.push_back({name, quota(in), allot::gpus(gpus), o.priority, o.preemptible, jobs_.size()});
    return &jobs_.back();
  }
  allot::job_id submit(const std::string& name, const std::string& in, std::int64_t gpus) {
    return submit(name, in, gpus, options{});
  }
  allot::job_id submit(const std::string& name, const std::string& in, std::int64_t gpus, options o) {
    return ids_[name] = scheduler_.submit(job(name, in, gpus, o));
  }
  allot::job_id adopt(const std::string& name, const std::string& in, std::int64_t gpus) {
    return ids_[name] = scheduler_.adopt(job(name, in, gpus, options{}), 0);
  }
  void finished(const std::string& name) { scheduler_.finished(id(name)); }
  void evicted(const std::string& name) { scheduler_.evicted(id(name)); }
  void evicting(const std::string& name) { scheduler_.evicting(id(name)); }
  void cancel(const std::string& name) { scheduler_.cancel(id(name)); }
  void configure(const std::string& name, const allot::queue_settings& s) {
    REQUIRE(scheduler_.configure(quota(name), s).empty());
  }

  /// One cycle at a later time.
  std::string step_at(allot::instant now) {
    now_ = now;
    return tell(scheduler_.step(now));
  }
  /// One cycle.
  std::string step() { return tell(scheduler_.step(++now_)); }
  /// Runs cycles until nothing more happens; evicted jobs are released at once.
  std::string settle() {
    std::string diary;
    for (;;) {
      const auto& plan = scheduler_.step(++now_);
      if (plan.empty()) return diary;
      diary += (diary.empty() ? "" : " ") + tell(plan);
      std::vector<allot::job_id> going;
      for (const auto& e : plan.evictions) going.push_back(e.id);
      for (const allot::job_id gone : going) scheduler_.evicted(gone);
    }
  }
  /// The holds of the last cycle.
  [[nodiscard]] const auto& pending() const { return pending_; }

 private:
  std::string tell(const typename scheduler_type::plan_type& plan) {
    std::string line;
    const auto say = [&](const std::string& what) { line += (line.empty() ? "" : " ") + what; };
    for (const auto& e : plan.evictions) {
      say("-" + e.what->name + ">" + (e.beneficiary ? scheduler_.what(e.beneficiary)->name : ""));
    }
    for (const auto& r : plan.nominations) say("~" + r.what->name);
    for (const auto& a : plan.admissions) say("+" + a.what->name);
    pending_ = plan.pending;
    return line;
  }

  std::deque<host_job> jobs_;
  scheduler_type scheduler_;
  std::map<std::string, allot::job_id> ids_;
  std::vector<typename scheduler_type::plan_type::pending_job> pending_;
  allot::instant now_ = 0;
};

/// `count` nodes of `gpus`.
[[nodiscard]] inline allot::gpu::inventory nodes(std::int64_t count, std::int64_t gpus) {
  allot::gpu::node_spec s;
  s.name = "n";
  s.count = count;
  s.gpus = gpus;
  return allot::gpu::inventory{allot::gpu::build_cluster({s}).value()};
}

/// Two teams of 4 that lend to each other.
[[nodiscard]] inline std::vector<allot::quota_spec<>> two_teams() {
  return {{.name = "root"},
          {.name = "a", .parent = "root", .nominal = allot::gpus(4)},
          {.name = "b", .parent = "root", .nominal = allot::gpus(4)}};
}

}  // namespace allot_test
