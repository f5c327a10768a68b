// SPDX-License-Identifier: BSL-1.0
#include <allot/quota/builder.hpp>
#include <allot/systems/kai/detail/share_accounts.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "tests/support/seeds.hpp"

using allot::capacity_kind;
using allot::gpus;
using allot::quantity;
using allot::quota_id;
using allot::quota_spec;
using allot::resources;
using allot::share_accounts;
using allot_test::random_source;

namespace {

quota_spec<> queue(const char* name, const char* parent, std::int64_t deserved, std::int64_t limit = -1) {
  quota_spec<> s;
  s.name = name;
  s.parent = parent;
  s.nominal = gpus(deserved);
  if (limit >= 0) s.borrow = allot::limit::at_most(gpus(limit - deserved));
  s.inclusive = s.overcommit = true;
  return s;
}

}  // namespace

TEST_CASE("share_accounts: usage and requests are summed up to the root") {
  const auto tree =
      allot::build_quota_tree<1>({queue("d", "", 8), queue("a", "d", 4), queue("b", "d", 2)}).value();
  const quota_id d = tree.find("d"), a = tree.find("a"), b = tree.find("b");
  share_accounts<> books;
  books.reset(tree);
  books.set_own(a, gpus(3), gpus(1), gpus(2));
  books.set_own(b, gpus(2), gpus(0), gpus(7));
  CHECK(books.allocated(d) == resources<>{gpus(5)});
  CHECK(books.guaranteed(d) == resources<>{gpus(1)});
  CHECK(books.requested(d) == resources<>{gpus(14)});
  CHECK(books.total() == resources<>{gpus(5)});
  books.set_own(b, gpus(1), gpus(1), gpus(0));
  CHECK(books.allocated(d) == resources<>{gpus(4)});
  CHECK(books.requested(b) == resources<>{gpus(1)});
  books.charge(a, gpus(2), capacity_kind::guaranteed);
  CHECK(books.allocated(d) == resources<>{gpus(6)});
  CHECK(books.guaranteed(a) == resources<>{gpus(3)});
  CHECK(books.requested(d) == resources<>{gpus(6)});  // It was already pending.
  books.release(a, gpus(2), capacity_kind::guaranteed);
  CHECK(books.allocated(a) == resources<>{gpus(3)});
  CHECK(books.total() == resources<>{gpus(4)});
}

TEST_CASE("share_accounts: the allocatable share") {
  quota_spec<> all = queue("all", "", 0, -1);
  all.nominal = quantity::unlimited();
  const auto tree = allot::build_quota_tree<1>({queue("a", "", 4), queue("b", "", 4, 5), all}).value();
  share_accounts<> books;
  books.reset(tree);
  books.set_own(tree.find("a"), gpus(1), {}, {});
  books.set_own(tree.find("b"), gpus(1), {}, gpus(20));
  books.divide(gpus(20));
  CHECK(books.fair_share(tree.find("a")) == resources<>{gpus(1)});
  CHECK(books.allocatable(tree.find("a")) == resources<>{gpus(4)});  // What it deserves, requested or not.
  CHECK(books.allocatable(tree.find("b")) == resources<>{gpus(5)});
  CHECK(books.allocatable(tree.find("all"))[0].is_unlimited());
}

TEST_CASE("share_accounts: limits on the path, and deserved shares for non-preemptible jobs") {
  const auto tree = allot::build_quota_tree<1>({queue("d", "", 3, 6), queue("a", "d", 4, 8)}).value();
  const quota_id a = tree.find("a");
  share_accounts<> books;
  books.reset(tree);
  books.set_own(a, gpus(2), gpus(2), {});
  books.divide(gpus(10));
  CHECK(books.within_limits(a, gpus(4), capacity_kind::any));
  CHECK_FALSE(books.within_limits(a, gpus(5), capacity_kind::any));
  CHECK(books.within_limits(a, gpus(1), capacity_kind::guaranteed));
  CHECK_FALSE(books.within_limits(a, gpus(2), capacity_kind::guaranteed));
  CHECK(books.within_deserved_of_all(a, gpus(1)));
  CHECK_FALSE(books.within_deserved_of_all(a, gpus(2)));
}

TEST_CASE("share_accounts: dimensions without capacity do not count") {
  std::vector<quota_spec<3>> specs(1);
  specs[0].name = "q";
  specs[0].nominal = resources<3>{gpus(2), gpus(0), quantity::unlimited()};
  const auto tree = allot::build_quota_tree(specs).value();
  share_accounts<3> books;
  books.reset(tree);
  books.divide(resources<3>{gpus(2), gpus(0), gpus(0)});
  REQUIRE(books.counted().size() == 2);
  CHECK(books.counted()[0] == 0);
  CHECK(books.counted()[1] == 2);
  CHECK(books.at_most(resources<3>{gpus(1), gpus(9), gpus(0)}, resources<3>{gpus(1), gpus(0), gpus(0)}));
  CHECK_FALSE(
      books.at_most(resources<3>{gpus(1), gpus(0), gpus(1)}, resources<3>{gpus(1), gpus(0), gpus(0)}));
}

TEST_CASE("share_accounts: the sums are those of the jobs, whatever happened") {
  allot_test::for_each_seed(100, [](random_source& random) {
    std::vector<quota_spec<>> specs;
    const std::size_t n = random.below(12) + 1;
    for (std::size_t i = 0; i < n; ++i) {
      quota_spec<> s = queue("", "", 1);
      s.name = "q" + std::to_string(i);
      if (i > 0 && !random.one_in(4)) s.parent = "q" + std::to_string(random.below(i));
      specs.push_back(s);
    }
    const auto tree = allot::build_quota_tree(specs).value();
    share_accounts<> books;
    books.reset(tree);
    std::vector<std::int64_t> used(n), waiting(n);
    for (int round = 0; round < 20; ++round) {
      const std::size_t x = random.below(n);
      used[x] = random.between(0, 9);
      waiting[x] = random.between(0, 9);
      books.set_own(quota_id{x}, gpus(used[x]), gpus(used[x] / 2), gpus(waiting[x]));
      const std::size_t y = random.below(n);
      const std::int64_t extra = random.between(0, 5);
      books.charge(quota_id{y}, gpus(extra), capacity_kind::any);
      for (const quota_id q : tree.top_down()) {
        std::int64_t sum = 0, all = 0;
        for (std::size_t i = 0; i < n; ++i) {
          if (tree.common_ancestor(quota_id{i}, q) != q) continue;
          sum += used[i] + (i == y ? extra : 0);
          all += used[i] + waiting[i];
        }
        CHECK(books.allocated(q) == resources<>{gpus(sum)});
        CHECK(books.requested(q) == resources<>{gpus(all)});
      }
      books.release(quota_id{y}, gpus(extra), capacity_kind::any);
    }
  });
}
