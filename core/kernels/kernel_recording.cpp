#include "core/kernels/kernel_recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "core/base/utf8.hpp"
#include "core/io/json_reader.hpp"

namespace vtrain {
namespace {

using nlohmann::json;

constexpr std::string_view kRecordingSchema = "vtrain-kernel-table";
constexpr std::int64_t kRecordingVersion = 1;
constexpr std::int64_t kLongestNs = std::int64_t{1} << 50;  // 13 days
constexpr std::int64_t kLargestSize = std::int64_t{1} << 50;
constexpr double kLargestRate = 1e18;
constexpr std::int64_t kMaxRepetitions = 1'000'000'000;

/// The list under a key of the document; an error if it is anything else.
Result<const json*> list_at(const JsonDocument& document, std::string_view key) {
  const auto found = document.root().find(key);
  if (found == document.root().end() || !found->is_array())
    return fail(document.error_at(document.root(), key, "expected a list"));
  return &*found;
}

RecordedDevice read_device(JsonFields& fields) {
  RecordedDevice device;
  device.name = fields.string("name");
  device.compute_capability = fields.string("compute_capability");
  device.num_multiprocessors = fields.integer("multiprocessors", 1, 1 << 20);
  device.clock_hz = fields.number("clock_hz", 1, kLargestRate);
  device.memory = Bytes(fields.number("memory_bytes", 1, kLargestRate));
  device.memory_bandwidth = BytesPerSecond(fields.number("memory_bytes_per_second", 1, kLargestRate));
  device.l2 = Bytes(fields.number("l2_bytes", 0, kLargestRate));
  return device;
}

/// Versions as text; null where a library was absent.
std::vector<std::pair<std::string, std::string>> read_software(const json& object) {
  std::vector<std::pair<std::string, std::string>> software;
  for (const auto& [name, version] : object.items()) {
    if (version.is_null()) continue;
    software.emplace_back(printable(name),
                          printable(version.is_string() ? version.get<std::string>() : version.dump()));
  }
  return software;
}

std::optional<double> median_of(const json& session, std::string_view key) {
  const auto spread = session.find(key);
  if (spread == session.end() || !spread->is_object()) return std::nullopt;
  const auto median = spread->find("median");
  return median != spread->end() && median->is_number() ? std::optional(median->get<double>()) : std::nullopt;
}

Result<RecordingSession> read_session(const JsonDocument& document, const json& row) {
  JsonFields fields(document, row);
  RecordingSession session;
  session.started = fields.string("started");
  session.ended = fields.string("ended");
  if (fields.error()) return fail(*fields.error());
  session.sm_clock_hz = median_of(row, "sm_clock_hz");
  session.temperature_c = median_of(row, "temperature_c");
  session.power_w = median_of(row, "power_w");
  if (fields.has("throttled")) session.throttled = fields.number("throttled", 0, 1);
  if (fields.error()) return fail(*fields.error());
  return session;
}

Result<RecordedKernel> read_kernel(const JsonDocument& document, const json& row, std::size_t num_names) {
  JsonFields fields(document, row);
  RecordedKernel kernel;
  const std::int64_t last_name = static_cast<std::int64_t>(num_names) - 1;
  kernel.name = static_cast<std::size_t>(fields.integer("name", 0, std::max<std::int64_t>(last_name, 0)));
  kernel.duration_ns = fields.integer("duration_ns", 0, kLongestNs);
  if (fields.has("gap_ns")) kernel.gap_ns = fields.integer("gap_ns", -kLongestNs, kLongestNs);
  if (num_names == 0) fields.complain("name", "expected a position in kernel_names, which is empty");
  if (fields.error()) return fail(*fields.error());
  return kernel;
}

/// Reads `warm` or `cold` of an operator's row.
Result<RecordedTiming> read_timing(const JsonDocument& document, const json& object, std::string_view state,
                                   std::size_t num_names) {
  const auto found = object.find(state);
  if (found == object.end()) return fail(document.error_at(object, state, "missing"));
  JsonFields fields(document, *found);
  RecordedTiming timing;
  timing.repetitions = fields.integer("repetitions", 1, kMaxRepetitions);
  timing.time = Nanoseconds(static_cast<double>(fields.integer("time_ns", 1, kLongestNs)));
  timing.low = Nanoseconds(static_cast<double>(fields.integer("low_ns", 1, kLongestNs)));
  timing.high = Nanoseconds(static_cast<double>(fields.integer("high_ns", 1, kLongestNs)));
  if (!fields.error() && !(timing.low <= timing.time && timing.time <= timing.high))
    fields.complain("time_ns", "expected a median between low_ns and high_ns");
  if (fields.error()) return fail(*fields.error());
  const auto kernels = found->find("kernels");
  if (kernels == found->end() || !kernels->is_array() || kernels->empty())
    return fail(document.error_at(*found, "kernels", "expected a list with a kernel at least"));
  for (const json& kernel_row : *kernels) {
    auto kernel = read_kernel(document, kernel_row, num_names);
    if (!kernel) return fail(kernel.error());
    timing.kernels.push_back(*kernel);
  }
  return timing;
}

/// Sizes that every operator of a kind has. Profiles are fitted by them.
std::span<const std::string_view> sizes_needed(std::string_view operation) {
  static constexpr auto kProduct = std::to_array<std::string_view>({"m", "n", "k"});
  static constexpr auto kAttention =
      std::to_array<std::string_view>({"batch", "heads", "sequence", "head_size"});
  if (operation == "gemm") return kProduct;
  if (operation == "attention") return kAttention;
  return {};
}

Result<RecordedOperator> read_operator(const JsonDocument& document, const json& object,
                                       const KernelRecording& recording) {
  JsonFields fields(document, object);
  RecordedOperator op;
  op.key = fields.string("key");
  op.operation = fields.string("operator");
  op.pass = fields.string("pass");
  op.variant = fields.string_or("variant", "");
  const std::string precision = fields.string("precision");
  op.flops = fields.number("flops", 0, kLargestRate);
  op.traffic = Bytes(fields.number("bytes", 0, kLargestRate));
  const std::int64_t last_session = std::ssize(recording.sessions) - 1;
  op.session =
      static_cast<std::size_t>(fields.integer("session", 0, std::max<std::int64_t>(last_session, 0)));
  if (last_session < 0) fields.complain("session", "expected a position in sessions, which is empty");
  if (fields.error()) return fail(*fields.error());
  const auto format = parse_precision(precision);
  if (!format) return fail(document.error_at(object, "precision", format.error().message));
  op.precision = *format;

  const auto shape = object.find("shape");
  if (shape == object.end() || !shape->is_object() || shape->empty())
    return fail(document.error_at(object, "shape", "expected sizes by name"));
  JsonFields sizes(document, *shape);
  for (const auto& item : shape->items())
    op.shape.emplace(item.key(), sizes.integer(item.key(), 1, kLargestSize));
  for (const std::string_view needed : sizes_needed(op.operation)) {
    if (!op.shape.contains(needed)) sizes.complain(needed, "missing");
  }
  if (sizes.error()) return fail(*sizes.error());

  for (const auto& [state, timing] : {std::pair("warm", &op.warm), std::pair("cold", &op.cold)}) {
    auto read = read_timing(document, object, state, recording.kernel_names.size());
    if (!read) return fail(read.error());
    *timing = *std::move(read);
  }
  return op;
}

Result<RecordedCollective> read_collective(const JsonDocument& document, const json& object) {
  JsonFields fields(document, object);
  RecordedCollective collective;
  collective.key = fields.string("key");
  const std::string name = fields.string("collective");
  collective.num_gpus = fields.integer("num_gpus", 2, kMostCollectiveGpus);
  collective.num_nodes = fields.integer("num_nodes", 1, kMostCollectiveGpus);
  collective.bytes = Bytes(static_cast<double>(fields.integer("bytes", 1, kLargestSize)));
  collective.time = Nanoseconds(static_cast<double>(fields.integer("time_ns", 1, kLongestNs)));
  if (fields.error()) return fail(*fields.error());
  const auto known = std::find_if(kCollectives.begin(), kCollectives.end(),
                                  [&](Collective one) { return name_of(one) == name; });
  if (known != kCollectives.end()) collective.collective = *known;
  if (!collective.collective && name != "send_recv")
    return fail(document.error_at(object, "collective", expected_found("a collective of nccl-tests", name)));
  return collective;
}

/// Reads every row of a list and adds it, unless its key has been seen.
template <class Row, class Read>
Result<void> read_rows(const JsonDocument& document, std::string_view list, std::vector<Row>& rows,
                       Read read) {
  const auto found = list_at(document, list);
  if (!found) return fail(found.error());
  std::set<std::string, std::less<>> keys;
  for (const json& object : **found) {
    auto row = read(object);
    if (!row) return fail(row.error());
    if (!keys.insert(row->key).second)
      return fail(document.error_at(object, "key", expected_found("one row of a key", "two of " + row->key)));
    rows.push_back(*std::move(row));
  }
  return {};
}

Result<void> read_head(const JsonDocument& document, KernelRecording& recording) {
  JsonFields fields(document, document.root());
  const std::string schema = fields.string("schema");
  if (!fields.error() && schema != kRecordingSchema)
    fields.complain("schema", expected_found(kRecordingSchema, schema));
  fields.integer("version", 1, kRecordingVersion);
  recording.made_by = fields.string("made_by");
  for (const std::string_view key : {"device", "software"}) {
    if (!fields.error() && !document.root().value(key, json()).is_object())
      fields.complain(key, "expected a JSON object");
  }
  if (fields.error()) return fail(*fields.error());
  JsonFields device(document, document.root()["device"]);
  recording.device = read_device(device);
  if (device.error()) return fail(*device.error());
  recording.software = read_software(document.root()["software"]);

  const auto sessions = list_at(document, "sessions");
  if (!sessions) return fail(sessions.error());
  for (const json& row : **sessions) {
    auto session = read_session(document, row);
    if (!session) return fail(session.error());
    recording.sessions.push_back(*std::move(session));
  }
  const auto names = list_at(document, "kernel_names");
  if (!names) return fail(names.error());
  for (const json& name : **names) {
    if (!name.is_string()) return fail(document.error_at(name, "", expected_found("a name", name.dump())));
    recording.kernel_names.push_back(name.get<std::string>());
  }
  return {};
}

}  // namespace

std::int64_t RecordedOperator::size(std::string_view name) const {
  const auto found = shape.find(name);
  return found == shape.end() ? 0 : found->second;
}

std::filesystem::path recording_file(const std::filesystem::path& path) {
  std::error_code no_path;
  return std::filesystem::is_directory(path, no_path) ? path / "kernel_table.json" : path;
}

bool is_kernel_recording(std::string_view text) {
  constexpr std::size_t kHead = 400;  // the schema stands first
  return text.substr(0, kHead).find(kRecordingSchema) != std::string_view::npos;
}

Result<KernelRecording> parse_kernel_recording(std::string text, const std::string& file) {
  const auto document = JsonDocument::parse(std::move(text), file);
  if (!document) return fail(document.error());
  KernelRecording recording;
  if (auto head = read_head(*document, recording); !head) return fail(head.error());
  auto operators = read_rows(*document, "operators", recording.operators,
                             [&](const json& object) { return read_operator(*document, object, recording); });
  if (!operators) return fail(operators.error());
  auto collectives = read_rows(*document, "collectives", recording.collectives,
                               [&](const json& object) { return read_collective(*document, object); });
  if (!collectives) return fail(collectives.error());
  const auto skipped = list_at(*document, "skipped");
  if (!skipped) return fail(skipped.error());
  for (const json& object : **skipped) {
    JsonFields fields(*document, object);
    std::string key = fields.string("key");
    std::string reason = fields.string("reason");
    if (fields.error()) return fail(*fields.error());
    recording.skipped.emplace_back(printable(key), printable(reason));
  }
  return recording;
}

}  // namespace vtrain
