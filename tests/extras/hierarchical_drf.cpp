// SPDX-License-Identifier: BSL-1.0
#include <allot/extras/hierarchical_drf.hpp>
#include <allot/fairshare/subtree_usage.hpp>
#include <allot/fairshare/total_share.hpp>
#include <allot/fairshare/tournament.hpp>
#include <allot/quota/builder.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/random_quotas.hpp"
#include "tests/support/seeds.hpp"

using allot::fair_weight;
using allot::gpus;
using allot::hierarchical_drf;
using allot::ledger;
using allot::quota_id;
using allot::quota_spec;
using allot::resources;

namespace {

using two = resources<2>;

enum class by { h_drf, h_drf_that_sees_no_blocks, sums };

/// One task at a time for the quota whose turn it is, until none fits: the requests of each quota, in a tree
/// of names.
class filling {
 public:
  filling(two capacity, std::vector<quota_spec<2>> specs)
      : capacity_(capacity), books_(allot::build_quota_tree<2>(std::move(specs)).value()) {
    asks_.resize(books_.tree().slots());
    tasks_.assign(asks_.size(), 0);
  }
  void ask(const char* name, two task, std::int64_t tasks) {
    const quota_id x = books_.tree().find(name);
    asks_[x.index()] = task;
    waiting_.push_back({x, tasks});
  }

  void run(by order) {
    hierarchical_drf<2> shares{capacity_};
    allot::subtree_usage<2> sums{books_};
    allot::tournament<2, allot::lowest_hierarchical_share<2>> turns{{&shares}};
    allot::tournament<2, allot::lowest_total_share<2>> plain{{{&sums}, capacity_}};
    turns.reset(books_.tree());
    plain.reset(books_.tree());
    for (;;) {
      shares.update(
          books_, [&](quota_id x) { return order == by::h_drf ? !can_grow(x) : asks_[x.index()] == two{}; });
      for (const waiting& w : waiting_) {
        for (const auto each : {0, 1}) {
          if (can_grow(w.quota)) {
            each == 0 ? turns.enter(books_, w.quota, asks_[w.quota.index()], {0, 0, w.quota.index()})
                      : plain.enter(books_, w.quota, asks_[w.quota.index()], {0, 0, w.quota.index()});
          } else {
            each == 0 ? turns.leave(books_, w.quota) : plain.leave(books_, w.quota);
          }
        }
      }
      turns.refresh_all(books_);
      plain.refresh_all(books_);
      const quota_id x = order == by::sums ? plain.best(books_.tree()) : turns.best(books_.tree());
      if (!x) return;
      books_.charge(x, asks_[x.index()]);
      sums.charge(books_.tree(), x, asks_[x.index()]);
      free_ -= asks_[x.index()];
      ++tasks_[x.index()];
    }
  }
  [[nodiscard]] std::int64_t tasks(const char* name) const {
    return tasks_[books_.tree().find(name).index()];
  }

 private:
  struct waiting {
    quota_id quota;
    std::int64_t tasks;
  };
  [[nodiscard]] bool can_grow(quota_id x) const {
    for (const waiting& w : waiting_) {
      if (w.quota == x) return tasks_[x.index()] < w.tasks && allot::all_at_most(asks_[x.index()], free_);
    }
    return false;
  }

  two capacity_;
  two free_ = capacity_;
  ledger<2> books_;
  std::vector<two> asks_;
  std::vector<std::int64_t> tasks_;
  std::vector<waiting> waiting_;
};

quota_spec<2> below(const char* parent, const char* name) {
  return {.name = name, .parent = parent};
}
std::vector<quota_spec<2>> sci_and_eng() {
  return {{.name = "root"},
          below("root", "sci"),
          below("root", "eng"),
          below("eng", "dev"),
          below("eng", "prod")};
}

}  // namespace

TEST_CASE("hierarchical_drf: a group whose members need different resources has its part of both") {
  // Volcano's scenario "rescaling": 10 CPUs and 10 of memory; sci needs both equally, in eng one child needs
  // CPUs and the other memory.
  filling f{{gpus(10), gpus(10)}, sci_and_eng()};
  f.ask("sci", {gpus(1), gpus(1)}, 10);
  f.ask("dev", {gpus(1), gpus(0)}, 10);
  f.ask("prod", {gpus(0), gpus(1)}, 10);
  f.run(by::h_drf);
  CHECK(f.tasks("sci") == 5);
  CHECK(f.tasks("dev") == 5);
  CHECK(f.tasks("prod") == 5);
}

TEST_CASE("hierarchical_drf: a member that has run ahead does not starve its sibling (first anomaly)") {
  // prod was alone and has all of the memory. Then dev and sci ask for the CPUs. By sums eng has enough, so
  // sci gets every CPU; scaled to dev, which has the least, eng is as poor as dev is.
  for (const by order : {by::h_drf, by::sums}) {
    filling f{{gpus(10), gpus(10)}, sci_and_eng()};
    f.ask("prod", {gpus(0), gpus(1)}, 20);
    f.run(order);
    CHECK(f.tasks("prod") == 10);
    f.ask("sci", {gpus(1), gpus(0)}, 10);
    f.ask("dev", {gpus(1), gpus(0)}, 10);
    f.run(order);
    CHECK(f.tasks("sci") == (order == by::h_drf ? 5 : 10));
    CHECK(f.tasks("dev") == (order == by::h_drf ? 5 : 0));
  }
}

TEST_CASE("hierarchical_drf: a blocked member does not let its siblings run away (second anomaly)") {
  // Volcano's scenario "blocking nodes": the CPUs run out while there is memory. pg31, stuck at a third, must
  // not make pg3 look as if it had no more than that while pg32 continues.
  for (const by order : {by::h_drf, by::h_drf_that_sees_no_blocks}) {
    filling f{{gpus(30), gpus(30)},
              {{.name = "root"},
               below("root", "pg1"),
               below("root", "pg2"),
               below("root", "pg3"),
               below("pg3", "pg31"),
               below("pg3", "pg32"),
               below("root", "pg4")}};
    for (const char* name : {"pg1", "pg2", "pg31"}) f.ask(name, {gpus(1), gpus(0)}, 30);
    for (const char* name : {"pg32", "pg4"}) f.ask(name, {gpus(0), gpus(1)}, 30);
    f.run(order);
    CHECK(f.tasks("pg1") == 10);
    CHECK(f.tasks("pg2") == 10);
    CHECK(f.tasks("pg31") == 10);
    CHECK(f.tasks("pg32") == (order == by::h_drf ? 15 : 20));
    CHECK(f.tasks("pg4") == (order == by::h_drf ? 15 : 10));
  }
}

TEST_CASE("hierarchical_drf: a blocked group, and blocked contenders come last") {
  ledger<2> l{allot::build_quota_tree<2>(sci_and_eng()).value()};
  const auto id = [&](const char* name) { return l.tree().find(name); };
  hierarchical_drf<2> shares{{gpus(10), gpus(10)}};
  l.charge(id("dev"), {gpus(4), gpus(0)});
  l.charge(id("prod"), {gpus(0), gpus(2)});
  shares.update(l, [&](quota_id x) { return x != id("dev") && x != id("prod"); });
  // dev is scaled down to prod's fifth.
  CHECK((shares.share(id("eng"), false) == hierarchical_drf<2>::one * 2 / 10));
  CHECK_FALSE(shares.is_blocked(id("eng"), false));
  shares.refresh(l, id("prod"), true);
  CHECK((shares.share(id("eng"), false) == hierarchical_drf<2>::one * 4 / 10));
  CHECK_FALSE(shares.is_blocked(id("eng"), false));
  shares.refresh(l, id("dev"), true);
  CHECK((shares.share(id("eng"), false) == hierarchical_drf<2>::one * 4 / 10));
  CHECK(shares.is_blocked(id("eng"), false));
  CHECK(shares.is_blocked(id("root"), false));
  // When blocked, eng is last even against a larger share.
  l.charge(id("sci"), {gpus(6), gpus(6)});
  shares.refresh(l, id("sci"), false);
  const allot::lowest_hierarchical_share<2> order{&shares};
  CHECK((order(l, {id("sci"), false}) < order(l, {id("eng"), false})));
}

TEST_CASE("hierarchical_drf: shares are per weight, also where members are scaled") {
  auto specs = sci_and_eng();
  for (quota_spec<2>& s : specs) {
    if (s.name == "dev") s.weight = fair_weight::whole(2);
  }
  filling f{{gpus(12), gpus(12)}, specs};
  f.ask("dev", {gpus(1), gpus(0)}, 40);
  f.ask("prod", {gpus(1), gpus(0)}, 40);
  f.run(by::h_drf);
  CHECK(f.tasks("dev") == 8);
  CHECK(f.tasks("prod") == 4);
}

TEST_CASE("hierarchical_drf: refreshing a path equals a full update") {
  allot_test::for_each_seed(150, [](allot_test::random_source& random) {
    ledger<2> l{allot::quota_tree<2>{allot_test::random_quotas<2>(random, {.one_unlimited_in = 0})}};
    const two capacity{gpus(random.between(0, 200)), gpus(200)};
    std::vector<bool> blocked(l.tree().slots());
    hierarchical_drf<2> kept{capacity};
    const auto is_blocked = [&](quota_id x) -> bool { return blocked[x.index()]; };
    kept.update(l, is_blocked);
    for (int i = 0; i < 30; ++i) {
      const quota_id x{random.below(blocked.size())};
      blocked[x.index()] = random.one_in(3);
      l.charge(x, {gpus(random.between(0, 3)), gpus(random.between(0, 3))});
      kept.refresh(l, x, blocked[x.index()]);
      hierarchical_drf<2> anew{capacity};
      anew.update(l, is_blocked);
      for (const quota_id q : l.tree().top_down()) {
        for (const bool own : {false, true}) {
          CHECK((kept.share(q, own) == anew.share(q, own)));
          CHECK(kept.is_blocked(q, own) == anew.is_blocked(q, own));
        }
      }
    }
  });
}
