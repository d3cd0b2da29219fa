/// Meanings of the words in records of measured runs.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "workloads/model/parallel_plan.hpp"

namespace vtrain {

/// First month that a text names, as 100 x year + month; `202412` or `2024-12` among other words.
std::optional<int> month_in(std::string_view text);

/// Text as lower-case letters and digits, with one blank for all other characters between them.
std::string plain_words(std::string_view text);
/// Text as lower-case letters and digits, without blanks.
std::string plain_letters(std::string_view text);
/// Text of `plain_words` that keeps points between digits, so that sizes of 1.3 and 13 differ.
std::string words_with_points(std::string_view text);
/// True if `part` occurs in `text`.
bool contains(std::string_view text, std::string_view part);
/// True if a text of `plain_words` contains `part`, perhaps within a word, and does not negate it. Negations:
/// `no fp8`, `w/o compile`, `nocompile`, `compile off`, `fp8 not used`.
bool has_unnegated_part(std::string_view text, std::string_view part);
/// True if an unchanged text has_unnegated_part `part`, whose words may be separate or joined: `async tp`.
bool mentions(std::string_view text, std::string_view part);

/// Narrowest precision that a text names; mixed precision goes under the format of its products.
std::optional<Precision> named_precision(std::string_view text);

/// Release that a text names by year and month: 26.06 in `..., 26.06 NeMo Container` and in
/// `mbridge_26.06_...`.
std::optional<double> named_release(std::string_view text);

}  // namespace vtrain
