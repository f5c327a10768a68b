// SPDX-License-Identifier: BSL-1.0
//
// Against a real Kubernetes with Kueue, if ALLOT_KUEUE_KUBECONFIG names its kubeconfig: one whose user may do
// all.
#include <doctest/doctest.h>

#include <boost/json.hpp>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "../src/api/curl_server.hpp"
#include "../src/api/events.hpp"
#include "../src/api/lease.hpp"
#include "../src/api/objects.hpp"
#include "../src/api/reflector.hpp"

using namespace allot_kueue;
namespace json = boost::json;

namespace {

const resource maps{"v1", "ConfigMap", "configmaps"};
const resource spaces{"v1", "Namespace", "namespaces"};
const resource nodes{"v1", "Node", "nodes"};
const resource events{"v1", "Event", "events"};
const resource workloads{"kueue.x-k8s.io/v1beta2", "Workload", "workloads"};

[[nodiscard]] moment time() {
  using namespace std::chrono;
  return {duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count(),
          duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count()};
}
[[nodiscard]] bool has_no_cluster() {
  return std::getenv("ALLOT_KUEUE_KUBECONFIG") == nullptr;
}

/// A namespace of its own.
struct cluster {
  std::unique_ptr<curl_server> server;
  std::string space = "allot-test-" + std::to_string(time().wall);

  cluster() {
    const credentials_reading who = read_kubeconfig({std::getenv("ALLOT_KUEUE_KUBECONFIG")});
    REQUIRE_MESSAGE(who.value, who.problem);
    server = std::make_unique<curl_server>(*who.value);
    check(create(spaces, {{"metadata", {{"name", space}}}}));
  }
  ~cluster() { static_cast<void>(ask(*server, remove(spaces, {{}, space}))); }

  json::object check(request r) {
    outcome o = outcome_of(ask(*server, std::move(r)));
    CHECK_MESSAGE(o, std::string{to_string(o.is)} << ": " << o.text);
    return std::move(o.object);
  }
  [[nodiscard]] json::object map(const std::string& name, int x = 0) const {
    return {{"metadata", {{"namespace", space}, {"name", name}}}, {"data", {{"x", std::to_string(x)}}}};
  }
  /// Steps until it is so.
  void until(const std::function<bool()>& is_so, const std::function<void(const moment&)>& step,
             instant most = 30'000) {
    const instant end = time().steady + most;
    while (!is_so()) {
      REQUIRE_MESSAGE(time().steady < end, "it does not come");
      step(time());
      server->perform(20);
    }
  }
};

struct mirror final : object_handler {
  std::map<std::string, std::string> versions;
  int synced = 0;
  void on_set(json::object o) override {
    versions[name_of(o).text()] = text_at(o, {"metadata", "resourceVersion"});
  }
  void on_gone(const object_name& n, std::string_view) override { versions.erase(n.text()); }
  void on_synced() override { ++synced; }
};

}  // namespace

TEST_CASE("real API: lists, watches, patches and conflicts" * doctest::skip(has_no_cluster())) {
  cluster c;
  std::vector<request> all;
  for (int i = 0; i < 50; ++i) all.push_back(create(maps, c.map("m" + std::to_string(i))));
  for (const response& a : ask(*c.server, all)) CHECK(outcome_of(a));
  mirror seen;
  reflector_options options;
  options.in_namespace = c.space;
  options.page = 7;
  options.watch = 3000;
  reflector r{*c.server, maps, seen, options};
  const auto step = [&](const moment& now) { r.step(now); };
  // Kubernetes adds a map of its own.
  c.until([&] { return r.is_synced() && seen.versions.size() == 51; }, step);
  const object_name one{c.space, "m1"};
  const json::object before = c.check(get(maps, one));
  const std::string version{text_at(before, {"metadata", "resourceVersion"})};
  const json::object after = c.check(merge_patch(maps, one, {{"data", {{"x", "1"}}}}, version));
  CHECK(outcome_of(ask(*c.server, merge_patch(maps, one, {{"data", {{"x", "2"}}}}, version))).is ==
        outcome::kind::conflict);
  CHECK(outcome_of(ask(*c.server, replace(maps, before))).is == outcome::kind::conflict);
  CHECK(outcome_of(ask(*c.server, create(maps, c.map("m1")))).is == outcome::kind::exists);
  CHECK(outcome_of(ask(*c.server, create(maps, c.map("M_1")))).is == outcome::kind::unprocessable);
  CHECK(outcome_of(ask(*c.server, get(maps, {c.space, "none"}))).is == outcome::kind::not_found);
  c.check(remove(maps, {c.space, "m2"}));
  c.until(
      [&] {
        return seen.versions.size() == 50 &&
               seen.versions.at(one.text()) == text_at(after, {"metadata", "resourceVersion"});
      },
      step);
  // Watches end, and others follow, without a list.
  c.until([&, end = time().steady + 8000] { return time().steady > end; }, step);
  c.check(create(maps, c.map("new")));
  c.until([&] { return seen.versions.size() == 51; }, step);
  CHECK(r.lists() == 1);
  CHECK(r.problem().empty());
}

TEST_CASE("real API: server-side apply of a status, and who owns it" * doctest::skip(has_no_cluster())) {
  cluster c;
  json::object pod_set = json::parse(R"({"name":"main","count":1,"template":{"spec":{"restartPolicy":"Never",
    "containers":[{"name":"c","image":"x","resources":{"requests":{"nvidia.com/gpu":"1"}}}]}}})")
                             .as_object();
  c.check(create(workloads, {{"metadata", {{"namespace", c.space}, {"name", "w"}}},
                             {"spec", {{"queueName", "none"}, {"podSets", json::array{pod_set}}}}}));
  const object_name w{c.space, "w"};
  const auto condition = [](const std::string& type, const std::string& message) {
    return json::object{{"type", type},
                        {"status", "True"},
                        {"reason", "Test"},
                        {"message", message},
                        {"lastTransitionTime", time_text(time().wall)}};
  };
  const auto applied = [&](const std::string& message, const std::string& manager) {
    return patch_status_apply(workloads, w, {{"conditions", json::array{condition("AllotTest", message)}}},
                              manager);
  };
  c.check(applied("one", "allot"));
  c.check(patch_status_apply(workloads, w, {{"conditions", json::array{condition("Other", "x")}}}, "other"));
  const outcome stolen = outcome_of(ask(*c.server, applied("two", "other")));
  CHECK(stolen.is == outcome::kind::conflict);
  MESSAGE(stolen.text);
  c.check(applied("three", "allot"));
  std::map<std::string, std::string> said;
  const json::object now = c.check(get(workloads, w));
  for (const json::value& v : now.at("status").at("conditions").as_array()) {
    said[std::string{text_at(v.as_object(), {"type"})}] = text_at(v.as_object(), {"message"});
  }
  c.check(patch_status_apply(workloads, w, {{"conditions", json::array{condition("AllotTest", "four")}}},
                             "other", {}, contested::taken));
  CHECK(said["AllotTest"] == "three");
  CHECK(said["Other"] == "x");
  CHECK(outcome_of(
            ask(*c.server, patch_status_apply(workloads, w, {{"conditions", json::array{}}}, "allot", "1")))
            .is == outcome::kind::conflict);
}

TEST_CASE("real API: a lease, and events" * doctest::skip(has_no_cluster())) {
  cluster c;
  lease_options options;
  options.name = {c.space, "allot"};
  options.duration = 3000;
  options.renew_deadline = 2000;
  options.retry = 500;
  options.identity = "a";
  lease a{*c.server, options};
  options.identity = "b";
  lease b{*c.server, options};
  const auto step = [&](const moment& now) {
    a.step(now);
    b.step(now);
    CHECK_FALSE((a.is_leader(now.steady) && b.is_leader(now.steady)));
  };
  c.until([&] { return a.is_leader(time().steady) || b.is_leader(time().steady); }, step);
  lease& first = a.is_leader(time().steady) ? a : b;
  lease& second = &first == &a ? b : a;
  c.until([&, end = time().steady + 5000] { return time().steady > end; }, step);
  CHECK(first.is_leader(time().steady));
  first.release();
  c.until([&] { return first.is_released() && second.is_leader(time().steady); }, step, 5000);
  CHECK(second.holder() == (&second == &a ? "a" : "b"));

  event_writer writer{*c.server, {"allot-kueue", "allot-kueue-0"}};
  const json::object about = c.check(create(maps, c.map("m")));
  const object_reference what{
      "v1", "ConfigMap", {c.space, "m"}, std::string{text_at(about, {"metadata", "uid"})}};
  const json::object node =
      outcome_of(ask(*c.server, {method::get, nodes.path()})).object.at("items").at(0).as_object();
  const object_reference of_cluster{"v1", "Node", name_of(node),
                                    std::string{text_at(node, {"metadata", "uid"})}};
  for (int i = 0; i < 3; ++i) {
    writer.tell(what, "Normal", "Waits", "for its turn", time());
    writer.tell(of_cluster, "Warning", "AllotTest", "of nothing", time());
    writer.step(time());
    c.until([&] { return writer.is_quiet(); }, [&](const moment& now) { writer.step(now); });
    CHECK_MESSAGE(writer.problem().empty(), writer.problem());
  }
  const json::object told = c.check({method::get, events.path(c.space)});
  REQUIRE(told.at("items").as_array().size() == 1);
  CHECK(told.at("items").at(0).at("count") == 3);
}

TEST_CASE("real API: tens of watches, and many requests at once" * doctest::skip(has_no_cluster())) {
  cluster c;
  std::vector<std::unique_ptr<mirror>> seen;
  std::vector<std::unique_ptr<reflector>> all;
  for (int i = 0; i < 40; ++i) {
    reflector_options options;
    options.in_namespace = c.space;
    seen.push_back(std::make_unique<mirror>());
    all.push_back(std::make_unique<reflector>(*c.server, maps, *seen.back(), options));
  }
  const auto step = [&](const moment& now) {
    for (auto& r : all) r->step(now);
  };
  const auto each_has = [&](std::size_t n) {
    return std::all_of(seen.begin(), seen.end(), [&](const auto& m) { return m->versions.size() == n; });
  };
  c.until([&] { return each_has(1); }, step);
  std::vector<request> requests;
  for (int i = 0; i < 500; ++i) requests.push_back(create(maps, c.map("m" + std::to_string(i))));
  instant begin = time().steady;
  for (const response& a : ask(*c.server, requests)) CHECK(outcome_of(a));
  MESSAGE("500 creations: " << time().steady - begin << " ms");
  c.until([&] { return each_has(501); }, step);
  MESSAGE("and all 40 watches have told of them: " << time().steady - begin << " ms");
  requests.assign(2000, get(maps, {c.space, "m7"}));
  begin = time().steady;
  for (const response& a : ask(*c.server, requests)) CHECK(a.status == 200);
  MESSAGE("2,000 reads: " << time().steady - begin << " ms");
  begin = time().steady;
  for (int i = 0; i < 100; ++i) static_cast<void>(ask(*c.server, get(maps, {c.space, "m7"})));
  MESSAGE("100 reads in sequence: " << time().steady - begin << " ms");
  for (auto& r : all) CHECK(r->problem().empty());
}
