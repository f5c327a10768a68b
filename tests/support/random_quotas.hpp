// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/quota/builder.hpp>
#include <allot/quota/spec.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/seeds.hpp"

namespace allot_test {

struct quota_shape {
  std::size_t most_quotas = 16;
  /// A root has depth 0.
  std::size_t deepest = 6;
  /// One in this many quotas is a root of its own, static, or has an unlimited nominal quota; 0: none.
  std::size_t one_root_in = 12;
  std::size_t one_static_in = 8;
  std::size_t one_unlimited_in = 16;
  /// Whether inner quotas may be inclusive, and then overcommitted.
  bool inclusive = true;
  bool overcommit = true;
  /// Whether limits may be percentages.
  bool percent = true;
};

namespace detail {

[[nodiscard]] inline allot::quantity random_amount(random_source& random) {
  switch (random.below(4)) {
    case 0:
      return {};
    case 1:
      return allot::quantity::milli(random.between(0, 20'000));
    default:
      return allot::gpus(random.between(0, 20));
  }
}
[[nodiscard]] inline allot::limit random_limit(random_source& random, const quota_shape& shape) {
  switch (random.below(shape.percent ? 5 : 4)) {
    case 0:
    case 1:
      return allot::limit::all();
    case 2:
      return allot::limit::none();
    case 3:
      return allot::limit::at_most(random_amount(random));
    default:
      return allot::limit::percent(random.between(0, random.one_in(2) ? 100 : 900));
  }
}

}  // namespace detail

/// Quotas named q0, q1, …, in an order in which a parent may follow its children. The builder accepts them.
template <std::size_t N>
[[nodiscard]] std::vector<allot::quota_spec<N>> random_quotas(random_source& random,
                                                              const quota_shape& shape = {}) {
  const auto once_in = [&](std::size_t n) { return n != 0 && random.one_in(n); };
  for (;;) {
    const std::size_t count = 1 + random.below(shape.most_quotas);
    std::vector<std::size_t> parent(count, count);
    std::vector<std::size_t> depth(count, 0);
    std::vector<allot::quota_spec<N>> specs(count);
    // Older than its children here.
    for (std::size_t i = 1; i < count; ++i) {
      const std::size_t p = random.one_in(3) ? i - 1 : random.below(i);
      if (depth[p] == shape.deepest || once_in(shape.one_root_in)) continue;
      parent[i] = p;
      depth[i] = depth[p] + 1;
    }
    std::vector<allot::resources<N>> given_below(count);
    for (std::size_t i = count; i-- > 0;) {
      allot::quota_spec<N>& s = specs[i];
      s.is_static = once_in(shape.one_static_in);
      s.inclusive = shape.inclusive && random.one_in(2);
      s.overcommit = s.inclusive && shape.overcommit && random.one_in(3);
      s.priority = static_cast<std::int32_t>(random.below(3));
      for (std::size_t d = 0; d < N; ++d) {
        s.nominal[d] =
            once_in(shape.one_unlimited_in) ? allot::quantity::unlimited() : detail::random_amount(random);
        if (s.inclusive && !s.overcommit) s.nominal[d] += given_below[i][d];
        s.lend[d] = detail::random_limit(random, shape);
        s.borrow[d] = detail::random_limit(random, shape);
        s.weight[d] = allot::fair_weight::milli(random.between(0, 3000));
        if (parent[i] != count) {
          given_below[parent[i]][d] += s.inclusive ? s.nominal[d] : s.nominal[d] + given_below[i][d];
        }
      }
    }
    std::vector<std::size_t> place(count);
    for (std::size_t i = 0; i < count; ++i) place[i] = i;
    random.shuffle(place);
    std::vector<allot::quota_spec<N>> shuffled(count);
    for (std::size_t i = 0; i < count; ++i) {
      specs[i].name = "q" + std::to_string(place[i]);
      if (parent[i] != count) specs[i].parent = "q" + std::to_string(place[parent[i]]);
      shuffled[place[i]] = std::move(specs[i]);
    }
    if (allot::build_quota_tree(shuffled)) return shuffled;
  }
}

}  // namespace allot_test
