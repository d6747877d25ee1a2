#include "sim/verbs/pages.hpp"

#include "sim/report/page.hpp"
#include "sim/report/timeline_view.hpp"

namespace stepsim {

void require_pages(const OutputArguments& outputs) {
  if (!outputs.wants("--html") || pages_are_built()) return;
  throw InputError({{"", 0, "--html",
                     "this stepsim was built without HTML reports (npm was missing or could not fetch packages): install "
                     "npm, configure with -D STEPSIM_HTML=ON and build again"}});
}

PagePlan page_plan(const Simulation& done, const Inputs& inputs, std::size_t most_items) {
  return {done.report, timeline_json(done.graph, done.timeline, most_items), inputs.explained};
}

}  // namespace stepsim
