/// A small invented recording with round numbers, for tests.
#pragma once

#include <string>
#include <string_view>

namespace vtrain::testing {

/// A recording of an invented GPU `NVIDIA H200, made up`: products of one linear layer in bf16, fused
/// attention forward and backward, a layer norm, Adam, and two all-reduces.
inline std::string recording_text() {
  const auto op = [](std::string_view key, std::string_view fields, int time_ns) {
    const std::string time = std::to_string(time_ns);
    const std::string timing = R"({"repetitions": 20, "time_ns": )" + time + R"(, "low_ns": )" + time +
                               R"(, "high_ns": )" + time + R"(, "kernels": [{"name": 0, "duration_ns": )" +
                               time + R"(, "gap_ns": null}]})";
    return R"({"key": ")" + std::string(key) + R"(", )" + std::string(fields) +
           R"(, "session": 0, "warm": )" + timing + R"(, "cold": )" + timing + "}";
  };
  std::string text = R"({
"schema": "vtrain-kernel-table",
"version": 1,
"made_by": "vtrain profile record --out DIR",
"device": {"name": "NVIDIA H200, made up",
              "compute_capability" : "9.0",
              "multiprocessors" : 132,
              "clock_hz" : 1980000000,
              "memory_bytes" : 150000000000,
              "memory_bytes_per_second" : 4800000000000,
              "l2_bytes" : 60000000
},
"software": {"driver": "580.65", "cuda_driver": 13000, "cuda_runtime": 13000, "cublaslt": 130000, "cudnn": null, "nccl": null, "cupti": 26},
"sessions": [
{"started": "2026-01-02T03:04:05Z", "ended": "2026-01-02T03:09:05Z", "sm_clock_hz": {"low": 1.9e9, "median": 1.95e9, "high": 1.98e9}, "temperature_c": null, "throttled": 0, "dropped_records": 0}
],
"kernel_names": [
"gemm_kernel"
],
"operators": [
)";
  text +=
      op("gemm forward bf16 m=4096 n=12288 k=4096",
         R"("operator": "gemm", "pass": "forward", "precision": "bf16", "shape": {"m": 4096, "n": 12288, "k": 4096}, "flops": 412316860416, "bytes": 234881024)",
         700000) +
      ",\n";
  text +=
      op("gemm data_gradient bf16 m=4096 n=4096 k=12288",
         R"("operator": "gemm", "pass": "data_gradient", "precision": "bf16", "shape": {"m": 4096, "n": 4096, "k": 12288}, "flops": 412316860416, "bytes": 234881024)",
         720000) +
      ",\n";
  text +=
      op("gemm weight_gradient bf16 out=fp32 m=12288 n=4096 k=4096",
         R"("operator": "gemm", "pass": "weight_gradient", "precision": "bf16", "variant": "out=fp32", "shape": {"m": 12288, "n": 4096, "k": 4096}, "flops": 412316860416, "bytes": 536870912)",
         760000) +
      ",\n";
  for (const std::string_view pass : {"forward", "backward"}) {
    const std::string name(pass);
    text +=
        op("attention " + name +
               " bf16 fused batch=1 heads=32 key_value_heads=32 sequence=2048 head_size=128",
           R"("operator": "attention", "pass": ")" + name +
               R"(", "precision": "bf16", "variant": "fused", "shape": {"batch": 1, "heads": 32, "key_value_heads": 32, "sequence": 2048, "head_size": 128}, "flops": 34359738368, "bytes": 67108864)",
           pass == "forward" ? 100000 : 300000) +
        ",\n";
  }
  text +=
      op("layer_norm forward bf16 rows=65536 columns=8192",
         R"("operator": "layer_norm", "pass": "forward", "precision": "bf16", "shape": {"rows": 65536, "columns": 8192}, "flops": 0, "bytes": 2147483648)",
         559241) +
      ",\n";
  text +=
      op("adam update bf16 elements=100000000",
         R"("operator": "adam", "pass": "update", "precision": "bf16", "shape": {"elements": 100000000}, "flops": 0, "bytes": 3000000000)",
         900000) +
      "\n],\n";
  text += R"("collectives": [
{"key": "all_reduce gpus=8 nodes=1 bytes=1048576", "collective": "all_reduce", "num_gpus": 8, "num_nodes": 1, "bytes": 1048576, "session": 0, "repetitions": 20, "time_ns": 30000, "low_ns": 29000, "high_ns": 31000, "algorithm_bandwidth": 1, "bus_bandwidth": 1},
{"key": "send_recv gpus=2 nodes=1 bytes=1048576", "collective": "send_recv", "num_gpus": 2, "num_nodes": 1, "bytes": 1048576, "session": 0, "repetitions": 20, "time_ns": 20000, "low_ns": 19000, "high_ns": 21000, "algorithm_bandwidth": 1, "bus_bandwidth": 1}
],
"skipped": [
{"key": "gemm forward fp8 m=1 n=1 k=1", "reason": "no kernel"}
]
}
)";
  return text;
}

}  // namespace vtrain::testing
