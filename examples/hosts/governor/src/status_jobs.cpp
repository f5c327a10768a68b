// SPDX-License-Identifier: BSL-1.0
// Some of the jobs, and one of them.
#include "governor/src/log.hpp"
#include "governor/src/snapshot_text.hpp"
#include "governor/src/status.hpp"

#include <algorithm>

namespace allot_governor {

namespace {

/// Whether a quota is that one, or below it.
[[nodiscard]] bool is_within(const snapshot& s, std::optional<std::size_t> quota, const std::string& name) {
  for (std::size_t depth = 0; quota && *quota < s.quotas.size() && depth <= s.quotas.size(); ++depth) {
    if (s.quotas[*quota].name == name) return true;
    quota = s.quotas[*quota].parent;
  }
  return false;
}

}  // namespace

void keep_only(snapshot& s, const job_filter& f) {
  std::erase_if(s.jobs, [&](const snapshot::job& j) {
    return (!f.quota.empty() && !is_within(s, j.quota, f.quota)) || (!f.user.empty() && j.user != f.user) ||
           (!f.account.empty() && j.account != f.account) ||
           (!f.state.empty() && job_phase_names[static_cast<std::size_t>(j.phase)] != f.state);
  });
  s.phases = {};
  for (const snapshot::job& j : s.jobs) ++s.phases[static_cast<std::size_t>(j.phase)];
}

std::string why_text(const snapshot& s, std::string_view id) {
  const auto at = std::find_if(s.jobs.begin(), s.jobs.end(), [&](const auto& j) { return j.id == id; });
  if (at == s.jobs.end()) return {};
  const snapshot::job& j = *at;
  std::string text;
  const auto line = [&](std::string_view what, const std::string& value) {
    if (value.empty()) return;
    text.append(what)
        .append(what.size() < 12 ? 13 - what.size() : 1, ' ')
        .append(shown_text(value, 1000))
        .append(1, '\n');
  };
  line("job", j.id + (j.name.empty() ? "" : ", " + j.name));
  line("user", j.user);
  line("account", j.account);
  line("quota", quota_name(s, j.quota));
  line("state", std::string{job_phase_names[static_cast<std::size_t>(j.phase)]} + " for " +
                    span_text(s.now - j.since));
  line("asks for", request_text(s, j));
  for (std::size_t c = 0; c < j.components.size(); ++c) {
    const auto& of = j.components[c];
    line("component " + std::to_string(c), amounts_text(s, of.request) + " on " + std::to_string(of.nodes) +
                                               (of.nodes == 1 ? " node" : " nodes"));
  }
  line("submitted", time_text(j.submitted));
  if (j.phase == job_phase::running) line("started", time_text(j.started));
  if (j.ends != 0) line("ends by", time_text(j.ends));
  if (j.before) line("before it", std::to_string(*j.before) + " in its quota");
  if (j.latest_start) line("starts by", time_text(*j.latest_start));
  line("why", j.phase == job_phase::released ? j.reason : reason_text(s, j));
  if (!j.beneficiary.empty()) line("makes room", "for " + j.beneficiary);
  line(std::string{s.words.host} + " says", j.host_reason);
  std::string nodes;
  for (const std::string& n : j.nodes) nodes.append(nodes.empty() ? "" : ", ").append(n);
  line("nodes", nodes);
  if (j.restarts != 0) line("restarts", std::to_string(j.restarts));
  if (!j.preemptible) line("preempted", "never: it can't be requeued");
  if (s.frozen) line("the governor", sentence(*s.frozen));
  line(s.words.comment, j.comment);
  return text;
}

}  // namespace allot_governor
