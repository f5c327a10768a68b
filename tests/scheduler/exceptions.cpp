// SPDX-License-Identifier: BSL-1.0
// What a call leaves behind that an exception of the host's view, placement or policies has ended.
#include <allot/presets/standard.hpp>
#include <allot/scheduler/scheduler.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using allot::gpus;
using allot::instant;
using allot::job_id;
using allot::job_state;

namespace {

struct burnt {};
/// Throws in the call after the next `left`, if that is not negative; then not again.
struct fuse {
  int left = -1;
  void burn() {
    if (left >= 0 && left-- == 0) throw burnt{};
  }
};

/// A job of equal pods, in the first of two pools or, if it chooses, in either.
struct job_of_host {
  std::uint64_t number = 0;
  allot::quota_id quota;
  std::int64_t each = 1;
  std::uint32_t pods = 1;
  std::uint32_t min_pods = 1;
  bool chooses = false;
};

/// Two pools of GPUs.
class pools {
 public:
  struct pod_request {
    std::int64_t gpus = 0;
    std::size_t pool = 0;
    friend bool operator==(const pod_request&, const pod_request&) = default;
  };
  using allocation = pod_request;
  using savepoint = std::array<std::int64_t, 2>;

  explicit pools(fuse& of) : fuse_(&of) {}
  [[nodiscard]] std::optional<allocation> place(const pod_request& r) {
    if (r.gpus > free_[r.pool]) return std::nullopt;
    free_[r.pool] -= r.gpus;
    // Too late, as far as it is concerned.
    fuse_->burn();
    return r;
  }
  void release(allocation a) noexcept { free_[a.pool] += a.gpus; }
  void vacate(allocation a) noexcept { free_[a.pool] += a.gpus; }
  void reoccupy(allocation a) noexcept { free_[a.pool] -= a.gpus; }
  [[nodiscard]] bool ready(allocation) const { return true; }
  [[nodiscard]] bool could_ever_fit(const pod_request& r) const {
    fuse_->burn();
    return r.gpus <= 12;
  }
  [[nodiscard]] std::int64_t why_not(const pod_request& r) const {
    fuse_->burn();
    return r.gpus;
  }
  [[nodiscard]] savepoint save() {
    ++open_;
    return free_;
  }
  void rollback(savepoint s) noexcept {
    --open_;
    free_ = s;
  }
  void commit(savepoint) noexcept { --open_; }

  [[nodiscard]] int open() const { return open_; }
  [[nodiscard]] const savepoint& free() const { return free_; }

 private:
  fuse* fuse_;
  std::array<std::int64_t, 2> free_{12, 12};
  int open_ = 0;
};

/// All that a view can show, each with the fuse.
struct shown {
  using job = const job_of_host*;
  fuse* of = nullptr;

  template <class T>
  T say(T what) const {
    of->burn();
    return what;
  }
  [[nodiscard]] allot::quota_id quota(job j) const { return say(j->quota); }
  [[nodiscard]] allot::resources<2> request(job j) const { return request(j, j->pods); }
  [[nodiscard]] allot::resources<2> request(job j, std::uint32_t of_pods) const {
    return say(allot::resources<2>{gpus(j->chooses ? 0 : j->each * of_pods), allot::quantity{}});
  }
  [[nodiscard]] allot::flavor_menu<2> flavors(job j, std::uint32_t of_pods) const {
    allot::flavor_menu<2> menu;
    const allot::quantity all = gpus(j->each * of_pods), none;
    const std::array<allot::resources<2>, 2> options{allot::resources<2>{all, none},
                                                     allot::resources<2>{none, all}};
    if (j->chooses) menu.add_group(options);
    return say(menu);
  }
  [[nodiscard]] pools::pod_request pod_request(job j) const { return pod_request(j, j->pods, {}); }
  [[nodiscard]] pools::pod_request pod_request(job j, std::uint32_t of_pods,
                                               const allot::flavor_pick& pick) const {
    return say(pools::pod_request{j->each * of_pods, pick[0]});
  }
  [[nodiscard]] std::int64_t priority(job) const { return say(0); }
  [[nodiscard]] instant submitted(job j) const { return say(static_cast<instant>(j->number)); }
  [[nodiscard]] std::uint64_t id(job j) const { return say(j->number); }
  [[nodiscard]] bool preemptible(job) const { return say(true); }
  [[nodiscard]] std::uint32_t pods(job j) const { return say(j->pods); }
  [[nodiscard]] std::uint32_t min_pods(job j) const { return say(j->min_pods); }
  [[nodiscard]] instant time_limit(job) const { return say(instant{50}); }
  [[nodiscard]] instant estimate(job) const { return say(instant{20}); }
  [[nodiscard]] instant checkpoint(job) const { return say(instant{5}); }
  [[nodiscard]] instant restart(job) const { return say(instant{1}); }
  [[nodiscard]] bool is_charged_by_place(job) const { return say(true); }
  [[nodiscard]] allot::resources<2> request_at(job, const allot::resources<2>& asked, const pools&,
                                               const pools::allocation&) const {
    return say(asked);
  }
};

struct oldest_first {
  [[nodiscard]] std::int64_t operator()(const shown& view, const job_of_host* j,
                                        const allot::queue_settings&) const {
    return static_cast<std::int64_t>(view.say(j->number));
  }
};

constexpr std::size_t job_count = 8;

/// A host of these jobs, the first four of which have been submitted. All that its scheduler tells is in its
/// diary.
struct world {
  using policies = allot::policies<allot::within_nominal_then_borrowed_share, oldest_first>;
  using scheduler = allot::scheduler<shown, pools, policies>;

  world() : s(fresh()) {
    const allot::quota_id a = s.tree().find("a"), b = s.tree().find("b");
    jobs = {{0, b, 5}, {1, b, 2, 1, 1, true}, {2, a, 1, 3, 1},       {3, a, 6},
            {4, a, 1}, {5, a, 1, 3, 2},       {6, a, 2, 1, 1, true}, {7, b, 2, 2, 1, true}};
    allot::queue_settings reserves;
    reserves.head = allot::queue_head::reserve;
    CHECK(s.configure(a, reserves).empty());
    for (std::size_t i = 0; i < 4; ++i) ids[i] = s.submit(&jobs[i]);
    step();
  }
  world(const world&) = delete;
  world& operator=(const world&) = delete;

  [[nodiscard]] scheduler fresh() {
    return scheduler{
        shown{&burns},
        allot::build_quota_tree<2>({{.name = "root"},
                                    {.name = "a", .parent = "root", .nominal = {gpus(4), gpus(4)}},
                                    {.name = "b", .parent = "root", .nominal = {gpus(4), gpus(4)}}})
            .value(),
        pools{burns}};
  }
  void note(const char* what, job_id id) {
    diary += what + std::to_string(id.index()) + '.' + std::to_string(id.generation());
  }
  void step() {
    const auto& plan = s.step(++now);
    std::vector<job_id> gone;
    for (const auto& e : plan.evictions) note(" -", e.id), gone.push_back(e.id);
    for (const auto& r : plan.nominations) note(" ~", r.id);
    for (const auto& a : plan.admissions) note(" +", a.id);
    for (const auto& h : plan.pending) note(" ?", h.id);
    for (const job_id id : gone) CHECK(s.evicted(id) == allot::refusal::none);
    look();
  }
  /// What the books say.
  void look() {
    for (const allot::quota_id x : s.tree().top_down()) {
      for (std::size_t d = 0; d < 2; ++d) {
        diary += ' ' + to_string(s.ledger().own_usage(x, d)) + '/' + to_string(s.assumed().own_usage(x, d)) +
                 '/' + to_string(s.requested(x)[d]);
      }
      diary += ',' + std::to_string(s.waiting(x));
    }
    diary += ' ' + std::to_string(s.places().free()[0]) + ' ' + std::to_string(s.places().free()[1]);
    if (const auto next = s.wakes_at()) diary += '@' + std::to_string(*next);
    CHECK(s.places().open() == 0);
    diary += '\n';
  }
  /// To the end of all jobs.
  void go_on() {
    look();
    for (int i = 0; i < 12; ++i) {
      step();
      for (const job_id id : ids) {
        if (s.state(id) != job_state::running) continue;
        CHECK(s.finished(id) == allot::refusal::none);
        break;
      }
    }
  }

  fuse burns;
  std::vector<job_of_host> jobs;
  scheduler s;
  std::array<job_id, job_count> ids{};
  std::string diary;
  instant now = 0;
};

/// A call that is ended by an exception at any of the host's functions that it calls has changed nothing:
/// made again, it does what it does in a world in which it was not tried before, and all goes on as there.
void check(const std::function<void(world&)>& prepare, const std::function<void(world&)>& call) {
  int thrown = 0;
  for (bool did_throw = true; did_throw; ++thrown) {
    REQUIRE(thrown < 1000);
    CAPTURE(thrown);
    world tried, other;
    prepare(tried);
    prepare(other);
    did_throw = false;
    tried.burns.left = thrown;
    try {
      call(tried);
    } catch (const burnt&) {
      did_throw = true;
    }
    tried.burns.left = -1;
    if (did_throw) call(tried);
    call(other);
    tried.go_on();
    other.go_on();
    REQUIRE(tried.diary == other.diary);
  }
  CHECK(thrown > 1);
}
void nothing(world&) {}

/// Takes a place for a job, as a host does before it lets it be adopted.
[[nodiscard]] std::function<void(world&)> taken(std::int64_t of_gpus, std::size_t in) {
  return [=](world& w) { CHECK(w.s.unchecked_places().place({of_gpus, in}).has_value()); };
}
void keep(world& w, std::size_t job, allot::submission answer) {
  CHECK(answer.why_not == allot::refusal::none);
  w.ids[job] = answer.id;
  w.note(" =", answer.id);
}

}  // namespace

TEST_CASE("exceptions: a job that could not be read is not submitted") {
  for (std::size_t job = 4; job < job_count; ++job) {
    CAPTURE(job);
    check(nothing, [=](world& w) { keep(w, job, w.s.submit(&w.jobs[job])); });
  }
}

TEST_CASE("exceptions: a job that could not be read is not adopted") {
  check(taken(1, 0), [](world& w) { keep(w, 4, w.s.adopt(&w.jobs[4], 0, {1, 0})); });
  // Elastic ones go on growing.
  check(taken(2, 0), [](world& w) { keep(w, 5, w.s.adopt(&w.jobs[5], 0, {2, 0})); });
  check(taken(2, 1), [](world& w) { keep(w, 6, w.s.adopt(&w.jobs[6], 0, {2, 1}, {1})); });
  check(taken(2, 1), [](world& w) { keep(w, 7, w.s.adopt(&w.jobs[7], 0, {2, 1}, {1})); });
}

TEST_CASE("exceptions: a pod that could not be read is not adopted") {
  const auto prepare = [](world& w) {
    taken(2, 1)(w);
    keep(w, 7, w.s.adopt(&w.jobs[7], 0, {2, 1}, {1}));
    taken(2, 1)(w);
  };
  check(prepare, [](world& w) {
    const allot::submission pod = w.s.adopt_elastic_pod(w.ids[7], 0, {2, 1});
    CHECK(pod);
    w.note(" =", pod.id);
  });
}

TEST_CASE("exceptions: a job that could not be read starts when it was assumed to") {
  check(nothing, [](world& w) { CHECK(w.s.started(w.ids[0], 17) == allot::refusal::none); });
}

TEST_CASE("exceptions: why a job waits can be asked again") {
  // There is room for it by now, so a place is tried.
  const auto prepare = [](world& w) {
    CHECK(w.s.finished(w.ids[0]) == allot::refusal::none);
    keep(w, 4, w.s.submit(&w.jobs[4]));
  };
  const auto call = [](world& w) {
    for (const job_id id : w.ids) {
      w.diary += ' ';
      w.diary += to_string(w.s.why(id).reason);
    }
    for (const allot::quota_id x : w.s.tree().top_down()) static_cast<void>(w.s.waiting_by_reason(x));
  };
  // What was said before the exception is no matter.
  check(prepare, [&](world& w) {
    const std::string before = w.diary;
    try {
      call(w);
    } catch (const burnt&) {
      w.diary = before;
      throw;
    }
  });
}

TEST_CASE("exceptions: after a step that was ended by one a scheduler can be replaced, and that is all") {
  int thrown = 0;
  for (bool did_throw = true; did_throw; ++thrown) {
    REQUIRE(thrown < 1000);
    world w;
    for (std::size_t job = 4; job < job_count; ++job) keep(w, job, w.s.submit(&w.jobs[job]));
    CHECK(w.s.finished(w.ids[0]) == allot::refusal::none);
    did_throw = false;
    w.burns.left = thrown;
    try {
      static_cast<void>(w.s.step(w.now));
    } catch (const burnt&) {
      did_throw = true;
    }
    w.burns.left = -1;
    w.s = w.fresh();
    w.ids = {};
    keep(w, 4, w.s.submit(&w.jobs[4]));
    w.step();
    CHECK(w.s.state(w.ids[4]) == job_state::running);
  }
  CHECK(thrown > 10);
}
