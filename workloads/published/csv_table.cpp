#include "workloads/published/csv_table.hpp"

#include <csv.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "sim/base/errors.hpp"
#include "sim/base/read_files.hpp"

namespace stepsim {
namespace {

struct Gathering {
  std::vector<CsvRow> rows;
  CsvRow row;
  int line = 1;  // of what is being read: libcsv tells fields, not lines

  static void field(void* text, std::size_t length, void* self) {
    auto& g = *static_cast<Gathering*>(self);
    if (g.row.fields.empty()) g.row.line = g.line;
    g.row.fields.emplace_back(static_cast<const char*>(text), length);
  }
  static void end_of_row(int, void* self) {
    auto& g = *static_cast<Gathering*>(self);
    g.rows.push_back(std::move(g.row));
    g.row = {};
  }
};

[[noreturn]] void refuse(const std::string& path, int line, std::string reason) {
  throw InputError({{path, line, "", std::move(reason)}});
}

std::string content_of(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) refuse(path, 0, "is a folder; a CSV file is due");
  note_read(path);
  std::ifstream file(path, std::ios::binary);
  if (!file) refuse(path, 0, std::filesystem::exists(path, ignored) ? "cannot be read" : "there is no such file");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

std::vector<CsvRow> read_csv_table(const std::string& path) {
  std::string text = content_of(path);
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  csv_parser parser;
  if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI) != 0) throw std::bad_alloc();
  const std::unique_ptr<csv_parser, void (*)(csv_parser*)> owner(&parser, csv_free);
  Gathering found;
  // A physical line at a time, so that a row knows where it begins; a quoted field may span several.
  for (std::size_t at = 0; at < text.size(); ++found.line) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    if (csv_parse(&parser, text.data() + at, end - at, Gathering::field, Gathering::end_of_row, &found) != end - at) {
      refuse(path, found.line, "is not CSV: a quote stands inside a field, or a quoted field goes on after its end");
    }
    at = end;
  }
  if (csv_fini(&parser, Gathering::field, Gathering::end_of_row, &found) != 0) {
    refuse(path, found.line - 1, "is not CSV: a quote is not closed");
  }
  std::erase_if(found.rows, [](const CsvRow& row) { return row.fields.size() == 1 && row.fields[0].empty(); });
  if (found.rows.empty()) refuse(path, 0, "is empty; a line of column names is due");
  return found.rows;
}

}  // namespace stepsim
