// SPDX-License-Identifier: BSL-1.0
#include "lab/replay/planned_nodes.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace gpu = allot::gpu;
namespace lab = allot::lab;

namespace {

/// The text for nodes with these names, of which those at the positions are meant.
[[nodiscard]] std::string told(const std::vector<std::string>& names,
                               const std::vector<std::size_t>& positions) {
  allot::vector<gpu::node_spec> specs;
  for (const std::string& name : names) {
    gpu::node_spec s;
    s.name = name;
    s.gpus = 1;
    specs.push_back(s);
  }
  std::vector<gpu::node_id> nodes;
  for (const std::size_t p : positions) nodes.emplace_back(p);
  return lab::text_of_nodes(gpu::build_cluster(std::move(specs)).value(), nodes);
}

}  // namespace

TEST_CASE("planned_nodes: names in a row are one") {
  const std::vector<std::string> dgx{"dgx-0", "dgx-1", "dgx-2", "dgx-3", "dgx-4"};
  CHECK(told(dgx, {}).empty());
  CHECK(told(dgx, {2}) == "dgx-2");
  CHECK(told(dgx, {3, 2}) == "dgx-2, dgx-3");
  CHECK(told(dgx, {4, 2, 3, 3}) == "dgx-2 to dgx-4");
  CHECK(told(dgx, {0, 2, 3, 4}) == "dgx-0, dgx-2 to dgx-4");
  const std::vector<std::string> others{"a",    "b",   "n8",  "n9",  "n10", "m11",
                                        "m012", "r08", "r09", "r10", "r-1", "r-2"};
  CHECK(told(others, {0, 1, 2, 3, 4, 5}) == "a, b, n8 to n10, m11");
  CHECK(told(others, {4, 5, 6, 7, 8, 9}) == "n10, m11, m012, r08 to r10");
  CHECK(told(others, {7, 9, 10, 11}) == "r08, r10, r-1, r-2");
  CHECK(told(others, {0, 2, 4, 6, 8, 10}) == "a, n8, n10, m012, r09, r-1");
  CHECK(told(others, {0, 2, 4, 6, 7, 9, 10}) == "a, n8, n10, m012, r08, r10 and 1 more");
}
