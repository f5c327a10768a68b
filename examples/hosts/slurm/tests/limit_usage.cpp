// SPDX-License-Identifier: BSL-1.0
#include "../src/limit_usage.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace allot_slurm;

namespace {

using as = limit_usage::as;

[[nodiscard]] job job_of(std::uint32_t id, std::uint32_t gpus, const std::string& qos = "small") {
  job j;
  j.key = {id};
  j.account = "vision";
  j.user = "ana";
  j.partition = "main";
  j.qos = qos;
  j.request.tres_per_node = "gres:gpu:" + std::to_string(gpus);
  j.request.cpus = 4;
  return j;
}

/// An account in another, and a QOS.
struct world {
  limits of{.resources = {"cpu", "mem", "node", "gres/gpu", "gres/gpu:a100"}};
  limit_usage used{};

  world() {
    limits::association above;
    above.id = 1;
    above.account = "lab";
    limits::association account = above;
    account.id = 2;
    account.parent = 1;
    account.account = "vision";
    limits::association ana = account;
    ana.id = 3;
    ana.parent = 2;
    ana.user = "ana";
    of.associations = {above, account, ana};
    of.qualities.emplace_back().name = "small";
    of.qualities.emplace_back().name = "of-main";
    of.partitions.emplace_back().name = "main";
  }
  [[nodiscard]] static limits::amounts only(std::size_t resource, std::uint64_t most) {
    limits::amounts all(5, limits::none);
    all[resource] = most;
    return all;
  }
  [[nodiscard]] std::string obstacle(const job& j, std::size_t quota = 0) const {
    return used.obstacle(j, quota);
  }
};

constexpr std::size_t cpu = 0;
constexpr std::size_t memory = 1;
constexpr std::size_t nodes = 2;
constexpr std::size_t gpu = 3;
constexpr std::size_t a100 = 4;

}  // namespace

TEST_CASE("limits: without any nothing is in the way") {
  world w;
  CHECK(w.obstacle(job_of(1, 8)).empty());
  w.used.take(w.of);
  CHECK(w.obstacle(job_of(1, 8)).empty());
  w.used.count(job_of(2, 8), as::running, 0);
  CHECK(w.obstacle(job_of(1, 8)).empty());
  // Nor once what there was is gone.
  w.of.qualities[0].group.jobs = 0;
  w.used.take(w.of);
  CHECK(!w.obstacle(job_of(1, 8)).empty());
  w.used.take(world{}.of);
  CHECK(w.obstacle(job_of(1, 8)).empty());
}

TEST_CASE("limits: what jobs of a QOS have together") {
  world w;
  w.of.qualities[0].group.most = world::only(gpu, 8);
  w.used.take(w.of);
  CHECK(w.obstacle(job_of(1, 8)).empty());
  CHECK(w.obstacle(job_of(1, 9)) == "the QOS small runs at most 8 gres/gpu at once (QOSGrpGRES)");
  w.used.count(job_of(2, 4), as::running, 1);
  CHECK(w.obstacle(job_of(1, 4)).empty());
  CHECK(!w.obstacle(job_of(1, 5)).empty());
  CHECK(w.obstacle(job_of(1, 8, "large")).empty());
  CHECK_MESSAGE(w.obstacle(job_of(2, 8)).empty(), "the job itself does not count");
  // What waits keeps back only jobs of its own quota.
  w.used.count(job_of(3, 4), as::waiting, 0);
  CHECK(!w.obstacle(job_of(1, 4), 0).empty());
  CHECK(w.obstacle(job_of(1, 4), 1).empty());
  CHECK(w.obstacle(job_of(3, 4), 0).empty());
  w.used.count(job_of(3, 4), as::nothing, 0);
  w.used.count(job_of(2, 4), as::nothing, 0);
  CHECK(w.obstacle(job_of(1, 8)).empty());
}

TEST_CASE(
    "limits: components of a heterogeneous job count together, and each alone is no larger than a job") {
  world w;
  w.of.qualities[0].group = {world::only(gpu, 16), 3};
  w.of.qualities[0].per_job = world::only(gpu, 8);
  w.used.take(w.of);
  const auto of = [](std::uint32_t first, std::uint32_t second) {
    std::vector<job> parts{job_of(9, first), job_of(9, second)};
    for (std::uint32_t i = 0; i < 2; ++i) parts[i].component = i;
    return whole_of(parts);
  };
  CHECK(w.obstacle(of(8, 8)).empty());
  CHECK(w.obstacle(of(0, 9)) == "the QOS small has jobs of at most 8 gres/gpu (QOSMaxGRESPerJob)");
  w.used.count(job_of(2, 4), as::running, 0);
  CHECK(w.obstacle(of(8, 4)).empty());
  CHECK(w.obstacle(of(8, 5)) == "the QOS small runs at most 16 gres/gpu at once (QOSGrpGRES)");
  w.used.count(of(4, 4), as::running, 0);
  CHECK(w.obstacle(of(4, 4)).empty());
  CHECK(w.obstacle(job_of(1, 1)) == "the QOS small runs at most 3 jobs at once (QOSGrpJobsLimit)");
}

TEST_CASE("limits: what runs counts with what it has") {
  world w;
  w.of.qualities[0].group.most = world::only(gpu, 8);
  w.used.take(w.of);
  job runs = job_of(2, 8);
  runs.state = run_state::running;
  runs.nodes = {{"n1", 2, 1}, {"n2", 1, 1}};
  w.used.count(runs, as::running, 0);
  CHECK(w.obstacle(job_of(1, 5)).empty());
  CHECK(!w.obstacle(job_of(1, 6)).empty());
  const auto before = w.used.version();
  w.used.count(runs, as::running, 0);
  CHECK(w.used.version() == before);
  w.used.count(job_of(3, 1), as::running, 0);
  CHECK(w.used.version() != before);
}

TEST_CASE("limits: of each user and each account of a QOS") {
  world w;
  w.of.qualities[0].per_user = {world::only(cpu, 8), limits::none};
  w.of.qualities[0].per_account = {{}, 2};
  w.used.take(w.of);
  w.used.count(job_of(2, 0), as::running, 0);
  CHECK(w.obstacle(job_of(1, 0)).empty());
  w.used.count(job_of(3, 0), as::running, 0);
  job ben = job_of(4, 0);
  CHECK(w.obstacle(job_of(1, 0)) ==
        "ana in the QOS small runs at most 8 CPUs at once (QOSMaxCpuPerUserLimit)");
  ben.user = "ben";
  CHECK(w.obstacle(ben) ==
        "the account vision in the QOS small runs at most 2 jobs at once (MaxJobsPerAccount)");
  ben.account = "speech";
  CHECK(w.obstacle(ben).empty());
}

TEST_CASE("limits: of a user's association and of the accounts above") {
  world w;
  w.of.associations[0].group = {world::only(nodes, 3), limits::none};
  w.of.associations[1].group = {{}, 5};
  w.of.associations[2].jobs = 1;
  w.used.take(w.of);
  job ben = job_of(2, 1);
  ben.user = "ben";
  ben.request.nodes = 2;
  w.used.count(ben, as::running, 0);
  CHECK(w.obstacle(job_of(1, 1)).empty());
  ben.key = {3};
  CHECK(w.obstacle(ben) == "the account lab runs at most 3 nodes at once (AssocGrpNodeLimit)");
  w.used.count(job_of(4, 0), as::running, 0);
  CHECK(w.obstacle(job_of(1, 1)) ==
        "ana in the account vision runs at most 1 job at once (AssocMaxJobsLimit)");
}

TEST_CASE("limits: of a single job") {
  world w;
  job j = job_of(1, 2);
  j.request.memory_mib = 2000;
  j.time_limit = 3600;
  SUBCASE("of its association") {
    w.of.associations[2].per_job = world::only(memory, 1000);
    w.used.take(w.of);
    CHECK(w.obstacle(j) ==
          "ana in the account vision has jobs of at most 1000 MiB of memory (AssocMaxMemPerJob)");
  }
  SUBCASE("of its QOS, which goes before that of the association") {
    w.of.associations[2].per_job = world::only(gpu, 1);
    w.of.qualities[0].per_job = world::only(gpu, 2);
    w.used.take(w.of);
    CHECK(w.obstacle(j).empty());
    j.request.tres_per_node = "gres:gpu:3";
    CHECK(w.obstacle(j) == "the QOS small has jobs of at most 2 gres/gpu (QOSMaxGRESPerJob)");
  }
  SUBCASE("of one type of GPU") {
    w.of.qualities[0].per_job = world::only(a100, 1);
    w.used.take(w.of);
    CHECK(w.obstacle(j).empty());
    j.request.tres_per_node = "gres:gpu:a100:2";
    CHECK(w.obstacle(j) == "the QOS small has jobs of at most 1 gres/gpu:a100 (QOSMaxGRESPerJob)");
  }
  SUBCASE("its time") {
    w.of.qualities[0].minutes = 59;
    w.used.take(w.of);
    CHECK(w.obstacle(j) == "the QOS small has jobs of at most 59 minutes (QOSMaxWallDurationPerJobLimit)");
    j.time_limit = 59 * 60;
    CHECK(w.obstacle(j).empty());
  }
}

TEST_CASE("limits: the QOS of a partition goes before that of the job, and both before the association") {
  world w;
  w.of.partitions[0].qos = "of-main";
  w.of.qualities[0].group.most = world::only(gpu, 4);
  w.of.qualities[1].group.most = world::only(gpu, 8);
  w.of.associations[1].group.most = world::only(gpu, 2);
  SUBCASE("as it is") {
    w.used.take(w.of);
    CHECK(w.obstacle(job_of(1, 8)).empty());
    CHECK(w.obstacle(job_of(1, 9)) == "the QOS of-main runs at most 8 gres/gpu at once (QOSGrpGRES)");
    CHECK(!w.obstacle(job_of(1, 9, "large")).empty());
  }
  SUBCASE("unless that of the job says otherwise") {
    w.of.qualities[0].goes_first = true;
    w.used.take(w.of);
    CHECK(w.obstacle(job_of(1, 5)) == "the QOS small runs at most 4 gres/gpu at once (QOSGrpGRES)");
  }
}

TEST_CASE("limits: of partitions") {
  world w;
  limits::partition& p = w.of.partitions[0];
  job j = job_of(1, 1);
  j.request.nodes = 2;
  j.time_limit = 7200;
  const auto obstacle = [&] {
    w.used.take(w.of);
    return w.obstacle(j);
  };
  CHECK(obstacle().empty());
  SUBCASE("down") {
    p.is_up = false;
    CHECK(obstacle() == "the partition main is down (PartitionDown)");
    w.of.partitions.emplace_back().name = "spare";
    j.partition = "main,spare";
    CHECK_MESSAGE(obstacle().empty(), "another of its partitions will do");
  }
  SUBCASE("time and nodes") {
    p.minutes = 60;
    p.nodes = 1;
    CHECK(obstacle() == "the partition main has jobs of at most 60 minutes (PartitionTimeLimit)");
    w.of.qualities[0].ignores_partition_time = true;
    CHECK(obstacle() == "the partition main has jobs of at most 1 node (PartitionNodeLimit)");
    w.of.qualities[0].ignores_partition_nodes = true;
    CHECK(obstacle().empty());
  }
  SUBCASE("accounts and QOS") {
    p.accounts = {"speech", "vision"};
    p.denied_accounts = {"vision"};
    CHECK_MESSAGE(obstacle().empty(), "who is allowed is not denied");
    p.accounts = {"speech"};
    CHECK(obstacle() == "the partition main is not for the account vision (AccountNotAllowed)");
    p.accounts.clear();
    CHECK(!obstacle().empty());
    p.denied_accounts.clear();
    p.denied_qualities = {"small"};
    CHECK(obstacle() == "the partition main is not for the QOS small (QOSNotAllowed)");
  }
}
