// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace allot_governor {

/// A resource as people read it behind an amount: "gpu", and "MiB of memory" for "memory_mib".
[[nodiscard]] inline std::string shown_resource(std::string_view name) {
  using unit = std::pair<std::string_view, std::string_view>;
  for (const auto& [ending, word] : {unit{"_kb", "kB"}, unit{"_mib", "MiB"}, unit{"_gib", "GiB"}}) {
    if (!name.ends_with(ending)) continue;
    name.remove_suffix(ending.size());
    return std::string{word}.append(" of ").append(name);
  }
  return std::string{name};
}

}  // namespace allot_governor
