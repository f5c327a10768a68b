// SPDX-License-Identifier: BSL-1.0
#include "governor/src/commands.hpp"

#include "governor/src/clock.hpp"
#include "governor/src/lock.hpp"
#include "governor/src/log.hpp"
#include "governor/src/orders.hpp"
#include "governor/src/replay.hpp"
#include "governor/src/shares.hpp"
#include "governor/src/what_if.hpp"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <system_error>

namespace allot_governor {

namespace {

constexpr const char* unreadable_status = "status.json can't be read: another version has written it";

/// The name of who runs this, also behind sudo.
[[nodiscard]] std::string operator_name() {
  const char* const before = std::getenv("SUDO_USER");
  if (before != nullptr && *before != '\0') return before;
  const passwd* const user = getpwuid(getuid());
  return user == nullptr ? std::to_string(getuid()) : std::string{user->pw_name};
}

}  // namespace

int complain(const host_words& words, const std::vector<std::string>& problems) {
  for (const std::string& p : problems) std::cerr << words.program() << ": " << p << '\n';
  return bad_usage_status;
}

int commands::say(const std::string& finding) const {
  static_cast<void>(complain(words_, {finding}));
  return finding_status;
}

bool commands::is_governed() const {
  lock only;
  return !only.take(directory_ + "/lock").empty();
}

/// What the governor has written last; empty, and a complaint, if there is nothing.
std::string commands::last_status(const std::string& name) const {
  const std::string path = directory_ + name;
  // That of a governor that only observes has an ending of its own.
  std::filesystem::path newest;
  std::filesystem::file_time_type written{};
  for (const char* ending : {"", ".observe"}) {
    std::error_code missing;
    const auto at = std::filesystem::last_write_time(path + ending, missing);
    if (missing || (!newest.empty() && at <= written)) continue;
    newest = path + ending;
    written = at;
  }
  std::ifstream in{newest};
  if (!in) {
    static_cast<void>(say(path + " is not there: no governor has run with this configuration"));
    return {};
  }
  const auto age = std::filesystem::file_time_type::clock::now() - written;
  if (age > std::chrono::milliseconds{60'000 + 3 * poll_ms_}) {
    const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(age).count();
    static_cast<void>(say("that was " + std::to_string(minutes) + " minutes ago: no governor runs, or " +
                          std::string{words_.server} + " does not answer it"));
  }
  return {std::istreambuf_iterator<char>{in}, {}};
}

int commands::status(bool as_json, const job_filter& filter) const {
  if (filter == job_filter{}) {
    const std::string text = last_status(as_json ? "/status.json" : "/status.txt");
    std::cout << text;
    return text.empty() ? finding_status : 0;
  }
  const std::string text = last_status("/status.json");
  if (text.empty()) return finding_status;
  auto s = read_status(text, words_);
  if (!s) return complain(words_, {unreadable_status});
  const auto is_it = [&](const snapshot::quota& q) { return q.name == filter.quota; };
  if (!filter.quota.empty() && std::none_of(s->quotas.begin(), s->quotas.end(), is_it))
    return complain(words_, {"there is no quota " + escaped(filter.quota)});
  keep_only(*s, filter);
  std::cout << status_text(*s, {.most_jobs = snapshot::most_waiting, .with_running = true});
  return 0;
}

int commands::shares(const allot::lab::quotas_file& quotas) const {
  const std::string text = last_status("/status.json");
  if (text.empty()) return finding_status;
  const std::string table = shares_text(text, quotas);
  if (table.empty()) return complain(words_, {unreadable_status});
  std::cout << table;
  return 0;
}

int commands::why(const job_name& job) const {
  const std::string text = last_status("/status.json");
  if (text.empty()) return finding_status;
  const auto s = read_status(text, words_);
  if (!s) return complain(words_, {unreadable_status});
  const std::string answer = why_text(*s, job);
  if (answer.empty()) {
    return say(job + ": no such job is governed, or more than " + std::to_string(snapshot::most_waiting) +
               " wait before it: its " + std::string{words_.comment} + " says why");
  }
  std::cout << answer;
  return 0;
}

std::optional<freeze_order> make_freeze(const host_words& words, const std::string& span,
                                        const std::string& why) {
  freeze_order order{.since = now().wall, .by = operator_name(), .why = why};
  if (span.empty()) return order;
  if (const auto lasts = parse_span(span)) {
    order.until = order.since + *lasts;
    return order;
  }
  static_cast<void>(complain(words, {"--for: expected a time like 90s, 30m, 2h or 1d"}));
  return std::nullopt;
}

int commands::freeze(const std::string& span, const std::string& why) const {
  const auto order = make_freeze(words_, span, why);
  if (!order) return bad_usage_status;
  if (const std::string why_not = order_files{directory_}.ask(*order); !why_not.empty())
    return complain(words_, {why_not});
  std::cout << (is_governed() ? "from its next tick on the governor is "
                              : "no governor runs; the next one is ")
            << sentence(*order) << '\n';
  return 0;
}

int commands::thaw() const {
  std::string problem = "it is not frozen";
  return order_files{directory_}.thaw(problem) ? 0 : say(problem);
}

int commands::start(const job_name& job) const {
  if (!is_governed()) return say("no governor runs");
  if (const std::string why = order_files{directory_}.ask(start_order{job, operator_name()}); !why.empty())
    return complain(words_, {why});
  std::cout << "asked for; the log and `" << words_.program() << " why " << job
            << "` say what becomes of it\n";
  return 0;
}

int what_if(const host_words& words, const std::string& events_file, const std::vector<std::string>& changes,
            bool as_json) {
  std::ifstream in{events_file};
  if (!in)
    return complain(words, {events_file + ": can't be read: no governor has run with this configuration"});
  const what_if_answer answer = what_if(in, changes, as_json);
  if (!answer.unreadable.empty()) return complain(words, {events_file + ": " + answer.unreadable});
  if (!answer.problems.empty()) return complain(words, answer.problems);
  if (!as_json) std::cout << "As of " << time_text(answer.asked_at) << ":\n";
  std::cout << answer.text;
  return 0;
}

int replay_log(const host_words& words, const std::optional<std::string>& config_text,
               const std::string& events_file) {
  std::ifstream in{events_file};
  if (!in) return complain(words, {events_file + ": can't be read (expected a log of events)"});
  const replay_result r = replay(in, config_text);
  if (!r.problem.empty()) return complain(words, {events_file + ": " + r.problem});
  std::cout << r.schedulers << " schedulers, " << r.events << " events, " << r.cycles << " cycles, "
            << r.plans << " with a plan: " << (r.differences.empty() ? "all the same" : "not the same")
            << '\n';
  for (const std::string& d : r.differences) std::cout << d << '\n';
  return r.differences.empty() ? 0 : finding_status;
}

}  // namespace allot_governor
