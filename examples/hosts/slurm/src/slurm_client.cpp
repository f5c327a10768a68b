// SPDX-License-Identifier: BSL-1.0
#include "slurm_client.hpp"

#include "governor/src/clock.hpp"
#include "request.hpp"

#include <pwd.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurmdb.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

extern "C" [[gnu::weak]] const char* slurm_job_reason_string(int reason);

namespace allot_slurm {

namespace {

[[nodiscard]] std::string text(const char* s) {
  return s == nullptr ? std::string{} : std::string{s};
}
[[nodiscard]] std::string_view view(const char* s) {
  return s == nullptr ? std::string_view{} : std::string_view{s};
}

[[nodiscard]] std::int64_t cpu_us() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return std::int64_t{t.tv_sec} * 1'000'000 + t.tv_nsec / 1000;
}

[[nodiscard]] outcome failure(int code) {
  outcome o;
  o.text = text(slurm_strerror(code));
  switch (code) {
    case ESLURM_INVALID_JOB_ID:
    case ESLURM_ALREADY_DONE:
    case ESLURM_JOB_PENDING:
    case ESLURM_JOB_NOT_RUNNING:
    case ESLURM_JOB_NOT_PENDING:
    case ESLURM_JOB_NOT_PENDING_NOR_RUNNING:
    case ESLURM_JOB_FINISHED:
    case ESLURM_JOB_SETTING_DB_INX:
    case ESLURM_TRANSITION_STATE_NO_UPDATE:
    case ESRCH:
      o.is = outcome::kind::too_late;
      return o;
    default:
      break;
  }
  const bool is_system = 0 < code && code < 1000;
  const bool is_protocol = 1000 <= code && code < 2000;
  o.is = is_system || is_protocol || code == ESLURM_IN_STANDBY_MODE ? outcome::kind::away
                                                                    : outcome::kind::refused;
  return o;
}

/// The outcome of a call that returns SLURM_SUCCESS or sets errno.
[[nodiscard]] outcome of_call(int result) {
  return result == SLURM_SUCCESS ? outcome{} : failure(slurm_get_errno());
}

[[nodiscard]] std::vector<std::string> expand(const char* hosts) {
  std::vector<std::string> all;
  if (hosts == nullptr || *hosts == '\0') return all;
  const hostlist_t list = slurm_hostlist_create(hosts);
  if (list == nullptr) return all;
  while (char* const name = slurm_hostlist_shift(list)) {
    all.emplace_back(name);
    std::free(name);
  }
  slurm_hostlist_destroy(list);
  return all;
}

[[nodiscard]] std::vector<std::string> parts(std::string_view list) {
  std::vector<std::string> all;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    if (end > 0) all.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  std::sort(all.begin(), all.end());
  return all;
}

/// What matters of a record, as a number: FNV-1a.
class fingerprint {
 public:
  fingerprint& operator<<(std::uint64_t n) {
    for (int i = 0; i < 8; ++i) add(static_cast<unsigned char>(n >> (8 * i)));
    return *this;
  }
  fingerprint& operator<<(const char* s) {
    for (const char c : view(s)) add(static_cast<unsigned char>(c));
    add(0);
    return *this;
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  void add(unsigned char c) { value_ = (value_ ^ c) * 0x100000001b3U; }
  std::uint64_t value_ = 0xcbf29ce484222325U;
};

[[nodiscard]] std::uint64_t fingerprint_of(const slurm_job_info_t& j) {
  fingerprint f;
  const bool is_running = (j.job_state & JOB_STATE_BASE) != JOB_PENDING;
  f << j.job_id << j.array_job_id << j.job_state << j.priority << j.requeue << j.het_job_id << j.nice
    << j.restart_cnt << j.array_max_tasks << j.time_limit << static_cast<std::uint64_t>(j.submit_time)
    << static_cast<std::uint64_t>(j.eligible_time) << j.num_nodes << j.max_nodes << j.num_cpus << j.num_tasks
    << j.pn_min_memory << j.shared << j.req_switch << j.user_id << j.state_reason;
  f << static_cast<std::uint64_t>(is_running ? j.start_time : 0);
  f << j.account << j.partition << j.qos << j.name << j.comment << j.admin_comment << j.dependency
    << j.req_nodes << j.exc_nodes << j.features << j.resv_name << j.tres_per_job << j.tres_per_node
    << j.tres_per_socket << j.tres_per_task << j.nodes << j.array_task_str;
  return f.value();
}

[[nodiscard]] run_state state_of(std::uint32_t state) {
  if ((state & JOB_COMPLETING) != 0) return run_state::completing;
  switch (state & JOB_STATE_BASE) {
    case JOB_PENDING:
      return run_state::pending;
    case JOB_RUNNING:
    case JOB_SUSPENDED:
      return run_state::running;
    default:
      return run_state::ended;
  }
}

/// As squeue names it. Slurm's library has the names, but slurm.h does not declare the function.
[[nodiscard]] std::string reason_of(std::uint16_t reason) {
  if (slurm_job_reason_string != nullptr) {
    if (const char* const name = slurm_job_reason_string(reason); name != nullptr) return name;
  }
  return "reason " + std::to_string(reason);
}

void read_places(const slurm_job_info_t& from, job& to) {
  const auto names = expand(from.nodes);
  for (std::size_t i = 0; i < names.size(); ++i) {
    node_share& s = to.nodes.emplace_back();
    s.node = names[i];
    if (i < from.gres_detail_cnt) {
      for (const gpu_count& g :
           parse_gpus(view(from.gres_detail_str[i])).value_or(std::vector<gpu_count>{})) {
        s.gpus += static_cast<std::uint32_t>(g.count);
      }
    }
    if (from.job_resrcs != nullptr) {
      const int cpus = slurm_job_cpus_allocated_on_node_id(from.job_resrcs, static_cast<int>(i));
      s.cpus = cpus > 0 ? static_cast<std::uint32_t>(cpus) : 0;
    }
  }
}

[[nodiscard]] job_key key_of(const slurm_job_info_t& from) {
  if (from.het_job_id != 0) return {from.het_job_id};
  if (from.array_job_id != 0) return {from.array_job_id, from.array_task_id};
  return {from.job_id};
}

[[nodiscard]] job job_of(const slurm_job_info_t& from, const std::string& user) {
  job j;
  j.key = key_of(from);
  if (from.het_job_id != 0) {
    j.component = from.het_job_offset;
    const auto all = parse_tasks(view(from.het_job_id_set));
    j.of_components = all ? static_cast<std::uint32_t>(all->size()) : 0;
  }
  j.record = from.job_id;
  j.state = state_of(from.job_state);
  const bool is_pending = (from.job_state & JOB_STATE_BASE) == JOB_PENDING;
  j.is_held = is_pending && from.priority == 0;
  j.is_requeued = is_pending && j.state == run_state::completing;
  const std::uint32_t base = from.job_state & JOB_STATE_BASE;
  j.has_failed = base == JOB_FAILED || base == JOB_NODE_FAIL || base == JOB_PREEMPTED;
  j.may_requeue = from.requeue != 0 && from.batch_flag != 0;
  j.account = text(from.account);
  j.partition = text(from.partition);
  j.qos = text(from.qos);
  j.user = user;
  j.name = text(from.name);
  j.comment = text(from.comment);
  j.admin_comment = text(from.admin_comment);
  j.dependency = text(from.dependency);
  j.required_nodes = text(from.req_nodes);
  j.excluded_nodes = text(from.exc_nodes);
  j.features = text(from.features);
  j.reservation = text(from.resv_name);
  if (is_pending) {
    j.why_pending = from.state_desc != nullptr ? std::string{from.state_desc} : reason_of(from.state_reason);
  }
  raw_request& r = j.request;
  r.tres_per_job = text(from.tres_per_job);
  r.tres_per_node = text(from.tres_per_node);
  r.tres_per_socket = text(from.tres_per_socket);
  r.tres_per_task = text(from.tres_per_task);
  const auto number = [](std::uint32_t n, std::uint32_t otherwise) {
    return n == NO_VAL || n == INFINITE ? otherwise : n;
  };
  r.nodes = std::max<std::uint32_t>(1, number(from.num_nodes, 1));
  r.max_nodes = number(from.max_nodes, 0);
  r.cpus = number(from.num_cpus, 1);
  r.tasks = std::max<std::uint32_t>(1, number(from.num_tasks, 1));
  if (from.pn_min_memory != NO_VAL64) {
    r.memory_mib = from.pn_min_memory & ~MEM_PER_CPU;
    r.memory_is_per_cpu = (from.pn_min_memory & MEM_PER_CPU) != 0;
  }
  r.tmp_disk_mib = number(from.pn_min_tmp_disk, 0);
  r.is_exclusive = from.shared == JOB_SHARED_NONE;
  r.on_one_switch = from.req_switch == 1;
  j.nice = static_cast<std::int32_t>(static_cast<std::int64_t>(from.nice) - std::int64_t{NICE_OFFSET});
  j.restarts = from.restart_cnt;
  j.user_id = from.user_id;
  j.array_limit = number(from.array_max_tasks, 0);
  // Slurm shows a year where there is no limit.
  constexpr std::uint32_t year = 365 * 24 * 60;
  const std::uint32_t minutes = number(from.time_limit, 0);
  j.time_limit = minutes >= year ? 0 : std::int64_t{minutes} * 60;
  j.submitted = from.submit_time;
  j.eligible = from.eligible_time;
  if (!is_pending) j.started = from.start_time;
  read_places(from, j);
  return j;
}

/// Whether new jobs may start on a node, and whether it has failed.
void read_state(std::uint32_t state, node& to) {
  const std::uint32_t base = state & NODE_STATE_BASE;
  to.is_down = base == NODE_STATE_DOWN || base == NODE_STATE_UNKNOWN || base == NODE_STATE_ERROR ||
               base == NODE_STATE_FUTURE || (state & NODE_STATE_NO_RESPOND) != 0;
  constexpr auto closed = NODE_STATE_DRAIN | NODE_STATE_FAIL | NODE_STATE_REBOOT_REQUESTED |
                          NODE_STATE_REBOOT_ISSUED | NODE_STATE_INVALID_REG;
  to.is_open = !to.is_down && (state & closed) == 0;
}

[[nodiscard]] std::uint64_t limit_of(std::uint32_t n) {
  return n == NO_VAL || n == INFINITE ? limits::none : n;
}

template <class Record, class Visit>
void for_each(List list, Visit visit) {
  if (list == nullptr) return;
  const ListIterator at = slurm_list_iterator_create(list);
  while (const void* const next = slurm_list_next(at)) visit(*static_cast<const Record*>(next));
  slurm_list_iterator_destroy(at);
}

[[nodiscard]] bool read_partition_limits(limits& to) {
  partition_info_msg_t* all = nullptr;
  if (slurm_load_partitions(0, &all, SHOW_ALL) != SLURM_SUCCESS) return false;
  const auto names = [](const char* list) {
    auto listed = parts(view(list));
    if (std::find(listed.begin(), listed.end(), "ALL") != listed.end()) listed.clear();
    return listed;
  };
  for (std::uint32_t i = 0; i < all->record_count; ++i) {
    const partition_info_t& from = all->partition_array[i];
    limits::partition& p = to.partitions.emplace_back();
    p.name = text(from.name);
    p.qos = text(from.qos_char);
    p.minutes = limit_of(from.max_time);
    p.nodes = limit_of(from.max_nodes);
    p.is_up = (from.state_up & PARTITION_SCHED) != 0;
    p.accounts = names(from.allow_accounts);
    p.denied_accounts = names(from.deny_accounts);
    p.qualities = names(from.allow_qos);
    p.denied_qualities = names(from.deny_qos);
  }
  slurm_free_partition_info_msg(all);
  return true;
}

/// Associations and QOS, if Slurm enforces what they limit.
[[nodiscard]] bool read_accounting_limits(limits& to) {
  // slurm.h does not name the bits of AccountingStorageEnforce.
  constexpr std::uint16_t enforces_limits = 2;
  slurm_conf_t* conf = nullptr;
  if (slurm_load_ctl_conf(0, &conf) != SLURM_SUCCESS) return false;
  const bool enforces = (conf->accounting_storage_enforce & enforces_limits) != 0;
  slurm_free_ctl_conf(conf);
  if (!enforces) return true;
  assoc_mgr_info_request_msg_t request{};
  request.flags = ASSOC_MGR_INFO_FLAG_ASSOC | ASSOC_MGR_INFO_FLAG_QOS;
  assoc_mgr_info_msg_t* all = nullptr;
  if (slurm_load_assoc_mgr_info(&request, &all) != SLURM_SUCCESS) return false;
  std::vector<std::uint32_t> counted;
  for (std::uint32_t i = 0; i < all->tres_cnt; ++i) {
    const std::string_view name = view(all->tres_names[i]);
    const bool is_gpu = name == "gres/gpu" || name.starts_with("gres/gpu:");
    if (!is_gpu && name != "cpu" && name != "mem" && name != "node") continue;
    counted.push_back(i);
    to.resources.emplace_back(name);
  }
  const auto amounts = [&](const std::uint64_t* of) {
    limits::amounts found;
    bool is_bound = false;
    for (const std::uint32_t i : counted) {
      const bool is_none = of == nullptr || of[i] == NO_VAL64 || of[i] == INFINITE64;
      found.push_back(is_none ? limits::none : of[i]);
      is_bound = is_bound || !is_none;
    }
    return is_bound ? found : limits::amounts{};
  };
  for_each<slurmdb_assoc_rec_t>(all->assoc_list, [&](const slurmdb_assoc_rec_t& from) {
    limits::association& a = to.associations.emplace_back();
    a.id = from.id;
    a.parent = from.parent_id;
    a.account = text(from.acct);
    a.user = text(from.user);
    a.partition = text(from.partition);
    a.group = {amounts(from.grp_tres_ctld), limit_of(from.grp_jobs)};
    a.per_job = amounts(from.max_tres_ctld);
    a.jobs = limit_of(from.max_jobs);
    a.minutes = limit_of(from.max_wall_pj);
  });
  for_each<slurmdb_qos_rec_t>(all->qos_list, [&](const slurmdb_qos_rec_t& from) {
    limits::quality& q = to.qualities.emplace_back();
    q.name = text(from.name);
    q.group = {amounts(from.grp_tres_ctld), limit_of(from.grp_jobs)};
    q.per_user = {amounts(from.max_tres_pu_ctld), limit_of(from.max_jobs_pu)};
    q.per_account = {amounts(from.max_tres_pa_ctld), limit_of(from.max_jobs_pa)};
    q.per_job = amounts(from.max_tres_pj_ctld);
    q.minutes = limit_of(from.max_wall_pj);
    q.goes_first = (from.flags & QOS_FLAG_OVER_PART_QOS) != 0;
    q.ignores_partition_time = (from.flags & QOS_FLAG_PART_TIME_LIMIT) != 0;
    q.ignores_partition_nodes = (from.flags & QOS_FLAG_PART_MAX_NODE) != 0;
  });
  slurm_free_assoc_mgr_info_msg(all);
  return true;
}

/// Writes a text for the duration of a call; libslurm does not change it.
[[nodiscard]] char* writable(const std::string& s) {
  return const_cast<char*>(s.c_str());
}

struct update {
  job_desc_msg_t message{};
  std::string id{};
  std::string admin{};

  update(const job& j, const comments& say) : id(slurm_name(j)) {
    slurm_init_job_desc_msg(&message);
    message.job_id_str = writable(id);
    if (say.admin) message.admin_comment = writable(*say.admin);
    if (say.user) message.comment = writable(*say.user);
    if (say.excluded) message.exc_nodes = writable(*say.excluded);
    if (say.required) message.req_nodes = writable(*say.required);
  }

  /// By its AdminComment job_submit.lua tells this from what an operator does.
  void set_priority(const job& j, std::uint32_t priority) {
    message.priority = priority;
    if (message.admin_comment != nullptr) return;
    const bool is_ours = j.admin_comment.starts_with(comment_mark) && held_by(j).empty();
    admin = is_ours ? j.admin_comment : std::string{comment_mark} + "waits";
    message.admin_comment = writable(admin);
  }

  [[nodiscard]] outcome send() {
    job_array_resp_msg_t* answers = nullptr;
    outcome o = of_call(slurm_update_job2(&message, &answers));
    if (answers != nullptr) {
      for (std::uint32_t i = 0; o && i < answers->job_array_count; ++i) {
        if (answers->error_code[i] != SLURM_SUCCESS) o = failure(static_cast<int>(answers->error_code[i]));
      }
      slurm_free_job_array_resp(answers);
    }
    return o;
  }
};

}  // namespace

slurm_client::slurm_client() {
  // Otherwise the list of an array's tasks ends in "...".
  setenv("SLURM_BITSTR_LEN", "0", 1);
  slurm_init(nullptr);
}

slurm_client::~slurm_client() {
  slurm_fini();
}

outcome slurm_client::settings(cluster_settings& to) {
  slurm_conf_t* conf = nullptr;
  if (const outcome o = of_call(slurm_load_ctl_conf(0, &conf)); !o) return o;
  to.name = text(conf->cluster_name);
  to.version = text(conf->version);
  to.job_submit_plugins = text(conf->job_submit_plugins);
  to.priority_type = text(conf->priority_type);
  to.auth_info = text(conf->authinfo);
  to.scheduler_parameters = text(conf->sched_params);
  to.config_file = text(conf->slurm_conf);
  to.counts_memory = (conf->select_type_param & CR_MEMORY) != 0;
  to.counts_cpus = (conf->select_type_param & (CR_CPU | CR_CORE | CR_SOCKET)) != 0;
  to.requeues = conf->job_requeue != 0;
  to.max_jobs = conf->max_job_cnt;
  to.kill_wait_s = conf->kill_wait;
  to.min_job_age_s = conf->min_job_age;
  to.gres_types = text(conf->gres_plugins);
  counts_memory_ = to.counts_memory;
  slurm_free_ctl_conf(conf);
  partition_info_msg_t* partitions = nullptr;
  if (const outcome o = of_call(slurm_load_partitions(0, &partitions, SHOW_ALL)); !o) return o;
  to.partitions.clear();
  for (std::uint32_t i = 0; i < partitions->record_count; ++i) {
    to.partitions.push_back(text(partitions->partition_array[i].name));
  }
  slurm_free_partition_info_msg(partitions);
  to.accounts.clear();
  assoc_mgr_info_request_msg_t request{};
  request.flags = ASSOC_MGR_INFO_FLAG_ASSOC;
  assoc_mgr_info_msg_t* all = nullptr;
  if (slurm_load_assoc_mgr_info(&request, &all) == SLURM_SUCCESS) {
    for_each<slurmdb_assoc_rec_t>(all->assoc_list, [&](const slurmdb_assoc_rec_t& from) {
      const bool is_of_account = view(from.user).empty() && view(from.acct) != "root";
      if (is_of_account) to.accounts.push_back(text(from.acct));
    });
    slurm_free_assoc_mgr_info_msg(all);
  }
  to.job_submit_lua.reset();
  const std::size_t slash = to.config_file.rfind('/');
  if (std::ifstream lua{to.config_file.substr(0, slash + 1) + "job_submit.lua"}) {
    to.job_submit_lua.emplace(std::istreambuf_iterator<char>{lua}, std::istreambuf_iterator<char>{});
  }
  return {};
}

const std::string& slurm_client::user(std::uint32_t id) {
  const auto [at, is_new] = users_.try_emplace(id);
  if (is_new) {
    std::array<char, 16384> buffer{};
    passwd entry{};
    passwd* found = nullptr;
    const int error = getpwuid_r(id, &entry, buffer.data(), buffer.size(), &found);
    at->second = error == 0 && found != nullptr ? std::string{found->pw_name} : std::to_string(id);
  }
  return at->second;
}

outcome slurm_client::poll(cluster_changes& to) {
  // To a slurmctld whose clock was set back with this one nothing is newer than the last answer, for as long.
  constexpr std::int64_t slack_ms = 1000;
  const std::int64_t ahead_by = ms_of(CLOCK_REALTIME) - ms_of(CLOCK_BOOTTIME);
  if (ahead_by < std::exchange(ahead_by_, ahead_by) - slack_ms)
    jobs_since_ = nodes_since_ = reservations_since_ = 0;
  to.is_whole = polls_ == 0;
  const std::int64_t before = to.load_us;
  outcome o = poll_reservations(to);
  if (o) o = poll_nodes(to);
  if (o) o = poll_jobs(to);
  if (o) poll_limits(to);
  if (!o) to.load_us = before;
  return o;
}

/// What can't be read stays as it was: it is no reason to stand still.
void slurm_client::poll_limits(cluster_changes& to) {
  constexpr std::int64_t every = 30;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  if (now.tv_sec < limits_due_ && !to.is_whole) return;
  limits_due_ = now.tv_sec + every;
  const std::int64_t begin = cpu_us();
  limits read;
  const bool is_read = read_partition_limits(read) && read_accounting_limits(read);
  to.load_us += cpu_us() - begin;
  if (!is_read || (read == limits_ && !to.is_whole)) return;
  limits_ = read;
  to.limited = std::move(read);
}

outcome slurm_client::poll_jobs(cluster_changes& to) {
  job_info_msg_t* all = nullptr;
  const std::int64_t begin = cpu_us();
  const int result = slurm_load_jobs(jobs_since_, &all, SHOW_ALL | SHOW_DETAIL);
  to.load_us += cpu_us() - begin;
  if (result != SLURM_SUCCESS) {
    if (slurm_get_errno() == SLURM_NO_CHANGE_IN_DATA) return {};
    return failure(slurm_get_errno());
  }
  ++polls_;
  const auto see = [&](const job_key& k, std::uint64_t print) {
    const auto [at, is_new] = jobs_.try_emplace(k);
    at->second.seen = polls_;
    const bool differs = is_new || at->second.fingerprint != print;
    at->second.fingerprint = print;
    return differs;
  };
  // The components of heterogeneous jobs, by their leader.
  std::map<std::uint32_t, std::vector<const slurm_job_info_t*>> components;
  for (std::uint32_t i = 0; i < all->record_count; ++i) {
    const slurm_job_info_t& from = all->job_array[i];
    if (from.het_job_id != 0) {
      components[from.het_job_id].push_back(&from);
      continue;
    }
    const std::uint64_t print = fingerprint_of(from);
    const bool is_array = from.array_job_id != 0 && from.array_task_id == NO_VAL;
    if (!is_array) {
      if (see(key_of(from), print)) to.jobs.push_back(job_of(from, user(from.user_id)));
      continue;
    }
    // One record for all tasks that have not started.
    known_record& a = arrays_[from.job_id];
    a.seen = polls_;
    if (a.tasks != view(from.array_task_str)) {
      a.tasks = text(from.array_task_str);
      a.numbers = parse_tasks(a.tasks).value_or(std::vector<std::uint32_t>{});
    }
    std::optional<job> shared;
    fingerprint same;
    // Its tasks do not change because there are fewer of them.
    slurm_job_info_t without = from;
    without.array_task_str = nullptr;
    same << fingerprint_of(without);
    for (const std::uint32_t task : a.numbers) {
      const job_key k{from.array_job_id, task};
      if (!see(k, same.value())) continue;
      if (!shared) shared = job_of(from, user(from.user_id));
      to.jobs.push_back(*shared);
      to.jobs.back().key = k;
    }
  }
  for (auto& [leader, records] : components) {
    std::sort(records.begin(), records.end(),
              [](const auto* a, const auto* b) { return a->het_job_offset < b->het_job_offset; });
    fingerprint print;
    for (const slurm_job_info_t* const from : records) print << fingerprint_of(*from);
    if (!see({leader}, print.value())) continue;
    std::vector<job> each;
    for (const slurm_job_info_t* const from : records) each.push_back(job_of(*from, user(from->user_id)));
    to.jobs.push_back(whole_of(std::move(each)));
  }
  jobs_since_ = all->last_update;
  to.seen_at = std::max<seconds>(to.seen_at, all->last_update);
  slurm_free_job_info_msg(all);
  std::erase_if(arrays_, [&](const auto& a) { return a.second.seen != polls_; });
  std::erase_if(jobs_, [&](const auto& j) {
    if (j.second.seen == polls_) return false;
    to.gone.push_back(j.first);
    return true;
  });
  return {};
}

/// They are told with the nodes.
outcome slurm_client::poll_reservations(cluster_changes& to) {
  reserve_info_msg_t* all = nullptr;
  const std::int64_t begin = cpu_us();
  const int result = slurm_load_reservations(reservations_since_, &all);
  to.load_us += cpu_us() - begin;
  if (result != SLURM_SUCCESS) {
    if (slurm_get_errno() == SLURM_NO_CHANGE_IN_DATA) return {};
    return failure(slurm_get_errno());
  }
  reserved_.clear();
  for (std::uint32_t i = 0; i < all->record_count; ++i) {
    const reserve_info_t& from = all->reservation_array[i];
    // One that floats always begins later, and keeps nobody from nodes before that.
    if ((from.flags & RESERVE_FLAG_TIME_FLOAT) != 0) continue;
    for (const std::string& name : expand(from.node_list))
      reserved_[name].push_back({text(from.name), from.start_time, from.end_time});
  }
  for (auto& [name, list] : reserved_)
    std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  reservations_since_ = all->last_update;
  slurm_free_reservation_info_msg(all);
  nodes_since_ = 0;
  return {};
}

outcome slurm_client::poll_nodes(cluster_changes& to) {
  node_info_msg_t* all = nullptr;
  const std::int64_t begin = cpu_us();
  const int result = slurm_load_node(nodes_since_, &all, SHOW_ALL | SHOW_DETAIL);
  to.load_us += cpu_us() - begin;
  if (result != SLURM_SUCCESS) {
    if (slurm_get_errno() == SLURM_NO_CHANGE_IN_DATA) return {};
    return failure(slurm_get_errno());
  }
  partition_info_msg_t* partitions = nullptr;
  if (const outcome o = of_call(slurm_load_partitions(0, &partitions, SHOW_ALL)); !o) {
    slurm_free_node_info_msg(all);
    return o;
  }
  std::unordered_map<std::string, std::vector<std::string>> in;
  for (std::uint32_t i = 0; i < partitions->record_count; ++i) {
    const partition_info_t& p = partitions->partition_array[i];
    for (std::string& name : expand(p.nodes)) in[std::move(name)].push_back(text(p.name));
  }
  slurm_free_partition_info_msg(partitions);
  std::vector<node> now;
  for (std::uint32_t i = 0; i < all->record_count; ++i) {
    const node_info_t& from = all->node_array[i];
    if (from.name == nullptr || *from.name == '\0') continue;
    node& n = now.emplace_back();
    n.name = from.name;
    for (const gpu_count& g : parse_gpus(view(from.gres)).value_or(std::vector<gpu_count>{})) {
      n.gpus += static_cast<std::uint32_t>(g.count);
      if (n.gpu_type.empty()) n.gpu_type = g.type;
    }
    for (const gpu_count& g : parse_gpus(view(from.gres_used)).value_or(std::vector<gpu_count>{})) {
      n.gpus_used += static_cast<std::uint32_t>(g.count);
    }
    n.cpus = from.cpus_efctv != 0 ? from.cpus_efctv : from.cpus;
    n.memory_mib =
        counts_memory_ && from.real_memory > from.mem_spec_limit ? from.real_memory - from.mem_spec_limit : 0;
    n.real_memory_mib = from.real_memory;
    n.tmp_disk_mib = from.tmp_disk;
    n.features = parts(view(from.features_act != nullptr ? from.features_act : from.features));
    n.partitions = std::move(in[n.name]);
    std::sort(n.partitions.begin(), n.partitions.end());
    if (const auto at = reserved_.find(n.name); at != reserved_.end()) n.reservations = at->second;
    read_state(from.node_state, n);
    if (!n.is_open) n.why_closed = text(from.reason);
    n.started = from.slurmd_start_time;
  }
  nodes_since_ = all->last_update;
  to.seen_at = std::max<seconds>(to.seen_at, all->last_update);
  slurm_free_node_info_msg(all);
  if (now != nodes_ || to.is_whole) {
    nodes_ = now;
    to.nodes = std::move(now);
  }
  return {};
}

std::vector<network_switch> slurm_client::topology() {
  std::vector<network_switch> switches;
  topo_info_response_msg_t* all = nullptr;
  if (slurm_load_topo(&all) != SLURM_SUCCESS) return switches;
  for (std::uint32_t i = 0; i < all->record_count; ++i) {
    const topo_info_t& from = all->topo_array[i];
    switches.push_back({text(from.name), from.level, expand(from.nodes), expand(from.switches)});
  }
  slurm_free_topo_info_msg(all);
  return switches;
}

outcome slurm_client::release(const job& j, const std::vector<std::string>& nodes, bool first,
                              const comments& say) {
  update u{j, say};
  u.set_priority(j, INFINITE);
  // Slurm makes its own present of a time that is past, whatever the clock here says.
  u.message.begin_time = 1;
  // Otherwise Slurm would be free to take more than what the policy has counted.
  const bool is_pinned = say.required && !say.required->empty();
  const std::uint32_t count = is_pinned ? static_cast<std::uint32_t>(nodes.size()) : j.request.nodes;
  if (count > j.request.nodes || j.request.max_nodes > count) {
    u.message.min_nodes = count;
    u.message.max_nodes = count;
  }
  const outcome released = u.send();
  if (!released || !first) return released;
  // Slurm does not take a priority with the release of what is held. priority/basic counts down from somewhat
  // less than this. If it fails, the job starts in Slurm's order.
  job now = j;
  now.admin_comment = say.admin.value_or(j.admin_comment);
  update order{now, {}};
  order.set_priority(now, INFINITE - 16);
  static_cast<void>(order.send());
  return released;
}

outcome slurm_client::hold(const job& j, const comments& say) {
  update u{j, say};
  u.set_priority(j, 0);
  return u.send();
}

outcome slurm_client::comment(const job& j, const comments& say, const std::vector<std::uint32_t>& tasks) {
  update u{j, say};
  if (!tasks.empty()) {
    // All that share a record are altered in it; for one alone Slurm would make a record of its own.
    u.id = std::to_string(j.key.id) + '_' + '[' + tasks_text(tasks) + ']';
    u.message.job_id_str = writable(u.id);
  }
  return u.send();
}

outcome slurm_client::let_go(const job& j, const comments& say) {
  update u{j, say};
  u.message.priority = INFINITE;
  return u.send();
}

outcome slurm_client::warn(const job& j, int signal) {
  return of_call(slurm_kill_job(j.record, static_cast<std::uint16_t>(signal), KILL_FULL_JOB));
}

outcome slurm_client::requeue(const job& j) {
  return of_call(slurm_requeue(j.record, JOB_REQUEUE_HOLD));
}

}  // namespace allot_slurm
