// SPDX-License-Identifier: BSL-1.0
#include <allot/gpu/mig/mig.hpp>

#include <doctest/doctest.h>
#include <tests/support/seeds.hpp>
#include <tests/support/throwing_assert.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace gpu = allot::gpu;
using gpu::mig_device;
using gpu::mig_model;
using gpu::mig_obstacle;
using gpu::mig_profile_id;

namespace {

/// What nvidia-smi prints for a model, in a second notation, as text.
struct listed {
  const char* name;
  int compute;
  /// As printed by -lgipp.
  const char* placements;
  int instances;
  bool media;
};
const std::vector<listed> a100_40gb{{"1g.5gb", 1, "{0,1,2,3,4,5,6}:1", 7, false},
                                    {"1g.5gb+me", 1, "{0,1,2,3,4,5,6}:1", 1, true},
                                    {"1g.10gb", 1, "{0,2,4,6}:2", 4, false},
                                    {"2g.10gb", 2, "{0,2,4}:2", 3, false},
                                    {"3g.20gb", 3, "{0,4}:4", 2, false},
                                    {"4g.20gb", 4, "{0}:4", 1, false},
                                    {"7g.40gb", 7, "{0}:8", 1, true}};
const std::vector<listed> h100_80gb{{"1g.10gb", 1, "{0,1,2,3,4,5,6}:1", 7, false},
                                    {"1g.10gb+me", 1, "{0,1,2,3,4,5,6}:1", 1, true},
                                    {"1g.20gb", 1, "{0,2,4,6}:2", 4, false},
                                    {"2g.20gb", 2, "{0,2,4}:2", 3, false},
                                    {"3g.40gb", 3, "{0,4}:4", 2, false},
                                    {"4g.40gb", 4, "{0}:4", 1, false},
                                    {"7g.80gb", 7, "{0}:8", 1, true}};
const std::vector<listed> a30{{"1g.6gb", 1, "{0,1,2,3}:1", 4, false},
                              {"1g.6gb+me", 1, "{0,1,2,3}:1", 1, true},
                              {"2g.12gb", 2, "{0,2}:2", 2, false},
                              {"2g.12gb+me", 2, "{0,2}:2", 1, true},
                              {"4g.24gb", 4, "{0}:4", 1, true}};

/// An instance: the index of its profile, and its start.
using instance = std::pair<std::size_t, int>;
using layout = std::vector<instance>;

/// All layouts of a GPU, by trying every subset of all placements.
struct enumeration {
  const std::vector<listed>& profiles;
  int compute_slices;
  std::vector<instance> places;
  std::vector<int> sizes;
  std::set<layout> layouts;

  enumeration(const std::vector<listed>& l, int compute) : profiles(l), compute_slices(compute) {
    for (std::size_t p = 0; p < l.size(); ++p) {
      const std::string text = l[p].placements;
      sizes.push_back(text.back() - '0');
      for (const char c : text.substr(0, text.find('}'))) {
        if (c >= '0' && c <= '9') places.emplace_back(p, c - '0');
      }
    }
    layout none;
    extend(none, 0);
  }

  void extend(layout& so_far, std::size_t next) {
    if (next == places.size()) {
      layout sorted = so_far;
      std::sort(sorted.begin(), sorted.end());
      layouts.insert(std::move(sorted));
      return;
    }
    extend(so_far, next + 1);
    so_far.push_back(places[next]);
    if (is_valid(so_far)) extend(so_far, next + 1);
    so_far.pop_back();
  }

  bool is_valid(const layout& l) const {
    int compute = 0;
    int media = 0;
    std::vector<int> owners(8);
    std::vector<int> count(profiles.size());
    for (const auto& [p, start] : l) {
      compute += profiles[p].compute;
      media += profiles[p].media ? 1 : 0;
      if (++count[p] > profiles[p].instances) return false;
      for (int s = start; s < start + sizes[p]; ++s) {
        if (++owners[static_cast<std::size_t>(s)] > 1) return false;
      }
    }
    return compute <= compute_slices && media <= 1;
  }
};

layout layout_of(const mig_device& d) {
  layout l;
  for (std::uint32_t s = 0; s < 8; ++s) {
    if (const auto p = d.starting_at(s)) l.emplace_back(p.index(), static_cast<int>(s));
  }
  std::sort(l.begin(), l.end());
  return l;
}
mig_device device_of(mig_model m, const layout& l) {
  mig_device d{m};
  for (const auto& [p, start] : l) d.place_at(mig_profile_id{p}, static_cast<std::uint32_t>(start));
  return d;
}

struct listed_model {
  mig_model model;
  const std::vector<listed>& profiles;
  int compute_slices;
};
const listed_model models[] = {{mig_model::a100_40gb, a100_40gb, 7},
                               {mig_model::h100_80gb, h100_80gb, 7},
                               {mig_model::a30_24gb, a30, 4}};

mig_profile_id id_of(mig_model m, const char* name) {
  const auto p = gpu::find_mig_profile(m, name);
  REQUIRE(p);
  return *p;
}
std::vector<mig_profile_id> ids_of(mig_model m, const std::vector<std::string>& names) {
  return gpu::parse_mig_profiles(m, names).value();
}

}  // namespace

TEST_CASE("mig: the tables say what nvidia-smi lists") {
  for (const listed_model& l : models) {
    REQUIRE(gpu::mig_profiles(l.model).size() == l.profiles.size());
    for (std::size_t i = 0; i < l.profiles.size(); ++i) {
      const gpu::mig_profile& p = gpu::mig_profiles(l.model)[i];
      CHECK(p.name == l.profiles[i].name);
      CHECK(p.compute_slices == static_cast<std::uint32_t>(l.profiles[i].compute));
      CHECK(p.most == static_cast<std::uint32_t>(l.profiles[i].instances));
      CHECK(p.media == l.profiles[i].media);
    }
  }
}

TEST_CASE("mig: every layout that can be reached is one of the enumerated ones, and each is reached") {
  for (const listed_model& l : models) {
    const enumeration all{l.profiles, l.compute_slices};
    std::set<layout> reached;
    std::vector<mig_device> open{mig_device{l.model}};
    reached.insert(layout{});
    while (!open.empty()) {
      const mig_device d = open.back();
      open.pop_back();
      for (std::size_t p = 0; p < l.profiles.size(); ++p) {
        for (std::uint32_t s = 0; s < 10; ++s) {
          if (!d.fits_at(mig_profile_id{p}, s)) continue;
          mig_device next = d;
          next.place_at(mig_profile_id{p}, s);
          if (reached.insert(layout_of(next)).second) open.push_back(next);
          next.remove(s);
          REQUIRE(next == d);
        }
      }
    }
    CHECK(reached == all.layouts);
  }
}

TEST_CASE("mig: an A100 has 19 full layouts of the five plain profiles") {
  // The guide's figure of the A100: six ways for the lower half, three for the upper, and the whole GPU.
  const std::vector<listed> plain{a100_40gb[0], a100_40gb[3], a100_40gb[4], a100_40gb[5], a100_40gb[6]};
  const enumeration all{plain, 7};
  std::size_t full = 0;
  for (const layout& l : all.layouts) {
    const bool grows = std::any_of(all.places.begin(), all.places.end(), [&](const instance& more) {
      layout with = l;
      with.push_back(more);
      return all.is_valid(with);
    });
    if (!grows) ++full;
  }
  CHECK(full == 19);
}

TEST_CASE("mig: room, places and refusals agree with the enumeration in every layout") {
  for (const listed_model& l : models) {
    const enumeration all{l.profiles, l.compute_slices};
    for (const layout& at : all.layouts) {
      const mig_device d = device_of(l.model, at);
      for (std::size_t p = 0; p < l.profiles.size(); ++p) {
        std::vector<instance> free;
        for (const instance& place : all.places) {
          if (place.first != p) continue;
          layout with = at;
          with.push_back(place);
          if (all.is_valid(with)) free.push_back(place);
        }
        // One after the other until no more fits.
        std::uint32_t more = 0;
        layout with = at;
        for (const instance& place : free) {
          with.push_back(place);
          if (all.is_valid(with)) {
            ++more;
          } else {
            with.pop_back();
          }
        }
        const mig_profile_id id{p};
        REQUIRE(d.room(id) == more);
        REQUIRE(d.choose(id).has_value() == !free.empty());
        REQUIRE((d.why_not({&id, 1}).reason == mig_obstacle::none) == !free.empty());
      }
    }
  }
}

TEST_CASE("mig: sets fit exactly if an enumerated layout contains them and the existing instances") {
  for (const listed_model& l : models) {
    const enumeration all{l.profiles, l.compute_slices};
    // What can be added to each layout, as sorted profiles. From the empty one, and from a sample.
    std::vector<layout> from(all.layouts.begin(), all.layouts.end());
    allot_test::random_source random{7};
    random.shuffle(from);
    from.resize(std::min<std::size_t>(from.size(), 40));
    from.push_back({});
    for (const layout& at : from) {
      std::set<std::vector<mig_profile_id>> possible;
      for (const layout& with : all.layouts) {
        if (!std::includes(with.begin(), with.end(), at.begin(), at.end())) continue;
        std::vector<mig_profile_id> added;
        layout rest;
        std::set_difference(with.begin(), with.end(), at.begin(), at.end(), std::back_inserter(rest));
        for (const instance& i : rest) added.push_back(mig_profile_id{i.first});
        std::sort(added.begin(), added.end());
        possible.insert(added);
      }
      const mig_device d = device_of(l.model, at);
      std::size_t seen = 0;
      // Testing all multisets of up to eight profiles would take too long: all of up to four, and the
      // possible ones.
      const auto check = [&](std::vector<mig_profile_id> set) {
        const bool expected = possible.count(set) == 1;
        random.shuffle(set);
        const auto found = d.fits_beside(set);
        REQUIRE(found.has_value() == expected);
        REQUIRE((d.why_not(set).reason == mig_obstacle::none) == expected);
        if (!found) return;
        ++seen;
        REQUIRE(found->count == set.size());
        mig_device with = d;
        for (std::size_t i = 0; i < set.size(); ++i) with.place_at(set[i], found->starts[i]);
        REQUIRE(all.layouts.count(layout_of(with)) == 1);
      };
      for (const auto& set : possible) check(set);
      REQUIRE(seen == possible.size());
      const std::size_t n = l.profiles.size();
      for (std::size_t code = 0; code < n * n * n * n; ++code) {
        std::vector<mig_profile_id> set{mig_profile_id{code % n}, mig_profile_id{code / n % n},
                                        mig_profile_id{code / n / n % n}, mig_profile_id{code / n / n / n}};
        if (std::is_sorted(set.begin(), set.end())) check(set);
      }
    }
  }
}

TEST_CASE("mig: the start that leaves the most places for larger profiles is chosen") {
  mig_device d{mig_model::a100_40gb};
  const auto place = [&](const char* name) { return d.place(id_of(d.model(), name)); };
  // At 6 the only larger placement lost is that of 3g.20gb, which any start in the upper half blocks.
  CHECK(place("1g.5gb") == 6);
  // 4 and 5 both block the last placement of 2g.10gb in the upper half: the lower one.
  CHECK(place("1g.5gb") == 4);
  CHECK(place("1g.5gb") == 5);
  CHECK(place("4g.20gb") == 0);
  CHECK_FALSE(place("1g.5gb"));
  CHECK(d.used_memory() == 0b0111'1111);

  d = mig_device{mig_model::a100_40gb};
  CHECK(place("3g.20gb") == 4);
  CHECK(place("2g.10gb") == 0);
  CHECK(place("1g.10gb") == 2);
  CHECK(place("3g.20gb") == std::nullopt);
  d = mig_device{mig_model::a100_40gb};
  CHECK(place("1g.10gb") == 6);
  CHECK(place("2g.10gb") == 4);
  CHECK(place("4g.20gb") == 0);
}

TEST_CASE("mig: the choice agrees with a naive implementation of the rule in every layout") {
  for (const listed_model& l : models) {
    const enumeration all{l.profiles, l.compute_slices};
    for (const layout& at : all.layouts) {
      const mig_device d = device_of(l.model, at);
      for (std::size_t p = 0; p < l.profiles.size(); ++p) {
        std::optional<int> best;
        std::vector<int> best_left;
        for (const instance& place : all.places) {
          layout with = at;
          with.push_back(place);
          if (place.first != p || !all.is_valid(with)) continue;
          // The free placements of each profile by memory alone, the largest profile first.
          std::vector<bool> used(8);
          for (const auto& [profile, start] : with) {
            for (int s = start; s < start + all.sizes[profile]; ++s) used[static_cast<std::size_t>(s)] = true;
          }
          std::vector<int> left(l.profiles.size());
          for (const auto& [profile, start] : all.places) {
            bool is_free = true;
            for (int s = start; s < start + all.sizes[profile]; ++s) {
              is_free = is_free && !used[static_cast<std::size_t>(s)];
            }
            left[l.profiles.size() - 1 - profile] += is_free ? 1 : 0;
          }
          if (!best || left > best_left) best = place.second, best_left = left;
        }
        const auto chosen = d.choose(mig_profile_id{p});
        REQUIRE(chosen.has_value() == best.has_value());
        if (best) REQUIRE(static_cast<int>(*chosen) == *best);
      }
    }
  }
}

TEST_CASE("mig: refusals say what is short") {
  const mig_model m = mig_model::h100_80gb;
  mig_device d{m};
  const auto why = [&](const std::vector<std::string>& names) {
    const auto set = ids_of(m, names);
    return d.why_not(set);
  };
  CHECK(why({"4g.40gb", "4g.40gb"}) ==
        gpu::mig_refusal{mig_obstacle::too_many_of_a_profile, id_of(m, "4g.40gb"), 2, 1});
  CHECK(why({"1g.10gb+me", "1g.10gb+me"}).reason == mig_obstacle::too_many_of_a_profile);
  CHECK(why({"4g.40gb", "2g.20gb", "2g.20gb"}) == gpu::mig_refusal{mig_obstacle::compute_slices, {}, 8, 7});
  CHECK(why({"3g.40gb", "3g.40gb", "1g.10gb"}) == gpu::mig_refusal{mig_obstacle::memory_slices, {}, 9, 8});
  CHECK(why({"4g.40gb", "3g.40gb"}) == gpu::mig_refusal{});
  CHECK(why({"4g.40gb", "1g.20gb", "1g.20gb"}) == gpu::mig_refusal{});
  CHECK(why({"3g.40gb", "2g.20gb", "1g.20gb"}) == gpu::mig_refusal{});
  d.place_at(id_of(m, "1g.10gb"), 0);
  CHECK(why({"4g.40gb"}) == gpu::mig_refusal{mig_obstacle::placement, {}, 0, 0});
  CHECK(why({"3g.40gb", "3g.40gb"}).reason == mig_obstacle::memory_slices);
  CHECK(why({"7g.80gb"}) == gpu::mig_refusal{mig_obstacle::compute_slices, {}, 7, 6});
  d = mig_device{mig_model::a30_24gb};
  const auto media = ids_of(d.model(), {"1g.6gb+me", "2g.12gb+me"});
  CHECK(d.why_not(media) == gpu::mig_refusal{mig_obstacle::media, {}, 2, 1});
  const std::vector<mig_profile_id> nine(9, mig_profile_id{0});
  CHECK_FALSE(d.fits_beside(nine));
  CHECK(d.why_not(nine).reason == mig_obstacle::too_many_of_a_profile);
  CHECK(d.why_not({}).reason == mig_obstacle::none);
}

TEST_CASE("mig: a GPU is divided as the names say, or the reason is given") {
  const std::vector<std::string> good{"1g.10gb", "3g.40gb", "2g.20gb", "1g.10gb+me"};
  const auto cut = gpu::build_mig_device(mig_model::a100_80gb, good);
  REQUIRE(cut);
  // Not at 0: then one of the three small ones would have no place beside it.
  CHECK(cut.value().starting_at(4) == id_of(mig_model::a100_80gb, "3g.40gb"));
  CHECK(cut.value().count(id_of(mig_model::a100_80gb, "1g.10gb")) == 1);

  const auto text = [](mig_model m, const std::vector<std::string>& names) {
    const auto refused = gpu::build_mig_device(m, names);
    REQUIRE_FALSE(refused);
    return refused.problems().front().text;
  };
  CHECK(text(mig_model::a100_80gb, {"4g.40gb", "4g.40gb"}) ==
        "A100-80GB can't have 4g.40gb, 4g.40gb at once: there is room for 1 more of 4g.40gb, not for 2: "
        "A100-80GB has at most 1");
  CHECK(text(mig_model::a100_40gb, {"7g.40gb", "1g.5gb"}) ==
        "A100-40GB can't have 7g.40gb, 1g.5gb at once: they take 8 compute slices, and there are 7 left");
  CHECK(text(mig_model::a100_40gb, {"3g.20gb", "3g.20gb", "1g.5gb"}) ==
        "A100-40GB can't have 3g.20gb, 3g.20gb, 1g.5gb at once: they take 9 memory slices, and there are 8 "
        "left");
  CHECK(text(mig_model::a30_24gb, {"1g.6gb+me", "2g.12gb+me"}) ==
        "A30-24GB can't have 1g.6gb+me, 2g.12gb+me at once: only one instance of a GPU can have the media "
        "engines");
  CHECK(text(mig_model::a100_40gb, {"1g.5gb", "8g.80gb"}).substr(0, 37) ==
        "A100-40GB has no MIG profile 8g.80gb:");
  mig_device d{mig_model::a100_40gb};
  CHECK(explain(d.model(), d.why_not({})) == "they fit");
  d.place_at(id_of(d.model(), "1g.5gb"), 0);
  const mig_profile_id large = id_of(d.model(), "4g.20gb");
  CHECK(explain(d.model(), d.why_not({&large, 1})) ==
        "there are slices enough, but not together at places where these profiles may start");
}

TEST_CASE("mig: broken preconditions") {
  mig_device d{mig_model::a100_40gb};
  const mig_profile_id large = id_of(d.model(), "4g.20gb");
  CHECK_THROWS_AS(d.place_at(large, 4), allot_test::assertion_failed);
  CHECK_THROWS_AS(d.remove(0), allot_test::assertion_failed);
  CHECK_THROWS_AS(static_cast<void>(d.choose(mig_profile_id{9})), allot_test::assertion_failed);
  d.place_at(large, 0);
  CHECK_THROWS_AS(d.remove(1), allot_test::assertion_failed);
  CHECK_THROWS_AS(d.remove(8), allot_test::assertion_failed);
  CHECK_FALSE(d.is_empty());
  d.remove(0);
  CHECK(d.is_empty());
  CHECK(d == mig_device{mig_model::a100_40gb});
}
