#include "core/kernels/published_samples.hpp"

#include <doctest/doctest.h>

namespace vtrain {
namespace {

TEST_CASE("published_samples: GEMM times are milliseconds, fp8 of both kinds is fp8") {
  const auto samples = parse_gemm_table(
      "device,gemm_dtype,m,n,k,latency\n"
      "GPU,bfloat16,64,256,512,0.25\n"
      "GPU,fp8_block,128,256,512,0.5\n"
      "GPU,nvfp4,1,2,3,1e-3\n",
      "gemm.csv");
  REQUIRE(samples);
  REQUIRE(samples->size() == 3);
  CHECK((*samples)[0].precision == Precision::Bf16);
  CHECK((*samples)[0].m == 64);
  CHECK((*samples)[0].n == 256);
  CHECK((*samples)[0].k == 512);
  CHECK((*samples)[0].time.count() == 250'000);
  CHECK((*samples)[1].precision == Precision::Fp8);
  CHECK((*samples)[2].precision == Precision::Fp4);
}

TEST_CASE("published_samples: errors name file, line and column") {
  const std::string header = "gemm_dtype,m,n,k,latency\n";
  CHECK(parse_gemm_table(header + "int8,1,1,1,1\n", "g.csv").error().describe() ==
        "g.csv:2: gemm_dtype: expected bfloat16, float16, fp8, fp8_block or nvfp4, found 'int8'");
  CHECK(parse_gemm_table(header + "fp8,1,1,1,1\nfp8,1,0,1,1\n", "g.csv")
            .error()
            .describe()
            .starts_with("g.csv:3: n: expected"));
  CHECK(parse_gemm_table(header + "fp8,1,1,1,-2\n", "g.csv").error().field == "latency");
  CHECK(parse_gemm_table("m,n,k,latency\n1,1,1,1\n", "g.csv").error().describe().find("gemm_dtype") !=
        std::string::npos);
  CHECK(parse_gemm_table(header, "g.csv").error().describe() ==
        "g.csv: expected measured rows, found none to use");
  CHECK(parse_nccl_table("op_name,nccl_dtype,num_gpus,message_size,latency\nreduce,half,2,1,1\n", "n.csv")
            .error()
            .describe() ==
        "n.csv:2: op_name: expected all_reduce, all_gather, reduce_scatter or alltoall, found 'reduce'");
}

TEST_CASE("published_samples: attention without windows, continued caches and other types") {
  const auto samples = parse_attention_table(
      "batch_size,isl,num_heads,num_key_value_heads,head_dim,attn_dtype,kv_cache_dtype,window_size,step,"
      "latency\n"
      "2,1024,32,8,128,bfloat16,bfloat16,0,0,1.5\n"
      "2,1024,32,8,128,bfloat16,bfloat16,128,0,0.5\n"
      "2,1024,32,8,128,bfloat16,bfloat16,0,64,0.5\n"
      "2,1024,32,8,128,bfloat16,fp8,0,0,0.5\n",
      "a.csv");
  REQUIRE(samples);
  REQUIRE(samples->size() == 1);
  CHECK(samples->front().batch == 2);
  CHECK(samples->front().sequence == 1024);
  CHECK(samples->front().heads == 32);
  CHECK(samples->front().key_value_heads == 8);
  CHECK(samples->front().head_size == 128);
  CHECK(samples->front().time.count() == 1.5e6);
}

TEST_CASE("published_samples: message sizes are elements of two bytes") {
  const auto samples = parse_nccl_table(
      "op_name,nccl_dtype,num_gpus,message_size,latency\n"
      "alltoall,half,4,512,0.02\n"
      "alltoall,int8,4,1024,0.02\n",
      "n.csv");
  REQUIRE(samples);
  REQUIRE(samples->size() == 1);
  CHECK(samples->front().collective == Collective::AllToAll);
  CHECK(samples->front().num_gpus == 4);
  CHECK(samples->front().bytes == 1024);
  CHECK(samples->front().time.count() == 20'000);
}

TEST_CASE("published_samples: the name of an all-reduce table says how many GPUs") {
  const std::string text = "size,time,busbw\n1048576,100,1\n1073741824,9000,1\n";
  const auto samples = parse_all_reduce_table(text, "folder/AR_GPU6_1M_1024M_LUT");
  REQUIRE(samples);
  REQUIRE(samples->size() == 2);
  CHECK(samples->back().num_gpus == 6);
  CHECK(samples->back().bytes == 1'073'741'824);
  CHECK(samples->back().time.count() == 9000);
  CHECK(parse_all_reduce_table(text, "folder/table.csv").error().describe() ==
        "folder/table.csv: expected a file name like AR_GPU8_1M_1024M_LUT, found 'table.csv'");
}

TEST_CASE("published_samples: sizes of an operator's shape by key") {
  const auto samples = parse_operator_table(
      "op,shape,efficiency\nsdp_fwd,\"batch=1, seq_len=4096, qkv_contiguous=True\",0.5\n", "o.csv");
  REQUIRE(samples);
  CHECK(samples->front().op == "sdp_fwd");
  CHECK(samples->front().size("seq_len") == 4096);
  CHECK(samples->front().size("batch") == 1);
  CHECK(samples->front().size("heads") == 0);
  CHECK(samples->front().size("qkv_contiguous") == 0);
  CHECK(samples->front().efficiency == 0.5);
}

}  // namespace
}  // namespace vtrain
