#include "profiler/arguments.hpp"

#include <doctest/doctest.h>

#include "profiler/error.hpp"

namespace vtrain::profiler {
namespace {

TEST_CASE("arguments: values after a blank or an equals sign, flags without") {
  RecordArguments arguments;
  const ArgumentParser parser = record_parser("p", arguments);
  CHECK(parser.parse({"--out", "dir", "--hidden=4096:32,1024", "--precision", "bf16,fp8", "--dry-run",
                      "--tensor=1", "--time-limit", "450", "--only=operators", "--bytes", "8:64"}));
  CHECK(arguments.folder == "dir");
  REQUIRE(arguments.grid.widths.size() == 2);
  CHECK(arguments.grid.widths[0].heads == 32);
  CHECK(arguments.grid.widths[1].heads == 0);
  CHECK(arguments.grid.formats == std::vector{Format::Bf16, Format::Fp8});
  CHECK(arguments.dry_run);
  CHECK(!arguments.collectives);
  CHECK(arguments.time_limit_s == 450);
  CHECK(arguments.sweep.most_bytes == 64);
  CHECK(!parser.parse({"--help"}));
  CHECK(parser.help().find("--micro-batch LIST") != std::string::npos);
}

/// The error of a command line.
std::string refusal(const std::vector<std::string>& line) {
  RecordArguments arguments;
  try {
    record_parser("p", arguments).parse(line);
    check(arguments);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST_CASE("arguments: mistakes are named") {
  CHECK(refusal({"--hiden", "1"}) == "unknown option '--hiden'; did you mean '--hidden'?");
  CHECK(refusal({"--hidden"}) == "--hidden: expected LIST after it");
  CHECK(refusal({"--dry-run=1"}) == "--dry-run: expected no value, found '1'");
  CHECK(refusal({"--tensor", "1,x"}) == "--tensor: expected a whole number of at least 1, found 'x'");
  CHECK(refusal({"--tensor", "1,,2"}) == "--tensor: expected a value between the separators, found ',2'");
  CHECK(refusal({"--time-limit", "-1"}) == "--time-limit: expected a number above 0, found '-1'");
  CHECK(refusal({"--precision", "int8"}) == "precision: expected bf16, fp16 or fp8, found 'int8'");
  CHECK(refusal({"--bytes", "8:4"}) == "--bytes: expected a whole number of at least 8, found '4'");
  CHECK(refusal({"--out", "d", "--hidden", "1099511627776"}) ==
        "--hidden: expected at most 1048576, found '1099511627776'");
  CHECK(refusal({"--out", "d", "--sequence", "2097152", "--micro-batch", "2"}) ==
        "--micro-batch: expected at most 1, found '2'");
  CHECK(refusal({"--hidden", "1024"}) == "--out: expected a folder for the table");
  CHECK(refusal({"--dry-run"}) == "accepted");
}

}  // namespace
}  // namespace vtrain::profiler
