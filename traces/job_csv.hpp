/// Reads jobs from CSV text with any of the published sets of columns.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "traces/trace_format.hpp"

namespace vtrain {

/// Which column holds what. An empty name: the format has no such column. `job_id`, `submit` and `num_gpus`
/// must be in the header; so must `duration`, unless `model`, `global_batch` and `iterations` are. Columns
/// are found by name, others are ignored. In a row, an empty field of an optional column means "not given".
struct JobColumns {
  std::string_view job_id;
  std::string_view submit;  ///< decimal seconds from the trace's origin
  std::string_view num_gpus;
  std::string_view duration;  ///< decimal seconds
  std::string_view tenant{};
  std::string_view requested{};  ///< decimal seconds
  std::string_view deadline{};   ///< decimal seconds from the trace's origin
  std::string_view model{};
  std::string_view global_batch{};
  std::string_view iterations{};
  std::string_view user{};
  std::string_view gpu_type{};
  std::string_view gpu_share{};       ///< the part of each GPU, above 0 and at most 1
  std::string_view max_gpus{};        ///< for elastic policies
  std::string_view original_start{};  ///< decimal seconds from the trace's origin
  std::string_view status{};          ///< a name of `status_name`
};

/// Reads all rows, in the order of the file. Two rows with the same job id are an error that names both
/// lines.
Result<Trace> read_job_csv(std::string_view text, const std::string& file, const JobColumns& columns);

/// Whether the header line at the start of `head` has all columns of `required` and no others than those and
/// `optional`.
bool header_has(std::string_view head, std::initializer_list<std::string_view> required,
                std::initializer_list<std::string_view> optional);

}  // namespace vtrain
