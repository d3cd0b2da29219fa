/// Storage that keeps the plans of throughput curves between runs of the program.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/base/result.hpp"
#include "workloads/search/ranked_plan.hpp"

namespace vtrain {

struct TransformerModel;

/// Keeps texts under keys of any length. A store may forget.
class CurveStore {
 public:
  virtual ~CurveStore() = default;
  /// The text saved under `key`; none if there is none or it cannot be read.
  virtual std::optional<std::string> load(const std::string& key) = 0;
  /// Replaces the text under `key` as a whole: no caller ever loads a part of it.
  virtual void save(const std::string& key, const std::string& text) = 0;
};

/// The plans of one curve by number of GPUs, with the errors of those that have none.
using CurveRecord = std::map<std::int32_t, Result<RankedPlan>>;

/// A record as JSON text, with the key it belongs to. Times are exact.
std::string format_curve_record(const std::string& key, const CurveRecord& record);

/// Reads such a text. None if it is not one, is another key's, or holds a plan that does not suit the model,
/// the global batch or the GPUs: a damaged record is no record.
std::optional<CurveRecord> parse_curve_record(const std::string& text, const std::string& key,
                                              const TransformerModel& model, std::int64_t global_batch);

}  // namespace vtrain
