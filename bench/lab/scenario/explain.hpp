// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/pod_counts.hpp>
#include <allot/core/time.hpp>
#include <allot/gpu/reason.hpp>
#include <allot/quota/shortfall.hpp>
#include <allot/scheduler/backoff.hpp>
#include <allot/scheduler/plan.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace sim {
class places;
}
namespace lab {

/// Why a request has no place there, as a sentence; `sets` are the names of its pod sets.
[[nodiscard]] std::string explain(const gpu::unplaceable& why, const sim::places& where,
                                  std::span<const std::string_view> sets = {});

/// Why a request has no place there in any state, which is known: what is in the way of one of its pod sets
/// now would not be in an empty cluster.
[[nodiscard]] gpu::unplaceable why_never(const gpu::pod_request& r, const sim::places& where);

/// The state of a quota in one dimension, by what counts against pending jobs (`scheduler::counted`).
struct standing {
  quantity borrow_limit;
  quantity borrowed;
  quantity supply;
  quantity drawn;
  /// A part of it may be held for nominated jobs.
  bool may_hold = false;
};

/// Why a quota does not allow a job's request, as a sentence: "team-b may borrow 2 gpu and borrows 2". `s` is
/// the shortfall of the quota named `quota`, whose state is `now`; `pod_set` the first set of the job that
/// lacks that.
[[nodiscard]] std::string explain(const shortfall& s, std::string_view quota, std::string_view resource,
                                  const standing& now, std::string_view job, quantity request,
                                  std::string_view pod_set = {});

/// The pods of sets of these names: "1 router, 2 to 4 prefill".
[[nodiscard]] std::string text_of_sets(std::span<const gpu::pod_set> sets,
                                       std::span<const std::string_view> names);
/// The same of numbers of pods, without sets of which there are none.
[[nodiscard]] std::string text_of_sets(const pods_by_set& pods, std::span<const std::string_view> names);

/// What a cycle found when it tried the job, if that says more than what blocks the job: replaces the word,
/// and adds to the sentence.
void tell_finding(pending_reason found, const std::optional<instant>& preempts_at, std::string& word,
                  std::string& text);

/// Why a job has to wait although its quota allows it: the quota has just been reclaimed.
[[nodiscard]] std::string explain(const backoff& why, std::string_view quota, std::string_view resource);
/// The same: the quotas will be others by then, and the job would still run.
[[nodiscard]] std::string explain_resize(instant at, std::string_view quota);

}  // namespace lab
}  // namespace v0
}  // namespace allot
