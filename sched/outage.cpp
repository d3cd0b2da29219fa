#include "sched/outage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/csv.hpp"
#include "core/text.hpp"

namespace vtrain {
namespace {

/// More than a replay could take in; a file of ranges would otherwise grow without bound.
constexpr std::size_t kMaxOutages = 1'000'000;

constexpr std::array<std::string_view, 4> kColumns = {"node", "kind", "begin_s", "end_s"};

/// Nodes `first` .. `last`.
struct NodeRange {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

class OutageReader {
 public:
  OutageReader(CsvReader& rows, std::int32_t num_nodes) : rows_(rows), num_nodes_(num_nodes) {}

  Result<std::vector<Outage>> read() {
    if (auto columns = find_columns(); !columns) return fail(std::move(columns.error()));
    while (true) {
      const auto more = rows_.next();
      if (!more) return fail(more.error());
      if (!*more) return std::move(outages_);
      if (auto row = read_row(); !row) return fail(std::move(row.error()));
    }
  }

 private:
  Result<void> find_columns() {
    for (const std::string& name : rows_.columns()) {
      if (std::find(kColumns.begin(), kColumns.end(), name) != kColumns.end()) continue;
      return fail(rows_.error_at(rows_.find_column(name),
                                 expected_found(fmt::format("the columns {}", list_names(kColumns)), name)));
    }
    const auto node = rows_.require_column("node");
    if (!node) return fail(node.error());
    const auto begin = rows_.require_column("begin_s");
    if (!begin) return fail(begin.error());
    const auto end = rows_.require_column("end_s");
    if (!end) return fail(end.error());
    node_ = *node;
    begin_ = *begin;
    end_ = *end;
    kind_ = rows_.find_column("kind");
    return {};
  }

  Result<void> read_row() {
    Outage outage;
    if (kind_ >= 0 && !trim(rows_.field(kind_)).empty()) {
      const std::string_view kind = trim(rows_.field(kind_));
      if (kind != "failure" && kind != "drain")
        return fail(rows_.error_at(kind_, expected_found("failure or drain", kind)));
      if (kind == "drain") outage.kind = OutageKind::Drain;
    }
    const auto begin = rows_.seconds_as_ns(begin_, 0);
    if (!begin) return fail(begin.error());
    outage.begin = SimTime(SimDuration(*begin));
    if (!trim(rows_.field(end_)).empty()) {
      const auto end = rows_.seconds_as_ns(end_, 0);
      if (!end) return fail(end.error());
      outage.end = SimTime(SimDuration(*end));
      if (outage.end <= outage.begin)
        return fail(rows_.error_at(end_, expected_found("seconds after begin_s", rows_.field(end_))));
    }
    const auto nodes = read_nodes();
    if (!nodes) return fail(nodes.error());
    if (nodes->last - nodes->first >= kMaxOutages - outages_.size())
      return fail(rows_.error_at(
          node_, fmt::format("expected at most {} outages in all", with_thousands(kMaxOutages))));
    for (std::uint32_t node = nodes->first; node <= nodes->last; ++node) {
      outage.node = NodeId(node);
      outages_.push_back(outage);
    }
    return {};
  }

  Result<NodeRange> read_nodes() const {
    const std::string_view text = trim(rows_.field(node_));
    const std::size_t dash = text.find('-');
    const auto first = parse_integer(trim(text.substr(0, dash)), 0, num_nodes_ - 1);
    const auto last = dash == std::string_view::npos
                          ? first
                          : parse_integer(trim(text.substr(dash + 1)), first.value_or(0), num_nodes_ - 1);
    if (first && last)
      return NodeRange{static_cast<std::uint32_t>(*first), static_cast<std::uint32_t>(*last)};
    return fail(rows_.error_at(
        node_, expected_found(
                   fmt::format("a node from 0 to {} of this cluster, or a range such as 0-3", num_nodes_ - 1),
                   text)));
  }

  CsvReader& rows_;
  const std::int32_t num_nodes_;
  std::vector<Outage> outages_;
  int node_ = -1;
  int kind_ = -1;
  int begin_ = -1;
  int end_ = -1;
};

}  // namespace

Result<std::vector<Outage>> parse_outages(std::string_view text, const std::string& file,
                                          std::int32_t num_nodes) {
  auto rows = CsvReader::open(text, file);
  if (!rows) return fail(std::move(rows.error()));
  return OutageReader(*rows, num_nodes).read();
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
