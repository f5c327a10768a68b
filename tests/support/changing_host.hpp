// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/gpu/cluster.hpp>
#include <allot/gpu/inventory.hpp>
#include <allot/presets/standard.hpp>
#include <allot/scheduler/scheduler.hpp>
#include <allot/scheduler/sentences.hpp>

#include <doctest/doctest.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace allot_test {

inline constexpr allot::instant always = std::numeric_limits<allot::instant>::min();

/// A job as the host knows it by now.
struct changing_job {
  std::string name{};
  std::string team{};
  std::int64_t gpus = 1;
  std::int64_t cpus = 0;
  std::uint32_t pods = 1;
  std::uint32_t least = 1;
  std::int64_t priority = 0;
  allot::instant submitted = 0;
  allot::instant lasts = 0;
  allot::instant limit = 0;
  allot::instant ready = always;
  bool yields = true;
  bool preempts = true;
  /// How many flavors of "cpus" it accepts: none, or the second dimension, then the first.
  int flavors = 0;
  std::uint64_t id = 0;
};
/// Two resources. All amounts are for each pod.
struct changing_view {
  using job = const changing_job*;

  /// In the order in which the host gives them.
  static std::map<std::string, allot::quota_id> teams() {
    return {{"root", allot::quota_id{0}},
            {"a", allot::quota_id{1}},
            {"b", allot::quota_id{2}},
            {"c", allot::quota_id{3}}};
  }
  allot::quota_id quota(job j) const { return teams().at(j->team); }
  allot::resources<2> request(job j) const { return request(j, j->pods); }
  allot::resources<2> request(job j, std::uint32_t n) const {
    const std::int64_t other = j->flavors == 0 ? j->cpus : 0;
    return allot::resources<2>{allot::gpus(j->gpus * n), allot::gpus(other * n)};
  }
  allot::flavor_menu<2> flavors(job j, std::uint32_t n) const {
    allot::flavor_menu<2> menu;
    if (j->flavors == 0) return menu;
    std::vector<allot::resources<2>> options{allot::resources<2>{allot::gpus(0), allot::gpus(j->cpus * n)}};
    if (j->flavors > 1) options.push_back(allot::resources<2>{allot::gpus(j->cpus * n), allot::gpus(0)});
    menu.add_group(options);
    return menu;
  }
  std::uint32_t pods(job j) const { return j->pods; }
  std::uint32_t min_pods(job j) const { return j->least; }
  std::int64_t priority(job j) const { return j->priority; }
  allot::instant submitted(job j) const { return j->submitted; }
  std::uint64_t id(job j) const { return j->id; }
  bool preemptible(job j) const { return j->yields; }
  bool preempts(job j) const { return j->preempts; }
  allot::instant ready_at(job j) const { return j->ready; }
  allot::instant duration(job j) const { return j->lasts; }
  allot::gpu::pod_request pod_request(job j) const { return pod_request(j, j->pods, {}); }
  allot::gpu::pod_request pod_request(job j, std::uint32_t n, const allot::flavor_pick&) const {
    return {.gpus = allot::gpus(j->gpus), .pods = n};
  }
};
struct estimating_changing_view : changing_view {
  allot::instant estimate(job j) const { return j->lasts; }
  allot::instant time_limit(job j) const { return j->limit; }
};

/// Two teams that own 4 of each resource each and lend all of them; of b is c, which owns nothing. With nodes
/// there are two of 4 GPUs.
template <class View, class Preset, class Places = allot::no_placement>
class changing_host {
 public:
  using scheduler_type = allot::scheduler_for<Preset, View, Places>;

  explicit changing_host(const Preset& by = {}) : of(make(by)) {
    for (const auto& [name, x] : View::teams()) REQUIRE(of.tree().find(name) == x);
    of.withdraw_evictions(true);
  }
  changing_host(const changing_host&) = delete;
  changing_host& operator=(const changing_host&) = delete;

  void submit(changing_job w) {
    changing_job& known = add(std::move(w));
    ids_[known.name] = of.submit(&known);
  }
  /// The job as it was, to be changed; then `update` says so.
  changing_job& operator()(const std::string& name) { return *works_.at(name); }
  allot::job_id operator[](const std::string& name) const { return ids_.at(name); }
  allot::refusal update(const std::string& name) { return of.update((*this)[name]); }
  template <class Change>
  allot::refusal update(const std::string& name, Change change) {
    change((*this)(name));
    return update(name);
  }
  /// "-x>y" x is evicted for y, "~y" y is nominated, "+y" y starts, "+y^" with one more pod.
  std::string step(allot::instant now) {
    const auto& plan = of.step(now);
    std::string line;
    const auto say = [&](const std::string& what) { line += (line.empty() ? "" : " ") + what; };
    for (const auto& w : plan.withdrawn) say("=" + w.what->name);
    for (const auto& e : plan.evictions) {
      leaving_.push_back(e.id);
      say("-" + e.what->name + (e.core ? "^" : "") +
          (e.beneficiary ? ">" + of.what(e.beneficiary)->name : ""));
    }
    for (const auto& r : plan.nominations) say("~" + r.what->name);
    for (const auto& a : plan.admissions) {
      say("+" + a.what->name + (a.core ? "^" : ""));
      for (std::size_t g = 0; g < 2; ++g) line += a.pick[g] == 0 ? "" : "'";
    }
    return line;
  }
  /// Why it waits.
  std::string sentence(const std::string& name) {
    return allot::sentence(
        of, of.why((*this)[name]), allot::dimension_names<2>{"gpu", "cpu"},
        [](const changing_job* j) { return j->name; }, [](allot::instant at) { return std::to_string(at); });
  }
  /// All that leaves has left.
  void carry_out() {
    for (const allot::job_id id : std::exchange(leaving_, {})) static_cast<void>(of.evicted(id));
  }
  const std::deque<changing_job>& all() const { return jobs_; }
  /// A scheduler to which all jobs were always as they are, without those that are gone.
  void build_like(const changing_host& other) {
    for (const changing_job& w : other.jobs_) {
      if (!other.ids_.count(w.name)) continue;
      const allot::job_id id = other[w.name];
      if (other.of.state(id) == allot::job_state::unknown) continue;
      changing_job& known = add(w);
      if (other.of.state(id) == allot::job_state::pending) {
        ids_[known.name] = of.submit(&known);
        continue;
      }
      REQUIRE(other.of.state(id) == allot::job_state::running);
      ids_[known.name] = of.adopt(&known, other.of.since(id), place_like(other, id), other.of.pick(id));
      for (const allot::job_id pod : other.of.elastic_pods_of(id)) {
        if (other.of.state(pod) != allot::job_state::running) continue;
        REQUIRE(of.adopt_elastic_pod(ids_[known.name], other.of.since(pod), place_like(other, pod)));
      }
    }
  }
  /// What it knows of each job.
  std::string told() {
    std::string all;
    for (const auto& [name, id] : ids_) {
      if (of.state(id) == allot::job_state::unknown) continue;
      all += ' ' + name + ' ' + std::string{to_string(of.state(id))};
      all += '@' + std::to_string(of.quota(id).index());
      const auto why = of.why(id);
      all += ' ' + std::string{to_string(why.reason)};
      if (why.reservation) all += " by " + std::to_string(why.reservation->start);
      if (why.ready_at) all += " from " + std::to_string(*why.ready_at);
      for (std::size_t d = 0; d < 2; ++d) all += ' ' + std::to_string(of.request(id)[d].in_milli());
    }
    for (const auto& [name, x] : View::teams()) {
      all += "\n " + name;
      for (std::size_t d = 0; d < 2; ++d) {
        for (const allot::quantity q :
             {of.ledger().own_usage(x)[d], of.assumed().own_usage(x)[d], of.requested(x)[d]}) {
          all += ' ' + std::to_string(q.in_milli());
        }
      }
      all += ' ' + std::to_string(of.waiting(x));
    }
    return all;
  }
  bool is_at_rest() const { return of.nominated().empty() && of.evicting().empty(); }

  scheduler_type of;

 private:
  static std::vector<allot::quota_spec<2>> quotas() {
    const allot::resources<2> four{allot::gpus(4), allot::gpus(4)};
    return {
        {.name = "root", .nominal = allot::resources<2>{allot::gpus(8), allot::gpus(8)}, .inclusive = true},
        {.name = "a", .parent = "root", .nominal = four},
        {.name = "b", .parent = "root", .nominal = four, .inclusive = true},
        {.name = "c", .parent = "b"}};
  }
  static scheduler_type make(const Preset& by) {
    if constexpr (std::same_as<Places, allot::no_placement>) {
      return allot::make_scheduler(by, View{}, quotas()).value();
    } else {
      const auto nodes = allot::gpu::build_cluster({{.name = "n", .count = 2, .gpus = 4}}).value();
      return allot::make_scheduler(by, View{}, quotas(), Places{nodes}).value();
    }
  }
  changing_job& add(changing_job w) {
    w.id = jobs_.size();
    jobs_.push_back(std::move(w));
    works_[jobs_.back().name] = &jobs_.back();
    return jobs_.back();
  }
  typename scheduler_type::place place_like(const changing_host& other, allot::job_id id) {
    if constexpr (std::same_as<Places, allot::no_placement>) {
      return {};
    } else {
      std::vector<allot::gpu::pod_location> where;
      for (const auto& pod : other.of.places().pods(other.of.place_of(id))) where.push_back(pod.where);
      const auto pods = static_cast<std::uint32_t>(where.size());
      const auto at = of.take_place(of.view().pod_request(other.of.what(id), pods, {}), where);
      REQUIRE(at);
      return *at;
    }
  }

  std::deque<changing_job> jobs_;
  std::map<std::string, changing_job*> works_;
  std::map<std::string, allot::job_id> ids_;
  std::vector<allot::job_id> leaving_;
};

}  // namespace allot_test
