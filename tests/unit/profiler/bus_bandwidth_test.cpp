#include "profiler/bus_bandwidth.hpp"

#include <doctest/doctest.h>

namespace vtrain::profiler {

TEST_CASE("bus_bandwidth: the factors of nccl-tests") {
  // 1 GB in 10 ms are 100 GB/s; 8 GPUs: 2 x 7/8 for an all-reduce, 7/8 for what moves the tensor once.
  CHECK(algorithm_bandwidth(1e9, 1e7) == doctest::Approx(1e11));
  CHECK(bus_bandwidth(Collective::AllReduce, 8, 1e9, 1e7) == doctest::Approx(1.75e11));
  CHECK(bus_bandwidth(Collective::ReduceScatter, 8, 1e9, 1e7) == doctest::Approx(0.875e11));
  CHECK(bus_bandwidth(Collective::AllGather, 8, 1e9, 1e7) == doctest::Approx(0.875e11));
  CHECK(bus_bandwidth(Collective::AllToAll, 4, 1e9, 1e7) == doctest::Approx(0.75e11));
  CHECK(bus_bandwidth(Collective::SendRecv, 2, 1e9, 1e7) == doctest::Approx(1e11));
}

TEST_CASE("bus_bandwidth: an all-reduce of the public vTrain tables") {
  // A100, 8 GPUs, 1 GiB in 8.193 ms: 229 GB/s.
  CHECK(bus_bandwidth(Collective::AllReduce, 8, 1073741824.0, 8.193e6) ==
        doctest::Approx(229.4e9).epsilon(0.001));
}

}  // namespace vtrain::profiler
