#include "workloads/model/layer_kinds.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "workloads/model/zoo.hpp"

namespace vtrain {
namespace {

/// A small Nemotron-H: 4 heads of 8 columns and a state of 16, in 2 groups.
TransformerModel hybrid() {
  return {.num_layers = 7,
          .hidden_size = 64,
          .num_heads = 8,
          .sequence_length = 256,
          .vocab_size = 100,
          .ffn_size = 96,
          .activation = Activation::SquaredRelu,
          .normalization = Normalization::RmsNorm,
          .positions = Positions::None,
          .tied_embeddings = false,
          .has_bias = false,
          .experts = {.num_experts = 4, .top_k = 2, .expert_ffn_size = 24, .latent_size = 16},
          .state_space = {.num_heads = 4, .head_size = 8, .state_size = 16, .num_groups = 2},
          .layer_pattern = "MEM*M-E"};
}

TransformerModel windowed(AttentionWindow window, std::int64_t dense) {
  TransformerModel model{"", 13, 64, 8, 256};
  model.window = window;
  model.experts = {.num_experts = 4, .top_k = 2, .expert_ffn_size = 24, .num_dense_layers = dense};
  return model;
}

TEST_CASE("layer_kinds: the layers of any range are those of its layers one by one") {
  std::vector<TransformerModel> models = {hybrid(), TransformerModel{"", 5, 64, 8, 256}};
  for (const std::int64_t dense : {0, 3, 12}) {
    models.push_back(windowed({}, dense));
    models.push_back(windowed({.size = 32}, dense));
    models.push_back(windowed({.size = 32, .full_every = 2}, dense));
    models.push_back(windowed({.size = 32, .first_layer = 5, .full_every = 3}, dense));
    models.push_back(windowed({.size = 32, .first_layer = 20}, dense));
  }
  for (const TransformerModel& model : models) {
    for (std::int64_t first = 0; first <= model.num_layers; ++first) {
      LayerCounts one_by_one{};
      for (std::int64_t end = first; end <= model.num_layers; ++end) {
        CHECK(count_layers(model, first, end - first) == one_by_one);
        if (end < model.num_layers) ++one_by_one[kind_of_layer(model, end)];
      }
    }
  }
}

TEST_CASE("layer_kinds: every second layer of gpt-oss has a window, beginning with the first") {
  const TransformerModel model = find_model("gpt-oss-20b")->model();
  const auto mixer = [&model](std::int64_t layer) {
    return layer_kinds(model)[kind_of_layer(model, layer)].mixer;
  };
  CHECK(mixer(0) == Mixer::WindowedAttention);
  CHECK(mixer(1) == Mixer::Attention);
  CHECK(mixer(22) == Mixer::WindowedAttention);
  CHECK(mixer(23) == Mixer::Attention);
  CHECK(count_layers(model) == LayerCounts{0, 12, 0, 12});
}

TEST_CASE("layer_kinds: a window begins at a layer, as max_window_layers has it") {
  const TransformerModel model = windowed({.size = 32, .first_layer = 9}, 13);
  CHECK(count_layers(model) == LayerCounts{9, 0, 4, 0});
}

TEST_CASE("layer_kinds: the halves of a hybrid and their weights") {
  const TransformerModel model = hybrid();
  REQUIRE(check_model(model));
  CHECK(count_layers(model) == LayerCounts{1, 2, 1, 3});
  // Inner layer 4 x 8 = 32; convolution 32 + 2 x 2 x 16 = 96; projection 32 + 96 + 4 = 132.
  CHECK(model.state_space.projection_size() == 132);
  // 64 x 132 in, 32 x 64 out; convolution 96 x (4 + 1), gated norm 32, three for each of 4 heads.
  const LayerWeights space = layer_weights(model, {Mixer::StateSpace, FeedForward::None});
  CHECK(space.attention == 8'448 + 2'048 + 480 + 32 + 12);
  CHECK(space.norms == 64);
  CHECK(space.total() == space.attention + 64);
  // Router 64 x 4, projections to 16 columns and back; an expert 2 x 16 x 24.
  const LayerWeights experts = layer_weights(model, {Mixer::None, FeedForward::Experts});
  CHECK(experts.router == 256 + 2 * 1'024);
  CHECK(experts.expert == 768);
  CHECK(experts.attention == 0);
  // MLP 2 x 64 x 96, attention 4 x 64 x 64.
  const std::int64_t mlp = 12'288 + 64;
  const std::int64_t attention = 16'384 + 64;
  const std::int64_t rest = 3 * space.total() + mlp + attention + 2 * (2'304 + 64) + 2 * 6'400 + 64;
  CHECK(model.num_parameters() == rest + 2 * 4 * 768);
  CHECK(model.active_parameters() == rest + 2 * 2 * 768);
}

TEST_CASE("layer_kinds: FLOPs of windows and of state spaces") {
  TransformerModel model{"", 4, 64, 8, 256, 100};
  const double whole = model_flops(model, 1).value;
  model.window = {.size = 64, .full_every = 2};
  // Two of four layers: per token 2 x 64 - 64^2 / 256 = 112 instead of 256 scores of 64 + 64 columns.
  CHECK(whole - model_flops(model, 1).value == doctest::Approx(6.0 * 256 * 2 * (256 - 112) * 128));
  model.window.size = 256;  // the whole sequence
  CHECK(model_flops(model, 1).value == doctest::Approx(whole));

  TransformerModel space = hybrid();
  const double before = model_flops(space, 1).value;
  space.layer_pattern[5] = 'M';
  // An MLP of 12,288 gives way to products 8,448 + 2,048, in chunks of 128 tokens 128 x (2 x 16 + 32) and
  // twice 32 x 16.
  CHECK(model_flops(space, 1).value - before ==
        doctest::Approx(6.0 * 256 * (8'448 + 2'048 + 128 * 64 + 2 * 512 - 12'288)));
}

TEST_CASE("layer_kinds: multi-token prediction adds a projection, norms, layers and the output layer") {
  TransformerModel model = hybrid();
  const std::int64_t weights = model.num_parameters();
  const double flops = model_flops(model, 1).value;
  model.prediction = {.depth = 2, .shares_weights = true, .layer_pattern = "*E"};
  REQUIRE(check_model(model));
  // 2 x 64 x 64 and three norms of 64; attention 16,384 and a norm; router, latent and a norm, four experts.
  const std::int64_t set = 8'192 + 192 + 16'384 + 64 + 2'304 + 64 + 4 * 768;
  CHECK(model.num_parameters() == weights + set);
  // A token passes each depth: two experts, attention to 256 tokens of 64 + 64 columns, output layer 6,400.
  CHECK(model_flops(model, 1).value - flops ==
        doctest::Approx(6.0 * 256 * 2 * (8'192 + 16'384 + 2'304 + 2 * 768 + 256 * 128 + 6'400)));
  model.prediction.shares_weights = false;
  CHECK(model.num_parameters() == weights + 2 * set);
  model.prediction.layer_pattern = "X";
  CHECK(check_model(model).error().field == "prediction.layer_pattern");
  // Of others it is one more layer like the last.
  TransformerModel whole = windowed({}, 3);
  const std::int64_t layer = layer_weights(whole, {Mixer::Attention, FeedForward::Experts}).total();
  const std::int64_t before = whole.num_parameters();
  whole.prediction.depth = 1;
  CHECK(whole.num_parameters() == before + layer + 8'192 + 3 * 128);
}

TEST_CASE("layer_kinds: what does not fit together is refused by name") {
  const auto field_of_error = [](const TransformerModel& model) {
    const auto checked = check_model(model);
    return checked ? std::string() : checked.error().field;
  };
  TransformerModel model = hybrid();
  model.layer_pattern = "MEM*M-";
  CHECK(field_of_error(model) == "layer_pattern");
  model.layer_pattern = "MEM*M-X";
  CHECK(check_model(model).error().message ==
        "expected M (state space), * (attention), - (MLP) or E (experts), found 'X'");
  model.layer_pattern = "-E-*--E";  // no M
  CHECK(field_of_error(model) == "layer_pattern");
  model.layer_pattern = "";
  CHECK(field_of_error(model) == "layer_pattern");
  model = hybrid();
  model.experts = {};
  CHECK(field_of_error(model) == "layer_pattern");
  model = hybrid();
  model.state_space.num_groups = 3;
  CHECK(field_of_error(model) == "state_space.num_groups");
  model = hybrid();
  model.state_space.state_size = 0;
  CHECK(field_of_error(model) == "state_space.state_size");
  model = hybrid();
  model.experts.num_dense_layers = 1;
  CHECK(field_of_error(model) == "experts.num_dense_layers");
  model = windowed({.size = -1}, 0);
  CHECK(field_of_error(model) == "window.size");
}

}  // namespace
}  // namespace vtrain
