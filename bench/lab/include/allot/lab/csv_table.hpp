// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/assert.hpp>
#include <allot/lab/csv.hpp>
#include <allot/lab/decimal.hpp>
#include <allot/lab/name_table.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace allot {
inline namespace v0 {
namespace lab {

/// A column that a reader asks for by the name that it has in the header row.
struct csv_column {
  std::string_view name;
  bool required = true;
};

/// Reads a CSV text that has a header row, one row at a time, by the names of its columns. They may stand in
/// any order; those that were not asked for are there too, in the order of the file. `Column` is an
/// enumeration that counts the columns asked for.
///
/// What is wrong with a row is collected for that row alone, so the caller decides whether a bad row ends the
/// reading or is left out. Memory is bounded by the longest record.
template <byte_source Source, class Column>
class csv_table {
 public:
  enum class outcome {
    row,
    /// A row with too many or too few fields: it has a problem and no fields.
    bad_row,
    end,
    /// What `csv_reader` refuses: there is no way to go on.
    failed,
  };

  /// `columns` is in the order of `Column`, and must outlive the table.
  csv_table(Source source, std::span<const csv_column> columns,
            std::size_t record_limit = csv_reader<Source>::default_record_limit)
      : csv_(std::move(source), record_limit), columns_(columns), at_(columns.size(), absent) {}

  /// Reads the header row. False when there is none, when it lacks a required column or has one twice: then
  /// `problems` has all of that, and there is nothing to be read.
  [[nodiscard]] bool open() {
    const csv_outcome o = csv_.next();
    if (o == csv_outcome::failed) {
      problems_.push_back(csv_.problem());
      return false;
    }
    if (o == csv_outcome::end) {
      at_end_ = true;
      problems_.push_back({{}, {}, "the text is empty: expected a header row with " + required_names()});
      return false;
    }
    size_ = csv_.size();
    name_table seen;
    for (std::size_t i = 0; i < size_; ++i) {
      const std::string_view name = csv_.text(i);
      if (!seen.intern(name).added) add_problem(csv_.place(i), name, "this column is there twice");
      std::size_t column = 0;
      while (column < columns_.size() && columns_[column].name != name) ++column;
      if (column < columns_.size()) {
        at_[column] = i;
      } else {
        others_.push_back({std::string{name}, i});
      }
    }
    for (std::size_t column = 0; column < columns_.size(); ++column) {
      if (at_[column] != absent || !columns_[column].required) continue;
      add_problem(csv_.place(), columns_[column].name,
                  "this column is required, and the header row lacks it");
    }
    return problems_.empty();
  }

  /// Goes on to the next row and forgets what was wrong with the last one. Precondition: `open` said true.
  outcome next() {
    problems_.clear();
    readable_ = false;
    const csv_outcome o = csv_.next();
    at_end_ = o == csv_outcome::end;
    if (at_end_) return outcome::end;
    if (o == csv_outcome::failed) {
      problems_.push_back(csv_.problem());
      return outcome::failed;
    }
    readable_ = csv_.size() == size_;
    if (readable_) return outcome::row;
    add_problem(csv_.size() > size_ ? csv_.place(size_) : csv_.place(csv_.size() - 1), {},
                "expected " + std::to_string(size_) + " fields, as in the header row, found " +
                    std::to_string(csv_.size()));
    return outcome::bad_row;
  }

  /// What is wrong with the header row, with this row, or with the text from here on.
  [[nodiscard]] const std::vector<text_problem>& problems() const noexcept { return problems_; }
  /// Whether the text was read to its end.
  [[nodiscard]] bool at_end() const noexcept { return at_end_; }
  /// Whether the text ended in the middle of this row, without a line break: it may be truncated.
  [[nodiscard]] bool is_cut_off() const noexcept { return csv_.is_cut_off(); }
  /// Where the row begins.
  [[nodiscard]] text_place place() const noexcept { return csv_.place(); }

  /// Whether the text has the column.
  [[nodiscard]] bool has(Column column) const { return at(column) != absent; }
  /// The field of this row, valid until `next`; empty when the text has no such column.
  [[nodiscard]] std::string_view text(Column column) const {
    ALLOT_ASSERT(readable_, "a row to take a field from");
    return has(column) ? csv_.text(at(column)) : std::string_view{};
  }
  /// How many columns there are that were not asked for, what the `i`-th is called, and its field.
  [[nodiscard]] std::size_t others() const noexcept { return others_.size(); }
  [[nodiscard]] std::string_view other_name(std::size_t i) const { return others_[i].name; }
  [[nodiscard]] std::string_view other(std::size_t i) const {
    ALLOT_ASSERT(readable_, "a row to take a field from");
    return csv_.text(others_[i].at);
  }

  /// Where the column of that name stands, whether or not it was asked for; for `field`.
  [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const {
    for (std::size_t column = 0; column < columns_.size(); ++column) {
      if (columns_[column].name == name && at_[column] != absent) return at_[column];
    }
    for (const other_column& o : others_) {
      if (o.name == name) return o.at;
    }
    return std::nullopt;
  }
  [[nodiscard]] std::string_view field(std::size_t at) const {
    ALLOT_ASSERT(readable_, "a row to take a field from");
    return csv_.text(at);
  }

  /// Adds to what is wrong with this row, at a field of it.
  void report(Column column, std::string text) {
    add_problem(has(column) ? csv_.place(at(column)) : csv_.place(), name_of(column), std::move(text));
  }

  /// The field as a decimal number from `least` to `most`, in thousandths; nothing when the field is empty or
  /// not there, and nothing and a problem when it is something else. `expected` is what the message asks for
  /// ("a number of seconds"). Precondition: the bounds fit 63 bits in thousandths.
  [[nodiscard]] std::optional<std::int64_t> milli(Column column, const char* expected, std::int64_t least,
                                                  std::int64_t most) {
    const std::string_view field = text(column);
    if (field.empty()) return std::nullopt;
    const parsed_milli n = parse_milli(field);
    if (n.problem == decimal_problem::none && least * 1000 <= n.value && n.value <= most * 1000) {
      return n.value;
    }
    std::string wrong = "expected ";
    if (n.problem == decimal_problem::malformed) {
      wrong += expected;
    } else if (n.problem == decimal_problem::too_fine) {
      wrong.append(expected).append(" with at most three decimals");
    } else if (n.problem == decimal_problem::too_large ? field.front() == '-' : n.value < least * 1000) {
      wrong += "at least " + std::to_string(least);
    } else {
      wrong += "at most " + std::to_string(most);
    }
    report(column, wrong + ", found " + shown(field));
    return std::nullopt;
  }
  /// The same for a field that must be there.
  [[nodiscard]] std::optional<std::int64_t> required_milli(Column column, const char* expected,
                                                           std::int64_t least, std::int64_t most) {
    if (text(column).empty()) report_missing(column, expected);
    return milli(column, expected, least, most);
  }

  /// The field as a whole number from `least` to `most` ("8" and "8.0"), else as `milli`.
  [[nodiscard]] std::optional<std::int64_t> whole(Column column, std::int64_t least, std::int64_t most) {
    const auto n = milli(column, "a whole number", least, most);
    if (!n || *n % 1000 == 0) return n ? std::optional{*n / 1000} : n;
    report(column, "expected a whole number, found " + shown(text(column)));
    return std::nullopt;
  }
  [[nodiscard]] std::optional<std::int64_t> required_whole(Column column, std::int64_t least,
                                                           std::int64_t most) {
    if (text(column).empty()) report_missing(column, "a whole number");
    return whole(column, least, most);
  }

  /// The field as text that must not be empty.
  [[nodiscard]] std::string_view required_text(Column column, const char* expected) {
    const std::string_view field = text(column);
    if (field.empty()) report_missing(column, expected);
    return field;
  }

 private:
  using csv_outcome = typename csv_reader<Source>::outcome;
  struct other_column {
    std::string name;
    std::size_t at = 0;
  };

  static constexpr std::size_t absent = static_cast<std::size_t>(-1);

  [[nodiscard]] std::size_t at(Column column) const { return at_[static_cast<std::size_t>(column)]; }
  [[nodiscard]] std::string_view name_of(Column column) const {
    return columns_[static_cast<std::size_t>(column)].name;
  }
  [[nodiscard]] std::string required_names() const {
    std::string names;
    for (const csv_column& column : columns_) {
      if (!column.required) continue;
      if (!names.empty()) names += ',';
      names += column.name;
    }
    return names;
  }
  void report_missing(Column column, const char* expected) {
    report(column, std::string{"expected "}.append(expected).append(", found nothing"));
  }
  void add_problem(text_place place, std::string_view field, std::string text) {
    problems_.push_back({place, std::string{field}, std::move(text)});
  }

  csv_reader<Source> csv_;
  std::span<const csv_column> columns_;
  std::vector<std::size_t> at_;
  std::vector<other_column> others_;
  std::size_t size_ = 0;
  bool readable_ = false;
  bool at_end_ = false;
  std::vector<text_problem> problems_;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot
