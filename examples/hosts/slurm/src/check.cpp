// SPDX-License-Identifier: BSL-1.0
#include "check.hpp"

#include "governor.hpp"
#include "log.hpp"
#include "request.hpp"

#include <algorithm>
#include <charconv>
#include <map>

namespace allot_slurm {

namespace {

[[nodiscard]] std::string listed(const std::vector<std::string>& all) {
  constexpr std::size_t most = 5;
  std::string text;
  for (std::size_t i = 0; i < all.size() && i < most; ++i)
    text.append(i == 0 ? "" : ", ").append(escaped(all[i]));
  if (all.size() > most) text += " and " + std::to_string(all.size() - most) + " more";
  return text;
}

[[nodiscard]] bool has_word(const std::string& list, std::string_view word) {
  return (',' + list + ',').find(',' + std::string{word} + ',') != std::string::npos;
}

/// The number of "name=number" in a list.
[[nodiscard]] std::optional<long> setting(const std::string& list, std::string_view name) {
  const std::size_t at = (',' + list).find(',' + std::string{name} + '=');
  if (at == std::string::npos) return std::nullopt;
  long n = 0;
  const char* const begin = list.data() + at + name.size() + 1;
  const auto [end, error] = std::from_chars(begin, list.data() + list.size(), n);
  return error == std::errc{} ? std::optional{n} : std::nullopt;
}

void check_slurm(const config& c, const cluster_settings& slurm, std::vector<std::string>& found) {
  for (const std::string& p : c.slurm.partitions) {
    if (std::find(slurm.partitions.begin(), slurm.partitions.end(), p) != slurm.partitions.end()) continue;
    found.push_back("there is no partition " + escaped(p) + ": /slurm/partitions names what is governed");
  }
  if (!has_word(slurm.job_submit_plugins, "lua")) {
    found.push_back(
        "JobSubmitPlugins has no lua: jobs are not held on submission, and start before they are admitted; "
        "install "
        "job_submit.lua beside slurm.conf");
  }
  if (!slurm.requeues) {
    found.push_back("JobRequeue is 0: jobs without --requeue are never preempted, and never stand on a loan");
  }
  if (slurm.priority_type.find("multifactor") != std::string::npos) {
    found.push_back("PriorityType is " + slurm.priority_type +
                    ": among released jobs Slurm's own priority decides again; priority/basic starts them as "
                    "they are released");
  }
  if (!setting(slurm.auth_info, "cred_expire")) {
    found.push_back(
        "AuthInfo has no cred_expire: a requeued job is delayed by two minutes, unless the governor releases "
        "it; set "
        "AuthInfo=cred_expire=5");
  }
  if (setting(slurm.scheduler_parameters, "batch_sched_delay").value_or(3) > 0) {
    found.push_back(
        "SchedulerParameters has no batch_sched_delay=0: released jobs start seconds later than they could");
  }
}

void check_jobs(const config& c, const changes& now, std::vector<std::string>& found) {
  std::map<std::string, std::vector<std::string>> without_quota;
  std::vector<std::string> not_held;
  std::vector<std::string> not_requeued;
  std::vector<std::string> uncountable;
  whole_node largest;
  for (const node& n : now.nodes.value_or(std::vector<node>{})) {
    largest.gpus = std::max<std::uint64_t>(largest.gpus, n.gpus);
    largest.cpus = std::max<std::uint64_t>(largest.cpus, n.cpus);
  }
  for (const job& j : now.jobs) {
    if (j.state == run_state::ended || !c.governs(j.partition)) continue;
    const std::string id = to_string(j.key);
    if (!c.quota_of(j.account)) without_quota[j.account].push_back(id);
    const bool is_admitted = j.admin_comment.starts_with(governor::mark);
    if (j.state == run_state::pending && !j.is_held && !is_admitted) not_held.push_back(id);
    if (!j.may_requeue) not_requeued.push_back(id);
    if (const auto need = read_need(j.request, largest); !need.value)
      uncountable.push_back(id + ": " + need.problem);
  }
  for (const auto& [account, jobs] : without_quota) {
    found.push_back("the account " + escaped(account) +
                    " has no quota, so its jobs wait for ever: " + listed(jobs));
  }
  if (!not_held.empty()) found.push_back("jobs that are not held can start unasked: " + listed(not_held));
  if (!not_requeued.empty()) {
    found.push_back("jobs that can't be requeued never stand on a loan: " + listed(not_requeued));
  }
  for (const std::string& u : uncountable) found.push_back("a job can't be counted: " + u);
}

void check_quotas(const config& c, const changes& now, std::vector<std::string>& found) {
  std::map<std::string, std::int64_t> gpus;
  std::int64_t all = 0;
  for (const node& n : now.nodes.value_or(std::vector<node>{})) {
    const bool is_governed = std::any_of(n.partitions.begin(), n.partitions.end(),
                                         [&](const std::string& p) { return c.governs(p); });
    if (!is_governed) continue;
    gpus[n.gpu_type] += n.gpus;
    all += n.gpus;
  }
  for (std::size_t d = 0; d < c.dimensions.size(); ++d) {
    if (c.dimensions[d].what != config::counted::gpus) continue;
    const std::int64_t there = c.dimensions[d].gpu_type.empty() ? all : gpus[c.dimensions[d].gpu_type];
    allot::quantity owned{};
    for (const auto& q : c.quotas.quotas) {
      // What an inclusive parent has contains what its children have.
      const bool counts = std::none_of(c.quotas.quotas.begin(), c.quotas.quotas.end(), [&](const auto& p) {
        return p.spec.inclusive && p.spec.name == q.spec.parent;
      });
      if (counts) owned += q.spec.nominal[d];
    }
    if (owned > allot::quantity::whole(there)) {
      found.push_back("the quotas own " + to_string(owned) + ' ' + c.quotas.resources[d] +
                      ", and the nodes have " + std::to_string(there) +
                      ": owners may wait for what is not there");
    }
  }
}

}  // namespace

std::vector<std::string> findings(const config& c, const cluster_settings& slurm, const changes& now) {
  std::vector<std::string> found;
  check_slurm(c, slurm, found);
  check_quotas(c, now, found);
  check_jobs(c, now, found);
  return found;
}

}  // namespace allot_slurm
