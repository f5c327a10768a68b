// SPDX-License-Identifier: BSL-1.0
#include "governor/src/journal.hpp"

#include <allot/scheduler/state_text.hpp>

#include <boost/json.hpp>

#include <exception>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace allot_governor {

namespace json = boost::json;

namespace {

constexpr std::string_view format = "allot-journal/1";
constexpr std::string_view former_format = "allot-slurm-journal/2";
constexpr std::int64_t oldest_ms = 24 * 3600 * std::int64_t{1000};

[[nodiscard]] std::string checksum(std::string_view text) {
  std::uint64_t h = 0xcbf29ce484222325U;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  std::string digits;
  for (int i = 60; i >= 0; i -= 4) digits += "0123456789abcdef"[h >> static_cast<unsigned>(i) & 15U];
  return digits;
}

[[nodiscard]] json::object of(const job_identity& j) {
  return {{"job", j.name}, {"uid", j.uid}};
}
[[nodiscard]] job_identity identity(const json::object& o) {
  job_identity j{json::value_to<std::string>(o.at("job")), json::value_to<std::string>(o.at("uid"))};
  if (j.name.empty()) throw std::invalid_argument{"a job without a name"};
  return j;
}
/// A job of the state: "12_3@1700000000".
[[nodiscard]] std::string name_of(const job_identity& j) {
  return j.name + '@' + j.uid;
}
[[nodiscard]] std::optional<job_identity> identity_of(const std::string& name) {
  const std::size_t at = name.rfind('@');
  if (at == std::string::npos || at == 0) return std::nullopt;
  return job_identity{name.substr(0, at), name.substr(at + 1)};
}

/// One of allot-slurm before all hosts had the same, in the present form.
void renew(json::object& o) {
  for (const char* list : {"leaving", "backoffs"}) {
    for (json::value& v : o.at(list).as_array()) {
      json::object& j = v.as_object();
      j["uid"] = json::serialize(j.at("submitted"));
      if (const auto* warned = j.if_contains("warned")) j["since"] = *warned;
      std::string own;
      for (const char* word : {"had_victims", "spent", "impossible"}) {
        if (j.contains(word) && j.at(word).as_bool()) own.append(word).append(1, ',');
      }
      const auto* const needs = j.if_contains("needs");
      if (needs != nullptr && *needs != 0) own += *needs == 1 ? "needs_time" : "needs_somebody";
      j["own"] = own;
    }
  }
}

[[nodiscard]] memory read(const json::object& o) {
  memory m;
  for (const auto& v : o.at("leaving").as_array()) {
    m.leaving.push_back({identity(v.as_object()), v.at("since").to_number<milliseconds>()});
  }
  for (const auto& v : o.at("backoffs").as_array()) {
    m.backoffs.push_back({identity(v.as_object()), v.at("until").to_number<milliseconds>(),
                          v.at("failures").to_number<std::uint32_t>(),
                          json::value_to<std::string>(v.at("own"))});
  }
  if (const auto* text = o.if_contains("state")) {
    auto state = allot::state_from_text<job_identity, std::vector<node_share>>(
        json::value_to<std::string>(*text), identity_of, parse_shares);
    if (!state) throw std::invalid_argument{state.problems().front().text};
    m.state = std::move(state).value();
  }
  return m;
}

}  // namespace

std::string journal_text(const memory& m, const std::string& cluster, std::int64_t now) {
  json::object o{{"format", format}, {"cluster", cluster}, {"written", now}};
  json::array& leaving = o["leaving"].emplace_array();
  for (const auto& l : m.leaving) {
    json::object v = of(l.job);
    v["since"] = l.since;
    leaving.push_back(std::move(v));
  }
  json::array& backoffs = o["backoffs"].emplace_array();
  for (const auto& b : m.backoffs) {
    json::object v = of(b.job);
    v["until"] = b.until;
    v["failures"] = b.failures;
    v["own"] = b.own;
    backoffs.push_back(std::move(v));
  }
  if (m.state) o["state"] = to_text(*m.state, name_of, [](const auto& where) { return to_string(where); });
  const std::string line = json::serialize(o);
  return line + '\n' + checksum(line) + '\n';
}

bool decides_the_same(const memory& a, const memory& b) {
  if (a.leaving != b.leaving || a.backoffs != b.backoffs || a.state.has_value() != b.state.has_value())
    return false;
  if (!a.state) return true;
  const auto &x = a.state->memory, &y = b.state->memory;
  return x.leaving == y.leaving && x.nominated == y.nominated && x.reservations == y.reservations &&
         x.backoffs == y.backoffs && x.of_cycle.announced == y.of_cycle.announced;
}

journal_reading parse_journal(const std::string& text, const std::string& cluster, std::int64_t now) {
  const std::size_t end = text.find('\n');
  if (end == std::string::npos || text.substr(end + 1) != checksum(text.substr(0, end)) + '\n') {
    return {std::nullopt, "it is damaged"};
  }
  try {
    json::value v = json::parse(text.substr(0, end));
    json::object& o = v.as_object();
    if (o.at("format").as_string() == former_format) {
      renew(o);
    } else if (o.at("format").as_string() != format) {
      return {std::nullopt, "it is of another version (" + json::value_to<std::string>(o.at("format")) + ')'};
    }
    if (o.at("cluster").as_string() != cluster) {
      return {std::nullopt, "it is of the cluster " + json::value_to<std::string>(o.at("cluster"))};
    }
    const auto written = o.at("written").to_number<std::int64_t>();
    if (now - written > oldest_ms) return {std::nullopt, "it is more than a day old"};
    if (written - now > oldest_ms) return {std::nullopt, "it is from the future"};
    return {read(o), {}};
  } catch (const std::exception& e) {
    return {std::nullopt, std::string{"it can't be read: "} + e.what()};
  }
}

}  // namespace allot_governor
