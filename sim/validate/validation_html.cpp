#include "sim/report/page.hpp"
#include "sim/validate/validation.hpp"

namespace stepsim {

std::string to_html(const Validation& validation) {
  return page_of("stepsim: " + validation.file, "validation", to_json(validation));
}

}  // namespace stepsim
