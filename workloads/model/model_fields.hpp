/// The tables of the fields of a model and of its parts.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tuple>

#include "core/base/fields.hpp"
#include "workloads/model/model.hpp"

namespace vtrain {

/// A row for each member of `TransformerModel` that is no part with fields of its own, in the order in which
/// JSON has them. JSON in and out and `model_fingerprint` derive from it.
std::span<const Field<TransformerModel>> model_fields();

/// A part of a model with fields of its own.
template <class Part>
struct ModelPart {
  std::string_view key;
  Part TransformerModel::*member;
  std::int64_t Part::*main_size;  ///< 0: the model lacks the part
  std::span<const Field<Part>> (*fields)();

  /// Whether the model has the part.
  bool is_in(const TransformerModel& model) const { return model.*member.*main_size > 0; }
};

/// A row for each member of the part.
std::span<const Field<MixtureOfExperts>> expert_fields();
std::span<const Field<LatentAttention>> latent_fields();           ///< likewise
std::span<const Field<AttentionWindow>> window_fields();           ///< likewise
std::span<const Field<StateSpace>> state_space_fields();           ///< likewise
std::span<const Field<MultiTokenPrediction>> prediction_fields();  ///< likewise
std::span<const Field<Dropout>> dropout_fields();                  ///< likewise

/// The parts of a model, in the order in which JSON has them; after them comes its dropout.
inline constexpr std::tuple kModelParts = {
    ModelPart<MixtureOfExperts>{"experts", &TransformerModel::experts, &MixtureOfExperts::num_experts,
                                expert_fields},
    ModelPart<LatentAttention>{"latent", &TransformerModel::latent, &LatentAttention::kv_rank, latent_fields},
    ModelPart<AttentionWindow>{"window", &TransformerModel::window, &AttentionWindow::size, window_fields},
    ModelPart<StateSpace>{"state_space", &TransformerModel::state_space, &StateSpace::num_heads,
                          state_space_fields},
    ModelPart<MultiTokenPrediction>{"prediction", &TransformerModel::prediction, &MultiTokenPrediction::depth,
                                    prediction_fields}};

/// Calls `visit` with each part of a model.
template <class Visit>
void for_each_part(const Visit& visit) {
  std::apply([&visit](const auto&... parts) { (visit(parts), ...); }, kModelParts);
}

/// All members of a model but its name as text: equal for equal models only.
std::string model_fingerprint(const TransformerModel& model);

}  // namespace vtrain
