// SPDX-License-Identifier: BSL-1.0
#include <allot/systems/kai/detail/past_usage.hpp>

#include "tests/support/kai_world.hpp"

#include <doctest/doctest.h>

using allot::gpus;
using world = allot_test::kai_world;

namespace {

/// What past_usage requires of a session.
struct small_session {
  static constexpr std::size_t n = 1;
  allot::quota_tree<> own;
  allot::ledger<> used{own};
  allot::instant at = 0;

  explicit small_session(allot::quota_tree<> tree) : own(std::move(tree)) {}
  [[nodiscard]] const allot::quota_tree<>& tree() const { return own; }
  [[nodiscard]] allot::instant now() const { return at; }
  [[nodiscard]] small_session& books() { return *this; }
  [[nodiscard]] allot::ledger<>& allocated() { return used; }
};

}  // namespace

TEST_CASE("past_usage: usage as a part of the capacity, over the time since the first step") {
  small_session session{allot::build_quota_tree<1>({{.name = "d", .nominal = gpus(8), .inclusive = true},
                                                    {.name = "a", .parent = "d", .nominal = gpus(4)},
                                                    {.name = "b", .parent = "d", .nominal = gpus(4)}})
                            .value()};
  const auto d = session.own.find("d"), a = session.own.find("a"), b = session.own.find("b");
  allot::detail::past_usage<small_session> usage{{0, 1000}};
  usage.reset(session);
  usage.advance(session, gpus(8));
  session.used.charge(a, gpus(4));
  usage.note(session, a);
  session.at = 10;
  session.used.charge(b, gpus(4));
  usage.note(session, b);
  usage.note(session, b);  // counted once
  session.at = 20;
  // Until it is told that time has passed, it is as it was.
  CHECK(usage.now() == 10);
  CHECK(usage.parts(session)[a.index()][0] == 500'000);
  usage.advance(session, gpus(8));
  CHECK(usage.now() == 20);
  const auto parts = usage.parts(session);
  CHECK(parts[a.index()][0] == 500'000);
  CHECK(parts[b.index()][0] == 250'000);
  CHECK(parts[d.index()][0] == 750'000);
  // A new tree keeps the values.
  usage.reset(session);
  CHECK(usage.parts(session)[a.index()][0] == 500'000);
}

TEST_CASE("past_usage, trap 14: without a half-life nothing fades") {
  allot::kai_policies policies;
  policies.k = 1000;
  policies.half_life = 0;
  policies.window = 0;
  world w{"nodes 2\n queue a - 0 1\n queue b - 0 1\n run r0 a 1x1 @0\n run r1 a 1x1 @0", policies};
  CHECK(w.step(1).empty());
  w.tell("wait p b 1x1");
  CHECK(w.step(1'000'000) == "-r1 ~p");
}
