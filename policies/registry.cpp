#include "policies/registry.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/base/strings.hpp"
#include "policies/base/policies.hpp"

namespace vtrain {
namespace {

// Publications that describe several policies.
constexpr std::string_view kTiresias = "Gu et al., Tiresias, NSDI 2019";
constexpr std::string_view kElasticFlow = "Gu et al., ElasticFlow, ASPLOS 2023";
constexpr std::string_view kEasy = "Lifka, The ANL/IBM SP Scheduling System, JSSPP 1995";

/// Thresholds of service in a unit.
PolicyParameter queues(std::string_view unit) {
  return {.name = "queues",
          .default_value = "3250;7200",
          .unit = unit,
          .summary = "attained service at which a job leaves the first, second, ... queue"};
}

const PolicyParameter kTimer{
    .name = "timer",
    .default_value = "exact",
    .summary = "demotion: exact (at the threshold) or peer (as late as in the Tiresias simulator)",
    .choices = {"exact", "peer"}};

/// Parameter for the distance of decisions, with an addition to its summary.
PolicyParameter slot(std::string_view summary = "shortest time between decisions") {
  return {.name = "slot", .default_value = "60s", .summary = summary};
}

/// A parameter that has no effect without another.
PolicyParameter only_with(std::string_view condition, PolicyParameter parameter) {
  parameter.condition = condition;
  return parameter;
}

/// Parameter for the GPUs that a backfilling policy plans with.
PolicyParameter planning(bool hosts_ignore_types) {
  return {.name = "planning",
          .default_value = "counts",
          .summary =
              "reservations of: counts (numbers of GPUs, by type) or hosts (sets of virtual hosts, one per "
              "GPU, as in batsched)",
          .choices = {"counts", "hosts"},
          .ignores_gpu_types = hosts_ignore_types};
}

/// Parameters of the policies that share GPUs between tenants.
std::vector<PolicyParameter> fair_parameters() {
  return {
      {.name = "reclaim",
       .default_value = "true",
       .summary = "true: a tenant below its share takes GPUs back from running jobs of tenants above theirs; "
                  "false: no job is preempted",
       .choices = {"true", "false"}},
      {.name = "overtake",
       .default_value = "true",
       .summary = "true: jobs that fit overtake those that do not; false: the first job of the tenant with "
                  "least of its share waits for its GPUs, and all others wait for it",
       .choices = {"true", "false"}},
      {.name = "keep", .default_value = "", .summary = "QoS whose jobs are never preempted, separated by ;"}};
}

/// Those and the resources beside GPUs.
std::vector<PolicyParameter> drf_parameters() {
  std::vector<PolicyParameter> parameters = fair_parameters();
  parameters.push_back({.name = "cpus_per_gpu",
                        .default_value = "none",
                        .summary = "CPU cores of the cluster for each of its GPUs; none: CPUs do not count"});
  parameters.push_back(
      {.name = "memory_per_gpu",
       .default_value = "none",
       .unit = "GiB",
       .summary = "memory of the cluster for each of its GPUs; none: memory does not count"});
  return parameters;
}

/// The policies of vtrain.
std::deque<PolicyInfo> built_in_policies() {
  return {
      {.name = "fifo",
       .summary = "first come, first served; no job overtakes the head of the queue",
       .make = make_fifo,
       .never_interrupts = true},
      {.name = "fit-first",
       .summary = "first come, first served, skipping jobs that do not fit",
       .make = make_fit_first,
       .never_interrupts = true},
      {.name = "sjf", .summary = "fewest GPUs first, preemptive", .make = make_sjf},
      {.name = "srtf",
       .summary = "shortest remaining run time first, preemptive",
       .make = make_srtf,
       .is_clairvoyant = true},
      {.name = "srsf",
       .summary = "least remaining GPU time first, preemptive",
       .make = make_srsf,
       .is_clairvoyant = true,
       .source = kTiresias},
      {.name = "las",
       .summary = "least attained service first in discrete queues, preemptive (Tiresias)",
       .parameters = {{.name = "attained",
                       .default_value = "gpu-time",
                       .summary = "attained service: time, or gpu-time (time x GPUs)",
                       .choices = {"time", "gpu-time"}},
                      queues("s or GPU-s"),
                      kTimer},
       .make = make_las,
       .source = kTiresias},
      {.name = "gittins",
       .summary = "las by GPU time, each queue in the order of the Gittins index, preemptive",
       .parameters = {{.name = "distribution",
                       .default_value = "",
                       .unit = "GPU-s",
                       .summary = "file with a sample of the jobs' service, one number a line; needed",
                       .is_file = true},
                      {.name = "delta",
                       .default_value = "3250",
                       .unit = "GPU-s",
                       .summary = "service quantum of the index"},
                      queues("GPU-s"),
                      kTimer},
       .make = make_gittins,
       .source = kTiresias},
      {.name = "edf",
       .summary = "earliest deadline first, preemptive, elastic; jobs without a deadline last",
       .parameters = {{.name = "resize",
                       .default_value = "yes",
                       .summary = "yes: a job with a throughput curve may get fewer or more GPUs than it "
                                  "requests; no: all jobs get what they request",
                       .choices = {"yes", "no"}},
                      only_with(
                          "resize=yes",
                          {.name = "growth",
                           .default_value = "spare",
                           .summary = "rule for GPUs beyond the request: spare (only GPUs that no waiting "
                                      "job can use), greedy (job after job takes all that make it faster)",
                           .choices = {"spare", "greedy"}})},
       .make = make_edf,
       .needs = {.deadlines = true, .curves = true}},
      {.name = "edf-admission",
       .summary = "edf that admits a job only if it and all admitted jobs will meet their deadlines",
       .make = make_edf_admission,
       .is_clairvoyant = true,
       .needs = {.deadlines = true, .curves = true}},
      {.name = "elasticflow",
       .summary =
           "admits jobs that can meet their deadlines and resizes them as GPUs become free (ElasticFlow)",
       .parameters =
           {{.name = "admission",
             .default_value = "job",
             .summary = "admission test: job (one job at a time), batch (all jobs of a slot are admitted or "
                        "rejected together)",
             .choices = {"job", "batch"},
             .ignores_gpu_types = true},
            {.name = "greedy",
             .default_value = "smallest",
             .summary = "job that grows first: the one with the smallest or the largest increase in GPU time",
             .choices = {"smallest", "largest"}},
            slot("length of a slot: allocations change by whole slots; jobs that arrive within a slot of a "
                 "decision wait (with admission=batch all jobs)"),
            {.name = "overhead",
             .default_value = "none",
             .summary = "cost of a decision for running jobs: none, or table (seconds by gang size, as "
                        "ElasticFlow measured)",
             .choices = {"none", "table"},
             .ignores_gpu_types = true},
            only_with(
                "admission=job",
                {.name = "costs",
                 .default_value = "known",
                 .summary = "time that starts, resizes, checkpoints and placement cost: known (plans count "
                            "it, decide at once and keep every promise), or free (plans ignore it)",
                 .choices = {"known", "free"}})},
       .make = make_elasticflow,
       .is_clairvoyant = true,
       .needs = {.deadlines = true, .curves = true},
       .source = kElasticFlow},
      {.name = "deadline",
       .summary =
           "promises deadlines that it keeps whatever interruptions and placement cost; jobs without a "
           "promise, the shortest first, get the GPUs left over",
       .parameters = {{.name = "late",
                       .default_value = "reject",
                       .summary =
                           "jobs that have not started when they can no longer be in time: reject, or run "
                           "after all others",
                       .choices = {"reject", "run"}},
                      {.name = "unpromised",
                       .default_value = "wait",
                       .summary =
                           "jobs whose deadline is not promised when they come: they wait for GPUs left over, "
                           "or are rejected",
                       .choices = {"wait", "reject"},
                       .condition = "late=reject"},
                      {.name = "margin",
                       .default_value = "0",
                       .unit = "run times",
                       .summary =
                           "time between the planned end of a job and its deadline when it is promised; "
                           "what a job takes longer than predicted uses it up"},
                      {.name = "running",
                       .default_value = "displace",
                       .summary = "jobs without a deadline that run when a simulation begins: displace them "
                                  "for promises, or keep them to their ends",
                       .choices = {"displace", "keep"}}},
       .make = make_deadline,
       .is_clairvoyant = true,
       .needs = {.deadlines = true, .curves = true}},
      {.name = "elasticflow-edf",
       .summary = "edf to the second as in ElasticFlow's simulator",
       .parameters = {slot()},
       .make = make_elasticflow_edf,
       .ignores_gpu_types = true,
       .needs = {.deadlines = true, .curves = true},
       .source = kElasticFlow},
      {.name = "elasticflow-las",
       .summary = "las to the second as in ElasticFlow's simulator",
       .parameters = {queues("GPU-s"), slot()},
       .make = make_elasticflow_las,
       .ignores_gpu_types = true,
       .source = kElasticFlow},
      {.name = "chronus",
       .summary = "leases GPUs to jobs that can meet their deadlines, by integer programming; other jobs get "
                  "the remaining GPUs (Chronus)",
       .parameters = {{.name = "lease",
                       .default_value = "20m",
                       .summary = "length of a lease; GPUs are assigned at its start"},
                      {.name = "prefer",
                       .default_value = "adaptive",
                       .summary = "leases that accepted jobs use: early, late, or adaptive (late while a job "
                                  "that was not accepted may still meet its deadline)",
                       .choices = {"adaptive", "early", "late"}},
                      {.name = "inflation",
                       .default_value = "1",
                       .summary = "factor on run times in estimates; 1.1 in Chronus"},
                      {.name = "overhead",
                       .default_value = "none",
                       .summary = "estimated cost of a preemption, at most one per lease and doubling of the "
                                  "gang; 30s in Chronus"},
                      {.name = "second_test",
                       .default_value = "30",
                       .unit = "jobs",
                       .summary = "largest number of accepted jobs for which the integer program is tried "
                                  "after the greedy test rejects a job"},
                      {.name = "gap",
                       .default_value = "0.1",
                       .unit = "%",
                       .summary = "largest gap to the optimum at which the search stops"},
                      {.name = "nodes",
                       .default_value = "100",
                       .summary = "branch-and-bound nodes at which a search stops"},
                      {.name = "variables",
                       .default_value = "500",
                       .summary = "largest integer program (jobs x leases ahead) that is solved; larger ones "
                                  "use the greedy plan"},
                      {.name = "time_limit",
                       .default_value = "none",
                       .summary =
                           "wall-clock limit of a search; a run that reaches it may not repeat exactly"}},
       .make = make_chronus,
       .ignores_gpu_types = true,
       .needs = {.deadlines = true},
       .source = "Gao et al., Chronus, SoCC 2021"},
      {.name = "fair-share",
       .summary = "weighted max-min shares of GPUs over the tree of tenants, with quotas, borrowing, lending "
                  "and reclaim",
       .parameters = fair_parameters(),
       .make = make_fair_share,
       .keeps_quotas = true,
       .needs = {.tenants = true}},
      {.name = "drf",
       .summary = "dominant resource fairness between tenants over GPUs, CPUs and memory; no quotas",
       .parameters = drf_parameters(),
       .make = make_drf,
       .keeps_quotas = true,
       .needs = {.tenants = true},
       .source = "Ghodsi et al., Dominant Resource Fairness, NSDI 2011"},
      {.name = "easy-fast",
       .summary = "EASY backfilling by GPU counts; the first job's reservation is never moved",
       .make = make_easy_fast,
       .never_interrupts = true,
       .needs = {.time_limits = true},
       .source = kEasy},
      {.name = "easy",
       .summary = "EASY backfilling: later jobs start early if they do not delay the first one",
       .parameters =
           {{.name = "order",
             .default_value = "fcfs",
             .summary =
                 "order of the queue: fcfs (submission) or asc-walltime (shortest requested time first)",
             .choices = {"fcfs", "asc-walltime"}},
            planning(false)},
       .make = make_easy,
       .never_interrupts = true,
       .needs = {.time_limits = true},
       .source = kEasy},
      {.name = "conservative",
       .summary = "conservative backfilling: every waiting job holds a reservation that only moves forward",
       .parameters = {planning(true)},
       .make = make_conservative,
       .never_interrupts = true,
       .needs = {.time_limits = true},
       .source = "Mu'alem and Feitelson, IEEE TPDS 12(6), 2001"},
      {.name = "kueue",
       .summary = "quotas by tenant with borrowing, reclaim and preemption, as Kueue admits workloads",
       .parameters =
           {{.name = "objects",
             .default_value = "",
             .summary =
                 "file of Kueue's objects, YAML or JSON; without it the tree of tenants has the quotas",
             .is_file = true},
            {.name = "resource",
             .default_value = "nvidia.com/gpu",
             .summary = "resource of which a GPU is one"},
            {.name = "fair_sharing",
             .default_value = "no",
             .summary = "yes: who borrows most yields first, by dominant resource share",
             .choices = {"no", "yes"}},
            only_with("fair_sharing=yes",
                      {.name = "strategies",
                       .default_value = "both",
                       .summary = "evict others while the share stays at most theirs without the victim "
                                  "(final), below theirs with it (initial), or final and then initial (both)",
                       .choices = {"both", "final", "initial"}}),
            {.name = "gates",
             .default_value = "",
             .summary = "feature gates that differ from Kueue's defaults, separated by ';'"}},
       .make = make_kueue,
       .keeps_quotas = true,
       .source = "kubernetes-sigs/kueue, commit ff69552, 2026"},
      {.name = "slurm",
       .summary = "Slurm's priorities, limits, preemption and backfill, from a cluster's own files",
       .parameters =
           {{.name = "folder",
             .default_value = "",
             .summary = "folder with slurm.conf, assoc.txt, qos.txt, ... in place of single files"},
            {.name = "conf", .default_value = "", .summary = "slurm.conf", .is_file = true},
            {.name = "assoc",
             .default_value = "",
             .summary = "sacctmgr dump, or sacctmgr -P show assoc",
             .is_file = true},
            {.name = "parents",
             .default_value = "",
             .summary = "accounts above accounts: a dump, sshare -alP, or commands of sacctmgr",
             .is_file = true},
            {.name = "qos", .default_value = "", .summary = "sacctmgr -P show qos", .is_file = true},
            {.name = "usage",
             .default_value = "",
             .summary = "sshare -alP, or scontrol show assoc_mgr flags=assoc",
             .is_file = true},
            {.name = "history",
             .default_value = "",
             .summary = "jobs before the trace: user,account,cpus,billing,start,end in seconds",
             .is_file = true},
            {.name = "reservations",
             .default_value = "",
             .summary = "scontrol show reservation -o, times as now+20, as seconds of the trace, or as dates",
             .is_file = true},
            {.name = "origin",
             .default_value = "",
             .summary = "instant of second 0, for dates in reservations, as 2026-11-25T09:00:00 (UTC)"},
            {.name = "latency",
             .default_value = "1s",
             .summary = "time between two looks of a scheduler at the queue"},
            {.name = "clock",
             .default_value = "22s",
             .summary = "what Slurm's clock is ahead of a whole half-minute when the trace begins"},
            {.name = "pass_at",
             .default_value = "0s",
             .summary = "time of the first pass of the priority plugin"},
            {.name = "ignore",
             .default_value = "",
             .summary = "keys of slurm.conf to go on without, joined by +, or all"}},
       .make = make_slurm,
       .follows_requests = true,
       .needs = {.time_limits = true},
       .source = "Slurm 22.05"},
      {.name = "recorded",
       .summary = "replays recorded start times instead of scheduling",
       .make = make_recorded,
       .never_interrupts = true,
       .needs = {.recorded_starts = true}},
  };
}

/// A name that other tools and papers use for a policy or a kind of policy.
struct ForeignName {
  std::string_view name;
  std::string_view hint;  ///< the policy here, or the nearest one
};
constexpr std::string_view kBackfillHint = "backfilling is 'easy' or 'conservative'";
constexpr std::string_view kFairShareHint = "the shares of tenants are those of 'fair-share'";
constexpr std::string_view kSlurmHint = "Slurm's priorities and backfilling are 'slurm'";
constexpr ForeignName kForeignNames[] = {
    {"backfill", kBackfillHint},
    {"backfilling", kBackfillHint},
    {"sched/backfill", kBackfillHint},
    {"multifactor", kSlurmHint},
    {"fair-tree", kFairShareHint},
    {"fairtree", kFairShareHint},
    {"fairshare", kFairShareHint},
    {"themis", "Themis is not built in; 'fair-share' shares GPUs, and results have its finish-time fairness"},
    {"gavel",
     "Gavel's policies are not built in; 'las' is the nearest to its max-min fairness, 'fifo' is its FIFO"},
    {"tiresias", "Tiresias is 'las', with the Gittins index 'gittins'"},
    {"pollux", "Pollux resizes jobs; the policies here that do are 'elasticflow' and 'edf'"},
    {"sia", "Sia resizes jobs; the policies here that do are 'elasticflow' and 'edf'"},
    {"fcfs", "first come, first served is 'fifo'"},
    {"srpt", "shortest remaining time first is 'srtf'"},
    {"mlfq", "a multi-level feedback queue is 'las'"},
};

/// The hint of a foreign name, in any case of letters; empty for other names.
std::string_view foreign_hint(std::string_view name) {
  const std::string wanted = lower_case(name);
  const auto* const found = std::find_if(std::begin(kForeignNames), std::end(kForeignNames),
                                         [&wanted](const ForeignName& each) { return each.name == wanted; });
  return found == std::end(kForeignNames) ? std::string_view() : found->hint;
}

Error unknown_policy(const std::deque<PolicyInfo>& policies, std::string_view name) {
  const auto known = names_of(policies);
  if (const std::string_view hint = foreign_hint(name); !hint.empty()) {
    return {.kind = ErrorKind::NotFound,
            .message = fmt::format("unknown policy '{}'; {}. `vtrain policies` lists all {}.", name, hint,
                                   known.size())};
  }
  return {.kind = ErrorKind::NotFound,
          .message = fmt::format("unknown policy '{}'{} `vtrain policies` lists all {}.", name,
                                 guess_or_stop(name, known), known.size())};
}

/// A policy that version 0.1 wrote as a preset of another, and that now has a name of its own.
struct FormerPreset {
  std::string_view policy;
  std::string_view name;
};
constexpr std::string_view kFormerParameter = "preset=elasticflow";
constexpr std::string_view kFormerDefault = "preset=none";
constexpr FormerPreset kFormerPresets[] = {{"las", "elasticflow-las"}, {"edf", "elasticflow-edf"}};

/// The present spec of one that version 0.1 wrote with a preset; none for others.
std::optional<std::string> renamed(std::string_view name, std::string_view parameters) {
  const auto* const former = std::ranges::find(kFormerPresets, name, &FormerPreset::policy);
  if (former == std::end(kFormerPresets)) return std::nullopt;
  std::string_view present = name;
  bool has_preset = false;
  std::string rest;
  for (const std::string_view parameter : split(parameters, ',')) {
    if (parameter == kFormerParameter || parameter == kFormerDefault) {
      has_preset = true;
      if (parameter == kFormerParameter) present = former->name;
    } else {
      rest += rest.empty() ? ":" : ",";
      rest += parameter;
    }
  }
  if (!has_preset) return std::nullopt;
  return std::string(present) + rest;
}

}  // namespace

PolicyRegistry::PolicyRegistry() : policies_(built_in_policies()) {}

const PolicyRegistry& PolicyRegistry::built_in() {
  static const PolicyRegistry registry;
  return registry;
}

Result<void> PolicyRegistry::add(PolicyInfo policy) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789-";
  if (policy.name.empty() || policy.name.find_first_not_of(kLetters) != std::string_view::npos)
    return fail({.field = "policy",
                 .message = expected_found("a name of lower-case letters, digits and '-'", policy.name)});
  if (std::ranges::find(policies_, policy.name, &PolicyInfo::name) != policies_.end())
    return fail({.field = "policy", .message = fmt::format("there is one with the name '{}'", policy.name)});
  policies_.push_back(std::move(policy));
  return {};
}

Result<PolicyArguments> PolicyRegistry::parse(std::string_view spec) const {
  const auto [name, parameters] = split_once(spec, ':');
  if (const auto now = renamed(name, parameters.value_or(""))) {
    auto arguments = parse(*now);
    if (arguments) {
      arguments->set_hint(
          fmt::format("'{}' is '{}' now; the former spelling goes with the next version", spec, *now));
    }
    return arguments;
  }
  const auto policy = std::ranges::find(policies_, name, &PolicyInfo::name);
  if (policy == policies_.end()) return fail(unknown_policy(policies_, name));
  return PolicyArguments::parse(*policy, parameters.value_or(""));
}

Result<std::unique_ptr<Policy>> PolicyRegistry::make(std::string_view spec) const {
  const auto arguments = parse(spec);
  if (!arguments) return fail(arguments.error());
  return arguments->policy().make(*arguments);
}

Result<std::unique_ptr<Policy>> make_policy(std::string_view spec) {
  return PolicyRegistry::built_in().make(spec);
}

}  // namespace vtrain
