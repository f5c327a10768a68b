// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/quantity.hpp>
#include <allot/core/resources.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/gpu/pod_request.hpp>
#include <allot/gpu/reason.hpp>
#include <allot/lab/metrics/figures.hpp>
#include <allot/quota/ledger.hpp>
#include <allot/quota/shortfall.hpp>
#include <allot/scheduler/plan.hpp>
#include <allot/sim/job.hpp>

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

/// For a pending job, from the result of `scheduler::why`.
template <class Hold>
[[nodiscard]] wait_cause cause_of(const Hold& h) {
  if (h.reason == pending_reason::not_ready || h.reason == pending_reason::held) return wait_cause::order;
  // What it lacks without preemption, whatever a search for victims has found.
  if (h.binding || h.reason == pending_reason::backoff) return wait_cause::fair_share;
  if constexpr (requires { h.backs_off.until; }) {
    if (h.backs_off) return wait_cause::fair_share;
  }
  if (!h.placement || h.placement->reason == gpu::obstacle::none) return wait_cause::order;
  return h.placement->reason == gpu::obstacle::full ? wait_cause::capacity : wait_cause::fragmentation;
}

/// What the law at a quota leaves to its subtree, in one dimension: to all jobs, or to those that never
/// borrow.
struct quota_bound {
  quota_id quota;
  std::size_t dimension = 0;
  capacity_kind kind = capacity_kind::any;

  /// The one that binds.
  [[nodiscard]] static quota_bound of(const shortfall& by) noexcept {
    return {by.quota, by.dimension,
            by.kind == bound::guarantee ? capacity_kind::guaranteed : capacity_kind::any};
  }
  friend auto operator<=>(const quota_bound&, const quota_bound&) = default;
};

/// Why the jobs of a simulation wait, and how long for each cause.
///
/// Pending jobs of one quota with the same request are one kind. They are treated alike, and so are kinds of
/// the same request whose quotas the policy does not tell apart. So each such group has a clock for each
/// cause, of which one runs at a time, and a job waits for a cause as long as that clock of its group runs
/// while the job is pending: each job that comes or goes is O(log kinds), and a change of state O(groups with
/// pending jobs), however many jobs are pending. As far as bounds can be followed, groups that one binds are
/// not asked again before it has room for them; and of those that none binds, which wait for a place, only
/// one of each request is asked while that is so. 36 bytes per job.
template <std::size_t N = 1>
class wait_reasons {
 public:
  /// What may have changed since the last look. If nothing was given back, jobs that their quota did not
  /// allow are still not allowed.
  enum class change : std::uint8_t { nothing, less_room, any };
  /// The name of the enumerator; empty if there is no such value.
  [[nodiscard]] friend constexpr std::string_view to_string(change value) noexcept {
    switch (value) {
      case change::nothing:
        return "nothing";
      case change::less_room:
        return "less_room";
      case change::any:
        return "any";
    }
    return "";
  }

  /// Job j is pending from now on. To the policy it is one of `seen_in`.
  void begin(std::span<const sim::job<N>> jobs, sim::job_index j, instant now, quota_id seen_in) {
    if (of_job_.size() < jobs.size()) of_job_.resize(jobs.size());
    entry& e = of_job_[j];
    if (e.kind == none) e.kind = number(jobs[j], seen_in);
    e.waits = true;
    join(j, now);
  }
  /// Job j is no longer pending. Precondition: it is.
  void end(sim::job_index j, instant now) {
    of_job_[j].waits = false;
    leave(j, now);
  }
  /// These pending jobs, by index, wait for nothing that the others of their kind wait for.
  void set_aside(std::span<const sim::job_index> those, instant now) {
    if (aside_.empty() && those.empty()) return;
    for (const sim::job_index j : aside_) {
      if (of_job_[j].waits && !std::binary_search(those.begin(), those.end(), j)) join(j, now);
    }
    for (const sim::job_index j : those) leave(j, now);
    aside_.assign(those.begin(), those.end());
  }

  /// Bounds that are not followed: see `look`.
  struct no_bounds {
    [[nodiscard]] std::optional<quantity> follow(const auto&) const { return std::nullopt; }
    [[nodiscard]] bool follow_all(const auto&, auto) const { return false; }
    [[nodiscard]] quantity room(const quota_bound&) const { return quantity::unlimited(); }
    void for_each_above(quota_id, auto) const {}
  };
  /// Finds for every group why its jobs wait from now on; `why(job)` is as in a plan. What a bound leaves is
  /// `bounds.room(bound)`; `bounds.follow(why)` is that for the one that binds a job, if it will bind the job
  /// as long as that is less than now by not more than what is missing. For a job that none binds,
  /// `bounds.follow_all(why, visit)` calls `visit(bound, amount)` for each that has to leave that much, and
  /// returns whether that can be followed. Since the last look the usage of these quotas alone has `changed`,
  /// which counts against the bounds of those that `bounds.for_each_above` visits; nothing: it may be that of
  /// any.
  template <class Why, class Bounds = no_bounds>
  void look(instant now, change what, Why why, const Bounds& bounds = {},
            std::optional<std::span<const quota_id>> changed = {}) {
    lacks_place_ = false;
    if (now >= backoff_ends_) {
      what = change::any;
      backoff_ends_ = without_end;
    }
    if (what != change::nothing) wake(what, changed, bounds);
    for (std::size_t i = open_.size(); i-- > 0;) {
      const std::uint32_t number = open_[i];
      group& g = groups_[number];
      const bool stays =
          what == change::nothing || (what == change::less_room && g.cause == wait_cause::fair_share);
      if (!g.known || !stays) {
        const auto h = why(kinds_[g.kinds.front()].first);
        g.set(cause_of(h), now);
        if constexpr (requires { h.backs_off.until; }) {
          if (h.backs_off) backoff_ends_ = std::min(backoff_ends_, h.backs_off.until);
        }
        g.known = true;
        if (g.cause == wait_cause::fair_share) {
          if (h.binding) bind(number, *h.binding, bounds.follow(h));
        } else if (h.reason != pending_reason::not_ready && h.reason != pending_reason::held) {
          admit(number, h, bounds);
        }
      }
      lacks_place_ = lacks_place_ || is_of_places(g.cause);
    }
    for (const std::uint32_t k : busy_places_) {
      place& p = places_[k];
      if (what != change::nothing) {
        const wait_cause cause = cause_of(why(kinds_[groups_[p.groups.front()].kinds.front()].first));
        if (std::exchange(p.cause, cause) != cause) {
          for (const std::uint32_t number : p.groups) groups_[number].set(cause, now);
        }
      }
      lacks_place_ = lacks_place_ || is_of_places(p.cause);
    }
  }
  /// The quotas have changed, and with them all bounds.
  void forget_bounds() {
    while (!kept_out_.empty()) reopen(kept_out_.begin()->group);
    while (!let_in_.empty()) reopen(let_in_.begin()->group);
  }

  /// Whether, at the last look, a job that its quota allows could not be placed.
  [[nodiscard]] bool any_lacks_a_place() const noexcept { return lacks_place_; }
  /// Calls `visit(job)` for one pending job of every kind of the quota that has one.
  template <class Visit>
  void for_each_kind(quota_id x, Visit visit) const {
    if (x.index() >= of_quota_.size()) return;
    for (const std::uint32_t k : of_quota_[x.index()].waiting) visit(kinds_[k].first);
  }

  /// How long a job has waited for each cause, of `total`, which is the sum of the parts. Waiting from before
  /// the simulation, and what it was set aside, counts as `order`.
  [[nodiscard]] std::array<instant, wait_cause_count> split(sim::job_index j, instant total,
                                                            instant now) const {
    std::array<instant, wait_cause_count> parts{};
    instant& rest = parts[clocks] = total;
    if (j >= of_job_.size() || of_job_[j].kind == none) return parts;
    const entry& e = of_job_[j];
    for (std::size_t c = 0; c < clocks; ++c) {
      parts[c] = e.waited[c] + (e.is_in ? group_of(e).clock(c, now) : 0);
      rest -= parts[c];
    }
    return parts;
  }

 private:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  /// One for each cause but the last, which is the rest.
  static constexpr std::size_t clocks = wait_cause_count - 1;

  struct kind_key {
    quota_id quota;
    resources<N> request;
    gpu::pod_request pod_request;
    std::uint32_t flavors;
    std::uint32_t min_pods;
    bool preemptible;
    /// Pods that differ are those of one job.
    std::uint32_t unlike;

    friend auto operator<=>(const kind_key&, const kind_key&) = default;
  };
  /// What a group needs of a bound.
  struct need {
    quota_bound of;
    quantity amount;
    std::uint32_t group = 0;

    friend auto operator<=>(const need&, const need&) = default;
  };
  struct group {
    std::array<instant, clocks> until{};
    instant since = 0;
    wait_cause cause = wait_cause::order;
    bool known = false;
    /// Those with pending jobs.
    vector<std::uint32_t> kinds{};
    /// If there are any: open, or kept out by a bound, or among those of its place that no bound keeps out.
    /// What it needs of the bounds that are followed; and where it is in `open_`, or among those.
    bool is_open = false;
    std::uint32_t place = 0;
    std::size_t at = 0;
    vector<need> needs{};

    [[nodiscard]] instant clock(std::size_t c, instant now) const {
      return until[c] + (static_cast<std::size_t>(cause) == c ? now - since : 0);
    }
    void set(wait_cause next, instant now) {
      if (cause != wait_cause::order) until[static_cast<std::size_t>(cause)] += now - since;
      since = now;
      cause = next;
    }
  };
  /// The groups that ask for the same place, and that no bound keeps out: they wait for the same cause.
  struct place {
    vector<std::uint32_t> groups;
    wait_cause cause = wait_cause::order;
  };
  struct kind {
    quota_id quota;
    std::uint32_t group = 0;
    /// The most recent of its pending jobs. If there are any, its place among those of its quota and of its
    /// group.
    sim::job_index first = none;
    std::size_t in_quota = 0;
    std::size_t in_group = 0;
  };
  /// All kinds of a quota, and those with pending jobs.
  struct kinds_of_quota {
    std::map<kind_key, std::uint32_t> known;
    vector<std::uint32_t> waiting;
  };
  struct entry {
    /// While it is pending: minus the clocks of its group at the beginning.
    std::array<instant, clocks> waited{};
    std::uint32_t kind = none;
    sim::job_index previous = none;
    sim::job_index next = none;
    bool waits = false;
    /// Whether it is one of its kind now.
    bool is_in = false;
  };

  void join(sim::job_index j, instant now) {
    entry& e = of_job_[j];
    if (std::exchange(e.is_in, true)) return;
    kind& k = kinds_[e.kind];
    group& g = groups_[k.group];
    for (std::size_t c = 0; c < clocks; ++c) e.waited[c] -= g.clock(c, now);
    e.previous = none;
    e.next = k.first;
    if (k.first != none) {
      of_job_[k.first].previous = j;
    } else {
      enter(of_quota_[k.quota.index()].waiting, e.kind, &kind::in_quota);
      enter(g.kinds, e.kind, &kind::in_group);
      if (g.kinds.size() == 1) {
        // Until the cause is known it does not matter which clock runs, because no time passes.
        g.known = false;
        open(k.group);
      }
    }
    k.first = j;
  }
  void leave(sim::job_index j, instant now) {
    entry& e = of_job_[j];
    if (!std::exchange(e.is_in, false)) return;
    kind& k = kinds_[e.kind];
    group& g = groups_[k.group];
    for (std::size_t c = 0; c < clocks; ++c) e.waited[c] += g.clock(c, now);
    if (e.previous != none) of_job_[e.previous].next = e.next;
    if (e.next != none) of_job_[e.next].previous = e.previous;
    if (k.first == j) k.first = e.next;
    if (k.first != none) return;
    remove(of_quota_[k.quota.index()].waiting, e.kind, &kind::in_quota);
    remove(g.kinds, e.kind, &kind::in_group);
    if (!g.kinds.empty()) return;
    if (!g.is_open) reopen(k.group);
    close(k.group);
  }
  void enter(vector<std::uint32_t>& list, std::uint32_t k, std::size_t kind::*at) {
    kinds_[k].*at = list.size();
    list.push_back(k);
  }
  void remove(vector<std::uint32_t>& list, std::uint32_t k, std::size_t kind::*at) {
    kinds_[list.back()].*at = kinds_[k].*at;
    list[kinds_[k].*at] = list.back();
    list.pop_back();
  }
  [[nodiscard]] const group& group_of(const entry& e) const { return groups_[kinds_[e.kind].group]; }

  [[nodiscard]] static bool is_of_places(wait_cause cause) {
    return cause == wait_cause::fragmentation || cause == wait_cause::capacity;
  }
  void open(std::uint32_t number) {
    groups_[number].is_open = true;
    enter(open_, number);
  }
  void close(std::uint32_t number) {
    groups_[number].is_open = false;
    remove(open_, number);
  }
  void enter(vector<std::uint32_t>& list, std::uint32_t number) {
    groups_[number].at = list.size();
    list.push_back(number);
  }
  void remove(vector<std::uint32_t>& list, std::uint32_t number) {
    groups_[list.back()].at = groups_[number].at;
    list[groups_[number].at] = list.back();
    list.pop_back();
  }
  /// The group is not asked again before the bound has that much more room.
  void bind(std::uint32_t number, const shortfall& by, std::optional<quantity> room) {
    if (!room) return;
    const need n{quota_bound::of(by), *room + by.missing, number};
    groups_[number].needs.push_back(n);
    kept_out_.insert(n);
    close(number);
  }
  /// No bound keeps the group out: it is not asked again while that is so, as far as bounds can be followed.
  template <class Why, class Bounds>
  void admit(std::uint32_t number, const Why& h, const Bounds& bounds) {
    group& g = groups_[number];
    const bool are_followed = bounds.follow_all(h, [&](const quota_bound& of, quantity amount) {
      g.needs.push_back({of, amount, number});
    });
    if (!are_followed) return g.needs.clear();
    for (const need& n : g.needs) let_in_.insert(n);
    close(number);
    place& p = places_[g.place];
    if (p.groups.empty()) {
      busy_places_.push_back(g.place);
      p.cause = g.cause;
    }
    enter(p.groups, number);
  }
  /// What is known of the bounds of the group no longer holds: it is asked again.
  void reopen(std::uint32_t number) {
    group& g = groups_[number];
    const bool is_kept_out = g.needs.size() == 1 && kept_out_.erase(g.needs.front()) > 0;
    if (!is_kept_out) {
      for (const need& n : g.needs) let_in_.erase(n);
      place& p = places_[g.place];
      remove(p.groups, number);
      if (p.groups.empty()) erase(busy_places_, g.place);
    }
    g.needs.clear();
    open(number);
  }
  /// Asks groups again that a bound keeps out and has room for, and those that one lets in and has none for:
  /// at the bounds against which the usage of these quotas counts.
  template <class Bounds>
  void wake(change what, std::optional<std::span<const quota_id>> changed, const Bounds& bounds) {
    const auto wake_at = [&](quota_id x) {
      for_each_bound(let_in_, x, [&](const quota_bound& of) {
        const need most{of, bounds.room(of), none};
        while (const need* const more = first_at(let_in_.upper_bound(most), let_in_, of)) reopen(more->group);
      });
      if (what != change::any) return;
      for_each_bound(kept_out_, x, [&](const quota_bound& of) {
        const quantity room = bounds.room(of);
        const need least{of, quantity{}, 0};
        for (;;) {
          const need* const first = first_at(kept_out_.lower_bound(least), kept_out_, of);
          if (first == nullptr || first->amount > room) return;
          reopen(first->group);
        }
      });
    };
    if (!changed) return wake_at(quota_id::none());
    for (const quota_id x : *changed) {
      // By what it uses itself it may back off, or no longer.
      for (;;) {
        const auto at = let_in_.lower_bound({{x}, {}, 0});
        if (at == let_in_.end() || at->of.quota != x) break;
        reopen(at->group);
      }
      bounds.for_each_above(x, wake_at);
    }
  }
  /// Calls `visit(bound)` for each of x, or of all quotas, of which these need something.
  template <class Visit>
  static void for_each_bound(const std::set<need>& those, quota_id x, Visit visit) {
    auto at = x ? those.lower_bound({{x}, {}, 0}) : those.begin();
    while (at != those.end() && (!x || at->of.quota == x)) {
      const need last{at->of, quantity::unlimited(), none};
      visit(last.of);
      at = those.upper_bound(last);
    }
  }
  [[nodiscard]] static const need* first_at(typename std::set<need>::const_iterator at,
                                            const std::set<need>& those, const quota_bound& of) {
    return at != those.end() && at->of == of ? &*at : nullptr;
  }
  [[nodiscard]] std::uint32_t number(const sim::job<N>& j, quota_id seen_in) {
    kind_key key{j.quota,       j.request, j.pod_request.room_key(), j.flavors, j.fewest_pods(),
                 j.preemptible, j.unlike};
    if (of_quota_.size() <= j.quota.index()) of_quota_.resize(j.quota.index() + 1);
    auto& known = of_quota_[j.quota.index()].known;
    const auto [at, is_new] = known.try_emplace(key, static_cast<std::uint32_t>(kinds_.size()));
    if (is_new) {
      // Which flavors a job asks for is its own.
      if (j.flavors == 0 && j.unlike == 0) key.quota = seen_in;
      const auto alike = groups_of_.try_emplace(key, static_cast<std::uint32_t>(groups_.size()));
      if (alike.second) {
        key.quota = quota_id::none();
        const auto its = places_of_.try_emplace(key, static_cast<std::uint32_t>(places_.size()));
        if (its.second) places_.emplace_back();
        groups_.emplace_back();
        groups_.back().place = its.first->second;
      }
      kinds_.push_back({j.quota, alike.first->second});
    }
    return at->second;
  }

  vector<kind> kinds_;
  vector<kinds_of_quota> of_quota_;
  std::map<kind_key, std::uint32_t> groups_of_;
  vector<group> groups_;
  /// By request, whatever the quota; and those with groups that no bound keeps out.
  std::map<kind_key, std::uint32_t> places_of_;
  vector<place> places_;
  vector<std::uint32_t> busy_places_;
  /// The groups with pending jobs that are asked whenever something has changed, and what the others need.
  vector<std::uint32_t> open_;
  std::set<need> kept_out_;
  std::set<need> let_in_;
  vector<entry> of_job_;
  vector<sim::job_index> aside_;
  bool lacks_place_ = false;
  /// The first time at which a quota may borrow again, for which a job of a group waits.
  instant backoff_ends_ = without_end;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot
