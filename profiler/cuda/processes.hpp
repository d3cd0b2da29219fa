/// The processes of a sweep: one with all GPUs of its node, or several started by MPI with one GPU each.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace vtrain::profiler {

class Processes {
 public:
  /// Starts MPI in a build with it; without `mpirun` there is one process.
  Processes();
  ~Processes();
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  int rank() const { return rank_; }
  int num_gpus() const { return static_cast<int>(node_of_gpu_.size()); }
  /// GPUs of this process: the rank in the sweep and the number on the node.
  const std::vector<std::pair<int, int>>& local_gpus() const { return local_gpus_; }
  /// Number of the node of each GPU of the sweep.
  const std::vector<int>& node_of_gpu() const { return node_of_gpu_; }

  /// Sends rank 0's bytes to all.
  void broadcast(void* data, std::size_t size) const;
  double largest(double value) const;
  void wait_for_all() const;

 private:
  int rank_ = 0;
  bool started_mpi_ = false;
  std::vector<std::pair<int, int>> local_gpus_;
  std::vector<int> node_of_gpu_;
};

}  // namespace vtrain::profiler
