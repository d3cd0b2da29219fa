#include "tools/results/decisions_file.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/io/json_reader.hpp"

namespace vtrain {
namespace {

void append_name(std::string& out, std::string_view name) {
  const bool is_plain =
      std::ranges::all_of(name, [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
  if (!is_plain) {
    out += json_string(name);
    return;
  }
  out += '"';
  out += name;
  out += '"';
}

void append_count(std::string& out, std::string_view key, GpuCount gpus) {
  std::array<char, 16> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), gpus.value);
  out += key;
  out.append(digits.data(), end);
}

void append_time(std::string& out, std::string_view key, SimTime time) {
  out += key;
  append_ns_as_seconds(out, time.time_since_epoch().count());
}

/// Appends what the reason refers to.
void append_references(std::string& out, const Workload& workload, const ReasonChange& change) {
  const auto gpus = [&](std::string_view available) {
    append_count(out, R"(,"asked":)", change.asked);
    append_count(out, available, change.available);
  };
  const auto by = [&] {
    out += R"(,"by":)";
    append_name(out, workload.jobs[change.by.value].name);
  };
  switch (change.reason) {
    case WaitReason::Gpus:
    case WaitReason::Placement:
      return gpus(R"(,"free":)");
    case WaitReason::Type:
      gpus(R"(,"free":)");
      out += R"(,"gpu_type":)";
      return append_name(out, workload.gpu_types[workload.jobs[change.job.value].gpu_type.value]);
    case WaitReason::OutOfService:
      return gpus(R"(,"in_service":)");
    case WaitReason::TooLarge:
      return gpus(R"(,"in_cluster":)");
    case WaitReason::Reservation:
      by();
      if (change.at && *change.at != SimTime::max()) append_time(out, R"(,"at_s":)", *change.at);
      return;
    case WaitReason::Order:
    case WaitReason::Preempted:
      return by();
    case WaitReason::NextDecision:
      return append_time(out, R"(,"at_s":)", *change.at);
    case WaitReason::Rejected:
      if (change.at) append_time(out, R"(,"earliest_deadline_s":)", *change.at);
      return;
    case WaitReason::Dependency:
    case WaitReason::Limit:
    case WaitReason::Policy:
    case WaitReason::None:
      return;
  }
}

}  // namespace

void DecisionsFile::append(const ReasonChange& change) {
  if (begin_.empty() || change.time != time_) {
    begin_.clear();
    append_time(begin_, R"({"time_s":)", change.time);
    begin_ += R"(,"job":)";
    time_ = change.time;
  }
  lines_ += begin_;
  append_name(lines_, workload_->jobs[change.job.value].name);
  lines_ += R"(,"reason":")";
  lines_ += info_of(change.reason).word;
  lines_ += '"';
  append_references(lines_, *workload_, change);
  lines_ += "}\n";
}

Result<DecisionsFile> DecisionsFile::create(const std::filesystem::path& path, const Workload& workload) {
  auto file = AtomicFile::create(path);
  if (!file) return fail(std::move(file.error()));
  return DecisionsFile(*std::move(file), workload);
}

void DecisionsFile::take(std::span<const ReasonChange> changes) {
  lines_.clear();
  for (const ReasonChange& change : changes)
    append(change);
  file_.write(lines_);
}

}  // namespace vtrain
