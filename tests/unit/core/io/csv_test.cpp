#include "core/io/csv.hpp"

#include <string>

#include <doctest/doctest.h>

namespace vtrain {
namespace {

TEST_CASE("csv: header, rows, line numbers") {
  auto reader = CsvReader::open("\xef\xbb\xbfid, gpus \r\n1,8\r\n\r\n2,16", "jobs.csv");
  REQUIRE(reader);
  CHECK(reader->columns() == std::vector<std::string>{"id", "gpus"});
  CHECK(reader->find_column("gpus") == 1);
  CHECK(reader->find_column("nodes") == -1);
  REQUIRE(reader->next().value());
  CHECK(reader->line() == 2);
  CHECK(reader->field(1) == "8");
  REQUIRE(reader->next().value());
  CHECK(reader->line() == 4);  // the blank line counts, but is no row
  CHECK(reader->integer(1, 1, 100).value() == 16);
  CHECK(!reader->next().value());
  CHECK(!reader->next().value());
}

TEST_CASE("csv: lines of blanks are no rows, blanks in quotes are") {
  auto reader = CsvReader::open("  \na\n \t\n1\n  \r\n\"  \"\n   ", "f.csv");
  REQUIRE(reader);
  REQUIRE(reader->next().value());
  CHECK(reader->field(0) == "1");
  CHECK(reader->line() == 4);
  REQUIRE(reader->next().value());
  CHECK(reader->field(0) == "  ");
  CHECK_FALSE(reader->next().value());
}

TEST_CASE("csv: quoted fields") {
  auto reader = CsvReader::open("a,b,c\n\"x,y\",\"he said \"\"no\"\"\",\n\"\",2,\"3\"\n", "f");
  REQUIRE(reader);
  REQUIRE(reader->next().value());
  CHECK(reader->field(0) == "x,y");
  CHECK(reader->field(1) == "he said \"no\"");
  CHECK(reader->field(2).empty());
  REQUIRE(reader->next().value());
  CHECK(reader->field(0).empty());
  CHECK(reader->field(2) == "3");
}

TEST_CASE("csv: malformed rows name their line") {
  const auto error_of = [](const std::string& text) {
    auto reader = CsvReader::open(text, "jobs.csv");
    REQUIRE(reader);
    for (;;) {
      const auto row = reader->next();
      if (!row) return row.error();
      REQUIRE(*row);
    }
  };
  CHECK(error_of("a,b\n1\n").describe() == "jobs.csv:2: expected 2 columns, found 1");
  CHECK(error_of("a,b\n1,2\n1,2,3\n").line == 3);
  CHECK(error_of("a,b\n\"1,2\n").message.find("not closed") != std::string::npos);
  CHECK(error_of("a,b\n\"1\"x,2\n").message.find("closing quote") != std::string::npos);
  CHECK(error_of("a\n" + std::string(CsvReader::kMaxLine + 1, 'x')).line == 2);
  CHECK(!CsvReader::open("", "f"));
  CHECK(!CsvReader::open("\n\n", "f"));
}

TEST_CASE("csv: errors of the header stand at its line, behind comments") {
  const auto twice = CsvReader::open("# made up\n\nid, gpus ,gpus\n1,2,3\n", "jobs.csv");
  REQUIRE_FALSE(twice.has_value());
  CHECK(twice.error().describe() == "jobs.csv:3: gpus: the header has this column twice");
  CHECK(CsvReader::open_any_header("id,gpus,gpus\n", "jobs.csv").has_value());
  // Columns of row numbers and the like, which nobody reads by name.
  CHECK(CsvReader::open(",id,\n1,2,3\n", "jobs.csv").has_value());
  const auto reader = CsvReader::open("# made up\nid\n", "jobs.csv");
  REQUIRE(reader);
  CHECK(reader->require_column("gpus").error().describe() ==
        "jobs.csv:2: gpus: column missing; the header has 'id'");
}

TEST_CASE("csv: a missing column and a bad value name what was expected") {
  auto reader = CsvReader::open("id,gpus\n1,1.5\n", "jobs.csv");
  REQUIRE(reader);
  const auto column = reader->require_column("nodes");
  REQUIRE(!column);
  CHECK(column.error().message.find("'id' and 'gpus'") != std::string::npos);
  REQUIRE(reader->next().value());
  const auto gpus = reader->integer(1, 1, 1000);
  REQUIRE(!gpus);
  CHECK(gpus.error().describe() == "jobs.csv:2: gpus: expected a whole number from 1 to 1000, found '1.5'");
  CHECK(reader->number(1, 0, 2).value() == 1.5);
}

}  // namespace
}  // namespace vtrain

TEST_CASE("csv: text without a header has the columns that are given, and may begin with just these") {
  constexpr std::string_view kColumns[] = {"a", "b"};
  for (const std::string text : {"1,2\n3,4\n", "a,b\n1,2\n3,4",
                                 "\xef\xbb\xbf"
                                 "1,2\r\n3,4\r\n",
                                 "# x\na,b\n1,2\n3,4"}) {
    CAPTURE(text);
    vtrain::CsvReader rows = vtrain::CsvReader::open_without_header(text, "f", kColumns);
    CHECK(rows.find_column("b") == 1);
    REQUIRE(*rows.next());
    CHECK(rows.field(0) == "1");
    REQUIRE(*rows.next());
    CHECK(rows.field(1) == "4");
    CHECK_FALSE(*rows.next());
  }
  vtrain::CsvReader other = vtrain::CsvReader::open_without_header("b,a\n", "f", kColumns);
  REQUIRE(*other.next());
  CHECK(other.field(0) == "b");
  CHECK(other.line() == 1);
  vtrain::CsvReader empty = vtrain::CsvReader::open_without_header("", "f", kColumns);
  CHECK_FALSE(*empty.next());
}

TEST_CASE("csv: no more rows than lines, or than fields fit") {
  CHECK(vtrain::most_csv_rows("a,b\n1,2\n3,4", 2) == 3);
  CHECK(vtrain::most_csv_rows("\n\n\n\n\n\n\n\n", 2) == 3);  // 8 bytes hold two rows of `x,y\n`
}
