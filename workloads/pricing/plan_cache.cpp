#include "workloads/pricing/plan_cache.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/base/names.hpp"
#include "workloads/model/model_fields.hpp"
#include "workloads/model/zoo.hpp"
#include "workloads/pricing/curve_store.hpp"
#include "workloads/search/plan_search.hpp"

namespace vtrain {
namespace embedded {
extern const std::string_view predictor_hash;
}
namespace {

constexpr std::array<std::string_view, 2> kKindNames = {"best-plan", "data-parallel"};

Result<RankedPlan> fastest_plan(PlanSearch& search, GpuCount num_gpus, std::int64_t global_batch,
                                const PlanLimits& limits = {}) {
  auto found = search.find(num_gpus, global_batch, {.limits = limits});
  if (!found) return fail(std::move(found.error()));
  return std::move(found->best.front());
}

/// The fastest plan of a single replica on the fewest GPUs on which one fits.
Result<ParallelPlan> smallest_plan(PlanSearch& search, std::int64_t global_batch) {
  constexpr std::int64_t kMostGpus = 1 << 20;
  const std::int64_t gpus_per_node = search.profile().gpus_per_node;
  const std::int64_t largest = std::min(kMostGpus, gpus_per_node * search.model().num_layers);
  std::optional<Error> last;
  for (const GpuCount num_gpus :
       curve_gpu_counts(GpuCount(static_cast<std::int32_t>(largest)), gpus_per_node)) {
    const auto plan = fastest_plan(search, num_gpus, global_batch, {.data = 1});
    if (plan) return plan->plan;
    // That no plan divides a number of GPUs says less than that none fits.
    if (!last || plan.error().kind == ErrorKind::Failed) last = plan.error();
  }
  return fail(*std::move(last));
}

}  // namespace

std::string_view name_of(CurveKind kind) {
  return kKindNames[static_cast<std::size_t>(kind)];
}

Result<CurveKind> parse_curve_kind(std::string_view name) {
  return parse_name<CurveKind>("", kKindNames, name);
}

std::vector<GpuCount> curve_gpu_counts(GpuCount largest, std::int64_t gpus_per_node) {
  std::vector<GpuCount> counts;
  for (std::int64_t count = 1; count < gpus_per_node && count <= largest.value; count *= 2)
    counts.emplace_back(static_cast<std::int32_t>(count));
  for (std::int64_t count = gpus_per_node; count <= largest.value; count += gpus_per_node)
    counts.emplace_back(static_cast<std::int32_t>(count));
  return counts;
}

GpuProfile spread_over_nodes(GpuProfile profile, std::int64_t ranks_together) {
  const double part = static_cast<double>(ranks_together) / static_cast<double>(profile.gpus_per_node);
  profile.node_network_bandwidth = profile.node_network_bandwidth * part;
  profile.gpus_per_node = ranks_together;
  profile.nvlink_domain = ranks_together;
  return profile;
}

SpeedByGpus ThroughputCurve::levels() const {
  std::vector<SpeedByGpus::Level> levels;
  for (const RankedPlan& point : points) {
    levels.push_back(
        {.num_gpus = point.plan.num_gpus(), .iterations_per_s = 1 / Seconds(point.iteration).count()});
  }
  return SpeedByGpus(std::move(levels), SpeedByGpus::Source::Predictor);
}

/// The plans found so far for one model at one global batch.
struct PlanCache::Known {
  std::int64_t global_batch = 0;
  PlanSearch search;
  std::string key{};  ///< key in the store
  CurveRecord record{};
  bool has_news = false;  ///< some plans are not in the store yet
  /// Under `DataParallel`: the plan on the fewest GPUs, or the reason why there is none.
  std::optional<Result<ParallelPlan>> smallest{};

  Known(std::int64_t batch, TransformerModel model, const GpuProfile& profile, const Stack& stack)
      : global_batch(batch), search(std::move(model), profile, stack) {}
};

PlanCache::PlanCache(GpuProfile profile, CurveSettings settings, CurveStore* store)
    : profile_(std::move(profile)), settings_(std::move(settings)), store_(store) {
  if (settings_.stack.name.empty()) settings_.stack = default_stack(profile_);
}

PlanCache::~PlanCache() {
  try {
    save();
  } catch (...) {
    // Curves are kept only to save time: the next run computes them again. A destructor that throws would end
    // the program and take its results with it.
  }
}

Result<PlanCache::Known*> PlanCache::known(const std::string& model, std::int64_t global_batch) {
  const auto name = std::pair(model, global_batch);
  if (const auto found = known_.find(name); found != known_.end()) return found->second.get();
  const auto zoo_model = find_model(model);
  if (!zoo_model) return fail(zoo_model.error());
  const TransformerModel zoo = zoo_model->model();
  auto made = std::make_unique<Known>(global_batch == 0 ? zoo_model->global_batch : global_batch, zoo,
                                      profile_, settings_.stack);
  Known& known = *made;
  const KernelFactors& factors = settings_.stack.factors;
  known.key =
      fmt::format("predictor {}\nprofile {} {}\nstack {} {} {} {}\nkind {}\nglobal batch {}\nmodel {} {}",
                  embedded::predictor_hash, profile_.name, settings_.profile_content, settings_.stack.name,
                  factors.product, factors.memory, factors.communication, name_of(settings_.kind),
                  known.global_batch, zoo.name, model_fingerprint(zoo));
  if (store_ != nullptr) {
    const auto text = store_->load(known.key);
    auto record = text ? parse_curve_record(*text, known.key, zoo, known.global_batch) : std::nullopt;
    if (record) known.record = *std::move(record);
  }
  return known_.emplace(name, std::move(made)).first->second.get();
}

Result<RankedPlan> PlanCache::find_plan(Known& known, GpuCount num_gpus) {
  PlanSearch& search = known.search;
  if (settings_.kind == CurveKind::BestPlan) return fastest_plan(search, num_gpus, known.global_batch);
  if (!known.smallest) known.smallest = smallest_plan(search, known.global_batch);
  if (!*known.smallest) return fail(known.smallest->error());
  const ParallelPlan& plan = **known.smallest;
  if (num_gpus.value % plan.num_gpus().value != 0) {
    return fail(
        {.field = "num_gpus",
         .message = expected_found(fmt::format("a multiple of the {} GPUs that a replica of '{}' takes",
                                               plan.num_gpus().value, search.model().name),
                                   std::to_string(num_gpus.value))});
  }
  return fastest_plan(search, num_gpus, known.global_batch,
                      {.tensor = plan.tensor, .context = plan.context, .pipeline = plan.pipeline});
}

Result<RankedPlan> PlanCache::best_plan(const std::string& model, std::int64_t global_batch,
                                        GpuCount num_gpus) {
  const std::lock_guard lock(mutex_);
  const auto of_model = known(model, global_batch);
  if (!of_model) return fail(of_model.error());
  Known& known = **of_model;
  if (const auto found = known.record.find(num_gpus.value); found != known.record.end()) return found->second;
  known.has_news = true;
  return known.record.emplace(num_gpus.value, find_plan(known, num_gpus)).first->second;
}

Result<Nanoseconds> PlanCache::iteration_time(const std::string& model, std::int64_t global_batch,
                                              GpuCount num_gpus) {
  const auto plan = best_plan(model, global_batch, num_gpus);
  if (!plan) return fail(plan.error());
  return plan->iteration;
}

PlanCache& PlanCache::spread(std::int64_t ranks_together) {
  std::unique_ptr<PlanCache>& curves = spread_[ranks_together];
  if (!curves) {
    CurveSettings settings = settings_;
    settings.profile_content += fmt::format(" {} ranks together", ranks_together);
    curves =
        std::make_unique<PlanCache>(spread_over_nodes(profile_, ranks_together), std::move(settings), store_);
  }
  return *curves;
}

Nanoseconds PlanCache::time_of(const std::string& model, std::int64_t global_batch,
                               const ParallelPlan& plan) {
  return (*this->known(model, global_batch))->search.iteration_of(plan);
}

Result<Nanoseconds> PlanCache::spread_iteration_time(const std::string& model, std::int64_t global_batch,
                                                     GpuCount num_gpus, std::int64_t ranks_together) {
  const std::lock_guard lock(mutex_);
  const auto packed = best_plan(model, global_batch, num_gpus);
  if (!packed) return fail(packed.error());
  const bool one_domain = profile_.nvlink_domain > profile_.gpus_per_node;
  if (one_domain || ranks_together >= profile_.gpus_per_node) return packed->iteration;
  PlanCache& here = spread(ranks_together);
  Nanoseconds time = here.time_of(model, global_batch, packed->plan);
  if (settings_.kind == CurveKind::BestPlan) {
    const auto best = here.iteration_time(model, global_batch, num_gpus);
    if (best) time = std::min(time, *best);
  }
  const auto with_more = spread_iteration_time(model, global_batch, num_gpus, 2 * ranks_together);
  return std::max(time, *with_more);
}

Result<ThroughputCurve> PlanCache::curve(const std::string& model, std::int64_t global_batch,
                                         GpuCount largest) {
  const std::lock_guard lock(mutex_);
  ThroughputCurve curve;
  std::optional<Error> last;
  for (const GpuCount num_gpus : curve_gpu_counts(largest, profile_.gpus_per_node)) {
    auto plan = best_plan(model, global_batch, num_gpus);
    if (!plan) {
      last = plan.error();
    } else if (curve.points.empty() || plan->iteration < curve.points.back().iteration) {
      curve.points.push_back(*std::move(plan));
    }
  }
  if (!curve.points.empty()) return curve;
  if (last) return fail(*std::move(last));
  return fail({.field = "num_gpus", .message = expected_found("at least 1", std::to_string(largest.value))});
}

void PlanCache::save() {
  if (store_ == nullptr) return;
  const std::lock_guard lock(mutex_);
  for (const auto& [ranks_together, curves] : spread_)
    curves->save();
  for (const auto& [name, found] : known_) {
    Known& known = *found;
    if (!known.has_news) continue;
    known.has_news = false;
    // Another process may have added points since.
    if (const auto text = store_->load(known.key)) {
      if (auto saved = parse_curve_record(*text, known.key, known.search.model(), known.global_batch)) {
        known.record.merge(*saved);
      }
    }
    store_->save(known.key, format_curve_record(known.key, known.record));
  }
}

}  // namespace vtrain
