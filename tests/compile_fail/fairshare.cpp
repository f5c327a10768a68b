// SPDX-License-Identifier: BSL-1.0
// Surplus rules that are not right; see view.cpp.
#include <allot/fairshare/division.hpp>

#include <cstddef>
#include <span>

struct rule {
#ifdef surplus_rule_takes_one_claimant
  // allot: the surplus rule must take (allot::quantity surplus, std::span<allot::claimant>)
  void operator()(allot::quantity, allot::claimant&);
#else
  void operator()(allot::quantity, std::span<allot::claimant>);
#endif
#ifdef ignores_unmet_wants_is_not_const
  // allot: the surplus rule's ignores_unmet_wants() must be const and return bool
  bool ignores_unmet_wants();
#endif
};

std::size_t use(const allot::ledger<1>& l) {
  allot::division<1, rule> due{rule{}};
  due.update(l, {});
  due.change_demand(l, allot::quota_id{0}, {});
  return sizeof due;
}
