// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/vector.hpp>
#include <allot/scheduler/flavors.hpp>
#include <allot/scheduler/session.hpp>
#include <allot/scheduler/settings.hpp>
#include <allot/scheduler/state.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace allot {
inline namespace v0 {

/// What a cycle with one head per quota remembers of the heads from one cycle to the next.
template <class Session>
class head_memory {
 public:
  /// `preserves_scans`: what the last cycle recorded of a head's flavors holds in the next one even if the
  /// world has changed (Kueue's gate FlavorFungibilityPreserveScanProgress).
  explicit head_memory(bool preserves_scans = true) : preserves_scans_(preserves_scans) {}

  void resize(std::size_t slots) { of_quota_.resize(slots); }
  /// A cycle begins.
  void begin_cycle() noexcept { ++cycle_; }

  /// The job of x to try next, none if all are inadmissible: in a best-effort queue the one waiting for its
  /// victims; else the first; else, in a strict queue, the inadmissible head, which stays the head.
  [[nodiscard]] job_id head_of(Session& session, quota_id x) {
    memory& m = of_quota_[x.index()];
    const bool strict = session.queues().settings(x).head == queue_head::strict;
    if (!strict && waits(session, x, m.sticky)) return m.sticky;
    m.sticky = {};
    while (const auto first = session.first_of(x)) {
      if (!session.jobs().at(*first).facts.elastic) return *first;
      // A Kueue workload runs with the pods it was admitted with.
      session.stop_growing(*first);
    }
    return strict && waits(session, x, m.blocked) ? m.blocked : job_id::none();
  }

  void make_sticky(quota_id x, job_id id) {
    of_quota_[x.index()].sticky = id;
    forget_cursor(x, id);
  }
  /// Whether one of x waits for its victims.
  [[nodiscard]] bool has_sticky(const Session& session, quota_id x) const {
    return waits(session, x, of_quota_[x.index()].sticky);
  }
  [[nodiscard]] bool is_sticky(quota_id x, job_id id) const { return of_quota_[x.index()].sticky == id; }
  /// Returns whether there was one.
  bool drop_sticky(quota_id x) {
    const bool was = !of_quota_[x.index()].sticky.is_none();
    of_quota_[x.index()].sticky = {};
    return was;
  }
  void block(quota_id x, job_id id) {
    memory& m = of_quota_[x.index()];
    m.blocked = id;
    m.blocked_in = world_;
  }
  /// The head has been admitted.
  void admitted(quota_id x, job_id id) {
    forget_cursor(x, id);
    of_quota_[x.index()].sticky = of_quota_[x.index()].blocked = {};
  }

  /// The flavors the head of x starts with.
  [[nodiscard]] flavor_pick cursor_of(quota_id x, job_id id) {
    const auto& scans = scans_of(x);
    const auto at = find(scans, id);
    return at == scans.end() ? flavor_pick{} : at->next;
  }
  /// Whether the head goes on from there in the next cycle. Not if it has tried all its flavors since the
  /// world changed: two blocked heads of strict queues would requeue each other. Nor forever: groups that
  /// stop at different flavors may never reach their ends together.
  [[nodiscard]] bool go_on_from(quota_id x, job_id id, const flavor_pick& next) {
    const memory& m = of_quota_[x.index()];
    if (m.blocked == id && m.blocked_in == world_) return false;
    auto& scans = scans_of(x);
    auto at = find(scans, id);
    if (at == scans.end()) at = scans.insert(at, scan{id});
    if (at->world != world_) at->cycles = 0;
    at->next = next;
    at->world = world_;
    at->cycle = cycle_;
    return ++at->cycles <= most_scans;
  }
  /// The same for a head for which an earlier one left no room: since Kueue 0.20.
  [[nodiscard]] bool goes_on_when_passed_over(quota_id x, job_id id, const flavor_pick& next) {
    return preserves_scans_ && go_on_from(x, id, next);
  }
  void forget_cursor(quota_id x, job_id id) {
    auto& scans = scans_of(x);
    const auto at = find(scans, id);
    if (at != scans.end()) scans.erase(at);
  }
  /// Adds what it knows of jobs that wait to the memory of the cycle.
  void save(const Session& session, cycle_memory& m) const {
    for (const quota_id x : session.tree().top_down()) {
      const memory& q = of_quota_[x.index()];
      if (waits(session, x, q.sticky)) m.announced.push_back(q.sticky);
      if (waits(session, x, q.blocked)) m.blocked.push_back({q.blocked, q.blocked_in == world_});
      for (const scan& s : q.scans) {
        if (!holds(s) || !waits(session, x, s.id)) continue;
        m.scans.push_back({s.id, s.next, std::nullopt, is_recent(s) ? cycle_ - s.cycle : 2});
        if (s.world == world_) m.scans.back().cycles = s.cycles;
      }
    }
  }
  /// Continues from that.
  void resume(const Session& session, const cycle_memory& m) {
    // What is not of the present world, or of the last cycle, is of an earlier one.
    world_ = 1;
    cycle_ = 2;
    const auto of = [&](job_id id) -> memory* {
      const bool is_pending =
          session.jobs().contains(id) && session.jobs().at(id).state == job_state::pending;
      return is_pending ? &of_quota_[session.jobs().at(id).facts.quota.index()] : nullptr;
    };
    for (const job_id id : m.announced) {
      if (memory* const q = of(id)) q->sticky = id;
    }
    for (const auto& b : m.blocked) {
      memory* const q = of(b.job);
      if (q == nullptr) continue;
      q->blocked = b.job;
      q->blocked_in = b.is_current ? world_ : 0;
    }
    for (const auto& s : m.scans) {
      memory* const q = of(s.job);
      if (q == nullptr) continue;
      q->scans.push_back({s.job, s.cycles.value_or(0), s.next, s.cycles ? world_ : 0,
                          cycle_ - std::min<std::uint64_t>(s.age, cycle_)});
    }
  }
  /// The world has changed: all heads start over with their first flavors, except those that went on in the
  /// last cycle if scans are preserved.
  void forget_cursors() noexcept { ++world_; }

 private:
  static constexpr std::uint32_t most_scans = 256;

  /// A head whose flavors have not all been tried.
  struct scan {
    job_id id{};
    /// In how many cycles it went on in this world.
    std::uint32_t cycles = 0;
    flavor_pick next{};
    /// When it was recorded.
    std::uint64_t world = 0;
    std::uint64_t cycle = 0;
  };
  struct memory {
    job_id sticky{};
    job_id blocked{};
    std::uint64_t blocked_in = 0;
    vector<scan> scans{};
  };

  [[nodiscard]] static bool waits(const Session& session, quota_id x, job_id id) {
    if (!session.jobs().contains(id)) return false;
    const auto& r = session.jobs().at(id);
    return r.facts.quota == x && r.state == job_state::pending;
  }

  [[nodiscard]] vector<scan>& scans_of(quota_id x) {
    auto& scans = of_quota_[x.index()].scans;
    erase_if(scans, [this](const scan& s) { return !holds(s); });
    return scans;
  }
  /// Whether it was recorded in the last cycle, or in this one.
  [[nodiscard]] bool is_recent(const scan& s) const { return s.cycle + 1 >= cycle_; }
  [[nodiscard]] bool holds(const scan& s) const {
    return s.world == world_ || (preserves_scans_ && is_recent(s));
  }
  template <class Scans>
  [[nodiscard]] static auto find(Scans& scans, job_id id) {
    return detail::find_if(scans.begin(), scans.end(), [&](const scan& s) { return s.id == id; });
  }

  vector<memory> of_quota_;
  std::uint64_t world_ = 0;
  std::uint64_t cycle_ = 0;
  bool preserves_scans_;
};

}  // namespace v0
}  // namespace allot
