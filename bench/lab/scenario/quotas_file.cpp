// SPDX-License-Identifier: BSL-1.0
#include "lab/scenario/scenario_reader.hpp"

#include <allot/lab/quotas_file.hpp>

#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

/// The scenario that consists of these keys.
[[nodiscard]] std::optional<scenario> read_keys(json_value root, const std::string& name,
                                                std::string_view own_key, errors& found) {
  scenario s;
  s.file = name;
  json_object top{root, found};
  if (const auto said = top.find("format"); said && said->text() != "allot-scenario/1") {
    said->report(found, "expected \"allot-scenario/1\" or no format, found " + said->shown());
  }
  static_cast<void>(top.find(own_key));
  scenario_reader reader{s, found};
  reader.read_resources(top);
  if (s.resources.empty()) return std::nullopt;
  reader.read_policy(top);
  static_cast<void>(top.require("quotas"));
  const std::size_t before = found.size();
  reader.read_quotas(top);
  if (found.size() == before && s.quotas.empty()) found.add(name, "/quotas", "expected at least one quota");
  reader.check_quotas();
  for (std::size_t i = 0; i < s.quotas.size(); ++i) {
    if (s.quotas[i].time_limits.empty()) continue;
    found.add(name, "/quotas/" + std::to_string(i) + "/time_limit_s",
              "a host limits the time of its jobs itself (expected no time limits here)");
  }
  if (found.empty()) reader.check_settings();
  top.reject_unknown();
  if (!found.empty()) return std::nullopt;
  reader.finish();
  return s;
}

}  // namespace

quotas_file_reading parse_quotas_file(std::string_view text, const std::string& name,
                                      std::string_view own_key) {
  errors found;
  quotas_file_reading reading;
  std::optional<scenario> s;
  const auto document = json_document::parse(name, text, found);
  if (document && expect_object(document->root(), found)) {
    s = read_keys(document->root(), name, own_key, found);
  }
  const auto policy = s ? s->policy.policy() : std::nullopt;
  if (!policy) {
    for (const errors::error& e : found.kept()) {
      reading.problems.push_back(e.file + ": " + (e.place.empty() ? "" : e.place + ": ") + e.text);
    }
    return reading;
  }
  quotas_file file{.resources = s->resources, .policy = *policy};
  file.policy_name = s->policy.full_name();
  file.placement = s->policy.placement;
  file.seed = s->policy.seed;
  const auto specs = given_quotas(*s);
  const auto settings = settings_of(*s);
  for (std::size_t i = 0; i < s->initial_quotas; ++i) {
    file.quotas.push_back({specs[i], settings[i], s->quotas[i].access});
  }
  reading.value.emplace(std::move(file));
  return reading;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
