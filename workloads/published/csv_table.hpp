// Any CSV file as rows of fields (RFC 4180, read by libcsv).
#pragma once

#include <string>
#include <vector>

namespace stepsim {

struct CsvRow {
  int line = 0;  // where it begins
  std::vector<std::string> fields;

  bool operator==(const CsvRow&) const = default;
};

// Empty lines are skipped. Throws InputError when the file cannot be read, is empty, or its quotes are broken.
std::vector<CsvRow> read_csv_table(const std::string& path);

}  // namespace stepsim
