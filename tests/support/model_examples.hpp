/// Model files for tests.
#pragma once

namespace vtrain::testing {

/// A model in our own JSON.
inline constexpr const char* kOurModel = R"({"base": "llama3-8b", "sequence_length": 4096})";

/// Llama 2 7B in the format of Hugging Face.
inline constexpr const char* kLlamaConfig =
    R"({"model_type": "llama", "vocab_size": 32000, "hidden_size": 4096,
    "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32,
    "max_position_embeddings": 4096, "rms_norm_eps": 1e-5, "tie_word_embeddings": false, "hidden_act": "silu"})";

}  // namespace vtrain::testing
