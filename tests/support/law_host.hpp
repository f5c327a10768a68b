// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/text.hpp>
#include <allot/gpu/cluster.hpp>
#include <allot/quota/builder.hpp>
#include <allot/quota/shortfall.hpp>
#include <allot/scheduler/preset.hpp>
#include <allot/scheduler/scheduler.hpp>
#include <allot/sim/places.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/law_oracle.hpp"
#include "tests/support/same_reasons.hpp"
#include "tests/support/scenario.hpp"

namespace allot_test {

/// The laws of tests/README.md that concern a scheduler. (The sixth concerns entitlements.)
enum class law : std::uint8_t {
  sound,
  guarantee,
  need,
  /// It comes to rest, and no victim evicts its beneficiary in return.
  quiet,
  /// One cycle decides everything possible: an immediate second cycle decides nothing.
  at_once,
  fair,
  deterministic,
  reversible,
  explained,
  /// Stronger than the fourth law: when every job is tried again in an unchanged world, nothing is decided.
  /// (So no pending job was overlooked.)
  final,
  /// A quota that was reclaimed does not borrow again before its time, if its settings say so.
  backoff,
};

class law_set {
 public:
  constexpr law_set() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): a law is a set of one
  constexpr law_set(law l) : bits_(1U << static_cast<unsigned>(l)) {}
  [[nodiscard]] constexpr bool has(law l) const { return (bits_ & law_set{l}.bits_) != 0; }
  friend constexpr law_set operator|(law_set a, law_set b) {
    a.bits_ |= b.bits_;
    return a;
  }
  friend constexpr law_set operator-(law_set a, law_set b) {
    a.bits_ &= ~b.bits_;
    return a;
  }

 private:
  unsigned bits_ = 0;
};
constexpr law_set operator|(law a, law b) {
  return law_set{a} | law_set{b};
}

/// All but `fair`, which requires that everything possible is tried: see laws_victims.cpp.
inline constexpr law_set all_laws = law::sound | law::guarantee | law::need | law::quiet | law::at_once |
                                    law::deterministic | law::reversible | law::explained | law::final;

/// How often each law was checked.
class law_tally {
 public:
  void add(law l) { ++counts_[static_cast<std::size_t>(l)]; }
  [[nodiscard]] std::size_t of(law l) const { return counts_[static_cast<std::size_t>(l)]; }

 private:
  std::array<std::size_t, 11> counts_{};
};

struct law_broken : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <std::size_t N>
struct law_job {
  std::size_t number = 0;
  allot::quota_id quota;
  allot::resources<N> request{};
  std::int64_t priority = 0;
  bool preemptible = true;
  allot::instant submitted = 0;
  allot::capacity_kind capacity_kind = allot::capacity_kind::any;

  [[nodiscard]] allot::capacity_kind in() const { return capacity_kind; }
  [[nodiscard]] allot::gpu::pod_request pod_request() const { return {.gpus = request[0], .total = true}; }
};

template <std::size_t N>
struct law_view {
  using job = const law_job<N>*;
  allot::quota_id quota(job j) const { return j->quota; }
  const allot::resources<N>& request(job j) const { return j->request; }
  std::int64_t priority(job j) const { return j->priority; }
  bool preemptible(job j) const { return j->preemptible; }
  allot::instant submitted(job j) const { return j->submitted; }
  std::uint64_t id(job j) const { return j->number; }
  allot::instant duration(job j) const { return 1 + static_cast<allot::instant>(j->number % 7); }
  allot::gpu::pod_request pod_request(job j) const { return j->pod_request(); }
};

/// A host that runs a scenario under a preset. It tracks running and evicted jobs itself, carries out plans
/// when the scenario says so, and throws `law_broken` when a kept law is broken.
template <class Preset, std::size_t N>
class law_host {
 public:
  using places_type = allot::sim::places;
  using scheduler_type = allot::scheduler<law_view<N>, places_type, typename Preset::policies_type>;
  using plan_type = typename scheduler_type::plan_type;
  using job_type = law_job<N>;
  static constexpr std::size_t dimensions = N;

  law_host(const scenario& s, law_set kept, law_tally* tally = nullptr)
      : scenario_(s),
        kept_laws_(kept),
        tally_(tally),
        scheduler_(law_view<N>{}, tree_of(s).value(), machines_of(s), allot::policies_of(Preset{})),
        ids_(s.jobs.size()) {
    for (const job_draft& j : s.jobs) {
      job_type& made = jobs_.emplace_back();
      made.number = j.number;
      made.quota = quota(j.quota);
      for (std::size_t d = 0; d < N; ++d) made.request[d] = allot::quantity::milli(j.request[d]);
      made.priority = j.priority;
      made.preemptible = j.preemptible;
      if (!j.preemptible) made.capacity_kind = lane_of_fixed();
    }
    for (const allot::quota_id x : tree().top_down())
      REQUIRE(scheduler_.configure(x, Preset{}.defaults()).empty());
    if (!s.own_settings) return;
    for (const quota_draft& q : s.quotas) configure(quota(q.number), q.settings);
  }

  /// Whether the preset accepts the quotas.
  [[nodiscard]] static bool takes(const scenario& s) { return tree_of(s).has_value(); }

  [[nodiscard]] scheduler_type& scheduler() { return scheduler_; }
  [[nodiscard]] const allot::quota_tree<N>& tree() const { return scheduler_.tree(); }
  [[nodiscard]] const allot::ledger<N>& ledger() const { return scheduler_.ledger(); }
  [[nodiscard]] const std::deque<job_type>& jobs() const { return jobs_; }
  [[nodiscard]] allot::job_id id(const job_type& j) const { return ids_[place_in_list(j)]; }
  [[nodiscard]] allot::job_state state(const job_type& j) const {
    const allot::job_id known = id(j);
    return known ? scheduler_.state(known) : allot::job_state::unknown;
  }
  [[nodiscard]] std::vector<const job_type*> in_state(allot::job_state s) const {
    std::vector<const job_type*> result;
    for (const job_type& j : jobs_) {
      if (state(j) == s) result.push_back(&j);
    }
    return result;
  }
  /// All plans so far, as text.
  [[nodiscard]] const std::string& diary() const { return diary_; }
  [[nodiscard]] allot::instant now() const { return now_; }

  /// Handles every event other than a cycle.
  void act(const event& e) {
    switch (e.what) {
      case event_kind::arrive:
        arrive(e.which);
        break;
      case event_kind::end:
      case event_kind::leave:
      case event_kind::tell:
        if (const job_type* j = find(e.which)) act_on(*j, e.what);
        break;
      case event_kind::all_gone:
        for (const job_type* j : in_state(allot::job_state::evicting)) act_on(*j, event_kind::end);
        break;
      case event_kind::configure:
        if (const allot::quota_id x = quota(e.which)) {
          configure(x, e.settings);
          quiet_ = false;
        }
        break;
      case event_kind::cycle:
        break;
      default:
        change_tree(e);
        break;
    }
  }

  /// The scheduler decides, and its plan is checked.
  const plan_type& cycle() {
    ++now_;
    const bool was_sound = ledger().is_sound();
    const bool was_guaranteed = is_guaranteed();
    const auto running = in_state(allot::job_state::running);
    const auto evicting = in_state(allot::job_state::evicting);
    const auto nominated = in_state(allot::job_state::nominated);
    backoffs_ = scheduler_.backoffs();
    const auto wakes = scheduler_.wakes_at();
    if (wakes && *wakes <= now_) quiet_ = false;
    const plan_type& plan = scheduler_.step(now_);
    tell(plan);
    check_backoffs(plan, nominated);
    check_reasons(plan);
    if (kept_laws_.has(law::at_once) && quiet_ && !plan.empty())
      broken(law::at_once, "nothing happened, yet");
    quiet_ = true;
    check_lists(plan, running, evicting);
    if (kept_laws_.has(law::sound)) check_sound(plan, was_sound, was_guaranteed);
    // With repeated cycles, later decisions may or may not wait for jobs that are already being evicted.
    if (kept_laws_.has(law::need) && (kept_laws_.has(law::at_once) || evicting.empty())) check_need(plan);
    return plan;
  }

  /// Runs cycles until nothing more happens; evicted jobs are released at once. The world does not change, so
  /// it must come to rest, and no victim may evict its beneficiary.
  void settle() {
    act({.what = event_kind::all_gone});
    std::set<std::pair<std::size_t, std::size_t>> evicted_by;
    // Where one cycle does not decide everything, an empty cycle is not the end: another job may have its
    // turn.
    std::size_t empty = 0;
    for (int round = 0, most = kept_laws_.has(law::at_once) ? 50 : 500; round < most; ++round) {
      const plan_type& plan = cycle();
      if (plan.empty()) {
        if (!kept_laws_.has(law::at_once) && ++empty <= in_state(allot::job_state::pending).size()) continue;
        check_at_rest();
        return;
      }
      empty = 0;
      for (const auto& e : plan.evictions) {
        // An announced job may be decided again with more victims (KAI).
        if (!e.beneficiary || !kept_laws_.has(law::need)) continue;
        const std::size_t victim = e.what->number;
        const std::size_t evictor = scheduler_.what(e.beneficiary)->number;
        if (kept_laws_.has(law::quiet) && evicted_by.count({evictor, victim}) != 0) {
          broken(law::quiet, "job " + std::to_string(victim) + " was evicted by job " +
                                 std::to_string(evictor) + ", which it had evicted, in an unchanged world");
        }
        evicted_by.insert({victim, evictor});
        tested(law::quiet);
      }
      act({.what = event_kind::all_gone});
    }
    if (kept_laws_.has(law::quiet)) broken(law::quiet, "no rest in an unchanged world");
  }

  /// A ledger of the jobs that run or are being evicted as the host knows them; with `coming`, of those that
  /// run or are nominated.
  [[nodiscard]] allot::ledger<N> ledger_of_host(bool coming = false) const {
    allot::ledger<N> l{tree()};
    for (const job_type& j : jobs_) {
      const auto s = state(j);
      if (s == allot::job_state::running ||
          s == (coming ? allot::job_state::nominated : allot::job_state::evicting)) {
        l.charge(j.quota, j.request, j.in());
      }
    }
    return l;
  }

  /// Counts a check of a law.
  void tested(law l) const {
    if (tally_ != nullptr) tally_->add(l);
  }
  [[noreturn]] void broken(law l, const std::string& how) const {
    const char* const names[] = {"sound",         "guarantee",  "need",      "quiet", "at once", "fair",
                                 "deterministic", "reversible", "explained", "final", "backoff"};
    std::string diary = diary_;
    constexpr std::size_t most = 2000;
    if (diary.size() > most)
      diary = diary.substr(0, most / 2) + "...\n" + diary.substr(diary.size() - most / 2);
    throw law_broken(std::string{"law broken: "} + names[static_cast<std::size_t>(l)] + ": " + how +
                     "\nwhat was decided (+ starts, -a>b is evicted for b, ~ is nominated, ? waits):\n" +
                     diary);
  }

 private:
  // --- the world
  // --------------------------------------------------------------------------------------------

  static std::optional<allot::quota_tree<N>> tree_of(const scenario& s) {
    std::vector<allot::quota_spec<N>> specs = specs_of<N>(s);
    if constexpr (Preset::ignores_quotas) {
      allot::quota_spec<N> all;
      all.name = "all";
      for (const auto& spec : specs) {
        if (spec.parent.empty()) all.nominal += spec.nominal;
      }
      return allot::quota_tree<N>{{all}};
    }
    // A quota's numbers may have another meaning after the preset has transformed the quotas.
    Preset::adapt(specs);
    scenario adapted = s;
    for (quota_draft& q : adapted.quotas) {
      for (const auto& spec : specs) {
        if (spec.name == "q" + std::to_string(q.number)) q.inclusive = spec.inclusive;
      }
    }
    specs = specs_of<N>(adapted);
    Preset::adapt(specs);
    auto tree = allot::build_quota_tree(std::move(specs));
    if (!tree) return std::nullopt;
    return std::move(tree).value();
  }
  /// Of jobs that may not be evicted.
  static allot::capacity_kind lane_of_fixed() {
    const auto policies = allot::policies_of(Preset{});
    if constexpr (requires { policies.not_preemptible; }) {
      return policies.not_preemptible;
    } else {
      return allot::capacity_kind::any;
    }
  }
  static places_type machines_of(const scenario& s) {
    if (s.nodes == 0) return {};
    allot::gpu::node_spec node;
    node.name = "n";
    node.count = s.nodes;
    node.gpus = s.gpus_per_node;
    return places_type{allot::gpu::build_cluster({node}).value()};
  }
  [[nodiscard]] allot::quota_id quota(std::size_t number) const {
    if constexpr (Preset::ignores_quotas) return allot::quota_id{0};
    return tree().find("q" + std::to_string(number));
  }
  [[nodiscard]] const job_type* find(std::size_t number) const {
    const auto at =
        std::find_if(jobs_.begin(), jobs_.end(), [&](const job_type& j) { return j.number == number; });
    return at == jobs_.end() ? nullptr : &*at;
  }
  [[nodiscard]] std::size_t place_in_list(const job_type& j) const {
    // Numbers are ascending, and the position equals the number unless jobs were removed from the scenario.
    std::size_t i = std::min(j.number, jobs_.size() - 1);
    while (jobs_[i].number != j.number) --i;
    return i;
  }

  void configure(allot::quota_id x, const allot::queue_settings& drawn) {
    allot::queue_settings s = Preset{}.defaults();
    s.order = drawn.order;
    s.head = drawn.head;
    s.preempt.within = drawn.preempt.within;
    s.preempt.reclaim = drawn.preempt.reclaim;
    s.preempt.children = drawn.preempt.children;
    REQUIRE(scheduler_.configure(x, s).empty());
  }

  void arrive(std::size_t number) {
    for (job_type& j : jobs_) {
      if (j.number != number || state(j) != allot::job_state::unknown || j.submitted != 0) continue;
      j.submitted = 1 + now_;
      ids_[place_in_list(j)] = scheduler_.submit(&j);
      quiet_ = false;
    }
  }
  void act_on(const job_type& j, event_kind what) {
    const auto s = state(j);
    if (s == allot::job_state::unknown) return;
    quiet_ = false;
    allot::job_id& known = ids_[place_in_list(j)];
    if (what == event_kind::end) {
      if (s == allot::job_state::evicting) {
        scheduler_.evicted(known);
      } else {
        s == allot::job_state::running ? scheduler_.finished(known) : scheduler_.cancel(known);
        known = {};
      }
    } else if (what == event_kind::leave && s == allot::job_state::evicting) {
      scheduler_.finished(known);
      known = {};
    } else if (s == allot::job_state::running) {
      what == event_kind::leave ? scheduler_.evicted(known) : scheduler_.evicting(known);
    }
  }

  void change_tree(const event& e) {
    const allot::quota_id x = quota(e.which);
    if (!x) return;
    allot::quota_change<N> change;
    if (e.what == event_kind::move) {
      const allot::quota_id to = e.to == no_number ? allot::quota_id::none() : quota(e.to);
      change = allot::move_quota{x, to};
    } else if (e.what == event_kind::reweight) {
      allot::reweight_quota<N> r{x, {}};
      for (std::size_t d = 0; d < N; ++d) r.weight[d] = allot::fair_weight::milli(e.amount[d]);
      change = r;
    } else {
      allot::resize_quota<N> r;
      r.quota = x;
      if (e.what == event_kind::resize) {
        r.nominal.emplace();
        for (std::size_t d = 0; d < N; ++d) (*r.nominal)[d] = allot::quantity::milli(e.amount[d]);
      } else {
        r.lend.emplace(tree().spec(x).lend);
        r.borrow.emplace(tree().spec(x).borrow);
        for (std::size_t d = 0; d < N; ++d) {
          (*r.lend)[d] = e.lend[d].made();
          (*r.borrow)[d] = e.borrow[d].made();
        }
      }
      change = r;
    }
    const std::vector<allot::quota_change<N>> changes{change};
    static_cast<void>(scheduler_.apply(changes));
    quiet_ = false;
  }

  void tell(const plan_type& plan) {
    std::string line = std::to_string(now_) + ":";
    const auto number = [](const auto& x) { return std::to_string(x.what->number); };
    for (const auto& a : plan.admissions) {
      line += " +";
      line += number(a);
      for (const allot::quantity q : a.borrows) {
        if (q <= allot::quantity{}) continue;
        line += "(borrows ";
        line += to_string(q);
        line += ')';
      }
    }
    for (const auto& e : plan.evictions) {
      line += " -";
      line += number(e);
      if (e.beneficiary) {
        line += ">";
        line += std::to_string(scheduler_.what(e.beneficiary)->number);
      }
      line += '(';
      line += std::to_string(static_cast<int>(e.how));
      line += ')';
    }
    for (const auto& r : plan.nominations) {
      line += " ~";
      line += number(r);
    }
    for (const auto& h : plan.pending) {
      line += " ?";
      line += number(h);
      if (h.binding) {
        line += '(';
        line += tree().name(h.binding->quota);
        line += " lacks ";
        line += to_string(h.binding->missing);
        line += ')';
      }
    }
    diary_ += line + "\n";
  }

  // --- the laws
  // ---------------------------------------------------------------------------------------------

  [[nodiscard]] bool is_guaranteed() const {
    const auto all = tree().top_down();
    return std::all_of(all.begin(), all.end(), [&](allot::quota_id x) {
      return ledger().is_sound(x, allot::capacity_kind::guaranteed);
    });
  }

  /// Plans must agree with what has happened, and every eviction has a beneficiary.
  void check_lists(const plan_type& plan, const std::vector<const job_type*>& running,
                   const std::vector<const job_type*>& evicting) const {
    const auto require = [&](bool good, const char* what) {
      if (!good) broken(law::need, what);
    };
    const auto is_among = [](const std::vector<const job_type*>& v, const job_type* j) {
      return std::find(v.begin(), v.end(), j) != v.end();
    };
    for (const auto& r : plan.nominations) {
      require(r.first + r.count <= plan.evictions.size(), "a nomination names evictions that are not there");
      for (std::size_t i = r.first; i < r.first + r.count; ++i) {
        require(plan.evictions[i].beneficiary == r.id,
                "an eviction is not for the job that it is nominated for");
      }
      require(r.id == id(*r.what), "a nomination has another job's id");
    }
    for (const auto& e : plan.evictions) {
      require(is_among(running, e.what), "a job that does not run is evicted");
      require(e.what->preemptible, "a job that may not be evicted is evicted");
      require(state(*e.what) == allot::job_state::evicting, "an evicted job is not on its way out");
      // An announced job may be decided again with more victims (KAI).
      if (!e.beneficiary || !kept_laws_.has(law::need)) continue;
      require(std::any_of(plan.nominations.begin(), plan.nominations.end(),
                          [&](const auto& r) { return r.id == e.beneficiary; }),
              "an eviction without its beneficiary in the same plan");
    }
    for (const auto& a : plan.admissions) {
      require(!is_among(running, a.what) && !is_among(evicting, a.what), "who runs or goes is admitted");
      require(state(*a.what) == allot::job_state::running, "who was admitted does not run");
      require(a.quota == a.what->quota, "admitted to another quota");
    }
    for (const auto& h : plan.pending) {
      require(state(*h.what) == allot::job_state::pending, "who is held does not wait");
      // Where one cycle does not decide everything, it may be another's turn.
      const bool behind = h.reason == allot::pending_reason::behind_head &&
                          (!kept_laws_.has(law::at_once) ||
                           scheduler_.settings(h.quota).head != allot::queue_head::best_effort);
      require(behind || h.binding.has_value() || h.placement.has_value() || static_cast<bool>(h.backs_off),
              "who is held has no reason to wait");
    }
    if (in_state(allot::job_state::evicting).empty()) {
      require(in_state(allot::job_state::nominated).empty(), "a job is nominated, and none leaves");
    }
    std::vector<std::size_t> waiting(tree().slots());
    for (const job_type& j : jobs_) {
      const auto s = state(j);
      if (s == allot::job_state::pending || s == allot::job_state::nominated) ++waiting[j.quota.index()];
    }
    for (const allot::quota_id x : tree().top_down()) {
      require(scheduler_.waiting(x) == waiting[x.index()], "waiting jobs are not counted by quota");
    }
  }

  /// Law 1: usage is that of the running and evicted jobs, and no plan makes a sound ledger unsound.
  void check_sound(const plan_type& plan, bool was_sound, bool was_guaranteed) const {
    if (!(ledger() == ledger_of_host())) broken(law::sound, "the usage is not that of the running jobs");
    if (was_sound && !ledger().is_sound()) broken(law::sound, "the plan made a sound ledger unsound");
    if (was_guaranteed && !is_guaranteed()) broken(law::sound, "the plan made a guarantee unsound");
    for (const auto& a : plan.admissions) {
      const auto room = ledger().headroom(a.quota, a.what->in());
      for (std::size_t d = 0; d < N; ++d) {
        if (a.what->request[d] > allot::quantity{} && room[d] < allot::quantity{}) {
          broken(law::sound,
                 "job " + std::to_string(a.what->number) + " was admitted where there is no room");
        }
      }
    }
    if (!scheduler_.places().has_nodes()) return;
    allot::quantity used, held;
    for (const job_type& j : jobs_) {
      const auto s = state(j);
      if (s == allot::job_state::unknown || s == allot::job_state::pending) continue;
      const auto at = scheduler_.place_of(id(j));
      const auto& inventory = scheduler_.places().inventory();
      (s == allot::job_state::evicting ? held : used) += j.request[0];
      if (inventory.is_vacating(at) != (s == allot::job_state::evicting)) {
        broken(law::sound, "a place is not that of a job in its state");
      }
      // On a shared device, other jobs may still wait for a part to be released.
      const bool whole = j.request[0].in_milli() % 1000 == 0;
      if (s == allot::job_state::running && whole && !inventory.ready(at)) {
        broken(law::sound, "job " + std::to_string(j.number) + " runs where another has not left");
      }
    }
    const auto& inventory = scheduler_.places().inventory();
    if (inventory.used() != used || inventory.held() != held) {
      broken(law::sound, "the GPUs in use are not those of the running jobs");
    }
  }

  /// Law 3, where nothing else is decided: with any victim back, and the beneficiary not yet placed, the
  /// beneficiary does not fit. (Victims of other jobs may leave more room than those jobs need.)
  void check_need(const plan_type& plan) {
    if (plan.nominations.size() != 1 || !plan.admissions.empty()) return;
    const job_type& j = *plan.nominations.front().what;
    allot::ledger<N> l = ledger_of_host(true);
    places_type places = scheduler_.places();
    if (state(j) == allot::job_state::nominated) {
      l.release(j.quota, j.request, j.in());
      places.release(scheduler_.place_of(id(j)));
    }
    const auto has_room = [&](const job_type& o) {
      if (!l.fits(o.quota, o.request, o.in())) return false;
      const allot::savepoint s = places.save();
      const bool placed = places.place(o.pod_request()).has_value();
      places.rollback(s);
      return placed;
    };
    const auto fits = [&] { return has_room(j) && !borrows_too_early(l, j); };
    // Those that this very step admitted, or an earlier one has reserved capacity for, until j took it: the
    // plan does not show them.
    std::vector<const job_type*> taken_back;
    {
      const allot::savepoint in_ledger = l.save();
      const allot::savepoint in_places = places.save();
      for (const auto& e : plan.evictions) {
        l.charge(e.quota, e.what->request, e.what->in());
        places.reoccupy(scheduler_.place_of(e.id));
      }
      for (const job_type& o : jobs_) {
        if (state(o) == allot::job_state::pending && has_room(o)) taken_back.push_back(&o);
      }
      places.rollback(in_places);
      l.rollback(in_ledger);
    }
    if (!fits()) broken(law::need, "job " + std::to_string(j.number) + " does not fit without its victims");
    for (const auto& e : plan.evictions) {
      if (e.beneficiary != id(j)) continue;
      tested(law::need);
      const allot::savepoint in_ledger = l.save();
      const allot::savepoint in_places = places.save();
      l.charge(e.quota, e.what->request, e.what->in());
      places.reoccupy(scheduler_.place_of(e.id));
      if (fits() && borrowers_owe(plan, taken_back, j, l)) {
        broken(law::need, "job " + std::to_string(j.number) + " would fit without the eviction of job " +
                              std::to_string(e.what->number));
      }
      places.rollback(in_places);
      l.rollback(in_ledger);
    }
  }

  /// Whether the capacity that the borrowers among the victims of j release is owned on j's side, or that of
  /// those whose admission may have been taken back for j. Victims of j's own side may be needed for that
  /// alone.
  [[nodiscard]] bool borrowers_owe(const plan_type& plan, const std::vector<const job_type*>& taken_back,
                                   const job_type& j, const allot::ledger<N>& l) const {
    allot::beneficiary<N> b;
    b.quota = j.quota;
    b.request = j.request;
    std::array<bool, N> asked{};
    for (std::size_t d = 0; d < N; ++d) asked[d] = j.request[d] > allot::quantity{};
    const auto owes = [&](allot::quota_id borrower) {
      const allot::quota_id top = tree().common_ancestor(borrower, j.quota);
      const bool own = top == j.quota;
      return owns_request(l, b, own ? allot::quota_id::none() : tree().side_of(j.quota, top), asked);
    };
    return std::all_of(plan.evictions.begin(), plan.evictions.end(),
                       [&](const auto& e) {
                         return e.beneficiary != id(j) || e.how != allot::relation::borrower || owes(e.quota);
                       }) &&
           std::all_of(taken_back.begin(), taken_back.end(),
                       [&](const job_type* o) { return o->quota == j.quota || owes(o->quota); });
  }

  /// Nothing more happens without an event.
  void check_at_rest() {
    if (kept_laws_.has(law::sound)) check_by_definition();
    if (kept_laws_.has(law::guarantee)) check_guarantee();
    if (kept_laws_.has(law::explained)) check_explained();
    if (kept_laws_.has(law::reversible) || kept_laws_.has(law::final)) check_asked_again();
  }

  /// Whether the job would borrow what its quota did not borrow before the last step.
  [[nodiscard]] bool borrows_too_early(const allot::ledger<N>& l, const job_type& j) const {
    return std::any_of(backoffs_.begin(), backoffs_.end(), [&](const allot::backoff& b) {
      const allot::quantity own = std::max(allot::quantity{}, l.supply_of(j.quota, b.dimension).own_pool);
      return b.quota == j.quota && b.until > now_ && j.request[b.dimension] > allot::quantity{} &&
             l.own_usage(j.quota, b.dimension) + j.request[b.dimension] > own;
    });
  }
  /// No quota borrows before its backoff has ended, but for jobs decided on before that.
  void check_backoffs(const plan_type& plan, const std::vector<const job_type*>& nominated) {
    for (const auto& a : plan.admissions) {
      if (std::find(nominated.begin(), nominated.end(), a.what) != nominated.end()) continue;
      for (const allot::backoff& b : backoffs_) {
        if (b.quota != a.quota || b.until <= now_) continue;
        tested(law::backoff);
        if (a.borrows[b.dimension] > allot::quantity{}) {
          broken(law::backoff, "job " + std::to_string(a.what->number) + " borrows too early");
        }
      }
    }
    for (const auto& h : plan.pending) {
      if (h.reason == allot::pending_reason::backoff) tested(law::backoff);
    }
    for (const allot::backoff& b : scheduler_.backoffs()) {
      const auto& times = scheduler_.settings(b.quota).borrow_backoff;
      if (times.first == 0 || b.until - b.since > times.longest || b.until <= b.since) {
        broken(law::backoff, "a quota backs off for longer than its settings say, or not at all");
      }
    }
  }

  /// A plan and `why` give the same reasons.
  void check_reasons(const plan_type& plan) {
    for (const auto& h : plan.pending) {
      const auto why = scheduler_.why(h.id);
      if (same_reasons(h, why)) continue;
      broken(law::explained, "job " + std::to_string(h.what->number) + " waits for " +
                                 std::string{to_string(h.reason)} + ", but why says " +
                                 std::string{to_string(why.reason)});
    }
  }
  /// Searches that find no victims leave no trace.
  void check_asked_again() {
    tested(law::reversible);
    scheduler_type again = scheduler_;
    again.retry();
    if (!again.step(now_).empty()) {
      if (kept_laws_.has(law::final)) broken(law::final, "asked again it decides something else");
      return;
    }
    const bool same_places =
        !scheduler_.places().has_nodes() || scheduler_.places().inventory() == again.places().inventory();
    if (kept_laws_.has(law::reversible) && (!(again.ledger() == ledger()) || !same_places)) {
      broken(law::reversible, "a step that decides nothing left a trace");
    }
  }

  void check_by_definition() const {
    law_oracle<N> oracle{{tree().specs().begin(), tree().specs().end()}, tree().removed()};
    for (const job_type* j : in_state(allot::job_state::running)) {
      for (std::size_t d = 0; d < N; ++d) {
        oracle.add(j->quota.index(), d, j->request[d].in_milli(), j->in());
      }
    }
    for (const allot::quota_id x : tree().top_down()) {
      for (std::size_t d = 0; d < N; ++d) {
        if (oracle.balance(x.index(), d) != ledger().balance(x, d).in_milli()) {
          broken(law::sound, "the balance is not what the law says");
        }
      }
      if (oracle.is_sound(x.index()) != ledger().is_sound(x)) {
        broken(law::sound, "the law says otherwise of a quota");
      }
    }
  }

  /// Law 2. A job is within its nominal quota if its quota's jobs stay within their own pool. There is no
  /// such guarantee where a parent may take from its children, where the owned capacity does not exist, or
  /// where a job that may not be evicted uses what a child of its quota owns.
  void check_guarantee() {
    if (!ledger().is_sound() || !is_guaranteed()) return;
    for (const allot::quota_id x : tree().top_down()) {
      if (tree().spec(x).overcommit || scheduler_.settings(x).preempt.children) return;
    }
    for (const job_type* j : in_state(allot::job_state::running)) {
      if (!j->preemptible && !tree().children(j->quota).empty()) return;
    }
    for (const job_type* j : in_state(allot::job_state::pending)) {
      const auto& settings = scheduler_.settings(j->quota);
      if (settings.preempt.reclaim != allot::preempt_reclaim::any) continue;
      if (settings.head != allot::queue_head::best_effort) continue;
      tested(law::guarantee);
      bool within = true;
      for (std::size_t d = 0; d < N; ++d) {
        within = within &&
                 ledger().own_usage(j->quota, d) + j->request[d] <= ledger().supply_of(j->quota, d).own_pool;
        // No quota reclaims from above, whether the usage is borrowed or not.
        for (allot::quota_id a = tree().parent(j->quota); a; a = tree().parent(a)) {
          within = within && ledger().own_usage(a, d) <= ledger().supply_of(a, d).own_pool;
        }
      }
      if (!within) continue;
      places_type places = scheduler_.places();
      if (!places.place(j->pod_request())) continue;
      broken(law::guarantee, "job " + std::to_string(j->number) + " waits within its quota's nominal");
    }
  }

  [[nodiscard]] bool has_percentages() const {
    const auto any = [](const limit_drafts& limits) {
      return std::any_of(limits.begin(), limits.end(),
                         [](const limit_draft& l) { return l.is == limit_draft::kind::percent; });
    };
    return std::any_of(scenario_.quotas.begin(), scenario_.quotas.end(),
                       [&](const quota_draft& q) { return any(q.lend) || any(q.borrow); }) ||
           std::any_of(scenario_.events.begin(), scenario_.events.end(),
                       [&](const event& e) { return any(e.lend) || any(e.borrow); });
  }

  /// Law 9. Percentages would follow the granted nominal quota.
  void check_explained() {
    if (has_percentages()) return;
    int left = 3;
    for (const job_type* j : in_state(allot::job_state::pending)) {
      const auto why = scheduler_.why(id(*j));
      // What is granted may still have to be borrowed.
      if (why.reason != allot::pending_reason::quota || why.backs_off) continue;
      if (left-- == 0) return;
      // Other pending jobs would take what is granted; without them this job may have its turn at once.
      scheduler_type alone = scheduler_;
      for (const job_type* other : in_state(allot::job_state::pending)) {
        if (other != j) alone.cancel(id(*other));
      }
      if (!alone.step(now_).empty()) continue;
      const auto all = shortfalls(alone.ledger(), *j);
      if (!why.binding || std::find(all.begin(), all.end(), *why.binding) == all.end()) {
        broken(law::explained,
               "job " + std::to_string(j->number) + " waits for a bound that it does not break");
      }
      tested(law::explained);
      check_granted(alone, *j, all, true);
      if (all.size() != 1) continue;
      auto less = all;
      less.front().missing -= allot::quantity::milli(1);
      check_granted(alone, *j, less, false);
    }
  }
  static std::vector<allot::shortfall> shortfalls(const allot::ledger<N>& l, const job_type& j) {
    std::vector<allot::shortfall> all;
    allot::for_each_shortfall(l, j.quota, j.request, j.in(),
                              [&](const allot::shortfall& s) { all.push_back(s); });
    return all;
  }
  void check_granted(scheduler_type granted, const job_type& j, const std::vector<allot::shortfall>& missing,
                     bool enough) {
    std::map<allot::quota_id, allot::quota_spec<N>> raised;
    const auto spec = [&](allot::quota_id x) -> allot::quota_spec<N>& {
      return raised.try_emplace(x, tree().spec(x)).first->second;
    };
    for (const allot::shortfall& s : missing) {
      if (s.kind == allot::bound::borrow_limit) {
        spec(s.quota).borrow[s.dimension] =
            allot::limit::at_most(ledger().supply_of(s.quota, s.dimension).borrow + s.missing);
        continue;
      }
      // An inclusive ancestor's nominal quota contains this one, so it is raised as well.
      spec(s.quota).nominal[s.dimension] += s.missing;
      for (allot::quota_id a = tree().parent(s.quota); a; a = tree().parent(a)) {
        if (tree().spec(a).inclusive) spec(a).nominal[s.dimension] += s.missing;
      }
    }
    std::vector<allot::quota_change<N>> changes;
    for (const auto& [x, s] : raised) {
      changes.push_back(allot::resize_quota<N>{x, s.nominal, s.lend, s.borrow});
    }
    if (!granted.apply(changes)) broken(law::explained, "what is missing can't be granted");
    const auto& plan = granted.step(now_ + 1);
    const bool admitted = std::any_of(plan.admissions.begin(), plan.admissions.end(),
                                      [&](const auto& a) { return a.what->number == j.number; });
    const auto told = [&](const char* what) { return "job " + std::to_string(j.number) + what; };
    if (!enough && admitted) broken(law::explained, told(" is admitted when less is granted than it lacks"));
    if (!enough || admitted) return;
    // The job may have no place, which is another reason, or may need an eviction for one.
    if (scheduler_.places().has_nodes()) return;
    broken(law::explained, told(" is not admitted when what it lacks is granted"));
  }

  const scenario& scenario_;
  law_set kept_laws_;
  law_tally* tally_;
  std::deque<job_type> jobs_;
  scheduler_type scheduler_;
  std::vector<allot::job_id> ids_;
  std::string diary_;
  allot::instant now_ = 0;
  /// Nothing has happened since the last cycle.
  /// As of before the last step.
  allot::vector<allot::backoff> backoffs_;
  bool quiet_ = false;
};

/// Runs a scenario under a preset, with every kept law checked at every step and after it has come to
/// rest.
template <class Preset, std::size_t N>
[[nodiscard]] std::string live(const scenario& s, law_set kept, law_tally* tally = nullptr) {
  law_host<Preset, N> h{s, kept, tally};
  for (const event& e : s.events) e.what == event_kind::cycle ? static_cast<void>(h.cycle()) : h.act(e);
  h.settle();
  return h.diary();
}

/// The same scenario with the job events between two cycles reordered: submissions first, then ends, then the
/// rest.
template <class Preset, std::size_t N>
[[nodiscard]] std::string live_in_order(const scenario& s, law_set kept, bool reversed) {
  law_host<Preset, N> h{s, kept};
  std::vector<event> arrivals, ends, rest;
  const auto flush = [&] {
    if (reversed) {
      std::reverse(arrivals.begin(), arrivals.end());
      std::reverse(ends.begin(), ends.end());
    }
    for (const auto* batch : {&arrivals, &ends, &rest}) {
      for (const event& e : *batch) h.act(e);
    }
    arrivals.clear();
    ends.clear();
    rest.clear();
  };
  for (const event& e : s.events) {
    if (e.what == event_kind::cycle) {
      flush();
      h.cycle();
    } else if (e.what == event_kind::arrive) {
      arrivals.push_back(e);
    } else if (detail::is_about_job(e)) {
      // The events of one job keep their order.
      const bool first =
          std::none_of(ends.begin(), ends.end(), [&](const event& x) { return x.which == e.which; });
      if (first) ends.push_back(e);
    } else {
      rest.push_back(e);
    }
  }
  flush();
  h.settle();
  return h.diary();
}

/// Throws `law_broken` when the scenario breaks one of the kept laws. Quotas from which the preset can
/// make no tree promise nothing.
template <class Preset, std::size_t N = most_dimensions>
void check_laws(const scenario& s, law_set kept, law_tally* tally = nullptr) {
  if (!law_host<Preset, N>::takes(s)) return;
  static_cast<void>(live<Preset, N>(s, kept, tally));
  if (!kept.has(law::deterministic)) return;
  const law_set only = kept.has(law::at_once) ? law_set{law::at_once} : law_set{};
  const std::string one = live_in_order<Preset, N>(s, only, false);
  const std::string other = live_in_order<Preset, N>(s, only, true);
  if (one == other) {
    if (tally != nullptr) tally->add(law::deterministic);
    return;
  }
  throw law_broken("law broken: deterministic: the order within an instant matters:\n" + one + "\nor\n" +
                   other);
}

}  // namespace allot_test
