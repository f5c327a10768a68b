// SPDX-License-Identifier: BSL-1.0
#include <allot/fairshare/decayed_surplus.hpp>
#include <allot/fairshare/division.hpp>
#include <allot/fairshare/order.hpp>
#include <allot/fairshare/usage_history.hpp>
#include <allot/quota/builder.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

#include "tests/support/count_allocations.hpp"
#include "tests/support/random_quotas.hpp"
#include "tests/support/seeds.hpp"

using allot::fair_weight;
using allot::gpus;
using allot::history_settings;
using allot::instant;
using allot::quantity;
using allot::quota_id;
using allot::resources;
using allot::usage_history;
using allot_test::random_source;

namespace {

allot::quota_tree<> department() {
  return allot::build_quota_tree<1>({{.name = "root", .nominal = gpus(16)},
                                     {.name = "a", .parent = "root"},
                                     {.name = "b", .parent = "root"}})
      .value();
}
const quota_id root{0}, a{1}, b{2};

/// The definition, second by second.
class second_by_second {
 public:
  second_by_second(std::size_t seats, history_settings settings) : settings_(settings), now_(seats) {}

  std::vector<std::int64_t>& now() { return now_; }
  /// Advances by one second.
  void pass() { log_.push_back(now_); }
  [[nodiscard]] double sum(std::size_t seat) const {
    double result = 0;
    const std::size_t end = log_.size();
    const auto window = static_cast<std::size_t>(settings_.window);
    std::size_t begin = 0;
    if (settings_.window > 0) {
      begin = settings_.tumbling ? end - end % window : (end > window ? end - window : 0);
    }
    for (std::size_t t = begin; t < end; ++t) {
      // A second counts as a whole; the time from its end to `now` is the same for usage and capacity.
      const double age = static_cast<double>(end - t);
      const double factor =
          settings_.half_life > 0 ? std::exp2(-age / static_cast<double>(settings_.half_life)) : 1;
      result += factor * static_cast<double>(log_[t][seat]);
    }
    return result;
  }

 private:
  history_settings settings_;
  std::vector<std::int64_t> now_;
  std::vector<std::vector<std::int64_t>> log_;
};

}  // namespace

TEST_CASE("usage_history: usage counts half after a half-life, also in the division") {
  const auto tree = department();
  usage_history<> history{history_settings{100}};
  history.reset(tree, 0);
  history.set_capacity(resources<>{gpus(16)}, 0);
  history.charge(tree, a, resources<>{gpus(16)}, 0);
  history.advance(100'000);
  CHECK(history.past_use(a, false, 0) == 1'000'000'000);
  CHECK(history.past_use(a, true, 0) == 1'000'000'000);
  CHECK(history.past_use(root, false, 0) == 1'000'000'000);
  CHECK(history.past_use(root, true, 0) == 0);
  history.release(tree, a, resources<>{gpus(16)}, 100'000);
  history.charge(tree, b, resources<>{gpus(16)}, 100'000);
  history.advance(100'100);
  CHECK(std::llabs(history.past_use(a, false, 0) - 500'000'000) <= 1);
  CHECK(std::llabs(history.past_use(b, false, 0) - 500'000'000) <= 1);
  history.advance(100'200);
  CHECK(std::llabs(history.past_use(a, false, 0) - 250'000'000) <= 1);

  const allot::ledger<> l{tree};
  const allot::past_use_of<1> source{&history};
  allot::division<1, allot::informed<allot::decayed_surplus<>, allot::past_use_of<1>>> shares{
      allot::informed<allot::decayed_surplus<>, allot::past_use_of<1>>{source}};
  shares.update(l, std::vector<resources<>>{gpus(0), gpus(16), gpus(16)});
  // 0.5 + (0.5 - 0.25) to 0.5 + (0.5 - 0.75). The root itself owns everything but wants nothing.
  CHECK(std::llabs(shares.own(a)[0].in_milli() - 12'000) <= 1);
  CHECK(std::llabs(shares.own(b)[0].in_milli() - 4'000) <= 1);
}

TEST_CASE("usage_history: without a half-life all counts alike, and a window forgets") {
  const auto tree = department();
  for (const bool window : {false, true}) {
    usage_history<> history{history_settings{-1, window ? 60 : 0}};
    history.reset(tree, 1000);
    history.set_capacity(resources<>{gpus(10)}, 1000);
    history.charge(tree, a, resources<>{gpus(10)}, 1000);
    history.release(tree, a, resources<>{gpus(10)}, 1030);
    history.advance(1060);
    CHECK(history.past_use(a, false, 0) == 500'000'000);
    history.advance(1075);
    CHECK(history.past_use(a, false, 0) == (window ? 250'000'000 : 400'000'000));
    history.advance(1100);
    CHECK(history.past_use(a, false, 0) == (window ? 0 : 300'000'000));
  }
}

TEST_CASE("usage_history: no capacity gives no usage, and usage beyond capacity is bounded") {
  const auto tree = department();
  usage_history<> history;
  history.reset(tree, 0);
  history.charge(tree, a, resources<>{gpus(9)}, 0);
  history.advance(10);
  CHECK(history.past_use(a, false, 0) == 0);
  history.set_capacity(resources<>{quantity::milli(1)}, 10);
  history.advance(11);
  CHECK(history.past_use(a, false, 0) == 1'000'000'000'000);
  CHECK_THROWS(history.advance(5));
}

TEST_CASE("usage_history: agrees with the definition, however often it is queried") {
  allot_test::for_each_seed(300, [](random_source& random) {
    const allot::quota_tree<> tree{
        allot_test::random_quotas<1>(random, {.most_quotas = 6, .one_unlimited_in = 0})};
    history_settings settings{random.between(0, 40), random.one_in(2) ? random.between(1, 60) : 0,
                              random.one_in(3)};
    usage_history<> history{settings};
    history.reset(tree, 0);
    const std::size_t seats = 2 * tree.slots() + 1;
    second_by_second definition{seats, settings};
    instant now = 0;
    for (int i = 0; i < 40; ++i) {
      const instant later = now + random.between(0, 6);
      for (; now < later; ++now) definition.pass();
      const quota_id x{random.below(tree.slots())};
      auto& uses = definition.now();
      if (random.one_in(6)) {
        uses.back() = random.between(0, 30'000);
        history.set_capacity(resources<>{quantity::milli(uses.back())}, now);
      } else {
        const std::int64_t own = uses[2 * x.index() + 1];
        const std::int64_t amount = random.between(0, 9000);
        const bool frees = amount <= own;
        const resources<> request{quantity::milli(amount)};
        frees ? history.release(tree, x, request, now) : history.charge(tree, x, request, now);
        uses[2 * x.index() + 1] += frees ? -amount : amount;
        for (quota_id q = x; q; q = tree.parent(q)) uses[2 * q.index()] += frees ? -amount : amount;
      }
      if (random.one_in(3)) history.advance(now);
      for (const quota_id q : tree.top_down()) {
        for (const bool own : {false, true}) {
          const double all = definition.sum(seats - 1);
          const double exact = all > 0 ? definition.sum(2 * q.index() + (own ? 1 : 0)) / all : 0;
          // With hardly any capacity left in the sum, its last digit matters much.
          if (exact > 100 || all < 0.1) continue;
          CHECK(std::fabs(static_cast<double>(history.past_use(q, own, 0)) / 1e9 - exact) <
                1e-6 * (1 + exact));
        }
      }
    }
  });
}

TEST_CASE("usage_history: added quotas have no usage, and the others keep theirs") {
  const auto tree = department();
  usage_history<> history{history_settings{50, 500}};
  history.reset(tree, 0);
  history.set_capacity(resources<>{gpus(16)}, 0);
  history.charge(tree, a, resources<>{gpus(8)}, 0);
  history.advance(30);
  const std::int64_t before = history.past_use(a, false, 0);
  const auto grown = allot::build_quota_tree<1>({{.name = "root", .nominal = gpus(16)},
                                                 {.name = "a", .parent = "root"},
                                                 {.name = "b", .parent = "root"},
                                                 {.name = "c", .parent = "root"}})
                         .value();
  history.follow(grown);
  CHECK(history.past_use(a, false, 0) == before);
  CHECK(history.past_use(quota_id{3}, false, 0) == 0);
  history.charge(grown, quota_id{3}, resources<>{gpus(4)}, 30);
  history.advance(700);
  CHECK(std::llabs(history.past_use(a, false, 0) - 500'000'000) <= 2);
  CHECK(std::llabs(history.past_use(quota_id{3}, false, 0) - 250'000'000) <= 2);
}

TEST_CASE("usage_history: in a steady state nothing is allocated") {
  const auto tree = department();
  usage_history<> history{history_settings{50, 100}};
  history.reset(tree, 0);
  history.set_capacity(resources<>{gpus(16)}, 0);
  instant now = 0;
  const auto work = [&] {
    for (int i = 0; i < 500; ++i) {
      history.charge(tree, a, resources<>{gpus(1)}, ++now);
      history.release(tree, a, resources<>{gpus(1)}, ++now);
    }
  };
  work();
  CHECK(allot_test::allocations_in(work) == 0);
}

TEST_CASE("usage_history: KAI's simulation of time-based shares, by turns and in the end alike") {
  // 16 GPUs, two queues of jobs of 16 GPUs each for a cycle, window 256, half-life 128, k = 1.
  const auto tree = department();
  const allot::ledger<> l{tree};
  usage_history<> history{history_settings{128, 256}};
  history.reset(tree, 0);
  history.set_capacity(resources<>{gpus(16)}, 0);
  using rule = allot::informed<allot::decayed_surplus<>, allot::past_use_of<1>>;
  allot::division<1, rule> shares{rule{allot::past_use_of<1>{&history}}};
  std::int64_t turns[] = {0, 0, 0};
  std::int64_t in_a_row = 0;
  std::int64_t longest = 0;
  quota_id last = a;
  for (instant cycle = 0; cycle < 1024; ++cycle) {
    history.advance(cycle);
    shares.update(l, std::vector<resources<>>{gpus(0), gpus(16), gpus(16)});
    const quota_id next = shares.own(a)[0] >= shares.own(b)[0] ? a : b;
    in_a_row = next == last ? in_a_row + 1 : 1;
    longest = std::max(longest, in_a_row);
    last = next;
    ++turns[next.index()];
    history.charge(tree, next, resources<>{gpus(16)}, cycle);
    history.release(tree, next, resources<>{gpus(16)}, cycle + 1);
  }
  CHECK(turns[a.index()] == 512);
  CHECK(turns[b.index()] == 512);
  CHECK(longest <= 2);
}

TEST_CASE("usage_history: as an order, per weight") {
  const auto tree =
      allot::build_quota_tree<1>({{.name = "root"},
                                  {.name = "a", .parent = "root", .weight = fair_weight::whole(3)},
                                  {.name = "b", .parent = "root", .weight = fair_weight::whole(1)},
                                  {.name = "c", .parent = "root", .weight = fair_weight::whole(0)}})
          .value();
  const allot::ledger<> l{tree};
  usage_history<> history{history_settings{10}};
  history.reset(tree, 0);
  const allot::least_past_use_first<1> order{&history};
  static_assert(allot::quota_order<allot::least_past_use_first<1>, 1>);
  const auto key = [&](quota_id x) { return order(l, allot::contender<1>{x}); };
  const quota_id c{3};
  CHECK((key(a) == key(c)));
  history.charge(tree, a, resources<>{gpus(4)}, 0);
  history.charge(tree, b, resources<>{gpus(2)}, 0);
  history.charge(tree, c, resources<>{gpus(1)}, 0);
  history.advance(20);
  CHECK((key(a) < key(b)));
  CHECK((key(b) < key(c)));
}

TEST_CASE("usage_history: unknown quotas and dimensions have no usage") {
  const auto tree = allot::build_quota_tree<1>({{.name = "a"}}).value();
  usage_history<> history{history_settings{10}};
  for (const quota_id x : {quota_id{0}, quota_id{1}, quota_id::none()}) {
    CHECK(usage_history<>{}.past_use(x, false, 0) == 0);
    CHECK(usage_history<>{}.mass(x, true, 0) == 0);
  }
  history.reset(tree, 0);
  history.set_capacity(gpus(4), 0);
  history.charge(tree, quota_id{0}, gpus(4), 0);
  history.advance(10);
  CHECK(history.past_use(quota_id{0}, false, 0) > 0);
  for (const bool own_jobs : {false, true}) {
    // The number after the last quota's is not that of the total.
    for (const quota_id x : {quota_id{1}, quota_id{2}, quota_id::none()}) {
      CHECK(history.past_use(x, own_jobs, 0) == 0);
      CHECK(history.mass(x, own_jobs, 0) == 0);
    }
    CHECK(history.past_use(quota_id{0}, own_jobs, 1) == 0);
    CHECK(history.mass(quota_id{0}, own_jobs, 1) == 0);
  }
}

namespace {

/// One call of any kind, at that time.
void call(usage_history<>& h, const allot::quota_tree<1>& tree, instant at,
          allot_test::random_source& random) {
  const quota_id x = random.one_in(2) ? a : b;
  const resources<> r{quantity::milli(random.between(1, 4000))};
  switch (random.below(4)) {
    case 0:
      return h.set_capacity(r, at);
    case 1:
      return h.charge(tree, x, r, at);
    case 2:
      return h.release(tree, x, r, at);
    default:
      return h.advance(at);
  }
}
void check_same_usage(const usage_history<>& one, const usage_history<>& other) {
  for (const quota_id x : {root, a, b}) {
    for (const bool own : {false, true}) {
      CHECK(one.mass(x, own, 0) == other.mass(x, own, 0));
      CHECK(one.past_use(x, own, 0) == other.past_use(x, own, 0));
    }
  }
}

}  // namespace

TEST_CASE("usage_history: saving and restoring at any time changes nothing") {
  allot_test::for_each_seed(300, [](random_source& random) {
    const allot::quota_tree<1> tree = department();
    const history_settings settings{random.between(0, 1) * 7, random.between(0, 1) * 12, random.one_in(2)};
    usage_history<> kept{settings}, killed{settings};
    kept.reset(tree, 3);
    killed.reset(tree, 3);
    instant now = 3;
    for (int i = 0; i < 40; ++i) {
      now += random.between(0, 5);
      random_source same = random;
      call(killed, tree, now, same);
      call(kept, tree, now, random);
      const std::vector<std::uint64_t> saved = killed.save();
      killed = usage_history<>{settings};
      REQUIRE(killed.restore(tree, saved));
      CHECK(killed.save() == saved);
      check_same_usage(killed, kept);
      CHECK(killed.now() == kept.now());
    }
  });
}

TEST_CASE("usage_history: after a rebase all counts as if the clock had gone on") {
  allot_test::for_each_seed(300, [](random_source& random) {
    const allot::quota_tree<1> tree = department();
    const history_settings settings{random.between(0, 1) * 7, random.between(0, 1) * 12, random.one_in(2)};
    usage_history<> goes_on{settings}, is_moved{settings};
    goes_on.reset(tree, 3);
    is_moved.reset(tree, 3);
    instant now = 3;
    instant ahead = 0;
    for (int i = 0; i < 40; ++i) {
      if (random.one_in(4)) {
        const instant by = random.between(-1'000'000, 1'000'000);
        is_moved.rebase(by);
        ahead += by;
      }
      now += random.between(0, 5);
      random_source same = random;
      call(is_moved, tree, now + ahead, same);
      call(goes_on, tree, now, random);
      check_same_usage(is_moved, goes_on);
      CHECK(is_moved.now() == goes_on.now() + ahead);
    }
    for (const bool own_jobs : {false, true}) {
      std::size_t seen = 0;
      goes_on.for_each_past_use(tree, own_jobs, 0, [&](allot::quota_id x, std::int64_t use) {
        CHECK(use == goes_on.past_use(x, own_jobs, 0));
        ++seen;
      });
      CHECK(seen == tree.top_down().size());
    }
    const instant before = is_moved.now();
    is_moved.end_by(before + 1);
    CHECK(is_moved.now() == before);
    is_moved.end_by(before - 1);
    CHECK(is_moved.now() == before - 1);
    CHECK(is_moved.mass(a, false, 0) == goes_on.mass(a, false, 0));
  });
}

TEST_CASE("usage_history: invalid saved data is refused and changes nothing") {
  const allot::quota_tree<1> tree = department();
  usage_history<> h{{5, 9}};
  h.reset(tree, 0);
  h.charge(tree, a, gpus(3), 1);
  h.set_capacity(gpus(4), 2);
  const std::vector<std::uint64_t> saved = h.save();
  const auto is_refused = [&](std::vector<std::uint64_t> numbers) {
    return !h.restore(tree, numbers) && h.save() == saved;
  };
  CHECK(is_refused({}));
  for (std::size_t cut = 1; cut <= saved.size(); ++cut)
    CHECK(is_refused({saved.begin(), saved.end() - static_cast<std::ptrdiff_t>(cut)}));
  for (std::size_t at = 0; at < 5; ++at) {
    for (const std::uint64_t other : {std::uint64_t{99}, ~std::uint64_t{0}}) {
      std::vector<std::uint64_t> wrong = saved;
      wrong[at] = other;
      CHECK(is_refused(wrong));
    }
  }
  std::vector<std::uint64_t> no_such_seat = saved;
  no_such_seat[saved.size() - 2] = 7;
  CHECK(is_refused(no_such_seat));
  const auto larger = allot::build_quota_tree<1>({{.name = "x"}, {.name = "y"}}).value();
  CHECK_FALSE(h.restore(larger, saved));
  for (const allot::history_settings& other :
       {allot::history_settings{5, 8}, {4, 9}, {.half_life = 5, .window = 9, .tumbling = true}}) {
    usage_history<> of_other{other};
    CHECK_FALSE(of_other.restore(tree, saved));
  }
}

TEST_CASE("usage_history: restored for a tree in which quotas have other ids, or are gone or new") {
  usage_history<> h{{5, 9}};
  h.reset(department(), 0);
  h.charge(department(), a, gpus(3), 1);
  h.charge(department(), b, gpus(1), 2);
  h.set_capacity(gpus(4), 2);
  h.advance(6);
  const std::vector<resources<>> told{gpus(0), gpus(3), gpus(1), gpus(4)};
  const std::vector<std::uint64_t> saved = h.save(told);
  const auto other = allot::build_quota_tree<1>({{.name = "new"}, {.name = "b"}, {.name = "a"}}).value();
  usage_history<> after{{5, 9}};
  std::vector<resources<>> beside(4, gpus(7));
  REQUIRE(after.restore(other, saved, beside, std::vector<quota_id>{{}, quota_id{2}, quota_id{1}}));
  CHECK(beside == std::vector<resources<>>{gpus(7), gpus(1), gpus(3), gpus(4)});
  CHECK(after.past_use(quota_id{2}, true, 0) == h.past_use(a, true, 0));
  CHECK(after.past_use(quota_id{1}, false, 0) == h.past_use(b, false, 0));
  CHECK(after.past_use(quota_id{0}, true, 0) == 0);
  h.advance(12);
  after.advance(12);
  CHECK(after.past_use(quota_id{2}, false, 0) == h.past_use(a, false, 0));
}

TEST_CASE("usage_history: amounts beside it are saved with it, and only as many are restored") {
  const allot::quota_tree<1> tree = department();
  usage_history<> h{{5, 9}};
  h.reset(tree, 0);
  h.charge(tree, a, gpus(3), 1);
  const std::vector<resources<>> told{gpus(3), quantity::unlimited(), quantity::milli(-1)};
  const std::vector<std::uint64_t> saved = h.save(told);
  usage_history<> other{{5, 9}};
  other.reset(tree, 0);
  const std::vector<quota_id> same_ids{root, a, b};
  for (const std::size_t count : {std::size_t{0}, std::size_t{2}, std::size_t{4}, saved.size() + 1}) {
    std::vector<resources<>> some(count, gpus(7));
    CHECK_FALSE(other.restore(tree, saved, some, same_ids));
    CHECK(some == std::vector<resources<>>(count, gpus(7)));
  }
  std::vector<resources<>> same(3);
  REQUIRE(other.restore(tree, saved, same, same_ids));
  CHECK(same == told);
  CHECK(other.save() == h.save());
}
