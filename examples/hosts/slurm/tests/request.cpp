// SPDX-License-Identifier: BSL-1.0
#include "../src/request.hpp"

#include <doctest/doctest.h>

using namespace allot_slurm;

TEST_CASE("request: GPUs are read from every form that Slurm writes") {
  const auto one = [](const char* tres) {
    const auto all = parse_gpus(tres);
    REQUIRE(all);
    REQUIRE(all->size() == 1);
    return all->front();
  };
  CHECK(one("gres:gpu:8") == gpu_count{"", 8});
  CHECK(one("gres/gpu:2") == gpu_count{"", 2});
  CHECK(one("gres/gpu=2") == gpu_count{"", 2});
  CHECK(one("gpu:a100:4") == gpu_count{"a100", 4});
  CHECK(one("gres:gpu") == gpu_count{"", 1});
  CHECK(one("gres:gpu:a100") == gpu_count{"a100", 1});
  CHECK(one("gres:gpu:4090ti") == gpu_count{"4090ti", 1});
  CHECK(one("gpu:h100:8(S:0-1)") == gpu_count{"h100", 8});
  CHECK(one("gpu:3(IDX:0,2-3)") == gpu_count{"", 3});
  CHECK(one("gres:shard:4,gres:gpu:1,gres:gpu:2") == gpu_count{"", 3});
  CHECK(parse_gpus("")->empty());
  CHECK(parse_gpus("gres:shard:4,license:9")->empty());
  CHECK(parse_gpus("gres:gpus:4")->empty());
  CHECK(parse_gpus("gres:gpu:a:1,gres:gpu:b:2")->size() == 2);
  CHECK(!parse_gpus("gres:gpu:99999999999999999999999"));
  CHECK(!parse_gpus("gres:gpu:4k"));
}

TEST_CASE("request: tasks of an array") {
  using list = std::vector<std::uint32_t>;
  CHECK(parse_tasks("0-3") == list{0, 1, 2, 3});
  CHECK(parse_tasks("0-9:3,5%2") == list{0, 3, 5, 6, 9});
  CHECK(parse_tasks("7") == list{7});
  for (const char* wrong : {"", "%2", "a", "3-1", "1-", "0-9:0", "1,,2", "0-4294967295"}) {
    CAPTURE(wrong);
    CHECK(!parse_tasks(wrong));
  }
  CHECK(tasks_text({0, 1, 2, 3, 7, 9, 10}) == "0-3,7,9-10");
  CHECK(tasks_text({7}) == "7");
  CHECK(!parse_tasks("0-100", 100));
}

TEST_CASE("request: a job key is what Slurm's commands take") {
  CHECK(to_string(job_key{12}) == "12");
  CHECK(to_string(job_key{12, 3}) == "12_3");
  CHECK(parse_job_key("12_3") == job_key{12, 3});
  CHECK(parse_job_key("12") == job_key{12});
  CHECK(parse_job_key("12+3") == job_key{12});
  for (const char* wrong : {"", "_", "a", "1_", "1_a", "1_2_3", "1+", "+1", "1_2+3", "4294967296", "-1"}) {
    CAPTURE(wrong);
    CHECK(!parse_job_key(wrong));
  }
}

TEST_CASE("request: who holds a job says its comment") {
  job j;
  j.is_held = true;
  CHECK(held_by(j).empty());
  j.comment = "allot: waits: held by its user";
  CHECK(held_by(j).empty());
  j.comment = "allot: held by its user";
  CHECK(held_by(j) == "held by its user");
  j.comment = "allot: held by its user; a comment of its own";
  CHECK(held_by(j) == "held by its user");
  j.comment = "held by its user";
  j.admin_comment = "allot: held by an operator avoiding n1,n2";
  CHECK(held_by(j) == "held by an operator");
  j.is_held = false;
  CHECK(held_by(j).empty());
}

TEST_CASE("request: a heterogeneous job can do what all of its components can") {
  const auto component = [](std::uint32_t number) {
    job j;
    j.key = {7};
    j.component = number;
    j.record = 7 + number;
    j.is_held = true;
    j.partition = number == 0 ? "cpu,main" : "main,gpu";
    j.name = "part" + std::to_string(number);
    j.time_limit = 60 * (number + 1);
    j.why_pending = "None";
    return j;
  };
  std::vector<job> parts{component(0), component(1)};
  job all = whole_of(parts);
  CHECK(all.record == 7);
  CHECK(all.name == "part0");
  CHECK(all.partition == "cpu,main,gpu");
  CHECK(all.time_limit == 120);
  CHECK(all.may_requeue);
  CHECK(slurm_name(all) == "7");
  CHECK(slurm_name(all.components[1]) == "7+1");
  SUBCASE("it is held if one is") {
    parts[0].is_held = false;
    CHECK(whole_of(parts).is_held);
    parts[1].is_held = false;
    CHECK(!whole_of(parts).is_held);
  }
  SUBCASE("a hold on one component holds the job") {
    parts[1].comment = "allot: held by its user";
    CHECK(held_by(whole_of(parts)) == "held by its user");
  }
  SUBCASE("it lacks one that is over while the others wait") {
    parts[0].of_components = parts[1].of_components = 2;
    CHECK_FALSE(lacks_component(whole_of(parts)));
    parts[1].state = run_state::ended;
    CHECK(lacks_component(whole_of(parts)));
    parts.pop_back();
    CHECK(lacks_component(whole_of(parts)));
    parts[0].state = run_state::running;
    CHECK_FALSE(lacks_component(whole_of(parts)));
  }
  SUBCASE("what blocks one component blocks the job") {
    parts[1].dependency = "afterok:3";
    parts[1].why_pending = bad_constraints;
    parts[1].may_requeue = false;
    parts[1].time_limit = 0;
    all = whole_of(parts);
    CHECK(all.dependency == "afterok:3");
    CHECK(all.why_pending == bad_constraints);
    CHECK(!all.may_requeue);
    CHECK(all.time_limit == 0);
  }
  SUBCASE("one that is cancelled alone leaves it") {
    for (job& p : parts) p.state = run_state::running;
    parts[0].nodes = {{"n1", 0, 2}};
    parts[1].nodes = {{"n1", 8, 8}, {"n2", 8, 8}};
    CHECK(whole_of(parts).nodes.size() == 3);
    parts[1].state = run_state::completing;
    CHECK(whole_of(parts).state == run_state::running);
    CHECK(whole_of(parts).nodes.size() == 3);
    parts[1].state = run_state::ended;
    all = whole_of(parts);
    CHECK(all.state == run_state::running);
    CHECK(all.nodes == parts[0].nodes);
    CHECK(all.components.size() == 1);
  }
  SUBCASE("it leaves its nodes when the last one has") {
    parts[0].state = run_state::pending;
    parts[1].state = run_state::completing;
    parts[1].is_requeued = true;
    all = whole_of(parts);
    CHECK(all.state == run_state::completing);
    CHECK(all.is_requeued);
  }
  SUBCASE("it is over when all are") {
    for (job& p : parts) p.state = run_state::ended;
    parts[0].has_failed = true;
    all = whole_of(parts);
    CHECK(all.state == run_state::ended);
    CHECK(all.has_failed);
    CHECK(all.components.size() == 2);
  }
}

TEST_CASE("request: what a job needs") {
  raw_request r;
  r.nodes = 2;
  r.cpus = 16;
  r.memory_mib = 1000;
  SUBCASE("GPUs of each node") {
    r.tres_per_node = "gres:gpu:a100:4";
    CHECK(read_need(r, {}).value == need{"a100", 8, 16, 2000, 2, false});
  }
  SUBCASE("GPUs of the whole job, which divide") {
    r.tres_per_job = "gres:gpu:8";
    CHECK(read_need(r, {}).value == need{"", 8, 16, 2000, 2, false});
  }
  SUBCASE("GPUs of the whole job, which do not") {
    r.tres_per_job = "gres:gpu:7";
    CHECK(read_need(r, {}).value == need{"", 7, 16, 2000, 2, true});
  }
  SUBCASE("GPUs of each task") {
    r.tasks = 3;
    r.nodes = 1;
    r.tres_per_task = "gres:gpu:2";
    CHECK(read_need(r, {}).value == need{"", 6, 16, 1000, 1, true});
  }
  SUBCASE("memory of each CPU") {
    r.memory_is_per_cpu = true;
    CHECK(read_need(r, {}).value == need{"", 0, 16, 16000, 2, false});
  }
  SUBCASE("whole nodes") {
    r.is_exclusive = true;
    CHECK(read_need(r, {8, 64}).value == need{"", 16, 128, 2000, 2, false});
  }
  SUBCASE("parts of GPUs") {
    for (const char* parts :
         {"gres:shard:4", "gres:shard", "gres:mps:50", "gres:gpu:1,gres:shard:a100:2", "gres/mps=1"}) {
      CAPTURE(parts);
      for (std::string raw_request::*form :
           {&raw_request::tres_per_node, &raw_request::tres_per_job, &raw_request::tres_per_task}) {
        raw_request of = r;
        of.*form = parts;
        CHECK(read_need(of, {}).problem.find("--gres=gpu:1") != std::string::npos);
      }
    }
    for (const char* whole : {"gres:shard:0", "gres:gpu:4,gres:mps:0", "gres:shards:4", "gres:gpu:shard:4"}) {
      CAPTURE(whole);
      r.tres_per_node = whole;
      CHECK(read_need(r, {}).value);
    }
  }
  SUBCASE("what can't be counted says why") {
    r.tres_per_socket = "gres:gpu:1";
    CHECK(read_need(r, {}).problem.find("per socket") != std::string::npos);
    r.tres_per_node = "gres:gpu:a:1,gres:gpu:b:1";
    CHECK(read_need(r, {}).problem.find("several types") != std::string::npos);
    r.tres_per_node = "gres:gpu:a:4x";
    CHECK(read_need(r, {}).problem.find("can't be read") != std::string::npos);
  }
}

TEST_CASE("request: constraints") {
  const std::vector<std::string> has{"fast", "ib"};
  CHECK(satisfies(has, "") == true);
  CHECK(satisfies(has, "fast") == true);
  CHECK(satisfies(has, "fast&ib") == true);
  CHECK(satisfies(has, "fast,slow") == false);
  CHECK(satisfies(has, "slow|ib") == true);
  CHECK(satisfies(has, "fas") == false);
  CHECK(!satisfies(has, "[fast*2&ib]"));
}
