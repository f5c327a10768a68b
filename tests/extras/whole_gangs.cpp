// SPDX-License-Identifier: BSL-1.0
#include <allot/extras/whole_gangs.hpp>
#include <allot/fairshare/division.hpp>
#include <allot/quota/builder.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/count_allocations.hpp"
#include "tests/support/random_quotas.hpp"
#include "tests/support/seeds.hpp"

using allot::division;
using allot::gpus;
using allot::ledger;
using allot::quantity;
using allot::quota_id;
using allot::quota_spec;
using allot::resources;
using allot::whole_gangs;
using allot_test::random_source;

namespace {

struct team {
  std::int64_t nominal;
  std::int64_t wants;
  std::int64_t gang;
  std::int32_t priority = 0;
};

/// In whole GPUs; the capacity belongs to the root, which has no jobs.
struct pool {
  ledger<> l;
  std::vector<resources<>> demand{gpus(0)};
  std::vector<resources<>> gang{gpus(0)};
  division<> exact{};

  pool(std::int64_t total, const std::vector<team>& teams) : l(make(total, teams)) {
    for (const team& t : teams) {
      demand.emplace_back(gpus(t.wants));
      gang.emplace_back(gpus(t.gang));
    }
    exact.update(l, demand);
  }
  [[nodiscard]] std::vector<std::int64_t> rounded(bool by_priority = false) const {
    whole_gangs<> gangs{l, by_priority};
    gangs.update(demand, exact, gang);
    std::vector<std::int64_t> result;
    for (std::size_t i = 1; i < demand.size(); ++i)
      result.push_back(gangs.own(quota_id{i})[0].in_milli() / 1000);
    return result;
  }

 private:
  static ledger<> make(std::int64_t total, const std::vector<team>& teams) {
    std::vector<quota_spec<>> specs{{.name = "root", .nominal = gpus(total), .inclusive = true}};
    for (const team& t : teams) {
      specs.push_back({.name = "q" + std::to_string(specs.size()),
                       .parent = "root",
                       .nominal = gpus(t.nominal),
                       .priority = t.priority});
    }
    return ledger<>{allot::build_quota_tree<1>(std::move(specs)).value()};
  }
};
using gpu_counts = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("whole_gangs: no quota is entitled to part of a gang") {
  // Exactly 42.7 each; five gangs of 8 each are 120, and there is one more.
  CHECK(pool(128, {{0, 128, 8}, {0, 128, 8}, {0, 128, 8}}).rounded() == gpu_counts{48, 40, 40});
  CHECK(pool(100, {{0, 128, 8}, {0, 128, 8}}).rounded() == gpu_counts{48, 48});
  CHECK(pool(16, {{0, 64, 64}, {0, 8, 8}}).rounded() == gpu_counts{0, 8});
}

TEST_CASE("whole_gangs: what is its own comes before a larger remainder") {
  // Exactly 5 and 7. The first owns 5, in which its gang of 6 does not fit; the second has 3 more than a
  // gang.
  CHECK(pool(12, {{5, 6, 6}, {0, 8, 4}}).rounded() == gpu_counts{6, 4});
  CHECK(pool(12, {{0, 6, 6}, {0, 8, 4}}).rounded() == gpu_counts{6, 4});
  CHECK(pool(13, {{4, 9, 9}, {0, 30, 4}}).rounded() == gpu_counts{9, 4});
}

TEST_CASE("whole_gangs: what is too little for any short quota goes to smaller gangs, then to single GPUs") {
  CHECK(pool(7, {{0, 8, 8}, {0, 9, 1}}).rounded() == gpu_counts{0, 7});
  CHECK(pool(15, {{0, 64, 16}, {0, 64, 4}, {0, 5, 0}}).rounded() == gpu_counts{0, 8, 5});
  CHECK(pool(15, {{0, 64, 16}, {0, 64, 6}, {0, 64, 0}}).rounded() == gpu_counts{0, 6, 9});
}

TEST_CASE("whole_gangs: all that is wanted need not be a multiple") {
  CHECK(pool(30, {{0, 9, 8}, {0, 21, 4}}).rounded() == gpu_counts{9, 21});
  CHECK(pool(20, {{0, 9, 8}, {0, 64, 4}}).rounded() == gpu_counts{9, 8});
}

TEST_CASE("whole_gangs: by priority where that decides") {
  const pool p{12, {{0, 64, 4, 0}, {0, 64, 4, 1}}};
  CHECK(p.rounded() == gpu_counts{8, 4});
  CHECK(p.rounded(true) == gpu_counts{4, 8});
}

TEST_CASE("whole_gangs: deviation is bounded, and nothing is left that a gang could use") {
  allot_test::for_each_seed(4000, [](random_source& random) {
    std::vector<team> teams(1 + random.below(7));
    std::int64_t owned = 0;
    const std::int64_t sizes[] = {1, 2, 4, 8, 16, random.between(1, 12)};
    for (team& t : teams) {
      t = {random.one_in(2) ? 0 : random.between(0, 12), random.between(0, 60), random.pick(sizes)};
      owned += t.nominal;
    }
    const pool p{owned + random.between(0, 80), teams};
    const gpu_counts given = p.rounded();
    std::int64_t sum = 0;
    std::int64_t short_of = 0;
    for (std::size_t i = 0; i < teams.size(); ++i) {
      const std::int64_t exact = p.exact.own(quota_id{i + 1})[0].in_milli();
      const std::int64_t piece = std::min(teams[i].gang, teams[i].wants - given[i]);
      CHECK((given[i] % teams[i].gang == 0 || given[i] == teams[i].wants));
      CHECK(given[i] <= teams[i].wants);
      CHECK(given[i] * 1000 > exact - teams[i].gang * 1000);
      if (given[i] * 1000 < exact) short_of = short_of == 0 ? piece : std::min(short_of, piece);
      sum += given[i];
    }
    const std::int64_t total = p.l.total_supply(quota_id{0}, 0).in_milli() / 1000;
    CHECK(sum <= total);
    for (std::size_t i = 0; i < teams.size(); ++i) {
      const std::int64_t exact = p.exact.own(quota_id{i + 1})[0].in_milli();
      CHECK(given[i] * 1000 < exact + (teams[i].gang + short_of) * 1000);
      const std::int64_t piece = std::min(teams[i].gang, teams[i].wants - given[i]);
      if (piece > 0) CHECK(piece > total - sum);
    }
  });
}

TEST_CASE("whole_gangs: in any tree, with any limits and two dimensions, the law holds and no gang fits") {
  allot_test::for_each_seed(1500, [](random_source& random) {
    const auto specs = allot_test::random_quotas<2>(random, {.one_unlimited_in = 0});
    ledger<2> l{allot::quota_tree<2>{specs}};
    std::vector<resources<2>> demand(specs.size());
    std::vector<resources<2>> gang(specs.size());
    for (std::size_t i = 0; i < specs.size(); ++i) {
      demand[i] = {gpus(random.between(0, 30)), gpus(random.between(0, 30))};
      if (!random.one_in(4)) gang[i] = {gpus(random.between(0, 6)), gpus(random.between(0, 3))};
    }
    division<2> exact;
    exact.update(l, demand);
    whole_gangs<2> gangs{l};
    gangs.update(demand, exact, gang);
    for (const quota_id x : l.tree().top_down()) l.charge(x, gangs.own(x));
    CHECK(l.is_sound());
    for (const quota_id x : l.tree().top_down()) {
      const resources<2>& given = gangs.own(x);
      const resources<2>& size = gang[x.index()];
      resources<2> next = demand[x.index()] - given;
      CHECK(allot::all_at_most(given, demand[x.index()]));
      for (std::size_t d = 0; d < 2; ++d) {
        if (size != resources<2>{}) next[d] = std::min(next[d], size[d]);
      }
      if (next != resources<2>{} && size != resources<2>{}) CHECK_FALSE(l.fits(x, next));
    }
  });
}

TEST_CASE("whole_gangs: does not allocate again") {
  const pool p{100, {{10, 60, 8}, {0, 60, 4}, {5, 60, 0}}};
  whole_gangs<> gangs{p.l};
  gangs.update(p.demand, p.exact, p.gang);
  CHECK(allot_test::allocations_in([&] { gangs.update(p.demand, p.exact, p.gang); }) == 0);
}
