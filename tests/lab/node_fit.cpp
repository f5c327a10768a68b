// SPDX-License-Identifier: BSL-1.0
#include "lab/import/node_fit.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace allot::lab;

namespace {

/// Whether a pod with that spec takes a node with those labels.
bool admits(const std::string& spec, const label_map& labels, const char* node = "n1") {
  errors found;
  const auto document = json_document::parse("f", spec, found);
  REQUIRE(document);
  const bool is_admitted = read_node_selection(document->root(), found).matches(labels, node);
  REQUIRE_MESSAGE(found.empty(), found.to_string());
  return is_admitted;
}

std::string required(const std::string& terms) {
  return R"({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [)" +
         terms + "]}}}}";
}

/// The same for one expression.
bool holds(const std::string& expression, const label_map& labels) {
  return admits(required(R"({"matchExpressions": [)" + expression + "]}"), labels);
}

bool tolerates(const node_toleration& t, const node_taint& taint) {
  return first_untolerated({taint}, {t}) == nullptr;
}

}  // namespace

TEST_CASE("node selectors: every label must be there") {
  CHECK(admits("{}", {}));
  CHECK(admits(R"({"nodeSelector": {"a": "1"}})", {{"a", "1"}, {"b", "2"}}));
  CHECK_FALSE(admits(R"({"nodeSelector": {"a": "1", "b": "1"}})", {{"a", "1"}, {"b", "2"}}));
  CHECK_FALSE(admits(R"({"nodeSelector": {"a": ""}})", {}));
}

TEST_CASE("node affinity: the operators") {
  CHECK(holds(R"({"key": "a", "operator": "In", "values": ["1", "2"]})", {{"a", "2"}}));
  CHECK_FALSE(holds(R"({"key": "a", "operator": "In", "values": ["1", "2"]})", {{"a", "3"}}));
  CHECK_FALSE(holds(R"({"key": "a", "operator": "In", "values": ["1", "2"]})", {}));
  CHECK_FALSE(holds(R"({"key": "a", "operator": "NotIn", "values": ["1", "2"]})", {{"a", "2"}}));
  CHECK(holds(R"({"key": "a", "operator": "NotIn", "values": ["1", "2"]})", {{"a", "3"}}));
  CHECK(holds(R"({"key": "a", "operator": "NotIn", "values": ["1", "2"]})", {}));
  CHECK(holds(R"({"key": "a", "operator": "Exists"})", {{"a", ""}}));
  CHECK_FALSE(holds(R"({"key": "a", "operator": "Exists"})", {}));
  CHECK_FALSE(holds(R"({"key": "a", "operator": "DoesNotExist"})", {{"a", ""}}));
  CHECK(holds(R"({"key": "a", "operator": "DoesNotExist", "values": []})", {}));
  CHECK(holds(R"({"key": "a", "operator": "Gt", "values": ["79"]})", {{"a", "80"}}));
  CHECK_FALSE(holds(R"({"key": "a", "operator": "Gt", "values": ["80"]})", {{"a", "80"}}));
  CHECK(holds(R"({"key": "a", "operator": "Lt", "values": ["0"]})", {{"a", "-1"}}));
  CHECK_FALSE(holds(R"({"key": "a", "operator": "Lt", "values": ["0"]})", {}));
  CHECK_FALSE(holds(R"({"key": "a", "operator": "Lt", "values": ["9"]})", {{"a", "3x"}}));
}

TEST_CASE("node affinity: what Kubernetes refuses matches nothing") {
  const label_map labels = {{"a", "5"}};
  CHECK_FALSE(holds(R"({"key": "a", "operator": "In", "values": []})", labels));
  CHECK_FALSE(holds(R"({"key": "b", "operator": "NotIn"})", labels));
  CHECK_FALSE(holds(R"({"key": "a", "operator": "Exists", "values": ["5"]})", labels));
  CHECK_FALSE(holds(R"({"key": "a", "operator": "Gt", "values": ["1", "2"]})", labels));
  CHECK_FALSE(holds(R"({"key": "a", "operator": "Gt", "values": ["one"]})", labels));
  CHECK_FALSE(holds(R"({"key": "a", "operator": "in", "values": ["5"]})", labels));
}

TEST_CASE("node affinity: terms are alternatives, what is in a term is not") {
  const std::string a = R"({"key": "a", "operator": "Exists"})";
  const std::string b = R"({"key": "b", "operator": "Exists"})";
  const std::string wrong = R"({"key": "b", "operator": "Exits"})";
  const std::string both = required(R"({"matchExpressions": [)" + a + ", " + b + "]}");
  const std::string either =
      required(R"({"matchExpressions": [)" + a + R"(]}, {"matchExpressions": [)" + b + "]}");
  CHECK_FALSE(admits(both, {{"a", ""}}));
  CHECK(admits(both, {{"a", ""}, {"b", ""}}));
  CHECK(admits(either, {{"b", ""}}));
  CHECK_FALSE(admits(either, {{"c", ""}}));
  // One that Kubernetes refuses does not spoil the others.
  CHECK(admits(required(R"({"matchExpressions": [)" + wrong + R"(]}, {"matchExpressions": [)" + a + "]}"),
               {{"a", ""}}));
  // No term, or an empty one, matches nothing.
  CHECK_FALSE(admits(required(""), {{"a", ""}}));
  CHECK_FALSE(admits(required("{}"), {{"a", ""}}));
  CHECK(admits(R"({"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
      {"weight": 1, "preference": {"matchExpressions": [{"key": "b", "operator": "Exists"}]}}]}}})",
               {}));
}

TEST_CASE("node affinity: fields are the node's name") {
  const auto named = [](const char* op, const char* name) {
    return required(std::string{R"({"matchFields": [{"key": "metadata.name", "operator": ")"} + op +
                    R"(", "values": [")" + name + R"("]}]})");
  };
  CHECK(admits(named("In", "n1"), {}));
  CHECK_FALSE(admits(named("In", "n2"), {}));
  CHECK_FALSE(admits(named("NotIn", "n1"), {}));
  CHECK(admits(named("NotIn", "n2"), {}));
  CHECK_FALSE(admits(named("Exists", "n1"), {}));
  CHECK(admits(named("In", "n2"), {}, ""));
}

TEST_CASE("tolerations: key, value and effect") {
  const node_taint taint{"gpu", "a100", "NoSchedule"};
  CHECK(tolerates({"gpu", "", "a100", ""}, taint));
  CHECK(tolerates({"gpu", "Equal", "a100", "NoSchedule"}, taint));
  CHECK_FALSE(tolerates({"gpu", "Equal", "h100", ""}, taint));
  CHECK_FALSE(tolerates({"gpu", "Equal", "a100", "NoExecute"}, taint));
  CHECK(tolerates({"gpu", "Exists", "", ""}, taint));
  CHECK_FALSE(tolerates({"cpu", "Exists", "", ""}, taint));
  CHECK(tolerates({"", "Exists", "", ""}, taint));
  CHECK_FALSE(tolerates({"", "Exists", "", "NoExecute"}, taint));
  CHECK_FALSE(tolerates({"gpu", "exists", "", ""}, taint));
  CHECK(tolerates({"level", "Gt", "5", ""}, {"level", "6", "NoExecute"}));
  CHECK_FALSE(tolerates({"level", "Lt", "5", ""}, {"level", "5", "NoExecute"}));
  CHECK_FALSE(tolerates({"level", "Lt", "5", ""}, {"level", "x", "NoExecute"}));
}

TEST_CASE("taints: those that only discourage keep no pod away, each other must be tolerated") {
  const allot::vector<node_taint> taints = {
      {"soft", "", "PreferNoSchedule"}, {"gpu", "", "NoSchedule"}, {"sick", "yes", "NoExecute"}};
  CHECK(first_untolerated({taints[0]}, {}) == nullptr);
  REQUIRE(first_untolerated(taints, {}) != nullptr);
  CHECK(first_untolerated(taints, {})->shown() == "gpu:NoSchedule");
  const auto* left = first_untolerated(taints, {{"gpu", "Exists", "", ""}});
  REQUIRE(left != nullptr);
  CHECK(left->shown() == "sick=yes:NoExecute");
  CHECK(first_untolerated(taints, {{"gpu", "Exists", "", ""}, {"sick", "Equal", "yes", ""}}) == nullptr);
}
