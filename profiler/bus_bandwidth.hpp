/// Collectives as nccl-tests counts them (its doc/PERFORMANCE.md).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace vtrain::profiler {

enum class Collective : std::uint8_t { AllReduce, ReduceScatter, AllGather, AllToAll, SendRecv };

inline constexpr std::array kCollectives = {Collective::AllReduce, Collective::ReduceScatter,
                                            Collective::AllGather, Collective::AllToAll,
                                            Collective::SendRecv};

/// `all_reduce`, `reduce_scatter`, `all_gather`, `all_to_all`, `send_recv`.
std::string_view name_of(Collective collective);

/// Bytes of the whole tensor over time, in bytes per second. SCHEMA.md defines `bytes`.
double algorithm_bandwidth(double bytes, double time_ns);

/// Algorithm bandwidth times the bytes on each GPU's link for a byte of the tensor: 2 (n - 1) / n for an
/// all-reduce, (n - 1) / n for reduce-scatter, all-gather and all-to-all, 1 for send and receive.
double bus_bandwidth(Collective collective, std::int64_t num_gpus, double bytes, double time_ns);

}  // namespace vtrain::profiler
