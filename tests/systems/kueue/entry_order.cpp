// SPDX-License-Identifier: BSL-1.0
#include <allot/quota/builder.hpp>
#include <allot/systems/kueue/detail/entry_order.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tests/support/random_quotas.hpp"
#include "tests/support/seeds.hpp"

using allot::fair_weight;
using allot::gpus;
using allot::quota_id;

namespace {

struct choice {
  std::size_t borrows = 0;
  allot::resources<1> request{};
};
struct entry {
  std::string name;
  quota_id quota{};
  quota_id root{};
  std::int64_t priority = 0;
  std::int64_t submitted = 0;
  std::uint64_t order = 0;
  allot::job_id job{};
  choice chosen{};
};

/// Calls `visit(i)` for the entries in order, with no other heads.
template <std::size_t N, class Order, class Visit>
void for_each(Order& order, allot::ledger<N>& l, std::vector<entry>& entries, Visit visit) {
  allot::detail::borrowing_heads<N, typename Order::standing> none;
  none.reset(l.tree());
  std::vector<quota_id> roots;
  for (const entry& e : entries) {
    if (std::find(roots.begin(), roots.end(), e.root) == roots.end()) roots.push_back(e.root);
  }
  order.for_each(l, std::span<entry>{entries}, std::span<const quota_id>{roots}, none, visit,
                 [](const auto&) { FAIL("there are no others"); });
}

/// With `admits`, each visited entry is given what it requests.
template <class Order>
std::string visits(Order& order, allot::ledger<>& l, std::vector<entry>& entries, bool admits = false) {
  std::string said;
  const auto before = l.save();
  for_each(order, l, entries, [&](std::size_t i) {
    said += (said.empty() ? "" : " ") + entries[i].name;
    if (admits) l.charge(entries[i].quota, entries[i].chosen.request);
  });
  l.rollback(before);
  return said;
}

allot::ledger<> make_ledger(std::vector<allot::quota_spec<1>> specs) {
  for (auto& s : specs) s.inclusive = false;
  return allot::ledger<>{allot::build_quota_tree<1>(std::move(specs)).value()};
}
const quota_id root{0}, a{1}, b{2}, c{3};

/// Who is next of those that wait, by the definition: at each quota all children are compared, with what
/// their best entry requests added.
class next_by_definition {
 public:
  next_by_definition(allot::ledger<>& l, const std::vector<entry>& all) : l_(l), all_(all) {
    shares_.reset(l);
  }
  /// The first of them in the subtree of x.
  std::optional<std::size_t> first(const std::vector<std::size_t>& waiting, quota_id x) const {
    std::optional<std::size_t> best;
    key of_best;
    const auto offer = [&](std::size_t i, quota_id of, bool own_jobs) {
      const key k = key_of(i, of, own_jobs);
      if (!best || before(i, k, *best, of_best)) best = i, of_best = k;
    };
    for (const std::size_t i : waiting) {
      if (all_[i].quota == x) offer(i, x, true);
    }
    for (const quota_id child : l_.tree().children(x)) {
      if (const auto i = first(waiting, child)) offer(*i, child, false);
    }
    return best;
  }

 private:
  struct key {
    bool borrows = false;
    allot::borrowed_share share{};
  };
  key key_of(std::size_t i, quota_id x, bool own_jobs) const {
    const auto s = l_.save();
    l_.charge(all_[i].quota, all_[i].chosen.request);
    const allot::quantity left =
        own_jobs ? l_.supply_of(x, 0).own_pool - l_.own_usage(x, 0) : l_.balance(x, 0);
    const key k{all_[i].chosen.request[0] > allot::quantity{} && left < allot::quantity{},
                own_jobs ? shares_.own_share_of(l_, x) : shares_.share_of(l_, x)};
    l_.rollback(s);
    return k;
  }
  bool before(std::size_t i, const key& x, std::size_t j, const key& y) const {
    if (x.borrows != y.borrows) return y.borrows;
    const auto o = x.share <=> y.share;
    return o != 0 ? o < 0 : allot::goes_first(all_[i], all_[j]);
  }

  allot::ledger<>& l_;
  const std::vector<entry>& all_;
  allot::flavored_shares<1> shares_;
};

}  // namespace

TEST_CASE("entry_order: the lowest share by its definition, before each pick, in random trees") {
  allot_test::for_each_seed(300, [](allot_test::random_source& random) {
    allot::ledger<> l{allot::build_quota_tree<1>(
                          allot_test::random_quotas<1>(random, {.most_quotas = 20, .one_unlimited_in = 0}))
                          .value()};
    allot::lowest_share_first<1> order;
    order.reset(l);
    // Several cycles, so that nothing is left of one in the next.
    for (int cycle = 0; cycle < 4; ++cycle) {
      std::vector<entry> all;
      std::vector<std::size_t> waiting;
      for (const quota_id x : l.tree().top_down()) {
        if (random.one_in(3)) continue;
        entry e;
        e.quota = e.root = x;
        while (l.tree().parent(e.root)) e.root = l.tree().parent(e.root);
        e.priority = random.between(0, 1);
        e.order = all.size();
        e.chosen.request[0] = gpus(random.between(0, 4));
        waiting.push_back(all.size());
        all.push_back(e);
      }
      const auto before = l.save();
      const next_by_definition definition{l, all};
      for_each(order, l, all, [&](std::size_t i) {
        REQUIRE(definition.first(waiting, all[i].root) == i);
        waiting.erase(std::find(waiting.begin(), waiting.end(), i));
        if (random.one_in(2)) l.charge(all[i].quota, all[i].chosen.request);
      });
      CHECK(waiting.empty());
      if (random.one_in(2)) {
        l.rollback(before);
      } else {
        l.commit(before);
      }
    }
  });
}

TEST_CASE("entry_order: nearest capacity, then priority, then age, as Kueue's TestEntryOrdering") {
  auto l = make_ledger({{.name = "root"}});
  allot::nearest_loan_first<1> order;
  order.reset(l);
  const auto now = std::int64_t{100};
  std::vector<entry> all{
      {"old_borrowing", root, root, 0, now, 1, {}, {1}},
      {"old", root, root, 0, now + 1, 2},
      {"new", root, root, 0, now + 3, 3},
      {"high_pri_borrowing", root, root, 1, now + 3, 4, {}, {1}},
      {"new_high_pri", root, root, 1, now + 4, 5},
      {"new_borrowing", root, root, 0, now + 3, 6, {}, {1}},
      {"far", root, root, 9, now, 7, {}, {2}},
      {"twin", root, root, 0, now + 3, 8, {}, {1}},
  };
  CHECK(visits(order, l, all) ==
        "new_high_pri old new high_pri_borrowing old_borrowing new_borrowing twin far");
}

TEST_CASE("entry_order: the lowest share with the request first, recomputed after each entry") {
  // a and b own 2 each, and 8 more can be borrowed.
  auto l = make_ledger({{.name = "root", .nominal = gpus(8)},
                        {.name = "a", .parent = "root", .nominal = gpus(2)},
                        {.name = "b", .parent = "root", .nominal = gpus(2), .weight = fair_weight::whole(4)},
                        {.name = "c", .parent = "root"}});
  allot::lowest_share_first<1> order;
  order.reset(l);
  std::vector<entry> all{{"of_a", a, root, 9, 1, 1, {}, {0, gpus(3)}},
                         {"of_b", b, root, 0, 2, 2, {}, {0, gpus(5)}},
                         {"of_c", c, root, 0, 3, 3, {}, {0, gpus(1)}}};
  // Loans of 1, 3 at weight 4, and 1.
  CHECK(visits(order, l, all) == "of_b of_a of_c");
  // An entry that does not borrow precedes one with a lower share, which without a loan is zero anyway.
  all[0].chosen.request = gpus(2);
  CHECK(visits(order, l, all) == "of_a of_b of_c");
  all[0].chosen.request = gpus(12);
  CHECK(visits(order, l, all) == "of_b of_c of_a");
}

TEST_CASE("entry_order: shares compare below the common ancestor, so order changes with each decision") {
  // Two cohorts; what one is given counts against its next entry.
  auto l = make_ledger({{.name = "root", .nominal = gpus(12)},
                        {.name = "left", .parent = "root"},
                        {.name = "right", .parent = "root"},
                        {.name = "l1", .parent = "left"},
                        {.name = "l2", .parent = "left"},
                        {.name = "r1", .parent = "right"},
                        {.name = "r2", .parent = "right"}});
  const quota_id l1{3}, l2{4}, r1{5}, r2{6};
  allot::lowest_share_first<1> order;
  order.reset(l);
  std::vector<entry> all{{"l1", l1, root, 9, 1, 1, {}, {0, gpus(2)}},
                         {"l2", l2, root, 8, 1, 2, {}, {0, gpus(2)}},
                         {"r1", r1, root, 0, 1, 3, {}, {0, gpus(2)}},
                         {"r2", r2, root, 0, 1, 4, {}, {0, gpus(2)}}};
  CHECK(visits(order, l, all) == "l1 l2 r1 r2");
  CHECK(visits(order, l, all, true) == "l1 r1 l2 r2");
  // At the bottom l1 itself uses more than l2, but left as a whole uses less than right.
  l.charge(l1, gpus(2));
  l.charge(r1, gpus(4));
  CHECK(visits(order, l, all) == "l2 l1 r2 r1");
}

TEST_CASE("entry_order: trees by their roots, and a tree without a cohort is one") {
  auto l = make_ledger({{.name = "x", .nominal = gpus(1)}, {.name = "y"}});
  allot::lowest_share_first<1> order;
  order.reset(l);
  const quota_id x{0}, y{1};
  std::vector<entry> all{{"y", y, y, 5, 0, 1, {}, {0, gpus(1)}}, {"x", x, x, 0, 9, 2, {}, {0, gpus(1)}}};
  CHECK(visits(order, l, all) == "y x");
  CHECK(visits(order, l, all) == "y x");  // No state is left from the first time.
}

TEST_CASE("entry_order: own jobs of an inner quota are a peer of its children") {
  auto l = make_ledger({{.name = "root", .nominal = gpus(4)}, {.name = "a", .parent = "root"}});
  allot::lowest_share_first<1> order;
  order.reset(l);
  std::vector<entry> all{{"own", root, root, 0, 2, 1, {}, {0, gpus(2)}},
                         {"below", a, root, 0, 1, 2, {}, {0, gpus(2)}}};
  // The pool of the root is its own, so its jobs do not borrow.
  CHECK(visits(order, l, all) == "own below");
  l.charge(root, gpus(4));
  CHECK(visits(order, l, all) == "below own");
}
