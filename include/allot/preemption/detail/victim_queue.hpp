// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/ids.hpp>
#include <allot/core/stamped_set.hpp>
#include <allot/core/vector.hpp>
#include <allot/preemption/eligibility.hpp>
#include <allot/preemption/protection.hpp>
#include <allot/preemption/running_index.hpp>
#include <allot/preemption/victim_order.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

namespace allot {
inline namespace v0 {
namespace detail {

/// The victim candidates of one beneficiary, next first. They are judged again as victims are taken: a quota
/// yields only while it still uses what others own, and victims on the beneficiary's own side may make its
/// side own the request. Buffers are reused across searches.
template <std::size_t N, class Order, class Protection>
class victim_queue {
 public:
  using dimensions = std::array<bool, N>;
  using key = decltype(std::declval<const Order&>()(std::declval<const ledger<N>&>(),
                                                    std::declval<const victim_candidate<N>&>()));

  using victim_source = detail::victim_source<N>;

  victim_queue(Order order, Protection protection)
      : order_(std::move(order)), protection_(std::move(protection)) {}

  [[nodiscard]] const Order& order() const noexcept { return order_; }
  [[nodiscard]] Order& order() noexcept { return order_; }
  [[nodiscard]] Protection& protection() noexcept { return protection_; }
  [[nodiscard]] const search_progress<N>& progress() const noexcept { return progress_; }

  /// Starts a new search.
  void reset() {
    progress_ = {};
    spared_some_ = hid_some_ = false;
    taken_.clear();
  }
  void mark_taken(job_id id, bool taken) { taken ? taken_.insert(id) : taken_.erase(id); }
  [[nodiscard]] bool is_taken(job_id id) const { return taken_.contains(id); }

  /// Finds all jobs that may be preempted when these dimensions are contested.
  void find(const ledger<N>& l, const running_index<N>& running, const beneficiary<N>& b,
            const dimensions& contested) {
    running_ = &running;
    contested_ = first_contested_ = contested;
    sources_.clear();
    scopes_.clear();
    queue_.clear();
    heaps_.clear();
    const quota_tree<N>& tree = l.tree();
    if (b.may.within != preempt_within::never) add_source(b.quota, no_scope, relation::same_quota);
    if (b.may.children) {
      const auto add = [this](quota_id x) { add_source(x, no_scope, relation::descendant); };
      for_each_descendant(tree, b.quota, add);
    }
    for (std::size_t i = 0; i < sources_.size(); ++i) enqueue(l, b, i);
    if (asks_others(b) || b.may.reclaim != preempt_reclaim::never) find_scopes(l, b);
  }

  /// Pops the source of the next job that may be preempted; null if there is none left.
  [[nodiscard]] victim_source* pop(const ledger<N>& l, const beneficiary<N>& b) {
    while (!queue_.empty()) {
      detail::pop_heap(queue_.begin(), queue_.end(), yields_later{});
      const entry e = queue_.back();
      queue_.pop_back();
      victim_source& s = sources_[e.victim_source];
      if (s.offer != e.offer) continue;
      // Others have been taken since: this quota may borrow less, or be protected by now.
      if (may_be_asked(l, b, s, helpful(l, b, s), next_of(s))) return &s;
      enqueue(l, b, e.victim_source);
    }
    return nullptr;
  }
  [[nodiscard]] victim_candidate<N> candidate_of(const victim_source& s, const beneficiary<N>& b) const {
    return candidate_of(s, next_of(s), b);
  }
  [[nodiscard]] victim_candidate<N> candidate_of(const victim_source& s, const running_job<N>& job,
                                                 const beneficiary<N>& b) const {
    return candidate_of(job, s.how, b);
  }

  [[nodiscard]] victim_candidate<N> candidate_of(const running_job<N>& job, relation how,
                                                 const beneficiary<N>& b) const {
    return {job.quota, how, job, yields_of(job), b.now};
  }

  /// The source of a job to be preempted out of turn; null if the job may not be preempted now. O(sources).
  [[nodiscard]] victim_source* find_source(const ledger<N>& l, const beneficiary<N>& b,
                                           const running_job<N>& job) {
    const auto g = detail::find_if(sources_.begin(), sources_.end(),
                                   [&](const victim_source& x) { return x.quota == job.quota; });
    return g != sources_.end() && may_be_asked(l, b, *g, helpful(l, b, *g), job) ? &*g : nullptr;
  }
  /// By which relation a job may be preempted with those gone that are gone in the ledger, if it may,
  /// whatever the order in which they went; `at_first` is what was contested without them. O(N depth).
  [[nodiscard]] std::optional<relation> relation_now(const ledger<N>& l, const beneficiary<N>& b,
                                                     const running_job<N>& job, const dimensions& at_first,
                                                     const search_progress<N>& progress) const {
    const dimensions contested = contested_dimensions(l, b);
    dimensions help = contested;
    relation how = relation::same_quota;
    if (job.quota != b.quota) {
      const quota_id top = l.tree().common_ancestor(job.quota, b.quota);
      if (!top || top == job.quota) return std::nullopt;
      how = relation::descendant;
      if (top != b.quota || !b.may.children) {
        help = reclaimable_dimensions(l, job.quota, top, contested);
        how = relation::borrower;
        const dimensions& asked = asks_others(b) && !l.fits(b.quota, b.request, b.in) ? at_first : contested;
        const quota_id side = top == b.quota ? quota_id::none() : l.tree().side_of(b.quota, top);
        if (!may_preempt(b, job, how) || !owns_request(l, b, side, asked)) {
          how = asks_rivals(b.may) ? relation::rival : relation::borrower_while_borrowing;
          if (!asks_others(b) || !keeps_its_own(l, job.quota, top, yields_of(job), asked)) {
            return std::nullopt;
          }
        }
      }
    }
    if (!uses_any(job.request, help) || !may_preempt(b, job, how)) return std::nullopt;
    return protection_(l, b, candidate_of(job, how, b), progress) ? std::nullopt : std::optional{how};
  }
  /// Whether the taken job would be protected if it went alone.
  [[nodiscard]] bool protects(const ledger<N>& l, const beneficiary<N>& b, const running_job<N>& job,
                              relation how) const {
    return protection_(l, b, candidate_of(job, how, b), progress_);
  }
  /// Whether one of the possible victims may be preempted then or after others have gone, as far as what its
  /// quota borrows says. O(N depth).
  [[nodiscard]] bool may_still_go(const ledger<N>& l, const beneficiary<N>& b,
                                  const running_job<N>& job) const {
    if (job.quota == b.quota) return true;
    const quota_id top = l.tree().common_ancestor(job.quota, b.quota);
    if (top == b.quota && b.may.children) return true;
    const auto requested = detail::requested_dimensions(b);
    return uses_any(job.request, reclaimable_dimensions(l, job.quota, top, requested));
  }
  /// To be called when that job has been taken out of turn. It is skipped when its turn comes.
  void took_out_of_turn(const ledger<N>& l, const beneficiary<N>& b, const victim_source& s) {
    const bool near = s.how != relation::borrower;
    if (narrow(l, b) || near) open_scopes(l, b);
  }
  /// Whether jobs may have been skipped because of what others have yielded.
  [[nodiscard]] bool spared_some() const noexcept { return spared_some_; }
  /// Whether some may have been that `for_each_passed_over` does not visit: one that would leave its quota
  /// less than it owns, or that was protected because of those taken.
  [[nodiscard]] bool hid_some() const noexcept { return hid_some_; }
  /// Calls `visit(job, relation)` for each job that was not taken only because of what others have yielded,
  /// rivals excepted. O(jobs of the sources).
  template <class Visit>
  void for_each_passed_over(const ledger<N>& l, const beneficiary<N>& b, Visit visit) const {
    for (const victim_source& s : sources_) {
      const bool borrows = s.scope != no_scope;
      if (borrows && !scopes_[s.scope].open) continue;
      const relation how = borrows ? relation::borrower : s.how;
      for (const running_job<N>& job : s.jobs) {
        if (!is_taken(job.id) && uses_any(job.request, contested_) && may_preempt(b, job, how) &&
            !is_protected(l, b, s, how, job)) {
          visit(job, how);
        }
      }
    }
  }

  /// The source's next job was not fair: moves on to the one after it.
  void refuse(const ledger<N>& l, const beneficiary<N>& b, victim_source& s, const resources<N>& yields) {
    s.refused = true;
    s.refused_at = progress_.evictions;
    s.refused_yields = yields;
    drop_next(b, s);
    enqueue(l, b, index_of(s));
  }
  /// Counts a taken job.
  void count(victim_source& s, const running_job<N>& job) {
    ++progress_.evictions;
    ++s.given;
    progress_.released += job.request;
  }
  /// The source's next job has been taken. The source may be asked again unless `only_once`.
  void took(const ledger<N>& l, const beneficiary<N>& b, victim_source& s, bool only_once) {
    const bool near = s.how != relation::borrower;
    drop_next(b, s);
    s.closed = only_once;
    if (!only_once) enqueue(l, b, index_of(s));
    if (narrow(l, b) || near) open_scopes(l, b);
  }
  [[nodiscard]] const dimensions& contested() const noexcept { return contested_; }

  /// Offers sources with refused jobs again; returns whether there are any.
  [[nodiscard]] bool offer_refused_again(const ledger<N>& l, const beneficiary<N>& b) {
    bool some = false;
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      if (!sources_[i].refused || sources_[i].closed) continue;
      some = true;
      offer(l, b, i);
    }
    return some;
  }
  /// For a guard that finds no job fair that is larger than an unfair one: such jobs are then skipped.
  void skip_larger_than_refused(bool yes) noexcept { skip_larger_ = yes; }

 private:
  static constexpr std::size_t no_scope = std::numeric_limits<std::size_t>::max();
  /// Whether the order has one of its own within a quota. One that has it by options says so at run time.
  static constexpr bool may_have_own_order = orders_within_quota<Order, N>;
  [[nodiscard]] bool in_own_order() const {
    if constexpr (may_have_own_order && requires { order_.orders_within(); }) {
      return order_.orders_within();
    } else {
      return may_have_own_order;
    }
  }

  /// The quotas on the far side of one ancestor that borrow from beyond it: `count` sources from `first` on.
  /// Their jobs may be preempted as borrowers once `side` owns the request. No `side`: they are the own jobs
  /// of the beneficiary's quota.
  struct reclaim_scope {
    quota_id side;
    quota_id ancestor;
    std::size_t first;
    std::size_t count;
    bool open;
  };
  struct entry {
    key rank;
    std::size_t victim_source;
    std::size_t offer;
  };
  struct yields_later {
    bool operator()(const entry& a, const entry& b) const {
      if (b.rank < a.rank) return true;
      return !(a.rank < b.rank) && b.victim_source < a.victim_source;
    }
  };

  [[nodiscard]] std::size_t index_of(const victim_source& s) const {
    return static_cast<std::size_t>(&s - sources_.data());
  }

  void add_source(quota_id x, std::size_t scope, relation how) {
    const auto jobs = running_->jobs_of(x);
    if (jobs.empty()) return;
    victim_source s{x, scope, jobs, jobs.size()};
    s.how = how;
    sources_.push_back(s);
  }

  /// Finds the borrowers beyond each quota on the path to the root, nearest first. A closed scope may open
  /// when sources on the near side yield, or when others do and fewer dimensions are contested.
  void find_scopes(const ledger<N>& l, const beneficiary<N>& b) {
    const quota_tree<N>& tree = l.tree();
    quota_id top_side;
    for (quota_id x = b.quota; tree.parent(x); x = tree.parent(x)) top_side = x;
    const bool some_open = owns_request(l, b, top_side, contested_);
    const bool may_open = asks_others(b) || !queue_.empty() || (N > 1 && some_open);
    if (!some_open && !may_open) return;
    if (!b.may.children) add_scope(l, b, quota_id::none(), b.quota, may_open);
    quota_id side = b.quota;
    for (quota_id a = tree.parent(side); a; side = a, a = tree.parent(a)) {
      add_scope(l, b, side, a, may_open);
    }
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      if (sources_[i].scope != no_scope) enqueue(l, b, i);
    }
  }
  void add_scope(const ledger<N>& l, const beneficiary<N>& b, quota_id side, quota_id ancestor,
                 bool may_open) {
    const bool open = owns_request(l, b, side, contested_);
    if (!open && !may_open) return;
    const std::size_t first = sources_.size();
    const auto add = [this](quota_id x) { add_source(x, scopes_.size(), relation::borrower); };
    for (const quota_id c : l.tree().children(ancestor)) {
      if (c != side) for_each_borrower(l, c, contested_, add);
    }
    if (sources_.size() == first) return;
    scopes_.push_back({side, ancestor, first, sources_.size() - first, open});
  }

  /// A job of the source may be preempted only if it uses some of these dimensions.
  [[nodiscard]] dimensions helpful(const ledger<N>& l, const beneficiary<N>& b,
                                   const victim_source& s) const {
    if (s.scope == no_scope) return contested_;
    if (!scopes_[s.scope].open && !asks_others(b)) return {};
    return reclaimable_dimensions(l, s.quota, scopes_[s.scope].ancestor, contested_);
  }
  /// The relation by which a job of the source may be preempted: an owner's claim precedes a rival's. Rivals
  /// and priority among borrowers are never combined.
  [[nodiscard]] std::optional<relation> relation_to(const beneficiary<N>& b, const victim_source& s,
                                                    const running_job<N>& job) const {
    relation how = s.how;
    if (s.scope != no_scope) {
      how = asks_rivals(b.may) ? relation::rival : relation::borrower_while_borrowing;
      if (scopes_[s.scope].open && may_preempt(b, job, relation::borrower)) return relation::borrower;
    }
    return may_preempt(b, job, how) ? std::optional{how} : std::nullopt;
  }
  /// Whether priority alone rules out, for now, this job of the source and all of higher priority.
  [[nodiscard]] bool ends_at(const beneficiary<N>& b, const victim_source& s,
                             const running_job<N>& job) const {
    if (s.scope == no_scope) return rules_out(b, job.priority, s.how);
    if (scopes_[s.scope].open && !rules_out(b, job.priority, relation::borrower)) return false;
    return rules_out(b, job.priority, relation::rival) &&
           rules_out(b, job.priority, relation::borrower_while_borrowing);
  }
  [[nodiscard]] resources<N> yields_of(const running_job<N>& job) const {
    resources<N> sum = job.request;
    running_->for_each_elastic_pod(job, [&](const running_job<N>& unit) {
      if (!is_taken(unit.id)) sum += unit.request;
    });
    return sum;
  }
  [[nodiscard]] bool is_protected(const ledger<N>& l, const beneficiary<N>& b, const victim_source& s,
                                  relation how, const running_job<N>& job, bool at_first = false) const {
    if constexpr (std::is_same_v<Protection, unprotected>) return false;
    search_progress<N> progress;
    if (!at_first) {
      progress = progress_;
      progress.evictions_of_quota = s.given;
    }
    return protection_(l, b, candidate_of(job, how, b), progress);
  }
  /// If so, sets the source's relation.
  [[nodiscard]] bool may_be_asked(const ledger<N>& l, const beneficiary<N>& b, victim_source& s,
                                  const dimensions& help, const running_job<N>& job) {
    if (!uses_any(job.request, help) || is_taken(job.id)) return false;
    const auto how = relation_to(b, s, job);
    if (!how) return false;
    if (is_protected(l, b, s, *how, job)) {
      hid_some_ = hid_some_ || !is_protected(l, b, s, *how, job, true);
      return false;
    }
    if (s.scope != no_scope && *how != relation::borrower &&
        !keeps_its_own(l, s.quota, scopes_[s.scope].ancestor, yields_of(job), first_contested_)) {
      hid_some_ = hid_some_ || progress_.evictions > 0;
      return false;
    }
    if (skip_larger_ && s.refused && s.refused_at == progress_.evictions &&
        all_at_most(s.refused_yields, yields_of(job))) {
      return false;
    }
    if (s.scope != no_scope) s.how = *how;
    return true;
  }

  [[nodiscard]] const running_job<N>& next_of(const victim_source& s) const {
    if constexpr (may_have_own_order) {
      if (in_own_order()) return s.jobs[s.ruled_out + heaps_[s.first]];
    }
    return s.jobs[s.left - 1];
  }
  void drop_next(const beneficiary<N>& b, victim_source& s) {
    if constexpr (may_have_own_order) {
      if (in_own_order()) {
        std::uint32_t* const heap = heaps_.data() + s.first;
        if (!std::exchange(s.is_heap, true)) detail::make_heap(heap, heap + s.left, later_in(b, s));
        detail::pop_heap(heap, heap + s.left, later_in(b, s));
      }
    }
    --s.left;
  }
  [[nodiscard]] auto later_in(const beneficiary<N>& b, const victim_source& s) const {
    return [this, jobs = s.jobs.subspan(s.ruled_out), now = b.now](std::uint32_t x, std::uint32_t y) {
      return order_.within_quota(jobs[y], jobs[x], now);
    };
  }
  /// Offers all jobs of the source again.
  void offer(const ledger<N>& l, const beneficiary<N>& b, std::size_t i) {
    victim_source& s = sources_[i];
    ++s.offer;
    s.refused = false;
    s.left = s.jobs.size();
    if constexpr (may_have_own_order) {
      if (in_own_order()) find_next(b, s);
    }
    enqueue(l, b, i);
  }
  /// How many jobs of the source, the last ones, priority does not rule out. O(log of that).
  [[nodiscard]] std::size_t not_ruled_out(const beneficiary<N>& b, const victim_source& s) const {
    // Jobs are sorted by priority, lowest last. Mostly few are left.
    const auto is_out = [&](const running_job<N>& job) { return ends_at(b, s, job); };
    const std::size_t all = s.jobs.size();
    std::size_t most = 1;
    while (most < all && !is_out(s.jobs[all - most])) most *= 2;
    const running_job<N>* const end = s.jobs.data() + all;
    const running_job<N>* const first =
        detail::partition_point(end - std::min(most, all), end - most / 2, is_out);
    return static_cast<std::size_t>(end - first);
  }
  /// Finds the next job of the source. Most searches need no other, so the heap is made once it is dropped.
  void find_next(const beneficiary<N>& b, victim_source& s) {
    const std::size_t left = not_ruled_out(b, s);
    const std::size_t ruled_out = s.jobs.size() - left;
    if (s.first == victim_source::no_heap || ruled_out < s.ruled_out) {
      s.first = heaps_.size();
      heaps_.resize(s.first + left);
    }
    s.left = left;
    s.ruled_out = ruled_out;
    s.is_heap = false;
    std::uint32_t* const heap = heaps_.data() + s.first;
    const auto later = later_in(b, s);
    for (std::uint32_t k = 0; k < left; ++k) {
      heap[k] = k;
      if (later(heap[0], heap[k])) std::swap(heap[0], heap[k]);
    }
  }

  /// Queues the source with its next job that may be preempted. A job that may not be preempted now can't be
  /// later either, until it is offered again: others only return what they borrow.
  void enqueue(const ledger<N>& l, const beneficiary<N>& b, std::size_t i) {
    victim_source& s = sources_[i];
    if (s.closed) return;
    const dimensions help = helpful(l, b, s);
    if (help != contested_) spared_some_ = true;
    if (help == dimensions{}) return;
    if constexpr (may_have_own_order) {
      if (in_own_order() && s.first == victim_source::no_heap) find_next(b, s);
    }
    for (; s.left > 0 && !may_be_asked(l, b, s, help, next_of(s)); drop_next(b, s)) {
      // Jobs are sorted by priority, lowest next.
      if (!in_own_order() && ends_at(b, s, next_of(s))) s.left = 1;
    }
    if (s.left == 0) return;
    queue_.push_back({order_(l, candidate_of(s, b)), i, s.offer});
    detail::push_heap(queue_.begin(), queue_.end(), yields_later{});
  }

  /// Drops contested dimensions in which the request fits by now; returns whether there are any.
  [[nodiscard]] bool narrow(const ledger<N>& l, const beneficiary<N>& b) {
    if (N == 1 || l.fits(b.quota, b.request, b.in)) return false;
    const auto still = contested_dimensions(l, b);
    return std::exchange(contested_, still) != still;
  }
  /// A beneficiary that may also preempt rivals must own all that was contested at first. Otherwise it would
  /// take from rivals in one dimension, then as an owner, unguarded, from the same quotas in the next.
  void open_scopes(const ledger<N>& l, const beneficiary<N>& b) {
    const dimensions& asked = asks_others(b) ? first_contested_ : contested_;
    for (reclaim_scope& r : scopes_) {
      if (r.open || !owns_request(l, b, r.side, asked)) continue;
      r.open = true;
      for (std::size_t i = r.first; i < r.first + r.count; ++i) offer(l, b, i);
    }
  }

  const running_index<N>* running_ = nullptr;
  dimensions contested_{};
  dimensions first_contested_{};
  vector<victim_source> sources_;
  vector<reclaim_scope> scopes_;
  vector<entry> queue_;
  vector<std::uint32_t> heaps_;
  stamped_set<job_id> taken_;
  search_progress<N> progress_{};
  bool skip_larger_ = false;
  bool spared_some_ = false;
  bool hid_some_ = false;
  [[no_unique_address]] Order order_;
  [[no_unique_address]] Protection protection_;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot
