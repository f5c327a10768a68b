// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/generate_parts.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

using namespace allot::lab;

namespace {

constexpr workload_kind kinds[] = {workload_kind::philly,    workload_kind::helios,      workload_kind::openb,
                                   workload_kind::inference, workload_kind::interactive, workload_kind::mix};

}  // namespace

TEST_CASE("make_parts: every kind makes a workload for any number of tenants and size of cluster") {
  for (const workload_kind kind : kinds) {
    for (const std::int64_t gpus : {1, 8, 128, 10'000}) {
      for (const std::size_t tenants : {1U, 3U, 40U}) {
        CAPTURE(static_cast<int>(kind));
        CAPTURE(gpus);
        CAPTURE(tenants);
        workload_size size;
        size.cluster_gpus = gpus;
        size.jobs = 200;
        workload_stream stream{make_parts(kind, numbered_tenants(tenants), size), size};
        std::size_t jobs = 0;
        std::set<std::string> ids;
        while (const auto job = stream.next()) {
          ++jobs;
          CHECK(ids.insert(stream.id_of(*job)).second);
        }
        CHECK(jobs == 200);
      }
    }
  }
}

TEST_CASE("make_parts: a mix divides the work by class and tenant") {
  workload_size size;
  size.days = 30;
  size.longest = 3 * day;
  const workload_mix mix{200, 100};
  workload_stream stream{make_parts(workload_kind::mix, demo_tenants(), size, mix), size};
  std::map<std::string, double> work;
  while (const auto job = stream.next()) {
    const workload_part& part = stream.part(job->part);
    const double gpu_days = static_cast<double>(job->gpus.in_milli()) / 1'000 *
                            static_cast<double>(job->duration) / static_cast<double>(day);
    work[part.job_class] += gpu_days;
    work[part.tenant] += gpu_days;
    CHECK(part.preemptible == (part.job_class == "train"));
  }
  // Of 128 GPUs for 30 days 20 % serve, 10 % are in sessions and 60 % train.
  CHECK(work["inference"] == doctest::Approx(0.2 * 128 * 30).epsilon(0.001));
  CHECK(work["interactive"] == doctest::Approx(0.1 * 128 * 30).epsilon(0.001));
  CHECK(work["train"] == doctest::Approx(0.6 * 128 * 30).epsilon(0.001));
  CHECK(work["quota1"] == doctest::Approx(0.2 * 128 * 30).epsilon(0.001));
  CHECK(work["quota1.2"] == doctest::Approx(0.7 * 80 * 30).epsilon(0.001));
}

TEST_CASE("numbered_tenants: the n-th has 1/n of the first") {
  const workload_tenants t = numbered_tenants(4);
  REQUIRE(t.training.size() == 4);
  CHECK(t.training[3].name == "team-4");
  CHECK(t.training[0].share == 4 * t.training[3].share);
  CHECK(t.inference.size() == 4);
}

TEST_CASE("make_parts: training may be the smallest part of a mix") {
  workload_size size;
  size.load_permille = 100;
  CHECK_NOTHROW(static_cast<void>(make_parts(workload_kind::mix, demo_tenants(), size, {50, 49})));
}
