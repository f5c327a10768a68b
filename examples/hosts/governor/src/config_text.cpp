// SPDX-License-Identifier: BSL-1.0
#include "governor/src/config_text.hpp"

#include "governor/src/log.hpp"

#include <algorithm>
#include <cstddef>

namespace allot_governor {

std::string changes_between(const allot::lab::quotas_file& before, const allot::lab::quotas_file& after) {
  std::string text;
  const auto add = [&](const std::string& what) { text.append(text.empty() ? "" : "; ").append(what); };
  if (before.policy_name != after.policy_name)
    add("policy " + before.policy_name + " -> " + after.policy_name);
  const auto find = [](const allot::lab::quotas_file& in, const std::string& name) {
    const auto& all = in.quotas;
    const auto at = std::find_if(all.begin(), all.end(), [&](const auto& q) { return q.spec.name == name; });
    return at == all.end() ? nullptr : &*at;
  };
  for (const auto& q : before.quotas) {
    if (find(after, q.spec.name) == nullptr) add(q.spec.name + " is gone");
  }
  const bool same_resources = before.resources == after.resources;
  if (!same_resources) add("other resources");
  for (const auto& q : after.quotas) {
    const auto* const old = find(before, q.spec.name);
    if (old == nullptr) {
      add(q.spec.name + " is new");
      continue;
    }
    for (std::size_t d = 0; same_resources && d < after.resources.size(); ++d) {
      if (old->spec.nominal[d] == q.spec.nominal[d]) continue;
      add(q.spec.name + ' ' + after.resources[d] + ' ' + to_string(old->spec.nominal[d]) + " -> " +
          to_string(q.spec.nominal[d]));
    }
  }
  return text;
}

std::string refused_text(const std::vector<std::string>& problems, milliseconds at) {
  std::string text = "the configuration was refused at " + time_text(at) + ", the one before is in force";
  if (!problems.empty()) text += ": " + problems.front();
  if (problems.size() > 1) text += " (and " + std::to_string(problems.size() - 1) + " more)";
  return text;
}

}  // namespace allot_governor
