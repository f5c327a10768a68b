// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/quota/builder.hpp>
#include <allot/scheduler/scheduler.hpp>
#include <allot/systems/kueue/kueue.hpp>
#include <allot/systems/kueue/kueue_fair.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace allot_test {

using kueue_amounts = std::vector<std::int64_t>;

[[nodiscard]] inline allot::preempt_settings kueue_may(
    allot::preempt_within within, allot::preempt_reclaim reclaim,
    allot::preempt_borrow borrow = allot::preempt_borrow::never) {
  allot::preempt_settings s;
  s.within = within;
  s.reclaim = reclaim;
  s.borrow = borrow;
  return s;
}

/// A quota; amounts in whole units in the order of the dimensions. Omitted values are zero; a limit of -1
/// means no limit.
struct kueue_queue {
  std::string name;
  std::string cohort = "";  // NOLINT(readability-redundant-string-init)
  kueue_amounts nominal = kueue_amounts();
  std::optional<kueue_amounts> borrow = std::nullopt;
  std::optional<kueue_amounts> lend = std::nullopt;
  allot::preempt_settings preempt = allot::detail::kueue_defaults.preempt;
  allot::queue_head head = allot::queue_head::best_effort;
  allot::flavor_choice choice = allot::flavor_choice();
  std::int64_t weight = 1000;
};
struct kueue_workload {
  std::string name;
  std::string queue;
  kueue_amounts request = kueue_amounts();
  std::int64_t priority = 0;
  allot::instant at = 0;
  /// Groups of alternatives, each with an amount per dimension.
  std::vector<std::vector<kueue_amounts>> groups = std::vector<std::vector<kueue_amounts>>();
};

inline constexpr std::size_t kueue_dimensions = 4;

[[nodiscard]] inline allot::resources<kueue_dimensions> kueue_resources(const kueue_amounts& a) {
  allot::resources<kueue_dimensions> r;
  for (std::size_t d = 0; d < a.size(); ++d) r[d] = allot::quantity::whole(a[d]);
  return r;
}

/// One type for both presets, so that shared code is compiled once.
struct kueue_view {
  using job = const kueue_workload*;
  const std::map<std::string, allot::quota_id>* quotas = nullptr;

  allot::quota_id quota(job j) const { return quotas->at(j->queue); }
  allot::resources<kueue_dimensions> request(job j) const { return kueue_resources(j->request); }
  std::int64_t priority(job j) const { return j->priority; }
  allot::instant submitted(job j) const { return j->at; }
  /// Kueue's tests use the workloads' names as UIDs.
  std::uint64_t id(job j) const {
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < 8; ++i) {
      number = number << 8 | static_cast<unsigned char>(i < j->name.size() ? j->name[i] : '\0');
    }
    return number;
  }
  allot::flavor_menu<kueue_dimensions> flavors(job j, std::uint32_t) const {
    allot::flavor_menu<kueue_dimensions> menu;
    for (const auto& g : j->groups) {
      std::vector<allot::resources<kueue_dimensions>> options;
      for (const kueue_amounts& a : g) options.push_back(kueue_resources(a));
      menu.add_group(options);
    }
    return menu;
  }
};

/// A Kueue cluster in four flavored resources, in short notation.
template <class Preset>
class kueue_world {
 public:
  static constexpr std::size_t n = kueue_dimensions;
  using amounts = kueue_amounts;
  using queue = kueue_queue;
  using workload = kueue_workload;

  using policies = typename Preset::policies_type;
  using scheduler_type = allot::scheduler<kueue_view, allot::no_placement, policies>;

  explicit kueue_world(const std::vector<queue>& queues, policies p = {})
      : scheduler_(kueue_view{&ids_}, tree_of(queues), {}, std::move(p)) {
    for (const queue& q : queues) {
      ids_[q.name] = scheduler_.tree().find(q.name);
      allot::queue_settings s = Preset{}.defaults();
      s.preempt = q.preempt;
      s.head = q.head;
      s.flavors = q.choice;
      REQUIRE(scheduler_.configure(ids_[q.name], s).empty());
    }
  }
  kueue_world(const kueue_world&) = delete;
  kueue_world& operator=(const kueue_world&) = delete;
  ~kueue_world() = default;

  scheduler_type& scheduler() { return scheduler_; }

  /// A workload that has run since `at`, with the first flavor of each group or the one given by `pick`.
  kueue_world& runs(workload w, const allot::flavor_pick& pick = {}) {
    const auto& kept = jobs_.emplace_back(std::move(w));
    job_ids_[kept.name] = scheduler_.adopt(&kept, kept.at, {}, pick);
    return *this;
  }
  kueue_world& told_to_go(workload w) {
    const std::string name = w.name;
    runs(std::move(w));
    told(name);
    return *this;
  }
  void told(const std::string& name) { scheduler_.evicting(job_ids_.at(name)); }
  kueue_world& waits(workload w) {
    const auto& kept = jobs_.emplace_back(std::move(w));
    job_ids_[kept.name] = scheduler_.submit(&kept);
    return *this;
  }
  void finished(const std::string& name) { scheduler_.finished(job_ids_.at(name)); }
  void gone(const std::string& name) { scheduler_.evicted(job_ids_.at(name)); }

  /// One step: "+a" admitted (with the flavors of its groups, "+a/1"), "-v:reclaim>a" v is evicted for a.
  /// Evictions are sorted by name.
  std::string step() {
    const auto& plan = scheduler_.step(++now_);
    std::vector<std::string> evictions;
    for (const auto& e : plan.evictions) {
      evictions.push_back("-" + e.what->name + ":" + reason(e.how) + ">" +
                          (e.beneficiary ? scheduler_.what(e.beneficiary)->name : ""));
    }
    std::sort(evictions.begin(), evictions.end());
    std::string said;
    const auto say = [&](const std::string& word) { said += (said.empty() ? "" : " ") + word; };
    for (const std::string& e : evictions) say(e);
    for (const auto& a : plan.admissions) {
      std::string word = "+" + a.what->name;
      for (std::size_t g = 0; g < a.what->groups.size(); ++g) word += "/" + std::to_string(a.pick[g]);
      say(word);
    }
    leaving_.clear();
    for (const auto& e : plan.evictions) leaving_.push_back(e.id);
    return said;
  }
  /// Runs steps until nothing more is decided. Evicted workloads are released before the next step.
  std::string settle() {
    std::string diary;
    for (int i = 0; i < 50; ++i) {
      const std::string said = step();
      if (said.empty()) return diary;
      diary += (diary.empty() ? "" : " | ") + said;
      const auto leaving = leaving_;
      for (const allot::job_id id : leaving) scheduler_.evicted(id);
    }
    return diary + " | and so on";
  }

 private:
  static allot::limits<n> limits_of(const std::optional<amounts>& a) {
    allot::limits<n> l{allot::limit::all()};
    for (std::size_t d = 0; a && d < n; ++d) {
      const std::int64_t said = d < a->size() ? (*a)[d] : 0;
      if (said >= 0) l[d] = allot::limit::at_most(allot::quantity::whole(said));
    }
    return l;
  }
  static allot::quota_tree<n> tree_of(const std::vector<queue>& queues) {
    std::vector<allot::quota_spec<n>> specs;
    for (const queue& q : queues) {
      allot::quota_spec<n> s;
      s.name = q.name;
      s.parent = q.cohort;
      s.nominal = kueue_resources(q.nominal);
      s.borrow = limits_of(q.borrow);
      s.lend = limits_of(q.lend);
      s.weight = allot::fair_weight::milli(q.weight);
      specs.push_back(s);
    }
    Preset::adapt(specs);
    return allot::build_quota_tree(std::move(specs)).value();
  }
  static std::string reason(allot::relation how) {
    switch (how) {
      case allot::relation::same_quota:
        return "priority";
      case allot::relation::borrower:
        return "reclaim";
      case allot::relation::borrower_while_borrowing:
        return "reclaim_while_borrowing";
      case allot::relation::rival:
        return "fair_share";
      default:
        return "?";
    }
  }

  std::map<std::string, allot::quota_id> ids_;
  std::deque<workload> jobs_;
  std::map<std::string, allot::job_id> job_ids_;
  scheduler_type scheduler_;
  std::vector<allot::job_id> leaving_;
  allot::instant now_ = 1'000'000;
};

/// A cluster, its running workloads, the incoming workload, and the decisions of Kueue's first cycle. The
/// workload named "!x" is being evicted and still running.
struct kueue_case {
  std::string name;
  std::vector<kueue_queue> queues;
  std::vector<kueue_workload> running;
  kueue_workload incoming;
  std::string decides;
};

template <class Preset>
[[nodiscard]] std::string first_cycle(const kueue_case& c, typename Preset::policies_type policies = {}) {
  kueue_world<Preset> world{c.queues, std::move(policies)};
  for (kueue_workload w : c.running) {
    const bool leaving = w.name.front() == '!';
    if (leaving) w.name.erase(0, 1);
    leaving ? world.told_to_go(w) : world.runs(w);
  }
  world.waits(c.incoming);
  return world.step();
}

}  // namespace allot_test
