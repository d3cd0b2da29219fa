/// Kernel traces in the format of the public vTrain release, built from measured operators.
#pragma once

#include <string>
#include <vector>

#include "profiler/kernel_table.hpp"
#include "profiler/model_point.hpp"

namespace vtrain::profiler {

/// The operators of a model that a table lacks, by key, each once.
std::vector<std::string> missing_keys(const KernelTable& table, const ModelPoint& point);

/// One forward and backward pass of the embedding, one layer, the head and the loss, then the updates of
/// their weights. Each operator runs as its kernels with their warm durations and gaps, one after another;
/// all launches of a part are at its begin. `std::logic_error` if an operator is missing.
std::string kernel_trace(const KernelTable& table, const ModelPoint& point);

/// File name of a trace: `trace_{hidden}_{tensor}_{micro batch}`.
std::string trace_name(const ModelPoint& point);

}  // namespace vtrain::profiler
