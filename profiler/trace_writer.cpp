#include "profiler/trace_writer.hpp"

#include <algorithm>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <string_view>

namespace vtrain::profiler {
namespace {

class TraceText {
 public:
  explicit TraceText(const KernelTable& table) : table_(table) {}

  void add_part(std::string_view phase, std::string_view part, const std::vector<Operator>& operators) {
    if (operators.empty()) return;
    std::vector<const MeasuredKernel*> kernels;
    for (const Operator& op : operators) {
      const OperatorRow* row = table_.find(key_of(op));
      if (row == nullptr) throw std::logic_error("not in the table: " + key_of(op));
      for (const MeasuredKernel& kernel : row->warm.kernels)
        kernels.push_back(&kernel);
    }
    add_timestamp(phase, "start", part);
    const std::int64_t first = next_correlation_;
    for (std::size_t i = 0; i < kernels.size(); ++i)
      add_line(0, "RUNTIME,211," + std::to_string(next_correlation_++));
    add_timestamp(phase, "end", part);
    for (std::size_t i = 0; i < kernels.size(); ++i)
      add_kernel(*kernels[i], first + static_cast<std::int64_t>(i));
  }

  std::string finish() && { return std::move(text_); }

 private:
  void add_line(std::int64_t duration, const std::string& rest) {
    text_ += std::to_string(now_) + "," + std::to_string(duration) + "," + rest + "\n";
  }

  void add_timestamp(std::string_view phase, std::string_view edge, std::string_view part) {
    add_line(0,
             "TIMESTAMP,\"" + std::string(phase) + " " + std::string(edge) + " " + std::string(part) + "\"");
  }

  void add_kernel(const MeasuredKernel& kernel, std::int64_t correlation) {
    std::string name = kernel.name;
    name.erase(
        std::remove_if(name.begin(), name.end(), [](char c) { return c == '"' || c == '\n' || c == '\r'; }),
        name.end());
    // The format knows no kernel of less than a nanosecond.
    const std::int64_t duration = std::max<std::int64_t>(1, kernel.duration_ns);
    add_line(duration, "KERNEL,\"" + name + "\"," + std::to_string(correlation));
    // Medians are taken one by one, so that a negative gap could lead to before this kernel's start.
    now_ += std::max<std::int64_t>(0, duration + kernel.gap_ns.value_or(0));
  }

  const KernelTable& table_;
  std::string text_;
  std::int64_t now_ = 1;
  std::int64_t next_correlation_ = 1;
};

/// Calls `visit` with phase, part and operators, in the order of a training iteration.
template <typename Visit>
void for_each_part(const ModelPoint& point, Visit visit) {
  std::vector<PartOperators> parts = parts_of(point);
  for (const PartOperators& part : parts)
    visit("forward", part.name, part.forward);
  std::reverse(parts.begin(), parts.end());
  for (const PartOperators& part : parts)
    visit("backward", part.name, part.backward);
  for (const PartOperators& part : parts)
    visit("WU", part.name, part.update);
}

}  // namespace

std::vector<std::string> missing_keys(const KernelTable& table, const ModelPoint& point) {
  std::set<std::string> missing;
  for_each_part(point, [&](std::string_view, std::string_view, const std::vector<Operator>& operators) {
    for (const Operator& op : operators) {
      if (table.find(key_of(op)) == nullptr) missing.insert(key_of(op));
    }
  });
  return {missing.begin(), missing.end()};
}

std::string kernel_trace(const KernelTable& table, const ModelPoint& point) {
  TraceText text(table);
  for_each_part(point,
                [&](std::string_view phase, std::string_view part, const std::vector<Operator>& operators) {
                  text.add_part(phase, part, operators);
                });
  return std::move(text).finish();
}

std::string trace_name(const ModelPoint& point) {
  return "trace_" + std::to_string(point.hidden) + "_" + std::to_string(point.tensor) + "_" +
         std::to_string(point.micro_batch);
}

}  // namespace vtrain::profiler
