// SPDX-License-Identifier: BSL-1.0
#include <allot/systems/kai/detail/unit_id.hpp>

#include "tests/support/throwing_assert.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <type_traits>

using allot::job_id;
using allot::detail::unit_id;
using allot_test::assertion_failed;

// A job is a unit; which job a unit is has to be asked for.
static_assert(std::is_convertible_v<job_id, unit_id> && !std::is_convertible_v<unit_id, job_id>);

namespace {

struct record {
  struct {
    job_id id;
  } facts;
  std::uint32_t ticket = 0;
};

}  // namespace

TEST_CASE("unit_id: a job is no extra pod, and has no number of one") {
  const unit_id job = job_id{3, 7};
  CHECK_FALSE(job.is_extra());
  CHECK(job.job() == job_id{3, 7});
  CHECK_THROWS_AS(static_cast<void>(job.number()), assertion_failed);
  CHECK(job == unit_id::of(record{{job_id{3, 7}}, 5}));
  CHECK(job != unit_id{job_id{3, 8}});
}

TEST_CASE("unit_id: an extra pod is no job: it can't be an index into what is kept by job") {
  const unit_id pod = unit_id::extra(2);
  CHECK(pod.is_extra());
  CHECK(pod.number() == 2);
  CHECK_THROWS_AS(static_cast<void>(pod.job()), assertion_failed);
  CHECK(pod == unit_id::of(record{{}, 2}));
  CHECK(pod != unit_id::extra(3));
  CHECK(pod != unit_id{job_id{2}});
  CHECK(pod != unit_id{job_id{}});
}
