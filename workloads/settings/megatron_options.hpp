/// Megatron-LM's options that neither plan nor model holds.
#pragma once

#include <span>

#include "workloads/settings/named_setting.hpp"

namespace vtrain {

/// Rows on options of Megatron-LM and Megatron-DeepSpeed: refused ones, those with an effect that is not
/// counted, and those without effect. The first matching row counts.
std::span<const SettingRow> megatron_rows();

}  // namespace vtrain
