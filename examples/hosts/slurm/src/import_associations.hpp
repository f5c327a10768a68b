// SPDX-License-Identifier: BSL-1.0
//
// What `allot-slurm import-associations` makes of Slurm's tree of accounts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace allot_slurm {

/// The command whose output is read.
inline constexpr const char* associations_command =
    "sacctmgr -nP show assoc "
    "format=cluster,account,user,partition,parentname,fairshare,grptres,grpjobs,maxtres,maxjobs";

struct imported_quotas {
  /// A configuration: an account is a quota, its GrpTRES=gres/gpu the nominal, its fairshare the weight.
  std::string config{};
  /// What it does not contain, and what is to be done by hand, a line each.
  std::vector<std::string> notes{};
  /// Why there is no configuration.
  std::string problem{};
};
/// Without a cluster there may be only one.
[[nodiscard]] imported_quotas import_associations(std::string_view text, std::string_view cluster);

}  // namespace allot_slurm
