// SPDX-License-Identifier: BSL-1.0
#include "check.hpp"

#include "comments.hpp"
#include "governor/src/log.hpp"
#include "request.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

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
    found.push_back(
        "PriorityType is " + slurm.priority_type +
        ": among released jobs Slurm's own priority decides again; priority/basic starts them as "
        "they are released. When a job is released its quota decides, not what sprio and sshare show");
  }
  if (c.slurm.grace_ms > 0) {
    found.push_back(
        "with a grace_s a job that ends by the signal has failed until the next poll: jobs that depend on it "
        "may act on that; without it Slurm's KillWait, " +
        std::to_string(slurm.kill_wait_s) + " s, is the grace, and it is never seen to have failed");
  }
  if (!setting(slurm.auth_info, "cred_expire")) {
    found.push_back(
        "AuthInfo has no cred_expire: a requeued job is delayed by two minutes, unless the governor releases "
        "it; set "
        "AuthInfo=cred_expire=5");
  }
  if (slurm.min_job_age_s != 0 && slurm.min_job_age_s < 300) {
    found.push_back(
        "MinJobAge is " + std::to_string(slurm.min_job_age_s) +
        ": a job that dies of its warning is forgotten, and lost, if the governor is away for longer; "
        "set MinJobAge=300 or more");
  }
  for (const char* const kind : {"shard", "mps"}) {
    if (!has_word(slurm.gres_types, kind)) continue;
    found.push_back("GresTypes has " + std::string{kind} + ": jobs that ask for parts of GPUs are refused");
  }
  if (setting(slurm.scheduler_parameters, "batch_sched_delay").value_or(3) > 0) {
    found.push_back(
        "SchedulerParameters has no batch_sched_delay=0: released jobs start seconds later than they could");
  }
  const std::int64_t interval = setting(slurm.scheduler_parameters, "bf_interval").value_or(30);
  if (interval * 1000 >= c.slurm.start_ms) {
    found.push_back("start_s is " + std::to_string(c.slurm.start_ms / 1000) +
                    ", and Slurm looks for heterogeneous jobs to start every " + std::to_string(interval) +
                    " s (bf_interval in SchedulerParameters): they could be held again before it has looked; "
                    "make start_s larger, or bf_interval smaller");
  }
}

/// The table of governed partitions in job_submit.lua: "{main = true}". Empty if it can't be found.
[[nodiscard]] std::string governed_in(const std::string& lua) {
  constexpr std::string_view name = "\nlocal governed = ";
  const std::size_t at = ('\n' + lua).find(name);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + name.size() - 1;
  const std::size_t end = lua[begin] == '{' ? lua.find('}', begin) + 1 : lua.find('\n', begin);
  return lua.substr(begin, end - begin);
}
[[nodiscard]] bool holds(const std::string& governed, const std::string& partition) {
  for (std::size_t at = governed.find(partition); at != std::string::npos;
       at = governed.find(partition, at + 1)) {
    const auto is_part = [&](std::size_t i) {
      return i < governed.size() && (std::isalnum(static_cast<unsigned char>(governed[i])) != 0 ||
                                     governed[i] == '_' || governed[i] == '-');
    };
    const std::size_t end = at + partition.size();
    if (is_part(at - 1) || is_part(end)) continue;
    const std::size_t value = governed.find_first_not_of(" \"']=", end);
    return governed.compare(std::min(value, governed.size()), 4, "true") == 0;
  }
  return false;
}

/// What the plugin holds nobody releases, unless it is governed; and what is governed starts unasked unless
/// the plugin holds it.
void check_plugin(const config& c, const cluster_settings& slurm, std::vector<std::string>& found) {
  if (!has_word(slurm.job_submit_plugins, "lua") || !slurm.job_submit_lua) return;
  const std::string governed = governed_in(*slurm.job_submit_lua);
  if (governed.empty()) {
    found.push_back("job_submit.lua is not that of allot-slurm: whether it holds jobs is not known");
    return;
  }
  const bool all = governed.starts_with("nil");
  for (const std::string& p : slurm.partitions) {
    const bool is_held = all || holds(governed, p);
    if (is_held && !c.governs(p)) {
      found.push_back("job_submit.lua holds the jobs of the partition " + escaped(p) +
                      ", which is not in /slurm/partitions: they wait for ever; its line \"governed\" is " +
                      escaped(governed));
    } else if (!is_held && c.governs(p)) {
      found.push_back("job_submit.lua does not hold the jobs of the partition " + escaped(p) +
                      ": they start before they are admitted; its line \"governed\" is " + escaped(governed));
    }
  }
}

void check_partitions(const config& c, const cluster_changes& now, std::vector<std::string>& found) {
  std::map<std::string, std::vector<std::string>> shared;
  for (const node& n : now.nodes.value_or(std::vector<node>{})) {
    const auto is_governed = [&](const std::string& p) { return c.governs(p); };
    if (!std::any_of(n.partitions.begin(), n.partitions.end(), is_governed)) continue;
    for (const std::string& p : n.partitions) {
      if (!is_governed(p)) shared[p].push_back(n.name);
    }
  }
  for (const auto& [partition, nodes] : shared) {
    found.push_back("the partition " + escaped(partition) +
                    " is not governed, and has nodes of those that are: its jobs take what quotas own; " +
                    listed(nodes));
  }
}

void check_accounting(const config& c, const cluster_settings& slurm, const cluster_changes& now,
                      std::vector<std::string>& found) {
  std::vector<std::string> without;
  for (const std::string& a : slurm.accounts) {
    if (!c.quota_of(a)) without.push_back(a);
  }
  if (!without.empty()) {
    found.push_back("accounts of sacctmgr without a quota, whose jobs would wait for ever: " +
                    listed(without));
  }
  if (!now.limited) return;
  std::vector<std::string> limiting;
  for (const limits::quality& q : now.limited->qualities) {
    if (!q.group.is_none() || !q.per_user.is_none() || !q.per_account.is_none() || !q.per_job.empty())
      limiting.push_back("QOS " + q.name);
  }
  for (const limits::association& a : now.limited->associations) {
    if (a.user.empty() && !a.group.is_none()) limiting.push_back("account " + a.account);
  }
  if (limiting.empty()) return;
  found.push_back("Slurm's own limits go before quotas, and nobody borrows beyond them: " + listed(limiting));
}

void check_files(const config& c, std::vector<std::string>& found) {
  const std::pair<const char*, const std::string&> files[] = {
      {"page", c.slurm.page}, {"metrics", c.slurm.metrics}, {"events", c.slurm.events}};
  for (const auto& [name, file] : files) {
    if (file.empty()) continue;
    const std::filesystem::path parent = std::filesystem::path{file}.parent_path();
    const std::string directory = parent.empty() ? "." : parent.string();
    // The governor makes its own.
    std::error_code ignored;
    const bool is_own =
        parent.lexically_normal() == std::filesystem::path{c.slurm.directory}.lexically_normal();
    if (!std::filesystem::is_directory(parent.empty() ? "." : parent, ignored)) {
      if (!is_own)
        found.push_back("/slurm/" + std::string{name} + ": there is no directory " + escaped(directory));
    } else if (access(directory.c_str(), W_OK) != 0) {
      found.push_back("/slurm/" + std::string{name} + ": no right to write into " + escaped(directory));
    }
  }
}

void check_jobs(const config& c, const cluster_changes& now, std::vector<std::string>& found) {
  std::map<std::string, std::vector<std::string>> without_quota;
  std::vector<std::string> not_held;
  std::vector<std::string> not_requeued;
  std::vector<std::string> uncountable;
  largest_node largest;
  for (const node& n : now.nodes.value_or(std::vector<node>{})) largest.look_at(n);
  for (const job& j : now.jobs) {
    if (j.state == run_state::ended || !c.governs(j.partition)) continue;
    const std::string id = to_string(j.key);
    if (!c.quota_of(j.account)) without_quota[j.account].push_back(id);
    const bool is_admitted = j.admin_comment.starts_with(comment_mark) && j.admin_comment != not_explained;
    if (j.state == run_state::pending && !j.is_held && !is_admitted) not_held.push_back(id);
    if (!j.may_requeue) not_requeued.push_back(id);
    for (const job& part : parts_of(j)) {
      const auto need = read_need(part.request, largest);
      if (!need.value) uncountable.push_back(slurm_name(part) + ": " + need.problem);
    }
  }
  for (const auto& [account, jobs] : without_quota) {
    found.push_back("the account " + escaped(account) +
                    " has no quota, so what it submits waits for ever: " + listed(jobs));
  }
  if (!not_held.empty()) found.push_back("jobs that are not held can start unasked: " + listed(not_held));
  if (!not_requeued.empty()) {
    found.push_back("jobs that can't be requeued never stand on a loan: " + listed(not_requeued));
  }
  for (const std::string& u : uncountable) found.push_back("a job can't be counted: " + u);
}

void check_quotas(const config& c, const cluster_changes& now, std::vector<std::string>& found) {
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

std::vector<std::string> findings(const config& c, const cluster_settings& slurm,
                                  const cluster_changes& now) {
  std::vector<std::string> found;
  check_slurm(c, slurm, found);
  check_plugin(c, slurm, found);
  check_partitions(c, now, found);
  check_accounting(c, slurm, now, found);
  check_files(c, found);
  check_quotas(c, now, found);
  check_jobs(c, now, found);
  return found;
}

}  // namespace allot_slurm
