#include "tools/sweep/rank_message.hpp"

#include <cstring>
#include <stdexcept>
#include <type_traits>

namespace vtrain {
namespace {

/// Appends values in the layout of this machine.
class Packer {
 public:
  template <class Value>
  requires std::is_trivially_copyable_v<Value>
  void add(const Value& value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void add(const std::string& text) {
    add(text.size());
    bytes_ += text;
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Reads what a `Packer` wrote.
class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : rest_(bytes) {}
  template <class Value>
  requires std::is_trivially_copyable_v<Value> Value get() {
    Value value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  bool flag() {
    const auto byte = get<std::uint8_t>();
    if (byte > 1) throw std::logic_error("a message between ranks has a wrong flag");
    return byte == 1;
  }
  std::string text() { return std::string(take(get<std::size_t>())); }

 private:
  std::string_view take(std::size_t size) {
    if (size > rest_.size()) throw std::logic_error("a message between ranks is too short");
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  std::string_view rest_;
};

void add_error(Packer& packer, const std::optional<Error>& error) {
  packer.add(error.has_value());
  if (!error) return;
  packer.add(error->kind);
  packer.add(error->line);
  for (const std::string& text : {error->file, error->field, error->message})
    packer.add(text);
}

std::optional<Error> get_error(Unpacker& unpacker) {
  if (!unpacker.flag()) return std::nullopt;
  Error error;
  error.kind = unpacker.get<ErrorKind>();
  error.line = unpacker.get<std::int64_t>();
  error.file = unpacker.text();
  error.field = unpacker.text();
  error.message = unpacker.text();
  return error;
}

void add_run(Packer& packer, const ReplayedRun& run) {
  packer.add(run.finished.run);
  packer.add(run.seconds);
  packer.add(run.finished.error);
  packer.add(run.finished.metrics.size());
  for (const double value : run.finished.metrics)
    packer.add(value);
  add_error(packer, run.error);
  packer.add(run.inputs.size());
  for (const SpecFile& input : run.inputs) {
    for (const std::string& text : {input.name, input.path, input.sha256})
      packer.add(text);
  }
  packer.add(run.warnings.size());
  for (const std::string& warning : run.warnings)
    packer.add(warning);
}

ReplayedRun get_run(Unpacker& unpacker) {
  ReplayedRun run;
  run.finished.run = unpacker.get<std::int64_t>();
  run.seconds = unpacker.get<double>();
  run.finished.error = unpacker.text();
  run.finished.metrics.resize(unpacker.get<std::size_t>());
  for (double& value : run.finished.metrics)
    value = unpacker.get<double>();
  run.error = get_error(unpacker);
  run.inputs.resize(unpacker.get<std::size_t>());
  for (SpecFile& input : run.inputs) {
    input.name = unpacker.text();
    input.path = unpacker.text();
    input.sha256 = unpacker.text();
  }
  run.warnings.resize(unpacker.get<std::size_t>());
  for (std::string& warning : run.warnings)
    warning = unpacker.text();
  return run;
}

}  // namespace

std::string pack_batch(const std::vector<std::int64_t>& runs) {
  Packer packer;
  packer.add(runs.size());
  for (const std::int64_t run : runs)
    packer.add(run);
  return packer.take();
}

std::vector<std::int64_t> unpack_batch(std::string_view bytes) {
  Unpacker unpacker(bytes);
  std::vector<std::int64_t> runs(unpacker.get<std::size_t>());
  for (std::int64_t& run : runs)
    run = unpacker.get<std::int64_t>();
  return runs;
}

std::string pack_report(const WorkerReport& report) {
  Packer packer;
  packer.add(report.wants_more);
  packer.add(report.has_ended);
  packer.add(report.runs.size());
  for (const ReplayedRun& run : report.runs)
    add_run(packer, run);
  add_error(packer, report.refusal);
  return packer.take();
}

WorkerReport unpack_report(std::string_view bytes) {
  Unpacker unpacker(bytes);
  WorkerReport report{.wants_more = unpacker.flag(), .has_ended = unpacker.flag()};
  report.runs.resize(unpacker.get<std::size_t>());
  for (ReplayedRun& run : report.runs)
    run = get_run(unpacker);
  report.refusal = get_error(unpacker);
  return report;
}

}  // namespace vtrain
