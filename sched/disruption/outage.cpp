#include "sched/disruption/outage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "core/base/names.hpp"
#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/io/csv.hpp"
#include "core/io/json_line.hpp"
#include "core/io/line_reader.hpp"

namespace vtrain {
namespace {

/// Largest number of outages, more than a replay could handle. Bounds the growth by ranges of nodes.
constexpr std::int64_t kMaxOutages = 1'000'000;

constexpr std::array<std::string_view, 4> kColumns = {"node", "kind", "begin_s", "end_s"};

/// Texts of one row or line; empty: absent.
struct OutageTexts {
  std::string_view node{};
  std::string_view kind{};
  std::string_view begin{};
  std::string_view end{};
};

/// Reads seconds from the trace's origin.
Result<SimTime> parse_instant(std::string_view text) {
  const auto nanoseconds = parse_seconds_as_ns(text);
  if (!nanoseconds) return fail(nanoseconds.error());
  if (*nanoseconds < 0) return fail({.message = expected_found("seconds of at least 0", text)});
  return SimTime(SimDuration(*nanoseconds));
}

Error in_field(std::string_view field, Error error) {
  error.field = field;
  return error;
}

/// Makes outages from texts. Errors have field and message.
class OutageList {
 public:
  explicit OutageList(std::int32_t num_nodes) : num_nodes_(num_nodes) {}

  Result<void> add(const OutageTexts& texts) {
    Outage outage;
    const std::string_view kind = trim(texts.kind);
    if (!kind.empty() && kind != "failure" && kind != "drain")
      return fail({.field = "kind", .message = expected_found("failure or drain", kind)});
    if (kind == "drain") outage.kind = OutageKind::Drain;
    const auto begin = parse_instant(texts.begin);
    if (!begin) return fail(in_field("begin_s", begin.error()));
    outage.begin = *begin;
    if (!trim(texts.end).empty()) {
      const auto end = parse_instant(texts.end);
      if (!end) return fail(in_field("end_s", end.error()));
      outage.end = *end;
      if (outage.end <= outage.begin)
        return fail({.field = "end_s", .message = expected_found("seconds after begin_s", texts.end)});
    }
    const auto nodes = parse_integer_range(texts.node, 0, num_nodes_ - 1);
    if (!nodes) {
      const std::string expected =
          fmt::format("a node from 0 to {} of this cluster, or a range such as 0-3", num_nodes_ - 1);
      return fail({.field = "node", .message = expected_found(expected, trim(texts.node))});
    }
    if (nodes->last - nodes->first >= kMaxOutages - std::ssize(outages_)) {
      return fail(
          {.field = "node",
           .message = fmt::format("expected at most {} outages in all", with_thousands(kMaxOutages))});
    }
    for (std::int64_t node = nodes->first; node <= nodes->last; ++node) {
      outage.node = NodeId(static_cast<std::uint32_t>(node));
      outages_.push_back(outage);
    }
    return {};
  }

  std::vector<Outage> take() { return std::move(outages_); }

 private:
  std::int32_t num_nodes_;
  std::vector<Outage> outages_;
};

Error at_line(const std::string& file, std::int64_t line, Error error) {
  error.file = file;
  error.line = line;
  return error;
}

Result<std::vector<Outage>> read_csv(CsvReader& rows, const std::string& file, OutageList outages) {
  for (const std::string& name : rows.columns()) {
    if (std::find(kColumns.begin(), kColumns.end(), name) != kColumns.end()) continue;
    return fail(rows.error_at(rows.find_column(name),
                              expected_found(fmt::format("the columns {}", list_names(kColumns)), name)));
  }
  const auto node = rows.require_column("node");
  if (!node) return fail(node.error());
  const auto begin = rows.require_column("begin_s");
  if (!begin) return fail(begin.error());
  const auto end = rows.require_column("end_s");
  if (!end) return fail(end.error());
  const int kind = rows.find_column("kind");
  while (true) {
    const auto more = rows.next();
    if (!more) return fail(more.error());
    if (!*more) return outages.take();
    const OutageTexts texts = {.node = rows.field(*node),
                               .kind = kind >= 0 ? rows.field(kind) : std::string_view(),
                               .begin = rows.field(*begin),
                               .end = rows.field(*end)};
    if (auto added = outages.add(texts); !added) return fail(at_line(file, rows.line(), added.error()));
  }
}

/// Sorts the values of a line by their keys. Errors have field and message.
Result<OutageTexts> sort_values(const std::vector<JsonLineValue>& values) {
  OutageTexts texts;
  const std::array<std::string_view*, kColumns.size()> targets = {&texts.node, &texts.kind, &texts.begin,
                                                                  &texts.end};
  std::array<bool, kColumns.size()> seen{};
  for (const JsonLineValue& value : values) {
    const auto key = std::find(kColumns.begin(), kColumns.end(), value.key);
    if (key == kColumns.end()) {
      return fail({.field = value.key,
                   .message = expected_found(fmt::format("the keys {}", list_names(kColumns)), value.key)});
    }
    const auto index = static_cast<std::size_t>(key - kColumns.begin());
    if (std::exchange(seen[index], true))
      return fail({.field = value.key, .message = "the key stands twice in this line"});
    *targets[index] = value.text;
  }
  if (!seen[0]) return fail({.field = "node", .message = "missing"});
  if (!seen[2]) return fail({.field = "begin_s", .message = "missing"});
  return texts;
}

Result<std::vector<Outage>> read_json_lines(LineReader lines, OutageList outages) {
  while (true) {
    const auto more = lines.next();
    if (!more) return fail(more.error());
    if (!*more) return outages.take();
    const auto values = parse_json_line(lines.line());
    if (!values) return fail(at_line(lines.file(), lines.number(), values.error()));
    const auto texts = sort_values(*values);
    if (!texts) return fail(at_line(lines.file(), lines.number(), texts.error()));
    if (auto added = outages.add(*texts); !added)
      return fail(at_line(lines.file(), lines.number(), added.error()));
  }
}

}  // namespace

Result<std::vector<Outage>> parse_outages(std::string_view text, const std::string& file,
                                          std::int32_t num_nodes) {
  OutageList outages(num_nodes);
  if (begins_with_object(text)) return read_json_lines(LineReader(text, file), std::move(outages));
  auto rows = CsvReader::open(text, file);
  if (!rows) return fail(std::move(rows.error()));
  return read_csv(*rows, file, std::move(outages));
}

std::string outages_to_csv(std::span<const Outage> outages) {
  std::string text = "node,kind,begin_s,end_s\n";
  for (const Outage& outage : outages) {
    text += fmt::format("{},{},", outage.node.value, outage.kind == OutageKind::Drain ? "drain" : "failure");
    append_ns_as_seconds(text, outage.begin.time_since_epoch().count());
    text += ',';
    if (outage.end != Outage::kNeverEnds) append_ns_as_seconds(text, outage.end.time_since_epoch().count());
    text += '\n';
  }
  return text;
}

}  // namespace vtrain
