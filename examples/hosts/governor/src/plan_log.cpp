// SPDX-License-Identifier: BSL-1.0
#include "governor/src/plan_log.hpp"

#include "governor/src/resource_words.hpp"

#include <cstddef>
#include <utility>

namespace allot_governor {

std::string names_of(const std::vector<node_share>& where) {
  std::string list;
  for (const node_share& s : where) list.append(list.empty() ? "" : ",").append(s.node);
  return list;
}

std::string borrowed_text(const amounts& borrows, const allot::lab::quotas_file& quotas) {
  std::string text;
  for (std::size_t d = 0; d < quotas.resources.size(); ++d) {
    if (borrows[d] == allot::quantity{}) continue;
    text.append(text.empty() ? "" : ", ").append(to_string(borrows[d])).append(1, ' ');
    text.append(shown_resource(quotas.resources[d]));
  }
  return text;
}

void log_only(const decision& d, std::string_view evict, decision_log& log, std::set<job_name>& told) {
  std::set<job_name> now;
  const auto is_new = [&](const job_name& name) {
    now.insert(name);
    return told.count(name) == 0;
  };
  for (const auto& e : d.evictions) {
    if (is_new(e.key)) log(evict, {{"job", e.key}, {"would", "yes"}, {"why", e.text}});
  }
  for (const auto& a : d.admissions) {
    if (is_new(a.key)) log("release", {{"job", a.key}, {"would", "yes"}, {"nodes", names_of(a.where)}});
  }
  for (const auto& n : d.nominations) {
    if (is_new(n.key)) log("reserve", {{"job", n.key}, {"would", "yes"}});
  }
  if (!d.empty()) told = std::move(now);
}

void log_nomination(const decision::nomination& n, const std::string& user, decision_log& log) {
  std::string victims;
  for (const job_name& v : n.victims) victims.append(victims.empty() ? "" : ",").append(v);
  log("reserve", {{"job", n.key}, {"user", user}, {"waits_for", victims}});
}

void log_reservation(const job_name& job, const std::string& user, const allot::reservation& r,
                     allot::instant& told, decision_log& log) {
  if (std::exchange(told, r.first_start) == r.first_start) return;
  const bool gathers = r.gathers_since.has_value();
  log(gathers ? "gather" : "reserve",
      {{"job", job}, {"user", user}, {gathers ? "until" : "start", time_text(r.first_start)}});
}

}  // namespace allot_governor
