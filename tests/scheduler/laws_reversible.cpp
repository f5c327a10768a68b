// SPDX-License-Identifier: BSL-1.0
// Law 8: rollback restores ledger and inventory bit for bit, whatever is nested in what. (That a whole step
// which decides nothing leaves no trace is checked with the other laws.)
#include <allot/gpu/cluster.hpp>
#include <allot/gpu/inventory.hpp>
#include <allot/quota/builder.hpp>
#include <allot/quota/ledger.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/property.hpp"
#include "tests/support/scenario.hpp"

using allot_test::random_source;
using allot_test::scenario;

namespace {

enum class action : std::uint8_t { save, roll_back, commit, start, stop, vacate, reoccupy };

struct deed {
  action what = action::save;
  /// Which of the jobs (start) or of those with a place (the rest), in turn.
  std::size_t which = 0;
};
struct story {
  scenario world;
  std::vector<deed> deeds;
};

void showValue(const story& s, std::ostream& os) {
  showValue(s.world, os);
  const char* const verbs[] = {"save", "roll back", "commit", "start", "stop", "vacate", "reoccupy"};
  for (const deed& d : s.deeds) {
    os << "  " << verbs[static_cast<std::size_t>(d.what)];
    if (d.what >= action::start) os << ' ' << d.which;
    os << '\n';
  }
}

rc::Gen<story> stories() {
  allot_test::scenario_shape shape;
  shape.most_jobs = 8;
  return [shape](const rc::Random& random, int size) {
    rc::Random drawn = random;
    random_source source{drawn.next()};
    story s;
    s.world = allot_test::detail::drawn_scenario(source, static_cast<std::size_t>(size), shape);
    s.world.events.clear();
    if (s.world.nodes == 0) s.world.nodes = 1, s.world.gpus_per_node = source.between(1, 8);
    constexpr action likely[] = {action::save,   action::save,    action::roll_back, action::commit,
                                 action::start,  action::start,   action::start,     action::stop,
                                 action::vacate, action::reoccupy};
    for (std::size_t n = source.below(static_cast<std::size_t>(size) + 4); n > 0; --n) {
      s.deeds.push_back({source.pick(likely), source.below(16)});
    }
    return rc::shrinkable::shrinkRecur(std::move(s), [](const story& long_one) {
      std::vector<story> shorter;
      for (std::size_t i = long_one.deeds.size(); i-- > 0;) {
        shorter.push_back(long_one);
        shorter.back().deeds.erase(shorter.back().deeds.begin() + static_cast<std::ptrdiff_t>(i));
      }
      allot_test::detail::take_away(long_one.world, [&](scenario&& world) {
        if (!world.jobs.empty() && world.nodes > 0) shorter.push_back({std::move(world), long_one.deeds});
      });
      return rc::seq::fromContainer(std::move(shorter));
    });
  };
}

allot::gpu::cluster cluster_of(const scenario& s) {
  allot::gpu::node_spec node;
  node.name = "n";
  node.count = s.nodes;
  node.gpus = s.gpus_per_node;
  return allot::gpu::build_cluster({node}).value();
}

/// A ledger and an inventory in which jobs are added and removed.
class books {
 public:
  explicit books(const scenario& s)
      : now_{allot::ledger<2>{allot::build_quota_tree(allot_test::specs_of<2>(s)).value()},
             allot::gpu::inventory{cluster_of(s)},
             {}} {
    for (const auto& j : s.jobs) {
      allot::resources<2> request;
      for (std::size_t d = 0; d < 2; ++d) request[d] = allot::quantity::milli(j.request[d]);
      wanted_.push_back({now_.ledger.tree().find("q" + std::to_string(j.quota)),
                         request,
                         j.preemptible ? allot::capacity_kind::any : allot::capacity_kind::guaranteed,
                         {},
                         false});
    }
  }

  void act(const deed& d) {
    switch (d.what) {
      case action::save:
        open_.push_back({now_, now_.ledger.save(), now_.inventory.save()});
        break;
      case action::roll_back:
        if (!open_.empty()) roll_back();
        break;
      case action::commit:
        if (open_.empty()) break;
        now_.inventory.commit(open_.back().in_inventory);
        now_.ledger.commit(open_.back().in_ledger);
        open_.pop_back();
        break;
      case action::start:
        start(wanted_[d.which % wanted_.size()]);
        break;
      default:
        if (!now_.standing.empty()) act_on(d.which % now_.standing.size(), d.what);
        break;
    }
  }
  /// Everything still open is rolled back.
  void end() {
    while (!open_.empty()) roll_back();
  }

 private:
  struct job {
    allot::quota_id quota;
    allot::resources<2> request;
    allot::capacity_kind in{};
    allot::gpu::allocation_id where;
    bool vacating = false;
  };
  struct state {
    allot::ledger<2> ledger;
    allot::gpu::inventory inventory;
    std::vector<job> standing;
  };
  struct point {
    state before;
    allot::savepoint in_ledger;
    allot::savepoint in_inventory;
  };

  void start(job j) {
    const auto where = now_.inventory.place({.gpus = j.request[0], .total = true});
    if (!where) return;
    j.where = *where;
    now_.ledger.charge(j.quota, j.request, j.in);
    now_.standing.push_back(j);
  }
  void act_on(std::size_t i, action what) {
    job& j = now_.standing[i];
    if (what == action::stop) {
      now_.inventory.release(j.where);
      now_.ledger.release(j.quota, j.request, j.in);
      now_.standing.erase(now_.standing.begin() + static_cast<std::ptrdiff_t>(i));
    } else if (what == action::vacate && !j.vacating) {
      now_.inventory.vacate(j.where);
      j.vacating = true;
    } else if (what == action::reoccupy && j.vacating && nobody_came(j)) {
      now_.inventory.reoccupy(j.where);
      j.vacating = false;
    }
  }
  /// Whether no allocation received what a vacating job had: one that was opened later and is still in place
  /// might have.
  [[nodiscard]] bool nobody_came(const job& j) const { return &j == &now_.standing.back(); }
  void roll_back() {
    now_.inventory.rollback(open_.back().in_inventory);
    now_.ledger.rollback(open_.back().in_ledger);
    now_.standing = open_.back().before.standing;
    const bool same =
        now_.ledger == open_.back().before.ledger && now_.inventory == open_.back().before.inventory;
    open_.pop_back();
    if (!same) throw std::runtime_error("a rollback left something behind");
  }

  state now_;
  std::vector<job> wanted_;
  std::vector<point> open_;
};

}  // namespace

TEST_CASE("laws: rollback restores ledger and inventory bit for bit") {
  const auto all = stories();
  allot_test::check_property("reversible", [all] {
    const story s = *all;
    books b{s.world};
    for (const deed& d : s.deeds) b.act(d);
    b.end();
  });
}
