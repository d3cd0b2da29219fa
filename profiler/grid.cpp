#include "profiler/grid.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace vtrain::profiler {
namespace {

constexpr std::int64_t kHeadSize = 128;

/// The point of one width, without splits and formats.
ModelPoint point_of(const GridSpec& spec, const LayerWidth& width) {
  const bool is_gpt = spec.family == Family::Gpt;
  ModelPoint point{.family = spec.family, .hidden = width.hidden};
  point.heads = width.heads > 0 ? width.heads : std::max<std::int64_t>(1, width.hidden / kHeadSize);
  const std::int64_t groups = spec.key_value_heads > 0 ? spec.key_value_heads : 8;
  point.key_value_heads = is_gpt && spec.key_value_heads == 0 ? point.heads : std::min(groups, point.heads);
  const double ratio = spec.ffn_ratio > 0 ? spec.ffn_ratio : (is_gpt ? 4.0 : 3.5);
  point.ffn_hidden = std::llround(ratio * static_cast<double>(width.hidden));
  point.vocabulary = spec.vocabulary > 0 ? spec.vocabulary : (is_gpt ? 51200 : 128256);
  return point;
}

/// Copies of all points, one for each value of a field.
template <typename Values, typename Set>
void multiply(std::vector<ModelPoint>& points, const Values& values, Set set) {
  std::vector<ModelPoint> product;
  product.reserve(points.size() * values.size());
  for (const ModelPoint& point : points) {
    for (const auto& value : values) {
      product.push_back(point);
      set(product.back(), value);
    }
  }
  points = std::move(product);
}

std::string describe(const ModelPoint& point) {
  return std::string(name_of(point.family)) + " hidden " + std::to_string(point.hidden) + ", " +
         std::to_string(point.heads) + " heads, sequence " + std::to_string(point.sequence) +
         ", micro-batch " + std::to_string(point.micro_batch) + ", tensor " + std::to_string(point.tensor);
}

/// Softmax as a separate operator, if the scores go through memory.
void add_softmax(std::vector<Operator>& to, const ModelPoint& point) {
  const Format format = point.format == Format::Fp8 ? Format::Bf16 : point.format;
  const std::int64_t rows = point.micro_batch * (point.heads / point.tensor) * point.sequence;
  for (const Pass pass : {Pass::Forward, Pass::Backward})
    to.push_back(make_rows(OperatorKind::Softmax, pass, format, rows, point.sequence));
}

}  // namespace

GridSpec default_grid() {
  GridSpec spec;
  for (const std::int64_t hidden : {1024, 2048, 3072, 4096, 5120, 6144, 8192})
    spec.widths.push_back({.hidden = hidden, .heads = 0});
  spec.sequences = {1024, 2048, 4096, 8192};
  spec.micro_batches = {1, 2, 4, 8};
  spec.tensors = {1, 2, 4, 8};
  spec.formats = {Format::Bf16};
  spec.gradients = {Variant::Fp32Output};
  spec.attentions = {Variant::Fused};
  return spec;
}

GridPoints points_of(const GridSpec& spec) {
  std::vector<ModelPoint> all;
  for (const LayerWidth& width : spec.widths)
    all.push_back(point_of(spec, width));
  multiply(all, spec.tensors, [](ModelPoint& point, std::int64_t value) { point.tensor = value; });
  multiply(all, spec.sequences, [](ModelPoint& point, std::int64_t value) { point.sequence = value; });
  multiply(all, spec.micro_batches, [](ModelPoint& point, std::int64_t value) { point.micro_batch = value; });
  multiply(all, spec.formats, [](ModelPoint& point, Format value) { point.format = value; });
  multiply(all, spec.gradients, [](ModelPoint& point, Variant value) { point.gradients = value; });
  multiply(all, spec.attentions, [](ModelPoint& point, Variant value) { point.attention = value; });
  GridPoints made;
  for (ModelPoint& point : all) {
    for (const bool sequence_parallel : {false, true}) {
      if (sequence_parallel && point.tensor == 1) continue;
      point.sequence_parallel = sequence_parallel;
      const std::string fault = find_fault(point);
      if (fault.empty()) {
        made.points.push_back(point);
      } else if (const std::string line = describe(point) + ": " + fault;
                 made.left_out.empty() || made.left_out.back() != line) {
        made.left_out.push_back(line);
      }
    }
  }
  return made;
}

std::vector<Operator> necessary_operators(const std::vector<ModelPoint>& points) {
  std::vector<Operator> distinct;
  std::set<std::string> keys;
  const auto add = [&](const std::vector<Operator>& operators) {
    for (const Operator& op : operators) {
      if (keys.insert(key_of(op)).second) distinct.push_back(op);
    }
  };
  for (const ModelPoint& point : points) {
    for (const PartOperators& part : parts_of(point)) {
      add(part.forward);
      add(part.backward);
      add(part.update);
    }
    if (point.attention != Variant::Unfused) continue;
    std::vector<Operator> softmax;
    add_softmax(softmax, point);
    add(softmax);
  }
  return distinct;
}

}  // namespace vtrain::profiler
