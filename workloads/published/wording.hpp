// Free text of a table, understood phrase by phrase.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace stepsim {

class Wording {
 public:
  explicit Wording(std::string_view text);  // compared without regard to case

  bool empty() const;  // nothing stated
  // Whether the phrase (in lower case) stands in the text; if so it is understood and gone.
  bool take(std::string_view phrase);
  // The number that follows the phrase at once ("group 64"); both are gone then.
  std::optional<double> take_number_after(std::string_view phrase);
  // What nobody took: words of two letters or more, in their order.
  std::string rest() const;

 private:
  std::string text_;
};

}  // namespace stepsim
