#include "core/kernels/collective_cost.hpp"

#include <filesystem>
#include <string>

#include <doctest/doctest.h>

namespace vtrain {
namespace {

constexpr double kMiB = 1048576;

const std::string kTable =
    "size(B),count,type,time(ns),busbw(GB/s),time(ns),busbw(GB/s)\n"
    "1048576,262144,float,11,1.5,100,19.5\n"
    "2097152,524288,float,12,1.5,200,39.5\n"
    "4194304,1048576,float,13,1.5,600,59.5\n"
    "1073741824,268435456,float,14,1.5,8196400,229.25\n";

AllReduceTable table() {
  return *AllReduceTable::parse(kTable, "table");
}

TEST_CASE("collective_cost: the in-place columns of a table") {
  const AllReduceTable parsed = table();
  REQUIRE(parsed.entries().size() == 4);
  CHECK(parsed.entries()[1].mebibytes == 2);
  CHECK(parsed.entries()[1].time.count() == 200);
  CHECK(parsed.entries()[1].bus_bandwidth == 39.5);
  CHECK(parsed.find(3) == nullptr);
  CHECK(parsed.gibibyte().bus_bandwidth == 229.25);
}

TEST_CASE("collective_cost: the release rounds to whole MiB, half to even, and falls back beside the table") {
  const AllReduceTable parsed = table();
  const auto time = [&](double mebibytes) {
    return vtrain_release::table_time(parsed, Bytes(mebibytes * kMiB));
  };
  CHECK(time(1.5).time.count() == 200);
  CHECK(time(1.5).in_table);
  CHECK(time(2.5).time.count() == 200);  // to the even 2, not up to 3
  CHECK(time(0.5).time.count() == 0);    // to 0, which no table has
  CHECK(!time(0.5).in_table);
  // 2048 MiB at 229.25 "GB/s", without 2 (n - 1) / n.
  CHECK(time(2048).time.count() == doctest::Approx(2048 / (229.25 * 1024) * 1e9));
  CHECK(!time(2048).in_table);
  CHECK(time(1e300).time.count() > 0);
}

TEST_CASE("collective_cost: the release's formulas") {
  // 80 MiB over a quarter of 800 Gbit/s: the known 6.25 ms.
  CHECK(vtrain_release::send_time(Bytes(80 * kMiB), 800).count() == 6'250'000);
  // 150 GiB at 150 GB/s takes 1 s, times 2 * 15 / 16.
  CHECK(vtrain_release::ring_time(Bytes(150 * 1024 * kMiB), 16, 150).count() == doctest::Approx(1.875e9));
  CHECK(vtrain_release::ring_time(Bytes(1e9), 1, 150).count() == 0);
  // 100 GiB at 800 Gbit/s = 100 GiB/s takes 1 s, times 2 * 3 / 4.
  CHECK(vtrain_release::inter_node_ring_time(Bytes(100 * 1024 * kMiB), 4, 800).count() ==
        doctest::Approx(1.5e9));
}

Error error_of(const std::string& text) {
  const auto parsed = AllReduceTable::parse(text, "table");
  REQUIRE(!parsed);
  CHECK(parsed.error().file == "table");
  return parsed.error();
}

TEST_CASE("collective_cost: what cannot be used, with line and column") {
  const std::string header = "size,time,busbw\n";
  CHECK(error_of("").message.find("header") != std::string::npos);
  CHECK(error_of("size,time\n").line == 1);
  CHECK(error_of(header + "1048576,0,1\n").field == "time");
  CHECK(error_of(header + "1048576,1,0\n").field == "busbw");
  CHECK(error_of(header + "1048576,1,nan\n").field == "busbw");
  CHECK(error_of(header + "-1,1,1\n").field == "size");
  CHECK(error_of(header + "1048576,1\n").line == 2);
  CHECK(error_of(header + "2097152,1,1\n1048576,1,1\n").line == 3);
  CHECK(error_of(header + "1048576,1,1\n1048577,1,1\n").field == "size");
  CHECK(error_of(header + "1048576,1,1\n").message.find("1024 MiB") != std::string::npos);
}

TEST_CASE("collective_cost: a table that is absent") {
  const auto table = AllReduceTable::read("/nonexistent/AR_GPU2_1M_1024M_LUT");
  REQUIRE(!table);
  CHECK(table.error().kind == ErrorKind::NotFound);
}

TEST_CASE("collective_cost: the published tables of A100 and V100") {
  const std::filesystem::path data = std::filesystem::path(VTRAIN_SHARED_DIR) / "data" / "vtrain";
  if (!std::filesystem::exists(data)) {
    MESSAGE("skipped: " << data.string() << " absent");
    return;
  }
  for (const char* gpu : {"a100", "v100"}) {
    for (std::int64_t num_gpus = kMinTableGpus; num_gpus <= kMaxTableGpus; ++num_gpus) {
      const auto table = AllReduceTable::read(all_reduce_table_path(data / gpu, num_gpus));
      REQUIRE(table);
      CHECK(table->entries().size() == 1024);
    }
  }
  // 8 A100s, 1024 MiB: 8.196 ms by the table, and 1025 MiB 4.366 ms by the fallback.
  const auto a100 = AllReduceTable::read(all_reduce_table_path(data / "a100", 8));
  CHECK(vtrain_release::table_time(*a100, Bytes(1024 * kMiB)).time.count() ==
        doctest::Approx(8.196e6).epsilon(1e-3));
  CHECK(vtrain_release::table_time(*a100, Bytes(1025 * kMiB)).time.count() ==
        doctest::Approx(4.366e6).epsilon(1e-3));
}

}  // namespace
}  // namespace vtrain
