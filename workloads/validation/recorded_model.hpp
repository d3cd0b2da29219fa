/// The model that a record of a measured run means.
#pragma once

#include <string>
#include <string_view>

#include "core/io/json_reader.hpp"
#include "workloads/model/zoo.hpp"
#include "workloads/validation/measured_case.hpp"

namespace vtrain {

/// The model of the zoo that a record means: its name is that of the record (`LLAMA3.1_405B` for
/// `llama3.1-405b`) or the first words of it, and what follows is a remark (`Grok-1 314B (MoE)`): no other
/// size, and nothing that makes it another run (`LoRA`) or model (`Lite`). Null if there is none.
const ZooModel* find_recorded_model(std::string_view recorded);

/// Reads a record's `model` into `measured.model`: its sizes, with what they leave out as the zoo has it, or
/// the model of the zoo where there are none, or where sizes cannot tell it: experts, latent attention,
/// windows, state spaces. `is_neusight`: NeuSight's names count. What is missing, assumed and not read is
/// listed in `measured`; errors stay in `fields`. Returns the name that recipes know it by: the zoo's, or the
/// record's.
std::string read_recorded_model(JsonFields& fields, bool is_neusight, MeasuredCase& measured);

}  // namespace vtrain
