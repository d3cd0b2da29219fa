#include "tools/experiment/pricing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>

#include "core/base/names.hpp"
#include "core/base/numbers.hpp"
#include "core/base/utf8.hpp"
#include "core/io/file.hpp"
#include "core/io/input.hpp"
#include "core/kernels/kernel_recording.hpp"
#include "core/profile/gpu_profile.hpp"
#include "sched/cluster/gpu_types.hpp"
#include "tools/experiment/file_hash.hpp"
#include "tools/experiment/option_error.hpp"
#include "tools/experiment/target.hpp"
#include "tools/format/text_format.hpp"
#include "workloads/calibration/calibration.hpp"
#include "workloads/jobs/job.hpp"
#include "workloads/model/zoo.hpp"
#include "workloads/pricing/curve_store.hpp"
#include "workloads/pricing/curves_by_type.hpp"
#include "workloads/pricing/elastic_jobs.hpp"
#include "workloads/pricing/plan_cache.hpp"
#include "workloads/target.hpp"

namespace vtrain {

namespace {

namespace fs = std::filesystem;

/// A record with its checksum, as a JSON document.
std::string sealed(std::string_view record) {
  return fmt::format("{{\"sha256\": \"{}\", \"record\":\n{}}}\n", sha256_of_text(record), record);
}

/// The record of such a document; none if any of its bytes changed.
std::optional<std::string> unsealed(std::string_view document) {
  const std::size_t end = std::string_view("}\n").size();
  const std::size_t begin = sealed("").size() - end;
  if (document.size() < begin + end) return std::nullopt;
  std::string record(document.substr(begin, document.size() - begin - end));
  if (sealed(record) != document) return std::nullopt;
  return record;
}

}  // namespace

/// A folder with one file for each key, under the hash of the key. Files are replaced as a whole, so that
/// processes may share the folder. A file that cannot be read or written counts as absent: a broken cache
/// only costs time. Damaged files count as absent, too, and are counted. So do files that are not regular.
class CurveCache : public CurveStore {
 public:
  /// Takes the folder, which saving creates.
  explicit CurveCache(fs::path folder) : folder_(std::move(folder)) {}

  std::optional<std::string> load(const std::string& key) override {
    const fs::path file = file_of(key);
    const auto text = read_file(file, InputKind::CachedCurves);
    if (!text) return std::nullopt;
    auto record = unsealed(*text);
    if (!record) damaged_.insert(file);
    return record;
  }
  void save(const std::string& key, const std::string& text) override {
    std::error_code ignored;
    fs::create_directories(folder_, ignored);
    const fs::path file = file_of(key);
    if (fs::exists(file, ignored) && !fs::is_regular_file(file, ignored)) return;
    const auto written = write_file(file, sealed(text));
    static_cast<void>(written);
  }

  const fs::path& folder() const { return folder_; }
  /// Number of files that were found damaged.
  std::int64_t num_damaged() const { return std::ssize(damaged_); }

 private:
  fs::path file_of(const std::string& key) const { return folder_ / (sha256_of_text(key) + ".json"); }

  fs::path folder_;
  std::set<fs::path> damaged_;
};

namespace {

/// Folder of the cache; none if the environment names no place.
std::optional<fs::path> curve_cache_folder() {
  const auto folder_of = [](const char* variable) -> fs::path {
    const char* const value = std::getenv(variable);
    return value == nullptr ? fs::path() : fs::path(value);
  };
  if (const fs::path cache = folder_of("XDG_CACHE_HOME"); cache.is_absolute())
    return cache / "vtrain" / "curves";
  if (const fs::path home = folder_of("HOME"); home.is_absolute())
    return home / ".cache" / "vtrain" / "curves";
  return std::nullopt;
}

/// Kind that means no curves.
constexpr std::string_view kNoCurves = "none";

/// Largest nodes of each type of GPUs.
std::vector<NodeGroup> largest_nodes(const ClusterSpec& cluster) {
  const GpuTypes types(cluster, NameTable{});
  std::vector<NodeGroup> largest(types.names().size());
  for (const NodeGroup& group : cluster.groups) {
    NodeGroup& known = largest[types.number_of(group)];
    if (group.gpus_per_node > known.gpus_per_node) known = group;
  }
  return largest;
}

Result<CurveSettings> read_settings(const PricingArguments& arguments) {
  CurveSettings settings;
  if (arguments.kind != kNoCurves) {
    const auto kind = parse_curve_kind(arguments.kind);
    if (!kind) {
      constexpr std::array<std::string_view, 3> kKnown = {"best-plan", "data-parallel", kNoCurves};
      return fail(
          {.field = "--curves", .message = expected_found("one of " + list_names(kKnown), arguments.kind)});
    }
    settings.kind = *kind;
  }
  return settings;
}

}  // namespace

ClusterPricing::ClusterPricing() = default;
ClusterPricing::ClusterPricing(ClusterPricing&&) noexcept = default;
ClusterPricing::~ClusterPricing() = default;

Result<ClusterPricing> ClusterPricing::open(const PricingArguments& arguments,
                                            const std::optional<ClusterSpec>& cluster,
                                            std::vector<std::string>& warnings) {
  ClusterPricing opened;
  const auto settings = read_settings(arguments);
  if (!settings) return fail(settings.error());
  opened.elastic_ = arguments.kind != kNoCurves;
  opened.calibration_ = arguments.calibration;
  if (!arguments.calibration.empty() && arguments.calibration != kPublishedCalibration)
    opened.files_.emplace_back("calibration", arguments.calibration);
  const auto folder = arguments.no_cache ? std::nullopt : curve_cache_folder();
  if (folder) opened.cache_ = std::make_unique<CurveCache>(*folder);
  TargetNames names{.profile = arguments.profile,
                    .assumes_profile = true,
                    .stack = arguments.stack,
                    .calibration = arguments.calibration};
  if (!cluster) {
    if (auto added = opened.add_type(names, *settings, warnings); !added) return fail(added.error());
    return opened;
  }
  for (const NodeGroup& nodes : largest_nodes(*cluster)) {
    names.gpu_type = nodes.gpu_type;
    names.nodes = node_shape(nodes);
    if (auto added = opened.add_type(names, *settings, warnings); !added) return fail(added.error());
  }
  return opened;
}

Result<void> ClusterPricing::add_type(const TargetNames& names, CurveSettings settings,
                                      std::vector<std::string>& warnings) {
  auto target = resolve_target(names);
  if (!target) return fail(in_target_option(std::move(target.error())));
  for (const TargetNote& note : target->notes) {
    std::vector<std::string>& notes = note.kind == TargetNote::Kind::OtherGpus ? warnings : assumptions_;
    std::string text = describe_note(note);
    if (note.kind == TargetNote::Kind::AssumedProfile && missing_profile_.empty()) {
      missing_profile_ =
          with_guess(fmt::format("no profile of '{}' to predict with; --profile NAME uses another GPU's",
                                 printable(names.gpu_type)),
                     names.gpu_type, embedded_profile_names());
    }
    const bool is_told =
        note.kind == TargetNote::Kind::OtherNodes && std::ranges::find(notes, text) != notes.end();
    if (!is_told) notes.push_back(std::move(text));
  }
  // What a type is named by is the same for all where the profile is given, and else embedded.
  const auto known = std::find_if(curves_.begin(), curves_.end(), [&](const auto& curves) {
    return curves->profile().name == target->profile.name;
  });
  if (known != curves_.end()) {
    by_type_.push_back(known->get());
    return {};
  }
  settings.stack = std::move(target->stack);
  if (const std::string base = split_profile_name(names.profile).base; is_profile_path(base)) {
    const std::string file = recording_file(base).string();
    auto hash = sha256_of_file(file);
    if (!hash) return fail(std::move(hash.error()));
    files_.emplace_back("profile", file);
    settings.profile_content = *std::move(hash);
  }
  curves_.push_back(
      std::make_unique<PlanCache>(std::move(target->profile), std::move(settings), cache_.get()));
  by_type_.push_back(curves_.back().get());
  return {};
}

CurvesByType ClusterPricing::on(const ClusterSpec& cluster, const Workload& workload) {
  const GpuTypes types(cluster, workload.gpu_types);
  if (types.names().size() == 1) return {curves(), cluster.total_gpus()};
  std::vector<CurvesByType::Type> of_type;
  for (std::uint32_t number = 0; number < types.names().size(); ++number)
    of_type.push_back({by_type_[number]});
  for (const NodeGroup& group : cluster.groups)
    of_type[types.number_of(group)].num_gpus += GpuCount(group.num_nodes * group.gpus_per_node.value);
  std::vector<std::vector<std::uint32_t>> allowed;
  for (std::uint32_t asked = 0; asked < workload.gpu_types.size(); ++asked) {
    const auto numbers = types.allowed(GpuTypeId(asked));
    allowed.emplace_back(numbers.begin(), numbers.end());
  }
  return {std::move(of_type), std::move(allowed)};
}

/// Idle pricings by what they were opened with.
struct PricingPool::Idle {
  std::mutex mutex;
  std::multimap<std::string, std::unique_ptr<ClusterPricing>> pricings;
};

PricingPool::PricingPool() : idle_(std::make_shared<Idle>()) {}

Result<PricingHandle> PricingPool::take(const PricingArguments& arguments,
                                        const std::optional<ClusterSpec>& cluster,
                                        std::vector<std::string>& warnings) {
  std::string key = fmt::format("{}\n{}\n{}\n{}\n{}", arguments.profile, arguments.stack,
                                arguments.calibration, arguments.kind, arguments.no_cache);
  if (cluster) {
    for (const NodeGroup& nodes : largest_nodes(*cluster))
      key +=
          fmt::format("\n{} {} {}", nodes.gpu_type, nodes.gpus_per_node.value, nodes.gpus_per_island.value);
  }
  std::unique_ptr<ClusterPricing> pricing;
  {
    const std::lock_guard lock(idle_->mutex);
    const auto known = idle_->pricings.find(key);
    if (known != idle_->pricings.end()) {
      pricing = std::move(known->second);
      idle_->pricings.erase(known);
    }
  }
  if (!pricing) {
    auto opened = ClusterPricing::open(arguments, cluster, warnings);
    if (!opened) return fail(std::move(opened.error()));
    pricing = std::make_unique<ClusterPricing>(*std::move(opened));
  }
  return PricingHandle(pricing.release(), [idle = idle_, key = std::move(key)](ClusterPricing* used) {
    std::unique_ptr<ClusterPricing> returned(used);
    const std::lock_guard lock(idle->mutex);
    idle->pricings.emplace(key, std::move(returned));
  });
}

std::string ClusterPricing::plans() const {
  return curves_.front()->settings().kind == CurveKind::BestPlan ? "the best plan"
                                                                 : "replicas of the smallest plan that fits";
}

std::string ClusterPricing::made_with() const {
  std::string text;
  for (const auto& curves : curves_) {
    const Stack& stack = curves->settings().stack;
    const std::string calibrated = describe_calibration(calibration_, stack);
    text += fmt::format("{}profile {}, stack {}{}{}", text.empty() ? "" : "; ", curves->profile().name,
                        stack.name, calibrated.empty() ? "" : ", ", calibrated);
  }
  return text;
}

std::vector<std::string> ClusterPricing::intervals(const Workload& workload) const {
  std::set<ModelKind> kinds;
  for (const std::string& name : workload.models.names()) {
    if (const auto known = find_model(name)) kinds.insert(kind_of(known->model()));
  }
  std::vector<std::string> sentences;
  for (const auto& curves : curves_) {
    const GpuProfile& profile = curves->profile();
    for (const ModelKind kind : kinds) {
      const Uncertainty uncertainty = uncertainty_of({.stack = curves->settings().stack.name,
                                                      .profile = profile.base_name,
                                                      .generation = std::string(generation_of(profile)),
                                                      .kind = kind});
      sentences.push_back(fmt::format("90 % of runs of {} on {} take {} of the predicted time{}",
                                      models_of(kind), profile.base_name, interval_text(uncertainty.time),
                                      uncertainty.never_validated ? ", never validated" : ""));
    }
  }
  return sentences;
}

bool ClusterPricing::stacks_differ() const {
  return std::any_of(curves_.begin(), curves_.end(), [this](const auto& curves) {
    return curves->settings().stack.name != curves_.front()->settings().stack.name;
  });
}

std::vector<std::string> ClusterPricing::cache_warnings() const {
  if (!cache_ || cache_->num_damaged() == 0) return {};
  return {fmt::format("{} of iteration times in {}, computed again",
                      count_of(cache_->num_damaged(), "damaged record"),
                      printable(cache_->folder().string()))};
}

std::string ClusterPricing::describe() const {
  return fmt::format("iterations x the iteration time of {}, {}", plans(), made_with());
}

namespace {

/// Sentences on elastic jobs.
std::vector<std::string> elastic_sentences(const ClusterPricing& curves, std::int64_t predicted,
                                           std::int64_t elastic, std::int64_t jobs) {
  const std::string of_all = fmt::format("of {} elastic", count_of(jobs, "job"));
  if (elastic == 0) {
    return {"none " + of_all +
            (curves.elastic()
                 ? ": none has a known model with global batch and iterations (--assign gives them)"
                 : "")};
  }
  std::vector<std::string> sentences;
  if (elastic > predicted) {
    sentences.push_back(
        fmt::format("{} {} as measured for their trace", with_thousands(elastic - predicted), of_all));
  }
  if (predicted > 0) {
    sentences.push_back(fmt::format("{} {} as predicted for {} on each number of GPUs, {}",
                                    with_thousands(predicted), of_all, curves.plans(), curves.made_with()));
  }
  return sentences;
}

}  // namespace

Result<std::vector<std::string>> add_curves(Workload& workload, const ClusterSpec& cluster,
                                            ClusterPricing& curves, bool strict) {
  ElasticJobs found;
  if (curves.elastic()) {
    const auto made = make_elastic(workload, curves.on(cluster, workload), {.strict = strict});
    if (!made) return fail(made.error());
    found = *made;
  }
  const auto elastic = std::count_if(workload.jobs.begin(), workload.jobs.end(),
                                     [](const Job& job) { return static_cast<bool>(job.curve); });
  std::vector<std::string> sentences =
      elastic_sentences(curves, found.elastic, elastic, std::ssize(workload.jobs));
  if (found.with_idle_gpus > 0) {
    sentences.push_back(fmt::format("{} on a number of GPUs that no plan uses fully: the rest idles",
                                    count_of(found.with_idle_gpus, "elastic job")));
  }
  if (found.without_plan > 0) {
    sentences.push_back(fmt::format("{} of a known model without a plan on the GPUs requested: rigid",
                                    count_of(found.without_plan, "job")));
  }
  return sentences;
}

}  // namespace vtrain
