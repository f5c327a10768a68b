// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/quantity.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/preemption/protection.hpp>
#include <allot/quota/loans.hpp>
#include <allot/quota/shortfall.hpp>
#include <allot/scheduler/job_state.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>

namespace allot {
inline namespace v0 {

/// Why a job keeps what it has of a waiting job's quota.
enum class kept_by : std::uint8_t {
  /// It is on its way out, and has it until it has gone.
  leaving,
  /// The host has said that it is not preempted for now: `scheduler::hold`, or `not_evicted`, which says
  /// until when.
  hold,
  /// Evictions are frozen in its quota: `scheduler::freeze`.
  frozen,
  /// It may not be preempted at all.
  not_preemptible,
  /// The waiting job's quota does not take from borrowers, or not from one of that priority: see
  /// `preempt_settings::reclaim`.
  settings,
  /// It has not had its guaranteed runtime: see `holder::until`.
  min_runtime,
  /// The waiting job has not waited long enough (`queue_settings::preempt_after`): see `holder::until`. Or
  /// others are never evicted for it (`preempting_view`).
  preempts_later,
  /// None of these. The policies spare it, by a guard or a protection; or they could not take enough with it,
  /// or have not decided since something changed.
  policy,
};
/// The name of the enumerator; empty if there is no such value.
[[nodiscard]] constexpr std::string_view to_string(kept_by value) noexcept {
  switch (value) {
    case kept_by::leaving:
      return "leaving";
    case kept_by::hold:
      return "hold";
    case kept_by::frozen:
      return "frozen";
    case kept_by::not_preemptible:
      return "not_preemptible";
    case kept_by::settings:
      return "settings";
    case kept_by::min_runtime:
      return "min_runtime";
    case kept_by::preempts_later:
      return "preempts_later";
    case kept_by::policy:
      return "policy";
  }
  return "";
}

/// A job of a quota that borrows what belongs to the quota of a waiting job.
struct holder {
  /// The job.
  job_id job{};
  /// Its quota.
  quota_id quota{};
  /// Of which resource: that of the waiting job's `binding`.
  std::size_t dimension = 0;
  /// How much the job uses, with all its pods.
  quantity uses{};
  /// How much of what is the waiting job's quota's own all jobs of its quota have together.
  quantity lent{};
  /// Why it isn't taken back.
  kept_by why{};
  /// Until when, as far as that is known: by when the host expects it to have left, the end of its guaranteed
  /// runtime, of `not_evicted`, or of the wait before the job may preempt.
  std::optional<instant> until{};

  friend bool operator==(const holder&, const holder&) = default;
};

namespace detail {

/// Whether the quota would not use more than it owns with the pending job, in what that asks for.
template <std::size_t N, class Record>
[[nodiscard]] bool asks_for_own(const ledger<N>& l, const Record& r) {
  const auto& f = r.facts;
  for (std::size_t d = 0; d < N; ++d) {
    const bool is_asked = f.request[d] > quantity{};
    if (is_asked && l.own_usage(f.quota, d) + f.request[d] > l.supply_of(f.quota, d).own_pool) return false;
  }
  return true;
}

/// Finds who has what a pending job's quota owns: see `holders_of_own`.
template <class Scheduler>
class find_holders {
 public:
  using session = typename Scheduler::session_type;
  using record = typename session::record;
  static constexpr std::size_t n = Scheduler::n;

  explicit find_holders(const Scheduler& s)
      : session_(s.session_), counted_(s.counted()), leaving_(s.announces()) {}

  [[nodiscard]] vector<holder> of(job_id id) const {
    vector<holder> found;
    if (session_.jobs().state(id) != job_state::pending) return found;
    const record& r = session_.jobs().at(id);
    const quota_id owner = r.facts.quota;
    const auto bound = binding_shortfall(counted_, owner, r.facts.request, r.facts.in);
    if (!bound || !asks_for_own(counted_, r)) return found;
    loan_book<n> book;
    book.update(counted_, bound->dimension);
    vector<quantity> lent_to(counted_.tree().slots());
    for (const loan& l : book.loans(bound->dimension)) {
      if (l.lender == owner) lent_to[l.borrower.index()] = l.amount;
    }
    session_.jobs().for_each([&](const record& other) {
      const quantity lent = lent_to[other.facts.quota.index()];
      if (other.facts.elastic || lent == quantity{} || !counts(other)) return;
      holder h{other.facts.id, other.facts.quota, bound->dimension, uses(other, bound->dimension), lent};
      if (h.uses == quantity{}) return;
      say_why(h, r, other);
      found.push_back(h);
    });
    detail::sort(found.begin(), found.end(), [](const holder& a, const holder& b) {
      return std::tie(a.quota, a.job) < std::tie(b.quota, b.job);
    });
    return found;
  }

 private:
  [[nodiscard]] bool counts(const record& r) const {
    return r.state == job_state::running || (r.state == job_state::evicting && leaving_) ||
           (r.state == job_state::nominated && !leaving_);
  }
  [[nodiscard]] quantity uses(const record& r, std::size_t d) const {
    quantity all = r.facts.request[d];
    for (const job_id pod : r.elastic_pods) {
      if (counts(session_.jobs().at(pod))) all += session_.jobs().at(pod).facts.request[d];
    }
    return all;
  }
  void say_why(holder& h, const record& r, const record& other) const {
    const quota_id owner = r.facts.quota;
    const auto& tree = counted_.tree();
    const auto& may = session_.queues().settings(owner).preempt;
    const beneficiary<n> b{owner, r.facts.request, r.facts.in, r.facts.priority, r.facts.submitted, may};
    const bool is_below = may.children && tree.common_ancestor(owner, h.quota) == owner;
    const auto guarantee = [this](quota_id x) -> const runtime_guarantee& {
      return session_.queues().settings(x).min_runtime;
    };
    h.why = kept_by::policy;
    if (other.state == job_state::evicting) {
      h.why = kept_by::leaving;
      if (other.leaves_by != record::no_limit) h.until = other.leaves_by;
    } else if (other.is_held || (other.preemptible && !other.may_yield())) {
      h.why = other.is_frozen && !other.is_held ? kept_by::frozen : kept_by::hold;
      const instant until = other.spared_until;
      if (!other.is_held && !other.is_frozen && until != without_end) h.until = until;
    } else if (!other.preemptible) {
      h.why = kept_by::not_preemptible;
    } else if (!allot::may_preempt(b, other.facts, is_below ? relation::descendant : relation::borrower)) {
      h.why = kept_by::settings;
    } else if (const instant span = guaranteed_runtime(tree, h.quota, owner, false,
                                                       runtime_source::common_ancestor, guarantee);
               span > 0 && session_.now() - other.facts.started < span) {
      h.why = kept_by::min_runtime;
      h.until = later(other.facts.started, span);
    } else if (!r.may_preempt()) {
      h.why = kept_by::preempts_later;
      if (r.preempts) h.until = r.preempts_from;
    }
  }

  const session& session_;
  const ledger<n>& counted_;
  /// Whether those that leave count against the job, rather than those that are nominated.
  bool leaving_;
};

}  // namespace detail

/// Who has what the pending job's quota owns, and why it isn't taken back: the jobs of the quotas that borrow
/// it (`loan_book`), in the resource of the job's `binding`, by quota, then id. Empty if its quota allows the
/// job, or would have to borrow for it, and for one that is not pending. O(jobs + quotas x depth).
template <class Scheduler>
[[nodiscard]] vector<holder> holders_of_own(const Scheduler& s, job_id id) {
  return detail::find_holders<Scheduler>{s}.of(id);
}

}  // namespace v0
}  // namespace allot
