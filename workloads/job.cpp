#include "workloads/job.hpp"

#include <algorithm>
#include <array>

namespace vtrain {
namespace {

constexpr std::array<std::string_view, 6> kStatusNames = {"unknown",   "completed", "failed",
                                                          "cancelled", "timeout",   "running"};

}  // namespace

std::span<const std::string_view> status_names() {
  return kStatusNames;
}

std::string_view status_name(JobStatus status) {
  return kStatusNames[static_cast<std::size_t>(status)];
}

std::string_view Workload::keep(std::string_view text) {
  if (!text_) text_ = std::make_unique<std::pmr::monotonic_buffer_resource>(1 << 16);
  auto* copy = static_cast<char*>(text_->allocate(text.size(), 1));
  std::copy(text.begin(), text.end(), copy);
  return {copy, text.size()};
}

void Workload::sort_by_submission() {
  std::stable_sort(jobs.begin(), jobs.end(), [](const Job& a, const Job& b) { return a.submit < b.submit; });
}

}  // namespace vtrain
