#include "docs/measured/normalise/measured_record.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/base/utf8.hpp"
#include "docs/measured/normalise/measured_sources.hpp"
#include "docs/measured/normalise/node_names.hpp"
#include "docs/measured/normalise/published_recipe.hpp"
#include "docs/measured/normalise/recorded_model.hpp"
#include "docs/measured/normalise/recorded_words.hpp"
#include "workloads/model/size_checks.hpp"
#include "workloads/validation/measured_figures.hpp"

namespace vtrain {
namespace {

using nlohmann::json;

constexpr std::int64_t kMostGpus = 10'000'000;
constexpr std::int64_t kMostDegree = std::int64_t{1} << 20;  // three such factors fit 64 bits
constexpr std::int64_t kMostRecordTokens = 1'000'000'000;

/// Keys that are read of a record, and keys that describe a run without an effect on its prediction; joined
/// by blanks.
constexpr std::string_view kRecordKeys =
    "id source how_read quality model system parallel batch precision recompute framework stack measured "
    "derived caveats model.name model.layers model.hidden model.ffn_hidden model.heads model.kv_heads "
    "model.seq_len model.vocab model.params_b model.activation model.attention model.gated_mlp model.pos "
    "model.bias system.gpu system.profile system.num_gpus system.gpus_per_node system.node_network_gbit_s "
    "system.nodes system.intra system.inter system.system parallel.tp parallel.pp parallel.dp parallel.cp "
    "parallel.vp parallel.ep parallel.etp parallel.sp parallel.zero parallel.fsdp parallel.compile "
    "parallel.async_tp parallel.mixed_precision batch.global_batch batch.micro_batch batch.local_batch "
    "batch.grad_accum batch.num_microbatches batch.batch_per_dp";

/// Reads one record; the first error is kept.
class RecordReader {
 public:
  RecordReader(const JsonDocument& document, const json& record)
      : top_(document, record),
        model_(document, part(record, "model")),
        system_(document, part(record, "system")),
        parallel_(document, part(record, "parallel")),
        batch_(document, part(record, "batch")),
        measured_(document, part(record, "measured")),
        derived_(document, part(record, "derived")),
        parallel_json_(part(record, "parallel")),
        record_(record) {}

  Result<RawCase> read() {
    case_.id = top_.string("id");
    framework_ = top_.string_or("framework", "");
    if (plain_letters(top_.string_or("quality", "")) == "c")
      miss("quality C: the record is incomplete or from memory");
    read_source();
    read_gpu();
    const std::string name = read_recorded_model(model_, is_neusight(), case_);
    read_plan();
    read_batch();
    if (is_neusight()) complete_neusight_run(case_);
    read_measurement();
    read_recipe(name);
    if (auto error = first_error()) return fail(*error);
    case_.group = group();
    take_own_profile();
    list_unread();
    name_nodes(case_);
    if (case_.missing.empty() && case_.has_micro_batch) check();
    return case_;
  }

 private:
  static const json& part(const json& record, const char* key) {
    static const json empty = json::object();
    if (!record.is_object()) return empty;
    const auto found = record.find(key);
    return found == record.end() || found->is_null() ? empty : *found;
  }

  std::optional<Error> first_error() const {
    for (const JsonFields* fields : {&top_, &model_, &system_, &parallel_, &batch_, &measured_, &derived_}) {
      if (fields->error()) return fields->error();
    }
    return std::nullopt;
  }

  void miss(std::string what) { case_.missing.push_back(std::move(what)); }
  void assume(std::string what) { case_.assumed.push_back(std::move(what)); }

  /// A number of at least 1; `absent` where it is not given. Some sources write 0 for that.
  static std::int64_t count_or(JsonFields& fields, std::string_view key, std::int64_t most,
                               std::int64_t absent) {
    const std::int64_t count = fields.integer_or(key, 0, most, 0);
    return count == 0 ? absent : count;
  }

  /// 0 where the record does not say.
  std::int64_t num_gpus() {
    const std::int64_t nodes = count_or(system_, "nodes", kMostGpus, 0);
    return count_or(system_, "num_gpus", kMostGpus, nodes * count_or(system_, "gpus_per_node", kMostGpus, 0));
  }

  void read_source() {
    source_ = find_source(
        framework_, {.has_several_gpus = num_gpus() > 1,
                     .has_sequence_parallelism = parallel_.boolean_or("sp", false),
                     .is_in_8_bits = named_precision(top_.string_or("precision", "")) == Precision::Fp8});
    read_framework();
    if (!top_.has("stack")) return;
    if (auto named = find_stack(top_.string("stack"))) {
      case_.stack = *std::move(named);
    } else {
      top_.complain("stack", named.error().message);
    }
  }

  /// Reads the stack from the framework's name, with the changes that the name states.
  void read_framework() {
    if (source_ == nullptr) {
      if (!top_.has("stack"))
        miss(fmt::format("no stack describes the framework '{}'; \"stack\" can name one",
                         printable(framework_)));
      return;
    }
    case_.stack = find_stack(source_->stack).value();
    // Options of Megatron-LM that a record names.
    if (contains(framework_, "--overlap-grad-reduce")) case_.stack.overlap.data_parallel = true;
    if (contains(framework_, "--tp-comm-overlap")) case_.stack.overlap.tensor = true;
    if (source_->family == "torchtitan") read_torchtitan();
  }

  void read_torchtitan() {
    const json& source = part(record_, "source");
    TorchTitanRun run{.name = case_.id + " " + framework_,
                      .page = text_of(source, "title") + " " + text_of(source, "path"),
                      .caveats = caveats(),
                      .precision = top_.string_or("precision", "")};
    if (parallel_.has("compile")) run.compiles = parallel_.boolean_or("compile", false);
    if (parallel_.has("async_tp")) run.is_asynchronous = parallel_.boolean_or("async_tp", false);
    case_.stack = torchtitan_stack(run, case_.assumed);
  }

  std::string caveats() const {
    const auto found = record_.is_object() ? record_.find("caveats") : record_.end();
    if (found == record_.end()) return {};
    return found->is_string() ? found->get<std::string>() : found->dump();
  }

  static std::string text_of(const json& object, const char* key) {
    const auto found = object.is_object() ? object.find(key) : object.end();
    return found == object.end() || !found->is_string() ? std::string() : found->get<std::string>();
  }

  void read_gpu() {
    case_.gpu = system_.string_or("gpu", "");
    case_.profile = system_.string_or("profile", std::string(find_profile(case_.gpu, source_)));
    if (system_.has("profile") || system_.has("node_network_gbit_s"))
      case_.cluster =
          fmt::format("{} {} {}", case_.profile, system_.integer_or("gpus_per_node", 1, kMostGpus, 0),
                      system_.number_or("node_network_gbit_s", 0, 1e6, 0));
    if (case_.profile.empty())
      miss(fmt::format("no profile of the GPU '{}'; \"profile\" can name one", printable(case_.gpu)));
    if (system_.has("gpus_per_node")) case_.gpus_per_node = system_.integer("gpus_per_node", 1, kMostGpus);
    constexpr double kBytesPerGigabit = 1e9 / 8;
    if (system_.has("node_network_gbit_s"))
      case_.node_network =
          BytesPerSecond(system_.number("node_network_gbit_s", 1e-3, 1e6) * kBytesPerGigabit);
  }

  bool is_neusight() const {
    return source_ != nullptr && (source_->family == "transformers" || source_->family == "accelerate");
  }

  void read_plan() {
    ParallelPlan& plan = case_.plan;
    if (!parallel_.has("tp") || !parallel_.has("pp")) miss("the parallel sizes, tp and pp");
    plan.tensor = parallel_.integer_or("tp", 1, kMostDegree, 1);
    plan.pipeline = parallel_.integer_or("pp", 1, kMostDegree, 1);
    plan.context = count_or(parallel_, "cp", kMostDegree, 1);
    plan.virtual_stages = count_or(parallel_, "vp", kMostDegree, 1);
    plan.expert = count_or(parallel_, "ep", kMostDegree, 1);
    plan.expert_tensor = count_or(parallel_, "etp", kMostDegree, 1);
    const std::int64_t num_gpus = this->num_gpus();
    if (num_gpus == 0) miss("the number of GPUs");
    const std::int64_t replica = plan.tensor * plan.pipeline * plan.context;
    plan.data = std::max<std::int64_t>(1, num_gpus / replica);
    if (num_gpus % replica != 0)
      miss(fmt::format("a plan that fits together: {} GPUs are no multiple of tp x pp x cp = {}", num_gpus,
                       replica));
    // Some sources count the GPUs that split sequences among the replicas, or sets of replicas that share
    // weights.
    const std::int64_t said = count_or(parallel_, "dp", kMostDegree, plan.data);
    const std::int64_t in_set = std::max<std::int64_t>(1, fsdp_degree().value_or(1));
    const auto is_data = [&plan](std::int64_t degree) {
      return degree == plan.data || degree == plan.data * plan.context;
    };
    if (!is_data(said) && !is_data(product({said, in_set}).value_or(0)))
      miss(fmt::format("a plan that fits together: tp x pp x cp x dp = {} of {} GPUs", replica * said,
                       num_gpus));
    plan.precision = precision();
    read_sharding();
    const bool is_modern = case_.stack.elementwise == ElementwiseKernels::Fused;
    plan.sequence_parallel = plan.tensor > 1 && parallel_.boolean_or("sp", is_modern);
    // Uneven splits count embedding and output layer as one layer each (Llama 3 405B: 126 layers).
    plan.ends_count_as_layers = case_.model.num_layers % (plan.pipeline * plan.virtual_stages) != 0;
  }

  /// Precision of the record, or of the framework's name if the record has none.
  Precision precision() {
    const std::string text = top_.string_or("precision", "");
    auto precision = named_precision(text);
    if (!precision) precision = named_precision(framework_);
    if (!precision)
      miss(text.empty()
               ? "the precision"
               : fmt::format("the precision: fp32, fp16, bf16, fp8 or fp4, found '{}'", printable(text)));
    return precision.value_or(Precision::Bf16);
  }

  /// The degree under `fsdp`, as a number or in digits; nothing where it is something else.
  std::optional<std::int64_t> fsdp_degree() {
    const auto fsdp = parallel_json_.find("fsdp");
    if (fsdp == parallel_json_.end()) return std::nullopt;
    if (fsdp->is_number_integer()) return parallel_.integer("fsdp", 0, kMostGpus);
    if (!fsdp->is_string()) return std::nullopt;
    const auto digits = parse_integer(fsdp->get<std::string>(), 0, kMostGpus);
    return digits ? std::optional(*digits) : std::nullopt;
  }

  void read_sharding() {
    Sharding& sharding = case_.plan.sharding;
    sharding = source_ != nullptr ? source_->sharding : case_.stack.choices.sharding.front();
    const std::int64_t zero = parallel_.integer_or("zero", 0, 3, -1);
    if (zero == 0) sharding = Sharding::None;
    if (zero == 1) sharding = Sharding::Optimizer;
    if (zero == 2) sharding = Sharding::Gradients;
    if (zero == 3) sharding = Sharding::Full;
    const auto fsdp = parallel_json_.find("fsdp");
    if (fsdp == parallel_json_.end() || fsdp->is_null()) return;
    if (const auto degree = fsdp_degree()) {
      read_fsdp_degree(*degree);
    } else if (fsdp->is_string()) {
      sharding = fsdp_strategy(fsdp->get<std::string>());
    } else if (fsdp->is_boolean()) {
      const bool is_on = fsdp->get<bool>();
      if (is_on || shards_weights(sharding)) sharding = is_on ? Sharding::Full : Sharding::None;
    } else {
      parallel_.complain("fsdp",
                         expected_found("a degree, true, false or a strategy", fsdp->dump().substr(0, 80)));
    }
    // FSDP's PURE policy reduces gradients in bf16.
    if (parallel_.string_or("mixed_precision", "") != "PURE") return;
    case_.stack.gradient_bytes = 2;
    case_.stack.memory.gradient_bytes = 2;
  }

  /// 0 and 1 are no sharding; frameworks that always shard do so between the GPUs that split sequences.
  void read_fsdp_degree(std::int64_t degree) {
    ParallelPlan& plan = case_.plan;
    const bool always = shards_weights(plan.sharding);
    if (degree > 1) plan.sharding = Sharding::Full;
    if (degree <= 1 && !always) return;
    if (degree <= 1 && plan.context == 1) {
      plan.sharding = Sharding::None;
    } else {
      shard_over(std::max<std::int64_t>(1, degree));
    }
  }

  /// Fewer replicas than all form a set. Some sources count those that split sequences, too.
  void shard_over(std::int64_t degree) {
    ParallelPlan& plan = case_.plan;
    if (degree == plan.num_replicas()) return;
    if (plan.data % degree != 0)
      return miss(fmt::format("a plan that fits together: weights are sharded over {} of {} replicas", degree,
                              plan.data));
    plan.replicate = plan.data / degree;
  }

  /// Sharding by the names of torch.distributed.fsdp.ShardingStrategy; hybrid sharding is within nodes.
  Sharding fsdp_strategy(const std::string& name) {
    const std::string letters = plain_letters(name);
    if (letters == "fullshard" || letters == "true" || letters == "fsdp" || letters == "fsdp2")
      return Sharding::Full;
    if (letters == "shardgradop") return Sharding::Gradients;
    if (letters == "noshard" || letters == "false" || letters == "none") return Sharding::None;
    if (letters == "hybridshard" || letters == "hsdp") {
      const ParallelPlan& plan = case_.plan;
      if (!case_.gpus_per_node) miss("gpus_per_node, over which HYBRID_SHARD shards");
      shard_over(std::max<std::int64_t>(1, case_.gpus_per_node.value_or(1) / (plan.tensor * plan.context)));
      return Sharding::Full;
    }
    miss(fmt::format("the sharding: FULL_SHARD, HYBRID_SHARD, SHARD_GRAD_OP or NO_SHARD, found '{}'",
                     printable(name)));
    return Sharding::Full;
  }

  void read_batch() {
    ParallelPlan& plan = case_.plan;
    plan.global_batch = count_or(batch_, "global_batch", kMostRecordTokens, 0);
    plan.micro_batch = count_or(batch_, "micro_batch", kMostRecordTokens, 0);
    std::int64_t local_batch = count_or(batch_, "local_batch", kMostRecordTokens, 0);
    const std::int64_t accumulated = count_or(batch_, "grad_accum", kMostRecordTokens,
                                              count_or(batch_, "num_microbatches", kMostRecordTokens, 0));
    // torchtitan cuts the local batch into as many micro-batches as there are stages; nobody runs several
    // stages with a single one.
    const bool is_torchtitan = source_ != nullptr && source_->family == "torchtitan";
    if (is_torchtitan && plan.pipeline > 1 && plan.micro_batch * plan.data == plan.global_batch)
      local_batch = std::exchange(plan.micro_batch, 0);
    if (plan.micro_batch == 0 && local_batch > 0 && local_batch % plan.pipeline == 0)
      plan.micro_batch = local_batch / plan.pipeline;
    if (plan.global_batch == 0 && local_batch > 0)
      plan.global_batch = product({local_batch, plan.data}).value_or(0);
    complete_batch(accumulated);
    if (plan.global_batch == 0) return miss("the global batch");
    case_.has_micro_batch = plan.micro_batch > 0;
    if (case_.has_micro_batch && accumulated > 0) read_accumulation(accumulated);
  }

  /// Completes the batch: of global batch, micro-batch and the number of micro-batches per replica, two give
  /// the third.
  void complete_batch(std::int64_t accumulated) {
    ParallelPlan& plan = case_.plan;
    const auto replicas = product({plan.data, accumulated});
    if (accumulated == 0 || !replicas) return;
    if (plan.micro_batch == 0 && plan.global_batch % *replicas == 0)
      plan.micro_batch = plan.global_batch / *replicas;
    if (plan.global_batch == 0) plan.global_batch = product({*replicas, plan.micro_batch}).value_or(0);
  }

  /// Some sources round the global batch: by less than one micro-batch of all replicas.
  void read_accumulation(std::int64_t accumulated) {
    ParallelPlan& plan = case_.plan;
    const auto step = product({plan.data, plan.micro_batch});
    if (!step || plan.global_batch % *step == 0) return;
    const auto batch = product({*step, accumulated});
    if (!batch || std::abs(*batch - plan.global_batch) >= *step) {
      return miss(
          fmt::format("one global batch: {} is no multiple of {} replicas x micro-batch {}, and {} of "
                      "these are not near it",
                      plan.global_batch, plan.data, plan.micro_batch, accumulated));
    }
    assume(fmt::format("global batch: {}, which the record rounds to {}", *batch, plan.global_batch));
    plan.global_batch = *batch;
  }

  /// Recomputation as the record says it; nothing where it does not.
  std::optional<Recompute> recorded_recompute() {
    const std::string text = top_.string_or("recompute", "");
    const std::string words = plain_words(text);
    std::vector<std::string_view> list = split(words, ' ');
    const auto is_first_of = [&list](std::initializer_list<std::string_view> some) {
      return std::ranges::find(some, list.front()) != some.end();
    };
    while (list.size() > 1 &&
           is_first_of({"ac", "activation", "checkpointing", "recompute", "recomputation"}))
      list.erase(list.begin());
    if (is_first_of({"none", "no", "off", "false", "disabled", "without", "w"})) return Recompute::None;
    if (has_unnegated_part(words, "selective")) return Recompute::Selective;
    if (has_unnegated_part(words, "full")) return Recompute::Full;
    if (std::ranges::any_of(list, [](std::string_view word) { return word == "op" || word == "sac"; }))
      return Recompute::Selective;  // torchtitan's, by operator
    if (!words.empty() && !is_first_of({"not", "unknown", "n"}))
      miss(fmt::format("the recomputation: none, selective or full, found '{}'", printable(text)));
    return std::nullopt;
  }

  /// Recomputation, and what the framework's published recipes say beyond the record.
  void read_recipe(const std::string& name) {
    const auto recompute = recorded_recompute();
    if (recompute) case_.plan.recompute = *recompute;
    // The name that recipes know, then what the record's says besides.
    const std::string model =
        plain_letters(name) + plain_letters(name == case_.model.name ? "" : case_.model.name);
    const std::string_view family = source_ == nullptr ? std::string_view() : source_->family;
    auto release = named_release(text_of(part(record_, "source"), "title"));
    if (!release) release = named_release(case_.id);
    if (!release) release = named_release(framework_);
    if (family == "mbridge" && !release) assume("release: before all that recipes name");
    complete_from_recipe(case_, {.family = family, .model = model, .release = release.value_or(0)},
                         recompute.has_value());
    if (case_.model.has_experts() && case_.plan.expert == 1 && !parallel_.has("ep") && num_gpus() > 1)
      assume("experts: all of them on every GPU");
  }

  void read_measurement() {
    constexpr double kMost = 1e12;
    const double tokens =
        static_cast<double>(case_.plan.global_batch) * static_cast<double>(case_.model.sequence_length);
    MeasuredFigures figures = read_figures(measured_, tokens, num_gpus());
    for (std::string& reason : figures.missing)
      miss(std::move(reason));
    double seconds = figures.iteration.count();
    const bool is_derived = seconds == 0;
    if (seconds == 0) {
      seconds = derived_.number_or("iteration_s_from_flops", 0, kMost, 0);
      if (seconds > 0) assume("iteration time: derived from the published FLOP/s");
    }
    if (seconds == 0) {
      seconds = derived_.number_or("iteration_s", 0, kMost, 0);
      if (seconds > 0) assume("iteration time: derived, as the record does");
    }
    if (seconds <= 0) miss(kNoIterationTime);
    case_.measured = Seconds(seconds);
    case_.allocated = figures.allocated;
    case_.reserved = figures.reserved;
    case_.figures = json::object();
    const json& measured = part(record_, "measured");
    for (auto figure = measured.begin(); measured.is_object() && figure != measured.end(); ++figure) {
      if (!figure->is_null()) case_.figures[figure.key()] = *figure;
    }
    if (is_derived) case_.figures["iteration_s"] = seconds;
    case_.source = part(record_, "source");
    for (const char* const remark : {"derived", "caveats"}) {
      if (const json& text = part(record_, remark); !text.empty()) case_.remarks[remark] = text;
    }
  }

  std::string group() const {
    const std::string_view family = source_ != nullptr  ? source_->family
                                    : top_.has("stack") ? std::string_view(case_.stack.name)
                                                        : std::string_view("other");
    std::string name = fmt::format("{}-{}", family, case_.profile.empty() ? "other" : case_.profile);
    if (case_.model.has_experts()) name += "-moe";
    if (case_.model.window.size > 0) name += "-window";
    if (case_.model.is_hybrid()) name += "-hybrid";
    if (case_.plan.precision == Precision::Fp4) name += "-nvfp4";
    if (case_.plan.precision == Precision::Fp8 && family == "mpt") name += "-fp8";
    return name;
  }

  /// SimuMax measured its machine's kernels, which are slower than those of other B200.
  void take_own_profile() {
    if (source_ != nullptr && source_->family == "simumax" && case_.profile == "b200")
      case_.profile = "b200-simumax";
  }

  /// Lists keys that are not used. Keys of measurements are additional facts: a record may have any.
  void list_unread() {
    const std::vector<std::string_view> known = split(kRecordKeys, ' ');
    for (const char* const name : {"", "model", "system", "parallel", "batch"}) {
      const std::string prefix = *name == '\0' ? "" : fmt::format("{}.", name);
      for (const auto& [key, value] : (prefix.empty() ? record_ : part(record_, name)).items()) {
        if (std::find(known.begin(), known.end(), prefix + key) == known.end())
          case_.unread.push_back(prefix + key);
      }
    }
  }

  /// A record that does not fit together cannot be predicted.
  void check() {
    const auto checked = check_plan(case_.model, case_.plan);
    if (!checked) miss(fmt::format("a plan that fits together: {}", checked.error().describe()));
  }

  JsonFields top_;
  JsonFields model_;
  JsonFields system_;
  JsonFields parallel_;
  JsonFields batch_;
  JsonFields measured_;
  JsonFields derived_;
  const json& parallel_json_;
  const json& record_;
  const MeasuredSource* source_ = nullptr;
  std::string framework_;
  RawCase case_;
};

}  // namespace

Result<RawCase> read_measured_record(const JsonDocument& document, const json& record) {
  return RecordReader(document, record).read();
}

}  // namespace vtrain
