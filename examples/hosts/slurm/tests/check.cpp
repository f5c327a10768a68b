// SPDX-License-Identifier: BSL-1.0
#include "../src/check.hpp"
#include "../src/comments.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

using namespace allot_slurm;

namespace {

/// A cluster where nothing is found, but what a test puts there.
struct world {
  config c;
  cluster_settings slurm{};
  cluster_changes now{};

  explicit world(const std::string& more = "")
      : c(std::move(
            *parse_config(R"({"policy": "standard", "quotas": [{"name": "vision", "nominal": {"gpu": 8}}],
                                      "slurm": {"partitions": ["main"])" +
                              more + "}}",
                          "test")
                 .value)) {
    slurm.job_submit_plugins = "lua";
    slurm.auth_info = "cred_expire=5";
    slurm.scheduler_parameters = "batch_sched_delay=0";
    slurm.partitions = {"main"};
    slurm.job_submit_lua = "-- text\nlocal governed = nil\n";
    node n;
    n.name = "n1";
    n.gpus = 8;
    n.partitions = {"main"};
    now.nodes = {n};
  }
  [[nodiscard]] std::vector<std::string> found() const { return findings(c, slurm, now); }
  [[nodiscard]] bool finds(const std::string& part) const {
    const auto all = found();
    CAPTURE(all.size());
    return all.size() == 1 && all[0].find(part) != std::string::npos;
  }
};

}  // namespace

TEST_CASE("check: nothing is found where nothing is wrong") {
  for (const std::string& f : world{}.found()) FAIL_CHECK(f);
}

TEST_CASE("check: heterogeneous jobs need time to start") {
  world w;
  w.slurm.scheduler_parameters = "batch_sched_delay=0,bf_interval=59";
  CHECK(w.found().empty());
  w.slurm.scheduler_parameters = "batch_sched_delay=0,bf_interval=60";
  CHECK(w.finds("start_s is 60, and Slurm looks for heterogeneous jobs to start every 60 s"));
}

TEST_CASE("check: the partitions that the plugin holds are those that are governed") {
  world w;
  w.slurm.partitions.emplace_back("debug");
  CHECK(w.finds("holds the jobs of the partition debug"));
  const auto governed = [&](const char* table) {
    w.slurm.job_submit_lua = "x\nlocal governed = " + std::string{table} + "\n";
  };
  governed("{main = true}");
  CHECK(w.found().empty());
  governed("{[\"main\"] = true, ['debug'] = false}");
  CHECK(w.found().empty());
  governed("{main = true,\n  debug = true}");
  CHECK(w.finds("holds the jobs of the partition debug"));
  governed("{mains = true, main_2 = true}");
  CHECK(w.finds("does not hold the jobs of the partition main"));
  w.slurm.job_submit_lua = "function slurm_job_submit() end";
  CHECK(w.finds("not that of allot-slurm"));
  w.slurm.job_submit_lua.reset();
  CHECK(w.found().empty());
}

TEST_CASE("check: partitions that share nodes with governed ones") {
  world w;
  w.now.nodes->front().partitions = {"debug", "main"};
  CHECK(w.finds("the partition debug is not governed"));
}

TEST_CASE("check: accounts without a quota, and limits of Slurm's") {
  world w;
  w.slurm.accounts = {"vision", "speech"};
  CHECK(w.finds("without a quota, whose jobs would wait for ever: speech"));
  w.slurm.accounts = {"vision"};
  w.now.limited = limits{.resources = {"gres/gpu"}};
  w.now.limited->qualities.push_back({.name = "normal"});
  CHECK(w.found().empty());
  w.now.limited->qualities.push_back({.name = "small", .group = {{8}, limits::none}});
  CHECK(w.finds("nobody borrows beyond them: \"QOS small\""));
  w.now.limited->qualities.clear();
  w.now.limited->associations.push_back({.account = "vision", .group = {{}, 4}});
  CHECK(w.finds("\"account vision\""));
}

TEST_CASE("check: settings that lose jobs, and parts of GPUs") {
  world w;
  w.slurm.min_job_age_s = 60;
  CHECK(w.finds("MinJobAge is 60"));
  w.slurm.min_job_age_s = 0;
  CHECK(w.found().empty());
  w.slurm.gres_types = "gpu,shard";
  CHECK(w.finds("GresTypes has shard"));
}

TEST_CASE("check: where page, metrics and events are to be") {
  CHECK(world{R"(, "page": "/nowhere/at/all/page.html")"}.finds("/slurm/page: there is no directory"));
  CHECK(world{R"(, "metrics": "/nowhere/x.prom")"}.finds("/slurm/metrics"));
  CHECK(world{R"(, "events": "/tmp/events.jsonl")"}.found().empty());
  CHECK(world{R"(, "directory": "/nowhere/allot", "page": "/nowhere/allot/page.html")"}.found().empty());
}

TEST_CASE("check: job_submit.lua writes into comments what the governor knows") {
  std::ifstream in{std::filesystem::path{__FILE__}.parent_path().parent_path() / "job_submit.lua"};
  const std::string plugin{std::istreambuf_iterator<char>{in}, {}};
  const auto says = [&](const std::string& text) {
    return plugin.find('"' + text + '"') != std::string::npos;
  };
  const std::string mark{comment_mark};
  CHECK(says(mark));
  for (const std::string_view text : {not_explained, forced_mark}) {
    REQUIRE(text.starts_with(mark));
    CHECK(says(std::string{text.substr(mark.size())}));
  }
}
