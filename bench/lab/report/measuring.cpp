// SPDX-License-Identifier: BSL-1.0
#include <allot/core/vector.hpp>

#include "lab/report/measuring.hpp"

#include "lab/io/time_text.hpp"
#include "lab/report/result_files.hpp"

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

/// Returns nullopt if the text is empty, or is not a time; the latter is reported in `found`.
std::optional<instant> read_span(std::string_view text, const char* option, errors& found) {
  if (text.empty()) return std::nullopt;
  const auto time = read_time(text);
  if (!time) {
    found.add(option, {}, "expected " + std::string{time_forms} + ", found \"" + std::string{text} + '"');
  }
  return time;
}

}  // namespace

measuring read_measuring(const measuring_options& options, errors& found) {
  const std::size_t before = found.size();
  measuring m;
  if (!options.window.empty()) {
    const std::string_view text = options.window;
    const std::size_t comma = text.find(',');
    if (comma == std::string_view::npos || text.size() == 1) {
      found.add("--window", {},
                "expected FROM,TO (either may be left out), as in \"3600,86400\" or \"12h,\", found \"" +
                    options.window + '"');
    } else {
      m.from = read_span(text.substr(0, comma), "--window", found);
      m.to = read_span(text.substr(comma + 1), "--window", found);
      if (m.from && m.to && *m.from >= *m.to) {
        found.add("--window", {},
                  "expected a time that is after " + std::string{text.substr(0, comma)} + ", found \"" +
                      std::string{text.substr(comma + 1)} + '"');
      }
    }
  }
  m.warm_up = read_span(options.warm_up, "--warm-up", found).value_or(m.warm_up);
  m.grace = read_span(options.grace, "--grace", found).value_or(m.grace);
  m.no_drain = options.no_drain;
  m.isolated = options.isolated;
  if (found.size() == before) {
    if (std::string nothing = nothing_measured(m, std::nullopt); !nothing.empty()) {
      found.add("--warm-up", {}, std::move(nothing));
    }
  }
  return m;
}

vector<std::pair<std::string_view, std::string>> window_options(const measuring& m) {
  vector<std::pair<std::string_view, std::string>> options;
  if (m.from || m.to) {
    options.emplace_back("window", (m.from ? decimal(*m.from) : "") + ',' + (m.to ? decimal(*m.to) : ""));
  }
  if (m.warm_up > 0) options.emplace_back("warm_up", decimal(m.warm_up));
  if (m.no_drain) options.emplace_back("no_drain", "true");
  return options;
}

std::string window_text(const measuring& m) {
  std::string text;
  const auto add = [&text](std::string_view part) { text.append(text.empty() ? "" : ", ").append(part); };
  if (m.from && m.to) {
    add("from " + time_text(*m.from) + " to " + time_text(*m.to));
  } else if (m.from) {
    add("from " + time_text(*m.from) + " on");
  } else if (m.to) {
    add("up to " + time_text(*m.to));
  }
  if (m.warm_up > 0) add("without the first " + time_text(m.warm_up));
  if (m.no_drain) add("up to the last submission");
  return text;
}

std::string nothing_measured(const measuring& m, std::optional<instant> until) {
  std::string nothing = "nothing would be measured: ";
  // The first submission is not before time 0.
  if (m.to && m.warm_up >= *m.to) {
    return nothing + "the window ends at " + time_text(*m.to) + ", and the first " + time_text(m.warm_up) +
           " are left out";
  }
  if (!until) return {};
  if (m.from && *m.from >= *until) {
    return nothing + "the window begins at " + time_text(*m.from) + ", and the replay ends at " +
           time_text(*until);
  }
  if (m.warm_up >= *until && m.warm_up > 0) {
    return nothing + "the first " + time_text(m.warm_up) + " are left out, and the replay ends at " +
           time_text(*until);
  }
  return {};
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
