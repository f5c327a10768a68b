// SPDX-License-Identifier: BSL-1.0
#include <allot/quota/builder.hpp>
#include <allot/quota/loans.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/count_allocations.hpp"
#include "tests/support/print.hpp"
#include "tests/support/random_quotas.hpp"
#include "tests/support/seeds.hpp"

using allot::gpus;
using allot::ledger;
using allot::limit;
using allot::loan;
using allot::loan_book;
using allot::quantity;
using allot::quota_id;
using allot::quota_spec;

namespace {

template <std::size_t N = 1>
ledger<N> ledger_of(std::vector<quota_spec<N>> specs) {
  return ledger<N>{allot::build_quota_tree(std::move(specs)).value()};
}

quantity surplus_of(const ledger<>& l, quota_id x) {
  const quantity pool = l.supply_of(x, 0).own_pool;
  return pool == quantity::lowest() ? quantity{} : std::max(quantity{}, pool - l.own_usage(x, 0));
}
quantity deficit_of(const ledger<>& l, quota_id x) {
  const quantity pool = l.supply_of(x, 0).own_pool;
  const quantity used = l.own_usage(x, 0);
  return pool == quantity::lowest() ? used : std::max(quantity{}, used - pool);
}

bool stands_below(const allot::quota_tree<>& tree, quota_id x, quota_id top) {
  while (x && x != top) x = tree.parent(x);
  return x == top;
}

void check_accounts(const ledger<>& l, const loan_book<>& book) {
  const auto loans = book.loans(0);
  std::vector<quantity> lent(l.tree().slots());
  std::vector<quantity> borrowed(l.tree().slots());
  for (const loan& each : loans) {
    CHECK(each.amount > quantity{});
    CHECK(each.lender != each.borrower);
    CHECK(l.tree().common_ancestor(each.lender, each.borrower));
    lent[each.lender.index()] += each.amount;
    borrowed[each.borrower.index()] += each.amount;
  }
  for (std::size_t i = 1; i < loans.size(); ++i) {
    CHECK(std::pair{loans[i - 1].lender, loans[i - 1].borrower} <
          std::pair{loans[i].lender, loans[i].borrower});
  }
  quantity all_lent;
  quantity all_borrowed;
  for (const quota_id x : l.tree().top_down()) {
    CAPTURE(l.tree().name(x));
    CHECK(book.lent(x, 0) == lent[x.index()]);
    CHECK(book.borrowed(x, 0) == borrowed[x.index()]);
    CHECK(book.lent(x, 0) <= surplus_of(l, x));
    CHECK(book.borrowed(x, 0) + book.unmet(x, 0) == deficit_of(l, x));
    all_lent += book.lent(x, 0);
    all_borrowed += book.borrowed(x, 0);
  }
  CHECK(all_lent == all_borrowed);
}

/// What crosses the border of each subtree is what the law says. (With unlimited pools sums can't show it.)
void check_borders(const ledger<>& l, const loan_book<>& book) {
  for (const quota_id x : l.tree().top_down()) {
    CAPTURE(l.tree().name(x));
    quantity in;
    quantity out;
    for (const loan& each : book.loans(0)) {
      const bool from_inside = stands_below(l.tree(), each.lender, x);
      const bool to_inside = stands_below(l.tree(), each.borrower, x);
      if (to_inside && !from_inside) in += each.amount;
      if (from_inside && !to_inside) out += each.amount;
    }
    quantity unmet;
    for (const quota_id y : l.tree().top_down()) {
      if (stands_below(l.tree(), y, x)) unmet += book.unmet(y, 0);
    }
    CHECK(in + unmet == l.borrowed(x, 0));
    CHECK(out <= std::min(l.supply_of(x, 0).lend, std::max(quantity{}, l.balance(x, 0))));
    if (l.is_sound()) {
      CHECK(unmet == quantity{});
      CHECK(in <= l.supply_of(x, 0).borrow);
    }
  }
}

void charge_at_random(ledger<>& l, allot_test::random_source& random, bool stay_sound) {
  for (int i = 0; i < 15; ++i) {
    const quota_id x = random.pick(l.tree().top_down());
    const quantity q = allot_test::detail::random_amount(random);
    if (!stay_sound || l.fits(x, q)) l.charge(x, q);
  }
}

constexpr quota_id cohort{0};
constexpr quota_id a{1};
constexpr quota_id b{2};
constexpr quota_id c{3};

using loan_list = std::vector<loan>;

}  // namespace

TEST_CASE("loans: HyperPod's example: b's job of 4 borrows 3 from a") {
  ledger<> l = ledger_of<1>({{.name = "cohort"},
                             {.name = "a", .parent = "cohort", .nominal = gpus(6)},
                             {.name = "b", .parent = "cohort", .nominal = gpus(5)}});
  l.charge(a, gpus(2));
  l.charge(b, gpus(4));
  CHECK(allot::loans(l, 0).empty());
  l.charge(b, gpus(4));
  CHECK(allot::loans(l, 0) == loan_list{{a, b, gpus(3)}});
}

TEST_CASE("loans: lenders give in proportion to what they have") {
  ledger<> l = ledger_of<1>({{.name = "cohort", .nominal = gpus(6)},
                             {.name = "a", .parent = "cohort", .nominal = gpus(3)},
                             {.name = "b", .parent = "cohort", .nominal = gpus(1)},
                             {.name = "c", .parent = "cohort"}});
  l.charge(c, gpus(5));
  CHECK(allot::loans(l, 0) ==
        loan_list{{cohort, c, gpus(3)}, {a, c, quantity::milli(1500)}, {b, c, quantity::milli(500)}});
}

TEST_CASE("loans: what does not divide is rounded by cumulative shares, so that nothing is lost") {
  ledger<> l = ledger_of<1>({{.name = "cohort", .nominal = quantity::milli(1)},
                             {.name = "a", .parent = "cohort", .nominal = quantity::milli(1)},
                             {.name = "b", .parent = "cohort", .nominal = quantity::milli(1)},
                             {.name = "c", .parent = "cohort"}});
  l.charge(c, quantity::milli(2));
  CHECK(allot::loans(l, 0) == loan_list{{a, c, quantity::milli(1)}, {b, c, quantity::milli(1)}});
}

TEST_CASE("loans: a lend limit bounds what a quota gives, and with it its share") {
  ledger<> l =
      ledger_of<1>({{.name = "cohort"},
                    {.name = "a", .parent = "cohort", .nominal = gpus(10), .lend = limit::at_most(gpus(2))},
                    {.name = "b", .parent = "cohort", .nominal = gpus(6)},
                    {.name = "c", .parent = "cohort"}});
  l.charge(c, gpus(4));
  CHECK(allot::loans(l, 0) == loan_list{{a, c, gpus(1)}, {b, c, gpus(3)}});
}

TEST_CASE("loans: a deficit is met as low in the tree as possible, and the rest moves up") {
  ledger<> l = ledger_of<1>({{.name = "root", .nominal = gpus(8)},
                             {.name = "department", .parent = "root"},
                             {.name = "x", .parent = "department", .nominal = gpus(4)},
                             {.name = "y", .parent = "department", .nominal = gpus(1)}});
  const quota_id root{0}, x{2}, y{3};
  l.charge(y, gpus(3));
  CHECK(allot::loans(l, 0) == loan_list{{x, y, gpus(2)}});
  l.charge(y, gpus(6));
  CHECK(allot::loans(l, 0) == loan_list{{root, y, gpus(4)}, {x, y, gpus(4)}});
}

TEST_CASE("loans: borrowers of one quota share what it has in proportion to what they lack") {
  ledger<> l = ledger_of<1>({{.name = "root", .nominal = gpus(20)},
                             {.name = "department", .parent = "root", .nominal = gpus(3)},
                             {.name = "x", .parent = "department"},
                             {.name = "y", .parent = "department"}});
  const quota_id root{0}, department{1}, x{2}, y{3};
  l.charge(x, gpus(8));
  l.charge(y, gpus(4));
  CHECK(
      allot::loans(l, 0) ==
      loan_list{{root, x, gpus(6)}, {root, y, gpus(3)}, {department, x, gpus(2)}, {department, y, gpus(1)}});
}

TEST_CASE("loans: what a child gives is divided among the accounts below it") {
  ledger<> l = ledger_of<1>({{.name = "root"},
                             {.name = "department", .parent = "root", .nominal = gpus(6)},
                             {.name = "x", .parent = "department", .nominal = gpus(2)},
                             {.name = "y", .parent = "root"}});
  const quota_id department{1}, x{2}, y{3};
  l.charge(y, gpus(4));
  CHECK(allot::loans(l, 0) == loan_list{{department, y, gpus(3)}, {x, y, gpus(1)}});
}

TEST_CASE("loans: lenders and borrowers are paired own account first, then oldest first") {
  ledger<> l = ledger_of<1>({{.name = "cohort", .nominal = gpus(2)},
                             {.name = "a", .parent = "cohort", .nominal = gpus(2)},
                             {.name = "b", .parent = "cohort"},
                             {.name = "c", .parent = "cohort"}});
  l.charge(b, gpus(1));
  l.charge(c, gpus(3));
  CHECK(allot::loans(l, 0) == loan_list{{cohort, b, gpus(1)}, {cohort, c, gpus(1)}, {a, c, gpus(2)}});
}

TEST_CASE("loans: an inclusive parent's jobs borrow from its children, PAI's child-level sharing") {
  ledger<> l = ledger_of<1>({{.name = "quota1", .nominal = gpus(128), .inclusive = true},
                             {.name = "quota1.1", .parent = "quota1", .nominal = gpus(48)},
                             {.name = "quota1.2", .parent = "quota1", .nominal = gpus(80)}});
  l.charge(cohort, gpus(16));
  CHECK(allot::loans(l, 0) == loan_list{{a, cohort, gpus(6)}, {b, cohort, gpus(10)}});
}

TEST_CASE("loans: nothing passes from one tree to another") {
  ledger<> l = ledger_of<1>({{.name = "one", .nominal = gpus(4)}, {.name = "other", .nominal = gpus(4)}});
  l.charge(quota_id{0}, gpus(6));
  const loan_book<> book{l};
  CHECK(book.loans(0).empty());
  CHECK(book.unmet(quota_id{0}, 0) == gpus(2));
}

TEST_CASE("loans: deficits that no quota can meet are reported as unmet, in proportion") {
  ledger<> l = ledger_of<1>({{.name = "cohort", .nominal = gpus(3)},
                             {.name = "a", .parent = "cohort"},
                             {.name = "b", .parent = "cohort"}});
  l.charge(a, gpus(8));
  l.charge(b, gpus(4));
  const loan_book<> book{l};
  CHECK(book.borrowed(a, 0) == gpus(2));
  CHECK(book.borrowed(b, 0) == gpus(1));
  CHECK(book.unmet(a, 0) == gpus(6));
  CHECK(book.unmet(b, 0) == gpus(3));
  CHECK(book.lent(cohort, 0) == gpus(3));
}

TEST_CASE("loans: unlimited pools lend equal parts, and bounded ones need not") {
  ledger<> l = ledger_of<1>({{.name = "cohort", .nominal = quantity::unlimited()},
                             {.name = "a", .parent = "cohort", .nominal = gpus(5)},
                             {.name = "b", .parent = "cohort", .nominal = quantity::unlimited()},
                             {.name = "c", .parent = "cohort"}});
  l.charge(c, gpus(10));
  CHECK(allot::loans(l, 0) == loan_list{{cohort, c, gpus(5)}, {b, c, gpus(5)}});
  // A lend limit makes a bounded lender of an unlimited pool.
  auto specs = std::vector<quota_spec<>>(l.tree().specs().begin(), l.tree().specs().end());
  specs[0].nominal = gpus(2);
  specs[b.index()].lend = limit::at_most(gpus(13));
  l.replace_tree(allot::quota_tree<>{specs});
  CHECK(allot::loans(l, 0) ==
        loan_list{{cohort, c, gpus(1)}, {a, c, quantity::milli(2500)}, {b, c, quantity::milli(6500)}});
}

TEST_CASE("loans: an overcommitted quota owes what it gave beyond its nominal") {
  ledger<> l = ledger_of<1>({{.name = "root", .nominal = gpus(8), .inclusive = true, .overcommit = true},
                             {.name = "a", .parent = "root", .nominal = gpus(6)},
                             {.name = "b", .parent = "root", .nominal = gpus(6)}});
  CHECK(allot::loans(l, 0) == loan_list{{a, cohort, gpus(2)}, {b, cohort, gpus(2)}});
  l.charge(a, gpus(6));
  CHECK(allot::loans(l, 0) == loan_list{{b, cohort, gpus(4)}});
  // Unlimited children (Run:ai's -1) leave no number for the debt.
  auto specs = std::vector<quota_spec<>>(l.tree().specs().begin(), l.tree().specs().end());
  specs[b.index()].nominal = quantity::unlimited();
  l.replace_tree(allot::quota_tree<>{specs});
  CHECK(allot::loans(l, 0).empty());
  l.charge(a, gpus(1));
  CHECK(allot::loans(l, 0) == loan_list{{b, a, gpus(1)}});
}

TEST_CASE("loans: amounts near the limit of the type divide exactly") {
  const quantity large = quantity::milli(std::int64_t{1} << 60);
  ledger<> l = ledger_of<1>({{.name = "cohort", .nominal = large},
                             {.name = "a", .parent = "cohort", .nominal = large},
                             {.name = "b", .parent = "cohort", .nominal = large},
                             {.name = "c", .parent = "cohort"}});
  l.charge(c, large + large + quantity::milli(1));
  const loan_book<> book{l};
  CHECK(book.borrowed(c, 0) == large + large + quantity::milli(1));
  for (const quota_id x : {cohort, a, b}) {
    CHECK(book.lent(x, 0).in_milli() - large.in_milli() / 3 * 2 <= 2);
    CHECK(book.lent(x, 0).in_milli() - large.in_milli() / 3 * 2 >= 0);
  }
}

TEST_CASE("loans: conserved and within every quota's surplus, in random states") {
  allot_test::for_each_seed(3000, [](allot_test::random_source& random) {
    allot_test::quota_shape shape;
    const bool bounded = random.one_in(2);
    if (bounded) shape.one_unlimited_in = 0;
    ledger<> l = ledger_of(allot_test::random_quotas<1>(random, shape));
    charge_at_random(l, random, random.one_in(2));
    const loan_book<> book{l};
    check_accounts(l, book);
    if (bounded) check_borders(l, book);
    if (!l.is_sound()) return;
    for (const quota_id x : l.tree().top_down()) {
      CHECK(book.unmet(x, 0) == quantity{});
      if (!l.tree().children(x).empty()) continue;
      CHECK(book.borrowed(x, 0) == std::max(quantity{}, l.own_usage(x, 0) - l.tree().spec(x).nominal[0]));
    }
  });
}

TEST_CASE("loans: siblings lend in proportion to their surplus, to within a thousandth") {
  allot_test::for_each_seed(1000, [](allot_test::random_source& random) {
    std::vector<quota_spec<>> specs{{.name = "root"}};
    for (std::size_t i = 1 + random.below(8); i > 0; --i) {
      specs.push_back({.name = "q" + std::to_string(i),
                       .parent = "root",
                       .nominal = quantity::milli(random.between(0, 9000))});
    }
    ledger<> l = ledger_of(specs);
    charge_at_random(l, random, true);
    std::int64_t surplus = 0;
    std::int64_t deficit = 0;
    for (const quota_id x : l.tree().top_down()) {
      surplus += surplus_of(l, x).in_milli();
      deficit += deficit_of(l, x).in_milli();
    }
    if (surplus == 0) return;
    const loan_book<> book{l};
    for (const quota_id x : l.tree().top_down()) {
      const std::int64_t exact = surplus_of(l, x).in_milli() * deficit / surplus;
      CHECK(book.lent(x, 0).in_milli() >= exact);
      CHECK(book.lent(x, 0).in_milli() <= exact + 1);
    }
  });
}

TEST_CASE("loans: loans do not depend on history") {
  allot_test::for_each_seed(300, [](allot_test::random_source& random) {
    ledger<> l = ledger_of(allot_test::random_quotas<1>(random));
    ledger<> other = l;
    std::vector<std::pair<quota_id, quantity>> jobs;
    for (int i = 0; i < 15; ++i) {
      jobs.push_back({random.pick(l.tree().top_down()), allot_test::detail::random_amount(random)});
    }
    for (const auto& [x, q] : jobs) l.charge(x, q);
    random.shuffle(jobs);
    loan_book<> book;
    for (const auto& [x, q] : jobs) {
      other.charge(x, q);
      book.update(other);
    }
    const auto found = book.loans(0);
    CHECK(loan_list(found.begin(), found.end()) == allot::loans(l, 0));
  });
}

TEST_CASE("loans: dimensions are independent, and a book reuses its memory") {
  allot_test::for_each_seed(100, [](allot_test::random_source& random) {
    ledger<3> l = ledger_of(allot_test::random_quotas<3>(random));
    loan_book<3> book{l};
    for (int i = 0; i < 15; ++i) {
      allot::resources<3> r;
      for (std::size_t d = 0; d < 3; ++d) r[d] = allot_test::detail::random_amount(random);
      l.charge(random.pick(l.tree().top_down()), r);
    }
    book.update(l);
    CHECK(allot_test::allocations_in([&] { book.update(l); }) == 0);
    for (std::size_t d = 0; d < 3; ++d) {
      const auto found = book.loans(d);
      CHECK(loan_list(found.begin(), found.end()) == allot::loans(l, d));
    }
  });
}

TEST_CASE("loans: unknown quotas and dimensions have no loans") {
  ledger<> l = ledger_of<1>({{.name = "cohort"},
                             {.name = "a", .parent = "cohort", .nominal = gpus(6)},
                             {.name = "b", .parent = "cohort"}});
  l.charge(b, gpus(4));
  loan_book<> book;
  const auto says_nothing = [&book](quota_id x, std::size_t d) {
    CHECK(book.lent(x, d) == quantity{});
    CHECK(book.borrowed(x, d) == quantity{});
    CHECK(book.unmet(x, d) == quantity{});
  };
  // Before the first update the book is empty.
  says_nothing(a, 0);
  CHECK(book.loans(0).empty());
  book.update(l);
  CHECK(book.lent(a, 0) == gpus(4));
  for (const quota_id x : {c, quota_id{70'000}, quota_id::none()}) says_nothing(x, 0);
  for (const std::size_t d : {1U, 2U, 70'000U}) {
    book.update(l, d);
    CHECK(book.loans(d).empty());
    CHECK(allot::loans(l, d).empty());
    says_nothing(a, d);
  }
  CHECK(book.lent(a, 0) == gpus(4));
}
