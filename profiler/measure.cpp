#include "profiler/measure.hpp"

#include <cstddef>
#include <string>

namespace vtrain::profiler {
namespace {

enum class Cache : std::uint8_t { Warm, Cold };

constexpr int kAttempts = 3;
/// A launch takes the CPU some microseconds, more under CUPTI; unfused attention has about ten in its
/// backward pass.
constexpr double kHoldPerRepetitionNs = 1e5;
/// Device memory that is left to libraries' workspaces and to the buffer that overwrites L2.
constexpr std::size_t kReserve = std::size_t{1} << 30;

void check_memory(const Device& device, const Operator& op) {
  std::size_t needed = kReserve;
  for (const std::size_t buffer : buffers_of(op))
    needed += buffer;
  if (const std::size_t free = device.free_memory(); needed > free) {
    throw NotMeasurable("needs " + std::to_string(needed >> 20) + " MiB of device memory, " +
                        std::to_string(free >> 20) + " MiB are free");
  }
}

/// Runs the repetitions once. Every attempt starts from range 1: the records of the one before have been
/// collected.
Activity run_repetitions(Device& device, PreparedOperator& prepared, std::size_t repetitions, Cache cache) {
  ActivitySource& activity = device.activity();
  activity.start();
  if (cache == Cache::Warm) device.hold(kHoldPerRepetitionNs * static_cast<double>(repetitions));
  for (std::size_t i = 0; i < repetitions; ++i) {
    if (cache == Cache::Cold) device.overwrite_l2();
    device.begin_range(i + 1);
    prepared.launch();
    device.end_range();
  }
  device.synchronize();
  activity.stop();
  return activity.collect();
}

Measurement measure_repetitions(Device& device, PreparedOperator& prepared, std::size_t repetitions,
                                Cache cache, std::uint64_t& dropped) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const Activity activity = run_repetitions(device, prepared, repetitions, cache);
    dropped += activity.dropped;
    const auto measurement = summarize(attribute(activity), 1, repetitions, cache == Cache::Warm);
    if (measurement) return *measurement;
  }
  throw NotMeasurable("no usable activity records in " + std::to_string(kAttempts) + " attempts");
}

}  // namespace

OperatorMeasurement measure(Device& device, const Operator& op, const Protocol& protocol) {
  check_memory(device, op);
  const std::unique_ptr<PreparedOperator> prepared = device.prepare(op);
  for (std::size_t i = 0; i < protocol.warm_up; ++i)
    prepared->launch();
  device.synchronize();
  const std::size_t repetitions = repetitions_of(op, rates_of(device.facts()), protocol);
  OperatorMeasurement made;
  made.warm = measure_repetitions(device, *prepared, repetitions, Cache::Warm, made.dropped_records);
  made.cold = measure_repetitions(device, *prepared, repetitions, Cache::Cold, made.dropped_records);
  return made;
}

}  // namespace vtrain::profiler
