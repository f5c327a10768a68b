// SPDX-License-Identifier: BSL-1.0
#include <allot/quota/change.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tests/support/law_oracle.hpp"
#include "tests/support/print.hpp"
#include "tests/support/random_quotas.hpp"
#include "tests/support/seeds.hpp"

using allot::fair_weight;
using allot::gpus;
using allot::ledger;
using allot::limit;
using allot::problem_code;
using allot::quantity;
using allot::quota_change;
using allot::quota_id;
using allot::quota_spec;
using allot::resources;

namespace {

constexpr quota_id root{0};
constexpr quota_id b{1};
constexpr quota_id c{2};

/// quota1 = 128 with 48 for team B and 80 for team C.
ledger<> pai_ledger() {
  return ledger<>{allot::build_quota_tree<1>({{.name = "quota1", .nominal = gpus(128), .inclusive = true},
                                              {.name = "quota1.1", .parent = "quota1", .nominal = gpus(48)},
                                              {.name = "quota1.2", .parent = "quota1", .nominal = gpus(80)}})
                      .value()};
}

/// A second implementation of what a change does to the specifications.
template <std::size_t N>
void edit(std::vector<quota_spec<N>>& specs, std::vector<bool>& removed, const quota_change<N>& change) {
  const auto spec_of = [&](quota_id x) -> quota_spec<N>& { return specs[x.index()]; };
  if (const auto* r = std::get_if<allot::resize_quota<N>>(&change)) {
    if (r->nominal) spec_of(r->quota).nominal = *r->nominal;
    if (r->lend) spec_of(r->quota).lend = *r->lend;
    if (r->borrow) spec_of(r->quota).borrow = *r->borrow;
  } else if (const auto* w = std::get_if<allot::reweight_quota<N>>(&change)) {
    spec_of(w->quota).weight = w->weight;
  } else if (const auto* n = std::get_if<allot::add_quota<N>>(&change)) {
    specs.push_back(n->spec);
    removed.push_back(false);
  } else if (const auto* gone = std::get_if<allot::remove_quota>(&change)) {
    removed[gone->quota.index()] = true;
  } else if (const auto* m = std::get_if<allot::move_quota>(&change)) {
    spec_of(m->quota).parent = m->new_parent ? spec_of(m->new_parent).name : "";
  }
}

template <std::size_t N>
quota_change<N> random_change(allot_test::random_source& random, const allot::quota_tree<N>& tree) {
  const quota_id x = random.pick(tree.top_down());
  switch (random.below(7)) {
    case 0:
      return allot::add_quota<N>{{.name = "new" + std::to_string(tree.slots()),
                                  .parent = random.one_in(4) ? "" : std::string{tree.name(x)},
                                  .nominal = resources<N>{gpus(random.between(0, 4))}}};
    case 1:
      return allot::remove_quota{x};
    case 2:
      return allot::move_quota{x, random.one_in(4) ? quota_id::none() : random.pick(tree.top_down())};
    case 3:
      return allot::reweight_quota<N>{x, fair_weight::milli(random.between(0, 5000))};
    default: {
      allot::resize_quota<N> r{.quota = x};
      if (!random.one_in(4)) {
        r.nominal = tree.spec(x).nominal;
        for (std::size_t d = 0; d < N; ++d) (*r.nominal)[d] += gpus(random.between(-3, 3));
      }
      if (random.one_in(3)) r.lend = allot::limits<N>{allot_test::detail::random_limit(random, {})};
      if (random.one_in(3)) r.borrow = allot::limits<N>{allot_test::detail::random_limit(random, {})};
      return r;
    }
  }
}

template <std::size_t N>
void keeps_usage_and_tells_who_is_over(allot_test::random_source& random) {
  struct charged {
    quota_id quota;
    resources<N> request;
    allot::capacity_kind in;
  };
  std::vector<quota_spec<N>> specs = allot_test::random_quotas<N>(random);
  std::vector<bool> removed(specs.size());
  ledger<N> l{allot::build_quota_tree(specs).value()};
  std::vector<charged> jobs;
  for (int round = 0; round < 8 && !l.tree().top_down().empty(); ++round) {
    for (int i = 0; i < 4; ++i) {
      charged job{random.pick(l.tree().top_down()),
                  {},
                  random.one_in(3) ? allot::capacity_kind::guaranteed : allot::capacity_kind::any};
      for (std::size_t d = 0; d < N; ++d) job.request[d] = gpus(random.between(1, 4));
      l.charge(job.quota, job.request, job.in);
      jobs.push_back(job);
    }
    while (jobs.size() > 6) {
      const std::size_t i = random.below(jobs.size());
      l.release(jobs[i].quota, jobs[i].request, jobs[i].in);
      jobs.erase(jobs.begin() + static_cast<std::ptrdiff_t>(i));
    }

    std::vector<quota_change<N>> batch;
    auto new_specs = specs;
    auto new_removed = removed;
    bool in_use = false;
    for (std::size_t i = 1 + random.below(3); i > 0; --i) {
      batch.push_back(random_change(random, l.tree()));
      edit(new_specs, new_removed, batch.back());
      if (const auto* gone = std::get_if<allot::remove_quota>(&batch.back())) {
        in_use = in_use || l.own_usage(gone->quota) != resources<N>{quantity{}};
      }
    }
    // A quota removed by an earlier change of the batch can't be changed any more; try something else.
    std::vector<bool> gone = removed;
    bool twice = false;
    for (const auto& change : batch) {
      std::visit(
          [&](const auto& ch) {
            if constexpr (requires { ch.quota; }) twice = twice || gone[ch.quota.index()];
            if constexpr (requires { ch.new_parent; }) {
              twice = twice || (ch.new_parent && gone[ch.new_parent.index()]);
            }
            if constexpr (std::is_same_v<std::decay_t<decltype(ch)>, allot::remove_quota>) {
              gone[ch.quota.index()] = true;
            }
          },
          change);
    }
    std::vector<quota_spec<N>> left;
    for (std::size_t i = 0; i < new_specs.size(); ++i) {
      if (!new_removed[i]) left.push_back(new_specs[i]);
    }
    const bool valid = !in_use && !twice && static_cast<bool>(allot::build_quota_tree(left));

    const ledger<N> before = l;
    const auto over = allot::apply(l, batch);
    CHECK(static_cast<bool>(over) == valid);
    if (!over) {
      CHECK(l == before);
      continue;
    }
    specs = std::move(new_specs);
    removed = std::move(new_removed);

    // The same as a ledger created with that tree.
    ledger<N> fresh{allot::quota_tree<N>{specs, removed}};
    allot_test::law_oracle<N> law{specs, removed};
    for (const charged& job : jobs) {
      fresh.charge(job.quota, job.request, job.in);
      for (std::size_t d = 0; d < N; ++d) law.add(job.quota.index(), d, job.request[d].in_milli(), job.in);
    }
    CHECK(l == fresh);
    std::vector<quota_id> expected;
    for (const quota_id x : l.tree().top_down()) {
      if (!law.is_sound(x.index())) expected.push_back(x);
      for (std::size_t d = 0; d < N; ++d) {
        CHECK(l.balance(x, d) == law.as_quantity(law.balance(x.index(), d)));
      }
    }
    CHECK(over.value() == expected);
  }
}

/// All that a change of amounts returns.
[[nodiscard]] std::string told(const allot::result<allot::vector<quota_id>>& answer) {
  std::string text;
  for (const allot::problem& p : answer.problems()) {
    text += std::to_string(static_cast<int>(p.code)) + ' ' + p.subject + ' ' + p.field + ' ' + p.text + ' ' +
            std::to_string(p.dimension) + '\n';
  }
  if (!answer) return text;
  for (const quota_id x : answer.value()) text += std::to_string(x.index()) + ' ';
  return text;
}

struct amount_changes {
  std::size_t made = 0;
  std::size_t refused = 0;
  std::size_t over = 0;
};

/// Only amounts change in one ledger. In the other a quota also moves to where it is, so its tree is built
/// again.
template <std::size_t N>
void changes_amounts_as_a_new_tree_would(allot_test::random_source& random, amount_changes& seen) {
  ledger<N> l{allot::build_quota_tree(allot_test::random_quotas<N>(random)).value()};
  for (int round = 0; round < 12 && !l.tree().top_down().empty(); ++round) {
    const quota_id user = random.pick(l.tree().top_down());
    const resources<N> request{gpus(random.between(0, 6))};
    if (!random.one_in(3)) {
      l.charge(user, request,
               random.one_in(3) ? allot::capacity_kind::guaranteed : allot::capacity_kind::any);
    } else {
      // Leaves an empty slot, if it succeeds.
      static_cast<void>(allot::apply(l, allot::remove_quota{user}));
      continue;
    }
    std::vector<quota_change<N>> batch;
    for (std::size_t i = random.below(4); i > 0; --i) {
      const quota_id x = random.pick(l.tree().top_down());
      if (random.one_in(4)) {
        batch.push_back(allot::reweight_quota<N>{x, allot::fair_weight::milli(random.between(-200, 3000))});
        continue;
      }
      allot::resize_quota<N> r{.quota = x};
      if (!random.one_in(3)) {
        r.nominal = l.tree().spec(x).nominal;
        const std::size_t d = random.below(N);
        (*r.nominal)[d] = random.one_in(20) ? quantity::milli(INT64_MAX - 1)
                                            : (*r.nominal)[d] + gpus(random.between(-4, 6));
      }
      if (random.one_in(3)) r.lend = allot::limits<N>{allot_test::detail::random_limit(random, {})};
      if (random.one_in(3)) r.borrow = allot::limits<N>{allot_test::detail::random_limit(random, {})};
      batch.push_back(r);
    }
    const ledger<N> before = l;
    ledger<N> rebuilt = l;
    const auto answer = allot::apply(l, batch);
    const quota_id stays = random.pick(l.tree().top_down());
    batch.push_back(allot::move_quota{stays, l.tree().parent(stays)});
    const auto expected = allot::apply(rebuilt, batch);
    REQUIRE(told(answer) == told(expected));
    CHECK(l == rebuilt);
    if (!answer) CHECK(l == before);
    for (const quota_id x : l.tree().top_down()) {
      for (std::size_t d = 0; d < N; ++d) CHECK(l.supply_of(x, d) == rebuilt.supply_of(x, d));
    }
    ++(answer ? seen.made : seen.refused);
    if (answer && !answer.value().empty()) ++seen.over;
  }
}

}  // namespace

TEST_CASE("change: an administrator moves 8 GPUs, and usage follows") {
  ledger<> l = pai_ledger();
  l.charge(c, gpus(80));
  const std::vector<quota_change<1>> moves{allot::resize_quota<1>{.quota = b, .nominal = gpus(56)},
                                           allot::resize_quota<1>{.quota = c, .nominal = gpus(72)}};
  const auto over = allot::apply(l, moves);
  REQUIRE(over);
  // C now borrows what it used of its own.
  CHECK(over.value().empty());
  CHECK(l.borrowed(c, 0) == gpus(8));
  CHECK(l.headroom(b, 0) == gpus(48));
  CHECK(l.own_usage(c, 0) == gpus(80));
}

TEST_CASE("change: only the tree that results must be valid") {
  const quota_change<1> more = allot::resize_quota<1>{.quota = b, .nominal = gpus(56)};
  const quota_change<1> less = allot::resize_quota<1>{.quota = c, .nominal = gpus(72)};
  for (const auto& batch : {std::vector{more, less}, std::vector{less, more}}) {
    ledger<> l = pai_ledger();
    CHECK(allot::apply(l, batch));
  }
  ledger<> l = pai_ledger();
  const ledger<> before = l;
  const auto refused = allot::apply(l, more);
  REQUIRE_FALSE(refused);
  CHECK(refused.problems()[0].code == problem_code::exceeds_parent);
  CHECK(l == before);
}

TEST_CASE("change: a resize below usage reports the quotas over their limits, parents first") {
  ledger<> l = pai_ledger();
  l.charge(b, gpus(48));
  l.charge(c, gpus(80));
  const std::vector<quota_change<1>> shrink{
      allot::resize_quota<1>{.quota = root, .nominal = gpus(100)},
      allot::resize_quota<1>{
          .quota = b, .nominal = gpus(20), .borrow = allot::limits<1>{limit::percent(50)}}};
  const auto over = allot::apply(l, shrink);
  REQUIRE(over);
  CHECK(over.value() == std::vector{root, b});
  CHECK(l.headroom(b, 0) == gpus(-28));
  l.release(b, gpus(18));
  CHECK(l.is_sound(b));
  CHECK_FALSE(l.is_sound());
  l.release(c, gpus(10));
  CHECK(l.is_sound());
}

TEST_CASE("change: percentages follow the nominal") {
  ledger<> l = pai_ledger();
  CHECK(allot::apply(l, allot::resize_quota<1>{.quota = b, .borrow = allot::limits<1>{limit::percent(25)}}));
  CHECK(l.headroom(b, 0) == gpus(60));
  CHECK(allot::apply(l, allot::resize_quota<1>{.quota = b, .nominal = gpus(40)}));
  CHECK(l.headroom(b, 0) == gpus(50));
}

TEST_CASE("change: Kueue trap 1: removing a quota reduces every ancestor") {
  ledger<> l{allot::build_quota_tree<1>({{.name = "top"},
                                         {.name = "mid", .parent = "top", .nominal = gpus(1)},
                                         {.name = "x", .parent = "mid", .nominal = gpus(4)},
                                         {.name = "y", .parent = "top", .nominal = gpus(2)}})
                 .value()};
  const quota_id top{0}, mid{1}, x{2}, y{3};
  CHECK(l.headroom(y, 0) == gpus(7));
  CHECK(allot::apply(l, allot::remove_quota{x}));
  CHECK(l.total_supply(mid, 0) == gpus(1));
  CHECK(l.total_supply(top, 0) == gpus(3));
  CHECK(l.headroom(y, 0) == gpus(3));
  CHECK_FALSE(l.tree().contains(x));
  // And an inner quota with its subtree.
  CHECK(allot::apply(l, allot::remove_quota{mid}));
  CHECK(l.headroom(y, 0) == gpus(2));
}

TEST_CASE("change: ids are not reused, names may be") {
  ledger<> l = pai_ledger();
  CHECK(allot::apply(l, allot::remove_quota{b}));
  CHECK(allot::apply(l, allot::add_quota<1>{{.name = "quota1.1", .parent = "quota1", .nominal = gpus(8)}}));
  CHECK(l.tree().find("quota1.1") == quota_id{3});
  CHECK(l.tree().slots() == 4);
  CHECK(l.headroom(quota_id{3}, 0) == gpus(128));
}

TEST_CASE("change: a moved quota takes its subtree and usage along") {
  ledger<> l{allot::build_quota_tree<1>({{.name = "left", .nominal = gpus(10)},
                                         {.name = "right", .nominal = gpus(10)},
                                         {.name = "team", .parent = "left"},
                                         {.name = "job", .parent = "team"}})
                 .value()};
  const quota_id left{0}, right{1}, team{2}, job{3};
  l.charge(job, gpus(6));
  CHECK(allot::apply(l, allot::move_quota{team, right}));
  CHECK(l.headroom(left, 0) == gpus(10));
  CHECK(l.headroom(right, 0) == gpus(4));
  CHECK(l.tree().depth(job) == 2);
  const auto over = allot::apply(l, allot::move_quota{.quota = team});
  REQUIRE(over);
  CHECK(over.value() == std::vector{team});
  CHECK(l.tree().parent(team).is_none());
}

TEST_CASE("change: invalid changes are refused with every problem, and nothing changes") {
  ledger<> l = pai_ledger();
  l.charge(b, gpus(1));
  const ledger<> before = l;
  const auto codes = [&](const std::vector<quota_change<1>>& batch) {
    const auto result = allot::apply(l, batch);
    std::vector<problem_code> found;
    if (!result) {
      for (const auto& p : result.problems()) found.push_back(p.code);
    }
    CHECK(l == before);
    return found;
  };
  using problems = std::vector<problem_code>;
  CHECK(codes({allot::remove_quota{b}}) == problems{problem_code::in_use});
  CHECK(codes({allot::remove_quota{root}}) ==
        problems{problem_code::unknown_parent, problem_code::unknown_parent});
  CHECK(codes({allot::move_quota{root, c}}) == problems{problem_code::cycle});
  CHECK(codes({allot::remove_quota{quota_id{9}}}) == problems{problem_code::unknown_quota});
  CHECK(codes({allot::move_quota{b, quota_id{9}}}) == problems{problem_code::unknown_quota});
  CHECK(codes({allot::remove_quota{c}, allot::reweight_quota<1>{c, fair_weight::milli(5)}}) ==
        problems{problem_code::unknown_quota});
  CHECK(codes({allot::add_quota<1>{{.name = "quota1.1"}}}) == problems{problem_code::duplicate_name});
  CHECK(codes({allot::reweight_quota<1>{c, fair_weight::milli(-5)},
               allot::add_quota<1>{{.name = "x", .parent = "y"}}, allot::remove_quota{b}}) ==
        problems{problem_code::in_use, problem_code::negative, problem_code::unknown_parent});
}

TEST_CASE("change: a tree in which usage could overflow is refused") {
  const quantity most = quantity::milli(INT64_MAX - 1);
  const quantity all = quantity::unlimited();
  ledger<> l{
      allot::build_quota_tree<1>({{.name = "a", .nominal = all}, {.name = "b", .nominal = all}}).value()};
  l.charge(quota_id{0}, most);
  CHECK(allot::apply(l, allot::reweight_quota<1>{quota_id{0}, fair_weight::milli(5)}));
  l.charge(quota_id{1}, gpus(1));
  const auto moved = allot::apply(l, allot::move_quota{quota_id{0}, quota_id{1}});
  REQUIRE_FALSE(moved);
  CHECK(moved.problems().front().code == problem_code::out_of_range);
  l.release(quota_id{1}, gpus(1));
  CHECK(allot::apply(l, allot::move_quota{quota_id{0}, quota_id{1}}));
}

TEST_CASE("change: usage is kept and quotas over their limits are reported, on random trees") {
  allot_test::for_each_seed(1000, keeps_usage_and_tells_who_is_over<1>);
  allot_test::for_each_seed(300, keeps_usage_and_tells_who_is_over<3>);
}

TEST_CASE("change: amounts change as if the tree were built again, with the same problems, on random trees") {
  amount_changes seen;
  const auto changes_amounts = [&](allot_test::random_source& random) {
    changes_amounts_as_a_new_tree_would<1>(random, seen);
    changes_amounts_as_a_new_tree_would<3>(random, seen);
  };
  allot_test::for_each_seed(500, changes_amounts);
  if (!allot_test::all_cases_run()) return;
  CHECK(seen.made > 1000);
  CHECK(seen.refused > 1000);
  CHECK(seen.over > 300);
}
