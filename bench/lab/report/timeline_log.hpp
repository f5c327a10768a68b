// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ids.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/gpu/reason.hpp>
#include <allot/preemption/eligibility.hpp>
#include <allot/quota/shortfall.hpp>
#include <allot/scheduler/plan.hpp>
#include <allot/scheduler/settings.hpp>
#include <allot/sim/job.hpp>
#include <allot/sim/job_history.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

/// Why a job is pending, in few bytes.
struct wait_reason {
  enum class kind : std::uint8_t {
    // Bounds of a quota.
    capacity,
    borrow_limit,
    nominal,
    guarantee,
    // Its quota does not borrow for now.
    backoff,
    // No place.
    full,
    fragmented,
    host_full,
    no_domain,
    no_such_node,
    // Only other jobs are in the way.
    behind_head,
    waits_turn,
    // It can't start yet.
    not_ready,
  };
  kind what{};
  std::uint8_t dimension = 0;
  /// The quota whose bound it is; none for the cluster's, or if the policy knows no quotas.
  quota_id at{};
  /// In thousandths: the amount by which the bound is exceeded; the free GPUs; or, for fragmented GPUs, the
  /// largest number that are together; or, of a job that is not ready, when it is.
  std::int64_t amount = 0;
  /// When it starts at the latest, or gives up gathering; `without_end` if it holds no reservation, or its
  /// start is not known any more.
  instant by = without_end;
  bool gathers = false;
  /// It could preempt, but its victims would lose too much work.
  bool spares_others = false;
  /// It does not fit unless others are evicted, and has not waited long enough for that.
  bool preempts_later = false;
  /// The number of the nodes on which it starts as planned now (`timeline_log::nodes`); 0: not known.
  std::uint32_t nodes = 0;

  friend bool operator==(const wait_reason&, const wait_reason&) = default;
};

/// What blocks a pending job. `settings` are those of its quota as the policy sees
/// it; with `single_queue` the policy knows only one quota.
template <class Pending>
[[nodiscard]] wait_reason obstacle_of(const Pending& pending, const queue_settings& settings,
                                      bool single_queue) {
  using kind = wait_reason::kind;
  if (pending.ready_at) return {kind::not_ready, 0, {}, *pending.ready_at};
  if (pending.binding) {
    constexpr kind kinds[] = {kind::capacity, kind::borrow_limit, kind::nominal, kind::guarantee};
    const shortfall& s = *pending.binding;
    return {kinds[static_cast<std::size_t>(s.kind)], static_cast<std::uint8_t>(s.dimension),
            single_queue ? quota_id{} : s.quota, s.missing.in_milli()};
  }
  if (pending.backs_off) {
    return {kind::backoff, static_cast<std::uint8_t>(pending.backs_off.dimension), pending.backs_off.quota};
  }
  if constexpr (requires { pending.placement->largest_block; }) {
    if (pending.placement && pending.placement->reason != gpu::obstacle::none) {
      const gpu::unplaceable& why = *pending.placement;
      if (why.reason == gpu::obstacle::full) return {kind::full, 0, {}, why.free.in_milli()};
      if (why.reason == gpu::obstacle::fragmented)
        return {kind::fragmented, 0, {}, why.largest_block.in_milli()};
      if (why.reason == gpu::obstacle::host_full) return {kind::host_full};
      return {why.is_never() ? kind::no_such_node : kind::no_domain};
    }
  }
  return {settings.head == queue_head::best_effort ? kind::waits_turn : kind::behind_head};
}

/// The scheduler's reason for a pending job, in short, and when that ends.
template <class Pending>
[[nodiscard]] wait_reason reason_of(const Pending& pending, const queue_settings& settings,
                                    bool single_queue) {
  wait_reason why = obstacle_of(pending, settings, single_queue);
  if (pending.reservation) {
    why.by = pending.reservation->start;
    why.gathers = pending.reservation->gathers_since.has_value();
  }
  why.spares_others = pending.reason == pending_reason::lost_work;
  why.preempts_later = pending.reason == pending_reason::preempts_later;
  return why;
}

/// The reason as text: "borrow limit of team-b, 2 GPUs short; starts by day 3, 14:20:00, as planned now on
/// n-4". `nodes` are those of `why.nodes`.
[[nodiscard]] std::string sentence(const wait_reason& why, std::string_view at, std::string_view resource,
                                   std::string_view nodes = {});

/// A run that was interrupted, or a pod that an elastic job had to give up.
struct cut_short {
  instant at = 0;
  sim::job_index job = 0;
  sim::interruption how{};
  /// Only a pod; the job continues.
  bool is_pod = false;
};

/// What the report needs to show any instant of a replay, beyond the run log: which jobs were interrupted for
/// which, and, at some hundreds of instants, why the first jobs of each queue are pending. The instants are
/// almost evenly spaced: each is the first in a span of time at which something happened, and when there are
/// too many the spans double. So their memory does not grow with the replay; interruptions take 48 bytes
/// each.
class timeline_log {
 public:
  static constexpr std::size_t default_most_moments = 800;
  /// How many pending jobs are recorded in each queue, and at one instant in total.
  static constexpr std::size_t most_of_queue = 8;
  static constexpr std::size_t most_at_once = 96;

  struct note {
    sim::job_index job = 0;
    wait_reason why{};
  };
  struct moment {
    instant at = 0;
    vector<note> waiting{};
  };

  /// Precondition: at least 2 moments.
  explicit timeline_log(std::size_t most_moments = default_most_moments) : most_(most_moments) {}

  [[nodiscard]] std::span<const cut_short> cuts() const noexcept { return cuts_; }
  /// By time. Jobs are sorted by quota, then by queue order: by priority, then submission.
  [[nodiscard]] std::span<const moment> moments() const noexcept { return moments_; }

  void waits(quota_id x, std::int64_t priority, sim::job_index j) {
    if (x.index() >= queues_.size()) queues_.resize(x.index() + 1);
    if (queues_[x.index()].empty()) ++queues_in_use_;
    queues_[x.index()].emplace(~priority, j);
  }
  /// Does nothing if the job is not pending.
  void waits_no_more(quota_id x, std::int64_t priority, sim::job_index j) {
    if (x.index() >= queues_.size()) return;
    queue& q = queues_[x.index()];
    if (q.erase({~priority, j}) != 0 && q.empty()) --queues_in_use_;
  }
  void cut(instant now, sim::job_index j, const sim::interruption& how, bool is_pod) {
    cuts_.push_back({now, j, how, is_pod});
  }

  /// A number for the nodes that a text names, and back: 0 for none.
  [[nodiscard]] std::uint32_t number_of_nodes(const std::string& text);
  [[nodiscard]] std::string_view nodes(std::uint32_t number) const {
    return number == 0 ? std::string_view{} : nodes_[number - 1];
  }

  /// Times at which it will be looked at, among others, in order; to be called before the first look. What is
  /// certainly thinned out in the end is then not asked for.
  void expect(vector<instant> times) { expected_ = std::move(times); }
  /// To be called when everything at this instant has happened. `why(job)` is called only if its result may
  /// be kept.
  template <class Why>
  void look(instant now, Why&& why) {
    if (moments_.empty()) begin(now);
    if (!moments_.empty() && span_of(now) == span_of(moments_.back().at)) return;
    const bool may_stay =
        moments_.empty() || (now - origin_) / least_width_ != (moments_.back().at - origin_) / least_width_;
    moment& m = moments_.emplace_back();
    m.at = now;
    if (may_stay && queues_in_use_ > 0) {
      const std::size_t each = std::clamp<std::size_t>(most_at_once / queues_in_use_, 1, most_of_queue);
      for (const queue& q : queues_) {
        std::size_t left = each;
        for (auto at = q.begin(); at != q.end() && left > 0 && m.waiting.size() < most_at_once;
             ++at, --left) {
          m.waiting.push_back({at->second, why(at->second)});
        }
      }
    }
    if (moments_.size() > most_) thin_out();
  }
  /// To be called at the end: drops what was not asked for, if fewer looks came than were expected.
  void conclude() {
    while (width_ < least_width_) widen();
  }

 private:
  using queue = std::set<std::pair<std::int64_t, sim::job_index>>;

  [[nodiscard]] instant span_of(instant t) const noexcept { return (t - origin_) / width_; }
  void begin(instant now);
  void widen();
  void thin_out();

  vector<queue> queues_;
  std::size_t queues_in_use_ = 0;
  vector<moment> moments_;
  vector<cut_short> cuts_;
  vector<std::string> nodes_;
  std::map<std::string, std::uint32_t> numbers_of_nodes_;
  std::size_t most_;
  instant origin_ = 0;
  instant width_ = 1;
  vector<instant> expected_;
  /// In the end the spans are at least so wide.
  instant least_width_ = 1;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot
