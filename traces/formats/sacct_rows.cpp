#include "traces/formats/sacct_rows.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/base/strings.hpp"
#include "core/text/calendar.hpp"
#include "traces/reading/job_fields.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {
namespace {

struct SacctColumn {
  std::string_view name;
  SacctValue value;
};

/// Columns of sacct(1), section "JOB ACCOUNTING FIELDS", and those of older versions.
constexpr std::array kSacctColumns = std::to_array<SacctColumn>({
    {"JobID", SacctValue::Id},
    {"JobIDRaw", SacctValue::Id},
    {"Submit", SacctValue::Date},
    {"Eligible", SacctValue::Date},
    {"Start", SacctValue::Date},
    {"End", SacctValue::Date},
    {"Elapsed", SacctValue::Clock},
    {"Timelimit", SacctValue::Clock},
    {"CPUTime", SacctValue::Clock},
    {"TotalCPU", SacctValue::Clock},
    {"UserCPU", SacctValue::Clock},
    {"SystemCPU", SacctValue::Clock},
    {"Suspended", SacctValue::Clock},
    {"Planned", SacctValue::Clock},
    {"PlannedCPU", SacctValue::Clock},
    {"Reserved", SacctValue::Clock},
    {"ResvCPU", SacctValue::Clock},
    {"ExitCode", SacctValue::Clock},
    {"DerivedExitCode", SacctValue::Clock},
    {"ElapsedRaw", SacctValue::Number},
    {"TimelimitRaw", SacctValue::Number},
    {"NNodes", SacctValue::Number},
    {"AllocNodes", SacctValue::Number},
    {"NCPUS", SacctValue::Number},
    {"AllocCPUS", SacctValue::Number},
    {"ReqCPUS", SacctValue::Number},
    {"NTasks", SacctValue::Number},
    {"UID", SacctValue::Number},
    {"GID", SacctValue::Number},
    {"Priority", SacctValue::Number},
    {"CPUTimeRAW", SacctValue::Number},
    {"PlannedCPURAW", SacctValue::Number},
    {"ResvCPURAW", SacctValue::Number},
    {"AssocID", SacctValue::Number},
    {"DBIndex", SacctValue::Number},
    {"QOSRAW", SacctValue::Number},
    {"WCKeyID", SacctValue::Number},
    {"ReservationId", SacctValue::Number},
    {"Restarts", SacctValue::Number},
    {"State", SacctValue::State},
    {"AllocTRES", SacctValue::Tres},
    {"ReqTRES", SacctValue::Tres},
    {"AllocGRES", SacctValue::Gres},
    {"ReqGRES", SacctValue::Gres},
    {"User", SacctValue::Word},
    {"Account", SacctValue::Word},
    {"Partition", SacctValue::Word},
    {"Cluster", SacctValue::Word},
    {"Group", SacctValue::Word},
    {"QOS", SacctValue::Word},
    {"QOSREQ", SacctValue::Word},
    {"ReqMem", SacctValue::Word},
    {"BlockID", SacctValue::Word},
    {"SLUID", SacctValue::Word},
    {"Flags", SacctValue::Field},
    {"NodeList", SacctValue::Field},
    {"ReqNodes", SacctValue::Field},
    {"FailedNode", SacctValue::Field},
    {"Layout", SacctValue::Field},
    {"", SacctValue::Nothing},
    {"JobName", SacctValue::FreeText},
    {"Comment", SacctValue::FreeText},
    {"AdminComment", SacctValue::FreeText},
    {"SystemComment", SacctValue::FreeText},
    {"Constraints", SacctValue::FreeText},
    {"Container", SacctValue::FreeText},
    {"Extra", SacctValue::FreeText},
    {"Licenses", SacctValue::FreeText},
    {"McsLabel", SacctValue::FreeText},
    {"Reason", SacctValue::FreeText},
    {"Reservation", SacctValue::FreeText},
    {"StdErr", SacctValue::FreeText},
    {"StdIn", SacctValue::FreeText},
    {"StdOut", SacctValue::FreeText},
    {"SubmitLine", SacctValue::FreeText},
    {"WCKey", SacctValue::FreeText},
    {"WorkDir", SacctValue::FreeText},
});

/// Prefixes of the names of measured columns, whose values are words: `MaxRSS`, `TRESUsageInTot`.
constexpr std::array<std::string_view, 6> kMeasured = {"ave",      "max",       "min",
                                                       "consumed", "tresusage", "reqcpufreq"};

/// The form of a column's values; nothing for an unknown column.
std::optional<SacctValue> find_value(std::string_view name) {
  const auto found =
      std::find_if(kSacctColumns.begin(), kSacctColumns.end(),
                   [name](const SacctColumn& column) { return equal_in_any_case(column.name, name); });
  if (found != kSacctColumns.end()) return found->value;
  const std::string lower = lower_case(name);
  const bool measured = std::any_of(kMeasured.begin(), kMeasured.end(),
                                    [&](std::string_view beginning) { return lower.starts_with(beginning); });
  return measured ? std::optional(SacctValue::Word) : std::nullopt;
}

bool has_only(std::string_view text, bool (*allowed)(unsigned char)) {
  return std::all_of(text.begin(), text.end(),
                     [&](char c) { return allowed(static_cast<unsigned char>(c)); });
}

/// True for a word of letters, such as `Unknown`, `UNLIMITED` and `Partition_Limit`.
bool is_letters(std::string_view text) {
  return has_only(text, [](unsigned char c) { return std::isalpha(c) != 0 || c == '_' || c == '/'; });
}

/// True if a field can be a value of this form.
bool can_be(SacctValue value, std::string_view field) {
  const auto is_clock = [](unsigned char c) {
    return std::isdigit(c) != 0 || c == ':' || c == '-' || c == '.';
  };
  switch (value) {
    case SacctValue::Id:
      return !field.empty() && std::isdigit(static_cast<unsigned char>(field[0])) != 0 &&
             field.find_first_of(" \t\n") == std::string_view::npos;
    case SacctValue::Date:
      return is_letters(field) || has_only(field, [](unsigned char c) { return std::isdigit(c) != 0; }) ||
             parse_civil_time(field).has_value();
    case SacctValue::Clock:
      return is_letters(field) || (has_only(field, is_clock) && field.find(':') != std::string_view::npos);
    case SacctValue::Number:
      return is_letters(field) || has_only(field.substr(0, field.size() - 1),
                                           [](unsigned char c) { return std::isdigit(c) != 0 || c == '.'; });
    case SacctValue::State:
      return slurm_job_status(field) != JobStatus::Unknown;
    case SacctValue::Tres:
      return field.empty() || (field.find('=') != std::string_view::npos &&
                               field.find_first_of(" \t\n") == std::string_view::npos);
    case SacctValue::Gres:
      return is_letters(field) || field == "(null)" || field.find(':') != std::string_view::npos;
    case SacctValue::Word:
      return field.find_first_of(" \t\n") == std::string_view::npos;
    case SacctValue::Nothing:
      return field.empty();
    case SacctValue::Field:
    case SacctValue::FreeText:
      return true;
  }
  return false;
}

}  // namespace

bool are_sacct_columns(std::span<const std::string_view> names) {
  constexpr std::ptrdiff_t kFewest = 3;
  const auto is_known = [](std::string_view name) {
    return std::any_of(kSacctColumns.begin(), kSacctColumns.end(),
                       [name](const SacctColumn& column) { return !name.empty() && column.name == name; });
  };
  const auto is_id = [](std::string_view name) { return name == "JobID" || name == "JobIDRaw"; };
  return std::any_of(names.begin(), names.end(), is_id) &&
         std::count_if(names.begin(), names.end(), is_known) >= kFewest;
}

SacctRows::SacctRows(LineReader lines, std::span<const std::string_view> names, std::vector<bool> used)
    : lines_(std::move(lines)), used_(std::move(used)) {
  for (const std::string_view name : names)
    values_.push_back(find_value(name).value_or(SacctValue::FreeText));
  has_free_text_ = std::find(values_.begin(), values_.end(), SacctValue::FreeText) != values_.end();
  ends_in_free_text_ = !values_.empty() && values_.back() == SacctValue::FreeText;
}

Result<bool> SacctRows::next() {
  for (;;) {
    const bool is_behind_row = std::exchange(is_behind_row_, false);
    auto more = lines_.next();
    if (!more) return more;
    if (!*more) return false;
    line_ = lines_.number();
    fields_ = split(lines_.line(), '|');
    const std::size_t num_fields = fields_.size();
    is_behind_row_ = num_fields == values_.size() || align() || join_lines();
    if (is_behind_row_) return true;
    // Free text at the end of a row may continue in lines without a separator.
    is_behind_row_ = is_behind_row && ends_in_free_text_ && num_fields == 1;
    if (is_behind_row_) continue;
    return fail(
        {.file = lines_.file(),
         .line = line_,
         .message = expected_found(
             fmt::format("a row of {} columns, or free text that their values tell apart", values_.size()),
             lines_.line())});
  }
}

/// Drops the extra fields that separators in free text make. Succeeds if the values fit the used columns in
/// one way only.
bool SacctRows::align() {
  // Column c begins at field c + shift, where the shift grows over columns of free text. A set of shifts is a
  // number in which bit s means shift s.
  constexpr std::size_t kMostShift = 63;
  const std::size_t count = values_.size();
  if (!has_free_text_ || fields_.size() < count || fields_.size() - count > kMostShift) return false;
  const std::size_t most = fields_.size() - count;
  const auto fitting = [&](std::size_t column, std::uint64_t shifts) {
    for (std::uint64_t rest = shifts; rest != 0; rest &= rest - 1) {
      const auto shift = static_cast<std::size_t>(std::countr_zero(rest));
      if (!can_be(values_[column], fields_[column + shift])) shifts &= ~(std::uint64_t{1} << shift);
    }
    return shifts;
  };
  const std::uint64_t all = ~std::uint64_t{0} >> (kMostShift - most);
  // The shifts of each column that the values before it allow, then also the values after it.
  std::vector<std::uint64_t> shifts(count + 1);
  shifts[0] = 1;
  for (std::size_t column = 0; column < count; ++column) {
    const std::uint64_t lowest = shifts[column] & -shifts[column];
    shifts[column + 1] =
        values_[column] == SacctValue::FreeText ? all & -lowest : fitting(column, shifts[column]);
  }
  shifts[count] &= std::uint64_t{1} << most;
  for (std::size_t column = count; column-- > 0;) {
    const std::uint64_t behind = shifts[column + 1];
    if (behind == 0) return false;
    shifts[column] &= values_[column] == SacctValue::FreeText ? ~std::uint64_t{0} >> std::countl_zero(behind)
                                                              : fitting(column, behind);
    if (used_[column] && std::popcount(shifts[column]) > 1) return false;
  }
  if (shifts[0] == 0) return false;
  for (std::size_t column = 0; column < count; ++column)
    fields_[column] = fields_[column + static_cast<std::size_t>(std::countr_zero(shifts[column]))];
  fields_.resize(count);
  return true;
}

/// Adds the next lines to a row with too few fields until it has all.
bool SacctRows::join_lines() {
  constexpr int kMostLines = 100;
  constexpr std::size_t kMostInVain = std::size_t{64} << 20;
  if (!has_free_text_ || fields_.size() >= values_.size() || joined_in_vain_ > kMostInVain) return false;
  const char* const begin = lines_.line().data();
  std::size_t num_fields = fields_.size();
  LineReader ahead = lines_;
  for (int i = 0; i < kMostLines; ++i) {
    const auto more = ahead.next();
    if (!more || !*more) break;
    const std::string_view line = ahead.line();
    const auto added = static_cast<std::size_t>(std::count(line.begin(), line.end(), '|'));
    if (added + 1 >= values_.size()) {
      fields_ = split(line, '|');
      if (align()) break;  // a complete row
    }
    num_fields += added;
    const std::string_view text(begin, static_cast<std::size_t>(line.data() + line.size() - begin));
    if (text.size() > LineReader::kMaxLine) break;
    joined_in_vain_ += line.size();
    if (num_fields < values_.size()) continue;
    joined_in_vain_ += text.size();
    fields_ = split(text, '|');
    if (!align()) continue;
    joined_in_vain_ = 0;
    lines_ = std::move(ahead);
    return true;
  }
  return false;
}

}  // namespace vtrain
