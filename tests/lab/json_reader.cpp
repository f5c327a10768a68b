// SPDX-License-Identifier: BSL-1.0
#include "lab/io/json_reader.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/seeds.hpp"

namespace lab = allot::lab;

namespace {

/// The first error of an invalid JSON text: "place: text".
std::string error_of(const std::string& text) {
  lab::errors found;
  const auto document = lab::json_document::parse("f", text, found);
  CHECK(!document);
  REQUIRE(found.size() == 1);
  return found.kept().front().place + ": " + found.kept().front().text;
}

bool begins_with(const std::string& text, const std::string& with) {
  return text.rfind(with, 0) == 0;
}

lab::json_document document_of(const std::string& text) {
  lab::errors found;
  auto document = lab::json_document::parse("f", text, found);
  REQUIRE_MESSAGE(document, found.to_string());
  REQUIRE(found.empty());
  return std::move(*document);
}

}  // namespace

TEST_CASE("values know their place and keep their text") {
  const auto document = document_of(R"({"a": [1, 2.50, {"x/y~z": "q\n\u00e9"}], "b": true, "": null})");
  std::vector<std::string> seen;
  const auto visit = [&](const auto& self, lab::json_value v) -> void {
    seen.push_back(v.pointer() + "=" + std::string{v.text()});
    v.for_each([&](lab::json_value child) { self(self, child); });
  };
  visit(visit, document.root());
  CHECK(seen == std::vector<std::string>{"=", "/a=", "/a/0=1", "/a/1=2.50",
                                         "/a/2=", "/a/2/x~1y~0z=q\n\xC3\xA9", "/b=true", "/="});
  CHECK(document.root().find("b")->is() == lab::json_value::kind::boolean);
  CHECK(!document.root().find("c"));
}

TEST_CASE("comments, trailing commas and a byte order mark are allowed") {
  const auto document = document_of("\xEF\xBB\xBF// first\n{\"a\": [1, /* two */ 2,], // end\n}\n// last");
  std::size_t elements = 0;
  document.root().find("a")->for_each([&](lab::json_value) { ++elements; });
  CHECK(elements == 2);
}

TEST_CASE("a syntax error has its line and column") {
  CHECK(begins_with(error_of(""), ": the file is empty"));
  CHECK(begins_with(error_of(" \n"), ": the file is empty"));
  CHECK(begins_with(error_of("{\"a\": 1,\n \"b\" 2}"), "line 2, column 6: this is not JSON"));
  CHECK(begins_with(error_of("{\"a\": 1"), "line 1, column 8: the JSON ends too early"));
  CHECK(begins_with(error_of("{\"a\": NaN}"), "line 1, column 7: this is not JSON"));
  CHECK(begins_with(error_of("{\"a\": 01}"), "line 1, column 8: this is not JSON"));
  // An invalid or unterminated comment before a value, where the parser itself loses its position.
  CHECK(begins_with(error_of("{\"//\": 1, // fine\n \"a\": /x}"), "line 2, column 7: this is not JSON"));
  CHECK(begins_with(error_of("[/* fine */ 1, /* no end"), "line 1, column 16: the JSON ends too early"));
  CHECK(begins_with(error_of("/"), "line 1, column"));
  CHECK(begins_with(error_of("{\"a\": //"), "line 1, column 9: the JSON ends too early"));
  CHECK(begins_with(error_of("{}\n{}"), "line 2, column 1: there is something after the end"));
  CHECK(begins_with(error_of(std::string(100, '[')),
                    "line 1, column 33: arrays and objects are nested too deep"));
  CHECK(begins_with(error_of(std::string{"{\0}", 3}), "line 1, column 2: a zero byte"));
  CHECK(begins_with(error_of("\xFF\xFE{"), ": the text is UTF-16"));
}

TEST_CASE("duplicate keys are found at every depth") {
  lab::errors found;
  const auto document =
      lab::json_document::parse("f", R"({"a": 1, "b": [{"c": 1, "d": 2, "c": 3}], "a": 2, "a": 3})", found);
  REQUIRE(document);
  std::vector<std::string> places;
  for (const auto& e : found.kept()) places.push_back(e.place);
  CHECK(places == std::vector<std::string>{"/b/0/c", "/a", "/a"});
}

TEST_CASE("numbers are read exactly, whatever way they are written") {
  const auto milli = [](const std::string& text) {
    const auto document = document_of(text);
    lab::errors found;
    const auto n = lab::read_milli(document.root(), found);
    CHECK(n.has_value() == found.empty());
    return n ? std::to_string(*n) : found.kept().front().text;
  };
  CHECK(milli("4") == "4000");
  CHECK(milli("0.5") == "500");
  CHECK(milli("0.001") == "1");
  CHECK(milli("0.0010000") == "1");
  CHECK(milli("-0") == "0");
  CHECK(milli("1e3") == "1000000");
  CHECK(milli("1.25E+2") == "125000");
  CHECK(milli("12.5e-1") == "1250");
  CHECK(milli("5000e-6") == "5");
  CHECK(milli("0e999999") == "0");
  CHECK(milli("1000000000000") == "1000000000000000");
  CHECK(milli("0.0005") == "expected a number with at most three decimals, found 0.0005");
  CHECK(milli("0.3000000000000001") ==
        "expected a number with at most three decimals, found 0.3000000000000001");
  CHECK(milli("1e-4") == "expected a number with at most three decimals, found 1e-4");
  CHECK(milli("1e-99999") == "expected a number with at most three decimals, found 1e-99999");
  CHECK(milli("-1") == "expected a number that is not negative, found -1");
  CHECK(milli("-0.0001") == "expected a number that is not negative, found -0.0001");
  CHECK(milli("1000000000000.001") == "expected a number up to 1000000000000, found 1000000000000.001");
  CHECK(milli("1e300") == "expected a number up to 1000000000000, found 1e300");
  CHECK(milli("123456789012345678901234567890") ==
        "expected a number up to 1000000000000, found 123456789012345678901234567890");
  CHECK(milli("\"4\"") == "expected a number, found \"4\"");
  CHECK(milli("null") == "expected a number, found null");
  CHECK(milli("{}") == "expected a number, found an object");
}

TEST_CASE("a number with an exponent is the number without") {
  allot_test::for_each_seed(300, [](auto& random) {
    const std::int64_t n = random.between(0, 1'000'000'000'000);
    // n thousandths, as digits with the point moved by some power.
    const std::int64_t power = random.between(0, 8);
    std::string digits = std::to_string(n);
    if (digits.size() <= static_cast<std::size_t>(power)) {
      digits.insert(0, static_cast<std::size_t>(power) + 1 - digits.size(), '0');
    }
    digits.insert(digits.size() - static_cast<std::size_t>(power), power == 0 ? "" : ".");
    const auto document = document_of(digits + "e" + std::to_string(power - 3));
    lab::errors found;
    CHECK_MESSAGE(lab::read_milli(document.root(), found) == n, digits << "e" << power - 3);
  });
}

TEST_CASE("whole numbers have bounds") {
  const auto whole = [](const std::string& text) {
    const auto document = document_of(text);
    lab::errors found;
    return lab::read_whole(document.root(), 1, 64, found).value_or(-1);
  };
  CHECK(whole("1") == 1);
  CHECK(whole("64") == 64);
  CHECK(whole("6.4e1") == 64);
  CHECK(whole("8.0") == 8);
  CHECK(whole("0") == -1);
  CHECK(whole("65") == -1);
  CHECK(whole("1.5") == -1);
  CHECK(whole("true") == -1);
}

TEST_CASE("unknown keys are reported with what was meant") {
  const auto document = document_of(R"({"nominl": 1, "x-mine": 2, "zzzzzzz": 3, "nominal": 4})");
  lab::errors found;
  lab::json_object object{document.root(), found};
  CHECK(object.find("nominal")->text() == "4");
  CHECK(!object.find("weight"));
  object.reject_unknown();
  REQUIRE(found.size() == 2);
  CHECK(found.kept()[0] ==
        lab::errors::error{"f", "/nominl", "unknown key \"nominl\" (did you mean \"nominal\"?)"});
  CHECK(found.kept()[1] ==
        lab::errors::error{"f", "/zzzzzzz", "unknown key \"zzzzzzz\" (expected \"nominal\" or \"weight\")"});
}

TEST_CASE("the nearest word") {
  CHECK(lab::nearest("quotaz", {"quotas", "jobs"}) == "quotas");
  CHECK(lab::nearest("gpus", {"gpu", "cpu"}) == "gpu");
  CHECK(lab::nearest("policy", {"quotas", "jobs"}).empty());
  CHECK(lab::nearest(std::string(1000, 'a'), {"aaa"}).empty());
}

TEST_CASE("of many errors the first fifty are kept and the others counted") {
  lab::errors found;
  for (int i = 0; i < 120; ++i) found.add("f", "/" + std::to_string(i), "wrong");
  CHECK(found.size() == 120);
  CHECK(found.kept().size() == 50);
  const std::string text = found.to_string();
  CHECK(text.substr(0, 13) == "f: /0: wrong\n");
  CHECK(text.find("... and 70 more\n") != std::string::npos);
}
