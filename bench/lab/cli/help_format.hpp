// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <string>
#include <vector>

namespace allot {
inline namespace v0 {
namespace lab {

/// Help in lines of at most 80 characters, with colours where the terminal shows them. Descriptions may be
/// lists, whose lines begin with two spaces; examples of footers stay what a shell takes.
class help_formatter final : public CLI::Formatter {
 public:
  explicit help_formatter(bool is_coloured);

  [[nodiscard]] std::string make_group(std::string group, bool is_positional,
                                       std::vector<const CLI::Option*> options) const override;
  [[nodiscard]] std::string make_subcommands(const CLI::App* app, CLI::AppFormatMode mode) const override;
  [[nodiscard]] std::string make_description(const CLI::App* app) const override;
  [[nodiscard]] std::string make_footer(const CLI::App* app) const override;

 private:
  [[nodiscard]] std::string heading(const std::string& text) const;
  [[nodiscard]] std::string entry(const std::string& name, const std::string& description) const;

  bool is_coloured_;
};

}  // namespace lab
}  // namespace v0
}  // namespace allot
