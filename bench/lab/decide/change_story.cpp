// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/change_story.hpp>

#include "lab/report/result_files.hpp"

#include <allot/lab/decimal.hpp>
#include <allot/lab/json_writer.hpp>
#include <allot/lab/printable.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

namespace allot {
inline namespace v0 {
namespace lab {

std::optional<asked_change> read_change(std::string_view text, std::string& problem) {
  const auto wrong = [&](std::string_view expected) {
    problem = fmt::format("expected {}", expected);
    return std::nullopt;
  };
  const std::size_t first = text.find(':');
  const std::size_t last = text.rfind(':');
  const std::string_view kind = text.substr(0, first);
  if (first == last || (kind != "quota" && kind != "job" && kind != "node")) {
    return wrong("quota:NAME:gpu+8, job:NAME:priority=5, job:NAME:gone or node:NAME:gone");
  }
  asked_change c;
  c.name = text.substr(first + 1, last - first - 1);
  const std::string_view what = text.substr(last + 1);
  if (kind == "quota") {
    const std::size_t sign = what.find_last_of("+-");
    const parsed_milli amount =
        sign == std::string_view::npos ? parsed_milli{} : parse_milli(what.substr(sign + 1));
    if (sign == std::string_view::npos || amount.problem != decimal_problem::none || amount.value < 0)
      return wrong("a resource, + or -, and an amount, as in \"gpu+8\"");
    c.resource = what.substr(0, sign);
    c.by = quantity::milli(what[sign] == '+' ? amount.value : -amount.value);
    return c;
  }
  c.what = kind == "node" ? asked_change::kind::node_gone : asked_change::kind::job_gone;
  if (what == "gone") return c;
  if (kind == "node") return wrong("node:NAME:gone");
  constexpr std::string_view before = "priority=";
  c.what = asked_change::kind::priority;
  const char* const end = what.data() + what.size();
  const auto [after, error] =
      std::from_chars(what.data() + std::min(before.size(), what.size()), end, c.priority);
  if (what.substr(0, before.size()) != before || error != std::errc{} || after != end)
    return wrong("a whole number, as in \"priority=5\"");
  return c;
}

std::string to_text(const change_story& story, std::string (*time)(instant)) {
  constexpr std::array<std::string_view, change_story::lists> heads = {
      "start",           "do not start", "have to go",  "do not have to go", "have more pods",
      "have fewer pods", "start sooner", "start later", "wait, and why"};
  std::string text;
  for (std::size_t i = 0; i < story.jobs.size(); ++i) {
    if (!story.jobs[i].empty()) text += fmt::format("These {}:\n", heads[i]);
    for (const change_story::job& j : story.jobs[i]) {
      std::string line = fmt::format("{} ({})", j.id, j.quota);
      for (std::size_t k = 0; k < j.nodes.size(); ++k) line += (k == 0 ? " on " : ", ") + j.nodes[k];
      const auto at = [&](instant t) { return t == without_end ? "no known time" : time(t); };
      if (change_story::names[i] == "sooner" || change_story::names[i] == "later")
        line += fmt::format(" by {} instead of {}", at(j.start), at(j.was_start));
      if (change_story::names[i] == "waits")
        line += ": " + (j.text.empty() ? std::string{to_string(j.is)} : j.text);
      text += "  " + printable(line) + '\n';
    }
  }
  if (text.empty()) text = "Nothing would be otherwise.\n";
  if (!story.at_rest) text += "This is not all: jobs would evict one another again and again.\n";
  return text;
}

std::string to_json(const change_story& story, std::span<const std::string> changes) {
  json_writer out;
  out.begin_object().member("format", "allot-change/1").key("if").begin_array();
  for (const std::string& c : changes) out.value(c);
  out.end_array();
  for (std::size_t i = 0; i < story.jobs.size(); ++i) {
    const std::string_view name = change_story::names[i];
    out.key(name).begin_array();
    for (const change_story::job& j : story.jobs[i]) {
      out.begin_object().member("id", j.id).member("quota", j.quota);
      if (name == "started") {
        out.key("nodes").begin_array();
        for (const std::string& node : j.nodes) out.value(node);
        out.end_array();
      }
      const auto time = [&](std::string_view key, instant at) {
        out.key(key);
        at == without_end ? out.null() : out.raw(decimal(at));
      };
      if (name == "sooner" || name == "later") time("was_start_s", j.was_start), time("start_s", j.start);
      if (name == "waits") {
        out.member("was", to_string(j.was)).member("reason", to_string(j.is)).member("text", j.text);
      }
      out.end_object();
    }
    out.end_array();
  }
  return out.member("at_rest", story.at_rest).end_object().text();
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
