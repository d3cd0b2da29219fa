/// Files that all pages of the program share, as bytes in the program.
#pragma once

#include <string_view>

namespace vtrain::embedded {

extern const std::string_view format_js;      ///< numbers and durations in words, for scripts
extern const std::string_view uplot_js;       ///< the charting library
extern const std::string_view uplot_css;      ///< looks of its charts
extern const std::string_view uplot_license;  ///< its licence, which every copy must have

}  // namespace vtrain::embedded
