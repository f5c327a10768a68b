// SPDX-License-Identifier: BSL-1.0
#include "lab/sweep/experiment.hpp"

#include "lab/io/files.hpp"
#include "lab/io/packed_input.hpp"
#include "lab/io/time_text.hpp"
#include "lab/report/result_files.hpp"
#include "lab/workload/load_level.hpp"

#include <allot/core/vector.hpp>
#include <allot/core/version.hpp>
#include <allot/lab/json_writer.hpp>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view experiment_format = "allot-experiment/1";
/// More replays than anyone would wait for.
constexpr std::size_t most_sweep_points = 1'000'000;

/// Whether the text may be part of a file name on any system.
bool is_name(std::string_view name) {
  const auto is_fine = [](char c) {
    return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || ('0' <= c && c <= '9') || c == '-' ||
           c == '_' || c == '+';
  };
  return !name.empty() && name.size() <= 100 && std::all_of(name.begin(), name.end(), is_fine);
}

void check_name(json_value value, const std::string& name, errors& found) {
  if (is_name(name)) return;
  value.report(found,
               "expected a name of letters, digits, -, _ and +, for it becomes part of file names; found " +
                   value.shown());
}

/// The value as JSON without comments and spaces, to detect changes.
std::string text_of(json_value value) {
  json_writer to{0};
  write_value(value, to);
  return to.text();
}

std::optional<instant> read_time_value(json_value value, errors& found) {
  if (value.is_number()) return read_milli(value, found);
  const auto time = value.is_string() ? read_time(value.text()) : std::nullopt;
  if (!time) value.report(found, "expected " + std::string{time_forms} + ", found " + value.shown());
  return time;
}

vector<load_setting> read_loads(json_value value, errors& found) {
  vector<load_setting> loads;
  if (!expect_array(value, found)) return loads;
  std::set<std::string> names;
  value.for_each([&](json_value element) {
    load_setting load{load_setting::kind::load};
    std::optional<json_value> number = element;
    if (element.is_object()) {
      load.is = load_setting::kind::arrivals;
      json_object o{element, found};
      number = o.require("arrivals");
      o.reject_unknown();
    }
    const auto n = number ? read_milli(*number, found) : std::nullopt;
    if (!n) return;
    if (*n == 0 || *n > 1'000'000) {
      return number->report(found, "expected more than 0 and at most 1000, found " + number->shown());
    }
    load.value = *n;
    load.name = (load.is == load_setting::kind::arrivals ? "x" : "") + decimal(*n);
    if (!names.insert(load.name).second) return element.report(found, "the load is there twice");
    loads.push_back(std::move(load));
  });
  if (loads.empty() && found.empty()) value.report(found, "expected a load or more");
  return loads;
}

vector<std::uint64_t> read_seeds(json_value value, errors& found) {
  constexpr std::int64_t most = 1'000'000'000'000;
  vector<std::uint64_t> seeds;
  const auto add = [&](json_value at, std::int64_t seed) {
    const auto n = static_cast<std::uint64_t>(seed);
    if (std::find(seeds.begin(), seeds.end(), n) != seeds.end())
      return at.report(found, "the seed is there twice");
    seeds.push_back(n);
  };
  if (value.is_object()) {
    json_object range{value, found};
    const auto from = range.find("from");
    const auto count = range.require("count");
    const std::int64_t first = from ? read_whole(*from, 0, most, found).value_or(1) : 1;
    const auto n = count ? read_whole(*count, 1, 100'000, found) : std::nullopt;
    range.reject_unknown();
    for (std::int64_t i = 0; n && i < *n; ++i) seeds.push_back(static_cast<std::uint64_t>(first + i));
    return seeds;
  }
  if (!expect_array(value, found)) return seeds;
  value.for_each([&](json_value element) {
    if (const auto seed = read_whole(element, 0, most, found)) add(element, *seed);
  });
  if (seeds.empty() && found.empty()) value.report(found, "expected a seed or more");
  return seeds;
}

class experiment_reader {
 public:
  experiment_reader(experiment& to, const experiment_source& source, errors& found)
      : to_(to), source_(source), found_(found) {}

  void read(json_value root) {
    if (!expect_object(root, found_)) return;
    json_object top{root, found_};
    const auto is = top.require("format");
    if (is && (!is->is_string() || is->text() != experiment_format)) {
      is->report(found_, "expected \"" + std::string{experiment_format} + "\", found " + is->shown());
    }
    to_.name = fs::path{to_.file == "-" ? "experiment" : to_.file}.stem().string();
    if (const auto name = top.find("name")) {
      to_.name = read_string(*name, found_).value_or("");
      check_name(*name, to_.name, found_);
    }
    if (const auto until = top.find("until")) to_.until = read_time_value(*until, found_);
    if (const auto v = top.find("isolated")) to_.measured.isolated = read_bool(*v, found_).value_or(false);
    read_measured(top, to_.measured);
    if (const auto loads = top.find("loads")) to_.loads = read_loads(*loads, found_);
    to_.seeds = {1};
    if (const auto seeds = top.find("seeds")) to_.seeds = read_seeds(*seeds, found_);
    if (const auto scenarios = top.require("scenarios"); scenarios && expect_array(*scenarios, found_)) {
      scenarios->for_each([&](json_value s) { read_scenario_part(s); });
      if (to_.scenarios.empty() && found_.empty()) scenarios->report(found_, "expected a scenario or more");
    }
    read_policies(top);
    if (const auto time = top.find("max_time")) to_.max_time = read_time_value(*time, found_);
    if (const auto queue = top.find("max_queue")) {
      const auto n = read_whole(*queue, 1, 1'000'000'000'000, found_);
      if (n) to_.max_queue = static_cast<std::uint64_t>(*n);
    }
    top.reject_unknown();
    use_traces();
  }

 private:
  /// Reads how replays are measured; what is not there stays as it is.
  void read_measured(json_object& of, measuring& m) {
    std::optional<json_value> last;
    const std::size_t before = found_.size();
    // As on the command line, where the options are texts.
    const auto read = [&](std::string_view key, std::string measuring_options::*option) {
      const auto value = of.find(key);
      if (!value) return std::optional<measuring>{};
      last = value;
      measuring_options options;
      if (value->is_string() || value->is_number()) options.*option = value->text();
      errors wrong;
      measuring given = read_measuring(options, wrong);
      for (const errors::error& e : wrong.kept()) value->report(found_, e.text);
      if ((options.*option).empty()) {
        const std::string_view expected =
            key == "window" ? R"("FROM,TO", as in "3600,86400" or "12h,")" : time_forms;
        value->report(found_, "expected " + std::string{expected} + ", found " + value->shown());
      }
      return std::optional{given};
    };
    if (const auto given = read("window", &measuring_options::window)) {
      m.from = given->from;
      m.to = given->to;
    }
    if (const auto given = read("warm_up", &measuring_options::warm_up)) m.warm_up = given->warm_up;
    if (const auto given = read("grace", &measuring_options::grace)) m.grace = given->grace;
    if (const auto v = of.find("no_drain")) m.no_drain = read_bool(*v, found_).value_or(m.no_drain);
    if (!last || found_.size() != before) return;
    if (std::string nothing = nothing_measured(m, to_.until); !nothing.empty()) {
      last->report(found_, std::move(nothing));
    }
  }

  void read_policies(json_object& top) {
    if (const auto policies = top.find("policies"); policies && expect_array(*policies, found_)) {
      policies->for_each([&](json_value p) {
        experiment_policy policy;
        policy.choice = read_policy(p, to_.file, policy.name, found_);
        if (policy.name.empty()) policy.name = policy.choice->preset;
        check_name(p, policy.name, found_);
        policy.text = text_of(p);
        const auto same = [&](const experiment_policy& other) { return other.name == policy.name; };
        if (std::any_of(to_.policies.begin(), to_.policies.end(), same)) {
          p.report(found_, "a policy before has the same name; say \"name\": another");
        }
        to_.policies.push_back(std::move(policy));
      });
      if (to_.policies.empty() && found_.empty()) policies->report(found_, "expected a policy or more");
    } else if (!policies) {
      to_.policies.push_back({"own", std::nullopt, {}});
    }
    const auto baseline = top.find("baseline");
    if (!baseline) return;
    to_.baseline = read_string(*baseline, found_).value_or("");
    vector<std::string_view> names;
    for (const experiment_policy& p : to_.policies) names.push_back(p.name);
    if (std::find(names.begin(), names.end(), to_.baseline) == names.end() && !names.empty()) {
      baseline->report(found_, "none of the policies is called " + baseline->shown());
    }
  }

  void read_scenario_part(json_value value) {
    experiment_scenario s;
    s.place = value.pointer();
    s.measured = to_.measured;
    std::optional<json_value> named;
    if (value.is_string()) {
      take_file(value, s);
    } else if (expect_object(value, found_)) {
      json_object o{value, found_};
      named = o.find("name");
      const auto file = o.find("file");
      const auto nodes = o.find("nodes");
      const auto tenants = o.find("tenants");
      if (file && (nodes || tenants)) {
        (nodes ? nodes : tenants)
            ->report(found_, "the scenario is in a file, and says its nodes and quotas there");
      } else if (file) {
        take_file(*file, s);
      } else if (nodes) {
        make_scenario(*nodes, tenants, s);
      } else {
        value.report(found_, "expected \"file\", or \"nodes\" (and \"tenants\")");
      }
      const auto trace = o.find("trace");
      const auto generate = o.find("generate");
      if (trace && generate) generate->report(found_, "the jobs come from a trace: expected one of the two");
      if (trace) {
        const auto path = read_string(*trace, found_);
        if (path) s.trace = beside(to_.file, *path);
      }
      if (generate) {
        s.generate = read_generated(*generate, found_);
        s.generate_text = text_of(*generate);
      }
      if (const auto estimates = o.find("estimates")) {
        if (generate) {
          estimates->report(found_, "the jobs are generated: say \"estimates\" in \"generate\"");
        } else {
          s.estimates = read_estimates(*estimates, found_);
        }
      }
      if (const auto loads = o.find("loads")) s.loads = read_loads(*loads, found_);
      read_measured(o, s.measured);
      o.reject_unknown();
    }
    if (named) s.name = read_string(*named, found_).value_or("");
    if (s.name.empty() && s.file != to_.file) s.name = fs::path{s.file}.stem().string();
    if (s.name.empty()) s.name = "scenario-" + std::to_string(to_.scenarios.size() + 1);
    check_name(named.value_or(value), s.name, found_);
    const auto same = [&](const experiment_scenario& other) { return other.name == s.name; };
    if (std::any_of(to_.scenarios.begin(), to_.scenarios.end(), same)) {
      value.report(found_, "a scenario before has the same name; say \"name\": another");
    }
    to_.scenarios.push_back(std::move(s));
  }

  void take_file(json_value value, experiment_scenario& s) {
    const auto path = read_string(value, found_);
    if (!path) return;
    s.file = beside(to_.file, *path);
    packed_input file{s.file};
    auto text = *path == "-" ? std::nullopt : file.read_all();
    if (text) {
      s.text = std::move(*text);
    } else {
      value.report(found_, s.file + ": " + (*path == "-" ? "expected a file" : file.problem()) +
                               " (expected a scenario)");
    }
  }

  /// A scenario with only nodes and a guaranteed number of GPUs for each tenant.
  void make_scenario(json_value nodes, std::optional<json_value> tenants, experiment_scenario& s) {
    s.file = to_.file;
    const auto shape = read_string(nodes, found_);
    const std::size_t x = shape ? shape->find('x') : std::string::npos;
    const auto is_number = [](std::string_view t) {
      return !t.empty() && t.size() < 10 && t.find_first_not_of("0123456789") == std::string_view::npos;
    };
    if (!shape || x == std::string::npos || !is_number(shape->substr(0, x)) ||
        !is_number(shape->substr(x + 1))) {
      if (shape)
        nodes.report(found_, "expected nodes and GPUs of each, as in \"16x8\", found " + nodes.shown());
      return;
    }
    json_writer w{1};
    w.begin_object().member("format", "allot-scenario/1");
    w.key("cluster").begin_object().key("nodes").begin_array().begin_object();
    w.member("name", "node").key("count").raw(shape->substr(0, x));
    w.key("gpus").raw(shape->substr(x + 1)).end_object().end_array().end_object();
    if (tenants && expect_object(*tenants, found_)) {
      w.key("quotas").begin_array().begin_object();
      std::string root = "cluster";
      while (tenants->find(root)) root.insert(0, 1, '(').append(1, ')');
      w.member("name", root).member("nominal", "cluster").member("inclusive", true).end_object();
      tenants->for_each([&](json_value gpus) {
        if (!read_milli(gpus, found_)) return;
        w.begin_object().member("name", gpus.key()).member("parent", root);
        w.key("nominal").begin_object().key("gpu").raw(gpus.text()).end_object().end_object();
      });
      w.end_array();
    }
    w.end_object();
    s.text = w.text();
  }

  /// Uses the traces given on the command line.
  void use_traces() {
    for (const std::string& t : source_.traces) {
      const std::size_t equals = t.find('=');
      const std::string name = equals == std::string::npos ? std::string{} : t.substr(0, equals);
      const auto is_meant = [&](const experiment_scenario& s) { return s.name == name; };
      auto at = std::find_if(to_.scenarios.begin(), to_.scenarios.end(), is_meant);
      const bool is_only = to_.scenarios.size() == 1 && at == to_.scenarios.end();
      if (is_only) at = to_.scenarios.begin();
      if (at == to_.scenarios.end()) {
        if (to_.scenarios.empty()) continue;
        vector<std::string_view> names;
        for (const experiment_scenario& s : to_.scenarios) names.push_back(s.name);
        found_.add("--trace", {}, "expected " + listed(names) + " before =, found \"" + t + '"');
        continue;
      }
      at->trace = is_only ? t : t.substr(equals + 1);
      at->generate.reset();
    }
  }

  experiment& to_;
  const experiment_source& source_;
  errors& found_;
};

/// Scales the workload to its load.
void adjust_load(const load_setting& load, const std::string& name, scenario& s, errors& found) {
  if (load.is == load_setting::kind::as_is) return;
  s.input.add_text(load.name);
  if (!s.trace) {
    found.add(s.file, {}, "the load " + load.name + " is of a trace, and " + name + " has none");
    return;
  }
  constexpr instant longest = 100'000 * day;
  if (load.is == load_setting::kind::arrivals) {
    instant last = 0;
    for (const trace_job& j : s.trace->jobs) last = std::max(last, j.submit);
    if (load.value < 1000 && last > longest) {
      found.add(s.file, {}, "the jobs of " + name + " would come too late to be counted");
      return;
    }
    scale_arrivals(*s.trace, 1000, load.value);
  } else if (!s.cluster || !set_load(*s.trace, s.cluster->gpus(), load.value)) {
    found.add(s.file, {},
              name + " has no load that could be made " + load.name +
                  ": expected nodes with GPUs, and jobs that come at different times");
  }
}

scenario_source source_of(const experiment_scenario& of) {
  scenario_source source;
  source.file = of.file;
  source.trace = of.trace;
  return source;
}

/// Adds the errors of a scenario with its place in the experiment.
void add_with_place(const experiment& e, const experiment_scenario& of, const errors& of_scenario,
                    errors& found) {
  const auto begins_with = [](std::string_view text, std::string_view with) {
    return text.substr(0, with.size()) == with;
  };
  for (const errors::error& error : of_scenario.kept()) {
    if (error.file == shown_path(e.file)) {
      // It is part of the experiment, which has other places than the scenario that was made of it.
      const char* const part = begins_with(error.place, "/cluster")  ? "/nodes"
                               : begins_with(error.place, "/quotas") ? "/tenants"
                                                                     : "";
      found.add(error.file, of.place + part, error.text);
    } else {
      found.add(error.file, error.place,
                error.text + " (for " + of.place + " of " + shown_path(e.file) + ')');
    }
  }
  for (std::size_t i = of_scenario.kept().size(); i < of_scenario.size(); ++i) found.add({}, {}, {});
}

/// Reads each scenario once, so that errors are known before anything runs.
void check_scenarios(experiment& e, errors& found) {
  for (experiment_scenario& of : e.scenarios) {
    const vector<load_setting> loads = of.loads ? *of.loads : e.loads;
    for (const load_setting& load : loads) {
      if (!of.generate || load.is != load_setting::kind::load || load.value <= most_generated_load) continue;
      found.add(e.file, of.place, "the load " + load.name + " is of a model: expected at most 10");
      return;
    }
    scenario_source source = source_of(of);
    trace generated;
    if (of.generate) {
      generated = make_generated(*of.generate, e.seeds.front());
      source.workload = &generated;
      source.workload_name = of.name + ", generated";
      source.trace.reset();
    }
    source.prepare = [&](scenario& s, errors& problems) {
      of.input_hash = s.input.hex();
      if (loads.empty() || (of.generate && loads.front().is == load_setting::kind::load)) return;
      scenario copy;
      copy.file = s.file;
      copy.cluster = s.cluster;
      copy.trace = s.trace;
      adjust_load(loads.front(), of.name, copy, problems);
    };
    errors of_scenario;
    const auto s = parse_scenario(of.text, source, of_scenario);
    add_with_place(e, of, of_scenario, found);
    if (s) of.draws_places = s->policy.placement == gpu::placement_name::random;
    if (s && s->jobs.empty() && (!s->trace || s->trace->jobs.empty())) {
      found.add(e.file, of.place,
                "there are no jobs to replay: expected a trace, \"generate\" or jobs of the scenario");
    }
  }
}

/// Whether anything is random: the workload, or the placement of pods.
bool depends_on_seed(const experiment_scenario& of, const experiment_policy& policy) {
  if (of.generate) return true;
  if (of.estimates && is_random(*of.estimates)) return true;
  return policy.choice ? policy.choice->placement == gpu::placement_name::random : of.draws_places;
}

void make_points(experiment& e, const experiment_source& source, errors& found) {
  std::size_t count = 0;
  sim::fingerprint all;
  for (std::size_t s = 0; s < e.scenarios.size(); ++s) {
    const experiment_scenario& of = e.scenarios[s];
    vector<load_setting> loads = of.loads ? *of.loads : e.loads;
    if (loads.empty()) loads.emplace_back();
    count += loads.size() * e.policies.size() * e.seeds.size();
    if (count > most_sweep_points) {
      found.add(e.file, {}, "these are more than a million points");
      return;
    }
    for (const load_setting& load : loads) {
      for (std::size_t seed = 0; seed < e.seeds.size(); ++seed) {
        for (std::size_t p = 0; p < e.policies.size(); ++p) {
          if (seed != 0 && !depends_on_seed(of, e.policies[p])) continue;
          experiment_point point{{}, s, p, load, e.seeds[seed], {}};
          point.name = of.name + '.' + e.policies[p].name;
          if (!load.name.empty()) point.name += ".load-" + load.name;
          point.name += ".seed-" + std::to_string(point.seed);
          sim::fingerprint key;
          key.add_text("allot-point/1");
          for (const int part : {version_major, version_minor, version_patch}) key.add(std::int64_t{part});
          for (const std::string& text : {of.input_hash, of.generate_text, e.policies[p].text, load.name}) {
            key.add_text(text);
          }
          if (of.estimates) key.add_text(name_of(*of.estimates));
          key.add(point.seed);
          key.add(e.until.value_or(-1));
          key.add(e.max_queue.value_or(0));
          key.add(e.max_time.value_or(-1));
          key.add(std::uint64_t{source.full ? 1U : 0U});
          key.add(std::uint64_t{of.measured.isolated ? 1U : 0U});
          // Only what is not the default: the key of a point that measures its whole run is an old one.
          for (const auto& [option, value] : window_options(of.measured)) {
            key.add_text(option);
            key.add_text(value);
          }
          if (of.measured.grace != measuring{}.grace) {
            key.add_text("grace");
            key.add(of.measured.grace);
          }
          point.key = key.hex();
          all.add_text(point.name);
          all.add_text(point.key);
          e.points.push_back(std::move(point));
        }
      }
    }
  }
  e.id = all.hex();
}

}  // namespace

std::optional<experiment> read_experiment(const experiment_source& source, errors& found) {
  const std::size_t before = found.size();
  experiment e;
  e.file = source.file;
  packed_input file{source.file};
  const auto text = file.read_all();
  if (!text) {
    found.add(shown_path(source.file), {}, file.problem() + " (expected an experiment)");
    return std::nullopt;
  }
  const auto document = json_document::parse(shown_path(source.file), *text, found);
  if (!document) return std::nullopt;
  experiment_reader{e, source, found}.read(document->root());
  if (found.size() == before) check_scenarios(e, found);
  if (found.size() == before) make_points(e, source, found);
  if (found.size() != before) return std::nullopt;
  return e;
}

std::optional<scenario> scenario_of(const experiment& e, const experiment_point& p, errors& found) {
  const experiment_scenario& of = e.scenarios[p.scenario];
  scenario_source source = source_of(of);
  source.chosen = e.policies[p.policy].choice;
  trace generated;
  const bool is_load_of_model = of.generate && p.load.is == load_setting::kind::load;
  if (of.generate) {
    generated = make_generated(is_load_of_model ? at_load(*of.generate, p.load.value) : *of.generate, p.seed);
    source.workload = &generated;
    source.workload_name = of.name + ", generated";
    source.trace.reset();
  }
  source.prepare = [&](scenario& s, errors& problems) {
    if (of.generate) {
      s.input.add_text(of.generate_text);
      s.input.add(p.seed);
    }
    if (of.estimates && s.trace) {
      set_estimates(*s.trace, *of.estimates, p.seed);
      s.input.add_text(name_of(*of.estimates));
      if (is_random(*of.estimates)) s.input.add(p.seed);
    }
    if (is_load_of_model) {
      s.input.add_text(p.load.name);
    } else {
      adjust_load(p.load, of.name, s, problems);
    }
  };
  auto s = parse_scenario(of.text, source, found);
  if (s) s->policy.seed = p.seed;
  return s;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
