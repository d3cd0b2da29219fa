#include "tools/serve/served_job.hpp"

#include <array>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/io/json_reader.hpp"

namespace vtrain::serve {
namespace {

constexpr std::array<std::string_view, 6> kPhaseNames = {"waiting", "running",   "completed",
                                                         "failed",  "cancelled", "refused"};

}  // namespace

std::span<const std::string_view> job_phase_names() {
  return kPhaseNames;
}

std::string_view name_of(JobPhase phase) {
  return kPhaseNames[static_cast<std::size_t>(phase)];
}

nlohmann::ordered_json to_kept_json(const ServedJob& job) {
  nlohmann::ordered_json json = {{"job", to_json(job.job)},     {"submitted", job.submitted},
                                 {"phase", name_of(job.phase)}, {"promised", job.promised},
                                 {"reason", job.reason},        {"progress", job.progress}};
  if (job.report.fraction > 0)
    json["report"] = {{"fraction", job.report.fraction}, {"part", job.report.part}};
  if (!job.external.empty()) json["external"] = job.external;
  if (job.is_foreign) json["foreign"] = true;
  if (job.started) json["started"] = *job.started;
  if (job.ended) json["ended"] = *job.ended;
  return json;
}

Result<ServedJob> served_job_from(const JsonDocument& document, const nlohmann::json& object) {
  JsonFields fields(document, object);
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  ServedJob job;
  job.submitted = fields.integer("submitted", 0, kMost);
  job.phase = static_cast<JobPhase>(fields.choice_or("phase", kPhaseNames, 0));
  job.promised = fields.boolean_or("promised", false);
  job.reason = fields.string_or("reason", "");
  job.progress = fields.number_or("progress", 0, 1, 0);
  if (fields.has("report")) {
    JsonFields report(document, object["report"]);
    job.report = {.fraction = report.number("fraction", 0, 1), .part = report.number("part", 0, 1)};
    if (report.error()) return fail(*report.error());
  }
  job.external = fields.string_or("external", "");
  job.is_foreign = fields.boolean_or("foreign", false);
  if (fields.has("started")) job.started = fields.integer("started", 0, kMost);
  if (fields.has("ended")) job.ended = fields.integer("ended", 0, kMost);
  if (!fields.has("job")) fields.complain("job", "missing");
  if (fields.error()) return fail(*fields.error());
  auto logged = logged_job_from(document, object["job"]);
  if (!logged) return fail(std::move(logged.error()));
  job.job = *std::move(logged);
  return job;
}

}  // namespace vtrain::serve
