// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/gpu/cluster.hpp>
#include <allot/gpu/topology/topology_builder.hpp>
#include <allot/presets/standard.hpp>
#include <allot/quota/change.hpp>
#include <allot/scheduler/scheduler.hpp>
#include <allot/sim/places.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <ostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/seeds.hpp"

namespace allot_test {

// A small cluster with all that can happen to it, as a value: drawn from one number, told as text, and
// shrunk. Resources are two kinds of GPUs and CPUs; a world uses one, two or all three.

inline constexpr std::size_t world_resources = 3;
[[nodiscard]] inline std::string numbered(const char* what, std::size_t n) {
  std::string name{what};
  name += std::to_string(n);
  return name;
}
using world_amounts = std::array<std::int64_t, world_resources>;

struct world_team {
  /// The number of an earlier one, or -1: below the root.
  int parent = -1;
  world_amounts owns{};
  /// What it lends and borrows of each resource at most; -1: everything.
  std::int64_t lends = -1;
  std::int64_t borrows = -1;
  std::int64_t weight = 1;
  /// How long its jobs run before they may be preempted, by whomever.
  allot::instant guarantees = 0;

  friend bool operator==(const world_team&, const world_team&) = default;
};

struct world_job {
  /// Of its quota in the tree.
  allot::quota_id team;
  /// 0 or 1; 2: either, the first if possible.
  std::size_t kind = 0;
  /// Of each pod, in thousandths: whole GPUs, or a part of one.
  std::int64_t gpus = 1000;
  std::int64_t cpus = 0;
  std::uint32_t pods = 1;
  /// How many of its pods it needs to run; 0: all.
  std::uint32_t min_pods = 0;
  /// Of one more pod that differs, without which it can't run, in thousandths; -1: there is none. Of a job
  /// without a choice.
  std::int64_t leader = -1;
  std::int64_t leader_cpus = 0;
  bool in_one_rack = false;
  std::int64_t priority = 0;
  bool preemptible = true;
  /// It runs already when it comes, somewhere: the host has it adopted. For worlds without nodes.
  bool runs = false;
  allot::instant submit = 0;
  /// From when it can start.
  allot::instant ready = 0;
  allot::instant duration = 1;
  /// 0: none.
  allot::instant estimate = 1;

  [[nodiscard]] bool has_choice() const { return kind == 2; }
  [[nodiscard]] std::size_t kind_under(std::size_t pick) const { return has_choice() ? pick : kind; }
  [[nodiscard]] bool is_elastic() const { return min_pods != 0 && min_pods < pods; }
  [[nodiscard]] bool has_leader() const { return leader >= 0; }
  [[nodiscard]] std::uint32_t all_pods() const { return pods + (has_leader() ? 1 : 0); }
  /// The pods that start together.
  [[nodiscard]] std::uint32_t core_pods() const { return all_pods() - (is_elastic() ? pods - min_pods : 0); }
  /// Of the pods that start together, or of so many.
  [[nodiscard]] allot::resources<world_resources> request(std::size_t pick) const {
    return request(pick, core_pods());
  }
  [[nodiscard]] allot::resources<world_resources> request(std::size_t pick, std::uint32_t of_pods) const {
    if (!has_leader()) return amount(pick, gpus, cpus, of_pods);
    return amount(pick, leader, leader_cpus, 1) + amount(pick, gpus, cpus, of_pods - 1);
  }
  /// Of one of the pods beyond these.
  [[nodiscard]] allot::resources<world_resources> further(std::size_t pick) const {
    return amount(pick, gpus, cpus, 1);
  }
  [[nodiscard]] allot::resources<world_resources> amount(std::size_t pick, std::int64_t of_gpus,
                                                         std::int64_t of_cpus, std::uint32_t of_pods) const {
    allot::resources<world_resources> r;
    r[kind_under(pick)] = allot::quantity::milli(of_gpus) * of_pods;
    r[2] = allot::gpus(of_cpus) * of_pods;
    return r;
  }
};

struct world_change {
  enum class kind : std::uint8_t {
    drain,
    fail,
    reopen,
    resize,
    cancel,
    hold,
    unhold,
    freeze,
    thaw
  } what = kind::drain;
  allot::instant at = 0;
  /// The node, team or job.
  std::size_t which = 0;
  world_amounts owns{};

  [[nodiscard]] bool is_of_job() const {
    return what == kind::cancel || what == kind::hold || what == kind::unhold;
  }
  [[nodiscard]] bool is_of_team() const {
    return what == kind::resize || what == kind::freeze || what == kind::thaw;
  }
};

struct small_world {
  allot::standard by{};
  std::size_t kinds = 1;
  bool counts_cpus = false;
  std::vector<world_team> teams;
  /// The first of them are of kind 0, with two kinds the others of kind 1. None: only quotas are counted.
  std::size_t nodes = 0;
  std::int64_t gpus_of_node = 1;
  std::int64_t cpus_of_node = 0;
  std::vector<world_job> jobs;
  std::vector<world_change> changes;
  /// How long an evicted job takes to go at most.
  allot::instant slow = 0;
  /// How long a start takes at most, how many of a hundred fail when they have taken that long, and how many
  /// of a hundred evictions do when the job was to have gone.
  allot::instant slow_starts = 0;
  std::int64_t failing_starts = 0;
  std::int64_t failing_evictions = 0;
  /// `queue_settings::ready_horizon` of all teams.
  allot::instant ready_horizon = 0;

  [[nodiscard]] std::size_t kind_of(std::size_t node) const {
    return kinds == 1 || node < (nodes + 1) / 2 ? 0 : 1;
  }
  /// Nodes stand in racks of two.
  [[nodiscard]] static std::size_t rack_of(std::size_t node) { return node / 2; }
  [[nodiscard]] bool is_exact() const {
    return std::all_of(jobs.begin(), jobs.end(), [](const world_job& j) { return j.estimate == j.duration; });
  }
  [[nodiscard]] bool has_inner_teams() const {
    return std::any_of(teams.begin(), teams.end(), [](const world_team& x) { return x.parent >= 0; });
  }
  [[nodiscard]] bool has_elastic_jobs() const {
    return std::any_of(jobs.begin(), jobs.end(), [](const world_job& j) { return j.is_elastic(); });
  }
  [[nodiscard]] bool has_ready_times() const {
    return std::any_of(jobs.begin(), jobs.end(), [](const world_job& j) { return j.ready > 0; });
  }
  [[nodiscard]] bool has_guarantees() const {
    return std::any_of(teams.begin(), teams.end(), [](const world_team& x) { return x.guarantees > 0; });
  }
  /// Whether the host holds a job, or freezes evictions.
  [[nodiscard]] bool spares_some() const {
    using kind = world_change::kind;
    return std::any_of(changes.begin(), changes.end(),
                       [](const world_change& c) { return c.what == kind::hold || c.what == kind::freeze; });
  }
  [[nodiscard]] std::uint32_t depth() const { return by.reservations.value_or(by.gather > 0 ? 2 : 3); }
  [[nodiscard]] std::vector<allot::quota_spec<world_resources>> quotas() const {
    std::vector<allot::quota_spec<world_resources>> specs{{.name = "all"}};
    for (const world_team& t : teams) {
      allot::quota_spec<world_resources> s;
      s.name = numbered("t", specs.size() - 1);
      s.parent = t.parent < 0 ? "all" : numbered("t", static_cast<std::size_t>(t.parent));
      for (std::size_t d = 0; d < world_resources; ++d) {
        s.nominal[d] = allot::gpus(t.owns[d]);
        if (t.lends >= 0) s.lend[d] = allot::limit::at_most(allot::gpus(t.lends));
        if (t.borrows >= 0) s.borrow[d] = allot::limit::at_most(allot::gpus(t.borrows));
        s.weight[d] = allot::fair_weight::milli(1000 * t.weight);
      }
      specs.push_back(std::move(s));
    }
    return specs;
  }
  [[nodiscard]] allot::sim::places places() const {
    if (nodes == 0) return {};
    std::vector<allot::gpu::node_spec> specs(nodes);
    for (std::size_t n = 0; n < nodes; ++n) {
      specs[n].name = numbered("n", n);
      specs[n].pool = numbered("k", kind_of(n));
      specs[n].gpus = gpus_of_node;
      specs[n].cpu_milli = 1000 * cpus_of_node;
      specs[n].labels = {{"rack", numbered("r", rack_of(n))}};
    }
    allot::gpu::cluster layout = allot::gpu::build_cluster(specs).value();
    allot::gpu::topology near = allot::gpu::topology_from_labels(layout, {"rack"}).value();
    return allot::sim::places{std::move(layout), std::move(near)};
  }
};

namespace detail {

inline void draw_teams(random_source& random, small_world& w) {
  w.teams.resize(static_cast<std::size_t>(random.between(2, 4)));
  const std::int64_t most = w.nodes > 0 ? w.gpus_of_node + 1 : 4;
  for (std::size_t i = 0; i < w.teams.size(); ++i) {
    world_team& t = w.teams[i];
    if (i > 0 && random.one_in(5)) t.parent = static_cast<int>(random.below(i));
    for (std::size_t k = 0; k < w.kinds; ++k) t.owns[k] = random.between(0, most);
    if (w.counts_cpus) t.owns[2] = random.between(0, 2 * most);
    if (random.one_in(6)) t.lends = random.between(0, 2);
    if (random.one_in(6)) t.borrows = random.between(0, 2);
    t.weight = random.between(1, 2);
  }
}
inline void draw_jobs(random_source& random, small_world& w) {
  const bool is_exact = random.one_in(2);
  const bool has_priorities = random.one_in(2);
  const bool has_fractions = random.one_in(3);
  const bool some_stay = random.one_in(3);
  // A team that always has jobs waiting, and one that comes late, beside the others.
  const std::size_t saturated = random.below(w.teams.size());
  const bool is_saturated = random.one_in(3);
  const std::size_t idle = random.below(w.teams.size());
  const bool is_idle = random.one_in(3);
  const allot::instant span = random.one_in(3) ? 5 : 30;
  const std::int64_t longest = random.between(3, 20);
  w.jobs.resize(static_cast<std::size_t>(random.between(4, 14)));
  for (world_job& j : w.jobs) {
    std::size_t team = random.below(w.teams.size());
    if (is_saturated && random.one_in(2)) team = saturated;
    j.team = allot::quota_id{team + 1};
    j.kind = w.kinds == 1 ? 0 : random.below(3);
    const std::int64_t largest = w.nodes > 0 ? w.gpus_of_node : 4;
    j.gpus = 1000 * (random.one_in(2) ? 1 : random.between(1, largest));
    if (has_fractions && random.one_in(2)) j.gpus = 250 * random.between(1, 3);
    if (random.one_in(4)) j.pods = static_cast<std::uint32_t>(random.between(2, 3));
    if (w.counts_cpus)
      j.cpus = random.between(0, w.cpus_of_node > 0 ? std::min<std::int64_t>(2, w.cpus_of_node) : 3);
    j.in_one_rack = w.nodes > 1 && random.one_in(3);
    if (has_priorities) j.priority = random.between(0, 2);
    j.preemptible = !(some_stay && random.one_in(4));
    j.submit = random.between(0, is_saturated && team == saturated ? 3 : span);
    if (is_idle && team == idle) j.submit = random.between(span / 2, span);
    j.duration = j.estimate = random.between(1, longest);
    if (is_exact) continue;
    const std::size_t how = random.below(4);
    if (how == 0) j.estimate = 0;
    if (how == 1) j.estimate = random.between(1, 2 * longest);
  }
  std::stable_sort(w.jobs.begin(), w.jobs.end(),
                   [](const world_job& a, const world_job& b) { return a.submit < b.submit; });
}
inline void draw_changes(random_source& random, small_world& w) {
  using kind = world_change::kind;
  const bool of_nodes = w.nodes > 0 && random.one_in(3);
  const bool of_quotas = random.one_in(5);
  const bool of_jobs = random.one_in(6);
  for (std::int64_t n = random.between(1, 3); of_nodes && n > 0; --n) {
    world_change c;
    c.what = random.one_in(2) ? kind::drain : kind::fail;
    c.at = random.between(1, 30);
    c.which = random.below(w.nodes);
    w.changes.push_back(c);
    c.what = kind::reopen;
    c.at += random.between(1, 20);
    if (!random.one_in(4)) w.changes.push_back(c);
  }
  for (std::int64_t n = random.between(1, 2); of_quotas && n > 0; --n) {
    world_change c;
    c.what = kind::resize;
    c.at = random.between(1, 30);
    c.which = random.below(w.teams.size());
    for (std::size_t k = 0; k < w.kinds; ++k) c.owns[k] = random.between(0, 4);
    if (w.counts_cpus) c.owns[2] = random.between(0, 6);
    w.changes.push_back(c);
  }
  if (of_jobs) {
    world_change c;
    c.what = kind::cancel;
    c.at = random.between(1, 30);
    c.which = random.below(w.jobs.size());
    w.changes.push_back(c);
  }
  std::stable_sort(w.changes.begin(), w.changes.end(),
                   [](const world_change& a, const world_change& b) { return a.at < b.at; });
}

/// What only few worlds have.
inline void draw_settings(random_source& random, small_world& w) {
  if (random.one_in(4)) w.by.gather = random.between(1, 20);
  if (random.one_in(4)) {
    w.by.first_backoff = random.between(1, 6);
    w.by.longest_backoff = w.by.first_backoff * random.between(1, 4);
  }
  if (random.one_in(4)) {
    for (world_team& t : w.teams) {
      if (random.one_in(2)) t.guarantees = random.between(1, 10);
    }
  }
  if (random.one_in(4)) {
    for (world_job& j : w.jobs) {
      if (random.one_in(3)) j.ready = j.submit + random.between(1, 10);
    }
    if (random.one_in(2)) w.ready_horizon = random.between(1, 10);
  }
  if (random.one_in(4)) {
    for (world_job& j : w.jobs) {
      if (random.one_in(3)) j.pods = static_cast<std::uint32_t>(random.between(2, 4));
      if (j.pods > 1) j.min_pods = static_cast<std::uint32_t>(random.between(1, j.pods));
    }
  }
  if (random.one_in(4)) {
    for (world_job& j : w.jobs) {
      if (j.has_choice() || !random.one_in(3)) continue;
      j.leader = random.one_in(2) ? 0 : random.one_in(2) ? 1000 : 250 * random.between(1, 3);
      if (w.counts_cpus) j.leader_cpus = random.between(0, w.cpus_of_node > 0 ? w.cpus_of_node : 3);
    }
  }
}

/// A host that can't always do what it is told.
inline void draw_failures(random_source& random, small_world& w) {
  if (random.one_in(2)) w.slow_starts = random.between(1, 4);
  if (random.one_in(2)) w.failing_starts = random.between(1, 60);
  if (random.one_in(2)) w.failing_evictions = random.between(1, 60);
  using kind = world_change::kind;
  const auto for_a_while = [&](kind begin, kind end, std::size_t which) {
    const allot::instant at = random.between(1, 20);
    w.changes.push_back({.what = begin, .at = at, .which = which});
    w.changes.push_back({.what = end, .at = at + random.between(1, 10), .which = which});
  };
  for (std::int64_t n = random.between(0, 2); n > 0; --n)
    for_a_while(kind::hold, kind::unhold, random.below(w.jobs.size()));
  if (random.one_in(3)) for_a_while(kind::freeze, kind::thaw, random.below(w.teams.size()));
  std::stable_sort(w.changes.begin(), w.changes.end(),
                   [](const world_change& a, const world_change& b) { return a.at < b.at; });
}

}  // namespace detail

[[nodiscard]] inline small_world drawn_world(random_source& random) {
  small_world w;
  w.kinds = random.one_in(3) ? 2 : 1;
  w.counts_cpus = random.one_in(3);
  if (random.one_in(2)) {
    w.nodes = static_cast<std::size_t>(random.between(static_cast<std::int64_t>(w.kinds), 6));
    w.gpus_of_node = random.between(1, 4);
    if (w.counts_cpus && random.one_in(2)) w.cpus_of_node = random.between(1, 4);
  }
  detail::draw_teams(random, w);
  detail::draw_jobs(random, w);
  detail::draw_changes(random, w);
  if (random.one_in(3)) w.slow = random.between(1, 5);
  // Three, none to four, or all.
  const std::size_t depth = random.below(8);
  if (depth < 5) w.by.reservations = static_cast<std::uint32_t>(depth);
  if (depth == 5) w.by.reservations = allot::reserve_all;
  w.by.backfill = random.one_in(2) ? allot::backfill_order::aged : allot::backfill_order::queue;
  if (random.one_in(3)) w.by.strict_after = random.between(1, 30);
  if (random.one_in(2)) detail::draw_settings(random, w);
  if (random.one_in(4)) detail::draw_failures(random, w);
  return w;
}

inline void tell_amounts(const world_amounts& a, const small_world& w, std::ostream& os) {
  os << a[0];
  if (w.kinds == 2) os << '/' << a[1];
  if (w.counts_cpus) os << " cpu " << a[2];
}

/// The world as text.
[[nodiscard]] inline std::string told(const small_world& w) {
  std::ostringstream os;
  os << "reservations " << (w.by.reservations ? std::to_string(*w.by.reservations) : "by default")
     << ", backfill " << to_string(w.by.backfill) << ", strict_after " << w.by.strict_after
     << ", evicted jobs leave within " << w.slow;
  if (w.by.gather > 0) os << ", gather for " << w.by.gather;
  if (w.by.first_backoff > 0) os << ", back off for " << w.by.first_backoff << " to " << w.by.longest_backoff;
  if (w.slow_starts > 0) os << ", jobs start within " << w.slow_starts;
  if (w.failing_starts > 0) os << ", starts fail: " << w.failing_starts << " %";
  if (w.failing_evictions > 0) os << ", evictions fail: " << w.failing_evictions << " %";
  if (w.ready_horizon > 0) os << ", ready horizon " << w.ready_horizon;
  os << '\n';
  for (std::size_t i = 0; i < w.teams.size(); ++i) {
    const world_team& t = w.teams[i];
    os << "t" << i;
    if (t.parent >= 0) os << " in t" << t.parent;
    os << " owns ";
    tell_amounts(t.owns, w, os);
    if (t.lends >= 0) os << ", lends " << t.lends;
    if (t.borrows >= 0) os << ", borrows " << t.borrows;
    if (t.weight != 1) os << ", weight " << t.weight;
    if (t.guarantees > 0) os << ", guarantees " << t.guarantees;
    os << '\n';
  }
  if (w.nodes > 0) {
    os << w.nodes << " nodes with " << w.gpus_of_node << " GPUs";
    if (w.cpus_of_node > 0) os << ", " << w.cpus_of_node << " CPUs";
    if (w.kinds == 2) os << ", " << (w.nodes + 1) / 2 << " of them of the first kind";
    os << '\n';
  }
  for (std::size_t n = 0; n < w.jobs.size(); ++n) {
    const world_job& j = w.jobs[n];
    os << "job " << n << " of t" << j.team.index() - 1 << " at " << j.submit << ": " << j.pods << " x "
       << allot::to_string(allot::quantity::milli(j.gpus));
    if (w.kinds == 2) os << (j.kind == 2 ? " of either kind" : j.kind == 1 ? " of the second kind" : "");
    if (j.cpus > 0) os << " cpu " << j.cpus;
    if (j.has_leader()) {
      os << ", and 1 x " << allot::to_string(allot::quantity::milli(j.leader));
      if (j.leader_cpus > 0) os << " cpu " << j.leader_cpus;
    }
    if (j.is_elastic()) os << ", needs " << j.min_pods;
    if (j.in_one_rack) os << ", in one rack";
    if (j.priority != 0) os << ", priority " << j.priority;
    if (!j.preemptible) os << ", not preemptible";
    if (j.runs) os << ", runs";
    if (j.ready > 0) os << ", ready at " << j.ready;
    os << ", lasts " << j.duration;
    if (j.estimate != j.duration) os << ", said to last " << j.estimate;
    os << '\n';
  }
  for (const world_change& c : w.changes) {
    const char* const verbs[] = {"drain n",   "n fails: n",  "reopen n", "resize t", "cancel job ",
                                 "hold job ", "unhold job ", "freeze t", "thaw t"};
    os << "at " << c.at << ' ' << verbs[static_cast<std::size_t>(c.what)] << c.which;
    if (c.what == world_change::kind::resize) {
      os << " to ";
      tell_amounts(c.owns, w, os);
    }
    os << '\n';
  }
  return os.str();
}

/// The same world with less in it, as long as `still(world)` holds: fewest jobs and changes, smallest
/// amounts.
template <class Still>
[[nodiscard]] small_world shrunk(small_world w, Still still) {
  const auto attempt = [&](auto change) {
    small_world less = w;
    change(less);
    if (!still(less)) return false;
    w = std::move(less);
    return true;
  };
  for (bool again = true; again;) {
    again = false;
    for (std::size_t i = w.changes.size(); i-- > 0;) {
      again |= attempt([&](small_world& x) {
        x.changes.erase(std::next(x.changes.begin(), static_cast<std::ptrdiff_t>(i)));
      });
    }
    for (std::size_t i = w.jobs.size(); i-- > 0;) {
      again |= attempt([&](small_world& x) {
        x.jobs.erase(std::next(x.jobs.begin(), static_cast<std::ptrdiff_t>(i)));
        std::erase_if(x.changes,
                      [&](const world_change& c) { return c.is_of_job() && c.which >= x.jobs.size(); });
      });
    }
    if (w.slow > 0) again |= attempt([](small_world& x) { x.slow = 0; });
    if (w.slow_starts > 0) again |= attempt([](small_world& x) { --x.slow_starts; });
    if (w.failing_starts > 0) again |= attempt([](small_world& x) { x.failing_starts = 0; });
    if (w.failing_evictions > 0) again |= attempt([](small_world& x) { x.failing_evictions = 0; });
    if (w.by.gather > 0) again |= attempt([](small_world& x) { x.by.gather = 0; });
    if (w.by.first_backoff > 0) {
      again |= attempt([](small_world& x) { x.by.first_backoff = x.by.longest_backoff = 0; });
    }
    if (w.by.longest_backoff > w.by.first_backoff) {
      again |= attempt([](small_world& x) { x.by.longest_backoff = x.by.first_backoff; });
    }
    if (w.by.first_backoff > 1) {
      again |= attempt([](small_world& x) { --x.by.first_backoff; });
    }
    if (w.by.gather > 1) again |= attempt([](small_world& x) { --x.by.gather; });
    if (w.ready_horizon > 0) again |= attempt([](small_world& x) { --x.ready_horizon; });
    if (w.by.strict_after > 0) again |= attempt([](small_world& x) { x.by.strict_after = 0; });
    if (w.by.backfill != allot::backfill_order::queue) {
      again |= attempt([](small_world& x) { x.by.backfill = allot::backfill_order::queue; });
    }
    if (w.depth() > 1) again |= attempt([](small_world& x) { x.by.reservations = 1; });
    if (w.depth() > 0) again |= attempt([](small_world& x) { x.by.reservations = 0; });
    if (w.cpus_of_node > 0) again |= attempt([](small_world& x) { x.cpus_of_node = 0; });
    if (w.counts_cpus) {
      again |= attempt([](small_world& x) {
        x.counts_cpus = false;
        x.cpus_of_node = 0;
        for (world_team& t : x.teams) t.owns[2] = 0;
        for (world_job& j : x.jobs) j.cpus = j.leader_cpus = 0;
      });
    }
    if (w.nodes > 0)
      again |= attempt([](small_world& x) {
        x.nodes = 0;
        x.changes.clear();
      });
    if (w.nodes > w.kinds && w.changes.empty()) again |= attempt([](small_world& x) { --x.nodes; });
    for (std::size_t i = 0; i < w.teams.size(); ++i) {
      const auto with = [&](bool worth_it, auto change) {
        if (worth_it) again |= attempt([&](small_world& x) { change(x.teams[i]); });
      };
      const world_team t = w.teams[i];
      with(t.parent >= 0, [](world_team& x) { x.parent = -1; });
      with(t.lends >= 0, [](world_team& x) { x.lends = -1; });
      with(t.borrows >= 0, [](world_team& x) { x.borrows = -1; });
      with(t.weight != 1, [](world_team& x) { x.weight = 1; });
      with(t.guarantees > 0, [](world_team& x) { --x.guarantees; });
      for (std::size_t d = 0; d < world_resources; ++d) {
        with(t.owns[d] > 0, [&](world_team& x) { --x.owns[d]; });
      }
    }
    for (std::size_t i = 0; i < w.jobs.size(); ++i) {
      const auto with = [&](bool worth_it, auto change) {
        if (worth_it) again |= attempt([&](small_world& x) { change(x.jobs[i]); });
      };
      const world_job j = w.jobs[i];
      with(j.min_pods > 0, [](world_job& x) { --x.min_pods; });
      with(j.pods > 1, [](world_job& x) { --x.pods; });
      with(j.has_leader(), [](world_job& x) { x.leader = -1; });
      with(j.leader > 0, [](world_job& x) { x.leader = 0; });
      with(j.leader_cpus > 0, [](world_job& x) { --x.leader_cpus; });
      with(j.ready > 0, [](world_job& x) { x.ready = x.ready > x.submit + 1 ? x.ready - 1 : 0; });
      with(j.gpus % 1000 != 0, [](world_job& x) { x.gpus = 1000; });
      with(j.gpus > 1000, [](world_job& x) { x.gpus -= 1000; });
      with(j.cpus > 0, [](world_job& x) { --x.cpus; });
      with(j.kind > 0, [](world_job& x) { --x.kind; });
      with(j.in_one_rack, [](world_job& x) { x.in_one_rack = false; });
      with(j.priority > 0, [](world_job& x) { --x.priority; });
      with(!j.preemptible, [](world_job& x) { x.preemptible = true; });
      with(j.estimate != j.duration, [](world_job& x) { x.estimate = x.duration; });
      with(j.submit > 0 && (i == 0 || w.jobs[i - 1].submit < j.submit), [](world_job& x) { --x.submit; });
      with(j.duration > 1 && j.estimate == j.duration, [](world_job& x) { x.estimate = --x.duration; });
      with(j.duration > 1 && j.estimate != j.duration, [](world_job& x) { --x.duration; });
    }
    while (w.teams.size() > 1 &&
           std::none_of(w.jobs.begin(), w.jobs.end(),
                        [&](const world_job& j) { return j.team.index() == w.teams.size(); }) &&
           std::none_of(
               w.changes.begin(), w.changes.end(),
               [&](const world_change& c) { return c.is_of_team() && c.which + 1 == w.teams.size(); }) &&
           attempt([](small_world& x) { x.teams.pop_back(); })) {
      again = true;
    }
  }
  return w;
}

}  // namespace allot_test
