// SPDX-License-Identifier: BSL-1.0
#include <allot/lab/printable.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>

using namespace allot::lab;

TEST_CASE("printable: what a terminal would obey is escaped, the rest stays") {
  CHECK(printable("plain, naïve, 漢字, 🙂") == "plain, naïve, 漢字, 🙂");
  CHECK(printable("\x1b[2J\n\t\x7f") == "\\x1b[2J\\x0a\\x09\\x7f");
  CHECK(printable("\xe2\x80\xae"
                  "evil") == "\\u202eevil");
  CHECK(printable_lines("one\n\ttwo\r") == "one\n\ttwo\\x0d");
}

TEST_CASE("printable: bytes that are not UTF-8 are escaped one by one") {
  // A lone continuation, an overlong slash, a surrogate, beyond Unicode, a character that is cut off.
  for (const std::string_view wrong :
       {"\x80", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe6\xbc", "\xff"}) {
    CHECK_FALSE(is_utf8(wrong));
    CHECK_FALSE(is_utf8("a" + std::string{wrong} + "z"));
    const std::string shown = printable(wrong);
    CHECK(shown.size() == 4 * wrong.size());
    CHECK(is_utf8(shown));
  }
  CHECK(is_utf8(""));
  CHECK(is_utf8(std::string_view{"a\0ä漢🙂", 11}));
}

TEST_CASE("shortened: the middle of a long text is left out, and no character is cut in two") {
  CHECK(shortened("short", 5) == "short");
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "漢";
  const std::string shown = shortened(many, 50);
  CHECK(shown.size() < 100);
  CHECK(shown.find("more bytes") != std::string::npos);
  CHECK(is_utf8(shown));
}
