// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/resources.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/gpu/pod_request.hpp>
#include <allot/gpu/reason.hpp>
#include <allot/lab/metrics/figures.hpp>
#include <allot/scheduler/plan.hpp>
#include <allot/sim/job.hpp>

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string_view>

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

/// Why the jobs of a simulation wait, and how long for each cause.
///
/// Pending jobs of one quota with the same request are treated alike. So each such group has a clock for each
/// cause, of which one runs at a time, and a job waits for a cause as long as that clock of its group runs
/// while the job is pending: each job that comes or goes is O(1), and a change of state O(groups with pending
/// jobs), however many jobs are pending. 36 bytes per job.
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

  /// Job j is pending from now on.
  void begin(std::span<const sim::job<N>> jobs, sim::job_index j, instant now) {
    if (of_job_.size() < jobs.size()) of_job_.resize(jobs.size());
    entry& e = of_job_[j];
    if (e.group == none) e.group = number(jobs[j]);
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

  /// Finds for every group why its jobs wait from now on; `why(job)` is as in a plan.
  template <class Why>
  void look(instant now, change what, Why why) {
    lacks_place_ = false;
    if (now >= backoff_ends_) {
      what = change::any;
      backoff_ends_ = without_end;
    }
    for (const std::uint32_t number : active_) {
      group& g = groups_[number];
      const bool stays =
          what == change::nothing || (what == change::less_room && g.cause == wait_cause::fair_share);
      if (!g.known || !stays) {
        g.pass(now);
        const auto h = why(g.first);
        g.cause = cause_of(h);
        if constexpr (requires { h.backs_off.until; }) {
          if (h.backs_off) backoff_ends_ = std::min(backoff_ends_, h.backs_off.until);
        }
        g.known = true;
      }
      lacks_place_ = lacks_place_ || g.cause == wait_cause::fragmentation || g.cause == wait_cause::capacity;
    }
  }

  /// Whether, at the last look, a job that its quota allows could not be placed.
  [[nodiscard]] bool any_lacks_a_place() const noexcept { return lacks_place_; }
  /// Calls `visit(job)` for one pending job of every group that has one.
  template <class Visit>
  void for_each_kind(Visit visit) const {
    for (const std::uint32_t number : active_) visit(groups_[number].first);
  }

  /// How long a job has waited for each cause, of `total`, which is the sum of the parts. Waiting from before
  /// the simulation, and what it was set aside, counts as `order`.
  [[nodiscard]] std::array<instant, wait_cause_count> split(sim::job_index j, instant total,
                                                            instant now) const {
    std::array<instant, wait_cause_count> parts{};
    instant& rest = parts[clocks] = total;
    if (j >= of_job_.size() || of_job_[j].group == none) return parts;
    const entry& e = of_job_[j];
    for (std::size_t c = 0; c < clocks; ++c) {
      parts[c] = e.waited[c] + (e.is_in ? groups_[e.group].clock(c, now) : 0);
      rest -= parts[c];
    }
    return parts;
  }

 private:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  /// One for each cause but the last, which is the rest.
  static constexpr std::size_t clocks = wait_cause_count - 1;

  struct kind {
    quota_id quota;
    resources<N> request;
    gpu::pod_request pod_request;
    std::uint32_t flavors;
    std::uint32_t min_pods;
    bool preemptible;
    /// Pods that differ are those of one job.
    std::uint32_t unlike;

    friend auto operator<=>(const kind&, const kind&) = default;
  };
  struct group {
    std::array<instant, clocks> until{};
    instant since = 0;
    wait_cause cause = wait_cause::order;
    bool known = false;
    /// The most recent of its pending jobs.
    sim::job_index first = none;
    std::size_t active = 0;

    [[nodiscard]] instant clock(std::size_t c, instant now) const {
      return until[c] + (static_cast<std::size_t>(cause) == c ? now - since : 0);
    }
    void pass(instant now) {
      if (cause != wait_cause::order) until[static_cast<std::size_t>(cause)] += now - since;
      since = now;
    }
  };
  struct entry {
    /// While it is pending: minus the clocks of its group at the beginning.
    std::array<instant, clocks> waited{};
    std::uint32_t group = none;
    sim::job_index previous = none;
    sim::job_index next = none;
    bool waits = false;
    /// Whether it is one of its group now.
    bool is_in = false;
  };

  void join(sim::job_index j, instant now) {
    entry& e = of_job_[j];
    if (std::exchange(e.is_in, true)) return;
    group& g = groups_[e.group];
    for (std::size_t c = 0; c < clocks; ++c) e.waited[c] -= g.clock(c, now);
    e.previous = none;
    e.next = g.first;
    if (g.first != none) {
      of_job_[g.first].previous = j;
    } else {
      // Until the cause is known it does not matter which clock runs, because no time passes.
      g.active = active_.size();
      g.known = false;
      active_.push_back(e.group);
    }
    g.first = j;
  }
  void leave(sim::job_index j, instant now) {
    entry& e = of_job_[j];
    if (!std::exchange(e.is_in, false)) return;
    group& g = groups_[e.group];
    for (std::size_t c = 0; c < clocks; ++c) e.waited[c] += g.clock(c, now);
    if (e.previous != none) of_job_[e.previous].next = e.next;
    if (e.next != none) of_job_[e.next].previous = e.previous;
    if (g.first == j) g.first = e.next;
    if (g.first != none) return;
    groups_[active_.back()].active = g.active;
    active_[g.active] = active_.back();
    active_.pop_back();
  }
  [[nodiscard]] std::uint32_t number(const sim::job<N>& j) {
    const auto fresh = static_cast<std::uint32_t>(groups_.size());
    const kind key{j.quota,       j.request, j.pod_request.room_key(), j.flavors, j.fewest_pods(),
                   j.preemptible, j.unlike};
    const auto [at, is_new] = numbers_.try_emplace(key, fresh);
    if (is_new) groups_.emplace_back();
    return at->second;
  }

  std::map<kind, std::uint32_t> numbers_;
  vector<group> groups_;
  /// The groups with pending jobs.
  vector<std::uint32_t> active_;
  vector<entry> of_job_;
  vector<sim::job_index> aside_;
  bool lacks_place_ = false;
  /// The first time at which a quota may borrow again, for which a job of a group waits.
  instant backoff_ends_ = without_end;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot
