// SPDX-License-Identifier: BSL-1.0
#include "limit_usage.hpp"

#include "request.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

namespace allot_slurm {

namespace {

/// What Slurm calls it when a limit keeps a job pending: on CPUs, memory, nodes, anything else, and jobs.
using reasons = std::array<std::string_view, 5>;
constexpr reasons association_group{"AssocGrpCpuLimit", "AssocGrpMemLimit", "AssocGrpNodeLimit",
                                    "AssocGrpGRES", "AssocGrpJobsLimit"};
constexpr reasons association_job{"AssocMaxCpuPerJobLimit", "AssocMaxMemPerJob", "AssocMaxNodePerJobLimit",
                                  "AssocMaxGRESPerJob", "AssocMaxJobsLimit"};
constexpr reasons quality_group{"QOSGrpCpuLimit", "QOSGrpMemLimit", "QOSGrpNodeLimit", "QOSGrpGRES",
                                "QOSGrpJobsLimit"};
constexpr reasons quality_user{"QOSMaxCpuPerUserLimit", "QOSMaxMemoryPerUser", "QOSMaxNodePerUserLimit",
                               "QOSMaxGRESPerUser", "QOSMaxJobsPerUserLimit"};
constexpr reasons quality_account{"MaxCpuPerAccount", "MaxMemoryPerAccount", "MaxNodePerAccount",
                                  "MaxGRESPerAccount", "MaxJobsPerAccount"};
constexpr reasons quality_job{"QOSMaxCpuPerJobLimit", "QOSMaxMemoryPerJob", "QOSMaxNodePerJobLimit",
                              "QOSMaxGRESPerJob", ""};
constexpr std::size_t of_jobs = 4;

[[nodiscard]] std::size_t index_of(std::string_view resource) {
  constexpr std::array<std::string_view, 3> known{"cpu", "mem", "node"};
  return static_cast<std::size_t>(std::find(known.begin(), known.end(), resource) - known.begin());
}

[[nodiscard]] std::string several(std::uint64_t n, const std::string& what) {
  return std::to_string(n) + ' ' + what + (n == 1 ? "" : "s");
}

[[nodiscard]] std::string amount_text(std::uint64_t amount, const std::string& resource) {
  if (resource == "cpu") return several(amount, "CPU");
  if (resource == "node") return several(amount, "node");
  return std::to_string(amount) + (resource == "mem" ? " MiB of memory" : ' ' + resource);
}

[[nodiscard]] bool contains(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

[[nodiscard]] std::string user_key(const std::string& account, const std::string& user,
                                   const std::string& partition) {
  return account + '\n' + user + '\n' + partition;
}

/// The first of a job's partitions decides which QOS and which association it has.
[[nodiscard]] std::string first_partition(const job& j) {
  return j.partition.substr(0, j.partition.find(','));
}

}  // namespace

void limit_usage::take(limits l) {
  limits_ = std::move(l);
  by_user_.clear();
  by_id_.clear();
  counters_.clear();
  charges_.clear();
  ++version_;
  // What limits nothing costs nothing: most clusters have no limits.
  std::erase_if(limits_.partitions,
                [](const limits::partition& p) { return p == limits::partition{.name = p.name}; });
  const auto limits_something = [](const limits::association& a) {
    return !a.group.is_none() || !a.per_job.empty() || a.jobs != limits::none || a.minutes != limits::none;
  };
  if (std::none_of(limits_.associations.begin(), limits_.associations.end(), limits_something)) {
    limits_.associations.clear();
  }
  const auto is_limited = [](const limits::quality& q) {
    return !q.group.is_none() || !q.per_user.is_none() || !q.per_account.is_none() || !q.per_job.empty() ||
           q.minutes != limits::none;
  };
  const bool none_is = std::none_of(limits_.qualities.begin(), limits_.qualities.end(), is_limited);
  if (none_is && limits_.partitions.empty()) limits_.qualities.clear();
  for (std::size_t i = 0; i < limits_.associations.size(); ++i) {
    const limits::association& a = limits_.associations[i];
    by_user_.emplace(user_key(a.account, a.user, a.partition), i);
    by_id_.emplace(a.id, i);
  }
}

bool limit_usage::is_idle() const {
  return limits_.associations.empty() && limits_.qualities.empty() && limits_.partitions.empty();
}

const limits::association* limit_usage::association_of(const job& j) const {
  const std::string partition = first_partition(j);
  for (const auto& [user, part] : {std::pair{j.user, partition}, {j.user, {}}, {{}, {}}}) {
    const auto at = by_user_.find(user_key(j.account, user, part));
    if (at != by_user_.end()) return &limits_.associations[at->second];
  }
  return nullptr;
}

/// That of the partition, and its own; the first decides where both limit the same.
std::vector<const limits::quality*> limit_usage::qualities_of(const job& j) const {
  std::vector<const limits::quality*> all;
  const auto add = [&](const std::string& name) {
    for (const limits::quality& q : limits_.qualities) {
      if (q.name == name && std::find(all.begin(), all.end(), &q) == all.end()) all.push_back(&q);
    }
  };
  const std::string partition = first_partition(j);
  for (const limits::partition& p : limits_.partitions) {
    if (p.name == partition && !p.qos.empty()) add(p.qos);
  }
  add(j.qos);
  if (all.size() == 2 && all[1]->goes_first) std::swap(all[0], all[1]);
  return all;
}

limits::amounts limit_usage::amounts_of(const job& j) const {
  if (!j.components.empty()) {
    limits::amounts all(limits_.resources.size());
    for (const job& part : j.components) {
      const limits::amounts has = amounts_of(part);
      for (std::size_t i = 0; i < all.size(); ++i) all[i] += has[i];
    }
    return all;
  }
  need n = read_need(j.request, {}).value.value_or(need{});
  if (j.state == run_state::running) {
    n.gpus = n.cpus = 0;
    n.nodes = j.nodes.size();
    for (const node_share& s : j.nodes) {
      n.gpus += s.gpus;
      n.cpus += s.cpus;
    }
  }
  limits::amounts all;
  for (const std::string& r : limits_.resources) {
    const bool is_typed = r.starts_with("gres/gpu:");
    all.push_back(r == "cpu"                                                   ? n.cpus
                  : r == "mem"                                                 ? n.memory_mib
                  : r == "node"                                                ? n.nodes
                  : r == "gres/gpu" || (is_typed && r.substr(9) == n.gpu_type) ? n.gpus
                                                                               : 0);
  }
  return all;
}

/// Calls `visit(key, bound, reasons, subject)` for each limit that the job shares with others.
template <class Visit>
void limit_usage::for_each_bound(const job& j, Visit visit) const {
  for (const limits::quality* const q : qualities_of(j)) {
    const auto i = static_cast<std::size_t>(q - limits_.qualities.data());
    if (!q->group.is_none()) visit(key{scope::quality, i, {}}, q->group, quality_group, "the QOS " + q->name);
    if (!q->per_user.is_none()) {
      visit(key{scope::quality_user, i, j.user}, q->per_user, quality_user,
            j.user + " in the QOS " + q->name);
    }
    if (!q->per_account.is_none()) {
      visit(key{scope::quality_account, i, j.account}, q->per_account, quality_account,
            "the account " + j.account + " in the QOS " + q->name);
    }
  }
  const limits::association* a = association_of(j);
  const auto subject = [](const limits::association& of) {
    return (of.user.empty() ? "the account " : of.user + " in the account ") + of.account;
  };
  const auto index = [&] { return static_cast<std::size_t>(a - limits_.associations.data()); };
  if (a != nullptr && a->jobs != limits::none) {
    visit(key{scope::association_jobs, index(), {}}, limits::bound{{}, a->jobs}, association_job,
          subject(*a));
  }
  for (std::size_t depth = 0; a != nullptr && depth <= limits_.associations.size(); ++depth) {
    if (!a->group.is_none()) {
      visit(key{scope::association, index(), {}}, a->group, association_group, subject(*a));
    }
    const auto above = by_id_.find(a->parent);
    a = above == by_id_.end() ? nullptr : &limits_.associations[above->second];
  }
}

void limit_usage::add(const charge& c, bool is_more) {
  for (const key& k : c.of) {
    counter& to = counters_[k];
    sum& s = c.what == as::running ? to.running : to.waiting[c.quota];
    s.has.resize(limits_.resources.size());
    for (std::size_t i = 0; i < s.has.size(); ++i) s.has[i] += is_more ? c.has[i] : 0 - c.has[i];
    s.jobs += is_more ? c.jobs : 0 - c.jobs;
  }
}

void limit_usage::count(const job& j, as what, std::size_t quota) {
  bool ran = false;
  if (const auto at = charges_.find(j.key); at != charges_.end()) {
    ran = at->second.what == as::running;
    add(at->second, false);
    charges_.erase(at);
  }
  if (what == as::nothing || is_idle()) return;
  charge c{what, quota, parts_of(j).size(), {}, {}};
  for_each_bound(j, [&](key k, const auto&, const auto&, const auto&) { c.of.push_back(std::move(k)); });
  if (c.of.empty()) return;
  c.has = amounts_of(j);
  add(c, true);
  if (what == as::running && !ran) ++version_;
  charges_.emplace(j.key, std::move(c));
}

std::string limit_usage::obstacle_of_partitions(const job& j) const {
  std::string why;
  const auto qualities = qualities_of(j);
  const auto ignores = [&](bool limits::quality::*what) {
    return std::any_of(qualities.begin(), qualities.end(), [&](const auto* q) { return q->*what; });
  };
  std::string_view left = j.partition;
  while (!left.empty()) {
    const std::string name{left.substr(0, left.find(','))};
    left.remove_prefix(std::min(name.size() + 1, left.size()));
    const auto p = std::find_if(limits_.partitions.begin(), limits_.partitions.end(),
                                [&](const auto& o) { return o.name == name; });
    if (p == limits_.partitions.end()) return {};
    const std::string partition = "the partition " + name;
    const auto minutes = static_cast<std::uint64_t>(j.time_limit) / 60;
    const auto may_not = [](const auto& allowed, const auto& denied, const std::string& who) {
      return allowed.empty() ? contains(denied, who) : !contains(allowed, who);
    };
    if (!p->is_up) {
      why = partition + " is down (PartitionDown)";
    } else if (minutes > p->minutes && !ignores(&limits::quality::ignores_partition_time)) {
      why = partition + " has jobs of at most " + several(p->minutes, "minute") + " (PartitionTimeLimit)";
    } else if (j.request.nodes > p->nodes && !ignores(&limits::quality::ignores_partition_nodes)) {
      why = partition + " has jobs of at most " + several(p->nodes, "node") + " (PartitionNodeLimit)";
    } else if (may_not(p->accounts, p->denied_accounts, j.account)) {
      why = partition + " is not for the account " + j.account + " (AccountNotAllowed)";
    } else if (!j.qos.empty() && may_not(p->qualities, p->denied_qualities, j.qos)) {
      why = partition + " is not for the QOS " + j.qos + " (QOSNotAllowed)";
    } else {
      return {};
    }
  }
  return why;
}

/// What limits a single job: in Slurm each component is one.
std::string limit_usage::obstacle_alone(const job& j) const {
  std::string why = obstacle_of_partitions(j);
  if (!why.empty()) return why;
  const limits::amounts wants = amounts_of(j);
  const auto minutes = static_cast<std::uint64_t>(j.time_limit) / 60;
  // What one limits, the next does not: of a QOS before those of the association.
  std::set<std::pair<char, std::size_t>> decided;
  const auto decide = [&](char kind, std::size_t what) { return decided.emplace(kind, what).second; };
  const auto check_job = [&](const limits::amounts& most, std::uint64_t longest, const std::string& whose,
                             const reasons& names, std::string_view of_time) {
    for (std::size_t i = 0; i < most.size() && why.empty(); ++i) {
      if (most[i] == limits::none || !decide('j', i) || wants[i] <= most[i]) continue;
      const std::string& r = limits_.resources[i];
      why = whose + " has jobs of at most " + amount_text(most[i], r) + " (" +
            std::string{names[index_of(r)]} + ')';
    }
    if (longest == limits::none || !decide('t', 0) || minutes <= longest || !why.empty()) return;
    why = whose + " has jobs of at most " + several(longest, "minute") + " (" + std::string{of_time} + ')';
  };
  for (const limits::quality* const q : qualities_of(j)) {
    check_job(q->per_job, q->minutes, "the QOS " + q->name, quality_job, "QOSMaxWallDurationPerJobLimit");
  }
  if (const limits::association* const a = association_of(j)) {
    const std::string whose = (a->user.empty() ? "the account " : a->user + " in the account ") + a->account;
    check_job(a->per_job, a->minutes, whose, association_job, "AssocMaxWallDurationPerJobLimit");
  }
  return why;
}

std::string limit_usage::obstacle(const job& j, std::size_t quota) const {
  if (is_idle()) return {};
  for (const job& part : parts_of(j)) {
    if (std::string why = obstacle_alone(part); !why.empty()) return why;
  }
  std::string why;
  const limits::amounts wants = amounts_of(j);
  const auto own = charges_.find(j.key);
  // A group's limit of its parents counts beside its own; only what a QOS limits, associations don't.
  std::set<std::pair<char, std::size_t>> of_qualities;
  for_each_bound(j, [&](const key& k, const limits::bound& most, const reasons& names,
                        const std::string& whose) {
    const scope s = std::get<0>(k);
    const bool is_of_quality = s == scope::quality || s == scope::quality_user || s == scope::quality_account;
    const char kind = s == scope::quality || s == scope::association ? 'g'
                      : s == scope::quality_account                  ? 'a'
                                                                     : 'u';
    const auto counts = [&](std::size_t what) {
      return is_of_quality ? of_qualities.emplace(kind, what).second : of_qualities.count({kind, what}) == 0;
    };
    const auto at = counters_.find(k);
    const bool is_own = own != charges_.end() &&
                        std::find(own->second.of.begin(), own->second.of.end(), k) != own->second.of.end();
    // What runs, and what of the same quota waits to be decided, without the job itself.
    const auto used = [&](auto of) {
      std::uint64_t n = 0;
      if (at != counters_.end()) {
        n = of(at->second.running);
        if (const auto w = at->second.waiting.find(quota); w != at->second.waiting.end()) n += of(w->second);
      }
      const bool is_in = is_own && (own->second.what == as::running || own->second.quota == quota);
      return is_in ? n - of(sum{own->second.has, own->second.jobs}) : n;
    };
    for (std::size_t i = 0; i < most.most.size(); ++i) {
      if (most.most[i] == limits::none || !counts(i) || !why.empty()) continue;
      const std::uint64_t has = used([&](const sum& of) { return i < of.has.size() ? of.has[i] : 0; });
      if (wants[i] == 0 || has + wants[i] <= most.most[i]) continue;
      const std::string& r = limits_.resources[i];
      why = whose + " runs at most " + amount_text(most.most[i], r) + " at once (" +
            std::string{names[index_of(r)]} + ')';
    }
    if (most.jobs == limits::none || !counts(limits::none) || !why.empty()) return;
    if (used([](const sum& of) { return of.jobs; }) + parts_of(j).size() <= most.jobs) return;
    why = whose + " runs at most " + several(most.jobs, "job") + " at once (" + std::string{names[of_jobs]} +
          ')';
  });
  return why;
}

}  // namespace allot_slurm
