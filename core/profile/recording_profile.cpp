#include "core/profile/recording_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "core/base/numbers.hpp"
#include "core/base/utf8.hpp"
#include "core/kernels/measured_products.hpp"
#include "core/profile/constants.hpp"
#include "core/profile/gpu_profile.hpp"
#include "core/profile/surface_fit.hpp"
#include "core/profile/tables.hpp"
#include "core/profile/writer.hpp"

namespace vtrain {
namespace {

/// The format that represents all 16-bit formats: bf16, or fp16 if only that was measured.
Precision half_precision(const KernelRecording& recording) {
  const bool has_bf16 =
      std::any_of(recording.operators.begin(), recording.operators.end(),
                  [](const RecordedOperator& op) { return op.precision == Precision::Bf16; });
  return has_bf16 ? Precision::Bf16 : Precision::Fp16;
}

/// The measured products; those in 16 bits count as bf16.
MeasuredProducts products_of(const KernelRecording& recording) {
  const Precision half = half_precision(recording);
  MeasuredProducts products;
  for (const RecordedOperator& op : recording.operators) {
    if (op.operation != "gemm" || (op.precision != half && op.precision != Precision::Fp8)) continue;
    const bool weights = op.pass == "weight_gradient";
    // Weight gradients that overwrite are plain products.
    const ProductKind kind =
        weights && op.variant == "out=fp32" ? ProductKind::WeightGradient : ProductKind::Plain;
    products.add(op.precision == half ? Precision::Bf16 : Precision::Fp8, kind,
                 {op.size("m"), op.size("n"), op.size("k")}, op.warm.time);
  }
  return products;
}

/// A measured shape, in logarithms, and its residual ln(measured / table).
struct Residual {
  KernelSurface::Point log_sizes{};
  double value = 0;
};

/// The mean of the residuals, weighted by the inverse square of their distance in the logarithms of the sizes
/// (Shepard's interpolation): a measured shape gives its own residual, a distant shape gives the mean of all.
/// `left_out` is ignored.
double residual_at(std::span<const Residual> residuals, const KernelSurface::Point& log_sizes,
                   const Residual* left_out = nullptr) {
  constexpr double kSame = 1e-9;
  double sum = 0;
  double weights = 0;
  for (const Residual& residual : residuals) {
    if (&residual == left_out) continue;
    double distance = kSame;
    for (std::size_t axis = 0; axis < log_sizes.size(); ++axis) {
      const double along = residual.log_sizes[axis] - log_sizes[axis];
      distance += along * along;
    }
    sum += residual.value / distance;
    weights += 1 / distance;
  }
  return weights > 0 ? sum / weights : 0;
}

KernelSurface::Point log_of(const std::array<double, 3>& sizes) {
  return {std::log(sizes[0]), std::log(sizes[1]), std::log(sizes[2])};
}

/// The table of the extended profile, moved to the measured products.
SurfaceFit move_table(const GpuProfile& base, Precision precision,
                      const MeasuredProducts::ByShape& products) {
  const KernelSurface& table = *base.gemm[static_cast<std::size_t>(precision)];
  std::vector<Residual> residuals;
  for (const auto& [shape, times] : products) {
    const std::array<double, 3> sizes = {static_cast<double>(shape[0]), static_cast<double>(shape[1]),
                                         static_cast<double>(shape[2])};
    const Nanoseconds roofline = gemm_roofline(base, precision, sizes[0], sizes[1], sizes[2]);
    residuals.push_back({log_of(sizes), std::log(times.mean() / roofline) - table.at(sizes).value});
  }
  std::vector<double> values;
  for (const std::int64_t m : table.axes()[0]) {
    for (const std::int64_t n : table.axes()[1]) {
      for (const std::int64_t k : table.axes()[2]) {
        const std::array<double, 3> sizes = {static_cast<double>(m), static_cast<double>(n),
                                             static_cast<double>(k)};
        values.push_back(table.at(sizes).value + residual_at(residuals, log_of(sizes)));
      }
    }
  }
  double left_out = 0;
  for (const Residual& residual : residuals)
    left_out += std::abs(std::expm1(residual_at(residuals, residual.log_sizes, &residual) - residual.value));
  constexpr double kPercent = 100;
  return {.surface = KernelSurface(table.axes(), std::move(values)),
          .num_points = std::ssize(residuals),
          .spread_percent = 0,
          .left_out_error_percent = kPercent * left_out / static_cast<double>(residuals.size())};
}

/// Fused attention of one pass in the form of published samples: heads x micro-batch count as heads.
std::vector<AttentionSample> attention_of(const KernelRecording& recording, std::string_view pass) {
  const Precision half = half_precision(recording);
  std::vector<AttentionSample> samples;
  for (const RecordedOperator& op : recording.operators) {
    if (op.operation != "attention" || op.variant != "fused" || op.pass != pass || op.precision != half)
      continue;
    samples.push_back({.batch = 1,
                       .sequence = op.size("sequence"),
                       .heads = op.size("batch") * op.size("heads"),
                       .key_value_heads = 1,
                       .head_size = op.size("head_size"),
                       .time = op.warm.time});
  }
  return samples;
}

/// Passes of attention as operators with efficiencies on a common scale.
void add_operators(std::string_view name, double flops_of_forward,
                   const std::vector<AttentionSample>& samples, std::vector<OperatorSample>& operators) {
  for (const AttentionSample& sample : samples) {
    const double flops = flops_of_forward * static_cast<double>(sample.heads) *
                         static_cast<double>(sample.sequence) * static_cast<double>(sample.sequence) *
                         static_cast<double>(sample.head_size);
    operators.push_back(
        {.op = std::string(name),
         .shape = fmt::format("batch=1, head_num={}, seq_len={}, qk_head_dim={}, v_head_dim={}", sample.heads,
                              sample.sequence, sample.head_size, sample.head_size),
         .efficiency = flops / sample.time.count()});
  }
}

/// Attention of the generation that the GPU's fused kernels belong to.
void add_attention(const KernelRecording& recording, const std::string& source, ProfileText& profile) {
  const std::vector<AttentionSample> forward = attention_of(recording, "forward");
  const auto fit = fit_attention(std::span(&forward, 1));
  if (!fit) return;
  const auto major = parse_number(recording.device.compute_capability, 0, 1000);
  constexpr double kHopper = 9;
  const AttentionKernel kernel =
      major && *major >= kHopper ? AttentionKernel::Flash3 : AttentionKernel::Flash2;
  profile.add_attention(kernel, *fit, source);
  std::vector<OperatorSample> passes;
  add_operators("sdp_fwd", 1, forward, passes);
  constexpr double kBackwardFlops = 2.5;
  add_operators("sdp_bwd", kBackwardFlops, attention_of(recording, "backward"), passes);
  if (const auto backward = fit_attention_backward(passes)) profile.add_attention_backward(*backward, source);
}

void add_collectives(const KernelRecording& recording, const std::string& source, ProfileText& profile) {
  std::vector<CollectiveSample> samples;
  for (const RecordedCollective& row : recording.collectives) {
    if (!row.collective || row.num_nodes != 1) continue;
    samples.push_back({.collective = *row.collective,
                       .num_gpus = row.num_gpus,
                       .bytes = static_cast<std::int64_t>(row.bytes.value),
                       .time = row.time});
  }
  if (!samples.empty())
    profile.add_collectives(kCollectivesKey, fit_collectives(std::span(&samples, 1)), source);
}

/// A constant for the part of the memory's bandwidth that some operators reach.
struct Efficiency {
  std::string_view constant;
  std::vector<std::string_view> operations;
};

/// Median part of `bandwidth` reached by operators whose traffic is at least four times the L2. Without any,
/// the largest operator's part. None if nothing was measured.
std::optional<double> reached(const KernelRecording& recording, const Efficiency& efficiency,
                              const GpuProfile& base) {
  constexpr double kBeyondL2 = 4;
  std::vector<std::pair<double, double>> parts;  // traffic, part
  for (const RecordedOperator& op : recording.operators) {
    const auto& names = efficiency.operations;
    if (std::find(names.begin(), names.end(), op.operation) == names.end()) continue;
    parts.emplace_back(op.traffic.value, op.traffic / base.memory_bandwidth / op.warm.time);
  }
  if (parts.empty()) return std::nullopt;
  std::sort(parts.begin(), parts.end());
  const double large = std::min(kBeyondL2 * recording.device.l2.value, parts.back().first);
  std::erase_if(parts, [&](const auto& part) { return part.first < large; });
  const auto middle = parts.begin() + std::ssize(parts) / 2;
  std::nth_element(parts.begin(), middle, parts.end(),
                   [](const auto& a, const auto& b) { return a.second < b.second; });
  return middle->second;
}

std::vector<ProfileConstant> efficiencies_of(const KernelRecording& recording, const GpuProfile& base,
                                             const std::string& source) {
  const std::array<Efficiency, 6> kEfficiencies = {{{"elementwise_efficiency", {"residual_add"}},
                                                    {"gelu_efficiency", {"gelu", "swiglu"}},
                                                    {"layer_norm_efficiency", {"layer_norm", "rms_norm"}},
                                                    {"softmax_efficiency", {"softmax"}},
                                                    {"dropout_efficiency", {"dropout"}},
                                                    {"optimizer_efficiency", {"adam"}}}};
  std::vector<ProfileConstant> constants;
  for (const Efficiency& efficiency : kEfficiencies) {
    const auto part = reached(recording, efficiency, base);
    if (!part) continue;
    const auto known =
        std::find_if(known_constants().begin(), known_constants().end(),
                     [&](const KnownConstant& constant) { return constant.name == efficiency.constant; });
    constexpr double kDigits = 1e4;
    const double value = std::clamp(std::round(*part * kDigits) / kDigits, known->low, known->high);
    constants.push_back({.name = std::string(efficiency.constant),
                         .value = value,
                         .unit = std::string(known->unit),
                         .source = source});
  }
  return constants;
}

/// Name of the recording in the profile's sources.
std::string source_of(const KernelRecording& recording) {
  std::string source = "measured by vtrain profile record";
  if (!recording.sessions.empty())
    source += " on " + printable(recording.sessions.front().started.substr(0, 10));
  for (const auto& [name, version] : recording.software) {
    if (name == "driver" || name == "cublaslt" || name == "cudnn")
      source += fmt::format(", {} {}", name, version);
  }
  return source;
}

}  // namespace

Result<std::string> recording_to_profile(const KernelRecording& recording, const std::string& base_name,
                                         const std::string& made_by) {
  const auto base = load_gpu_profile(base_name);
  if (!base) return fail(base.error());
  const std::string source = source_of(recording);
  ProfileText profile(
      base_name + "-recorded",
      fmt::format("{}, {}; the rest as {}", printable(recording.device.name), source, base_name), made_by,
      base_name);
  const std::vector<ProfileConstant> constants = efficiencies_of(recording, *base, source);
  if (!constants.empty()) profile.add_constants(constants);

  const MeasuredProducts products = products_of(recording);
  for (const Precision precision : {Precision::Bf16, Precision::Fp8}) {
    const auto& measured = products.of(precision, ProductKind::Plain);
    if (measured.empty() || base->gemm[static_cast<std::size_t>(precision)] == nullptr) continue;
    profile.add_gemm(precision, move_table(*base, precision, measured),
                     fmt::format("{}, where no shape was measured the table of {} moved to those that were",
                                 source, base_name));
  }
  add_attention(recording, source, profile);
  add_collectives(recording, source, profile);
  if (!products.empty()) profile.add_products(products, source);
  if (constants.empty() && products.empty() && recording.collectives.empty() &&
      attention_of(recording, "forward").empty())
    return fail({.kind = ErrorKind::NotFound,
                 .message = "expected measured operators or collectives, found none that a profile holds"});
  return std::move(profile).finish();
}

}  // namespace vtrain
