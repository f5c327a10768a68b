// SPDX-License-Identifier: BSL-1.0
#include "stepper.hpp"

#include "lab/scenario/explain.hpp"
#include "lab/scenario/workload.hpp"

#include <allot/core/time.hpp>
#include <allot/gpu/reason.hpp>
#include <allot/lab/own_policy.hpp>
#include <allot/lab/simulators.hpp>
#include <allot/preemption/eligibility.hpp>
#include <allot/preemption/protection.hpp>
#include <allot/presets/standard.hpp>
#include <allot/quota/loans.hpp>
#include <allot/scheduler/session.hpp>

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <new>
#include <set>
#include <utility>

namespace allot_python {

namespace {

thread_local stepper* is_running = nullptr;

/// All of a simulation's resources, whatever its number of dimensions.
template <std::size_t N>
lab::amounts widen(const allot::resources<N>& some) {
  lab::amounts all;
  for (std::size_t d = 0; d < N; ++d) all[d] = some[d];
  return all;
}

template <class Session>
class desk_of final : public desk {
 public:
  using record = typename Session::record;
  static constexpr std::size_t n = Session::n;

  explicit desk_of(const stepper& of) : stepper_(&of), id_of_(of.jobs().size()), past_(of.jobs().size()) {}

  /// To be called each time before anything else. The session moves until the simulation begins.
  void open(Session& session) {
    session_ = &session;
    follow_queues();
    std::erase_if(running_, [&](allot::job_id id) { return has_left(id); });
    if (std::exchange(has_looked_, true)) return;
    // What runs at the beginning was in no queue.
    for (std::size_t i = 0; session.jobs().contains(allot::job_id{i}); ++i) {
      const record& r = session.jobs().at(allot::job_id{i});
      if (r.facts.elastic) continue;
      id_of_[r.what] = r.facts.id;
      if (r.state == allot::job_state::running) begin_run(r);
    }
  }

  [[nodiscard]] allot::instant now() const override { return session_->now(); }

  void look(observation& to, std::size_t most_pending) override {
    Session& s = *session_;
    to.now = s.now();
    look_at_quotas(to);
    follow_queues();
    // Jobs of one class have the same chances.
    for_each_pending(most_pending, [&](const record& r, const std::pair<bool, bool>& fits) {
      to.pending.push_back(
          {r.what, r.facts.quota.index(), widen(r.facts.request), r.facts.pods, fits.first, fits.second});
    });
    for (const allot::job_id id : running_) {
      if (runs(id)) look_at_running(s.jobs().at(id), to);
    }
    look_at_nodes(to);
  }

  void look(columns& to) override {
    Session& s = *session_;
    follow_queues();
    to.now = in_seconds(s.now());
    to.waiting = waiting_.size();
    to.pending.count = 0;
    for_each_pending(to.pending.job.size(), [&](const record& r, const std::pair<bool, bool>& fits) {
      const std::size_t i = show(r, r.facts.pods, 0, to.pending);
      to.pending.fits_quota[i] = fits.first;
      to.pending.fits_nodes[i] = fits.second;
    });
    to.running_in_all = to.running.count = 0;
    for (const allot::job_id id : running_) {
      if (!runs(id)) continue;
      ++to.running_in_all;
      if (to.running.count == to.running.job.size()) continue;
      const record& r = s.jobs().at(id);
      show(r, s.jobs().running_pods(r), s.now() - r.facts.started, to.running);
    }
    const std::size_t resources = to.pending.resources;
    for_each_quota([&](allot::quota_id x, const allot::resources<n>& used) {
      const auto headroom = s.books().assumed().headroom(x);
      for (std::size_t d = 0; d < resources; ++d) {
        const std::size_t i = x.index() * resources + d;
        to.nominal[i] = in_units(s.tree().spec(x).nominal[d]);
        to.headroom[i] = in_units(headroom[d]);
        to.used[i] = in_units(used[d]);
        to.borrowed[i] = in_units(loans_.borrowed(x, d));
        to.lent[i] = in_units(loans_.lent(x, d));
      }
    });
    if (!s.books().places.has_nodes()) return;
    const auto& inventory = s.books().places.inventory();
    for (std::size_t i = 0; i < to.free.size(); ++i) {
      const allot::gpu::node_id node{i};
      to.free[i] = inventory.is_closed(node) ? 0
                                             : static_cast<double>(inventory.layout().gpus(node)) -
                                                   in_units(inventory.index().used(node));
    }
  }

  [[nodiscard]] news take_news() override { return std::exchange(news_, {}); }

  [[nodiscard]] bool may_go_on() const override {
    if (std::any_of(running_.begin(), running_.end(), [&](allot::job_id id) { return runs(id); }))
      return true;
    bool any = false;
    for (const allot::quota_id x : session_->tree().top_down()) {
      any = any || session_->queues().early_waiting(x) > 0;
      session_->jobs().for_each_waiting(x, [&](allot::job_id id) {
        any = any || chances(session_->jobs().at(id)) == std::pair{true, true};
      });
    }
    return any;
  }

  [[nodiscard]] answer carry_out(const action& a) override {
    switch (a.what) {
      case action_kind::start:
        return start(a.job);
      case action_kind::grow:
        return grow(a.job);
      case action_kind::evict:
      case action_kind::shrink:
        return take_back(a);
    }
    return {};
  }

 private:
  /// What is known of a job's earlier runs.
  struct past {
    allot::instant served = 0;
    std::int32_t starts = 0;
    bool was_submitted = false;
  };

  void follow_queues() {
    session_->queues().take_stays([&](const auto& change) {
      const std::size_t i = change.id.index();
      if (number_of_.size() <= i) number_of_.resize(i + 1, no_number);
      if (number_of_[i] != no_number) waiting_.erase(std::exchange(number_of_[i], no_number));
      if (!change.begins || !session_->jobs().contains(change.id)) return;
      const record& r = session_->jobs().at(change.id);
      if (r.facts.elastic) return;
      id_of_[r.what] = change.id;
      number_of_[i] = r.what;
      waiting_.insert(r.what);
      if (!std::exchange(past_[r.what].was_submitted, true)) news_.submitted.push_back(r.what);
    });
  }
  void begin_run(const record& r) {
    running_.push_back(r.facts.id);
    ++past_[r.what].starts;
    began_.emplace(r.facts.id, began{r.what, r.facts.started});
  }
  /// Whether it runs no longer, which is then news.
  [[nodiscard]] bool has_left(allot::job_id id) {
    if (runs(id)) return false;
    const auto at = began_.find(id);
    const began b = at->second;
    began_.erase(at);
    past_[b.what].served += session_->now() - b.at;
    const bool is_over = !session_->jobs().contains(id) || session_->jobs().at(id).what != b.what;
    (is_over ? news_.ended : news_.evicted).push_back(b.what);
    return true;
  }
  /// Calls `visit(record, {whether its quota allows it, whether it has a place})`, by submission.
  template <class Visit>
  void for_each_pending(std::size_t most, Visit visit) {
    Session& s = *session_;
    // Jobs of one class have the same chances.
    of_class_.clear();
    std::size_t shown = 0;
    for (const job_number j : waiting_) {
      if (shown++ == most) return;
      const record& r = s.jobs().at(id_of_[j]);
      const auto key = std::pair{r.facts.quota, r.request_class};
      auto known =
          std::find_if(of_class_.begin(), of_class_.end(), [&](const auto& c) { return c.first == key; });
      if (known == of_class_.end()) known = of_class_.emplace(of_class_.end(), key, chances(r));
      visit(r, known->second);
    }
  }
  /// Returns its row.
  std::size_t show(const record& r, std::uint32_t pods, allot::instant ran, job_columns& to) {
    const std::size_t i = to.count++;
    const job_facts& f = stepper_->jobs()[r.what];
    to.job[i] = static_cast<std::int32_t>(r.what);
    to.quota[i] = static_cast<std::int32_t>(r.facts.quota.index());
    for (std::size_t d = 0; d < to.resources; ++d)
      to.request[i * to.resources + d] = in_units(r.facts.request[d]);
    to.pods[i] = static_cast<std::int32_t>(pods);
    to.priority[i] = f.priority;
    to.preemptible[i] = f.preemptible;
    to.age[i] = in_seconds(session_->now() - f.submit);
    to.estimate[i] = f.estimate == 0 ? std::numeric_limits<double>::quiet_NaN() : in_seconds(f.estimate);
    to.served[i] = in_seconds(past_[r.what].served + ran);
    to.ran[i] = in_seconds(ran);
    to.starts[i] = past_[r.what].starts;
    return i;
  }
  [[nodiscard]] static double in_seconds(allot::instant t) { return static_cast<double>(t) / 1000; }
  [[nodiscard]] static double in_units(allot::quantity q) {
    return q.is_bounded() ? static_cast<double>(q.in_milli()) / 1000
                          : std::numeric_limits<double>::infinity();
  }

  [[nodiscard]] bool is_in(allot::job_id id, allot::job_state state) const {
    return session_->jobs().contains(id) && session_->jobs().at(id).state == state;
  }
  [[nodiscard]] bool runs(allot::job_id id) const { return is_in(id, allot::job_state::running); }
  /// The id of the job, if the scheduler has it.
  [[nodiscard]] allot::job_id id_of(job_number j) const {
    const allot::job_id id = id_of_[j];
    return id && session_->jobs().contains(id) && session_->jobs().at(id).what == j ? id : allot::job_id{};
  }
  [[nodiscard]] std::string text_of(job_number j) const { return std::string{stepper_->jobs()[j].id}; }

  [[nodiscard]] std::pair<bool, bool> chances(const record& r) const {
    Session& s = *session_;
    bool quota = false;
    bool nodes = false;
    allot::flavor_pick pick{};
    do {
      const bool allowed = s.books().assumed().fits(r.facts.quota, r.request_under(pick), r.facts.in);
      const bool placed = allot::could_place(s.books().places, s.jobs().pod_request_of(r, pick));
      if (allowed && placed) return {true, true};
      quota = quota || allowed;
      nodes = nodes || placed;
    } while (advance(pick, r.menu));
    return {quota, nodes && !quota};
  }

  /// Calls `visit(quota, what the jobs in its subtree use)`, with the loans up to date.
  template <class Visit>
  void for_each_quota(Visit visit) {
    Session& s = *session_;
    const auto& books = s.books().allocated();
    loans_.update(books);
    used_.assign(s.tree().slots(), {});
    const auto order = s.tree().top_down();
    for (auto x = order.rbegin(); x != order.rend(); ++x) {
      used_[x->index()] += books.own_usage(*x);
      if (const allot::quota_id p = s.tree().parent(*x)) used_[p.index()] += used_[x->index()];
    }
    const std::size_t known = stepper_->of().quotas.size();
    for (const allot::quota_id x : order) {
      if (x.index() < known) visit(x, used_[x.index()]);
    }
  }
  void look_at_quotas(observation& to) {
    Session& s = *session_;
    to.quotas.resize(stepper_->of().quotas.size());
    for_each_quota([&](allot::quota_id x, const allot::resources<n>& used) {
      observation::quota& q = to.quotas[x.index()];
      q.exists = true;
      if (const allot::quota_id p = s.tree().parent(x)) q.parent = p.index();
      q.nominal = widen(s.tree().spec(x).nominal);
      q.headroom = widen(s.books().assumed().headroom(x));
      q.used = widen(used);
      for (std::size_t d = 0; d < n; ++d) {
        q.borrowed[d] = loans_.borrowed(x, d);
        q.lent[d] = loans_.lent(x, d);
      }
    });
  }

  void look_at_running(const record& r, observation& to) {
    Session& s = *session_;
    observation::running_job& job = to.running.emplace_back();
    job.job = r.what;
    job.quota = r.facts.quota.index();
    job.request = widen(r.facts.request);
    job.pods = s.jobs().running_pods(r);
    job.since = r.facts.started;
    if (const std::size_t sets = stepper_->jobs()[r.what].sets.size(); sets > 0) {
      const allot::pods_by_set has =
          s.jobs().pods_of(r, [](const record& pod) { return pod.state == allot::job_state::running; });
      job.pods_of_sets.assign(has.begin(), has.begin() + static_cast<std::ptrdiff_t>(sets));
    }
    const auto add_nodes = [&](const record& unit) {
      s.books().places.for_each_node(unit.where, [&](std::size_t node) {
        const auto number = static_cast<std::uint32_t>(node);
        if (std::find(job.nodes.begin(), job.nodes.end(), number) == job.nodes.end())
          job.nodes.push_back(number);
      });
    };
    add_nodes(r);
    for (const allot::job_id pod : r.elastic_pods) {
      if (is_in(pod, allot::job_state::pending)) job.may_grow = true;
      if (!runs(pod)) continue;
      job.request += widen(s.jobs().at(pod).facts.request);
      add_nodes(s.jobs().at(pod));
    }
  }

  void look_at_nodes(observation& to) {
    if (!session_->books().places.has_nodes()) return;
    const auto& inventory = session_->books().places.inventory();
    const auto& layout = inventory.layout();
    to.nodes.reserve(layout.size());
    for (std::size_t i = 0; i < layout.size(); ++i) {
      const allot::gpu::node_id node{i};
      const auto gpus = static_cast<std::uint32_t>(layout.gpus(node));
      to.nodes.push_back({gpus, 1000 * std::int64_t{gpus} - inventory.index().used(node).in_milli(),
                          static_cast<std::uint32_t>(std::popcount(inventory.index().free_devices(node))),
                          inventory.is_closed(node)});
    }
  }

  [[nodiscard]] answer start(job_number j) {
    const allot::job_id id = id_of(j);
    if (!is_in(id, allot::job_state::pending))
      return {false, "not_pending", {}, text_of(j) + " is not pending"};
    answer a = start_unit(id);
    if (a.done) begin_run(session_->jobs().at(id));
    return a;
  }
  [[nodiscard]] answer grow(job_number j) {
    const allot::job_id id = id_of(j);
    if (!runs(id)) return {false, "not_running", {}, text_of(j) + " is not running"};
    for (const allot::job_id pod : allot::vector(session_->jobs().at(id).elastic_pods)) {
      if (is_in(pod, allot::job_state::pending)) return start_unit(pod);
    }
    return {false, "has_all_pods", {}, text_of(j) + " has all the pods that it can have"};
  }
  /// With the first flavors that its quota and the nodes have.
  [[nodiscard]] answer start_unit(allot::job_id id) {
    Session& s = *session_;
    const record& r = s.jobs().at(id);
    const allot::flavor_pick before = r.pick;
    allot::flavor_pick pick{};
    do {
      if (!s.books().assumed().fits(r.facts.quota, r.request_under(pick), r.facts.in)) continue;
      s.choose(r, pick);
      if (const auto at = s.books().places.place(r.pod_request)) {
        s.admit(id, *at);
        return {};
      }
    } while (advance(pick, r.menu));
    s.choose(r, before);
    return why_not(r);
  }
  [[nodiscard]] answer why_not(const record& r) {
    Session& s = *session_;
    typename Session::plan_type::pending_job h{r.facts.id, r.what, r.facts.quota,
                                               allot::pending_reason::quota};
    s.explain(h);
    if (h.binding) {
      const allot::shortfall& b = *h.binding;
      const auto& books = s.books().assumed();
      const std::string_view name = s.tree().name(b.quota);
      const lab::standing now{books.supply_of(b.quota, b.dimension).borrow,
                              books.borrowed(b.quota, b.dimension), books.total_supply(b.quota, b.dimension),
                              books.drawn(b.quota, b.dimension)};
      return {false, std::string{to_string(b.kind)}, std::string{name},
              lab::explain(b, name, stepper_->of().resources[b.dimension], now, text_of(r.what),
                           r.facts.request[b.dimension], set_that_lacks(r, b))};
    }
    if (h.placement && h.placement->reason != allot::gpu::obstacle::none) {
      return {false, std::string{allot::gpu::to_string(h.placement->reason)}, "cluster",
              lab::explain(*h.placement, s.books().places, names_of_sets(r.what))};
    }
    return {false, "quota", {}, text_of(r.what) + " has no room under its quota"};
  }

  [[nodiscard]] std::vector<std::string_view> names_of_sets(job_number j) const {
    std::vector<std::string_view> names;
    for (const job_facts::pod_set& set : stepper_->jobs()[j].sets) names.emplace_back(set.name);
    return names;
  }
  /// Empty if all pods are alike.
  [[nodiscard]] std::string_view set_that_lacks(const record& r, const allot::shortfall& what) const {
    const auto& sets = stepper_->jobs()[r.what].sets;
    if (sets.empty()) return {};
    if (r.facts.elastic) return sets[r.set].name;
    const auto set = lab::lacking_set<n>(session_->view(), r.what, r.pick, what);
    return set ? std::string_view{sets[*set].name} : std::string_view{};
  }

  [[nodiscard]] answer take_back(const action& a) {
    Session& s = *session_;
    const allot::job_id id = id_of(a.job);
    if (!runs(id)) return {false, "not_running", {}, text_of(a.job) + " is not running"};
    const record& r = s.jobs().at(id);
    if (!r.preemptible) return {false, "not_preemptible", {}, text_of(a.job) + " may not be preempted"};
    allot::job_id beneficiary;
    if (a.beneficiary) {
      beneficiary = id_of(*a.beneficiary);
      if (!is_in(beneficiary, allot::job_state::pending)) {
        return {false, "not_pending", {}, text_of(*a.beneficiary) + " is not pending"};
      }
    }
    if (a.what == action_kind::shrink) {
      for (auto pod = r.elastic_pods.rbegin(); pod != r.elastic_pods.rend(); ++pod) {
        if (!runs(*pod)) continue;
        s.evict(*pod, beneficiary, relation_of(r, beneficiary));
        return {};
      }
      return {false, "fewest_pods", {}, text_of(a.job) + " has no more pods than it needs"};
    }
    const allot::instant guaranteed = guarantee(r, beneficiary);
    if (guaranteed > 0 && s.now() - r.facts.started < guaranteed) {
      return {false, "min_runtime", std::string{s.tree().name(r.facts.quota)},
              text_of(a.job) + " has not run for as long as its quota guarantees"};
    }
    s.evict(id, beneficiary, relation_of(r, beneficiary));
    return {};
  }
  /// How long the job may run before it is evicted; without a beneficiary, for whomever.
  [[nodiscard]] allot::instant guarantee(const record& r, allot::job_id beneficiary) const {
    Session& s = *session_;
    if (!s.queues().guarantees_runtime()) return 0;
    const auto of_quota = [&](allot::quota_id x) -> const auto& {
      return s.queues().settings(x).min_runtime;
    };
    const allot::quota_id own = r.facts.quota;
    const auto against = [&](allot::quota_id other, bool preempts, allot::runtime_source source) {
      return allot::guaranteed_runtime(s.tree(), own, other, preempts, source, of_quota);
    };
    if (beneficiary) {
      const allot::quota_id other = s.jobs().at(beneficiary).facts.quota;
      return against(other, other == own, allot::runtime_source::common_ancestor);
    }
    return std::max(against(own, true, allot::runtime_source::leaf),
                    against(own, false, allot::runtime_source::leaf));
  }
  /// Under which name the eviction is counted.
  [[nodiscard]] allot::relation relation_of(const record& victim, allot::job_id beneficiary) const {
    Session& s = *session_;
    const allot::quota_id own = victim.facts.quota;
    if (beneficiary && s.jobs().at(beneficiary).facts.quota == own) return allot::relation::same_quota;
    for (std::size_t d = 0; d < n; ++d) {
      if (s.books().assumed().borrowed(own, d) > allot::quantity{}) return allot::relation::borrower;
    }
    if (!beneficiary) return allot::relation::same_quota;
    const allot::quota_id other = s.jobs().at(beneficiary).facts.quota;
    return s.tree().common_ancestor(own, other) == other ? allot::relation::descendant
                                                         : allot::relation::rival;
  }

  const stepper* stepper_;
  Session* session_ = nullptr;
  /// By number; what a job had last.
  std::vector<allot::job_id> id_of_;
  /// By id: the number of a job that waits.
  static constexpr job_number no_number = std::numeric_limits<job_number>::max();
  std::vector<job_number> number_of_;
  std::set<job_number> waiting_;
  /// In the order of their starts; some may have been evicted at this instant.
  std::vector<allot::job_id> running_;
  struct began {
    job_number what = 0;
    allot::instant at = 0;
  };
  std::map<allot::job_id, began> began_;
  std::vector<past> past_;
  news news_;
  std::vector<std::pair<std::pair<allot::quota_id, decltype(record::request_class)>, std::pair<bool, bool>>>
      of_class_;
  allot::loan_book<n> loans_;
  std::vector<allot::resources<n>> used_;
  bool has_looked_ = false;
};

/// Decides nothing itself. Outside of a stepper it decides nothing at all.
template <class Session>
class outside_cycle {
 public:
  template <class Policies>
  explicit outside_cycle(const Policies&) : of_(stepper::current()) {
    if (of_ != nullptr) desk_.emplace(*of_);
  }
  void reset(Session& session) { session.queues().follow_stays(); }
  void run(Session& session) {
    if (session.queues().must_requeue()) session.requeue_inadmissible();
    if (of_ == nullptr) return;
    desk_->open(session);
    // A job at its time limit goes first.
    if (session.plan().empty()) of_->pause(*desk_);
  }
  [[nodiscard]] std::optional<allot::instant> wakes_at(const Session&) const {
    return of_ == nullptr ? std::nullopt : of_->wakes_at(*desk_);
  }

 private:
  stepper* of_;
  std::optional<desk_of<Session>> desk_;
};

struct outside_policies {
  template <class Session>
  using cycle = outside_cycle<Session>;
  allot::by_settings jobs{};
  allot::capacity_kind not_preemptible = allot::capacity_kind::guaranteed;
};
struct outside : allot::standard {
  static constexpr std::string_view name = outside_name;
  static constexpr std::string_view summary = "what is decided from outside, step by step";
  using policies_type = outside_policies;
};

}  // namespace

job_columns::job_columns(std::size_t most, std::size_t resources_)
    : resources(resources_),
      job(most, -1),
      quota(most),
      request(most * resources_),
      pods(most),
      priority(most),
      preemptible(most),
      age(most),
      estimate(most),
      served(most),
      ran(most),
      starts(most),
      fits_quota(most),
      fits_nodes(most) {}

columns::columns(const lab::scenario& of, std::size_t most_pending, std::size_t most_running)
    : pending(most_pending, of.resources.size()),
      running(most_running, of.resources.size()),
      nominal(of.quotas.size() * of.resources.size()),
      used(nominal),
      borrowed(nominal),
      lent(nominal),
      headroom(nominal),
      free(of.cluster ? of.cluster->size() : 0) {}

std::string_view to_string(action_kind kind) noexcept {
  switch (kind) {
    case action_kind::start:
      return "start";
    case action_kind::evict:
      return "evict";
    case action_kind::grow:
      return "grow";
    case action_kind::shrink:
      return "shrink";
  }
  return "";
}

void add_outside_policy() {
  static_cast<void>(lab::add_policy(lab::own_policy_of<outside>()));
}

/// A second stack. Its memory is only taken as it is used.
struct stepper::coroutine {
  static constexpr std::size_t size = std::size_t{16} << 20U;

  coroutine()
      : memory(::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                      0)) {
    if (memory == MAP_FAILED) throw std::bad_alloc{};
    // The end of the stack is no one's.
    ::mprotect(memory, static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)), PROT_NONE);
    ::getcontext(&inside);
    inside.uc_stack.ss_sp = memory;
    inside.uc_stack.ss_size = size;
    inside.uc_link = &outside;
    ::makecontext(&inside, &enter, 0);
  }
  coroutine(const coroutine&) = delete;
  coroutine& operator=(const coroutine&) = delete;
  ~coroutine() { ::munmap(memory, size); }

  static void enter() { is_running->body(); }

  void* memory;
  ucontext_t inside{};
  ucontext_t outside{};
};

stepper* stepper::current() noexcept {
  return is_running;
}

stepper::stepper(const run_input& input, const run_options& options, std::string directory)
    : run_(input, options, std::move(directory)) {
  const lab::scenario& s = run_.of();
  lab::with_dimensions(s.resources.size(), [&](auto n) {
    constexpr std::size_t dimensions = decltype(n)::value;
    const auto w = lab::make_workload<dimensions>(s);
    const allot::sim::workload_view<dimensions> view{
        .jobs = w.setup.jobs, .flavor_sets = w.setup.flavor_sets, .unlike = w.setup.unlike};
    jobs_.reserve(w.ids.size());
    for (job_number j = 0; j < w.ids.size(); ++j) {
      const auto& job = w.setup.jobs[j];
      const std::string_view name =
          job.job_class < w.classes.size() ? w.classes[job.job_class] : std::string_view{};
      jobs_.push_back({w.ids[j], name, job.quota.index(), job.pods(), job.priority, job.preemptible,
                       job.submit, job.estimate});
      const auto names = w.sets_of(job);
      for (std::size_t i = 0; i < names.size(); ++i) {
        const allot::gpu::pod_set& set = view.sets_of(j)[i];
        jobs_.back().sets.push_back(
            {std::string{names[i]}, set.pods, set.fewest(), widen(view.pod(j, allot::pod_set_id{i}, {}))});
      }
      if (const auto traced = w.origins[j].traced) {
        for (std::size_t t = 0; t < s.trace->tag_columns.size(); ++t)
          jobs_.back().tags.push_back(s.trace->tag(s.trace->jobs[*traced], t));
      }
      last_to_come_ = std::max(last_to_come_, job.submit);
    }
  });
  if (s.trace) tags_.assign(s.trace->tag_columns.begin(), s.trace->tag_columns.end());
  for (const auto& e : s.events) last_to_come_ = std::max(last_to_come_, e.at);
  routine_ = std::make_unique<coroutine>();
  resume();
}

stepper::~stepper() {
  if (done_ || !routine_) return;
  is_abandoned_ = true;
  try {
    resume();
  } catch (...) {  // nobody wants to know
  }
}

void stepper::body() {
  try {
    run_.simulate();
  } catch (const abandoned&) {
  } catch (...) {
    failure_ = std::current_exception();
  }
  done_ = true;
  desk_ = nullptr;
}

void stepper::resume() {
  stepper* const before = std::exchange(is_running, this);
  ::swapcontext(&routine_->outside, &routine_->inside);
  is_running = before;
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  // Errors of the input come out at once.
  if (done_ && !is_abandoned_) run_.check();
}

void stepper::pause(desk& at) {
  desk_ = &at;
  now_ = at.now();
  ::swapcontext(&routine_->inside, &routine_->outside);
  if (is_abandoned_) throw abandoned{};
}

observation stepper::observe(std::size_t most_pending) {
  observation seen;
  desk_->look(seen, most_pending);
  return seen;
}

void stepper::observe(columns& to) {
  if (desk_ != nullptr) return desk_->look(to);
  to.now = static_cast<double>(now_) / 1000;
  to.waiting = to.running_in_all = to.pending.count = to.running.count = 0;
}

news stepper::take_news() {
  return desk_ == nullptr ? news{} : desk_->take_news();
}

std::vector<answer> stepper::act(const std::vector<action>& actions) {
  std::vector<answer> answers;
  const allot::instant at = now_;
  std::optional<bool> are_starts;  // those that are not carried out yet
  const auto carry_out = [&] {
    if (are_starts) resume();
    are_starts.reset();
  };
  for (const action& a : actions) {
    const bool is_start = a.what == action_kind::start || a.what == action_kind::grow;
    if (are_starts && *are_starts != is_start) carry_out();
    if (done_ || now_ != at) {
      answers.push_back(
          {false, "too_late", {}, "jobs were evicted so often at this instant that time passed"});
      continue;
    }
    answers.push_back(desk_->carry_out(a));
    if (answers.back().done) are_starts = is_start;
  }
  carry_out();
  return answers;
}

std::size_t stepper::start_while_possible(const std::vector<job_number>& jobs) {
  std::size_t started = 0;
  while (started < jobs.size() && desk_->carry_out({action_kind::start, jobs[started], {}}).done) ++started;
  if (started > 0) resume();
  return started;
}

std::optional<allot::instant> stepper::wakes_at(const desk& at) const {
  const bool goes_on = until_ > at.now() && (at.now() < last_to_come_ || at.may_go_on());
  return goes_on ? std::optional{until_} : std::nullopt;
}

void stepper::advance(allot::instant until) {
  until_ = until;
  do {
    if (done_) return;
    resume();
  } while (now_ < until);
}

void stepper::stop() {
  if (done_) return;
  run_.control().until = now_;
  resume();
}

run& stepper::result() {
  if (!std::exchange(is_concluded_, true)) run_.conclude();
  return run_;
}

}  // namespace allot_python
