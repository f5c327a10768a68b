// SPDX-License-Identifier: BSL-1.0
#include "../src/api/objects.hpp"

#include <doctest/doctest.h>

#include <boost/json.hpp>

#include <allot/lab/timestamp.hpp>

#include "fake_api.hpp"

using namespace allot_kueue;
namespace json = boost::json;

namespace {

const resource workloads{"kueue.x-k8s.io/v1beta2", "Workload", "workloads"};
const resource nodes{"v1", "Node", "nodes"};

[[nodiscard]] outcome refused_with(int status, const char* body) {
  return outcome_of({status, body});
}

}  // namespace

TEST_CASE("requests: paths of groups, namespaces and subresources, and queries are encoded") {
  CHECK(nodes.path() == "/api/v1/nodes");
  CHECK(workloads.path("team a") == "/apis/kueue.x-k8s.io/v1beta2/namespaces/team%20a/workloads");
  CHECK(get(nodes, {{}, "n1"}).target() == "/api/v1/nodes/n1");
  request r = get(workloads, {"a", "w"});
  r.query = {{"labelSelector", "x=1,y"}, {"limit", "5"}};
  CHECK(r.target() ==
        "/apis/kueue.x-k8s.io/v1beta2/namespaces/a/workloads/w?labelSelector=x%3D1%2Cy&limit=5");

  const request apply = patch_status_apply(workloads, {"a", "w"}, {{"x", 1}}, "allot", "7");
  CHECK(apply.target() ==
        "/apis/kueue.x-k8s.io/v1beta2/namespaces/a/workloads/w/status?fieldManager=allot&force=false");
  CHECK(apply.content_type == "application/apply-patch+yaml");
  CHECK(
      json::parse(apply.body) ==
      json::parse(
          R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload","metadata":{"name":"w","namespace":"a",
                        "resourceVersion":"7"},"status":{"x":1}})"));
  const request patch = merge_patch(nodes, {{}, "n"}, {{"spec", {{"unschedulable", true}}}}, "8");
  CHECK(json::parse(patch.body) ==
        json::parse(R"({"spec":{"unschedulable":true},"metadata":{"resourceVersion":"8"}})"));
}

TEST_CASE("outcomes: what a Status says, and what is none") {
  using enum outcome::kind;
  CHECK(refused_with(409, R"({"kind":"Status","reason":"AlreadyExists","code":409})").is == exists);
  CHECK(refused_with(409, R"({"kind":"Status","reason":"Conflict","code":409})").is == conflict);
  CHECK(refused_with(404, "").is == not_found);
  CHECK(refused_with(410, "").is == gone);
  CHECK(refused_with(401, "").is == forbidden);
  CHECK(refused_with(403, "").is == forbidden);
  CHECK(refused_with(400, "").is == refused);
  CHECK(refused_with(504, "").is == away);
  const outcome invalid = refused_with(422, R"({"kind":"Status","message":"spec.x: Required","code":422})");
  CHECK(invalid.is == unprocessable);
  CHECK(invalid.text == "spec.x: Required");
  const outcome busy =
      refused_with(429, R"({"kind":"Status","message":"slow","code":429,"details":{"retryAfterSeconds":3}})");
  CHECK(busy.is == too_many_requests);
  CHECK(busy.retry_after == 3000);
  CHECK(outcome_of({429, "", 2000}).retry_after == 2000);
  // A proxy in between.
  CHECK(refused_with(502, "<html>bad").text == "HTTP 502: <html>bad");
  CHECK(refused_with(200, "<html>hello").is == away);
  CHECK(outcome_of({0, {}, {}, "connection refused"}).text == "connection refused");
  CHECK(refused_with(200, R"({"metadata":{"name":"n"}})").object.contains("metadata"));
}

TEST_CASE("values: times and quantities are written as Kubernetes reads them") {
  CHECK(time_text(1'700'000'000'999) == "2023-11-14T22:13:20Z");
  CHECK(time_text(-1) == "1969-12-31T23:59:59Z");
  CHECK(micro_time_text(1'700'000'000'000'123) == "2023-11-14T22:13:20.000123Z");
  CHECK(allot::lab::parse_timestamp(micro_time_text(1'700'000'000'123'456)) == 1'700'000'000'123);
  for (const char* text : {"0", "8", "500m", "-3", "1u", "7n", "1000000000000000"}) {
    CHECK(allot::lab::kubernetes_quantity(allot::lab::parse_kubernetes_quantity(text).value()) == text);
  }
  CHECK(allot::lab::kubernetes_quantity(allot::lab::parse_kubernetes_quantity("1Gi").value()) ==
        "1073741824");
  CHECK(allot::lab::kubernetes_quantity(allot::lab::parse_kubernetes_quantity("1e3").value()) == "1000");
  CHECK(allot::lab::kubernetes_quantity(allot::lab::parse_kubernetes_quantity("1.5").value()) == "1500m");
}

TEST_CASE("requests: independent ones are asked at once, and answered in their order") {
  allot_test::fake_api api{1};
  api.faults.slowest = 50;
  std::vector<request> all;
  for (int i = 0; i < 100; ++i) {
    all.push_back(create(nodes, {{"metadata", {{"name", "n" + std::to_string(i)}}}}));
  }
  const auto answers = ask(api, std::move(all));
  REQUIRE(answers.size() == 100);
  for (std::size_t i = 0; i < 100; ++i)
    CHECK(name_of(outcome_of(answers[i]).object).name == "n" + std::to_string(i));
  CHECK(api.now <= 100);
  CHECK(outcome_of(ask(api, merge_patch(nodes, {{}, "n1"}, {{"x", 1}}, "1"))).is == outcome::kind::conflict);
  CHECK(outcome_of(ask(api, remove(nodes, {{}, "n1"}))));
  CHECK(outcome_of(ask(api, get(nodes, {{}, "n1"}))).is == outcome::kind::not_found);
}

TEST_CASE("requests: an apply takes away what its manager no longer wants, and leaves what others have") {
  allot_test::fake_api api;
  api.set(workloads, {{"metadata", {{"namespace", "a"}, {"name", "w"}}}});
  const object_name w{"a", "w"};
  const auto with = [](std::initializer_list<const char*> types) {
    json::array conditions;
    for (const char* t : types) conditions.push_back({{"type", t}, {"status", "True"}});
    return json::object{{"conditions", conditions}};
  };
  json::object both = with({"QuotaReserved", "Admitted"});
  both["admission"] = {{"clusterQueue", "q"}};
  CHECK(outcome_of(ask(api, patch_status_apply(workloads, w, both, "kueue"))));
  CHECK(outcome_of(ask(api, patch_status_apply(workloads, w, with({"Waits"}), "allot"))));
  CHECK(outcome_of(ask(api, patch_status_apply(workloads, w, with({"QuotaReserved"}), "kueue"))));
  CHECK(api.find(workloads, w)->at("status") == json::value(with({"QuotaReserved", "Waits"})));
  CHECK(outcome_of(ask(api, patch_status_apply(workloads, w, both, "kueue", "1"))).is ==
        outcome::kind::conflict);
}
