// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/core/ratio.hpp>
#include <allot/core/vector.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>

// Random numbers and distributions in integer arithmetic only, so that a seed means the same workload on
// every machine and compiler: the distributions of <random> are left to each library, and log() and exp()
// differ between them in the last digits.

namespace allot {
inline namespace v0 {
namespace lab {

namespace detail {

/// The output function of SplitMix64: a bijection of 64-bit numbers that scatters them. 0 stays 0.
[[nodiscard]] constexpr std::uint64_t scatter(std::uint64_t z) noexcept {
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31U);
}

/// The largest integer whose square is at most `n`.
[[nodiscard]] constexpr std::uint64_t floor_sqrt(wide n) noexcept {
  if (n == 0) return 0;
  const auto high = static_cast<std::uint64_t>(n >> 64U);
  const auto low = static_cast<std::uint64_t>(n);
  const int bits = high != 0 ? 128 - std::countl_zero(high) : 64 - std::countl_zero(low);
  // Newton's method from a power of two above the root comes down monotonically.
  if (bits <= 62) {
    std::uint64_t x = std::uint64_t{1} << ((bits + 1) / 2);
    for (;;) {
      const std::uint64_t next = (x + low / x) / 2;
      if (next >= x) return x;
      x = next;
    }
  }
  wide x = wide{1} << ((bits + 1) / 2);
  for (;;) {
    const wide next = (x + n / x) / 2;
    if (next >= x) return static_cast<std::uint64_t>(x);
    x = next;
  }
}

}  // namespace detail

/// A stream of random numbers: xoshiro256** (Blackman and Vigna), its state filled by SplitMix64 as its
/// authors recommend. Streams of one seed are independent of each other, so a part of a workload with its own
/// stream does not change when another part draws more. Also a uniform random bit generator, as <random> and
/// <algorithm> define it.
class random_stream {
 public:
  using result_type = std::uint64_t;

  explicit constexpr random_stream(std::uint64_t seed, std::uint64_t stream = 0) noexcept {
    std::uint64_t weyl = seed ^ detail::scatter(stream);
    for (std::uint64_t& word : state_) word = detail::scatter(weyl += 0x9E3779B97F4A7C15U);
  }

  [[nodiscard]] static constexpr result_type min() noexcept { return 0; }
  [[nodiscard]] static constexpr result_type max() noexcept {
    return std::numeric_limits<result_type>::max();
  }
  constexpr result_type operator()() noexcept {
    const std::uint64_t drawn = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17U;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return drawn;
  }

 private:
  std::uint64_t state_[4] = {};
};

/// A uniform integer below `n` (Lemire's multiplication with rejection). Precondition: `n` is not zero.
[[nodiscard]] constexpr std::uint64_t draw_below(random_stream& random, std::uint64_t n) {
  ALLOT_ASSERT(n != 0, "there is no number below zero to draw");
  wide product = wide{random()} * n;
  if (static_cast<std::uint64_t>(product) < n) {
    const std::uint64_t unfair = (0 - n) % n;
    while (static_cast<std::uint64_t>(product) < unfair) product = wide{random()} * n;
  }
  return static_cast<std::uint64_t>(product >> 64U);
}

/// A uniform integer from `low` to `high`, inclusive. Precondition: `low` is at most `high`.
[[nodiscard]] constexpr std::int64_t draw_between(random_stream& random, std::int64_t low,
                                                  std::int64_t high) {
  ALLOT_ASSERT(low <= high, "an empty range holds no number to draw");
  const std::uint64_t others = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  const std::uint64_t offset = others == random_stream::max() ? random() : draw_below(random, others + 1);
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + offset);
}

/// True with probability `numerator` / `denominator`, which is not zero.
[[nodiscard]] constexpr bool draw_chance(random_stream& random, std::uint64_t numerator,
                                         std::uint64_t denominator) {
  return draw_below(random, denominator) < numerator;
}

/// An exponentially distributed waiting time, rounded down. Von Neumann's method: it only compares uniform
/// numbers (about six draws), because a descending run that starts at x has odd length with probability e^-x.
/// Precondition: 0 <= `mean` <= 2^50.
[[nodiscard]] constexpr std::int64_t draw_exponential(random_stream& random, std::int64_t mean) {
  ALLOT_ASSERT(mean >= 0 && mean <= (std::int64_t{1} << 50U), "a mean between 0 and 2^50");
  for (std::int64_t whole = 0;; ++whole) {
    const std::uint64_t first = random();
    std::uint64_t last = first;
    bool odd = true;
    for (std::uint64_t next = random(); next < last; next = random()) {
      last = next;
      odd = !odd;
    }
    if (odd) {
      const auto fraction = static_cast<std::int64_t>(wide{first} * static_cast<std::uint64_t>(mean) >> 64U);
      return whole * mean + fraction;
    }
  }
}

/// A number from `low` to `high`, inclusive, whose logarithm is uniform: as likely between 1 and 10 minutes
/// as between 10 and 100. The range is halved six times at its geometric mean; in the remaining piece (the
/// 64th root of high/low wide) the number is uniform. Precondition: 1 <= `low` <= `high`.
[[nodiscard]] constexpr std::int64_t draw_log_uniform(random_stream& random, std::int64_t low,
                                                      std::int64_t high) {
  ALLOT_ASSERT(1 <= low && low <= high, "a logarithm needs 1 <= low <= high");
  std::uint64_t halves = random();
  for (int i = 0; i < 6; ++i, halves >>= 1U) {
    const auto middle = static_cast<std::int64_t>(
        detail::floor_sqrt(wide{static_cast<std::uint64_t>(low)} * static_cast<std::uint64_t>(high)));
    ((halves & 1U) != 0 ? low : high) = middle;
  }
  return draw_between(random, low, high);
}

/// One point of a distribution: `permille` of all values are at most `value`.
struct quantile {
  std::uint32_t permille = 0;
  std::int64_t value = 1;
};

/// A number from the distribution with these quantiles that is log-uniform between them: suits measured
/// durations with a heavy tail, and comes close to a lognormal with a handful of points. Precondition: both
/// fields ascend, from permille 0 to permille 1000, and values are at least 1. O(quantiles).
[[nodiscard]] constexpr std::int64_t draw_from_quantiles(random_stream& random,
                                                         std::span<const quantile> quantiles) {
  ALLOT_ASSERT(quantiles.size() >= 2 && quantiles.front().permille == 0 && quantiles.back().permille == 1000,
               "quantiles go from permille 0 to permille 1000");
  const std::uint64_t drawn = draw_below(random, 1000);
  std::size_t above = 1;
  while (quantiles[above].permille <= drawn) ++above;
  return draw_log_uniform(random, quantiles[above - 1].value, quantiles[above].value);
}

/// Chooses an index in proportion to its weight.
class weighted_choice {
 public:
  /// Precondition: some weight is not zero, and their sum is below 2^64.
  explicit weighted_choice(std::span<const std::uint64_t> weights) {
    std::uint64_t sum = 0;
    sums_.reserve(weights.size());
    for (const std::uint64_t w : weights) sums_.push_back(sum += w);
    ALLOT_ASSERT(sum != 0, "a choice needs a weight that is not zero");
  }

  /// O(log n).
  [[nodiscard]] std::size_t operator()(random_stream& random) const {
    const std::uint64_t drawn = draw_below(random, sums_.back());
    const auto at = std::upper_bound(sums_.begin(), sums_.end(), drawn);
    return static_cast<std::size_t>(std::distance(sums_.begin(), at));
  }

 private:
  vector<std::uint64_t> sums_;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot
