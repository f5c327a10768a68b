// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/csv.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/seeds.hpp"

using namespace allot::lab;

namespace {

using record = std::vector<std::string>;

/// The result of a reader for a text: its records, and the error that ended it, if any.
struct reading {
  std::vector<record> records;
  std::string problem;

  friend bool operator==(const reading&, const reading&) = default;
};

reading read_all(byte_source source, std::size_t limit = csv_reader::default_record_limit) {
  using outcome = csv_reader::outcome;
  csv_reader reader{std::move(source), limit};
  reading all;
  outcome o = reader.next();
  for (; o == outcome::record; o = reader.next()) {
    record& fields = all.records.emplace_back();
    for (std::size_t i = 0; i < reader.size(); ++i) fields.emplace_back(reader.text(i));
  }
  if (o == outcome::failed) all.problem = to_string(reader.problem());
  CHECK(reader.next() == o);
  return all;
}

reading read_text(std::string_view text) {
  return read_all(string_source{text});
}
std::vector<record> records_of(std::string_view text) {
  const reading all = read_text(text);
  CHECK(all.problem.empty());
  return all.records;
}

/// Provides a text in pieces of random size.
class dripping_source {
 public:
  dripping_source(std::string_view text, allot_test::random_source& random, std::size_t most)
      : rest_(text), random_(&random), most_(most) {}

  std::ptrdiff_t operator()(char* to, std::size_t size) {
    const std::size_t n = std::min({rest_.size(), size, 1 + random_->below(most_)});
    std::memcpy(to, rest_.data(), n);
    rest_.remove_prefix(n);
    return static_cast<std::ptrdiff_t>(n);
  }

 private:
  std::string_view rest_;
  allot_test::random_source* random_;
  std::size_t most_;
};

/// A record that never ends, and how much of it was read.
struct endless_source {
  std::size_t* read;
  char first;
  char byte;

  std::ptrdiff_t operator()(char* to, std::size_t size) const {
    std::memset(to, byte, size);
    if (*read == 0) to[0] = first;
    *read += size;
    return static_cast<std::ptrdiff_t>(size);
  }
};

std::string random_text(allot_test::random_source& random, std::size_t most) {
  std::string text(random.below(most + 1), ' ');
  for (char& c : text) c = random.pick(std::string_view{"ab1,,\"\"\n\n\r"});
  return text;
}

}  // namespace

TEST_CASE("csv_reader: records and fields of RFC 4180") {
  CHECK(records_of("").empty());
  CHECK(records_of("a,b\nc,d\n") == std::vector<record>{{"a", "b"}, {"c", "d"}});
  CHECK(records_of("a,b\r\nc,d") == std::vector<record>{{"a", "b"}, {"c", "d"}});
  CHECK(records_of("a,,\n,\n") == std::vector<record>{{"a", "", ""}, {"", ""}});
  CHECK(records_of("a,") == std::vector<record>{{"a", ""}});
  CHECK(records_of("\"a,b\",\"c\"\"d\"\"\",\"\"\n") == std::vector<record>{{"a,b", "c\"d\"", ""}});
  CHECK(records_of("\"two\nlines\",\"two\r\nmore\"\r\nx,y") ==
        std::vector<record>{{"two\nlines", "two\r\nmore"}, {"x", "y"}});
  CHECK(records_of(" a , b ") == std::vector<record>{{" a ", " b "}});
  CHECK(records_of("\xc3\xa4,\xff\n") == std::vector<record>{{"\xc3\xa4", "\xff"}});
}

TEST_CASE("csv_reader: blank lines, a byte order mark and a missing last line end do not matter") {
  CHECK(records_of("\n\r\na,b\n\n\nc,d\n\n") == std::vector<record>{{"a", "b"}, {"c", "d"}});
  CHECK(records_of("\"\"\n") == std::vector<record>{{""}});
  CHECK(records_of("\xEF\xBB\xBF"
                   "a,b\n") == std::vector<record>{{"a", "b"}});
  CHECK(records_of("\xEF\xBB\xBF").empty());
  CHECK(records_of("a,b\r") == std::vector<record>{{"a", "b"}});
}

TEST_CASE("csv_reader: places count lines and bytes from 1, line ends in quotes included") {
  csv_reader reader{
      string_source{"\xEF\xBB\xBF"
                    "ab,\"x\ny\",c\n\n\"\"\"\",d"}};
  CHECK(reader.next() == csv_reader::outcome::record);
  CHECK(reader.place() == text_place{1, 1});
  CHECK(reader.place(0) == text_place{1, 1});
  CHECK(reader.place(1) == text_place{1, 4});
  CHECK(reader.place(2) == text_place{2, 4});
  CHECK(reader.next() == csv_reader::outcome::record);
  CHECK(reader.place() == text_place{4, 1});
  CHECK(reader.text(0) == "\"");
  CHECK(reader.place(1) == text_place{4, 6});
}

TEST_CASE("csv_reader: what it refuses, with the place") {
  const auto problem = [](std::string_view text) { return read_text(text).problem; };
  CHECK(problem("a,b\nc,\"d\ne\n") == "line 2, column 3: this quote is never closed");
  CHECK(problem("a,b\"c\n") ==
        "line 1, column 4: a quote inside a field: the whole field must be quoted and the quote doubled");
  CHECK(problem("a\n\"b\nc\"d\n") ==
        "line 3, column 3: expected a comma or the end of the line after the closing quote");
  CHECK(problem("\"a\" ,b") ==
        "line 1, column 4: expected a comma or the end of the line after the closing quote");
  CHECK(problem("a\rb\n") == "line 1, column 2: a carriage return without a line feed");
  CHECK(problem(std::string_view{"a,b\0c", 5}) ==
        "line 1, column 4: a zero byte: expected a text in UTF-8, not a binary file");
  CHECK(problem(std::string_view{"\"b\0c", 4}) ==
        "line 1, column 3: a zero byte: expected a text in UTF-8, not a binary file");
  CHECK(problem(std::string_view{"\xFF\xFE\x61\0", 4}) ==
        "line 1, column 1: the text is UTF-16; expected UTF-8");
  // The records before it are read.
  CHECK(read_text("a,b\n\"").records == std::vector<record>{{"a", "b"}});
}

TEST_CASE("csv_reader: a failing source is reported where it fails") {
  bool first = true;
  const auto source = [&first](char* to, std::size_t) -> std::ptrdiff_t {
    if (!first) return -1;
    first = false;
    std::memcpy(to, "a,b\nc", 5);
    return 5;
  };
  const reading all = read_all(source);
  CHECK(all.records == std::vector<record>{{"a", "b"}});
  CHECK(all.problem == "line 2, column 2: the text can't be read any further");
}

TEST_CASE("csv_reader: a record without end fails soon") {
  const std::string too_long = "line 1, column 1: the record is longer than 1048576 bytes";
  const auto problem = [](char first, char byte) {
    std::size_t read = 0;
    const reading all = read_all(endless_source{&read, first, byte});
    CHECK(all.records.empty());
    CHECK(read < 4'000'000);
    return all.problem;
  };
  CHECK(problem('x', 'x') == too_long);
  CHECK(problem(',', ',') == too_long);
  for (const char byte : {'x', '\n', ',', '"'}) {
    CHECK(problem('"', byte) == too_long + ": the quote at line 1, column 1 is not closed");
  }
}

TEST_CASE("csv_reader: the limit is exact") {
  const std::string text = "1234\n123456789\n";
  CHECK(read_all(string_source{text}, 10).records.size() == 2);
  const reading over = read_all(string_source{text}, 9);
  CHECK(over.records.size() == 1);
  CHECK(over.problem == "line 2, column 1: the record is longer than 9 bytes");
}

TEST_CASE("csv_reader: records far longer than the buffer") {
  const std::string field(300'000, 'x');
  const std::string quotes(200'000, '"');
  const auto records = records_of("a," + field + ",\"" + quotes + "\"\nb,c,d\n");
  CHECK(records.size() == 2);
  CHECK(records[0][1] == field);
  CHECK(records[0][2] == quotes.substr(0, 100'000));
  CHECK(records[1] == record{"b", "c", "d"});
}

TEST_CASE("csv_reader: reads the same from any split into pieces") {
  allot_test::for_each_seed(1'000, [](allot_test::random_source& random) {
    std::string text = random_text(random, 60);
    if (random.one_in(8)) text.insert(0, "\xEF\xBB\xBF");
    const reading whole = read_text(text);
    CHECK(read_all(dripping_source{text, random, 3}) == whole);
    CHECK(read_all(dripping_source{text, random, 40}) == whole);
  });
  // Across the end of the buffer, where records move.
  allot_test::for_each_seed(5, [](allot_test::random_source& random) {
    std::string text;
    while (text.size() < 300'000) {
      append_csv_field(text, random_text(random, 200));
      text += random.one_in(4) ? "\n" : ",";
    }
    const reading whole = read_text(text);
    CHECK(whole.problem.empty());
    CHECK(read_all(dripping_source{text, random, 70'000}) == whole);
  });
}

TEST_CASE("append_csv_field: what it writes is read back") {
  allot_test::for_each_seed(1'000, [](allot_test::random_source& random) {
    std::vector<record> records(1 + random.below(5));
    std::string text;
    for (record& fields : records) {
      // Two fields at least: one empty field alone is a blank line.
      for (std::size_t i = 0, n = 2 + random.below(4); i < n; ++i) {
        fields.push_back(random_text(random, 8));
        if (i != 0) text += ',';
        append_csv_field(text, fields.back());
      }
      text += random.one_in(2) ? "\n" : "\r\n";
    }
    CHECK(records_of(text) == records);
  });
  std::string plain;
  append_csv_field(plain, "no need");
  CHECK(plain == "no need");
}

TEST_CASE("csv_reader: other separators, and texts in which quotes mean nothing") {
  const auto read = [](std::string_view text, csv_dialect dialect) {
    csv_reader reader{string_source{text}, csv_reader::default_record_limit, dialect};
    std::vector<record> records;
    while (reader.next() == csv_reader::outcome::record) {
      record& r = records.emplace_back();
      for (std::size_t i = 0; i < reader.size(); ++i) r.emplace_back(reader.text(i));
    }
    return records;
  };
  CHECK(read("a,b|\"c|d\"|e\n1|2|3\r\n", {'|', true}) ==
        std::vector<record>{{"a,b", "c|d", "e"}, {"1", "2", "3"}});
  CHECK(read("a,b|\"c|d\"|e\n", {'|', false}) == std::vector<record>{{"a,b", "\"c", "d\"", "e"}});
  CHECK(read("a b\tc,d\t\n", {'\t', true}) == std::vector<record>{{"a b", "c,d", ""}});
  CHECK(read("say \"hi\", x;y", {';', false}) == std::vector<record>{{"say \"hi\", x", "y"}});
  // A field longer than the buffer, and one that ends with it.
  const std::string longest(200'000, ',');
  CHECK(read(longest + "|b\n", {'|', false}) == std::vector<record>{{longest, "b"}});
}
