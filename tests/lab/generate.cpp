// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/generate.hpp>
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
#include <string_view>
#include <vector>

#include "tests/support/seeds.hpp"

using namespace allot::lab;
using allot::instant;

namespace {

std::string fingerprint_of(const trace& t) {
  allot::sim::fingerprint f;
  f.add(to_csv(t));
  return f.hex();
}

std::string jobs_of(const trace& t, std::string_view tenant) {
  std::string rows;
  for (const trace_job& job : t.jobs) {
    if (t.tenants[job.tenant] != tenant) continue;
    rows.append(t.ids[job.id]);
    for (const std::int64_t n : {job.submit, job.duration, job.gpus.in_milli()}) {
      rows.append(1, ' ').append(std::to_string(n));
    }
    rows += '\n';
  }
  return rows;
}

std::int64_t whole_gpus(const trace_job& job) {
  return job.gpus.in_milli() / 1000;
}

/// The number of GPUs that each tenant would use in each hour, if every job ran at once.
std::map<std::string_view, std::vector<double>> hourly_demand(const trace& t, std::size_t hours) {
  std::map<std::string_view, std::vector<double>> demand;
  for (const trace_job& job : t.jobs) {
    std::vector<double>& of_tenant = demand[t.tenants[job.tenant]];
    of_tenant.resize(hours);
    for (auto h = static_cast<std::size_t>(job.submit / hour); h < hours; ++h) {
      const instant from = std::max(job.submit, static_cast<instant>(h) * hour);
      const instant to = std::min(job.submit + job.duration, static_cast<instant>(h + 1) * hour);
      if (to <= from) break;
      of_tenant[h] += static_cast<double>(whole_gpus(job) * (to - from)) / static_cast<double>(hour);
    }
  }
  return demand;
}

}  // namespace

TEST_CASE("generate_teams: the same on every machine") {
  CHECK(fingerprint_of(generate_teams({})) == "30028c639344ebc5");
  team_workload w;
  w.seed = 2;
  CHECK(fingerprint_of(generate_teams(w)) == "72503507685e4815");
}

TEST_CASE("generate_teams: the work matches the load, divided by quota, whatever the seed") {
  allot_test::for_each_seed(20, [](allot_test::random_source& random) {
    team_workload w;
    w.seed = random();
    w.days = random.between(1, 20);
    w.load_permille = random.between(200, 1'500);
    const trace t = generate_teams(w);
    std::map<std::string_view, std::int64_t> work;
    for (const trace_job& job : t.jobs) work[t.tenants[job.tenant]] += whole_gpus(job) * job.duration;
    const std::int64_t cluster = w.cluster_gpus * w.days * day;
    const std::int64_t training = cluster / 1000 * (w.load_permille - w.serving_permille);
    // The duration of a last service is cut in milliseconds of all its replicas.
    const auto is_near = [](std::int64_t a, std::int64_t b) { return a <= b && b - a <= minute; };
    CHECK(is_near(work["quota1"], cluster / 1000 * w.serving_permille));
    CHECK(is_near(work["quota1.1"], training * 48 / 128));
    CHECK(is_near(work["quota1.2"], training * 80 / 128));
  });
}

TEST_CASE("generate_teams: valid jobs, in order, with unique ids") {
  allot_test::for_each_seed(10, [](allot_test::random_source& random) {
    team_workload w;
    w.seed = random();
    w.training[0].gpus = 9;
    const trace t = generate_teams(w);
    const std::map<std::string_view, std::int64_t> largest = {
        {"quota1", 1}, {"quota1.1", 8}, {"quota1.2", 32}};
    std::map<std::string_view, std::int64_t> met;
    std::set<std::string_view> ids;
    instant before = 0;
    for (const trace_job& job : t.jobs) {
      const std::string_view tenant = t.tenants[job.tenant];
      CHECK(ids.insert(t.ids[job.id]).second);
      CHECK(job.submit >= before);
      CHECK(job.submit < 14 * day);
      CHECK(job.duration > 0);
      CHECK(job.duration <= 72 * hour);
      met[tenant] = std::max(met[tenant], whole_gpus(job));
      const bool serves = tenant == "quota1";
      CHECK(job.preemptible != serves);
      CHECK((job.priority > 0) == serves);
      CHECK(t.words[job.job_class] == (serves ? "inference" : "train"));
      CHECK(job.checkpoint.has_value() != serves);
      before = job.submit;
    }
    CHECK(met == largest);
  });
}

TEST_CASE("generate_teams: overload and idle quota, in turns") {
  allot_test::for_each_seed(5, [](allot_test::random_source& random) {
    team_workload w;
    w.seed = random();
    const trace t = generate_teams(w);
    constexpr std::size_t hours = 14 * 24;
    auto demand = hourly_demand(t, hours);
    const std::vector<double>& a = demand["quota1"];
    const std::vector<double>& b = demand["quota1.1"];
    const std::vector<double>& c = demand["quota1.2"];
    std::size_t overload = 0;
    std::size_t b_could_borrow = 0;
    std::size_t c_could_borrow = 0;
    double all = 0;
    for (std::size_t h = 0; h < hours; ++h) {
      all += a[h] + b[h] + c[h];
      overload += a[h] + b[h] + c[h] > 128 ? 1U : 0U;
      b_could_borrow += b[h] > 48 && c[h] < 70 ? 1U : 0U;
      c_could_borrow += c[h] > 80 && b[h] < 40 ? 1U : 0U;
    }
    CHECK(all / hours / 128 > 0.8);
    CHECK(all / hours / 128 <= 0.9);
    // Between a tenth and six tenths of the time each.
    for (const std::size_t count : {overload, b_could_borrow, c_could_borrow}) {
      CHECK(count > hours / 10);
      CHECK(count < hours * 6 / 10);
    }
    double by_day = 0;
    double by_night = 0;
    for (std::size_t h = 0; h < hours; ++h) (h % 24 >= 10 && h % 24 < 18 ? by_day : by_night) += a[h];
    CHECK(by_day / 8 > by_night / 16);
  });
}

TEST_CASE("generate_teams: one team's parameters do not change another's jobs") {
  const trace before = generate_teams({});
  team_workload w;
  w.serving_permille = 0;
  w.load_permille = 790;
  const trace without_serving = generate_teams(w);
  CHECK(jobs_of(without_serving, "quota1").empty());
  CHECK(jobs_of(without_serving, "quota1.1") == jobs_of(before, "quota1.1"));
  CHECK(jobs_of(without_serving, "quota1.2") == jobs_of(before, "quota1.2"));
}

TEST_CASE("generate_teams: any number of teams") {
  team_workload w;
  w.training = {{"x", "x", 10}, {"y", "y", 20}, {"z", "z", 30}};
  CHECK(generate_teams(w).tenants.size() == 4);
}

TEST_CASE("generate_uniform: the given number of jobs, at the given load") {
  uniform_workload w;
  CHECK(fingerprint_of(generate_uniform(w)) == "5cb05f2fdf376174");
  w.jobs = 40'000;
  w.tenants = 7;
  w.cluster_gpus = 10'000;
  w.load_permille = 500;
  const trace t = generate_uniform(w);
  CHECK(t.jobs.size() == 40'000);
  CHECK(t.tenants.size() == 7);
  double work = 0;
  std::array<std::size_t, 7> of_tenant{};
  for (const trace_job& job : t.jobs) {
    work += static_cast<double>(whole_gpus(job) * job.duration);
    ++of_tenant[job.tenant.index()];
  }
  CHECK(work / static_cast<double>(t.jobs.back().submit) / 10'000 == doctest::Approx(0.5).epsilon(0.03));
  for (const std::size_t count : of_tenant) {
    CHECK(static_cast<double>(count) == doctest::Approx(40'000.0 / 7).epsilon(0.05));
  }
}
