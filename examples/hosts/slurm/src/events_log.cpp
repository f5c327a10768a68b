// SPDX-License-Identifier: BSL-1.0
#include "events_log.hpp"

#include "config.hpp"

#include <allot/scheduler/state_text.hpp>

#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

namespace allot_slurm {

namespace json = boost::json;

namespace {

constexpr std::string_view events_format = "allot-slurm-events/2";

constexpr std::array<std::string_view, 15> words{"submit",   "adopt",        "alter",  "evicting", "started",
                                                 "finished", "evicted",      "cancel", "close",    "open",
                                                 "foreign",  "foreign_gone", "resume", "freeze",   "thaw"};

[[nodiscard]] json::array keys(const std::vector<job_key>& all) {
  json::array a;
  for (const job_key& k : all) a.emplace_back(to_string(k));
  return a;
}
[[nodiscard]] job_key key_of(const json::value& v) {
  const auto k = parse_job_key(json::value_to<std::string>(v));
  if (!k) throw std::invalid_argument{"a job without an id"};
  return *k;
}
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

[[nodiscard]] json::array of(const amounts& a) {
  std::size_t used = dimensions;
  while (used > 0 && a[used - 1] == allot::quantity{}) --used;
  json::array all;
  for (std::size_t d = 0; d < used; ++d) all.emplace_back(a[d].in_milli());
  return all;
}
[[nodiscard]] amounts amounts_of(const json::value& v) {
  amounts a;
  const json::array& all = v.as_array();
  for (std::size_t d = 0; d < all.size() && d < dimensions; ++d) {
    a[d] = allot::quantity::milli(all[d].to_number<std::int64_t>());
  }
  return a;
}

[[nodiscard]] json::array of(const allot::gpu::pod_request& p) {
  return {p.gpus.in_milli(), p.pods,       p.total,          p.pools,          p.models,
          p.cpu_milli,       p.memory_mib, p.required_level, p.preferred_level};
}
[[nodiscard]] allot::gpu::pod_request pods_of(const json::value& v) {
  allot::gpu::pod_request p;
  p.gpus = allot::quantity::milli(v.at(0).to_number<std::int64_t>());
  p.pods = v.at(1).to_number<std::uint32_t>();
  p.total = v.at(2).as_bool();
  p.pools = v.at(3).to_number<std::uint64_t>();
  p.models = v.at(4).to_number<std::uint64_t>();
  p.cpu_milli = v.at(5).to_number<std::int64_t>();
  p.memory_mib = v.at(6).to_number<std::int64_t>();
  p.required_level = v.at(7).to_number<std::uint8_t>();
  p.preferred_level = v.at(8).to_number<std::uint8_t>();
  return p;
}

[[nodiscard]] json::object of(const facts& f) {
  json::object o{{"quota", f.quota.index()},     {"request", of(f.request)}, {"pods", of(f.pods)},
                 {"priority", f.priority},       {"submitted", f.submitted}, {"rank", f.rank},
                 {"preemptible", f.preemptible}, {"preempts", f.preempts},   {"estimate", f.estimate}};
  if (f.ready != 0) o["ready"] = f.ready;
  if (!f.sets.empty()) {
    json::array& sets = o["sets"].emplace_array();
    for (const allot::gpu::pod_set& s : f.sets) {
      sets.push_back(of(s.each));
      sets.back().at(1) = s.pods;
    }
  }
  return o;
}
[[nodiscard]] facts facts_of(const json::value& v) {
  facts f;
  f.quota = allot::quota_id{v.at("quota").to_number<std::size_t>()};
  f.request = amounts_of(v.at("request"));
  f.pods = pods_of(v.at("pods"));
  f.priority = v.at("priority").to_number<std::int64_t>();
  f.submitted = v.at("submitted").to_number<std::int64_t>();
  f.rank = v.at("rank").to_number<std::uint64_t>();
  f.preemptible = v.at("preemptible").as_bool();
  if (const auto* preempts = v.as_object().if_contains("preempts")) f.preempts = preempts->as_bool();
  f.estimate = v.at("estimate").to_number<std::int64_t>();
  f.pods.estimate.span = f.estimate;
  if (const json::value* const ready = v.as_object().if_contains("ready"))
    f.ready = ready->to_number<std::int64_t>();
  if (const json::value* const sets = v.as_object().if_contains("sets")) {
    for (const auto& each : sets->as_array()) {
      allot::gpu::pod_set& to = f.sets.emplace_back();
      to.each = pods_of(each);
      to.pods = std::exchange(to.each.pods, 1);
    }
  }
  return f;
}

[[nodiscard]] json::array texts(const std::vector<std::string>& all) {
  json::array a;
  for (const std::string& s : all) a.emplace_back(s);
  return a;
}
[[nodiscard]] std::vector<std::string> texts_of(const json::value& v) {
  std::vector<std::string> all;
  for (const auto& s : v.as_array()) all.push_back(json::value_to<std::string>(s));
  return all;
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
  if (const auto* v = o.if_contains("node")) e.node = json::value_to<std::string>(*v);
  if (const auto* v = o.if_contains("jobs")) {
    for (const auto& j : v->as_array()) e.jobs.emplace_back(key_of(j.at("job")), facts_of(j.at("what")));
  }
  if (const auto* v = o.if_contains("state")) {
    auto state = allot::state_from_text<job_key, std::vector<node_share>>(json::value_to<std::string>(*v),
                                                                          parse_job_key, parse_shares);
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
  auto reading =
      parse_config(config_text.value_or(json::value_to<std::string>(o.at("config"))), "configuration");
  if (!reading.value) throw std::invalid_argument{reading.problems.front()};
  engine_setup setup{.quotas = std::move(reading.value->quotas)};
  setup.places_jobs = o.at("places").as_bool();
  for (const auto& v : o.at("nodes").as_array()) {
    node& n = setup.nodes.emplace_back();
    n.name = json::value_to<std::string>(v.at("name"));
    n.gpus = v.at("gpus").to_number<std::uint32_t>();
    n.gpu_type = json::value_to<std::string>(v.at("type"));
    n.cpus = v.at("cpus").to_number<std::uint32_t>();
    n.memory_mib = v.at("memory_mib").to_number<std::uint64_t>();
    n.features = texts_of(v.at("features"));
    if (const auto* reserved = v.as_object().if_contains("reservations"))
      for (std::string& name : texts_of(*reserved)) n.reservations.push_back({std::move(name)});
    n.partitions = texts_of(v.at("partitions"));
  }
  for (const auto& v : o.at("switches").as_array()) {
    setup.topology.push_back({json::value_to<std::string>(v.at("name")),
                              v.at("level").to_number<std::uint32_t>(), texts_of(v.at("nodes")),
                              texts_of(v.at("switches"))});
  }
  return setup;
}

}  // namespace

std::string to_json(const engine_setup& setup, const std::string& config_text) {
  json::object o{{"begin", events_format}, {"config", config_text}, {"places", setup.places_jobs}};
  json::array& nodes = o["nodes"].emplace_array();
  for (const node& n : setup.nodes) {
    nodes.push_back({{"name", n.name},
                     {"gpus", n.gpus},
                     {"type", n.gpu_type},
                     {"cpus", n.cpus},
                     {"memory_mib", n.memory_mib},
                     {"features", texts(n.features)},
                     {"partitions", texts(n.partitions)}});
    // Their times are in what is told of jobs.
    if (n.reservations.empty()) continue;
    std::vector<std::string> names;
    for (const node_reservation& r : n.reservations) names.push_back(r.name);
    nodes.back().as_object()["reservations"] = texts(names);
  }
  json::array& switches = o["switches"].emplace_array();
  for (const network_switch& s : setup.topology) {
    switches.push_back(
        {{"name", s.name}, {"level", s.level}, {"nodes", texts(s.nodes)}, {"switches", texts(s.switches)}});
  }
  return json::serialize(o);
}

std::string to_json(const event& e, std::string_view why_not) {
  using kind = event::kind;
  json::object o{{"event", words[static_cast<std::size_t>(e.is)]}};
  if (e.is == kind::close || e.is == kind::open) {
    o["node"] = e.node;
  } else if (e.is == kind::resume) {
    json::array& jobs = o["jobs"].emplace_array();
    for (const auto& [key, what] : e.jobs) jobs.push_back({{"job", to_string(key)}, {"what", of(what)}});
    o["state"] = to_text(
        e.state, [](const job_key& k) { return to_string(k); },
        [](const auto& where) { return to_string(where); });
  } else if (e.is != kind::freeze && e.is != kind::thaw) {
    o["job"] = to_string(e.key);
  }
  const bool places = e.is == kind::adopt || e.is == kind::alter || e.is == kind::foreign;
  if (places || e.is == kind::submit) o["what"] = of(e.what);
  if (places) o["where"] = of(e.where);
  if (e.is == kind::adopt || e.is == kind::alter || e.is == kind::started) o["at"] = e.at;
  if (!why_not.empty()) o["refused"] = why_not;
  return json::serialize(o);
}

std::string to_json(const decision& d, std::int64_t now) {
  json::object o{{"cycle", now}};
  if (!d.admissions.empty()) {
    json::array& all = o["admit"].emplace_array();
    for (const auto& a : d.admissions) {
      all.push_back({{"job", to_string(a.key)}, {"where", of(a.where)}, {"borrows", of(a.borrows)}});
    }
  }
  if (!d.evictions.empty()) {
    json::array& all = o["evict"].emplace_array();
    for (const auto& e : d.evictions) {
      json::object v{{"job", to_string(e.key)}, {"how", to_string(e.how)}};
      if (e.beneficiary) v["for"] = to_string(*e.beneficiary);
      all.push_back(std::move(v));
    }
  }
  if (!d.nominations.empty()) {
    json::array& all = o["reserve"].emplace_array();
    for (const auto& r : d.nominations)
      all.push_back({{"job", to_string(r.key)}, {"victims", keys(r.victims)}});
  }
  if (!d.pending.empty()) o["pending"] = keys(d.pending);
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

}  // namespace allot_slurm
