#include "profiler/cuda/processes.hpp"

#include <cuda_runtime_api.h>

#include "profiler/cuda/cuda_call.hpp"

#ifdef VTRAIN_MPI
#include <mpi.h>
#endif

namespace vtrain::profiler {
namespace {

int gpus_of_node() {
  int count = 0;
  VTRAIN_CUDA_CALL(cudaGetDeviceCount(&count));
  return count;
}

}  // namespace

#ifdef VTRAIN_MPI

Processes::Processes() {
  int is_running = 0;
  MPI_Initialized(&is_running);
  if (is_running == 0) MPI_Init(nullptr, nullptr);
  started_mpi_ = is_running == 0;
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  if (size == 1) {
    for (int device = 0; device < gpus_of_node(); ++device)
      local_gpus_.emplace_back(device, device);
    node_of_gpu_.assign(local_gpus_.size(), 0);
    return;
  }
  // Processes that share memory share a node; the smallest of their ranks names it.
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &node);
  int rank_on_node = 0;
  MPI_Comm_rank(node, &rank_on_node);
  int name = rank_;
  MPI_Bcast(&name, 1, MPI_INT, 0, node);
  MPI_Comm_free(&node);
  if (rank_on_node >= gpus_of_node()) throw std::runtime_error("more processes on a node than it has GPUs");
  local_gpus_.emplace_back(rank_, rank_on_node);
  node_of_gpu_.resize(static_cast<std::size_t>(size));
  MPI_Allgather(&name, 1, MPI_INT, node_of_gpu_.data(), 1, MPI_INT, MPI_COMM_WORLD);
}

Processes::~Processes() {
  if (started_mpi_) MPI_Finalize();
}

void Processes::broadcast(void* data, std::size_t size) const {
  MPI_Bcast(data, static_cast<int>(size), MPI_BYTE, 0, MPI_COMM_WORLD);
}

double Processes::largest(double value) const {
  double all = value;
  MPI_Allreduce(&value, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return all;
}

void Processes::wait_for_all() const {
  MPI_Barrier(MPI_COMM_WORLD);
}

#else

Processes::Processes() {
  for (int device = 0; device < gpus_of_node(); ++device)
    local_gpus_.emplace_back(device, device);
  node_of_gpu_.assign(local_gpus_.size(), 0);
}

Processes::~Processes() = default;

void Processes::broadcast(void*, std::size_t) const {}

double Processes::largest(double value) const {
  return value;
}

void Processes::wait_for_all() const {}

#endif

}  // namespace vtrain::profiler
