// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <allot/core/vector.hpp>
#include <allot/lab/csv.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

/// A column requested by its name in the header row.
struct csv_column {
  std::string_view name;
  bool required = true;
};

/// The implementation of `csv_table`, with the requested columns as numbers.
class csv_table_base {
 public:
  enum class outcome {
    row,
    /// A row with too many or too few fields: it has a problem and no fields.
    bad_row,
    end,
    /// What `csv_reader` refuses: reading can't continue.
    failed,
  };

  /// Reads the header row. False if there is none, if it lacks a required column or has one twice: then
  /// `problems` has all of that, and no row can be read.
  [[nodiscard]] bool open();
  /// The same for a text without a header row, whose columns have these names.
  [[nodiscard]] bool open(std::span<const std::string> names);

  /// Advances to the next row and clears the problems of the last one. Precondition: `open` returned true.
  outcome next();

  /// The problems of the header row, of this row, or of the text from here on.
  [[nodiscard]] const vector<text_problem>& problems() const noexcept { return problems_; }
  /// Whether the text was read to its end.
  [[nodiscard]] bool at_end() const noexcept { return at_end_; }
  /// Whether the text ended in the middle of this row, without a line break: it may be truncated.
  [[nodiscard]] bool is_cut_off() const noexcept { return csv_.is_cut_off(); }
  /// Where the row begins.
  [[nodiscard]] text_place place() const noexcept { return csv_.place(); }

  /// The number of columns that were not requested, the name of the `i`-th, and its field.
  [[nodiscard]] std::size_t others() const noexcept { return others_.size(); }
  [[nodiscard]] std::string_view other_name(std::size_t i) const { return others_[i].name; }
  [[nodiscard]] std::string_view other(std::size_t i) const { return field(others_[i].at); }

  /// The position of the column with that name, requested or not; for `field`.
  [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const;
  [[nodiscard]] std::string_view field(std::size_t at) const;
  /// Where that field begins.
  [[nodiscard]] text_place field_place(std::size_t at) const { return csv_.place(at); }

 protected:
  // See `csv_table`.

  csv_table_base(byte_source source, std::span<const csv_column> columns, std::size_t record_limit,
                 csv_dialect dialect);

  [[nodiscard]] bool has(std::size_t column) const { return at_[column] != absent; }
  [[nodiscard]] text_place place_of(std::size_t column) const {
    return has(column) ? csv_.place(at_[column]) : csv_.place();
  }
  [[nodiscard]] std::string_view text(std::size_t column) const;
  void report(std::size_t column, std::string text);
  [[nodiscard]] std::optional<std::int64_t> milli(std::size_t column, const char* expected,
                                                  std::int64_t least, std::int64_t most);
  [[nodiscard]] std::optional<std::int64_t> required_milli(std::size_t column, const char* expected,
                                                           std::int64_t least, std::int64_t most);
  [[nodiscard]] std::optional<std::int64_t> whole(std::size_t column, std::int64_t least, std::int64_t most);
  [[nodiscard]] std::optional<std::int64_t> required_whole(std::size_t column, std::int64_t least,
                                                           std::int64_t most);
  [[nodiscard]] std::string_view required_text(std::size_t column, const char* expected);

 private:
  struct other_column {
    std::string name;
    std::size_t at = 0;
  };

  static constexpr std::size_t absent = static_cast<std::size_t>(-1);

  /// Finds the requested columns among those with these names and places; the place after the last is that of
  /// the row.
  template <class Name, class Place>
  bool find_columns(Name name, Place place);
  [[nodiscard]] std::string required_names() const;
  void report_missing(std::size_t column, const char* expected);
  void add_problem(text_place place, std::string_view field, std::string text);

  csv_reader csv_;
  std::span<const csv_column> columns_;
  vector<std::size_t> at_;
  vector<other_column> others_;
  std::size_t size_ = 0;
  bool readable_ = false;
  bool at_end_ = false;
  vector<text_problem> problems_;
};

/// Reads a CSV text with a header row, one row at a time, by the names of its columns. These may be in any
/// order; those that were not requested are there too, in the order of the file. `Column` is an enumeration
/// of the columns requested.
///
/// The problems of a row are collected for that row alone, so the caller decides whether a bad row ends the
/// reading or is skipped. Memory is bounded by the longest record.
template <class Column>
class csv_table : public csv_table_base {
 public:
  /// `columns` is in the order of `Column`, and must outlive the table.
  csv_table(byte_source source, std::span<const csv_column> columns,
            std::size_t record_limit = csv_reader::default_record_limit, csv_dialect dialect = {})
      : csv_table_base(std::move(source), columns, record_limit, dialect) {}

  /// Whether the text has the column.
  [[nodiscard]] bool has(Column column) const { return csv_table_base::has(number(column)); }
  /// The field of this row, valid until `next`; empty if the text has no such column.
  [[nodiscard]] std::string_view text(Column column) const { return csv_table_base::text(number(column)); }

  /// Where the field of this row begins; the row, if the text has no such column.
  [[nodiscard]] text_place place_of(Column column) const { return csv_table_base::place_of(number(column)); }

  /// Adds a problem to this row, at one of its fields.
  void report(Column column, std::string text) { csv_table_base::report(number(column), std::move(text)); }

  /// The field as a decimal number from `least` to `most`, in thousandths; nothing if the field is empty or
  /// absent, and nothing and a problem if it is anything else. `expected` is what the message asks for ("a
  /// number of seconds"). Precondition: the bounds fit 63 bits in thousandths.
  [[nodiscard]] std::optional<std::int64_t> milli(Column column, const char* expected, std::int64_t least,
                                                  std::int64_t most) {
    return csv_table_base::milli(number(column), expected, least, most);
  }
  /// The same for a field that must be there.
  [[nodiscard]] std::optional<std::int64_t> required_milli(Column column, const char* expected,
                                                           std::int64_t least, std::int64_t most) {
    return csv_table_base::required_milli(number(column), expected, least, most);
  }

  /// The field as an integer from `least` to `most` ("8" and "8.0"), else as `milli`.
  [[nodiscard]] std::optional<std::int64_t> whole(Column column, std::int64_t least, std::int64_t most) {
    return csv_table_base::whole(number(column), least, most);
  }
  /// The same for a field that must be there.
  [[nodiscard]] std::optional<std::int64_t> required_whole(Column column, std::int64_t least,
                                                           std::int64_t most) {
    return csv_table_base::required_whole(number(column), least, most);
  }

  /// The field as text that must not be empty.
  [[nodiscard]] std::string_view required_text(Column column, const char* expected) {
    return csv_table_base::required_text(number(column), expected);
  }

 private:
  [[nodiscard]] static constexpr std::size_t number(Column column) noexcept {
    return static_cast<std::size_t>(column);
  }
};

}  // namespace lab
}  // namespace v0
}  // namespace allot
