// SPDX-License-Identifier: BSL-1.0
#include "lab/import/sacct_values.hpp"

#include "lab/import/import_times.hpp"
#include "lab/import/import_trace.hpp"

#include <allot/lab/timestamp.hpp>
#include <allot/lab/trace.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

[[nodiscard]] bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// A number of at most 18 digits.
[[nodiscard]] std::optional<std::int64_t> number_of(std::string_view text) {
  constexpr std::size_t most_digits = 18;
  if (!is_number(text) || text.size() > most_digits) return std::nullopt;
  std::int64_t n = 0;
  for (const char c : text) n = 10 * n + (c - '0');
  return n;
}

/// The amount in thousandths; memory in MiB: "64G", "500M", "1.50T", without a unit MiB.
[[nodiscard]] std::optional<std::int64_t> parse_amount(std::string_view text, bool is_memory) {
  column_unit unit;
  if (is_memory && !text.empty()) {
    constexpr std::array<std::pair<char, column_unit>, 5> units = {{{'K', {1000, 1024}},
                                                                    {'M', {1000, 1}},
                                                                    {'G', {1'024'000, 1}},
                                                                    {'T', {1'048'576'000, 1}},
                                                                    {'P', {1'073'741'824'000, 1}}}};
    for (const auto& [letter, of_letter] : units) {
      if (text.back() != letter) continue;
      unit = of_letter;
      text.remove_suffix(1);
      break;
    }
  }
  return parse_in_unit(text, unit);
}

/// "a100" of "gres/gpu:a100", and whether the name is that of the resource, with or without a type.
[[nodiscard]] std::optional<std::string_view> type_of(std::string_view name, std::string_view resource) {
  if (name.substr(0, resource.size()) != resource) return std::nullopt;
  name.remove_prefix(resource.size());
  if (name.empty()) return name;
  return name.front() == ':' ? std::optional{name.substr(1)} : std::nullopt;
}

/// Amounts of one generic resource: in all, and by type beside or instead of that.
struct typed_amount {
  std::optional<std::int64_t> all;
  std::int64_t typed = 0;

  void add(std::string_view type, std::int64_t n) {
    if (type.empty()) {
      all = n;
    } else {
      typed += n;
    }
  }
  [[nodiscard]] std::int64_t sum() const { return std::max(all.value_or(0), typed); }
};

/// Counted or measured by Slurm, and no bound on what runs together.
constexpr std::array<std::string_view, 9> no_bounds = {
    "billing", "energy", "vmem", "pages", "fs/disk", "ic/ofed", "gres/gpumem", "gres/gpuutil", "usage"};

template <class Visit>
array_tasks visit_ranges(std::string_view list, Visit visit) {
  array_tasks tasks;
  while (!list.empty()) {
    std::string_view range = take_until(list, ',');
    std::string_view step_text = range;
    range = take_until(step_text, ':');
    std::string_view last_text = range;
    const auto first = number_of(take_until(last_text, '-'));
    const auto last = last_text.empty() ? first : number_of(last_text);
    const auto step = step_text.empty() ? std::optional{std::int64_t{1}} : number_of(step_text);
    if (!first || !last || !step || *step == 0 || *last < *first) {
      tasks.is_whole = false;
      continue;
    }
    tasks.count += static_cast<std::size_t>((*last - *first) / *step + 1);
    visit(*first, *last, *step);
  }
  return tasks;
}

}  // namespace

sacct_times::sacct_times(const std::string& format, std::string& problem) : format_(format) {
  constexpr std::string_view relative = "relative";
  if (format_.empty() || format_ == "standard") {
    format_.clear();
    return;
  }
  if (format_.substr(0, relative.size()) == relative) {
    if (format_.size() > relative.size() + 1) today_ = parse_timestamp(format_.substr(relative.size() + 1));
    if (!today_ || *today_ % day != 0) {
      problem =
          "times relative to a day need that day: expected relative:2026-03-01, found \"" + format_ + '"';
    }
  } else if (!is_time_format(format_)) {
    problem = "expected standard, relative:DATE or a format of strftime as %d/%m/%y %H:%M, found \"" +
              format_ + '"';
  } else if (!has_year(format_)) {
    problem = "no time is known without its year: expected %Y, %y or %s in \"" + format_ + '"';
  }
}

std::optional<instant> sacct_times::parse(std::string_view text) const {
  if (is_unknown(text)) return std::nullopt;
  std::optional<instant> t;
  constexpr std::size_t shortest_epoch = 8;
  if (today_) {
    t = parse_relative(text, *today_);
  } else if (!format_.empty()) {
    t = parse_by_format(text, format_);
  } else if (is_number(text)) {
    // SLURM_TIME_FORMAT=%s, and JSON.
    const auto seconds = number_of(text);
    if (seconds && text.size() >= shortest_epoch) t = std::min(*seconds, most_imported_units) * second;
  } else {
    t = parse_timestamp(text);
  }
  return t && is_known_time(*t) ? t : std::nullopt;
}

bool is_unknown(std::string_view text) {
  return text.empty() || text == "Unknown" || text == "None" || text == "N/A" || text == "(null)" ||
         text == "0";
}

std::optional<trackable_resources> parse_trackable(std::string_view text) {
  trackable_resources all;
  typed_amount gpus;
  typed_amount shards;
  typed_amount mps;
  std::size_t types = 0;
  while (!text.empty()) {
    const std::string_view item = take_until(text, ',');
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const std::string_view name = item.substr(0, equals);
    const auto gpu_type = type_of(name, "gres/gpu");
    const auto shard_type = type_of(name, "gres/shard");
    const auto mps_type = type_of(name, "gres/mps");
    const bool is_known =
        gpu_type || shard_type || mps_type || name == "mem" || name == "cpu" || name == "node";
    if (!is_known && std::find(no_bounds.begin(), no_bounds.end(), name) != no_bounds.end()) continue;
    const auto n = parse_amount(item.substr(equals + 1), name == "mem");
    if (!n && is_known) return std::nullopt;
    if (!is_known) {
      // Of one that is not configured to be consumed Slurm counts 0.
      if (!n || *n > 0) all.others.emplace_back(name);
      continue;
    }
    if (gpu_type) gpus.add(*gpu_type, *n);
    if (gpu_type && !gpu_type->empty() && *n > 0) {
      ++types;
      all.gpu_model = *gpu_type;
    }
    if (shard_type) shards.add(*shard_type, *n);
    if (mps_type) mps.add(*mps_type, *n);
    if (name == "node") all.nodes = *n / 1000;
    if (name == "mem") all.memory_mib = (*n + 999) / 1000;
    if (name == "cpu") all.cpu_milli = *n;
    all.has_cpu = all.has_cpu || name == "cpu";
  }
  all.gpus = gpus.sum();
  all.shards = shards.sum() / 1000;
  all.mps = mps.sum() / 1000;
  all.has_several_models = types > 1 || (types == 1 && gpus.typed < all.gpus);
  if (all.has_several_models) all.gpu_model.clear();
  return all;
}

sacct_id parse_sacct_id(std::string_view text) {
  sacct_id id;
  id.base = text.substr(0, text.find_first_of("_+."));
  const std::string_view rest = text.substr(id.base.size());
  id.is_step = text.find('.') != std::string_view::npos && rest.find('[') == std::string_view::npos;
  id.is_component = rest.size() > 1 && rest.front() == '+' && is_number(rest.substr(1, 1));
  if (rest.substr(0, 2) != "_[") return id;
  id.is_rest_of_array = true;
  std::string_view limit =
      rest.substr(2, rest.find(']') == std::string_view::npos ? rest.size() : rest.find(']') - 2);
  id.tasks = take_until(limit, '%');
  id.at_once = number_of(limit).value_or(0);
  return id;
}

array_tasks count_tasks(std::string_view list) {
  return visit_ranges(list, [](std::int64_t, std::int64_t, std::int64_t) {});
}

void for_each_task(std::string_view list, const std::function<void(std::int64_t)>& visit) {
  static_cast<void>(visit_ranges(list, [&](std::int64_t first, std::int64_t last, std::int64_t step) {
    for (std::int64_t n = first; n <= last; n += step) visit(n);
  }));
}

sacct_state parse_sacct_state(std::string_view text) {
  const std::string_view word = text.substr(0, text.find_first_of(" +,"));
  constexpr std::array<std::pair<std::string_view, sacct_state>, 40> states = {
      {{"PENDING", sacct_state::pending},       {"PD", sacct_state::pending},
       {"REQUEUE_HOLD", sacct_state::pending},  {"RH", sacct_state::pending},
       {"REQUEUE_FED", sacct_state::pending},   {"RF", sacct_state::pending},
       {"SPECIAL_EXIT", sacct_state::pending},  {"SE", sacct_state::pending},
       {"RESV_DEL_HOLD", sacct_state::pending}, {"RD", sacct_state::pending},
       {"RUNNING", sacct_state::running},       {"R", sacct_state::running},
       {"SUSPENDED", sacct_state::running},     {"S", sacct_state::running},
       {"STOPPED", sacct_state::running},       {"ST", sacct_state::running},
       {"CONFIGURING", sacct_state::running},   {"CF", sacct_state::running},
       {"COMPLETING", sacct_state::running},    {"CG", sacct_state::running},
       {"SIGNALING", sacct_state::running},     {"SI", sacct_state::running},
       {"STAGE_OUT", sacct_state::running},     {"SO", sacct_state::running},
       {"CANCELLED", sacct_state::withdrawn},   {"CA", sacct_state::withdrawn},
       {"DEADLINE", sacct_state::withdrawn},    {"DL", sacct_state::withdrawn},
       {"REVOKED", sacct_state::withdrawn},     {"RV", sacct_state::withdrawn},
       {"BOOT_FAIL", sacct_state::withdrawn},   {"BF", sacct_state::withdrawn},
       {"REQUEUED", sacct_state::requeued},     {"RQ", sacct_state::requeued},
       {"PREEMPTED", sacct_state::cut_short},   {"PR", sacct_state::cut_short},
       {"NODE_FAIL", sacct_state::cut_short},   {"NF", sacct_state::cut_short},
       {"RESIZING", sacct_state::resized},      {"RS", sacct_state::resized}}};
  const auto* const at =
      std::find_if(states.begin(), states.end(), [&](const auto& s) { return s.first == word; });
  return at == states.end() ? sacct_state::ended : at->second;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
