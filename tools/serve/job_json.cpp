#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "tools/serve/field_schema.hpp"
#include "tools/serve/jobs.hpp"

namespace vtrain::serve {
namespace {

using nlohmann::ordered_json;

ordered_json typed(std::string_view type, std::string_view description) {
  return {{"type", type}, {"description", description}};
}

ordered_json or_null(std::string_view type, std::string_view description) {
  return {{"type", ordered_json::array({type, "null"})}, {"description", description}};
}

ordered_json list_of(ordered_json items) {
  return {{"type", "array"}, {"items", std::move(items)}};
}

ordered_json object_of(ordered_json properties) {
  return {{"type", "object"}, {"properties", std::move(properties)}};
}

ordered_json quantiles() {
  return object_of({{"p50", or_null("string", "half of the simulations have it by then")},
                    {"p90", or_null("string", "nine in ten have it by then")}});
}

}  // namespace

std::string time_text(UnixTime time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(std::chrono::nanoseconds(time)).count();
  return fmt::format("{:%FT%TZ}", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

std::string end_text(UnixTime time) {
  constexpr UnixTime kAlmostSecond = 999'999'999;
  return time_text(time + kAlmostSecond);
}

ordered_json to_json(const ServedJob& served) {
  const LoggedJob& job = served.job;
  constexpr double kSecond = 1e9;  // divides exactly where its inverse would not multiply so
  return {{"id", std::to_string(job.id)},
          {"name", job.name},
          {"tenant", job.tenant},
          {"model", job.model},
          {"tokens", job.tokens},
          {"iterations", job.iterations},
          {"submitted", time_text(served.submitted)},
          {"deadline", job.deadline_ns > 0 ? ordered_json(time_text(job.deadline_ns)) : ordered_json()},
          {"gpus", job.gpus},
          {"elastic", job.is_elastic()},
          {"state", name_of(served.phase)},
          {"admitted", served.phase != JobPhase::Refused && !served.is_foreign},
          {"promised", served.promised},
          {"reason", served.reason.empty() ? ordered_json() : ordered_json(served.reason)},
          {"run_time_s", static_cast<double>(job.duration_ns) / kSecond},
          {"time_limit_s", job.time_limit_s},
          {"held_gpus", served.held_gpus},
          {"started", served.started ? ordered_json(time_text(*served.started)) : ordered_json()},
          {"ended", served.ended ? ordered_json(end_text(*served.ended)) : ordered_json()},
          {"progress", served.progress},
          {"source", served.is_foreign ? "cluster" : "service"},
          {"external_id", served.external.empty() ? ordered_json() : ordered_json(served.external)}};
}

ordered_json to_json(const ServedNode& node) {
  return {{"name", node.name},
          {"gpu_type", node.gpu_type},
          {"gpus", node.gpus},
          {"state", node_state_names()[static_cast<std::size_t>(node.state)]}};
}

ordered_json to_json(const DriftCounts& drift) {
  const auto by_kind = [](const std::map<DriftKind, std::int64_t>& counts) {
    ordered_json json = ordered_json::object();
    for (std::size_t kind = 0; kind < static_cast<std::size_t>(DriftKind::Seen); ++kind) {
      const auto found = counts.find(static_cast<DriftKind>(kind));
      json[std::string(drift_kind_names()[kind])] = found == counts.end() ? 0 : found->second;
    }
    return json;
  };
  return {{"last", drift.last ? ordered_json(time_text(*drift.last)) : ordered_json()},
          {"differences", by_kind(drift.found)},
          {"total", by_kind(drift.total)}};
}

ordered_json drift_schema() {
  return object_of({{"last", or_null("string", "time of the last comparison")},
                    {"differences", typed("object", "differences that it found, by kind")},
                    {"total", typed("object", "differences since the service began, by kind")}});
}

ordered_json job_schema() {
  ordered_json state = typed("string", "where the job stands");
  state["enum"] = job_phase_names();
  return object_of(
      {{"id", typed("string", "number of the job")},
       {"name", typed("string", "name for people")},
       {"tenant", typed("string", "tenant; empty for none")},
       {"model", typed("string", "model that it trains")},
       {"tokens", typed("number", "tokens that it trains on")},
       {"iterations", typed("integer", "iterations of that")},
       {"submitted", typed("string", "time of its submission")},
       {"deadline", or_null("string", "time by which it must be done")},
       {"gpus", typed("integer", "GPUs that it requests")},
       {"elastic", typed("boolean", "it may hold other numbers of GPUs")},
       {"state", std::move(state)},
       {"admitted", typed("boolean", "false: it was refused")},
       {"promised", typed("boolean", "its deadline was promised")},
       {"reason", or_null("string", "why it was refused")},
       {"earliest_deadline", typed("string", "of a refused job: deadline that could be promised")},
       {"run_time_s", typed("number", "predicted run time on the requested GPUs")},
       {"time_limit_s", typed("integer", "upper end of its 90 % interval, in whole minutes")},
       {"held_gpus", typed("integer", "GPUs that it holds now")},
       {"started", or_null("string", "time of its start")},
       {"ended", or_null("string", "time of its end")},
       {"progress", typed("number", "part of its work that is done")},
       {"source", typed("string", "service, or cluster: it did not come through the service")},
       {"external_id", or_null("string", "its id in the cluster's scheduler")},
       {"forecast", object_of({{"start", or_null("string", "expected start")},
                               {"end", or_null("string", "expected end")},
                               {"in_time", typed("boolean", "expected by its deadline")}})}});
}

ordered_json jobs_schema() {
  return object_of({{"jobs", list_of(job_schema())}, {"next", or_null("string", "cursor of the next page")}});
}

ordered_json node_schema() {
  ordered_json state = typed("string", "its service");
  state["enum"] = node_state_names();
  return object_of({{"name", typed("string", "name of the node")},
                    {"gpu_type", typed("string", "type of its GPUs")},
                    {"gpus", typed("integer", "its GPUs")},
                    {"state", std::move(state)}});
}

ordered_json cluster_schema() {
  const ordered_json number = {{"type", "integer"}};
  const ordered_json text = {{"type", "string"}};
  return object_of(
      {{"now", text},
       {"policy", text},
       {"placement", text},
       {"gpus", number},
       {"gpus_in_use", number},
       {"gpus_out_of_service", number},
       {"nodes", list_of(node_schema())},
       {"jobs", object_of({{"running", number}, {"waiting", number}})},
       {"promises",
        object_of({{"open", number}, {"kept", number}, {"broken", number}, {"at_risk", list_of(text)}})},
       {"gpus_over_time", list_of(object_of({{"time", text}, {"planned_gpus", number}}))},
       {"drift", drift_schema()}});
}

ordered_json eta_schema() {
  return object_of({{"jobs", list_of(object_of({{"id", typed("string", "number of the job")},
                                                {"name", typed("string", "name for people")},
                                                {"state", typed("string", "where the job stands")},
                                                {"start", quantiles()},
                                                {"end", quantiles()}}))}});
}

}  // namespace vtrain::serve
