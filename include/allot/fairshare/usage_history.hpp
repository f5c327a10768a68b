// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/core/ratio.hpp>
#include <allot/core/resources.hpp>
#include <allot/core/time.hpp>
#include <allot/core/vector.hpp>
#include <allot/fairshare/contender.hpp>
#include <allot/fairshare/decay.hpp>
#include <allot/fairshare/surplus.hpp>
#include <allot/quota/ledger.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace allot {
inline namespace v0 {

/// How far back usage counts, and how much.
struct history_settings {
  /// The time after which usage counts half. Zero or less: no decay (KAI).
  instant half_life = 0;
  /// Older usage does not count at all. Zero or less: everything counts.
  instant window = 0;
  /// The window restarts each time it ends, instead of sliding with the clock.
  bool tumbling = false;
};

/// The recent usage of each quota, as a part of the capacity (KAI's time-based fair share):
///
///     past_use(x) = sum over t of 0.5 ^ ((now - t) / half_life) use(x, t)
///                 / sum over t of 0.5 ^ ((now - t) / half_life) capacity(t)
///
/// over all instants t of the window, with use and capacity constant between changes. The result does not
/// depend on how often it is queried. All usage counts, including that of the quota's own capacity.
///
/// Integers only, the same on every machine: sums are kept to 2^-32 of a thousandth, rounded once per change.
/// Amounts must be below 2^60 thousandths. A change costs O(depth); advancing the clock, O(changes that leave
/// a sliding window), which are stored until then; without one nothing grows.
template <std::size_t N = 1>
class usage_history {
 public:
  explicit usage_history(const history_settings& settings = {})
      : settings_(settings), left_of_window_(half_life_decay(settings.window, settings.half_life)) {}

  /// Clears all usage. O(slots).
  void reset(const quota_tree<N>& tree, instant now) {
    slots_ = tree.slots();
    meters_.assign(2 * tree.slots() + 1, meter{{}, now, {}});
    delayed_ = meters_;
    changes_.clear();
    left_ = 0;
    now_ = began_ = now;
  }
  /// Quotas have been added; their history is empty. (Moving a quota does not move its history.)
  void follow(const quota_tree<N>& tree) {
    const meter capacity = meters_.back();
    const meter before = delayed_.back();
    meters_.back() = delayed_.back() = meter{{}, now_, {}};
    slots_ = tree.slots();
    meters_.resize(2 * tree.slots() + 1, meter{{}, now_, {}});
    delayed_.resize(2 * tree.slots() + 1, meter{{}, now_, {}});
    for (change& c : changes_) {
      if (c.is_capacity) c.seat = meters_.size() - 1;
    }
    meters_.back() = capacity;
    delayed_.back() = before;
  }

  /// Precondition: time does not go backwards.
  void advance(instant now) {
    ALLOT_ASSERT(now >= now_, "time must not go backwards");
    now_ = now;
    if (settings_.window <= 0) return;
    if (settings_.tumbling) {
      const instant begin = now - (now - began_) % settings_.window;
      if (begin == began_) return;
      for (meter& m : meters_) restart(m, begin);
      began_ = begin;
      return;
    }
    for (; left_ < changes_.size() && changes_[left_].at <= now - settings_.window; ++left_) {
      apply(delayed_, changes_[left_]);
    }
    if (left_ > changes_.size() / 2) {
      changes_.erase(changes_.begin(), changes_.begin() + static_cast<std::ptrdiff_t>(left_));
      left_ = 0;
    }
  }
  /// The clock was wrong: all times move by that span, also backwards, and the past counts as before.
  /// O(quotas
  /// + changes in a sliding window).
  void rebase(instant by) {
    for (vector<meter>* all : {&meters_, &delayed_}) {
      for (meter& m : *all) m.since = detail::moved(m.since, by);
    }
    for (change& c : changes_) c.at = detail::moved(c.at, by);
    now_ = detail::moved(now_, by);
    began_ = detail::moved(began_, by);
  }
  /// Nothing has happened after `now`: if its clock is ahead of that, all times move back by the difference.
  void end_by(instant now) {
    if (now < now_) rebase(detail::span_between(now_, now));
  }
  /// Sets the capacity from `now` on.
  void set_capacity(const resources<N>& capacity, instant now) {
    advance(now);
    record({now, meters_.size() - 1, capacity - meters_.back().use, true});
  }
  /// From `now` on a job of x uses `request` (or no longer does).
  void charge(const quota_tree<N>& tree, quota_id x, const resources<N>& request, instant now) {
    add(tree, x, request, now);
  }
  /// From `now` on a job of x no longer uses `request`.
  void release(const quota_tree<N>& tree, quota_id x, const resources<N>& request, instant now) {
    add(tree, x, resources<N>{} - request, now);
  }

  /// The recent usage of x's subtree, or its own jobs, in billionths of the capacity, as of the last change
  /// or advance. At most a thousand times the capacity; 0 if there was none, or no such quota or dimension.
  /// O(1).
  [[nodiscard]] std::int64_t past_use(quota_id x, bool own_jobs, std::size_t d) const {
    return is_known(x, d) ? part_of(mass(2 * slots_, d), mass(seat_of(x, own_jobs), d)) : 0;
  }
  /// The same of all quotas: calls `visit(quota_id, billionths)`. O(quotas), at a third of the cost.
  template <class Visit>
  void for_each_past_use(const quota_tree<N>& tree, bool own_jobs, std::size_t d, Visit visit) const {
    const wide all = mass(2 * slots_, d);
    for (const quota_id x : tree.top_down()) visit(x, part_of(all, mass(x, own_jobs, d)));
  }
  /// The numerator of the fraction, in a unit that is the same for all quotas: for orders and for Fair Tree.
  [[nodiscard]] wide mass(quota_id x, bool own_jobs, std::size_t d) const {
    return is_known(x, d) ? mass(seat_of(x, own_jobs), d) : 0;
  }
  /// The time of the last change or advance.
  [[nodiscard]] instant now() const noexcept { return now_; }

  /// All that it knows, and its settings, as numbers for a host to persist; only `restore` reads them. Beside
  /// it amounts that the caller keeps, one for each quota by id and perhaps more. O(quotas + changes in a
  /// sliding window).
  [[nodiscard]] vector<std::uint64_t> save(std::span<const resources<N>> beside = {}) const {
    vector<std::uint64_t> out{format,          N,     slots_,     beside.size(),
                              changes_.size(), left_, bits(now_), bits(began_)};
    for (const std::uint64_t setting : settings_as_bits()) out.push_back(setting);
    for (const vector<meter>* all : {&meters_, &delayed_}) {
      for (const meter& m : *all) {
        out.push_back(bits(m.since));
        for (std::size_t d = 0; d < N; ++d) {
          out.push_back(bits(m.use[d].in_milli()));
          out.push_back(static_cast<std::uint64_t>(m.mass[d] >> 64U));
          out.push_back(static_cast<std::uint64_t>(m.mass[d]));
        }
      }
    }
    for (const change& c : changes_) {
      out.push_back(bits(c.at));
      out.push_back(c.seat);
      for (std::size_t d = 0; d < N; ++d) out.push_back(bits(c.more[d].in_milli()));
    }
    for (const resources<N>& r : beside) {
      for (const quantity q : r) out.push_back(bits(q.in_milli()));
    }
    return out;
  }
  /// Continues from what `save` returned, for a tree with the same ids. Returns false, and changes nothing,
  /// if they are not such numbers, or of other settings.
  [[nodiscard]] bool restore(const quota_tree<N>& tree, std::span<const std::uint64_t> saved) {
    vector<quota_id> same;
    for (std::size_t i = 0; i < tree.slots(); ++i) same.push_back(quota_id{i});
    const bool is_as_large = saved.size() > 2 && saved[2] == tree.slots();
    return is_as_large && restore(tree, saved, {}, same);
  }
  /// The same for a tree in which quotas have other ids: `ids` by those that they had, none for one that is
  /// no longer there. `beside` has one amount for each quota and as many more as were saved; those of new
  /// quotas stay as they are.
  [[nodiscard]] bool restore(const quota_tree<N>& tree, std::span<const std::uint64_t> saved,
                             std::span<resources<N>> beside, std::span<const quota_id> ids) {
    constexpr std::size_t header = 11;
    if (saved.size() < header || saved[0] != format || saved[1] != N || saved[2] != ids.size()) return false;
    const std::size_t slots = ids.size();
    const std::size_t seats = 2 * slots + 1;
    // Before they become sizes, which have 32 bits on some machines.
    if (saved[3] > saved.size() || saved[4] > saved.size()) return false;
    const auto amounts = static_cast<std::size_t>(saved[3]);
    const auto changes = static_cast<std::size_t>(saved[4]);
    const bool has_as_many =
        beside.empty() ? amounts == 0 : amounts >= slots && amounts - slots == beside.size() - tree.slots();
    const bool fits = saved[5] <= changes && has_as_many &&
                      saved.size() == header + 2 * seats * (1 + 3 * N) + changes * (2 + N) + amounts * N;
    const auto settings = settings_as_bits();
    if (!fits || !std::equal(settings.begin(), settings.end(), saved.begin() + 8)) return false;
    usage_history next{settings_};
    next.reset(tree, number(saved[6]));
    next.began_ = number(saved[7]);
    const std::size_t none = next.meters_.size();
    const auto seat_now = [&](std::size_t seat) {
      if (seat == seats - 1) return none - 1;
      const quota_id x = ids[seat / 2];
      return tree.contains(x) ? seat_of(x, seat % 2 != 0) : none;
    };
    auto at = saved.begin() + header;
    for (vector<meter>* all : {&next.meters_, &next.delayed_}) {
      for (std::size_t seat = 0; seat < seats; ++seat) {
        meter m;
        m.since = number(*at++);
        for (std::size_t d = 0; d < N; ++d) {
          m.use[d] = quantity::milli(number(*at++));
          m.mass[d] = wide{*at++} << 64U;
          m.mass[d] |= *at++;
        }
        if (const std::size_t now = seat_now(seat); now != none) (*all)[now] = m;
      }
    }
    for (std::size_t i = 0; i < changes; ++i) {
      const instant when = number(*at++);
      const std::uint64_t seat = *at++;
      if (seat >= seats) return false;
      change c{when, static_cast<std::size_t>(seat), {}, false};
      c.is_capacity = c.seat == seats - 1;
      c.seat = seat_now(c.seat);
      for (std::size_t d = 0; d < N; ++d) c.more[d] = quantity::milli(number(*at++));
      if (c.seat == none) continue;
      if (i < saved[5]) ++next.left_;
      next.changes_.push_back(c);
    }
    for (std::size_t i = 0; i < amounts; ++i) {
      resources<N> amount;
      for (std::size_t d = 0; d < N; ++d) amount[d] = quantity::milli(number(*at++));
      const std::size_t now = i >= slots              ? i - slots + tree.slots()
                              : tree.contains(ids[i]) ? ids[i].index()
                                                      : beside.size();
      if (now < beside.size()) beside[now] = amount;
    }
    *this = std::move(next);
    return true;
  }

 private:
  static constexpr std::uint64_t format = 2;
  [[nodiscard]] static std::uint64_t bits(std::int64_t value) { return static_cast<std::uint64_t>(value); }
  [[nodiscard]] static std::int64_t number(std::uint64_t bits) { return static_cast<std::int64_t>(bits); }

  [[nodiscard]] std::array<std::uint64_t, 3> settings_as_bits() const {
    return {bits(settings_.half_life), bits(settings_.window), settings_.tumbling ? 1U : 0U};
  }

  /// With a half-life the sum over t is divided by the sum of the factors over all time, so it stays in the
  /// range of usage: `mass` approaches `use`. Without one it is use times time.
  struct meter {
    resources<N> use{};
    instant since = 0;
    per_dimension<wide, N> mass{};
  };
  struct change {
    instant at;
    std::size_t seat;
    resources<N> more;
    bool is_capacity = false;
  };

  [[nodiscard]] bool is_known(quota_id x, std::size_t d) const noexcept {
    return x.index() < slots_ && d < N;
  }
  [[nodiscard]] static std::size_t seat_of(quota_id x, bool own_jobs) {
    return 2 * x.index() + (own_jobs ? 1 : 0);
  }

  [[nodiscard]] static std::int64_t part_of(wide all, wide use) {
    while (use >= wide{1} << 90U || all >= wide{1} << 90U) use >>= 1U, all >>= 1U;
    if (all == 0) return 0;
    constexpr std::int64_t billion = 1'000'000'000;
    return static_cast<std::int64_t>(std::min<wide>(use * billion / all, 1000 * wide{billion}));
  }

  void add(const quota_tree<N>& tree, quota_id x, const resources<N>& more, instant now) {
    advance(now);
    record({now, seat_of(x, true), more});
    for (quota_id a = x; a; a = tree.parent(a)) record({now, seat_of(a, false), more});
  }
  void record(const change& c) {
    apply(meters_, c);
    if (settings_.window > 0 && !settings_.tumbling) changes_.push_back(c);
  }
  void apply(vector<meter>& meters, const change& c) const {
    meter& m = meters[c.seat];
    for (std::size_t d = 0; d < N; ++d) m.mass[d] = mass_at(m, d, c.at);
    m.since = c.at;
    m.use += c.more;
  }
  static void restart(meter& m, instant at) {
    m.mass = {};
    m.since = at;
  }

  [[nodiscard]] wide mass_at(const meter& m, std::size_t d, instant at) const {
    const auto use = static_cast<wide>(std::max(quantity{}, m.use[d]).in_milli());
    if (at <= m.since) return m.mass[d];
    if (settings_.half_life <= 0) return m.mass[d] + use * static_cast<wide>(at - m.since);
    const decay_factor left = half_life_decay(at - m.since, settings_.half_life);
    return left.of(m.mass[d]) + left.complement().of(use << 32U);
  }
  [[nodiscard]] wide mass(std::size_t seat, std::size_t d) const {
    const wide all = mass_at(meters_[seat], d, now_);
    if (settings_.window <= 0 || settings_.tumbling) return all;
    // What had accumulated when the window began has decayed since.
    const wide before = mass_at(delayed_[seat], d, now_ - settings_.window);
    const wide rest = settings_.half_life <= 0 ? before : left_of_window_.of(before);
    return all > rest ? all - rest : 0;
  }

  history_settings settings_;
  /// What is left of usage by the time that it leaves the window.
  decay_factor left_of_window_;
  std::size_t slots_ = 0;
  /// Two for each quota, for its subtree and for its own jobs; the last is for the capacity.
  vector<meter> meters_;
  /// The same as of the beginning of the sliding window.
  vector<meter> delayed_;
  /// Within the sliding window, oldest first; those before `left_` have left it.
  vector<change> changes_;
  std::size_t left_ = 0;
  instant now_ = 0;
  instant began_ = 0;
};

/// The contender with the least recent usage per weight (of the first dimension) comes first; then the best
/// job. Usage is in the given dimension. Weight zero with any usage comes last. All keys change with time:
/// call `tournament::refresh_all` as often as needed.
template <std::size_t N>
struct least_past_use_first {
  /// The usage that is compared; must outlive the order.
  const usage_history<N>* history;
  /// The dimension of which usage counts.
  std::size_t dimension = 0;

  [[nodiscard]] std::pair<ratio, job_rank> operator()(const ledger<N>& l, const contender<N>& c) const {
    const auto weight =
        static_cast<wide>(std::max<std::int64_t>(0, l.tree().spec(c.quota).weight[0].in_milli()));
    return {ratio{history->mass(c.quota, c.own_jobs, dimension), weight}, c.head};
  }
};

/// A source for `informed`: gives a surplus rule the recent usage of each claimant.
template <std::size_t N>
struct past_use_of {
  /// The usage that is given; must outlive the source.
  const usage_history<N>* history;

  void operator()(claimant& c) const { c.past_use = history->past_use(c.quota, c.own_jobs, c.dimension); }
};

}  // namespace v0
}  // namespace allot
