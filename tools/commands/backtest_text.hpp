/// The answer of `vtrain eta --backtest` for people and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tools/live/backtest.hpp"

namespace vtrain {

/// Coverage of the estimates in one sentence, then the errors of each method.
std::string backtest_text(const Backtest& test, const BacktestOptions& options);
/// The same as one document.
nlohmann::ordered_json backtest_json(const Backtest& test, const BacktestOptions& options);

}  // namespace vtrain
