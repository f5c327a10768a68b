// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/time.hpp>

#include <algorithm>

namespace allot {
inline namespace v0 {
namespace detail {

/// Whether the job is ready and its quota allows it at that time, now or later, as of what is assumed.
template <class Session>
[[nodiscard]] bool quota_allows(Session& session, const typename Session::record& r, instant at) {
  return session.books().assumed().fits(r.facts.quota, r.facts.request, r.facts.in) &&
         r.ready.at <= std::max(at, session.now()) &&
         !session.jobs().backs_off(r, std::max(at, session.now()));
}

}  // namespace detail
}  // namespace v0
}  // namespace allot
