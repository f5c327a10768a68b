// SPDX-License-Identifier: BSL-1.0
// The module allot._allot. What is in it takes and gives plain values; python/allot makes it pleasant.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "runs.hpp"
#include "stepper.hpp"

#include "lab/decide/decide.hpp"
#include "lab/decide/explain_change.hpp"
#include "lab/report/result_files.hpp"

#include <allot/lab/named_policy.hpp>
#include <allot/lab/own_policy.hpp>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace allot_python {
namespace {

nb::str text(std::string_view t) {
  return nb::str{t.data(), t.size()};
}

/// A whole number if it is one: GPUs are mostly whole.
nb::object number(std::int64_t thousandths) {
  if (thousandths % 1000 == 0) return nb::int_(thousandths / 1000);
  return nb::float_(static_cast<double>(thousandths) / 1000);
}
nb::object seconds(allot::instant t) {
  return nb::float_(static_cast<double>(t) / 1000);
}
/// None if it is unlimited.
nb::object amount(allot::quantity q) {
  return q.is_bounded() ? number(q.in_milli()) : nb::none();
}

/// Makes the dicts of one stepper; keys and names are made once.
class dicts {
 public:
  explicit dicts(const stepper& of) : of_(of) {
    for (const std::string& r : of.of().resources) resources_.push_back(text(r));
    for (const lab::quota_entry& q : of.of().quotas) quotas_.push_back(text(q.spec.name));
    if (const auto& cluster = of.of().cluster) {
      for (std::size_t i = 0; i < cluster->size(); ++i)
        nodes_.push_back(text(cluster->name(allot::gpu::node_id{i})));
    }
  }

  nb::dict state(const observation& seen) const {
    nb::dict all;
    all["time_s"] = seconds(seen.now);
    nb::list pending;
    for (const auto& j : seen.pending) {
      nb::dict d = facts(j.job, seen.now);
      d["request"] = amounts(j.request);
      d["pods"] = of_.jobs()[j.job].pods;
      d["min_pods"] = j.fewest_pods;
      add_sets(d, j.job, nullptr);
      d["fits_quota"] = j.fits_quota;
      d["fits_nodes"] = j.fits_nodes;
      d["fits"] = j.fits_quota && j.fits_nodes;
      pending.append(d);
    }
    all["pending"] = pending;
    nb::list running;
    for (const auto& j : seen.running) {
      nb::dict d = facts(j.job, seen.now);
      d["request"] = amounts(j.request);
      d["pods"] = j.pods;
      d["max_pods"] = of_.jobs()[j.job].pods;
      add_sets(d, j.job, &j.pods_of_sets);
      d["may_grow"] = j.may_grow;
      d["start_s"] = seconds(j.since);
      d["ran_s"] = seconds(seen.now - j.since);
      nb::list nodes;
      for (const std::uint32_t n : j.nodes) nodes.append(nodes_[n]);
      d["nodes"] = nodes;
      running.append(d);
    }
    all["running"] = running;
    nb::dict quotas;
    for (std::size_t i = 0; i < seen.quotas.size(); ++i) {
      const auto& q = seen.quotas[i];
      if (!q.exists) continue;
      nb::dict d;
      d["parent"] = q.parent ? nb::object(quotas_[*q.parent]) : nb::none();
      d["nominal"] = amounts(q.nominal);
      d["used"] = amounts(q.used);
      d["borrowed"] = amounts(q.borrowed);
      d["lent"] = amounts(q.lent);
      d["headroom"] = amounts(q.headroom);
      quotas[quotas_[i]] = d;
    }
    all["quotas"] = quotas;
    nb::list nodes;
    std::uint64_t free = 0;
    for (std::size_t i = 0; i < seen.nodes.size(); ++i) {
      const auto& n = seen.nodes[i];
      nb::dict d;
      d["name"] = nodes_[i];
      d["gpus"] = n.gpus;
      d["free_gpus"] = n.free_gpus;
      d["free"] = number(n.free);
      d["closed"] = n.is_closed;
      nodes.append(d);
      if (!n.is_closed) free += n.free_gpus;
    }
    all["nodes"] = nodes;
    all["free_gpus"] = seen.nodes.empty() ? nb::none() : nb::object(nb::int_(free));
    return all;
  }

 private:
  nb::dict amounts(const lab::amounts& all) const {
    nb::dict d;
    for (std::size_t i = 0; i < resources_.size(); ++i) d[resources_[i]] = amount(all[i]);
    return d;
  }
  /// `pod_sets` of a job whose pods differ; `running` are the pods that run.
  void add_sets(nb::dict& to, job_number j, const std::vector<std::uint32_t>* running) const {
    const auto& sets = of_.jobs()[j].sets;
    if (sets.empty()) return;
    nb::list all;
    for (std::size_t s = 0; s < sets.size(); ++s) {
      nb::dict d;
      d["name"] = text(sets[s].name);
      d["request"] = amounts(sets[s].request);
      d["pods"] = running == nullptr ? sets[s].pods : (*running)[s];
      d["min_pods"] = sets[s].min_pods;
      if (running != nullptr) d["max_pods"] = sets[s].pods;
      all.append(d);
    }
    to["pod_sets"] = all;
  }
  nb::dict facts(job_number j, allot::instant now) const {
    const job_facts& f = of_.jobs()[j];
    nb::dict d;
    d["job"] = text(f.id);
    d["quota"] = quotas_[f.quota];
    d["priority"] = f.priority;
    d["preemptible"] = f.preemptible;
    d["class"] = text(f.job_class);
    d["submit_s"] = seconds(f.submit);
    d["age_s"] = seconds(now - f.submit);
    d["estimate_s"] = f.estimate == 0 ? nb::none() : seconds(f.estimate);
    return d;
  }

  const stepper& of_;
  std::vector<nb::str> resources_;
  std::vector<nb::str> quotas_;
  std::vector<nb::str> nodes_;
};

/// Shows `columns` as arrays, which `owner` keeps alive.
class arrays {
 public:
  arrays(columns& of, nb::handle owner) : of_(&of), owner_(owner) {}

  nb::dict all() const {
    nb::dict d;
    d["pending"] = jobs(of_->pending);
    d["running"] = jobs(of_->running);
    nb::dict quotas;
    quotas["nominal"] = table(of_->nominal);
    quotas["used"] = table(of_->used);
    quotas["borrowed"] = table(of_->borrowed);
    quotas["lent"] = table(of_->lent);
    quotas["headroom"] = table(of_->headroom);
    d["quotas"] = quotas;
    d["free_gpus"] = array(of_->free);
    return d;
  }

 private:
  template <class T>
  nb::object array(std::vector<T>& of) const {
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(of.data(), {of.size()}, owner_));
  }
  nb::object flags(std::vector<unsigned char>& of) const {
    return nb::cast(nb::ndarray<nb::numpy, bool, nb::ndim<1>>(of.data(), {of.size()}, owner_));
  }
  nb::object table(std::vector<double>& of) const {
    const std::size_t resources = of_->pending.resources;
    return nb::cast(
        nb::ndarray<nb::numpy, double, nb::ndim<2>>(of.data(), {of.size() / resources, resources}, owner_));
  }
  nb::dict jobs(job_columns& of) const {
    nb::dict d;
    d["job"] = array(of.job);
    d["quota"] = array(of.quota);
    d["request"] = table(of.request);
    d["pods"] = array(of.pods);
    d["priority"] = array(of.priority);
    d["preemptible"] = flags(of.preemptible);
    d["age_s"] = array(of.age);
    d["estimate_s"] = array(of.estimate);
    d["served_s"] = array(of.served);
    d["starts"] = array(of.starts);
    if (&of == &of_->running) {
      d["ran_s"] = array(of.ran);
    } else {
      d["fits_quota"] = flags(of.fits_quota);
      d["fits_nodes"] = flags(of.fits_nodes);
    }
    return d;
  }

  columns* of_;
  nb::handle owner_;
};

/// The stepper as Python has it: jobs by their ids.
class python_stepper {
 public:
  python_stepper(const run_input& input, const run_options& options, std::string directory)
      : stepper_(input, options, std::move(directory)), dicts_(stepper_) {
    for (job_number j = 0; j < stepper_.jobs().size(); ++j) numbers_.emplace(stepper_.jobs()[j].id, j);
  }

  [[nodiscard]] bool done() const { return stepper_.done(); }
  [[nodiscard]] double now() const { return static_cast<double>(stepper_.now()) / 1000; }
  nb::dict observe(std::size_t most) {
    return dicts_.state(stepper_.done() ? observation{.now = stepper_.now()} : stepper_.observe(most));
  }
  /// Each action is (kind, job, job for which it is done or None). Gives (done, reason, quota, text) for
  /// each.
  std::vector<nb::tuple> act(const std::vector<nb::tuple>& actions) {
    std::vector<action> wanted;
    std::vector<std::optional<answer>> known(actions.size());
    for (std::size_t i = 0; i < actions.size(); ++i) {
      action a;
      std::string why = read(actions[i], a);
      if (stepper_.done()) why = "the simulation is over";
      why.empty() ? wanted.push_back(a) : static_cast<void>(known[i] = answer{false, "unknown", {}, why});
    }
    const std::vector<answer> answers = wanted.empty() ? std::vector<answer>{} : stepper_.act(wanted);
    std::vector<nb::tuple> all;
    auto next = answers.begin();
    for (const auto& k : known) {
      const answer& a = k ? *k : *next++;
      all.push_back(nb::make_tuple(a.done, text(a.reason), text(a.at), text(a.text)));
    }
    return all;
  }
  void advance(double until) {
    constexpr double most = 1e15;
    stepper_.advance(static_cast<allot::instant>(std::clamp(until * 1000, -most, most)));
  }
  /// What does not depend on time, as lists by the numbers of the jobs.
  nb::dict workload() const {
    nb::list ids;
    nb::list quotas;
    nb::list classes;
    std::vector<nb::list> tags(stepper_.tags().size());
    for (const job_facts& f : stepper_.jobs()) {
      ids.append(text(f.id));
      quotas.append(text(stepper_.of().quotas[f.quota].spec.name));
      classes.append(text(f.job_class));
      for (std::size_t t = 0; t < tags.size(); ++t)
        tags[t].append(text(t < f.tags.size() ? f.tags[t] : std::string_view{}));
    }
    nb::dict d;
    d["job"] = ids;
    d["quota"] = quotas;
    d["class"] = classes;
    nb::dict by_name;
    for (std::size_t t = 0; t < tags.size(); ++t) by_name[text(stepper_.tags()[t])] = tags[t];
    d["tags"] = by_name;
    return d;
  }
  nb::dict names() const {
    nb::list quotas;
    for (const lab::quota_entry& q : stepper_.of().quotas) quotas.append(text(q.spec.name));
    nb::list nodes;
    if (const auto& cluster = stepper_.of().cluster) {
      for (std::size_t i = 0; i < cluster->size(); ++i)
        nodes.append(text(cluster->name(allot::gpu::node_id{i})));
    }
    nb::list resources;
    for (const std::string& r : stepper_.of().resources) resources.append(text(r));
    nb::dict d;
    d["quotas"] = quotas;
    d["nodes"] = nodes;
    d["resources"] = resources;
    return d;
  }
  [[nodiscard]] const lab::scenario& of() const { return stepper_.of(); }
  /// (time, how many wait, how many of them are shown, how many run, how many of these are shown)
  nb::tuple fill(columns& to) {
    stepper_.observe(to);
    return nb::make_tuple(to.now, to.waiting, to.pending.count, to.running_in_all, to.running.count);
  }
  nb::tuple take_news() {
    const news seen = stepper_.take_news();
    return nb::make_tuple(seen.submitted, seen.evicted, seen.ended);
  }
  /// Starts the jobs with these numbers, one after the other, up to the first that is refused. Returns how
  /// many.
  std::size_t start_numbers(const std::vector<job_number>& jobs) {
    if (stepper_.done()) return 0;
    for (const job_number j : jobs) {
      if (j >= stepper_.jobs().size()) throw nb::index_error("there is no job with this number");
    }
    return stepper_.start_while_possible(jobs);
  }
  void stop() { stepper_.stop(); }
  run& result() { return stepper_.result(); }

 private:
  std::string read(const nb::tuple& from, action& to) const {
    const auto kind = nb::cast<std::string>(from[0]);
    bool is_known = false;
    for (const action_kind k :
         {action_kind::start, action_kind::evict, action_kind::grow, action_kind::shrink}) {
      if (to_string(k) != kind) continue;
      to.what = k;
      is_known = true;
    }
    if (!is_known) return "there is no action \"" + kind + "\": expected start, evict, grow or shrink";
    const auto job = nb::cast<std::string>(from[1]);
    const auto at = numbers_.find(job);
    if (at == numbers_.end()) return "there is no job \"" + job + '"';
    to.job = at->second;
    if (from[2].is_none()) return {};
    const auto other = nb::cast<std::string>(from[2]);
    const auto heir = numbers_.find(other);
    if (heir == numbers_.end()) return "there is no job \"" + other + '"';
    to.beneficiary = heir->second;
    return {};
  }

  stepper stepper_;
  dicts dicts_;
  std::unordered_map<std::string_view, job_number> numbers_;
};

template <class T>
T value(const nb::dict& from, const char* key, T otherwise) {
  if (!from.contains(key) || from[key].is_none()) return otherwise;
  return nb::cast<T>(from[key]);
}
template <class T>
std::optional<T> maybe(const nb::dict& from, const char* key) {
  if (!from.contains(key) || from[key].is_none()) return std::nullopt;
  return nb::cast<T>(from[key]);
}
run_input input_of(const nb::dict& from) {
  const std::string none;
  return {value(from, "scenario", none),   maybe<std::string>(from, "scenario_text"),
          value(from, "trace", none),      value(from, "nodes", none),
          value(from, "policy", none),     value(from, "policy_json", none),
          value(from, "is_stepped", false)};
}
run_options options_of(const nb::dict& from) {
  const std::string none;
  run_options o;
  o.seed = maybe<std::uint64_t>(from, "seed");
  o.until = value(from, "until", none);
  o.max_queue = maybe<std::uint64_t>(from, "max_queue");
  o.max_time = value(from, "max_time", none);
  o.tenants_step = value(from, "tenants_step", none);
  o.window = value(from, "window", none);
  o.warm_up = value(from, "warm_up", none);
  o.no_drain = value(from, "no_drain", false);
  o.isolated = value(from, "isolated", false);
  o.report = value(from, "report", true);
  return o;
}

nb::tuple words_of(const run& r) {
  return nb::make_tuple(text(r.headline()), text(r.warnings()));
}

/// To be called before anything is simulated in this process, as long as only one thread can. (In the process
/// of the program nobody decides from outside.)
void prepare() {
  static const bool is_added = (add_outside_policy(), true);
  static_cast<void>(is_added);
}

nb::tuple replay(const nb::dict& input, const nb::dict& options, const std::string& directory) {
  prepare();
  const run_input in = input_of(input);
  const run_options how = options_of(options);
  std::optional<run> it;
  bool was_asked = false;
  {
    const nb::gil_scoped_release others;
    it.emplace(in, how, directory);
    {
      const interruptible_by_python guard;
      it->simulate();
      was_asked = interruptible_by_python::was_asked();
    }
    if (!was_asked) it->conclude();
  }
  if (was_asked) {
    PyErr_SetNone(PyExc_KeyboardInterrupt);
    throw nb::python_error();
  }
  return words_of(*it);
}

std::string decide(const nb::dict& input, std::size_t rounds) {
  prepare();
  const run_input in = input_of(input);
  const nb::gil_scoped_release others;
  const lab::scenario s = read(in);
  lab::errors found;
  const auto made = lab::decide(s, rounds, found);
  if (!made || !found.empty()) throw input_error{found};
  return lab::to_json(*made, s);
}

std::string explain_change(const nb::dict& input, const std::vector<std::string>& changes) {
  prepare();
  const run_input in = input_of(input);
  const nb::gil_scoped_release others;
  const lab::scenario s = read(in);
  lab::errors found;
  const auto told = lab::explain_changes(s, changes, found);
  if (!told || !found.empty()) throw input_error{found};
  return lab::to_json(*told, changes);
}

std::vector<nb::tuple> policies() {
  std::vector<nb::tuple> all;
  for (const lab::named_policy& p : lab::all_policies()) {
    if (p.name != outside_name) all.push_back(nb::make_tuple(text(p.name), text(p.summary)));
  }
  return all;
}

/// The program `allot`, for a process of its own.
int program(std::vector<std::string> arguments) {
  std::vector<char*> argv;
  for (std::string& a : arguments) argv.push_back(a.data());
  argv.push_back(nullptr);
  const nb::gil_scoped_release others;
  // As in a program that is not Python.
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGPIPE, SIG_DFL);
  return lab::run_program(static_cast<int>(arguments.size()), argv.data());
}

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const input_error& e) {
    nb::list problems;
    for (const auto& p : e.found().kept())
      problems.append(nb::make_tuple(text(p.file), text(p.place), text(p.text)));
    const nb::object type = nb::module_::import_("allot._errors").attr("InputError");
    const nb::object instance = type(problems, e.found().size());
    PyErr_SetObject(type.ptr(), instance.ptr());
  } catch (const output_error& e) {
    PyErr_SetString(PyExc_OSError, e.what());
  }
}

}  // namespace

NB_MODULE(_allot, m) {
  nb::register_exception_translator(translate);
  m.def("version", [] { return lab::own_version(); });
  m.def("policies", &policies);
  m.def("replay", &replay);
  m.def("decide", &decide);
  m.def("explain_change", &explain_change);
  m.def("program", &program);
  nb::class_<columns>(m, "Columns").def("arrays", [](nb::handle self) {
    return arrays{nb::cast<columns&>(self), self}.all();
  });
  nb::class_<python_stepper>(m, "Stepper")
      .def("__init__",
           [](python_stepper* self, const nb::dict& input, const nb::dict& options,
              const std::string& directory) {
             prepare();
             new (self) python_stepper(input_of(input), options_of(options), directory);
           })
      .def_prop_ro("done", &python_stepper::done)
      .def_prop_ro("now", &python_stepper::now)
      .def("observe", &python_stepper::observe)
      .def("act", &python_stepper::act)
      .def("workload", &python_stepper::workload)
      .def("names", &python_stepper::names)
      .def("columns",
           [](const python_stepper& s, std::size_t most_pending, std::size_t most_running) {
             return std::make_unique<columns>(s.of(), most_pending, most_running);
           })
      .def("fill", &python_stepper::fill)
      .def("take_news", &python_stepper::take_news)
      .def("start", &python_stepper::start_numbers)
      .def("advance", &python_stepper::advance)
      .def("stop", &python_stepper::stop)
      .def("result", [](python_stepper& s) { return words_of(s.result()); });
}

}  // namespace allot_python
