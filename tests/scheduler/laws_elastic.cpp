// SPDX-License-Identifier: BSL-1.0
// The laws for elastic jobs, under `standard` and by quota alone: sound, needed, quiet, deterministic.
#include <allot/presets/standard.hpp>
#include <allot/scheduler/scheduler.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/property.hpp"
#include "tests/support/scenario.hpp"

using allot::job_id;
using allot::job_state;
using allot::quantity;
using allot_test::event;
using allot_test::event_kind;
using allot_test::scenario;

namespace {

/// A job requests its GPUs as pods of one GPU each, some of which it needs. (Less than a GPU: one pod.)
struct elastic_job {
  std::size_t number = 0;
  allot::quota_id quota;
  quantity each;
  std::uint32_t pods = 1;
  std::uint32_t least = 1;
  std::int64_t priority = 0;
  bool preemptible = true;
  allot::instant submitted = 0;
  job_id id{};
};

struct elastic_view {
  using job = const elastic_job*;
  allot::quota_id quota(job j) const { return j->quota; }
  allot::resources<1> request(job j) const { return request(j, j->pods); }
  allot::resources<1> request(job j, std::uint32_t pods) const { return j->each * pods; }
  std::uint32_t pods(job j) const { return j->pods; }
  std::uint32_t min_pods(job j) const { return j->least; }
  std::int64_t priority(job j) const { return j->priority; }
  bool preemptible(job j) const { return j->preemptible; }
  allot::instant submitted(job j) const { return j->submitted; }
  std::uint64_t id(job j) const { return j->number; }
};
static_assert(allot::elastic_view<elastic_view>);

/// Tracks running and evicted pods itself: the units of jobs, as given in plans.
class elastic_host {
 public:
  using scheduler_type =
      allot::scheduler<elastic_view, allot::no_placement, typename allot::standard::policies_type>;
  using plan_type = typename scheduler_type::plan_type;

  explicit elastic_host(const scenario& s)
      : scheduler_(elastic_view{}, allot::build_quota_tree(allot_test::specs_of<1>(s)).value()) {
    for (const auto& j : s.jobs) {
      elastic_job& made = jobs_.emplace_back();
      made.number = j.number;
      made.quota = scheduler_.tree().find("q" + std::to_string(j.quota));
      made.each = quantity::milli(std::min<std::int64_t>(1000, j.request[0]));
      made.pods = static_cast<std::uint32_t>(std::max<std::int64_t>(1, j.request[0] / 1000));
      made.least = 1 + static_cast<std::uint32_t>(j.number) % made.pods;
      made.priority = j.priority;
      made.preemptible = j.preemptible;
    }
    for (const auto& q : s.quotas) {
      allot::queue_settings settings = allot::standard{}.defaults();
      settings.order = q.settings.order;
      settings.head = q.settings.head;
      settings.preempt.within = q.settings.preempt.within;
      settings.preempt.reclaim = q.settings.preempt.reclaim;
      settings.preempt.children = q.settings.preempt.children;
      REQUIRE(scheduler_.configure(scheduler_.tree().find("q" + std::to_string(q.number)), settings).empty());
    }
  }

  void act(const event& e) {
    if (e.what == event_kind::all_gone) {
      all_gone();
      return;
    }
    for (elastic_job& j : jobs_) {
      if (j.number != e.which) continue;
      if (e.what == event_kind::arrive && !j.id && j.submitted == 0) {
        j.submitted = 1 + now_;
        j.id = scheduler_.submit(&j);
      } else if (e.what == event_kind::end && j.id) {
        const auto state = scheduler_.state(j.id);
        if (state == job_state::evicting) {
          gone(j.id);
        } else {
          state == job_state::running ? scheduler_.finished(j.id) : scheduler_.cancel(j.id);
          forget(j.id);
          j.id = {};
        }
      } else if (e.what == event_kind::leave && j.id && scheduler_.state(j.id) == job_state::running) {
        scheduler_.evicted(j.id);
        forget(j.id);
      }
    }
  }

  const plan_type& cycle() {
    const plan_type& plan = scheduler_.step(++now_);
    std::string line = std::to_string(now_) + ":";
    for (const auto& a : plan.admissions) {
      if (!units_.emplace(a.id, unit{a.what, a.core, a.pods, false}).second) broken("a unit starts twice");
      if (a.core && units_.count(a.core) == 0) broken("a pod more for a job that does not run");
      line += " +" + name(a);
    }
    for (const auto& e : plan.evictions) {
      const auto at = units_.find(e.id);
      if (at == units_.end() || at->second.is_going) broken("a job that does not run is evicted");
      if (!e.what->preemptible) broken("a job that may not be evicted is evicted");
      if (!e.beneficiary) broken("an eviction for nobody");
      // The beneficiary may also have inherited capacity released for a pod of its own victim, and start
      // without being nominated.
      const auto is_it = [&](const auto& r) { return r.id == e.beneficiary; };
      if (std::none_of(plan.nominations.begin(), plan.nominations.end(), is_it) &&
          std::none_of(plan.admissions.begin(), plan.admissions.end(), is_it))
        broken("an eviction without its beneficiary in the same plan");
      line += " -" + name(e) + ">" + std::to_string(scheduler_.what(e.beneficiary)->number);
      for (auto& [id, u] : units_) u.is_going = u.is_going || id == e.id || u.core == e.id;
    }
    for (const auto& r : plan.nominations) line += " ~" + name(r);
    diary_ += line + "\n";
    check();
    return plan;
  }

  /// The world does not change: it must come to rest, and no victim may evict its beneficiary.
  void settle() {
    std::set<std::pair<std::size_t, std::size_t>> evicted_by;
    all_gone();
    for (int round = 0; round < 50; ++round) {
      const plan_type& plan = cycle();
      if (plan.empty()) return;
      for (const auto& e : plan.evictions) {
        const std::size_t evictor = scheduler_.what(e.beneficiary)->number;
        if (evicted_by.count({evictor, e.what->number}) != 0) broken("a job is evicted by who it evicted");
        evicted_by.insert({e.what->number, evictor});
      }
      all_gone();
    }
    broken("no rest in an unchanged world");
  }
  [[nodiscard]] const std::string& diary() const { return diary_; }

 private:
  struct unit {
    const elastic_job* what = nullptr;
    job_id core{};
    std::uint32_t pods = 0;
    bool is_going = false;
  };

  template <class Entry>
  static std::string name(const Entry& e) {
    std::string result = std::to_string(e.what->number);
    if constexpr (requires { e.pods; }) result += "(" + std::to_string(e.pods) + ")";
    return result;
  }
  [[noreturn]] void broken(const std::string& how) const {
    throw std::runtime_error(how + "\nwhat was decided, with the number of pods:\n" + diary_);
  }

  /// What has been released: a whole job, or one pod.
  void gone(job_id id) {
    scheduler_.evicted(id);
    forget(id);
  }
  void forget(job_id id) {
    units_.erase(id);
    std::erase_if(units_, [&](const auto& u) { return u.second.core == id; });
  }
  void all_gone() {
    std::vector<std::pair<std::size_t, job_id>> going;
    for (const auto& [id, u] : units_) {
      const bool with_core = u.core && units_.at(u.core).is_going;
      if (u.is_going && !with_core) going.emplace_back(u.what->number, id);
    }
    std::sort(going.begin(), going.end());
    for (const auto& g : going) gone(g.second);
  }

  void check() const {
    allot::ledger<1> used{scheduler_.tree()};
    std::map<std::size_t, std::uint32_t> pods;
    for (const auto& [id, u] : units_) {
      const auto in = u.what->preemptible ? allot::capacity_kind::any : allot::capacity_kind::guaranteed;
      used.charge(u.what->quota, u.what->each * u.pods, in);
      pods[u.what->number] += u.pods;
      const auto state = scheduler_.state(id);
      if (state != (u.is_going ? job_state::evicting : job_state::running))
        broken("a unit is in another state");
      if (u.core && units_.count(u.core) == 0) broken("a pod runs without what its job needs");
    }
    for (const elastic_job& j : jobs_) {
      const auto at = pods.find(j.number);
      if (at == pods.end()) continue;
      if (at->second > j.pods || at->second < j.least)
        broken("a job runs with fewer or more pods than it may");
    }
    if (!(used == scheduler_.ledger())) broken("the usage is not that of the running pods");
    if (!used.is_sound()) broken("the plan made a sound ledger unsound");
  }

  std::deque<elastic_job> jobs_;
  scheduler_type scheduler_;
  std::map<job_id, unit> units_;
  std::string diary_;
  allot::instant now_ = 0;
};

std::string live(const scenario& s, bool reversed) {
  elastic_host h{s};
  std::vector<event> arrivals;
  const auto arrive = [&] {
    if (reversed) std::reverse(arrivals.begin(), arrivals.end());
    for (const event& e : arrivals) h.act(e);
    arrivals.clear();
  };
  for (const event& e : s.events) {
    if (e.what == event_kind::arrive) {
      arrivals.push_back(e);
      continue;
    }
    arrive();
    e.what == event_kind::cycle ? static_cast<void>(h.cycle()) : h.act(e);
  }
  arrive();
  h.settle();
  return h.diary();
}

}  // namespace

TEST_CASE("laws: elastic jobs") {
  allot_test::scenario_shape shape;
  shape.two_dimensions = false;
  shape.machines = false;
  shape.tree_changes = false;
  shape.overcommit = false;
  const auto worlds = allot_test::scenarios(shape);
  allot_test::check_property("elastic jobs", [worlds] {
    const scenario s = *worlds;
    const std::string one = live(s, false);
    const std::string other = live(s, true);
    if (one != other)
      throw std::runtime_error("the order within an instant matters:\n" + one + "\nor\n" + other);
  });
}
