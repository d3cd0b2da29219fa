/// What the words in records of measured runs mean.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "workloads/model/parallel_plan.hpp"

namespace vtrain {

/// The first month that a text names, `202412` or `2024-12` among other words: 100 x year + month.
std::optional<int> month_in(std::string_view text);

/// Lower case letters and digits, with one blank for whatever stands between them.
std::string plain_words(std::string_view text);
/// The same without blanks.
std::string plain_letters(std::string_view text);
/// Words with the points between digits, which tell a size of 1.3 from one of 13.
std::string words_with_points(std::string_view text);
/// Whether `part` occurs in `text`.
bool contains(std::string_view text, std::string_view part);
/// Whether a text of `plain_words` has `part` somewhere, perhaps within a word, and does not deny it there:
/// `no fp8`, `w/o compile`, `nocompile`, `compile off`, `fp8 not used`.
bool affirms(std::string_view text, std::string_view part);
/// The same of a text as it stands, the words of `part` apart or run together: `async tp`.
bool mentions(std::string_view text, std::string_view part);

/// The narrowest precision that a text names: mixed precision is named by what its products take.
std::optional<Precision> named_precision(std::string_view text);

/// The release that a text names, a year and a month: 26.06 of `..., 26.06 NeMo Container` and of
/// `mbridge_26.06_...`.
std::optional<double> named_release(std::string_view text);

}  // namespace vtrain
