// SPDX-License-Identifier: BSL-1.0
// What a page begins and ends with.
#include "lab/report/report.hpp"

namespace allot {
inline namespace v0 {
namespace lab {

// The files of this folder with those names, without their last newline: .cmake/embed.cmake makes strings of
// them.
namespace embedded {
extern const std::string_view page_css;
extern const std::string_view page_js;
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

void end_page(std::string& html, bool with_script) {
  if (with_script) html.append("<script>\n").append(embedded::page_js).append("\n</script>\n");
  html += "</body></html>\n";
}

}  // namespace report
}  // namespace lab
}  // namespace v0
}  // namespace allot
