// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/csv_table.hpp>

#include <allot/core/assert.hpp>
#include <allot/lab/decimal.hpp>
#include <allot/lab/name_table.hpp>

namespace allot {
inline namespace v0 {
namespace lab {

csv_table_base::csv_table_base(byte_source source, std::span<const csv_column> columns,
                               std::size_t record_limit, csv_dialect dialect)
    : csv_(std::move(source), record_limit, dialect), columns_(columns), at_(columns.size(), absent) {}

bool csv_table_base::open() {
  const csv_reader::outcome o = csv_.next();
  if (o == csv_reader::outcome::failed) {
    problems_.push_back(csv_.problem());
    return false;
  }
  if (o == csv_reader::outcome::end) {
    at_end_ = true;
    problems_.push_back({{}, {}, "the text is empty: expected a header row with " + required_names()});
    return false;
  }
  size_ = csv_.size();
  return find_columns([this](std::size_t i) { return csv_.text(i); },
                      [this](std::size_t i) { return i < size_ ? csv_.place(i) : csv_.place(); });
}

bool csv_table_base::open(std::span<const std::string> names) {
  size_ = names.size();
  return find_columns([&](std::size_t i) { return std::string_view{names[i]}; },
                      [](std::size_t) { return text_place{}; });
}

template <class Name, class Place>
bool csv_table_base::find_columns(Name name_of, Place place) {
  name_table seen;
  for (std::size_t i = 0; i < size_; ++i) {
    const std::string_view name = name_of(i);
    if (!seen.intern(name).added) add_problem(place(i), name, "this column is there twice");
    std::size_t column = 0;
    while (column < columns_.size() && columns_[column].name != name) ++column;
    if (column < columns_.size()) {
      at_[column] = i;
    } else {
      others_.push_back({std::string{name}, i});
    }
  }
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    if (has(column) || !columns_[column].required) continue;
    add_problem(place(size_), columns_[column].name, "this column is required, and the header row lacks it");
  }
  return problems_.empty();
}

csv_table_base::outcome csv_table_base::next() {
  problems_.clear();
  readable_ = false;
  const csv_reader::outcome o = csv_.next();
  at_end_ = o == csv_reader::outcome::end;
  if (at_end_) return outcome::end;
  if (o == csv_reader::outcome::failed) {
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

std::optional<std::size_t> csv_table_base::find(std::string_view name) const {
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    if (columns_[column].name == name && has(column)) return at_[column];
  }
  for (const other_column& o : others_) {
    if (o.name == name) return o.at;
  }
  return std::nullopt;
}

std::string_view csv_table_base::field(std::size_t at) const {
  ALLOT_ASSERT(readable_, "a row to take a field from");
  return csv_.text(at);
}

std::string_view csv_table_base::text(std::size_t column) const {
  ALLOT_ASSERT(readable_, "a row to take a field from");
  return has(column) ? csv_.text(at_[column]) : std::string_view{};
}

void csv_table_base::report(std::size_t column, std::string text) {
  add_problem(place_of(column), columns_[column].name, std::move(text));
}

std::optional<std::int64_t> csv_table_base::milli(std::size_t column, const char* expected,
                                                  std::int64_t least, std::int64_t most) {
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

std::optional<std::int64_t> csv_table_base::required_milli(std::size_t column, const char* expected,
                                                           std::int64_t least, std::int64_t most) {
  if (text(column).empty()) report_missing(column, expected);
  return milli(column, expected, least, most);
}

std::optional<std::int64_t> csv_table_base::whole(std::size_t column, std::int64_t least, std::int64_t most) {
  const auto n = milli(column, "a whole number", least, most);
  if (!n || *n % 1000 == 0) return n ? std::optional{*n / 1000} : n;
  report(column, "expected a whole number, found " + shown(text(column)));
  return std::nullopt;
}

std::optional<std::int64_t> csv_table_base::required_whole(std::size_t column, std::int64_t least,
                                                           std::int64_t most) {
  if (text(column).empty()) report_missing(column, "a whole number");
  return whole(column, least, most);
}

std::string_view csv_table_base::required_text(std::size_t column, const char* expected) {
  const std::string_view field = text(column);
  if (field.empty()) report_missing(column, expected);
  return field;
}

std::string csv_table_base::required_names() const {
  std::string names;
  for (const csv_column& column : columns_) {
    if (!column.required) continue;
    if (!names.empty()) names += ',';
    names += column.name;
  }
  return names;
}

void csv_table_base::report_missing(std::size_t column, const char* expected) {
  report(column, std::string{"expected "}.append(expected).append(", found nothing"));
}

void csv_table_base::add_problem(text_place place, std::string_view field, std::string text) {
  problems_.push_back({place, std::string{field}, std::move(text)});
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
