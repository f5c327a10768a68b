// SPDX-License-Identifier: BSL-1.0
#include "governor/src/state_files.hpp"

#include "governor/src/clock.hpp"
#include "governor/src/journal.hpp"
#include "governor/src/metrics.hpp"
#include "governor/src/page.hpp"
#include "governor/src/replace_file.hpp"
#include "governor/src/status.hpp"

#include <sys/stat.h>

#include <fstream>
#include <iterator>
#include <utility>

namespace allot_governor {

void make_directories(const std::string& path) {
  for (std::size_t i = 1; i <= path.size(); ++i) {
    if (i == path.size() || path[i] == '/') static_cast<void>(::mkdir(path.substr(0, i).c_str(), 0755));
  }
}

std::optional<memory> state_files::read(const std::string& cluster, decision_log& log) const {
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

void state_files::write(const memory& m, const std::string& cluster, bool at_once) {
  constexpr std::int64_t usage_ms = 10'000;
  const std::int64_t at = ms_of(CLOCK_MONOTONIC);
  if (written_ && *written_ == m) return;
  if (!at_once && written_ && decides_the_same(m, *written_) && at - written_at_ < usage_ms) return;
  problem_ = replace_file(journal_, journal_text(m, cluster, now().wall));
  if (!problem_.empty()) return;
  written_ = m;
  written_at_ = at;
}

bool state_files::is_due() const {
  constexpr std::int64_t page_ms = 3000;
  return ms_of(CLOCK_MONOTONIC) - shown_at_ >= page_ms;
}

void state_files::show(const snapshot& s, const std::string& page, const std::string& metrics) {
  shown_at_ = ms_of(CLOCK_MONOTONIC);
  const std::string suffix = s.observes ? ".observe" : "";
  put(directory_ + "/status.txt" + suffix, status_text(s));
  put(directory_ + "/status.json" + suffix, status_json(s));
  // One that only observes does not speak for one that acts.
  if (!page.empty() && !s.observes) {
    remember(s);
    constexpr unsigned refresh_s = 5;
    put(page, page_of(s, refresh_s, *past_));
  }
  if (!metrics.empty() && !s.observes) put(metrics, metrics_of(s));
}

void state_files::remember(const snapshot& s) {
  constexpr std::int64_t history_ms = 60'000;
  if (!past_ || past_of_ != s.cluster) {
    std::ifstream in{history_, std::ios::binary};
    past_ = parse_history({std::istreambuf_iterator<char>{in}, {}}, s.cluster).value_or(history{});
    past_of_ = s.cluster;
    past_written_at_ = shown_at_;
  }
  past_->add(s);
  // A crash costs a minute of it.
  if (shown_at_ - past_written_at_ >= history_ms) write_history();
}

void state_files::write_history() {
  put(history_, history_text(*past_, past_of_));
  past_written_at_ = shown_at_;
}

state_files::~state_files() {
  if (past_) write_history();
}

void state_files::complain(decision_log& log) {
  if (problem_ != said_ && !problem_.empty()) log("journal", {{"state", "not written"}, {"why", problem_}});
  said_ = problem_;
}

void state_files::put(const std::string& path, const std::string& text) {
  if (const std::string why_not = replace_file(path, text, false); !why_not.empty()) problem_ = why_not;
}

}  // namespace allot_governor
