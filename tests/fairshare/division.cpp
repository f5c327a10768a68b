// SPDX-License-Identifier: BSL-1.0
#include <allot/fairshare/decayed_surplus.hpp>
#include <allot/fairshare/division.hpp>
#include <allot/fairshare/even_totals.hpp>
#include <allot/fairshare/first_come.hpp>
#include <allot/fairshare/priority_bands.hpp>
#include <allot/quota/builder.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/count_allocations.hpp"
#include "tests/support/law_oracle.hpp"
#include "tests/support/random_quotas.hpp"
#include "tests/support/seeds.hpp"

using allot::division;
using allot::fair_weight;
using allot::gpus;
using allot::ledger;
using allot::limit;
using allot::quantity;
using allot::quota_id;
using allot::quota_spec;
using allot::resources;
using allot_test::random_source;

namespace {

ledger<> make_ledger(std::vector<quota_spec<>> specs) {
  return ledger<>{allot::build_quota_tree<1>(std::move(specs)).value()};
}

/// The entitlement of each quota's own jobs, in thousandths.
std::vector<std::int64_t> divide(const ledger<>& l, const std::vector<resources<>>& demand) {
  division<> shares;
  shares.update(l, demand);
  std::vector<std::int64_t> own;
  for (std::size_t i = 0; i < l.tree().slots(); ++i) own.push_back(shares.own(quota_id{i})[0].in_milli());
  return own;
}

std::vector<resources<>> whole(std::initializer_list<std::int64_t> demands) {
  std::vector<resources<>> result;
  for (const std::int64_t d : demands) result.emplace_back(gpus(d));
  return result;
}

struct numbers {
  std::int64_t nominal;
  std::int64_t weight;
};

/// A root of `total` that contains the rest.
ledger<> siblings(std::int64_t total, const std::vector<numbers>& children) {
  std::vector<quota_spec<>> specs{{.name = "root", .nominal = gpus(total), .inclusive = true}};
  for (const numbers& c : children) {
    specs.push_back({.name = "q" + std::to_string(specs.size()),
                     .parent = "root",
                     .nominal = gpus(c.nominal),
                     .weight = fair_weight::milli(c.weight)});
  }
  return make_ledger(std::move(specs));
}

/// Few thousandths, so that rounding matters everywhere and units can be counted one by one.
std::vector<quota_spec<>> in_thousandths(std::vector<quota_spec<>> specs, random_source& random) {
  const auto scale = [&](quantity q) { return quantity::milli(q.in_milli() / 1000); };
  for (quota_spec<>& s : specs) {
    s.nominal[0] = scale(s.nominal[0]);
    for (allot::limit* l : {&s.lend[0], &s.borrow[0]}) {
      if (!(*l == limit::all()) && !(*l == limit::none())) {
        *l = limit::at_most(quantity::milli(random.between(0, 12)));
      }
    }
    s.weight[0] = fair_weight::milli(random.one_in(5) ? 0 : random.between(1, random.one_in(2) ? 3 : 3000));
  }
  return specs;
}

std::vector<quota_spec<>> random_specs(random_source& random, bool overcommit) {
  for (;;) {
    auto specs = in_thousandths(
        allot_test::random_quotas<1>(
            random, {.most_quotas = 12, .one_unlimited_in = 0, .overcommit = overcommit, .percent = false}),
        random);
    if (allot::build_quota_tree<1>(specs)) return specs;
  }
}

std::vector<resources<>> random_demand(random_source& random, std::size_t quotas) {
  std::vector<resources<>> demand(quotas);
  for (auto& d : demand) d[0] = quantity::milli(random.one_in(3) ? 0 : random.between(0, 30));
  return demand;
}

/// The entitlements by their definition, thousandth by thousandth, with numbers from the law's definition.
class by_thousandths {
 public:
  by_thousandths(const ledger<>& l, const std::vector<resources<>>& demand)
      : tree_(l.tree()), law_({l.tree().specs().begin(), l.tree().specs().end()}), demand_(demand) {
    own_.resize(demand.size());
    for (const quota_id r : tree_.roots()) {
      divide(r, std::min<std::int64_t>(wanted(r), std::max<std::int64_t>(0, supply(r))));
    }
  }
  [[nodiscard]] const std::vector<std::int64_t>& own() const { return own_; }

 private:
  struct player {
    quota_id quota;
    std::int64_t wants;
    std::int64_t promised;
    std::int64_t given = 0;
    std::int64_t extra = 0;
  };

  [[nodiscard]] std::int64_t supply(quota_id x) const {
    return static_cast<std::int64_t>(law_.supply(x.index(), 0));
  }
  [[nodiscard]] std::int64_t lends(quota_id x) const {
    return static_cast<std::int64_t>(std::min(law_.supply(x.index(), 0), law_.lend(x.index(), 0)));
  }
  [[nodiscard]] std::int64_t keeps(quota_id x) const {
    return std::max<std::int64_t>(0, supply(x) - lends(x));
  }
  /// Of the supply of x, if its whole subtree asked for what it wants and may have.
  [[nodiscard]] std::int64_t wanted(quota_id x) const {
    std::int64_t sum = demand_[x.index()][0].in_milli();
    for (const quota_id c : tree_.children(x)) sum += asks(c);
    return sum;
  }
  /// Of its parent's pool.
  [[nodiscard]] std::int64_t asks(quota_id c) const {
    const auto most = std::max<allot_test::big>(0, law_.supply(c.index(), 0) + law_.borrow(c.index(), 0));
    return std::max<std::int64_t>(
        0, static_cast<std::int64_t>(std::min<allot_test::big>(wanted(c), most)) - keeps(c));
  }

  void divide(quota_id x, std::int64_t pool) {
    std::vector<player> players{
        {x, demand_[x.index()][0].in_milli(), static_cast<std::int64_t>(law_.own_pool(x.index(), 0))}};
    for (const quota_id c : tree_.children(x)) players.push_back({c, asks(c), lends(c)});
    std::int64_t promised = 0;
    for (player& p : players) promised += p.promised = std::clamp<std::int64_t>(p.promised, 0, p.wants);
    if (promised > pool) {
      hand_out(
          players, pool, [](const player& p) { return p.promised; },
          [](const player& p) { return p.promised; });
    } else {
      for (player& p : players) p.given = p.promised;
      const auto weight = [&](const player& p) { return tree_.spec(p.quota).weight[0].in_milli(); };
      const auto wants = [](const player& p) { return p.wants; };
      pool = hand_out(players, pool - promised, weight, wants);
      for (player& p : players) p.extra = 0;
      hand_out(
          players, pool, [&](const player& p) { return weight(p) == 0 ? 1 : 0; }, wants);
    }
    own_[x.index()] = players.front().given;
    for (std::size_t i = 1; i < players.size(); ++i) {
      const quota_id c = players[i].quota;
      divide(c, std::min(wanted(c), players[i].given + keeps(c)));
    }
  }
  template <class Weight, class Most>
  static std::int64_t hand_out(std::vector<player>& players, std::int64_t pool, Weight weight, Most most) {
    for (; pool > 0; --pool) {
      player* next = nullptr;
      for (player& p : players) {
        if (weight(p) == 0 || p.given == most(p)) continue;
        if (next == nullptr || (2 * p.extra + 1) * weight(*next) < (2 * next->extra + 1) * weight(p))
          next = &p;
      }
      if (next == nullptr) break;
      ++next->given;
      ++next->extra;
    }
    return pool;
  }

  const allot::quota_tree<>& tree_;
  allot_test::law_oracle<1> law_;
  const std::vector<resources<>>& demand_;
  std::vector<std::int64_t> own_;
};

}  // namespace

TEST_CASE("division: KAI's row, 100 GPUs for two queues of weights 3 and 1") {
  CHECK(divide(siblings(100, {{10, 3000}, {10, 1000}}), whole({0, 100, 100})) ==
        std::vector<std::int64_t>{0, 70'000, 30'000});
}

TEST_CASE("division: 128 GPUs, what is deserved first, the rest by weight") {
  const ledger<> l = siblings(128, {{32, 2000}, {16, 1000}, {0, 1000}});
  CHECK(divide(l, whole({0, 128, 128, 24})) == std::vector<std::int64_t>{0, 72'000, 36'000, 20'000});
  // What C does not want is shared 2 : 1 by the others.
  CHECK(divide(l, whole({0, 128, 128, 5})) == std::vector<std::int64_t>{0, 82'000, 41'000, 5'000});
  // Exact thousandths: KAI's rounding down to whole GPUs gives 43, 43, 42.
  CHECK(divide(siblings(128, {{0, 1000}, {0, 1000}, {0, 1000}}), whole({0, 128, 128, 128})) ==
        std::vector<std::int64_t>{0, 42'667, 42'667, 42'666});
}

TEST_CASE("division: no rounding grants more than is wanted (KAI's traps 21 and 22)") {
  std::vector<numbers> ten(10, numbers{0, 1000});
  std::vector<resources<>> demand(11, resources<>{gpus(128)});
  demand[0] = resources<>{gpus(0)};
  std::int64_t sum = 0;
  for (const std::int64_t e : divide(siblings(128, ten), demand)) sum += e;
  CHECK(sum == 128'000);
  const std::vector<resources<>> fractions{gpus(0), quantity::milli(600), quantity::milli(600)};
  CHECK(divide(siblings(1, {{0, 1000}, {0, 1000}}), fractions) == std::vector<std::int64_t>{0, 500, 500});
}

TEST_CASE("division: weight zero shares in what the others leave (KAI's trap 24)") {
  const ledger<> l = siblings(8, {{2, 0}, {2, 0}});
  CHECK(divide(l, whole({0, 8, 8})) == std::vector<std::int64_t>{0, 4'000, 4'000});
  CHECK(divide(siblings(8, {{2, 0}, {2, 1}}), whole({0, 8, 8})) ==
        std::vector<std::int64_t>{0, 2'000, 6'000});
}

TEST_CASE("division: Gavel's entities of weight 1, 2 and 3, with jobs of weight 1 and 2") {
  std::vector<quota_spec<>> specs{{.name = "cluster", .nominal = gpus(9), .inclusive = true}};
  std::vector<resources<>> demand{gpus(0)};
  for (int e = 1; e <= 3; ++e) {
    const std::string entity = "entity" + std::to_string(e);
    specs.push_back({.name = entity, .parent = "cluster", .weight = fair_weight::whole(e)});
    demand.emplace_back(gpus(0));
    for (int j = 0; j < 6; ++j) {
      specs.push_back({.name = entity + "/" + std::to_string(j),
                       .parent = entity,
                       .weight = fair_weight::whole(1 + j % 2)});
      demand.emplace_back(gpus(1));
    }
  }
  const ledger<> l = make_ledger(specs);
  division<> shares;
  shares.update(l, demand);
  const auto entitled = [&](const std::string& name) {
    return shares.entitled(l.tree().find(name))[0].in_milli();
  };
  const std::int64_t entities[] = {1500, 3000, 4500};
  const std::int64_t jobs[][2] = {{167, 333}, {333, 667}, {500, 1000}};
  for (int e = 1; e <= 3; ++e) {
    const std::string entity = "entity" + std::to_string(e);
    CHECK(entitled(entity) == entities[e - 1]);
    for (int j = 0; j < 6; ++j) {
      CHECK(entitled(entity + "/" + std::to_string(j)) == jobs[e - 1][j % 2]);
    }
  }
}

TEST_CASE("division: Run:ai's demo, extras in proportion to quota") {
  // 16 GPUs; a 4, b 2, c 2, d 8, which wants nothing: a has 4 more, b and c 2 each.
  const ledger<> l = siblings(16, {{4, 4000}, {2, 2000}, {2, 2000}, {8, 8000}});
  CHECK(divide(l, whole({0, 16, 16, 16, 0})) == std::vector<std::int64_t>{0, 8'000, 4'000, 4'000, 0});
}

TEST_CASE("division: lend and borrow limits") {
  const ledger<> l =
      make_ledger({{.name = "root", .nominal = gpus(2)},
                   {.name = "a", .parent = "root", .nominal = gpus(6), .lend = limit::at_most(gpus(1))},
                   {.name = "b", .parent = "root", .nominal = gpus(4), .borrow = limit::percent(50)},
                   {.name = "c", .parent = "root", .nominal = gpus(4), .is_static = true}});
  CHECK(divide(l, whole({0, 0, 20, 0})) == std::vector<std::int64_t>{0, 0, 6'000, 0});
  CHECK(divide(l, whole({20, 0, 0, 0})) == std::vector<std::int64_t>{7'000, 0, 0, 0});
  // Of the 7 that are lent, b owns 4, a lends 1 and the root's own jobs are entitled to 2.
  CHECK(divide(l, whole({0, 9, 20, 20})) == std::vector<std::int64_t>{0, 7'000, 5'000, 4'000});
  CHECK(divide(l, whole({20, 9, 20, 20})) == std::vector<std::int64_t>{2'000, 6'000, 4'000, 4'000});
}

TEST_CASE("division: own jobs of an inner quota take part as a peer of its children") {
  const ledger<> l =
      make_ledger({{.name = "root", .nominal = gpus(30), .weight = fair_weight::whole(2), .inclusive = true},
                   {.name = "a", .parent = "root", .nominal = gpus(10)},
                   {.name = "b", .parent = "root", .nominal = gpus(10)}});
  CHECK(divide(l, whole({30, 30, 30})) == std::vector<std::int64_t>{10'000, 10'000, 10'000});
  CHECK(divide(l, whole({30, 30, 1})) == std::vector<std::int64_t>{16'000, 13'000, 1'000});
}

TEST_CASE("division: what an overcommitted quota has is shared in proportion to what it promised") {
  const ledger<> l =
      make_ledger({{.name = "root", .nominal = gpus(30), .inclusive = true, .overcommit = true},
                   {.name = "a", .parent = "root", .nominal = gpus(20)},
                   {.name = "b", .parent = "root", .nominal = gpus(40)}});
  CHECK(divide(l, whole({9, 90, 90})) == std::vector<std::int64_t>{0, 10'000, 20'000});
  CHECK(divide(l, whole({9, 5, 90})) == std::vector<std::int64_t>{0, 3'333, 26'667});
  CHECK(divide(l, whole({9, 5, 20})) == std::vector<std::int64_t>{5'000, 5'000, 20'000});
}

TEST_CASE("division: agrees with the definition thousandth by thousandth on random trees") {
  allot_test::for_each_seed(2500, [](random_source& random) {
    const ledger<> l = make_ledger(random_specs(random, true));
    const auto demand = random_demand(random, l.tree().slots());
    CHECK(divide(l, demand) == by_thousandths{l, demand}.own());
  });
}

TEST_CASE("division: without limits the entitlements are all there is, or all that is wanted") {
  allot_test::for_each_seed(500, [](random_source& random) {
    auto specs = random_specs(random, false);
    for (quota_spec<>& s : specs) s.lend = s.borrow = limit::all(), s.is_static = false;
    const ledger<> l = make_ledger(specs);
    const auto demand = random_demand(random, l.tree().slots());
    division<> shares;
    shares.update(l, demand);
    for (const quota_id r : l.tree().roots()) {
      quantity wanted, given;
      for (const quota_id x : l.tree().top_down()) {
        if (l.tree().common_ancestor(x, r) != r) continue;
        wanted += demand[x.index()][0];
        given += shares.own(x)[0];
      }
      CHECK(given == std::min(wanted, l.total_supply(r, 0)));
      CHECK(shares.entitled(r)[0] == given);
    }
  });
}

TEST_CASE("division: is sound, leaves nothing usable over, and keeps guarantees") {
  allot_test::for_each_seed(1500, [](random_source& random) {
    const bool overcommit = random.one_in(3);
    ledger<> l = make_ledger(random_specs(random, overcommit));
    const auto demand = random_demand(random, l.tree().slots());
    division<> shares;
    shares.update(l, demand);
    for (const quota_id x : l.tree().top_down()) {
      const quantity own = shares.own(x)[0];
      const quantity wants = demand[x.index()][0];
      CHECK(own >= quantity{});
      CHECK(own <= wants);
      if (!overcommit) CHECK(own >= std::min(wants, l.supply_of(x, 0).own_pool));
      quantity sum = own;
      for (const quota_id c : l.tree().children(x)) sum += shares.entitled(c)[0];
      CHECK(shares.entitled(x)[0] == sum);
      l.charge(x, own);
    }
    CHECK(l.is_sound());
    for (const quota_id x : l.tree().top_down()) {
      if (shares.own(x)[0] < demand[x.index()][0]) CHECK(l.headroom(x, 0) <= quantity{});
    }
  });
}

TEST_CASE("division: more capacity lowers no entitlement") {
  allot_test::for_each_seed(150, [](random_source& random) {
    auto specs = random_specs(random, true);
    const auto demand = random_demand(random, specs.size());
    std::vector<std::int64_t> before;
    for (int step = 0; step < 40; ++step) {
      const auto own = divide(make_ledger(specs), demand);
      for (std::size_t i = 0; i < before.size(); ++i) CHECK(own[i] >= before[i]);
      before = own;
      for (quota_spec<>& s : specs) {
        if (s.parent.empty()) s.nominal[0] += quantity::milli(1);
      }
    }
  });
}

TEST_CASE("division: dimensions do not mix, and nothing is left from one division to the next") {
  allot_test::for_each_seed(150, [](random_source& random) {
    division<2> shares;
    for (int round = 0; round < 3; ++round) {
      auto specs = allot_test::random_quotas<2>(random, {.one_unlimited_in = 0});
      const ledger<2> l{allot::quota_tree<2>{specs}};
      std::vector<resources<2>> demand(specs.size());
      for (auto& d : demand) d = {gpus(random.between(0, 20)), gpus(random.between(0, 20))};
      shares.update(l, demand);
      for (std::size_t d = 0; d < 2; ++d) {
        std::vector<quota_spec<>> alone;
        std::vector<resources<>> wants;
        for (std::size_t i = 0; i < specs.size(); ++i) {
          const auto& s = specs[i];
          alone.push_back({.name = s.name,
                           .parent = s.parent,
                           .nominal = s.nominal[d],
                           .lend = s.lend[d],
                           .borrow = s.borrow[d],
                           .weight = s.weight[d],
                           .inclusive = s.inclusive,
                           .overcommit = s.overcommit,
                           .is_static = s.is_static});
          wants.emplace_back(demand[i][d]);
        }
        const auto own = divide(make_ledger(alone), wants);
        for (std::size_t i = 0; i < own.size(); ++i) CHECK(shares.own(quota_id{i})[d].in_milli() == own[i]);
      }
    }
  });
}

TEST_CASE("division: an unlimited quota satisfies all demands") {
  const ledger<> l = make_ledger({{.name = "root", .nominal = quantity::unlimited()},
                                  {.name = "a", .parent = "root", .nominal = gpus(1)},
                                  {.name = "b", .parent = "root", .borrow = limit::at_most(gpus(7))}});
  CHECK(divide(l, whole({5, 50, 50})) == std::vector<std::int64_t>{5'000, 50'000, 7'000});
}

TEST_CASE("division: a rule of the host's own") {
  struct first_named_first {
    void operator()(quantity surplus, std::span<allot::claimant> claimants) const {
      for (allot::claimant& c : claimants) {
        const quantity more = std::min(surplus, c.wants - c.granted);
        c.granted += more;
        surplus -= more;
      }
    }
  };
  const ledger<> l = siblings(20, {{2, 1000}, {2, 1000}});
  division<1, first_named_first> shares;
  shares.update(l, whole({0, 30, 30}));
  CHECK(shares.own(quota_id{1})[0] == gpus(18));
  CHECK(shares.own(quota_id{2})[0] == gpus(2));
}

TEST_CASE("division: does not allocate again, and refuses a demand that is not one a quota") {
  random_source random{7};
  const ledger<> l = make_ledger(random_specs(random, true));
  const auto demand = random_demand(random, l.tree().slots());
  const auto other = random_demand(random, l.tree().slots());
  division<> shares;
  shares.update(l, demand);
  shares.update(l, other);
  CHECK(allot_test::allocations_in([&] {
          shares.update(l, demand);
          shares.update(l, other);
        }) == 0);
  CHECK_THROWS_AS(shares.update(l, {}), allot_test::assertion_failed);
}

TEST_CASE("division: Run:ai's demo by the rule, before and after d claims what it owns") {
  const ledger<> l = siblings(16, {{4, 1000}, {2, 1000}, {2, 1000}, {8, 1000}});
  division<1, allot::proportional_to_quota> shares;
  const auto own = [&] {
    std::vector<std::int64_t> result;
    for (std::size_t i = 1; i <= 4; ++i) result.push_back(shares.own(quota_id{i})[0].in_milli());
    return result;
  };
  shares.update(l, whole({0, 16, 16, 16, 0}));
  CHECK(own() == std::vector<std::int64_t>{8'000, 4'000, 4'000, 0});
  shares.change_demand(l, quota_id{4}, resources<>{gpus(8)});
  CHECK(own() == std::vector<std::int64_t>{4'000, 2'000, 2'000, 8'000});
  shares.change_demand(l, quota_id{4}, resources<>{gpus(4)});
  CHECK(own() == std::vector<std::int64_t>{6'000, 3'000, 3'000, 4'000});
}

TEST_CASE("division: KAI's rows in whole GPUs") {
  using whole_gpus = allot::proportional<allot::by_weight, allot::webster>;
  const auto own = [](auto rule, const ledger<>& l, std::initializer_list<std::int64_t> demand) {
    division<1, decltype(rule)> shares{rule};
    shares.update(l, whole(demand));
    std::vector<std::int64_t> result;
    for (std::size_t i = 1; i < l.tree().slots(); ++i)
      result.push_back(shares.own(quota_id{i})[0].in_milli());
    return result;
  };
  const whole_gpus rule{allot::webster{gpus(1)}};
  const ledger<> abc = siblings(128, {{32, 2000}, {16, 1000}, {0, 1000}});
  CHECK(own(rule, abc, {0, 128, 128, 24}) == std::vector<std::int64_t>{72'000, 36'000, 20'000});
  CHECK(own(rule, siblings(128, {{0, 1000}, {0, 1000}, {0, 1000}}), {0, 128, 128, 128}) ==
        std::vector<std::int64_t>{43'000, 43'000, 42'000});
  CHECK(own(rule, siblings(100, {{10, 3000}, {10, 1000}}), {0, 100, 100}) ==
        std::vector<std::int64_t>{70'000, 30'000});
  const auto history = [](allot::claimant& c) {
    const std::int64_t used[] = {0, 600'000'000, 100'000'000, 0};
    c.past_use = c.own_jobs && c.quota == quota_id{0} ? 0 : used[c.quota.index()];
  };
  const allot::informed<allot::decayed_surplus<>, decltype(history)> decayed{
      history, allot::decayed_surplus<>{{1000, false, true}, gpus(1)}};
  CHECK(own(decayed, abc, {0, 128, 128, 24}) == std::vector<std::int64_t>{61'000, 43'000, 24'000});
}

TEST_CASE("division: a rule sees which quota asks, what it owns and what it uses") {
  struct look {
    std::vector<allot::claimant>* seen;
    void operator()(quantity, std::span<allot::claimant> claimants) const {
      seen->assign(claimants.begin(), claimants.end());
    }
  };
  ledger<> l = make_ledger({{.name = "root", .nominal = gpus(5), .priority = 3},
                            {.name = "a",
                             .parent = "root",
                             .nominal = gpus(8),
                             .lend = limit::at_most(gpus(3)),
                             .weight = fair_weight::milli(700),
                             .priority = -2}});
  l.charge(quota_id{0}, gpus(1));
  l.charge(quota_id{1}, gpus(7));
  std::vector<allot::claimant> seen;
  division<1, look> shares{look{&seen}};
  shares.update(l, whole({2, 9}));
  REQUIRE(seen.size() == 2);
  CHECK((seen[0].own_jobs && seen[0].quota == quota_id{0} && seen[0].priority == 3));
  CHECK((seen[0].guaranteed == gpus(5) && seen[0].owned == gpus(5) && seen[0].used == gpus(1)));
  CHECK(
      (!seen[1].own_jobs && seen[1].quota == quota_id{1} && seen[1].priority == -2 && seen[1].weight == 700));
  CHECK((seen[1].wants == gpus(4) && seen[1].guaranteed == gpus(3) && seen[1].owned == gpus(8)));
  CHECK((seen[1].kept == gpus(5) && seen[1].used == gpus(2) && seen[1].granted == gpus(3)));
}

namespace {

/// So many users under one quota that its division is kept, beside some under another.
std::vector<quota_spec<>> crowd_specs(random_source& random) {
  const auto amount = [&](std::int64_t most) {
    return resources<>{quantity::milli(random.one_in(3) ? 0 : random.between(0, most))};
  };
  std::vector<quota_spec<>> specs{
      {.name = "root", .nominal = amount(3000), .inclusive = true, .overcommit = true}};
  for (const char* const name : {"crowd", "few"}) {
    specs.push_back({.name = name, .parent = "root", .nominal = amount(300), .inclusive = random.one_in(2)});
    specs.back().overcommit = specs.back().inclusive;
  }
  const bool are_equal = random.one_in(3);
  for (std::size_t i = 0; i < 360; ++i) {
    const char* const parents[] = {"root", "few", "crowd"};
    specs.push_back({.name = 'u' + std::to_string(i),
                     .parent = parents[std::min<std::size_t>(2, random.below(16))],
                     .nominal = amount(5)});
    quota_spec<>& s = specs.back();
    s.weight[0] = fair_weight::milli(random.one_in(9) ? 0 : random.between(1, random.one_in(2) ? 3 : 3000));
    if (are_equal) s.weight[0] = fair_weight::milli(1000);
    if (random.one_in(6)) s.borrow[0] = limit::at_most(quantity::milli(random.between(0, 9)));
    if (random.one_in(6)) s.lend[0] = limit::at_most(quantity::milli(random.between(0, 4)));
  }
  return allot::build_quota_tree<1>(specs) ? specs : crowd_specs(random);
}

template <class Rule>
void check_change_demand(Rule rule, std::size_t cases, bool usage_matters, bool is_crowd = false) {
  allot_test::for_each_seed(cases, [&](random_source& random) {
    auto specs = is_crowd ? crowd_specs(random) : random_specs(random, true);
    for (quota_spec<>& s : specs) s.priority = static_cast<std::int32_t>(random.below(3));
    ledger<> l = make_ledger(specs);
    auto demand = random_demand(random, l.tree().slots());
    division<1, Rule> changed{rule};
    changed.update(l, demand);
    for (int i = 0; i < 25; ++i) {
      const quota_id x{random.below(demand.size())};
      demand[x.index()][0] = quantity::milli(random.one_in(4) ? 0 : random.between(0, 40));
      if (random.one_in(6)) demand[x.index()][0] = changed.own(x)[0];
      if (usage_matters && random.one_in(2)) {
        l.release(x, l.own_usage(x));
        l.charge(x, resources<>{quantity::milli(random.between(0, 9))});
      }
      const division<1, Rule> before = changed;
      changed.change_demand(l, x, demand[x.index()]);
      const auto named = changed.changed_own();
      division<1, Rule> anew{rule};
      anew.update(l, demand);
      for (const quota_id q : l.tree().top_down()) {
        REQUIRE(changed.own(q) == anew.own(q));
        REQUIRE(changed.entitled(q) == anew.entitled(q));
        const bool is_named = std::find(named.begin(), named.end(), q) != named.end();
        REQUIRE((is_named || changed.own(q) == before.own(q)));
      }
    }
  });
}

/// The division is sound, nothing usable is left over, and more capacity never lowers an entitlement: law 6
/// in the tree.
template <class Rule>
void check_law_6(Rule rule, std::size_t cases, bool by_quota = false) {
  allot_test::for_each_seed(cases, [&](random_source& random) {
    auto specs = random_specs(random, true);
    for (quota_spec<>& s : specs) s.priority = static_cast<std::int32_t>(random.below(3));
    auto demand = random_demand(random, specs.size());
    // More capacity is more quota for the root itself. Where quota is the measure, this changes the measure;
    // so there the root has no jobs of its own.
    for (std::size_t i = 0; i < specs.size(); ++i) {
      if (by_quota && specs[i].parent.empty()) demand[i] = {};
    }
    std::vector<quantity> before(specs.size());
    for (int step = 0; step < 15; ++step) {
      ledger<> l = make_ledger(specs);
      division<1, Rule> shares{rule};
      shares.update(l, demand);
      for (const quota_id x : l.tree().top_down()) {
        CHECK(shares.own(x)[0] <= demand[x.index()][0]);
        CHECK(shares.own(x)[0] >= before[x.index()]);
        before[x.index()] = shares.own(x)[0];
        l.charge(x, shares.own(x));
      }
      CHECK(l.is_sound());
      for (const quota_id x : l.tree().top_down()) {
        if (shares.own(x)[0] < demand[x.index()][0]) CHECK(l.headroom(x, 0) <= quantity{});
      }
      for (quota_spec<>& s : specs) {
        if (s.parent.empty()) s.nominal[0] += quantity::milli(random.between(1, 3));
      }
    }
  });
}

}  // namespace

TEST_CASE("division: a changed demand gives what dividing from scratch gives") {
  check_change_demand(allot::proportional_to_weight{}, 400, false);
  check_change_demand(allot::proportional_to_quota{}, 100, false);
  check_change_demand(allot::proportional<allot::by_weight>{allot::webster{quantity::milli(3)}}, 200, false);
  check_change_demand(allot::proportional<allot::by_weight, allot::largest_remainder>{}, 200, false);
  check_change_demand(allot::priority_bands<>{}, 200, false);
  check_change_demand(allot::most_under_served_first{}, 200, false);
  check_change_demand(allot::first_come{}, 300, true);
  check_change_demand(allot::decayed_surplus<>{}, 100, false);
}

TEST_CASE("division: the same where so many children share a pool that its division is kept") {
  check_change_demand(allot::proportional_to_weight{}, 40, false, true);
  check_change_demand(allot::proportional_to_quota{}, 20, false, true);
  check_change_demand(allot::proportional<allot::by_weight>{allot::webster{quantity::milli(3)}}, 10, false,
                      true);
  check_change_demand(allot::priority_bands<>{}, 10, false, true);
}

TEST_CASE("division: rules that promise it conserve capacity and are monotone in any tree") {
  check_law_6(allot::proportional_to_quota{}, 100, true);
  check_law_6(allot::proportional_to_weight{allot::webster{quantity::milli(3)}}, 100);
  check_law_6(allot::priority_bands<>{}, 100);
  check_law_6(allot::most_under_served_first{}, 100, true);
  check_law_6(allot::first_come{}, 100);
  check_law_6(allot::decayed_surplus<>{}, 100);
}

TEST_CASE("division: a longer queue of an unsatisfied quota redivides nothing") {
  struct counted : allot::proportional_to_weight {
    std::size_t* times;
    explicit counted(std::size_t* t) : times(t) {}
    void operator()(quantity surplus, std::span<allot::claimant> claimants) {
      ++*times;
      allot::proportional_to_weight::operator()(surplus, claimants);
    }
  };
  const ledger<> l = siblings(16, {{4, 1000}, {2, 1000}, {2, 1000}});
  std::size_t times = 0;
  division<1, counted> shares{counted{&times}};
  shares.update(l, whole({0, 16, 16, 1}));
  times = 0;
  shares.change_demand(l, quota_id{1}, resources<>{gpus(17)});
  shares.change_demand(l, quota_id{1}, resources<>{gpus(9)});
  CHECK(times == 0);
  shares.change_demand(l, quota_id{3}, resources<>{gpus(2)});
  CHECK(times > 0);
}

TEST_CASE("division: changing a demand allocates nothing") {
  random_source random{11};
  const ledger<> l = make_ledger(random_specs(random, false));
  auto demand = random_demand(random, l.tree().slots());
  division<> shares;
  shares.update(l, demand);
  const auto change = [&] {
    const quota_id x{random.below(demand.size())};
    shares.change_demand(l, x, resources<>{quantity::milli(random.between(0, 40))});
  };
  for (int i = 0; i < 50; ++i) change();
  CHECK(allot_test::allocations_in([&] {
          for (int i = 0; i < 200; ++i) change();
        }) == 0);
  CHECK_THROWS(shares.change_demand(l, quota_id{0}, resources<>{quantity::milli(-1)}));
}

TEST_CASE("division: an unknown quota is entitled to nothing") {
  const ledger<> l{allot::build_quota_tree<1>({{.name = "a", .nominal = gpus(4)}}).value()};
  division<> shares;
  CHECK(shares.entitled(quota_id{0}) == resources<>{});
  shares.update(l, std::vector<resources<>>{gpus(4)});
  CHECK(shares.own(quota_id{0}) == resources<>{gpus(4)});
  for (const quota_id x : {quota_id{1}, quota_id::none()}) {
    CHECK(shares.entitled(x) == resources<>{});
    CHECK(shares.own(x) == resources<>{});
  }
}
