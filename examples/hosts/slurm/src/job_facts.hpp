// SPDX-License-Identifier: BSL-1.0
//
// What a job asks for, as the scheduler has it: which quota pays how much, and which nodes will do.
#pragma once

#include "config.hpp"
#include "request.hpp"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace allot_slurm {

/// "its component 2", as a reason begins.
[[nodiscard]] std::string component_text(std::size_t number);

class job_facts {
 public:
  /// The groups of a job's user, which are its roles; empty: none.
  using groups_of = std::function<std::vector<std::string>(const job&)>;

  /// Of a configuration that stays where it is.
  job_facts(const config& c, groups_of groups) : config_(c), groups_(std::move(groups)) {}

  /// From now on these are the nodes, below so many levels of the network.
  void take(std::vector<node> nodes, std::size_t levels);
  [[nodiscard]] const std::vector<node>& nodes() const noexcept { return nodes_; }
  [[nodiscard]] const std::map<std::string, node_reservation>& reservations() const noexcept {
    return reservations_;
  }

  /// None, and why: it may not run. With `ever`, as if no reservations kept nodes from it.
  [[nodiscard]] std::optional<facts> of(const job& j, milliseconds now, std::string& problem,
                                        bool ever = false) const;
  /// What a component needs; `request` grows by what its quota is charged for that.
  [[nodiscard]] std::optional<need> need_of(const job& part, amounts& request, std::string& problem) const;
  /// Why no node of its partition could run it, even empty.
  [[nodiscard]] std::string why_no_node(const job& part) const;
  /// When the reservation that it names begins, if that is to come; 0 if it names none, or one that nobody
  /// knows.
  [[nodiscard]] milliseconds reservation_begins_at(const job& j, milliseconds now) const;
  /// When the next reservation begins to rule out nodes for it; without_end if none will.
  [[nodiscard]] milliseconds ruled_out_at(const job& j, milliseconds now) const;
  /// Whether by Slurm's count there are nodes with enough free GPUs for it, without those that are closed.
  [[nodiscard]] bool nodes_have_room(const job& j, const facts& f, const std::set<std::string>& closed) const;

 private:
  [[nodiscard]] bool take_components(const job& j, milliseconds now, bool ever, facts& f,
                                     std::string& problem) const;
  /// The nodes of a partition that satisfy a constraint and that `admit` does not rule out, as pools; 0:
  /// there are none. None: the constraint can't be read.
  [[nodiscard]] std::optional<std::uint64_t> pools(
      std::string_view partition, std::string_view constraint,
      const std::function<bool(const node& like)>& admit = {}) const;
  [[nodiscard]] std::optional<allot::gpu::pod_request> pods_of(const job& part, milliseconds now, bool ever,
                                                               amounts& request, std::string& problem) const;

  const config& config_;
  groups_of groups_;
  std::vector<node> nodes_{};
  /// In the order in which the nodes name them: a node of each pool, and the types of their GPUs.
  std::vector<node> pool_like_{};
  std::vector<std::string> gpu_types_{};
  std::size_t levels_ = 0;
  /// What the largest node has of each, of all and by partition.
  largest_node largest_{};
  std::map<std::string, largest_node> largest_in_{};
  std::map<std::string, node_reservation> reservations_{};
};

}  // namespace allot_slurm
