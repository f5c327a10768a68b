// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/generate_stream.hpp>

#include <allot/lab/trace_csv.hpp>
#include <allot/lab/trace_csv_writer.hpp>
#include <allot/sim/hash.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/count_allocations.hpp"
#include "tests/support/seeds.hpp"

using namespace allot::lab;
using allot::instant;

namespace {

workload_part part_of(job_model m, std::string prefix, std::uint64_t work = 1) {
  workload_part p;
  p.model = m;
  p.tenant = "of " + prefix;
  p.prefix = std::move(prefix);
  p.work = work;
  return p;
}

std::vector<workload_part> some_parts(allot_test::random_source& random) {
  std::vector<workload_part> parts;
  const std::size_t count = 1 + random.below(4);
  for (std::size_t i = 0; i < count; ++i) {
    workload_part p = part_of(static_cast<job_model>(random.below(6)),
                              std::string(1, static_cast<char>('a' + i)), 1 + random.below(9));
    p.largest_gpus = random.between(1, 32);
    p.has_phases = random.one_in(2);
    parts.push_back(p);
  }
  return parts;
}

std::vector<generated_job> all_of(workload_stream& stream) {
  std::vector<generated_job> jobs;
  while (const auto job = stream.next()) jobs.push_back(*job);
  return jobs;
}

/// GPU-minutes.
double work_of(const generated_job& job) {
  return static_cast<double>(job.gpus.in_milli()) / 1'000 * static_cast<double>(job.duration) /
         static_cast<double>(minute);
}

}  // namespace

TEST_CASE("workload_stream: the same on every machine") {
  workload_size size;
  size.days = 7;
  std::vector<workload_part> parts;
  for (const job_model m : {job_model::philly, job_model::helios, job_model::openb_sensitive,
                            job_model::openb_best_effort, job_model::inference, job_model::interactive}) {
    parts.push_back(part_of(m, std::to_string(parts.size())));
    parts.back().has_phases = parts.size() % 2 == 0;
  }
  workload_stream stream{parts, size};
  allot::sim::fingerprint f;
  f.add(to_csv(to_trace(stream)));
  CHECK(f.hex() == "f1b9b7530017497e");
}

TEST_CASE("workload_stream: in order, within the time, unique ids, and the work of the given load") {
  allot_test::for_each_seed(40, [](allot_test::random_source& random) {
    workload_size size;
    size.seed = random();
    size.cluster_gpus = random.between(32, 300);
    size.load_permille = random.between(100, 2'000);
    size.days = random.between(1, 20);
    const std::vector<workload_part> parts = some_parts(random);
    workload_stream stream{parts, size};
    const std::uint64_t promised = stream.jobs();
    std::set<std::string> ids;
    std::vector<double> work(parts.size());
    instant before = 0;
    while (const auto job = stream.next()) {
      CHECK(job->submit >= before);
      before = job->submit;
      CHECK(job->duration >= 1);
      CHECK(ids.insert(stream.id_of(*job)).second);
      CHECK(job->gpus.in_milli() <= parts[job->part].largest_gpus * 1'000);
      work[job->part] += work_of(*job);
    }
    CHECK(before < *size.days * day);
    CHECK(ids.size() == promised);
    CHECK_FALSE(stream.next());
    std::uint64_t all = 0;
    for (const workload_part& p : parts) all += p.work;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const double asked = static_cast<double>(size.cluster_gpus * size.load_permille) / 1'000 *
                           static_cast<double>(*size.days) * 1'440 * static_cast<double>(parts[i].work) /
                           static_cast<double>(all);
      CHECK(work[i] <= asked + 0.01);
      CHECK(work[i] >= asked - 1.01);
    }
  });
}

TEST_CASE("workload_stream: the given number of jobs, over the time that gives the load") {
  allot_test::for_each_seed(40, [](allot_test::random_source& random) {
    workload_size size;
    size.seed = random();
    size.cluster_gpus = random.between(32, 300);
    size.load_permille = random.between(100, 2'000);
    size.jobs = 1 + random.below(3'000);
    std::vector<workload_part> parts = some_parts(random);
    workload_stream stream{parts, size};
    const std::vector<generated_job> jobs = all_of(stream);
    CHECK(jobs.size() == *size.jobs);
    double work = 0;
    for (const generated_job& job : jobs) {
      work += work_of(job);
      CHECK(job.submit < static_cast<instant>(stream.hours()) * hour);
    }
    const double per_hour = static_cast<double>(size.cluster_gpus * size.load_permille) / 1'000 * 60;
    CHECK(work <= per_hour * static_cast<double>(stream.hours()) + 0.01);
    CHECK(work >= per_hour * static_cast<double>(stream.hours() - 1) - 0.01);
  });
}

TEST_CASE("workload_stream: one more job leaves the others as they are, but for when they are submitted") {
  // Of the last service only as many replicas as fit into the number are left, and no other job is left out.
  using key = std::pair<std::size_t, std::uint64_t>;
  using shape = std::pair<std::int64_t, instant>;
  const auto shapes_of = [](std::uint64_t jobs) {
    workload_size size;
    size.jobs = jobs;
    workload_stream stream{{part_of(job_model::philly, "a"), part_of(job_model::inference, "b")}, size};
    std::map<key, shape> shapes;
    for (const generated_job& job : all_of(stream)) {
      shapes[{job.part, job.number}] = {job.gpus.in_milli(), job.duration};
    }
    return shapes;
  };
  std::map<key, shape> fewer;
  for (std::uint64_t jobs = 1; jobs <= 100; ++jobs) {
    CAPTURE(jobs);
    const std::map<key, shape> shapes = shapes_of(jobs);
    CHECK(shapes.size() == jobs);
    CHECK(std::includes(shapes.begin(), shapes.end(), fewer.begin(), fewer.end()));
    fewer = shapes;
  }
}

TEST_CASE("workload_stream: a part does not depend on the others") {
  workload_size size;
  size.days = 5;
  const auto rows_of = [&](job_model other) {
    workload_stream stream{{part_of(job_model::philly, "a"), part_of(other, "b")}, size};
    std::string rows;
    for (const generated_job& job : all_of(stream)) {
      if (job.part != 0) continue;
      rows += std::to_string(job.submit) + ' ' + std::to_string(job.duration) + ' ' +
              std::to_string(job.gpus.in_milli()) + '\n';
    }
    return rows;
  };
  CHECK(rows_of(job_model::helios) == rows_of(job_model::interactive));
  CHECK_FALSE(rows_of(job_model::helios).empty());
}

TEST_CASE("workload_stream: submissions follow the day and the week") {
  workload_size size;
  size.days = 70;
  size.cluster_gpus = 512;
  const auto counts = [&](job_model m, std::array<int, 24>& by_hour, std::array<int, 7>& by_day) {
    workload_stream stream{{part_of(m, "a")}, size};
    for (const generated_job& job : all_of(stream)) {
      ++by_hour[static_cast<std::size_t>(job.submit / hour % 24)];
      ++by_day[static_cast<std::size_t>(job.submit / day % 7)];
    }
  };
  std::array<int, 24> by_hour{};
  std::array<int, 7> by_day{};
  counts(job_model::inference, by_hour, by_day);
  CHECK(by_hour[9] > 8 * by_hour[2]);
  CHECK(by_day[5] < by_day[2]);
  by_hour = {};
  by_day = {};
  counts(job_model::interactive, by_hour, by_day);
  CHECK(by_hour[10] > 20 * by_hour[3]);
  CHECK(3 * by_day[6] < by_day[0]);
}

TEST_CASE("workload_stream: phases are busy and quiet days of the same work") {
  workload_size size;
  size.days = 100;
  workload_part p = part_of(job_model::helios, "a");
  const auto uneven = [&] {
    workload_stream stream{{p}, size};
    std::vector<double> days(100);
    for (const generated_job& job : all_of(stream)) ++days[static_cast<std::size_t>(job.submit / day)];
    double mean = 0;
    for (const double n : days) mean += n / 100;
    double variance = 0;
    for (const double n : days) variance += (n - mean) * (n - mean) / 100;
    return variance / mean / mean;
  };
  const double without = uneven();
  p.has_phases = true;
  CHECK(uneven() > 3 * without);
}

TEST_CASE("workload_stream: the memory does not depend on the number of jobs") {
  // Once created, it allocates only for the texts of the ids.
  workload_size size;
  size.jobs = 20'000;
  size.cluster_gpus = 10'000;
  workload_stream stream{{part_of(job_model::philly, "a"), part_of(job_model::inference, "b")}, size};
  const std::size_t before = allot_test::allocations();
  std::uint64_t made = 0;
  while (stream.next()) ++made;
  CHECK(made == 20'000);
  CHECK(allot_test::allocations() == before);
}

TEST_CASE("to_trace: the attributes of a part's jobs") {
  workload_part p = part_of(job_model::interactive, "i");
  p.job_class = "interactive";
  p.priority = 7;
  p.preemptible = false;
  p.checkpoint = 5 * minute;
  p.restart = minute;
  workload_size size;
  size.jobs = 3;
  workload_stream stream{{p}, size};
  const trace t = to_trace(stream);
  REQUIRE(t.jobs.size() == 3);
  CHECK(t.ids[t.jobs[0].id] == "i-00001");
  CHECK(t.tenants[t.jobs[0].tenant] == "of i");
  CHECK(t.words[t.jobs[2].job_class] == "interactive");
  CHECK(t.jobs[2].priority == 7);
  CHECK_FALSE(t.jobs[2].preemptible);
  CHECK(t.jobs[2].checkpoint == 5 * minute);
  CHECK(t.jobs[2].restart == minute);
  CHECK(parse_trace_csv(to_csv(t)));
}
