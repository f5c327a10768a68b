// SPDX-License-Identifier: BSL-1.0
#include "governor/src/events_log.hpp"

#include <allot/scheduler/state_text.hpp>

#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>

namespace allot_governor {

namespace json = boost::json;

namespace {

constexpr std::string_view events_format = "allot-events/3";

constexpr std::array<std::string_view, 17> words{
    "submit",  "adopt",  "alter", "evicting",     "started",    "finished",
    "evicted", "cancel", "close", "open",         "foreign",    "foreign_gone",
    "resume",  "freeze", "thaw",  "start_failed", "not_evicted"};

[[nodiscard]] json::array of(const std::vector<node_share>& where) {
  json::array a;
  for (const node_share& s : where) a.push_back(json::array{s.node, s.gpus, s.cpus});
  return a;
}
[[nodiscard]] std::vector<node_share> shares_of(const json::value& v) {
  std::vector<node_share> all;
  for (const auto& s : v.as_array()) {
    all.push_back({json::value_to<std::string>(s.at(0)), s.at(1).to_number<std::uint32_t>(),
                   s.at(2).to_number<std::uint32_t>()});
  }
  return all;
}

/// A member of a type, and its name in the log.
template <class T, class M>
struct member {
  const char* name;
  M T::*at;
};
template <class T, class M>
member(const char*, M T::*) -> member<T, M>;

// What is written and what is read of a type is one list.

template <class T>
inline constexpr std::tuple<> members{};
template <>
inline constexpr std::tuple members<allot::gpu::pod_request>{
    member{"gpus", &allot::gpu::pod_request::gpus},
    member{"pods", &allot::gpu::pod_request::pods},
    member{"total", &allot::gpu::pod_request::total},
    member{"pools", &allot::gpu::pod_request::pools},
    member{"models", &allot::gpu::pod_request::models},
    member{"cpu_milli", &allot::gpu::pod_request::cpu_milli},
    member{"memory_mib", &allot::gpu::pod_request::memory_mib},
    member{"gpu_memory_mib", &allot::gpu::pod_request::gpu_memory_mib},
    member{"devices", &allot::gpu::pod_request::devices},
    member{"required_level", &allot::gpu::pod_request::required_level},
    member{"preferred_level", &allot::gpu::pod_request::preferred_level}};
template <>
inline constexpr std::tuple members<allot::gpu::pod_set>{
    member{"each", &allot::gpu::pod_set::each},
    member{"pods", &allot::gpu::pod_set::pods},
    member{"min_pods", &allot::gpu::pod_set::min_pods},
    member{"slice", &allot::gpu::pod_set::slice},
    member{"slice_level", &allot::gpu::pod_set::slice_level},
    member{"spread_level", &allot::gpu::pod_set::spread_level},
    member{"most_together", &allot::gpu::pod_set::most_together}};
template <>
inline constexpr std::tuple members<allot::lab::flavor_group::option>{
    member{"name", &allot::lab::flavor_group::option::name},
    member{"request", &allot::lab::flavor_group::option::request},
    member{"pools", &allot::lab::flavor_group::option::pools}};
template <>
inline constexpr std::tuple members<allot::lab::flavor_group>{
    member{"resources", &allot::lab::flavor_group::resources},
    member{"options", &allot::lab::flavor_group::options}};
template <>
inline constexpr std::tuple members<allot::lab::pod_set_entry>{
    member{"name", &allot::lab::pod_set_entry::name}, member{"pods", &allot::lab::pod_set_entry::pods},
    member{"request", &allot::lab::pod_set_entry::request},
    member{"flavors", &allot::lab::pod_set_entry::flavors},
    member{"semi_preemptible", &allot::lab::pod_set_entry::semi_preemptible}};
template <>
inline constexpr std::tuple members<facts>{
    member{"quota", &facts::quota},       member{"request", &facts::request},
    member{"pods", &facts::pods},         member{"min_pods", &facts::min_pods},
    member{"flavors", &facts::flavors},   member{"sets", &facts::sets},
    member{"priority", &facts::priority}, member{"submitted", &facts::submitted},
    member{"rank", &facts::rank},         member{"preemptible", &facts::preemptible},
    member{"preempts", &facts::preempts}, member{"estimate", &facts::estimate},
    member{"ready", &facts::ready}};
template <>
inline constexpr std::tuple members<machine>{member{"name", &machine::name},
                                             member{"gpus", &machine::gpus},
                                             member{"type", &machine::gpu_type},
                                             member{"cpus", &machine::cpus},
                                             member{"memory_mib", &machine::memory_mib},
                                             member{"pool", &machine::pool},
                                             member{"domains", &machine::domains},
                                             member{"cpu_milli", &machine::cpu_milli},
                                             member{"pod_slots", &machine::pod_slots}};

template <class T>
concept with_members = (std::tuple_size_v<decltype(members<T>)> != 0);

template <class T>
[[nodiscard]] json::value json_of(const T& t);
template <class T>
void read(const json::value& v, T& to);

[[nodiscard]] json::array json_of(const amounts& a) {
  std::size_t used = dimensions;
  while (used > 0 && a[used - 1] == allot::quantity{}) --used;
  json::array all;
  for (std::size_t d = 0; d < used; ++d) all.emplace_back(a[d].in_milli());
  return all;
}
void read(const json::value& v, amounts& to) {
  const json::array& all = v.as_array();
  for (std::size_t d = 0; d < all.size() && d < dimensions; ++d) {
    to[d] = allot::quantity::milli(all[d].to_number<std::int64_t>());
  }
}

/// What has its default is left out.
template <class T>
[[nodiscard]] json::value json_of(const T& t) {
  if constexpr (with_members<T>) {
    static const T otherwise{};
    json::object o;
    const auto write = [&](const auto& m) {
      if (t.*m.at == otherwise.*m.at) return;
      json::value is = json_of(t.*m.at);
      // It may differ in what is not logged.
      if (is != json::object{}) o[m.name] = std::move(is);
    };
    std::apply([&](const auto&... all) { (write(all), ...); }, members<T>);
    return o;
  } else if constexpr (std::same_as<T, allot::quantity>) {
    return t.in_milli();
  } else if constexpr (std::same_as<T, allot::quota_id>) {
    return t.index();
  } else if constexpr (std::same_as<T, std::string>) {
    return json::string{t};
  } else if constexpr (std::is_arithmetic_v<T>) {
    return t;
  } else {
    json::array all;
    for (const auto& each : t) all.push_back(json_of(each));
    return all;
  }
}
template <class T>
void read(const json::value& v, T& to) {
  if constexpr (with_members<T>) {
    const json::object& o = v.as_object();
    const auto read_member = [&](const auto& m) {
      if (const json::value* const is = o.if_contains(m.name)) read(*is, to.*m.at);
    };
    std::apply([&](const auto&... all) { (read_member(all), ...); }, members<T>);
  } else if constexpr (std::same_as<T, allot::quantity>) {
    to = allot::quantity::milli(v.to_number<std::int64_t>());
  } else if constexpr (std::same_as<T, allot::quota_id>) {
    to = allot::quota_id{v.to_number<std::size_t>()};
  } else if constexpr (std::same_as<T, bool>) {
    to = v.as_bool();
  } else if constexpr (std::is_arithmetic_v<T>) {
    to = v.to_number<T>();
  } else if constexpr (std::same_as<T, std::string>) {
    to = json::value_to<std::string>(v);
  } else {
    for (const auto& each : v.as_array()) read(each, to.emplace_back());
  }
}

[[nodiscard]] json::array json_of(const allot::flavor_pick& pick) {
  json::array all;
  for (const std::uint8_t option : pick) all.emplace_back(option);
  while (!all.empty() && all.back() == 0) all.pop_back();
  return all;
}
void read(const json::value& v, allot::flavor_pick& pick) {
  const json::array& all = v.as_array();
  for (std::size_t g = 0; g < all.size() && g < pick.size(); ++g) pick[g] = all[g].to_number<std::uint8_t>();
}

[[nodiscard]] facts facts_of(const json::value& v) {
  facts f;
  read(v, f);
  f.pods.estimate.span = f.estimate;
  return f;
}
[[nodiscard]] job_name key_of(const json::value& v) {
  job_name k = json::value_to<job_name>(v);
  if (k.empty()) throw std::invalid_argument{"a job without a name"};
  return k;
}

[[nodiscard]] event event_of(const json::object& o) {
  event e;
  const std::string word = json::value_to<std::string>(o.at("event"));
  const auto at = std::find(words.begin(), words.end(), word);
  if (at == words.end()) throw std::invalid_argument{"an unknown event \"" + word + '"'};
  e.is = static_cast<event::kind>(at - words.begin());
  if (const auto* v = o.if_contains("job")) e.key = key_of(*v);
  if (const auto* v = o.if_contains("what")) e.what = facts_of(*v);
  if (const auto* v = o.if_contains("at")) e.at = v->to_number<std::int64_t>();
  if (const auto* v = o.if_contains("where")) e.where = shares_of(*v);
  if (const auto* v = o.if_contains("pick")) read(*v, e.pick);
  if (const auto* v = o.if_contains("node")) e.node = json::value_to<std::string>(*v);
  if (const auto* v = o.if_contains("jobs")) {
    for (const auto& j : v->as_array()) e.jobs.emplace_back(key_of(j.at("job")), facts_of(j.at("what")));
  }
  if (const auto* v = o.if_contains("state")) {
    auto state = allot::state_from_text<job_name, std::vector<node_share>>(
        json::value_to<std::string>(*v), [](const std::string& k) { return std::optional{k}; }, parse_shares);
    if (!state) throw std::invalid_argument{state.problems().front().text};
    e.state = std::move(state).value();
  }
  return e;
}

[[nodiscard]] engine_setup setup_of(const json::object& o, const std::optional<std::string>& config_text) {
  if (const std::string format = json::value_to<std::string>(o.at("begin")); format != events_format) {
    throw std::invalid_argument{"it is a log of another version (" + format + "), not " +
                                std::string{events_format}};
  }
  const std::string own_key = json::value_to<std::string>(o.at("own"));
  std::string text = config_text.value_or(json::value_to<std::string>(o.at("config")));
  auto reading = allot::lab::parse_quotas_file(text, "configuration", own_key);
  if (!reading.value) throw std::invalid_argument{reading.problems.front()};
  if (reading.value->policy.preset() == nullptr)
    throw std::invalid_argument{"configuration: /policy: expected a preset of the library"};
  engine_setup setup{.quotas = std::move(*reading.value), .text = std::move(text), .own_key = own_key};
  setup.places_jobs = o.at("places").as_bool();
  setup.one_pod_a_machine = o.at("apart").as_bool();
  if (const auto* v = o.if_contains("others")) setup.has_other_machines = v->as_bool();
  read(o.at("machines"), setup.machines);
  read(o.at("levels"), setup.levels);
  return setup;
}

}  // namespace

std::string to_json(const engine_setup& setup) {
  return json::serialize(json::object{{"begin", events_format},
                                      {"config", setup.text},
                                      {"own", setup.own_key},
                                      {"places", setup.places_jobs},
                                      {"apart", setup.one_pod_a_machine},
                                      {"others", setup.has_other_machines},
                                      {"machines", json_of(setup.machines)},
                                      {"levels", json_of(setup.levels)}});
}

std::string to_json(const event& e, std::string_view why_not) {
  using kind = event::kind;
  json::object o{{"event", words[static_cast<std::size_t>(e.is)]}};
  if (e.is == kind::close || e.is == kind::open) {
    o["node"] = e.node;
  } else if (e.is == kind::resume) {
    json::array& jobs = o["jobs"].emplace_array();
    for (const auto& [key, what] : e.jobs) jobs.push_back({{"job", key}, {"what", json_of(what)}});
    o["state"] = to_text(
        e.state, [](const job_name& k) { return k; }, [](const auto& where) { return to_string(where); });
  } else if (e.is != kind::freeze && e.is != kind::thaw) {
    o["job"] = e.key;
  }
  const bool places = e.is == kind::adopt || e.is == kind::alter || e.is == kind::foreign;
  if (places || e.is == kind::submit) o["what"] = json_of(e.what);
  if (places) o["where"] = of(e.where);
  if (places && e.pick != allot::flavor_pick{}) o["pick"] = json_of(e.pick);
  const bool has_time = e.is == kind::adopt || e.is == kind::alter || e.is == kind::started ||
                        e.is == kind::start_failed || e.is == kind::not_evicted;
  if (has_time) o["at"] = e.at;
  if (!why_not.empty()) o["refused"] = why_not;
  return json::serialize(o);
}

std::string to_json(const decision& d, std::int64_t now) {
  json::object o{{"cycle", now}};
  if (!d.admissions.empty()) {
    json::array& all = o["admit"].emplace_array();
    for (const auto& a : d.admissions) {
      json::object v{{"job", a.key}, {"where", of(a.where)}, {"borrows", json_of(a.borrows)}};
      if (a.pick != allot::flavor_pick{}) v["pick"] = json_of(a.pick);
      v["pods"] = a.pods;
      all.push_back(std::move(v));
    }
  }
  if (!d.evictions.empty()) {
    json::array& all = o["evict"].emplace_array();
    for (const auto& e : d.evictions) {
      json::object v{{"job", e.key}, {"how", to_string(e.how)}};
      if (e.beneficiary) v["for"] = *e.beneficiary;
      all.push_back(std::move(v));
    }
  }
  if (!d.nominations.empty()) {
    json::array& all = o["reserve"].emplace_array();
    for (const auto& r : d.nominations) all.push_back({{"job", r.key}, {"victims", json_of(r.victims)}});
  }
  if (!d.pending.empty()) o["pending"] = json_of(d.pending);
  return json::serialize(o);
}

logged_line parse_line(const std::string& line, const std::optional<std::string>& config_text) {
  const json::value v = json::parse(line);
  const json::object& o = v.as_object();
  if (o.contains("begin")) return setup_of(o, config_text);
  if (const auto* cycle = o.if_contains("cycle")) return logged_cycle{cycle->to_number<std::int64_t>()};
  logged_event e{.what = event_of(o)};
  if (const auto* refused = o.if_contains("refused")) e.refused = json::value_to<std::string>(*refused);
  return e;
}

}  // namespace allot_governor
