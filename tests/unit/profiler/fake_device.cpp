#include "tests/unit/profiler/fake_device.hpp"

#include <algorithm>
#include <utility>

namespace vtrain::profiler {
namespace {

class FakeOperator : public PreparedOperator {
 public:
  explicit FakeOperator(FakeDevice& device) : device_(device) {}
  void launch() override { device_.launch(); }

 private:
  FakeDevice& device_;
};

}  // namespace

Activity FakeActivity::collect() {
  Activity activity = std::exchange(pending_, {});
  std::reverse(activity.kernels.begin(), activity.kernels.end());
  std::reverse(activity.ranges.begin(), activity.ranges.end());
  return activity;
}

void FakeActivity::add_kernel(KernelRecord kernel) {
  if (is_running_) pending_.kernels.push_back(std::move(kernel));
}

void FakeActivity::add_range(RangeRecord range) {
  if (is_running_) pending_.ranges.push_back(range);
}

DeviceFacts FakeDevice::facts() const {
  return {"NVIDIA Fake", "9.0", 100, 1'500'000'000, 1LL << 36, 3'000'000'000'000, 1 << 25};
}

SoftwareFacts FakeDevice::software() const {
  SoftwareFacts facts;
  facts.driver = driver;
  facts.cuda_driver = facts.cuda_runtime = 13000;
  return facts;
}

std::optional<HealthSample> FakeDevice::sample_health() {
  return HealthSample{1.5e9, 2.6e9, 50, 300, num_prepared % 2 == 0};
}

std::unique_ptr<PreparedOperator> FakeDevice::prepare(const Operator& op) {
  if (refuses(op)) throw NotMeasurable("refused");
  ++num_prepared;
  return std::make_unique<FakeOperator>(*this);
}

void FakeDevice::launch() {
  const bool is_lost = range_ != 0 && loses(range_);
  const std::int64_t duration = std::exchange(is_cold_, false) ? 2000 : 1000;
  for (const auto& [name, length] : {std::pair<const char*, std::int64_t>("main", duration), {"tail", 50}}) {
    ++correlation_;
    if (range_ != 0) activity_.add_range({correlation_, range_});
    if (!is_lost) activity_.add_kernel({now_ns_, now_ns_ + length, correlation_, 7, name});
    now_ns_ += length + 100;
  }
  now_ns_ -= 70;
  if (is_lost) activity_.add_dropped(2);
}

}  // namespace vtrain::profiler
