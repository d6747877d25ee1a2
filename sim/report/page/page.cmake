# The HTML report's script and style: npm fetches what package-lock.json names (when configuring), esbuild bundles them
# into one C++ file (when building), so that the program stays one file and its pages work offline. Without npm, or
# without a network to fetch from, stepsim builds all the same and refuses --html.
set(STEPSIM_HTML AUTO CACHE STRING "HTML reports: AUTO (when npm can fetch what they need), ON (else fail) or OFF")
set(page_source ${CMAKE_SOURCE_DIR}/sim/report/page)
set(page_build ${CMAKE_BINARY_DIR}/page)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${page_source}/package-lock.json ${page_source}/package.json)

set(STEPSIM_PAGES FALSE)
if(NOT STEPSIM_HTML STREQUAL OFF)
  find_program(NPM npm)
  find_program(NODE NAMES node nodejs)
  set(page_problem "npm and node were not found")
  if(NPM AND NODE)
    file(SHA256 ${page_source}/package-lock.json page_lock)
    set(page_have "")
    if(EXISTS ${page_build}/fetched)
      file(READ ${page_build}/fetched page_have)
    endif()
    if(NOT page_have STREQUAL page_lock)
      file(REMOVE_RECURSE ${page_build})
      file(COPY ${page_source}/package.json ${page_source}/package-lock.json DESTINATION ${page_build})
      execute_process(COMMAND ${NPM} ci --no-audit --no-fund --ignore-scripts --prefer-offline
        WORKING_DIRECTORY ${page_build} RESULT_VARIABLE page_failed OUTPUT_VARIABLE page_output ERROR_VARIABLE page_output)
      if(page_failed)
        set(page_problem "npm ci failed: ${page_output}")
      else()
        file(WRITE ${page_build}/fetched ${page_lock})
        set(page_have ${page_lock})
      endif()
    endif()
    if(page_have STREQUAL page_lock)
      set(STEPSIM_PAGES TRUE)
    endif()
  endif()
  if(NOT STEPSIM_PAGES)
    if(STEPSIM_HTML STREQUAL ON)
      message(FATAL_ERROR "HTML reports: ${page_problem}")
    endif()
    message(WARNING "Built without HTML reports: ${page_problem}")
  endif()
endif()

if(STEPSIM_PAGES)
  file(GLOB_RECURSE page_files CONFIGURE_DEPENDS ${page_source}/*.js ${page_source}/*.css)
  set(page_script ${page_build}/page_script.cpp)
  add_custom_command(OUTPUT ${page_script}
    COMMAND ${NODE} ${page_source}/build.mjs ${page_build}/node_modules ${page_script}
    DEPENDS ${page_files} ${page_source}/build.mjs ${page_build}/fetched
    COMMENT "Bundling the HTML report's script" VERBATIM)
else()
  set(page_script ${CMAKE_BINARY_DIR}/no_page_script.cpp)
  file(CONFIGURE OUTPUT ${page_script} CONTENT [[
#include <string_view>
namespace stepsim {
extern const std::string_view page_script{};
extern const std::string_view page_style{};
}  // namespace stepsim
]])
endif()
set_source_files_properties(${page_script} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
target_sources(stepsim_report PRIVATE ${page_script})
