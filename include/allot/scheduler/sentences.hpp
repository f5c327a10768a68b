// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/dimension_names.hpp>
#include <allot/core/result.hpp>
#include <allot/core/text.hpp>
#include <allot/quota/shortfall.hpp>
#include <allot/quota/tree.hpp>
#include <allot/scheduler/detail/text_of_reason.hpp>
#include <allot/scheduler/holders.hpp>
#include <allot/scheduler/job_state.hpp>
#include <allot/scheduler/plan.hpp>
#include <allot/scheduler/reservation.hpp>
#include <allot/scheduler/settings.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace allot {
inline namespace v0 {

// Decisions, and problems, as sentences for people: what, why, and what would help. They end without a full
// stop. No program should read them: the same is in the plan as data. Each allocates its text.

/// Whom a sentence about a job that waits is for. Its user is not told what only operators can change, or
/// look into.
enum class addressee : std::uint8_t { operators, users };

namespace detail {

template <std::size_t N>
[[nodiscard]] std::string name_of_quota(const quota_tree<N>& tree, quota_id x) {
  return tree.contains(x) ? std::string{tree.name(x)} : "its quota";
}
struct no_text_of_time {
  template <class Time>
  [[nodiscard]] std::string operator()(const Time&) const {
    return {};
  }
};
[[nodiscard]] inline std::string pods_of(std::uint32_t pods, std::string_view job) {
  return std::to_string(pods).append(pods == 1 ? " pod of " : " pods of ").append(job);
}

/// Why a reserved start has become later; empty for no cause.
[[nodiscard]] constexpr const char* text_of_cause(delay_cause cause) noexcept {
  switch (cause) {
    case delay_cause::none:
      break;
    case delay_cause::overrun:
      return "a job runs longer than expected";
    case delay_cause::owner:
      return "an owner uses what it was to borrow";
    case delay_cause::higher_priority:
      return "a job of higher priority was submitted";
    case delay_cause::cluster:
      return "the nodes, or what runs on them, were changed";
    case delay_cause::quotas:
      return "the quotas were changed";
    case delay_cause::placement:
      return "a job ended early, and others are placed elsewhere since";
    case delay_cause::protection:
      return "what its quota owns is used by jobs that may not be preempted for it";
  }
  return "";
}

}  // namespace detail

/// A problem with its resource, if it is one of several: "h100/gpu: children of org are given 48, more than
/// the 0 it has". In a tree of one dimension, or for a problem of no single one, its text.
template <std::size_t N>
[[nodiscard]] std::string sentence(const problem& p, const dimension_names<N>& names) {
  return N == 1 || p.dimension >= N ? p.text : std::string{names[p.dimension]} + ": " + p.text;
}

/// Why a bound does not allow a request: "vision may borrow for 1 of the 3 gpu; 2 must be released there, or
/// its borrow limit raised by 2". `request` is that of the job, for which `s` was found.
template <std::size_t N>
[[nodiscard]] std::string sentence(const shortfall& s, const quota_tree<N>& tree,
                                   const std::type_identity_t<resources<N>>& request,
                                   const dimension_names<N>& names, addressee whom = addressee::operators) {
  const std::string quota = detail::name_of_quota(tree, s.quota);
  const quantity wanted = s.dimension < N ? request[s.dimension] : quantity{};
  const quantity room = std::max(quantity{}, wanted - s.missing);
  const std::string part = (room == quantity{} ? std::string{"none"} : to_string(room)) + " of the " +
                           to_string(wanted) + ' ' + std::string{names[s.dimension]};
  std::string text = quota;
  const char* raised = "nominal";
  switch (s.kind) {
    case bound::capacity:
      text += " has room for " + part;
      break;
    case bound::borrow_limit:
      text += " may borrow for " + part;
      raised = "borrow limit";
      break;
    case bound::nominal:
      text += " may not borrow, and has room for " + part;
      break;
    case bound::guarantee:
      text = "without preemption it may only use what " + quota + " owns, which has room for " + part;
      break;
  }
  if (whom == addressee::users) return text;
  return text + "; " + to_string(s.missing) + " must be released there, or its " + raised + " raised by " +
         to_string(s.missing);
}

/// Why a request is more than a quota can ever have: "vision can never have more than 6 of the 7 gpu,
/// whatever others do; its borrow limit must be raised by 1". See `pending_job::out_of_reach`; `request` is
/// that of the job.
template <std::size_t N>
[[nodiscard]] std::string text_of_limit(const shortfall& s, const quota_tree<N>& tree,
                                        const std::type_identity_t<resources<N>>& request,
                                        const dimension_names<N>& names,
                                        addressee whom = addressee::operators) {
  const std::string quota = detail::name_of_quota(tree, s.quota);
  const quantity wanted = s.dimension < N ? request[s.dimension] : quantity{};
  const quantity most = std::max(quantity{}, wanted - s.missing);
  const std::string raised = s.kind == bound::borrow_limit ? "borrow limit" : "nominal";
  const std::string part = most == quantity{} ? "any" : "more than " + to_string(most);
  const std::string text = quota + " can never have " + part + " of the " + to_string(wanted) + ' ' +
                           std::string{names[s.dimension]} +
                           (s.kind == bound::guarantee ? " without borrowing" : "") + ", whatever others do";
  if (whom == addressee::users) return text;
  return text + "; its " + raised + " must be raised by " + to_string(s.missing);
}

/// Who has what the pending job's quota owns, and why it isn't taken back: "vision borrows 4 gpu of that:
/// train has run for less than it is guaranteed, until 300". `all` is what `holders_of_own` returns; the
/// first three are named. Empty if there are none.
template <class Scheduler, class NameOf, class TextOf = detail::no_text_of_time>
[[nodiscard]] std::string sentence(const Scheduler& s, std::span<const holder> all,
                                   const dimension_names<Scheduler::n>& names, NameOf name_of,
                                   TextOf text_of = {}) {
  static constexpr std::size_t most_named = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(all.size(), most_named); ++i) {
    const holder& h = all[i];
    const std::string quota = detail::name_of_quota(s.tree(), h.quota);
    if (i == 0 || all[i - 1].quota != h.quota) {
      text.append(i == 0 ? "" : "; ").append(quota).append(" borrows ").append(to_string(h.lent));
      text.append(" ").append(names[h.dimension]).append(" of that: ");
    } else {
      text += ", ";
    }
    text += s.state(h.job) == job_state::unknown ? "a job" : std::string{name_of(s.what(h.job))};
    switch (h.why) {
      case kept_by::leaving:
        text += " is being evicted";
        break;
      case kept_by::hold:
        text += " is held, and so is not preempted";
        break;
      case kept_by::frozen:
        text += " is not preempted, as evictions are frozen";
        break;
      case kept_by::not_preemptible:
        text += " may not be preempted";
        break;
      case kept_by::settings:
        text += " may not be preempted by a job of that quota and priority";
        break;
      case kept_by::min_runtime: {
        const std::string when = h.until ? text_of(Scheduler::time_of(*h.until)) : std::string{};
        text += " may not be preempted ";
        text += when.empty() ? "until it has run for as long as it is guaranteed"
                             : "before " + when + ", by its guaranteed runtime";
        break;
      }
      case kept_by::preempts_later: {
        const std::string when = h.until ? text_of(Scheduler::time_of(*h.until)) : std::string{};
        text += !h.until ? " is not preempted for it"
                         : " is not preempted " + (when.empty() ? "yet" : "before " + when) +
                               ", as a job has to wait for that";
        break;
      }
      case kept_by::policy:
        text += " is not preempted as the policy stands";
        break;
    }
  }
  if (all.size() > most_named) text += ", and " + std::to_string(all.size() - most_named) + " more";
  return text;
}

/// What evictions under way have to do with it that a job waits, to be added to the sentence that says why;
/// empty: nothing. "train, which is being evicted for serve, still uses 4 gpu there". `resource` is the name
/// of the `binding`'s. Without a binding, and with a place, it is the whole reason: others may go first.
template <class Scheduler, class NameOf>
[[nodiscard]] std::string text_of_departures(const Scheduler& s,
                                             const typename Scheduler::plan_type::pending_job& p,
                                             std::string_view resource, NameOf name_of) {
  const departures& d = p.departures;
  if (!d) return {};
  const auto name = [&](job_id id) -> std::string {
    if (id == p.id) return "it";
    return s.state(id) == job_state::unknown ? "another job" : std::string{name_of(s.what(id))};
  };
  if (!d.is_held && !p.binding && !p.placement) {
    return "there is room for it unless " + name(d.beneficiary) + ", for which " + name(d.job) +
           " is being evicted, goes first";
  }
  std::string text = name(d.is_held ? d.beneficiary : d.job);
  if (!d.is_held) {
    text += ", which is being evicted";
    if (d.beneficiary) text += " for " + name(d.beneficiary);
  } else {
    text += ", which ";
    text += d.job ? "waits for " + name(d.job) + " to go" : "is next";
  }
  text += ',';
  if (d.others > 0) text += " and " + std::to_string(d.others) + " more";
  const bool is_one = d.others == 0;
  if (p.binding) {
    text += d.is_held ? (is_one ? " holds " : " hold ") : (is_one ? " still uses " : " still use ");
    return text.append(to_string(d.amount)).append(" ").append(resource).append(" there");
  }
  if (d.is_held) return text + (is_one ? " holds" : " hold") + " room there";
  return text + (is_one ? " is" : " are") + " still there";
}

/// Why a job waits, as a plan of `s` lists it or `why` returns it; when it starts, the sentence of its
/// `reservation_of` says, and where, `for_each_planned_place`. `name_of(job)` is the host's name of a job,
/// convertible to std::string. A placement's reason is part of the sentence if it is text or has a
/// `to_string`. The library has no clock: `text_of(time_point)`, if given, says when a quota may borrow
/// again, the job is ready, or a job may be preempted. For a job within what its quota owns it says who has
/// that, which is O(jobs): see `holders_of_own`.
template <class Scheduler, class NameOf, class TextOf = detail::no_text_of_time>
[[nodiscard]] std::string sentence(const Scheduler& s, const typename Scheduler::plan_type::pending_job& p,
                                   const dimension_names<Scheduler::n>& names, NameOf name_of,
                                   TextOf text_of = {}, addressee whom = addressee::operators) {
  const std::string job = name_of(p.what);
  const std::string quota = detail::name_of_quota(s.tree(), p.quota);
  switch (p.reason) {
    case pending_reason::evictions:
      return job + " is next: it starts when the jobs that are evicted for it have gone";
    case pending_reason::held:
      return job + " waits: it is held";
    case pending_reason::not_waiting:
      return job + " does not wait";
    default:
      break;
  }
  std::string text = job + " waits: ";
  if (p.reason == pending_reason::not_ready) {
    const std::string when = p.ready_at.value_or(without_end) == without_end
                                 ? std::string{}
                                 : text_of(Scheduler::time_of(*p.ready_at));
    return text + (when.empty() ? "it is not ready yet" : "it is not ready before " + when);
  }
  const std::string departs =
      text_of_departures(s, p, p.binding ? names[p.binding->dimension] : std::string_view{}, name_of);
  const bool is_whole = !p.binding && !p.placement;
  if (!departs.empty() && is_whole && s.settings(p.quota).head == queue_head::best_effort) {
    text += departs;
  } else if (p.out_of_reach) {
    return text + text_of_limit(*p.out_of_reach, s.tree(), p.out_of_reach_request, names, whom);
  } else if (p.binding) {
    vector<holder> holders = holders_of_own(s, p.id);
    // That is said below.
    const bool is_found = detail::is_found_by_cycle(p.reason);
    erase_if(holders, [&](const holder& h) {
      return (h.why == kept_by::leaving && !departs.empty()) || (h.why == kept_by::policy && is_found) ||
             (h.why == kept_by::preempts_later && is_found);
    });
    if (holders.empty()) {
      text += sentence(*p.binding, s.tree(), s.request(p.id), names, whom);
    } else {
      text += quota + " owns what it asks for; " + sentence(s, holders, names, name_of, text_of);
    }
  } else if (p.backs_off) {
    const backoff of = p.backs_off;
    const std::string when = text_of(Scheduler::time_of(of.until));
    text += quota + " was reclaimed, and does not borrow " + std::string{names[of.dimension]} + " again " +
            (when.empty() ? "yet" : "before " + when);
  } else if (p.placement || p.reason == pending_reason::placement) {
    const std::string why = p.placement ? detail::text_of_reason(*p.placement) : std::string{};
    text += quota + " allows it, but " + (why.empty() ? "there is no place for it" : why);
  } else if (p.kept_for && s.state(p.kept_for) != job_state::unknown) {
    text += std::string{name_of(s.what(p.kept_for))} + " of " +
            detail::name_of_quota(s.tree(), s.quota(p.kept_for)) + " is ready soon, and would take it back";
  } else if (p.resized_at) {
    const std::string when = text_of(Scheduler::time_of(*p.resized_at));
    text += quota + " allows it, but will not" + (when.empty() ? "" : " from " + when + " on") +
            ", before it would have ended";
  } else {
    text += s.settings(p.quota).head == queue_head::reserve ? "an earlier job holds a reservation that it "
                                                              "would delay"
                                                            : "an earlier job of " + quota + " goes first";
  }
  if (!departs.empty() && !is_whole) text.append("; ").append(departs);
  if (p.reason == pending_reason::not_proven && whom == addressee::operators) {
    text += "; whether others could yield was not proven";
  }
  if (p.reason == pending_reason::lost_work) {
    text += "; others could yield, but they would lose too much work for the wait that it saves";
  }
  if (p.reason == pending_reason::preempts_later) {
    const std::string when = p.preempts_at ? text_of(Scheduler::time_of(*p.preempts_at)) : std::string{};
    text += "; no other job is evicted for it";
    if (p.preempts_at) text += when.empty() ? " yet" : " before " + when;
  }
  return text;
}

/// When a job with a reservation starts, and what that rests on: "it starts by 14:20 at the latest, when
/// train ends, if all jobs end as estimated and no owner takes back what it is to borrow; as things stand, on
/// node-4". `now` is the time of the last step; `name_of(job)` is the host's name of a job,
/// `time_of(instant)` of a time, each convertible to std::string; `place` is the host's text of the planned
/// place, if known.
template <class Scheduler, class NameOf, class TimeOf>
[[nodiscard]] std::string sentence(const Scheduler& s, const reservation& p, instant now, NameOf name_of,
                                   TimeOf time_of, std::string_view place = {}) {
  if (p.gathers_since) {
    return "it gathers: it is not known when the jobs in its way end, but later ones leave it their room, "
           "until "
           "it "
           "gives up at " +
           std::string{time_of(p.start)};
  }
  const std::string why = detail::text_of_cause(p.cause);
  if (p.start == without_end) {
    return "when it starts is not known any more" + (why.empty() ? "" : ": " + why) + "; it keeps its turn";
  }
  const std::string where = place.empty() ? "" : "; as things stand, on " + std::string{place};
  const bool names_job = s.state(p.after) != job_state::unknown;
  if (p.start <= now) {
    return "it starts at any moment: it waits for " +
           (names_job ? std::string{name_of(s.what(p.after))} + ", which" : "a job that") +
           " runs longer than expected" + where;
  }
  std::string text = "it starts by ";
  text += std::string{time_of(p.start)} + " at the latest";
  if (names_job) text += ", when " + std::string{name_of(s.what(p.after))} + " ends,";
  text += " if all jobs end as estimated";
  if (p.borrows) text += " and no owner takes back what it is to borrow";
  text += where;
  if (p.start > p.first_start) {
    text += "; first it was to start by " + std::string{time_of(p.first_start)};
    if (!why.empty()) text += ", but " + why;
  }
  return text;
}

/// Why a job is evicted, and for which: "train of vision is evicted for tune: speech takes back its own from
/// vision, which borrows it; it then waits again". To be called before the plan is carried out.
template <class Scheduler, class NameOf>
[[nodiscard]] std::string sentence(const Scheduler& s, const typename Scheduler::plan_type::eviction& e,
                                   const dimension_names<Scheduler::n>&, NameOf name_of) {
  const std::string quota = detail::name_of_quota(s.tree(), e.quota);
  const std::string job = name_of(e.what);
  std::string text = (e.core ? detail::pods_of(e.pods, job) : job) + " of " + quota +
                     (e.core && e.pods != 1 ? " are evicted" : " is evicted");
  std::string others = "another quota";
  if (e.beneficiary) {
    text += " for ";
    text += std::string{name_of(s.what(e.beneficiary))};
    others = detail::name_of_quota(s.tree(), s.quota(e.beneficiary));
  }
  text += ": ";
  switch (e.how) {
    case relation::borrower:
      text += others + " takes back its own from " + quota + ", which borrows it";
      break;
    case relation::descendant:
      text += others + " may take from the quotas below it";
      break;
    case relation::same_quota:
      text += "in " + quota + " the higher priority goes first, then the older job";
      break;
    case relation::rival:
      text += "both borrow, and " + quota + " has more than its fair share";
      break;
    case relation::borrower_while_borrowing:
      text += "both borrow, and the higher priority goes first";
      break;
    case relation::consolidation:
      text += "it can run elsewhere, and makes room where it is";
      break;
    case relation::resized:
      text += quota + ", or a quota above it, has become smaller than what it uses";
      break;
    case relation::time_limit:
      return text + "it has run for as long as it may";
  }
  return e.core ? text : text + "; it then waits again";
}

/// That a job starts, or grows by pods, and what of that is borrowed: "train starts in vision with 6 gpu, of
/// which 2 gpu are borrowed and may be reclaimed".
template <class Scheduler, class NameOf>
[[nodiscard]] std::string sentence(const Scheduler& s, const typename Scheduler::plan_type::admission& a,
                                   const dimension_names<Scheduler::n>& names, NameOf name_of) {
  const std::string job = name_of(a.what);
  std::string text = a.core ? detail::pods_of(a.pods, job) + (a.pods == 1 ? " starts in " : " start in ")
                            : job + " starts in ";
  text += detail::name_of_quota(s.tree(), a.quota) + " with " + names.text(s.request(a.id));
  if (a.borrows == resources<Scheduler::n>{quantity{}}) return text;
  return text + ", of which " + names.text(a.borrows) + " are borrowed and may be reclaimed";
}

}  // namespace v0
}  // namespace allot
