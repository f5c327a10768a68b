// SPDX-License-Identifier: BSL-1.0
//
// A scheduler with its own jobs, nodes, queue and loop takes only the parts it lacks: the ledger (how much a
// quota may use), the shortfall (why not), and the victim search (which jobs must be evicted). Nothing here
// derives from anything of the library, and the library never sees a host_job.
#include <allot/preemption/search.hpp>
#include <allot/quota/builder.hpp>
#include <allot/quota/shortfall.hpp>

#include <algorithm>
#include <cstdio>
#include <list>
#include <optional>
#include <string>
#include <vector>

struct host_job {
  int number;
  std::string team;
  int gpus;
  int nice;
  int node = -1;
};

class host {
 public:
  host(std::vector<int> free_gpus, allot::quota_tree<> tree)
      : free_gpus_(std::move(free_gpus)), ledger_(std::move(tree)) {
    running_.resize(ledger_.tree().slots());
  }

  void submit(host_job j) { waiting_.push_back(std::move(j)); }

  /// The host's own loop: the queue in its order, first come, first served; any job that fits starts.
  void schedule() {
    for (auto j = waiting_.begin(); j != waiting_.end();) {
      const auto next = std::next(j);
      if (may_start(*j) || make_room_for(*j)) {
        start(*j);
        jobs_.splice(jobs_.end(), waiting_, j);
      }
      j = next;
    }
  }

 private:
  allot::quota_id quota_of(const host_job& j) const { return ledger_.tree().find(j.team); }
  static allot::resources<> request_of(const host_job& j) { return allot::gpus(j.gpus); }

  std::optional<int> node_for(const host_job& j) const {
    const auto at =
        std::find_if(free_gpus_.begin(), free_gpus_.end(), [&](int free) { return free >= j.gpus; });
    if (at == free_gpus_.end()) return std::nullopt;
    return static_cast<int>(at - free_gpus_.begin());
  }

  //! [headroom]
  bool may_start(const host_job& j) const {
    if (const auto lacks = allot::binding_shortfall(ledger_, quota_of(j), request_of(j))) {
      std::printf("job %d waits: %s lacks %s GPUs\n", j.number,
                  std::string{ledger_.tree().name(lacks->quota)}.c_str(), to_string(lacks->missing).c_str());
      return false;
    }
    return node_for(j).has_value();
  }
  //! [headroom]

  //! [running]
  /// The library's view of a running job; its id is the host's own number.
  allot::running_job<> as_running(const host_job& j) const {
    return {.id = allot::job_id{static_cast<std::size_t>(j.number)},
            .quota = quota_of(j),
            .priority = -j.nice,
            .order = static_cast<std::uint64_t>(j.number),
            .request = request_of(j)};
  }
  //! [running]

  //! [search]
  /// The changes that the search makes to the nodes while it tries.
  struct trial {
    host& h;
    const host_job& beneficiary;

    int& gpus_where(const allot::running_job<>& r) {
      return h.free_gpus_[static_cast<std::size_t>(h.job(r).node)];
    }
    void take_off(const allot::running_job<>& r) { gpus_where(r) += h.job(r).gpus; }
    void put_back(const allot::running_job<>& r) { gpus_where(r) -= h.job(r).gpus; }
    bool could_place() const { return h.node_for(beneficiary).has_value(); }
  };

  bool make_room_for(const host_job& j) {
    const allot::beneficiary<1> who{.quota = quota_of(j), .request = request_of(j), .priority = -j.nice};
    const std::vector<int> nodes_before = free_gpus_;
    const allot::savepoint before = ledger_.save();
    trial world{*this, j};
    if (search_.run(ledger_, running_, who, world) != allot::search_outcome::found) {
      ledger_.rollback(before);
      free_gpus_ = nodes_before;
      return false;
    }
    ledger_.commit(before);
    for (const auto& v : search_.victims()) {
      const host_job& gone = job(v.job);
      std::printf("job %d of %s is killed for job %d\n", gone.number, gone.team.c_str(), j.number);
      running_.erase(v.job);
      jobs_.remove_if([&](const host_job& k) { return k.number == gone.number; });
    }
    return true;
  }
  //! [search]

  //! [start]
  void start(host_job& j) {
    j.node = *node_for(j);
    free_gpus_[static_cast<std::size_t>(j.node)] -= j.gpus;
    ledger_.charge(quota_of(j), request_of(j));
    running_.insert(as_running(j));
    std::printf("job %d of %s starts on node %d with %d GPUs\n", j.number, j.team.c_str(), j.node, j.gpus);
  }
  //! [start]

  const host_job& job(const allot::running_job<>& r) const {
    return *std::find_if(jobs_.begin(), jobs_.end(),
                         [&](const host_job& j) { return j.number == static_cast<int>(r.order); });
  }

  std::vector<int> free_gpus_;
  allot::ledger<> ledger_;
  allot::running_index<> running_;
  allot::victim_search<1, allot::lowest_priority_then_highest_share, allot::eligible_is_fair> search_;
  std::list<host_job> waiting_;
  std::list<host_job> jobs_;
};

int main() {
  //! [tree]
  auto tree = allot::build_quota_tree<1>({{.name = "site"},
                                          {.name = "physics", .parent = "site", .nominal = allot::gpus(8)},
                                          {.name = "biology", .parent = "site", .nominal = allot::gpus(8)}});
  for (const auto& p : tree.problems()) std::printf("%s\n", p.text.c_str());
  if (!tree) return 1;
  //! [tree]

  host site{{8, 8}, tree.value()};
  for (int n = 1; n <= 4; ++n) site.submit({n, "physics", 4, 0});  // 16 GPUs: 8 of them are biology's
  site.schedule();
  site.submit({5, "biology", 8, 0});  // needs a whole node
  site.submit({6, "physics", 4, 0});
  site.schedule();
}
