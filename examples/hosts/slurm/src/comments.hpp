// SPDX-License-Identifier: BSL-1.0
//
// What a job's comments say: to its users, and to the next governor.
#pragma once

#include "cluster.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace allot_slurm {

/// After the mark: the job is being taken back, and why.
inline constexpr std::string_view yields = "yields: ";
/// So begins the admin comment of a job that an operator has started by force.
inline constexpr std::string_view forced_mark = "allot: started by force";

/// The nodes in a job's comment that the governor has excluded for it, and the list of excluded nodes without
/// them.
[[nodiscard]] std::string avoided_nodes(const job& j);
[[nodiscard]] std::string own_exclusions(const job& j);
/// The nodes that a job requires, as a list, if its comment says that the governor has pinned it to them; and
/// those that its user requires.
[[nodiscard]] std::string pinned_nodes(const job& j);
[[nodiscard]] std::string own_requirements(const job& j);
/// Where a job's comment says that it was admitted: "allot: admitted on n1:8 n2:4; borrows 8 gpu".
[[nodiscard]] std::vector<node_share> places_in(std::string_view comment);
/// Why a job waits, as its admin comment says it, without what only governors read.
[[nodiscard]] std::string told_reason(const job& j);
[[nodiscard]] bool was_admitted(const job& j);
[[nodiscard]] bool was_told_to_yield(const job& j);

/// What has to be said so that a job's comments say `text`, and `for_user` where its user has none of his
/// own. The nodes that a pending job avoids are those of its comment: both change in one call, so that any
/// governor can tell them from those that its user excludes.
[[nodiscard]] comments comments_for(const job& j, const std::string& text, const std::string& for_user,
                                    const std::string& avoid = {});
/// Slurm has been told that; the next poll will say so.
void note(job& part, const comments& said);

}  // namespace allot_slurm
