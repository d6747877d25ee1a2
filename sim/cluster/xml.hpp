// An XML file under strict reading: attributes with units, and problems with line and element. Internal to this folder.
#pragma once

#include <initializer_list>
#include <optional>
#include <pugixml.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.hpp"
#include "sim/base/units.hpp"

namespace stepsim {

class XmlFile {
 public:
  explicit XmlFile(std::string path) : path_(std::move(path)) {}

  // The only element at the top, which must have this name. Throws InputError when there is none to be had: no file,
  // not XML, another element.
  pugi::xml_node load(std::string_view root_name);

  void problem(pugi::xml_node element, std::string_view attribute, std::string reason);
  std::vector<Problem>& problems() { return problems_; }

  struct Rule {
    std::string_view name;
    enum class Kind { required, may_be_empty, optional, refused } kind;  // may_be_empty: required all the same
    std::string_view why_refused = "";
  };
  // Notes missing, unknown, repeated and refused attributes. An attribute that is empty counts as absent: so SimGrid's
  // document type writes its defaults.
  void check_attributes(pugi::xml_node element, std::initializer_list<Rule> rules);

  // The value of an attribute that is there; nullopt when it is absent or wrong (noted). Bandwidths are positive, times
  // not negative.
  static std::optional<std::string_view> text(pugi::xml_node element, const char* attribute);
  std::optional<BytesPerSecond> bandwidth(pugi::xml_node element, const char* attribute);
  std::optional<Seconds> time(pugi::xml_node element, const char* attribute);
  // One of the allowed words; the default when absent or wrong.
  std::string choice(pugi::xml_node element, const char* attribute, std::initializer_list<std::string_view> allowed,
                     std::string_view absent);

 private:
  int line_of(std::ptrdiff_t offset) const;
  [[noreturn]] void fail(int line, std::string reason) const;

  std::string path_;
  pugi::xml_document document_;
  std::vector<std::ptrdiff_t> line_ends_;
  std::vector<Problem> problems_;
};

// "cluster leaf_p0_3": how messages name an element.
std::string name_of(pugi::xml_node element);

}  // namespace stepsim
