// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/csv_table.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/seeds.hpp"

using namespace allot::lab;

namespace {

enum class fruit : std::uint8_t { name, grams, price };
constexpr std::array<csv_column, 3> fruit_columns = {{{"name"}, {"grams"}, {"price", false}}};

using fruit_table = csv_table<fruit>;
using outcome = fruit_table::outcome;

std::string told(const std::vector<text_problem>& problems) {
  std::string all;
  for (const text_problem& p : problems) all += to_string(p) + '\n';
  return all;
}

std::string header_problems(std::string_view text) {
  fruit_table table{string_source{text}, fruit_columns};
  CHECK_FALSE(table.open());
  return told(table.problems());
}

}  // namespace

TEST_CASE("csv_table: columns by name, in any order, with others between them") {
  fruit_table table{string_source{"color,grams,name,origin\nred,150,apple,\"Asti, IT\"\nyellow,9.25,,\n"},
                    fruit_columns};
  REQUIRE(table.open());
  CHECK(table.has(fruit::name));
  CHECK_FALSE(table.has(fruit::price));
  CHECK(table.others() == 2);
  CHECK(table.other_name(0) == "color");
  CHECK(table.other_name(1) == "origin");

  REQUIRE(table.next() == outcome::row);
  CHECK(table.place() == text_place{2, 1});
  CHECK(table.text(fruit::name) == "apple");
  CHECK(table.required_text(fruit::name, "a name") == "apple");
  CHECK(table.whole(fruit::grams, 0, 1000) == 150);
  CHECK(table.text(fruit::price).empty());
  CHECK_FALSE(table.milli(fruit::price, "a price", 0, 10));
  CHECK(table.other(0) == "red");
  CHECK(table.other(1) == "Asti, IT");
  CHECK(table.field(*table.find("origin")) == "Asti, IT");
  CHECK(table.field(*table.find("name")) == "apple");
  CHECK_FALSE(table.find("price"));
  CHECK_FALSE(table.find("x"));
  CHECK(table.problems().empty());

  REQUIRE(table.next() == outcome::row);
  CHECK(table.milli(fruit::grams, "grams", 0, 10) == 9'250);
  CHECK(table.problems().empty());
  CHECK_FALSE(table.at_end());
  CHECK(table.next() == outcome::end);
  CHECK(table.next() == outcome::end);
  CHECK(table.at_end());
}

TEST_CASE("csv_table: problems of the header row") {
  CHECK(header_problems("") ==
        "line 1, column 1: the text is empty: expected a header row with name,grams\n");
  CHECK(header_problems("nome,grams,grams\n") ==
        "line 1, column 12 (grams): this column is there twice\n"
        "line 1, column 1 (name): this column is required, and the header row lacks it\n");
  CHECK(header_problems("name,grams,x\"\n") ==
        "line 1, column 13: a quote inside a field: the whole field must be quoted and the quote doubled\n");
  CHECK(header_problems("\xFF\xFEn\0") == "line 1, column 1: the text is UTF-16; expected UTF-8\n");
}

TEST_CASE("csv_table: a bad row is reported and skipped") {
  fruit_table table{string_source{"name,grams\na\nb,1,2\nc,x\n\nd,-1\ne,5\nf,\"1"}, fruit_columns};
  REQUIRE(table.open());
  CHECK(table.next() == outcome::bad_row);
  CHECK(told(table.problems()) == "line 2, column 1: expected 2 fields, as in the header row, found 1\n");
  CHECK(table.next() == outcome::bad_row);
  CHECK(told(table.problems()) == "line 3, column 5: expected 2 fields, as in the header row, found 3\n");
  CHECK(table.next() == outcome::row);
  CHECK_FALSE(table.whole(fruit::grams, 0, 10));
  CHECK(told(table.problems()) == "line 4, column 3 (grams): expected a whole number, found \"x\"\n");
  CHECK(table.next() == outcome::row);
  CHECK_FALSE(table.required_whole(fruit::grams, 0, 10));
  CHECK(told(table.problems()) == "line 6, column 3 (grams): expected at least 0, found \"-1\"\n");
  CHECK(table.next() == outcome::row);
  CHECK(table.problems().empty());
  CHECK(table.whole(fruit::grams, 0, 10) == 5);
  CHECK(table.next() == outcome::failed);
  CHECK(told(table.problems()) == "line 8, column 3: this quote is never closed\n");
  CHECK(table.next() == outcome::failed);
  CHECK_FALSE(table.at_end());
}

TEST_CASE("csv_table: fields that are required, and problems of the caller") {
  fruit_table table{string_source{"name,grams\n,\n"}, fruit_columns};
  REQUIRE(table.open());
  REQUIRE(table.next() == outcome::row);
  CHECK(table.required_text(fruit::name, "a name").empty());
  CHECK_FALSE(table.required_whole(fruit::grams, 0, 10));
  CHECK_FALSE(table.required_milli(fruit::grams, "a weight", 0, 10));
  table.report(fruit::name, "no such fruit");
  table.report(fruit::price, "too dear");
  CHECK(told(table.problems()) ==
        "line 2, column 1 (name): expected a name, found nothing\n"
        "line 2, column 2 (grams): expected a whole number, found nothing\n"
        "line 2, column 2 (grams): expected a weight, found nothing\n"
        "line 2, column 1 (name): no such fruit\n"
        "line 2, column 1 (price): too dear\n");
}

TEST_CASE("csv_table: numbers at their bounds") {
  const auto read = [](const std::string& field, std::int64_t least, std::int64_t most) {
    const std::string text = "name,grams\nx," + field + "\n";
    fruit_table table{string_source{text}, fruit_columns};
    REQUIRE(table.open());
    REQUIRE(table.next() == outcome::row);
    const auto n = table.milli(fruit::grams, "a weight", least, most);
    CHECK(n.has_value() == table.problems().empty());
    return n ? std::to_string(*n) : table.problems().front().text;
  };
  CHECK(read("10", 0, 10) == "10000");
  CHECK(read("10.001", 0, 10) == "expected at most 10, found \"10.001\"");
  CHECK(read("-3", -3, 10) == "-3000");
  CHECK(read("-3.001", -3, 10) == "expected at least -3, found \"-3.001\"");
  CHECK(read("0.0005", 0, 10) == "expected a weight with at most three decimals, found \"0.0005\"");
  CHECK(read("1000000000000000000", 0, 10) == "expected at most 10, found \"1000000000000000000\"");
  CHECK(read("-99999999999999999999", 0, 10) == "expected at least 0, found \"-99999999999999999999\"");
  for (const char* none : {"nan", "NaN", "inf", "1e3", "+1", " 1", "1 ", "0x1", "1,", "--1"}) {
    if (std::string_view{none} == "1,") continue;
    CHECK(read(none, -10, 10) == "expected a weight, found \"" + std::string{none} + "\"");
  }
}

TEST_CASE("csv_table: reads back columns in any order") {
  allot_test::for_each_seed(200, [](allot_test::random_source& random) {
    std::vector<std::string> names = {"name", "grams", "price", "x", "y,z", ""};
    random.shuffle(names);
    std::vector<std::map<std::string, std::string>> rows(random.below(20));
    std::string text;
    const auto write_row = [&](auto field) {
      for (std::size_t i = 0; i < names.size(); ++i) {
        if (i != 0) text += ',';
        append_csv_field(text, field(names[i]));
      }
      text += random.one_in(2) ? "\r\n" : "\n";
    };
    write_row([](const std::string& name) { return name; });
    constexpr std::string_view letters = "a,\"\n1";
    for (auto& row : rows) {
      for (const std::string& name : names) {
        for (std::size_t n = random.below(4); n > 0; --n) row[name] += random.pick(letters);
      }
      row["grams"] = std::to_string(random.between(0, 1'000'000));
      write_row([&row](const std::string& name) { return row[name]; });
    }
    fruit_table table{string_source{text}, fruit_columns};
    REQUIRE(table.open());
    REQUIRE(table.others() == 3);
    for (auto& row : rows) {
      REQUIRE(table.next() == outcome::row);
      CHECK(table.text(fruit::name) == row["name"]);
      CHECK(table.whole(fruit::grams, 0, 1'000'000) == std::stoll(row["grams"]));
      CHECK(table.text(fruit::price) == row["price"]);
      for (std::size_t i = 0; i < table.others(); ++i) {
        CHECK(table.other(i) == row[std::string{table.other_name(i)}]);
      }
    }
    CHECK(table.next() == outcome::end);
  });
}

TEST_CASE("csv_table: a text without a header row, whose columns are named by the caller") {
  const std::vector<std::string> names = {"grams", "color", "name"};
  fruit_table table{
      string_source{"3;red;apple\n4;\n"}, fruit_columns, csv_reader::default_record_limit, {';', true}};
  REQUIRE(table.open(names));
  CHECK(table.next() == outcome::row);
  CHECK(table.text(fruit::name) == "apple");
  CHECK(table.required_whole(fruit::grams, 0, 9) == 3);
  CHECK(table.other_name(0) == "color");
  CHECK(table.other(0) == "red");
  CHECK(table.field_place(1) == text_place{1, 3});
  CHECK(table.next() == outcome::bad_row);
  CHECK(table.next() == outcome::end);
  fruit_table without{string_source{"3,red\n"}, fruit_columns};
  CHECK_FALSE(without.open(std::vector<std::string>{"grams", "grams"}));
  CHECK(told(without.problems()) ==
        "line 1, column 1 (grams): this column is there twice\n"
        "line 1, column 1 (name): this column is required, and the header row lacks it\n");
}
