/// A GPU with invented kernels and activity records, so that all code above the seams runs without a GPU.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "profiler/device.hpp"

namespace vtrain::profiler {

/// Records that tests add; `collect` returns them in reverse, as if buffers were out of order.
class FakeActivity : public ActivitySource {
 public:
  void start() override { is_running_ = true; }
  void stop() override { is_running_ = false; }
  Activity collect() override;

  void add_kernel(KernelRecord kernel);
  void add_range(RangeRecord range);
  void add_dropped(std::uint64_t count) { pending_.dropped += count; }

 private:
  bool is_running_ = false;
  Activity pending_;
};

/// A device on which every operator is two kernels on one stream: `main` of 1000 ns (2000 ns cold), and 100
/// ns later `tail` of 50 ns. Operators are 30 ns apart.
class FakeDevice : public Device {
 public:
  DeviceFacts facts() const override;
  SoftwareFacts software() const override;
  std::size_t free_memory() const override { return memory; }
  std::optional<HealthSample> sample_health() override;
  std::unique_ptr<PreparedOperator> prepare(const Operator& op) override;
  void begin_range(std::uint64_t range) override { range_ = range; }
  void end_range() override { range_ = 0; }
  void overwrite_l2() override { is_cold_ = true; }
  void hold(double) override {}
  void synchronize() override {}
  ActivitySource& activity() override { return activity_; }

  void launch();

  std::size_t memory = std::size_t{1} << 40;
  std::string driver = "1.0";
  std::uint64_t num_prepared = 0;
  /// Called for every launch in a range; if it returns true, the launch's records are lost.
  std::function<bool(std::uint64_t range)> loses = [](std::uint64_t) { return false; };
  std::function<bool(const Operator&)> refuses = [](const Operator&) { return false; };

 private:
  FakeActivity activity_;
  std::uint64_t range_ = 0;
  bool is_cold_ = false;
  std::int64_t now_ns_ = 1000;
  std::uint32_t correlation_ = 0;
};

}  // namespace vtrain::profiler
