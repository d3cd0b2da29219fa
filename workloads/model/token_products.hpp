/// Multiply-adds of a model's forward pass, by part.
#pragma once

namespace vtrain {

struct TransformerModel;

/// Multiply-adds of a forward pass for one token.
struct TokenProducts {
  double layers =
      0;  ///< products with the layers' weights, and with the projections of multi-token prediction
  double mixing = 0;        ///< products of queries with keys, of scores with values, and of state spaces
  double masked = 0;        ///< part of `mixing`: the masked half of attention
  double output_layer = 0;  ///< logits
};

/// Counts them. The model must have passed `check_model`.
TokenProducts token_products(const TransformerModel& model);

}  // namespace vtrain
