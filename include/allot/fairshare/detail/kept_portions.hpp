// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/algorithm.hpp>
#include <allot/core/ratio.hpp>
#include <allot/core/vector.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <utility>

namespace allot {
inline namespace v0 {
namespace detail {

/// Numbers that change, of which those above a bound are found. O(log numbers) each.
class ordered_by_maxima {
 public:
  static constexpr std::int64_t none = std::numeric_limits<std::int64_t>::min();

  /// So many, all `none`.
  void reset(std::size_t count) {
    half_ = std::bit_ceil(count);
    greatest_.assign(2 * half_, none);
  }
  void set(std::size_t place, std::int64_t number) {
    std::size_t at = half_ + place;
    greatest_[at] = number;
    for (; at > 1; at /= 2) {
      const std::int64_t of_both = std::max(greatest_[at], greatest_[at ^ 1U]);
      if (std::exchange(greatest_[at / 2], of_both) == of_both) return;
    }
  }
  /// Of the places from `first` to before `last`.
  [[nodiscard]] std::int64_t greatest(std::size_t first, std::size_t last) const {
    std::int64_t most = none;
    for (first += half_, last += half_; first < last; first /= 2, last /= 2) {
      if (first % 2 != 0) most = std::max(most, greatest_[first++]);
      if (last % 2 != 0) most = std::max(most, greatest_[--last]);
    }
    return most;
  }
  /// Calls `visit(place)` for those of them whose number is above the bound. It may set that number.
  template <class Visit>
  void for_each_above(std::int64_t bound, std::size_t first, std::size_t last, Visit visit) const {
    // Mostly there is none.
    if (greatest(first, last) > bound) for_each_above(bound, first, last, visit, 1, 0, half_);
  }

 private:
  template <class Visit>
  void for_each_above(std::int64_t bound, std::size_t first, std::size_t last, Visit& visit, std::size_t at,
                      std::size_t from, std::size_t size) const {
    if (from >= last || from + size <= first || greatest_[at] <= bound) return;
    if (size == 1) return visit(from);
    for_each_above(bound, first, last, visit, 2 * at, from, size / 2);
    for_each_above(bound, first, last, visit, 2 * at + 1, from + size / 2, size / 2);
  }

  /// Node `i` has the greater number of `2 i` and `2 i + 1`; the places start at the middle.
  vector<std::int64_t> greatest_;
  std::size_t half_ = 0;
};

/// The division of an amount by Webster's method in thousandths, as `proportional` does it, kept while the
/// amount and what the portions have room for change: what `settle` gives is what dividing from scratch would
/// give, as the units of all portions have one order, of which the first are given: by `(2 unit - 1) /
/// weight`, and if these are equal by place.
///
/// So portions of equal weight have equally much, their level, as far as they have room: the open ones, which
/// have room for more. Only the units of one turn may have been given to some of them, up to a place.
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
    open_portions_ = open_classes_ = room_ = given_ = 0;
  }
  /// The portion at this place, and what it has been given. Precondition: no number is negative.
  void set(std::size_t place, std::int64_t weight, std::int64_t room, std::int64_t given) {
    seats_[place] = {weight, room, given, static_cast<number>(place)};
    room_ += room;
    given_ += given;
  }
  /// All portions are set as they were divided. O(portions log portions).
  void begin() {
    const std::size_t count = seats_.size();
    detail::sort(seats_.begin(), seats_.end(), [](const seat& a, const seat& b) {
      return a.weight != b.weight ? a.weight < b.weight : a.place < b.place;
    });
    at_.resize(count);
    open_.assign((count + word_bits - 1) / word_bits, 0);
    least_open_.reset(count);
    most_closed_.reset(count);
    classes_.clear();
    tied_.clear();
    line_.clear();
    changed_.clear();
    for (std::size_t i = 0; i < count; ++i) {
      if (i == 0 || seats_[i].weight != seats_[i - 1].weight) classes_.push_back({seats_[i].weight, i, i});
      seats_[i].of = static_cast<number>(classes_.size() - 1);
      at_[seats_[i].place] = static_cast<number>(i);
      classes_.back().last = i + 1;
    }
    next_.assign(2 * classes_.size(), none);
    last_.assign(2 * classes_.size(), none);
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      weight_class& its = classes_[c];
      its.level = level_given(its);
      for (std::size_t i = its.first; i < its.last; ++i) file(i);
      next_[classes_.size() + c] = last_[classes_.size() + c] = static_cast<number>(c);
    }
    for (std::size_t at = classes_.size(); at-- > 1;) meet(at);
    find_cut();
    is_valid_ = true;
  }

  /// The portion has room for that much. To be followed by `settle`. O(log portions), and to move those of
  /// its turn that come after it.
  void change_room(std::size_t place, std::int64_t room) {
    const std::size_t i = at_[place];
    seat& s = seats_[i];
    weight_class& its = classes_[s.of];
    const bool was_open = s.is_open;
    room_ += room - s.room;
    s.room = room;
    const bool was_full = its.open == 0;
    file(i);
    if (was_full && s.is_open) {
      catch_up(s.of);
    } else if (its.open == 0) {
      set_level(s.of, most_closed_.greatest(its.first, its.last));
    }
    play(s.of);
    if (is_tied(s.of) && s.is_open != was_open) change_line(i);
    if (its.open == 0) erase(tied_, s.of);
    const bool has_turn = is_tied(s.of) && s.is_open && place < cut_place();
    give(i, std::min(room, its.level) + (has_turn ? 1 : 0) - s.given);
  }
  /// This much is divided: calls `visit(place, given)` for every portion that has more or less than before,
  /// or whose room has changed. Costs O(thousandths that move), and O(log portions) for each turn. False,
  /// without a visit, if these are many: then it is cheaper to divide from scratch.
  template <class Visit>
  [[nodiscard]] bool settle(std::int64_t amount, Visit visit) {
    const std::int64_t wanted = std::min(amount, room_);
    if (wanted == room_) {
      fill();
    } else if (!is_cheap(std::abs(wanted - given_))) {
      forget();
      return false;
    } else if (given_ < wanted) {
      advance(wanted - given_);
    } else {
      retreat(given_ - wanted);
    }
    for (const number i : changed_) {
      seats_[i].has_changed = false;
      visit(std::size_t{seats_[i].place}, seats_[i].given);
    }
    changed_.clear();
    return true;
  }

 private:
  using number = std::uint32_t;
  static constexpr number none = ~number{0};
  static constexpr std::size_t word_bits = 64;
  /// A division from scratch takes as long as a turn for one in so many portions, or as so many moves of
  /// each.
  static constexpr std::int64_t portions_of_turn = 5;
  static constexpr std::int64_t moves_of_all = 4;

  struct seat {
    std::int64_t weight = 0;
    std::int64_t room = 0;
    std::int64_t given = 0;
    number place = 0;
    /// Its class.
    number of = 0;
    /// Whether it has room for more than the level of its class.
    bool is_open = false;
    bool has_changed = false;
  };
  /// The portions of a weight, by place, and how much those of them have that are open. If none is, that is
  /// the most that any has room for.
  struct weight_class {
    std::int64_t weight = 0;
    std::size_t first = 0;
    std::size_t last = 0;
    std::int64_t level = 0;
    std::size_t open = 0;
  };
  /// When a unit of a class is given: it comes after those of a less `number / weight`.
  struct turn {
    std::int64_t number = 0;
    std::int64_t weight = 0;

    [[nodiscard]] friend std::strong_ordering operator<=>(const turn& a, const turn& b) {
      if (a.weight == b.weight) return a.number <=> b.number;
      if (a.weight == 0 || b.weight == 0) return b.weight <=> a.weight;
      return compare_fractions(static_cast<wide>(a.number), static_cast<wide>(a.weight),
                               static_cast<wide>(b.number), static_cast<wide>(b.weight));
    }
    [[nodiscard]] friend bool operator==(const turn& a, const turn& b) { return (a <=> b) == 0; }
  };

  /// Of the next unit of the class, and of the last that was given to all that are open.
  [[nodiscard]] turn next_turn(number c) const { return {2 * classes_[c].level + 1, classes_[c].weight}; }
  [[nodiscard]] turn last_turn(number c) const { return {2 * classes_[c].level - 1, classes_[c].weight}; }
  [[nodiscard]] bool has_next(number c) const { return classes_[c].open > 0; }
  [[nodiscard]] bool has_last(number c) const { return classes_[c].level > 0; }
  [[nodiscard]] bool is_tied(number c) const {
    return std::find(tied_.begin(), tied_.end(), c) != tied_.end();
  }
  /// Those before that place have had their unit of the turn that is being given.
  [[nodiscard]] std::size_t cut_place() const { return cut_ == 0 ? 0 : seats_[line_[cut_ - 1]].place + 1; }

  /// The level of a class by what has been given: what those have that have room for more.
  [[nodiscard]] std::int64_t level_given(const weight_class& its) const {
    std::int64_t level = ordered_by_maxima::none;
    std::int64_t most = 0;
    for (std::size_t i = its.first; i < its.last; ++i) {
      const seat& s = seats_[i];
      most = std::max(most, s.room);
      if (s.given < s.room && (level == ordered_by_maxima::none || s.given < level)) level = s.given;
    }
    return level == ordered_by_maxima::none ? most : level;
  }
  /// Finds the turn of which only some units have been given, after a division.
  void find_cut() {
    cut_ = 0;
    const seat* partly = nullptr;
    for (const seat& s : seats_) {
      if (s.is_open && s.given > classes_[s.of].level) partly = &s;
    }
    const bool has_both = has_next(next_[1]) && has_last(last_[1]);
    if (partly == nullptr && !(has_both && next_turn(next_[1]) == last_turn(last_[1]))) return;
    const turn now = next_turn(partly != nullptr ? partly->of : next_[1]);
    // Classes of which all that are open have had theirs.
    list_tied<false>(now);
    for (const number c : tied_) set_level(c, classes_[c].level - 1);
    tied_.clear();
    list_tied<true>(now);
    line_up();
    while (cut_ < line_.size() && has_unit(line_[cut_])) ++cut_;
  }
  /// Whether the open portion has more than its level.
  [[nodiscard]] bool has_unit(number i) const { return seats_[i].given > classes_[seats_[i].of].level; }

  /// The portion is open if it has room for more than the level of its class.
  void file(std::size_t i) {
    seat& s = seats_[i];
    weight_class& its = classes_[s.of];
    const bool is_open = s.room > its.level;
    if (std::exchange(s.is_open, is_open) != is_open) {
      open_portions_ += is_open ? 1 : -1;
      if (is_open && its.open++ == 0) ++open_classes_;
      if (!is_open && --its.open == 0) --open_classes_;
      open_[i / word_bits] ^= std::uint64_t{1} << (i % word_bits);
    }
    least_open_.set(i, is_open ? -s.room : ordered_by_maxima::none);
    most_closed_.set(i, is_open ? ordered_by_maxima::none : s.room);
  }
  /// The class has that level; what its portions have is as before.
  void set_level(number c, std::int64_t level) {
    weight_class& its = classes_[c];
    its.level = level;
    const auto file_again = [this](std::size_t i) { file(i); };
    least_open_.for_each_above(-level - 1, its.first, its.last, file_again);
    most_closed_.for_each_above(level, its.first, its.last, file_again);
    play(c);
  }
  /// No portion of the class was open, and one is: it is given what comes before what others have.
  void catch_up(number c) {
    const weight_class& its = classes_[c];
    const bool is_part = !tied_.empty();
    const number from = is_part ? tied_.front() : (has_last(last_[1]) ? last_[1] : none);
    if (from == none || from == c) return;
    const turn now = is_part ? next_turn(from) : last_turn(from);
    const std::int64_t room = -least_open_.greatest(its.first, its.last);
    if (its.weight == 0) return;
    if (now.weight == 0) return set_level(c, room);
    const wide twice = 2 * static_cast<wide>(now.weight);
    const wide units = static_cast<wide>(now.number) * static_cast<wide>(its.weight) + twice / 2;
    const bool is_same = is_part && units % twice == 0;
    const wide before = units / twice - (is_same ? 1 : 0);
    set_level(c, before < static_cast<wide>(room) ? static_cast<std::int64_t>(before) : room);
    if (is_same && its.open > 0) tied_.push_back(c);
  }

  /// Whether that many units are moved in less time than they are divided from scratch, as far as can be
  /// told.
  [[nodiscard]] bool is_cheap(std::int64_t units) const {
    if (classes_.size() == 1) return true;
    const auto all = static_cast<std::int64_t>(seats_.size());
    if (units > moves_of_all * all) return false;
    return units * open_classes_ * portions_of_turn <= all * std::max<std::int64_t>(1, open_portions_);
  }
  void give(std::size_t i, std::int64_t more) {
    seats_[i].given += more;
    given_ += more;
    if (!std::exchange(seats_[i].has_changed, true)) changed_.push_back(static_cast<number>(i));
  }
  /// Everything that there is room for is given.
  void fill() {
    tied_.clear();
    line_.clear();
    cut_ = 0;
    for (number c = next_[1]; has_next(c); c = next_[1]) {
      line_up_class(c);
      for (const number i : line_) give(i, seats_[i].room - seats_[i].given);
      std::int64_t most = 0;
      for (const number i : line_) most = std::max(most, seats_[i].room);
      line_.clear();
      set_level(c, most);
    }
  }
  /// Gives that many of the next units.
  void advance(std::int64_t units) {
    while (units > 0) {
      if (tied_.empty()) {
        list_tied<true>(next_turn(next_[1]), next_[1]);
        line_up();
        cut_ = 0;
      }
      const auto open = static_cast<std::int64_t>(line_.size());
      std::int64_t turns = 1;
      if (cut_ == 0 && classes_.size() == 1 && units >= open) {
        turns = std::min(units / open, -least_open_.greatest(0, seats_.size()) - classes_[0].level);
      }
      const auto count = std::min(units / turns, open - static_cast<std::int64_t>(cut_));
      for (std::int64_t k = 0; k < count; ++k) give(line_[cut_++], turns);
      units -= count * turns;
      if (cut_ < line_.size()) return;
      for (const number c : tied_) set_level(c, classes_[c].level + turns);
      tied_.clear();
    }
  }
  /// Takes that many of the last units back.
  void retreat(std::int64_t units) {
    while (units > 0) {
      if (tied_.empty()) {
        list_tied<false>(last_turn(last_[1]), last_[1]);
        for (const number c : tied_) set_level(c, classes_[c].level - 1);
        line_up();
        cut_ = line_.size();
      }
      const auto open = static_cast<std::int64_t>(line_.size());
      std::int64_t turns = 1;
      if (cut_ == line_.size() && classes_.size() == 1 && units >= open) {
        const std::int64_t closed = std::max<std::int64_t>(0, most_closed_.greatest(0, seats_.size()));
        turns = std::min(units / open, classes_[0].level + 1 - closed);
      }
      const auto count = std::min(units / turns, static_cast<std::int64_t>(cut_));
      for (std::int64_t k = 0; k < count; ++k) give(line_[--cut_], -turns);
      units -= count * turns;
      if (cut_ > 0) return;
      if (turns > 1) set_level(0, classes_[0].level + 1 - turns);
      tied_.clear();
    }
  }

  /// Lists the classes whose next units, or last ones, have that turn, which none precedes (or follows). That
  /// one has it is known of a class.
  template <bool More>
  void list_tied(const turn& when, number known = none, std::size_t at = 1) {
    const number best = More ? next_[at] : last_[at];
    if (More ? !has_next(best) : !has_last(best)) return;
    if (best != known && (More ? next_turn(best) : last_turn(best)) != when) return;
    if (at >= classes_.size()) return tied_.push_back(best);
    list_tied<More>(when, best, 2 * at);
    list_tied<More>(when, best, 2 * at + 1);
  }
  /// Lines up the open portions of the tied classes, by place.
  void line_up() {
    line_.clear();
    for (const number c : tied_) line_up_class(c);
    if (tied_.size() > 1)
      detail::sort(line_.begin(), line_.end(), [this](number a, number b) { return is_earlier(a, b); });
  }
  void line_up_class(number c) {
    const weight_class& its = classes_[c];
    for (std::size_t w = its.first / word_bits; w * word_bits < its.last; ++w) {
      std::uint64_t bits = open_[w];
      if (w == its.first / word_bits) bits &= ~std::uint64_t{0} << (its.first % word_bits);
      for (; bits != 0; bits &= bits - 1) {
        const std::size_t i = w * word_bits + static_cast<std::size_t>(std::countr_zero(bits));
        if (i >= its.last) return;
        line_.push_back(static_cast<number>(i));
      }
    }
  }
  [[nodiscard]] bool is_earlier(number a, number b) const { return seats_[a].place < seats_[b].place; }
  /// A portion of a tied class is open now, or no longer.
  void change_line(std::size_t i) {
    const auto of = static_cast<number>(i);
    const auto at = std::lower_bound(line_.begin(), line_.end(), of,
                                     [this](number a, number b) { return is_earlier(a, b); });
    const auto before = static_cast<std::size_t>(at - line_.begin());
    if (seats_[i].is_open) {
      line_.insert(at, of);
      if (before < cut_) ++cut_;
    } else {
      line_.erase(at);
      if (before < cut_) --cut_;
    }
  }

  /// The level of the class, or whether it is open, has changed.
  void play(number c) {
    for (std::size_t at = (classes_.size() + c) / 2; at >= 1; at /= 2) meet(at);
  }
  /// Settles which of two has the next turn, and which the last one.
  void meet(std::size_t at) {
    number a = next_[2 * at];
    number b = next_[2 * at + 1];
    next_[at] = has_next(b) && (!has_next(a) || next_turn(b) < next_turn(a)) ? b : a;
    a = last_[2 * at];
    b = last_[2 * at + 1];
    last_[at] = has_last(b) && (!has_last(a) || last_turn(a) < last_turn(b)) ? b : a;
  }

  /// By weight, then by place; and where a place is.
  vector<seat> seats_;
  vector<number> at_;
  /// Which are open, as bits; what those have room for, negated; and what the others have room for.
  vector<std::uint64_t> open_;
  ordered_by_maxima least_open_;
  ordered_by_maxima most_closed_;
  vector<weight_class> classes_;
  /// Winner trees (see `winner_trees`) of the classes: node `i` is fed by `2 i` and `2 i + 1`.
  vector<number> next_;
  vector<number> last_;
  /// The classes whose next units have the turn that is being given, if that has begun; their open portions
  /// by place; and how many of them have had theirs.
  vector<number> tied_;
  vector<number> line_;
  std::size_t cut_ = 0;
  vector<number> changed_;
  std::int64_t open_portions_ = 0;
  std::int64_t open_classes_ = 0;
  std::int64_t room_ = 0;
  std::int64_t given_ = 0;
  bool is_valid_ = false;
};

}  // namespace detail
}  // namespace v0
}  // namespace allot
