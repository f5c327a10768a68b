// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/gpu/pod_request.hpp>
#include <allot/quota/builder.hpp>
#include <allot/quota/change.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "tests/support/random_quotas.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/soak_scheduler.hpp"
#include "tests/support/soak_twin.hpp"

namespace allot_test {

struct soak_failed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// One host with its scheduler, from the first call until all jobs have ended.
class soak_world {
 public:
  soak_world(const soak_preset& preset, random_source& random, bool tells)
      : preset_(preset), random_(random), tells_(tells) {
    size_ = random.one_in(8) ? 3 : random.one_in(3) ? 2 : 1;
    wrong_one_in_ = random.one_in(3) ? 1000 : random.one_in(2) ? 20 : 5;
    has_giants_ = random.one_in(8);
    dimensions_ = random.one_in(2) ? 1 : preset.dimensions;
    draw_nodes();
    jobs_.emplace_back();
    while (it_ == nullptr) draw_scheduler();
  }

  /// The number of calls for a world of this size.
  [[nodiscard]] std::size_t length() const { return size_ == 1 ? 30 : size_ == 2 ? 60 : 120; }
  /// The calls so far, if they are to be printed.
  [[nodiscard]] const std::string& diary() const { return diary_; }

  void run(std::size_t calls) {
    check();
    for (std::size_t i = 0; i < calls; ++i) {
      act();
      check();
    }
    let_all_go();
  }

 private:
  enum class where : std::uint8_t { waits, runs, leaves };
  /// What the host knows of a job, or of one elastic pod.
  struct unit {
    std::uint32_t job = 0;
    allot::quota_id quota;
    where is = where::waits;
    /// The state that the scheduler reports; only what a plan announced can take effect.
    bool nominated = false;
    /// It leaves because of its time limit.
    bool is_over = false;
    /// The host holds it.
    bool held = false;
    /// The host is not done with starting it.
    bool starting = false;
    /// By when it should have left, if the host has said so and was not told that it has not.
    std::optional<allot::instant> leaves_by{};
    /// Until when it is not preempted, as it could not be evicted.
    allot::instant spared = std::numeric_limits<allot::instant>::min();
    /// For an elastic pod: its job.
    allot::job_id core{};
    std::uint32_t pods = 1;
    /// The pods that it may have beyond its core and those that run or are being released.
    std::uint32_t to_come = 0;
    allot::instant since = 0;
    /// From when it may start, as the host said when the scheduler asked last.
    allot::instant ready = std::numeric_limits<allot::instant>::min();
    /// When it was submitted, or evicted last.
    allot::instant waits_since = 0;
    /// The same as `ready`, as a start has failed.
    allot::instant not_before = std::numeric_limits<allot::instant>::min();
    allot::flavor_pick pick{};
    soak_place place{};
  };
  struct quota {
    allot::quota_spec<2> spec;
    bool removed = false;
    allot::queue_settings settings;
    bool frozen = false;
  };
  using units = std::map<allot::job_id, unit>;

  // What is drawn.

  void draw_nodes() {
    if (!preset_.may_have_nodes || (!preset_.must_have_nodes && random_.one_in(3))) return;
    for (std::size_t p = random_.one_in(2) ? 1 : 2; p > 0; --p) {
      nodes_.pools.push_back({random_.between(1, size_ == 1 ? 2 : 4), random_.between(1, 8),
                              random_.one_in(3) ? random_.between(1, 16) * 1000 : 0});
    }
    nodes_.policy = random_.one_in(2) ? allot::gpu::placement_name::best
                                      : static_cast<allot::gpu::placement_name>(random_.below(8));
    if (nodes_.pools.size() < 2 || !random_.one_in(3)) return;
    for (std::size_t q = 0; q < 6; ++q) nodes_.preferred.push_back(random_.below(4));
  }
  [[nodiscard]] soak_amounts in_dimensions(soak_amounts a) const {
    if (dimensions_ == 1) a[1] = {};
    return a;
  }
  [[nodiscard]] allot::quota_spec<2> in_dimensions(allot::quota_spec<2> s) const {
    if (dimensions_ == 2) return s;
    const allot::quota_spec<2> plain;
    s.nominal[1] = {};
    s.lend[1] = plain.lend[1];
    s.borrow[1] = plain.borrow[1];
    s.weight[1] = plain.weight[1];
    return s;
  }
  void draw_scheduler() {
    quota_shape shape;
    shape.most_quotas = size_ == 1 ? 4 : size_ == 2 ? 8 : 12;
    soak_scheduler::quotas given = random_quotas<2>(random_, shape);
    for (auto& s : given) s = in_dimensions(s);
    if (random_.one_in(4)) {
      for (auto& s : given) s.lend = s.borrow = allot::limit::all();
    }
    if (has_giants_) {
      for (auto& s : given) {
        if (random_.one_in(2))
          s.nominal[0] = random_.one_in(3) ? allot::quantity::unlimited() : huge_amount();
      }
    }
    if (!random_.one_in(3)) contain_children(given);
    soak_amounts capacity{allot::quantity::unlimited()};
    for (const auto& p : nodes_.pools) {
      if (capacity[0].is_unlimited()) capacity[0] = {};
      capacity[0] += allot::gpus(p.nodes * p.gpus);
    }
    if (random_.one_in(4)) capacity = soak_amounts{allot::quantity::unlimited()};
    if (preset_.make(jobs_, capacity, given, nodes_) != nullptr) {
      it_ = std::make_unique<soak_twin>(
          [this, capacity, given] { return preset_.make(jobs_, capacity, given, nodes_); });
    }
    if (preset_.ignores_quotas) {
      require((it_ != nullptr) == static_cast<bool>(allot::build_quota_tree(given)),
              "a preset takes quotas that make no tree, or not those that do");
      given = {{.name = "cluster", .nominal = soak_amounts{allot::quantity::unlimited()}}};
    } else {
      require((it_ != nullptr) == tree_of(given).has_value(), "quotas are taken that make no tree, or not");
    }
    if (it_ == nullptr) return;
    for (const auto& s : given) quotas_.push_back({s, false, resolved(preset_.defaults)});
    for (const auto& p : nodes_.pools) note(p.nodes, " nodes of ", p.gpus, " GPUs, cpu ", p.cpu_milli);
    for (std::size_t i = 0; i < given.size(); ++i) note_quota(allot::quota_id{i});
  }
  /// Each quota with children also has its children's amount, so that every preset accepts the tree.
  static void contain_children(soak_scheduler::quotas& all) {
    const std::function<soak_amounts(std::size_t)> below = [&](std::size_t i) {
      soak_amounts sum = all[i].nominal;
      for (std::size_t c = 0; c < all.size(); ++c) {
        if (all[c].parent == all[i].name) sum += below(c);
      }
      return all[i].nominal = sum;
    };
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].parent.empty()) below(i);
    }
  }
  /// A few of them are too large to be counted.
  [[nodiscard]] allot::quantity huge_amount() {
    return allot::quantity::milli(std::numeric_limits<std::int64_t>::max() / random_.between(1, 9) - 1);
  }
  [[nodiscard]] bool is_wrong() { return random_.one_in(wrong_one_in_); }

  [[nodiscard]] std::uint32_t draw_job() {
    // A job submitted again is another job to the scheduler.
    if (jobs_.size() > 1 && random_.one_in(30)) {
      return static_cast<std::uint32_t>(1 + random_.below(jobs_.size() - 1));
    }
    soak_job j;
    j.quota = allot::quota_id{random_.below(quotas_.size())};
    if (is_wrong()) j.quota = random_.one_in(2) ? allot::quota_id{} : allot::quota_id{random_.below(1000)};
    std::int64_t gpus = 1000 * std::min(random_.between(1, 6), random_.between(1, 6));
    if (random_.one_in(6)) gpus = random_.between(0, 999);
    if (random_.one_in(4)) j.pods = static_cast<std::uint32_t>(random_.between(2, 5));
    if (j.pods > 1) gpus = std::max<std::int64_t>(1, gpus / 1000 / j.pods) * 1000;
    j.min_pods = j.pods;
    if (j.pods > 1 && random_.one_in(2)) j.min_pods = static_cast<std::uint32_t>(random_.between(1, j.pods));
    j.pod[0] = allot::quantity::milli(gpus);
    if (random_.one_in(2)) j.pod[1] = allot::gpus(random_.between(0, 3));
    j.pod_request.gpus = allot::quantity::milli(gpus);
    j.pod_request.total = j.pods == 1 && random_.one_in(3);
    if (!j.pod_request.total && random_.one_in(3)) j.pod_request.cpu_milli = 1000 * random_.between(0, 4);
    if (random_.one_in(8)) j.pod_request.pools = static_cast<std::uint64_t>(random_.between(1, 3));
    if (random_.one_in(6)) draw_flavors(j, gpus);
    j.pod = in_dimensions(j.pod);
    if (has_giants_ && random_.one_in(2)) j.pod[0] = huge_amount();
    if (is_wrong()) spoil(j);
    j.priority = random_.between(0, 3);
    j.preemptible = !random_.one_in(6);
    j.submitted = now_ - (random_.one_in(4) ? random_.between(0, 20) : 0);
    j.duration = random_.between(1, 9);
    if (random_.one_in(4)) j.checkpoint = random_.between(1, 9);
    if (random_.one_in(5)) j.time_limit = random_.between(1, 40);
    if (random_.one_in(50)) j.time_limit = std::numeric_limits<allot::instant>::max();
    j.ready = draw_ready();
    jobs_.push_back(std::move(j));
    return static_cast<std::uint32_t>(jobs_.size() - 1);
  }
  /// Mostly at once; or later, or by now, or it is not known when.
  [[nodiscard]] allot::instant draw_ready() {
    if (!random_.one_in(4)) return std::numeric_limits<allot::instant>::min();
    return random_.one_in(20) ? allot::without_end : now_ + random_.between(-3, 20);
  }
  /// Flavors are dimensions, each with a pool of its own if there are two. In Kueue no two groups share a
  /// resource: they are decided one after the other.
  void draw_flavors(soak_job& j, std::int64_t gpus) {
    j.pod = {};
    const bool are_disjoint = preset_.partial;
    for (std::size_t g = random_.one_in(4) && (dimensions_ == 2 || !are_disjoint) ? 2 : 1; g > 0; --g) {
      auto& options = j.flavors.emplace_back();
      for (std::int64_t o = random_.between(1, 3); o > 0; --o) {
        soak_amounts each;
        each[are_disjoint ? g - 1 : random_.below(dimensions_)] =
            allot::quantity::milli(random_.one_in(4) ? 0 : gpus);
        options.push_back(each);
      }
    }
    if (random_.one_in(2)) return;
    for (std::size_t o = 0; o < j.flavors.front().size(); ++o)
      j.pools.push_back(static_cast<std::uint64_t>(random_.between(1, 3)));
  }
  void spoil(soak_job& j) {
    switch (random_.below(7)) {
      case 0:
        j.pod[0] = allot::quantity::milli(-1);
        break;
      case 1:
        j.pod[0] = allot::quantity::unlimited();
        break;
      case 2:
        j.min_pods = j.pods + 1;
        break;
      case 3:
        j.min_pods = 0;
        if (random_.one_in(2)) j.pods = 0;
        break;
      case 4:
        j.pod_request.gpus = allot::quantity::milli(random_.one_in(2) ? 1500 : -1000);
        break;
      case 5:
        j.pod[0] = huge_amount();
        break;
      default:
        j.pod_request.gpus = allot::gpus(50);
        break;
    }
  }
  [[nodiscard]] allot::queue_settings draw_settings() {
    allot::queue_settings s{.borrow_backoff = preset_.defaults.borrow_backoff};
    s.order = random_.one_in(3) ? allot::queue_order::fifo : allot::queue_order::priority;
    s.head = random_.one_in(3) ? allot::queue_head::strict : allot::queue_head::best_effort;
    s.preempt.within = static_cast<allot::preempt_within>(random_.below(3));
    s.preempt.reclaim = static_cast<allot::preempt_reclaim>(random_.below(3));
    s.preempt.children = random_.one_in(3);
    if (random_.one_in(4)) {
      s.preempt.reclaim = allot::preempt_reclaim::any;
      s.preempt.borrow = allot::preempt_borrow::lower_priority;
      if (random_.one_in(2)) s.preempt.borrow_max_priority = static_cast<std::int64_t>(random_.below(3));
    }
    s.flavors.when_can_borrow = static_cast<allot::flavor_step>(random_.below(2));
    s.flavors.when_can_preempt = static_cast<allot::flavor_step>(random_.below(2));
    s.flavors.preference = static_cast<allot::flavor_preference>(random_.below(2));
    if (random_.one_in(3)) s.min_runtime = {random_.between(0, 20), random_.between(0, 20)};
    if (preset_.backs_off && random_.one_in(3)) {
      s.borrow_backoff.first = random_.between(0, 10);
      s.borrow_backoff.longest = s.borrow_backoff.first + random_.between(0, 40);
    }
    if (preset_.at_once && random_.one_in(2)) s.ready_horizon = random_.between(0, 20);
    if (random_.one_in(3)) s.preempt_after = random_.between(1, 20);
    if (!is_wrong()) return s;
    switch (random_.below(7)) {
      case 6:
        s.preempt_after = -1;
        break;
      case 0:
        s.preempt.reclaim = allot::preempt_reclaim::never;
        s.preempt.borrow = allot::preempt_borrow::lower_priority;
        break;
      case 1:
        s.preempt.borrow = allot::preempt_borrow::never;
        s.preempt.borrow_max_priority = 1;
        break;
      case 2:
        s.preempt.rivals =
            random_.one_in(2) ? allot::preempt_rivals::any : allot::preempt_rivals::lower_priority;
        break;
      case 3:
        s.borrow_backoff.longest = s.borrow_backoff.first - 1;
        break;
      case 4:
        s.ready_horizon = -1;
        break;
      default:
        s.min_runtime.reclaim = -1;
        break;
    }
    return s;
  }
  [[nodiscard]] allot::quota_id draw_quota() {
    if (is_wrong()) return random_.one_in(2) ? allot::quota_id{} : allot::quota_id{random_.below(1000)};
    return allot::quota_id{random_.below(quotas_.size())};
  }
  /// Mostly a job in a state in which the call makes sense; also any other, one that has ended, or one of
  /// another scheduler.
  template <class Suits>
  [[nodiscard]] allot::job_id draw_id(Suits suits) {
    if (is_wrong() || units_.empty()) {
      switch (random_.below(5)) {
        case 0:
          return {};
        case 1:
          return allot::job_id{std::numeric_limits<std::uint32_t>::max() - random_.below(2),
                               static_cast<std::uint32_t>(random_.below(3))};
        case 2:
          return allot::job_id{random_.below(units_.size() + 8),
                               static_cast<std::uint32_t>(random_.below(4))};
        default:
          if (!gone_.empty()) return random_.pick(gone_);
          return allot::job_id{random_.below(100)};
      }
    }
    if (is_wrong()) return random_.pick(units_).first;
    std::vector<allot::job_id> all;
    for (const auto& [id, u] : units_) {
      if (suits(u)) all.push_back(id);
    }
    return all.empty() ? random_.pick(units_).first : random_.pick(all);
  }

  // The host's expectations.

  [[noreturn]] void fail(const std::string& how) const { throw soak_failed(how); }
  void require(bool holds, const char* what) const {
    if (!holds) fail(what);
  }
  void require(bool holds, const char* what, allot::job_id id) const {
    if (!holds) fail(std::string{what} + ": " + told(id));
  }
  void require_same(allot::refusal is, allot::refusal should, const char* call) const {
    if (is == should) return;
    fail(std::string{call} + " is " + std::string{to_string(is)} + " and not " +
         std::string{to_string(should)});
  }
  [[nodiscard]] static std::string told(allot::job_id id) {
    if (!id) return "none";
    return std::to_string(id.index()) + "." + std::to_string(id.generation());
  }
  [[nodiscard]] static std::string told(allot::quota_id x) {
    return x ? "q" + std::to_string(x.index()) : "no quota";
  }
  [[nodiscard]] static std::string told(const soak_amounts& a) {
    return std::to_string(a[0].in_milli()) + "/" + std::to_string(a[1].in_milli());
  }
  template <class... Parts>
  void note(const Parts&... parts) {
    if (!tells_) return;
    std::ostringstream line;
    ((line << parts), ...);
    diary_ += line.str() + '\n';
  }
  void note_quota(allot::quota_id x) {
    if (!tells_) return;
    const auto s = it_->spec(x);
    const auto borrow = [&](std::size_t d) { return s->borrow[d].of(s->nominal[d]); };
    const auto lend = [&](std::size_t d) { return s->lend[d].of(s->nominal[d]); };
    note(told(x), " ", s->name, " below \"", s->parent, "\" with ", told(s->nominal), ", lends ",
         told({lend(0), lend(1)}), ", borrows ", told({borrow(0), borrow(1)}), ", weight ",
         s->weight[0].in_milli(), s->inclusive ? ", inclusive" : "", s->overcommit ? ", overcommitted" : "",
         s->is_static ? ", static" : "");
  }
  void note_job(std::uint32_t number) {
    if (!tells_) return;
    const soak_job& j = jobs_[number];
    note("  job ", number, " of ", told(j.quota), ", ", j.min_pods, " to ", j.pods, " pods of ", told(j.pod),
         ", priority ", j.priority, j.preemptible ? "" : ", fixed", ", demand ",
         j.pod_request.gpus.in_milli(), j.pod_request.total ? " in all" : " each", " in pools ",
         j.pod_request.pools & 3U, ", cpu ", j.pod_request.cpu_milli, ", submitted ", j.submitted, ", limit ",
         j.time_limit, ", ready ", j.ready, ", lasts ", j.duration, ", groups ", j.flavors.size());
    for (std::size_t g = 0; g < j.flavors.size(); ++g) {
      for (std::size_t o = 0; o < j.flavors[g].size(); ++o) {
        note("    group ", g, ": ", told(j.flavors[g][o]),
             g == 0 && !j.pools.empty() ? " in pools " + std::to_string(j.pools[o]) : "");
      }
    }
  }

  [[nodiscard]] const unit* find(allot::job_id id) const {
    const auto at = units_.find(id);
    return at == units_.end() ? nullptr : &at->second;
  }
  [[nodiscard]] bool is_core(const unit& u) const { return !u.core; }
  [[nodiscard]] bool has_quota(allot::quota_id x) const {
    return x.index() < quotas_.size() && !quotas_[x.index()].removed;
  }
  [[nodiscard]] bool has_children(allot::quota_id x) const {
    return std::any_of(quotas_.begin(), quotas_.end(), [&](const quota& q) {
      return !q.removed && q.spec.parent == quotas_[x.index()].spec.name;
    });
  }
  [[nodiscard]] allot::quota_id quota_of(const soak_job& j) const {
    return preset_.ignores_quotas ? allot::quota_id{0} : j.quota;
  }
  [[nodiscard]] soak_amounts request_of(const unit& u) const { return jobs_[u.job].request(u.pods, u.pick); }
  /// Calls `visit(pick)` for each choice of flavors.
  template <class Visit>
  static void for_each_pick(const soak_job& j, Visit visit) {
    allot::flavor_pick pick{};
    for (bool more = true; more;) {
      visit(pick);
      more = false;
      for (std::size_t g = 0; g < j.flavors.size() && !more; ++g) {
        more = ++pick[g] < j.flavors[g].size();
        if (!more) pick[g] = 0;
      }
    }
  }
  [[nodiscard]] static bool is_valid(const soak_amounts& a) {
    return a[0] >= allot::quantity{} && a[1] >= allot::quantity{} && a[0].is_bounded() && a[1].is_bounded();
  }
  [[nodiscard]] allot::refusal expected_refusal(const soak_job& j) const {
    if (!preset_.ignores_quotas && !has_quota(j.quota)) return allot::refusal::unknown_quota;
    if (j.min_pods == 0 || j.min_pods > j.pods) return allot::refusal::invalid_request;
    bool valid = true;
    bool fits = nodes_.empty();
    for_each_pick(j, [&](const allot::flavor_pick& pick) {
      valid = valid && is_valid(j.request(j.min_pods, pick)) && is_valid(j.request(j.pods, pick));
      fits = fits || nodes_.could_hold(j.pod_request_of(j.min_pods, pick));
    });
    if (!valid) return allot::refusal::invalid_request;
    return fits || preset_.keeps_too_large ? allot::refusal::none : allot::refusal::larger_than_cluster;
  }
  [[nodiscard]] static bool is_choice(const soak_job& j, const allot::flavor_pick& pick) {
    for (std::size_t g = 0; g < j.flavors.size(); ++g) {
      if (pick[g] >= j.flavors[g].size()) return false;
    }
    return true;
  }
  /// An upper bound of the usage of all jobs after one more submission, in any dimension.
  [[nodiscard]] bool is_surely_countable(const soak_amounts& more) const {
    soak_amounts sum = more;
    for (const auto& [id, u] : units_) {
      if (u.is != where::waits || u.nominated) sum += request_of(u);
    }
    return sum[0].is_bounded() && sum[1].is_bounded();
  }
  [[nodiscard]] bool is_surely_uncountable(allot::quota_id x, const soak_amounts& more) const {
    soak_amounts sum = more;
    for (const auto& [id, u] : units_) {
      if (u.is != where::waits && u.quota == x) sum += request_of(u);
    }
    return !sum[0].is_bounded() || !sum[1].is_bounded();
  }
  [[nodiscard]] static allot::queue_settings resolved(allot::queue_settings s) {
    // No preset has a guard that judges rivals.
    if (s.preempt.rivals == allot::preempt_rivals::by_guard) s.preempt.rivals = allot::preempt_rivals::never;
    return s;
  }
  [[nodiscard]] static bool is_contradictory(const allot::queue_settings& s) {
    const bool borrows = s.preempt.borrow != allot::preempt_borrow::never;
    const bool can_preempt = borrows || s.preempt.within != allot::preempt_within::never ||
                             s.preempt.reclaim != allot::preempt_reclaim::never || s.preempt.children;
    return (s.preempt.borrow_max_priority && !borrows) || s.preempt_after < 0 ||
           (s.preempt_after > 0 && !can_preempt) || s.preempt.rivals == allot::preempt_rivals::any ||
           s.preempt.rivals == allot::preempt_rivals::lower_priority || s.min_runtime.preempt < 0 ||
           s.min_runtime.reclaim < 0 || s.ready_horizon.value_or(0) < 0 ||
           s.borrow_backoff.longest < s.borrow_backoff.first ||
           (s.borrow_backoff.first == 0 && s.borrow_backoff.longest > 0);
  }
  /// What the preset makes of the quotas, by number; nothing if that is no tree.
  [[nodiscard]] std::optional<std::vector<allot::quota_spec<2>>> tree_of(soak_scheduler::quotas all) const {
    preset_.adapt(all);
    if (!allot::build_quota_tree(all)) return std::nullopt;
    return all;
  }

  // Job state changes.

  void enter(allot::job_id id, unit u) {
    u.waits_since = u.core ? units_.at(u.core).waits_since : jobs_[u.job].submitted;
    note_ready(u);
    require(!id.is_none(), "a job has no id");
    require(ever_.insert(id).second, "an id is given twice", id);
    units_.emplace(id, std::move(u));
  }
  void leave(allot::job_id id) {
    units_.erase(id);
    gone_.push_back(id);
    if (gone_.size() > 50) gone_.erase(gone_.begin());
  }
  void leave_with_elastic_pods(allot::job_id id) {
    leave_elastic_pods(id);
    leave(id);
  }
  void leave_elastic_pods(allot::job_id core) {
    for (const allot::job_id s : elastic_pods_of(core, [](const unit&) { return true; })) leave(s);
  }
  template <class Which>
  [[nodiscard]] std::vector<allot::job_id> elastic_pods_of(allot::job_id core, Which which) const {
    std::vector<allot::job_id> all;
    for (const auto& [id, u] : units_) {
      if (u.core == core && which(u)) all.push_back(id);
    }
    return all;
  }
  [[nodiscard]] static std::uint32_t most_to_come(const soak_job& j) { return j.pods - j.min_pods; }
  void start(unit& u, soak_place at, const allot::flavor_pick& pick, std::uint32_t pods,
             allot::instant since) {
    u.is = where::runs;
    u.nominated = false;
    u.place = at;
    u.pick = pick;
    u.pods = pods;
    u.since = since;
    u.starting = false;
    u.leaves_by.reset();
  }
  /// The job is evicted, with all its running elastic pods; its pending ones are removed.
  void tell_to_go(allot::job_id id) {
    goes(units_.at(id));
    if (units_.at(id).core) return;
    for (const allot::job_id s : elastic_pods_of(id, [](const unit& u) { return u.is == where::waits; }))
      leave(s);
    for (const allot::job_id s : elastic_pods_of(id, [](const unit& u) { return u.is == where::runs; })) {
      goes(units_.at(s));
    }
  }
  static void goes(unit& u) {
    u.is = where::leaves;
    u.spared = std::numeric_limits<allot::instant>::min();
  }
  void come_back(allot::job_id id) {
    if (const allot::job_id core = units_.at(id).core) {
      ++units_.at(core).to_come;
      return leave(id);
    }
    leave_elastic_pods(id);
    unit& u = units_.at(id);
    u.is = where::waits;
    u.nominated = false;
    u.spared = std::numeric_limits<allot::instant>::min();
    u.place = {};
    u.pods = jobs_[u.job].min_pods;
    u.to_come = most_to_come(jobs_[u.job]);
    u.ready = jobs_[u.job].ready;
    u.not_before = std::numeric_limits<allot::instant>::min();
    note_ready(u);
  }
  /// One that was ready before the last step, and is new, waits since it was, if the view says so.
  void note_ready(unit& u) const {
    const bool is_known = u.is == where::waits && has_stepped_ && u.ready <= last_step_;
    if (is_known && !u.held && u.ready > u.not_before) u.waits_since = std::max(u.waits_since, u.ready);
  }
  /// Updates which pods of elastic jobs are pending. `dropped`: those that were pending may be gone.
  void learn(bool may_drop) {
    std::vector<allot::job_id> cores;
    for (const auto& [id, u] : units_) {
      // One that is elastic no more may have had pods.
      const bool has_pods = !elastic_pods_of(id, [](const unit&) { return true; }).empty();
      if (is_core(u) && (jobs_[u.job].is_elastic() || has_pods)) cores.push_back(id);
    }
    for (const allot::job_id id : cores) {
      unit& core = units_.at(id);
      const auto now = it_->elastic_pods_of(id);
      const std::set<allot::job_id> there(now.begin(), now.end());
      require(there.size() == now.size(), "a pod is listed twice", id);
      for (const allot::job_id s : elastic_pods_of(id, [](const unit&) { return true; })) {
        if (there.contains(s)) continue;
        const bool had_no_room = may_review_ && (units_.at(s).nominated || core.is == where::waits);
        require((may_drop || had_no_room) && units_.at(s).is == where::waits, "a pod is not listed", s);
        leave(s);
      }
      std::size_t pending = 0, nominated = 0;
      for (const allot::job_id s : there) {
        if (find(s) == nullptr) {
          enter(s, {.job = core.job, .quota = core.quota, .held = core.held, .core = id, .pick = core.pick});
        }
        require(units_.at(s).core == id, "a pod is listed with another job", s);
        if (units_.at(s).is != where::waits) continue;
        it_->state(s) == allot::job_state::nominated ? ++nominated : ++pending;
      }
      const bool may_grow = core.is == where::runs ||
                            (core.is == where::waits && it_->state(id) == allot::job_state::nominated);
      // Of one that was being evicted nothing was decided.
      if (preset_.partial && may_drop && pending == 0 && core.is != where::leaves) core.to_come = 0;
      require(pending == (may_grow && core.to_come > nominated ? 1 : 0),
              "not so many further pods wait as should", id);
    }
  }

  // The calls.

  void act() {
    const std::size_t n = random_.below(100);
    may_review_ = false;
    if (n < 20) return submit();
    if (n < 42) return step();
    if (n < 43) return random_.one_in(2) ? start_failed() : not_evicted();
    if (n < 44 && random_.one_in(2)) return random_.one_in(2) ? starting() : leaves_by();
    if (n < 44) return random_.one_in(3) ? freeze() : random_.one_in(2) ? hold() : unhold();
    if (n < 51) return finished();
    if (n < 60) return evicted();
    if (n < 62) return all_have_gone();
    if (n < 65) return evicting();
    if (n < 68) return cancel();
    if (n < 69) return started();
    if (n < 71) return update();
    if (n < 75) return adopt();
    if (n < 79) return adopt_elastic_pod();
    if (n < 81) return retry();
    if (n < 84) return configure();
    if (n < 88) return apply();
    if (n < 93) return change_nodes();
    if (n < 95) return ask();
    if (n < 97) return rebase();
    settle();
  }

  void submit() {
    const std::uint32_t j = draw_job();
    note("submit job ", j);
    note_job(j);
    const allot::refusal expected = expected_refusal(jobs_[j]);
    require_same(it_->refuses(j), expected, "refuses");
    const allot::submission s = it_->submit(j);
    require_same(s.why_not, expected, "submit");
    require(s.id.is_none() == (expected != allot::refusal::none), "a refused job has an id, or another none");
    if (!s) return;
    note("  is ", told(s.id));
    stir();
    enter(s.id, {.job = j,
                 .quota = quota_of(jobs_[j]),
                 .pods = jobs_[j].min_pods,
                 .to_come = most_to_come(jobs_[j]),
                 .ready = jobs_[j].ready});
  }
  void adopt() {
    const std::uint32_t j = draw_job();
    const soak_job& job = jobs_[j];
    allot::flavor_pick pick{};
    for (std::size_t g = 0; g < job.flavors.size(); ++g) {
      pick[g] = static_cast<std::uint8_t>(random_.below(job.flavors[g].size() + (is_wrong() ? 1 : 0)));
    }
    allot::refusal expected = expected_refusal(job);
    if (expected == allot::refusal::larger_than_cluster) expected = allot::refusal::none;
    if (expected == allot::refusal::none && !is_choice(job, pick)) expected = allot::refusal::unknown_flavors;
    const auto at = place_for(expected == allot::refusal::none ? job.pod_request_of(job.min_pods, pick)
                                                               : allot::gpu::pod_request{});
    if (!at) return;
    if (expected == allot::refusal::none) expected = at->why_not;
    const soak_amounts request =
        expected == allot::refusal::none ? job.request(job.min_pods, pick) : soak_amounts{};
    if (expected == allot::refusal::none && is_surely_uncountable(quota_of(job), request)) {
      expected = allot::refusal::invalid_request;
    }
    const allot::instant since = draw_start();
    note("adopt job ", j, " since ", since);
    note_job(j);
    const allot::submission s = it_->adopt(j, since, at->id, pick);
    if (expected == allot::refusal::none && !is_surely_countable(request)) expected = s.why_not;
    require_same(s.why_not, expected, "adopt");
    if (!s) return give_back(*at);
    note("  is ", told(s.id));
    stir();
    may_review_ = true;
    enter(s.id, {.job = j, .quota = quota_of(job)});
    start(units_.at(s.id), at->id, pick, job.min_pods, since);
    units_.at(s.id).to_come = most_to_come(job);
    learn(false);
  }
  void adopt_elastic_pod() {
    const allot::job_id id = draw_id([&](const unit& u) {
      return u.is == where::runs && is_core(u) && jobs_[u.job].is_elastic() && u.to_come > 0;
    });
    const unit* u = find(id);
    allot::refusal expected = allot::refusal::none;
    if (u == nullptr) {
      expected = allot::refusal::unknown_job;
    } else if (u->is != where::runs || u->core) {
      expected = allot::refusal::wrong_state;
    } else if (u->to_come == 0) {
      expected = allot::refusal::has_all_pods;
    }
    const bool may = expected == allot::refusal::none;
    const auto at = place_for(may ? jobs_[u->job].pod_request_of(1, u->pick) : allot::gpu::pod_request{});
    if (!at) return;
    if (may) expected = at->why_not;
    const soak_amounts request = may ? jobs_[u->job].request(1, u->pick) : soak_amounts{};
    if (expected == allot::refusal::none && is_surely_uncountable(u->quota, request)) {
      expected = allot::refusal::invalid_request;
    }
    const allot::instant since = draw_start();
    note("adopt a pod of ", told(id), " since ", since);
    const allot::submission s = it_->adopt_elastic_pod(id, since, at->id);
    if (expected == allot::refusal::none && !is_surely_countable(request)) expected = s.why_not;
    require_same(s.why_not, expected, "adopt_elastic_pod");
    if (!s) return give_back(*at);
    note("  is ", told(s.id));
    stir();
    may_review_ = true;
    unit& core = units_.at(id);
    enter(s.id, {.job = core.job, .quota = core.quota, .core = id});
    start(units_.at(s.id), at->id, core.pick, 1, since);
    --core.to_come;
    // The pod that was pending before is gone; if more pods are allowed, the next one is pending.
    learn(true);
  }

  void started() {
    const allot::job_id id = draw_id([](const unit& u) { return u.is == where::runs; });
    const allot::instant at = draw_start();
    note("started ", told(id), " at ", at);
    if (!carried_out(it_->started(id, at), id, "started", [](const unit& u) { return u.is == where::runs; }))
      return;
    units_.at(id).since = at;
    units_.at(id).starting = false;
    quiet_ = false;
  }
  void starting() {
    const allot::job_id id = draw_id([](const unit& u) { return u.is == where::runs; });
    const allot::instant until = now_ + random_.between(-5, 30);
    note("starting ", told(id), " until ", until);
    const auto runs = [](const unit& u) { return u.is == where::runs; };
    if (!carried_out(it_->starting(id, until), id, "starting", runs)) return;
    units_.at(id).since = until;
    units_.at(id).starting = true;
    quiet_ = false;
  }
  void leaves_by() {
    const allot::job_id id = draw_id([](const unit& u) { return u.is == where::leaves; });
    const allot::instant when = now_ + random_.between(-5, 30);
    note("leaves ", told(id), " by ", when);
    const auto leaves = [](const unit& u) { return u.is == where::leaves; };
    if (carried_out(it_->leaves_by(id, when), id, "leaves_by", leaves)) units_.at(id).leaves_by = when;
  }
  void finished() {
    finished(draw_id([](const unit& u) { return u.is == where::runs; }));
  }
  void finished(allot::job_id id) {
    note("finished ", told(id));
    if (carried_out(it_->finished(id), id, "finished", has_started)) remove(id);
  }
  void evicted() {
    evicted(draw_id([](const unit& u) { return u.is == where::leaves; }));
  }
  void evicted(allot::job_id id) {
    // Its nodes may have to be cleaned up.
    const unit* u = find(id);
    if (u != nullptr && random_.one_in(3)) jobs_[u->job].ready = draw_ready();
    note("evicted ", told(id), u != nullptr ? ", ready " + std::to_string(jobs_[u->job].ready) : "");
    if (!carried_out(it_->evicted(id), id, "evicted", has_started)) return;
    if (units_.at(id).is_over) return remove(id);
    stir();
    unit& whole = units_.at(units_.at(id).core ? units_.at(id).core : id);
    if (has_stepped_) whole.waits_since = std::max(whole.waits_since, last_step_);
    come_back(id);
    learn(false);
  }
  void start_failed() {
    const allot::job_id id = draw_id([](const unit& u) { return u.is == where::runs; });
    const allot::instant until = now_ + random_.between(-3, 20);
    note("start of ", told(id), " failed, not before ", until);
    const auto runs = [](const unit& u) { return u.is == where::runs; };
    if (!carried_out(it_->start_failed(id, until), id, "start_failed", runs)) return;
    stir();
    const allot::job_id core = units_.at(id).core;
    come_back(id);
    learn(false);
    if (!core) return put_off(units_.at(id), until);
    for (const allot::job_id pod :
         elastic_pods_of(core, [](const unit& u) { return u.is == where::waits; })) {
      if (!units_.at(pod).nominated) put_off(units_.at(pod), until);
    }
  }
  void not_evicted() {
    const allot::job_id id = draw_id([](const unit& u) { return u.is == where::leaves; });
    const allot::instant until = random_.one_in(8) ? allot::without_end : now_ + random_.between(-3, 20);
    note("not evicted ", told(id), " until ", until);
    may_review_ = true;
    const unit* u = find(id);
    const allot::refusal is = it_->not_evicted(id, until);
    // The host itself may have taken its place for a job that it adopted.
    if (is == allot::refusal::place_in_use && u != nullptr && !nodes_.empty()) {
      stir();
      return learn(false);
    }
    const auto suits = [this](const unit& of) {
      const bool goes_along = of.core && units_.at(of.core).is == where::leaves;
      return of.is == where::leaves && !of.is_over && !goes_along;
    };
    if (!carried_out(is, id, "not_evicted", suits)) return;
    stir();
    stays(id);
    units_.at(id).spared = until;
    for (const allot::job_id pod : elastic_pods_of(id, [](const unit& of) { return of.is == where::runs; }))
      units_.at(pod).spared = until;
    if (const allot::job_id core = units_.at(id).core)
      units_.at(core).spared = std::max(units_.at(core).spared, until);
    learn(false);
  }
  /// The job runs on, with those of its pods that were to leave with it.
  void stays(allot::job_id id) {
    units_.at(id).is = where::runs;
    units_.at(id).leaves_by.reset();
    for (const allot::job_id pod : elastic_pods_of(id, [](const unit& u) { return u.is == where::leaves; })) {
      units_.at(pod).is = where::runs;
      units_.at(pod).leaves_by.reset();
    }
  }
  static void put_off(unit& u, allot::instant until) {
    u.not_before = std::max(u.not_before, until);
    u.ready = std::max(u.ready, until);
  }
  void hold() {
    const allot::job_id id = draw_id([this](const unit& u) { return is_core(u); });
    note("hold ", told(id));
    if (!carried_out(it_->hold(id), id, "hold", [this](const unit& u) { return is_core(u); })) return;
    if (units_.at(id).held) return;
    stir();
    unit& u = units_.at(id);
    u.held = true;
    // It does without the pods that the host has removed.
    if (std::exchange(u.nominated, false)) leave_elastic_pods(id);
    for (const allot::job_id pod : elastic_pods_of(id, [](const unit& p) { return p.nominated; })) leave(pod);
    for (const allot::job_id pod : elastic_pods_of(id, [](const unit&) { return true; }))
      units_.at(pod).held = true;
    learn(false);
  }
  void freeze() {
    const allot::quota_id x = draw_quota();
    const bool yes = random_.one_in(2);
    note(yes ? "freeze " : "thaw ", told(x));
    const bool is_known = it_->spec(x).has_value();
    require_same(it_->freeze(x, yes), is_known ? allot::refusal::none : allot::refusal::unknown_quota,
                 "freeze");
    if (is_known) set_frozen(x, yes);
  }
  void set_frozen(allot::quota_id x, bool yes) {
    if (x.index() >= quotas_.size()) return;
    stir();
    quotas_[x.index()].frozen = yes;
    for (std::size_t i = 0; i < quotas_.size(); ++i) {
      const allot::quota_id child{i};
      if (has_quota(child) && quotas_[i].spec.parent == quotas_[x.index()].spec.name) set_frozen(child, yes);
    }
  }
  void unhold() {
    unhold(draw_id([this](const unit& u) { return is_core(u) && u.held; }));
  }
  void unhold(allot::job_id id) {
    note("unhold ", told(id));
    const auto suits = [this](const unit& u) { return is_core(u); };
    if (!carried_out(it_->unhold(id), id, "unhold", suits)) return;
    unit& u = units_.at(id);
    if (!std::exchange(u.held, false)) return;
    stir();
    if (u.is == where::waits) u.ready = std::max(jobs_[u.job].ready, u.not_before);
    note_ready(u);
    for (const allot::job_id pod : elastic_pods_of(id, [](const unit&) { return true; })) {
      units_.at(pod).held = false;
      units_.at(pod).ready = units_.at(pod).not_before;
    }
    learn(false);
  }
  void update() {
    const allot::job_id id = draw_id([this](const unit& u) { return is_core(u) && !u.nominated; });
    const unit* u = find(id);
    // Two jobs may be of one description, and what leaves or is nominated stays as it is.
    const bool may = u != nullptr && is_core(*u) && !u->nominated && u->is != where::leaves;
    if (may && with([&](const unit& other) { return is_core(other) && other.job == u->job; }).size() > 1)
      return;
    std::optional<soak_job> before;
    if (may) {
      before = jobs_[u->job];
      change(jobs_[u->job], *u);
    }
    note("update ", told(id));
    if (may) note_job(u->job);
    allot::refusal expected = u == nullptr ? allot::refusal::unknown_job : allot::refusal::wrong_state;
    if (may) expected = expected_refusal(jobs_[u->job]);
    if (may && u->is == where::runs) {
      if (expected == allot::refusal::larger_than_cluster) expected = allot::refusal::none;
      if (expected == allot::refusal::none && !has_its_request(id, *before))
        expected = allot::refusal::request_in_use;
    }
    const allot::refusal is = it_->update(id);
    // Where it moves it may be too much to be counted.
    if (expected == allot::refusal::none && u->is == where::runs && !is_surely_countable(request_of(*u)) &&
        is == allot::refusal::invalid_request) {
      expected = is;
    }
    require_same(is, expected, "update");
    if (is != allot::refusal::none) {
      if (may) jobs_[u->job] = *before;
      return;
    }
    stir();
    updated(id);
  }
  void updated(allot::job_id id) {
    unit& u = units_.at(id);
    const soak_job& j = jobs_[u.job];
    u.quota = quota_of(j);
    if (u.is == where::waits) {
      u.pods = j.min_pods;
      u.to_come = most_to_come(j);
      u.ready = std::max(j.ready, u.not_before);
      note_ready(u);
      return learn(false);
    }
    may_review_ = true;
    allot::instant not_before = std::numeric_limits<allot::instant>::min();
    std::uint32_t live = 0;
    for (const allot::job_id pod : elastic_pods_of(id, [](const unit&) { return true; })) {
      const unit& its = units_.at(pod);
      units_.at(pod).quota = u.quota;
      if (its.is != where::waits) ++live;
      if (its.is == where::waits && !its.nominated) not_before = std::max(not_before, its.not_before);
    }
    u.to_come = j.pods - u.pods - live;
    learn(true);
    for (const allot::job_id pod :
         elastic_pods_of(id, [](const unit& its) { return its.is == where::waits; })) {
      if (it_->state(pod) == allot::job_state::pending) put_off(units_.at(pod), not_before);
    }
  }
  /// Whether the running job has what it requests by now: of its amounts only the first is ever changed.
  [[nodiscard]] bool has_its_request(allot::job_id id, const soak_job& before) const {
    const unit& u = units_.at(id);
    const soak_job& j = jobs_[u.job];
    const auto live = elastic_pods_of(id, [](const unit& pod) { return pod.is != where::waits; }).size();
    return u.pods >= j.min_pods && u.pods + live <= j.pods && j.pod[0] == before.pod[0];
  }
  void change(soak_job& j, const unit& u) {
    if (random_.one_in(8)) return;
    if (random_.one_in(3)) j.quota = draw_quota();
    if (random_.one_in(3)) j.priority = random_.between(0, 3);
    if (random_.one_in(4)) j.preemptible = !j.preemptible;
    if (random_.one_in(3)) j.duration = random_.between(1, 9);
    if (random_.one_in(4)) j.checkpoint = random_.between(0, 9);
    if (random_.one_in(4)) j.time_limit = random_.one_in(3) ? 0 : random_.between(1, 40);
    if (random_.one_in(5)) j.ready = draw_ready();
    if (random_.one_in(3) && !j.pod_request.total) {
      const auto most = static_cast<std::int64_t>(j.pods);
      j.pods = static_cast<std::uint32_t>(random_.between(std::max<std::int64_t>(most - 2, 0), most + 2));
      if (random_.one_in(2)) j.min_pods = static_cast<std::uint32_t>(random_.between(1, most + 1));
    }
    if (random_.one_in(u.is == where::runs ? 10 : 3) && j.flavors.empty()) {
      j.pod[0] += allot::gpus(random_.one_in(2) ? 1 : -1);
      if (u.is == where::waits && !has_giants_) j.pod_request.gpus = j.pod[0];
    }
    if (u.is == where::waits && is_wrong()) spoil(j);
  }
  void cancel() {
    const allot::job_id id = draw_id([](const unit& u) { return u.is == where::waits; });
    note("cancel ", told(id));
    if (carried_out(it_->cancel(id), id, "cancel", [](const unit&) { return true; })) remove(id);
  }
  void evicting() {
    const allot::job_id id = draw_id([](const unit& u) { return u.is == where::runs; });
    note("evicting ", told(id));
    const auto runs = [](const unit& u) { return u.is == where::runs; };
    if (!carried_out(it_->evicting(id), id, "evicting", runs)) return;
    stir();
    tell_to_go(id);
    learn(false);
  }
  void all_have_gone() {
    note("all have gone:");
    for (const allot::job_id id : with([](const unit& u) { return u.is == where::leaves; })) {
      if (find(id) != nullptr) random_.one_in(6) ? finished(id) : evicted(id);
    }
  }
  /// To the scheduler, as of its last step.
  [[nodiscard]] bool is_not_ready(const unit& u) const {
    if (u.is != where::waits || u.nominated || u.held) return false;
    return has_stepped_ ? u.ready > last_step_ : u.ready > std::numeric_limits<allot::instant>::min();
  }
  static bool has_started(const unit& u) { return u.is != where::waits; }
  /// Whether the call was made; the result must be as expected.
  template <class Suits>
  [[nodiscard]] bool carried_out(allot::refusal is, allot::job_id id, const char* call, Suits suits) {
    const unit* u = find(id);
    const allot::refusal expected = u == nullptr ? allot::refusal::unknown_job
                                    : suits(*u)  ? allot::refusal::none
                                                 : allot::refusal::wrong_state;
    require_same(is, expected, call);
    return expected == allot::refusal::none;
  }
  void remove(allot::job_id id) {
    stir();
    const unit u = units_.at(id);
    // A pending pod is one of those allowed.
    if (u.core && u.is == where::waits) --units_.at(u.core).to_come;
    leave_with_elastic_pods(id);
    learn(false);
  }
  template <class Which>
  [[nodiscard]] std::vector<allot::job_id> with(Which which) const {
    std::vector<allot::job_id> all;
    for (const auto& [id, u] : units_) {
      if (which(u)) all.push_back(id);
    }
    return all;
  }

  void retry() {
    note("retry");
    it_->retry();
    has_untold_nodes_ = false;
    stir();
  }
  void configure() {
    const allot::quota_id x = draw_quota();
    const allot::queue_settings s = draw_settings();
    note("configure ", told(x), ": order ", static_cast<int>(s.order), ", head ", static_cast<int>(s.head),
         ", within ", static_cast<int>(s.preempt.within), ", reclaim ", static_cast<int>(s.preempt.reclaim),
         ", children ", s.preempt.children, ", borrow ", static_cast<int>(s.preempt.borrow), ", flavors ",
         static_cast<int>(s.flavors.when_can_borrow), static_cast<int>(s.flavors.when_can_preempt),
         static_cast<int>(s.flavors.preference), ", waits ", s.preempt_after, ", runtime ",
         s.min_runtime.preempt, " and ", s.min_runtime.reclaim, ", horizon ", s.ready_horizon.value_or(0));
    const bool taken = it_->configure(x, s).empty();
    require(taken == (has_quota(x) && !is_contradictory(s)), "settings are taken that make no sense, or not");
    if (!taken) return;
    quotas_[x.index()].settings = resolved(s);
    stir();
  }

  // Quotas.

  void apply() {
    soak_scheduler::changes changes;
    for (std::int64_t i = random_.between(1, 3); i > 0; --i) changes.push_back(draw_change());
    std::vector<quota> next = quotas_;
    bool valid = true;
    for (const auto& c : changes) {
      const auto* removal = std::get_if<allot::remove_quota>(&c);
      if (removal == nullptr || !has_quota(removal->quota)) continue;
      for (const auto& [id, u] : units_) valid = valid && u.quota != removal->quota;
    }
    for (const auto& c : changes) std::visit([&](const auto& one) { valid = change(next, one) && valid; }, c);
    soak_scheduler::quotas there;
    for (const quota& q : next) {
      if (!q.removed) there.push_back(q.spec);
    }
    valid = valid && tree_of(there).has_value();
    if (preset_.ignores_quotas) {
      valid = true;
      next = quotas_;
    }
    const auto over = it_->apply(changes);
    if (!is_surely_countable({})) valid = static_cast<bool>(over);
    require(static_cast<bool>(over) == valid, "changes are taken that make no sense, or not");
    if (!over) {
      require(!over.problems().empty(), "nothing is said of what is wrong");
      return;
    }
    quotas_ = std::move(next);
    may_review_ = true;
    if (!preset_.ignores_quotas) stir();
    check_quotas();
    if (preset_.ignores_quotas) return;
    note("  is done");
    learn(false);
    for (std::size_t i = 0; i < quotas_.size(); ++i) {
      if (has_quota(allot::quota_id{i})) note_quota(allot::quota_id{i});
    }
    const std::set<allot::quota_id> told_over(over.value().begin(), over.value().end());
    for (std::size_t i = 0; i < quotas_.size(); ++i) {
      const allot::quota_id x{i};
      if (has_quota(x)) require(it_->is_sound(x) != told_over.contains(x), "who is over is not told");
    }
  }
  [[nodiscard]] allot::quota_change<2> draw_change() {
    const allot::quota_id x = draw_quota();
    const quota_shape shape;
    switch (random_.below(6)) {
      case 0:
      case 1: {
        allot::resize_quota<2> c{x};
        soak_amounts nominal;
        for (std::size_t d = 0; d < 2; ++d) nominal[d] = detail::random_amount(random_);
        if (random_.one_in(8)) nominal[0] = allot::quantity::unlimited();
        if (is_wrong()) nominal[0] = allot::gpus(-1);
        c.nominal = in_dimensions(nominal);
        note("resize ", told(x), " to ", told(*c.nominal));
        if (!random_.one_in(3)) return c;
        c.lend.emplace(allot::limit::all());
        c.borrow.emplace(allot::limit::all());
        for (std::size_t d = 0; d < dimensions_; ++d) {
          (*c.lend)[d] = detail::random_limit(random_, shape);
          (*c.borrow)[d] = detail::random_limit(random_, shape);
        }
        return c;
      }
      case 2: {
        allot::reweight_quota<2> c{x};
        c.weight[0] = allot::fair_weight::milli(random_.between(is_wrong() ? -3 : 0, 3000));
        note("reweight ", told(x), " to ", c.weight[0].in_milli());
        return c;
      }
      case 3: {
        allot::quota_spec<2> s;
        s.name = "n" + std::to_string(random_.below(is_wrong() ? 3 : 1000));
        for (std::size_t d = 0; d < 2; ++d) s.nominal[d] = detail::random_amount(random_);
        s = in_dimensions(s);
        s.inclusive = random_.one_in(3);
        s.is_static = random_.one_in(6);
        const quota& p = random_.pick(quotas_);
        if (!random_.one_in(4)) s.parent = p.spec.name;
        note("add ", s.name, " with ", told(s.nominal), " below ", s.parent);
        return allot::add_quota<2>{s};
      }
      case 4:
        note("remove ", told(x));
        return allot::remove_quota{x};
      default: {
        const allot::quota_id to = random_.one_in(3) ? allot::quota_id{} : draw_quota();
        note("move ", told(x), " below ", told(to));
        return allot::move_quota{x, to};
      }
    }
  }
  [[nodiscard]] static bool is_known(const std::vector<quota>& all, allot::quota_id x) {
    return x.index() < all.size() && !all[x.index()].removed;
  }
  [[nodiscard]] static bool change(std::vector<quota>& all, const allot::resize_quota<2>& c) {
    if (!is_known(all, c.quota)) return false;
    auto& s = all[c.quota.index()].spec;
    if (c.nominal) s.nominal = *c.nominal;
    if (c.lend) s.lend = *c.lend;
    if (c.borrow) s.borrow = *c.borrow;
    return true;
  }
  [[nodiscard]] static bool change(std::vector<quota>& all, const allot::reweight_quota<2>& c) {
    if (!is_known(all, c.quota)) return false;
    all[c.quota.index()].spec.weight = c.weight;
    return true;
  }
  [[nodiscard]] bool change(std::vector<quota>& all, const allot::add_quota<2>& c) const {
    all.push_back({c.spec, false, resolved(preset_.defaults)});
    return true;
  }
  [[nodiscard]] static bool change(std::vector<quota>& all, const allot::remove_quota& c) {
    if (!is_known(all, c.quota)) return false;
    return all[c.quota.index()].removed = true;
  }
  [[nodiscard]] static bool change(std::vector<quota>& all, const allot::move_quota& c) {
    if (!is_known(all, c.quota) || (c.new_parent && !is_known(all, c.new_parent))) return false;
    all[c.quota.index()].spec.parent = c.new_parent ? all[c.new_parent.index()].spec.name : "";
    return true;
  }
  /// The scheduler's quotas are what the preset makes of the given ones.
  void check_quotas() const {
    soak_scheduler::quotas there;
    for (const quota& q : quotas_) {
      if (!q.removed) there.push_back(q.spec);
    }
    if (!preset_.ignores_quotas) preset_.adapt(there);
    auto next = there.begin();
    for (std::size_t i = 0; i < quotas_.size() + 2; ++i) {
      const auto spec = it_->spec(allot::quota_id{i});
      if (i >= quotas_.size() || quotas_[i].removed) {
        require(!spec, "a quota is there that should not be");
      } else {
        require(spec && *spec == *next++, "a quota is not what it should be");
      }
    }
  }

  // Places.

  struct taken_place {
    soak_place id;
    /// Why no job is adopted there.
    allot::refusal why_not = allot::refusal::none;
  };
  /// A place where the job could run already; without nodes, or if the placement knows places, possibly an
  /// invalid one. Nothing: there is none.
  [[nodiscard]] std::optional<taken_place> place_for(const allot::gpu::pod_request& d) {
    if (nodes_.empty()) return taken_place{};
    if (it_->knows_places() && is_wrong()) {
      if (random_.one_in(3)) {
        if (const auto live = with([](const unit& u) { return has_started(u); }); !live.empty()) {
          return taken_place{units_.at(random_.pick(live)).place, allot::refusal::place_in_use};
        }
      }
      taken_place none{{}, allot::refusal::unknown_place};
      if (!places_gone_.empty() && random_.one_in(2)) none.id = random_.pick(places_gone_);
      if (random_.one_in(4))
        none.id = soak_place{random_.one_in(2) ? 1'000'000 + random_.below(9) : ~std::uint32_t{0}};
      return none;
    }
    const auto at = it_->place(d);
    if (!at) return std::nullopt;
    if (it_->ready(*at)) return taken_place{*at};
    require_same(it_->release(*at), allot::refusal::none, "release_place");
    return std::nullopt;
  }
  /// Of what was refused: a place that was not taken is not given back.
  void give_back(const taken_place& at) {
    if (nodes_.empty()) return;
    require_same(it_->release(at.id), at.why_not, "release_place");
    if (at.why_not == allot::refusal::none) lose(at.id);
  }
  void lose(soak_place at) {
    places_gone_.push_back(at);
    if (places_gone_.size() > 20) places_gone_.erase(places_gone_.begin());
  }
  void change_nodes() {
    if (nodes_.empty()) return ask();
    std::size_t all = 0;
    for (const auto& p : nodes_.pools) all += static_cast<std::size_t>(p.nodes);
    const allot::gpu::node_id n{random_.below(all)};
    if (closed_.contains(n) && !random_.one_in(4)) {
      note("node ", n.index(), " is open again");
      it_->reopen(n);
      closed_.erase(n);
    } else {
      note("node ", n.index(), " is closed");
      it_->close(n);
      closed_.insert(n);
      // If the node has failed, the jobs on it have ended; otherwise it is drained.
      if (random_.one_in(2)) {
        for (const allot::job_id id : with([&](const unit& u) { return stands_on(u, n); })) {
          if (find(id) != nullptr && has_started(*find(id))) random_.one_in(3) ? finished(id) : evicted(id);
        }
      }
    }
    has_untold_nodes_ = true;
    if (!random_.one_in(5)) retry();
  }
  [[nodiscard]] bool stands_on(const unit& u, allot::gpu::node_id n) const {
    if (u.is == where::waits) return false;
    const auto pods = it_->pods(u.place);
    return std::any_of(pods.begin(), pods.end(), [&](const auto& p) { return p.where.node == n; });
  }
  /// The host's nodes hold exactly what jobs use, and no device is used twice.
  void check_places() const {
    if (nodes_.empty()) return;
    // What is used by the jobs placed there, and by those nominated there.
    using twice = std::array<std::int64_t, 2>;
    std::map<std::pair<allot::gpu::node_id, std::size_t>, twice> devices;
    std::map<allot::gpu::node_id, twice> cpus;
    const auto add = [&](twice& sums, const unit& u, std::int64_t amount, std::int64_t most) {
      if (u.is != where::waits) sums[0] += amount;
      if (u.is != where::leaves) sums[1] += amount;
      return sums[0] <= most && sums[1] <= most;
    };
    allot::quantity used;
    allot::quantity held;
    std::size_t places = 0;
    for (const auto& [id, u] : units_) {
      if (u.is == where::waits && !u.nominated) continue;
      ++places;
      const soak_place at = it_->place_of(id);
      require(it_->contains(at), "a job has no place", id);
      for (const auto& p : it_->pods(at)) {
        (u.is == where::leaves ? held : used) += p.gpus();
        for (std::size_t d = 0; d < 64; ++d) {
          if ((p.where.devices >> d & 1U) == 0) continue;
          require(add(devices[{p.where.node, d}], u, p.milli, 1000), "a device is given twice", id);
        }
        const std::int64_t cpu = nodes_.pool_of(p.where.node).cpu_milli;
        require(cpu == 0 || add(cpus[p.where.node], u, p.cpu_milli, cpu), "a CPU is given twice", id);
      }
    }
    require(it_->places() == places, "places are taken that no job has");
    require(it_->used() == used && it_->held_back() == held, "the devices are not counted right");
  }
  void check_admitted_place(const soak_plan::admission& a, bool was_nominated) const {
    if (nodes_.empty()) return;
    require(it_->contains(a.where), "a job is admitted without a place", a.id);
    const soak_job& j = jobs_[a.what];
    const allot::gpu::pod_request d = j.pod_request_of(a.pods, a.pick);
    allot::quantity gpus;
    const auto pods = it_->pods(a.where);
    for (const auto& p : pods) {
      gpus += p.gpus();
      const auto pool = static_cast<std::size_t>(&nodes_.pool_of(p.where.node) - nodes_.pools.data());
      require((d.pools >> pool & 1U) != 0, "a job is admitted in a pool that it does not accept", a.id);
      // A place that was reserved before its node was closed is recognized only if the placement can tell.
      require(!closed_.contains(p.where.node) || (was_nominated && !it_->knows_places()),
              "a job is admitted on a closed node", a.id);
    }
    require(gpus == (d.total ? d.gpus : d.gpus * d.pods), "a job is not given the devices that it asks for",
            a.id);
  }

  // Cycles.

  void step() {
    if (random_.one_in(60)) {
      now_ += a_lifetime;
    } else if (!random_.one_in(3)) {
      now_ += random_.one_in(10) ? random_.between(100, 1'000'000) : random_.between(1, 6);
    }
    cycle();
  }
  /// The clock that said so far what the scheduler was told was wrong.
  void rebase() {
    if (!has_stepped_) return ask();
    const allot::instant most = random_.one_in(2) ? 20 : a_lifetime;
    const allot::instant by = random_.between(-most, most);
    note("rebase by ", by);
    now_ = last_step_ += by;
    it_->rebase(now_);
    for (auto& [id, u] : units_) {
      u.since += by;
      if (u.leaves_by) *u.leaves_by += by;
      u.ready = allot::detail::moved(u.ready, by);
      u.not_before = allot::detail::moved(u.not_before, by);
      if (u.waits_since != jobs_[u.job].submitted) u.waits_since = allot::detail::moved(u.waits_since, by);
      u.spared = allot::detail::moved(u.spared, by);
    }
    for (soak_job& j : jobs_) j.ready = allot::detail::moved(j.ready, by);
    // Times of submission stay: who waits before it preempts may have waited long enough by now, or not any
    // more.
    if (std::any_of(quotas_.begin(), quotas_.end(),
                    [](const quota& q) { return q.settings.preempt_after > 0; }))
      stir();
  }
  /// When a job has started: mostly in the past, sometimes after the next step, by a clock that differs.
  [[nodiscard]] allot::instant draw_start() {
    return random_.one_in(20) ? now_ + a_lifetime : now_ - random_.between(-5, 20);
  }
  /// Cycles at one instant, with no other events.
  void settle() {
    note("settle:");
    std::size_t pods = 0;
    for (const auto& [id, u] : units_) pods += jobs_[u.job].pods;
    const std::size_t most = preset_.at_once ? 1 : 4 + 4 * pods;
    for (std::size_t i = 0; i <= most; ++i) {
      if (cycle()) return;
    }
    if (!preset_.at_once) fail("it does not come to rest in an unchanged world");
  }
  /// Something has happened: the next cycle may decide something.
  void stir() { quiet_ = false; }

  /// Returns whether nothing was decided.
  bool cycle() {
    // No step is before the last one, whatever the clock shows.
    allot::instant behind = 0;
    if (has_stepped_ && random_.one_in(6)) {
      now_ = last_step_;
      behind = random_.between(1, random_.one_in(2) ? 20 : a_lifetime);
    }
    note("step at ", now_ - behind, " as of ", now_);
    for (auto& [id, u] : units_) {
      if (!u.starting) u.since = std::min(u.since, now_);
      // One that was not ready in the last step, if there was one, waits since it is, if the view says so.
      const bool is_news = u.is == where::waits && u.ready <= now_ && (!has_stepped_ || u.ready > last_step_);
      if (is_news && !u.held && u.ready > u.not_before) u.waits_since = std::max(u.waits_since, u.ready);
    }
    const units before = units_;
    const bool was_sound = it_->is_sound();
    const auto wakes = it_->wakes_at();
    const auto begin = std::chrono::steady_clock::now();
    const soak_plan plan = it_->step(now_ - behind);
    if (std::chrono::steady_clock::now() - begin > std::chrono::seconds{20}) fail("a step takes too long");
    tell(plan);
    require(plan.clamped_by == behind, "the plan does not say by how much the clock is behind");
    has_stepped_ = true;
    last_step_ = now_;
    // KAI may look at its nodes by itself.
    const bool may_look = !preset_.at_once && has_untold_nodes_;
    if (quiet_ && !may_look && !(wakes && *wakes <= now_))
      require(plan.empty(), "nothing has happened, yet it decides");
    quiet_ = preset_.at_once || plan.empty();
    may_review_ = true;
    follow(plan, before);
    check_time_limits(plan, before);
    check_overdue(plan);
    if (preset_.keeps_law) require(!was_sound || it_->is_sound(), "the law is broken by a step");
    const auto next = it_->wakes_at();
    require(!next || *next > now_, "the time that was waited for is over");
    return plan.empty();
  }
  void tell(const soak_plan& plan) {
    if (!tells_) return;
    for (const auto& e : plan.evictions) {
      note("  -", told(e.id), " for ", told(e.beneficiary), ", relation ", static_cast<int>(e.how), ", ",
           e.pods, " pods", e.core ? " of " + told(e.core) : "");
    }
    for (const allot::job_id id : plan.withdrawn) note("  -", told(id), " withdrawn");
    for (const auto& r : plan.nominations) note("  ~", told(r.id), " ", r.first, "+", r.count);
    for (const auto& a : plan.admissions) {
      note("  +", told(a.id), " with ", a.pods, " pods", a.core ? " of " + told(a.core) : "", ", flavors ",
           int{a.pick[0]}, int{a.pick[1]}, int{a.pick[2]}, int{a.pick[3]}, ", place ", a.where.index());
    }
    for (const auto& h : plan.pending) note("  ?", told(h.id), " ", static_cast<int>(h.reason));
  }
  void follow(const soak_plan& plan, const units& before) {
    std::set<allot::job_id> named;
    for (const allot::job_id id : plan.withdrawn) {
      const auto was = before.find(id);
      require(was != before.end() && was->second.is == where::leaves && !was->second.is_over,
              "an eviction is withdrawn that there is not", id);
      const allot::instant limit = jobs_[was->second.job].time_limit;
      const bool is_over = is_core(was->second) && limit > 0 && now_ - was->second.since >= limit;
      require(!is_over, "one that has reached its time limit is to run on", id);
      stays(id);
    }
    for (const auto& e : plan.evictions) {
      require(named.insert(e.id).second, "a job is evicted twice", e.id);
      const auto was = before.find(e.id);
      // One that leaves already may be claimed by another job than the one that does not need it any more.
      require(was != before.end() && was->second.is != where::waits, "a job is evicted that did not run",
              e.id);
      const unit& u = was->second;
      require(u.job == e.what && u.quota == e.quota && u.core == e.core, "an eviction tells of another job",
              e.id);
      require((jobs_[u.job].preemptible && !u.held && u.spared <= now_ && !quotas_[u.quota.index()].frozen) ||
                  e.how == allot::relation::time_limit,
              "a job goes that may not", e.id);
      tell_to_go(e.id);
      units_.at(e.id).is_over = e.how == allot::relation::time_limit;
    }
    for (const auto& e : plan.evictions) check_pods_of(plan, e, before);
    for (const auto& a : plan.admissions) {
      require(named.insert(a.id).second, "a job is admitted that is admitted or evicted", a.id);
      admitted(a);
    }
    learn(true);
    for (auto& [id, u] : units_)
      u.nominated = u.is == where::waits && it_->state(id) == allot::job_state::nominated;
    std::set<allot::job_id> nominated;
    for (const auto& r : plan.nominations) {
      require(nominated.insert(r.id).second, "a job is nominated twice", r.id);
      const unit* u = find(r.id);
      require(u != nullptr && u->is == where::waits, "a job is nominated that does not wait", r.id);
      require(u->job == r.what && u->quota == r.quota, "a nomination tells of another job", r.id);
      require(u->ready <= now_ && !u->held, "a job is nominated that is not ready", r.id);
      require(!preset_.books || u->nominated, "a job is said to be nominated and is not", r.id);
      require(r.first + r.count <= plan.evictions.size(), "a nomination has victims that there are not",
              r.id);
      for (std::size_t i = r.first; i < r.first + r.count; ++i) {
        require(plan.evictions[i].beneficiary == r.id, "a nomination has the victims of others", r.id);
      }
    }
    for (const auto& e : plan.evictions) {
      if (!e.beneficiary) continue;
      const unit* u = find(e.beneficiary);
      require(u != nullptr && (u->is == where::waits || named.contains(e.beneficiary)),
              "somebody goes for who does not wait", e.id);
      const allot::instant wait = quotas_[u->quota.index()].settings.preempt_after;
      require(wait == 0 || now_ >= allot::later(u->waits_since, wait),
              "somebody goes for a job that has not waited long enough", e.id);
    }
    bool anybody_leaves = false;
    for (const auto& [id, u] : units_) anybody_leaves = anybody_leaves || u.is == where::leaves;
    for (const auto& [id, u] : units_) {
      if (!u.nominated) continue;
      const auto was = before.find(id);
      require(nominated.contains(id) || (was != before.end() && was->second.nominated),
              "a job is nominated and the plan does not say so", id);
      require(anybody_leaves, "a job is nominated and no job leaves", id);
    }
    std::set<allot::job_id> held;
    for (const auto& h : plan.pending) {
      const unit* u = find(h.id);
      require(u != nullptr && u->is == where::waits, "a job is held that does not wait", h.id);
      require(u->job == h.what && u->quota == h.quota, "a pending job is told as another", h.id);
      require(h.reason != allot::pending_reason::not_waiting, "a job is held that does not wait", h.id);
      require(held.insert(h.id).second, "a job is held twice", h.id);
    }
    for (const auto& a : plan.admissions) {
      const auto was = before.find(a.id);
      check_admitted_place(a, was != before.end() && was->second.nominated);
    }
  }
  void admitted(const soak_plan::admission& a) {
    if (find(a.id) == nullptr) {
      // A pod that the host does not know yet: its job has only just started, or made another one pending.
      require(find(a.core) != nullptr, "a job is admitted that did not wait", a.id);
      const unit& core = units_.at(a.core);
      enter(a.id, {.job = core.job, .quota = core.quota, .core = a.core, .pick = core.pick});
    }
    unit& u = units_.at(a.id);
    const soak_job& j = jobs_[u.job];
    require(u.is == where::waits, "a job is admitted that did not wait", a.id);
    require(u.ready <= now_ && !u.held, "a job is admitted that is not ready", a.id);
    require(u.job == a.what && u.quota == a.quota && u.core == a.core, "an admission tells of another job",
            a.id);
    require(is_choice(j, a.pick), "a job gets flavors that it does not accept", a.id);
    start(u, a.where, a.pick, a.pods, now_);
    if (u.core) {
      unit& core = units_.at(u.core);
      require(core.is == where::runs && core.to_come > 0 && a.pods == 1 && core.pick == a.pick,
              "a job is given a pod that it can't have", a.id);
      --core.to_come;
    } else {
      require(a.pods == j.min_pods || (preset_.partial && a.pods > j.min_pods && a.pods <= j.pods),
              "a job starts with other pods than it asks for", a.id);
      if (preset_.partial) u.to_come = 0;
    }
  }
  /// All pods of an evicted job are reported, once, or those that move.
  void check_pods_of(const soak_plan& plan, const soak_plan::eviction& e, const units& before) const {
    const allot::job_id core = e.core ? e.core : e.id;
    std::uint32_t told_pods = 0;
    for (const auto& other : plan.evictions) {
      if (other.id == core || other.core == core) told_pods += other.pods;
    }
    std::uint32_t pods = 0;
    // They are evicted once more if they were not to leave any more.
    std::uint32_t left_before = 0;
    for (const auto& [id, u] : before) {
      if (u.is == where::waits || (id != core && u.core != core)) continue;
      const unit* now = find(id);
      if (now != nullptr && now->is == where::leaves) (u.is == where::runs ? pods : left_before) += u.pods;
    }
    if (before.at(e.id).is == where::leaves) return;
    const bool are_all = pods <= told_pods && told_pods <= pods + left_before;
    const bool may_stay = preset_.moves_pods && told_pods > 0 && told_pods < pods;
    require(are_all || may_stay, "not all pods are told that go", e.id);
  }
  void check_overdue(const soak_plan& plan) {
    std::set<allot::job_id> should;
    for (auto& [id, u] : units_) {
      if (u.is != where::leaves || !u.leaves_by || *u.leaves_by > now_) continue;
      should.insert(id);
      u.leaves_by.reset();
    }
    const std::set<allot::job_id> listed(plan.overdue.begin(), plan.overdue.end());
    require(listed == should && listed.size() == plan.overdue.size(),
            "not those are overdue that should have left");
  }
  void check_time_limits(const soak_plan& plan, const units& before) const {
    std::set<allot::job_id> over;
    for (const auto& e : plan.evictions) {
      if (e.how == allot::relation::time_limit) over.insert(e.id);
    }
    for (const auto& [id, u] : before) {
      const allot::instant limit = jobs_[u.job].time_limit;
      const bool is_over =
          u.is == where::runs && is_core(u) && limit > 0 && u.since <= now_ && now_ - u.since >= limit;
      require(is_over == over.contains(id), "a job may run as long as its limit, and not longer", id);
    }
  }

  // Queries.

  void ask() {
    const allot::job_id id = draw_id([](const unit& u) { return u.is == where::waits; });
    note("why ", told(id));
    const auto h = it_->why(id);
    const unit* u = find(id);
    const bool waits = u != nullptr && u->is == where::waits;
    require(h.id == id, "why tells of another job", id);
    require(h.what == (u == nullptr ? 0 : u->job), "why tells of another job", id);
    require((h.reason == allot::pending_reason::not_waiting) == !waits, "why does not know whether it waits",
            id);
    if (!waits) return;
    require(h.quota == u->quota, "why tells of another quota", id);
    require((h.reason == allot::pending_reason::evictions) == u->nominated,
            "why does not know who is nominated", id);
    const bool is_found = h.reason == allot::pending_reason::not_proven ||
                          h.reason == allot::pending_reason::lost_work ||
                          h.reason == allot::pending_reason::preempts_later;
    const bool is_early = h.reason == allot::pending_reason::not_ready;
    require(is_early == is_not_ready(*u), "why does not know who is ready", id);
    require((h.reason == allot::pending_reason::held) == u->held, "why does not know who is held", id);
    require(!h.is_bound || is_found || is_early || u->held || h.reason == allot::pending_reason::quota,
            "a bound is told of without a reason", id);
    static_cast<void>(it_->wakes_at());
    static_cast<void>(it_->settings(draw_quota()));
  }

  /// Every query agrees with what the host knows.
  void check() {
    std::map<allot::quota_id, std::tuple<soak_amounts, soak_amounts, std::size_t>> of_quota;
    for (auto& [id, u] : units_) {
      check(id, u);
      auto& [held, assumed, waiting] = of_quota[u.quota];
      const soak_amounts request = u.is == where::waits ? it_->request(id) : request_of(u);
      if (u.is != where::waits) held += request;
      if (u.is == where::runs || u.nominated) assumed += request;
      if (u.is == where::waits) ++waiting;
    }
    for (std::size_t i = 0; i < quotas_.size(); ++i) {
      const allot::quota_id x{i};
      const auto& [held, assumed, waiting] = of_quota[x];
      require(it_->waiting(x) == waiting, "not so many wait as should");
      require(it_->settings(x) == (has_quota(x) ? quotas_[i].settings : resolved(preset_.defaults)),
              "a quota has other settings");
      if (!has_quota(x)) continue;
      if (it_->held(x) != held) fail(told(x) + " uses " + told(it_->held(x)) + " and not " + told(held));
      if (it_->assumed(x) != assumed) {
        fail(told(x) + " is assumed with " + told(it_->assumed(x)) + " and not " + told(assumed));
      }
    }
    for (const allot::job_id id : gone_) check_unknown(id);
    check_unknown({});
    check_unknown(allot::job_id{std::numeric_limits<std::uint32_t>::max() - 1});
    check_places();
  }
  void check(allot::job_id id, unit& u) {
    const allot::job_state is = it_->state(id);
    const allot::job_state runs = u.starting ? allot::job_state::starting : allot::job_state::running;
    const allot::job_state should = u.is == where::runs     ? runs
                                    : u.is == where::leaves ? allot::job_state::evicting
                                    : u.nominated           ? allot::job_state::nominated
                                                            : allot::job_state::pending;
    if (is != should) {
      require(may_review_ && u.nominated && is == allot::job_state::pending, "a job has another state", id);
      u.nominated = false;
    }
    require(it_->what(id) == u.job, "an id stands for another job", id);
    if (u.is == where::waits) {
      const allot::flavor_pick pick = it_->pick(id);
      require(is_choice(jobs_[u.job], pick), "a job gets flavors that it does not accept", id);
      require(u.nominated || it_->place_of(id) == soak_place{}, "a job that waits has a place", id);
      const soak_amounts request = it_->request(id);
      // An elastic job that starts with as many pods as possible may request any number of them.
      require(preset_.partial || request == jobs_[u.job].request(u.pods, pick),
              "a job asks for something else", id);
    } else {
      require(it_->place_of(id) == u.place, "a job has another place", id);
      require(it_->since(id) == u.since, "a job has started at another time", id);
      require(it_->pick(id) == u.pick, "a job has other flavors", id);
      require(it_->request(id) == request_of(u), "a job has something else", id);
    }
    require(is_core(u) || it_->elastic_pods_of(id).empty(), "a further pod has further pods", id);
  }
  void check_unknown(allot::job_id id) const {
    if (find(id) != nullptr) return;
    require(it_->state(id) == allot::job_state::unknown, "a job is known that has gone", id);
    require(it_->what(id) == 0 && it_->place_of(id) == soak_place{} && it_->request(id) == soak_amounts{} &&
                it_->pick(id) == allot::flavor_pick{} && it_->elastic_pods_of(id).empty(),
            "something is told of a job that has gone", id);
  }

  // The end.

  /// All running jobs end, then the pending ones have their turn, until none starts any more; who is to start
  /// at a reserved time, or when it is ready, may wait for it. No job may be forgotten.
  void let_all_go() {
    note("the end:");
    for (const auto n : std::set<allot::gpu::node_id>{closed_}) it_->reopen(n);
    closed_.clear();
    for (const allot::job_id id : with([this](const unit& u) { return is_core(u) && u.held; })) unhold(id);
    retry();
    // The clock may step back before it is looked at.
    std::size_t wakes_left = 20 + 2 * units_.size();
    bool may_have_flavors_left = preset_.partial;
    for (bool anybody = true; anybody;) {
      settle();
      check();
      anybody = false;
      if (with(has_started).empty() && wakes_left > 0) {
        if (const auto wakes = it_->wakes_at(); wakes && *wakes > now_) {
          --wakes_left;
          now_ = *wakes;
          anybody = true;
        } else if (std::exchange(may_have_flavors_left, false)) {
          // A head of Kueue's goes on with its next flavors before it is back at its first.
          retry();
          anybody = true;
        }
      }
      for (const allot::job_id id : with(has_started)) {
        if (find(id) == nullptr) continue;
        anybody = true;
        may_have_flavors_left = preset_.partial;
        finished(id);
        check();
      }
    }
    for (const auto& [id, u] : units_) check_left_over(id);
    for (const allot::job_id id : with([](const unit&) { return true; })) {
      if (find(id) != nullptr) {
        note("cancel ", told(id));
        require_same(it_->cancel(id), allot::refusal::none, "cancel");
        remove(id);
      }
    }
    check();
    require(cycle(), "nobody is there, yet it decides");
  }
  /// In an empty world a job is pending because its quota or the machines do not allow it, or behind such a
  /// job.
  void check_left_over(allot::job_id id) {
    const unit& u = units_.at(id);
    if (preset_.leaves_only && has_children(u.quota)) return;
    const auto h = it_->why(id);
    require(h.reason == allot::pending_reason::quota || h.reason == allot::pending_reason::placement ||
                h.reason == allot::pending_reason::backoff ||
                h.reason == allot::pending_reason::preempts_later || u.ready == allot::without_end ||
                quotas_[u.quota.index()].settings.head == allot::queue_head::strict,
            "a job is left over in an empty world", id);
  }

  const soak_preset& preset_;
  random_source& random_;
  bool tells_;
  std::string diary_;
  std::size_t size_ = 1;
  std::size_t wrong_one_in_ = 20;
  /// Quotas and jobs have amounts near the largest that can be counted.
  bool has_giants_ = false;
  std::size_t dimensions_ = 2;
  soak_nodes nodes_;
  std::deque<soak_job> jobs_;
  std::unique_ptr<soak_scheduler> it_;
  /// The scheduler's clock, and whether it has one.
  allot::instant now_ = 1000;
  allot::instant last_step_ = 0;
  bool has_stepped_ = false;
  static constexpr allot::instant a_lifetime = 75LL * 365 * 86'400;

  std::vector<quota> quotas_;
  units units_;
  std::set<allot::job_id> ever_;
  std::vector<allot::job_id> gone_;
  std::vector<soak_place> places_gone_;
  std::set<allot::gpu::node_id> closed_;
  /// Whether the last step has decided everything, and nothing has happened since.
  bool quiet_ = false;
  /// Whether nodes have been closed or opened without a word to the scheduler.
  bool has_untold_nodes_ = false;
  /// Whether the last call may have made nominated jobs pending again.
  bool may_review_ = false;
};

}  // namespace allot_test
