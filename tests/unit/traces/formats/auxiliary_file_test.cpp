#include "traces/formats/auxiliary_file.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <utility>

#include "core/io/input.hpp"
#include "tests/support/packed.hpp"
#include "tests/support/shared_data.hpp"
#include "tests/support/trace_examples.hpp"
#include "traces/trace_format.hpp"

using vtrain::have;
using vtrain::recognise_auxiliary_file;

namespace {

std::string member(const std::string& content) {
  return vtrain::testing::tar_member("a.csv", content);
}

}  // namespace

TEST_CASE("auxiliary_file: a table is told by its columns, and its rows are counted") {
  const auto series = recognise_auxiliary_file("time,active,total\r\n2017-10-03 00:00:00,3,4\r\nx,,\n");
  REQUIRE(series.has_value());
  CHECK(series->what == "nodes in use over time (Philly)");
  CHECK(series->unit == "rows");
  CHECK(series->count == 2);
  const auto histogram = recognise_auxiliary_file("model,total_gpu,jobs\na,8,10\nb,0,5\n");
  REQUIRE(histogram.has_value());
  CHECK(histogram->count == 2);
  CHECK(histogram->num_jobs == 15);
  const auto more = recognise_auxiliary_file("id,job_num,cpu_job_num,gpu_job_num,other\na,1,2,3,4\n");
  REQUIRE(more.has_value());
  CHECK(more->what == "summary of clusters (Acme)");
  CHECK(recognise_auxiliary_file("job_name,inst_id,user,status,start_time,end_time")->count == 0);
}

TEST_CASE("auxiliary_file: archives and throughputs") {
  const auto archive = recognise_auxiliary_file(member("job_id\n") + member(std::string(600, 'x')) +
                                                member("") + std::string(1024, '\0'));
  REQUIRE(archive.has_value());
  CHECK(archive->what == "a tar archive: unpack it and name the files in it");
  CHECK(archive->count == 3);
  // A size beyond the end of the text, and one that is no number.
  CHECK(recognise_auxiliary_file(member(std::string(600, 'x')).substr(0, 700))->count == 1);
  std::string bad = member("x");
  bad.replace(124, 11, "zzzzzzzzzzz");
  CHECK_FALSE(recognise_auxiliary_file(bad).has_value());
  // GNU writes the size of a member beyond 8 GiB in base 256; with its checksum it is a header all the same.
  std::string large = member("");
  large.replace(124, 12, std::string("\x80\0\0\0\0\0\0\3\0\0\0\0", 12));
  CHECK_FALSE(recognise_auxiliary_file(large).has_value());
  large = vtrain::testing::with_tar_checksum(large);
  CHECK(recognise_auxiliary_file(large)->count == 1);
}

TEST_CASE("auxiliary_file: text with the letters of an archive is none") {
  // Type, size and checksum must fit, too.
  const std::string archive = member("x");
  for (const auto& change :
       {std::pair{std::size_t{156}, "?"}, {std::size_t{124}, "9"}, {std::size_t{148}, "7"}}) {
    std::string changed = archive;
    changed.replace(change.first, 1, change.second);
    CAPTURE(change.first);
    CHECK(vtrain::describe_other_file(changed).empty());
  }
  CHECK_FALSE(vtrain::describe_other_file(archive).empty());
  CHECK_FALSE(vtrain::describe_other_file("<!doctype HTML><html>").empty());
  CHECK(vtrain::describe_other_file("<!DOCTYPE,job_id\n").empty());
}

TEST_CASE("auxiliary_file: what is given for a trace is named in the error") {
  const auto error_of = [](const std::string& text) {
    const auto trace = vtrain::parse_trace(text, "f");
    return trace ? "no error" : trace.error().describe();
  };
  CHECK(error_of(" \n") == "f: empty: expected a trace");
  CHECK(error_of(member("x")) == "f: a tar archive: unpack it and name the files in it");
  CHECK(error_of("{\"jobs\": [{\"account\": \"a\", \"job_id\": 1}], \"meta\": {}}")
            .starts_with("f: JSON of sacct, which is not read; export with sacct -a -X -P -S now-30days -E "
                         "now -o JobIDRaw,"));
  CHECK(vtrain::describe_other_file("{\"jobs\": [{\"id\": \"job_id\", \"subtime\": 0}]}").empty());
  for (const auto& [name, example] : vtrain::kTraceExamples)
    CHECK(vtrain::describe_other_file(example).empty());
}

TEST_CASE("auxiliary_file: anything else is nothing") {
  for (const char* const text : {"", "time,active\n1,2\n", "time,active,total,more\n", "{", "{}", "# text\n",
                                 "model,total_gpu,jobs\na,8,x\n", "model,total_gpu,jobs\na,8\n"}) {
    CAPTURE(text);
    CHECK_FALSE(recognise_auxiliary_file(text).has_value());
  }
}

TEST_CASE("auxiliary_file: the published files have the counts that are known of them") {
  const std::filesystem::path traces = std::filesystem::path(VTRAIN_SHARED_DIR) / "data/traces";
  if (!have(traces)) return;
  struct Case {
    const char* path;
    std::int64_t count;
    std::int64_t num_jobs;
  };
  for (const Case& known : {Case{"helios/earth_vc_sequence/vc3sl.csv.gz", 44'640, 0},
                            {"philly/philly_node_sequence.csv.gz", 105'644, 0},
                            {"acme/cluster_summary.csv", 5, 0},
                            {"alibaba-lingjun-2023/topo.csv.gz", 847, 0},
                            {"alibaba-lingjun-2023/model_gpu_histogram.csv", -1, 1045},
                            {"alibaba-openb-2023/openb_pod_list_multigpu20.csv.gz", 8324, 0},
                            {"alibaba-openb-2023/openb_pod_list_multigpu50.csv.gz", 9061, 0},
                            {"alibaba-pai-2020/pai_task_table.header", 0, 0},
                            {"elasticflow/elasticflow-traces.tar.gz", 12, 0},
                            {"philly/pcs_traces_raw.tar.gz", 12, 0},
                            {"gavel/simulation_throughputs.json.gz", -1, 0}}) {
    CAPTURE(known.path);
    const auto text = vtrain::read_file(traces / known.path, vtrain::InputKind::Trace);
    REQUIRE(text.has_value());
    const auto file = recognise_auxiliary_file(*text);
    REQUIRE(file.has_value());
    if (known.count >= 0) CHECK(file->count == known.count);
    CHECK(file->num_jobs == known.num_jobs);
  }
}
