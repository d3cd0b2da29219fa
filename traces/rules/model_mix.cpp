#include "traces/rules/model_mix.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {
namespace {

// Models of the zoo by the number of GPUs on which they are trained. Mixed-precision Adam keeps about 18
// bytes per parameter, so 80 GB hold at most 4 billion parameters. The table uses at most half of this,
// because activations need memory too. Global batches are the published ones, or smaller if an iteration on
// few GPUs would take minutes.
constexpr std::array kModelChoices = {
    ModelChoice{GpuCount(1), "gpt3-125m", 64},          ModelChoice{GpuCount(1), "gpt3-350m", 64},
    ModelChoice{GpuCount(1), "gpt3-1.3b", 32},          ModelChoice{GpuCount(2), "gpt3-350m", 128},
    ModelChoice{GpuCount(2), "gpt3-760m", 128},         ModelChoice{GpuCount(2), "gpt3-1.3b", 64},
    ModelChoice{GpuCount(4), "gpt3-1.3b", 128},         ModelChoice{GpuCount(4), "gpt3-2.7b", 128},
    ModelChoice{GpuCount(4), "gpt3-6.7b", 64},          ModelChoice{GpuCount(8), "gpt3-2.7b", 256},
    ModelChoice{GpuCount(8), "gpt3-6.7b", 128},         ModelChoice{GpuCount(8), "gpt3-13b", 128},
    ModelChoice{GpuCount(16), "gpt3-6.7b", 512},        ModelChoice{GpuCount(16), "gpt3-13b", 256},
    ModelChoice{GpuCount(16), "megatron-18.4b", 256},   ModelChoice{GpuCount(32), "gpt3-13b", 512},
    ModelChoice{GpuCount(32), "megatron-18.4b", 512},   ModelChoice{GpuCount(32), "megatron-39.1b", 512},
    ModelChoice{GpuCount(64), "megatron-18.4b", 1024},  ModelChoice{GpuCount(64), "megatron-39.1b", 1536},
    ModelChoice{GpuCount(64), "megatron-76.1b", 1024},  ModelChoice{GpuCount(128), "megatron-39.1b", 1536},
    ModelChoice{GpuCount(128), "megatron-76.1b", 1792}, ModelChoice{GpuCount(128), "gpt3-175b", 768},
};

/// Number of jobs of the Lingjun cluster that train a model, by size.
struct LingjunJobs {
  GpuCount most_gpus{1};  ///< largest number of GPUs of the jobs, which have more than half as many
  std::string_view model;
  double jobs = 0;
};

// Alibaba Lingjun, 2023: 632 LLM training jobs with a named model and a number of GPUs, counted by us by
// model and GPUs in the jobs that github.com/niwehao/BTB-NCCL extracted from
// github.com/alibaba/alibaba-lingjun- dataset-2023 (Apache-2.0; Cao et al., SIGCOMM'24). Left out: other
// models, inference, and jobs that never got a GPU. The names mean models of the zoo: GPT-3b, -7b and -13b
// for GPT-3 of that size, llama_30b for mpt-30b, 65b and 66b for llama2-70b. `llama` and `gpt` without a size
// are a model of that family with at most two billion parameters per GPU, half of what fits in 80 GB.
constexpr std::array kLingjun = {
    LingjunJobs{GpuCount(1), "llama3.2-1b", 36}, LingjunJobs{GpuCount(1), "gpt3-1.3b", 2},
    LingjunJobs{GpuCount(2), "llama3.2-1b", 24}, LingjunJobs{GpuCount(2), "gpt3-1.3b", 3},
    LingjunJobs{GpuCount(4), "llama3.2-3b", 68}, LingjunJobs{GpuCount(4), "gpt3-2.7b", 2},
    LingjunJobs{GpuCount(4), "gpt3-13b", 12},    LingjunJobs{GpuCount(8), "llama2-7b", 44},
    LingjunJobs{GpuCount(8), "gpt3-6.7b", 16},   LingjunJobs{GpuCount(8), "gpt3-2.7b", 1},
    LingjunJobs{GpuCount(8), "gpt3-13b", 103},   LingjunJobs{GpuCount(16), "llama2-13b", 5},
    LingjunJobs{GpuCount(16), "gpt3-2.7b", 7},   LingjunJobs{GpuCount(16), "gpt3-13b", 29},
    LingjunJobs{GpuCount(32), "llama2-13b", 27}, LingjunJobs{GpuCount(32), "gpt3-6.7b", 56},
    LingjunJobs{GpuCount(32), "gpt3-13b", 24},   LingjunJobs{GpuCount(32), "mpt-30b", 1},
    LingjunJobs{GpuCount(32), "llama2-70b", 60}, LingjunJobs{GpuCount(64), "llama2-70b", 5},
    LingjunJobs{GpuCount(64), "gpt3-2.7b", 6},   LingjunJobs{GpuCount(64), "gpt3-13b", 60},
    LingjunJobs{GpuCount(64), "mpt-30b", 12},    LingjunJobs{GpuCount(128), "llama2-70b", 10},
    LingjunJobs{GpuCount(128), "mpt-30b", 19},
};

/// Replacements of models that do not fit, smallest first.
constexpr std::array<std::string_view, 12> kBySize = {"gpt3-125m", "gpt3-350m", "gpt3-760m",   "llama3.2-1b",
                                                      "gpt3-1.3b", "gpt3-2.7b", "llama3.2-3b", "gpt3-6.7b",
                                                      "llama2-7b", "gpt3-13b",  "llama2-13b",  "mpt-30b"};

constexpr std::int64_t kSequencesPerGpu = 16;
constexpr Nanoseconds kLongestIteration{60e9};

/// The entries of the smallest size of at least `num_gpus`, or of the largest size.
template <class Entry, GpuCount Entry::*Size>
std::span<const Entry> entries_of_size(std::span<const Entry> table, GpuCount num_gpus) {
  const auto first =
      std::find_if(table.begin(), table.end(), [&](const Entry& entry) { return num_gpus <= entry.*Size; });
  const GpuCount size = first == table.end() ? table.back().*Size : (*first).*Size;
  const auto [low, high] = std::equal_range(table.begin(), table.end(), Entry{size, {}, {}},
                                            [](const Entry& a, const Entry& b) { return a.*Size < b.*Size; });
  return table.subspan(static_cast<std::size_t>(low - table.begin()), static_cast<std::size_t>(high - low));
}

/// True, by `ModelId`, for the workload's models that the catalogue has.
std::vector<bool> find_known_models(const Workload& workload, const FindModel& find) {
  std::vector<bool> known;
  for (const std::string& name : workload.models.names())
    known.push_back(find(name).has_value());
  return known;
}

}  // namespace

std::span<const ModelChoice> model_choices() {
  return kModelChoices;
}

Result<ModelMix> ModelMix::parse(std::string_view text, const FindModel& find) {
  if (text == "none") return ModelMix{};
  if (text == "zoo") return ModelMix{.kind = Kind::Zoo};
  if (text == "lingjun") return ModelMix{.kind = Kind::Lingjun};
  const auto refuse = [](std::string message) {
    return fail({.field = "assign", .message = std::move(message)});
  };
  ModelMix mix{.kind = Kind::One};
  for (const std::string_view part : split(text, ',')) {
    const auto [key, value] = split_once(part, '=');
    const bool is_repeated =
        key == "model" ? !mix.model.empty() : key == "global-batch" && mix.global_batch > 0;
    if (is_repeated) return refuse(fmt::format("{}: expected once, found twice", key));
    if (value && key == "model") {
      const auto model = find(*value);
      if (!model) return refuse(model.error().message);
      mix.model = model->name;
    } else if (value && key == "global-batch") {
      const auto batch = parse_integer(*value, 1, std::numeric_limits<std::int32_t>::max());
      if (!batch) return refuse("global-batch: " + batch.error().message);
      mix.global_batch = static_cast<std::int32_t>(*batch);
    } else {
      mix.model.clear();
      break;
    }
  }
  if (mix.model.empty())
    return refuse(expected_found("none, zoo, lingjun or model=NAME[,global-batch=SEQUENCES]", text));
  return mix;
}

std::string ModelMix::describe() const {
  switch (kind) {
    case Kind::None:
      return "no models";
    case Kind::Zoo:
      return "GPT models by number of GPUs, evenly";
    case Kind::Lingjun:
      return "LLM models by number of GPUs as in Alibaba Lingjun 2023";
    case Kind::One:
      return model + (global_batch > 0 ? fmt::format(" with global batch {}", global_batch) : "");
  }
  throw std::logic_error("a mix of models without a name");
}

ModelAssigner::ModelAssigner(ModelMix mix, std::uint64_t seed, const ModelCatalog& models)
    : mix_(std::move(mix)), models_(models), random_(seed, "models") {}

std::pair<std::string_view, std::int32_t> ModelAssigner::draw(GpuCount num_gpus) {
  if (mix_.kind == ModelMix::Kind::One) return {mix_.model, mix_.global_batch};
  if (mix_.kind == ModelMix::Kind::Zoo) {
    const auto choices = entries_of_size<ModelChoice, &ModelChoice::num_gpus>(kModelChoices, num_gpus);
    const ModelChoice& choice = choices[random_.below(choices.size())];
    return {choice.model, choice.num_gpus == num_gpus ? choice.global_batch : 0};
  }
  const auto choices = entries_of_size<LingjunJobs, &LingjunJobs::most_gpus>(kLingjun, num_gpus);
  std::vector<double> weights;
  for (const LingjunJobs& choice : choices)
    weights.push_back(choice.jobs);
  return {choices[WeightedChoice(weights).draw(random_)].model, 0};
}

Result<ModelAssigner::Price> ModelAssigner::find_price(std::string_view model, std::int32_t global_batch,
                                                       const Job& job) const {
  if (global_batch > 0) {
    return models_.iteration_time(model, global_batch, job.num_gpus, job.gpu_type).map([&](Nanoseconds time) {
      return Price{global_batch, time};
    });
  }
  const std::int64_t published = models_.find(model).value().global_batch;
  std::int64_t per_gpu = std::clamp<std::int64_t>(published / job.num_gpus.value, 1, kSequencesPerGpu);
  for (;;) {
    const auto batch = static_cast<std::int32_t>(
        std::min<std::int64_t>(per_gpu * job.num_gpus.value, std::numeric_limits<std::int32_t>::max()));
    const auto time = models_.iteration_time(model, batch, job.num_gpus, job.gpu_type);
    if (!time) return fail(time.error());
    if (*time <= kLongestIteration || per_gpu == 1) return Price{batch, *time};
    per_gpu /= 2;
  }
}

Result<ModelAssigner::Price> ModelAssigner::price(std::string_view model, std::int32_t global_batch,
                                                  const Job& job) {
  const auto key = std::tuple(model, global_batch, job.num_gpus, job.gpu_type);
  const auto known = prices_.find(key);
  if (known != prices_.end()) return known->second;
  return prices_.emplace(key, find_price(model, global_batch, job)).first->second;
}

Result<void> ModelAssigner::assign(Workload& workload, Job& job) {
  auto [model, global_batch] = draw(job.num_gpus);
  auto found = price(model, global_batch, job);
  if (!found && mix_.kind != ModelMix::Kind::One) {
    const Error error = found.error();
    const std::int64_t most = models_.find(model).value().num_parameters;
    for (auto smaller = kBySize.rbegin(); !found && smaller != kBySize.rend(); ++smaller) {
      if (models_.find(*smaller).value().num_parameters >= most) continue;
      model = *smaller;
      found = price(model, 0, job);
    }
    if (!found) return fail(error);
    ++num_replaced_;
  }
  if (!found) return fail(found.error());
  job.model = workload.model(model);
  job.global_batch = found->global_batch;
  job.iterations = std::max<std::int64_t>(1, std::llround(Nanoseconds(job.duration) / found->iteration));
  job.duration = to_sim_duration(found->iteration * static_cast<double>(job.iterations));
  return {};
}

Result<std::string> assign_models(Workload& workload, const ModelMix& mix, std::uint64_t seed,
                                  const ModelCatalog& models) {
  if (mix.kind == ModelMix::Kind::None) return std::string();
  ModelAssigner assigner(mix, seed, models);
  std::int64_t assigned = 0;
  std::int64_t without_plan = 0;
  std::optional<Error> first_without;
  Seconds before{0};
  Seconds after{0};
  const std::vector<bool> is_known = find_known_models(workload, models.find);
  for (Job& job : workload.jobs) {
    const bool has_model =
        job.model && is_known[job.model.value] && job.global_batch > 0 && job.iterations > 0;
    if (has_model || job.shares_gpus()) continue;
    if (job.duration.count() <= 0) {
      return fail(job_error(workload, job, "assign", "needs a duration to be given a model, and has none"));
    }
    const Seconds gpu_seconds = Seconds(job.duration) * job.num_gpus.value;
    if (auto done = assigner.assign(workload, job); !done) {
      if (!first_without) first_without = job_error(workload, job, std::move(done.error()));
      ++without_plan;
      continue;
    }
    before += gpu_seconds;
    after += Seconds(job.duration) * job.num_gpus.value;
    ++assigned;
  }
  if (assigned == 0 && first_without) return fail(*std::move(first_without));
  // Hundredths of a per cent: a change that rounds to zero is 0, and not -0.00.
  const double change = before.count() > 0 ? std::round(1e4 * (after / before - 1)) / 100 : 0;
  std::string text = fmt::format("{} for {} of {} jobs, seed {} (synthetic; GPU-hours {})", mix.describe(),
                                 with_thousands(assigned), with_thousands(std::ssize(workload.jobs)), seed,
                                 change == 0 ? "unchanged" : fmt::format("{:+.2f} %", change));
  if (assigner.num_replaced() > 0)
    text += fmt::format("; smaller than drawn, to fit, in {}", with_thousands(assigner.num_replaced()));
  if (without_plan > 0)
    text += fmt::format("; {} without a plan on the GPUs asked for as in the trace",
                        with_thousands(without_plan));
  return text;
}

}  // namespace vtrain
