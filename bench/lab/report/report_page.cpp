// SPDX-License-Identifier: BSL-1.0
// What a page begins and ends with.
#include "lab/report/report.hpp"

#include <algorithm>

namespace allot {
inline namespace v0 {
namespace lab {

// The files of this folder with those names, without their last newline: .cmake/embed.cmake makes strings of
// them.
namespace embedded {
extern const std::string_view page_css;
extern const std::string_view shared_js;
}  // namespace embedded

namespace report {

void begin_page(std::string& html, std::string_view title) {
  html += "<!doctype html>\n<html lang=en><head><meta charset=utf-8>\n";
  html += "<meta name=viewport content=\"width=device-width,initial-scale=1\">\n";
  html += "<meta name=generator content=allot>\n<title>";
  html.append(escaped(title))
      .append("</title>\n<style>\n")
      .append(embedded::page_css)
      .append("\n</style></head>\n<body>\n");
}

void end_page(std::string& html, std::string_view script) {
  if (!script.empty()) {
    html.append("<script>\n").append(embedded::shared_js).append("\n</script>\n<script>\n");
    html.append(script).append("\n</script>\n");
  }
  html += "</body></html>\n";
}

std::string listed_names(const vector<std::string>& names) {
  constexpr std::size_t most = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i) text += (i == 0 ? "" : ", ") + names[i];
  return names.size() > most ? text + " and " + std::to_string(names.size() - most) + " more" : text;
}

}  // namespace report
}  // namespace lab
}  // namespace v0
}  // namespace allot
