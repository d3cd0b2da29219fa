/// How the published runs of NeuSight were measured: Lee, Phanishayee, Mahajan, "Forecasting GPU Performance
/// for Deep Learning Training and Inference", ASPLOS'25; scripts/asplos and neusight/Tracing/trace.py of
/// sitar-lab/NeuSight. Its records name models and times only.
#pragma once

#include <optional>
#include <string_view>

#include "workloads/model/model.hpp"
#include "workloads/validation/measured_case.hpp"

namespace vtrain {

/// The model that NeuSight's configuration of this name (small letters and digits alone) describes
/// (scripts/asplos/data/DLmodel_configs); nothing for other names.
std::optional<TransformerModel> neusight_model(std::string_view name);

/// Completes a case whose plan and batch have been read: the whole batch of a GPU is one micro-batch. On one
/// GPU only the model's passes are timed, not the forward pass of the loss and no optimizer. What was taken
/// is noted in `assumed`.
void complete_neusight_run(MeasuredCase& measured);

}  // namespace vtrain
