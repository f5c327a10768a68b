// SPDX-License-Identifier: BSL-1.0
#include "governor/src/shares.hpp"

#include "governor/src/snapshot_text.hpp"

#include <allot/core/text.hpp>
#include <allot/lab/text_table.hpp>

#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

namespace allot_governor {

namespace json = boost::json;

namespace {

[[nodiscard]] std::string text_of(const json::object& from, std::string_view key) {
  const json::value* const v = from.if_contains(key);
  if (v == nullptr || v->is_null()) return {};
  return v->is_string() ? std::string{v->get_string()} : json::serialize(*v);
}

[[nodiscard]] std::string amount_of(const json::object& quota, std::string_view key,
                                    const std::string& resource) {
  const json::value* const row = quota.if_contains(key);
  const std::string text = row != nullptr && row->is_object() ? text_of(row->get_object(), resource) : "";
  return text.empty() ? "-" : text;
}

/// As the configuration says now: the governor may not have read it yet.
[[nodiscard]] std::string weight_of(const allot::lab::quotas_file& c, const std::string& quota,
                                    const std::string& resource) {
  const auto d = static_cast<std::size_t>(std::find(c.resources.begin(), c.resources.end(), resource) -
                                          c.resources.begin());
  for (const auto& q : c.quotas) {
    if (q.spec.name == quota && d < c.resources.size())
      return to_string(allot::quantity::milli(q.spec.weight[d].in_milli()));
  }
  return "-";
}

}  // namespace

std::string shares_text(std::string_view status, const allot::lab::quotas_file& c) {
  json::error_code wrong;
  const json::value all = json::parse(status, wrong);
  const json::object* const top = wrong ? nullptr : all.if_object();
  const auto list = [&](std::string_view key) {
    const json::value* const v = top == nullptr ? nullptr : top->if_contains(key);
    return v == nullptr ? nullptr : v->if_array();
  };
  const json::array* const quotas = list("quotas");
  const json::array* const resources = list("resources");
  if (quotas == nullptr || resources == nullptr) return {};
  // The tree alone.
  snapshot s;
  std::map<std::string, std::size_t> index;
  std::vector<const json::object*> rows;
  for (const json::value& q : *quotas) {
    if (!q.is_object()) return {};
    rows.push_back(&q.get_object());
    index.emplace(text_of(*rows.back(), "name"), s.quotas.size());
    s.quotas.emplace_back().name = text_of(*rows.back(), "name");
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (const auto at = index.find(text_of(*rows[i], "parent")); at != index.end())
      s.quotas[i].parent = at->second;
  }
  constexpr std::array columns{std::pair{"nominal", "nominal"}, std::pair{"entitled", "fair share"},
                               std::pair{"used", "used"},       std::pair{"borrowed", "borrowed"},
                               std::pair{"lent", "lent"},       std::pair{"requested", "wants"}};
  std::string text;
  for (const json::value& r : *resources) {
    if (!r.is_string()) return {};
    const std::string resource{r.get_string()};
    std::vector<std::string> head{"quota", "weight"};
    for (const auto& [key, name] : columns) head.emplace_back(name);
    allot::lab::text_table table{std::move(head)};
    for (const tree_line& line : tree_order(s)) {
      const std::string& name = s.quotas[line.quota].name;
      std::vector<std::string> row{
          std::string(2 * std::min<std::size_t>(line.depth, 10), ' ') + shown_text(name, 40),
          weight_of(c, name, resource)};
      for (const auto& [key, title] : columns) row.push_back(amount_of(*rows[line.quota], key, resource));
      table.add(std::move(row));
    }
    text += (text.empty() ? "" : "\n") + shown_text(resource) + '\n' + table.text(100);
  }
  return text;
}

}  // namespace allot_governor
