// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/gpu/cluster.hpp>
#include <allot/gpu/pod_request.hpp>
#include <allot/gpu/topology/topology.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace gpu {

/// Pods of a gang that belong together. A gang without sub-groups is one group.
struct gang_group {
  /// The number wanted, and the minimum.
  std::uint64_t pods = 1;
  /// The least that it runs with.
  std::uint64_t min_pods = 1;
  /// All in one domain of this level, within the gang's; none: anywhere in the gang's.
  std::optional<std::size_t> level = std::nullopt;

  friend bool operator==(const gang_group&, const gang_group&) = default;
};

/// Where a gang of equal pods may and should be placed. Levels are those of the topology, including
/// `node_level()`.
struct gang_request {
  /// The groups; a gang without sub-groups has one. Must outlive the request.
  std::span<const gang_group> groups;
  /// All must be in one domain of this level.
  std::optional<std::size_t> required = std::nullopt;
  /// If possible, all in one domain of this level, not coarser than the required one; else of the next
  /// coarser level with room. Nothing finer than the preferred level is sought.
  std::optional<std::size_t> preferred = std::nullopt;
  /// Nowhere but in this domain; none: anywhere.
  domain_id within{};
};

/// The number of pods of a group on a node.
struct gang_share {
  /// The node.
  node_id node;
  /// The index of the group in the request.
  std::uint32_t group = 0;
  /// How many of its pods.
  std::uint64_t pods = 0;

  friend bool operator==(const gang_share&, const gang_share&) = default;
};

/// Why a gang can't be placed.
enum class gang_obstacle : std::uint8_t {
  none,
  /// No groups, a group without pods or with a minimum of 0 or above its pods, a level that the topology does
  /// not have, or a preferred level coarser than the required one.
  invalid_request,
  /// The whole cluster has too little room.
  no_room,
  /// No domain of the required level has enough room.
  no_domain,
  /// Some domain has, but not for each group in one domain of its own level.
  groups,
  /// The search for such domains was abandoned before all were tried.
  not_proven,
};

/// For programs.
[[nodiscard]] constexpr std::string_view to_string(gang_obstacle o) noexcept {
  switch (o) {
    case gang_obstacle::none:
      return "none";
    case gang_obstacle::invalid_request:
      return "invalid_request";
    case gang_obstacle::no_room:
      return "no_room";
    case gang_obstacle::no_domain:
      return "no_domain";
    case gang_obstacle::groups:
      return "groups";
    case gang_obstacle::not_proven:
      return "not_proven";
  }
  return "";
}

/// Why a gang can't be placed, with the supporting numbers.
struct gang_shortage {
  /// What is lacking.
  gang_obstacle reason = gang_obstacle::none;
  /// The required level; nothing for the whole cluster.
  std::optional<std::size_t> level;
  /// The domain of that level with the most room, the lowest of several; none for the cluster or a node.
  domain_id best;
  /// If that level is the node level.
  node_id best_node;
  /// The number of pods that fit there, and the minimum of the gang.
  std::uint64_t room = 0;
  /// The minimum of the gang.
  std::uint64_t needed = 0;
  /// With `groups` and `not_proven`: a group that got no domain in the last attempt.
  std::uint32_t group = 0;

  /// The room missing there; 0 if room is not the problem.
  [[nodiscard]] std::uint64_t lacking() const noexcept { return needed > room ? needed - room : 0; }

  friend bool operator==(const gang_shortage&, const gang_shortage&) = default;
};

/// Where a gang is placed, or why it can't be.
struct gang_place {
  /// Whether there is a place.
  bool found = false;
  /// The finest level at which it is in one domain; nothing for the whole cluster.
  std::optional<std::size_t> level;
  /// None for the cluster or a node.
  domain_id domain;
  /// Of all groups.
  std::uint64_t pods = 0;
  /// By group, then in the order of the topology. Valid until the next plan.
  std::span<const gang_share> shares;
  /// If not, why.
  gang_shortage why;
};

/// The shortage as a sentence for users.
[[nodiscard]] inline std::string explain(const topology& t, const cluster& nodes, const gang_shortage& why) {
  const auto number = [](std::uint64_t pods) {
    return std::to_string(pods) + (pods == 1 ? " pod" : " pods");
  };
  const auto place = [&]() -> std::string {
    if (why.best) return std::string{t.level_name(t.level_of(why.best))} + ' ' + t.qualified_name(why.best);
    if (why.best_node) return "node " + nodes.name(why.best_node);
    return "the cluster";
  };
  std::string text;
  switch (why.reason) {
    case gang_obstacle::none:
      return "it has a place";
    case gang_obstacle::invalid_request:
      return "the request is not one that can be placed: every group needs a minimum from 1 to its pods, and "
             "levels that exist, the preferred one not coarser than the required one";
    case gang_obstacle::no_room:
      text = "the cluster has room for ";
      text += number(why.room);
      text += ", and at least ";
      text += number(why.needed);
      return text + " must start";
    case gang_obstacle::no_domain:
      text = "no ";
      text += t.level_name(*why.level);
      text += " has room for ";
      text += number(why.needed);
      if (!why.best && !why.best_node) return text + ": there is none";
      text += ": the best, ";
      text += place();
      text += ", has room for ";
      return text + std::to_string(why.room) + ", " + std::to_string(why.lacking()) + " fewer";
    case gang_obstacle::groups:
    case gang_obstacle::not_proven:
      text = place();
      text += " has room for ";
      text += number(why.room);
      text += ", but group ";
      text += std::to_string(why.group);
      text += why.reason == gang_obstacle::groups ? " gets no domain of its level beside the other groups"
                                                  : " got no domain of its level within the search's budget";
      return text;
  }
  return text;
}

}  // namespace gpu
}  // namespace v0
}  // namespace allot
