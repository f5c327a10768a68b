// SPDX-License-Identifier: BSL-1.0
// What links allot::graph and allot::sim can include.
#include <allot/gpu/inventory.hpp>
#include <allot/quota/builder.hpp>
#include <allot/quota/graph.hpp>
#include <allot/sim/simulator.hpp>

#include <boost/graph/topological_sort.hpp>

#include <iterator>
#include <vector>

int main() {
  const auto tree = allot::build_quota_tree<1>({{.name = "lab"}, {.name = "team", .parent = "lab"}});
  std::vector<allot::quota_id> order;
  boost::topological_sort(tree.value(), std::back_inserter(order));
  return order.size() == 2 ? 0 : 1;
}
