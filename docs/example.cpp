// Plans a model, replays a trace under two policies, and prints which is better.
#include <cstdio>
#include <string>
#include <vector>
#include <vtrain/plan.hpp>
#include <vtrain/scenario.hpp>

int report(const vtrain::Error& error) {
  std::fprintf(stderr, "error: %s\n", error.describe().c_str());
  return 1;
}

int main(int argc, char** argv) {
  std::vector<std::string> warnings;
  vtrain::PlanSpec question;
  question.model = "llama3-8b";
  question.gpus = "16";
  question.target.profile = "h100";
  const auto request = vtrain::read_plan_request(question, warnings);
  if (!request) return report(request.error());
  const auto plans = vtrain::make_plan_report(*request);
  if (!plans) return report(plans.error());
  std::printf("llama3-8b on 16 H100: %.3f s an iteration\n", vtrain::Seconds(plans->fastest.front().iteration).count());

  vtrain::ScenarioSpec spec;
  if (argc > 1) spec.trace.files = {argv[1]};  // without one: a generated day of LLM training jobs
  spec.cluster = "16x8:h100";
  spec.policies = {"fifo", "srtf"};
  const auto scenario = vtrain::Scenario::prepare(spec, warnings);
  if (!scenario) return report(scenario.error());
  const auto runs = scenario->run_all();
  if (!runs) return report(runs.error());
  const vtrain::Summary& fifo = runs->at(0).summary;
  const vtrain::Summary& srtf = runs->at(1).summary;
  std::printf("%s is better: average JCT %.0f s under fifo, %.0f s under srtf\n",
              srtf.avg_jct_s < fifo.avg_jct_s ? "srtf" : "fifo", fifo.avg_jct_s, srtf.avg_jct_s);
}
