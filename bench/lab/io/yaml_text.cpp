// SPDX-License-Identifier: BSL-1.0
#include "lab/io/yaml_text.hpp"

#ifdef ALLOT_LAB_YAML
#include "lab/io/json_reader.hpp"

#include <allot/core/vector.hpp>
#include <allot/lab/json_writer.hpp>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <initializer_list>
#include <sstream>
#endif

namespace allot {
inline namespace v0 {
namespace lab {

bool is_yaml(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  constexpr std::string_view begins_json = "{[/";
  return first != std::string_view::npos && begins_json.find(text[first]) == std::string_view::npos &&
         text.find('\0') == std::string_view::npos;
}

#ifdef ALLOT_LAB_YAML

namespace {

/// As JSON writes it: -12, 1.5, 2e9.
[[nodiscard]] bool is_json_number(std::string_view s) {
  errors none;
  return s.find_first_not_of("+-.0123456789Ee") == std::string_view::npos &&
         json_document::parse({}, s, none);
}

class yaml_events final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override {
    // An empty document.
    if (levels_.empty()) return;
    if (is_key()) return text(mark, "null");
    json_.null();
    end_value();
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    refuse(mark, "an alias (*name) is not read");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                const std::string& s) override {
    const auto is_one_of = [&s](std::initializer_list<std::string_view> words) {
      return std::find(words.begin(), words.end(), s) != words.end();
    };
    // Plain scalars have the tag "?", quoted ones "!".
    if (is_key() || tag != "?") {
      text(mark, s);
    } else if (is_one_of({"", "~", "null", "Null", "NULL"})) {
      json_.null();
      end_value();
    } else if (is_one_of({"true", "True", "TRUE", "false", "False", "FALSE"})) {
      json_.value(s.front() == 't' || s.front() == 'T');
      end_value();
    } else if (is_json_number(s)) {
      json_.raw(s);
      end_value();
    } else {
      text(mark, s);
    }
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    begin(mark, false);
    json_.begin_array();
  }
  void OnSequenceEnd() override {
    json_.end_array();
    end_level();
  }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    begin(mark, true);
    json_.begin_object();
  }
  void OnMapEnd() override {
    json_.end_object();
    end_level();
  }

  /// What JSON can't say is refused like a syntax error.
  [[noreturn]] static void refuse(const YAML::Mark& mark, const std::string& why) {
    throw YAML::ParserException(mark, why);
  }
  /// The text of all documents.
  [[nodiscard]] std::string take() {
    json_.end_array();
    return documents_ == 1 ? json_.text().substr(1, json_.text().rfind(']') - 1) : json_.text();
  }

 private:
  struct level {
    bool is_map;
    bool expects_key;
  };

  [[nodiscard]] bool is_key() const {
    return !levels_.empty() && levels_.back().is_map && levels_.back().expects_key;
  }
  void begin(const YAML::Mark& mark, bool is_map) {
    if (is_key()) refuse(mark, "a key that is no text is not read");
    levels_.push_back({is_map, true});
  }
  void end_level() {
    levels_.pop_back();
    end_value();
  }
  void end_value() {
    if (levels_.empty()) {
      ++documents_;
    } else {
      levels_.back().expects_key = true;
    }
  }
  void text(const YAML::Mark& mark, const std::string& s) {
    if (levels_.empty()) refuse(mark, "expected an object or a list, found a text");
    if (is_key()) {
      json_.key(s);
      levels_.back().expects_key = false;
    } else {
      json_.value(s);
      end_value();
    }
  }

  json_writer json_ = [] {
    json_writer json{0};
    json.begin_array();
    return json;
  }();
  vector<level> levels_;
  std::size_t documents_ = 0;
};

}  // namespace

std::optional<std::string> json_of_yaml(std::string_view file, const std::string& text, errors& found) {
  std::istringstream in{text};
  yaml_events events;
  try {
    YAML::Parser parser{in};
    while (parser.HandleNextDocument(events)) {
    }
  } catch (const YAML::ParserException& e) {
    found.add(file,
              "line " + std::to_string(e.mark.line + 1) + ", column " + std::to_string(e.mark.column + 1),
              e.msg);
    return std::nullopt;
  }
  return events.take();
}

#else

std::optional<std::string> json_of_yaml(std::string_view file, const std::string&, errors& found) {
  found.add(file, {}, "this looks like YAML, and the program was built without yaml-cpp (expected JSON)");
  return std::nullopt;
}

#endif

}  // namespace lab
}  // namespace v0
}  // namespace allot
