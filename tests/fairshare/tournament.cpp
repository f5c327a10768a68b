// SPDX-License-Identifier: BSL-1.0
#include <allot/fairshare/tournament.hpp>
#include <allot/quota/builder.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/count_allocations.hpp"
#include "tests/support/random_quotas.hpp"
#include "tests/support/seeds.hpp"

using allot::contender;
using allot::gpus;
using allot::job_rank;
using allot::ledger;
using allot::quantity;
using allot::quota_id;
using allot::resources;
using allot_test::random_source;

namespace {

template <std::size_t N>
struct waiting_job {
  resources<N> request{};
  job_rank head{};
};

/// Whose turn it is by definition: every match of the tree is replayed on each call.
template <std::size_t N, class Order>
class brute_force {
 public:
  brute_force(const ledger<N>& l, const std::vector<std::optional<waiting_job<N>>>& waits)
      : ledger_(l), waits_(waits) {}

  [[nodiscard]] quota_id best() const {
    std::optional<player> winner;
    for (const quota_id r : ledger_.tree().roots()) challenge(winner, of_subtree(r));
    return winner ? winner->best : quota_id::none();
  }

 private:
  using key = decltype(std::declval<const Order&>()(std::declval<const ledger<N>&>(),
                                                    std::declval<const contender<N>&>()));
  struct player {
    quota_id best;
    resources<N> arriving;
    key k;
  };

  /// Players are in the order in which ties are broken.
  static void challenge(std::optional<player>& winner, const std::optional<player>& other) {
    if (other && (!winner || other->k < winner->k)) winner = other;
  }

  [[nodiscard]] std::optional<player> of_subtree(quota_id x) const {
    std::optional<player> winner;
    if (const auto& w = waits_[x.index()]) {
      challenge(winner, player{x, w->request,
                               order_(ledger_, contender<N>{x, true, w->request, w->head, x, w->request})});
    }
    for (const quota_id c : ledger_.tree().children(x)) {
      auto p = of_subtree(c);
      if (!p) continue;
      for (std::size_t d = 0; d < N; ++d) p->arriving[d] = ledger_.passed_up(c, d, p->arriving[d]);
      challenge(winner, p);
    }
    if (winner) {
      const auto& job = waits_[winner->best.index()];
      winner->k =
          order_(ledger_, contender<N>{x, false, winner->arriving, job->head, winner->best, job->request});
    }
    return winner;
  }

  const ledger<N>& ledger_;
  const std::vector<std::optional<waiting_job<N>>>& waits_;
  Order order_;
};

template <std::size_t N>
resources<N> random_request(random_source& random) {
  resources<N> r;
  for (std::size_t d = 0; d < N; ++d) r[d] = gpus(random.one_in(3) ? 0 : random.between(1, 8));
  return r;
}
job_rank random_rank(random_source& random, std::uint64_t id) {
  return {random.between(-1, 1), random.between(0, 2), random.one_in(20) ? 0 : id};
}

template <std::size_t N, class Order>
void compare_with_brute_force(random_source& random, const allot_test::quota_shape& shape, int operations) {
  ledger<N> l{allot::quota_tree<N>{allot_test::random_quotas<N>(random, shape)}};
  const std::size_t quotas = l.tree().slots();
  allot::tournament<N, Order> turn;
  turn.reset(l.tree());
  std::vector<std::optional<waiting_job<N>>> waits(quotas);
  std::vector<std::vector<resources<N>>> charged(quotas);
  REQUIRE(turn.best(l.tree()).is_none());
  for (int i = 0; i < operations; ++i) {
    const quota_id x{random.below(quotas)};
    switch (random.below(4)) {
      case 0:
        waits[x.index()].reset();
        break;
      case 1:
        if (!charged[x.index()].empty()) {
          l.release(x, charged[x.index()].back());
          charged[x.index()].pop_back();
        }
        break;
      case 2:
        charged[x.index()].push_back(random_request<N>(random));
        l.charge(x, charged[x.index()].back());
        break;
      default:
        waits[x.index()] = {random_request<N>(random), random_rank(random, static_cast<std::uint64_t>(i))};
        break;
    }
    if (const auto& w = waits[x.index()]; w && random.one_in(8)) {
      turn.enrol(x, w->request, w->head, allot::pending_minimum<N>{});
      turn.refresh_all(l);
    } else if (w) {
      turn.enter(l, x, w->request, w->head);
    } else {
      turn.leave(l, x);
    }
    REQUIRE(turn.best(l.tree()) == brute_force<N, Order>(l, waits).best());
  }
}

}  // namespace

TEST_CASE("tournament: the winner is that of all matches played again, on small trees") {
  allot_test::for_each_seed(400, [](random_source& random) {
    compare_with_brute_force<1, allot::within_nominal_then_borrowed_share>(random, {}, 60);
    compare_with_brute_force<2, allot::within_nominal_then_borrowed_share>(random, {}, 60);
    compare_with_brute_force<1, allot::best_job_first>(random, {}, 30);
  });
}

TEST_CASE("tournament: the winner is that of all matches played again, on trees of up to 300 quotas") {
  allot_test::for_each_seed(40, [](random_source& random) {
    const allot_test::quota_shape large{.most_quotas = 300, .one_root_in = 60, .overcommit = false};
    compare_with_brute_force<1, allot::within_nominal_then_borrowed_share>(random, large, 300);
  });
}

namespace {

/// Reads numbers of the jobs' quotas, which change.
struct least_number_first {
  const std::vector<std::int64_t>* numbers = nullptr;

  template <std::size_t N>
  [[nodiscard]] std::pair<std::int64_t, job_rank> operator()(const ledger<N>& l,
                                                             const contender<N>& c) const {
    // The part of a request below the tree's bounds, and the whole request, reach the order.
    const std::int64_t asked = c.asked[0].in_milli() + l.tree().spec(c.quota).priority;
    return {(*numbers)[c.origin.index()] + asked, c.head};
  }
};

}  // namespace

TEST_CASE("tournament: when other data of the order changes, every quota is rekeyed") {
  allot_test::for_each_seed(200, [](random_source& random) {
    ledger<> l{allot::quota_tree<>{allot_test::random_quotas<1>(random, {.most_quotas = 30})}};
    const std::size_t quotas = l.tree().slots();
    std::vector<std::int64_t> numbers(quotas);
    allot::tournament<1, least_number_first> kept{least_number_first{&numbers}};
    kept.reset(l.tree());
    std::vector<std::optional<waiting_job<1>>> waits(quotas);
    for (int i = 0; i < 25; ++i) {
      const quota_id x{random.below(quotas)};
      if (random.one_in(4)) {
        waits[x.index()].reset();
        kept.leave(l, x);
      } else {
        waits[x.index()] = {random_request<1>(random), random_rank(random, static_cast<std::uint64_t>(i))};
        kept.enter(l, x, waits[x.index()]->request, waits[x.index()]->head);
      }
      for (std::int64_t& n : numbers) n = random.between(0, 3000);
      kept.refresh_all(l);
      allot::tournament<1, least_number_first> anew{kept.order()};
      anew.reset(l.tree());
      for (std::size_t q = 0; q < quotas; ++q) {
        if (waits[q]) anew.enter(l, quota_id{q}, waits[q]->request, waits[q]->head);
      }
      REQUIRE(kept.best(l.tree()) == anew.best(l.tree()));
      // And a path can still be used afterwards.
      kept.leave(l, x);
      anew.leave(l, x);
      REQUIRE(kept.best(l.tree()) == anew.best(l.tree()));
      if (waits[x.index()]) kept.enter(l, x, waits[x.index()]->request, waits[x.index()]->head);
    }
  });
}

TEST_CASE("tournament: the request that reaches a quota is less what those below keep") {
  // Both departments own 10 and borrow nothing. The job of a1 fits what a1 keeps for itself, so nothing is
  // requested of department a, and it is not above its own, though everything it lends is in use.
  ledger<> l{allot::build_quota_tree<1>(
                 {{.name = "root", .nominal = gpus(8)},
                  {.name = "a", .parent = "root", .nominal = gpus(10)},
                  {.name = "a1", .parent = "a", .nominal = gpus(4), .lend = allot::limit::none()},
                  {.name = "a2", .parent = "a"},
                  {.name = "b", .parent = "root", .nominal = gpus(10)}})
                 .value()};
  const quota_id a1{2}, a2{3}, b{4};
  l.charge(a2, gpus(14));
  l.charge(b, gpus(10));
  allot::tournament<1, allot::within_nominal_then_borrowed_share> turn;
  turn.reset(l.tree());
  turn.enter(l, b, gpus(1), {0, 0, 0});
  turn.enter(l, a1, gpus(4), {0, 1, 1});
  CHECK(turn.best(l.tree()) == a1);
  turn.enter(l, a1, gpus(5), {0, 1, 1});
  CHECK(turn.best(l.tree()) == b);
}

TEST_CASE("tournament: own jobs of an inner quota are a peer of its children") {
  ledger<> l{allot::build_quota_tree<1>({{.name = "all", .nominal = gpus(30), .inclusive = true},
                                         {.name = "a", .parent = "all", .nominal = gpus(10)},
                                         {.name = "b", .parent = "all", .nominal = gpus(10)}})
                 .value()};
  const quota_id all{0}, a{1}, b{2};
  allot::tournament<1, allot::within_nominal_then_borrowed_share> turn;
  turn.reset(l.tree());
  const auto enter_all = [&] {
    turn.enter(l, all, gpus(4), {0, 2, 2});
    turn.enter(l, a, gpus(4), {0, 1, 1});
    turn.enter(l, b, gpus(4), {0, 3, 3});
  };
  enter_all();
  CHECK(turn.best(l.tree()) == a);
  l.charge(a, gpus(8));
  enter_all();
  CHECK(turn.best(l.tree()) == all);
  l.charge(all, gpus(8));
  enter_all();
  CHECK(turn.best(l.tree()) == b);
  for (const quota_id x : {b, a, all}) {
    CHECK_FALSE(turn.best(l.tree()).is_none());
    turn.leave(l, x);
  }
  CHECK(turn.best(l.tree()).is_none());
}

TEST_CASE("tournament: full ties go to the own jobs, then to the older quota") {
  ledger<> l{allot::build_quota_tree<1>({{.name = "old", .parent = "root", .nominal = gpus(9)},
                                         {.name = "root", .nominal = gpus(9)},
                                         {.name = "young", .parent = "root", .nominal = gpus(9)}})
                 .value()};
  allot::tournament<1, allot::within_nominal_then_borrowed_share> turn;
  turn.reset(l.tree());
  for (const std::size_t x : {2U, 0U, 1U}) turn.enter(l, quota_id{x}, gpus(1), {});
  for (const std::size_t x : {1U, 0U, 2U}) {
    CHECK(turn.best(l.tree()) == quota_id{x});
    turn.leave(l, quota_id{x});
  }
}

TEST_CASE("tournament: without quotas there is no winner") {
  allot::tournament<1, allot::best_job_first> turn;
  const ledger<> l{allot::quota_tree<>{{}}};
  turn.reset(l.tree());
  CHECK(turn.best(l.tree()).is_none());
}

TEST_CASE("tournament: entering and leaving allocate nothing") {
  random_source random{1};
  ledger<2> l{allot::quota_tree<2>{allot_test::random_quotas<2>(random, {.most_quotas = 40})}};
  allot::tournament<2, allot::within_nominal_then_borrowed_share> turn;
  turn.reset(l.tree());
  std::size_t played = 0;
  CHECK(allot_test::allocations_in([&] {
          for (int i = 0; i < 1000; ++i) {
            const quota_id x{random.below(l.tree().slots())};
            turn.enter(l, x, random_request<2>(random), random_rank(random, 1));
            l.charge(x, {quantity::milli(1), quantity::milli(2)});
            if (random.one_in(2)) turn.leave(l, x);
            played += turn.best(l.tree()).is_none() ? 0U : 1U;
          }
        }) == 0);
  CHECK(played > 0);
}
