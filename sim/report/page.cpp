#include "sim/report/page.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace stepsim {

// Written by sim/report/page/build.mjs, or empty.
extern const std::string_view page_script;
extern const std::string_view page_style;

namespace {

std::string escaped(std::string_view text) {
  constexpr std::array<std::pair<char, std::string_view>, 4> entities{
      {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}}};
  std::string result;
  for (const char c : text) {
    std::string_view replacement;
    for (const auto& [special, entity] : entities) {
      if (c == special) replacement = entity;
    }
    replacement.empty() ? result += c : result += replacement;
  }
  return result;
}

// A "<" in JSON stands inside a string, where an escape means the same: no text of the data can end the element.
std::string inside_script(std::string_view json) {
  std::string result;
  result.reserve(json.size());
  for (const char c : json) c == '<' ? result += "\\u003c" : result += c;
  return result;
}

}  // namespace

bool pages_are_built() {
  return !page_script.empty();
}

std::string page_of(std::string_view title, std::string_view view, std::string_view data) {
  // The policy allows what the file holds and no request to anywhere.
  std::string page = fmt::format(
      R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:">
<title>{}</title>
<style>
{}</style>
</head>
<body>
<main id="page" data-view="{}"><p>This report is drawn by the script that this file holds; it needs JavaScript.</p></main>
<script type="application/json" id="data">
)",
      escaped(title), page_style, escaped(view));
  page += inside_script(data);
  page += "\n</script>\n<script>\n";
  page += page_script;
  page += "</script>\n</body>\n</html>\n";
  return page;
}

}  // namespace stepsim
