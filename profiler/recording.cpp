#include "profiler/recording.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>

namespace vtrain::profiler {
namespace {

enum class Cache : std::uint8_t { Warm, Cold };

constexpr int kAttempts = 3;
/// Hold of the stream per repetition. A launch takes the CPU some microseconds, more under CUPTI; unfused
/// attention has about ten in its backward pass.
constexpr double kHoldPerRepetitionNs = 1e5;
/// Device memory reserved for libraries' workspaces and for the buffer that overwrites L2.
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

/// Runs the repetitions once. Every attempt starts from range 1, as earlier records have been collected.
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

namespace {

/// Interval of saves: writing a table of 4 MB takes some tens of milliseconds.
constexpr double kSaveIntervalS = 5;

/// Saves the table from time to time, and tells if the recording continues.
class Keeper {
 public:
  Keeper(KernelTable& table, const RecordingContext& context)
      : table_(table), context_(context), started_s_(context.now_s()), saved_s_(started_s_) {}

  bool may_continue() const {
    if (context_.is_interrupted()) return false;
    return context_.time_limit_s <= 0 || context_.now_s() - started_s_ < context_.time_limit_s;
  }

  bool is_save_due() const { return context_.now_s() - saved_s_ >= kSaveIntervalS; }

  void save() {
    table_.session().ended = context_.utc_now();
    write_whole(context_.file, table_.to_json());
    saved_s_ = context_.now_s();
  }

 private:
  KernelTable& table_;
  const RecordingContext& context_;
  double started_s_;
  double saved_s_;
};

/// Clocks and temperatures over a recording.
class HealthLog {
 public:
  void add(const std::optional<HealthSample>& sample) {
    if (sample) samples_.push_back(*sample);
  }

  void describe(Session& session) const {
    if (samples_.empty()) return;
    session.sm_clock_hz = spread(&HealthSample::sm_clock_hz);
    session.memory_clock_hz = spread(&HealthSample::memory_clock_hz);
    session.temperature_c = spread(&HealthSample::temperature_c);
    session.power_w = spread(&HealthSample::power_w);
    const auto throttled = std::count_if(samples_.begin(), samples_.end(),
                                         [](const HealthSample& sample) { return sample.throttled; });
    session.throttled = static_cast<double>(throttled) / static_cast<double>(samples_.size());
  }

 private:
  Spread spread(double HealthSample::*field) const {
    std::vector<double> values;
    values.reserve(samples_.size());
    for (const HealthSample& sample : samples_)
      values.push_back(sample.*field);
    return spread_of(values);
  }

  std::vector<HealthSample> samples_;
};

std::vector<std::int64_t> gpu_counts(const SweepSpec& sweep, std::int64_t available) {
  std::vector<std::int64_t> counts = sweep.gpu_counts;
  if (counts.empty()) {
    for (std::int64_t count = 2; count < available; count *= 2)
      counts.push_back(count);
    if (available > 1) counts.push_back(available);
  }
  return counts;
}

/// One collective of the sweep.
struct Candidate {
  Collective collective = Collective::AllReduce;
  std::int64_t num_gpus = 2;
  std::int64_t bytes = 1;
};

std::vector<Candidate> candidates_of(const SweepSpec& sweep, std::int64_t available) {
  std::vector<Candidate> candidates;
  for (const std::int64_t count : gpu_counts(sweep, available)) {
    for (const Collective collective : kCollectives) {
      for (std::int64_t bytes = sweep.least_bytes; bytes <= sweep.most_bytes; bytes *= 2)
        candidates.push_back({collective, count, bytes});
    }
  }
  return candidates;
}

}  // namespace

std::vector<Operator> missing_operators(const std::vector<Operator>& operators, const KernelTable& table) {
  std::vector<Operator> missing;
  std::copy_if(operators.begin(), operators.end(), std::back_inserter(missing),
               [&](const Operator& op) { return !table.contains(key_of(op)); });
  return missing;
}

RecordingOutcome record_operators(Device& device, const std::vector<Operator>& operators,
                                  const Protocol& protocol, KernelTable& table,
                                  const RecordingContext& context) {
  Keeper keeper(table, context);
  HealthLog health;
  RecordingOutcome outcome;
  const DeviceRates rates = rates_of(device.facts());
  double remaining_s = 0;
  for (const Operator& op : operators)
    remaining_s += estimated_cost_s(op, rates, protocol);
  for (const Operator& op : operators) {
    if (!keeper.may_continue()) break;
    context.on_progress(outcome.measured + outcome.skipped, operators.size(), remaining_s);
    try {
      OperatorMeasurement made = measure(device, op, protocol);
      table.session().dropped_records += made.dropped_records;
      table.add(op, std::move(made.warm), std::move(made.cold));
      ++outcome.measured;
    } catch (const NotMeasurable& reason) {
      table.add(SkippedRow{key_of(op), reason.what()});
      ++outcome.skipped;
    }
    remaining_s -= estimated_cost_s(op, rates, protocol);
    health.add(device.sample_health());
    if (!keeper.is_save_due()) continue;
    health.describe(table.session());
    keeper.save();
  }
  outcome.remaining = operators.size() - outcome.measured - outcome.skipped;
  health.describe(table.session());
  keeper.save();
  return outcome;
}

RecordingOutcome record_collectives(CollectiveRunner& runner, const SweepSpec& sweep, KernelTable& table,
                                    const RecordingContext& context) {
  Keeper keeper(table, context);
  RecordingOutcome outcome;
  const std::int64_t available = runner.num_gpus();
  if (available < 2) {
    table.add(SkippedRow{"collectives", "one GPU: collectives need at least two"});
    ++outcome.skipped;
  }
  const std::vector<Candidate> candidates = candidates_of(sweep, available);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const auto& [collective, num_gpus, bytes] = candidates[i];
    if (!runner.agree(keeper.may_continue())) {
      outcome.remaining = candidates.size() - i;
      break;
    }
    CollectiveRow row;
    row.collective = collective;
    row.num_gpus = num_gpus;
    row.bytes = bytes;
    row.num_nodes = runner.num_nodes(std::min(num_gpus, available));
    row.key = collective_key(collective, num_gpus, row.num_nodes, bytes);
    if (runner.agree(table.contains(row.key))) continue;
    context.on_progress(i, candidates.size(), 0);
    try {
      if (num_gpus > available) throw NotMeasurable("only " + std::to_string(available) + " GPUs");
      const std::vector<double> times = runner.measure(collective, num_gpus, bytes);
      row.repetitions = times.size();
      row.time_ns = spread_of(times);
      table.add(std::move(row));
      ++outcome.measured;
    } catch (const NotMeasurable& reason) {
      table.add(SkippedRow{row.key, reason.what()});
      ++outcome.skipped;
    }
    if (runner.is_leader() && keeper.is_save_due()) keeper.save();
  }
  if (runner.is_leader()) keeper.save();
  return outcome;
}

}  // namespace vtrain::profiler
