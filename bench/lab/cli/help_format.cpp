// SPDX-License-Identifier: BSL-1.0
#include "lab/cli/help_format.hpp"

#include "lab/io/wrapped_text.hpp"

#include <allot/core/vector.hpp>

#include <algorithm>
#include <string_view>

namespace allot {
inline namespace v0 {
namespace lab {

namespace {

constexpr std::size_t help_width = 80;
/// Where descriptions begin.
constexpr std::size_t help_column = 26;

[[nodiscard]] vector<std::string> lines_of(std::string_view text) {
  vector<std::string> all;
  while (!text.empty()) {
    all.emplace_back(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(all.back().size() + 1, text.size()));
  }
  return all;
}

void append_lines(std::string& to, const vector<std::string>& lines, std::size_t indent,
                  bool is_first_indented) {
  for (std::size_t i = 0; i < lines.size(); ++i)
    to.append(i > 0 || is_first_indented ? indent : 0, ' ').append(lines[i]).append("\n");
}

/// An example: `indent` characters into the line, and as a shell takes it. Inside of a word it goes on at the
/// very left, where a space would end the word.
void append_command(std::string& to, std::string_view command, std::size_t indent) {
  constexpr std::size_t deeper = 4;
  std::size_t at = indent;
  bool is_first = true;
  while (!command.empty()) {
    std::string_view word = command.substr(0, command.find(' '));
    command.remove_prefix(std::min(word.size() + 1, command.size()));
    const std::size_t needs = word.size() + (command.empty() ? 0 : 2);
    if (!is_first && at + 1 + needs > help_width && indent + deeper + needs <= help_width) {
      to.append(" \\\n").append(indent + deeper, ' ');
      at = indent + deeper;
    } else if (!is_first) {
      to += ' ';
      ++at;
    }
    is_first = false;
    while (at + word.size() + 2 > help_width) {
      const std::size_t comma = word.rfind(',', help_width - at - 2);
      if (comma == std::string_view::npos) break;
      to.append(word.substr(0, comma + 1)).append("\\\n");
      word.remove_prefix(comma + 1);
      at = 0;
    }
    to += word;
    at += word.size();
  }
  to += '\n';
}

}  // namespace

help_formatter::help_formatter(bool is_coloured) : is_coloured_(is_coloured) {
  column_width(help_column);
}

std::string help_formatter::heading(const std::string& text) const {
  return is_coloured_ ? "\n\x1b[1m" + text + ":\x1b[0m\n" : '\n' + text + ":\n";
}

std::string help_formatter::entry(const std::string& name, const std::string& description) const {
  constexpr std::size_t room = help_width - help_column;
  std::string text;
  const vector<std::string> names = wrapped(name, help_width - 2, 2);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += "\n  ";
    text.append("  ")
        .append(is_coloured_ ? "\x1b[36m" : "")
        .append(names[i])
        .append(is_coloured_ ? "\x1b[0m" : "");
  }
  const std::size_t used = 2 + (names.size() == 1 ? characters_in(name) : help_width);
  const vector<std::string> lines = lines_of(description);
  const bool is_beside = used + 2 <= help_column && !lines.empty();
  if (is_beside) text.append(help_column - used, ' ');
  if (!is_beside) text += '\n';
  bool is_first = is_beside;
  for (const std::string& line : lines) {
    // What belongs to an entry of a list is below it.
    const std::size_t list = std::min(line.find_first_not_of(' '), line.size());
    const std::size_t hanging = list == 0 ? 0 : list + 2;
    const vector<std::string> broken = wrapped(line, room - list, hanging - list);
    for (std::size_t i = 0; i < broken.size(); ++i) {
      text.append((is_first ? 0 : help_column) + (i == 0 ? list : hanging), ' ');
      is_first = false;
      text.append(broken[i]).append("\n");
    }
  }
  return text;
}

std::string help_formatter::make_group(std::string group, bool is_positional,
                                       std::vector<const CLI::Option*> options) const {
  std::string text = heading(group);
  for (const CLI::Option* const o : options)
    text += entry(make_option_name(o, is_positional) + make_option_opts(o), make_option_desc(o));
  return text;
}

std::string help_formatter::make_subcommands(const CLI::App* app, CLI::AppFormatMode /*mode*/) const {
  const auto all = app->get_subcommands({});
  if (all.empty()) return {};
  std::string text = heading("Subcommands");
  for (const CLI::App* const sub : all) text += entry(sub->get_display_name(true), sub->get_description());
  return text;
}

std::string help_formatter::make_description(const CLI::App* app) const {
  std::string text;
  append_lines(text, wrapped(app->get_description(), help_width), 0, false);
  return text;
}

std::string help_formatter::make_footer(const CLI::App* app) const {
  std::string text;
  bool is_example = false;
  for (const std::string& line : lines_of(app->get_footer())) {
    const std::size_t colon = line.starts_with("Example") ? line.find(':') + 1 : 0;
    const std::size_t indent = std::min(line.find_first_not_of(' ', colon), line.size());
    is_example = colon != 0 || (is_example && indent != 0);
    if (is_example) {
      text.append(line, 0, indent);
      append_command(text, std::string_view{line}.substr(indent), indent);
    } else {
      append_lines(text, wrapped(line, help_width), 0, false);
    }
  }
  return text;
}

}  // namespace lab
}  // namespace v0
}  // namespace allot
