// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <string>
#include <utility>

namespace allot_test {

/// Random numbers that are the same on every machine: SplitMix64, and no std:: distribution.
class random_source {
 public:
  using result_type = std::uint64_t;

  explicit constexpr random_source(std::uint64_t seed) noexcept : seed_(seed), state_(seed) {}

  [[nodiscard]] static constexpr result_type min() noexcept { return 0; }
  [[nodiscard]] static constexpr result_type max() noexcept {
    return std::numeric_limits<result_type>::max();
  }
  constexpr result_type operator()() noexcept {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15U;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  }
  /// The seed as printed by `for_each_seed`; set ALLOT_SEED to it to run the case again.
  [[nodiscard]] constexpr std::uint64_t seed() const noexcept { return seed_; }

  /// Below `n`, which is not zero; the bias of n / 2^64 does not matter here.
  [[nodiscard]] constexpr std::size_t below(std::size_t n) noexcept {
    __extension__ using wide = unsigned __int128;
    return static_cast<std::size_t>(wide{(*this)()} * n >> 64U);
  }
  /// From `low` to `high`, both included.
  [[nodiscard]] constexpr std::int64_t between(std::int64_t low, std::int64_t high) noexcept {
    const std::uint64_t values = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
    const std::uint64_t offset = values == 0 ? (*this)() : below(values);
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + offset);
  }
  /// True once in `n` calls on average.
  [[nodiscard]] constexpr bool one_in(std::size_t n) noexcept { return below(n) == 0; }
  /// An element of a non-empty range.
  template <class Range>
  [[nodiscard]] constexpr decltype(auto) pick(Range&& range) noexcept {
    using difference = typename std::iterator_traits<decltype(std::begin(range))>::difference_type;
    return *std::next(std::begin(range), static_cast<difference>(below(std::size(range))));
  }
  template <class Range>
  constexpr void shuffle(Range& range) noexcept {
    for (std::size_t i = std::size(range); i > 1; --i) std::swap(range[i - 1], range[below(i)]);
  }

 private:
  std::uint64_t seed_;
  std::uint64_t state_;
};

namespace detail {
[[nodiscard]] inline bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && std::string{value} == "1";
}
}  // namespace detail

/// Whether a long test run was requested (`./dev test --long`: ALLOT_LONG=1).
[[nodiscard]] inline bool long_run() {
  return detail::is_set("ALLOT_LONG");
}
/// Whether a thirtieth of the random cases is enough (ALLOT_SHORT=1): for builds that run slowly and whose
/// assertions are fully checked elsewhere.
[[nodiscard]] inline bool short_run() {
  return detail::is_set("ALLOT_SHORT");
}

/// How many random cases to run where `cases` is the usual number: ALLOT_CASES, if that is set.
[[nodiscard]] inline std::size_t cases_to_try(std::size_t cases, std::size_t in_long_run) {
  if (const char* wanted = std::getenv("ALLOT_CASES")) return std::strtoull(wanted, nullptr, 10);
  if (long_run()) return in_long_run;
  return short_run() ? (cases + 29) / 30 : cases;
}

/// Whether a test runs all its random cases, and not only a part, those selected by ALLOT_SEED or RC_PARAMS,
/// or as many as there is time for. Only then can a test check how many cases were of a kind.
[[nodiscard]] inline bool all_cases_run() {
  return std::getenv("ALLOT_SEED") == nullptr && std::getenv("ALLOT_MINUTES") == nullptr &&
         std::getenv("ALLOT_CASES") == nullptr && std::getenv("RC_PARAMS") == nullptr && !short_run();
}

namespace detail {
/// New seeds, or those from ALLOT_FROM on, until the time is over.
template <class Run>
void for_minutes(const char* minutes, Run run) {
  using clock = std::chrono::steady_clock;
  const auto end = clock::now() + std::chrono::minutes{std::strtoll(minutes, nullptr, 10)};
  const char* from = std::getenv("ALLOT_FROM");
  // No two runs have the same ones, as none takes a million in a second.
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch());
  const std::uint64_t first = from != nullptr && *from != '\0'
                                  ? std::strtoull(from, nullptr, 10)
                                  : static_cast<std::uint64_t>(seconds.count()) * 1'000'000;
  std::uint64_t next = first;
  while (clock::now() < end) run(next++);
  MESSAGE("seeds from " << first << ": " << next - first << " cases; --from " << next
                        << " (ALLOT_FROM) goes on");
}
}  // namespace detail

/// Calls `body(random_source&)` with `cases` seeds, ten times as many in a long run, a tenth in a short one.
/// A failure is reported with its seed; ALLOT_SEED=n in the environment runs that seed alone, ALLOT_MINUTES=n
/// new ones for so long.
template <class Body>
void for_each_seed(std::size_t cases, Body body) {
  const auto run = [&body](std::uint64_t seed) {
    INFO("run this case alone: ALLOT_SEED=" << seed);
    random_source random{seed};
    body(random);
  };
  if (const char* only = std::getenv("ALLOT_SEED")) {
    run(std::strtoull(only, nullptr, 10));
    return;
  }
  if (const char* minutes = std::getenv("ALLOT_MINUTES")) return detail::for_minutes(minutes, run);
  const std::size_t seeds = cases_to_try(cases, 10 * cases);
  for (std::size_t i = 1; i <= seeds; ++i) run(i);
}

}  // namespace allot_test
