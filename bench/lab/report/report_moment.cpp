// SPDX-License-Identifier: BSL-1.0
// The data that the page needs to show any instant: what ran where, which jobs were pending and why, and
// when.
#include "lab/report/report.hpp"
#include "lab/report/result_files.hpp"

#include <allot/core/vector.hpp>
#include <allot/lab/decimal.hpp>
#include <allot/lab/trace.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>

namespace allot {
inline namespace v0 {
namespace lab {
namespace report {

namespace {

/// The maximum number of runs and queue stays in a page, about 2 MB.
constexpr std::size_t most_intervals = 24'000;
/// More nodes than a page can show well.
constexpr std::size_t most_nodes = 2048;

/// Adds the separator between two elements of a list.
void next_in(std::string& json) {
  if (json.back() != '[') json += ',';
}

struct stay {
  sim::job_index job = 0;
  interval when{};
};

/// All periods in which jobs were pending, job by job.
vector<stay> stays_of(const replay_result& r, const vector<const replayed_job*>& jobs) {
  vector<instant> since(jobs.size(), -1);
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const sim::job_outcome o = jobs[j]->outcome;
    if (o == sim::job_outcome::refused || o == sim::job_outcome::future) continue;
    since[j] = std::max(jobs[j]->submit, r.time.begin);
  }
  vector<stay> stays;
  const auto close = [&](sim::job_index j, instant now) {
    if (since[j] >= 0 && since[j] < now) stays.push_back({j, {since[j], now}});
    since[j] = -1;
  };
  for (const sim::job_run& run : r.log.runs()) {
    if (run.elastic) continue;
    close(run.job, run.begin);
    if (run.evicted) since[run.job] = run.end;
  }
  for (sim::job_index j = 0; j < jobs.size(); ++j) close(j, jobs[j]->end.value_or(r.time.end));
  return stays;
}

/// The recorded reasons of each job, by time.
using noted = std::pair<instant, wait_reason>;
vector<vector<noted>> notes_of(const replay_result& r, std::size_t jobs) {
  vector<vector<noted>> notes(jobs);
  for (const timeline_log::moment& m : r.moments.moments()) {
    for (const timeline_log::note& n : m.waiting) notes[n.job].emplace_back(m.at, n.why);
  }
  return notes;
}

class data_writer {
 public:
  data_writer(std::string& html, const replay_result& r, const vector<layer>& layers,
              const vector<drawn_distribution>& distributions)
      : json_(html),
        r_(r),
        layers_(layers),
        distributions_(distributions),
        jobs_(jobs_by_index(r)),
        layer_of_(layers_by_quota(r, layers, 0)) {}

  void write() {
    json_ += "<script type=\"application/json\" id=data>{\"begin\":";
    time(r_.time.begin);
    json_ += ",\"span\":";
    time(r_.time.end - r_.time.begin);
    json_ += ",\"width\":";
    time(r_.time.width);
    json_ += ",\"bounded\":";
    json_ += r_.figures.capacity_is_bounded ? "true" : "false";
    write_layers();
    write_series();
    write_distributions();
    write_nodes();
    write_intervals();
    json_ += "}</script>\n";
  }

 private:
  void time(instant t) { append_milli(json_, t); }
  void time_since_begin(instant t) { time(t - r_.time.begin); }
  void list_of(const vector<std::int64_t>& values, std::int64_t unit) {
    json_ += '[';
    for (const std::int64_t v : values) {
      next_in(json_);
      // To a tenth; more precision would be invisible.
      const std::int64_t tenths = (v * 10 + unit / 2) / unit;
      append_whole(json_, tenths / 10);
      if (tenths % 10 != 0) {
        json_ += '.';
        append_whole(json_, tenths % 10);
      }
    }
    json_ += ']';
  }

  void write_layers() {
    json_ += ",\"layers\":[";
    for (const layer& l : layers_) {
      next_in(json_);
      json_ += "{\"name\":";
      append_json_string(json_, l.name);
      json_ += ",\"colour\":";
      append_whole(json_, static_cast<std::int64_t>(l.colour));
      json_ += ",\"nominal\":[";
      // An inner quota's nominal is also its children's.
      const std::size_t x = l.quotas.front();
      for (const auto& [at, nominal] : r_.quotas[x].nominal) {
        if (l.quotas.size() != 1 || r_.is_inner(quota_id{x})) break;
        next_in(json_);
        time_since_begin(std::max(at, r_.time.begin));
        json_ += ',';
        json_ += nominal ? decimal(*nominal) : "null";
      }
      json_ += "]}";
    }
    json_ += ']';
  }

  void write_series() {
    const replayed_time& t = r_.time;
    const auto of_layers = [&](std::string_view name, const vector<drawn_series>& of, std::int64_t unit) {
      json_.append(",\"").append(name).append("\":[");
      for (const layer& l : layers_) {
        next_in(json_);
        list_of(sum_of(of, l.quotas, t.used.means.size()), unit);
      }
      json_ += ']';
    };
    of_layers("used", t.used_of, 1000);
    of_layers("entitled", t.entitled_of, 1000);
    of_layers("borrowed", t.borrowed_of, 1000);
    of_layers("lent", t.lent_of, 1000);
    of_layers("pending", t.pending_of, 1);
    of_layers("reserved", t.reserved_of, 1000);
    json_ += ",\"capacity\":";
    list_of(t.capacity.means, 1000);
    json_ += ",\"stranded\":";
    list_of(t.stranded.means, 1000);
    json_ += ",\"cuts\":[";
    for (const auto& counts : preemptions_of(r_, layers_)) {
      next_in(json_);
      json_ += '[';
      for (const std::uint32_t n : counts) {
        next_in(json_);
        append_whole(json_, n);
      }
      json_ += ']';
    }
    json_ += ']';
  }

  void write_distributions() {
    json_ += ",\"cdfs\":[";
    for (const drawn_distribution& of : distributions_) {
      next_in(json_);
      json_ += "{\"longest\":";
      time(of.axis.end());
      json_ += of.is_ratio ? ",\"ratio\":true,\"parts\":[" : ",\"ratio\":false,\"parts\":[";
      for (const vector<std::int64_t>& part : of.parts) {
        next_in(json_);
        list_of(part, 10'000);
      }
      json_ += "]}";
    }
    json_ += ']';
  }

  void write_nodes() {
    json_ += ",\"nodes\":[";
    const std::size_t n = r_.cluster == nullptr ? 0 : r_.cluster->size();
    for (std::size_t i = 0; i < std::min(n, most_nodes); ++i) {
      next_in(json_);
      append_json_string(json_, r_.cluster->name(gpu::node_id{i}));
      json_ += ',';
      append_whole(json_, r_.cluster->gpus(gpu::node_id{i}));
    }
    json_ += "],\"allNodes\":";
    append_whole(json_, static_cast<std::int64_t>(n));
  }

  void write_intervals() {
    const vector<stay> stays = stays_of(r_, jobs_);
    const auto notes = notes_of(r_, jobs_.size());
    vector<interval> all;
    for (const sim::job_run& run : r_.log.runs()) all.push_back({run.begin, end_of(r_, jobs_, run)});
    const std::size_t runs = all.size();
    for (const stay& s : stays) all.push_back(s.when);
    // The reasons of the first jobs in each queue are known at these instants.
    vector<instant> candidates;
    for (const timeline_log::moment& m : r_.moments.moments()) candidates.push_back(m.at);
    vector<instant> stops = stops_for(all, candidates, most_intervals);
    if (!stops.empty()) {
      // Then the page has only stays with a known reason; the others are counted.
      all.resize(runs);
      for (const stay& s : stays) {
        if (!notes[s.job].empty()) all.push_back(s.when);
      }
      const vector<instant> fewer = stops_for(all, candidates, most_intervals);
      stops = fewer.empty() ? candidates : fewer;
    }
    json_ += ",\"stops\":[";
    for (const instant t : stops) {
      next_in(json_);
      time_since_begin(t);
    }
    json_ += ']';
    write_counts(stays, stops);
    number_.assign(jobs_.size(), 0);
    std::string runs_json;
    std::string stays_json;
    {
      // A run on one node takes so much.
      if (stops.empty()) runs_json.reserve(40 * runs);
      const writing_to here{json_, runs_json};
      write_runs(stops);
    }
    {
      const writing_to here{json_, stays_json};
      write_stays(stays, stops, notes);
    }
    json_.reserve(json_.size() + runs_json.size() + stays_json.size() + 40 * mentioned_.size());
    write_jobs();
    json_ += runs_json;
    json_ += stays_json;
    json_ += ",\"reasons\":[";
    for (const std::string& text : reasons_) {
      next_in(json_);
      append_json_string(json_, text);
    }
    json_ += ']';
  }
  /// How many jobs are pending at each stop, by layer.
  void write_counts(const vector<stay>& stays, const vector<instant>& stops) {
    vector<vector<std::int64_t>> changes(layers_.size(), vector<std::int64_t>(stops.size() + 1));
    for (const stay& s : stays) {
      const auto at = [&](instant t) {
        return static_cast<std::size_t>(std::lower_bound(stops.begin(), stops.end(), t) - stops.begin());
      };
      if (layers_.empty()) break;
      auto& of_layer = changes[layer_of_[jobs_[s.job]->quota.index()]];
      ++of_layer[at(s.when.begin)];
      --of_layer[at(s.when.end)];
    }
    json_ += ",\"waiting\":[";
    for (auto& of_layer : changes) {
      next_in(json_);
      json_ += '[';
      std::int64_t n = 0;
      for (std::size_t i = 0; i < stops.size(); ++i) {
        next_in(json_);
        append_whole(json_, n += of_layer[i]);
      }
      json_ += ']';
    }
    json_ += ']';
  }

  /// While it exists, output goes to another string.
  class writing_to {
   public:
    writing_to(std::string& json, std::string& other) : json_(json), other_(other) { json_.swap(other_); }
    writing_to(const writing_to&) = delete;
    writing_to& operator=(const writing_to&) = delete;
    ~writing_to() { json_.swap(other_); }

   private:
    std::string& json_;
    std::string& other_;
  };

  /// Jobs are numbered in order of first mention.
  std::int64_t number_of(sim::job_index j) {
    if (number_[j] == 0) {
      mentioned_.push_back(j);
      number_[j] = mentioned_.size();
    }
    return static_cast<std::int64_t>(number_[j] - 1);
  }
  void write_jobs() {
    json_ += ",\"jobs\":[";
    for (const sim::job_index j : mentioned_) {
      const replayed_job& job = *jobs_[j];
      next_in(json_);
      append_json_string(json_, job.id);
      json_ += ',';
      append_whole(json_, static_cast<std::int64_t>(layer_of_[job.quota.index()]));
      json_ += ',';
      json_ += decimal(job.gpus);
      json_ += ',';
      time_since_begin(job.submit);
      json_ += ',';
      append_whole(json_, job.priority);
    }
    json_ += "],\"podSets\":{";
    for (std::size_t n = 0; n < mentioned_.size(); ++n) {
      const auto sets = r_.pod_sets.find(mentioned_[n]);
      if (sets == r_.pod_sets.end()) continue;
      if (json_.back() != '{') json_ += ',';
      append_json_string(json_, std::to_string(n));
      json_ += ':';
      append_json_string(json_, sets->second);
    }
    json_ += '}';
  }
  void write_runs(const vector<instant>& stops) {
    json_ += ",\"runs\":[";
    for (const sim::job_run& run : r_.log.runs()) {
      const interval when{run.begin, end_of(r_, jobs_, run)};
      if (!is_seen(when, stops)) continue;
      next_in(json_);
      append_whole(json_, number_of(run.job));
      json_ += ',';
      time_since_begin(when.begin);
      json_ += ',';
      time_since_begin(when.end);
      json_ += run.elastic ? ",1,\"" : ",0,\"";
      for (const sim::run_pod& pod : r_.log.pods(run)) {
        if (json_.back() != '"') json_ += ';';
        append_place(json_, pod);
      }
      json_ += '"';
    }
    json_ += ']';
  }
  void write_stays(const vector<stay>& stays, const vector<instant>& stops,
                   const vector<vector<noted>>& notes) {
    json_ += ",\"stays\":[";
    for (const stay& s : stays) {
      if (!is_seen(s.when, stops) || (!stops.empty() && notes[s.job].empty())) continue;
      next_in(json_);
      append_whole(json_, number_of(s.job));
      json_ += ',';
      time_since_begin(s.when.begin);
      json_ += ',';
      time_since_begin(s.when.end);
      json_ += ",[";
      const wait_reason* last = nullptr;
      for (const auto& [at, why] : notes[s.job]) {
        if (at < s.when.begin || at >= s.when.end || (last != nullptr && *last == why)) continue;
        last = &why;
        next_in(json_);
        time_since_begin(at);
        json_ += ',';
        append_whole(json_, reason_number(why));
      }
      json_ += ']';
    }
    json_ += ']';
  }

  std::int64_t reason_number(const wait_reason& why) {
    const std::string_view resource =
        why.dimension < r_.resources.size() ? std::string_view{r_.resources[why.dimension]} : "gpu";
    const std::string_view at =
        why.at && why.at.index() < r_.quotas.size() ? std::string_view{r_.quotas[why.at.index()].name} : "";
    const auto [place, is_new] = known_reasons_.try_emplace(
        sentence(why, at, resource, r_.moments.nodes(why.nodes)), static_cast<std::int64_t>(reasons_.size()));
    if (is_new) reasons_.push_back(place->first);
    return place->second;
  }

  std::string& json_;
  const replay_result& r_;
  const vector<layer>& layers_;
  const vector<drawn_distribution>& distributions_;
  vector<const replayed_job*> jobs_;
  vector<std::size_t> layer_of_;
  /// By job, its number in the page plus one; 0 if it has none.
  vector<std::size_t> number_{};
  vector<sim::job_index> mentioned_{};
  std::map<std::string, std::int64_t> known_reasons_{};
  vector<std::string> reasons_{};
};

}  // namespace

bool is_seen(const interval& i, std::span<const instant> stops) {
  if (i.begin >= i.end) return false;
  if (stops.empty()) return true;
  const auto first = std::lower_bound(stops.begin(), stops.end(), i.begin);
  return first != stops.end() && *first < i.end;
}

vector<instant> stops_for(std::span<const interval> all, std::span<const instant> candidates,
                          std::size_t most) {
  const auto seen = [&](std::span<const instant> stops) {
    return static_cast<std::size_t>(
        std::count_if(all.begin(), all.end(), [&](const interval& i) { return is_seen(i, stops); }));
  };
  vector<instant> stops;
  if (seen(stops) <= most) return stops;
  for (std::size_t step = 1; step == 1 || stops.size() > 1; step *= 2) {
    stops.clear();
    for (std::size_t i = 0; i < candidates.size(); i += step) stops.push_back(candidates[i]);
    if (seen(stops) <= most) break;
  }
  return stops;
}

void append_place(std::string& text, const sim::run_pod& pod) {
  // There are many places, so they are appended in few pieces.
  char piece[64];
  char* at = piece;
  const auto put = [&at](std::uint64_t n) {
    const fmt::format_int digits{n};
    at = std::copy(digits.data(), digits.data() + digits.size(), at);
  };
  const auto append = [&] {
    text.append(piece, static_cast<std::size_t>(at - piece));
    at = piece;
  };
  put(pod.where.node.index());
  char before = ':';
  for (std::uint64_t left = pod.where.devices; left != 0;) {
    const int first = std::countr_zero(left);
    const int count = std::countr_one(left >> static_cast<unsigned>(first));
    *at++ = before;
    before = ',';
    put(static_cast<std::uint64_t>(first));
    if (count > 1) {
      *at++ = '-';
      put(static_cast<std::uint64_t>(first + count - 1));
    }
    append();
    left = first + count >= 64
               ? 0
               : left >> static_cast<unsigned>(first + count) << static_cast<unsigned>(first + count);
  }
  if (pod.milli < gpu::milli_per_gpu) {
    *at++ = '*';
    put(pod.milli);
  }
  append();
}

void write_data(std::string& html, const replay_result& r, const vector<layer>& layers,
                const vector<drawn_distribution>& distributions) {
  data_writer{html, r, layers, distributions}.write();
}

void write_moment(std::string& html, const replay_result& r) {
  html +=
      "<figure id=moment><figcaption><h2>Any instant</h2><p>move the slider, or click on any chart above or "
      "below; the arrow keys go from one change to the next</p></figcaption>\n"
      "<div class=scrub><input type=range id=slider min=0 max=1 step=any value=0 aria-label=\"instant\" "
      "aria-describedby=when></div>\n"
      "<p class=steps><button type=button id=before aria-label=\"the change before\">&#8592;</button>"
      "<button type=button id=after aria-label=\"the next change\">&#8594;</button>"
      "<output id=when for=slider></output><span id=now></span></p>\n"
      "<div class=columns><div id=teams></div>\n";
  html += r.cluster == nullptr ? "<div id=nodes hidden></div>" : "<div id=nodes></div>";
  html +=
      "</div>\n<div class=columns><div><h3 id=run-head>Running</h3><div class=scroll><table id=run-table>"
      "</table></div></div>\n"
      "<div><h3 id=wait-head>Waiting</h3><div class=scroll><table id=wait-table></table></div></div></div>\n"
      "<noscript><p>This part needs JavaScript; all of it is in jobs.csv and tenants.csv.</p></noscript>\n"
      "</figure>\n";
}

}  // namespace report
}  // namespace lab
}  // namespace v0
}  // namespace allot
