/// Lists of jobs that others derived from the published log of Microsoft's Philly cluster.
///
/// Pollux: `philly.csv` (Qiao et al., OSDI'21), which ElasticFlow and Sia use as well. Kept of a job:
/// `timestamp` (the submission, local time of the US west coast), `duration` (the sum over all attempts),
/// `num_gpus`, `cluster` (the virtual cluster, which becomes the tenant). The list has no job ids: the row's
/// number, from 0, is the id. Equal rows are different jobs.
///
/// PCS: `trace_<vc>.csv`, the jobs of one virtual cluster (Faisal et al., OSDI'24). The lists state work, not
/// time: `service` is the run time multiplied by the speedup of a model that PCS drew at random. The reader
/// divides by that speedup, and the result is whole seconds. Kept of a job: `app_id`, `submit_time` (seconds
/// since the virtual cluster's first job), the run time, `num_jobs` (GPUs), `model_name` (random).
///
/// Neither has a GPU type, user, deadline, requested time, status, original start or iterations; Pollux has
/// no model, PCS no tenant.
///
/// Skipped: rows without submission time, GPU or run time. Also skipped are PCS jobs with a model or a number
/// of GPUs that is not in the published lists, because their speedup is unknown.
#include "traces/formats/formats.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>

#include "traces/reading/log_rows.hpp"

namespace vtrain {
namespace {

RowReader bind_pollux(ColumnFinder& columns, const TimeZone& zone) {
  const int timestamp = columns.required("timestamp");
  const int duration = columns.required("duration");
  const int gpus = columns.required("num_gpus");
  const int cluster = columns.required("cluster");
  return [=, &zone, number = 0, name = std::string()](LogRow& row, Job& job) mutable {
    name = std::to_string(number++);
    job.name = name;
    job.num_gpus = row.num_gpus(gpus);
    job.submit = row.local_time(timestamp, zone, skip::kNoSubmission);
    job.duration = row.duration(duration);
    row.tenant(cluster, job.tenant);
  };
}

/// Speedup of a model on a number of GPUs over one GPU.
struct Speedup {
  std::string_view model;
  std::int64_t num_gpus;
  double factor;
};

/// The factors that PCS applied: `service` of its published lists (abdullahfsm/PCS, simulation/traces)
/// divided by the job's run time in Pollux' list of the same cluster. There is one factor for each model and
/// number of GPUs. On one GPU it is 1 for every model.
constexpr std::array kSpeedups = std::to_array<Speedup>({
    {"ChatbotModel256", 2, 1.428888363},         {"ChatbotModel256", 4, 1.726072359},
    {"DcganModel256", 2, 1.812771564},           {"DcganModel256", 4, 3.159869586},
    {"DcganModel256", 8, 4.691368498},           {"DcganModel256", 12, 5.075603786},
    {"DcganModel256", 16, 5.877727528},          {"DeepspeechModel64", 2, 1.490711229},
    {"DeepspeechModel64", 4, 1.740041387},       {"DeepspeechModel64", 8, 1.825727535},
    {"DeepspeechModel64", 12, 1.856620709},      {"DeepspeechModel64", 16, 1.959049612},
    {"GooglenetModel128", 2, 1.854066474},       {"GooglenetModel128", 4, 3.267691322},
    {"GooglenetModel128", 8, 5.602706325},       {"GooglenetModel128", 12, 7.275224356},
    {"GooglenetModel128", 16, 8.178625306},      {"GooglenetModel128", 20, 8.454640708},
    {"Inception4Model256", 2, 1.952382291},      {"Inception4Model256", 4, 3.972614922},
    {"Inception4Model256", 8, 7.793000458},      {"Inception4Model256", 12, 11.42455265},
    {"Inception4Model256", 16, 13.836416803},    {"Inception4Model256", 24, 19.193034976},
    {"Inception4Model256", 32, 22.656820865},    {"Inception4Model256", 48, 29.28150126},
    {"Resnet50Model128", 2, 1.981514817},        {"Resnet50Model128", 4, 3.620998769},
    {"Resnet50Model128", 6, 4.500987552},        {"Resnet50Model128", 7, 5.123547184},
    {"Resnet50Model128", 8, 5.945971558},        {"Resnet50Model128", 12, 8.217743978},
    {"Resnet50Model128", 16, 9.038500322},       {"Resnet50Model128", 24, 10.393237334},
    {"TransformerModel256", 2, 1.893044898},     {"TransformerModel256", 4, 3.433743046},
    {"TransformerModel256", 7, 5.328152888},     {"TransformerModel256", 8, 6.528840456},
    {"TransformerModel256", 16, 9.847542635},    {"TransformerModel256", 24, 12.084100841},
    {"TransformerModel256", 32, 12.983122817},   {"VggnetModel256", 2, 1.82046615},
    {"VggnetModel256", 4, 3.477095502},          {"VggnetModel256", 8, 6.614182953},
    {"VideopredictionModel64", 2, 1.797275982},  {"VideopredictionModel64", 4, 2.956749672},
    {"VideopredictionModel64", 8, 3.811314994},  {"VideopredictionModel64", 12, 4.303265691},
    {"VideopredictionModel64", 16, 4.507763788}, {"VideopredictionModel64", 24, 5.123835324},
});

/// The factor, or nothing if the published lists have no such job.
std::optional<double> find_speedup(std::string_view model, std::int64_t num_gpus) {
  if (num_gpus == 1) return 1.0;
  const auto found = std::find_if(kSpeedups.begin(), kSpeedups.end(), [&](const Speedup& each) {
    return each.num_gpus == num_gpus && each.model == model;
  });
  return found == kSpeedups.end() ? std::nullopt : std::optional(found->factor);
}

RowReader bind_pcs(ColumnFinder& columns) {
  const int id = columns.required("app_id");
  const int submit = columns.required("submit_time");
  const int service = columns.required("service");
  const int gpus = columns.required("num_jobs");
  const int model = columns.required("model_name");
  return [=](LogRow& row, Job& job) {
    job.name = row.text(id);
    job.num_gpus = row.num_gpus(gpus);
    job.submit = row.instant(submit, skip::kNoSubmission);
    const double work = row.number(service);
    if (row.rejected()) return;
    const auto speedup = find_speedup(row.text(model), job.num_gpus.value);
    if (!speedup) return row.reject("no known speedup of its model on its GPUs", model);
    row.set_duration(job, std::round(work / *speedup), service);
    row.model(model, job.model);
  };
}

}  // namespace

bool recognise_pollux(std::string_view head) {
  return header_includes(head, {"timestamp", "duration", "num_gpus", "gpu_time", "cluster"});
}

Result<Trace> read_pollux(const TraceInput& input) {
  const auto zone = TimeZone::find(kPhillyTimeZone);
  if (!zone) return fail(zone.error());
  auto trace = read_log_csv(input, Origin::FirstSubmission,
                            [&](ColumnFinder& columns) { return bind_pollux(columns, *zone); });
  if (trace)
    trace->assumptions.emplace_back("times are local times of the US west coast; job ids are row numbers");
  return trace;
}

bool recognise_pcs(std::string_view head) {
  return header_includes(head, {"app_id", "submit_time", "service", "num_jobs", "model_name"});
}

Result<Trace> read_pcs(const TraceInput& input) {
  auto trace = read_log_csv(input, Origin::AsWritten, bind_pcs);
  if (!trace) return trace;
  trace->assumptions.emplace_back("run time = service / the speedup that PCS assumed");
  trace->assumptions.emplace_back("models were drawn at random by PCS (synthetic)");
  return trace;
}

}  // namespace vtrain
