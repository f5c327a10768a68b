// SPDX-License-Identifier: BSL-1.0
// All that a view may have, as it may be written: with integers that are no wider, classes that stand for
// numbers, jobs by value and by reference, helpers of the host's own. No case: all of it compiles, without a
// warning.
#include <allot/scheduler/scheduler.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace {

/// A number with a name, which converts to what it stands for.
class rank {
 public:
  explicit rank(std::int16_t value) : value_(value) {}
  operator std::int16_t() const { return value_; }  // NOLINT(google-explicit-constructor)

 private:
  std::int16_t value_;
};
enum importance { low = -1, high = 1 };

struct training {
  std::string name;
  allot::quota_id team;
  allot::resources<2> each;
  importance important = low;
  bool may_go = true;
  std::uint32_t since = 0;
};

struct nodes {
  using pod_request = int;
  using allocation = int;
  std::optional<allocation> place(pod_request gpus) { return gpus; }
  void release(allocation) noexcept {}
  void vacate(allocation) noexcept {}
  void reoccupy(allocation) noexcept {}
  [[nodiscard]] bool ready(allocation) const { return true; }
  [[nodiscard]] bool could_ever_fit(pod_request) const { return true; }
  [[nodiscard]] std::string why_not(pod_request) const { return "full"; }
  allot::savepoint save() { return {}; }
  void rollback(allot::savepoint) noexcept {}
  void commit(allot::savepoint) noexcept {}
};

/// Everything, with other types than the signatures say.
struct everything {
  using job = const training*;

  const allot::quota_id& quota(job j) const { return j->team; }
  const allot::resources<2>& request(job j) const { return j->each; }
  allot::resources<2> request(const job& j, unsigned pods) const { return j->each * pods; }
  importance priority(job j) const { return j->important; }
  std::uint32_t submitted(job j) const { return j->since; }
  std::uint32_t ready_at(job) const { return 7; }
  int id(job) const { return 7; }
  const bool& preemptible(job j) const { return j->may_go; }
  std::uint32_t duration(job) const { return 60; }
  int pods(job) const { return 4; }
  static std::uint8_t min_pods(job) { return 2; }
  allot::flavor_menu<2> flavors(job, std::uint64_t) const { return {}; }
  unsigned time_limit(job) const noexcept { return 0; }
  std::uint32_t estimate(job) const { return 90; }
  short checkpoint(job) const { return 0; }
  rank restart(job) const { return rank{5}; }
  allot::resources<2> capacity() const { return {}; }
  short pod_request(job) const { return 1; }
  int pod_request(job, std::uint32_t pods) const { return static_cast<int>(pods); }
  std::int8_t pod_request(job, std::uint32_t, const allot::flavor_pick&) const { return 1; }
};

/// What is required, final, with helpers of the host's own.
class least final {
 public:
  using job = std::uint16_t;

  [[nodiscard]] allot::quota_id quota(const job&) const { return allot::quota_id{0}; }
  [[nodiscard]] allot::resources<> request(const job& j) const { return allot::gpus(pod_count(j)); }
  template <class Job>
  [[nodiscard]] auto priority(const Job&) const {
    return rank{3};
  }
  [[nodiscard]] bool preemptible(const job& j) const { return !not_preemptible(j); }

  [[nodiscard]] bool not_preemptible(const job&) const { return false; }
  [[nodiscard]] int pod_count(const job&) const { return 2; }
};

struct oldest_first {
  template <class View>
  std::uint32_t operator()(const View&, const typename View::job&, const allot::queue_settings&) const {
    return 0;
  }
};
struct by_flag {
  template <class View>
  bool operator()(const View&, const typename View::job&, const allot::queue_settings&) const {
    return true;
  }
};

template <class Order>
using by = allot::policies<allot::best_job_first, Order>;

}  // namespace

template class allot::scheduler<everything, nodes>;
template class allot::scheduler<everything, allot::no_placement, by<allot::shortest_first>>;
template class allot::scheduler<least>;
template class allot::scheduler<least, allot::no_placement, by<oldest_first>>;
template class allot::scheduler<least, allot::no_placement, by<by_flag>>;
