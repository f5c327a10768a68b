// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/quota/builder.hpp>
#include <allot/quota/spec.hpp>
#include <allot/scheduler/settings.hpp>

#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/seeds.hpp"

namespace allot_test {

// A scenario is a value: quotas, machines and a sequence of events. Everything is referred to by numbers that
// do not change when other things are removed, and the remainder is a valid scenario again. So rapidcheck can
// shrink a scenario that breaks a law to the part that matters.

inline constexpr std::size_t most_dimensions = 2;
using amounts = std::array<std::int64_t, most_dimensions>;

struct limit_draft {
  enum class kind : std::uint8_t { all, at_most, percent } is = kind::all;
  std::int64_t value = 0;

  [[nodiscard]] allot::limit made() const {
    if (is == kind::percent) return allot::limit::percent(value);
    return is == kind::all ? allot::limit::all() : allot::limit::at_most(allot::quantity::milli(value));
  }
};
using limit_drafts = std::array<limit_draft, most_dimensions>;

inline constexpr std::size_t no_number = static_cast<std::size_t>(-1);

struct quota_draft {
  std::size_t number = 0;
  /// The number of an earlier quota, or none.
  std::size_t parent = no_number;
  /// In thousandths. For an inclusive quota the amount beyond its children's, unless it overcommits: then the
  /// total.
  amounts own{};
  limit_drafts lend{};
  limit_drafts borrow{};
  amounts weight{1000, 1000};
  bool inclusive = false;
  bool overcommit = false;
  bool is_static = false;
  allot::queue_settings settings{};
};

struct job_draft {
  std::size_t number = 0;
  std::size_t quota = 0;
  amounts request{};
  std::int64_t priority = 0;
  bool preemptible = true;
};

enum class event_kind : std::uint8_t {
  /// The job is submitted, unless it was already.
  arrive,
  /// A running job ends, an evicted job is released, a pending job is withdrawn.
  end,
  /// The host takes a running job off its machines, and it is pending again; a job that is being evicted ends
  /// by itself.
  leave,
  /// The host starts to evict the job, if it is running.
  tell,
  /// All evicted jobs are released.
  all_gone,
  resize,
  relimit,
  reweight,
  move,
  configure,
  /// The scheduler runs one cycle.
  cycle,
};

struct event {
  event_kind what = event_kind::cycle;
  /// The number of the job or quota.
  std::size_t which = 0;
  /// move: of the new parent.
  std::size_t to = no_number;
  amounts amount{};
  limit_drafts lend{};
  limit_drafts borrow{};
  allot::queue_settings settings{};
};

struct scenario {
  /// How many dimensions jobs request.
  std::size_t dimensions = 1;
  /// A parent precedes its children.
  std::vector<quota_draft> quotas;
  /// Whether the last quota is the oldest.
  bool youngest_first = false;
  /// Whether the quotas' own settings apply, rather than the defaults of a preset.
  bool own_settings = false;
  /// Machines of the first dimension; if empty, only quotas are counted.
  std::int64_t nodes = 0;
  std::int64_t gpus_per_node = 0;
  std::vector<job_draft> jobs;
  std::vector<event> events;
};

/// What is drawn.
struct scenario_shape {
  std::size_t most_quotas = 8;
  std::size_t most_jobs = 30;
  std::int64_t largest_job = 6;
  bool two_dimensions = true;
  bool machines = true;
  std::int64_t most_nodes = 4;
  std::int64_t most_gpus = 8;
  bool tree_changes = true;
  bool random_settings = true;
  /// Whether some quotas order their jobs by submission time alone (FIFO).
  bool fifo = true;
  bool overcommit = true;
  bool static_quotas = true;
  bool fractions = true;
  /// Whether inner quotas have jobs.
  bool inner_jobs = true;
  bool fixed_jobs = true;
};

namespace detail {

[[nodiscard]] inline std::int64_t drawn_amount(random_source& random, const scenario_shape& shape,
                                               std::int64_t most) {
  if (random.one_in(7)) return 0;
  if (shape.fractions && random.one_in(8)) return random.between(0, most * 1000);
  return 1000 * random.between(0, most);
}
[[nodiscard]] inline limit_draft drawn_limit(random_source& random, const scenario_shape& shape) {
  switch (random.below(8)) {
    case 0:
      return {limit_draft::kind::at_most, 0};
    case 1:
      return {limit_draft::kind::at_most, drawn_amount(random, shape, 6)};
    case 2:
      return {limit_draft::kind::percent, 25 * random.between(0, 20)};
    default:
      return {};
  }
}
[[nodiscard]] inline allot::queue_settings drawn_settings(random_source& random,
                                                          const scenario_shape& shape) {
  using allot::preempt_reclaim, allot::preempt_within;
  constexpr preempt_within within[] = {preempt_within::never, preempt_within::lower_priority,
                                       preempt_within::lower_or_newer_equal};
  constexpr preempt_reclaim reclaim[] = {preempt_reclaim::never, preempt_reclaim::lower_priority,
                                         preempt_reclaim::any, preempt_reclaim::any};
  allot::queue_settings s;
  s.order = random.one_in(4) && shape.fifo ? allot::queue_order::fifo : allot::queue_order::priority;
  s.head = random.one_in(4) ? allot::queue_head::strict : allot::queue_head::best_effort;
  s.preempt.within = random.pick(within);
  s.preempt.reclaim = random.pick(reclaim);
  s.preempt.children = random.one_in(4);
  return s;
}

inline void draw_quotas(random_source& random, scenario& s, std::size_t most, const scenario_shape& shape) {
  const std::size_t count = 1 + most / 3 + random.below(most - most / 3);
  for (std::size_t i = 0; i < count; ++i) {
    quota_draft q;
    q.number = i;
    if (i > 0 && !random.one_in(12)) q.parent = random.one_in(3) ? i - 1 : random.below(i);
    for (std::size_t d = 0; d < s.dimensions; ++d) {
      q.own[d] = drawn_amount(random, shape, 8);
      q.lend[d] = drawn_limit(random, shape);
      q.borrow[d] = drawn_limit(random, shape);
      if (random.one_in(2)) q.weight[d] = 500 * random.between(0, 6);
    }
    q.inclusive = random.one_in(2);
    q.overcommit = q.inclusive && shape.overcommit && random.one_in(8);
    q.is_static = shape.static_quotas && random.one_in(10);
    if (shape.random_settings) q.settings = drawn_settings(random, shape);
    s.quotas.push_back(q);
  }
}

[[nodiscard]] inline job_draft drawn_job(random_source& random, const scenario& s, std::size_t number,
                                         const scenario_shape& shape) {
  job_draft j;
  j.number = number;
  do {
    j.quota = random.below(s.quotas.size());
  } while (!shape.inner_jobs && std::any_of(s.quotas.begin(), s.quotas.end(),
                                            [&](const quota_draft& q) { return q.parent == j.quota; }));
  for (std::size_t d = 0; d < s.dimensions; ++d) {
    if (d > 0 && random.one_in(3)) continue;
    // Small amounts are more frequent.
    j.request[d] =
        1000 * std::min(random.between(1, shape.largest_job), random.between(1, shape.largest_job));
    if (shape.fractions && random.one_in(10)) j.request[d] = random.between(0, 999);
  }
  j.priority = static_cast<std::int64_t>(random.below(3));
  j.preemptible = !shape.fixed_jobs || !random.one_in(6);
  return j;
}

[[nodiscard]] inline event drawn_tree_change(random_source& random, const scenario& s,
                                             const scenario_shape& shape) {
  event e;
  e.which = random.below(s.quotas.size());
  for (std::size_t d = 0; d < s.dimensions; ++d) {
    e.amount[d] = drawn_amount(random, shape, 12);
    e.lend[d] = drawn_limit(random, shape);
    e.borrow[d] = drawn_limit(random, shape);
  }
  switch (random.below(4)) {
    case 0:
      e.what = event_kind::relimit;
      break;
    case 1:
      e.what = event_kind::reweight;
      break;
    case 2:
      e.what = event_kind::move;
      if (!random.one_in(3)) e.to = random.below(s.quotas.size());
      break;
    default:
      e.what = event_kind::resize;
      break;
  }
  return e;
}

[[nodiscard]] inline scenario drawn_scenario(random_source& random, std::size_t size,
                                             const scenario_shape& shape) {
  // The maximum size is reached after half of the cases.
  const auto scaled = [&](std::size_t most) {
    return 1 + (most - 1) * std::min<std::size_t>(size + 2, 50) / 50;
  };
  scenario s;
  s.dimensions = shape.two_dimensions && random.one_in(3) ? 2 : 1;
  draw_quotas(random, s, scaled(shape.most_quotas), shape);
  s.youngest_first = random.one_in(3);
  s.own_settings = shape.random_settings;
  if (shape.machines && random.one_in(2)) {
    s.nodes = random.between(1, shape.most_nodes);
    s.gpus_per_node = random.between(2, shape.most_gpus);
  }
  const std::size_t most_jobs = scaled(shape.most_jobs);
  const std::size_t jobs = most_jobs - random.below(most_jobs / 2 + 1);
  const bool changes = shape.tree_changes && random.one_in(2);
  while (s.jobs.size() < jobs) {
    event e;
    switch (random.below(10)) {
      case 0:
      case 1:
      case 2:
      case 3:
        e.what = event_kind::arrive;
        e.which = s.jobs.size();
        s.jobs.push_back(drawn_job(random, s, e.which, shape));
        break;
      case 4:
        e.what = event_kind::all_gone;
        break;
      case 5:
        if (s.jobs.empty()) continue;
        e.which = random.below(s.jobs.size());
        e.what = event_kind::end;
        if (random.one_in(4)) e.what = random.one_in(2) ? event_kind::leave : event_kind::tell;
        break;
      case 6:
        if (changes && random.one_in(2)) {
          e = drawn_tree_change(random, s, shape);
        } else if (shape.random_settings && random.one_in(4)) {
          e.what = event_kind::configure;
          e.which = random.below(s.quotas.size());
          e.settings = drawn_settings(random, shape);
        }
        break;
      default:
        break;
    }
    s.events.push_back(e);
  }
  return s;
}

// --- shrinking
// ----------------------------------------------------------------------------------------------

[[nodiscard]] inline bool is_about_quota(const event& e) {
  return e.what == event_kind::resize || e.what == event_kind::relimit || e.what == event_kind::reweight ||
         e.what == event_kind::move || e.what == event_kind::configure;
}
[[nodiscard]] inline bool is_about_job(const event& e) {
  return e.what == event_kind::arrive || e.what == event_kind::end || e.what == event_kind::leave ||
         e.what == event_kind::tell;
}

inline void take_out_job(scenario& s, std::size_t number) {
  std::erase_if(s.jobs, [&](const job_draft& j) { return j.number == number; });
  std::erase_if(s.events, [&](const event& e) { return is_about_job(e) && e.which == number; });
}
/// Its children and jobs move to its parent; the jobs of a root are removed.
inline void take_out_quota(scenario& s, std::size_t number) {
  const auto at = std::find_if(s.quotas.begin(), s.quotas.end(),
                               [&](const quota_draft& q) { return q.number == number; });
  const std::size_t heir = at->parent;
  s.quotas.erase(at);
  for (quota_draft& q : s.quotas) {
    if (q.parent == number) q.parent = heir;
  }
  std::vector<std::size_t> orphans;
  for (job_draft& j : s.jobs) {
    if (j.quota != number) continue;
    j.quota = heir;
    if (heir == no_number) orphans.push_back(j.number);
  }
  for (const std::size_t j : orphans) take_out_job(s, j);
  std::erase_if(s.events, [&](const event& e) {
    return is_about_quota(e) && (e.which == number || (e.what == event_kind::move && e.to == number));
  });
}

/// Smaller values for a larger one, the smallest first.
[[nodiscard]] inline std::vector<std::int64_t> smaller(std::int64_t milli, std::int64_t least) {
  std::vector<std::int64_t> result;
  const auto add = [&](std::int64_t m) {
    if (m >= least && m < milli && (result.empty() || result.back() < m)) result.push_back(m);
  };
  add(least);
  if (milli % 1000 != 0) {
    add(milli / 1000 * 1000);
  } else {
    add(milli / 2000 * 1000);
    add(milli - 1000);
  }
  return result;
}

/// Calls `add(scenario)` for scenarios with one thing less, the most promising first.
template <class Add>
void take_away(const scenario& s, Add add) {
  const auto with = [&](auto change) {
    scenario less = s;
    change(less);
    add(std::move(less));
  };
  for (std::size_t part = s.events.size(); part > 0; part /= 2) {
    for (std::size_t end = s.events.size(); end > 0; end -= std::min(end, part)) {
      with([&](scenario& less) {
        const auto first = static_cast<std::ptrdiff_t>(end - std::min(end, part));
        less.events.erase(less.events.begin() + first,
                          less.events.begin() + static_cast<std::ptrdiff_t>(end));
      });
    }
  }
  for (const job_draft& j : s.jobs) {
    with([&](scenario& less) { take_out_job(less, j.number); });
  }
  if (s.quotas.size() > 1) {
    for (const quota_draft& q : s.quotas) {
      with([&](scenario& less) { take_out_quota(less, q.number); });
    }
  }
  if (s.nodes > 0) {
    with([](scenario& less) { less.nodes = less.gpus_per_node = 0; });
    if (s.nodes > 1) with([](scenario& less) { --less.nodes; });
    if (s.gpus_per_node > 1) with([](scenario& less) { --less.gpus_per_node; });
  }
  if (s.dimensions > 1) {
    with([](scenario& less) {
      less.dimensions = 1;
      for (job_draft& j : less.jobs) j.request[1] = 0;
    });
  }
  if (s.youngest_first) with([](scenario& less) { less.youngest_first = false; });
  const quota_draft plain;
  for (std::size_t i = 0; i < s.quotas.size(); ++i) {
    const quota_draft& q = s.quotas[i];
    const auto edit = [&](bool worth_it, auto change) {
      if (worth_it) with([&](scenario& less) { change(less.quotas[i]); });
    };
    edit(!(q.settings == plain.settings), [&](quota_draft& x) { x.settings = plain.settings; });
    edit(q.is_static, [](quota_draft& x) { x.is_static = false; });
    edit(q.overcommit, [](quota_draft& x) { x.overcommit = false; });
    edit(q.inclusive, [](quota_draft& x) { x.inclusive = x.overcommit = false; });
    edit(q.weight != plain.weight, [&](quota_draft& x) { x.weight = plain.weight; });
    for (std::size_t d = 0; d < most_dimensions; ++d) {
      edit(q.lend[d].is != limit_draft::kind::all, [&](quota_draft& x) { x.lend[d] = {}; });
      edit(q.borrow[d].is != limit_draft::kind::all, [&](quota_draft& x) { x.borrow[d] = {}; });
      for (const std::int64_t m : smaller(q.own[d], 0)) edit(true, [&](quota_draft& x) { x.own[d] = m; });
    }
  }
  for (std::size_t i = 0; i < s.jobs.size(); ++i) {
    const job_draft& j = s.jobs[i];
    if (j.priority > 0) with([&](scenario& less) { --less.jobs[i].priority; });
    if (!j.preemptible) with([&](scenario& less) { less.jobs[i].preemptible = true; });
    for (std::size_t d = 0; d < most_dimensions; ++d) {
      for (const std::int64_t m : smaller(j.request[d], 0)) {
        with([&](scenario& less) { less.jobs[i].request[d] = m; });
      }
    }
  }
}

// --- text
// ---------------------------------------------------------------------------------------------------

[[nodiscard]] inline std::string told(std::int64_t milli) {
  return allot::to_string(allot::quantity::milli(milli));
}
[[nodiscard]] inline std::string told(const amounts& a, std::size_t dimensions) {
  return dimensions == 1 ? told(a[0]) : told(a[0]) + " + " + told(a[1]);
}
inline void tell_limits(const char* verb, const limit_drafts& limits, std::size_t dimensions,
                        std::ostream& os) {
  for (std::size_t d = 0; d < dimensions; ++d) {
    const limit_draft& l = limits[d];
    if (l.is == limit_draft::kind::all) continue;
    os << ", " << verb << " at most ";
    l.is == limit_draft::kind::percent ? os << l.value << " %" : os << told(l.value);
    if (dimensions > 1) os << " (of dimension " << d << ')';
  }
}
inline void tell_settings(const allot::queue_settings& s, std::ostream& os) {
  const allot::queue_settings plain;
  if (s.order != plain.order) os << ", fifo";
  if (s.head != plain.head) os << ", strict";
  if (s.preempt.within != plain.preempt.within) {
    os << ", within "
       << (s.preempt.within == allot::preempt_within::never ? "never" : "lower or newer equal");
  }
  if (s.preempt.reclaim != plain.preempt.reclaim) {
    os << ", reclaim " << (s.preempt.reclaim == allot::preempt_reclaim::never ? "never" : "lower priority");
  }
  if (s.preempt.children) os << ", may take from its children";
}
inline void tell_event(const event& e, const scenario& s, std::ostream& os) {
  const char* const verbs[] = {"is submitted",
                               "ends, has gone, or is not wanted",
                               "is taken off by the host, or ends while going",
                               "is evicted by the host",
                               "all evicted jobs have gone",
                               "has now ",
                               "now",
                               "has now the weights ",
                               "moves ",
                               "has now the settings",
                               "a cycle"};
  const char* verb = verbs[static_cast<std::size_t>(e.what)];
  if (is_about_job(e)) {
    os << "job " << e.which << ' ' << verb;
    if (e.what != event_kind::arrive) return;
    for (const job_draft& j : s.jobs) {
      if (j.number != e.which) continue;
      os << ": " << told(j.request, s.dimensions) << " of q" << j.quota;
      if (j.priority != 0) os << ", priority " << j.priority;
      if (!j.preemptible) os << ", not preemptible";
    }
    return;
  }
  if (is_about_quota(e)) os << 'q' << e.which << ' ';
  os << verb;
  if (e.what == event_kind::resize || e.what == event_kind::reweight) os << told(e.amount, s.dimensions);
  if (e.what == event_kind::relimit) {
    tell_limits("lends", e.lend, s.dimensions, os);
    tell_limits("borrows", e.borrow, s.dimensions, os);
  }
  if (e.what == event_kind::move) e.to == no_number ? os << "to the top" : os << "below q" << e.to;
  if (e.what == event_kind::configure) tell_settings(e.settings, os);
}

}  // namespace detail

/// The scenario as text; found by rapidcheck.
inline void showValue(const scenario& s, std::ostream& os) {
  os << "quotas" << (s.youngest_first ? ", the youngest first:\n" : ", the oldest first:\n");
  for (const quota_draft& q : s.quotas) {
    os << "  q" << q.number;
    if (q.parent != no_number) os << " in q" << q.parent;
    os << ": " << detail::told(q.own, s.dimensions)
       << (q.overcommit  ? " in all, overcommitted"
           : q.inclusive ? " beside its children's, inclusive"
                         : "");
    detail::tell_limits("lends", q.lend, s.dimensions, os);
    detail::tell_limits("borrows", q.borrow, s.dimensions, os);
    if (q.weight != amounts{1000, 1000}) os << ", weight " << detail::told(q.weight, s.dimensions);
    if (q.is_static) os << ", static";
    detail::tell_settings(q.settings, os);
    os << '\n';
  }
  if (s.nodes > 0) os << s.nodes << " nodes of " << s.gpus_per_node << " GPUs\n";
  for (const job_draft& j : s.jobs) {
    const bool comes = std::any_of(s.events.begin(), s.events.end(), [&](const event& e) {
      return e.what == event_kind::arrive && e.which == j.number;
    });
    if (!comes)
      os << "job " << j.number << ": " << detail::told(j.request, s.dimensions) << " of q" << j.quota << '\n';
  }
  if (s.events.empty()) return;
  os << "what happens:\n";
  for (const event& e : s.events) {
    os << "  ";
    detail::tell_event(e, s, os);
    os << '\n';
  }
}

/// Random scenarios of a shape, with shrinking.
[[nodiscard]] inline rc::Gen<scenario> scenarios(const scenario_shape& shape) {
  return [shape](const rc::Random& random, int size) {
    rc::Random drawn = random;
    random_source source{drawn.next()};
    return rc::shrinkable::shrinkRecur(
        detail::drawn_scenario(source, static_cast<std::size_t>(size), shape), [](const scenario& s) {
          std::vector<scenario> less;
          detail::take_away(s, [&](scenario&& x) { less.push_back(std::move(x)); });
          return rc::seq::fromContainer(std::move(less));
        });
  };
}

/// The quotas of a scenario as specifications, named q<number>, the oldest first. The builder accepts them.
template <std::size_t N>
[[nodiscard]] std::vector<allot::quota_spec<N>> specs_of(const scenario& s, bool overcommit = true) {
  const std::size_t count = s.quotas.size();
  std::vector<allot::quota_spec<N>> specs(count);
  std::vector<allot::resources<N>> given_below(count);
  const auto place_of = [&](std::size_t number) {
    return static_cast<std::size_t>(std::find_if(s.quotas.begin(), s.quotas.end(),
                                                 [&](const quota_draft& q) { return q.number == number; }) -
                                    s.quotas.begin());
  };
  for (std::size_t i = count; i-- > 0;) {
    const quota_draft& q = s.quotas[i];
    allot::quota_spec<N>& spec = specs[i];
    spec.name = "q" + std::to_string(q.number);
    spec.is_static = q.is_static;
    spec.inclusive = q.inclusive;
    spec.overcommit = overcommit && q.overcommit;
    const std::size_t parent = q.parent == no_number ? count : place_of(q.parent);
    if (parent < count) spec.parent = "q" + std::to_string(q.parent);
    for (std::size_t d = 0; d < N; ++d) {
      spec.nominal[d] = allot::quantity::milli(q.own[d]);
      if (q.inclusive && !spec.overcommit) spec.nominal[d] += given_below[i][d];
      spec.lend[d] = q.lend[d].made();
      spec.borrow[d] = q.borrow[d].made();
      spec.weight[d] = allot::fair_weight::milli(q.weight[d]);
      if (parent < count) {
        given_below[parent][d] += spec.nominal[d];
        if (!q.inclusive) given_below[parent][d] += given_below[i][d];
      }
    }
  }
  if (s.youngest_first) std::reverse(specs.begin(), specs.end());
  // Below an overcommitted quota the guarantees may exceed the capacity.
  return overcommit && !allot::build_quota_tree(specs) ? specs_of<N>(s, false) : specs;
}

}  // namespace allot_test
