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

/// A row for each member of `TransformerModel` that is not a part with its own fields, in the order of JSON.
/// JSON input and output and `model_fingerprint` use it.
std::span<const Field<TransformerModel>> model_fields();

/// A part of a model with its own fields.
template <class Part>
struct ModelPart {
  std::string_view key;
  Part TransformerModel::*member;
  std::int64_t Part::*main_size;  ///< 0: the model lacks the part
  std::span<const Field<Part>> (*fields)();

  /// True if the model has the part.
  bool is_in(const TransformerModel& model) const { return model.*member.*main_size > 0; }
};

/// A row for each member of the experts; the functions below likewise for their parts.
std::span<const Field<MixtureOfExperts>> expert_fields();
std::span<const Field<LatentAttention>> latent_fields();           ///< rows of latent attention
std::span<const Field<AttentionWindow>> window_fields();           ///< rows of the window
std::span<const Field<StateSpace>> state_space_fields();           ///< rows of the state space
std::span<const Field<MultiTokenPrediction>> prediction_fields();  ///< rows of the prediction
std::span<const Field<Dropout>> dropout_fields();                  ///< rows of dropout

/// The parts of a model, in the order of JSON; its dropout comes after them.
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

/// Text of all members of a model but its name; equal for equal models only.
std::string model_fingerprint(const TransformerModel& model);

}  // namespace vtrain
