#include "tools/format/plan_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <variant>

#include "core/base/numbers.hpp"
#include "core/base/utf8.hpp"
#include "tools/format/text_format.hpp"
#include "workloads/config/plan_json.hpp"
#include "workloads/model/plan_fields.hpp"
#include "workloads/physical/hardware_flops.hpp"

namespace vtrain {
namespace {

using nlohmann::ordered_json;

constexpr double kSecondsPerHour = 3600;

/// One column: its title, its text for a plan, and the text `usual`. A column of usual texts alone may be
/// left out.
struct Column {
  std::string title;
  std::function<std::string(const RankedPlan&)> show;
  std::string usual{};
};

/// Pipeline stages: `64`, or `8 (4)` with virtual stages.
std::string stages_text(const ParallelPlan& plan) {
  if (plan.virtual_stages == 1) return with_thousands(plan.pipeline);
  return fmt::format("{} ({})", with_thousands(plan.pipeline), plan.virtual_stages);
}

/// Pipeline stages with a mark that `plan_table` explains.
std::string marked_stages_text(const ParallelPlan& plan) {
  return (plan.ends_count_as_layers ? "*" : "") + stages_text(plan);
}

/// `full (3)` where three layers of each chunk of a stage are recomputed, which `plan_table` explains.
std::string short_recompute_text(const ParallelPlan& plan) {
  const std::string name(name_of(plan.recompute));
  return plan.recomputed_layers > 0 ? fmt::format("{} ({})", name, plan.recomputed_layers) : name;
}

/// A field as tables show it: pipeline stages with their chunks, recomputation with its layers.
std::string column_text(const Field<ParallelPlan>& field, const ParallelPlan& plan) {
  if (field.key == "pipeline") return marked_stages_text(plan);
  if (field.key == "recompute") return short_recompute_text(plan);
  const auto* const count = std::get_if<std::int64_t ParallelPlan::*>(&field.member);
  return count != nullptr ? with_thousands(plan.**count) : field_text(field, plan);
}

std::vector<Column> shape_columns(std::span<const PlanRow> rows) {
  std::vector<Column> columns;
  for (const Field<ParallelPlan>& field : plan_fields()) {
    if (field.title.empty()) continue;
    const auto show = [&field](const RankedPlan& ranked) { return column_text(field, ranked.plan); };
    std::string usual = field.hides_default ? column_text(field, ParallelPlan{}) : "";
    // The precision is the stack's, unless a plan says another.
    if (field.key == "precision" && !rows.empty()) usual = show(rows.front().plan);
    columns.push_back({std::string(field.title), show, usual});
  }
  return columns;
}

/// Mark of a plan's memory, which `plan_table` explains.
std::string mark_of(Fit fit) {
  return fit == Fit::Yes ? "" : fit == Fit::Tight ? "~" : "!";
}

std::vector<Column> cost_columns(const TrainingTerms& terms) {
  const bool is_usd = terms.usd_per_gpu_hour.has_value();
  std::vector<Column> columns = {
      {"iteration", [](const RankedPlan& p) { return iteration_text(p.iteration); }},
      {"memory",
       [](const RankedPlan& p) { return mark_of(p.memory.fit()) + as_gibibytes(p.memory.peak.value); }},
      {is_usd ? "cost/Mtoken" : "GPU-hours/Mtoken",
       [&terms, is_usd](const RankedPlan& p) { return cost_text(terms.cost_per_million_tokens(p), is_usd); }},
  };
  if (!terms.tokens) return columns;
  columns.push_back(
      {"training", [&terms](const RankedPlan& p) { return as_days(terms.training_seconds(p)); }});
  columns.push_back({is_usd ? "cost" : "GPU-hours", [&terms, is_usd](const RankedPlan& p) {
                       const double cost = terms.training_cost(p);
                       return fmt::format("{}{}", is_usd ? "$" : "", with_thousands(std::llround(cost)));
                     }});
  return columns;
}

/// Parts of a breakdown with their names, and the word for a larger amount of each.
struct Part {
  std::string_view name;
  Nanoseconds Breakdown::*time;
  std::string_view less = "less";
  std::string_view more = "more";
};

constexpr std::array<Part, 6> kParts = {{{"compute", &Breakdown::compute},
                                         {"layer communication", &Breakdown::tensor_comm},
                                         {"pipeline communication", &Breakdown::pipeline_comm},
                                         {"data communication", &Breakdown::data_comm},
                                         {"optimizer", &Breakdown::optimizer},
                                         {"bubble", &Breakdown::bubble, "smaller", "larger"}}};

}  // namespace

double TrainingTerms::iterations() const {
  return std::ceil(tokens.value() / tokens_per_iteration);
}

double TrainingTerms::training_seconds(const RankedPlan& plan) const {
  return iterations() * Seconds(plan.iteration).count();
}

double TrainingTerms::cost_per_million_tokens(const RankedPlan& plan) const {
  const double gpu_hours = gpu_seconds(plan) / kSecondsPerHour;
  return gpu_hours * usd_per_gpu_hour.value_or(1) / (tokens_per_iteration / 1e6);
}

double TrainingTerms::training_cost(const RankedPlan& plan) const {
  return iterations() * gpu_seconds(plan) / kSecondsPerHour * usd_per_gpu_hour.value_or(1);
}

TrainingSpeed training_speed(const TransformerModel& model, const ParallelPlan& plan, const Stack& stack,
                             Nanoseconds iteration, FlopsPerSecond peak_rate) {
  const double seconds = Seconds(iteration).count();
  const double gpu_seconds = seconds * plan.num_gpus().value;
  const auto tokens = static_cast<double>(plan.global_batch * model.sequence_length);
  const FlopsPerSecond rate(model_flops(model, plan.global_batch).value * (1 - masked_share(model)) /
                            gpu_seconds);
  return {.tokens_per_s = tokens / seconds,
          .tokens_per_s_per_gpu = tokens / gpu_seconds,
          .per_gpu = rate,
          .mfu = rate.value / peak_rate.value,
          .hfu = hardware_flops(model, plan, stack).value / gpu_seconds / peak_rate.value};
}

std::string speed_text(const TrainingSpeed& speed) {
  return fmt::format("{} tokens/s   {} tokens/s/GPU   MFU {:.0f} %   HFU {:.0f} %   {} TFLOP/s/GPU",
                     short_number(speed.tokens_per_s), short_number(speed.tokens_per_s_per_gpu),
                     100 * speed.mfu, 100 * speed.hfu, short_number(speed.per_gpu.value / 1e12));
}

std::string plan_table(std::span<const PlanRow> rows, const TrainingTerms& terms, bool with_gpus) {
  std::vector<Column> columns;
  if (with_gpus) {
    columns.push_back({"GPUs", [](const RankedPlan& p) { return with_thousands(p.plan.num_gpus().value); }});
  }
  for (auto& list : {shape_columns(rows), cost_columns(terms)})
    columns.insert(columns.end(), list.begin(), list.end());
  std::erase_if(columns, [rows](const Column& column) {
    return !column.usual.empty() && std::all_of(rows.begin(), rows.end(), [&column](const PlanRow& row) {
      return column.show(row.plan) == column.usual;
    });
  });
  std::vector<std::string> header = {""};
  for (const Column& column : columns)
    header.push_back(column.title);
  TextTable table(std::move(header));
  for (const PlanRow& row : rows) {
    std::vector<std::string> cells = {row.label};
    for (const Column& column : columns)
      cells.push_back(column.show(row.plan));
    table.add_row(std::move(cells));
  }
  const bool is_marked = std::any_of(rows.begin(), rows.end(),
                                     [](const PlanRow& row) { return row.plan.plan.ends_count_as_layers; });
  std::string text = table.to_string();
  const bool is_part = std::any_of(rows.begin(), rows.end(),
                                   [](const PlanRow& row) { return row.plan.plan.recomputed_layers > 0; });
  if (is_part) text += "full (n): the first n layers of each stage, or of each of its virtual stages\n";
  if (is_marked) text += "* embedding and output layer count as a layer of the first and of the last stage\n";
  const bool has_zero_bubble = std::any_of(rows.begin(), rows.end(), [](const PlanRow& row) {
    return row.plan.plan.schedule == Schedule::ZeroBubble;
  });
  if (has_zero_bubble)
    text += "zero-bubble: ZB-H1, which a fork of Megatron-Core has (sail-sg/zero-bubble)\n";
  const auto first = [&rows](Fit fit) {
    return std::find_if(rows.begin(), rows.end(),
                        [fit](const PlanRow& row) { return row.plan.memory.fit() == fit; });
  };
  if (const auto tight = first(Fit::Tight); tight != rows.end()) {
    text += fmt::format("~ tight: within {:.2g} % of {}, so that only a run can tell whether it fits\n",
                        kTightMargin * 100, as_gibibytes(tight->plan.memory.capacity.value));
  }
  if (const auto too_large = first(Fit::No); too_large != rows.end()) {
    text += fmt::format("! DOES NOT FIT into {} of memory\n",
                        as_gibibytes(too_large->plan.memory.capacity.value));
  }
  return text;
}

std::string recompute_text(const ParallelPlan& plan) {
  const std::string name(name_of(plan.recompute));
  return plan.recomputed_layers > 0
             ? fmt::format("{} of the first {}", name, count_of(plan.recomputed_layers, "layer"))
             : name;
}

std::string_view layer_communication(const ParallelPlan& plan) {
  const bool tensor = plan.tensor > 1;
  const bool context = plan.context > 1;
  const bool expert = plan.expert > 1;
  if (int{tensor} + int{context} + int{expert} > 1) return "layer";
  return context ? "context" : expert ? "expert" : "tensor";
}

namespace {

/// Value of a plan's field, in words.
std::string field_phrase(const Field<ParallelPlan>& field, const ParallelPlan& plan) {
  if (field.key == "pipeline") return "pipeline " + stages_text(plan);
  if (field.key == "recompute")
    return "recompute " + recompute_text(plan) + (plan.ends_count_as_layers ? ", ends count as layers" : "");
  if (field.key == "offloaded_layers") return count_of(plan.offloaded_layers, "layer") + " offloaded";
  if (field.key == "schedule") return std::string(name_of(plan.schedule));
  return fmt::format("{} {}", field.title, field_text(field, plan));
}

}  // namespace

std::string describe_plan(const ParallelPlan& plan) {
  std::string text;
  for (const Field<ParallelPlan>& field : plan_fields()) {
    const bool is_told = !field.title.empty() && field.key != "precision";
    if (!is_told || (field.hides_default && has_default(field, plan))) continue;
    text += (text.empty() ? "" : ", ") + field_phrase(field, plan);
  }
  return text;
}

std::string describe_changes(const ParallelPlan& from, const ParallelPlan& to) {
  std::string text;
  for (const Field<ParallelPlan>& field : plan_fields()) {
    if (field_text(field, from) == field_text(field, to)) continue;
    std::string change;
    if (field.key == "virtual_stages")
      change = fmt::format("virtual stages {}", to.virtual_stages);
    else if (field.title.empty())
      change = fmt::format("{} {}", field.key, field_text(field, to));
    else
      change = field_phrase(field, to);
    std::ranges::replace(change, '_', ' ');
    text += (text.empty() ? "" : ", ") + change;
  }
  return text;
}

std::string explain_difference(const RankedPlan& faster, const RankedPlan& slower) {
  struct Difference {
    const Part* part;
    double ns;
  };
  // Named after what both plans have inside their layers, if that is one thing.
  ParallelPlan both = faster.plan;
  both.tensor = std::max(both.tensor, slower.plan.tensor);
  both.context = std::max(both.context, slower.plan.context);
  both.expert = std::max(both.expert, slower.plan.expert);
  const std::string in_layers = fmt::format("{} communication", layer_communication(both));
  std::vector<Difference> differences;
  double largest = 0;
  for (const Part& part : kParts) {
    const double ns = (faster.breakdown.*part.time - slower.breakdown.*part.time).count();
    differences.push_back({&part, ns});
    largest = std::max(largest, std::abs(ns));
  }
  // What is below a tenth of the largest difference explains nothing.
  std::erase_if(differences, [largest](const Difference& d) { return std::abs(d.ns) <= largest / 10; });
  // Gains first, then losses, each with the largest first.
  std::stable_sort(differences.begin(), differences.end(), [](const Difference& a, const Difference& b) {
    if ((a.ns < 0) != (b.ns < 0)) return a.ns < 0;
    return std::abs(a.ns) > std::abs(b.ns);
  });
  const bool in_seconds = largest >= 0.1e9;
  std::string text;
  for (const auto& [part, ns] : differences) {
    const std::string size = in_seconds ? fmt::format("{:.2f} s", std::abs(ns) / 1e9)
                                        : fmt::format("{:.3g} ms", std::abs(ns) / 1e6);
    text +=
        fmt::format("{}{} {} ({}{})", text.empty() ? "" : ", ", ns < 0 ? part->less : part->more,
                    part->time == &Breakdown::tensor_comm ? in_layers : part->name, ns < 0 ? "−" : "+", size);
  }
  return text;
}

std::string remarks_text(std::span<const std::string> remarks, std::string_view mark) {
  std::string text;
  for (const std::string& remark : remarks)
    text += wrap_text(fmt::format("of {}: {}", mark, remark), text_columns(), 2) + "\n";
  return text;
}

std::string extrapolation_text(const Fallbacks& fallbacks, std::string_view where, std::string_view list) {
  const Extrapolation* const furthest = furthest_extrapolation(fallbacks);
  if (furthest == nullptr) return {};
  const std::ptrdiff_t count = std::ssize(fallbacks.extrapolated);
  return fmt::format("outside measured sizes{}: {}{}, {}{}", where,
                     count == 1 ? "" : fmt::format("{} kernels, the furthest ", count), furthest->name,
                     describe_reach(furthest->reach), list.empty() ? "" : fmt::format(" (list: {})", list));
}

std::string extrapolated_list(const std::string& file) {
  return file.empty() ? "--extrapolated FILE.csv" : printable(file);
}

std::string fallbacks_text(const Fallbacks& fallbacks, std::string_view mark, std::string_view list) {
  std::string text = extrapolation_text(fallbacks, fmt::format(" in {}", mark), list);
  if (!text.empty()) text = wrap_text(text, text_columns(), 2) + "\n";
  for (const std::string& missing : fallbacks.missing)
    text += wrap_text(fmt::format("fallback of {}: {}", mark, missing), text_columns(), 2) + "\n";
  return text;
}

nlohmann::ordered_json breakdown_to_json(const Breakdown& breakdown) {
  const auto seconds = [](Nanoseconds time) { return Seconds(time).count(); };
  return {{"compute_s", seconds(breakdown.compute)},
          {"tensor_comm_s", seconds(breakdown.tensor_comm)},
          {"pipeline_comm_s", seconds(breakdown.pipeline_comm)},
          {"data_comm_s", seconds(breakdown.data_comm)},
          {"optimizer_s", seconds(breakdown.optimizer)},
          {"bubble_s", seconds(breakdown.bubble)},
          {"compute_parts",
           {{"products_s", seconds(breakdown.products)},
            {"attention_s", seconds(breakdown.attention)},
            {"memory_bound_s", seconds(breakdown.memory_bound())},
            {"cpu_wait_s", seconds(breakdown.cpu_wait)}}}};
}

nlohmann::ordered_json interval_to_json(double predicted, const Interval& interval) {
  return {{"low", predicted * interval.low}, {"high", predicted * interval.high}, {"coverage", kCoverage}};
}

std::string uncertainty_text(Nanoseconds iteration, const Uncertainty& uncertainty, std::string_view stack,
                             const TransformerModel& model) {
  const Interval& interval = uncertainty.time;
  std::string text = fmt::format("{} to {} ({})", iteration_text(iteration * interval.low),
                                 iteration_text(iteration * interval.high), interval_text(interval));
  if (uncertainty.num_own > 0) return fmt::format("{}, {} runs of your own", text, uncertainty.num_own);
  if (uncertainty.never_validated) return text;  // a remark says so
  return fmt::format("{}, {} validated runs of {} with {}", text, uncertainty.num_similar, stack,
                     models_of(kind_of(model)));
}

std::string equal_plans_text(std::span<const RankedPlan> plans) {
  std::size_t equal = 0;
  while (equal < plans.size() && plans[equal].iteration <= plans[0].iteration * (1 + kPlanDifference))
    ++equal;
  if (equal < 2) return {};
  return wrap_text(fmt::format("1 {} {} differ by less than a comparison errs, {:.0f} %: measure them before "
                               "you choose by speed",
                               equal == 2 ? "and" : "to", equal, kPlanDifference * 100),
                   text_columns(), 2) +
         "\n";
}

nlohmann::ordered_json memory_to_json(const MemoryEstimate& memory, const Interval& interval) {
  return {{"peak_bytes_per_gpu", memory.peak.value},
          {"interval_bytes", interval_to_json(memory.peak.value, interval)},
          {"capacity_bytes", memory.capacity.value},
          {"stage", memory.stage},
          {"fits", name_of(memory.fit())}};
}

ordered_json plan_to_json(const RankedPlan& ranked, const TrainingTerms& terms,
                          const Uncertainty& uncertainty) {
  const double iteration_s = Seconds(ranked.iteration).count();
  ordered_json json = {{"num_gpus", ranked.plan.num_gpus().value}};
  json.update(plan_to_json(ranked.plan));
  json["iteration_time_s"] = iteration_s;
  json["iteration_time_interval_s"] = interval_to_json(iteration_s, uncertainty.time);
  json["breakdown"] = breakdown_to_json(ranked.breakdown);
  json["memory"] = memory_to_json(ranked.memory, uncertainty.memory);
  json["tokens_per_s"] = terms.tokens_per_iteration / iteration_s;
  json["tokens_per_s_per_gpu"] = terms.tokens_per_iteration / gpu_seconds(ranked);
  json["gpu_hours_per_million_tokens"] =
      gpu_seconds(ranked) / kSecondsPerHour / (terms.tokens_per_iteration / 1e6);
  if (terms.usd_per_gpu_hour) json["usd_per_million_tokens"] = terms.cost_per_million_tokens(ranked);
  if (!terms.tokens) return json;
  json["training_s"] = terms.training_seconds(ranked);
  json["training_gpu_hours"] = terms.iterations() * gpu_seconds(ranked) / kSecondsPerHour;
  if (terms.usd_per_gpu_hour) json["training_usd"] = terms.training_cost(ranked);
  return json;
}

std::string tokens_text(double tokens) {
  constexpr std::array<std::pair<double, std::string_view>, 3> kScales = {
      {{1e12, "trillion"}, {1e9, "billion"}, {1e6, "million"}}};
  for (const auto& [scale, name] : kScales) {
    if (tokens >= scale) return fmt::format("{} {} tokens", short_number(tokens / scale), name);
  }
  return short_number(tokens) + " tokens";
}

std::string cost_text(double cost, bool is_usd) {
  if (!is_usd) return fmt::format("{:#.4g}", cost);
  return cost >= 1 ? fmt::format("${:.2f}", cost) : fmt::format("${:#.3g}", cost);
}

}  // namespace vtrain
