/// The tables of a study as files and as JSON.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "core/io/staged_folder.hpp"
#include "tools/format/table_format.hpp"
#include "tools/studies/survey.hpp"

namespace vtrain {

/// Words for `VariedTable`, in its order: `means`, `differences`.
std::span<const std::string_view> study_tables();

/// A table over all combinations. CSV has exact numbers: the mean of a metric under the name of its column,
/// half of its interval under that name with `_half`, and the number of seeds. The others have the cells of
/// the terminal.
Result<std::string> study_table(const StudyResults& results, const Survey& survey, VariedTable table,
                                TableFormat format, const SurveyOptions& options);

/// All of a study: subject, missing runs, answer, statements of SQL, and the combinations as
/// `vtrain compare --json` has them.
Result<nlohmann::ordered_json> study_to_json(const StudyResults& results, const Survey& survey,
                                             const SurveyOptions& options);

/// Checks, before the work, that a folder can take a study's files. Errors: it cannot be written to; it holds
/// the results themselves or a run of its own.
Result<void> check_study_folder(const std::filesystem::path& folder, const StudyResults& results,
                                TableFormat format);

/// Writes `report.html`, the tables in a format, `tables.sql` with their statements, and for folders of runs
/// `runs.sqlite`, to which the statements apply. Then replaces the folder.
Result<void> write_study(StagedFolder& folder, const StudyResults& results, const Survey& survey,
                         TableFormat format, const SurveyOptions& options, const std::string& command);

}  // namespace vtrain
