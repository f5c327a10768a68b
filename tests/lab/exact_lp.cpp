// SPDX-License-Identifier: BSL-1.0
// The linear programs of the gallery.
#include "examples/gallery/exact_lp.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "tests/support/seeds.hpp"

using namespace allot_test;

namespace {

using exact = boost::multiprecision::cpp_rational;
using numbers = std::vector<exact>;

exact product(const std::vector<std::int64_t>& a, const numbers& x) {
  return std::inner_product(a.begin(), a.end(), x.begin(), exact{0});
}
bool is_allowed(const linear_program& p, const numbers& x) {
  for (const exact& v : x) {
    if (v < 0) return false;
  }
  for (std::size_t i = 0; i < p.rows.size(); ++i) {
    if (product(p.rows[i], x) > p.bounds[i]) return false;
  }
  return true;
}
/// The x for which these equations hold, by elimination; the last column is the right side.
std::optional<numbers> solve(std::vector<numbers> rows) {
  const std::size_t n = rows.size();
  for (std::size_t c = 0; c < n; ++c) {
    std::size_t at = c;
    while (at < n && rows[at][c] == 0) ++at;
    if (at == n) return std::nullopt;
    std::swap(rows[at], rows[c]);
    for (std::size_t i = 0; i < n; ++i) {
      if (i == c) continue;
      const exact factor = rows[i][c] / rows[c][c];
      for (std::size_t k = c; k <= n; ++k) rows[i][k] -= factor * rows[c][k];
    }
  }
  numbers x;
  for (std::size_t c = 0; c < n; ++c) x.push_back(rows[c][n] / rows[c][c]);
  return x;
}
/// The best of all vertices.
std::pair<exact, exact> best_vertex(const linear_program& p) {
  const std::size_t n = p.first.size();
  const std::size_t all = p.rows.size() + n;
  std::optional<std::pair<exact, exact>> best;
  for (std::uint32_t tight = 0; tight < 1U << all; ++tight) {
    if (static_cast<std::size_t>(std::popcount(tight)) != n) continue;
    std::vector<numbers> rows;
    for (std::size_t i = 0; i < all; ++i) {
      if ((tight >> i & 1U) == 0) continue;
      numbers& row = rows.emplace_back(n + 1);
      if (i >= p.rows.size()) {
        row[i - p.rows.size()] = 1;
        continue;
      }
      for (std::size_t v = 0; v < n; ++v) row[v] = p.rows[i][v];
      row[n] = p.bounds[i];
    }
    const auto x = solve(std::move(rows));
    if (!x || !is_allowed(p, *x)) continue;
    const std::pair value{product(p.first, *x), product(p.second, *x)};
    if (!best || value > *best) best = value;
  }
  return best.value();
}

}  // namespace

TEST_CASE("exact linear programs: the best of all vertices by both objectives, whatever is degenerate") {
  for_each_seed(300, [](random_source& random) {
    linear_program p;
    const auto variables = static_cast<std::size_t>(random.between(1, 4));
    const auto some = [&](std::int64_t least, std::int64_t most) {
      std::vector<std::int64_t> row;
      for (std::size_t v = 0; v < variables; ++v) row.push_back(random.between(least, most));
      return row;
    };
    for (std::int64_t i = random.between(0, 4); i > 0; --i) {
      p.rows.push_back(some(-2, 6));
      p.bounds.push_back(random.one_in(3) ? 0 : random.between(0, 20));
    }
    p.rows.push_back(some(1, 2));
    p.bounds.push_back(random.between(0, 10));
    p.first = some(-1, 3);
    p.second = some(-2, 4);
    const exact_point found = exact_simplex{p}.solve();
    numbers x;
    for (const auto& v : found.x) x.emplace_back(v, found.of);
    REQUIRE(is_allowed(p, x));
    REQUIRE(std::pair{product(p.first, x), product(p.second, x)} == best_vertex(p));
  });
}
