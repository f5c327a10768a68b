// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/trace_csv.hpp>
#include <allot/lab/trace_jobs.hpp>
#include <allot/quota/builder.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

using allot::gpus;
using allot::quantity;
using allot::quota_id;
using allot::lab::second;
using allot::lab::trace;

namespace {

trace read(const std::string& csv) {
  auto reading = allot::lab::parse_trace_csv(csv);
  REQUIRE(reading);
  return std::move(reading.value);
}

}  // namespace

TEST_CASE("trace_jobs: jobs are sorted by submission, then id, whatever the order of the file") {
  trace t = read("job_id,submit_s,duration_s,tenant,gpus\n10,5,1,x,1\n9,5,2,y,2\nlate,7,3,x,4\n1,0.5,4,,8\n");
  const std::vector<quota_id> quotas = {quota_id{4}, quota_id{2}};
  const auto jobs = allot::lab::to_jobs<1>(t, quotas, quota_id{7});
  REQUIRE(jobs.size() == 4);
  const std::vector<std::string> ids = {"1", "9", "10", "late"};
  for (std::size_t j = 0; j < ids.size(); ++j) CHECK(t.ids[t.jobs[j].id] == ids[j]);
  CHECK(jobs[0].submit == second / 2);
  CHECK(jobs[0].quota == quota_id{7});
  CHECK(jobs[1].quota == quota_id{2});
  CHECK(jobs[1].duration == 2 * second);
  CHECK(jobs[2].quota == quota_id{4});
  CHECK(jobs[3].request == allot::resources<1>{gpus(4)});
}

TEST_CASE("trace_jobs: an estimate is carried over, and its absence too") {
  const trace t = read("job_id,submit_s,duration_s,gpus,estimate_s\na,0,60,1,3600\nb,0,60,1,\n");
  CHECK(allot::lab::to_job<1>(t.jobs[0], quota_id{0}).estimate == 3600 * second);
  CHECK(allot::lab::to_job<1>(t.jobs[1], quota_id{0}).estimate == 0);
}

TEST_CASE("trace_jobs: without pods the GPUs are a total, with pods they are split evenly") {
  const trace t = read(
      "job_id,submit_s,duration_s,gpus,pods,priority,preemptible,checkpoint_s,restart_s\n"
      "a,0,1,12,,5,false,60,3\nb,0,1,12,3,,,,\nc,0,1,0.5,,,,,\n");
  const auto total = allot::lab::to_job<1>(t.jobs[0], quota_id{0});
  CHECK(total.pod_request.total);
  CHECK(total.pod_request.gpus == gpus(12));
  CHECK(total.priority == 5);
  CHECK_FALSE(total.preemptible);
  CHECK(total.checkpoint == 60 * second);
  CHECK(total.restart == 3 * second);
  const auto gang = allot::lab::to_job<1>(t.jobs[1], quota_id{0});
  CHECK_FALSE(gang.pod_request.total);
  CHECK(gang.pod_request.pods == 3);
  CHECK(gang.pod_request.gpus == gpus(4));
  CHECK(gang.request == allot::resources<1>{gpus(12)});
  CHECK(gang.preemptible);
  CHECK_FALSE(gang.checkpoint);
  const auto fraction = allot::lab::to_job<1>(t.jobs[2], quota_id{0});
  CHECK(fraction.pod_request.gpus == quantity::milli(500));
}

TEST_CASE("trace_jobs: a gang that can run with fewer pods is elastic, a total never is") {
  const trace t =
      read("job_id,submit_s,duration_s,gpus,pods,min_pods\na,0,1,12,3,2\nb,0,1,12,3,\nc,0,1,12,,\n");
  const auto elastic = allot::lab::to_job<1>(t.jobs[0], quota_id{0});
  CHECK(elastic.pods() == 3);
  CHECK(elastic.fewest_pods() == 2);
  CHECK(allot::lab::to_job<1>(t.jobs[1], quota_id{0}).fewest_pods() == 3);
  CHECK(allot::lab::to_job<1>(t.jobs[2], quota_id{0}).fewest_pods() == 1);
}

TEST_CASE("trace_jobs: counted resources get a dimension, the others are not limited") {
  const trace t = read("job_id,submit_s,duration_s,gpus,cpu_milli,memory_mib\na,0,1,2,8500,4096\n");
  const auto all = allot::lab::to_job<3>(t.jobs[0], quota_id{0}, {.gpu = 2, .cpu = 0, .memory = 1});
  CHECK(all.request == allot::resources<3>{quantity::milli(8500), quantity::whole(4096), gpus(2)});
  const auto cpu_only = allot::lab::to_job<1>(t.jobs[0], quota_id{0}, {.gpu = {}, .cpu = 0});
  CHECK(cpu_only.request == allot::resources<1>{quantity::milli(8500)});
  CHECK(cpu_only.pod_request.gpus == gpus(2));
}

TEST_CASE("trace_jobs: a trace without quotas gets one per tenant, below a root of another name") {
  const trace t = read("job_id,submit_s,duration_s,tenant,gpus\na,0,1,x,1\nb,0,1,cluster,1\n");
  const auto specs = allot::lab::tenant_quotas<1>(t, allot::resources<1>{gpus(128)});
  const auto tree = allot::build_quota_tree(specs);
  REQUIRE(tree);
  CHECK(tree.value().name(quota_id{0}) == "(cluster)");
  CHECK(specs[0].nominal == allot::resources<1>{gpus(128)});
  CHECK(tree.value().find("x") == quota_id{1});
  CHECK(tree.value().find("cluster") == quota_id{2});
  for (const quota_id tenant : {quota_id{1}, quota_id{2}}) {
    CHECK(tree.value().parent(tenant) == quota_id{0});
    CHECK(tree.value().spec(tenant).nominal == allot::resources<1>{gpus(64)});
  }
}

TEST_CASE("trace_jobs: three tenants get equal parts, and none of what is unlimited") {
  const trace t = read("job_id,submit_s,duration_s,tenant,gpus\na,0,1,x,1\nb,0,1,y,1\nc,0,1,z,1\n");
  const auto specs = allot::lab::tenant_quotas<2>(t, {gpus(128), quantity::unlimited()});
  REQUIRE(allot::build_quota_tree(specs));
  for (std::size_t x = 1; x < 4; ++x) {
    CHECK(specs[x].nominal == allot::resources<2>{quantity::milli(42'666), quantity{}});
  }
  const trace nobody = read("job_id,submit_s,duration_s,gpus\na,0,1,1\n");
  CHECK(allot::lab::tenant_quotas<1>(nobody, {gpus(128)}).size() == 1);
}
