#include "traces/trace_format.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

using vtrain::parse_trace;
using vtrain::trace_formats;

namespace {

constexpr std::string_view kExamples[][2] = {
    {"vtrain", "job_id,submit_s,num_gpus,duration_s\na,0,1,5\n"},
    {"tiresias",
     "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n0,1,0,606,vgg19,164,30\n"},
    {"batsim",
     "\n{\"jobs\":[{\"id\":\"0\",\"subtime\":0,\"res\":1,\"profile\":\"p\"}],\"profiles\":{\"p\":{\"type\":"
     "\"delay\","
     "\"delay\":3}}}"},
    {"itp", "job_id,submission_time,duration,num_gpu\na,0,5,1\n"},
    {"philly",
     "job_idx,vc,submit_time_s,submit_local,num_gpus,duration_s,source\n0,6214e9,0,2017-08-14 "
     "23:27:00,1,3613015,pcs\n"},
};

}  // namespace

TEST_CASE("trace_format: every format is recognised by its content, and by no other") {
  CHECK(trace_formats().size() == std::size(kExamples));
  for (const auto& [name, text] : kExamples) {
    const auto trace = parse_trace(text, "f");
    CAPTURE(name);
    REQUIRE(trace.has_value());
    CHECK(trace->format == name);
    CHECK(trace->workload.jobs.size() == 1);
    for (const vtrain::TraceFormat& format : trace_formats()) {
      CHECK(format.recognise(text) == (format.name == name));
    }
  }
}

TEST_CASE("trace_format: variants of Tiresias' columns in other units are not taken for it") {
  const auto muri = parse_trace(
      "job_id,num_gpu,submit_time,iterations,model_name,batch_size,duration\n0,1,0,5,dqn,128,9\n", "f");
  REQUIRE_FALSE(muri.has_value());
  CHECK(
      muri.error().describe().starts_with("f:1: expected a trace in one of the formats 'vtrain', 'tiresias', "
                                          "'batsim', 'itp' and 'philly', found 'job_id,"));
}

TEST_CASE("trace_format: an unknown format is answered with the nearest known one") {
  const auto trace = parse_trace("", "f", "phily");
  REQUIRE_FALSE(trace.has_value());
  CHECK(trace.error().message == "unknown trace format 'phily'; did you mean 'philly'?");
}

TEST_CASE("trace_format: binary junk and a truncated gzip file are errors that can be printed") {
  const auto junk = parse_trace(std::string_view("\x7f"
                                                 "ELF\x02\x01\x01\x00\x00\n\x00",
                                                 11),
                                "f");
  REQUIRE_FALSE(junk.has_value());
  CHECK(junk.error().describe().ends_with("found '\\x7fELF\\x02\\x01\\x01\\x00\\x00'"));

  const std::filesystem::path path = std::filesystem::temp_directory_path() / "vtrain_truncated_test.csv.gz";
  std::ofstream(path, std::ios::binary)
      << std::string_view("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb", 11);
  const auto truncated = vtrain::read_trace(path.string());
  REQUIRE_FALSE(truncated.has_value());
  CHECK(truncated.error().message == "truncated gzip data");
  std::filesystem::remove(path);

  const auto absent = vtrain::read_trace("/nowhere/jobs.csv");
  REQUIRE_FALSE(absent.has_value());
  CHECK(absent.error().kind == vtrain::ErrorKind::NotFound);
}

TEST_CASE("trace_format: only formats with a writer are found for writing") {
  const auto csv = vtrain::find_written_format("vtrain");
  REQUIRE(csv.has_value());
  CHECK((*csv)->name == "vtrain");
  const auto unknown = vtrain::find_written_format("vtrian");
  REQUIRE_FALSE(unknown.has_value());
  CHECK(unknown.error().describe() == "format: unknown trace format 'vtrian'; did you mean 'vtrain'?");
  CHECK_FALSE(vtrain::find_written_format("itp").has_value());
}
