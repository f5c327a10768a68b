// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/pod_counts.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/fairshare/order.hpp>
#include <allot/preemption/guard.hpp>
#include <allot/preemption/protection.hpp>
#include <allot/preemption/victim_order.hpp>
#include <allot/quota/ledger.hpp>
#include <allot/scheduler/detail/parts_check.hpp>
#include <allot/scheduler/settings.hpp>
#include <allot/scheduler/state.hpp>
#include <allot/scheduler/view.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace allot {
inline namespace v0 {

namespace detail {

template <class T>
concept sort_key = integer_for<T, std::int64_t> || same_value_as<T, bool>;

}  // namespace detail

/// An order of the jobs of one quota: a callable that maps a job to its key, least first. Ties are broken by
/// submission, then id. A key is an integer that a `std::int64_t` holds, or a bool, not a fraction. An order
/// that never lets a job of lower priority go first has a member `follows_priority(settings)`: then of two
/// jobs with the same request the later one has no better chances.
template <class Order, class View>
concept job_order = job_view<View> &&
    requires(const Order order, const View& view, const typename View::job& job,
             const queue_settings& of_quota) {
  { order(view, job, of_quota) } -> detail::sort_key;
};

/// As the quota's settings say: by priority, or by submission alone.
struct by_settings {
  template <job_view View>
  [[nodiscard]] std::int64_t operator()(const View& view, const typename View::job& job,
                                        const queue_settings& of_quota) const {
    // The complement, and not the negative: the lowest priority has none.
    return ~(follows_priority(of_quota) ? static_cast<std::int64_t>(view.priority(job)) : 0);
  }
  /// Whether it never lets a job of lower priority go first: see `job_order`.
  [[nodiscard]] static constexpr bool follows_priority(const queue_settings& of_quota) noexcept {
    return of_quota.order == queue_order::priority;
  }
};

/// Shortest expected duration.
struct shortest_first {
  template <duration_view View>
  [[nodiscard]] std::int64_t operator()(const View& view, const typename View::job& job,
                                        const queue_settings&) const {
    return detail::span_of<View>(view.duration(job));
  }
};

// Parts of `policies` that see the host's jobs, as an order of jobs does: the view comes first and then the
// jobs, before what the concepts of preemption/ ask for. A job stands for its elastic pods, too.

/// A victim order that takes the view and the candidate's job before what `victim_order` takes.
template <class Order, class View>
concept victim_order_with_jobs = job_view<View> &&
    requires(const Order order, const View& view, const typename View::job& job,
             const ledger<dimensions<View>>& l, const victim_candidate<dimensions<View>>& d) {
  { order(view, job, l, d) } -> std::totally_ordered;
};
/// Such an order with one of its own within a quota: whether job a yields before job b. Jobs of which neither
/// does go by `compare_as_victims`. The key must follow it; see `victim_order`. Default: that alone.
template <class Order, class View>
concept orders_jobs_within_quota = job_view<View> &&
    requires(const Order order, const View& view, const typename View::job& job, instant now) {
  { order.within_quota(view, job, job, now) } -> std::same_as<bool>;
};
/// A guard that takes the view, the beneficiary's job and the candidate's before what `victim_guard` takes.
/// It returns a bool or a `verdict`, and has one strategy.
template <class Guard, class View>
concept victim_guard_with_jobs =
    job_view<View> && !staged_guard<Guard> &&
    requires(const Guard guard, const View& view, const typename View::job& job,
             const ledger<dimensions<View>>& l, const beneficiary<dimensions<View>>& b,
             const victim_candidate<dimensions<View>>& d) {
  requires std::same_as<decltype(guard(view, job, job, l, b, d)), bool> ||
      std::same_as<decltype(guard(view, job, job, l, b, d)), verdict>;
};
/// A protection that takes the view, the beneficiary's job and the candidate's before what
/// `victim_protection` takes.
template <class Protection, class View>
concept victim_protection_with_jobs = job_view<View> &&
    requires(const Protection protection, const View& view, const typename View::job& job,
             const ledger<dimensions<View>>& l, const beneficiary<dimensions<View>>& b,
             const victim_candidate<dimensions<View>>& d, const search_progress<dimensions<View>>& progress) {
  { protection(view, job, job, l, b, d, progress) } -> std::same_as<bool>;
};

struct no_second_pass;
/// Where a job finds no place although its quota allows it, up to that many others are restarted elsewhere to
/// make one (KAI's consolidation: 16). Otherwise none is.
template <std::size_t MostMoves>
struct consolidation {};
/// Jobs are evicted once a quota has shrunk below its usage. Otherwise none is before an owner needs the
/// room.
struct eviction_after_resize {};
/// Whenever anything is given back, all inadmissible jobs are tried again. Otherwise those are left out that
/// have no chance. The decisions are the same, but at 10,000 quotas on 10,000 GPUs an event of a replay costs
/// 560 us instead of 5 (`allot replay --timing`, the first 97,000 events of a million jobs of `--model mix`).
struct requeue_all {};

namespace detail {

/// How many jobs an option moves.
template <class Option>
inline constexpr std::size_t moves_of = 0;
template <std::size_t MostMoves>
inline constexpr std::size_t moves_of<consolidation<MostMoves>> = MostMoves;
/// Whether it is one of the options of `policies`.
template <class Option>
inline constexpr bool is_option =
    std::same_as<Option, no_second_pass> || std::same_as<Option, eviction_after_resize> ||
    std::same_as<Option, requeue_all> || moves_of<Option> > 0;

}  // namespace detail

template <class Session, class QuotaOrder, class VictimOrder, class Guard, class Protection, class... Options>
class exhaustive_cycle;

/// The parts that a scheduler is assembled from. Each is a callable and may carry state. The order of quotas
/// models `quota_order`, that of jobs `job_order`; that of victims `victim_order` or
/// `victim_order_with_jobs`, and so on. `Options` are those of the library's own cycle, any of
/// `no_second_pass`, `consolidation`, `eviction_after_resize` and `requeue_all`: types, so that what is not
/// used is not compiled. Parts should not throw: but for the order of jobs they are called while a step
/// decides, and half a decision is then left. See `scheduler`.
template <class QuotaOrder = within_nominal_then_borrowed_share, class JobOrder = by_settings,
          class VictimOrder = lowest_priority_then_highest_share, class Guard = eligible_is_fair,
          class Protection = unprotected, class... Options>
struct policies {
  static_assert((detail::is_option<Options> && ...),
                "allot: an option of policies is no_second_pass, consolidation<N> with N > 0, "
                "eviction_after_resize or requeue_all");
  static_assert(((detail::moves_of<Options> > 0 ? 1 : 0) + ... + 0) <= 1,
                "allot: policies have the option consolidation once");
  /// @{
  /// The types of the parts.
  using quota_order_type = QuotaOrder;
  using job_order_type = JobOrder;
  using victim_order_type = VictimOrder;
  using guard_type = Guard;
  using protection_type = Protection;
  /// @}

  /// How a step goes through the jobs: see `exhaustive_cycle`.
  template <class Session>
  using cycle = exhaustive_cycle<Session, QuotaOrder, VictimOrder, Guard, Protection, Options...>;

  /// Which quota's turn it is.
  [[no_unique_address]] QuotaOrder quotas{};
  /// The order of the jobs of one quota.
  [[no_unique_address]] JobOrder jobs{};
  /// Which job yields first.
  [[no_unique_address]] VictimOrder victims{};
  /// Whether a victim is fair.
  [[no_unique_address]] Guard guard{};
  /// Which jobs may not be preempted at all, besides those whose quota guarantees them a runtime.
  [[no_unique_address]] Protection protection{};
  /// Which capacity non-preemptible jobs use. `guaranteed` keeps them off borrowed capacity, which its owner
  /// could then not get back.
  capacity_kind not_preemptible = capacity_kind::guaranteed;
  /// How many victims one search may try before it gives up with `pending_reason::not_proven`.
  std::size_t search_budget = 100'000;
};

/// An order of jobs that says whether it puts a higher priority first in a quota with these settings.
/// Default: it does not.
template <class Order>
concept priority_order = requires(const Order order, const queue_settings& of_quota) {
  { order.follows_priority(of_quota) } -> std::same_as<bool>;
};

/// How a step goes through the jobs: `run` decides, on the session's commands; `reset` starts over on the
/// session's tree.
template <class Cycle, class Session>
concept scheduling_cycle = requires(Cycle cycle, Session& session) {
  cycle.reset(session);
  cycle.run(session);
};
/// A cycle with reasons of its own besides the ledger's law. Default: `session::explain`. It may have a
/// `binds_by_law()`, which says whether `pending_job::binding` is still the law's; else it is taken not to
/// be.
template <class Cycle, class Session>
concept explaining_cycle = scheduling_cycle<Cycle, Session> &&
    requires(Cycle cycle, Session& session, typename Session::plan_type::pending_job& job) {
  cycle.explain(session, job);
};
/// A cycle that divides the capacity among the quotas. Default: it divides nothing.
template <class Cycle>
concept dividing_cycle = requires(const Cycle cycle, quota_id x) {
  cycle.entitled(x);
};
/// A cycle that gives blocked jobs reservations with a time: quotas may have `queue_head::reserve`. Default:
/// it does not, and such settings are refused.
template <class Cycle>
concept reserving_cycle = requires(const Cycle cycle) {
  { cycle.reserves() } -> std::same_as<bool>;
};
/// A cycle that lets no job borrow while its quota backs off (`session.jobs().backs_off`): quotas may have a
/// `queue_settings::borrow_backoff`. Default: it does, and such settings are refused.
template <class Cycle>
concept backing_off_cycle = requires(const Cycle cycle) {
  { cycle.backs_off() } -> std::same_as<bool>;
};
/// A cycle that evicts nobody for a job that has not waited long enough (`record::may_preempt`): quotas may
/// have a `queue_settings::preempt_after`. Default: it does not look, and such settings are refused.
template <class Cycle>
concept delaying_cycle = requires(const Cycle cycle) {
  { cycle.delays_preemption() } -> std::same_as<bool>;
};
/// A cycle that decides again on a job whose victims have gone, and says which jobs these are. Default: it
/// nominates, and announces nothing.
template <class Cycle, class Session>
concept announcing_cycle = requires(const Cycle& seen, const Session& session, job_id id) {
  { seen.has_announced(session, id) } -> std::same_as<bool>;
};
/// A cycle that remembers something from one step to the next: `memory` returns it, and `resume` makes a new
/// one continue from it, after `reset` on a session that is the same; `ids` are the quotas by the ids that
/// they had, none for those that are gone. By then all quotas have been touched; it takes note of all, so
/// that only those count as touched that are so afterwards. Returns false if past usage is of other settings,
/// and then counts none. Default: nothing is remembered, and the new one starts over.
template <class Cycle, class Session>
concept resumable_cycle = requires(Cycle cycle, const Cycle& seen, Session& session, const cycle_memory& m,
                                   std::span<const quota_id> ids) {
  { seen.memory(session) } -> std::same_as<cycle_memory>;
  { cycle.resume(session, m, ids) } -> std::same_as<bool>;
};
/// A cycle that decides by the passing of time alone: `wakes_at` says when the next step may decide something
/// although nothing has happened since the last one; none: only after an event. A time that is not later than
/// that of the step stands for the next instant. It is part of `scheduler::wakes_at`, which hosts ask after
/// each step. Default: none.
template <class Cycle, class Session>
concept waking_cycle = requires(const Cycle& seen, const Session& session) {
  { seen.wakes_at(session) } -> std::same_as<std::optional<instant>>;
};
/// A cycle that keeps times: `rebase(by)` moves all of them by that span, which may be negative, because the
/// clock was wrong (`scheduler::rebase`). Default: it keeps none.
template <class Cycle>
concept timekeeping_cycle = requires(Cycle cycle, instant by) {
  cycle.rebase(by);
};

/// Policies with rules of their own for rivals that say whether these decide what is fair between them;
/// nullopt: it is not known. Default: what the part `guard` says; without one they do not.
template <class Policies>
concept rival_policies = requires(const Policies& policies) {
  { policies.judges_rivals() } -> std::convertible_to<std::optional<bool>>;
};
/// Policies that say whether a job that is larger than the cluster may wait until there are more nodes.
/// Default: it is refused.
template <class Policies>
concept patient_policies = requires(const Policies& policies) {
  { policies.keeps_what_is_too_large() } -> std::convertible_to<bool>;
};
/// Policies that say of which set of a job whose pods differ the next pod is. Default: `set_growth::evenly`.
template <class Policies>
concept growing_policies = requires(const Policies& policies) {
  { policies.growth() } -> std::same_as<set_growth>;
};
/// Policies chosen at run time that say why they can't be used with the view; empty: they can. Default: they
/// can.
template <class Policies>
concept refusable_policies = requires(const Policies& policies) {
  { policies.why_none() } -> std::convertible_to<std::string>;
};

namespace detail {

/// What policies and their order of jobs say of themselves, each with its default.
struct policies_or_default {
  [[nodiscard]] static bool follows_priority(const auto&, const queue_settings&) { return false; }
  [[nodiscard]] static bool follows_priority(const priority_order auto& order, const queue_settings& s) {
    return order.follows_priority(s);
  }
  template <class Policies>
  [[nodiscard]] static std::optional<bool> judges_rivals(const Policies& policies) {
    if constexpr (rival_policies<Policies>) {
      return policies.judges_rivals();
    } else if constexpr (requires { policies.guard; }) {
      return allot::judges_rivals(policies.guard);
    } else {
      return false;
    }
  }
  [[nodiscard]] static bool keeps_what_is_too_large(const auto&) { return false; }
  [[nodiscard]] static bool keeps_what_is_too_large(const patient_policies auto& policies) {
    return policies.keeps_what_is_too_large();
  }
  [[nodiscard]] static set_growth growth(const auto&) { return set_growth::evenly; }
  [[nodiscard]] static set_growth growth(const growing_policies auto& policies) { return policies.growth(); }
};

/// What a cycle may have beside `reset` and `run`, each with its default.
template <class Session>
struct cycle_or_default {
  using amounts = resources<Session::n>;

  template <class Cycle>
  static void explain(Cycle& cycle, Session& session, typename Session::plan_type::pending_job& job) {
    if constexpr (explaining_cycle<Cycle, Session>) {
      cycle.explain(session, job);
    } else if constexpr (announcing_cycle<Cycle, Session>) {
      session.explain_as_allocated(job, [&](job_id id) { return cycle.has_announced(session, id); });
    } else {
      session.explain(job);
    }
  }
  [[nodiscard]] static std::optional<amounts> entitled(const auto&, quota_id) { return std::nullopt; }
  [[nodiscard]] static std::optional<amounts> entitled(const dividing_cycle auto& cycle, quota_id x) {
    return cycle.entitled(x);
  }
  [[nodiscard]] static bool reserves(const auto&) { return false; }
  [[nodiscard]] static bool reserves(const reserving_cycle auto& cycle) { return cycle.reserves(); }
  [[nodiscard]] static bool backs_off(const auto&) { return false; }
  [[nodiscard]] static bool backs_off(const backing_off_cycle auto& cycle) { return cycle.backs_off(); }
  [[nodiscard]] static bool delays_preemption(const auto&) { return false; }
  [[nodiscard]] static bool delays_preemption(const delaying_cycle auto& cycle) {
    return cycle.delays_preemption();
  }
  /// One that stands for others says itself whether they announce jobs.
  template <class Cycle>
  [[nodiscard]] static bool announces(const Cycle& cycle) {
    if constexpr (requires { cycle.announces(); }) {
      return cycle.announces();
    } else {
      return announcing_cycle<Cycle, Session>;
    }
  }
  /// One with reasons of its own says itself whether those at quotas are still those of the ledger's law.
  template <class Cycle>
  [[nodiscard]] static bool binds_by_law(const Cycle& cycle) {
    if constexpr (requires { cycle.binds_by_law(); }) {
      return cycle.binds_by_law();
    } else {
      return !explaining_cycle<Cycle, Session>;
    }
  }
  [[nodiscard]] static bool has_announced(const auto&, const Session&, job_id) { return false; }
  [[nodiscard]] static bool has_announced(const announcing_cycle<Session> auto& cycle, const Session& session,
                                          job_id id) {
    return cycle.has_announced(session, id);
  }
  [[nodiscard]] static std::optional<instant> wakes_at(const auto&, const Session&) { return std::nullopt; }
  [[nodiscard]] static std::optional<instant> wakes_at(const waking_cycle<Session> auto& cycle,
                                                       const Session& session) {
    std::optional<instant> at = cycle.wakes_at(session);
    if (at && *at <= session.now()) at = later(session.now(), 1);
    return at;
  }
  static void rebase(auto&, instant) {}
  static void rebase(timekeeping_cycle auto& cycle, instant by) { cycle.rebase(by); }
  [[nodiscard]] static cycle_memory memory(const auto&, const Session&) { return {}; }
  [[nodiscard]] static cycle_memory memory(const resumable_cycle<Session> auto& cycle, const Session& of) {
    return cycle.memory(of);
  }
  /// False if past usage is not used.
  [[nodiscard]] static bool resume(auto&, Session&, const cycle_memory& m, std::span<const quota_id>) {
    return m.past_usage.empty();
  }
  [[nodiscard]] static bool resume(resumable_cycle<Session> auto& cycle, Session& session,
                                   const cycle_memory& m, std::span<const quota_id> ids) {
    return cycle.resume(session, m, ids);
  }
};

/// True, or an error that names an optional member of a cycle that the library would not call.
template <class Cycle, class Session>
[[nodiscard]] consteval bool is_whole_cycle() {
  static_assert(!has_wakes_at<Cycle> || waking_cycle<Cycle, Session>,
                "allot: the cycle's wakes_at must be `std::optional<allot::instant> wakes_at(const Session&) "
                "const`");
  return true;
}

/// Names any template of types.
template <template <class...> class>
struct template_name;

/// True, or an error that says that the type is not a set of policies, or which part does not fit the view. A
/// set with another cycle has the parts that its cycle requires; all have an order of jobs.
template <class Policies, job_view View>
[[nodiscard]] consteval bool are_policies_of() {
  constexpr std::size_t n = dimensions<View>;
  constexpr bool is_preset = requires {
    typename Policies::policies_type;
  };
  static_assert(!is_preset,
                "allot: this is a preset, not the policies of one: write allot::make_scheduler(preset, view, "
                "quotas, placement)");
  constexpr bool has_cycle = requires {
    typename template_name<Policies::template cycle>;
  };
  static_assert(has_cycle || is_preset,
                "allot: these are not policies, which have a template `cycle<Session>`: write "
                "allot::policies<...>, or the policies_type of a preset");
  constexpr bool has_jobs = requires(const Policies& p) {
    p.jobs;
  };
  static_assert(has_jobs || !has_cycle,
                "allot: policies must have `jobs`, the order of the jobs of one quota");
  constexpr bool has_capacity_kind = requires(const Policies& p) {
    { p.not_preemptible } -> same_value_as<capacity_kind>;
  };
  static_assert(has_capacity_kind || !has_cycle,
                "allot: policies must have `allot::capacity_kind not_preemptible`, the capacity that jobs "
                "which may not be preempted use");
  if constexpr (has_jobs) {
    static_assert(
        job_order<std::remove_cvref_t<decltype(std::declval<const Policies&>().jobs)>, View>,
        "allot: the job order must take (view, job, queue_settings) and return an integer that fits "
        "into std::int64_t; shortest_first needs a view with duration(job)");
    using order = std::remove_cvref_t<decltype(std::declval<const Policies&>().jobs)>;
    static_assert(
        !has_follows_priority<order> || priority_order<order>,
        "allot: the job order's follows_priority must be const, take (const queue_settings&), return "
        "bool");
  }
  if constexpr (requires { typename Policies::quota_order_type; }) {
    static_assert(
        quota_order<typename Policies::quota_order_type, n>,
        "allot: the quota order must take (const ledger<N>&, const contender<N>&), return an ordered key");
    using victims = typename Policies::victim_order_type;
    using guard = typename Policies::guard_type;
    using protection = typename Policies::protection_type;
    static_assert(victim_order<victims, n> || victim_order_with_jobs<victims, View>,
                  "allot: the victim order must take (const ledger<N>&, const victim_candidate<N>&) and "
                  "return an ordered key, or take these after (view, job)");
    static_assert(
        victim_guard<guard, n> || victim_guard_with_jobs<guard, View>,
        "allot: the guard must take (const ledger<N>&, const beneficiary<N>&, const "
        "victim_candidate<N>&), return bool or a verdict, or take these after (view, beneficiary's "
        "job, victim's job); with strategies > 1 it takes a std::size_t last, and returns a verdict");
    constexpr bool orders_within =
        victim_order<victims, n> ? orders_within_quota<victims, n> : orders_jobs_within_quota<victims, View>;
    static_assert(is_whole_victim_order<victims, orders_within>());
    static_assert(is_whole_guard<guard>());
    static_assert(victim_protection<protection, n> || victim_protection_with_jobs<protection, View>,
                  "allot: the protection must take (const ledger<N>&, const beneficiary<N>&, const "
                  "victim_candidate<N>&, const search_progress<N>&) and return bool, or take these after "
                  "(view, beneficiary's job, victim's job)");
  }
  return true;
}

}  // namespace detail

}  // namespace v0
}  // namespace allot
