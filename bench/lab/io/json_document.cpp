// SPDX-License-Identifier: BSL-1.0
#include <allot/core/vector.hpp>

#include "lab/io/json_reader.hpp"

#include "lab/io/files.hpp"

#include <boost/json/basic_parser_impl.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace allot {
inline namespace v0 {
namespace lab {

// Reading the text.

namespace {

// An object of a cluster may hold another as a string, of a megabyte or so.
constexpr std::size_t longest_string = std::size_t{1} << 24U;
constexpr std::size_t longest_key = std::size_t{1} << 16U;
/// A value takes several times its text in memory: "0,0,0" is the worst.
constexpr std::uint64_t bytes_for_each_value = 16;

}  // namespace

/// Called by the parser with what it finds; texts may come in parts.
struct json_document::handler {
  static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_string_size = longest_string;
  static constexpr std::size_t max_key_size = longest_key;

  using code = boost::json::error_code;
  using part = boost::json::string_view;

  handler(json_document& to, errors& problems) : document(to), found(problems) {}

  json_document& document;
  errors& found;
  /// The innermost open array or object, and the last value in each open one.
  std::uint32_t open = none;
  vector<std::uint32_t> last;
  text_range key{};
  /// Where the text that is being read began.
  std::size_t begin = 0;
  bool in_text = false;
  std::uint64_t most_values =
      std::min<std::uint64_t>(limits_of_input().document / bytes_for_each_value, none - 1);
  bool has_too_many_values = false;

  bool on_document_begin(code&) { return true; }
  bool on_document_end(code&) { return true; }
  bool on_array_begin(code& error) { return enter(kind::array, error); }
  bool on_array_end(std::size_t, code&) { return leave(); }
  bool on_object_begin(code& error) { return enter(kind::object, error); }
  bool on_object_end(std::size_t, code&) {
    report_duplicates();
    return leave();
  }
  bool on_string_part(part s, std::size_t, code&) { return append(s); }
  bool on_string(part s, std::size_t, code& error) { return append(s) && add(kind::string, finish(), error); }
  bool on_key_part(part s, std::size_t, code&) { return append(s); }
  bool on_key(part s, std::size_t, code&) {
    append(s);
    key = finish();
    return true;
  }
  bool on_number_part(part s, code&) { return append(s); }
  bool on_int64(std::int64_t, part s, code& error) { return on_number(s, error); }
  bool on_uint64(std::uint64_t, part s, code& error) { return on_number(s, error); }
  bool on_double(double, part s, code& error) { return on_number(s, error); }
  bool on_bool(bool b, code& error) {
    append(b ? "true" : "false");
    return add(kind::boolean, finish(), error);
  }
  bool on_null(code& error) { return add(kind::null, {}, error); }
  bool on_comment_part(part, code&) { return true; }
  bool on_comment(part, code&) { return true; }

 private:
  bool on_number(part s, code& error) { return append(s) && add(kind::number, finish(), error); }

  bool append(part s) {
    if (!in_text) begin = document.texts_.size();
    in_text = true;
    document.texts_.append(s.data(), s.size());
    return true;
  }
  [[nodiscard]] text_range finish() {
    in_text = false;
    return {begin, document.texts_.size() - begin};
  }

  bool add(kind is, text_range text, code& error) {
    if (document.nodes_.size() >= most_values) {
      has_too_many_values = true;
      error = boost::json::error::array_too_large;
      return false;
    }
    const auto index = static_cast<std::uint32_t>(document.nodes_.size());
    node n{is, open, none, none, 0, std::exchange(key, {}), text};
    if (open != none) {
      std::uint32_t& before = last.back();
      if (before == none) {
        document.nodes_[open].first_child = index;
      } else {
        document.nodes_[before].next_sibling = index;
        n.position = document.nodes_[before].position + 1;
      }
      before = index;
    }
    document.nodes_.push_back(n);
    return true;
  }
  bool enter(kind is, code& error) {
    if (!add(is, {}, error)) return false;
    open = static_cast<std::uint32_t>(document.nodes_.size() - 1);
    last.push_back(none);
    return true;
  }
  bool leave() {
    open = document.nodes_[open].parent;
    last.pop_back();
    return true;
  }

  void report_duplicates() {
    vector<json_value> members;
    json_value{&document, open}.for_each([&](json_value m) { members.push_back(m); });
    std::stable_sort(members.begin(), members.end(),
                     [](const json_value& a, const json_value& b) { return a.key() < b.key(); });
    for (std::size_t i = 1; i < members.size(); ++i) {
      if (members[i].key() == members[i - 1].key()) members[i].report(found, "the key is there twice");
    }
  }
};

namespace {

[[nodiscard]] std::string place_of(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
  return "line " + std::to_string(line) + ", column " + std::to_string(1 + before.size() - line_begin);
}

/// The position of a / that begins no comment, or of a comment that does not end; else the end of the text.
/// Boost.JSON 1.81 loses its position if it stops at one of these before a value.
[[nodiscard]] std::size_t find_bad_comment(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i) i += text[i] == '\\' ? 1U : 0U;
    } else if (text[i] == '/') {
      const char next = i + 1 < text.size() ? text[i + 1] : ' ';
      const std::size_t end = next == '/'   ? text.find('\n', i)
                              : next == '*' ? text.find("*/", i + 2)
                                            : std::string_view::npos;
      if (next == '/' && end == std::string_view::npos) return text.size();
      if (end == std::string_view::npos) return i;
      i = next == '/' ? end : end + 1;
    }
  }
  return text.size();
}

/// The parser's own messages are for programmers.
[[nodiscard]] std::string explanation(const boost::json::error_code& code, std::string_view rest) {
  using boost::json::error;
  if (code == error::incomplete || (rest.empty() && code == error::syntax)) {
    return "the JSON ends too early (expected a value, or the end of an array, object or string)";
  }
  if (code == error::too_deep) return "arrays and objects are nested too deep (expected at most 32 levels)";
  if (code == error::key_too_large) {
    return "the key is too long (expected at most " + std::to_string(longest_key) + " bytes)";
  }
  if (code == error::string_too_large) {
    return "the string is too long (expected at most " + std::to_string(longest_string) + " bytes)";
  }
  if (code == error::extra_data) return "there is something after the end of the JSON (expected nothing)";
  if (!rest.empty() && rest.front() == '\0') {
    return "a zero byte: expected a text in UTF-8, not a binary file";
  }
  const std::string_view word = rest.substr(0, std::min<std::size_t>(rest.find_first_of(" \t\r\n"), 20));
  return "this is not JSON (" + code.message() + " at: " + std::string{word} + ")";
}

}  // namespace

std::optional<json_document> json_document::parse(std::string file, std::string_view text, errors& found) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text.substr(0, byte_order_mark.size()) == byte_order_mark) text.remove_prefix(byte_order_mark.size());
  json_document document;
  document.file_ = std::move(file);
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    found.add(document.file_, {}, "the file is empty (expected a JSON object)");
    return std::nullopt;
  }
  if (text.substr(0, 2) == "\xFF\xFE" || text.substr(0, 2) == "\xFE\xFF") {
    found.add(document.file_, {}, "the text is UTF-16; expected UTF-8");
    return std::nullopt;
  }
  boost::json::parse_options options;
  options.allow_comments = true;
  options.allow_trailing_commas = true;
  boost::json::basic_parser<handler> parser{options, document, found};
  boost::json::error_code code;
  std::size_t read = parser.write_some(false, text.data(), text.size(), code);
  if (read > text.size() || code == boost::json::error::incomplete) read = find_bad_comment(text);
  if (!code && read < text.size()) code = boost::json::error::extra_data;
  if (parser.handler().has_too_many_values) {
    found.add(document.file_, place_of(text, read),
              "there are more than " + std::to_string(parser.handler().most_values) +
                  " values (expected fewer; --max-input SIZE raises the limit)");
    return std::nullopt;
  }
  if (code) {
    found.add(document.file_, place_of(text, read), explanation(code, text.substr(read)));
    return std::nullopt;
  }
  return document;
}

// Values.

std::string json_value::pointer() const {
  if (node().parent == json_document::none) return {};
  const json_value parent{document_, node().parent};
  std::string text = parent.pointer() + '/';
  if (parent.is_array()) return text + std::to_string(node().position);
  for (const char c : key()) {
    if (c == '~') {
      text += "~0";
    } else if (c == '/') {
      text += "~1";
    } else {
      text += c;
    }
  }
  return text;
}

std::string json_value::shown() const {
  constexpr std::size_t most = 40;
  switch (is()) {
    case kind::null:
      return "null";
    case kind::array:
      return "an array";
    case kind::object:
      return "an object";
    case kind::string: {
      std::size_t size = std::min(most, text().size());
      // No character is cut in two.
      while (size < text().size() && (static_cast<unsigned char>(text()[size]) & 0xC0U) == 0x80) --size;
      return '"' + std::string{text().substr(0, size)} + (size < text().size() ? "...\"" : "\"");
    }
    default:
      return std::string{text().substr(0, most)} + (text().size() > most ? "..." : "");
  }
}

void json_value::report(errors& found, std::string text) const {
  found.add(document_->file(), pointer(), std::move(text));
}

std::optional<json_value> json_value::find(std::string_view key) const {
  std::optional<json_value> result;
  for_each([&](json_value member) {
    if (!result && member.key() == key) result = member;
  });
  return result;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
