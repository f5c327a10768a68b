// SPDX-License-Identifier: BSL-1.0
//
// A host that is killed and starts again: what its scheduler knows is on disk as text, and so is the decayed
// usage by which its policy orders the teams. Then the same without the restart, for comparison. Machines
// have CPUs, memory and GPUs; night may borrow at most 2 GPUs.
#include <allot/allot.hpp>
#include <allot/fairshare/usage_history.hpp>
#include <allot/scheduler/sentences.hpp>
#include <allot/scheduler/state_text.hpp>

#include <fmt/core.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "own_placement.hpp"

namespace {

using own_placement::amounts;
using own_placement::machines;
using history = allot::usage_history<3>;

amounts of(std::int64_t cpus, std::int64_t gib, std::int64_t gpus) {
  return {allot::quantity::whole(cpus), allot::quantity::whole(gib), allot::gpus(gpus)};
}

/// The database of the host. A job is its name.
struct job {
  std::string team;
  amounts needs{};
  allot::instant submitted = 0;
  std::uint64_t number = 0;
};
const std::map<std::string, job> jobs{
    {"train", {"day", of(16, 64, 4), 1, 1}},    {"sweep", {"night", of(16, 64, 6), 2, 2}},
    {"index", {"night", of(32, 128, 0), 3, 3}}, {"chat", {"day", of(16, 64, 4), 4, 4}},
    {"eval", {"day", of(8, 32, 1), 5, 5}},      {"batch", {"night", of(8, 32, 1), 6, 6}},
    {"tune", {"day", of(8, 32, 4), 7, 7}},      {"scan", {"night", of(8, 32, 4), 8, 8}}};

const allot::quota_tree<3> quotas =
    allot::build_quota_tree<3>(
        {{.name = "lab"},
         {.name = "day", .parent = "lab", .nominal = of(64, 256, 8)},
         {.name = "night",
          .parent = "lab",
          .nominal = of(64, 256, 4),
          .borrow = {allot::limit::all(), allot::limit::all(), allot::limit::at_most(allot::gpus(2))}}})
        .value();

const allot::dimension_names<3> names{"CPUs", "GiB", "GPUs"};

struct jobs_view {
  using job = std::string;
  allot::quota_id quota(const job& j) const { return quotas.find(jobs.at(j).team); }
  amounts request(const job& j) const { return jobs.at(j).needs; }
  int priority(const job&) const { return 0; }
  amounts pod_request(const job& j) const { return jobs.at(j).needs; }
  // Without these two, ties would go by the order in which a new scheduler is told of the jobs.
  allot::instant submitted(const job& j) const { return jobs.at(j).submitted; }
  std::uint64_t id(const job& j) const { return jobs.at(j).number; }
};
/// Teams within their own come first, then the one that has used fewer GPUs lately.
struct within_own_then_past_use {
  const history* past;
  template <std::size_t N>
  auto operator()(const allot::ledger<N>& l, const allot::contender<N>& c) const {
    const allot::least_past_use_first<N> lately{past, 2};
    return std::pair{allot::share_of(l, c).borrows, lately(l, c)};
  }
};
using policies = allot::policies<within_own_then_past_use>;
using scheduler = allot::scheduler<jobs_view, machines, policies>;

/// All that is on disk.
struct saved {
  std::string state;
  std::vector<std::uint64_t> past;
};

class host {
 public:
  host() {
    past_->reset(quotas, 0);
    past_->set_capacity(of(128, 512, 12), 0);
  }
  explicit host(const saved& disk) : host() {
    const auto name = [](const std::string& j) {
      return jobs.count(j) != 0 ? std::optional{j} : std::nullopt;
    };
    const auto machine = [this](const std::string& m) { return lab_.places().find(m); };
    const auto state = allot::state_from_text<std::string, std::size_t>(disk.state, name, machine);
    if (!state || !past_->restore(quotas, disk.past)) {
      fmt::print("  what is on disk does not fit this host\n");
      return;
    }
    const auto answer = lab_.resume(
        state.value(), [this](const auto& u) { return lab_.take_place(jobs.at(u.what).needs, u.where); });
    for (const auto& u : answer.refused) fmt::print("  {} is not known any more\n", u.what);
    // Jobs keep their ids.
    for (const auto& u : state.value().units) ids_[u.what] = u.id;
  }
  [[nodiscard]] saved save() const {
    const auto name = [](const std::string& j) { return j; };
    const auto machine = [this](machines::allocation at) {
      return lab_.places().name(lab_.places().machine_of(at));
    };
    return {to_text(lab_.state(), name, machine), past_->save()};
  }

  void submit(const std::string& name) { ids_[name] = lab_.submit(name); }
  void gone(const std::string& name, allot::instant now) {
    charge(jobs.at(name).needs * -1, name, now);
    lab_.evicted(ids_.at(name));
  }
  void finished(const std::string& name, allot::instant now) {
    charge(jobs.at(name).needs * -1, name, now);
    lab_.finished(ids_.at(name));
    ids_.erase(name);
  }
  void step(allot::instant now) {
    past_->advance(now);
    const auto name_of = [](const std::string& j) { return j; };
    const auto& plan = lab_.step(now);
    for (const auto& e : plan.evictions) fmt::print("  {}\n", sentence(lab_, e, names, name_of));
    for (const auto& r : plan.nominations) fmt::print("  {} is next\n", r.what);
    for (const auto& a : plan.admissions) {
      charge(jobs.at(a.what).needs, a.what, now);
      fmt::print("  {}, on {}\n", sentence(lab_, a, names, name_of),
                 lab_.places().name(lab_.places().machine_of(a.where)));
    }
  }
  void show(const char* team) const {
    fmt::print("  {} has used {} thousandths of the GPUs lately\n", team,
               past_->past_use(quotas.find(team), true, 2) / 1'000'000);
  }

 private:
  void charge(const amounts& more, const std::string& name, allot::instant now) {
    past_->charge(quotas, quotas.find(jobs.at(name).team), more, now);
  }

  std::unique_ptr<history> past_ = std::make_unique<history>(allot::history_settings{.half_life = 100});
  scheduler lab_{jobs_view{}, quotas, machines{{{"gpu-1", of(64, 256, 8)}, {"gpu-2", of(64, 256, 4)}}},
                 policies{.quotas = {past_.get()}}};
  std::map<std::string, allot::job_id> ids_;
};

void story(bool is_killed) {
  auto h = std::make_unique<host>();
  for (const char* name : {"train", "sweep", "index"}) h->submit(name);
  h->step(0);
  fmt::print(" day wants its other 4 GPUs back.\n");
  h->submit("chat");
  h->step(60);
  if (is_killed) {
    const saved disk = h->save();
    h.reset();
    fmt::print(" The process is killed, and starts again from {} numbers and this text:\n{}",
               disk.past.size(), disk.state);
    h = std::make_unique<host>(disk);
  }
  fmt::print(" Two more jobs come, but chat is next.\n");
  for (const char* name : {"eval", "batch"}) h->submit(name);
  h->step(90);
  fmt::print(" sweep has gone.\n");
  h->gone("sweep", 100);
  h->step(100);
  fmt::print(" chat is done. Both teams would borrow, and night has used less lately.\n");
  for (const char* name : {"tune", "scan"}) h->submit(name);
  h->finished("chat", 200);
  h->step(200);
  h->show("day");
  h->show("night");
}

}  // namespace

int main() {
  fmt::print("With a restart:\n");
  story(true);
  fmt::print("\nWithout:\n");
  story(false);
}
