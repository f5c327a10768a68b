// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/quota/tree.hpp>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "tests/support/law_oracle.hpp"

namespace allot_test {

/// The ledger law as a flow network. Each quota's own pool flows in at the quota, up to its parent as far as
/// it lends, down as far as it borrows, and out where it is used. A usage is sound when all of it can flow.
/// One dimension; bounded nominal quotas, and no negative pool (no overcommitted quota).
class flow_oracle {
 public:
  explicit flow_oracle(const allot::quota_tree<1>& tree) : out_(tree.slots()), graph_(tree.slots() + 2) {
    const law_oracle<1> law{{tree.specs().begin(), tree.specs().end()}, tree.removed()};
    const auto bounded = [](big amount) {
      return static_cast<std::int64_t>(amount < big{endless} ? amount : big{endless});
    };
    for (const allot::quota_id x : tree.top_down()) {
      const std::size_t i = x.index();
      connect(source(), i, bounded(law.own_pool(i, 0)));
      out_[i] = connect(i, sink(), 0);
      if (!tree.parent(x)) continue;
      connect(i, tree.parent(x).index(), bounded(law.lend(i, 0)));
      connect(tree.parent(x).index(), i, bounded(law.borrow(i, 0)));
    }
  }

  /// The largest part of these amounts (one per quota, in thousandths) that can be used at the same time.
  [[nodiscard]] std::int64_t most_of(const std::vector<std::int64_t>& wanted) {
    const auto capacity = boost::get(boost::edge_capacity, graph_);
    for (std::size_t i = 0; i < out_.size(); ++i) boost::put(capacity, out_[i], wanted[i]);
    return boost::push_relabel_max_flow(graph_, source(), sink());
  }
  [[nodiscard]] bool is_sound(const std::vector<std::int64_t>& used) {
    return most_of(used) == std::accumulate(used.begin(), used.end(), std::int64_t{0});
  }

 private:
  using plain = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
  using edge = plain::edge_descriptor;
  using edge_properties = boost::property<boost::edge_capacity_t, std::int64_t,
                                          boost::property<boost::edge_residual_capacity_t, std::int64_t,
                                                          boost::property<boost::edge_reverse_t, edge>>>;
  using network =
      boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, edge_properties>;

  static constexpr std::int64_t endless = 1'000'000'000'000;

  [[nodiscard]] std::size_t source() const { return out_.size(); }
  [[nodiscard]] std::size_t sink() const { return out_.size() + 1; }

  edge connect(std::size_t from, std::size_t to, std::int64_t capacity) {
    const edge there = boost::add_edge(from, to, graph_).first;
    const edge back = boost::add_edge(to, from, graph_).first;
    boost::put(boost::edge_capacity, graph_, there, capacity);
    boost::put(boost::edge_capacity, graph_, back, 0);
    boost::put(boost::edge_reverse, graph_, there, back);
    boost::put(boost::edge_reverse, graph_, back, there);
    return there;
  }

  std::vector<edge> out_;
  network graph_;
};

}  // namespace allot_test
