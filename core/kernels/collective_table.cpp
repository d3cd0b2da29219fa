#include "core/kernels/collective_table.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace vtrain {

std::string_view name_of(Collective collective) {
  constexpr std::array<std::string_view, kCollectives.size()> kNames = {"all_reduce", "reduce_scatter",
                                                                        "all_gather", "all_to_all"};
  return kNames[static_cast<std::size_t>(collective)];
}

double collective_volume(Collective collective, std::int64_t num_gpus) {
  return collective_steps(collective, num_gpus) / static_cast<double>(num_gpus);
}

double collective_steps(Collective collective, std::int64_t num_gpus) {
  const double rounds = collective == Collective::AllReduce ? 2 : 1;
  return rounds * static_cast<double>(num_gpus - 1);
}

MessageTable::MessageTable(std::vector<Entry> entries) : entries_(std::move(entries)) {
  const auto not_below = [](const Entry& a, const Entry& b) { return a.bytes >= b.bytes; };
  if (entries_.empty() || std::adjacent_find(entries_.begin(), entries_.end(), not_below) != entries_.end())
    throw std::logic_error("message table: sizes must rise");
}

KernelTime MessageTable::at(Bytes size) const {
  const Entry& first = entries_.front();
  const Entry& last = entries_.back();
  const auto beyond = [size](Nanoseconds time, const Entry& nearest) {
    return KernelTime{time, Evidence::Extrapolated, {"bytes", size.value, nearest.bytes}};
  };
  if (size.value < first.bytes) return beyond(Nanoseconds(first.nanoseconds), first);
  if (size.value > last.bytes) return beyond(Nanoseconds(last.nanoseconds * (size.value / last.bytes)), last);
  const auto found = std::partition_point(entries_.begin(), entries_.end(),
                                          [size](const Entry& entry) { return entry.bytes < size.value; });
  if (found->bytes == size.value) return {Nanoseconds(found->nanoseconds), Evidence::Measured};
  const Entry& below = *std::prev(found);
  const double part = (size.value - below.bytes) / (found->bytes - below.bytes);
  return {Nanoseconds(below.nanoseconds + (found->nanoseconds - below.nanoseconds) * part),
          Evidence::Interpolated};
}

MessageTable MessageTable::scaled_to_bandwidth(double factor) const {
  const Entry& first = entries_.front();
  double latency = 0;
  if (entries_.size() > 1) {
    const double slope = (entries_[1].nanoseconds - first.nanoseconds) / (entries_[1].bytes - first.bytes);
    latency = std::clamp(first.nanoseconds - first.bytes * slope, 0.0, first.nanoseconds);
  }
  std::vector<Entry> scaled = entries_;
  for (Entry& entry : scaled)
    entry.nanoseconds += std::max(0.0, entry.nanoseconds - latency) * (1 / factor - 1);
  return MessageTable(std::move(scaled));
}

void CollectiveTables::set(Collective collective, std::int64_t num_gpus, MessageTable table) {
  tables_[static_cast<std::size_t>(collective)].insert_or_assign(num_gpus, std::move(table));
}

std::optional<KernelTime> CollectiveTables::at(Collective collective, std::int64_t num_gpus,
                                               Bytes size) const {
  const auto& tables = of(collective);
  const auto above = tables.upper_bound(num_gpus);
  if (above == tables.begin()) return std::nullopt;
  const auto& [table_gpus, table] = *std::prev(above);
  if (table_gpus == num_gpus) return table.at(size);
  const double scale = collective_volume(collective, num_gpus) / collective_volume(collective, table_gpus);
  KernelTime time = table.at(size * scale);
  if (above != tables.end()) {
    time.evidence = worse(time.evidence, Evidence::Interpolated);
    return time;
  }
  time.evidence = Evidence::Extrapolated;
  time.reach = further(time.reach, {"GPUs", static_cast<double>(num_gpus), static_cast<double>(table_gpus)});
  return time;
}

CollectiveTables CollectiveTables::scaled_to_bandwidth(double factor) const {
  CollectiveTables scaled;
  for (const Collective collective : kCollectives) {
    for (const auto& [num_gpus, table] : of(collective))
      scaled.set(collective, num_gpus, table.scaled_to_bandwidth(factor));
  }
  return scaled;
}

}  // namespace vtrain
