// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/gpu/cluster.hpp>
#include <allot/gpu/inventory.hpp>
#include <allot/gpu/placement/any_placement.hpp>
#include <allot/gpu/placement/preferred_pools.hpp>
#include <allot/gpu/pod_request.hpp>
#include <allot/quota/builder.hpp>
#include <allot/quota/change.hpp>
#include <allot/scheduler/preset.hpp>
#include <allot/scheduler/scheduler.hpp>
#include <allot/sim/places.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace allot_test {

// A host that calls a scheduler in any order, with valid and invalid arguments, and a model of the expected
// state, which it derives from the results of its calls and the plans. All amounts have two dimensions; where
// a scheduler has one, the second is zero.

using soak_amounts = allot::resources<2>;
using soak_place = allot::gpu::allocation_id;

/// A job as a host describes it. All values are per pod. A job without pods, or that needs none or more than
/// it has, is one of the errors that a host may make.
struct soak_job {
  allot::quota_id quota;
  soak_amounts pod{};
  std::uint32_t pods = 1;
  std::uint32_t min_pods = 1;
  /// Alternatives by group, in addition to `pod`; the first group determines the nodes that the pods accept.
  std::vector<std::vector<soak_amounts>> flavors{};
  std::vector<std::uint64_t> pools{};
  allot::gpu::pod_request pod_request{};
  std::int64_t priority = 0;
  bool preemptible = true;
  allot::instant submitted = 0;
  allot::instant duration = 1;
  allot::instant checkpoint = 0;
  allot::instant time_limit = 0;
  allot::instant ready = std::numeric_limits<allot::instant>::min();

  [[nodiscard]] bool is_elastic() const { return min_pods < pods; }
  [[nodiscard]] soak_amounts request(std::uint32_t of_pods, const allot::flavor_pick& pick) const {
    soak_amounts sum = pod * of_pods;
    for (std::size_t g = 0; g < flavors.size(); ++g) sum += flavors[g][pick[g]] * of_pods;
    return sum;
  }
  [[nodiscard]] allot::gpu::pod_request pod_request_of(std::uint32_t of_pods,
                                                       const allot::flavor_pick& pick) const {
    allot::gpu::pod_request d = pod_request;
    d.owner = static_cast<std::uint32_t>(quota.is_none() ? 0 : quota.index());
    if (!d.total) d.pods = of_pods;
    if (!pools.empty()) d.pools &= pools[pick[0]];
    return d;
  }
};

/// A job is its number; 0 is none.
template <std::size_t N>
struct soak_view {
  using job = std::uint32_t;

  const std::deque<soak_job>* jobs;
  soak_amounts total{allot::quantity::unlimited()};

  [[nodiscard]] static allot::resources<N> narrow(const soak_amounts& wide) {
    allot::resources<N> r;
    for (std::size_t d = 0; d < N; ++d) r[d] = wide[d];
    return r;
  }
  [[nodiscard]] const soak_job& at(job j) const { return (*jobs)[j]; }

  [[nodiscard]] allot::resources<N> capacity() const { return narrow(total); }
  [[nodiscard]] allot::quota_id quota(job j) const { return at(j).quota; }
  [[nodiscard]] allot::resources<N> request(job j) const { return request(j, at(j).pods); }
  [[nodiscard]] allot::resources<N> request(job j, std::uint32_t pods) const {
    return narrow(at(j).pod * pods);
  }
  [[nodiscard]] std::int64_t priority(job j) const { return at(j).priority; }
  [[nodiscard]] allot::instant submitted(job j) const { return at(j).submitted; }
  [[nodiscard]] allot::instant ready_at(job j) const { return at(j).ready; }
  [[nodiscard]] std::uint64_t id(job j) const { return j; }
  [[nodiscard]] bool preemptible(job j) const { return at(j).preemptible; }
  [[nodiscard]] allot::instant duration(job j) const { return at(j).duration; }
  [[nodiscard]] allot::instant estimate(job j) const { return at(j).duration; }
  [[nodiscard]] allot::instant checkpoint(job j) const { return at(j).checkpoint; }
  [[nodiscard]] allot::instant restart(job j) const { return at(j).checkpoint / 2; }
  [[nodiscard]] allot::instant time_limit(job j) const { return at(j).time_limit; }
  [[nodiscard]] std::uint32_t pods(job j) const { return at(j).pods; }
  [[nodiscard]] std::uint32_t min_pods(job j) const { return at(j).min_pods; }
  [[nodiscard]] allot::flavor_menu<N> flavors(job j, std::uint32_t pods) const {
    allot::flavor_menu<N> menu;
    for (const auto& group : at(j).flavors) {
      std::vector<allot::resources<N>> options;
      for (const soak_amounts& each : group) options.push_back(narrow(each));
      menu.add_group(options);
    }
    return menu * pods;
  }
  [[nodiscard]] allot::gpu::pod_request pod_request(job j) const {
    return at(j).pod_request_of(at(j).pods, {});
  }
  [[nodiscard]] allot::gpu::pod_request pod_request(job j, std::uint32_t pods,
                                                    const allot::flavor_pick& pick) const {
    return at(j).pod_request_of(pods, pick);
  }
};

/// A plan, whatever the scheduler's type.
struct soak_plan {
  struct admission {
    allot::job_id id;
    std::uint32_t what;
    allot::quota_id quota;
    soak_place where;
    allot::flavor_pick pick;
    std::uint32_t pods;
    allot::job_id core;
  };
  struct eviction {
    allot::job_id id;
    std::uint32_t what;
    allot::quota_id quota;
    allot::job_id beneficiary;
    allot::relation how;
    std::uint32_t pods;
    allot::job_id core;
  };
  struct nomination {
    allot::job_id id;
    std::uint32_t what;
    allot::quota_id quota;
    std::size_t first;
    std::size_t count;
  };
  struct pending_job {
    allot::job_id id;
    std::uint32_t what;
    allot::quota_id quota;
    allot::pending_reason reason;
    bool is_bound;
    bool has_obstacle;
  };
  std::vector<admission> admissions{};
  std::vector<eviction> evictions{};
  std::vector<allot::job_id> withdrawn{};
  std::vector<allot::job_id> overdue{};
  std::vector<nomination> nominations{};
  std::vector<pending_job> pending{};
  allot::instant clamped_by = 0;

  [[nodiscard]] bool empty() const {
    return admissions.empty() && evictions.empty() && withdrawn.empty() && overdue.empty() &&
           nominations.empty();
  }
};

/// A scheduler of any type, so that the host is compiled once.
class soak_scheduler {
 public:
  using changes = std::vector<allot::quota_change<2>>;
  using quotas = std::vector<allot::quota_spec<2>>;

  virtual ~soak_scheduler() = default;

  virtual allot::refusal refuses(std::uint32_t j) = 0;
  virtual allot::submission submit(std::uint32_t j) = 0;
  virtual allot::submission adopt(std::uint32_t j, allot::instant since, soak_place at,
                                  const allot::flavor_pick& pick) = 0;
  virtual allot::submission adopt_elastic_pod(allot::job_id core, allot::instant since, soak_place at) = 0;
  virtual allot::refusal started(allot::job_id id, allot::instant at) = 0;
  virtual allot::refusal finished(allot::job_id id) = 0;
  virtual allot::refusal evicted(allot::job_id id) = 0;
  virtual allot::refusal starting(allot::job_id id, allot::instant until) = 0;
  virtual allot::refusal leaves_by(allot::job_id id, allot::instant when) = 0;
  virtual allot::refusal start_failed(allot::job_id id, allot::instant not_before) = 0;
  virtual allot::refusal not_evicted(allot::job_id id, allot::instant until) = 0;
  virtual allot::refusal freeze(allot::quota_id x, bool yes) = 0;
  virtual allot::refusal hold(allot::job_id id) = 0;
  virtual allot::refusal unhold(allot::job_id id) = 0;
  virtual allot::refusal update(allot::job_id id) = 0;
  virtual allot::refusal cancel(allot::job_id id) = 0;
  virtual allot::refusal evicting(allot::job_id id) = 0;
  virtual void retry() = 0;
  virtual std::vector<allot::problem> configure(allot::quota_id x, const allot::queue_settings& s) = 0;
  virtual allot::result<allot::vector<allot::quota_id>> apply(const changes& all) = 0;
  virtual soak_plan step(allot::instant now) = 0;
  virtual void rebase(allot::instant now) = 0;
  virtual std::optional<allot::instant> wakes_at() = 0;

  virtual allot::queue_settings settings(allot::quota_id x) = 0;
  virtual soak_plan::pending_job why(allot::job_id id) = 0;
  virtual allot::job_state state(allot::job_id id) = 0;
  virtual std::uint32_t what(allot::job_id id) = 0;
  virtual soak_place place_of(allot::job_id id) = 0;
  virtual allot::instant since(allot::job_id id) = 0;
  virtual soak_amounts request(allot::job_id id) = 0;
  virtual allot::flavor_pick pick(allot::job_id id) = 0;
  virtual std::span<const allot::job_id> elastic_pods_of(allot::job_id id) = 0;
  virtual std::size_t waiting(allot::quota_id x) = 0;
  virtual soak_amounts held(allot::quota_id x) = 0;
  virtual soak_amounts assumed(allot::quota_id x) = 0;
  virtual bool is_sound(allot::quota_id x) = 0;
  virtual bool is_sound() = 0;
  /// Nothing: it does not know that quota.
  virtual std::optional<allot::quota_spec<2>> spec(allot::quota_id x) = 0;

  /// The type-independent part of the placement; with `has_nodes()` only.
  virtual bool has_nodes() = 0;
  /// Whether it can tell the places that it has given from others.
  virtual bool knows_places() = 0;
  virtual std::optional<soak_place> place(const allot::gpu::pod_request& d) = 0;
  virtual allot::refusal release(soak_place at) = 0;
  virtual bool ready(soak_place at) = 0;
  virtual bool contains(soak_place at) = 0;
  virtual std::vector<allot::gpu::placed_pod> pods(soak_place at) = 0;
  virtual void close(allot::gpu::node_id n) = 0;
  virtual void reopen(allot::gpu::node_id n) = 0;
  virtual std::size_t places() = 0;
  virtual allot::quantity used() = 0;
  virtual allot::quantity held_back() = 0;

  /// Makes another one of the same type, which has known no job, continue from the state of this one; with
  /// nodes it takes the places there. Returns these by those of this one, or what it has refused.
  virtual allot::result<std::map<std::size_t, soak_place>> resume_in(soak_scheduler& fresh) = 0;
  [[nodiscard]] virtual std::unique_ptr<soak_scheduler> copy() const = 0;
};

template <class Scheduler>
class soak_scheduler_of final : public soak_scheduler {
  static constexpr std::size_t n = Scheduler::n;
  using place_type = typename Scheduler::place;
  using places_type = std::remove_cvref_t<decltype(std::declval<Scheduler&>().places())>;
  static constexpr bool has_placement = !std::same_as<places_type, allot::no_placement>;
  using narrow_view = soak_view<n>;

 public:
  explicit soak_scheduler_of(Scheduler s) : it_(std::move(s)) { it_.withdraw_evictions(true); }

  /// The input for a scheduler of this type.
  [[nodiscard]] static std::vector<allot::quota_spec<n>> narrow(const quotas& wide) {
    std::vector<allot::quota_spec<n>> all;
    for (const auto& q : wide) all.push_back(narrow(q));
    return all;
  }

  allot::refusal refuses(std::uint32_t j) override { return it_.refuses(j); }
  allot::submission submit(std::uint32_t j) override { return it_.submit(j); }
  allot::submission adopt(std::uint32_t j, allot::instant since, soak_place at,
                          const allot::flavor_pick& pick) override {
    return it_.adopt(j, since, place_from(at), pick);
  }
  allot::submission adopt_elastic_pod(allot::job_id core, allot::instant since, soak_place at) override {
    return it_.adopt_elastic_pod(core, since, place_from(at));
  }
  allot::refusal started(allot::job_id id, allot::instant at) override { return it_.started(id, at); }
  allot::refusal finished(allot::job_id id) override { return it_.finished(id); }
  allot::refusal starting(allot::job_id id, allot::instant until) override { return it_.starting(id, until); }
  allot::refusal leaves_by(allot::job_id id, allot::instant when) override { return it_.leaves_by(id, when); }
  allot::refusal start_failed(allot::job_id id, allot::instant not_before) override {
    return it_.start_failed(id, not_before);
  }
  allot::refusal not_evicted(allot::job_id id, allot::instant until) override {
    return it_.not_evicted(id, until);
  }
  allot::refusal freeze(allot::quota_id x, bool yes) override { return yes ? it_.freeze(x) : it_.thaw(x); }
  allot::refusal hold(allot::job_id id) override { return it_.hold(id); }
  allot::refusal unhold(allot::job_id id) override { return it_.unhold(id); }
  allot::refusal update(allot::job_id id) override { return it_.update(id); }
  allot::refusal evicted(allot::job_id id) override { return it_.evicted(id); }
  allot::refusal cancel(allot::job_id id) override { return it_.cancel(id); }
  allot::refusal evicting(allot::job_id id) override { return it_.evicting(id); }
  void retry() override { it_.retry(); }
  std::vector<allot::problem> configure(allot::quota_id x, const allot::queue_settings& s) override {
    return it_.configure(x, s);
  }
  allot::result<allot::vector<allot::quota_id>> apply(const changes& all) override {
    std::vector<allot::quota_change<n>> narrow_ones;
    for (const auto& c : all) std::visit([&](const auto& one) { narrow_ones.push_back(narrow(one)); }, c);
    return it_.apply(narrow_ones);
  }
  soak_plan step(allot::instant now) override {
    const auto& p = it_.step(now);
    soak_plan copy;
    for (const auto& a : p.admissions) {
      copy.admissions.push_back({a.id, a.what, a.quota, place_to(a.where), a.pick, a.pods, a.core});
    }
    for (const auto& e : p.evictions) {
      copy.evictions.push_back({e.id, e.what, e.quota, e.beneficiary, e.how, e.pods, e.core});
    }
    for (const auto& w : p.withdrawn) copy.withdrawn.push_back(w.id);
    for (const auto& o : p.overdue) copy.overdue.push_back(o.id);
    for (const auto& r : p.nominations) {
      copy.nominations.push_back({r.id, r.what, r.quota, r.first, r.count});
    }
    for (const auto& h : p.pending) copy.pending.push_back(told(h));
    copy.clamped_by = p.clamped_by;
    return copy;
  }
  void rebase(allot::instant now) override { it_.rebase(now); }
  std::optional<allot::instant> wakes_at() override { return it_.wakes_at(); }

  allot::queue_settings settings(allot::quota_id x) override { return it_.settings(x); }
  soak_plan::pending_job why(allot::job_id id) override { return told(it_.why(id)); }
  allot::job_state state(allot::job_id id) override { return it_.state(id); }
  std::uint32_t what(allot::job_id id) override { return it_.what(id); }
  soak_place place_of(allot::job_id id) override { return place_to(it_.place_of(id)); }
  allot::instant since(allot::job_id id) override { return it_.since(id); }
  soak_amounts request(allot::job_id id) override { return widen(it_.request(id)); }
  allot::flavor_pick pick(allot::job_id id) override { return it_.pick(id); }
  std::span<const allot::job_id> elastic_pods_of(allot::job_id id) override {
    return it_.elastic_pods_of(id);
  }
  std::size_t waiting(allot::quota_id x) override { return it_.waiting(x); }
  soak_amounts held(allot::quota_id x) override { return widen(it_.ledger().own_usage(x)); }
  soak_amounts assumed(allot::quota_id x) override { return widen(it_.assumed().own_usage(x)); }
  bool is_sound(allot::quota_id x) override { return it_.ledger().is_sound(x); }
  bool is_sound() override { return it_.ledger().is_sound(); }
  std::optional<allot::quota_spec<2>> spec(allot::quota_id x) override {
    if (!it_.tree().contains(x)) return std::nullopt;
    return widen(it_.tree().spec(x));
  }

  bool has_nodes() override {
    return inventory([](auto&) { return true; });
  }
  bool knows_places() override { return allot::revocable_placement<places_type>; }
  std::optional<soak_place> place(const allot::gpu::pod_request& d) override {
    if constexpr (has_placement) return has_nodes() ? it_.take_place(d) : std::nullopt;
    return std::nullopt;
  }
  allot::refusal release(soak_place at) override {
    if constexpr (has_placement) return it_.release_place(at);
    return allot::refusal::unknown_place;
  }
  bool ready(soak_place at) override {
    return inventory([&](auto& i) { return i.ready(at); });
  }
  bool contains(soak_place at) override {
    return inventory([&](auto& i) { return i.contains(at); });
  }
  std::vector<allot::gpu::placed_pod> pods(soak_place at) override {
    return inventory([&](auto& i) {
      const auto there = i.pods(at);
      return std::vector<allot::gpu::placed_pod>(there.begin(), there.end());
    });
  }
  void close(allot::gpu::node_id node) override {
    if constexpr (has_placement) it_.nodes().close(node);
  }
  void reopen(allot::gpu::node_id node) override {
    if constexpr (has_placement) it_.nodes().reopen(node);
  }
  std::size_t places() override {
    return inventory([](auto& i) { return i.size(); });
  }
  allot::quantity used() override {
    return inventory([](auto& i) { return i.used(); });
  }
  allot::quantity held_back() override {
    return inventory([](auto& i) { return i.held(); });
  }

  [[nodiscard]] std::unique_ptr<soak_scheduler> copy() const override {
    return std::make_unique<soak_scheduler_of>(*this);
  }
  allot::result<std::map<std::size_t, soak_place>> resume_in(soak_scheduler& fresh) override {
    auto& to = static_cast<soak_scheduler_of&>(fresh).it_;
    std::map<std::size_t, soak_place> taken;
    const auto state = it_.state();
    const auto answer = to.resume(state, [&](const auto& u) -> std::optional<place_type> {
      if (!has_nodes()) return u.where;
      const std::uint32_t pods = u.core ? 1 : u.pods;
      const auto at = static_cast<soak_scheduler_of&>(fresh).place_at(
          it_.view().at(u.what).pod_request_of(pods, u.pick), this->pods(place_to(u.where)));
      if (!at) return std::nullopt;
      taken[place_to(u.where).index()] = *at;
      return place_from(*at);
    });
    for (const auto& u : answer.refused) {
      return allot::detail::one_problem(allot::problem_code::contradiction, std::to_string(u.what), "state",
                                        std::string{to_string(u.why)});
    }
    if (!answer.keeps_past_usage) {
      return allot::detail::one_problem(allot::problem_code::contradiction, {}, "past_usage", "not kept");
    }
    auto then = to.state();
    auto now = state.transformed([](const auto& u) { return u.what; },
                                 [&](const auto& u) { return moved(taken, u.where); });
    // Past usage of quotas that are gone is forgotten.
    for (auto* s : {&then, &now}) s->memory.of_cycle.past_usage.clear();
    if (!(then == now)) {
      return allot::detail::one_problem(allot::problem_code::contradiction, {}, "state", "not the same");
    }
    return taken;
  }
  std::optional<soak_place> place_at(const allot::gpu::pod_request& d,
                                     const std::vector<allot::gpu::placed_pod>& pods) {
    std::vector<allot::gpu::pod_location> where;
    for (const auto& p : pods) where.push_back(p.where);
    if constexpr (has_placement) return has_nodes() ? it_.take_place(d, where) : std::nullopt;
    return std::nullopt;
  }

 private:
  [[nodiscard]] static place_type moved(const std::map<std::size_t, soak_place>& taken,
                                        const place_type& at) {
    const auto now = taken.find(place_to(at).index());
    return now == taken.end() ? at : place_from(now->second);
  }
  /// The result of `f` for the inventory; nothing if there is none.
  template <class F>
  auto inventory(F f) {
    using result_type = decltype(f(std::declval<const allot::sim::places::inventory_type&>()));
    if constexpr (!has_placement) {
      return result_type{};
    } else if constexpr (requires { it_.places().inventory(); }) {
      return it_.places().has_nodes() ? f(it_.places().inventory()) : result_type{};
    } else {
      return f(it_.places());
    }
  }
  [[nodiscard]] static place_type place_from(soak_place at) {
    if constexpr (std::same_as<place_type, soak_place>) {
      return at;
    } else {
      return {};
    }
  }
  [[nodiscard]] static soak_place place_to(const place_type& at) {
    if constexpr (std::same_as<place_type, soak_place>) {
      return at;
    } else {
      return {};
    }
  }
  template <class Hold>
  [[nodiscard]] static soak_plan::pending_job told(const Hold& h) {
    return {h.id, h.what, h.quota, h.reason, h.binding.has_value(), h.placement.has_value()};
  }
  [[nodiscard]] static soak_amounts widen(const allot::resources<n>& r) {
    soak_amounts wide;
    for (std::size_t d = 0; d < n; ++d) wide[d] = r[d];
    return wide;
  }
  /// The first dimensions of anything that has a value in each.
  template <class From, class To>
  static void copy_dimensions(const From& from, To& to) {
    for (std::size_t d = 0; d < n; ++d) to[d] = from[d];
  }
  template <std::size_t From, std::size_t To>
  [[nodiscard]] static allot::quota_spec<To> converted(const allot::quota_spec<From>& s) {
    allot::quota_spec<To> c;
    c.name = s.name;
    c.parent = s.parent;
    copy_dimensions(s.nominal, c.nominal);
    copy_dimensions(s.lend, c.lend);
    copy_dimensions(s.borrow, c.borrow);
    copy_dimensions(s.weight, c.weight);
    c.priority = s.priority;
    c.inclusive = s.inclusive;
    c.overcommit = s.overcommit;
    c.is_static = s.is_static;
    return c;
  }
  [[nodiscard]] static allot::quota_spec<n> narrow(const allot::quota_spec<2>& s) {
    return converted<2, n>(s);
  }
  [[nodiscard]] static allot::quota_spec<2> widen(const allot::quota_spec<n>& s) {
    return converted<n, 2>(s);
  }
  [[nodiscard]] static allot::quota_change<n> narrow(const allot::resize_quota<2>& c) {
    allot::resize_quota<n> r;
    r.quota = c.quota;
    if (c.nominal) copy_dimensions(*c.nominal, r.nominal.emplace());
    if (c.lend) copy_dimensions(*c.lend, r.lend.emplace());
    if (c.borrow) copy_dimensions(*c.borrow, r.borrow.emplace());
    return r;
  }
  [[nodiscard]] static allot::quota_change<n> narrow(const allot::reweight_quota<2>& c) {
    allot::reweight_quota<n> r;
    r.quota = c.quota;
    copy_dimensions(c.weight, r.weight);
    return r;
  }
  [[nodiscard]] static allot::quota_change<n> narrow(const allot::add_quota<2>& c) {
    return allot::add_quota<n>{narrow(c.spec)};
  }
  [[nodiscard]] static allot::quota_change<n> narrow(const allot::remove_quota& c) { return c; }
  [[nodiscard]] static allot::quota_change<n> narrow(const allot::move_quota& c) { return c; }

  Scheduler it_;
};

/// The machines of a world: for each pool, a number of equal nodes. Without machines only quotas are counted.
struct soak_nodes {
  struct pool {
    std::int64_t nodes = 0;
    std::int64_t gpus = 0;
    /// 0: not counted.
    std::int64_t cpu_milli = 0;
  };
  std::vector<pool> pools{};
  allot::gpu::placement_name policy = allot::gpu::placement_name::best;
  /// The pools that quotas prefer, by quota; empty: none do.
  std::vector<std::uint64_t> preferred{};

  [[nodiscard]] bool empty() const { return pools.empty(); }
  [[nodiscard]] allot::gpu::cluster cluster() const {
    std::vector<allot::gpu::node_spec> specs;
    for (const pool& p : pools) {
      allot::gpu::node_spec& s = specs.emplace_back();
      s.name = s.pool = "p" + std::to_string(specs.size());
      s.count = p.nodes;
      s.gpus = p.gpus;
      s.cpu_milli = p.cpu_milli;
    }
    return allot::gpu::build_cluster(specs).value();
  }
  [[nodiscard]] const pool& pool_of(allot::gpu::node_id n) const {
    return n.index() < static_cast<std::size_t>(pools.front().nodes) ? pools.front() : pools.back();
  }
  /// Whether the demand would have a place if all nodes were empty and open, by counting.
  [[nodiscard]] bool could_hold(const allot::gpu::pod_request& d) const {
    const std::int64_t milli = d.gpus.in_milli();
    if (milli < 0 || d.gpus.is_unlimited() || (milli > 1000 && milli % 1000 != 0)) return false;
    if (!d.total && d.pods == 0) return false;
    const std::int64_t gpus = milli / 1000;
    std::int64_t largest = 0;
    for (std::size_t p = 0; p < pools.size(); ++p) {
      if ((d.pools >> p & 1U) != 0) largest = std::max(largest, pools[p].gpus);
    }
    if (d.total && gpus > largest) {
      if (largest == 0) return false;
      // Whole nodes of the largest size, and one more node for the rest.
      std::int64_t whole = gpus / largest;
      std::int64_t rest = gpus % largest > 0 ? 1 : 0;
      std::int64_t nodes = 0;
      std::int64_t others = 0;
      for (std::size_t p = 0; p < pools.size(); ++p) {
        if ((d.pools >> p & 1U) == 0) continue;
        if (pools[p].gpus == largest) nodes += pools[p].nodes;
        if (pools[p].gpus < largest && pools[p].gpus >= gpus % largest) others += pools[p].nodes;
      }
      return nodes >= whole && nodes - whole + others >= rest;
    }
    std::int64_t room = 0;
    for (std::size_t p = 0; p < pools.size(); ++p) {
      if ((d.pools >> p & 1U) == 0) continue;
      std::int64_t each = milli == 0     ? 1'000'000
                          : milli < 1000 ? pools[p].gpus * (1000 / milli)
                                         : pools[p].gpus / gpus;
      if (pools[p].cpu_milli > 0 && d.cpu_milli > 0) each = std::min(each, pools[p].cpu_milli / d.cpu_milli);
      room += each * pools[p].nodes;
    }
    return room >= (d.total ? 1 : d.pods);
  }
};

/// The properties of a preset that matter to the host.
struct soak_preset {
  std::string_view name;
  bool ignores_quotas = false;
  allot::queue_settings defaults{};
  /// The tree that it makes of quotas.
  void (*adapt)(std::vector<allot::quota_spec<2>>&) = nullptr;
  /// One step decides everything: an immediate second step decides nothing.
  bool at_once = true;
  /// No step breaks the law.
  bool keeps_law = true;
  /// Quotas may back off after a reclaim.
  bool backs_off = true;
  /// A nominated job is assumed until it starts.
  bool books = true;
  /// An elastic job starts once, with as many pods as there is room for (Kueue).
  bool partial = false;
  /// Only jobs of quotas without children start (KAI).
  bool leaves_only = false;
  /// A job that is larger than the cluster is pending, instead of being refused (KAI).
  bool keeps_too_large = false;
  /// Of a gang whose pods are placed again a plan tells only those that move (KAI). The whole gang goes.
  bool moves_pods = false;
  /// How many dimensions it counts.
  std::size_t dimensions = 2;
  bool may_have_nodes = true;
  bool must_have_nodes = false;
  std::function<std::unique_ptr<soak_scheduler>(const std::deque<soak_job>&, const soak_amounts& capacity,
                                                const soak_scheduler::quotas&, const soak_nodes&)>
      make{};

  template <allot::preset Preset, class Places = allot::sim::places, std::size_t N = 2>
  [[nodiscard]] static soak_preset of(const Preset& by) {
    const auto rules = allot::rules_of<2>(allot::as_seen_by<soak_view<N>, Places>(by));
    soak_preset p;
    p.name = by.name;
    p.ignores_quotas = rules.ignores_quotas;
    p.defaults = rules.defaults;
    p.adapt = rules.adapt;
    p.dimensions = N;
    p.may_have_nodes = !std::same_as<Places, allot::no_placement>;
    p.must_have_nodes = std::same_as<Places, allot::gpu::inventory>;
    p.make = [by](const std::deque<soak_job>& jobs, const soak_amounts& capacity,
                  const soak_scheduler::quotas& quotas,
                  const soak_nodes& nodes) -> std::unique_ptr<soak_scheduler> {
      using type = allot::scheduler_for<Preset, soak_view<N>, Places>;
      auto made = allot::make_scheduler(by, soak_view<N>{&jobs, capacity},
                                        soak_scheduler_of<type>::narrow(quotas), places_of<Places>(nodes));
      if (!made) return nullptr;
      return std::make_unique<soak_scheduler_of<type>>(std::move(made).value());
    };
    return p;
  }

 private:
  template <class Places>
  [[nodiscard]] static Places places_of(const soak_nodes& nodes) {
    if constexpr (std::same_as<Places, allot::no_placement>) {
      return {};
    } else if constexpr (std::same_as<Places, allot::sim::places>) {
      if (nodes.empty()) return {};
      const allot::gpu::cluster layout = nodes.cluster();
      allot::gpu::any_placement policy{nodes.policy, layout};
      if (!nodes.preferred.empty()) {
        policy = allot::gpu::any_placement{
            allot::gpu::preferred_pools{{nodes.preferred.begin(), nodes.preferred.end()}, std::move(policy)}};
      }
      return Places{layout, std::move(policy)};
    } else {
      return Places{nodes.cluster()};
    }
  }
};

}  // namespace allot_test
