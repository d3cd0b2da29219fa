#include "core/kernels/kernel_trace.hpp"

#include <string>

#include <doctest/doctest.h>

namespace vtrain {
namespace {

/// Two operators; the second kernel of the first one runs after its timestamps, and a copy is between them.
const std::string kTrace =
    "5,10,RUNTIME,211,1,1,100\n"
    "6,0,TIMESTAMP,\"forward start transformer\"\n"
    "7,10,RUNTIME,211,1,1,101\n"
    "10,50,KERNEL,\"void f<int, 2>(...)\",0,1,100\n"
    "20,1,DRIVER,307,1,1,102\n"
    "30,0,TIMESTAMP,\"forward end transformer\"\n"
    "70,5,KERNEL,\"g\",0,1,101\n"
    "72,3,MEMCPY,1,102\n"
    "73,0,TIMESTAMP,\"WU start transformer\"\n"
    "74,1,RUNTIME,211,1,1,103\n"
    "75,0,TIMESTAMP,\"WU end transformer\"\n"
    "80,7,KERNEL,\"h\",0,1,102\n"
    "85,9,KERNEL,\"h\",0,1,103";

TEST_CASE("kernel_trace: kernels belong to the operator that launched them") {
  const auto table = parse_kernel_trace(kTrace, "trace");
  REQUIRE(table);
  REQUIRE(table->size() == 3);
  const KernelSequence& outside = table->at("NONE");
  REQUIRE(outside.kernels.size() == 1);
  CHECK(outside.kernels[0].duration_ns == 50);
  CHECK(outside.kernels[0].gap_ns == 10);  // 70 - (10 + 50)
  const KernelSequence& forward = table->at("Fwd_transformer");
  REQUIRE(forward.kernels.size() == 2);
  CHECK(forward.kernels[0].gap_ns == 5);   // 80 - 75
  CHECK(forward.kernels[1].gap_ns == -2);  // 85 - 87
  CHECK(forward.duration_ns() == 12);
  CHECK(forward.inner_gap_ns() == 5);  // the gap after the last does not count
  CHECK(table->at("WU_transformer").kernels.back().gap_ns == 0);
  CHECK(KernelSequence{}.duration_ns() == 0);
  CHECK(KernelSequence{}.inner_gap_ns() == 0);
}

TEST_CASE("kernel_trace: a byte-order mark and blank lines are fine") {
  const auto table = parse_kernel_trace("\xef\xbb\xbf\n" + kTrace + "\r\n \n", "trace");
  REQUIRE_MESSAGE(table, table.error().describe());
  CHECK(table->size() == 3);
}

TEST_CASE("kernel_trace: a later launch with the same correlation id counts") {
  const auto table = parse_kernel_trace(
      "1,0,RUNTIME,211,9\n2,0,TIMESTAMP,\"backward start "
      "logit\"\n3,0,RUNTIME,211,9\n4,1,TIMESTAMP,\"end\"\n5,2,KERNEL,k,9",
      "trace");
  REQUIRE(table);
  CHECK(table->count("Bwd_logit") == 1);
  CHECK(table->count("NONE") == 0);
}

/// The error of a text, which must have one.
Error error_of(const std::string& text) {
  const auto table = parse_kernel_trace(text, "trace_1_2_3");
  REQUIRE(!table);
  CHECK(table.error().kind == ErrorKind::InvalidInput);
  CHECK(table.error().file == "trace_1_2_3");
  return table.error();
}

TEST_CASE("kernel_trace: what cannot be used, with its line") {
  Error error = error_of("");
  CHECK(error.message.find("empty") != std::string::npos);
  error = error_of("5,1,RUNTIME,211,1\n4,1,RUNTIME,211,2\n");
  CHECK(error.line == 2);
  CHECK(error.field == "start");
  CHECK(error.message.find("ordered by start") != std::string::npos);
  error = error_of("1,1,RUNTIME,211,1\n2,1,KERNEL,\"k\",2\n");
  CHECK(error.line == 2);
  CHECK(error.field == "correlation id");
  CHECK(error.message.find("launch") != std::string::npos);
  CHECK(error_of("1,1,RUNTIME,211,1\n\n2,x,RUNTIME,211,2\n").line == 3);
  CHECK(error_of("1,1,RUNTIME\n").message.find("at least 4 fields") != std::string::npos);
  CHECK(error_of("1,1,NOTHING,1,1\n").field == "type");
  CHECK(error_of("-1,1,RUNTIME,211,1\n").field == "start");
  CHECK(error_of("99999999999999999999,1,RUNTIME,211,1\n").field == "start");
  CHECK(error_of("1,-1,RUNTIME,211,1\n").field == "duration");
  CHECK(error_of("1,nan,RUNTIME,211,1\n").field == "duration");
  CHECK(error_of("1,1,RUNTIME,211,x\n").field == "correlation id");
  CHECK(error_of("1,1,RUNTIME,211,1\n2,0,KERNEL,\"k\",1\n").field == "duration");
}

TEST_CASE("kernel_trace: a file cut off at any line that matters is an error") {
  // Cut inside the first operator, before its kernel, inside the second, before the last kernel.
  std::size_t end = 0;
  int num_errors = 0;
  int num_lines = 0;
  while ((end = kTrace.find('\n', end + 1)) != std::string::npos) {
    ++num_lines;
    num_errors += parse_kernel_trace(kTrace.substr(0, end), "trace") ? 0 : 1;
  }
  CHECK(num_lines == 12);
  // Line 1 stands outside every operator, and what is launched there need not run; from line 5 on, the kernel
  // of the latest launch is missing.
  CHECK(num_errors == 11);
  CHECK(error_of(kTrace.substr(0, kTrace.find("\"g\""))).message.find("at least 4 fields") ==
        std::string::npos);
  CHECK(error_of(kTrace.substr(0, kTrace.find("2>(...)"))).message.find("closing quote") !=
        std::string::npos);
  const Error inside = error_of("1,0,TIMESTAMP,\"forward start logit\"\n");
  CHECK(inside.message.find("Fwd_logit") != std::string::npos);
}

}  // namespace
}  // namespace vtrain
