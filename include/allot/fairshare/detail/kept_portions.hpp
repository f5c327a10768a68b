// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/ratio.hpp>
#include <allot/core/vector.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <utility>

namespace allot {
inline namespace v0 {
namespace detail {

/// The division of an amount by Webster's method in thousandths, as `proportional` does it, kept while the
/// amount and what the portions have room for change: what `settle` gives is what dividing from scratch would
/// give, as the units of all portions have one order, of which the first are given.
///
/// Portions of weight 0 come after all others, and are equal.
class kept_portions {
 public:
  /// Whether there is a division to be kept.
  [[nodiscard]] bool is_valid() const noexcept { return is_valid_; }
  /// It is no longer kept.
  void forget() noexcept { is_valid_ = false; }

  /// Begins with that many portions, without room; to be followed by `set` for each and `begin`.
  void reset(std::size_t count) {
    seats_.assign(count, {});
    next_.assign(2 * count, none);
    last_.assign(2 * count, none);
    room_ = given_ = 0;
    changed_.clear();
  }
  /// The portion at this place, and what it has been given. Precondition: no number is negative.
  void set(std::size_t place, std::int64_t weight, std::int64_t room, std::int64_t given) {
    seats_[place] = {weight, room, given};
    room_ += room;
    given_ += given;
  }
  /// All portions are set as they were divided. O(portions).
  void begin() {
    const std::size_t count = seats_.size();
    for (std::size_t i = 0; i < count; ++i) next_[count + i] = last_[count + i] = static_cast<number>(i);
    for (std::size_t at = count; at-- > 1;) meet(at);
    is_valid_ = true;
  }

  /// The portion has room for that much. To be followed by `settle`. O(log portions).
  void change_room(std::size_t place, std::int64_t room) {
    seat& s = seats_[place];
    const auto number_of = static_cast<number>(place);
    const bool had_next = has_next(number_of);
    room_ += room - s.room;
    s.room = room;
    // One that wants more than it has, as before, is where it was.
    if (had_next && has_next(number_of)) return note(number_of);
    give(place, std::min<std::int64_t>(0, room - s.given));
  }
  /// This much is divided: calls `visit(place, given)` for every portion that has more or less than before,
  /// or whose room has changed. Costs O(log portions) for each thousandth that moves. False, without a visit,
  /// if these are many: then it is cheaper to divide from scratch.
  template <class Visit>
  [[nodiscard]] bool settle(std::int64_t amount, Visit visit) {
    const std::int64_t wanted = std::min(amount, room_);
    const auto most = static_cast<std::int64_t>(seats_.size() / moves_of_all);
    bool is_cheap = wanted == room_ || std::abs(wanted - given_) <= moves_at_once * most;
    for (std::int64_t moves = 0; is_cheap && (given_ != wanted || is_unfair());) {
      const number next = next_[1];
      if (given_ < wanted && wanted == room_) {
        // If all are filled, the order does not matter.
        give(next, seats_[next].room - seats_[next].given);
        ++moves;
      } else if (given_ == wanted) {
        // One that lags behind catches up, and the others give back what it has then.
        give(next, std::max<std::int64_t>(1, due(next) - 1 - seats_[next].given));
        ++moves;
      } else {
        const std::int64_t moved =
            given_ < wanted ? move_ties<true>(wanted - given_) : move_ties<false>(given_ - wanted);
        moves += ties_.size() == 1 ? moved : 1 + moved / moves_at_once;
      }
      is_cheap = moves <= most;
    }
    if (!is_cheap) {
      forget();
      return false;
    }
    for (const number i : changed_) {
      if (std::exchange(seats_[i].has_changed, false)) visit(std::size_t{i}, seats_[i].given);
    }
    changed_.clear();
    return true;
  }

 private:
  using number = std::uint32_t;
  static constexpr number none = ~number{0};

  /// Moves of one in so many portions cost as much as a division from scratch.
  static constexpr std::size_t moves_of_all = 4;
  static constexpr std::int64_t untied_moves = 16;
  /// So many at once cost as much as one.
  static constexpr std::int64_t moves_at_once = 4;
  /// To find more ties for each that moves costs as much as to move them one after the other.
  static constexpr std::size_t most_ties = 2;

  struct seat {
    std::int64_t weight = 0;
    std::int64_t room = 0;
    std::int64_t given = 0;
    bool has_changed = false;
  };

  /// Whether the `i`th unit of one portion, from 1, comes before the `k`th of another one.
  [[nodiscard]] bool is_before(number a, std::int64_t i, number b, std::int64_t k) const {
    const std::int64_t of_a = seats_[a].weight;
    const std::int64_t of_b = seats_[b].weight;
    if ((of_a == 0) != (of_b == 0)) return of_b == 0;
    // In half units.
    const std::int64_t x = 2 * i - 1;
    const std::int64_t y = 2 * k - 1;
    if (of_a == of_b) return x != y ? x < y : a < b;
    const auto o = compare_fractions(static_cast<wide>(x), static_cast<wide>(of_a), static_cast<wide>(y),
                                     static_cast<wide>(of_b));
    return o != 0 ? o < 0 : a < b;
  }
  /// About what the portion has when it has as much as the others, by their weights.
  [[nodiscard]] std::int64_t due(number i) const {
    const auto& level = seats_[last_[1]];
    if (level.weight == 0 || level.given == 0) return 0;
    const wide by_weight = static_cast<wide>(level.given) * static_cast<wide>(seats_[i].weight) /
                           static_cast<wide>(level.weight);
    const std::int64_t room = seats_[i].room;
    return by_weight < static_cast<wide>(room) ? static_cast<std::int64_t>(by_weight) : room;
  }
  [[nodiscard]] bool has_next(number a) const { return seats_[a].given < seats_[a].room; }
  [[nodiscard]] bool has_last(number a) const { return seats_[a].given > 0; }
  /// Whether a unit that was given comes after one that was not.
  [[nodiscard]] bool is_unfair() const {
    const number next = next_[1];
    const number last = last_[1];
    return next != last && has_next(next) && has_last(last) &&
           is_before(next, seats_[next].given + 1, last, seats_[last].given);
  }
  void note(number i) {
    if (!std::exchange(seats_[i].has_changed, true)) changed_.push_back(i);
  }
  void give(std::size_t place, std::int64_t more) {
    seat& s = seats_[place];
    s.given += more;
    given_ += more;
    note(static_cast<number>(place));
    for (std::size_t at = (seats_.size() + place) / 2; at >= 1; at /= 2) meet(at);
  }
  /// Gives the next unit, or takes back the last one, and with it those of other portions that only the order
  /// of places tells from it: up to `most`. Returns how many. Portions of equal weights mostly have as much
  /// as each other, so that many of them move at once: with 10,000 that costs a third of one after the other.
  template <bool More>
  std::int64_t move_ties(std::int64_t most) {
    const seat first = seats_[More ? next_[1] : last_[1]];
    ties_.clear();
    const std::size_t worthwhile = most_ties * static_cast<std::size_t>(most);
    list_ties<More>(1, first, worthwhile);
    if (ties_.size() == 1 || ties_.size() > worthwhile) {
      // Where weights differ there are hardly any ties: they are not looked for each time.
      const std::int64_t count = std::min(most, ties_.size() == 1 ? untied_moves : most);
      for (std::int64_t k = 0; k < count; ++k) give(More ? next_[1] : last_[1], More ? 1 : -1);
      return count;
    }
    // The last of these places, or the first, that has its turn.
    number bound = More ? none : 0;
    if (ties_.size() > static_cast<std::size_t>(most)) {
      const auto ordered = [](number a, number b) { return More ? a < b : b < a; };
      std::nth_element(ties_.begin(), ties_.begin() + (most - 1), ties_.end(), ordered);
      bound = ties_[static_cast<std::size_t>(most - 1)];
    }
    const std::int64_t before = given_;
    move_below<More>(1, first, bound);
    return More ? given_ - before : before - given_;
  }
  /// Whether the portion's next unit, or its last, has the same turn as that of `first`.
  template <bool More>
  [[nodiscard]] bool is_tied(number a, const seat& first) const {
    if (More ? !has_next(a) : !has_last(a)) return false;
    const seat& s = seats_[a];
    if (s.weight == first.weight) return s.given == first.given;
    if (s.weight == 0 || first.weight == 0) return false;
    const auto turn = [](const seat& of) { return static_cast<wide>(2 * of.given + (More ? 1 : -1)); };
    return compare_fractions(turn(s), static_cast<wide>(s.weight), turn(first),
                             static_cast<wide>(first.weight)) == 0;
  }
  template <bool More>
  void list_ties(std::size_t at, const seat& first, std::size_t enough) {
    const number best = More ? next_[at] : last_[at];
    if (best == none || ties_.size() > enough || !is_tied<More>(best, first)) return;
    if (at >= seats_.size()) return ties_.push_back(best);
    list_ties<More>(2 * at, first, enough);
    list_ties<More>(2 * at + 1, first, enough);
  }
  template <bool More>
  void move_below(std::size_t at, const seat& first, number bound) {
    const number best = More ? next_[at] : last_[at];
    if (best == none || !is_tied<More>(best, first)) return;
    if (at < seats_.size()) {
      move_below<More>(2 * at, first, bound);
      move_below<More>(2 * at + 1, first, bound);
      return meet(at);
    }
    if (More ? best > bound : best < bound) return;
    seats_[best].given += More ? 1 : -1;
    given_ += More ? 1 : -1;
    note(best);
  }
  /// Settles which of two has the next unit to be given, and which the last one that was.
  void meet(std::size_t at) {
    const auto better = [](number a, number b, bool has_a, bool has_b, auto b_wins) {
      return has_a && has_b ? (b_wins() ? b : a) : (has_b ? b : a);
    };
    number a = next_[2 * at];
    number b = next_[2 * at + 1];
    next_[at] = better(a, b, has_next(a), has_next(b),
                       [&] { return is_before(b, seats_[b].given + 1, a, seats_[a].given + 1); });
    a = last_[2 * at];
    b = last_[2 * at + 1];
    last_[at] = better(a, b, has_last(a), has_last(b),
                       [&] { return is_before(a, seats_[a].given, b, seats_[b].given); });
  }

  vector<seat> seats_;
  /// Winner trees (see `winner_trees`): node `i` is fed by `2 i` and `2 i + 1`, the portions start at the
  /// middle.
  vector<number> next_;
  vector<number> last_;
  vector<number> changed_;
  vector<number> ties_;
  std::int64_t room_ = 0;
  std::int64_t given_ = 0;
  bool is_valid_ = false;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot
