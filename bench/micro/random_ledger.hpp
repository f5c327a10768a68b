// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/quota/builder.hpp>
#include <allot/quota/ledger.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace allot_bench {

using allot::ledger;
using allot::limit;
using allot::quantity;
using allot::quota_id;
using allot::resources;

inline constexpr std::size_t walk_length = std::size_t{1} << 16U;

/// SplitMix64: the same accesses on every machine.
class random_source {
 public:
  std::uint64_t operator()() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15U;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  }
  std::size_t below(std::size_t n) { return static_cast<std::size_t>((*this)() % n); }

 private:
  std::uint64_t state_ = 1;
};

/// `quotas` quotas in levels that grow by a constant factor; all leaves are at `depth`. Every other
/// leaf keeps half of what it has, and all may borrow five times their nominal.
template <std::size_t N>
ledger<N> make_ledger(std::size_t quotas, std::size_t depth) {
  std::vector<allot::quota_spec<N>> specs(1);
  // A literal here has g++ 12 warn of an overlap that does not exist.
  specs[0].name = std::to_string(0);
  std::size_t above = 0;
  for (std::size_t level = 1; level <= depth; ++level) {
    const std::size_t first = specs.size();
    const double share = static_cast<double>(level) / static_cast<double>(depth);
    std::size_t size =
        std::max<std::size_t>(1, static_cast<std::size_t>(std::pow(static_cast<double>(quotas), share) / 2));
    if (level == depth) size = std::max(first < quotas ? quotas - first : 1, size);
    for (std::size_t i = 0; i < size; ++i) {
      allot::quota_spec<N> s;
      s.name = std::to_string(specs.size());
      s.parent = specs[above + i * (first - above) / size].name;
      if (level == depth) {
        s.nominal = resources<N>{quantity::whole(8)};
        if (i % 2 == 0) s.lend = allot::limits<N>{limit::percent(50)};
        s.borrow = allot::limits<N>{limit::percent(500)};
      }
      specs.push_back(std::move(s));
    }
    above = first;
  }
  return ledger<N>{allot::build_quota_tree(std::move(specs)).value()};
}

/// A ledger whose leaves use from nothing to nearly twice their nominal, all in all a little less than there
/// is, and a random walk over the leaves.
template <std::size_t N>
struct world {
  ledger<N> l;
  std::vector<quota_id> walk;

  world(std::int64_t quotas, std::int64_t depth)
      : l(make_ledger<N>(static_cast<std::size_t>(quotas), static_cast<std::size_t>(depth))) {
    random_source random;
    std::vector<quota_id> leaves;
    for (const quota_id x : l.tree().top_down()) {
      if (!l.tree().children(x).empty()) continue;
      leaves.push_back(x);
      l.charge(x, resources<N>{quantity::whole(static_cast<std::int64_t>(random.below(16)))});
    }
    for (std::size_t i = 0; i < walk_length; ++i) walk.push_back(leaves[random.below(leaves.size())]);
  }
};

}  // namespace allot_bench
