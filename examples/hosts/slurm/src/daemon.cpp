// SPDX-License-Identifier: BSL-1.0
#include "daemon.hpp"

#include "config.hpp"
#include "governor.hpp"
#include "journal.hpp"
#include "governor/src/lock.hpp"
#include "governor/src/metrics.hpp"
#include "governor/src/notify.hpp"
#include "governor/src/page.hpp"
#include "slurm_client.hpp"
#include "governor/src/status.hpp"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

namespace allot_slurm {

namespace {

[[nodiscard]] std::int64_t ms_of(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return std::int64_t{t.tv_sec} * 1000 + t.tv_nsec / 1'000'000;
}
[[nodiscard]] moment now() {
  return {ms_of(CLOCK_REALTIME), ms_of(CLOCK_BOOTTIME)};
}

/// The log of events: whole lines, one write a tick.
class events_file {
 public:
  /// Cuts off a line that a killed governor has left unfinished.
  [[nodiscard]] std::string open(const std::string& path) {
    close();
    if (path.empty()) return {};
    file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (file_ < 0) return path + ": " + std::strerror(errno);
    off_t end = ::lseek(file_, 0, SEEK_END);
    for (char c = 0; end > 0; --end) {
      if (::pread(file_, &c, 1, end - 1) == 1 && c == '\n') break;
    }
    if (::ftruncate(file_, end) != 0) return path + ": " + std::strerror(errno);
    static_cast<void>(::lseek(file_, end, SEEK_SET));
    return {};
  }
  void add(const std::string& line) { text_.append(line).append(1, '\n'); }
  [[nodiscard]] bool is_open() const { return file_ >= 0; }
  void write() {
    std::size_t done = 0;
    while (file_ >= 0 && done < text_.size()) {
      const ssize_t n = ::write(file_, text_.data() + done, text_.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) break;
      done += static_cast<std::size_t>(n);
    }
    text_.clear();
  }
  events_file() = default;
  events_file(const events_file&) = delete;
  events_file& operator=(const events_file&) = delete;
  ~events_file() { close(); }

 private:
  void close() {
    write();
    if (file_ >= 0) ::close(file_);
    file_ = -1;
  }

  int file_ = -1;
  std::string text_;
};

/// The groups of a user, asked for again after a while.
class group_table {
 public:
  [[nodiscard]] std::vector<std::string> of(const job& j) {
    constexpr std::int64_t lasts_ms = 60'000;
    const std::int64_t at = ms_of(CLOCK_MONOTONIC);
    entry& e = users_[j.user_id];
    if (e.asked == 0 || at - e.asked > lasts_ms) e = {at, ask(j)};
    return e.groups;
  }

 private:
  struct entry {
    std::int64_t asked = 0;
    std::vector<std::string> groups{};
  };

  [[nodiscard]] static std::vector<std::string> ask(const job& j) {
    std::array<char, 16384> buffer{};
    passwd user{};
    passwd* found = nullptr;
    if (getpwuid_r(j.user_id, &user, buffer.data(), buffer.size(), &found) != 0 || found == nullptr)
      return {};
    int count = 1024;
    std::vector<gid_t> ids(static_cast<std::size_t>(count));
    if (getgrouplist(user.pw_name, user.pw_gid, ids.data(), &count) < 0) return {};
    ids.resize(static_cast<std::size_t>(count));
    std::vector<std::string> names;
    for (const gid_t id : ids) {
      group g{};
      group* known = nullptr;
      std::array<char, 65536> text{};
      if (getgrgid_r(id, &g, text.data(), text.size(), &known) == 0 && known != nullptr)
        names.emplace_back(g.gr_name);
    }
    return names;
  }

  std::map<std::uint32_t, entry> users_;
};

void make_directories(const std::string& path) {
  for (std::size_t i = 1; i <= path.size(); ++i) {
    if (i == path.size() || path[i] == '/') static_cast<void>(::mkdir(path.substr(0, i).c_str(), 0755));
  }
}

[[nodiscard]] int complain(const std::vector<std::string>& problems) {
  for (const std::string& p : problems) std::cerr << "allot-slurm: " << p << '\n';
  return 2;
}

/// The signals that the loop waits for.
[[nodiscard]] sigset_t awaited() {
  sigset_t all;
  sigemptyset(&all);
  for (const int s : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&all, s);
  return all;
}

/// Waits until `until` on the monotonic clock. Returns the signal that has come, or 0.
[[nodiscard]] int wait_until(std::int64_t until) {
  const sigset_t signals = awaited();
  for (;;) {
    constexpr std::int64_t longest = 10'000;
    const std::int64_t left = std::clamp<std::int64_t>(until - ms_of(CLOCK_MONOTONIC), 0, longest);
    notify("WATCHDOG=1");
    const timespec most{static_cast<time_t>(left / 1000), static_cast<long>(left % 1000 * 1'000'000)};
    const int s = sigtimedwait(&signals, nullptr, &most);
    if (s > 0) return s;
    if (errno != EINTR && ms_of(CLOCK_MONOTONIC) >= until) return 0;
  }
}

/// What operators ask for.
class operators {
 public:
  explicit operators(std::string directory) : directory_(std::move(directory)) {}

  void obey(governor& it) {
    read_freeze(it);
    std::vector<std::filesystem::path> asked;
    std::error_code missing;
    for (const auto& f : std::filesystem::directory_iterator{directory_, missing}) {
      if (f.path().filename().string().starts_with(start_prefix)) asked.push_back(f.path());
    }
    for (const auto& path : asked) {
      const auto key = parse_job_key(path.filename().string().substr(start_prefix.size()));
      if (!key) continue;
      std::string by;
      std::getline(std::ifstream{path}, by);
      // Once, whatever becomes of it.
      if (std::filesystem::remove(path, missing)) it.start(*key, by);
    }
  }
  [[nodiscard]] const std::optional<freeze_order>& frozen() const noexcept { return frozen_; }

 private:
  void read_freeze(governor& it) {
    const std::string path = directory_ + '/' + freeze_file;
    std::optional<freeze_order> order;
    if (std::ifstream in{path, std::ios::binary}) {
      order = parse_freeze(std::string{std::istreambuf_iterator<char>{in}, {}});
    }
    if (order && order->until && *order->until <= now().wall) {
      std::error_code missing;
      std::filesystem::remove(path, missing);
      order.reset();
    }
    if (order == frozen_) return;
    it.log()("freeze", {{"state", order ? "frozen" : "thawed"},
                        {"by", order ? order->by : ""},
                        {"until", order && order->until ? time_text(*order->until) : ""},
                        {"why", order ? order->why : ""}});
    frozen_ = std::move(order);
    it.freeze(frozen_.has_value());
  }

  std::string directory_;
  std::optional<freeze_order> frozen_{};
};

/// What is written beside the decisions.
class daemon_files {
 public:
  explicit daemon_files(const slurm_options& o)
      : directory_(o.directory), journal_(o.directory + "/journal") {}

  /// What the journal says, if it is of use.
  [[nodiscard]] std::optional<memory> read(const std::string& cluster, decision_log& log) {
    std::ifstream in{journal_, std::ios::binary};
    if (!in) {
      log("journal", {{"state", "none"}, {"why", "reservations, backoffs and past usage start afresh"}});
      return std::nullopt;
    }
    const std::string text{std::istreambuf_iterator<char>{in}, {}};
    auto reading = parse_journal(text, cluster, now().wall);
    if (!reading.value) {
      log("journal", {{"state", "unusable"},
                      {"why", reading.problem + ": reservations, backoffs and past usage start afresh"}});
      return std::nullopt;
    }
    log("journal",
        {{"state", "read"},
         {"leaving", std::to_string(reading.value->leaving.size())},
         {"reservations",
          std::to_string(reading.value->state ? reading.value->state->memory.reservations.size() : 0)}});
    return std::move(reading.value);
  }
  /// The journal, if it differs.
  void write(const memory& m, const std::string& cluster, bool at_once = false) {
    constexpr std::int64_t usage_ms = 10'000;
    const std::int64_t at = ms_of(CLOCK_MONOTONIC);
    if (written_ && *written_ == m) return;
    if (!at_once && written_ && decides_the_same(m, *written_) && at - written_at_ < usage_ms) return;
    problem_ = replace_file(journal_, journal_text(m, cluster, now().wall));
    if (!problem_.empty()) return;
    written_ = m;
    written_at_ = at;
  }
  /// Page, metrics and status: at once, or when the last ones are old enough.
  void show(const governor& it, const std::optional<freeze_order>& frozen, bool at_once) {
    constexpr std::int64_t page_ms = 3000;
    const std::int64_t at = ms_of(CLOCK_MONOTONIC);
    if (!at_once && at - shown_at_ < page_ms) return;
    shown_at_ = at;
    snapshot s = it.snapshot_view();
    s.frozen = frozen;
    const slurm_options& o = it.configuration().slurm;
    const std::string suffix = s.observes ? ".observe" : "";
    put(directory_ + "/status.txt" + suffix, status_text(s));
    put(directory_ + "/status.json" + suffix, status_json(s));
    // One that only observes does not speak for one that acts.
    if (!o.page.empty() && !s.observes) put(o.page, page_of(s));
    if (!o.metrics.empty() && !s.observes) put(o.metrics, metrics_of(s));
  }
  /// Says what could not be written, once.
  void complain(decision_log& log) {
    if (problem_ != said_ && !problem_.empty()) log("journal", {{"state", "not written"}, {"why", problem_}});
    said_ = problem_;
  }

 private:
  void put(const std::string& path, const std::string& text) {
    if (const std::string why_not = replace_file(path, text, false); !why_not.empty()) problem_ = why_not;
  }

  std::string directory_;
  std::string journal_;
  std::string problem_;
  std::string said_;
  std::int64_t shown_at_ = 0;
  std::optional<memory> written_;
  std::int64_t written_at_ = 0;
};

}  // namespace

int run_daemon(const daemon_options& options) {
  auto reading = read_config(options.config_file);
  if (!reading.value) return complain(reading.problems);
  const std::string directory = reading.value->slurm.directory;
  make_directories(directory);
  lock only;
  // One that only observes may run beside one that acts.
  if (const std::string why = only.take(directory + (options.observes ? "/lock.observe" : "/lock"));
      !why.empty()) {
    std::cerr << "allot-slurm: " << why << '\n';
    return 1;
  }
  const sigset_t signals = awaited();
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  group_table groups;
  events_file events;
  if (const std::string why = events.open(options.observes ? "" : reading.value->slurm.events);
      !why.empty()) {
    return complain({why});
  }
  surroundings around;
  around.log = [](const std::string& line) { std::cerr << line << std::endl; };
  around.groups = [&](const job& j) { return groups.of(j); };
  if (events.is_open()) around.events = [&](const std::string& line) { events.add(line); };
  slurm_client slurm;
  daemon_files files{reading.value->slurm};
  cluster_settings settings;
  if (!options.observes) {
    around.remember = [&](const memory& m) { files.write(m, settings.name); };
  }
  operators asks{directory};
  governor it{std::move(*reading.value), slurm, std::move(around), options.observes};
  notify("READY=1");
  bool is_ready = false;
  std::uint64_t ticks = 0;
  std::int64_t next = ms_of(CLOCK_MONOTONIC);
  for (;;) {
    if (!is_ready) {
      it.log().set_time(now().wall);
      const outcome o = slurm.settings(settings);
      if (o) {
        is_ready = true;
        it.set_cluster_name(settings.name);
        it.log()("slurm",
                 {{"state", "connected"}, {"cluster", settings.name}, {"version", settings.version}});
        if (auto m = options.observes ? std::nullopt : files.read(settings.name, it.log()))
          it.remember(std::move(*m));
      } else if (ticks == 0) {
        it.log()("slurm", {{"state", "away"}, {"why", o.text}});
      }
    }
    if (is_ready) {
      it.log().set_time(now().wall);
      if (!options.observes) asks.obey(it);
      it.tick(now());
      events.write();
      if (!options.observes && it.scheduler() != nullptr) files.write(it.remembers(), settings.name);
      files.show(it, asks.frozen(), ticks == 0);
      files.complain(it.log());
    }
    ++ticks;
    if (options.ticks > 0 && ticks >= options.ticks) break;
    next = std::max(next + it.configuration().slurm.poll_ms, ms_of(CLOCK_MONOTONIC));
    const int signal = wait_until(next);
    if (signal == SIGTERM || signal == SIGINT) break;
    if (signal == SIGHUP) {
      it.log().set_time(now().wall);
      auto again = read_config(options.config_file);
      if (again.value) {
        it.log()("config",
                 {{"state", "taken over"}, {"changed", changes_between(it.configuration(), *again.value)}});
        if (!options.observes) {
          if (const std::string why = events.open(again.value->slurm.events); !why.empty())
            it.log()("config", {{"why", why}});
        }
        it.reconfigure(std::move(*again.value));
      } else {
        it.note_refused_config(again.problems);
        for (const std::string& p : again.problems) it.log()("config", {{"state", "refused"}, {"why", p}});
      }
    }
  }
  if (!options.observes && it.scheduler() != nullptr) files.write(it.remembers(), settings.name, true);
  if (is_ready) files.show(it, asks.frozen(), true);
  return 0;
}

}  // namespace allot_slurm
