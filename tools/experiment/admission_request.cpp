#include "tools/experiment/admission_request.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "core/base/names.hpp"
#include "core/base/numbers.hpp"
#include "core/text/quantities.hpp"
#include "sched/cluster/node_table.hpp"
#include "tools/experiment/disruption_rules.hpp"
#include "tools/experiment/earliest_deadline.hpp"
#include "tools/experiment/option_error.hpp"
#include "tools/experiment/plan_request.hpp"
#include "tools/format/text_format.hpp"
#include "workloads/config/model_file.hpp"
#include "workloads/pricing/curves_by_type.hpp"
#include "workloads/pricing/job_pricing.hpp"
#include "workloads/pricing/plan_cache.hpp"
#include "workloads/pricing/predicted_speeds.hpp"

namespace vtrain {
namespace {

/// Most work that all simulations with errors do together, in live jobs.
constexpr std::int64_t kMostSampledJobs = 20'000;
constexpr std::int64_t kMostSamples = 100;
constexpr std::int64_t kFewestSamples = 8;

/// Latest deadline that is looked at.
constexpr SimDuration kLongestSearch = std::chrono::hours(24 * 365 * 5);

/// Most other numbers of GPUs that are tried: of those that suffice alone, the nearest first.
constexpr std::size_t kMostCounts = 12;

std::string tokens_option(double tokens) {
  constexpr double kBillion = 1e9;
  return tokens >= kBillion ? fmt::format("{:.12g}B", tokens / kBillion) : fmt::format("{:.0f}", tokens);
}

}  // namespace

Result<void> AdmissionRequest::read(std::vector<std::string>& warnings) {
  if (auto checked = check_training_job(spec_); !checked) return checked;
  if (spec_.deadline.empty())
    return fail({.field = "--deadline", .message = "missing: time from now on, for instance --deadline 10d"});
  const auto time = parse_time_span(spec_.deadline);
  if (!time || time->count() == 0)
    return fail({.field = "--deadline",
                 .message = expected_found("a duration above 0, up to 100 years, such as 36h or 10d",
                                           spec_.deadline)});
  time_ = *time;
  const auto errors =
      in_option("--prediction-error", PredictionErrorRule::parse(spec_.pricing.prediction_error));
  if (!errors) return fail(errors.error());
  errors_ = *errors;
  if (pricing_ == nullptr) {
    auto pricing = ClusterPricing::open(spec_.pricing, cluster_, warnings);
    if (!pricing) return fail(std::move(pricing.error()));
    pricing_ = std::make_shared<ClusterPricing>(*std::move(pricing));
  }
  if (!pricing_->missing_profile().empty())
    return fail({.field = "--profile", .message = pricing_->missing_profile()});
  assumptions_ = pricing_->assumptions();
  return {};
}

Job AdmissionRequest::with_tokens(double tokens) const {
  Job job = job_;
  job.iterations = iterations_for(tokens, model_, job.global_batch);
  if (job_.duration.count() > 0)
    job.duration = to_sim_duration(
        Nanoseconds(static_cast<double>(job_.duration.count()) * static_cast<double>(job.iterations) /
                    static_cast<double>(job_.iterations)));
  return job;
}

Result<void> AdmissionRequest::price(const PolicyRegistry& registry) {
  const auto arguments = registry.parse(spec_.policy);
  if (!arguments) return fail(in_option("--policy", arguments.error()));
  const auto policy = arguments->policy().make(*arguments);
  if (!policy) return fail(in_option("--policy", policy.error()));
  is_elastic_ = !spec_.rigid && (*policy)->progress_rule() != ProgressRule::Duration;
  const SimTime now = state_.now;
  auto priced = price_training_job(spec_, cluster_, *pricing_, is_elastic_, now, saturating_sum(now, time_));
  if (!priced) return fail(std::move(priced.error()));
  model_ = priced->model;
  tokens_ = priced->tokens;
  assumes_batch_ = priced->assumes_batch;
  job_ = jobs_.adopt(priced->workload, priced->job());
  jobs_.jobs.push_back(job_);
  const CurvesByType curves = pricing_->on(cluster_, jobs_);
  auto speeds = std::make_unique<PredictedSpeeds>(jobs_, curves);
  if (speeds->num_jobs() > 0) speeds_ = std::move(speeds);
  if (is_elastic_ && !others_have_curves_) {
    const auto made = add_curves(jobs_, cluster_, *pricing_, false);
    if (!made) return fail(made.error());
  }
  return {};
}

Result<void> AdmissionRequest::set_up_admission(Workload workload, SimulationState state,
                                                const PolicyRegistry& registry) {
  DisruptionArguments named;
  named.interruption_cost = spec_.interruption_cost;
  std::vector<std::string> ignored;
  const auto rules = read_disruption_rules(named, spec_.placement, ignored);
  if (!rules) return fail(rules.error());
  auto disruptions = read_disruptions(named, *rules, jobs_, cluster_, spec_.seed);
  if (!disruptions) return fail(std::move(disruptions.error()));
  disruptions_ = *std::move(disruptions);
  assumptions_.push_back(describe_interruption_cost(*rules, disruptions_, named, jobs_).text);
  AdmissionSetup setup;
  setup.cluster = cluster_;
  setup.policy = spec_.policy;
  setup.options.placement = spec_.placement;
  setup.options.disruptions = disruptions_ ? &*disruptions_ : nullptr;
  setup.options.gang_speed_model = speeds_.get();
  setup.workload = std::move(workload);
  setup.promises_at_once = spec_.promises_at_once;
  setup.state = std::move(state);
  auto admission = Admission::begin(std::move(setup), registry);
  if (!admission) return fail(in_option("--policy", std::move(admission.error())));
  admission_.emplace(*std::move(admission));
  return {};
}

Result<std::unique_ptr<AdmissionRequest>> AdmissionRequest::prepare(AdmissionSpec spec, ClusterToday today,
                                                                    const PolicyRegistry& registry,
                                                                    std::vector<std::string>& warnings,
                                                                    std::shared_ptr<ClusterPricing> pricing) {
  auto request = std::make_unique<AdmissionRequest>();
  request->spec_ = std::move(spec);
  request->cluster_ = today.cluster;
  request->registry_ = &registry;
  request->state_ = today.state;
  request->jobs_ = std::move(today.workload);
  request->pricing_ = std::move(pricing);
  request->others_have_curves_ = today.has_curves;
  if (auto done = request->read(warnings); !done) return fail(std::move(done.error()));
  if (auto done = request->price(registry); !done) return fail(std::move(done.error()));
  Workload workload = request->jobs_.copy_with_texts_of_this();
  workload.jobs.pop_back();
  if (auto done = request->set_up_admission(std::move(workload), std::move(today.state), registry); !done)
    return fail(std::move(done.error()));
  return request;
}

std::int64_t usual_samples(std::int64_t live_jobs) {
  return std::clamp(kMostSampledJobs / std::max<std::int64_t>(live_jobs, 1), kFewestSamples, kMostSamples);
}

std::int64_t AdmissionRequest::samples() const {
  return spec_.samples > 0 ? spec_.samples : usual_samples(std::ssize(jobs_.jobs));
}

Result<std::optional<LikelyEnds>> AdmissionRequest::likely_ends() {
  if (errors_.kind == PredictionErrorRule::Kind::None) return std::nullopt;
  const CurvesByType curves = pricing_->on(cluster_, jobs_);
  auto found = admission_->likely_ends(
      name(), job_, samples(), spec_.threads, [&](std::int64_t sample) -> std::unique_ptr<RunTimeErrors> {
        return std::make_unique<DrawnRunTimeErrors>(errors_, jobs_, curves,
                                                    spec_.seed + static_cast<std::uint64_t>(sample));
      });
  if (!found) return fail(std::move(found.error()));
  return std::optional(*std::move(found));
}

Result<std::optional<AdmissionChange>> AdmissionRequest::later_deadline() {
  Job job = job_;
  const SimDuration step = time_ < std::chrono::hours(1) ? SimDuration(std::chrono::seconds(1))
                                                         : SimDuration(std::chrono::minutes(1));
  auto found = find_earliest_deadline(*admission_, name(), job, step, job.submit + kLongestSearch);
  if (!found) return fail(std::move(found.error()));
  if (!*found) return std::nullopt;
  const SimDuration time = job.deadline - job.submit;
  const std::string text = time % std::chrono::minutes(1) == SimDuration(0)
                               ? fmt::format("{}m", time / SimDuration(std::chrono::minutes(1)))
                               : fmt::format("{}s", time / SimDuration(std::chrono::seconds(1)));
  return AdmissionChange{AdmissionChange::Kind::Deadline, "--deadline " + text, job.deadline,
                         **std::move(found)};
}

Result<std::optional<AdmissionChange>> AdmissionRequest::fewer_tokens() {
  constexpr int kParts = 100;
  const auto option_of = [&](int part) { return tokens_option(std::floor(tokens_ * part / kParts)); };
  const auto is_yes = [&](int part) {
    return admission_->would_admit(name(), with_tokens(parse_large_count(option_of(part)).value_or(1)));
  };
  int yes = 0;
  int no = kParts;
  while (no - yes > 1) {
    const int middle = yes + (no - yes) / 2;
    const auto better = is_yes(middle);
    if (!better) return fail(better.error());
    (*better ? yes : no) = middle;
  }
  if (yes == 0) return std::nullopt;
  auto answer = admission_->consider(name(), with_tokens(parse_large_count(option_of(yes)).value_or(1)));
  if (!answer) return fail(std::move(answer.error()));
  if (!answer->is_yes()) return std::nullopt;
  return AdmissionChange{AdmissionChange::Kind::Tokens, "--tokens " + option_of(yes), job_.deadline,
                         *std::move(answer)};
}

Result<std::optional<AdmissionChange>> AdmissionRequest::with_spec(AdmissionChange::Kind kind,
                                                                   std::string option, AdmissionSpec spec) {
  ClusterToday today{.cluster = cluster_,
                     .workload = jobs_.copy_with_texts_of_this(),
                     .state = state_,
                     .has_curves = others_have_curves_};
  today.workload.jobs.pop_back();
  std::vector<std::string> ignored;
  auto request = prepare(std::move(spec), std::move(today), *registry_, ignored, pricing_);
  if (!request) return std::nullopt;  // it has no plan so
  auto answer = (*request)->answer();
  if (!answer) return fail(std::move(answer.error()));
  if (!answer->is_yes()) return std::nullopt;
  return AdmissionChange{kind, std::move(option), job_.deadline, *std::move(answer)};
}

Result<std::optional<AdmissionChange>> AdmissionRequest::other_gpus() {
  if (is_elastic_) return std::nullopt;
  const CurvesByType curves = pricing_->on(cluster_, jobs_);
  GpuCount most{0};
  for (const std::uint32_t type : curves.allowed(job_.gpu_type))
    most = std::max(most, curves.types()[type].num_gpus);
  std::vector<GpuCount> counts = curve_gpu_counts(most, curves.of(job_.gpu_type).profile().gpus_per_node);
  PlanCache& cache = curves.of(job_.gpu_type);
  std::erase_if(counts, [&](GpuCount count) {
    const auto iteration = cache.iteration_time(spec_.model, job_.global_batch, count);
    return !iteration ||
           Seconds(*iteration).count() * static_cast<double>(job_.iterations) > to_seconds(time_);
  });
  std::ranges::stable_sort(counts, {},
                           [&](GpuCount count) { return std::abs(count.value - job_.num_gpus.value); });
  if (counts.size() > kMostCounts) counts.resize(kMostCounts);
  for (const GpuCount count : counts) {
    if (count == job_.num_gpus) continue;
    AdmissionSpec spec = spec_;
    spec.gpus = count.value;
    auto found =
        with_spec(AdmissionChange::Kind::Gpus, fmt::format("--gpus {}", count.value), std::move(spec));
    if (!found || *found) return found;
  }
  return std::nullopt;
}

Result<std::optional<AdmissionChange>> AdmissionRequest::other_type() {
  if (spec_.gpu_type.empty()) return std::nullopt;
  const NodeTable nodes(cluster_, jobs_);
  for (const std::string& name : nodes.types().names()) {
    if (name.empty() || name == spec_.gpu_type) continue;
    AdmissionSpec spec = spec_;
    spec.gpu_type = name;
    spec.gpus = is_elastic_ ? 0 : spec_.gpus;
    auto found = with_spec(AdmissionChange::Kind::GpuType, "--gpu-type " + name, std::move(spec));
    if (!found || *found) return found;
  }
  return std::nullopt;
}

Result<std::vector<AdmissionChange>> AdmissionRequest::changes() {
  std::vector<AdmissionChange> changes;
  for (const auto find : {&AdmissionRequest::later_deadline, &AdmissionRequest::fewer_tokens,
                          &AdmissionRequest::other_gpus, &AdmissionRequest::other_type}) {
    auto found = (this->*find)();
    if (!found) return fail(std::move(found.error()));
    if (*found) changes.push_back(**std::move(found));
  }
  return changes;
}

std::optional<std::uint32_t> AdmissionRequest::type_of(const JobSegment& segment) const {
  const NodeTable nodes(cluster_, jobs_);
  if (nodes.types().names().size() == 1) return 0;
  if (segment.parts.empty() || !info_of(spec_.placement).knows_nodes) return std::nullopt;
  return nodes[segment.parts.front().node.value].type;
}

bool AdmissionRequest::has_types() const {
  return NodeTable(cluster_, jobs_).types().names().size() > 1;
}

std::string AdmissionRequest::type_name(std::uint32_t type) const {
  return NodeTable(cluster_, jobs_).types().names()[type];
}

Result<RankedPlan> AdmissionRequest::plan_of(const JobSegment& segment) {
  const CurvesByType curves = pricing_->on(cluster_, jobs_);
  const auto type = type_of(segment);
  PlanCache& cache = type ? *curves.types()[*type].curves : curves.of(job_.gpu_type);
  return cache.best_plan(spec_.model, job_.global_batch, segment.num_gpus);
}

}  // namespace vtrain
