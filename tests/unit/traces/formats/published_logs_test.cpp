// Known answers for recorded logs: the counts that come with the published files, and the sample lines of the
// description of formats for files that are not there.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "core/io/input.hpp"
#include "tests/support/shared_data.hpp"
#include "tests/support/tar_archive.hpp"
#include "traces/editing/statistics.hpp"
#include "traces/formats/formats.hpp"
#include "traces/trace_format.hpp"

using std::chrono::seconds;
using vtrain::have;
using vtrain::Job;
using vtrain::JobStatus;
using vtrain::parse_trace;
using vtrain::read_trace;
using vtrain::Trace;

namespace {

const std::filesystem::path kTraces = std::filesystem::path(VTRAIN_SHARED_DIR) / "data/traces";

Trace read(const std::filesystem::path& path) {
  auto trace = read_trace(path.string());
  REQUIRE_MESSAGE(trace.has_value(), trace.error().describe());
  return *std::move(trace);
}

/// Fields of a job that two lists of the same jobs share.
using JobFacts = std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t>;

/// Tenant, submission, GPUs and duration of all jobs, sorted; seconds. `shift` is added to the submissions.
std::vector<JobFacts> facts(const Trace& trace, const std::string& tenant, seconds shift) {
  std::vector<JobFacts> all;
  for (const Job& job : trace.workload.jobs) {
    const std::string name = job.tenant ? trace.workload.tenants[job.tenant.value] : tenant;
    all.emplace_back(name, (job.submit.time_since_epoch() + shift) / seconds(1), job.num_gpus.value,
                     job.duration / seconds(1));
  }
  std::sort(all.begin(), all.end());
  return all;
}

/// The section of the description of formats that begins with `from`.
std::string section(const std::string& formats, const std::string& from) {
  const std::size_t first = formats.find("\n" + from);
  REQUIRE_MESSAGE(first != std::string::npos, from);
  return formats.substr(first, formats.find("\n#", first + 2) - first);
}

/// The lines between the first two fences of a section.
std::string sample(const std::string& section_text) {
  const std::size_t open = section_text.find("\n```\n");
  REQUIRE(open != std::string::npos);
  return section_text.substr(open + 5, section_text.find("\n```", open + 5) - open - 4);
}

/// Text in back quotes after `label`.
std::string quoted(const std::string& text, const std::string& label) {
  const std::size_t at = text.find(label);
  REQUIRE_MESSAGE(at != std::string::npos, label);
  const std::size_t open = text.find('`', at);
  return text.substr(open + 1, text.find('`', open + 1) - open - 1);
}

Trace parse(const std::string& text, std::string_view format) {
  auto trace = parse_trace(text, "sample");
  REQUIRE_MESSAGE(trace.has_value(), trace.error().describe());
  CHECK(trace->format == format);
  return *std::move(trace);
}

}  // namespace

TEST_CASE("published logs: Pollux' list of Philly has every row, and the instants of the rebuilt list") {
  const auto pollux_path = kTraces / "philly/philly_pollux.csv.gz";
  const auto rebuilt_path = kTraces / "philly/philly_reconstructed.csv.gz";
  if (!have(pollux_path) || !have(rebuilt_path)) return;
  const Trace pollux = read(pollux_path);
  CHECK(pollux.format == "pollux");
  CHECK(pollux.workload.jobs.size() == 82'247);
  CHECK(pollux.skipped.total() == 0);
  CHECK(pollux.assumptions[0] == "time 0 is the first submission, 2017-09-04 17:30:41 UTC");
  // The rebuilt list begins on 2017-08-14 at 23:27:00 on the clocks of the place, Pollux' on 2017-09-04 at
  // 10:30:41, both in summer. Every job of Pollux' list is in the rebuilt one at its place, before and after
  // the end of summer time.
  constexpr seconds kFromFirstToFirst =
      std::chrono::days(20) + std::chrono::hours(11) + std::chrono::minutes(3) + seconds(41);
  const auto all = facts(read(rebuilt_path), "", seconds(0));
  const auto derived = facts(pollux, "", kFromFirstToFirst);
  CHECK(std::includes(all.begin(), all.end(), derived.begin(), derived.end()));
}

TEST_CASE("published logs: PCS' lists of Philly have the run times of the rebuilt list") {
  const auto archive = kTraces / "philly/pcs_traces_raw.tar.gz";
  const auto rebuilt_path = kTraces / "philly/philly_reconstructed.csv.gz";
  if (!have(archive) || !have(rebuilt_path)) return;
  const auto all = facts(read(rebuilt_path), "", seconds(0));
  std::size_t num_jobs = 0;
  for (const auto& file : vtrain::read_tar_gz(archive)) {
    const std::string& name = file.first;
    const std::string& text = file.second;
    CAPTURE(name);
    const std::string tenant = name.substr(name.find("trace_") + 6, 6);
    const auto trace = parse_trace(text, name);
    REQUIRE_MESSAGE(trace.has_value(), trace.error().describe());
    CHECK(trace->format == "pcs");
    CHECK(trace->skipped.total() == 0);
    num_jobs += trace->workload.jobs.size();
    // Times count from the tenant's first job.
    const auto first = std::lower_bound(all.begin(), all.end(), JobFacts(tenant, 0, 0, 0));
    const auto jobs = facts(*trace, tenant, seconds(std::get<1>(*first)));
    CHECK(std::includes(all.begin(), all.end(), jobs.begin(), jobs.end()));
  }
  CHECK(num_jobs == 109'532);
}

TEST_CASE("published logs: the openb pods have the counts of their README") {
  const auto folder = kTraces / "alibaba-openb-2023";
  if (!have(folder)) return;
  for (const std::string name : {"default", "gpuspec33"}) {
    const Trace trace = read(folder / ("openb_pod_list_" + name + ".csv.gz"));
    CHECK(trace.format == "openb");
    const auto reasons = trace.skipped.reasons();
    REQUIRE(reasons.size() == 2);
    std::map<std::string_view, std::int64_t> skipped;
    for (const auto& reason : reasons)
      skipped[reason.text] = reason.count;
    CHECK(skipped["no GPU requested"] == 1088);
    // 36 of the 897 pending pods ask for no GPU.
    CHECK(skipped["never started"] == 897 - 36);
    CHECK(trace.workload.jobs.size() + static_cast<std::size_t>(trace.skipped.total()) == 8152);
    std::map<JobStatus, int> by_status;
    int shared = 0;
    int typed = 0;
    for (const Job& job : trace.workload.jobs) {
      ++by_status[job.status];
      shared += job.gpu_share < 1000 ? 1 : 0;
      typed += job.gpu_type ? 1 : 0;
    }
    // 1,044 pods without GPU run, 7 succeeded, 1 failed.
    CHECK(by_status[JobStatus::Running] == 5193 - 1044);
    CHECK(by_status[JobStatus::Completed] == 192 - 7);
    CHECK(by_status[JobStatus::Failed] == 1870 - 1);
    // Of 3,078 pods on a part of a GPU, 505 were never started (counted with a separate script).
    CHECK(shared == 3078 - 505);
    CHECK((typed > 0) == (name == "gpuspec33"));
    CHECK(trace.workload.tenants.size() == 4);
    CHECK(trace.workload.jobs.front().submit == vtrain::SimTime());
    // Over the 6,203 pods that ran, by nearest rank, counted with a separate script.
    const vtrain::TraceStatistics statistics = vtrain::trace_statistics(trace.workload);
    CHECK(statistics.duration.percentiles[2] == seconds(655));
    CHECK(statistics.duration.percentiles[4] == seconds(7389));
    CHECK(statistics.duration.percentiles[6] == seconds(147'608));
    CHECK(statistics.by_num_gpus.at(2).jobs == 15);
    CHECK(statistics.by_num_gpus.at(8).jobs == 44);
  }
  const auto sizes_only = read_trace((folder / "openb_pod_list_multigpu20.csv.gz").string());
  REQUIRE_FALSE(sizes_only.has_value());
  CHECK(sizes_only.error().message.starts_with("expected the columns creation_time, scheduled_time and"));
}

TEST_CASE("published logs: the sample lines of the description of formats") {
  if (!have(kTraces / "FORMATS.md")) return;
  const std::string formats = *vtrain::read_file(kTraces / "FORMATS.md", vtrain::InputKind::Trace);

  const Trace philly = parse("[" + sample(section(formats, "## 1. Philly")) + "]", "philly-log");
  REQUIRE(philly.workload.jobs.size() == 1);
  CHECK(philly.workload.jobs[0].name == "application_1506638472019_14199");
  CHECK(philly.workload.jobs[0].num_gpus.value == 8);
  CHECK(philly.workload.jobs[0].duration == seconds(74));                           // 01:12:09 to 01:13:23
  CHECK(philly.workload.jobs[0].original_start.time_since_epoch() == seconds(30));  // from 01:11:39
  CHECK(philly.workload.jobs[0].status == JobStatus::Completed);

  const Trace pollux = parse(sample(section(formats, "### 1b.")), "pollux");
  REQUIRE(pollux.workload.jobs.size() == 2);
  CHECK(pollux.workload.jobs[0].duration == seconds(2951));
  CHECK(pollux.workload.jobs[1].submit.time_since_epoch() == seconds(2932));  // 06:13:03 to 07:01:55

  const Trace pcs = parse(sample(section(formats, "### 1c.")), "pcs");
  REQUIRE(pcs.workload.jobs.size() == 2);
  CHECK(pcs.workload.jobs[0].duration == seconds(3'613'015));
  CHECK(pcs.workload.jobs[1].duration == seconds(3'879'832));

  const std::string helios_section = section(formats, "## 2. Helios");
  const Trace helios = parse(quoted(helios_section, "Header: ") + "\n" + sample(helios_section), "helios");
  REQUIRE(helios.workload.jobs.size() == 3);
  CHECK(helios.workload.jobs[0].duration == seconds(36'848));
  CHECK(helios.workload.jobs[1].duration == seconds(249));
  CHECK(helios.workload.jobs[2].duration == seconds(675'233));
  CHECK(helios.workload.jobs[1].submit.time_since_epoch() == seconds(26));
  CHECK(helios.workload.jobs[2].status == JobStatus::Cancelled);
  CHECK(helios.workload.tenants.size() == 3);

  const std::string acme_section = section(formats, "## 3. Acme");
  const std::string acme_lines = sample(acme_section);
  const std::size_t kalos_from = acme_lines.find("dlc");
  const Trace seren =
      parse(quoted(acme_section, "Seren header: ") + "\n" + acme_lines.substr(0, kalos_from), "acme");
  REQUIRE(seren.workload.jobs.size() == 2);
  CHECK(seren.workload.jobs[0].duration == seconds(117));
  CHECK(seren.workload.jobs[1].duration == seconds(2693));
  const Trace kalos =
      parse(quoted(acme_section, "Kalos header: ") + "\n" + acme_lines.substr(kalos_from), "acme");
  REQUIRE(kalos.workload.jobs.size() == 2);
  CHECK(kalos.workload.jobs[0].duration == seconds(8));
  CHECK(kalos.workload.jobs[0].original_start.time_since_epoch() == seconds(10));
  CHECK(kalos.workload.jobs[1].duration == seconds(70));

  const Trace openb = parse(sample(section(formats, "## 4. Alibaba openb")), "openb");
  REQUIRE(openb.workload.jobs.size() == 2);
  CHECK(openb.workload.gpu_types[openb.workload.jobs[1].gpu_type.value] == "V100M16|V100M32");
  CHECK(openb.skipped.total() == 1);

  const std::string spot_section = section(formats, "### 5b.");
  std::string spot_line = quoted(spot_section, "README line: ");
  const Trace spot = parse(
      quoted(spot_section, "(not available; node table is, research-only terms)") + "\n" + spot_line + "\n",
      "spot-gpu");
  CHECK(spot.workload.jobs[0].num_gpus.value == 16);
  CHECK(spot.workload.jobs[0].duration == seconds(41'060));

  // The task and the job are of different jobs: the task's name is put in the job's place.
  const std::string pai_section = section(formats, "## 5. Alibaba PAI");
  const std::string task = quoted(pai_section, "Sample values (README): task");
  std::string job = quoted(pai_section, "\njob `");
  CHECK(std::any_of(vtrain::trace_formats().begin(), vtrain::trace_formats().end(),
                    [&](const auto& format) { return format.name == "pai" && format.recognise(job); }));
  job = task.substr(0, task.find(',')) + job.substr(job.find(','));
  const auto pai = vtrain::join_pai_tables({.text = job, .file = "job"}, {.text = task, .file = "task"},
                                           {.text = {}, .file = {}});
  REQUIRE_MESSAGE(pai.has_value(), pai.error().describe());
  CHECK(pai->workload.jobs[0].gpu_share == 500);
  CHECK(pai->workload.jobs[0].status == JobStatus::Completed);
  CHECK(pai->workload.jobs[0].submit.time_since_epoch() == seconds(4'550'879));
  CHECK(pai->workload.jobs[0].duration == seconds(4'551'416 - 1'739'162));
}
