// SPDX-License-Identifier: BSL-1.0
#include <allot/fairshare/job_rank.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

using allot::job_rank;

TEST_CASE("job_rank: key, then submission, then id, the lesser first") {
  constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
  constexpr std::array in_order{job_rank{lowest, 9, 9}, job_rank{-5, 0, 1}, job_rank{-5, 7, 0},
                                job_rank{-5, 7, 1},     job_rank{0, 0, 0},  job_rank{0, 0, 1}};
  for (std::size_t i = 0; i < in_order.size(); ++i) {
    for (std::size_t j = 0; j < in_order.size(); ++j) {
      CHECK((in_order[i] <=> in_order[j]) == (i <=> j));
      CHECK((in_order[i] == in_order[j]) == (i == j));
    }
  }
}
