// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/gpu/inventory.hpp>
#include <allot/quota/builder.hpp>
#include <allot/scheduler/scheduler.hpp>

#include <doctest/doctest.h>

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

/// An amount of GPUs of the first model, h100, and of the second, a100.
[[nodiscard]] inline allot::resources<2> models(std::int64_t h100, std::int64_t a100 = 0) {
  return {allot::gpus(h100), allot::gpus(a100)};
}

/// A job of equal pods; it needs `min_pods` and may have more.
struct unit_job {
  std::string name;
  allot::quota_id quota;
  allot::resources<2> each{};
  std::uint32_t pods = 1;
  std::uint32_t min_pods = 1;
  allot::flavor_menu<2> menu{};
  std::int64_t priority = 0;
  bool preemptible = true;
  allot::instant time_limit = 0;
  std::uint64_t number = 0;
};

/// A view with every optional member: elastic jobs, flavors, time limits. With a placement, a model is a
/// pool.
struct unit_view {
  using job = const unit_job*;
  allot::quota_id quota(job j) const { return j->quota; }
  allot::resources<2> request(job j) const { return request(j, j->pods); }
  allot::resources<2> request(job j, std::uint32_t pods) const { return j->each * pods; }
  allot::flavor_menu<2> flavors(job j, std::uint32_t pods) const { return j->menu * pods; }
  std::uint32_t pods(job j) const { return j->pods; }
  std::uint32_t min_pods(job j) const { return j->min_pods; }
  std::int64_t priority(job j) const { return j->priority; }
  allot::instant submitted(job j) const { return static_cast<allot::instant>(j->number); }
  std::uint64_t id(job j) const { return j->number; }
  bool preemptible(job j) const { return j->preemptible; }
  allot::instant time_limit(job j) const { return j->time_limit; }
  allot::gpu::pod_request pod_request(job j) const { return pod_request(j, j->pods, {}); }
  allot::gpu::pod_request pod_request(job j, std::uint32_t pods, const allot::flavor_pick& pick) const {
    const allot::resources<2> one = j->each + j->menu.request(pick);
    const bool second = one[0] == allot::quantity{};
    return {.gpus = second ? one[1] : one[0], .pods = pods, .pools = std::uint64_t{second ? 2U : 1U}};
  }
};

/// A menu of one group: GPUs per pod, h100 preferred to a100.
[[nodiscard]] inline allot::flavor_menu<2> h100_then_a100(std::int64_t gpus) {
  allot::flavor_menu<2> menu;
  menu.add_group(std::vector<allot::resources<2>>{models(gpus, 0), models(0, gpus)});
  return menu;
}

/// A host of such jobs. It tracks running jobs itself, from the plans and its own calls, and checks the
/// scheduler's books against that after every call. Plans are printed as a line: "-b>a" all of b is evicted
/// for a, "-b^>a" one elastic pod of b, "~a" a is reserved, "+a" a starts, "+a^" a has one pod more.
template <class Placement = allot::no_placement, class Policies = allot::policies<>>
class unit_host {
 public:
  using scheduler_type = allot::scheduler<unit_view, Placement, Policies>;
  using plan_type = typename scheduler_type::plan_type;

  struct options {
    std::uint32_t pods = 1;
    std::uint32_t min_pods = 0;  // all
    std::int64_t priority = 0;
    allot::flavor_menu<2> menu{};
    bool preemptible = true;
    allot::instant time_limit = 0;
  };

  explicit unit_host(std::vector<allot::quota_spec<2>> specs, Placement places = {}, Policies policies = {})
      : scheduler_(unit_view{}, allot::build_quota_tree<2>(std::move(specs)).value(), std::move(places),
                   std::move(policies)) {}

  [[nodiscard]] scheduler_type& scheduler() { return scheduler_; }
  [[nodiscard]] allot::quota_id quota(const std::string& name) const { return scheduler_.tree().find(name); }
  [[nodiscard]] allot::job_id id(const std::string& name) const { return ids_.at(name); }
  [[nodiscard]] allot::job_state state(const std::string& name) const { return scheduler_.state(id(name)); }
  /// How many pods of the job run.
  [[nodiscard]] std::uint32_t pods(const std::string& name) const {
    if (state(name) != allot::job_state::running) return 0;
    std::uint32_t n = scheduler_.what(id(name))->min_pods;
    for (const allot::job_id s : scheduler_.elastic_pods_of(id(name))) {
      n += scheduler_.state(s) == allot::job_state::running ? 1U : 0U;
    }
    return n;
  }
  [[nodiscard]] std::int64_t used(const std::string& name, std::size_t d = 0) const {
    return scheduler_.ledger().own_usage(quota(name), d).in_milli() / 1000;
  }
  /// The k-th pod that runs beyond the core.
  [[nodiscard]] allot::job_id elastic_pod(const std::string& name, std::size_t k = 0) const {
    for (const allot::job_id s : scheduler_.elastic_pods_of(id(name))) {
      if (scheduler_.state(s) == allot::job_state::running && k-- == 0) return s;
    }
    return {};
  }
  [[nodiscard]] allot::job_id waiting_elastic_pod(const std::string& name) const {
    for (const allot::job_id s : scheduler_.elastic_pods_of(id(name))) {
      if (scheduler_.state(s) == allot::job_state::pending) return s;
    }
    return {};
  }

  const unit_job* job(const std::string& name, const std::string& in, const allot::resources<2>& each,
                      options o) {
    jobs_.push_back({name, quota(in), each, o.pods, o.min_pods == 0 ? o.pods : o.min_pods, std::move(o.menu),
                     o.priority, o.preemptible, o.time_limit, jobs_.size()});
    return &jobs_.back();
  }
  /// `gpus` for each pod, unless there is a menu.
  allot::job_id submit(const std::string& name, const std::string& in, std::int64_t gpus, options o) {
    const bool chooses = !o.menu.empty();
    const unit_job* j = job(name, in, chooses ? models(0) : models(gpus), std::move(o));
    ids_[name] = scheduler_.submit(j);
    check();
    return ids_[name];
  }
  allot::job_id submit(const std::string& name, const std::string& in, std::int64_t gpus) {
    return submit(name, in, gpus, options{});
  }
  void finished(allot::job_id id) {
    scheduler_.finished(id);
    check();
  }
  void finished(const std::string& name) { finished(id(name)); }
  void evicted(allot::job_id id) {
    scheduler_.evicted(id);
    check();
  }
  void evicted(const std::string& name) { evicted(id(name)); }
  void evicting(allot::job_id id) {
    scheduler_.evicting(id);
    check();
    note_told();
  }
  void evicting(const std::string& name) { evicting(id(name)); }
  void cancel(allot::job_id id) {
    scheduler_.cancel(id);
    check();
  }
  void cancel(const std::string& name) { cancel(id(name)); }
  void configure(const std::string& name, const allot::queue_settings& s) {
    REQUIRE(scheduler_.configure(quota(name), s).empty());
  }
  void know(const std::string& name, allot::job_id id) { ids_[name] = id; }

  std::string step() { return step_at(now_ + 1); }
  std::string step_at(allot::instant now) {
    now_ = now;
    return tell(checked_step());
  }
  /// Runs cycles until nothing more happens; evicted jobs are released at once.
  std::string settle() {
    std::string diary;
    for (int cycles = 0;; ++cycles) {
      REQUIRE(cycles < 1000);
      ++now_;
      const plan_type& plan = checked_step();
      if (plan.empty()) return diary;
      diary += (diary.empty() ? "" : " ") + tell(plan);
      std::vector<allot::job_id> going;
      for (const auto& e : plan.evictions) going.push_back(e.id);
      for (const allot::job_id gone : going) evicted(gone);
    }
  }

  /// The expected books, computed only from the states of the jobs and their pods.
  void check() const {
    allot::ledger<2> held{scheduler_.tree()};
    allot::ledger<2> assumed{scheduler_.tree()};
    std::map<allot::quota_id, std::size_t> waiting;
    allot::quantity used, leaving;
    const auto count = [&](allot::job_id id, std::uint32_t pods) {
      const unit_job& j = *scheduler_.what(id);
      const allot::resources<2> request = (j.each + j.menu.request(scheduler_.pick(id))) * pods;
      CHECK(scheduler_.request(id) == request);
      const allot::capacity_kind in =
          j.preemptible ? allot::capacity_kind::any : allot::capacity_kind::guaranteed;
      const allot::job_state s = scheduler_.state(id);
      if (s == allot::job_state::running || s == allot::job_state::evicting) {
        held.charge(j.quota, request, in);
      }
      if (s == allot::job_state::running || s == allot::job_state::nominated) {
        assumed.charge(j.quota, request, in);
        used += request[0] + request[1];
      }
      if (s == allot::job_state::evicting) leaving += request[0] + request[1];
      if (s == allot::job_state::pending || s == allot::job_state::nominated) ++waiting[j.quota];
    };
    for (const auto& [name, id] : ids_) {
      if (!id || scheduler_.state(id) == allot::job_state::unknown) continue;
      const unit_job& j = *scheduler_.what(id);
      if (j.name != name) continue;  // the id belongs to another job by now
      count(id, j.min_pods);
      std::size_t known = 0;
      bool next_waits = false;
      for (const allot::job_id s : scheduler_.elastic_pods_of(id)) {
        count(s, 1);
        CHECK(scheduler_.pick(s) == scheduler_.pick(id));
        const allot::job_state of_pod = scheduler_.state(s);
        CHECK(of_pod != allot::job_state::unknown);
        const bool waits = of_pod == allot::job_state::pending;
        CHECK_FALSE((waits && next_waits));  // one at a time
        next_waits = next_waits || waits;
        known += 1;
      }
      CHECK(known + j.min_pods <= j.pods);
      // Only a job that runs or will has elastic pods, and they are evicted with it.
      const allot::job_state of_job = scheduler_.state(id);
      if (of_job == allot::job_state::pending) CHECK(known == 0);
      for (const allot::job_id s : scheduler_.elastic_pods_of(id)) {
        const allot::job_state of_pod = scheduler_.state(s);
        if (of_job == allot::job_state::evicting) CHECK(of_pod == allot::job_state::evicting);
        if (of_job == allot::job_state::nominated) {
          CHECK((of_pod == allot::job_state::pending || of_pod == allot::job_state::nominated));
        }
      }
    }
    CHECK(scheduler_.ledger() == held);
    CHECK(scheduler_.assumed() == assumed);
    for (const allot::quota_id x : scheduler_.tree().top_down()) CHECK(scheduler_.waiting(x) == waiting[x]);
    if constexpr (!std::same_as<Placement, allot::no_placement>) {
      CHECK(scheduler_.places().used() == used);
      CHECK(scheduler_.places().held() == leaving);
    }
  }

  [[nodiscard]] const std::vector<typename plan_type::pending_job>& pending() const { return pending_; }
  [[nodiscard]] const std::map<std::string, allot::job_id>& ids() const { return ids_; }

 private:
  const plan_type& checked_step() {
    const bool was_sound = scheduler_.ledger().is_sound() && scheduler_.assumed().is_sound();
    const plan_type& plan = scheduler_.step(now_);
    check();
    if (was_sound) CHECK((scheduler_.ledger().is_sound() && scheduler_.assumed().is_sound()));
    check_plan(plan);
    return plan;
  }
  void check_plan(const plan_type& plan) {
    for (std::size_t i = 0; i < plan.evictions.size(); ++i) {
      const auto& e = plan.evictions[i];
      CHECK(scheduler_.state(e.id) == allot::job_state::evicting);
      if (e.core) {
        CHECK(e.pods == 1);
        // The job shrinks, unless all of it is evicted later in the same plan.
        const bool goes = std::any_of(plan.evictions.begin() + static_cast<std::ptrdiff_t>(i),
                                      plan.evictions.end(), [&](const auto& f) { return f.id == e.core; });
        CHECK(scheduler_.state(e.core) == (goes ? allot::job_state::evicting : allot::job_state::running));
        told_[e.id] = true;
        continue;
      }
      // Counts the pods evicted with it that were not reported before.
      std::uint32_t pods = e.what->min_pods;
      for (const allot::job_id s : scheduler_.elastic_pods_of(e.id)) {
        pods += told_.count(s) != 0 ? 0U : 1U;
      }
      CHECK(e.pods == pods);
    }
    for (const auto& a : plan.admissions) {
      CHECK(scheduler_.state(a.id) == allot::job_state::running);
      CHECK(a.pick == scheduler_.pick(a.id));
      CHECK(a.pods == (a.core ? 1U : a.what->min_pods));
    }
    for (const auto& h : plan.pending) CHECK(scheduler_.state(h.id) == allot::job_state::pending);
    note_told();
  }
  void note_told() {
    told_.clear();
    for (const auto& [name, id] : ids_) {
      if (!id || scheduler_.state(id) == allot::job_state::unknown) continue;
      for (const allot::job_id s : scheduler_.elastic_pods_of(id)) {
        if (scheduler_.state(s) == allot::job_state::evicting) told_[s] = true;
      }
    }
  }
  std::string tell(const plan_type& plan) {
    std::string line;
    const auto say = [&](const std::string& what) { line += (line.empty() ? "" : " ") + what; };
    for (const auto& e : plan.evictions) {
      std::string text = "-" + e.what->name;
      if (e.core) text += "^";
      if (e.beneficiary) {
        text += ">" + scheduler_.what(e.beneficiary)->name;
        const auto owner = ids_.find(scheduler_.what(e.beneficiary)->name);
        if (owner == ids_.end() || owner->second != e.beneficiary) text += "^";
      }
      say(text);
    }
    for (const auto& r : plan.nominations) {
      say("~" + r.what->name + (ids_.at(r.what->name) == r.id ? "" : "^"));
    }
    for (const auto& a : plan.admissions) say("+" + a.what->name + (a.core ? "^" : ""));
    pending_ = plan.pending;
    return line;
  }

  std::deque<unit_job> jobs_;
  scheduler_type scheduler_;
  std::map<std::string, allot::job_id> ids_;
  /// The elastic pods evicted so far.
  std::map<allot::job_id, bool> told_;
  std::vector<typename plan_type::pending_job> pending_;
  allot::instant now_ = 0;
};

/// `h100` nodes of the first model and `a100` of the second, each with `gpus` GPUs.
[[nodiscard]] inline allot::gpu::inventory two_models(std::int64_t h100, std::int64_t a100,
                                                      std::int64_t gpus) {
  std::vector<allot::gpu::node_spec> specs;
  const auto add = [&](const char* model, std::int64_t count) {
    if (count == 0) return;
    allot::gpu::node_spec s;
    s.name = model;
    s.count = count;
    s.gpus = gpus;
    s.pool = model;
    specs.push_back(s);
  };
  add("h100", h100);
  add("a100", a100);
  return allot::gpu::inventory{allot::gpu::build_cluster(specs).value()};
}

/// A single team that owns GPUs of the two models.
[[nodiscard]] inline std::vector<allot::quota_spec<2>> one_team(std::int64_t h100, std::int64_t a100 = 0) {
  return {{.name = "q", .nominal = models(h100, a100)}};
}

}  // namespace allot_test
