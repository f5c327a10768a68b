// SPDX-License-Identifier: BSL-1.0
#include <allot/quota/builder.hpp>
#include <allot/systems/kai/whole_unit_division.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/seeds.hpp"

using allot::gpus;
using allot::quantity;
using allot::quota_id;
using allot::quota_spec;
using allot::resources;
using allot_test::random_source;

namespace {

/// In thousandths of a GPU: deserved (-1: everything), limit (-1: none), request, weight (1000: one), recent
/// usage in millionths of the cluster.
struct queue {
  std::int64_t deserved = 0;
  std::int64_t weight = 1000;
  std::int64_t request = 0;
  std::int32_t priority = 0;
  std::int64_t limit = -1;
  std::int64_t used = 0;
};

quota_spec<> spec_of(const queue& q, std::string name, std::string parent = "") {
  quota_spec<> s;
  s.name = std::move(name);
  s.parent = std::move(parent);
  s.nominal = q.deserved < 0 ? quantity::unlimited() : quantity::milli(q.deserved);
  if (q.limit >= 0) s.borrow = allot::limit::at_most(quantity::milli(q.limit - q.deserved));
  s.weight = allot::fair_weight::milli(q.weight);
  s.priority = q.priority;
  s.inclusive = s.overcommit = true;
  return s;
}

/// Of roots, in thousandths.
std::vector<std::int64_t> divide(std::int64_t total, const std::vector<queue>& queues, std::int64_t k = 0) {
  std::vector<quota_spec<>> specs;
  for (std::size_t i = 0; i < queues.size(); ++i)
    specs.push_back(spec_of(queues[i], "q" + std::to_string(i)));
  const auto tree = allot::build_quota_tree(specs).value();
  std::vector<resources<>> requested;
  std::vector<allot::per_dimension<std::int64_t, 1>> used(queues.size());
  for (std::size_t i = 0; i < queues.size(); ++i) {
    requested.push_back(quantity::milli(queues[i].request));
    used[i][0] = queues[i].used;
  }
  allot::whole_unit_division<> division;
  allot::whole_unit_division<>::options o;
  o.k = k;
  division.update(tree, quantity::milli(total), requested, used, o);
  std::vector<std::int64_t> shares;
  for (std::size_t i = 0; i < queues.size(); ++i) {
    shares.push_back(division.fair_share(quota_id{i})[0].in_milli());
  }
  return shares;
}
using shares = std::vector<std::int64_t>;

/// The same as written in the reference, in floating point, with every quotient nudged up so that whole
/// numbers stay whole.
shares in_doubles(double total, std::vector<queue> queues, double k) {
  const std::size_t n = queues.size();
  std::vector<double> given(n), fraction(n, -1);
  const auto wants = [&](std::size_t i) {
    const double limit = queues[i].limit < 0 ? 1e18 : static_cast<double>(queues[i].limit);
    return std::min(static_cast<double>(queues[i].request), limit);
  };
  double left = total;
  for (std::size_t i = 0; i < n; ++i) {
    given[i] = std::min(queues[i].deserved < 0 ? total : static_cast<double>(queues[i].deserved), wants(i));
    left -= given[i];
  }
  std::vector<std::int32_t> bands;
  for (const queue& q : queues) bands.push_back(q.priority);
  std::sort(bands.rbegin(), bands.rend());
  bands.erase(std::unique(bands.begin(), bands.end()), bands.end());
  for (const std::int32_t band : bands) {
    for (bool again = true; again && left > 0;) {
      again = false;
      double weights = 0;
      for (std::size_t i = 0; i < n; ++i) {
        if (queues[i].priority == band && wants(i) > given[i])
          weights += static_cast<double>(queues[i].weight);
      }
      std::vector<double> part(n, 0);
      double sum = 0;
      for (std::size_t i = 0; i < n && weights > 0; ++i) {
        if (queues[i].priority != band || wants(i) <= given[i]) continue;
        const double w = static_cast<double>(queues[i].weight) / weights;
        part[i] = std::max(0.0, w + k * (w - static_cast<double>(queues[i].used) / 1e6));
        sum += part[i];
      }
      if (sum <= 0) break;
      const double amount = left;
      for (std::size_t i = 0; i < n; ++i) {
        if (queues[i].priority != band || wants(i) <= given[i] || queues[i].weight == 0) continue;
        const double due = amount * part[i] / sum;
        const double unmet = wants(i) - given[i];
        if (unmet <= due + 1e-6) {
          again = again || unmet < due - 1e-6;
          given[i] += unmet;
          left -= unmet;
          fraction[i] = -1;
        } else {
          const double whole = std::floor(due / 1000 + 1e-9) * 1000;
          if (due - whole > 1e-6) fraction[i] = due - whole;
          given[i] += whole;
          left -= whole;
        }
      }
    }
  }
  for (const std::int32_t band : bands) {
    std::vector<std::size_t> line;
    for (std::size_t i = 0; i < n; ++i) {
      if (queues[i].priority == band && fraction[i] >= 0) line.push_back(i);
    }
    std::stable_sort(line.begin(), line.end(),
                     [&](std::size_t a, std::size_t b) { return fraction[a] > fraction[b] + 1e-6; });
    for (const std::size_t i : line) {
      const double extra = std::max(0.0, std::min(1000.0, left));
      given[i] += extra;
      left -= extra;
    }
  }
  shares result;
  for (const double g : given) result.push_back(static_cast<std::int64_t>(std::llround(g)));
  return result;
}

}  // namespace

TEST_CASE("limit_of: nominal and borrow limit, without limit where either is") {
  CHECK(allot::limit_of(spec_of({.deserved = 2000, .limit = 5000}, "q"), 0) == gpus(5));
  CHECK(allot::limit_of(spec_of({.deserved = 2000}, "q"), 0).is_unlimited());
  CHECK(allot::limit_of(spec_of({.deserved = -1, .limit = 5000}, "q"), 0).is_unlimited());
  quota_spec<> walled = spec_of({.deserved = 2000}, "q");
  walled.is_static = true;
  CHECK(allot::limit_of(walled, 0) == gpus(2));
}

TEST_CASE("whole_unit_division: KAI's rows for a cluster of 128 GPUs") {
  const queue a{.deserved = 32000, .weight = 2000, .request = 128000, .used = 600'000};
  const queue b{.deserved = 16000, .request = 128000, .used = 100'000};
  const queue c{.request = 24000};
  CHECK(divide(128000, {a, b, c}) == shares{72000, 36000, 20000});
  CHECK(divide(128000, {a, b, c}, 1000) == shares{61000, 43000, 24000});
  const queue even{.request = 128000};
  CHECK(divide(128000, {even, even, even}) == shares{43000, 43000, 42000});
}

TEST_CASE("whole_unit_division: deserved shares first, then by weight, priority and limit") {
  const queue two{.deserved = 2000, .weight = 2000, .request = 6000};
  CHECK(divide(15000, {two, two}) == shares{6000, 6000});
  CHECK(divide(12000, {two, two}) == shares{6000, 6000});
  const queue light{.deserved = 2000, .weight = 1000, .request = 6000};
  const queue heavy{.deserved = 2000, .weight = 3000, .request = 6000};
  CHECK(divide(8000, {light, heavy}) == shares{3000, 5000});
  const queue bounded{.deserved = 2000, .weight = 2000, .request = 6000, .limit = 5000};
  CHECK(divide(12000, {bounded, two}) == shares{5000, 6000});
  const queue ten{.deserved = 2000, .weight = 1000, .request = 10000};
  const queue ten_heavy{.deserved = 2000, .weight = 4000, .request = 10000};
  CHECK(divide(11000, {ten, ten_heavy}) == shares{3000, 8000});
  CHECK(divide(11000, {ten, ten}) == shares{6000, 5000});
  const queue low{.deserved = 2000, .weight = 100'000, .request = 6000, .priority = 1};
  const queue high{.deserved = 2000, .weight = 1000, .request = 6000, .priority = 2};
  CHECK(divide(4000, {low, high}) == shares{2000, 2000});
  CHECK(divide(6000, {low, high}) == shares{2000, 4000});
  const queue idle{.deserved = 1000, .weight = 1000, .request = 0, .priority = 1};
  const queue busy{.deserved = 2000, .weight = 2000, .request = 5000, .priority = 2};
  CHECK(divide(5000, {busy, busy, idle}) == shares{3000, 2000, 0});
  CHECK(divide(7000, {{.deserved = 3000, .weight = 0, .request = 5000}}) == shares{3000});
  CHECK(divide(7000, {{.deserved = 3000, .weight = 1000, .request = 5000}}) == shares{5000});
  CHECK(divide(7000, {{.deserved = -1, .weight = 0, .request = 5000}}) == shares{5000});
}

TEST_CASE("whole_unit_division: the total deserved is not scaled down to the capacity") {
  const queue five{.deserved = 5000, .weight = 0, .request = 5000};
  CHECK(divide(10000, {five, five, five}) == shares{5000, 5000, 5000});
  const queue everything{.deserved = -1, .weight = 0, .request = 9000};
  CHECK(divide(8000, {everything, everything}) == shares{8000, 8000});
}

TEST_CASE("whole_unit_division, trap 21: rounding takes from the higher priority") {
  const queue high{.request = 1000, .priority = 1};
  const queue low{.request = 1000};
  CHECK(divide(1000, {high, high, low}) == shares{0, 0, 1000});
  std::vector<queue> ten(9, queue{.request = 128000, .priority = 1});
  ten.push_back({.request = 128000});
  CHECK(divide(128000, ten).back() == 2000);
}

TEST_CASE("whole_unit_division, trap 22: a share may exceed the request and the limit") {
  const queue some{.request = 600};
  CHECK(divide(1000, {some, some}) == shares{1000, 0});
  const queue bounded{.request = 5000, .limit = 600};
  CHECK(divide(1000, {bounded, bounded}) == shares{1000, 0});
}

TEST_CASE("whole_unit_division, trap 23: usage is relative to the cluster, weight to the siblings") {
  const auto tree =
      allot::build_quota_tree<1>({spec_of({.deserved = 16000, .limit = 16000}, "d"), spec_of({}, "rest"),
                                  spec_of({}, "a", "d"), spec_of({}, "b", "d")})
          .value();
  allot::whole_unit_division<> division;
  allot::whole_unit_division<>::options o;
  o.k = 1000;
  const std::vector<resources<>> requested{gpus(32), gpus(160), gpus(16), gpus(16)};
  // d has been given a tenth of the cluster in total, and a had all of it.
  const std::vector<allot::per_dimension<std::int64_t, 1>> used{{100'000}, {0}, {100'000}, {0}};
  division.update(tree, gpus(160), requested, used, o);
  // 0.9 to 1 of 16 is 7.58 and 8.42. Relative to its sibling only, b would have 2 to 1 or more.
  CHECK(division.fair_share(tree.find("a")) == resources<>{gpus(8)});
  CHECK(division.fair_share(tree.find("b")) == resources<>{gpus(8)});
}

TEST_CASE("whole_unit_division, trap 24: with weights of zero the surplus is unassigned") {
  const queue none{.deserved = 2000, .weight = 0, .request = 8000};
  CHECK(divide(8000, {none, none}) == shares{2000, 2000});
}

TEST_CASE("whole_unit_division: an inner quota divides its fair share, dimensions are independent") {
  using two = resources<2>;
  std::vector<quota_spec<2>> specs(4);
  specs[0].name = "d";
  specs[0].nominal = two{gpus(4), gpus(10)};
  specs[1].name = "e";
  specs[2].name = "a", specs[2].parent = "d";
  specs[3].name = "b", specs[3].parent = "d";
  for (auto& s : specs) s.inclusive = s.overcommit = true;
  const auto tree = allot::build_quota_tree(specs).value();
  const std::vector<two> requested{two{gpus(8), gpus(3)}, two{gpus(8), gpus(0)}, two{gpus(8), gpus(3)},
                                   two{}};
  allot::whole_unit_division<2> division;
  division.update(tree, two{gpus(8), gpus(20)}, requested);
  CHECK(division.fair_share(tree.find("d")) == two{gpus(6), gpus(3)});
  CHECK(division.fair_share(tree.find("e")) == two{gpus(2), gpus(0)});
  CHECK(division.fair_share(tree.find("a")) == two{gpus(6), gpus(3)});
  CHECK(division.fair_share(tree.find("b")) == two{});
}

TEST_CASE("whole_unit_division: agrees with the reference on random siblings") {
  allot_test::for_each_seed(400, [](random_source& random) {
    std::vector<queue> queues(random.below(8) + 1);
    const bool with_history = random.one_in(2);
    std::int64_t used = 1'000'000;
    for (queue& q : queues) {
      q.deserved = random.one_in(12) ? -1 : random.between(0, 6) * 1000;
      q.weight = random.between(0, 4) * 1000;
      q.request = random.between(0, 20) * (random.one_in(3) ? 500 : 1000);
      q.priority = static_cast<std::int32_t>(random.between(0, 2));
      if (q.deserved >= 0 && random.one_in(3)) q.limit = q.deserved + random.between(0, 6) * 500;
      if (with_history) q.used = random.between(0, used), used -= q.used;
    }
    const std::int64_t total = random.between(0, 40) * 1000;
    const std::int64_t k = with_history ? random.between(0, 3000) : 0;
    CHECK(divide(total, queues, k) ==
          in_doubles(static_cast<double>(total), queues, static_cast<double>(k) / 1000));
  });
}

TEST_CASE(
    "whole_unit_division: gives nobody less than it deserves and asks for, nor all more than there is") {
  allot_test::for_each_seed(300, [](random_source& random) {
    std::vector<queue> queues(random.below(8) + 1);
    std::int64_t deserved = 0;
    for (queue& q : queues) {
      q.deserved = random.between(0, 6) * 1000;
      q.weight = random.between(0, 4) * 333;
      q.request = random.between(0, 20) * 250;
      q.priority = static_cast<std::int32_t>(random.between(0, 2));
      deserved += std::min(q.deserved, q.request);
    }
    const std::int64_t total = random.between(0, 40) * 1000;
    const shares given = divide(total, queues);
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < queues.size(); ++i) {
      sum += given[i];
      CHECK(given[i] >= std::min(queues[i].deserved, queues[i].request));
      CHECK(given[i] < std::max(std::min(queues[i].deserved, queues[i].request), queues[i].request) + 1000);
      if (queues[i].weight == 0) CHECK(given[i] <= queues[i].deserved);
    }
    CHECK(sum <= std::max(total, deserved));
    // Scale-free: a common factor of the weights does not matter.
    std::vector<queue> scaled = queues;
    for (queue& q : scaled) q.weight *= 7;
    CHECK(divide(total, scaled) == given);
  });
}
