/// `slurm`: a cluster under Slurm, from its own files. Priorities (age, fair share, size, partition, QOS,
/// association, TRES, nice), partitions, limits of associations and QOS, preemption, dependencies, arrays,
/// reservations, the main scheduler and backfill are those of slurmctld 22.05.
///
/// The policy chooses the nodes of jobs itself, by CPUs and GPUs of slurm.conf; the placement only counts
/// GPUs. Both schedulers look once in each `latency`, at instants of their own: backfill a quarter of it
/// before the main one. A change waits for the next look.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/base/strings.hpp"
#include "core/io/input.hpp"
#include "core/text/calendar.hpp"
#include "core/text/quantities.hpp"
#include "policies/base/policies.hpp"
#include "policies/tenants/slurm/controller.hpp"
#include "policies/tenants/slurm/slurm_files.hpp"
#include "sched/simulation/node_calendar.hpp"

namespace vtrain {
namespace {

class SlurmPolicy final : public Policy {
 public:
  using Options = std::shared_ptr<const slurm::ControllerOptions>;

  SlurmPolicy(Options options, std::vector<std::string> files)
      : options_(std::move(options)), files_(std::move(files)), controller_(*options_) {}

  Result<std::vector<std::string>> check(const Workload& workload, const ClusterSpec&,
                                         const TenantTree&) const override {
    return controller_.check(workload);
  }
  bool may_requeue() const override { return controller_.may_requeue(); }
  std::vector<std::string> files() const override { return files_; }
  bool can_begin_with_jobs() const override { return true; }

  void begin(const SchedulingPass& view) override {
    // Forgets all that was; facts from outside thus forget the usage since the first pass.
    if (std::exchange(has_begun_, true)) controller_ = slurm::Controller(*options_);
    controller_.begin(view);
  }
  void schedule(SchedulingPass& pass) override { controller_.schedule(pass); }
  std::unique_ptr<Policy> fresh() const override { return std::make_unique<SlurmPolicy>(options_, files_); }

  Result<bool> follow(const NodeCalendar& calendar) override {
    slurm::ControllerOptions options = *options_;
    const slurm::Configuration& conf = options.setup.configuration;
    for (const NodeReservation& each : calendar.reservations) {
      auto reservation = slurm::reservation_of(each, conf);
      if (!reservation) return fail(std::move(reservation.error()));
      // What the cluster says now is newer than a file.
      std::erase_if(options.reservations, [&](const auto& known) { return known.name == each.name; });
      options.reservations.push_back(*std::move(reservation));
    }
    for (const std::string& name : calendar.out_of_service) {
      const auto found = std::ranges::find(conf.nodes, name, &slurm::NodeConf::name);
      if (found == conf.nodes.end())
        return fail({.field = name, .message = fmt::format("node that is not in {}", conf.file)});
      options.out_of_service.push_back(static_cast<std::uint32_t>(found - conf.nodes.begin()));
    }
    options_ = std::make_shared<const slurm::ControllerOptions>(std::move(options));
    controller_ = slurm::Controller(*options_);
    return true;
  }
  std::optional<SimTime> considers_at(const SchedulingPass& pass, JobId job) const override {
    return controller_.considers_at(pass, job);
  }
  std::optional<WaitReason> forbids(const SchedulingPass&, JobId job) const override {
    return controller_.forbids(job);
  }
  WaitCause holds_back(const SchedulingPass&, JobId job) const override {
    return controller_.holds_back(job);
  }
  void append_heads(std::vector<JobId>& heads) const override { controller_.append_heads(heads); }

 private:
  Options options_;
  std::vector<std::string> files_;  ///< paths of files that no parameter of its own names
  slurm::Controller controller_;
  bool has_begun_ = false;
};

/// Paths of the files that a spec names.
Result<slurm::SlurmFiles> files_of(const PolicyArguments& arguments) {
  slurm::SlurmFiles files;
  if (!arguments["folder"].empty()) {
    auto found = slurm::SlurmFiles::of_folder(std::string(arguments["folder"]));
    if (!found) return fail(std::move(found.error()));
    files = *std::move(found);
  }
  const std::pair<std::string_view, std::string*> named[] = {{"conf", &files.conf},
                                                             {"assoc", &files.associations},
                                                             {"parents", &files.parents},
                                                             {"qos", &files.qos},
                                                             {"usage", &files.usage},
                                                             {"history", &files.history},
                                                             {"reservations", &files.reservations}};
  for (const auto& [name, path] : named) {
    if (!arguments[name].empty()) *path = arguments[name];
  }
  if (files.conf.empty())
    return fail(arguments.bad_value("conf", "the path of slurm.conf, or folder=FOLDER"));
  return files;
}

}  // namespace

MadePolicy make_slurm(const PolicyArguments& arguments) {
  return make_slurm_live(arguments, {});
}

MadePolicy make_slurm_live(const PolicyArguments& arguments, const slurm::KnownTexts& known) {
  const auto read_small_file = [&known](const std::string& file) {
    return slurm::read_known_file(known, file, InputKind::Tenants);
  };
  const auto files = files_of(arguments);
  if (!files) return fail(files.error());
  slurm::ControllerOptions options;
  std::vector<std::string> read;
  auto setup = slurm::read_setup(*files, options.names, split(arguments["ignore"], '+'), known);
  if (!setup) return fail(std::move(setup.error()));
  options.setup = *std::move(setup);
  // Files that parameters name are known to the caller.
  for (const std::string* const path :
       {&files->conf, &files->associations, &files->parents, &files->qos, &files->usage, &files->history,
        &files->passes, &files->reservations}) {
    const auto is_named = [&](std::string_view name) { return arguments[name] == *path; };
    constexpr std::string_view kNames[] = {"conf",  "assoc",   "parents",     "qos",
                                           "usage", "history", "reservations"};
    if (path->empty() || std::ranges::any_of(kNames, is_named)) continue;
    if (std::ranges::find(read, *path) == read.end()) read.push_back(*path);
  }
  if (auto checked = slurm::check_followed(options.setup, files->associations, files->qos); !checked)
    return fail(std::move(checked.error()));
  const auto latency = parse_time_span(arguments["latency"]);
  if (!latency) return fail(arguments.bad_value("latency", "a time such as 1s"));
  options.period = *latency;
  const auto clock = parse_time_span(arguments["clock"]);
  if (!clock) return fail(arguments.bad_value("clock", "a time such as 22s"));
  options.clock = *clock;
  const auto pass_at = parse_time_span(arguments["pass_at"]);
  if (!pass_at) return fail(arguments.bad_value("pass_at", "a time such as 34s"));
  options.pass_at = *pass_at;
  if (pass_at->count() == 0 && !files->passes.empty()) {
    const auto text = read_small_file(files->passes);
    if (!text) return fail(text.error());
    const auto first = slurm::first_pass_in(*text, files->passes);
    if (!first) return fail(first.error());
    options.pass_at = *first;
  }
  if (!files->history.empty()) {
    const auto text = read_small_file(files->history);
    if (!text) return fail(text.error());
    auto history = slurm::parse_history(*text, files->history, options.setup.associations);
    if (!history) return fail(std::move(history.error()));
    options.history = *std::move(history);
  }
  if (!files->reservations.empty()) {
    const auto text = read_small_file(files->reservations);
    if (!text) return fail(text.error());
    std::optional<std::int64_t> origin;
    if (!arguments["origin"].empty()) {
      const auto seconds = parse_seconds_since_1970(arguments["origin"]);
      if (!seconds) return fail(arguments.bad_value("origin", "an instant as 2026-11-25T09:00:00"));
      origin = *seconds;
    }
    auto list = slurm::parse_reservations(*text, files->reservations, options.setup.configuration, origin);
    if (!list) return fail(std::move(list.error()));
    options.reservations = *std::move(list);
  }
  return std::make_unique<SlurmPolicy>(std::make_shared<const slurm::ControllerOptions>(std::move(options)),
                                       std::move(read));
}

}  // namespace vtrain
