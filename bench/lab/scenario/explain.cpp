// SPDX-License-Identifier: BSL-1.0
#include "lab/scenario/explain.hpp"

#include "lab/io/time_text.hpp"

#include <allot/core/text.hpp>
#include <allot/sim/places.hpp>

#include <fmt/core.h>

#include <algorithm>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

/// The domain with the most room: "rack b1/r2".
[[nodiscard]] std::string best_of(const gpu::unplaceable& why, const sim::places& where) {
  const gpu::topology& near = *where.inventory().nearness();
  std::string text{near.level_name(why.level)};
  if (why.best_domain) return text + ' ' + near.qualified_name(why.best_domain);
  if (why.best_node) return text + ' ' + where.inventory().layout().name(why.best_node);
  return text;
}

}  // namespace

std::string explain(const gpu::unplaceable& why, const sim::places& where,
                    std::span<const std::string_view> sets) {
  if (why.set < sets.size()) {
    gpu::unplaceable of_set = why;
    of_set.set = gpu::every_set;
    return fmt::format("pod set {}: {}", sets[why.set], explain(of_set, where));
  }
  switch (why.reason) {
    case gpu::obstacle::larger_than_any_domain:
    case gpu::obstacle::no_domain_has_room: {
      if (!where.has_nodes() || where.inventory().nearness() == nullptr || why.level == gpu::any_level) break;
      const std::string_view level = where.inventory().nearness()->level_name(why.level);
      const bool is_never = why.reason == gpu::obstacle::larger_than_any_domain;
      return fmt::format("its {} must be placed in one {}, and the {}, {}, has room for {}{}",
                         why.pods == 1 ? "pod" : fmt::format("{} pods", why.pods), level,
                         is_never ? "largest" : "one with most room", best_of(why, where), why.pods_with_room,
                         is_never ? " when it is empty" : "");
    }
    default:
      break;
  }
  return gpu::to_string(why);
}

gpu::unplaceable why_never(const gpu::pod_request& r, const sim::places& where) {
  gpu::unplaceable why = where.why_not(r);
  if (why.is_never() || r.sets.empty()) return why;
  why.reason = gpu::obstacle::sets_never_together;
  why.set = gpu::every_set;
  return why;
}

std::string explain(const shortfall& s, std::string_view quota, std::string_view resource,
                    const standing& now, std::string_view job, quantity request, std::string_view pod_set) {
  if (!pod_set.empty()) {
    return fmt::format("pod set {}: {}", pod_set, explain(s, quota, resource, now, job, request));
  }
  switch (s.kind) {
    case bound::borrow_limit: {
      std::string text = fmt::format("{} may borrow {} {} and borrows {}", quota, to_string(now.borrow_limit),
                                     resource, to_string(now.borrowed));
      if (now.borrowed < now.borrow_limit) {
        text += fmt::format("; with this job it would be {}", to_string(now.borrow_limit + s.missing));
      }
      return text;
    }
    case bound::nominal:
      return fmt::format("{} has {} {}, {} {} and may not borrow", quota, to_string(now.supply), resource,
                         now.may_hold ? "uses or holds" : "uses", to_string(now.drawn));
    case bound::guarantee:
      return fmt::format("{} can't be preempted, so it may only use what {} owns, and of that {} {} are left",
                         job, quota, to_string(std::max(quantity{}, request - s.missing)), resource);
    case bound::capacity:
      break;
  }
  return fmt::format("{} has {} {} for all and {} are in use{}", quota, to_string(now.supply), resource,
                     to_string(now.drawn), now.may_hold ? " or held" : "");
}

std::string text_of_sets(std::span<const gpu::pod_set> sets, std::span<const std::string_view> names) {
  std::string text;
  for (std::size_t s = 0; s < names.size(); ++s) {
    if (s > 0) text += ", ";
    if (sets[s].fewest() < sets[s].pods) text += fmt::format("{} to ", sets[s].fewest());
    text += fmt::format("{} {}", sets[s].pods, names[s]);
  }
  return text;
}

std::string text_of_sets(const pods_by_set& pods, std::span<const std::string_view> names) {
  std::string text;
  for (std::size_t s = 0; s < names.size(); ++s) {
    if (pods[s] > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", pods[s], names[s]);
  }
  return text;
}

void tell_finding(pending_reason found, const std::optional<instant>& preempts_at, std::string& word,
                  std::string& text) {
  if (found != pending_reason::not_proven && found != pending_reason::lost_work &&
      found != pending_reason::preempts_later) {
    return;
  }
  word = to_string(found);
  if (found == pending_reason::lost_work) {
    text += "; others could yield, but they would lose too much work for the wait that it saves";
  }
  if (found == pending_reason::preempts_later) {
    text +=
        "; no other job is evicted for it " + (preempts_at ? "before " + clock_time(*preempts_at) : "yet");
  }
}

std::string explain(const backoff& why, std::string_view quota, std::string_view resource) {
  return fmt::format(
      "owners have reclaimed {1} from {0}, which does not borrow it again for {2} from then on", quota,
      resource, time_text(why.until - why.since));
}
std::string explain_resize(instant at, std::string_view quota) {
  return fmt::format("{} allows it, but will not from {} on, before it would have ended", quota,
                     clock_time(at));
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
