#include "workloads/validation/torchtitan_runs.hpp"

#include <string_view>

#include "workloads/validation/recorded_words.hpp"

namespace vtrain {
namespace {

/// Of caveats, which may speak of other runs too, only what can hardly be said of these counts.
bool says_compiled(const TorchTitanRun& run) {
  return mentions(run.name + " " + run.precision, "compile") || mentions(run.page, "compile") ||
         mentions(run.page, "async tp") || mentions(run.caveats, "torch compile") ||
         mentions(run.caveats, "compiled");
}

}  // namespace

Stack torchtitan_stack(const TorchTitanRun& run, std::vector<std::string>& assumed) {
  constexpr int kFirstCompiledLoss = 202504;
  const std::string words = run.name + " " + run.precision + " " + run.caveats;
  const bool is_asynchronous =
      run.is_asynchronous.value_or(mentions(words, "async tp") && !mentions(words, "vanilla"));
  bool compiles = run.compiles.value_or(is_asynchronous || says_compiled(run));
  // Its page on 8 bits: "float8 with torch.compile".
  const bool is_open = !run.compiles && !contains(plain_words(run.name + " " + run.caveats), "compile");
  if (!compiles && is_open && named_precision(run.precision) == Precision::Fp8) {
    compiles = true;
    assumed.emplace_back("stack: compiled, as 8 bits ask for");
  }
  std::string_view name = "torchtitan-eager";
  if (compiles) name = month_in(run.page).value_or(0) < kFirstCompiledLoss ? "torchtitan-2024" : "torchtitan";
  if (mentions(words, "row wise")) name = "torchtitan-rowwise";
  Stack stack = find_stack(name).value();
  stack.overlap.tensor = is_asynchronous && !stack.scales_rows;
  return stack;
}

}  // namespace vtrain
