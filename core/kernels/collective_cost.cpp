#include "core/kernels/collective_cost.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "core/io/csv.hpp"
#include "core/io/input.hpp"

namespace vtrain {
namespace {

constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;
constexpr std::int64_t kMebibytesPerGibibyte = 1024;
constexpr double kGibi = 1073741824.0;
constexpr double kPerSecond = 1e9;

auto entry_before(std::int64_t mebibytes) {
  return [mebibytes](const AllReduceEntry& entry) { return entry.mebibytes < mebibytes; };
}

}  // namespace

Result<AllReduceTable> AllReduceTable::parse(std::string_view text, const std::string& file) {
  constexpr std::int64_t kMaxSize = std::int64_t{1} << 50;
  constexpr std::int64_t kMaxTime = std::int64_t{1} << 50;
  // Read by position: nccl-tests names the columns of both kinds of runs alike.
  auto reader = CsvReader::open_any_header(text, file);
  if (!reader) return fail(std::move(reader.error()));
  const int columns = static_cast<int>(reader->columns().size());
  if (columns < 3) {
    return fail(
        {.file = file,
         .line = 1,
         .message = fmt::format("expected at least 3 columns (size, ..., time, busbw), found {}", columns)});
  }
  std::vector<AllReduceEntry> entries;
  bool has_gibibyte = false;
  for (;;) {
    const auto row = reader->next();
    if (!row) return fail(row.error());
    if (!*row) break;
    const auto size = reader->integer(0, 1, kMaxSize);
    if (!size) return fail(size.error());
    const auto time = reader->integer(columns - 2, 1, kMaxTime);
    if (!time) return fail(time.error());
    const auto bandwidth = reader->number(columns - 1, 1e-6, 1e9);
    if (!bandwidth) return fail(bandwidth.error());
    const std::int64_t mebibytes = *size / kMebibyte;
    if (!entries.empty() && mebibytes <= entries.back().mebibytes) {
      return fail(reader->error_at(
          0, expected_found("a size at least 1 MiB above that of the row before", reader->field(0))));
    }
    has_gibibyte = has_gibibyte || mebibytes == kMebibytesPerGibibyte;
    entries.push_back({mebibytes, Nanoseconds(static_cast<double>(*time)), *bandwidth});
  }
  if (!has_gibibyte) {
    return fail(
        {.file = file,
         .line = reader->line(),
         .message = fmt::format("expected a row of 1024 MiB (1073741824 bytes), found {} rows without it",
                                entries.size())});
  }
  return from_entries(std::move(entries));
}

AllReduceTable AllReduceTable::from_entries(std::vector<AllReduceEntry> entries) {
  AllReduceTable table;
  table.entries_ = std::move(entries);
  const auto not_above = [](const AllReduceEntry& a, const AllReduceEntry& b) {
    return a.mebibytes >= b.mebibytes;
  };
  const AllReduceEntry* const gibibyte = table.find(kMebibytesPerGibibyte);
  if (gibibyte == nullptr ||
      std::adjacent_find(table.entries_.begin(), table.entries_.end(), not_above) != table.entries_.end()) {
    throw std::logic_error("all-reduce table: sizes must rise and include 1024 MiB");
  }
  table.gibibyte_ = static_cast<std::size_t>(gibibyte - table.entries_.data());
  return table;
}

Result<AllReduceTable> AllReduceTable::read(const std::filesystem::path& path) {
  auto text = read_file(path, InputKind::Collectives);
  if (!text) return fail(std::move(text.error()));
  return parse(*text, path.string());
}

const AllReduceEntry* AllReduceTable::find(std::int64_t mebibytes) const {
  const auto found = std::partition_point(entries_.begin(), entries_.end(), entry_before(mebibytes));
  return found != entries_.end() && found->mebibytes == mebibytes ? &*found : nullptr;
}

std::filesystem::path all_reduce_table_path(const std::filesystem::path& folder, std::int64_t num_gpus) {
  return folder / fmt::format("AR_GPU{}_1M_1024M_LUT", num_gpus);
}

namespace vtrain_release {

Nanoseconds send_time(Bytes activations, double inter_node_gbits) {
  const double node_bytes_per_second = inter_node_gbits * kGibi / 8;
  return Nanoseconds((2 * activations.value) / (node_bytes_per_second / 4) * kPerSecond);
}

Nanoseconds ring_time(Bytes size, std::int64_t num_gpus, double intra_node_gbytes) {
  const double gpus = static_cast<double>(num_gpus);
  return Nanoseconds(size.value / (intra_node_gbytes * kGibi) * (2 * (gpus - 1) / gpus) * kPerSecond);
}

Nanoseconds inter_node_ring_time(Bytes size, std::int64_t num_gpus, double inter_node_gbits) {
  const double gpus = static_cast<double>(num_gpus);
  return Nanoseconds(size.value / (inter_node_gbits * kGibi / 8) * (2 * (gpus - 1) / gpus) * kPerSecond);
}

TableTime table_time(const AllReduceTable& table, Bytes size) {
  // nearbyint rounds half to even in the default rounding mode.
  const double mebibytes = std::nearbyint(size.value / 1024 / 1024);
  if (mebibytes < 1e15) {
    if (const AllReduceEntry* entry = table.find(static_cast<std::int64_t>(mebibytes)))
      return {entry->time, true};
  }
  return {Nanoseconds(mebibytes / (table.gibibyte().bus_bandwidth * 1024) * kPerSecond), false};
}

}  // namespace vtrain_release
}  // namespace vtrain
