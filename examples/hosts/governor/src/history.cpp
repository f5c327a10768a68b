// SPDX-License-Identifier: BSL-1.0
#include "governor/src/history.hpp"

#include "governor/src/snapshot_text.hpp"

#include <boost/json.hpp>

#include <algorithm>
#include <exception>
#include <map>
#include <set>
#include <utility>

namespace allot_governor {

namespace json = boost::json;

namespace {

constexpr std::string_view format = "allot-history/1";

/// Amounts beyond this are no GPUs, and their sums would not fit.
constexpr std::int64_t most_milli = 1'000'000'000'000;

/// In a resource that the chart shows, what the own jobs of a quota use.
[[nodiscard]] std::vector<std::int64_t> own_use(const snapshot& s) {
  const std::vector<std::size_t> charted = charted_resources(s);
  std::vector<std::int64_t> used(s.quotas.size());
  for (std::size_t x = 0; x < used.size(); ++x) {
    std::int64_t sum = 0;
    for (const std::size_t d : charted)
      sum += std::clamp<std::int64_t>(amount_of(s.quotas[x].used, d).in_milli(), 0, most_milli);
    used[x] += sum;
    if (const auto parent = s.quotas[x].parent; parent && *parent < used.size()) used[*parent] -= sum;
  }
  return used;
}

void add_up(history::step& to, const history::step& more) {
  to.samples += more.samples;
  to.capacity += more.capacity;
  to.outside += more.outside;
  to.waiting += more.waiting;
  to.evictions += more.evictions;
  for (const auto& [quota, used] : more.used) to.used[quota] += used;
}

}  // namespace

bool is_gpu(std::string_view resource) {
  return resource == "gpu" || resource.ends_with("/gpu");
}

std::vector<std::size_t> charted_resources(const snapshot& s) {
  std::vector<std::size_t> charted;
  for (std::size_t d = 0; d < s.resources.size(); ++d) {
    if (is_gpu(s.resources[d])) charted.push_back(d);
  }
  if (charted.empty() && !s.resources.empty()) charted.push_back(0);
  return charted;
}

std::vector<history::step> merged(std::vector<history::step> steps, milliseconds length) {
  std::vector<history::step> longer;
  for (history::step& s : steps) {
    s.begin = s.begin / length * length;
    if (!longer.empty() && longer.back().begin == s.begin) {
      add_up(longer.back(), s);
    } else {
      longer.push_back(std::move(s));
    }
  }
  return longer;
}

void history::add(const snapshot& s) {
  if (s.is_away) return;
  const std::uint64_t reclaimed = s.since_start.reclaimed;
  step now;
  now.samples = 1;
  now.waiting = static_cast<std::int64_t>(count_in(s, job_phase::waiting));
  // A governor counts from zero.
  now.evictions = static_cast<std::int64_t>(reclaimed - (reclaimed >= reclaimed_ ? reclaimed_ : 0));
  reclaimed_ = reclaimed;
  for (const auto& n : s.nodes) {
    if (n.state == "up") now.capacity += static_cast<std::int64_t>(n.gpus) * 1000;
    for (const auto& u : n.used) now.outside += u.quota ? 0 : static_cast<std::int64_t>(u.gpus) * 1000;
  }
  const std::vector<std::int64_t> used = own_use(s);
  for (std::size_t x = 0; x < used.size(); ++x) {
    if (used[x] > 0) now.used[index_of(s.quotas[x].name)] += used[x];
  }
  // The clock may have been set back: what was to come has not been.
  while (!steps_.empty() && steps_.back().begin > s.now) steps_.pop_back();
  now.begin = s.now / length_ * length_;
  if (!steps_.empty() && steps_.back().begin == now.begin) {
    add_up(steps_.back(), now);
    return;
  }
  steps_.push_back(std::move(now));
  const auto is_too_long = [this] {
    return (steps_.back().begin - steps_.front().begin) / length_ >= static_cast<milliseconds>(most_steps);
  };
  while (is_too_long() && length_ < last_step) {
    length_ *= 2;
    steps_ = merged(std::move(steps_), length_);
  }
  while (is_too_long()) steps_.erase(steps_.begin());
  forget_quotas();
}

std::size_t history::index_of(const std::string& quota) {
  const auto [at, is_new] = index_.emplace(quota, quotas_.size());
  if (is_new) quotas_.push_back(quota);
  return at->second;
}

void history::name_quotas(std::vector<std::string> names) {
  quotas_ = std::move(names);
  index_.clear();
  for (std::size_t i = 0; i < quotas_.size(); ++i) index_.emplace(quotas_[i], i);
}

/// Names of quotas that were renamed or removed do not pile up.
void history::forget_quotas() {
  constexpr std::size_t few = 64;
  if (quotas_.size() <= few) return;
  std::set<std::size_t> kept;
  for (const step& s : steps_) {
    for (const auto& u : s.used) kept.insert(u.first);
  }
  if (kept.size() * 2 > quotas_.size()) return;
  const std::vector<std::string> names = std::move(quotas_);
  name_quotas({});
  for (step& s : steps_) {
    std::map<std::size_t, std::int64_t> used;
    for (const auto& u : s.used) used[index_of(names[u.first])] += u.second;
    s.used = std::move(used);
  }
}

std::string history_text(const history& h, const std::string& cluster) {
  json::object o{{"format", format}, {"cluster", utf8_text(cluster)}, {"step_ms", h.length_}};
  json::array& quotas = o["quotas"].emplace_array();
  for (const std::string& q : h.quotas_) quotas.emplace_back(utf8_text(q));
  json::array& steps = o["steps"].emplace_array();
  for (const history::step& s : h.steps_) {
    json::array row{s.begin, s.samples, s.capacity, s.outside, s.waiting, s.evictions};
    for (const auto& [quota, used] : s.used) {
      row.emplace_back(quota);
      row.emplace_back(used);
    }
    steps.push_back(std::move(row));
  }
  return json::serialize(o) + '\n';
}

std::optional<history> parse_history(const std::string& text, const std::string& cluster) {
  try {
    const json::value v = json::parse(text);
    const json::object& o = v.as_object();
    if (o.at("format").as_string() != format || o.at("cluster").as_string() != utf8_text(cluster))
      return std::nullopt;
    history h;
    h.length_ = o.at("step_ms").to_number<milliseconds>();
    if (h.length_ < history::first_step || h.length_ > history::last_step) return std::nullopt;
    h.name_quotas(json::value_to<std::vector<std::string>>(o.at("quotas")));
    constexpr std::size_t fixed = 6;
    for (const json::value& row : o.at("steps").as_array()) {
      const json::array& a = row.as_array();
      const auto number = [&a](std::size_t i) { return a.at(i).to_number<std::int64_t>(); };
      history::step s{number(0), number(1), number(2), number(3), number(4), number(5), {}};
      if (s.samples <= 0 || (!h.steps_.empty() && s.begin <= h.steps_.back().begin)) return std::nullopt;
      for (std::size_t i = fixed; i < a.size(); i += 2) {
        const auto quota = a.at(i).to_number<std::size_t>();
        if (quota >= h.quotas_.size()) return std::nullopt;
        s.used.emplace(quota, number(i + 1));
      }
      h.steps_.push_back(std::move(s));
    }
    if (h.steps_.size() > history::most_steps) return std::nullopt;
    return h;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace allot_governor
