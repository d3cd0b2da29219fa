/// Operators to measure for ranges of models. Most models of a family share most of their operators, because
/// a product does not depend on the model around it. The paper calls these necessary operators.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profiler/model_point.hpp"

namespace vtrain::profiler {

/// A layer's width. `heads` 0 means heads of size 128.
struct LayerWidth {
  std::int64_t hidden = 1024;
  std::int64_t heads = 0;
};

/// Ranges of models. Every combination is used.
struct GridSpec {
  Family family = Family::Gpt;
  std::vector<LayerWidth> widths;
  std::vector<std::int64_t> sequences;
  std::vector<std::int64_t> micro_batches;
  std::vector<std::int64_t> tensors;  ///< tensor-parallel degrees; one GPU measures the shard of one
  /// 0: equal to the heads for gpt; 8, or the heads if fewer, for llama.
  std::int64_t key_value_heads = 0;
  double ffn_ratio = 0;         ///< width of the MLP relative to hidden; 0: 4 for gpt, 3.5 for llama
  std::int64_t vocabulary = 0;  ///< 0: 51,200 for gpt, 128,256 for llama
  std::vector<Format> formats;
  std::vector<Variant> gradients;
  std::vector<Variant> attentions;
};

/// The grid of `vtrain-profile record` without options: hidden 1,024 to 8,192, sequences 1,024 to 8,192,
/// micro-batches and tensor-parallel degrees 1 to 8, bf16.
GridSpec default_grid();

/// Every combination of a grid, with and without sequence parallelism if there is tensor parallelism.
struct GridPoints {
  std::vector<ModelPoint> points;
  std::vector<std::string> left_out;  ///< combinations that are no model, one line each with the reason
};
GridPoints points_of(const GridSpec& spec);

/// The distinct operators of all points, in the order of their first appearance.
std::vector<Operator> necessary_operators(const std::vector<ModelPoint>& points);

}  // namespace vtrain::profiler
