// SPDX-License-Identifier: BSL-1.0
#include "daemon.hpp"

#include "config.hpp"
#include "governor/src/clock.hpp"
#include "governor/src/events_file.hpp"
#include "governor/src/lock.hpp"
#include "governor/src/notify.hpp"
#include "governor/src/orders.hpp"
#include "governor/src/signals.hpp"
#include "governor/src/state_files.hpp"
#include "slurm_client.hpp"
#include "slurm_governor.hpp"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <iostream>
#include <map>
#include <optional>
#include <utility>

namespace allot_slurm {

namespace {

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

[[nodiscard]] int complain(const std::vector<std::string>& problems) {
  for (const std::string& p : problems) std::cerr << "allot-slurm: " << p << '\n';
  return 2;
}

void obey(order_files& orders, slurm_governor& it) {
  if (orders.read_freeze(it.log())) it.freeze(orders.frozen().has_value());
  for (const start_order& o : orders.take_starts()) {
    if (const auto key = parse_job_key(o.job)) it.start(to_string(*key), o.by);
  }
}

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
  await_signals();
  group_table groups;
  events_file events;
  if (const std::string why = events.open(options.observes ? "" : reading.value->slurm.events);
      !why.empty()) {
    return complain({why});
  }
  slurm_surroundings around;
  around.log = [](const std::string& line) { std::cerr << line << std::endl; };
  around.groups = [&](const job& j) { return groups.of(j); };
  const auto log_event = [&](const std::string& line) { events.add(line); };
  if (events.is_open()) around.events = log_event;
  slurm_client slurm;
  state_files files{directory};
  cluster_settings settings;
  if (!options.observes) {
    around.remember = [&](const memory& m) { files.write(m, settings.name); };
  }
  order_files orders{directory};
  slurm_governor it{std::move(*reading.value), slurm, std::move(around), options.observes};
  const auto show = [&] {
    snapshot s = it.snapshot_view();
    s.frozen = orders.frozen();
    files.show(s, it.configuration().slurm.page, it.configuration().slurm.metrics);
  };
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
      if (!options.observes) obey(orders, it);
      it.tick(now());
      events.write();
      if (!options.observes && it.scheduler() != nullptr) files.write(it.remembers(), settings.name);
      if (ticks == 0 || files.is_due()) show();
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
          it.log_events({});
          if (events.is_open()) it.log_events(log_event);
        }
        it.reconfigure(std::move(*again.value));
      } else {
        it.note_refused_config(again.problems);
        for (const std::string& p : again.problems) it.log()("config", {{"state", "refused"}, {"why", p}});
      }
    }
  }
  if (!options.observes && it.scheduler() != nullptr) files.write(it.remembers(), settings.name, true);
  if (is_ready) show();
  return 0;
}

}  // namespace allot_slurm
