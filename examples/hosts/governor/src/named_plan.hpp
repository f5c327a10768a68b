// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "governor/src/engine.hpp"
#include "governor/src/where.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace allot_governor {

/// A plan of this scheduler by names: `name(what)`, and whether the places of a job are told pod by pod. The
/// evictions have no text.
template <class Scheduler, class Name, class ByPod>
[[nodiscard]] decision named(const typename Scheduler::plan_type& plan, const Scheduler& s, Name name,
                             ByPod is_by_pod) {
  decision d;
  for (const auto& a : plan.admissions) {
    auto where = shares_of(s.places(), a.where, is_by_pod(a.what));
    const auto same = std::find_if(d.admissions.begin(), d.admissions.end(),
                                   [&](const auto& other) { return a.core && other.key == name(a.what); });
    if (same == d.admissions.end()) {
      d.admissions.push_back({name(a.what), std::move(where), a.borrows, a.pods, a.pick});
      continue;
    }
    // It starts with more than its fewest pods.
    same->where.insert(same->where.end(), where.begin(), where.end());
    same->borrows += a.borrows;
    same->pods += a.pods;
    if (!same->pods_of_sets.empty()) ++same->pods_of_sets[s.set_of(a.id).index()];
  }
  for (const auto& v : plan.evictions) {
    auto& to = d.evictions.emplace_back();
    to.key = name(v.what);
    if (v.beneficiary) to.beneficiary = name(s.what(v.beneficiary));
    to.how = v.how;
  }
  for (const auto& r : plan.nominations) {
    auto& to = d.nominations.emplace_back();
    to.key = name(r.what);
    for (std::size_t i = r.first; i < r.first + r.count; ++i)
      to.victims.push_back(name(plan.evictions[i].what));
  }
  for (const auto& p : plan.pending) d.pending.push_back(name(p.what));
  return d;
}

}  // namespace allot_governor
