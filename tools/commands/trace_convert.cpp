/// `vtrain trace convert`: a trace in another format.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/commands/commands.hpp"
#include "tools/commands/trace_output.hpp"
#include "tools/experiment/pricing.hpp"
#include "tools/experiment/traces.hpp"
#include "tools/experiment/transformations.hpp"
#include "tools/options/options.hpp"
#include "workloads/pricing/curves_by_type.hpp"

namespace vtrain {
namespace {

/// The arguments as given.
struct ConvertArguments {
  TraceArguments trace;
  PricingArguments pricing{};
  TransformationArguments transformations{.deadlines = "none"};
  OutputArguments output;
};

Result<void> convert(const ConvertArguments& arguments) {
  const auto transformations = read_transformations(arguments.transformations);
  if (!transformations) return fail(transformations.error());
  std::vector<std::string> warnings;
  auto pricing = ClusterPricing::open(arguments.pricing, std::nullopt, warnings);
  if (!pricing) return fail(pricing.error());
  auto read = read_traces(arguments.trace, files_as_tenants(arguments.transformations));
  if (!read) return fail(read.error());
  const auto changes = transform(read->trace.workload, *transformations, pricing->curves(), false, warnings);
  log_warnings(warnings);
  log_warnings(pricing->cache_warnings());
  if (!changes) return fail(changes.error());
  read->trace.assumptions.insert(read->trace.assumptions.end(), changes->begin(), changes->end());
  const auto written = write_trace(read->trace, arguments.output);
  if (!written) return fail(written.error());
  print_written_trace(fmt::format("{} ({})", read->name(), read->trace.format), read->trace, std::nullopt,
                      *written, arguments.output);
  return {};
}

}  // namespace

void add_trace_convert(CLI::App& trace, Action& action) {
  CLI::App* command = trace.add_subcommand(
      "convert",
      "Convert one or more traces to one file, and give jobs models, deadlines or tenants if asked.\n\n  "
      "vtrain trace convert 60_job.csv --to vtrain --out jobs.csv\n  vtrain trace convert itp/*.csv.gz "
      "--tenants clusters --assign lingjun --out itp.csv");
  const auto arguments = std::make_shared<ConvertArguments>();
  add_trace_arguments(*command, arguments->trace);
  add_pricing_options(*command, arguments->pricing);
  add_transformation_options(*command, arguments->transformations);
  add_output_options(*command, arguments->output);
  command->callback([=, &action] { action = [=] { return convert(*arguments); }; });
}

}  // namespace vtrain
