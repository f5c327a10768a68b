// SPDX-License-Identifier: BSL-1.0
#include <allot/core/assert.hpp>
#include <allot/core/ratio.hpp>
#include <allot/core/vector.hpp>
#include <allot/lab/generate_stream.hpp>
#include <allot/lab/random.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

struct upcoming {
  instant submit = 0;
  std::size_t part = 0;
};
/// std:: heaps have the largest element on top.
[[nodiscard]] bool later(const upcoming& a, const upcoming& b) noexcept {
  return a.submit != b.submit ? a.submit > b.submit : a.part > b.part;
}

/// The mean gap between submissions, in arbitrary units.
constexpr std::int64_t mean_gap = std::int64_t{1} << 20U;

[[nodiscard]] wide work_of(const job_shape& s) {
  return wide{static_cast<std::uint64_t>(s.gpus_milli)} * static_cast<std::uint64_t>(s.duration) *
         static_cast<std::uint64_t>(s.copies);
}

/// The progress of a part.
struct part_state {
  part_state(workload_part part, std::uint64_t with_seed, std::size_t index)
      : what(std::move(part)), seed(with_seed), streams(3 * index) {}

  workload_part what;
  std::uint64_t seed;
  std::uint64_t streams;
  std::uint64_t all_work = 1;

  // The result of planning: the number of draws; the duration and the copies of the last one if they are cut.
  std::uint64_t draws = 0;
  std::optional<instant> last_duration{};
  std::optional<std::int64_t> last_copies{};

  random_stream shapes{0};
  random_stream gaps{0};
  wide gap_total = 0;
  wide gap_sum = 0;
  vector<std::uint64_t> weights{};
  wide weight_total = 0;
  std::size_t hour_now = 0;
  wide weight_before = 0;
  std::uint64_t drawn = 0;
  job_shape shape{};
  std::int64_t copies_left = 0;
  std::uint64_t number = 0;

  [[nodiscard]] random_stream new_shapes() const { return random_stream{seed, streams}; }
  [[nodiscard]] random_stream new_gaps() const { return random_stream{seed, streams + 1}; }
  [[nodiscard]] job_shape draw(random_stream& random, instant longest) const {
    return draw_job(random, what.model, what.largest_gpus * 1'000, longest);
  }

  /// Computes what must be known before the first job can be placed in time.
  void begin(std::size_t hours) {
    weights = hour_weights(hours);
    for (const std::uint64_t w : weights) weight_total += w;
    random_stream random = new_gaps();
    for (std::uint64_t i = 0; i <= draws; ++i) {
      gap_total += static_cast<std::uint64_t>(draw_exponential(random, mean_gap));
    }
    gap_total = std::max<wide>(gap_total, 1);
    shapes = new_shapes();
    gaps = new_gaps();
  }

  [[nodiscard]] vector<std::uint64_t> hour_weights(std::size_t hours) const {
    const daily_rhythm& rhythm = rhythm_of(what.model);
    random_stream random{seed, streams + 2};
    vector<std::uint64_t> result(hours);
    std::size_t until = 0;
    std::uint64_t percent = 100;
    for (std::size_t h = 0; h < hours; ++h) {
      if (what.has_phases && h == until) {
        until += static_cast<std::size_t>(draw_between(random, 18, 42));
        constexpr std::array<std::uint64_t, 4> phases = {40, 40, 100, 250};
        percent = phases[static_cast<std::size_t>(draw_below(random, phases.size()))];
      }
      result[h] = rhythm.hours[h % 24] * (h / 24 % 7 < 5 ? 100 : rhythm.weekend_percent) * percent;
    }
    return result;
  }

  /// The time of the next submission: its position among all gaps is mapped to the hours by their weights.
  [[nodiscard]] instant next_submit() {
    gap_sum += static_cast<std::uint64_t>(draw_exponential(gaps, mean_gap));
    const wide position = gap_sum * weight_total / gap_total;
    while (hour_now + 1 < weights.size() && position >= weight_before + weights[hour_now]) {
      weight_before += weights[hour_now++];
    }
    const std::uint64_t weight = std::max<std::uint64_t>(1, weights[hour_now]);
    const wide offset = (position - weight_before) * static_cast<std::uint64_t>(hour) / weight;
    return static_cast<instant>(hour_now) * hour +
           static_cast<instant>(std::min<wide>(offset, static_cast<std::uint64_t>(hour - 1)));
  }
};

}  // namespace

class workload_stream::state {
 public:
  state(vector<workload_part> parts, const workload_size& size) : size_(size) {
    ALLOT_ASSERT(!parts.empty(), "a workload has parts");
    ALLOT_ASSERT(size.cluster_gpus >= 1 && size.cluster_gpus <= 1'000'000, "1 to 1,000,000 GPUs");
    ALLOT_ASSERT(size.load_permille >= 1 && size.load_permille <= 10'000, "a load of 1 to 10,000 permille");
    ALLOT_ASSERT(size.days.has_value() != size.jobs.has_value(), "either days or jobs");
    ALLOT_ASSERT(!size.days || (*size.days >= 1 && *size.days <= 10'000), "1 to 10,000 days");
    ALLOT_ASSERT(!size.jobs || *size.jobs >= 1, "a job");
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      ALLOT_ASSERT(parts[i].work > 0, "a part has work");
      ALLOT_ASSERT(parts[i].largest_gpus >= 1 && parts[i].largest_gpus <= size.cluster_gpus,
                   "a job that the cluster can hold");
      sum += parts[i].work;
      states_.emplace_back(std::move(parts[i]), size.seed, i);
    }
    for (part_state& s : states_) s.all_work = sum;
    size_.days ? plan_days() : plan_jobs();
    for (std::size_t i = 0; i < states_.size(); ++i) {
      states_[i].begin(hours_);
      advance(i);
    }
  }

  [[nodiscard]] std::optional<generated_job> next() {
    if (next_.empty()) return std::nullopt;
    std::pop_heap(next_.begin(), next_.end(), later);
    const std::size_t i = next_.back().part;
    part_state& s = states_[i];
    const generated_job job{i, ++s.number, next_.back().submit, s.shape.duration,
                            quantity::milli(s.shape.gpus_milli)};
    if (--s.copies_left > 0) {
      std::push_heap(next_.begin(), next_.end(), later);
    } else {
      next_.pop_back();
      advance(i);
    }
    return job;
  }

  [[nodiscard]] const workload_part& part(std::size_t i) const { return states_[i].what; }
  [[nodiscard]] std::uint64_t jobs() const noexcept { return jobs_; }
  [[nodiscard]] std::size_t hours() const noexcept { return hours_; }

 private:
  /// Moves to the next draw of a part, if there is one.
  void advance(std::size_t i) {
    part_state& s = states_[i];
    if (s.drawn == s.draws) return;
    ++s.drawn;
    s.shape = s.draw(s.shapes, size_.longest);
    if (s.drawn == s.draws) {
      s.shape.duration = s.last_duration.value_or(s.shape.duration);
      s.shape.copies = s.last_copies.value_or(s.shape.copies);
    }
    s.copies_left = s.shape.copies;
    next_.push_back({s.next_submit(), i});
    std::push_heap(next_.begin(), next_.end(), later);
  }

  /// The work requested of the cluster per millisecond, in thousandths of a GPU times milliseconds.
  [[nodiscard]] wide work_per_tick() const {
    return wide{static_cast<std::uint64_t>(size_.cluster_gpus)} *
           static_cast<std::uint64_t>(size_.load_permille);
  }

  void plan_days() {
    hours_ = static_cast<std::size_t>(*size_.days) * 24;
    size_.longest = std::min<instant>(size_.longest, *size_.days * day);
    const wide all = work_per_tick() * static_cast<std::uint64_t>(*size_.days * day);
    constexpr wide gpu_minute = wide{1'000} * static_cast<std::uint64_t>(minute);
    for (part_state& s : states_) {
      wide left = all * s.what.work / s.all_work;
      random_stream random = s.new_shapes();
      while (left >= gpu_minute) {
        const job_shape shape = s.draw(random, size_.longest);
        const wide work = work_of(shape);
        ++s.draws;
        jobs_ += static_cast<std::uint64_t>(shape.copies);
        if (work <= left) {
          left -= work;
          continue;
        }
        const wide per_tick =
            wide{static_cast<std::uint64_t>(shape.gpus_milli)} * static_cast<std::uint64_t>(shape.copies);
        s.last_duration = std::max<instant>(1, static_cast<instant>(left / per_tick));
        break;
      }
    }
  }

  /// The parts draw in turn, so that none is ever more than one job ahead of its share of the work. The last
  /// service has only the replicas that fit into the number of jobs. If instead the stream just ended there,
  /// it would lack what is submitted last, and its work, whatever that is.
  void plan_jobs() {
    struct turn {
      wide done = 0;  // on a cluster that runs only this part
      std::size_t part = 0;
    };
    const auto behind = [](const turn& a, const turn& b) {
      return a.done != b.done ? a.done > b.done : a.part > b.part;
    };
    vector<turn> turns;
    vector<random_stream> random;
    for (std::size_t i = 0; i < states_.size(); ++i) {
      turns.push_back({0, i});
      random.push_back(states_[i].new_shapes());
    }
    std::make_heap(turns.begin(), turns.end(), behind);
    jobs_ = *size_.jobs;
    std::uint64_t drawn = 0;
    wide work = 0;
    while (drawn < jobs_) {
      std::pop_heap(turns.begin(), turns.end(), behind);
      turn& t = turns.back();
      part_state& s = states_[t.part];
      job_shape shape = s.draw(random[t.part], size_.longest);
      ++s.draws;
      if (static_cast<std::uint64_t>(shape.copies) > jobs_ - drawn) {
        shape.copies = static_cast<std::int64_t>(jobs_ - drawn);
        s.last_copies = shape.copies;
      }
      drawn += static_cast<std::uint64_t>(shape.copies);
      work += work_of(shape);
      t.done += work_of(shape) * s.all_work / s.what.work;
      std::push_heap(turns.begin(), turns.end(), behind);
    }
    const wide ticks = work / work_per_tick();
    const wide whole_hours =
        (ticks + static_cast<std::uint64_t>(hour) - 1) / static_cast<std::uint64_t>(hour);
    hours_ = std::max<std::size_t>(1, static_cast<std::size_t>(whole_hours));
  }

  workload_size size_;
  vector<part_state> states_;
  vector<upcoming> next_;
  std::size_t hours_ = 0;
  std::uint64_t jobs_ = 0;
};

workload_stream::workload_stream(vector<workload_part> parts, const workload_size& size)
    : state_(std::make_unique<state>(std::move(parts), size)) {}
workload_stream::workload_stream(workload_stream&&) noexcept = default;
workload_stream& workload_stream::operator=(workload_stream&&) noexcept = default;
workload_stream::~workload_stream() = default;

const workload_part& workload_stream::part(std::size_t i) const {
  return state_->part(i);
}
std::uint64_t workload_stream::jobs() const noexcept {
  return state_->jobs();
}
std::uint64_t workload_stream::hours() const noexcept {
  return state_->hours();
}
std::optional<generated_job> workload_stream::next() {
  return state_->next();
}

std::string workload_stream::id_of(const generated_job& job) const {
  const std::string digits = std::to_string(job.number);
  std::string id = part(job.part).prefix;
  id += '-';
  constexpr std::size_t width = 5;
  if (digits.size() < width) id.append(width - digits.size(), '0');
  return id += digits;
}

trace to_trace(workload_stream& stream) {
  trace t;
  while (const auto made = stream.next()) {
    const workload_part& part = stream.part(made->part);
    trace_job job;
    job.id = t.ids.intern(stream.id_of(*made)).name;
    job.tenant = t.tenants.intern(part.tenant).name;
    if (!part.job_class.empty()) job.job_class = t.words.intern(part.job_class).name;
    job.priority = part.priority;
    job.preemptible = part.preemptible;
    job.submit = made->submit;
    job.duration = made->duration;
    job.gpus = made->gpus;
    job.checkpoint = part.checkpoint;
    job.restart = part.restart;
    t.jobs.push_back(job);
  }
  return t;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
