// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/json_writer.hpp>

#include <doctest/doctest.h>
#include <boost/json.hpp>

#include <cstdint>
#include <string>

using allot::quantity;
using allot::lab::json_writer;

TEST_CASE("json_writer: outer levels have a line for each member, inner ones are on one line") {
  json_writer w{1};
  w.begin_object().member("a", std::int64_t{-1}).key("b").begin_array().value(true).null().end_array();
  w.key("empty").begin_object().end_object().end_object();
  CHECK(w.text() == "{\n  \"a\": -1,\n  \"b\": [true, null],\n  \"empty\": {}\n}\n");
}

TEST_CASE("json_writer: amounts are exact, and unlimited ones are texts") {
  json_writer w{0};
  w.begin_array()
      .value(quantity::milli(500))
      .value(quantity::unlimited())
      .value(quantity::lowest())
      .end_array();
  CHECK(w.text() == "[0.5, \"unlimited\", \"-unlimited\"]\n");
}

TEST_CASE("json_writer: a reader gets every text back") {
  std::string all = "naïve 漢字 \"quoted\" back\\slash </script>";
  for (char c = 0; c < 0x20; ++c) all += c;
  all += '\x7f';
  json_writer w;
  w.begin_object().member(all, all).end_object();
  const auto read = boost::json::parse(w.text());
  CHECK(read.at(all).as_string() == all);
}
