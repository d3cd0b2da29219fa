/// Iteration times as the public vTrain release predicts them, quirks included, to the nanosecond. Users of
/// the release can check this program with it. The accurate model is `--semantics physical`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/kernels/collective_cost.hpp"
#include "core/kernels/kernel_trace.hpp"
#include "workloads/iteration/iteration_work.hpp"
#include "workloads/release/release_config.hpp"

namespace vtrain {

/// Sources of the numbers of a prediction.
struct VtrainProvenance {
  std::string trace_file;                 ///< measured kernels
  std::string collectives_folder;         ///< measured all-reduces; empty if the plan needs none
  std::int64_t measured_collectives = 0;  ///< collectives whose time is a table's row
  std::int64_t modelled_collectives = 0;  ///< collectives for which the release always takes a formula
  /// Collectives whose size the table lacks; the release then takes the bandwidth at 1024 MiB.
  std::int64_t fallback_collectives = 0;
  /// Operators without kernels in the trace; they take no time.
  std::vector<std::string> operators_without_kernels;
};

/// The work of an iteration, kept together with the kernels it points to.
struct VtrainWork {
  std::shared_ptr<const TracedKernels> kernels;
  IterationWork work;
  VtrainProvenance provenance;
};

/// Makes the work of an iteration. `tables` must hold the tables that the plan needs (`needed_tables`).
///
/// Errors: the kernel table lacks an operator that every iteration needs, or a table is missing.
Result<VtrainWork> make_vtrain_work(const VtrainConfig& config, std::shared_ptr<const TracedKernels> kernels,
                                    const AllReduceTables& tables);

/// The numbers of GPUs whose all-reduce tables the plan uses.
std::vector<std::int64_t> needed_tables(const VtrainConfig& config);

/// Bytes of the gradients that each data-parallel rank of a stage reduces: two for every parameter.
Bytes gradient_bytes(const VtrainConfig& config, std::int64_t stage);

/// Reads the files that the configuration needs and makes the work of an iteration.
///
/// `trace_folder` holds `trace_{hidden}_{tensor}_{micro batch}`; empty: the configuration's `trace_path`.
/// `collectives_folder` holds `AR_GPU{n}_1M_1024M_LUT`; empty: the lower-case GPU name below `trace_path`, or
/// below `trace_folder` if that is empty.
Result<VtrainWork> predict_vtrain(const VtrainConfig& config, const std::filesystem::path& trace_folder,
                                  const std::filesystem::path& collectives_folder);

}  // namespace vtrain
