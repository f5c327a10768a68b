// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/pod_counts.hpp>
#include <allot/scheduler/detail/text_of_reason.hpp>
#include <allot/scheduler/placement.hpp>

#include <algorithm>
#include <array>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace allot {
inline namespace v0 {

/// A placement that places pods that differ together, as `with_pod_sets` asks it to: `place_sets(requests,
/// at)` finds a place for each request, those of one set side by side, writes it to `at` and returns true; or
/// returns false, and what it has placed by then is taken back. There is more than one. Default: set after
/// set.
template <class P>
concept joint_placement = placement<P> &&
    requires(P p, std::span<const typename P::pod_request> requests, std::span<typename P::allocation> at) {
  { p.place_sets(requests, at) } -> std::same_as<bool>;
};

namespace detail {

/// At most `N` of them, in place. Without an order if they have none.
template <class T, std::size_t N>
class short_list {
 public:
  [[nodiscard]] constexpr bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }
  [[nodiscard]] constexpr const T* begin() const noexcept { return all_.data(); }
  [[nodiscard]] constexpr const T* end() const noexcept { return all_.data() + size_; }
  /// Precondition: there are more.
  [[nodiscard]] constexpr const T& operator[](std::size_t i) const { return all_[i]; }

  friend constexpr bool operator==(const short_list& a, const short_list& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }
  friend constexpr std::weak_ordering operator<=>(const short_list& a,
                                                  const short_list& b) requires std::totally_ordered<T> {
    const std::size_t both = std::min(a.size_, b.size_);
    for (std::size_t i = 0; i < both; ++i) {
      if (a[i] < b[i]) return std::weak_ordering::less;
      if (b[i] < a[i]) return std::weak_ordering::greater;
    }
    return a.size_ <=> b.size_;
  }

 protected:
  /// False if it is full.
  constexpr bool add(const T& next) {
    if (size_ == N) return false;
    all_[size_++] = next;
    return true;
  }
  /// So many, to be written. Precondition: no more than `N`.
  [[nodiscard]] constexpr std::span<T> resize(std::size_t size) {
    size_ = size;
    return {all_.data(), size};
  }

 private:
  std::array<T, N> all_{};
  std::size_t size_ = 0;
};

}  // namespace detail

/// A host's own placement, of pods that are alike, for jobs whose pods differ (`pod_set_view`): a leader and
/// its workers. It is that placement, with requests and places for several sets at once:
///
/// - A request lists the pods of each set: what the host's own placement is asked for one of them, and how
///   many there are. If a request of the host's own says itself how many, it is one for the whole set.
/// - A place lists those of the host's own placement: of the first set first, and so on. There are at most
///   `MostPlaces`; a larger job is too large for the cluster.
///
/// All sets have a place, or nothing has changed. A `joint_placement` says where. Otherwise it is set after
/// set, in their order; if one has no room beside those before it, that one comes first in a new attempt.
/// There are at most as many attempts as sets, each under a savepoint: O(sets x places) calls of `place`.
/// They do not try every way to divide the room, so where a placement prefers some machines (best fit, say)
/// they may miss the last one, and with them a search for victims; `place_sets` need not.
///
/// What the host's own placement models is passed on: `revocable_placement` and `place_at`,
/// `guarded_placement`, `optional_nodes_placement`, `could_place`, and `room_counter`, which counts for what
/// has one place: a job of one set, a further pod. For several a search tries under savepoints, but begins
/// none without room for each set (`grouped_placement_room`). Not `replacing_placement`: a job that loses a
/// pod of its core is lost. Nothing is allocated.
///
/// Of Kueue's pod sets and KAI's sub-groups it is the part that needs no topology. A host whose sets have to
/// be near each other has `place_sets`; `gpu::topology_inventory` knows sets, levels and slices itself.
template <class Places, std::size_t MostPlaces = most_pod_sets>
class with_pod_sets : public Places {
  static_assert(detail::is_placement<Places>() && placement<Places>);
  static_assert(
      !near_request<Places> && !requires { typename Places::pod_request::referents; },
      "allot: with_pod_sets is for placements whose requests don't know sets and stand for themselves: "
      "gpu::inventory and gpu::topology_inventory place pods of several sets without it");
  static_assert(
      joint_placement<Places> || !requires { &Places::place_sets; },
      "allot: the placement's optional member place_sets must be `bool place_sets(std::span<const "
      "pod_request>, std::span<allocation>)`");

  using request_of_one = typename Places::pod_request;
  using place_of_one = typename Places::allocation;
  using reason_of_one = std::remove_cvref_t<decltype(std::declval<const Places&>().why_not(
      std::declval<const request_of_one&>()))>;

 public:
  /// Pods of a job that are alike, beside others that differ.
  struct pod_set {
    /// What one of them requests; or all of them, if that says how many.
    request_of_one each{};
    /// How many times. A set of which no pods are asked for has 0, and keeps its number.
    std::uint32_t pods = 1;

    friend constexpr auto operator<=>(const pod_set&, const pod_set&) = default;
    friend constexpr bool operator==(const pod_set&, const pod_set&) = default;
  };

  /// What a job requests, by set: a list of `pod_set`, at most `most_pod_sets`. An empty one has no place.
  class pod_request : public detail::short_list<pod_set, most_pod_sets> {
   public:
    constexpr pod_request() = default;
    /// Of one set: one more pod, or a job whose pods are alike.
    constexpr pod_request(const request_of_one& each, std::uint32_t pods = 1) { add(each, pods); }

    /// The next set. With more than `most_pod_sets` of them the request has no place.
    constexpr pod_request& add(const request_of_one& each, std::uint32_t pods = 1) {
      if (!this->list::add({each, pods}))
        this->resize(this->size()).back().pods = std::numeric_limits<std::uint32_t>::max();
      return *this;
    }
    /// How many places it needs. O(sets).
    [[nodiscard]] constexpr std::uint64_t places() const {
      std::uint64_t all = 0;
      for (const pod_set& s : *this) all += s.pods;
      return all;
    }
    /// What decides whether there is room.
    [[nodiscard]] constexpr pod_request room_key() const requires requires(const request_of_one& r) {
      { r.room_key() } -> std::same_as<request_of_one>;
    }
    {
      pod_request key = *this;
      for (pod_set& s : key.resize(key.size())) s.each = s.each.room_key();
      return key;
    }

   private:
    using list = detail::short_list<pod_set, most_pod_sets>;
  };

  /// Where its pods are: a list of places of the host's own placement, in the order of the request.
  class allocation : public detail::short_list<place_of_one, MostPlaces> {
    friend class with_pod_sets;
  };

  /// Why there is no room.
  struct reason {
    /// What the host's own placement says: of one set, which is the first that has no room even alone.
    /// Nothing if there is none, or if its reasons can't say no (`says_no`, see `placement`): there may be
    /// room for each set, but not for all of them.
    std::optional<reason_of_one> of_set{};
    /// The number of that set.
    std::size_t set = 0;
    /// How many sets there are.
    std::size_t sets = 1;

    /// Whether it rules out that there is a place.
    [[nodiscard]] bool says_no() const { return of_set && detail::says_no(*of_set); }
    /// "pod set 2: 0 of 3 machines have room", as text or a `to_string` of the host's own says it.
    friend std::string to_string(const reason& why) {
      if (!why.of_set) return "there is no room for all of its pods together";
      std::string text = detail::text_of_reason(*why.of_set);
      if (text.empty()) text = "there is no room";
      return why.sets > 1 ? "pod set " + std::to_string(why.set + 1) + ": " + text : text;
    }
  };

  with_pod_sets() requires std::default_initializable<Places>
  = default;
  /// Precondition: it has given no places.
  explicit with_pod_sets(Places places) : Places(std::move(places)) {}

  /// All pods, or nothing has changed.
  [[nodiscard]] std::optional<allocation> place(const pod_request& r) {
    const std::uint64_t count = r.places();
    if (count == 0 || count > MostPlaces) return std::nullopt;
    std::optional<allocation> all{std::in_place};
    const std::span<place_of_one> at = all->resize(static_cast<std::size_t>(count));
    if (!place_all(r, at)) all.reset();
    return all;
  }
  /// Whether `place` would find a place. Changes nothing.
  [[nodiscard]] bool could_place(const pod_request& r) {
    if (const request_of_one* one = only(r)) return allot::could_place(static_cast<Places&>(*this), *one);
    const detail::tentative<Places> trial{*this};
    return place(r).has_value();
  }
  /// Takes places where pods run: `spots` is a range of what `place_at` of the host's own placement takes
  /// beside the request, one for each place. Nothing if one of them can't be had.
  template <class Spots>
  requires requires(Places& p, const request_of_one& r, const Spots& spots) {
    { p.place_at(r, *std::begin(spots)) } -> std::same_as<std::optional<place_of_one>>;
  }
  [[nodiscard]] std::optional<allocation> place_at(const pod_request& r, const Spots& spots) {
    if (r.places() != std::size(spots)) return std::nullopt;
    std::optional<allocation> all{std::in_place};
    detail::tentative<Places> attempt{*this};
    auto spot = std::begin(spots);
    for (const pod_set& s : r) {
      for (std::uint32_t pod = 0; pod < s.pods; ++pod) {
        const std::optional<place_of_one> at = Places::place_at(s.each, *spot++);
        if (!at || !all->add(*at)) return std::nullopt;
      }
    }
    if (all->empty()) return std::nullopt;
    attempt.keep();
    return all;
  }
  /// @{
  /// What the concept `placement` asks for, of each of the places.
  void release(const allocation& where) noexcept {
    for (const place_of_one& at : where) static_cast<void>(Places::release(at));
  }
  void vacate(const allocation& where) noexcept {
    for (const place_of_one& at : where) static_cast<void>(Places::vacate(at));
  }
  auto reoccupy(const allocation& where) noexcept {
    if constexpr (std::same_as<decltype(std::declval<Places&>().reoccupy(where[0])), bool>) {
      for (std::size_t i = 0; i < where.size(); ++i) {
        if (Places::reoccupy(where[i])) continue;
        while (i > 0) static_cast<void>(Places::vacate(where[--i]));
        return false;
      }
      return !where.empty();
    } else {
      for (const place_of_one& at : where) Places::reoccupy(at);
    }
  }
  [[nodiscard]] bool ready(const allocation& where) const {
    return detail::all_of(where.begin(), where.end(),
                          [&](const place_of_one& at) { return Places::ready(at); });
  }
  /// @}
  /// Whether there could be a place for each of the sets.
  [[nodiscard]] bool could_ever_fit(const pod_request& r) const {
    const std::uint64_t count = r.places();
    return count != 0 && count <= MostPlaces && detail::all_of(r.begin(), r.end(), [&](const pod_set& s) {
             return s.pods == 0 || Places::could_ever_fit(s.each);
           });
  }
  /// Asks for each of the sets, as if it were alone.
  [[nodiscard]] reason why_not(const pod_request& r) const {
    if (const request_of_one* one = only(r)) return {Places::why_not(*one)};
    for (std::size_t s = 0; s < r.size(); ++s) {
      if (r[s].pods == 0) continue;
      reason why{Places::why_not(r[s].each), s, r.size()};
      if (why.says_no()) return why;
    }
    return {{}, 0, r.size()};
  }
  /// @{
  /// What the concept `revocable_placement` asks for, of all of the places.
  [[nodiscard]] bool contains(const allocation& where) const requires revocable_placement<Places> {
    return !where.empty() && detail::all_of(where.begin(), where.end(),
                                            [&](const place_of_one& at) { return Places::contains(at); });
  }
  [[nodiscard]] bool usable(const allocation& where) const requires revocable_placement<Places> {
    return detail::all_of(where.begin(), where.end(),
                          [&](const place_of_one& at) { return Places::usable(at); });
  }
  /// @}

 private:
  using counter_of_one = room_counter_of<Places>;
  static constexpr bool has_counter = !std::same_as<counter_of_one, no_room_counter>;

  /// Counts for requests with one place. What several take of its room is the sum of what each takes, as that
  /// of several jobs is.
  class counter {
   public:
    [[nodiscard]] bool begin(with_pod_sets& places, const pod_request& r) {
      const request_of_one* one = only(r);
      return one != nullptr && of_one_.begin(places, *one);
    }
    void gone(with_pod_sets& places, const allocation& where) {
      for (const place_of_one& at : where) of_one_.gone(places, at);
    }
    void back(with_pod_sets& places, const allocation& where) {
      for (const place_of_one& at : where) of_one_.back(places, at);
    }
    [[nodiscard]] std::optional<bool> fits(std::uint64_t taken) const { return of_one_.fits(taken); }
    [[nodiscard]] bool helps(with_pod_sets& places, const allocation& where) {
      return detail::any_of(where.begin(), where.end(),
                            [&](const place_of_one& at) { return of_one_.helps(places, at); });
    }

    [[nodiscard]] bool keep(with_pod_sets& places,
                            const pod_request& r) requires kept_placement_room<counter_of_one, Places> {
      const request_of_one* one = only(r);
      return one != nullptr && of_one_.keep(places, *one);
    }
    void look(with_pod_sets& places) requires kept_placement_room<counter_of_one, Places> {
      of_one_.look(places);
    }
    [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> taken_by(with_pod_sets& places,
                                                                   const pod_request& r) const requires
        kept_placement_room<counter_of_one, Places> {
      std::pair<std::uint64_t, std::uint64_t> all{};
      for (const pod_set& s : r) {
        if (s.pods == 0) continue;
        const auto [least, most] = of_one_.taken_by(places, s.each);
        all.first += s.pods * least;
        all.second += s.pods * most;
      }
      return all;
    }

    void may_go(with_pod_sets& places, std::uint32_t group,
                const allocation& where) requires grouped_placement_room<counter_of_one, Places> {
      for (const place_of_one& at : where) of_one_.may_go(places, group, at);
    }
    void may_not_go(with_pod_sets& places, std::uint32_t group,
                    const allocation& where) requires grouped_placement_room<counter_of_one, Places> {
      for (const place_of_one& at : where) of_one_.may_not_go(places, group, at);
    }
    [[nodiscard]] bool might_fit(with_pod_sets& places, const pod_request& r,
                                 std::span<const std::uint32_t> groups) requires
        grouped_placement_room<counter_of_one, Places> {
      return detail::all_of(r.begin(), r.end(), [&](const pod_set& s) {
        return s.pods == 0 || of_one_.might_fit(places, s.each, groups);
      });
    }

   private:
    [[no_unique_address]] counter_of_one of_one_{};
  };

 public:
  /// That of the host's own placement, if it has one: see `placement_room`.
  using room_counter = std::conditional_t<has_counter, counter, no_room_counter>;

 private:
  /// What is requested, if it is one place.
  [[nodiscard]] static const request_of_one* only(const pod_request& r) {
    if (r.places() != 1) return nullptr;
    for (const pod_set& s : r) {
      if (s.pods == 1) return &s.each;
    }
    return nullptr;
  }
  /// False if one of them finds none; then nothing has changed.
  [[nodiscard]] bool place_all(const pod_request& r, std::span<place_of_one> at) {
    if (const request_of_one* one = only(r)) return place_each(*one, at);
    if constexpr (joint_placement<Places>) {
      std::array<request_of_one, MostPlaces> of{};
      std::size_t count = 0;
      for (const pod_set& s : r) {
        for (std::uint32_t pod = 0; pod < s.pods; ++pod) of[count++] = s.each;
      }
      detail::tentative<Places> attempt{*this};
      if (!Places::place_sets(std::span<const request_of_one>{of.data(), count}, at)) return false;
      attempt.keep();
      return true;
    } else {
      return place_in_turn(r, at);
    }
  }
  [[nodiscard]] bool place_in_turn(const pod_request& r, std::span<place_of_one> at) {
    struct turn {
      const request_of_one* each = nullptr;
      std::span<place_of_one> at{};
    };
    std::array<turn, most_pod_sets> turns{};
    std::size_t count = 0;
    for (const pod_set& s : r) {
      if (s.pods == 0) continue;
      turns[count++] = {&s.each, at.first(s.pods)};
      at = at.subspan(s.pods);
    }
    for (std::size_t attempts = count; attempts > 0; --attempts) {
      detail::tentative<Places> attempt{*this};
      std::size_t placed = 0;
      while (placed < count && place_each(*turns[placed].each, turns[placed].at)) ++placed;
      if (placed == count) {
        attempt.keep();
        return true;
      }
      // Alone there is no room for it either.
      if (placed == 0) return false;
      const turn first = turns[placed];
      for (; placed > 0; --placed) turns[placed] = turns[placed - 1];
      turns[0] = first;
    }
    return false;
  }
  [[nodiscard]] bool place_each(const request_of_one& each, std::span<place_of_one> at) {
    for (place_of_one& its : at) {
      const std::optional<place_of_one> found = Places::place(each);
      if (!found) return false;
      its = *found;
    }
    return true;
  }
};

}  // namespace v0
}  // namespace allot
