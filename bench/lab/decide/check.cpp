// SPDX-License-Identifier: BSL-1.0
#include "lab/decide/check.hpp"

#include "lab/decide/scenario_host.hpp"
#include "lab/io/files.hpp"
#include "lab/io/packed_input.hpp"
#include "lab/io/terminal.hpp"
#include "lab/io/wrapped_text.hpp"
#include "lab/scenario/policy_parts.hpp"
#include "lab/scenario/scenario_reader.hpp"
#include "lab/workload/doubtful_times.hpp"
#include "lab/workload/tag_columns.hpp"

#include <allot/core/dimension_names.hpp>
#include <allot/core/text.hpp>
#include <allot/lab/decimal.hpp>
#include <allot/lab/named_policy.hpp>
#include <allot/lab/text_table.hpp>
#include <allot/lab/timestamp.hpp>
#include <allot/lab/trace_jobs.hpp>
#include <allot/quota/tree.hpp>
#include <allot/scheduler/sentences.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

[[nodiscard]] std::string seconds(instant t) {
  std::string text;
  append_milli(text, t);
  return text + " s";
}

[[nodiscard]] std::string counted(std::size_t n, std::string_view what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

void describe_nodes(const scenario& s, std::string& out) {
  if (!s.cluster) {
    out += "cluster: none, so only the quotas count\n";
    return;
  }
  out +=
      fmt::format("cluster: {}, {} GPUs\n", counted(s.cluster->size(), "node"), to_string(s.cluster->gpus()));
  for (const gpu::node_spec& n : s.nodes) {
    out += fmt::format("  {}{}: {} GPUs{}{}{}{}{}\n", printable(n.name),
                       n.count ? fmt::format(" x {}", *n.count) : "", n.gpus,
                       n.gpu_model.empty() ? "" : " " + printable(n.gpu_model),
                       n.count && *n.count > 1 ? " each" : "", n.mig ? " in MIG mode" : "",
                       n.pool.empty() ? "" : ", pool ", printable(n.pool));
  }
  if (s.levels.empty()) return;
  out += "  topology: ";
  for (std::size_t l = 0; l < s.levels.size(); ++l) {
    out += counted(s.nearness->domains_of(l).size(), printable(s.levels[l])) +
           (l + 1 < s.levels.size() ? ", " : "\n");
  }
}

/// By dimension, separated by slashes, or by bars if the names contain slashes: "48/unlimited".
template <class Get>
[[nodiscard]] std::string cells(const scenario& s, Get get) {
  const bool has_flavors = std::any_of(s.resources.begin(), s.resources.end(),
                                       [](const std::string& r) { return r.find('/') != std::string::npos; });
  std::string text;
  for (std::size_t d = 0; d < s.resources.size(); ++d) {
    if (d > 0) text += has_flavors ? " | " : "/";
    text += get(d);
  }
  return text;
}

[[nodiscard]] std::string shown(limit l, quantity nominal) {
  const quantity most = l.of(nominal);
  if (most.is_unlimited()) return "all";
  return most == quantity{} ? "none" : to_string(most);
}

void describe_quotas(const scenario& s, std::string& out) {
  std::vector<quota_spec<max_resources>> specs;
  for (std::size_t i = 0; i < s.initial_quotas; ++i) specs.push_back(s.quotas[i].spec);
  const quota_tree<max_resources> tree{std::move(specs)};
  out += fmt::format("quotas: {} ({})\n", s.initial_quotas,
                     printable(cells(s, [&](std::size_t d) { return s.resources[d]; })));
  text_table table{{"", "nominal", "lends", "borrows", "weight"}};
  const auto add = [&](const auto& self, quota_id x) -> void {
    const quota_spec<max_resources>& q = tree.spec(x);
    // Deep trees are shown no wider, or the table would grow with the square of their depth.
    std::string name(2 * std::min<std::size_t>(tree.depth(x), 40), ' ');
    name += q.name;
    if (q.inclusive) name += " (inclusive)";
    const bool is_root = !tree.parent(x);
    const bool alone = is_root || q.is_static;
    const std::string none = is_root ? "-" : "none";
    table.add({name, cells(s, [&](std::size_t d) { return to_string(q.nominal[d]); }),
               alone ? none : cells(s, [&](std::size_t d) { return shown(q.lend[d], q.nominal[d]); }),
               alone ? none : cells(s, [&](std::size_t d) { return shown(q.borrow[d], q.nominal[d]); }),
               cells(s, [&](std::size_t d) { return to_string(quantity::milli(q.weight[d].in_milli())); })});
    for (const quota_id c : tree.children(x)) self(self, c);
  };
  for (const quota_id root : tree.roots()) add(add, root);
  out += table.text();
}

void describe_jobs(const scenario& s, std::string& out) {
  std::map<job_phase, std::size_t> phases;
  amounts asked;
  for (const job_entry& j : s.jobs) {
    ++phases[j.phase];
    asked += j.request;
    // The best flavor of each group.
    const auto add = [&](const vector<flavor_group>& flavors, std::int64_t pods) {
      for (const flavor_group& g : flavors) asked += g.options.front().request * pods;
    };
    add(j.flavors, j.pod_request.total ? 1 : j.pod_request.pods);
    for (const pod_set_entry& set : j.sets) add(set.flavors, set.pods.pods);
  }
  out += fmt::format("jobs: {} waiting, {} running, {} being evicted; they ask for {}\n",
                     phases[job_phase::pending], phases[job_phase::running], phases[job_phase::evicting],
                     printable(dimension_names<max_resources>{s.resources}.text(asked)));
  if (!s.events.empty()) {
    out += fmt::format("events: {}, the last at {}\n", s.events.size(), seconds(s.events.back().at));
  }
}

/// The tags: what is there, and what was probably meant for something else.
void describe_tags(const trace& t, const std::set<std::size_t>& read, std::string& out) {
  std::string names;
  for (const tag_column& c : unread_tag_columns(t, read)) {
    if (!names.empty()) names += ", ";
    names += c.name.empty() ? "\"\"" : printable(std::string{c.name});
    names += did_you_mean(c.meant);
  }
  if (!names.empty()) out += "  tags, which no policy looks at: " + names + '\n';
}

/// The estimates. A job may legally run longer, which is worth reporting.
void describe_estimates(const trace& t, std::string& out) {
  constexpr std::int64_t far_too_long = 10;
  std::size_t jobs = 0;
  std::size_t overruns = 0;
  std::size_t much_longer = 0;
  instant longest_overrun = 0;
  for (const trace_job& j : t.jobs) {
    if (j.estimate == 0) continue;
    ++jobs;
    const instant overrun = j.duration - j.estimate * second;
    if (overrun > 0) ++overruns;
    longest_overrun = std::max(longest_overrun, overrun);
    if (j.estimate > far_too_long * std::max<instant>(second, j.duration) / second) ++much_longer;
  }
  if (jobs == 0) return;
  out += jobs == t.jobs.size() ? "  all have an estimate" : "  " + std::to_string(jobs) + " have an estimate";
  if (overruns > 0) {
    out +=
        fmt::format("; {} longer than it, by up to {}",
                    overruns == 1 ? "1 runs" : std::to_string(overruns) + " run", seconds(longest_overrun));
  }
  if (much_longer > 0) {
    out += fmt::format("; of {} it is over {} times the duration", much_longer, far_too_long);
  }
  out += '\n';
}

/// The tag column of one of these names, whatever their case.
[[nodiscard]] std::optional<std::size_t> find_tag(const trace& t, std::span<const std::string_view> names) {
  for (std::size_t c = 0; c < t.tag_columns.size(); ++c) {
    if (std::find(names.begin(), names.end(), lower(t.tag_columns[c])) != names.end()) return c;
  }
  return std::nullopt;
}

/// What tags say about when jobs started can't be: in 1970, which is what systems write where they know no
/// time, or before the submission.
void describe_starts(const trace& t, std::string& out) {
  constexpr std::array<std::string_view, 6> starts = {"start",   "start_time",     "start_s",
                                                      "started", "scheduled_time", "start_date"};
  constexpr std::array<std::string_view, 5> submissions = {"submit", "submit_time", "submitted",
                                                           "submitted_time", "submission"};
  const auto start_at = find_tag(t, starts);
  if (!start_at) return;
  const auto submit_at = find_tag(t, submissions);
  std::size_t unknown = 0;
  std::size_t early = 0;
  std::string_view first_unknown;
  std::string_view first_early;
  for (const trace_job& j : t.jobs) {
    const std::string_view text = t.tag(j, *start_at);
    const std::string_view submit_text = submit_at ? t.tag(j, *submit_at) : std::string_view{};
    const auto date = parse_timestamp(text);
    const auto submit_date = parse_timestamp(submit_text);
    const parsed_milli number = parse_milli(text);
    const parsed_milli submit_number = parse_milli(submit_text);
    const bool is_number = !date && number.problem == decimal_problem::none;
    // A number counts from where that of the submission does: if it is no tag, submit_s.
    const instant submit = submit_number.problem == decimal_problem::none ? submit_number.value : j.submit;
    constexpr instant year_1971 = 365 * day;
    if (date && *date < year_1971) {
      if (unknown++ == 0) first_unknown = t.ids[j.id];
    } else if ((date && submit_date && *date < *submit_date) || (is_number && number.value < submit)) {
      if (early++ == 0) first_early = t.ids[j.id];
    }
  }
  const auto tell = [&](std::size_t n, std::string_view what, std::string_view first) {
    if (n == 0) return;
    out += fmt::format("  {} {} {} (column {}), {} first\n", counted(n, "job"), n == 1 ? "starts" : "start",
                       what, printable(t.tag_columns[*start_at]), printable(first));
  };
  tell(unknown, "in 1970", first_unknown);
  tell(early, "before submission", first_early);
}

}  // namespace

std::string summary(const trace& t, const std::string& file, const std::set<std::size_t>& read) {
  std::string out = fmt::format("trace {}: {}", printable(file), counted(t.jobs.size(), "job"));
  if (t.jobs.empty()) {
    out += '\n';
    describe_tags(t, read, out);
    return out;
  }
  quantity gpus;
  quantity largest;
  for (const trace_job& j : t.jobs) {
    gpus += j.gpus;
    largest = std::max(largest, j.gpus);
  }
  const trace_times times = times_of(t);
  out += fmt::format(" of {}, submitted from {} to {}\n", counted(t.tenants.size(), "tenant"),
                     seconds(times.first_submit), seconds(times.last_submit));
  if (const std::string doubt = doubt_of_times(times); !doubt.empty()) out += "  " + doubt + '\n';
  out += fmt::format("  they ask for {} GPUs, the largest for {}\n", to_string(gpus), to_string(largest));
  const auto has_sets = [](const trace_job& j) { return j.is_unlike(); };
  if (const auto n = std::count_if(t.jobs.begin(), t.jobs.end(), has_sets); n > 0) {
    out += fmt::format("  {} {} of pods that differ\n", n, n == 1 ? "consists" : "consist");
  }
  describe_estimates(t, out);
  describe_starts(t, out);
  describe_tags(t, read, out);
  return out;
}

std::string summary(const scenario& s) {
  std::string out = fmt::format("scenario {}: policy {}\n", printable(s.file), s.policy.preset);
  describe_nodes(s, out);
  describe_quotas(s, out);
  describe_jobs(s, out);
  if (s.trace) out += summary(*s.trace, s.trace_file, columns_of_speeds(s));
  return out;
}

namespace {

/// What is no error, as quotas and nodes may change, and yet probably not meant.
class doubts {
 public:
  explicit doubts(scenario_host<max_resources>& host) : host_(host) {}

  [[nodiscard]] std::string find() && {
    for (const auto& r : host_.rejected) {
      if (host_.accounts.contains(host_.jobs.setup.jobs[r.job].quota)) add(r.job, "can never run: " + r.text);
    }
    for (sim::job_index j = 0; j < host_.ids.size(); ++j) {
      if (!host_.ids[j] || !host_.jobs.origins[j].entry) continue;
      const job_state is = host_.scheduler.state(host_.ids[j]);
      is == job_state::pending ? look_at_quotas(j) : look_at_places(j);
    }
    if (lines_ > most_) text_ += fmt::format("  and {} more\n", lines_ - most_);
    return text_.empty() ? text_ : "jobs to look at:\n" + text_;
  }

 private:
  void add(sim::job_index j, const std::string& what) {
    if (++lines_ <= most_)
      text_ += fmt::format("  {} {}\n", printable(std::string{host_.jobs.ids[j]}), printable(what));
  }

  void look_at_quotas(sim::job_index j) {
    const auto h = host_.scheduler.why(host_.ids[j]);
    if (!h.out_of_reach) return;
    add(j, "can never run as the quotas are: " +
               text_of_limit(*h.out_of_reach, host_.scheduler.tree(), h.out_of_reach_request,
                             dimension_names<max_resources>{host_.file.resources}));
  }

  /// A running job stays where it is, though no other would be placed so.
  void look_at_places(sim::job_index j) {
    if (!host_.file.nearness || !host_.scheduler.places().has_nodes()) return;
    const sim::job<max_resources>& job = host_.jobs.setup.jobs[j];
    const job_id core = host_.ids[j];
    vector<gpu::node_id> nodes = nodes_of(core);
    vector<vector<gpu::node_id>> of_sets;
    if (job.unlike != 0) {
      const pods_by_set has = host_.scheduler.view().by_set(j, host_.scheduler.pods(core));
      auto next = nodes.begin();
      for (std::size_t s = 0; s < host_.jobs.sets_of(job).size(); ++s) {
        of_sets.emplace_back(next, next + has[s]);
        next += has[s];
      }
    }
    for (const job_id pod : host_.scheduler.elastic_pods_of(core)) {
      const vector<gpu::node_id> its = nodes_of(pod);
      nodes.append(its.begin(), its.end());
      if (job.unlike != 0) of_sets[host_.scheduler.set_of(pod).index()].append(its.begin(), its.end());
    }
    expect_together(j, nodes, job.pod_request.required_level, "its pods");
    for (std::size_t s = 0; s < of_sets.size(); ++s) {
      const gpu::pod_set& set = host_.scheduler.view().sets_of(j)[s];
      const std::string who = fmt::format("the pods of its pod set {}", host_.jobs.sets_of(job)[s]);
      expect_together(j, of_sets[s], set.each.required_level, who);
      expect_slices(j, of_sets[s], set, who);
      expect_apart(j, of_sets[s], set, who);
    }
  }

  [[nodiscard]] vector<gpu::node_id> nodes_of(job_id unit) const {
    vector<gpu::node_id> nodes;
    for (const auto& p : host_.scheduler.places().inventory().pods(host_.scheduler.place_of(unit))) {
      nodes.push_back(p.where.node);
    }
    return nodes;
  }
  /// How many of them are in each domain of a level, the largest number first.
  [[nodiscard]] vector<std::size_t> by_domain(const vector<gpu::node_id>& nodes, std::uint8_t level) const {
    const gpu::topology& near = *host_.file.nearness;
    std::map<std::size_t, std::size_t> counts;
    for (const gpu::node_id n : nodes) {
      const bool is_node = level == near.node_level();
      const gpu::domain_id d = is_node ? gpu::domain_id{} : near.domain_of(n, level);
      // A node in no domain is apart from all.
      ++counts[is_node || !d ? near.size() + n.index() : d.index()];
    }
    vector<std::size_t> all;
    for (const auto& entry : counts) all.push_back(entry.second);
    std::sort(all.rbegin(), all.rend());
    return all;
  }
  [[nodiscard]] std::string_view name_of(std::uint8_t level) const {
    return host_.file.nearness->level_name(level);
  }
  void expect_together(sim::job_index j, const vector<gpu::node_id>& nodes, std::uint8_t level,
                       const std::string& who) {
    if (level == gpu::any_level) return;
    const std::size_t domains = by_domain(nodes, level).size();
    if (domains < 2) return;
    add(j, fmt::format("runs where it would not be placed: {} must be in one {}, and are in {}", who,
                       name_of(level), domains));
  }
  void expect_slices(sim::job_index j, const vector<gpu::node_id>& nodes, const gpu::pod_set& set,
                     const std::string& who) {
    if (set.slice == 0) return;
    std::size_t slices = 0;
    const auto slices_of = [&](std::size_t pods) { return (pods + set.slice - 1) / set.slice; };
    for (const std::size_t pods : by_domain(nodes, set.slice_level)) slices += slices_of(pods);
    if (slices == slices_of(nodes.size())) return;
    add(j, fmt::format("runs where it would not be placed: every {} of {} must be in one {}", set.slice, who,
                       name_of(set.slice_level)));
  }
  void expect_apart(sim::job_index j, const vector<gpu::node_id>& nodes, const gpu::pod_set& set,
                    const std::string& who) {
    if (set.most_together == 0 || nodes.empty()) return;
    const std::size_t most = by_domain(nodes, set.spread_level).front();
    if (most <= set.most_together) return;
    add(j, fmt::format("runs where it would not be placed: of {} at most {} may be in one {}, and {} are",
                       who, set.most_together, name_of(set.spread_level), most));
  }

  static constexpr std::size_t most_ = 20;

  scenario_host<max_resources>& host_;
  std::string text_;
  std::size_t lines_ = 0;
};

}  // namespace

std::string describe_doubts(const scenario& s, errors& found) {
  const auto host = host_jobs<max_resources>(s, found);
  return host ? doubts{*host}.find() : std::string{};
}

namespace {

[[nodiscard]] bool is_called_csv(const std::string& path) {
  const auto ends_in = [&](std::string_view ending) {
    return path.size() > ending.size() &&
           path.compare(path.size() - ending.size(), ending.size(), ending) == 0;
  };
  return ends_in(".csv") || ends_in(".csv.gz");
}

/// Standard input has no name that tells its format: a scenario begins with an object or a comment.
[[nodiscard]] std::string check_standard_input(const scenario_source& source, errors& found) {
  packed_input file{"-"};
  const auto text = file.read_all();
  if (!text) {
    found.add(shown_path("-"), {}, file.problem() + " (expected a scenario or a trace)");
    return {};
  }
  // Or with a byte order mark.
  const std::size_t first = text->find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (first == std::string::npos || (*text)[first] == '{' || (*text)[first] == '/') {
    const auto s = parse_scenario(*text, source, found);
    return s ? summary(*s) + describe_doubts(*s, found) : std::string{};
  }
  const auto t = parse_trace(*text, "-", found);
  return t ? summary(*t, shown_path("-")) : std::string{};
}

}  // namespace

int run_check(const scenario_source& source) {
  errors found;
  std::string text;
  if (*source.file == "-") {
    text = check_standard_input(source, found);
  } else if (is_called_csv(*source.file)) {
    sim::fingerprint bytes;
    if (const auto t = read_trace(*source.file, bytes, found)) text = summary(*t, *source.file);
  } else if (const auto s = read_scenario(source, found)) {
    text = summary(*s) + describe_doubts(*s, found);
  }
  if (!found.empty()) return complain(found);
  return print_result(text + "ok\n", "the summary") ? 0 : bad_input_status;
}

std::string list_policies(std::size_t width) {
  std::string out;
  // A name and its summary, which is wrapped from `column` on.
  const auto line = [&](std::size_t indent, std::size_t column, std::string_view name,
                        std::string_view what) {
    std::string begin = std::string(indent, ' ').append(fmt::format("{:<{}} ", name, column - indent - 1));
    vector<std::string> lines = wrapped(what, std::max(width, column + 20) - column);
    if (lines.empty()) lines.emplace_back();
    for (const std::string& part : lines) {
      out.append(begin).append(part).append("\n");
      begin.assign(column, ' ');
    }
  };
  constexpr std::size_t name_column = 17;
  constexpr std::size_t key_column = 27;
  out += "Presets (\"policy\": NAME, or --policy NAME):\n";
  for (const named_policy& p : all_policies()) {
    line(2, name_column, p.name, p.summary);
    for (const preset_option& o : options_of_presets()) {
      if (o.preset == p.name) line(4, key_column, o.key, o.summary);
    }
  }
  out += "\nParts that can be set (\"policy\": {\"preset\": NAME, \"set\": {...}}):\n";
  for (const part_kind& kind : settable_parts()) {
    line(2, name_column, kind.key, kind.summary);
    for (const named_part& n : kind.names) line(4, key_column, n.name, n.summary);
    if (kind.key == "queue_order") {
      line(4, key_column, "fifo", "the jobs of quotas that do not say theirs go by submission");
    }
  }
  line(2, name_column, "seed", "a whole number");
  return out;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
