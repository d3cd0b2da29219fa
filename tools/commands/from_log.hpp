/// `vtrain predict --from-log`: a measured run compared with its prediction.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.hpp"

namespace vtrain {

/// Arguments of the comparison.
struct FromLogArguments {
  std::string log;            ///< log of a training run
  std::string config;         ///< configuration with model and plan; empty: the log's arguments
  std::string profile;        ///< GPU profile; empty: the configuration's, or a100
  std::string stack;          ///< stack; empty: the configuration's, or the default
  std::string calibration;    ///< file of `vtrain profile calibrate`, empty for none
  std::int64_t num_gpus = 0;  ///< GPUs of the run; 0: the arguments say
  bool json = false;
};

/// Prints measured and predicted time and memory, with the parts of the prediction that could explain the
/// difference.
Result<void> predict_from_log(const FromLogArguments& arguments);

}  // namespace vtrain
