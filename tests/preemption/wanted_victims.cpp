// SPDX-License-Identifier: BSL-1.0
#include <allot/preemption/detail/victim_queue.hpp>
#include <allot/preemption/detail/wanted_victims.hpp>
#include <allot/preemption/guard.hpp>
#include <allot/quota/builder.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "tests/support/seeds.hpp"

using allot::beneficiary;
using allot::gpus;
using allot::job_id;
using allot::ledger;
using allot::quota_id;
using allot::relation;
using allot::running_job;
using allot::victim;

namespace {

using queue = allot::detail::victim_queue<1, allot::lowest_priority_then_newest, allot::unprotected>;
using wanted = allot::detail::wanted_victims<1, queue>;

/// A owns 8 of 10 and wants 4; B owns 2 and uses all, with jobs of 1, 2, 3 and 4 GPUs.
struct lent_out {
  ledger<> l{allot::build_quota_tree<1>({{.name = "root"},
                                         {.name = "A", .parent = "root", .nominal = gpus(8)},
                                         {.name = "B", .parent = "root", .nominal = gpus(2)}})
                 .value()};
  allot::running_index<> running;
  beneficiary<1> b{quota_id{1}, gpus(4)};
  queue asked{{}, {}};
  /// The jobs preempted so far, in order.
  std::vector<victim<1>> victims;
  /// The jobs evicted at the moment, among those that a choice considers.
  std::set<std::size_t> gone;

  lent_out() {
    running.resize(3);
    for (std::size_t i = 0; i < 4; ++i) {
      running_job<> j;
      j.id = job_id{i};
      j.quota = quota_id{2};
      j.started = static_cast<allot::instant>(i);
      j.order = i;
      j.request = gpus(static_cast<std::int64_t>(i) + 1);
      l.charge(j.quota, j.request);
      running.insert(j);
    }
    asked.reset();
    asked.find(l, running, b, {true});
  }
  /// Takes the next job, as a search does.
  void ask_next() {
    auto* g = asked.pop(l, b);
    REQUIRE(g != nullptr);
    const auto d = asked.candidate_of(*g, b);
    l.release(d.quota, d.next.request);
    asked.mark_taken(d.next.id, true);
    asked.count(*g, d.next);
    victims.push_back({d.next, d.how});
    asked.took(l, b, *g, false);
  }
  void give_back() {
    for (; !victims.empty(); victims.pop_back()) {
      l.charge(victims.back().job.quota, victims.back().job.request);
    }
  }
  [[nodiscard]] static std::vector<std::size_t> order_of(wanted& w) {
    std::vector<std::size_t> order;
    w.ask([&](const running_job<1>& j) { return order.push_back(j.id.index()), false; });
    return order;
  }
};

/// What a search supposes while it chooses, with conditions of the test's own.
template <class Fits, class Helps>
struct supposition {
  lent_out& w;
  Fits fits;
  Helps helps;
  void take(const running_job<1>& j) { CHECK(w.gone.insert(j.id.index()).second); }
  void give_back(const running_job<1>& j) { CHECK(w.gone.erase(j.id.index()) == 1); }
};
template <class Fits, class Helps>
bool would_do(wanted& choice, lent_out& w, Fits fits, Helps helps) {
  supposition<Fits, Helps> without{w, fits, helps};
  const bool yes = choice.would_do(without);
  CHECK(w.gone.empty());
  return yes;
}
template <class Fits>
bool choose(wanted& choice, lent_out& w, Fits fits, std::size_t left = 1000) {
  const auto none_helps = [](const running_job<1>&) { return false; };
  supposition<Fits, decltype(none_helps)> without{w, fits, none_helps};
  const bool found = choice.choose(without, left);
  CHECK(w.gone.empty());
  return found;
}

}  // namespace

TEST_CASE("wanted_victims: a job that can never be eligible is not a candidate") {
  lent_out w;
  wanted choice;
  CHECK(choice.gather(w.l, w.b, w.asked, w.victims));
  w.b.may.reclaim = allot::preempt_reclaim::lower_priority;
  CHECK_FALSE(choice.gather(w.l, w.b, w.asked, w.victims));
  w.b.priority = 1;
  CHECK(choice.gather(w.l, w.b, w.asked, w.victims));
}

TEST_CASE("wanted_victims: a needed job is chosen, whether tried before or not") {
  lent_out w;
  w.ask_next();
  REQUIRE(w.victims.front().job.id == job_id{3});
  wanted choice;
  REQUIRE(choice.gather(w.l, w.b, w.asked, w.victims));

  // With the one evicted already, there would be room if the first were evicted too.
  const auto all_help = [](const running_job<1>&) { return true; };
  const auto none_helps = [](const running_job<1>&) { return false; };
  CHECK(would_do(
      choice, w,
      [&] {
        return w.gone == std::set<std::size_t>{0, 1, 2};
      },
      all_help));
  CHECK_FALSE(would_do(
      choice, w, [&] { return w.gone.count(3) == 1; }, none_helps));

  choice.rank(w.l, w.b, w.asked);
  w.give_back();
  CHECK_FALSE(choose(choice, w, [] { return false; }));
  CHECK_FALSE(choose(
      choice, w, [] { return true; }, 0));
  CHECK(choose(choice, w, [&] { return w.gone.count(0) == 1 && w.gone.count(2) == 1; }));
  // The smallest is preempted first.
  CHECK(lent_out::order_of(choice) == std::vector<std::size_t>{0, 2});
  std::size_t visited = 0;
  CHECK(choice.ask([&](const running_job<1>&) { return ++visited == 1; }));
  CHECK(visited == 1);

  // A job that was chosen but may not be preempted is excluded from the next choice.
  w.asked.reset();
  w.asked.mark_taken(job_id{2}, true);
  CHECK(choice.drop_unwilling(w.asked));
  CHECK_FALSE(choose(choice, w, [&] { return w.gone.count(0) == 1; }));
}

TEST_CASE("wanted_victims: jobs that do not help are dropped, unless tried before") {
  lent_out w;
  w.ask_next();
  wanted choice;
  REQUIRE(choice.gather(w.l, w.b, w.asked, w.victims));
  const auto helps = [&](const running_job<1>& j) {
    CHECK(w.gone == std::set<std::size_t>{0, 1, 2});
    return j.id == job_id{1};
  };
  CHECK(would_do(
      choice, w, [] { return true; }, helps));
  choice.rank(w.l, w.b, w.asked);
  w.give_back();
  std::set<std::size_t> most;
  CHECK_FALSE(choose(choice, w, [&] {
    most.insert(w.gone.begin(), w.gone.end());
    return false;
  }));
  CHECK(most == std::set<std::size_t>{1, 3});
}

TEST_CASE("wanted_victims: a choice makes room, and every job in it is needed") {
  allot_test::for_each_seed(300, [](allot_test::random_source& random) {
    lent_out w;
    const std::uint64_t asked = random.below(4);
    for (std::uint64_t i = 0; i < asked; ++i) w.ask_next();
    wanted choice;
    if (!choice.gather(w.l, w.b, w.asked, w.victims)) return;
    wanted of_helpful = choice;
    // Room: the GPUs of the jobs that run where the new one may be placed.
    const std::uint64_t where = random.below(16);
    const auto size = static_cast<std::int64_t>(random.between(1, 10));
    const auto has_room = [&](const std::set<std::size_t>& without) {
      std::int64_t sum = 0;
      for (const std::size_t i : without)
        sum += (where >> i & 1U) != 0 ? static_cast<std::int64_t>(i) + 1 : 0;
      return sum >= size;
    };
    const bool with_all = would_do(
        of_helpful, w,
        [&] {
          std::set<std::size_t> gone = w.gone;
          for (const auto& v : w.victims) gone.insert(v.job.id.index());
          return has_room(gone);
        },
        [&](const running_job<1>& j) { return (where >> j.id.index() & 1U) != 0; });
    CHECK(with_all == has_room({0, 1, 2, 3}));
    choice.rank(w.l, w.b, w.asked);
    of_helpful.rank(w.l, w.b, w.asked);
    w.give_back();
    const bool found = choose(choice, w, [&] { return has_room(w.gone); });
    CHECK(found == has_room({0, 1, 2, 3}));
    if (!found) return;
    // The choice does not change when irrelevant jobs are forgotten.
    REQUIRE(choose(of_helpful, w, [&] { return has_room(w.gone); }));
    CHECK(lent_out::order_of(of_helpful) == lent_out::order_of(choice));
    std::set<std::size_t> chosen;
    for (const std::size_t i : lent_out::order_of(choice)) chosen.insert(i);
    CHECK(has_room(chosen));
    for (const std::size_t i : chosen) {
      std::set<std::size_t> others = chosen;
      others.erase(i);
      CHECK_FALSE(has_room(others));
    }
  });
}
