// SPDX-License-Identifier: BSL-1.0
//
// Where pods may stand that ask for a topology: the Nodes of flavors that have one as machines of the
// governor, what other pods use there, what Workloads ask of them, and the places that they are assigned.
#pragma once

#include "governor/src/host.hpp"

#include "lab/import/kueue_cluster.hpp"
#include "lab/import/node_fit.hpp"

#include <boost/json/array.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace allot_kueue {

class topology {
 public:
  using names = std::set<std::string, std::less<>>;
  /// Objects of a kind as texts, by name.
  using texts =
      std::function<void(const std::function<void(const std::string& name, const std::string& text)>&)>;

  // What is configured.

  /// Of these flavors those that have a topology, from now on. Whether that has changed anything.
  bool configure(const names& flavors, const texts& all_flavors, const texts& all_topologies);
  /// Whether there are any: without, nothing below is of use.
  [[nodiscard]] bool is_needed() const noexcept { return !flavors_.empty(); }
  /// The levels above the nodes, for the governor.
  [[nodiscard]] std::vector<std::string> levels() const;

  // Nodes and pods.

  void set_node(const std::string& name, const std::string& text);
  void remove_node(const std::string& name);
  void set_pod(const std::string& name, const std::string& text);
  void remove_pod(const std::string& name);
  void forget_all();
  /// Flavors and nodes that are left out, and why.
  [[nodiscard]] const std::vector<std::string>& notes() const noexcept { return notes_; }

  // What Workloads ask for, and have.

  /// Demands on nodes of Workloads that are gone count no more: those that are there ask again.
  void begin_demands();
  /// Whether machines have changed pools: then all that was asked must be asked again.
  [[nodiscard]] bool sort_into_pools();
  /// Adds what a Workload that is pending asks of nodes. Returns why it can't have it; empty if it can.
  /// `first` is what it gets of the first flavors.
  [[nodiscard]] std::string ask(allot_governor::facts& to, const allot::lab::kueue_reading& of,
                                std::span<const allot::lab::kueue_assignment> first);
  /// Whether pods of such a Workload are placed on nodes.
  [[nodiscard]] static bool places(const allot_governor::facts& f) noexcept { return f.pods.pools != 1; }
  /// The same of one that holds quota, and where its pods stand.
  void stand(allot_governor::facts& to, std::vector<allot_governor::node_share>& where,
             const std::string& name, const allot::lab::kueue_reading& of,
             const boost::json::array& assignments);
  /// Whether pods of a Workload are still where it had its place.
  [[nodiscard]] bool has_pods(const std::string& name) const;
  /// A Workload has no place.
  void leave(const std::string& name);
  /// Writes where its pods are to stand into `assignments`, its podSetAssignments. False if it can't be.
  [[nodiscard]] bool assign(boost::json::array& assignments, const allot_governor::facts& asked,
                            const allot_governor::decision::admission& a) const;

  // For the governor.

  /// As of the last `sort_into_pools`.
  [[nodiscard]] const std::vector<allot_governor::machine_report>& machines() const noexcept {
    return machines_;
  }
  /// What pods use that stand on no place of their Workload, as jobs that are not governed: those of which
  /// that has changed.
  void tell_usage(allot_governor::changes& to);
  /// Reports all of it the next time, to a new governor.
  void tell_all_usage() {
    told_.clear();
    is_usage_known_ = false;
  }
  /// Reports it again the next time: it may have had no room beside a job that was thought to be there.
  void tell_usage_again() {
    ++tellings_;
    is_usage_known_ = false;
  }

 private:
  /// What is used of a node.
  struct amounts {
    std::uint32_t gpus = 0;
    std::int64_t cpu_milli = 0;
    std::int64_t memory_mib = 0;

    void add(const amounts& other, std::int64_t times = 1);
    [[nodiscard]] bool is_none() const noexcept { return *this == amounts{}; }
    [[nodiscard]] amounts at_most(const amounts& most) const;
    [[nodiscard]] amounts without(const amounts& some) const;
    [[nodiscard]] std::string text() const;
    friend bool operator==(const amounts&, const amounts&) = default;
  };
  struct flavor {
    allot::lab::label_map labels{};
    allot::vector<allot::lab::node_toleration> tolerations{};
    /// Why it can't be had.
    std::string problem{};
  };
  struct node {
    allot::lab::label_map labels{};
    allot::vector<allot::lab::node_taint> taints{};
    amounts has{};
    std::uint32_t pod_slots = 0;
    /// "nvidia.com/gpu"; empty: it has none.
    std::string device{};
    /// Why no pod may start there.
    std::string closed{};
    /// Why it is no machine.
    std::string problem{};
  };
  struct pod {
    std::string node;
    /// Whose it is, or empty.
    std::string workload;
    amounts uses{};
  };
  /// What pods ask of nodes besides amounts.
  struct demand {
    allot::lab::node_selection selection{};
    allot::vector<allot::lab::node_toleration> tolerations{};
    std::string device{};

    friend auto operator<=>(const demand&, const demand&) = default;
  };
  /// What a pod of a set needs; or why that can't be counted.
  struct need {
    amounts each{};
    demand of{};
    std::string problem{};
  };

  struct set_answer {
    bool is_placed = false;
    std::string why_not{};
  };

  [[nodiscard]] static need need_of(const allot::lab::kueue_pod_set& s);
  [[nodiscard]] static amounts amounts_of(const allot::lab::resource_list& request);
  [[nodiscard]] std::uint8_t level(std::string_view label) const;
  [[nodiscard]] bool admits(const node& n, const flavor& f, const demand& d) const;
  /// The number of a demand; none if there would be too many pools.
  [[nodiscard]] std::optional<std::size_t> number_of(const demand& d);
  [[nodiscard]] std::uint64_t pools(const std::string& flavor_name, std::size_t of_demand) const;
  /// Whether there are not too many pools.
  bool sort();
  [[nodiscard]] static allot::gpu::pod_request request_of(const amounts& each);
  static void make_set(allot_governor::facts& f);
  static void clear_needs(allot_governor::facts& f);
  static void send_elsewhere(allot_governor::facts& f);
  [[nodiscard]] set_answer ask_for_set(allot::lab::pod_set_entry& to, const allot::lab::kueue_pod_set& s,
                                       const allot::lab::kueue_assignment& first);
  [[nodiscard]] std::string ask_for_levels(allot::gpu::pod_set& to,
                                           const allot::lab::kueue_topology_request& asked) const;

  std::map<std::string, flavor, std::less<>> flavors_;
  /// From coarse to fine, the last is that of the nodes.
  std::vector<std::string> labels_;
  std::string configured_;
  std::map<std::string, node, std::less<>> nodes_;
  /// By the label that the lowest level is.
  std::map<std::string, std::string, std::less<>> node_named_;
  std::map<std::string, pod, std::less<>> pods_;
  std::map<std::string, std::map<std::string, amounts, std::less<>>, std::less<>> places_;
  std::vector<demand> demands_;
  /// How many of them the pools were last made for.
  std::size_t demands_sorted_ = 0;
  /// By pool: for which flavor and demand it is.
  std::vector<std::set<std::pair<std::string, std::size_t>>> pools_;
  bool is_sorted_ = false;
  bool must_ask_again_ = false;
  std::vector<allot_governor::machine_report> machines_;
  std::vector<std::string> notes_;
  std::map<std::string, std::string> told_;
  std::uint64_t tellings_ = 0;
  bool is_usage_known_ = false;
};

}  // namespace allot_kueue
