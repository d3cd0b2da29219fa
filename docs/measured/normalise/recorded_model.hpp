/// Models in records of measured runs.
#pragma once

#include <string>
#include <string_view>

#include "core/io/json_reader.hpp"
#include "workloads/model/zoo.hpp"
#include "workloads/validation/measured_case.hpp"

namespace vtrain {

/// The model of the zoo that a record names; null if there is none. Its name is the recorded one
/// (`LLAMA3.1_405B` for `llama3.1-405b`) or its first words. A remark may follow (`Grok-1 314B (MoE)`), but
/// no other size, and no word for another run (`LoRA`) or model (`Lite`).
const ZooModel* find_recorded_model(std::string_view recorded);

/// Reads a record's `model` into `measured.model`: its sizes, completed from the zoo. Without sizes, or if
/// sizes cannot describe it (experts, latent attention, windows, state spaces), the zoo's model is used.
/// `is_neusight`: NeuSight's names count. `measured` lists missing, assumed and unread values; errors stay in
/// `fields`. Returns the model's name in recipes: the zoo's, or the record's.
std::string read_recorded_model(JsonFields& fields, bool is_neusight, MeasuredCase& measured);

}  // namespace vtrain
