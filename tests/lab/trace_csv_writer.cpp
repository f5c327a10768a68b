// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/trace_csv.hpp>
#include <allot/lab/trace_csv_writer.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "tests/support/seeds.hpp"
#include "tests/support/traces.hpp"

using namespace allot::lab;
using allot::quantity;

namespace {

std::string random_word(allot_test::random_source& random) {
  std::string word(1 + random.below(5), ' ');
  for (char& c : word) c = random.pick(std::string_view{"ab,\"\n\r 1\xc3"});
  return word;
}

/// Some fields are set everywhere, some nowhere, some now and then.
trace random_trace(allot_test::random_source& random) {
  trace t;
  for (std::size_t i = 0, n = random.below(3); i < n; ++i)
    t.tag_columns.push_back("tag " + std::to_string(i));
  const std::uint64_t used = random();
  const auto uses = [&](unsigned field) { return (used >> field & 1U) != 0 && !random.one_in(3); };
  for (std::size_t i = 0, n = random.below(12); i < n; ++i) {
    trace_job job;
    job.id = t.ids.intern(random_word(random) + std::to_string(i)).name;
    job.submit = random.between(0, 1'000'000);
    job.duration = random.between(0, 1'000'000);
    job.gpus = quantity::milli(random.between(0, 9) * 1'200);
    if (uses(0)) job.tenant = t.tenants.intern(random_word(random)).name;
    if (uses(1)) job.job_class = t.words.intern(random_word(random)).name;
    if (uses(2)) job.gpu_model = t.words.intern(random_word(random)).name;
    if (uses(3)) job.user = t.words.intern(random_word(random)).name;
    if (uses(4)) job.priority = random.between(-3, 3);
    if (uses(5)) job.pods = 4;
    if (uses(6) && job.pods != 0) job.min_pods = static_cast<std::uint32_t>(random.between(1, 4));
    if (uses(7)) job.preemptible = false;
    if (uses(8)) job.cpu_milli = random.between(0, 5'000);
    if (uses(9)) job.memory_mib = random.between(0, 5'000);
    if (uses(10)) job.checkpoint = random.between(0, 2);
    if (uses(11)) job.restart = random.between(0, 5'000);
    if (uses(12)) job.deadline = job.submit + random.between(0, 2);
    if (uses(14)) job.estimate = random.between(1, 5'000);
    t.jobs.push_back(job);
    for (std::size_t k = 0; k < t.tag_columns.size(); ++k) {
      t.tags.push_back(uses(13) ? t.words.intern(random_word(random)).name : name_id::none());
    }
  }
  return t;
}

void check_same(const trace& a, const trace& b) {
  REQUIRE(a.jobs.size() == b.jobs.size());
  if (!a.jobs.empty()) CHECK(a.tag_columns == b.tag_columns);
  for (std::size_t i = 0; i < a.jobs.size(); ++i) {
    const trace_job& x = a.jobs[i];
    const trace_job& y = b.jobs[i];
    CHECK(a.ids[x.id] == b.ids[y.id]);
    CHECK(a.tenants[x.tenant] == b.tenants[y.tenant]);
    CHECK(a.words[x.job_class] == b.words[y.job_class]);
    CHECK(a.words[x.gpu_model] == b.words[y.gpu_model]);
    CHECK(a.words[x.user] == b.words[y.user]);
    CHECK(x.priority == y.priority);
    CHECK(x.pods == y.pods);
    CHECK(x.min_pods == y.min_pods);
    CHECK(x.preemptible == y.preemptible);
    CHECK(x.submit == y.submit);
    CHECK(x.duration == y.duration);
    CHECK(x.gpus == y.gpus);
    CHECK(x.cpu_milli == y.cpu_milli);
    CHECK(x.memory_mib == y.memory_mib);
    CHECK(x.checkpoint == y.checkpoint);
    CHECK(x.restart == y.restart);
    CHECK(x.deadline == y.deadline);
    CHECK(x.estimate == y.estimate);
    for (std::size_t k = 0; k < a.tag_columns.size(); ++k) CHECK(a.tag(x, k) == b.tag(y, k));
  }
}

}  // namespace

TEST_CASE("write_trace_csv: only columns in use, numbers without trailing zeros") {
  trace t;
  trace_job job;
  job.id = t.ids.intern("a, \"b\"").name;
  job.submit = 1'500;
  job.duration = 60'000;
  job.gpus = quantity::milli(250);
  t.jobs.push_back(job);
  CHECK(to_csv(t) == "job_id,submit_s,duration_s,gpus\n\"a, \"\"b\"\"\",1.5,60,0.25\n");
  job.id = t.ids.intern("c").name;
  job.pods = 2;
  job.preemptible = false;
  job.restart = 20;
  t.jobs.push_back(job);
  CHECK(to_csv(t) ==
        "job_id,submit_s,duration_s,gpus,pods,preemptible,restart_s\n"
        "\"a, \"\"b\"\"\",1.5,60,0.25,,true,0\n"
        "c,1.5,60,0.25,2,false,0.02\n");
  CHECK(to_csv(trace{}) == "job_id,submit_s,duration_s,gpus\n");
}

TEST_CASE("write_trace_csv: what it writes is read back, and written the same again") {
  allot_test::for_each_seed(500, [](allot_test::random_source& random) {
    const trace t = random_trace(random);
    const std::string text = to_csv(t);
    CAPTURE(text);
    const trace_reading reading = parse_trace_csv(text);
    REQUIRE(reading);
    check_same(reading.value, t);
    CHECK(to_csv(reading.value) == text);
  });
}

TEST_CASE("write_trace_csv: writes in pieces") {
  trace t;
  for (int i = 0; i < 20'000; ++i) {
    trace_job job;
    job.id = t.ids.intern(std::to_string(i)).name;
    t.jobs.push_back(job);
  }
  std::size_t pieces = 0;
  std::string text;
  write_trace_csv(t, [&](std::string_view piece) {
    ++pieces;
    text += piece;
    CHECK(piece.size() < 70'000);
  });
  CHECK(pieces > 2);
  CHECK(text == to_csv(t));
}

TEST_CASE("write_trace_csv: philly128 is written with its columns in canonical order") {
  const auto path = allot_test::find_trace("philly128/jobs.csv");
  if (!path) {
    MESSAGE("skipped: no philly128/jobs.csv (set ALLOT_TRACES to the directory of the traces)");
    return;
  }
  std::ifstream file{*path, std::ios::binary};
  const std::string original{std::istreambuf_iterator<char>{file}, std::istreambuf_iterator<char>{}};
  const trace_reading reading = parse_trace_csv(original);
  REQUIRE(reading);
  const std::string written = to_csv(reading.value);
  CHECK(written.size() == original.size());
  CHECK(written.substr(0, 39) == "job_id,submit_s,duration_s,gpus,tenant\n");
  const trace_reading again = parse_trace_csv(written);
  REQUIRE(again);
  CHECK(to_csv(again.value) == written);
}

TEST_CASE("write_trace_csv: pod sets are read again as they were") {
  const std::string text =
      "job_id,submit_s,duration_s,gpus,tenant,pods,min_pods,gpu_model,cpu_milli,pod_set,note\n"
      "a,0,60,0,x,1,,,500,head,n\n"
      "a,0,60,16,x,4,2,H100,4000,workers,n\n"
      "b,5,60,2,x,2,,,0,,\n"
      "c,6,60,4,x,2,,A100,0,\"only, one\",\n";
  const trace_reading reading = parse_trace_csv(text);
  REQUIRE(reading);
  CHECK(to_csv(reading.value) == text);
}
