// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/preemption/settings.hpp>
#include <allot/scheduler/settings.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace allot_test {

using naive_amounts = std::vector<std::int64_t>;

/// A cohort or a queue. A limit of -1 means no limit.
struct naive_quota {
  int parent = -1;
  naive_amounts nominal, borrow, lend;
  std::int64_t weight = 1000;
  allot::preempt_settings preempt{};
  allot::flavor_choice choice{};
  bool strict = false;
};
struct naive_workload {
  std::string name;
  int queue = 0;
  naive_amounts base;
  /// One resource group with its flavors, or none.
  std::vector<naive_amounts> options;
  std::int64_t priority = 0;
  std::int64_t at = 0;
  std::uint64_t id = 0;
  std::int64_t since = 0;

  bool running = false;
  bool leaving = false;
  bool parked = false;
  naive_amounts uses = naive_amounts();
  std::size_t pick = 0;
  std::size_t cursor = 0;
  /// The cycle in which the cursor was set, and whether the world has changed since.
  std::int64_t cursor_set = 0;
  bool cursor_old = false;
  /// All flavors were tried since the workload was woken.
  bool scanned = false;
};

/// A second, naive implementation of Kueue's rules. Usages are recounted from the leaves for every question,
/// a trial works on a full copy, and nothing is cached that can be computed again.
class kueue_naive {
 public:
  std::vector<naive_quota> quotas;
  std::vector<naive_workload> workloads;
  bool fair = false;
  bool final_share = true;
  bool initial_share = true;
  bool preserves_scans = true;
  bool recomputes_overlaps = true;
  std::size_t n = 1;
  std::vector<int> resource_of;

  /// In the notation of kueue_world::step.
  std::string step() {
    for (++now_;;) {
      const std::string said = cycle();
      if (!said.empty() || !parked_someone_) return said;
    }
  }
  /// The evicted workloads are released and pending again, and every workload may be tried again.
  void settle() {
    for (auto& w : workloads) w.running = w.running && !w.leaving;
    for (auto& w : workloads) w.leaving = false;
    wake();
  }
  void wake() {
    for (auto& w : workloads) {
      w.parked = false;
      w.cursor_old = true;
      w.scanned = false;
    }
  }

 private:
  /// By leaf, then dimension.
  using state = std::vector<naive_amounts>;
  using ids = std::vector<const naive_workload*>;
  enum mode { no_fit, no_candidates, preempt, reclaim, fit };
  struct ratio {
    bool infinite = false;
    __extension__ __int128 over = 0, under = 1;
    /// Of the unweighted share.
    __extension__ __int128 raw_over = 0, raw_under = 1;
  };
  struct chosen_victim {
    const naive_workload* who;
    std::string why;
  };
  struct entry {
    naive_workload* w = nullptr;
    mode m = no_fit;
    std::size_t pick = 0;
    naive_amounts asks;
    std::vector<bool> contested;
    int borrows = 0;
    std::size_t next = 0;
    std::vector<chosen_victim> victims;
  };

  // The tree.

  bool has_children(int x) const {
    return std::any_of(quotas.begin(), quotas.end(), [&](const auto& q) { return q.parent == x; });
  }
  std::vector<int> children(int x) const {
    std::vector<int> all;
    for (std::size_t i = 0; i < quotas.size(); ++i) {
      if (quotas[i].parent == x) all.push_back(static_cast<int>(i));
    }
    return all;
  }
  const naive_quota& q(int x) const { return quotas[static_cast<std::size_t>(x)]; }
  std::vector<int> path(int x) const {
    std::vector<int> up;
    for (; x >= 0; x = q(x).parent) up.push_back(x);
    return up;
  }
  int height(int x) const {
    int h = 0;
    for (const int c : children(x)) h = std::max(h, height(c) + 1);
    return h;
  }
  std::int64_t subtree(int x, std::size_t d) const {
    std::int64_t s = q(x).nominal[d];
    for (const int c : children(x)) s += subtree(c, d) - kept(c, d);
    return s;
  }
  std::int64_t kept(int x, std::size_t d) const {
    return q(x).lend[d] < 0 ? 0 : std::max<std::int64_t>(0, subtree(x, d) - q(x).lend[d]);
  }
  std::int64_t usage(const state& s, int x, std::size_t d) const {
    std::int64_t u = s[static_cast<std::size_t>(x)][d];
    for (const int c : children(x)) u += std::max<std::int64_t>(0, usage(s, c, d) - kept(c, d));
    return u;
  }
  std::int64_t local(const state& s, int x, std::size_t d) const {
    return std::max<std::int64_t>(0, kept(x, d) - usage(s, x, d));
  }
  std::int64_t available(const state& s, int x, std::size_t d) const {
    const std::int64_t u = usage(s, x, d);
    if (q(x).parent < 0) return subtree(x, d) - u;
    std::int64_t above = available(s, q(x).parent, d);
    if (q(x).borrow[d] >= 0) {
      const std::int64_t lent = subtree(x, d) - kept(x, d);
      above = std::min(above, lent - std::max<std::int64_t>(0, u - kept(x, d)) + q(x).borrow[d]);
    }
    return local(s, x, d) + above;
  }
  std::int64_t potential(int x, std::size_t d) const {
    if (q(x).parent < 0) return subtree(x, d);
    const std::int64_t most = kept(x, d) + potential(q(x).parent, d);
    return q(x).borrow[d] < 0 ? most : std::min(most, subtree(x, d) + q(x).borrow[d]);
  }
  bool over(const state& s, int x, std::size_t d, std::int64_t more = 0) const {
    return usage(s, x, d) + more > subtree(x, d);
  }
  std::pair<int, bool> lowest(const state& s, int x, std::size_t d, std::int64_t more) const {
    if (q(x).parent < 0 || !over(s, x, d, more)) return {0, q(x).parent >= 0};
    more -= local(s, x, d);
    int last = x;
    for (const int a : path(q(x).parent)) {
      if (!over(s, a, d, more)) return {height(a), q(a).parent >= 0};
      more -= local(s, a, d);
      last = a;
    }
    return {height(last), false};
  }
  bool fits(const state& s, int x, const naive_amounts& asks) const {
    for (std::size_t d = 0; d < n; ++d) {
      if (asks[d] > 0 && asks[d] > std::max<std::int64_t>(0, available(s, x, d))) return false;
    }
    return true;
  }
  static void add(state& s, int x, const naive_amounts& a, std::int64_t sign = 1) {
    for (std::size_t d = 0; d < a.size(); ++d) s[static_cast<std::size_t>(x)][d] += sign * a[d];
  }
  state held() const {
    state s(quotas.size(), naive_amounts(n, 0));
    for (const auto& w : workloads) {
      if (w.running) add(s, w.queue, w.uses);
    }
    return s;
  }

  // Shares.

  ratio share(const state& s, int x) const {
    ratio r;
    if (q(x).parent < 0) return r;
    for (int k = 0; k < static_cast<int>(n); ++k) {
      std::int64_t b = 0, lendable = 0;
      for (std::size_t d = 0; d < n; ++d) {
        if (resource_of[d] != k) continue;
        b += std::max<std::int64_t>(0, usage(s, x, d) - subtree(x, d));
        lendable += potential(q(x).parent, d);
      }
      if (b == 0 || lendable <= 0) continue;
      if (b * r.raw_under > r.raw_over * lendable) {
        r.raw_over = b;
        r.raw_under = lendable;
      }
    }
    r.over = r.raw_over * 1000;
    r.under = r.raw_under * q(x).weight;
    r.infinite = q(x).weight == 0 && r.raw_over > 0;
    if (q(x).weight == 0) r.over = 0, r.under = 1;
    return r;
  }
  bool borrows(const state& s, int x) const {
    for (std::size_t d = 0; d < n && q(x).parent >= 0; ++d) {
      if (over(s, x, d)) return true;
    }
    return false;
  }
  static int compare(const ratio& a, const ratio& b) {
    if (a.infinite != b.infinite) return a.infinite ? 1 : -1;
    const auto left = a.infinite ? a.raw_over * b.raw_under : a.over * b.under;
    const auto right = a.infinite ? b.raw_over * a.raw_under : b.over * a.under;
    return left < right ? -1 : left > right ? 1 : 0;
  }

  // Preemption.

  bool uses_contested(const naive_workload& w, const std::vector<bool>& contested) const {
    for (std::size_t d = 0; d < n; ++d) {
      if (contested[d] && w.uses[d] > 0) return true;
    }
    return false;
  }
  bool within_quota(const state& s, int x, const std::vector<bool>& contested, std::int64_t spare = 0) const {
    for (std::size_t d = 0; d < n; ++d) {
      if (contested[d] && usage(s, x, d) + spare > subtree(x, d)) return false;
    }
    return true;
  }
  bool may_take_own(const naive_workload& p, const naive_workload& w) const {
    switch (q(p.queue).preempt.within) {
      case allot::preempt_within::never:
        return false;
      case allot::preempt_within::lower_priority:
        return w.priority < p.priority;
      default:
        return w.priority < p.priority || (w.priority == p.priority && p.at < w.at);
    }
  }
  bool may_take_other(const naive_workload& p, const naive_workload& w) const {
    switch (q(p.queue).preempt.reclaim) {
      case allot::preempt_reclaim::never:
        return false;
      case allot::preempt_reclaim::lower_priority:
        return w.priority < p.priority;
      default:
        return true;
    }
  }
  static bool before(const naive_workload* a, const naive_workload* b, int own) {
    return std::tuple(!a->leaving, a->queue == own, a->priority, -a->since, a->id) <
           std::tuple(!b->leaving, b->queue == own, b->priority, -b->since, b->id);
  }
  void fill_back(state& s, std::vector<chosen_victim>& victims,
                 const std::function<bool(const state&)>& good) const {
    for (int i = static_cast<int>(victims.size()) - 2; i >= 0; --i) {
      const auto at = static_cast<std::size_t>(i);
      add(s, victims[at].who->queue, victims[at].who->uses);
      if (good(s)) {
        victims[at] = victims.back();
        victims.pop_back();
      } else {
        add(s, victims[at].who->queue, victims[at].who->uses, -1);
      }
    }
  }

  std::vector<chosen_victim> search(const state& s, const naive_workload& p, const naive_amounts& asks,
                                    const std::vector<bool>& contested,
                                    const std::set<std::string>& out) const {
    return fair ? search_fair(s, p, asks, contested, out) : search_classical(s, p, asks, contested, out);
  }

  std::vector<chosen_victim> search_classical(const state& before_all, const naive_workload& p,
                                              const naive_amounts& asks, const std::vector<bool>& contested,
                                              const std::set<std::string>& out) const {
    struct found {
      const naive_workload* w;
      int list;  // 0 hierarchical, 1 by priority, 2 own
      bool never_to_borrower;
      std::string why;
      int ancestor;
    };
    std::vector<found> all;
    const auto may_borrow = q(p.queue).preempt.borrow != allot::preempt_borrow::never;
    for (const auto& w : workloads) {
      if (!w.running || out.count(w.name) > 0 || !uses_contested(w, contested)) continue;
      if (w.queue == p.queue) {
        if (may_take_own(p, w)) all.push_back({&w, 2, false, "priority", p.queue});
        continue;
      }
      if (!may_take_other(p, w)) continue;
      // The lowest common ancestor, and whether our side of it owns what is requested.
      const auto mine = path(p.queue);
      const auto theirs = path(w.queue);
      const auto common = std::find_if(mine.begin(), mine.end(), [&](int a) {
        return std::find(theirs.begin(), theirs.end(), a) != theirs.end();
      });
      if (common == mine.end()) continue;
      bool owes = true;
      for (const int a : theirs) {
        if (a == *common) break;
        owes = owes && !within_quota(before_all, a, contested);
      }
      if (!owes) continue;
      bool owns = false;
      naive_amounts rest = asks;
      for (auto at = mine.begin(); at != common; ++at) {
        bool all_fit = true;
        for (std::size_t d = 0; d < n; ++d) {
          all_fit = all_fit && (asks[d] == 0 || !over(before_all, *at, d, rest[d]));
          rest[d] = std::max<std::int64_t>(0, rest[d] - local(before_all, *at, d));
        }
        owns = owns || all_fit;
      }
      const auto& top = q(p.queue).preempt.borrow_max_priority;
      const bool to_borrower = !owns && may_borrow && w.priority < p.priority && (!top || w.priority <= *top);
      all.push_back({&w, owns ? 0 : 1, !owns && !to_borrower,
                     to_borrower ? "reclaim_while_borrowing" : "reclaim", *common});
    }
    std::sort(all.begin(), all.end(), [&](const found& a, const found& b) {
      if (a.w->leaving != b.w->leaving) return a.w->leaving;
      return a.list != b.list ? a.list < b.list : before(a.w, b.w, p.queue);
    });
    if (all.empty()) return {};
    const auto outside = std::count_if(all.begin(), all.end(), [](const found& f) { return f.list != 2; });
    const auto hierarchical =
        std::count_if(all.begin(), all.end(), [](const found& f) { return f.list == 0; });
    std::vector<bool> attempts;
    if (outside == 0 || (!may_borrow && !within_quota(before_all, p.queue, contested, 1))) {
      attempts = {true};
    } else if (!may_borrow && hierarchical == 0) {
      attempts = {false, true};
    } else {
      attempts = {true, false};
    }
    for (const bool borrow : attempts) {
      const auto good = [&](const state& s) {
        for (std::size_t d = 0; d < n && !borrow; ++d) {
          if (asks[d] > 0 && over(s, p.queue, d, asks[d])) return false;
        }
        return fits(s, p.queue, asks);
      };
      state s = before_all;
      std::vector<chosen_victim> victims;
      for (const found& f : all) {
        if (f.list != 2) {
          if (borrow && f.never_to_borrower) continue;
          bool owes = true;
          for (const int a : path(f.w->queue)) {
            if (a == f.ancestor) break;
            owes = owes && !within_quota(s, a, contested);
          }
          if (!owes) continue;
        }
        add(s, f.w->queue, f.w->uses, -1);
        victims.push_back({f.w, f.why});
        if (!good(s)) continue;
        fill_back(s, victims, good);
        return victims;
      }
    }
    return {};
  }

  std::vector<chosen_victim> search_fair(const state& before_all, const naive_workload& p,
                                         const naive_amounts& asks, const std::vector<bool>& contested,
                                         const std::set<std::string>& out) const {
    std::vector<const naive_workload*> all;
    const auto root = path(p.queue).back();
    for (const auto& w : workloads) {
      if (!w.running || out.count(w.name) > 0 || !uses_contested(w, contested)) continue;
      if (w.queue == p.queue ? may_take_own(p, w)
                             : path(w.queue).back() == root && may_take_other(p, w) &&
                                   !within_quota(before_all, w.queue, contested)) {
        all.push_back(&w);
      }
    }
    std::sort(all.begin(), all.end(), [&](auto* a, auto* b) { return before(a, b, p.queue); });
    state s = before_all;
    add(s, p.queue, asks);
    const auto good = [&](state t) {
      add(t, p.queue, asks, -1);
      return fits(t, p.queue, asks);
    };
    std::vector<chosen_victim> victims;
    const auto take = [&](const naive_workload* w, const std::string& why) {
      add(s, w->queue, w->uses, -1);
      victims.push_back({w, why});
      return good(s);
    };
    const auto finish = [&] {
      fill_back(s, victims, good);
      return victims;
    };
    const auto sides = [&](int theirs_leaf) {
      const auto mine = path(p.queue);
      const auto theirs = path(theirs_leaf);
      std::size_t i = mine.size(), j = theirs.size();
      while (mine[i - 1] == theirs[j - 1]) --i, --j;
      return std::pair{mine[i - 1], theirs[j - 1]};
    };
    std::map<int, ids> lists;
    for (auto* w : all) lists[w->queue].push_back(w);
    const auto pop = [&](int x) {
      auto* w = lists[x].front();
      lists[x].erase(lists[x].begin());
      return w;
    };
    ids again;
    const bool within = within_quota(s, p.queue, contested);
    std::set<int> pruned;
    for (int x = next_target(s, p.queue, lists, pruned); x >= 0; x = next_target(s, p.queue, lists, pruned)) {
      if (x == p.queue) {
        if (take(pop(x), "priority")) return finish();
        continue;
      }
      if (within) {
        if (take(pop(x), "reclaim")) return finish();
        continue;
      }
      const auto [mine, theirs] = sides(x);
      const ratio asker = share(s, mine);
      const ratio old = share(s, theirs);
      while (!lists[x].empty()) {
        auto* w = pop(x);
        state t = s;
        add(t, w->queue, w->uses, -1);
        const bool hopeless = asker.infinite && !old.infinite;
        const bool ok =
            !hopeless && (final_share ? compare(asker, share(t, theirs)) <= 0 : compare(asker, old) < 0);
        if (ok) {
          if (take(w, "fair_share")) return finish();
          break;
        }
        again.push_back(w);
      }
    }
    if (!final_share || !initial_share) return {};
    lists.clear();
    pruned.clear();
    for (auto* w : again) lists[w->queue].push_back(w);
    for (int x = next_target(s, p.queue, lists, pruned); x >= 0; x = next_target(s, p.queue, lists, pruned)) {
      const auto [mine, theirs] = sides(x);
      auto* w = pop(x);
      if (compare(share(s, mine), share(s, theirs)) < 0 && take(w, "fair_share")) return finish();
      lists[x].clear();
    }
    return {};
  }
  /// The tournament from the root down; -1 when no entry is left.
  int next_target(const state& s, int own, const std::map<int, ids>& lists, std::set<int>& pruned) const {
    const auto up = path(own);
    const auto left = [&](int x) {
      const auto at = lists.find(x);
      return at != lists.end() && !at->second.empty();
    };
    if (up.size() == 1) return left(own) ? own : -1;
    while (pruned.count(up.back()) == 0) {
      for (int x = up.back();;) {
        int leaf = -1, cohort = -1;
        for (const int c : children(x)) {
          if (pruned.count(c) > 0) continue;
          const bool on_path = std::find(up.begin(), up.end(), c) != up.end();
          const bool inner = has_children(c);
          if ((!borrows(s, c) && !on_path) || (!inner && !left(c))) {
            pruned.insert(c);
            continue;
          }
          int& best = inner ? cohort : leaf;
          const int o = best < 0 ? 1 : compare(share(s, c), share(s, best));
          if (o > 0 || (o == 0 && (inner || before(lists.at(c).front(), lists.at(best).front(), own))))
            best = c;
        }
        if (leaf < 0 && cohort < 0) {
          pruned.insert(x);
          break;
        }
        if (cohort < 0 || (leaf >= 0 && compare(share(s, leaf), share(s, cohort)) > 0)) return leaf;
        x = cohort;
      }
    }
    return -1;
  }

  // Flavors.

  /// Whether a is preferred to b: the mode, then how far from the queue it borrows, or the reverse.
  bool better(int x, std::pair<mode, int> a, std::pair<mode, int> b) const {
    if (a.first == no_fit || b.first == no_fit) return a.first > b.first;
    const bool possible = a.first != no_candidates && b.first != no_candidates;
    const bool loan_first =
        possible && q(x).choice.preference == allot::flavor_preference::preemption_over_borrowing;
    if (loan_first && a.second != b.second) return a.second < b.second;
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  }
  void assign(const state& s, entry& e, const std::set<std::string>& out, int pinned) const {
    const naive_workload& w = *e.w;
    const auto& p = q(w.queue).preempt;
    e.m = no_fit;
    e.asks.assign(n, 0);
    e.contested.assign(n, false);
    e.borrows = 0;
    e.next = 0;
    const auto judge = [&](std::size_t d, std::int64_t all) -> std::pair<mode, int> {
      if (all > potential(w.queue, d)) return {no_fit, 0};
      const auto [level, may_reclaim] = lowest(s, w.queue, d, all);
      if (all <= std::max<std::int64_t>(0, available(s, w.queue, d))) return {fit, level};
      const bool on_loan =
          p.borrow != allot::preempt_borrow::never || (fair && p.reclaim != allot::preempt_reclaim::never);
      if (all > q(w.queue).nominal[d] && !may_reclaim && !on_loan) return {no_fit, level};
      naive_amounts asks(n, 0);
      asks[d] = all;
      std::vector<bool> contested(n, false);
      contested[d] = true;
      const auto victims = search(s, w, asks, contested, out);
      if (victims.empty()) return {no_candidates, level};
      state t = s;
      bool own = false;
      for (const auto& v : victims) {
        add(t, v.who->queue, v.who->uses, -1);
        own = own || v.who->queue == w.queue;
      }
      return {own ? preempt : reclaim, lowest(t, w.queue, d, all).first};
    };
    mode all_mode = fit;
    for (std::size_t d = 0; d < n; ++d) {
      if (w.base[d] == 0) continue;
      const auto [m, level] = judge(d, w.base[d]);
      if (m == no_fit) {
        e.asks.assign(n, 0);
        return;
      }
      e.asks[d] = w.base[d];
      e.contested[d] = m != fit;
      e.borrows = std::max(e.borrows, level);
      if (m != fit) all_mode = preempt;
    }
    if (w.options.empty()) {
      e.m = all_mode;
      return;
    }
    mode best = no_fit;
    int best_level = 1 << 20;
    int best_total = 0;
    std::vector<bool> best_contested;
    const std::size_t first = pinned >= 0 ? static_cast<std::size_t>(pinned) : w.cursor;
    const std::size_t end = pinned >= 0 ? first + 1 : w.options.size();
    std::size_t tried = first;
    for (std::size_t i = first; i < end; ++i) {
      tried = i;
      mode worst = fit;
      int worst_level = 0, total = 0;
      std::vector<bool> contested(n, false);
      for (std::size_t d = 0; d < n && worst != no_fit; ++d) {
        if (w.options[i][d] == 0) continue;
        const auto [m, level] = judge(d, e.asks[d] + w.options[i][d]);
        total = std::max(total, level);
        contested[d] = m != fit;
        if (better(w.queue, {worst, worst_level}, {m, level})) {
          worst = m;
          worst_level = level;
        }
      }
      const auto& c = q(w.queue).choice;
      const bool on = worst <= no_candidates ||
                      (worst != fit && c.when_can_preempt == allot::flavor_step::try_next) ||
                      (worst_level > 0 && c.when_can_borrow == allot::flavor_step::try_next);
      if (!on || better(w.queue, {worst, worst_level}, {best, best_level})) {
        best = worst;
        best_level = worst_level;
        best_total = total;
        best_contested = contested;
        e.pick = i;
      }
      if (!on) break;
    }
    if (best == no_fit) {
      e.pick = 0;
      e.asks.assign(n, 0);
      return;
    }
    for (std::size_t d = 0; d < n; ++d) {
      e.asks[d] += w.options[e.pick][d];
      if (best_contested[d]) e.contested[d] = true;
    }
    e.borrows = std::max(e.borrows, best_total);
    const bool is_fit = std::find(best_contested.begin(), best_contested.end(), true) == best_contested.end();
    e.m = is_fit ? all_mode : preempt;
    e.next = tried + 1 == w.options.size() ? 0 : tried + 1;
  }
  void nominate(const state& s, entry& e, const std::set<std::string>& out = {}, int pinned = -1) const {
    e.victims.clear();
    assign(s, e, out, pinned);
    if (e.m == preempt) e.victims = search(s, *e.w, e.asks, e.contested, out);
  }

  // The cycle.

  static bool first(const naive_workload* a, const naive_workload* b) {
    return std::tuple(-a->priority, a->at, a->id) < std::tuple(-b->priority, b->at, b->id);
  }
  naive_workload* head(int x) {
    if (!q(x).strict && sticky_.count(x) > 0) {
      for (auto& w : workloads) {
        if (!w.running && w.name == sticky_[x]) return &w;
      }
    }
    sticky_.erase(x);
    naive_workload* best = nullptr;
    for (auto& w : workloads) {
      if (w.running || w.queue != x || (w.parked && !q(x).strict)) continue;
      if (best == nullptr || first(&w, best)) best = &w;
    }
    return best;
  }
  /// The winner among the entries below x, by the shares including their requests.
  entry* tournament(const state& s, int x, std::vector<entry*>& left) const {
    if (!has_children(x)) {
      const auto at = std::find_if(left.begin(), left.end(), [&](entry* e) { return e->w->queue == x; });
      return at == left.end() ? nullptr : *at;
    }
    entry* best = nullptr;
    bool best_borrows = false;
    ratio best_share;
    for (const int c : children(x)) {
      entry* e = tournament(s, c, left);
      if (e == nullptr) continue;
      state t = s;
      add(t, e->w->queue, e->asks);
      bool b = false;
      for (std::size_t d = 0; d < n; ++d) b = b || (e->asks[d] > 0 && over(t, c, d));
      const ratio r = share(t, c);
      const int o = best == nullptr ? -1 : b != best_borrows ? (b ? 1 : -1) : compare(r, best_share);
      if (o < 0 || (o == 0 && first(e->w, best->w))) {
        best = e;
        best_borrows = b;
        best_share = r;
      }
    }
    return best;
  }
  std::string cycle() {
    parked_someone_ = false;
    ++cycles_;
    for (auto& w : workloads) {
      // The flavor results of the last cycle are kept, older ones are not.
      if (w.cursor_old && !(preserves_scans && w.cursor_set + 1 == cycles_)) w.cursor = 0;
    }
    state s = held();
    std::vector<entry> entries;
    for (std::size_t x = 0; x < quotas.size(); ++x) {
      if (auto* w = head(static_cast<int>(x))) {
        entries.emplace_back();
        entries.back().w = w;
        nominate(s, entries.back());
      }
    }
    std::vector<entry*> left;
    for (auto& e : entries) left.push_back(&e);
    std::sort(left.begin(), left.end(), [](entry* a, entry* b) {
      return a->borrows != b->borrows ? a->borrows < b->borrows : first(a->w, b->w);
    });
    std::vector<const naive_workload*> claimed;
    std::vector<std::string> evictions;
    std::string admissions;
    while (!left.empty()) {
      entry* e = left.front();
      if (fair) {
        int root = 1 << 20;
        for (const auto* o : left) root = std::min(root, path(o->w->queue).back());
        e = tournament(s, root, left);
      }
      left.erase(std::find(left.begin(), left.end(), e));
      process(s, *e, claimed, evictions, admissions);
    }
    for (naive_workload* w : admitted_now_) {
      w->running = true;
      w->since = now_;
    }
    admitted_now_.clear();
    std::sort(evictions.begin(), evictions.end());
    std::string said;
    for (const auto& v : evictions) said += (said.empty() ? "" : " ") + v;
    if (!said.empty() && !admissions.empty()) said += " ";
    return said + admissions;
  }
  void process(state& s, entry& e, std::vector<const naive_workload*>& claimed,
               std::vector<std::string>& evictions, std::string& admissions) {
    naive_workload& w = *e.w;
    const auto overlaps = [&] {
      return std::any_of(e.victims.begin(), e.victims.end(), [&](const chosen_victim& v) {
        return std::find(claimed.begin(), claimed.end(), v.who) != claimed.end();
      });
    };
    const auto without_claimed = [&] {
      state t = s;
      for (const auto* v : claimed) add(t, v->queue, v->uses, -1);
      return t;
    };
    if (recomputes_overlaps && overlaps()) {
      std::set<std::string> out;
      for (const auto* v : claimed) out.insert(v->name);
      nominate(without_claimed(), e, out, static_cast<int>(e.pick));
      if (e.m == fit) {
        add(s, w.queue, e.asks);
        sticky_[w.queue] = w.name;
        return;
      }
    }
    if (e.m == no_fit || (e.m == preempt && e.victims.empty())) {
      if (e.m == preempt && q(w.queue).preempt.reclaim != allot::preempt_reclaim::any) {
        naive_amounts keep(n, 0);
        for (std::size_t d = 0; d < n; ++d) {
          const std::int64_t own = q(w.queue).nominal[d] - usage(s, w.queue, d);
          const std::int64_t limit = e.borrows == 0             ? own
                                     : q(w.queue).borrow[d] < 0 ? e.asks[d]
                                                                : own + q(w.queue).borrow[d];
          keep[d] = std::min(e.asks[d], limit);
          if (e.borrows == 0 || e.asks[d] == 0) keep[d] = std::max<std::int64_t>(0, keep[d]);
          // A negative amount does not reach the cohort.
          const auto reaches = [&] {
            return std::max<std::int64_t>(0, usage(s, w.queue, d) - kept(w.queue, d));
          };
          const std::int64_t before = reaches();
          s[static_cast<std::size_t>(w.queue)][d] += keep[d];
          if (keep[d] < 0) s[static_cast<std::size_t>(q(w.queue).parent)][d] += before - reaches();
        }
      }
      if (sticky_.erase(w.queue) > 0) parked_someone_ = true;
      if (goes_on(e)) return;
      w.cursor = 0;
      // A strict head starts over with its first flavor.
      if (!w.scanned) parked_someone_ = true;
      w.scanned = true;
      if (!q(w.queue).strict) park_like(w);
      return;
    }
    state t = without_claimed();
    for (const auto& v : e.victims) add(t, v.who->queue, v.who->uses, -1);
    if (overlaps() || !fits(t, w.queue, e.asks)) {
      if (sticky_.erase(w.queue) > 0) parked_someone_ = true;
      if (preserves_scans && goes_on(e)) return;
      w.cursor = 0;
      return;
    }
    add(s, w.queue, e.asks);
    for (const auto& v : e.victims) claimed.push_back(v.who);
    w.pick = e.pick;
    if (e.victims.empty()) {
      admitted_now_.push_back(&w);
      w.uses = e.asks;
      w.cursor = 0;
      admissions += (admissions.empty() ? "+" : " +") + w.name;
      if (!w.options.empty()) admissions += "/" + std::to_string(w.pick);
      sticky_.erase(w.queue);
      return;
    }
    sticky_[w.queue] = w.name;
    w.cursor = 0;
    for (const auto& v : e.victims) {
      auto& victim = const_cast<naive_workload&>(*v.who);
      if (victim.leaving) continue;
      evictions.push_back("-" + v.who->name + ":" + v.why + ">" + w.name);
      leaving_now_.push_back(v.who->name);
    }
  }
  /// Whether the next cycle continues with its next flavor.
  bool goes_on(const entry& e) {
    naive_workload& w = *e.w;
    if (e.next == 0 || w.scanned) return false;
    w.cursor = e.next;
    w.cursor_set = cycles_;
    w.cursor_old = false;
    parked_someone_ = true;
    return true;
  }
  void park_like(const naive_workload& like) {
    const auto shape = std::tuple(like.queue, like.priority, like.base, like.options);
    for (auto& w : workloads) {
      if (w.running || std::tuple(w.queue, w.priority, w.base, w.options) != shape) continue;
      w.parked = true;
    }
    parked_someone_ = true;
  }

  std::int64_t now_ = 1'000'000;
  std::int64_t cycles_ = 0;
  std::map<int, std::string> sticky_;
  bool parked_someone_ = false;
  std::vector<std::string> leaving_now_;
  std::vector<naive_workload*> admitted_now_;

 public:
  /// After a step: the victims are being evicted.
  void mark_leaving() {
    for (auto& w : workloads) {
      if (std::find(leaving_now_.begin(), leaving_now_.end(), w.name) != leaving_now_.end()) w.leaving = true;
    }
    leaving_now_.clear();
  }
};

}  // namespace allot_test
