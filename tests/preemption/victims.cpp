// SPDX-License-Identifier: BSL-1.0
#include <allot/preemption/victims.hpp>
#include <allot/quota/builder.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

using allot::beneficiary;
using allot::gpus;
using allot::ledger;
using allot::quota_id;
using allot::relation;
using allot::victim;

namespace {

/// A owns 5 and C 2; both use something, and all but one of the 8 is used.
struct scene {
  ledger<> l{allot::build_quota_tree<1>({{.name = "root", .nominal = gpus(1)},
                                         {.name = "A", .parent = "root", .nominal = gpus(5)},
                                         {.name = "C", .parent = "A", .nominal = gpus(2)},
                                         {.name = "D", .parent = "root"}})
                 .value()};
  std::vector<victim<1>> victims;

  [[nodiscard]] quota_id quota(const char* name) const { return l.tree().find(name); }
  /// A job that is evicted.
  void gone(const char* in, int size, relation how) {
    victim<1> v;
    v.job.id = allot::job_id{victims.size()};
    v.job.quota = quota(in);
    v.job.request = gpus(size);
    v.how = how;
    victims.push_back(v);
  }
};

}  // namespace

TEST_CASE("victims: a borrower is needed only if it returns what the beneficiary's side owns") {
  scene s;
  s.l.charge(s.quota("root"), gpus(2));
  s.gone("C", 3, relation::borrower);
  s.gone("D", 1, relation::rival);
  const beneficiary<1> b{s.quota("A"), gpus(4)};
  CHECK(allot::detail::has_claim<1>(s.l, b, s.victims[0]));
  s.l.charge(s.quota("A"), gpus(2));
  const ledger<> before = s.l;
  // Now A would use 6 of its 5.
  CHECK_FALSE(allot::detail::has_claim<1>(s.l, b, s.victims[0]));
  // No other jobs are preempted for capacity that is owned.
  CHECK(allot::detail::has_claim<1>(s.l, b, s.victims[1]));
  CHECK(s.l == before);
}

TEST_CASE("victims: a victim that made a reclaim possible stays while the borrower is evicted") {
  const allot::eligible_is_fair guard;
  scene s;
  s.l.charge(s.quota("root"), gpus(2));
  s.gone("A", 2, relation::same_quota);
  s.gone("C", 3, relation::borrower);
  const beneficiary<1> b{s.quota("A"), gpus(4)};
  // The first is placed again.
  s.l.charge(s.quota("A"), gpus(2));
  CHECK_FALSE(allot::detail::still_fair<1>(guard, s.l, b, s.victims, 0, 1));
  // With a smaller request everything is its own anyway; if the borrower is back as well, no quota is
  // wronged.
  CHECK(allot::detail::still_fair<1>(guard, s.l, {s.quota("A"), gpus(3)}, s.victims, 0, 1));
  s.l.charge(s.quota("C"), gpus(3));
  CHECK(allot::detail::still_fair<1>(guard, s.l, b, s.victims, 0, 2));
  // The borrower may be placed again without the other.
  s.l.release(s.quota("A"), gpus(2));
  CHECK(allot::detail::still_fair<1>(guard, s.l, b, s.victims, 1, 2));
}

TEST_CASE("victims: rivals are judged again, each in the state of its turn") {
  const allot::final_share guard;
  scene s;
  s.l.charge(s.quota("root"), gpus(1));
  // D uses 6 of what others own, and gives back 1, 1 and 1.
  s.l.charge(s.quota("D"), gpus(3));
  for (int i = 0; i < 3; ++i) s.gone("D", 1, relation::rival);
  const beneficiary<1> b{s.quota("C"), gpus(4)};
  const ledger<> before = s.l;
  allot::detail::refresh_verdicts<1>(guard, s.l, b, s.victims);
  CHECK(s.l == before);
  for (const auto& v : s.victims) {
    CHECK(v.why.fair);
    CHECK(v.why.rule == allot::fairness_rule::final_share);
  }
  // Of the 7 of A's (and 1 of the root's) it keeps 5, 4 and 3 in turn.
  CHECK(s.victims[1].why.victim < s.victims[0].why.victim);
  CHECK(s.victims[2].why.victim < s.victims[1].why.victim);
}

TEST_CASE("victims: no victims help beyond what a quota could use of an idle tree") {
  scene s;
  CHECK(allot::detail::could_ever_fit<1>(s.l, {s.quota("C"), gpus(8)}));
  CHECK_FALSE(allot::detail::could_ever_fit<1>(s.l, {s.quota("C"), gpus(9)}));
  beneficiary<1> b{s.quota("C"), gpus(2)};
  b.in = allot::capacity_kind::guaranteed;
  CHECK(allot::detail::could_ever_fit<1>(s.l, b));
  s.l.charge(s.quota("C"), gpus(1), allot::capacity_kind::guaranteed);
  CHECK_FALSE(allot::detail::could_ever_fit<1>(s.l, b));
}
