#include "workloads/release/release_predictor.hpp"

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/base/strings.hpp"
#include "core/io/input.hpp"

namespace vtrain {
namespace {

constexpr double kBytesPerValue = 2;

/// Bytes of the activations between two layers, for one micro-batch.
Bytes activation_bytes(const VtrainConfig& config) {
  return Bytes(static_cast<double>(config.plan.micro_batch) *
               static_cast<double>(config.model.sequence_length) *
               static_cast<double>(config.model.hidden_size) * kBytesPerValue);
}

/// Gbit/s of a node.
double inter_node_bandwidth(const VtrainConfig& config) {
  constexpr double kDefault = 800;
  return config.machine.inter_node_bandwidth.value_or(kDefault);
}

bool has_table(std::int64_t num_gpus) {
  return num_gpus >= kMinTableGpus && num_gpus <= kMaxTableGpus;
}

/// Gradients are reduced over tables or NVLink unless tensor parallelism fills a node, even if the ranks are
/// on many nodes.
bool reduces_within_node(const VtrainConfig& config) {
  return config.plan.tensor < config.machine.node_size;
}

/// Prices collectives and counts where the prices come from.
class CollectivePricer {
 public:
  CollectivePricer(const VtrainConfig& config, const AllReduceTables& tables, VtrainProvenance& provenance)
      : config_(config), tables_(tables), provenance_(provenance) {}

  Nanoseconds all_reduce(Bytes size, std::int64_t num_gpus) {
    const auto table = tables_.find(num_gpus);
    if (!has_table(num_gpus) || table == tables_.end()) {
      ++provenance_.modelled_collectives;
      return vtrain_release::ring_time(size, num_gpus, config_.machine.intra_node_bandwidth);
    }
    const vtrain_release::TableTime priced = vtrain_release::table_time(table->second, size);
    ++(priced.in_table ? provenance_.measured_collectives : provenance_.fallback_collectives);
    return priced.time;
  }

  Nanoseconds gradient_reduction(Bytes size) {
    if (reduces_within_node(config_)) return all_reduce(size, config_.plan.data);
    ++provenance_.modelled_collectives;
    return vtrain_release::inter_node_ring_time(size, config_.plan.data, inter_node_bandwidth(config_));
  }

 private:
  const VtrainConfig& config_;
  const AllReduceTables& tables_;
  VtrainProvenance& provenance_;
};

/// Operators of one layer type, made once and copied.
struct LayerOperators {
  Operator forward;
  Operator backward;
  Operator recompute;
  Operator update;
};

class WorkMaker {
 public:
  WorkMaker(const VtrainConfig& config, std::shared_ptr<const TracedKernels> kernels,
            const AllReduceTables& tables)
      : config_(config), pricer_(config, tables, made_.provenance) {
    made_.kernels = std::move(kernels);
  }

  Result<VtrainWork> make() {
    embeddings_ = layer_operators("Fwd_embeddings", "Bwd_embeddings", "WU_embeddings", true);
    transformer_ = layer_operators("Fwd_transformer", "Bwd_transformer", "WU_transformer", true);
    // The output layer shares its weights with the embeddings, so a trace has no update of it.
    logit_ = layer_operators("Fwd_logit", "Bwd_logit", "WU_logit", false);
    loss_ = make_operator("Fwd_loss", TaskKind::Forward, true);
    if (!missing_.empty()) {
      return fail({.kind = ErrorKind::NotFound,
                   .file = made_.provenance.trace_file,
                   .message = fmt::format("expected kernels of {}, found none", missing_)});
    }
    tensor_ = {.name = "TP_all_reduce", .kind = TaskKind::TensorComm};
    if (config_.plan.tensor > 1) {
      tensor_.duration = pricer_.all_reduce(activation_bytes(config_), config_.plan.tensor);
    }
    made_.work.num_micro_batches = config_.plan.num_micro_batches();
    made_.work.reduction_waits_for_first_stage = config_.plan.pipeline > 1;
    made_.work.stages.resize(static_cast<std::size_t>(config_.plan.pipeline));
    for (std::int64_t stage = 0; stage < config_.plan.pipeline; ++stage)
      fill_stage(stage);
    return std::move(made_);
  }

 private:
  /// `name` is a literal.
  Operator make_operator(std::string_view name, TaskKind kind, bool is_required) {
    Operator made{.name = name, .kind = kind};
    const auto found = made_.kernels->find(made.name);
    if (found != made_.kernels->end() && !found->second.kernels.empty()) {
      made.kernels = &found->second;
      made.duration = Nanoseconds(static_cast<double>(found->second.duration_ns()));
      made.gap = Nanoseconds(static_cast<double>(found->second.inner_gap_ns()));
    } else if (is_required) {
      if (!missing_.empty()) missing_ += ", ";
      missing_ += name;
    } else {
      made_.provenance.operators_without_kernels.emplace_back(name);
    }
    return made;
  }

  LayerOperators layer_operators(std::string_view forward, std::string_view backward, std::string_view update,
                                 bool has_update) {
    LayerOperators made{.forward = make_operator(forward, TaskKind::Forward, true),
                        .backward = make_operator(backward, TaskKind::Backward, true),
                        .recompute = {},
                        .update = make_operator(update, TaskKind::Optimizer, has_update)};
    made.recompute = made.forward;
    made.recompute.kind = TaskKind::Recompute;
    return made;
  }

  static void add(std::vector<Operator>& chain, const Operator& op, std::int64_t layer) {
    chain.push_back(op);
    chain.back().layer = static_cast<std::int32_t>(layer);
  }

  void add_layer(std::vector<Operator>& chain, const Operator& op, std::int64_t layer,
                 bool is_transformer) const {
    add(chain, op, layer);
    if (!is_transformer || config_.plan.tensor == 1) return;
    add(chain, tensor_, layer);
    add(chain, tensor_, layer);
  }

  /// Layer 0 is the embeddings, layers 1 to L are transformer layers, layer L + 1 is the output layer.
  void fill_stage(std::int64_t stage) {
    const std::int64_t layers = config_.model.num_layers;
    const std::int64_t stages = config_.plan.pipeline;
    const bool is_first = stage == 0;
    const bool is_last = stage == stages - 1;
    const std::int64_t first_layer = is_first ? 0 : 1 + layers / stages * stage;
    const std::int64_t end_layer = is_last ? layers + 2 : 1 + layers / stages * (stage + 1);
    const auto operators_of = [&](std::int64_t layer) -> const LayerOperators& {
      return layer == 0 ? embeddings_ : layer <= layers ? transformer_ : logit_;
    };
    const auto is_transformer = [&](std::int64_t layer) { return layer >= 1 && layer <= layers; };

    StageWork& work = made_.work.stages[static_cast<std::size_t>(stage)];
    ChunkWork& chunk = work.chunks.emplace_back();
    const auto num_layers = static_cast<std::size_t>(end_layer - first_layer);
    const std::size_t block_size = num_layers * (config_.plan.tensor > 1 ? 3 : 1) + 1;
    chunk.forward.reserve(block_size);
    chunk.backward.reserve(block_size);
    work.optimizer.reserve(num_layers);
    for (std::int64_t layer = first_layer; layer < end_layer; ++layer) {
      add_layer(chunk.forward, operators_of(layer).forward, layer, is_transformer(layer));
      add(work.optimizer, operators_of(layer).update, layer);
    }
    if (is_last) chunk.forward.push_back(loss_);
    const bool recomputes = config_.plan.recompute == Recompute::Full && !is_last;
    if (recomputes) chunk.recompute.reserve(num_layers);
    for (std::int64_t layer = end_layer - 1; layer >= first_layer; --layer) {
      add_layer(chunk.backward, operators_of(layer).backward, layer, is_transformer(layer));
      if (recomputes) add(chunk.recompute, operators_of(layer).recompute, layer);
    }
    const Nanoseconds send =
        vtrain_release::send_time(activation_bytes(config_), inter_node_bandwidth(config_));
    if (!is_last) chunk.send_forward.hold = send;
    if (!is_first) chunk.send_backward.hold = send;
    if (config_.plan.data > 1) {
      work.data_parallel.push_back({.name = "DP_all_reduce",
                                    .kind = TaskKind::DataComm,
                                    .duration = pricer_.gradient_reduction(gradient_bytes(config_, stage))});
    }
  }

  const VtrainConfig& config_;
  VtrainWork made_;
  CollectivePricer pricer_;
  LayerOperators embeddings_;
  LayerOperators transformer_;
  LayerOperators logit_;
  Operator loss_;
  Operator tensor_;
  std::string missing_;
};

Result<AllReduceTables> read_needed_tables(const VtrainConfig& config, const std::filesystem::path& folder) {
  AllReduceTables tables;
  for (const std::int64_t num_gpus : needed_tables(config)) {
    auto table = AllReduceTable::read(all_reduce_table_path(folder, num_gpus));
    if (!table) return fail(std::move(table.error()));
    tables.emplace(num_gpus, std::move(*table));
  }
  return tables;
}

std::filesystem::path default_collectives_folder(const VtrainConfig& config,
                                                 const std::filesystem::path& traces) {
  return (config.machine.trace_path.empty() ? traces : std::filesystem::path(config.machine.trace_path)) /
         lower_case(config.machine.gpu_name);
}

}  // namespace

std::vector<std::int64_t> needed_tables(const VtrainConfig& config) {
  std::vector<std::int64_t> needed;
  const ParallelPlan& plan = config.plan;
  if (has_table(plan.tensor)) needed.push_back(plan.tensor);
  if (has_table(plan.data) && reduces_within_node(config) && plan.data != plan.tensor) {
    needed.push_back(plan.data);
  }
  return needed;
}

Bytes gradient_bytes(const VtrainConfig& config, std::int64_t stage) {
  const std::int64_t h = config.model.hidden_size;
  const std::int64_t t = config.plan.tensor;
  const std::int64_t vocab_part = config.model.vocab_size / t * h;
  const std::int64_t transformer = h + h + 3 * h * (h / t) + (3 * h) / t + h * (h / t) + h + h + h +
                                   h * ((4 * h) / t) + (4 * h) / t + 4 * h * (h / t) + h;
  std::int64_t parameters = config.model.num_layers / config.plan.pipeline * transformer;
  if (stage == 0) parameters += vocab_part + config.model.sequence_length * h;
  if (stage == config.plan.pipeline - 1) parameters += vocab_part;
  return Bytes(kBytesPerValue * static_cast<double>(parameters));
}

Result<VtrainWork> make_vtrain_work(const VtrainConfig& config, std::shared_ptr<const TracedKernels> kernels,
                                    const AllReduceTables& tables) {
  for (const std::int64_t num_gpus : needed_tables(config)) {
    if (tables.contains(num_gpus)) continue;
    return fail({.kind = ErrorKind::NotFound,
                 .message = fmt::format("expected an all-reduce table of {} GPUs, found none", num_gpus)});
  }
  return WorkMaker(config, std::move(kernels), tables).make();
}

Result<VtrainWork> predict_vtrain(const VtrainConfig& config, const std::filesystem::path& trace_folder,
                                  const std::filesystem::path& collectives_folder) {
  const std::filesystem::path traces =
      trace_folder.empty() ? std::filesystem::path(config.machine.trace_path) : trace_folder;
  if (traces.empty()) {
    return fail({.file = config.file,
                 .field = "trace_path",
                 .message = "missing: expected a folder of kernel traces"});
  }
  const std::filesystem::path trace_file = traces / fmt::format("trace_{}_{}_{}", config.model.hidden_size,
                                                                config.plan.tensor, config.plan.micro_batch);
  const auto text = read_file(trace_file, InputKind::KernelTrace);
  if (!text) return fail(text.error());
  auto kernels = parse_kernel_trace(*text, trace_file.string());
  if (!kernels) return fail(std::move(kernels.error()));
  const std::filesystem::path collectives =
      collectives_folder.empty() ? default_collectives_folder(config, traces) : collectives_folder;
  const auto tables = read_needed_tables(config, collectives);
  if (!tables) return fail(tables.error());

  auto made = make_vtrain_work(config, std::make_shared<const TracedKernels>(std::move(*kernels)), *tables);
  if (!made) {
    if (made.error().file.empty()) made.error().file = trace_file.string();
    return fail(std::move(made.error()));
  }
  made->provenance.trace_file = trace_file.string();
  if (!tables->empty()) made->provenance.collectives_folder = collectives.string();
  return made;
}

}  // namespace vtrain
