// The text of a kernel table, in both directions.
#include <charconv>
#include <cmath>
#include <map>
#include <stdexcept>
#include <utility>

#include "profiler/error.hpp"
#include "profiler/json_value.hpp"
#include "profiler/kernel_table.hpp"

namespace vtrain::profiler {
namespace {

constexpr std::string_view kSchema = "vtrain-kernel-table";
constexpr std::int64_t kVersion = 1;

std::string whole(double value) {
  return std::to_string(std::llround(value));
}

/// The shortest text that gives the same number.
std::string shortest(double value) {
  char digits[32];
  const auto [end, status] = std::to_chars(std::begin(digits), std::end(digits), value);
  return status == std::errc() ? std::string(std::begin(digits), end) : "0";
}

/// An object on one line.
class ObjectText {
 public:
  ObjectText& raw(std::string_view name, std::string_view value) {
    text_ += text_.empty() ? "{" : ", ";
    text_.append(json_quoted(name)).append(": ").append(value);
    return *this;
  }
  ObjectText& text(std::string_view name, std::string_view value) { return raw(name, json_quoted(value)); }
  ObjectText& integer(std::string_view name, std::int64_t value) { return raw(name, std::to_string(value)); }
  ObjectText& optional(std::string_view name, const std::optional<std::int64_t>& value) {
    return raw(name, value ? std::to_string(*value) : "null");
  }
  ObjectText& optional(std::string_view name, const std::optional<Spread>& value) {
    return raw(name, value ? ObjectText()
                                 .raw("low", whole(value->low))
                                 .raw("median", whole(value->median))
                                 .raw("high", whole(value->high))
                                 .done()
                           : "null");
  }
  std::string done() const { return text_ + "}"; }
  /// The members without the braces.
  std::string members() const { return text_.substr(1); }

 private:
  std::string text_;
};

/// Names of kernels by their position in the table.
class KernelNames {
 public:
  std::size_t position_of(const std::string& name) {
    const auto [entry, is_new] = positions_.try_emplace(name, names_.size());
    if (is_new) names_.push_back(name);
    return entry->second;
  }
  std::vector<std::string> quoted_names() const {
    std::vector<std::string> lines;
    for (const std::string& name : names_)
      lines.push_back(json_quoted(name));
    return lines;
  }

 private:
  std::map<std::string, std::size_t> positions_;
  std::vector<std::string> names_;
};

std::string describe(const Operator& op) {
  ObjectText row;
  row.text("operator", name_of(op.kind)).text("pass", name_of(op.pass)).text("precision", name_of(op.format));
  if (op.variant != Variant::None) row.text("variant", variant_name(op));
  ObjectText shape;
  for (const Size& size : op.sizes)
    shape.integer(size.name, size.value);
  row.raw("shape", shape.done()).raw("flops", whole(flops_of(op))).raw("bytes", whole(traffic_of(op)));
  return row.members();
}

/// Description of a row that was read (`operator` to `bytes`), even for unknown operators.
std::string describe(const JsonValue& row) {
  ObjectText text;
  for (const std::string_view name : {"operator", "pass", "precision"})
    text.text(name, row.at(name).text());
  if (const JsonValue* variant = row.find("variant")) text.text("variant", variant->text());
  ObjectText shape;
  for (const JsonMember& size : row.at("shape").members())
    shape.integer(size.name, size.value.integer(1));
  text.raw("shape", shape.done());
  for (const std::string_view name : {"flops", "bytes"})
    text.integer(name, row.at(name).integer(0));
  return text.members();
}

std::string measurement_text(const Measurement& measurement, KernelNames& names) {
  std::string kernels;
  for (const MeasuredKernel& kernel : measurement.kernels) {
    if (!kernels.empty()) kernels += ", ";
    kernels += ObjectText()
                   .integer("name", static_cast<std::int64_t>(names.position_of(kernel.name)))
                   .integer("duration_ns", kernel.duration_ns)
                   .optional("gap_ns", kernel.gap_ns)
                   .done();
  }
  return ObjectText()
      .integer("repetitions", static_cast<std::int64_t>(measurement.repetitions))
      .integer("time_ns", measurement.time_ns)
      .integer("low_ns", measurement.low_ns)
      .integer("high_ns", measurement.high_ns)
      .raw("kernels", "[" + kernels + "]")
      .done();
}

Measurement parse_measurement(const JsonValue& value, const std::vector<std::string>& names) {
  Measurement measurement;
  measurement.repetitions = static_cast<std::size_t>(value.at("repetitions").integer(1));
  measurement.time_ns = value.at("time_ns").integer(0);
  measurement.low_ns = value.at("low_ns").integer(0);
  measurement.high_ns = value.at("high_ns").integer(0);
  for (const JsonValue& kernel : value.at("kernels").array()) {
    const auto position = static_cast<std::size_t>(kernel.at("name").integer(0));
    if (position >= names.size()) {
      throw expected_found(kernel.at("name").place(), "a position in kernel_names", std::to_string(position));
    }
    MeasuredKernel made{
        .name = names[position], .duration_ns = kernel.at("duration_ns").integer(0), .gap_ns = {}};
    if (!kernel.at("gap_ns").is_null()) made.gap_ns = kernel.at("gap_ns").integer();
    measurement.kernels.push_back(std::move(made));
  }
  return measurement;
}

std::string device_text(const DeviceFacts& device) {
  return ObjectText()
      .text("name", device.name)
      .text("compute_capability", device.compute_capability)
      .integer("multiprocessors", device.multiprocessors)
      .integer("clock_hz", device.clock_hz)
      .integer("memory_bytes", device.memory_bytes)
      .integer("memory_bytes_per_second", device.memory_bytes_per_second)
      .integer("l2_bytes", device.l2_bytes)
      .done();
}

DeviceFacts parse_device(const JsonValue& value) {
  return {value.at("name").text(),
          value.at("compute_capability").text(),
          value.at("multiprocessors").integer(0),
          value.at("clock_hz").integer(0),
          value.at("memory_bytes").integer(0),
          value.at("memory_bytes_per_second").integer(0),
          value.at("l2_bytes").integer(0)};
}

std::string software_text(const SoftwareFacts& software) {
  return ObjectText()
      .raw("driver", software.driver ? json_quoted(*software.driver) : "null")
      .integer("cuda_driver", software.cuda_driver)
      .integer("cuda_runtime", software.cuda_runtime)
      .integer("cublaslt", software.cublaslt)
      .optional("cudnn", software.cudnn)
      .optional("nccl", software.nccl)
      .integer("cupti", software.cupti)
      .done();
}

std::optional<std::int64_t> optional_integer(const JsonValue& value) {
  return value.is_null() ? std::nullopt : std::optional(value.integer(0));
}

SoftwareFacts parse_software(const JsonValue& value) {
  SoftwareFacts software;
  if (!value.at("driver").is_null()) software.driver = value.at("driver").text();
  software.cuda_driver = value.at("cuda_driver").integer(0);
  software.cuda_runtime = value.at("cuda_runtime").integer(0);
  software.cublaslt = value.at("cublaslt").integer(0);
  software.cudnn = optional_integer(value.at("cudnn"));
  software.nccl = optional_integer(value.at("nccl"));
  software.cupti = value.at("cupti").integer(0);
  return software;
}

std::string session_text(const Session& session) {
  return ObjectText()
      .text("started", session.started)
      .text("ended", session.ended)
      .optional("sm_clock_hz", session.sm_clock_hz)
      .optional("memory_clock_hz", session.memory_clock_hz)
      .optional("temperature_c", session.temperature_c)
      .optional("power_w", session.power_w)
      .raw("throttled", session.throttled ? shortest(*session.throttled) : "null")
      .integer("dropped_records", static_cast<std::int64_t>(session.dropped_records))
      .done();
}

std::optional<Spread> parse_spread(const JsonValue& value) {
  if (value.is_null()) return std::nullopt;
  return Spread{value.at("low").number(), value.at("median").number(), value.at("high").number()};
}

Session parse_session(const JsonValue& value) {
  Session session;
  session.started = value.at("started").text();
  session.ended = value.at("ended").text();
  session.sm_clock_hz = parse_spread(value.at("sm_clock_hz"));
  session.memory_clock_hz = parse_spread(value.at("memory_clock_hz"));
  session.temperature_c = parse_spread(value.at("temperature_c"));
  session.power_w = parse_spread(value.at("power_w"));
  if (!value.at("throttled").is_null()) session.throttled = value.at("throttled").number();
  session.dropped_records = static_cast<std::uint64_t>(value.at("dropped_records").integer(0));
  return session;
}

std::string collective_text(const CollectiveRow& row) {
  const auto bytes = static_cast<double>(row.bytes);
  return ObjectText()
      .text("key", row.key)
      .text("collective", name_of(row.collective))
      .integer("num_gpus", row.num_gpus)
      .integer("num_nodes", row.num_nodes)
      .integer("bytes", row.bytes)
      .integer("session", static_cast<std::int64_t>(row.session))
      .integer("repetitions", static_cast<std::int64_t>(row.repetitions))
      .raw("time_ns", whole(row.time_ns.median))
      .raw("low_ns", whole(row.time_ns.low))
      .raw("high_ns", whole(row.time_ns.high))
      .raw("algorithm_bandwidth", whole(algorithm_bandwidth(bytes, std::round(row.time_ns.median))))
      .raw("bus_bandwidth",
           whole(bus_bandwidth(row.collective, row.num_gpus, bytes, std::round(row.time_ns.median))))
      .done();
}

Collective parse_collective(const JsonValue& value) {
  for (const Collective collective : kCollectives) {
    if (value.text() == name_of(collective)) return collective;
  }
  throw expected_found(value.place(), "a collective", value.text());
}

CollectiveRow parse_collective_row(const JsonValue& value, std::size_t num_sessions) {
  CollectiveRow row;
  row.key = value.at("key").text();
  row.collective = parse_collective(value.at("collective"));
  row.num_gpus = value.at("num_gpus").integer(2);
  row.num_nodes = value.at("num_nodes").integer(1);
  row.bytes = value.at("bytes").integer(1);
  row.session = static_cast<std::size_t>(value.at("session").integer(0));
  row.repetitions = static_cast<std::size_t>(value.at("repetitions").integer(1));
  row.time_ns = {static_cast<double>(value.at("low_ns").integer(1)),
                 static_cast<double>(value.at("time_ns").integer(1)),
                 static_cast<double>(value.at("high_ns").integer(1))};
  if (row.session >= num_sessions) {
    throw expected_found(value.at("session").place(), "a position in sessions", std::to_string(row.session));
  }
  return row;
}

/// A list with one element per line.
std::string list_text(std::string_view name, const std::vector<std::string>& lines) {
  std::string text = json_quoted(name) + ": [";
  for (std::size_t i = 0; i < lines.size(); ++i)
    text += (i == 0 ? "\n" : ",\n") + lines[i];
  return text + "]";
}

}  // namespace

KernelTable KernelTable::parse(std::string_view text) {
  const JsonValue document = parse_json(text);
  if (const std::string& schema = document.at("schema").text(); schema != kSchema) {
    throw expected_found("schema", kSchema, schema);
  }
  if (const std::int64_t version = document.at("version").integer(); version != kVersion) {
    throw expected_found("version", std::to_string(kVersion), std::to_string(version));
  }
  KernelTable table(document.at("made_by").text(), parse_device(document.at("device")),
                    parse_software(document.at("software")));
  table.parse_rows(document);
  return table;
}

void KernelTable::parse_rows(const JsonValue& document) {
  for (const JsonValue& value : document.at("sessions").array())
    sessions_.push_back(parse_session(value));
  std::vector<std::string> names;
  for (const JsonValue& value : document.at("kernel_names").array())
    names.push_back(value.text());
  const auto claim_new = [this](const std::string& key, const JsonValue& value, std::size_t position) {
    if (contains(key)) throw expected_found(value.place() + ".key", "a key that is new", key);
    claim(key, position);
  };
  for (const JsonValue& value : document.at("operators").array()) {
    OperatorRow row{.key = value.at("key").text(),
                    .description = describe(value),
                    .session = static_cast<std::size_t>(value.at("session").integer(0)),
                    .warm = parse_measurement(value.at("warm"), names),
                    .cold = parse_measurement(value.at("cold"), names)};
    if (row.session >= sessions_.size()) {
      throw expected_found(value.at("session").place(), "a position in sessions",
                           std::to_string(row.session));
    }
    claim_new(row.key, value, operators_.size());
    operators_.push_back(std::move(row));
  }
  for (const JsonValue& value : document.at("collectives").array()) {
    CollectiveRow row = parse_collective_row(value, sessions_.size());
    claim_new(row.key, value, collectives_.size());
    collectives_.push_back(std::move(row));
  }
  for (const JsonValue& value : document.at("skipped").array())
    skipped_.push_back({value.at("key").text(), value.at("reason").text()});
}

std::string KernelTable::to_json() const {
  KernelNames names;
  std::vector<std::string> operators;
  for (const OperatorRow& row : operators_) {
    std::string line = "{\"key\": " + json_quoted(row.key) + ", " + row.description +
                       ", \"session\": " + std::to_string(row.session);
    line += ", \"warm\": " + measurement_text(row.warm, names);
    operators.push_back(line + ", \"cold\": " + measurement_text(row.cold, names) + "}");
  }
  std::vector<std::string> sessions;
  for (const Session& session : sessions_)
    sessions.push_back(session_text(session));
  std::vector<std::string> collectives;
  for (const CollectiveRow& row : collectives_)
    collectives.push_back(collective_text(row));
  std::vector<std::string> skipped;
  for (const SkippedRow& row : skipped_)
    skipped.push_back(ObjectText().text("key", row.key).text("reason", row.reason).done());
  std::string text = "{\n\"schema\": " + json_quoted(kSchema) + ",\n\"version\": " + std::to_string(kVersion);
  text += ",\n\"made_by\": " + json_quoted(made_by_);
  text += ",\n\"device\": " + device_text(device_);
  text += ",\n\"software\": " + software_text(software_);
  text += ",\n" + list_text("sessions", sessions);
  text += ",\n" + list_text("kernel_names", names.quoted_names());
  text += ",\n" + list_text("operators", operators);
  text += ",\n" + list_text("collectives", collectives);
  return text + ",\n" + list_text("skipped", skipped) + "\n}\n";
}

void KernelTable::add(const Operator& op, Measurement warm, Measurement cold) {
  if (sessions_.empty()) throw std::logic_error("the kernel table has no session");
  OperatorRow row{.key = key_of(op),
                  .description = describe(op),
                  .session = sessions_.size() - 1,
                  .warm = std::move(warm),
                  .cold = std::move(cold)};
  claim(row.key, operators_.size());
  operators_.push_back(std::move(row));
}

}  // namespace vtrain::profiler
