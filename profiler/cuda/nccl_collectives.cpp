/// Collectives through NCCL: the GPUs of one process, or with MPI one GPU in each of many.
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "profiler/cuda/backend.hpp"
#include "profiler/cuda/cuda_call.hpp"
#include "profiler/cuda/device_memory.hpp"
#include "profiler/cuda/processes.hpp"

namespace vtrain::profiler {
namespace {

void check_nccl(ncclResult_t status, const char* call) {
  if (status != ncclSuccess) throw std::runtime_error(std::string(call) + ": " + ncclGetErrorString(status));
}

constexpr int kWarmUp = 5;
constexpr std::size_t kRepetitions = 20;
/// Launches within one pair of events, whose resolution is about half a microsecond.
constexpr int kLaunchesOfSmall = 20;
constexpr std::int64_t kSmallBytes = 1 << 20;
constexpr std::int64_t kElementBytes = 2;  // bf16

/// One GPU of this process in a communicator.
struct Member {
  int device = 0;
  int rank = 0;
  ncclComm_t communicator = nullptr;
  cudaStream_t stream = nullptr;
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
};

/// The communicator of the first GPUs, or this process' part of it, which may be empty.
class Group {
 public:
  Group(const Processes& processes, int num_gpus) {
    ncclUniqueId id{};
    if (processes.rank() == 0) check_nccl(ncclGetUniqueId(&id), "ncclGetUniqueId");
    processes.broadcast(&id, sizeof id);
    // NCCL writes the communicators when the group ends: they must stay where they are.
    members_.reserve(processes.local_gpus().size());
    check_nccl(ncclGroupStart(), "ncclGroupStart");
    for (const auto& [rank, device] : processes.local_gpus()) {
      if (rank >= num_gpus) continue;
      Member& member = members_.emplace_back();
      member.device = device;
      member.rank = rank;
      VTRAIN_CUDA_CALL(cudaSetDevice(device));
      VTRAIN_CUDA_CALL(cudaStreamCreateWithFlags(&member.stream, cudaStreamNonBlocking));
      VTRAIN_CUDA_CALL(cudaEventCreate(&member.begin));
      VTRAIN_CUDA_CALL(cudaEventCreate(&member.end));
      check_nccl(ncclCommInitRank(&member.communicator, num_gpus, id, rank), "ncclCommInitRank");
    }
    check_nccl(ncclGroupEnd(), "ncclGroupEnd");
  }

  ~Group() {
    for (const Member& member : members_) {
      (void)ncclCommDestroy(member.communicator);
      (void)cudaEventDestroy(member.begin);
      (void)cudaEventDestroy(member.end);
      (void)cudaStreamDestroy(member.stream);
    }
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  const std::vector<Member>& members() const { return members_; }

 private:
  std::vector<Member> members_;
};

/// One collective of one size, ready to run.
class Exchange {
 public:
  Exchange(const Group& group, Collective collective, int num_gpus, std::int64_t bytes)
      : group_(group),
        collective_(collective),
        num_gpus_(num_gpus),
        whole_(static_cast<std::size_t>(bytes / kElementBytes)),
        part_(whole_ / static_cast<std::size_t>(num_gpus)) {
    for (const Member& member : group.members()) {
      VTRAIN_CUDA_CALL(cudaSetDevice(member.device));
      buffers_.emplace_back(static_cast<std::size_t>(bytes));
      buffers_.emplace_back(static_cast<std::size_t>(bytes));
    }
  }

  /// Time of one launch on the slowest GPU, nanoseconds, from several launches in a row.
  double run(int launches) const {
    for (const Member& member : group_.members()) {
      VTRAIN_CUDA_CALL(cudaSetDevice(member.device));
      VTRAIN_CUDA_CALL(cudaEventRecord(member.begin, member.stream));
    }
    for (int i = 0; i < launches; ++i)
      launch();
    for (const Member& member : group_.members()) {
      VTRAIN_CUDA_CALL(cudaSetDevice(member.device));
      VTRAIN_CUDA_CALL(cudaEventRecord(member.end, member.stream));
    }
    double slowest_ms = 0;
    for (const Member& member : group_.members()) {
      VTRAIN_CUDA_CALL(cudaEventSynchronize(member.end));
      float elapsed_ms = 0;
      VTRAIN_CUDA_CALL(cudaEventElapsedTime(&elapsed_ms, member.begin, member.end));
      slowest_ms = std::max(slowest_ms, static_cast<double>(elapsed_ms));
    }
    return slowest_ms * 1e6 / launches;
  }

 private:
  void launch() const {
    check_nccl(ncclGroupStart(), "ncclGroupStart");
    for (std::size_t i = 0; i < group_.members().size(); ++i)
      launch_on(group_.members()[i], buffers_[2 * i].data(), buffers_[2 * i + 1].data());
    check_nccl(ncclGroupEnd(), "ncclGroupEnd");
  }

  void launch_on(const Member& member, void* give, void* take) const {
    const ncclDataType_t type = ncclBfloat16;
    const auto check = [this](ncclResult_t status) {
      check_nccl(status, std::string(name_of(collective_)).c_str());
    };
    switch (collective_) {
      case Collective::AllReduce:
        return check(ncclAllReduce(give, give, whole_, type, ncclSum, member.communicator, member.stream));
      case Collective::ReduceScatter:
        return check(ncclReduceScatter(give, take, part_, type, ncclSum, member.communicator, member.stream));
      case Collective::AllGather:
        return check(ncclAllGather(give, take, part_, type, member.communicator, member.stream));
      case Collective::AllToAll:
        for (int peer = 0; peer < num_gpus_; ++peer) {
          const std::size_t offset = static_cast<std::size_t>(peer) * part_ * kElementBytes;
          check(ncclSend(static_cast<char*>(give) + offset, part_, type, peer, member.communicator,
                         member.stream));
          check(ncclRecv(static_cast<char*>(take) + offset, part_, type, peer, member.communicator,
                         member.stream));
        }
        return;
      case Collective::SendRecv: {
        const int next = (member.rank + 1) % num_gpus_;
        const int previous = (member.rank + num_gpus_ - 1) % num_gpus_;
        check(ncclSend(give, whole_, type, next, member.communicator, member.stream));
        check(ncclRecv(take, whole_, type, previous, member.communicator, member.stream));
        return;
      }
    }
  }

  const Group& group_;
  Collective collective_;
  int num_gpus_;
  std::size_t whole_;  ///< elements of the whole tensor
  std::size_t part_;   ///< elements of one GPU's part
  std::vector<DeviceBuffer> buffers_;
};

class NcclCollectives : public CollectiveRunner {
 public:
  std::int64_t num_gpus() const override { return processes_.num_gpus(); }
  std::int64_t num_nodes(std::int64_t num_gpus) const override {
    const auto& nodes = processes_.node_of_gpu();
    return static_cast<std::int64_t>(std::set<int>(nodes.begin(), nodes.begin() + num_gpus).size());
  }
  bool is_leader() const override { return processes_.rank() == 0; }

  bool agree(bool value) override {
    char shared = value ? 1 : 0;
    processes_.broadcast(&shared, sizeof shared);
    return shared != 0;
  }

  std::vector<double> measure(Collective collective, std::int64_t num_gpus, std::int64_t bytes) override {
    if (bytes % (num_gpus * kElementBytes) != 0) throw NotMeasurable("the size does not divide by the GPUs");
    const int count = static_cast<int>(num_gpus);
    const Group& group = group_of(count);
    std::vector<double> times;
    // All or none: a process that stopped alone would leave the others waiting.
    std::optional<Exchange> exchange;
    bool is_ready = true;
    try {
      exchange.emplace(group, collective, count, bytes);
    } catch (const NotMeasurable&) {
      is_ready = false;
    }
    if (processes_.largest(is_ready ? 0.0 : 1.0) > 0) throw NotMeasurable("not enough device memory");
    const int launches = bytes <= kSmallBytes ? kLaunchesOfSmall : 1;
    if (!group.members().empty()) (void)exchange->run(kWarmUp);
    for (std::size_t i = 0; i < kRepetitions; ++i) {
      processes_.wait_for_all();
      times.push_back(processes_.largest(group.members().empty() ? 0.0 : exchange->run(launches)));
    }
    return times;
  }

 private:
  const Group& group_of(int num_gpus) {
    std::unique_ptr<Group>& group = groups_[num_gpus];
    if (group == nullptr) group = std::make_unique<Group>(processes_, num_gpus);
    return *group;
  }

  Processes processes_;
  std::map<int, std::unique_ptr<Group>> groups_;
};

}  // namespace

std::unique_ptr<CollectiveRunner> open_nccl() {
  return std::make_unique<NcclCollectives>();
}

}  // namespace vtrain::profiler
