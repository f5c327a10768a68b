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
  for (const char* wrong : {"", "_", "a", "1_", "1_a", "1_2_3", "4294967296", "-1"}) {
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
