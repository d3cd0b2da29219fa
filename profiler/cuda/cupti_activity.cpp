#include "profiler/cuda/cupti_activity.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "profiler/cuda/cuda_call.hpp"

namespace vtrain::profiler {
namespace {

#if CUPTI_API_VERSION >= 130000
using KernelActivity = CUpti_ActivityKernel10;
using MemcpyActivity = CUpti_ActivityMemcpy6;
#else
using KernelActivity = CUpti_ActivityKernel9;
using MemcpyActivity = CUpti_ActivityMemcpy5;
#endif
using MemsetActivity = CUpti_ActivityMemset4;

constexpr std::size_t kBufferBytes = std::size_t{8} << 20;
constexpr std::size_t kBufferAlignment = 8;

/// Kinds of recorded activity. Ranges are recorded for API calls: of the runtime for our own kernels, of the
/// driver for libraries that use it.
constexpr CUpti_ActivityKind kKinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                         CUPTI_ACTIVITY_KIND_MEMSET,
                                         CUPTI_ACTIVITY_KIND_MEMCPY,
                                         CUPTI_ACTIVITY_KIND_RUNTIME,
                                         CUPTI_ACTIVITY_KIND_DRIVER,
                                         CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION};

/// Records delivered by CUPTI's thread.
struct Received {
  std::mutex mutex;
  Activity activity;
};

Received& received() {
  static Received records;
  return records;
}

/// The kernel's name as in its source. A mangled name has a hash for kernels of an unnamed namespace, which
/// differs between builds.
std::string readable_name(const char* name) {
  if (name == nullptr) return "";
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> demangled(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                         std::free);
  return status == 0 ? demangled.get() : name;
}

template <typename Record>
KernelRecord memory_record(const CUpti_Activity* record, const char* name) {
  const auto* const memory = reinterpret_cast<const Record*>(record);
  return {static_cast<std::int64_t>(memory->start), static_cast<std::int64_t>(memory->end),
          memory->correlationId, memory->streamId, name};
}

void take(const CUpti_Activity* record, Activity& activity) {
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto* const kernel = reinterpret_cast<const KernelActivity*>(record);
      activity.kernels.push_back({static_cast<std::int64_t>(kernel->start),
                                  static_cast<std::int64_t>(kernel->end), kernel->correlationId,
                                  kernel->streamId, readable_name(kernel->name)});
      return;
    }
    case CUPTI_ACTIVITY_KIND_MEMSET:
      activity.kernels.push_back(memory_record<MemsetActivity>(record, "[memset]"));
      return;
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      activity.kernels.push_back(memory_record<MemcpyActivity>(record, "[memcpy]"));
      return;
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: {
      const auto* const range = reinterpret_cast<const CUpti_ActivityExternalCorrelation*>(record);
      activity.ranges.push_back({range->correlationId, range->externalId});
      return;
    }
    default:
      return;
  }
}

void CUPTIAPI provide_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(kBufferAlignment, kBufferBytes));
  *size = *buffer == nullptr ? 0 : kBufferBytes;
  *max_records = 0;  // as many as fit
}

void CUPTIAPI take_buffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t,
                          std::size_t valid) {
  Received& records = received();
  const std::lock_guard lock(records.mutex);
  CUpti_Activity* record = nullptr;
  while (valid > 0 && cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
    take(record, records.activity);
  std::size_t dropped = 0;
  if (cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS) {
    records.activity.dropped += dropped;
  }
  std::free(buffer);
}

}  // namespace

CuptiActivity::CuptiActivity() {
  VTRAIN_CUDA_CALL(cuptiActivityRegisterCallbacks(provide_buffer, take_buffer));
}

CuptiActivity::~CuptiActivity() {
  // Nothing more is wanted; a failure at the very end helps nobody.
  (void)cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
}

void CuptiActivity::start() {
  for (const CUpti_ActivityKind kind : kKinds)
    VTRAIN_CUDA_CALL(cuptiActivityEnable(kind));
}

void CuptiActivity::stop() {
  for (const CUpti_ActivityKind kind : kKinds)
    VTRAIN_CUDA_CALL(cuptiActivityDisable(kind));
  VTRAIN_CUDA_CALL(cuptiActivityFlushAll(0));
}

Activity CuptiActivity::collect() {
  Received& records = received();
  const std::lock_guard lock(records.mutex);
  return std::exchange(records.activity, {});
}

void push_range(std::uint64_t range) {
  VTRAIN_CUDA_CALL(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, range));
}

void pop_range() {
  std::uint64_t range = 0;
  VTRAIN_CUDA_CALL(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &range));
}

}  // namespace vtrain::profiler
