// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/assert.hpp>
#include <allot/core/journal.hpp>
#include <allot/core/quantity.hpp>
#include <allot/core/time.hpp>
#include <allot/gpu/cluster.hpp>
#include <allot/gpu/detail/allocation_table.hpp>
#include <allot/gpu/free_index.hpp>
#include <allot/gpu/outage.hpp>
#include <allot/gpu/pod_request.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace allot {
inline namespace v0 {
namespace gpu {

/// Which pods are placed on which GPUs, which allocations are being evicted, and which nodes are closed; with
/// undo. This is what an inventory knows of its allocations once they are placed (see `basic_inventory`).
///
/// An allocation is *placed*, then either released directly, or first *vacating*: its job is being evicted,
/// so its GPUs count as free but are held until the release, and an allocation placed on them is not `ready`
/// before that.
///
/// Every function takes any id. An id that denotes no allocation (none, released, from another inventory that
/// has issued more) has no pods, and a node that does not exist counts as closed. Operations that are not
/// possible return false and change nothing. Only savepoints are unchecked: they must be its own and be
/// closed in order (`ALLOT_ASSERT`).
class occupancy {
 public:
  using allocation = allocation_id;

  /// The job has left its devices: they are free, and its id becomes invalid. False if there was no such
  /// allocation. O(its pods).
  bool release(allocation a) noexcept {
    const auto was = table_.status_of(a);
    if (was == status::unused) return false;
    while (table_.has_pods(a)) remove_last(a, was);
    table_.close(a);
    note({change::released, was == status::vacating, a, {}});
    return true;
  }

  /// Its job is being evicted: what it has counts as free from now on, but is held until `release`. False
  /// unless it is placed. O(its pods).
  bool vacate(allocation a) noexcept {
    if (table_.status_of(a) != status::placed) return false;
    give_up(a);
    note({change::vacated, false, a, {}});
    return true;
  }

  /// The eviction is cancelled: undoes `vacate`, also on closed nodes. False unless it is vacating and
  /// nothing it had has been given away. O(its pods).
  bool reoccupy(allocation a) noexcept {
    if (table_.status_of(a) != status::vacating) return false;
    const auto pods = table_.pods(a);
    for (auto p = pods.begin(); p != pods.end(); ++p) {
      // One at a time, because two of them may share a device.
      if (!index_.is_free_for(*p)) {
        for (auto back = pods.begin(); back != p; ++back) give_up(*back);
        return false;
      }
      take_back(*p);
    }
    table_.set_status(a, status::placed);
    note({change::reoccupied, false, a, {}});
    return true;
  }

  /// Whether its job can start: none of its devices is held by a vacating allocation. (A shared device may
  /// be, if there is room for all that use and hold it.) False for a vacating allocation. O(its pods).
  [[nodiscard]] bool ready(allocation a) const {
    if (table_.status_of(a) != status::placed) return false;
    const auto pods = table_.pods(a);
    return allot::detail::all_of(pods.begin(), pods.end(),
                                 [this](const placed_pod& p) { return index_.is_ready(p); });
  }
  /// Whether its place is still usable: none of its nodes is closed. (Nothing else invalidates a place: a
  /// cluster and the modes of its GPUs do not change.) O(its pods).
  [[nodiscard]] bool usable(allocation a) const {
    if (!table_.contains(a)) return false;
    const auto pods = table_.pods(a);
    return allot::detail::none_of(pods.begin(), pods.end(),
                                  [this](const placed_pod& p) { return index_.is_closed(p.where.node); });
  }

  /// Whether a job of that request could start there now: it is usable, and none of its nodes goes down
  /// before the job has ended. O(its pods x outages).
  [[nodiscard]] bool usable(allocation a, const pod_request& r) const {
    bool is_lost = !usable(a);
    outages_.for_each_met(r.estimate, [&](node_id n) {
      for_each_node(a, [&](std::size_t own) { is_lost = is_lost || own == n.index(); });
    });
    return !is_lost;
  }

  /// Nothing new is placed on the node from now on, because it has failed or is being drained; what runs
  /// there stays until it is released. No effect if the node is closed. False if there is no such node.
  /// O(devices of the node).
  bool close(node_id n) {
    if (!layout().contains(n)) return false;
    if (index_.is_closed(n)) return true;
    index_.close(n);
    note({change::closed, false, {}, {{n, 0}}});
    return true;
  }
  /// Undoes `close`. No effect if the node is not closed. False if there is no such node.
  bool reopen(node_id n) {
    if (!layout().contains(n)) return false;
    if (!index_.is_closed(n)) return true;
    index_.open(n);
    note({change::reopened, false, {}, {{n, 0}}});
    return true;
  }
  [[nodiscard]] bool is_closed(node_id n) const { return !layout().contains(n) || index_.is_closed(n); }

  /// All outages that are known, in place of those known before. The host still closes and reopens the nodes
  /// when their time comes. Until then nothing is placed on one of them that has an estimate
  /// `before_outages` and would not have ended; nor anything else as of a time at which it is out. Of nodes
  /// that do not exist nothing is known. Precondition: no savepoint is open. O(n log n).
  void expect_outages(vector<outage> all) {
    ALLOT_ASSERT(!journal_.recording(), "what is rolled back would have closed nodes otherwise");
    erase_if(all, [this](const outage& o) { return !layout().contains(o.node); });
    outages_.know(std::move(all));
  }
  /// Those known, by their beginning.
  [[nodiscard]] std::span<const outage> outages() const noexcept { return outages_.all(); }
  /// @{
  /// What `foreseeing_placement` asks for.
  [[nodiscard]] instant next_change(instant after) const { return outages_.next_change(after); }
  void look_ahead(instant at) {
    outages_.look_ahead(at);
    outages_.for_each_over([this](node_id n) { reopen(n); });
  }
  /// @}
  /// Calls `visit(allocation)` for each allocation with pods on the node, including vacating ones, by id.
  /// O(all pods).
  template <class Visit>
  void for_each_on(node_id n, Visit visit) const {
    table_.for_each_on(n, visit);
  }

  /// Remembers this state. Savepoints are closed innermost first, either by restoring it bit for bit,
  /// including the ids that will be issued, or by keeping what was done since. O(changes since).
  [[nodiscard]] allot::savepoint save() noexcept { return journal_.open(); }
  void rollback(allot::savepoint s) noexcept {
    journal_.rollback(s, [this](const entry& e) { undo(e); });
  }
  void commit(allot::savepoint s) noexcept { journal_.commit(s); }

  /// The time by the host's clock: from here the estimates of what is placed count. No savepoint restores it.
  /// Without effect unless the policy cares when pods end, or outages are known.
  void set_now(instant now) noexcept {
    index_.set_now(now);
    outages_.set_now(now);
  }

  /// The clock was wrong by that span: it moves, and so do the expected ends of all that is placed. Without
  /// effect unless the policy cares, or outages are known. Precondition: no savepoint is open. O(pods).
  void rebase(instant by) {
    ALLOT_ASSERT(!journal_.recording(), "what is rolled back would have times of another clock");
    outages_.rebase(by);
    if (!index_.ends().recording()) return;
    index_.set_now(allot::detail::moved(index_.ends().now(), by));
    table_.for_each([&](allocation a) {
      if (!table_.has_pods(a)) return;
      const instant end = (*table_.pods(a).begin()).end;
      if (end != without_end) expect_end(a, allot::detail::moved(end, by));
    });
  }
  /// Its job is expected to end then, earlier or later than its estimate said (`without_end`: no one knows).
  /// Without effect unless the policy cares when pods end. False if there is no such allocation. O(its pods).
  bool expect_end(allocation a, instant end) {
    const auto is = table_.status_of(a);
    if (is == status::unused) return false;
    if (!index_.ends().recording() || !table_.has_pods(a)) return true;
    const instant before = (*table_.pods(a).begin()).end;
    change_end(a, end);
    note({change::end_moved, false, a, {.where = {}, .end = before}});
    return true;
  }

  /// The nodes, and which of their devices are free, used or held.
  [[nodiscard]] const cluster& layout() const noexcept { return index_.layout(); }
  [[nodiscard]] const free_index& index() const noexcept { return index_; }

  /// GPUs of these pools. `free` includes what vacating allocations hold and the gaps of shared devices, but
  /// nothing on closed nodes: that is `closed`.
  [[nodiscard]] quantity total(std::uint64_t pools = all_pools) const { return layout().gpus_in(pools); }
  [[nodiscard]] quantity used(std::uint64_t pools = all_pools) const { return index_.used_in(pools); }
  [[nodiscard]] quantity free(std::uint64_t pools = all_pools) const { return index_.free_in(pools); }
  [[nodiscard]] quantity closed(std::uint64_t pools = all_pools) const { return index_.closed_in(pools); }
  /// What vacating allocations still hold.
  [[nodiscard]] quantity held(std::uint64_t pools = all_pools) const { return index_.held_in(pools); }

  /// The number of allocations, including vacating ones.
  [[nodiscard]] std::size_t size() const noexcept { return table_.size(); }
  /// Whether this id denotes an allocation.
  [[nodiscard]] bool contains(allocation a) const noexcept { return table_.contains(a); }
  [[nodiscard]] bool is_vacating(allocation a) const noexcept {
    return table_.status_of(a) == status::vacating;
  }
  /// Its pods, in placement order: node, devices, and how much of each device.
  [[nodiscard]] allocation_table::pod_range pods(allocation a) const noexcept { return table_.pods(a); }
  /// Calls `visit(node number)` for each of its pods, in placement order.
  template <class Visit>
  void for_each_node(allocation a, Visit visit) const {
    for (const placed_pod& p : table_.pods(a)) visit(p.where.node.index());
  }
  /// Whether both have the same pods in the same places under the same ids, and would issue the same ids.
  /// Savepoints are not compared.
  friend bool operator==(const occupancy& a, const occupancy& b) {
    return a.table_ == b.table_ && a.index_ == b.index_;
  }

 protected:
  explicit occupancy(cluster layout) : index_(std::move(layout)) {}
  /// For policies that care when pods end. Precondition: there are no pods.
  void record_ends() { index_.record_ends(); }
  occupancy(const occupancy&) = default;
  occupancy& operator=(const occupancy&) = default;
  occupancy(occupancy&&) noexcept = default;
  occupancy& operator=(occupancy&&) noexcept = default;
  ~occupancy() = default;

  /// A new allocation, without pods yet.
  [[nodiscard]] allocation open() {
    const allocation a = table_.open();
    note({change::opened, false, a, {}});
    return a;
  }
  /// Precondition: the pod fits there, and the allocation exists and is placed.
  void add(const placed_pod& pod, allocation a) {
    index_.occupy(pod);
    table_.add_pod(a, pod);
    note({change::pod_added, false, a, {}});
  }

  /// Returns what `place()` returns while all nodes are closed that are out at some time of such a run.
  template <class Place>
  [[nodiscard]] auto before_outages(const run_estimate& run, Place place) {
    if (outages_.all().empty()) return place();
    const closed_meanwhile closed{*this, run};
    return place();
  }

  /// Whether there is such a node that is open now.
  [[nodiscard]] bool meets_outages(const run_estimate& run) const {
    bool some = false;
    outages_.for_each_met(run, [&](node_id n) { some = some || !is_closed(n); });
    return some;
  }

  /// No outage is known.
  void forget_outages() { outages_.know({}); }
  /// Nothing is placed, all nodes are open, and no outage is known.
  void clear() {
    forget_outages();
    table_.for_each([this](allocation a) { release(a); });
    for (std::size_t n = 0; n < layout().size(); ++n) reopen(node_id{n});
  }

 private:
  using status = allocation_table::status;

  enum class change : std::uint8_t {
    opened,
    pod_added,
    pod_removed,
    released,
    vacated,
    reoccupied,
    closed,
    reopened,
    end_moved,
  };
  struct entry {
    change what{};
    /// released: it was vacating.
    bool was_vacating = false;
    allocation which;
    /// pod_removed: the pod; closed and reopened: the node; end_moved: the end before.
    placed_pod pod;
  };

  /// Nodes that were open before and will be after it.
  class closed_meanwhile {
   public:
    closed_meanwhile(occupancy& of, const run_estimate& run) : of_(of), before_(of.out_.size()) {
      of.outages_.for_each_met(run, [&](node_id n) {
        if (of.is_closed(n)) return;
        of.close(n);
        of.out_.push_back(n);
      });
    }
    closed_meanwhile(const closed_meanwhile&) = delete;
    closed_meanwhile& operator=(const closed_meanwhile&) = delete;
    ~closed_meanwhile() {
      for (; of_.out_.size() > before_; of_.out_.pop_back()) of_.reopen(of_.out_.back());
    }

   private:
    occupancy& of_;
    std::size_t before_;
  };

  void note(const entry& e) {
    if (journal_.recording()) journal_.record(e);
  }

  void remove_last(allocation a, status is) {
    const placed_pod pod = table_.remove_last_pod(a);
    is == status::placed ? index_.leave(pod) : index_.let_go(pod);
    note({change::pod_removed, false, a, pod});
  }

  void give_up(allocation a) {
    for (const placed_pod& p : table_.pods(a)) give_up(p);
    table_.set_status(a, status::vacating);
  }
  void give_up(const placed_pod& p) { index_.give_up(p); }
  void take_back(const placed_pod& p) { index_.take_back(p); }

  void change_end(allocation a, instant end) {
    const bool is_placed = table_.status_of(a) == status::placed;
    for (const placed_pod& p : table_.pods(a)) {
      if (is_placed) index_.move_end(p, end);
    }
    table_.set_end(a, end);
  }

  void undo(const entry& e) {
    switch (e.what) {
      case change::opened:
        table_.undo_open(e.which);
        break;
      case change::pod_added:
        index_.leave(table_.remove_last_pod(e.which));
        break;
      case change::pod_removed:
        table_.status_of(e.which) == status::placed ? index_.occupy(e.pod) : index_.hold(e.pod);
        table_.add_pod(e.which, e.pod);
        break;
      case change::released:
        table_.undo_close(e.which, e.was_vacating ? status::vacating : status::placed);
        break;
      case change::vacated:
        for (const placed_pod& p : table_.pods(e.which)) take_back(p);
        table_.set_status(e.which, status::placed);
        break;
      case change::reoccupied:
        give_up(e.which);
        break;
      case change::closed:
        index_.open(e.pod.where.node);
        break;
      case change::reopened:
        index_.close(e.pod.where.node);
        break;
      case change::end_moved:
        change_end(e.which, e.pod.end);
        break;
    }
  }

  free_index index_;
  allocation_table table_;
  journal<entry> journal_;
  detail::outage_list outages_;
  /// Closed for as long as something is placed that they would cut off.
  vector<node_id> out_;
};

}  // namespace gpu
}  // namespace v0
}  // namespace allot
