#include "core/kernels/collective_table.hpp"

#include <doctest/doctest.h>

#include <stdexcept>

namespace vtrain {
namespace {

const MessageTable kTable({{1000, 50}, {2000, 60}, {4000, 100}});

TEST_CASE("collective_table: linear between two sizes") {
  CHECK(kTable.at(Bytes(2000)).time.count() == 60);
  CHECK(kTable.at(Bytes(2000)).evidence == Evidence::Measured);
  // A quarter of the way from 60 to 100.
  CHECK(kTable.at(Bytes(2500)).time.count() == doctest::Approx(70));
  CHECK(kTable.at(Bytes(2500)).evidence == Evidence::Interpolated);
}

TEST_CASE("collective_table: latency below the table, bandwidth above it") {
  CHECK(kTable.at(Bytes(10)).time.count() == 50);
  CHECK(kTable.at(Bytes(12000)).time.count() == doctest::Approx(300));
  CHECK(kTable.at(Bytes(10)).evidence == Evidence::Extrapolated);
  CHECK(kTable.at(Bytes(12000)).evidence == Evidence::Extrapolated);
  CHECK(kTable.at(Bytes(12000)).reach.factor() == 3);
  CHECK(kTable.at(Bytes(10)).reach.factor() == 100);
  CHECK(kTable.at(Bytes(10)).reach.unit == "bytes");
  CHECK(kTable.at(Bytes(1000)).evidence == Evidence::Measured);
}

TEST_CASE("collective_table: sizes must rise") {
  CHECK_THROWS_AS(MessageTable({}), std::logic_error);
  CHECK_THROWS_AS(MessageTable({{2, 1}, {2, 1}}), std::logic_error);
}

TEST_CASE("collective_table: what a ring moves") {
  CHECK(collective_volume(Collective::AllReduce, 4) == 1.5);
  CHECK(collective_volume(Collective::AllGather, 4) == 0.75);
  CHECK(collective_steps(Collective::AllReduce, 4) == 6);
  CHECK(collective_steps(Collective::ReduceScatter, 4) == 3);
}

TEST_CASE("collective_table: a group without a table takes the next smaller one's") {
  CollectiveTables tables;
  CHECK(!tables.at(Collective::AllGather, 4, Bytes(2000)));
  tables.set(Collective::AllGather, 2, kTable);
  tables.set(Collective::AllGather, 8, MessageTable({{1000, 500}}));
  CHECK(!tables.at(Collective::AllReduce, 2, Bytes(2000)));
  CHECK(tables.at(Collective::AllGather, 8, Bytes(1000))->time.count() == 500);
  // 4 GPUs send 3/4 of 2000 bytes each, as 2 GPUs send half of 3000: half way from 60 to 100.
  const auto four = tables.at(Collective::AllGather, 4, Bytes(2000));
  REQUIRE(four);
  CHECK(four->time.count() == doctest::Approx(80));
  CHECK(four->evidence == Evidence::Interpolated);
  // Beyond the largest group nothing was measured.
  CHECK(tables.at(Collective::AllGather, 16, Bytes(1000))->evidence == Evidence::Extrapolated);
  CHECK(tables.at(Collective::AllGather, 16, Bytes(900))->reach.unit == "GPUs");
  CHECK(tables.at(Collective::AllGather, 16, Bytes(900))->reach.factor() == 2);
}

TEST_CASE("collective_table: a second table of a group replaces the first") {
  CollectiveTables tables;
  tables.set(Collective::AllToAll, 2, kTable);
  tables.set(Collective::AllToAll, 2, MessageTable({{1000, 7}}));
  CHECK(tables.at(Collective::AllToAll, 2, Bytes(1000))->time.count() == 7);
}

}  // namespace
}  // namespace vtrain
