// SPDX-License-Identifier: BSL-1.0
// A live Kueue cluster, object by object: what becomes of each Workload, and what an admitted one gets.
#include "lab/import/kueue_cluster.hpp"

#include "lab/io/json_reader.hpp"

#include <allot/lab/json_writer.hpp>
#include <allot/lab/timestamp.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/seeds.hpp"

using namespace allot::lab;
using allot::flavor_pick;
using allot::instant;
using allot::pods_by_set;
using allot_test::for_each_seed;
using allot_test::random_source;

namespace {

const instant now = *parse_timestamp("2026-05-01T12:00:00Z");

struct text_object {
  std::string kind;
  std::string name;
  std::string text;
};
using objects = std::vector<text_object>;

/// An object of a list: it does not say its kind. `rest` are its members but for the metadata.
text_object object(std::string kind, std::string name, const std::string& rest) {
  std::string text = R"({"metadata": {"name": ")" + name + R"("}, )" + rest + '}';
  return {std::move(kind), std::move(name), std::move(text)};
}
text_object flavor(std::string name, const std::string& spec = "") {
  return object("ResourceFlavor", std::move(name), R"("spec": {)" + spec + "}");
}
/// In the namespace n.
text_object local_queue(const std::string& name, const std::string& queue, const std::string& stop = "None") {
  return {"LocalQueue", "n/" + name,
          R"({"metadata": {"namespace": "n", "name": ")" + name + R"("}, "spec": {"clusterQueue": ")" +
              queue + R"(", "stopPolicy": ")" + stop + R"("}})"};
}
/// A group of resources: {flavor: {resource: nominal}}.
using quota_amounts = std::vector<std::pair<std::string, std::vector<std::pair<std::string, std::string>>>>;
std::string group(const quota_amounts& flavors) {
  std::string covered;
  std::string of_flavors;
  for (const auto& [resource, amount] : flavors.front().second)
    covered += (covered.empty() ? "\"" : ", \"") + resource + '"';
  for (const auto& [name, amounts] : flavors) {
    std::string of_resources;
    for (const auto& [resource, amount] : amounts) {
      of_resources += of_resources.empty() ? "" : ", ";
      of_resources += R"({"name": ")" + resource + R"(", "nominalQuota": ")" + amount + R"("})";
    }
    of_flavors += of_flavors.empty() ? "" : ", ";
    of_flavors += R"({"name": ")" + name + R"(", "resources": [)" + of_resources + "]}";
  }
  return R"({"coveredResources": [)" + covered + R"(], "flavors": [)" + of_flavors + "]}";
}
text_object cluster_queue(std::string name, const std::vector<std::string>& groups,
                          const std::string& rest = "", const std::string& status = "") {
  std::string all;
  for (const std::string& g : groups) all += (all.empty() ? "" : ", ") + g;
  return object("ClusterQueue", std::move(name),
                R"("spec": {"namespaceSelector": {}, "resourceGroups": [)" + all + "]" + rest +
                    R"(}, "status": {)" + status + "}");
}

/// A pod set: {resource: amount} of each of its pods.
std::string pods(const std::string& name, std::int64_t count,
                 const std::vector<std::pair<std::string, std::string>>& request,
                 const std::string& rest = "", const std::string& spec = "") {
  std::string amounts;
  for (const auto& [resource, amount] : request) {
    amounts += amounts.empty() ? "\"" : ", \"";
    amounts += resource + R"(": ")" + amount + '"';
  }
  return R"({"name": ")" + name + R"(", "count": )" + std::to_string(count) + rest +
         R"(, "template": {"spec": {)" + spec + R"("containers": [{"resources": {"requests": {)" + amounts +
         "}}}]}}}";
}
struct workload_text {
  std::string name = "w";
  std::string queue = "q";
  std::vector<std::string> sets{};
  std::string metadata{};
  std::string spec{};
  std::string status{};
  std::vector<std::string> conditions{};

  [[nodiscard]] std::string text() const {
    std::string all;
    for (const std::string& s : sets) all += (all.empty() ? "" : ", ") + s;
    std::string of_status;
    for (const std::string& c : conditions) of_status += (of_status.empty() ? "" : ", ") + c;
    return R"({"kind": "Workload", "metadata": {"namespace": "n", "name": ")" + name +
           R"(", "creationTimestamp": "2026-05-01T10:00:00Z")" + metadata + R"(}, "spec": {"queueName": ")" +
           queue + R"(", "podSets": [)" + all + "]" + spec + R"(}, "status": {"conditions": [)" + of_status +
           "]" + status + "}}";
  }
};
std::string condition(const std::string& type, const std::string& is, const std::string& reason = "") {
  return R"({"type": ")" + type + R"(", "status": ")" + is + R"(", "reason": ")" + reason +
         R"(", "lastTransitionTime": "2026-05-01T11:00:00Z"})";
}
std::string admission(const std::string& queue, const std::string& assignments) {
  return R"(, "admission": {"clusterQueue": ")" + queue + R"(", "podSetAssignments": )" + assignments + "}";
}
/// The workload as it is when that was assigned to it.
workload_text admitted(workload_text w, const std::string& queue,
                       const allot::vector<kueue_assignment>& assignments) {
  json_writer json{0};
  write_assignments(assignments, json);
  w.status += admission(queue, json.text());
  w.conditions.push_back(condition("QuotaReserved", "True"));
  return w;
}

kueue_cluster make(const objects& all, kueue_cluster_options options = {}) {
  std::vector<kueue_object> refs;
  for (const text_object& o : all) refs.push_back({o.kind, o.name, o.text});
  errors found;
  auto made = kueue_cluster::make(refs, std::move(options), found);
  REQUIRE_MESSAGE(made, found.to_string());
  return std::move(*made);
}

const std::string gpu = "nvidia.com/gpu";

/// Two flavors of GPUs with their memory, and CPU in one flavor.
objects two_flavors(const std::string& rest = "", const std::string& status = "") {
  return {
      flavor("a100", R"("nodeLabels": {"gpu": "a100"})"), flavor("h100", R"("nodeLabels": {"gpu": "h100"})"),
      flavor("plain"),
      cluster_queue(
          "q",
          {group({{"h100", {{gpu, "8"}, {"memory", "512Gi"}}}, {"a100", {{gpu, "8"}, {"memory", "512Gi"}}}}),
           group({{"plain", {{"cpu", "64"}, {"pods", "100"}}}})},
          rest, status),
      local_queue("q", "q")};
}

workload_text two_sets() {
  workload_text w;
  w.sets = {pods("driver", 1, {{"cpu", "1500m"}, {"memory", "1Gi"}}), pods("none", 0, {{gpu, "1"}}),
            pods("worker", 4, {{gpu, "2"}, {"memory", "100M"}, {"cpu", "1"}}, R"(, "minCount": 2)")};
  return w;
}

std::string json_of(const allot::vector<kueue_assignment>& all) {
  json_writer json{0};
  write_assignments(all, json);
  std::string text = json.text();
  text.pop_back();
  return text;
}

}  // namespace

TEST_CASE("a pending workload is a job with its sets, flavors and times") {
  auto cluster = make(two_flavors());
  CHECK(cluster.scenario().resources == allot::vector<std::string>{"h100/gpu", "a100/gpu", "cpu",
                                                                   "h100/memory_kb", "a100/memory_kb",
                                                                   "pods"});
  CHECK(cluster.scenario().policy.preset == "kueue");
  CHECK(cluster.scenario().jobs.empty());
  workload_text w = two_sets();
  w.metadata = R"(, "ownerReferences": [{"kind": "Job"}])";
  w.spec = R"(, "priority": 7, "maximumExecutionTimeSeconds": 90)";
  const kueue_reading r = cluster.read(w.text(), now);
  CHECK(r.standing == kueue_standing::pending);
  CHECK(r.why == "");
  CHECK(r.id == "n/w");
  CHECK(r.cluster_queue == "q");
  CHECK(!r.has_topology);
  CHECK(r.held.empty());
  CHECK(r.notes.empty());
  REQUIRE(r.job);
  CHECK(r.job->id == "n/w");
  CHECK(cluster.scenario().quotas[r.job->quota.index()].spec.name == "q");
  CHECK(r.job->phase == job_phase::pending);
  CHECK(r.job->priority == 7);
  CHECK(r.job->job_class == "Job");
  CHECK(r.job->submit == *parse_timestamp("2026-05-01T10:00:00Z"));
  CHECK(r.job->ready == 0);
  CHECK(r.job->estimate == 90);
  REQUIRE(r.job->sets.size() == 2);
  CHECK(r.job->sets[0].name == "driver");
  CHECK(r.job->sets[1].name == "worker");
  CHECK(r.job->sets[1].pods.pods == 4);
  CHECK(r.job->sets[1].pods.fewest() == 2);
  REQUIRE(r.job->sets[1].flavors.size() == 1);
  CHECK(r.job->sets[1].flavors[0].options[1].name == "a100");
  CHECK(r.job->sets[1].flavors[0].options[1].request[4] == allot::quantity::whole(100'000));
}

TEST_CASE("what becomes of a workload") {
  auto cluster = make([] {
    objects all = two_flavors();
    all.push_back(local_queue("held", "q", "Hold"));
    all.push_back(local_queue("lost", "nowhere"));
    all.push_back(cluster_queue("stopped", {group({{"plain", {{"cpu", "8"}}}})}, R"(, "stopPolicy": "Hold")",
                                R"("conditions": [)" + condition("Active", "False", "Stopped") + "]"));
    all.push_back(local_queue("stopped", "stopped"));
    all.push_back(
        cluster_queue("drained", {group({{"plain", {{"cpu", "8"}}}})}, R"(, "stopPolicy": "HoldAndDrain")"));
    all.push_back(local_queue("drained", "drained"));
    all.push_back(cluster_queue("inactive", {group({{"plain", {{"cpu", "8"}}}})}, "",
                                R"("conditions": [)" + condition("Active", "False", "Terminating") + "]"));
    all.push_back(local_queue("inactive", "inactive"));
    text_object leaving = cluster_queue("leaving", {group({{"plain", {{"cpu", "8"}}}})});
    const std::string meta = R"("metadata": {)";
    leaving.text.replace(leaving.text.find(meta), meta.size(),
                         meta + R"("deletionTimestamp": "2026-05-01T11:00:00Z", )");
    all.push_back(leaving);
    all.push_back(local_queue("leaving", "leaving"));
    all.push_back(
        cluster_queue("ghost", {group({{"plain", {{"cpu", "8"}}}}), group({{"gone", {{gpu, "8"}}}})}));
    all.push_back(local_queue("ghost", "ghost"));
    all.push_back(cluster_queue("unchecked", {group({{"plain", {{"cpu", "8"}}}})},
                                R"(, "stopPolicy": "None", "admissionChecks": ["known", "unknown"])"));
    all.push_back(local_queue("unchecked", "unchecked"));
    all.push_back(object("AdmissionCheck", "known", R"("spec": {"controllerName": "x"})"));
    return all;
  }());
  const auto read = [&](const workload_text& w) { return cluster.read(w.text(), now); };
  workload_text w;
  w.sets = {pods("m", 2, {{"cpu", "1"}})};
  const auto is = [&](const kueue_reading& r, kueue_standing standing, const std::string& why) {
    CHECK(r.standing == standing);
    CHECK(r.why == why);
    CHECK(!r.job);
  };
  SUBCASE("finished") {
    w.conditions = {condition("Finished", "True")};
    is(read(w), kueue_standing::finished, "it is finished");
  }
  SUBCASE("without a queue") {
    w.queue = "other";
    is(read(w), kueue_standing::no_queue, "the LocalQueue n/other does not exist");
    // Not even if a ClusterQueue has that name.
    w.queue = "lost";
    is(read(w), kueue_standing::no_queue, "the ClusterQueue nowhere does not exist");
    w.queue = "";
    is(read(w), kueue_standing::no_queue, "it has no spec.queueName");
  }
  SUBCASE("in a queue that is stopped") {
    w.queue = "held";
    is(read(w), kueue_standing::stopped, "it waits in a LocalQueue whose stopPolicy is Hold");
    w.queue = "stopped";
    is(read(w), kueue_standing::stopped, "it waits in a ClusterQueue whose stopPolicy is Hold");
    w.queue = "leaving";
    is(read(w), kueue_standing::stopped, "it waits in the ClusterQueue leaving: it is being deleted");
    w.queue = "inactive";
    is(read(w), kueue_standing::stopped,
       "it waits in the ClusterQueue inactive: it is not Active (Terminating)");
    w.queue = "ghost";
    is(read(w), kueue_standing::stopped,
       "it waits in the ClusterQueue ghost: there is no ResourceFlavor gone");
    w.queue = "unchecked";
    is(read(w), kueue_standing::stopped,
       "it waits in the ClusterQueue unchecked: there is no AdmissionCheck unknown");
  }
  SUBCASE("never admissible") {
    w.sets = {pods("m", 1, {{"amd.com/gpu", "1"}})};
    is(read(w), kueue_standing::inadmissible, "asks for amd.com/gpu, which its ClusterQueue does not cover");
    w.sets = {pods("m", 1, {{gpu, "1"}}, "", R"("nodeSelector": {"gpu": "v100"}, )")};
    is(read(w), kueue_standing::inadmissible,
       "no flavor for nvidia.com/gpu admits its pod set m: h100: its label gpu is h100, not v100; a100: its "
       "label gpu "
       "is a100, not v100");
    w.sets = {pods("m", 1, {{"memory", "2P"}})};
    is(read(w), kueue_standing::inadmissible, "it asks for more memory than can be counted");
  }
  SUBCASE("without pods") {
    w.sets = {pods("m", 0, {{"cpu", "1"}})};
    is(read(w), kueue_standing::no_pods, "it has no pods");
  }
  SUBCASE("deactivated or gated") {
    w.spec = R"(, "active": false)";
    is(read(w), kueue_standing::deactivated, "spec.active is false");
    w.spec = "";
    w.metadata = R"(, "annotations": {"kueue.x-k8s.io/admission-gated-by": "x"})";
    is(read(w), kueue_standing::gated, "it is gated by x");
  }
  SUBCASE("backing off") {
    w.conditions = {condition("Requeued", "False", "PodsReadyTimeout")};
    is(read(w), kueue_standing::backs_off, "its condition Requeued is False (PodsReadyTimeout)");
    w.status = R"(, "requeueState": {"requeueAt": "2026-05-01T12:05:00Z"})";
    kueue_reading r = read(w);
    CHECK(r.standing == kueue_standing::backs_off);
    CHECK(r.why == "its condition Requeued is False (PodsReadyTimeout)");
    REQUIRE(r.job);
    CHECK(r.job->ready == *parse_timestamp("2026-05-01T12:05:00Z"));
    r = cluster.read(w.text(), *parse_timestamp("2026-05-01T12:05:00Z"));
    is(r, kueue_standing::backs_off, "its condition Requeued is False (PodsReadyTimeout)");
    w.conditions.clear();
    CHECK(read(w).standing == kueue_standing::backs_off);
    CHECK(cluster.read(w.text(), *parse_timestamp("2026-05-01T12:05:00Z")).standing ==
          kueue_standing::pending);
  }
  SUBCASE("holding quota, or on its way out") {
    const std::string plain =
        R"([{"name": "m", "count": 2, "flavors": {"cpu": "plain"}, "resourceUsage": {"cpu": "2"}}])";
    w.conditions = {condition("QuotaReserved", "True")};
    w.status = admission("q", plain);
    kueue_reading r = read(w);
    CHECK(r.standing == kueue_standing::holds);
    REQUIRE(r.job);
    CHECK(r.job->phase == job_phase::running);
    CHECK(r.job->start == *parse_timestamp("2026-05-01T11:00:00Z"));
    CHECK(json_of(r.held) ==
          R"([{"name": "m", "flavors": {"cpu": "plain"}, "resourceUsage": {"cpu": "2"}, "count": 2}])");
    workload_text evicted = w;
    evicted.conditions.push_back(condition("Evicted", "True", "Preempted"));
    r = read(evicted);
    CHECK(r.standing == kueue_standing::holds);
    REQUIRE(r.job);
    CHECK(r.job->phase == job_phase::evicting);
    CHECK(r.why == "");
    evicted.spec = R"(, "active": false)";
    CHECK(read(evicted).why == "spec.active is false");
    w.queue = "drained";
    w.status = admission("drained", plain);
    r = read(w);
    REQUIRE(r.job);
    CHECK(r.job->phase == job_phase::evicting);
    CHECK(r.why == "it is in a ClusterQueue whose stopPolicy is HoldAndDrain");
    w.status += R"(, "reclaimablePods": [{"name": "m", "count": 2}])";
    is(read(w), kueue_standing::no_pods, "it holds nothing: all of its pods are reclaimable");
  }
  SUBCASE("malformed") {
    w.spec = R"(, "priority": "high")";
    const kueue_reading r = read(w);
    is(r, kueue_standing::malformed,
       "/spec/priority: expected a whole number from -2147483648 to 2147483647, found \"high\"");
    CHECK(r.id == "n/w");
    CHECK(cluster.read("{", now).standing == kueue_standing::malformed);
    CHECK(cluster.read("{}", now).why == "the object has no name (expected \"metadata\": {\"name\": ...})");
    // One that is wrong leaves no trace.
    w.spec = "";
    CHECK(read(w).standing == kueue_standing::pending);
  }
}

TEST_CASE("where the caller admits, Hold keeps only Kueue out") {
  const auto q = [](const std::string& name, const std::string& stop) {
    return cluster_queue(name, {group({{"plain", {{"cpu", "8"}}}})},
                         R"(, "cohort": "all", "stopPolicy": ")" + stop + '"',
                         R"("conditions": [)" + condition("Active", "False", "Stopped") + "]");
  };
  const objects all = {flavor("plain"),
                       q("ours", "Hold"),
                       q("theirs", "Hold"),
                       q("drained", "HoldAndDrain"),
                       local_queue("ours", "ours"),
                       local_queue("held", "ours", "Hold"),
                       local_queue("theirs", "theirs"),
                       local_queue("drained", "drained")};
  kueue_cluster_options options;
  options.serves = [](std::string_view name) { return name != "theirs"; };
  auto cluster = make(all, options);
  workload_text w;
  w.sets = {pods("m", 2, {{"cpu", "1"}})};
  const auto standing = [&](const std::string& queue) {
    w.queue = queue;
    return cluster.read(w.text(), now).standing;
  };
  CHECK(standing("ours") == kueue_standing::pending);
  CHECK(standing("held") == kueue_standing::stopped);
  CHECK(standing("drained") == kueue_standing::stopped);
  CHECK(standing("theirs") == kueue_standing::not_served);
  w.spec = R"(, "active": false)";
  CHECK(standing("ours") == kueue_standing::deactivated);
  CHECK(standing("theirs") == kueue_standing::not_served);
  w.spec = "";
  // What others have admitted uses quota nonetheless.
  w.conditions = {condition("QuotaReserved", "True")};
  w.status = admission(
      "theirs", R"([{"name": "m", "count": 2, "flavors": {"cpu": "plain"}, "resourceUsage": {"cpu": "2"}}])");
  CHECK(standing("theirs") == kueue_standing::holds);
  w.status = admission(
      "ours", R"([{"name": "m", "count": 2, "flavors": {"cpu": "plain"}, "resourceUsage": {"cpu": "2"}}])");
  w.queue = "ours";
  const kueue_reading r = cluster.read(w.text(), now);
  CHECK(r.standing == kueue_standing::holds);
  CHECK(r.why == "");
}

TEST_CASE("where the caller admits, what would not be counted is refused") {
  objects all;
  for (int i = 0; i < 10; ++i) {
    const std::string name = "f" + std::to_string(i);
    all.push_back(flavor(name));
    all.push_back(cluster_queue(name, {group({{name, {{"nvidia.com/gpu", "8"}}}})}));
    all.push_back(local_queue(name, name));
  }
  for (const bool serves : {false, true}) {
    CAPTURE(serves);
    kueue_cluster_options options;
    if (serves) options.serves = [](std::string_view) { return true; };
    auto cluster = make(all, options);
    std::size_t refused = 0;
    for (int i = 0; i < 10; ++i) {
      workload_text w;
      w.queue = "f" + std::to_string(i);
      w.sets = {pods("m", 1, {{"nvidia.com/gpu", "1"}})};
      const kueue_reading r = cluster.read(w.text(), now);
      if (r.standing == kueue_standing::pending) continue;
      ++refused;
      CHECK(r.standing == kueue_standing::inadmissible);
      CHECK(r.why ==
            "asks for nvidia.com/gpu of flavors that are not counted: at most 8 resources, flavors told "
            "apart, are");
    }
    CHECK(refused == (serves ? 2 : 0));
  }
}

TEST_CASE("the estimate of a workload is what its annotation says, or its maximum") {
  auto cluster = make(two_flavors());
  const auto read = [&](const std::string& seconds, const std::string& most = "") {
    workload_text w;
    w.sets = {pods("m", 1, {{"cpu", "1"}})};
    w.metadata = R"(, "annotations": {"allot.dev/estimate-seconds": ")" + seconds + "\"}";
    if (!most.empty()) w.spec = R"(, "maximumExecutionTimeSeconds": )" + most;
    return cluster.read(w.text(), now);
  };
  CHECK(read("3600").job->estimate == 3600);
  CHECK(read("3600").notes.empty());
  CHECK(read("3600", "60").job->estimate == 60);
  CHECK(read("60", "3600").job->estimate == 60);
  for (const char* const wrong : {"1h", "0", "-5", "1.5", ""}) {
    CAPTURE(wrong);
    const kueue_reading r = read(wrong, "60");
    CHECK(r.job->estimate == 60);
    REQUIRE(r.notes.size() == 1);
    CHECK(r.notes.front() ==
          "note: Workload n/w: the annotation allot.dev/estimate-seconds is left out: expected whole "
          "seconds, 1 to "
          "2147483647, found \"" +
              std::string{wrong} + '"');
  }
}

TEST_CASE("where quotas contain those below them, a cohort has what its queues have") {
  const std::string of_all = R"(, "cohortName": "all")";
  const objects both{flavor("f"), cluster_queue("q", {group({{"f", {{"cpu", "2"}}}})}, of_all),
                     cluster_queue("r", {group({{"f", {{"cpu", "3"}}}})}, of_all)};
  kueue_cluster_options options;
  options.policy = "\"pai\"";
  const auto cluster = make(both, options);
  CHECK(cluster.scenario().quotas.front().spec.nominal[0] == allot::quantity::whole(5));
}

TEST_CASE("the policy is the caller's, or the one that the objects tell") {
  kueue_cluster_options options;
  options.policy = "\"standard\"";
  CHECK(make(two_flavors(), options).scenario().policy.preset == "standard");
  const std::string in_kb = "note: memory: counted in units of 1000 bytes, in which all amounts are exact";
  CHECK(make(two_flavors(), options).notes() == allot::vector<std::string>{in_kb});
  // Who may pass whom is said by the policy, unless the queue asks for a strict order.
  const auto says = [&](const char* policy, const char* strategy, std::string_view head) {
    options.policy = policy;
    const auto with = two_flavors(R"(, "queueingStrategy": ")" + std::string{strategy} + '"');
    return make(with, options).text().find(head) != std::string_view::npos;
  };
  CHECK_FALSE(says(R"("standard")", "BestEffortFIFO", "best_effort"));
  CHECK(says(R"({"preset": "kueue_fair"})", "BestEffortFIFO", "best_effort"));
  CHECK(says("", "BestEffortFIFO", "best_effort"));
  CHECK(says(R"("standard")", "StrictFIFO", "strict"));
  const kueue_cluster fair = make(two_flavors(R"(, "fairSharing": {"weight": "2"})"));
  CHECK(fair.scenario().policy.preset == "kueue_fair");
  CHECK(fair.notes() ==
        allot::vector<std::string>{
            in_kb, "note: fair sharing is configured in ClusterQueue q: the policy is kueue_fair"});
}

TEST_CASE("the part of an object that matters does not change with its counters") {
  const auto q = [](const std::string& version, const std::string& spec, const std::string& status) {
    return relevant_part(
        R"({"kind": "ClusterQueue", "metadata": {"name": "q", "labels": {"a": "b"}, "resourceVersion": ")" +
        version + R"("}, "spec": {"stopPolicy": ")" + spec + R"("}, "status": {)" + status + "}}");
  };
  const auto active = [](const std::string& is, const std::string& since) {
    return R"("conditions": [{"type": "Active", "status": ")" + is + R"(", "lastTransitionTime": ")" + since +
           R"("}])";
  };
  const std::string before = q("1", "None", active("True", "2026-05-01T11:00:00Z"));
  CHECK(before == q("2", "None", R"("pendingWorkloads": 3, )" + active("True", "2026-05-01T12:00:00Z")));
  CHECK(before != q("2", "Hold", active("True", "2026-05-01T11:00:00Z")));
  CHECK(before != q("2", "None", active("False", "2026-05-01T11:00:00Z")));
  CHECK(before !=
        q("2", "None", active("True", "2026-05-01T11:00:00Z") + R"(, "fairSharing": {"weightedShare": 0})"));
  CHECK(q("1", "None", R"("fairSharing": {"weightedShare": 0})") ==
        q("1", "None", R"("fairSharing": {"weightedShare": 7})"));
  CHECK(relevant_part(R"({"metadata": {"name": "n", "labels": {"a": "b"}}})") !=
        relevant_part(R"({"metadata": {"name": "n", "labels": {"a": "c"}}})"));
  CHECK(relevant_part("{") == "{");
}

TEST_CASE("objects that make no cluster say why") {
  const auto problems = [](const objects& all, kueue_cluster_options options = {}) {
    std::vector<kueue_object> refs;
    for (const text_object& o : all) refs.push_back({o.kind, o.name, o.text});
    errors found;
    CHECK(!kueue_cluster::make(refs, std::move(options), found));
    return found.to_string();
  };
  CHECK(problems({}) == "the cluster: no ClusterQueue counts any resource (expected spec.resourceGroups)\n");
  CHECK(problems({cluster_queue("q", {group({{"f", {{"cpu", "much"}}}})})})
            .starts_with("ClusterQueue q: /spec/resourceGroups/0/flavors/0/resources/0/nominalQuota: "));
  CHECK(problems({{"Namespace", "n", "{"}}).starts_with("Namespace n: line 1"));
  kueue_cluster_options options;
  options.policy = "\"nonsense\"";
  CHECK(problems(two_flavors(), options).find("nonsense") != std::string::npos);
}

TEST_CASE("what a workload gets is what Kueue would write") {
  auto cluster = make(two_flavors());
  const std::string text = two_sets().text();
  // The driver's memory in the second flavor, its CPU without a choice; the workers in the first, three of
  // them.
  const auto all = cluster.assign(text, flavor_pick{1, 0, 0, 0}, pods_by_set{1, 3}, now);
  REQUIRE(all);
  CHECK(
      json_of(*all) ==
      R"([{"name": "driver", "flavors": {"cpu": "plain", "memory": "a100", "pods": "plain"}, )"
      R"("resourceUsage": {"cpu": "1500m", "memory": "1073741824", "pods": "1"}, "count": 1}, )"
      R"({"name": "none", "flavors": {"nvidia.com/gpu": "h100", "pods": "plain"}, )"
      R"("resourceUsage": {"nvidia.com/gpu": "0", "pods": "0"}, "count": 0}, )"
      R"({"name": "worker", "flavors": {"cpu": "plain", "memory": "h100", "nvidia.com/gpu": "h100", "pods": "plain"}, )"
      R"("resourceUsage": {"cpu": "3", "memory": "300000000", "nvidia.com/gpu": "6", "pods": "3"}, "count": 3}])");
  const kueue_reading r = cluster.read(admitted(two_sets(), "q", *all).text(), now);
  CHECK(r.standing == kueue_standing::holds);
  CHECK(r.held.size() == 3);
  CHECK(json_of(r.held) == json_of(*all));

  CHECK(!cluster.assign(text, flavor_pick{2}, pods_by_set{1, 3}, now));
  CHECK(!cluster.assign(text, flavor_pick{}, pods_by_set{1, 1}, now));
  CHECK(!cluster.assign(text, flavor_pick{}, pods_by_set{1, 5}, now));
  workload_text gone = two_sets();
  gone.spec = R"(, "active": false)";
  CHECK(!cluster.assign(gone.text(), flavor_pick{}, pods_by_set{1, 4}, now));
}

TEST_CASE("more choices than a job has are one, or none") {
  auto cluster = make(two_flavors());
  workload_text w;
  for (int i = 0; i < 9; ++i) w.sets.push_back(pods("s" + std::to_string(i), 1, {{gpu, "1"}}));
  w.sets.push_back(pods("h", 2, {{gpu, "1"}}, "", R"("nodeSelector": {"gpu": "h100"}, )"));
  kueue_reading r = cluster.read(w.text(), now);
  REQUIRE(r.job);
  CHECK(r.job->sets.empty());
  CHECK(r.job->pod_request.total);
  REQUIRE(r.job->flavors.size() == 1);
  CHECK(r.job->flavors[0].options.size() == 1);
  CHECK(r.job->flavors[0].options[0].name == "h100");
  const auto got = cluster.assign(w.text(), flavor_pick{}, pods_by_set{1}, now);
  REQUIRE(got);
  CHECK(got->size() == 10);
  CHECK(got->back().count == 2);
  CHECK(got->front().resources.at(gpu).flavor == "h100");
  // One of them may not have what another must.
  w.sets.push_back(pods("a", 1, {{gpu, "1"}}, "", R"("nodeSelector": {"gpu": "a100"}, )"));
  r = cluster.read(w.text(), now);
  CHECK(r.standing == kueue_standing::inadmissible);
  CHECK(r.why ==
        "its pod sets choose among too many flavors to be told apart, and no flavor of nvidia.com/gpu admits "
        "all of them");
  CHECK(!r.job);
}

TEST_CASE("what is not counted, or not covered, is said with every workload that asks for it") {
  std::vector<std::pair<std::string, std::string>> nine;
  for (int i = 1; i <= 9; ++i) nine.emplace_back("r" + std::to_string(i), "5");
  const objects all = {flavor("plain"), cluster_queue("q", {group({{"plain", nine}})}),
                       local_queue("q", "q")};
  auto cluster = make(all);
  CHECK(cluster.notes() ==
        allot::vector<std::string>{
            "note: r9: is not carried over: this program counts at most 8 resources, flavors told apart"});
  workload_text w;
  w.sets = {pods("m", 2, {{"r1", "1"}, {"r9", "3"}}), pods("n", 1, {{"r9", "1"}})};
  for (int i = 0; i < 2; ++i) {
    const kueue_reading r = cluster.read(w.text(), now);
    CHECK(r.job.has_value());
    CHECK(r.notes ==
          allot::vector<std::string>{"note: Workload n/w: asks for r9, which is not counted: left out"});
  }
  // It gets it all the same.
  const auto got = cluster.assign(w.text(), {}, pods_by_set{2, 1}, now);
  REQUIRE(got);
  CHECK(
      json_of(*got) ==
      R"([{"name": "m", "flavors": {"r1": "plain", "r9": "plain"}, "resourceUsage": {"r1": "2", "r9": "6"}, "count": 2}, )"
      R"({"name": "n", "flavors": {"r9": "plain"}, "resourceUsage": {"r9": "1"}, "count": 1}])");

  kueue_cluster_options options;
  options.quota_check_strategy = "IgnoreUndeclared";
  cluster = make(all, options);
  w.sets = {pods("m", 2, {{"r1", "1"}, {"other", "3"}})};
  const kueue_reading r = cluster.read(w.text(), now);
  CHECK(r.job.has_value());
  CHECK(r.notes ==
        allot::vector<std::string>{
            "note: Workload n/w: asks for other, which its ClusterQueue does not cover: left out"});
  CHECK(cluster.assign(w.text(), {}, pods_by_set{2}, now).value().front().resources.size() == 1);
}

TEST_CASE("pod sets of a group get the same flavors") {
  auto cluster = make(two_flavors());
  const std::string in_group = R"(, "topologyRequest": {"podSetGroupName": "g"})";
  workload_text w;
  w.sets = {pods("leader", 1, {{"memory", "1Gi"}}, in_group), pods("alone", 1, {{gpu, "1"}}),
            pods("worker", 2, {{gpu, "1"}}, in_group)};
  // Two flavors, neither of which has a topology; the request for one keeps the pods of the group out of
  // both.
  CHECK(cluster.read(w.text(), now).standing == kueue_standing::inadmissible);
  objects all = two_flavors();
  for (text_object& o : all) {
    if (o.kind == "ResourceFlavor") o = flavor(o.name, R"("topologyName": "racks")");
  }
  cluster = make(all);
  w.sets[1] = pods("alone", 1, {{gpu, "1"}}, R"(, "topologyRequest": {"podSetGroupName": "h"})");
  const kueue_reading r = cluster.read(w.text(), now);
  REQUIRE(r.job);
  CHECK(r.has_topology);
  REQUIRE(r.job->sets.size() == 3);
  CHECK(r.job->sets[0].flavors[0].options.size() == 1);
  CHECK(r.job->sets[1].flavors[0].options.size() == 2);
  CHECK(r.job->sets[2].flavors[0].options.size() == 1);
  CHECK(r.notes == allot::vector<std::string>{
                       "note: Workload n/w: its pod sets of the group g get the first flavor that "
                       "admits all of them, and no other"});
  const auto got = cluster.assign(w.text(), flavor_pick{0, 1, 0}, pods_by_set{1, 1, 2}, now);
  REQUIRE(got);
  CHECK((*got)[0].resources.at("memory").flavor == "h100");
  CHECK((*got)[1].resources.at(gpu).flavor == "a100");
  CHECK((*got)[2].resources.at(gpu).flavor == "h100");
}

namespace {

/// Queues of one tree with two groups of resources, and workloads in them.
struct random_cluster {
  explicit random_cluster(random_source& r) : random(r) {
    for (const char* const f : {"a", "b", "c"}) {
      if (random.one_in(2)) labelled.emplace_back(f);
      all.push_back(flavor(f, is_labelled(f) ? R"("nodeLabels": {"is": ")" + std::string{f} + "\"}" : ""));
    }
    const std::int64_t queues = random.between(1, 3);
    for (std::int64_t i = 0; i < queues; ++i) {
      const std::string name = "q" + std::to_string(i);
      all.push_back(cluster_queue(name, groups(), R"(, "cohort": "all")"));
      all.push_back(local_queue(name, name));
    }
  }

  /// At most eight dimensions in all. Memory is no whole number of MiB, so that the import counts it as it is
  /// counted here.
  std::vector<std::string> groups() {
    const auto amount = [&] { return std::to_string(random.between(0, 40)); };
    std::vector<std::string> flavors{"a", "b", "c"};
    random.shuffle(flavors);
    flavors.resize(random.below(2) + 1);
    quota_amounts first;
    for (const std::string& f : flavors)
      first.push_back({f, {{gpu, amount()}, {"memory", amount() + "000001"}}});
    quota_amounts second{{"a", {{"cpu", amount()}}}};
    if (random.one_in(2)) second.front().second.push_back({"pods", amount()});
    return {group(first), group(second)};
  }

  workload_text workload(const std::string& name) {
    workload_text w;
    w.name = name;
    w.queue = "q" + std::to_string(random.below(3));
    const std::int64_t sets = random.one_in(8) ? random.between(9, 20) : random.between(1, 3);
    const std::int64_t elastic = random.between(0, sets);
    for (std::int64_t i = 0; i < sets; ++i) {
      std::vector<std::pair<std::string, std::string>> request;
      if (random.one_in(2)) request.emplace_back(gpu, std::to_string(random.between(0, 3)));
      if (random.one_in(2)) request.emplace_back("memory", std::to_string(random.between(0, 5'000'000)));
      if (random.one_in(2)) request.emplace_back("cpu", std::to_string(random.between(0, 3000)) + "m");
      const std::string least = R"(, "minCount": )" + std::to_string(random.between(1, 5));
      const std::string selector =
          R"("nodeSelector": {"is": ")" + std::string{random.pick(std::string_view{"abc"})} + "\"}, ";
      w.sets.push_back(pods("s" + std::to_string(i), random.between(0, 5), request, i == elastic ? least : "",
                            random.one_in(6) ? selector : ""));
    }
    if (random.one_in(3)) w.spec += R"(, "priority": )" + std::to_string(random.between(-3, 3));
    if (random.one_in(3))
      w.spec += R"(, "maximumExecutionTimeSeconds": )" + std::to_string(random.between(1, 9999));
    if (random.one_in(4)) w.metadata = R"(, "annotations": {"allot.dev/estimate-seconds": "77"})";
    if (random.one_in(6)) w.conditions.push_back(condition("Requeued", random.one_in(2) ? "False" : "True"));
    if (random.one_in(6)) {
      w.status += R"(, "requeueState": {"requeueAt": "2026-05-01T1)" + std::to_string(random.between(0, 3)) +
                  R"(:30:00Z"})";
    }
    if (random.one_in(9)) w.conditions.push_back(condition("Finished", "True"));
    return w;
  }

  [[nodiscard]] bool is_labelled(const std::string& f) const {
    return std::find(labelled.begin(), labelled.end(), f) != labelled.end();
  }
  /// Whether the selector of a pod set, if it has one, admits the flavor. A set without pods may have any.
  [[nodiscard]] bool admits(const std::string& f, const std::string& set) const {
    const bool selects = set.find("nodeSelector") != std::string::npos;
    const bool is_it = set.find(R"({"is": ")" + f + '"') != std::string::npos;
    return !selects || !is_labelled(f) || is_it || set.find(R"("count": 0,)") != std::string::npos;
  }

  random_source& random;
  /// The flavors with a label.
  std::vector<std::string> labelled{};
  objects all{};
};

/// A choice of a job's flavors and pods.
struct choice {
  flavor_pick pick{};
  pods_by_set pods{};
};
choice random_choice(const job_entry& j, random_source& random) {
  choice made;
  std::size_t group = 0;
  const auto choose = [&](const allot::vector<flavor_group>& flavors) {
    for (const flavor_group& g : flavors)
      made.pick[group++] = static_cast<std::uint8_t>(random.below(g.options.size()));
  };
  const auto some = [&](std::uint32_t least, std::uint32_t most) {
    return static_cast<std::uint32_t>(random.between(least, most));
  };
  choose(j.flavors);
  if (j.sets.empty()) made.pods[0] = some(j.min_pods, j.pod_request.pods);
  for (std::size_t s = 0; s < j.sets.size(); ++s) {
    choose(j.sets[s].flavors);
    made.pods[s] = some(j.sets[s].pods.fewest(), j.sets[s].pods.pods);
  }
  return made;
}

/// What a job asks for in all with this choice.
amounts request_of(const job_entry& j, const choice& made) {
  amounts sum;
  std::size_t group = 0;
  const auto add = [&](const allot::vector<flavor_group>& flavors, std::int64_t n) {
    for (const flavor_group& g : flavors) sum += g.options[made.pick[group++]].request * n;
  };
  if (j.sets.empty()) {
    const std::int64_t most = j.pod_request.total ? 1 : j.pod_request.pods;
    const std::int64_t n = j.pod_request.total ? 1 : made.pods[0];
    for (std::size_t d = 0; d < max_resources; ++d)
      sum[d] += allot::quantity::milli(j.request[d].in_milli() / most) * n;
    add(j.flavors, n);
  }
  for (std::size_t s = 0; s < j.sets.size(); ++s) {
    sum += j.sets[s].request * std::int64_t{made.pods[s]};
    add(j.sets[s].flavors, made.pods[s]);
  }
  return sum;
}

/// What a running job has: all pods of its sets, but of the elastic one as many as are left.
choice running_choice(const job_entry& j) {
  choice made;
  if (j.sets.empty()) made.pods[0] = j.running_pods;
  std::uint32_t fewer = j.pod_request.pods - j.running_pods;
  for (std::size_t s = 0; s < j.sets.size(); ++s) {
    const auto& of = j.sets[s].pods;
    made.pods[s] = of.pods - (of.fewest() < of.pods ? std::exchange(fewer, 0U) : 0U);
  }
  return made;
}

/// All of a job that the objects say, with its points in time after `first`.
std::string shown(const job_entry& j, instant first) {
  json_writer json{0};
  const auto write_amounts = [&](const amounts& a) {
    for (std::size_t d = 0; d < max_resources; ++d) json.value(a[d]);
  };
  const auto write_flavors = [&](const allot::vector<flavor_group>& flavors) {
    for (const flavor_group& g : flavors) {
      for (const std::string& r : g.resources) json.value(r);
      for (const flavor_group::option& o : g.options) {
        json.value(o.name);
        write_amounts(o.request);
      }
    }
  };
  const auto after = [&](instant t) { return t == 0 ? 0 : t - first; };
  json.begin_array().value(j.id).value(std::uint64_t{j.quota.index()});
  write_amounts(j.request);
  write_flavors(j.flavors);
  json.value(std::uint64_t{j.pod_request.pods}).value(j.pod_request.total).value(std::uint64_t{j.min_pods});
  for (const pod_set_entry& s : j.sets) {
    json.value(s.name).value(std::uint64_t{s.pods.pods}).value(std::uint64_t{s.pods.fewest()});
    write_amounts(s.request);
    write_flavors(s.flavors);
  }
  json.value(j.priority).value(j.job_class).value(j.estimate).value(j.duration).value(after(j.ready));
  json.value(std::uint64_t{j.running_pods}).value(static_cast<std::int64_t>(j.phase));
  json.value(j.submit - first).value(j.start - first);
  return json.end_array().text();
}

}  // namespace

TEST_CASE("what a workload gets, read back, is what its job was decided to hold") {
  for_each_seed(400, [](random_source& random) {
    random_cluster world{random};
    auto cluster = make(world.all);
    for (int i = 0; i < 8; ++i) {
      const workload_text w = world.workload("w" + std::to_string(i));
      const kueue_reading pending = cluster.read(w.text(), now);
      if (pending.standing != kueue_standing::pending) continue;
      REQUIRE(pending.job);
      const choice made = random_choice(*pending.job, random);
      const auto all = cluster.assign(w.text(), made.pick, made.pods, now);
      REQUIRE(all);
      REQUIRE(all->size() == w.sets.size());
      for (std::size_t set = 0; set < all->size(); ++set) {
        for (const auto& of : (*all)[set].resources)
          CHECK_MESSAGE(world.admits(of.second.flavor, w.sets[set]), of.first, " for ", w.sets[set]);
      }
      const kueue_reading held = cluster.read(admitted(w, pending.cluster_queue, *all).text(), now);
      CHECK(held.standing == kueue_standing::holds);
      REQUIRE(held.job);
      CHECK(held.job->phase == job_phase::running);
      CHECK(json_of(held.held) == json_of(*all));
      CHECK(held.job->quota == pending.job->quota);
      CHECK(held.job->priority == pending.job->priority);
      const amounts has = request_of(*held.job, running_choice(*held.job));
      const amounts asked = request_of(*pending.job, made);
      for (std::size_t d = 0; d < max_resources; ++d) {
        CAPTURE(d);
        CHECK(has[d] == asked[d]);
      }
    }
  });
}

TEST_CASE("workloads one by one are the jobs that allot import kueue makes of them") {
  for_each_seed(200, [](random_source& random) {
    random_cluster world{random};
    auto cluster = make(world.all);
    std::vector<std::string> texts;
    for (int i = 0; i < 8; ++i) {
      workload_text w = world.workload("w" + std::to_string(i));
      const kueue_reading r = cluster.read(w.text(), now);
      if (r.standing == kueue_standing::pending && random.one_in(2)) {
        const choice made = random_choice(*r.job, random);
        w = admitted(w, r.cluster_queue, cluster.assign(w.text(), made.pick, made.pods, now).value());
        if (random.one_in(4)) w.conditions.push_back(condition("Evicted", "True"));
        if (random.one_in(4)) w.status += R"(, "reclaimablePods": [{"name": "s0", "count": 1}])";
      }
      texts.push_back(w.text());
    }
    std::string dump;
    for (const text_object& o : world.all)
      dump += R"({"kind": ")" + o.kind + "\", " + o.text.substr(1) + ",\n";
    for (const std::string& w : texts) dump += w + ",\n";
    errors found;
    const auto document = json_document::parse("dump", "[" + dump + "]", found);
    REQUIRE_MESSAGE(document, found.to_string());
    import_log log{[](const std::string&) {}};
    import_options options;
    options.file = "dump";
    const std::string text = make_kueue_scenario(document->root(), found, log, options);
    REQUIRE_MESSAGE(found.empty(), found.to_string());
    scenario_source source;
    source.file = "made";
    const auto imported = parse_scenario(text, source, found);
    REQUIRE_MESSAGE(imported, found.to_string());

    const scenario& live = cluster.scenario();
    REQUIRE(imported->quotas.size() == live.quotas.size());
    for (std::size_t q = 0; q < live.quotas.size(); ++q) {
      CHECK(imported->quotas[q].spec.name == live.quotas[q].spec.name);
      for (std::size_t d = 0; d < live.resources.size(); ++d)
        CHECK(imported->quotas[q].spec.nominal[d] == live.quotas[q].spec.nominal[d]);
    }
    // To the import now is the latest point in time in a workload that is not finished, and times count from
    // the first.
    const instant created = *parse_timestamp("2026-05-01T10:00:00Z");
    instant latest = created;
    for (const std::string& w : texts) {
      const bool knows_later = w.find("lastTransitionTime") != std::string::npos;
      if (knows_later && w.find("Finished") == std::string::npos)
        latest = *parse_timestamp("2026-05-01T11:00:00Z");
    }
    std::map<std::string, const job_entry*> jobs;
    for (const job_entry& j : imported->jobs) jobs.emplace(j.id, &j);
    for (const std::string& w : texts) {
      const kueue_reading r = cluster.read(w, latest);
      const auto at = jobs.find(r.id);
      if (r.job) {
        REQUIRE(at != jobs.end());
        CHECK(shown(*r.job, created) == shown(*at->second, 0));
      } else if (r.standing != kueue_standing::inadmissible) {
        CHECK(at == jobs.end());
      }
    }
  });
}
