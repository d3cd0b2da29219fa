#include "workloads/job.hpp"

#include <algorithm>

namespace vtrain {
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
