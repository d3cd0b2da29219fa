#include "traces/editing/slice.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/names.hpp"
#include "core/base/numbers.hpp"
#include "core/base/rng.hpp"
#include "core/base/strings.hpp"
#include "core/text/quantities.hpp"
#include "traces/editing/statistics.hpp"
#include "traces/reading/job_fields.hpp"

namespace vtrain {
namespace {

class Slicer {
 public:
  Slicer(Workload& workload, const SliceOptions& options) : workload_(workload), options_(options) {}

  Result<std::vector<std::string>> slice() {
    const std::string submissions = describe_submissions();
    select_by_submission();
    if (auto selected = select_by_tenant(); !selected) return fail(std::move(selected.error()));
    if (auto selected = select_by_status(); !selected) return fail(std::move(selected.error()));
    if (auto selected = select_by_size(); !selected) return fail(std::move(selected.error()));
    select_some();
    if (jobs().empty()) return fail({.message = "no job of the trace is left in the slice" + submissions});
    if (auto known = need_durations("clip", options_.clip.count() > 0); !known)
      return fail(std::move(known.error()));
    clip();
    shift_origin();
    if (auto scaled = scale_load(); !scaled) return fail(std::move(scaled.error()));
    return std::move(sentences_);
  }

 private:
  std::vector<Job>& jobs() { return workload_.jobs; }

  /// Keeps the jobs for which `kept` is true; `what` describes them.
  template <class Kept>
  void select(const std::string& what, const Kept& kept) {
    const std::size_t before = jobs().size();
    std::erase_if(jobs(), [&](const Job& job) { return !kept(job); });
    sentences_.push_back(fmt::format("only jobs {}: {} of {}", what, count(jobs().size()), count(before)));
  }

  /// Returns an error if an option that needs run times is given and some jobs have only a model and
  /// iterations.
  Result<void> need_durations(std::string_view option, bool is_given) {
    const auto without =
        std::count_if(jobs().begin(), jobs().end(), [](const Job& job) { return job.duration.count() == 0; });
    if (!is_given || without == 0) return {};
    return fail(
        {.field = std::string(option),
         .message = fmt::format(
             "{} of {} jobs are given by model and iterations: their run times are known only in a replay",
             with_thousands(without), count(jobs().size()))});
  }

  static std::string count(std::size_t number) { return with_thousands(static_cast<std::int64_t>(number)); }

  static std::string instant(SimTime time) { return describe_time_span(time.time_since_epoch()); }

  std::string describe_submissions() {
    if (jobs().empty()) return {};
    return fmt::format("; they are submitted from {} to {}", instant(jobs().front().submit),
                       instant(jobs().back().submit));
  }

  void select_by_submission() {
    if (options_.from) {
      select("submitted from " + instant(*options_.from) + " on",
             [&](const Job& job) { return job.submit >= *options_.from; });
    }
    if (options_.until) {
      select("submitted before " + instant(*options_.until),
             [&](const Job& job) { return job.submit < *options_.until; });
    }
  }

  Result<void> select_by_tenant() {
    if (options_.tenants.empty()) return {};
    const std::vector<std::string_view> known(workload_.tenants.names().begin(),
                                              workload_.tenants.names().end());
    for (const std::string& tenant : options_.tenants) {
      if (std::find(known.begin(), known.end(), tenant) != known.end()) continue;
      const std::string unknown = fmt::format("unknown tenant '{}'", tenant);
      return fail({.field = "tenant",
                   .message = known.empty() ? unknown + "; the trace has no tenants"
                                            : with_guess(unknown, tenant, known)});
    }
    select(fmt::format("of tenant {}", fmt::join(options_.tenants, ", ")), [&](const Job& job) {
      return job.tenant && std::find(options_.tenants.begin(), options_.tenants.end(),
                                     known[job.tenant.value]) != options_.tenants.end();
    });
    return {};
  }

  Result<void> select_by_status() {
    const std::vector<JobStatus>& statuses = options_.statuses;
    if (statuses.empty()) return {};
    if (std::all_of(jobs().begin(), jobs().end(),
                    [](const Job& job) { return job.status == JobStatus::Unknown; })) {
      return fail({.field = "statuses", .message = "the trace does not say how its jobs ended"});
    }
    std::vector<std::string_view> names;
    for (const JobStatus status : statuses)
      names.push_back(status_name(status));
    select(fmt::format("with status {}", fmt::join(names, " or ")), [&](const Job& job) {
      return std::find(statuses.begin(), statuses.end(), job.status) != statuses.end();
    });
    return {};
  }

  Result<void> select_by_size() {
    if (options_.min_gpus.value > 0) {
      select(fmt::format("of at least {} GPUs", options_.min_gpus.value),
             [&](const Job& job) { return job.num_gpus >= options_.min_gpus; });
    }
    if (options_.max_gpus.value > 0) {
      select(fmt::format("of at most {} GPUs", options_.max_gpus.value),
             [&](const Job& job) { return job.num_gpus <= options_.max_gpus; });
    }
    const bool by_duration = options_.max_duration.count() > 0;
    if (auto known = need_durations("max-duration", by_duration); !known) return known;
    if (by_duration) {
      select("of at most " + describe_time_span(options_.max_duration),
             [&](const Job& job) { return job.duration <= options_.max_duration; });
    }
    return {};
  }

  void select_some() {
    const auto before = static_cast<std::int64_t>(jobs().size());
    if (options_.sample > 0 && options_.sample < before) {
      // One pass: a job is taken with probability (still wanted) / (jobs left). All samples of this size are
      // equally likely, and the order is kept.
      RandomStream random(options_.seed, "sample");
      std::int64_t wanted = options_.sample;
      std::int64_t left = before;
      std::erase_if(jobs(), [&](const Job&) {
        const bool taken =
            random.below(static_cast<std::uint64_t>(left--)) < static_cast<std::uint64_t>(wanted);
        wanted -= taken ? 1 : 0;
        return !taken;
      });
      sentences_.push_back(fmt::format("a random sample of {} of {} jobs, seed {}",
                                       with_thousands(options_.sample), with_thousands(before),
                                       options_.seed));
    }
    if (options_.max_jobs > 0 && options_.max_jobs < std::ssize(jobs())) {
      sentences_.push_back(fmt::format("only the first {} of {} jobs", with_thousands(options_.max_jobs),
                                       count(jobs().size())));
      jobs().resize(static_cast<std::size_t>(options_.max_jobs));
    }
  }

  void clip() {
    if (options_.clip.count() == 0) return;
    std::int64_t clipped = 0;
    bool others = false;
    for (Job& job : jobs()) {
      if (job.duration <= options_.clip) continue;
      const double part = to_seconds(options_.clip) / to_seconds(job.duration);
      if (job.iterations > 0)
        job.iterations = std::max<std::int64_t>(1, std::llround(static_cast<double>(job.iterations) * part));
      job.requested_time = to_sim_duration(Nanoseconds(job.requested_time) * part);
      if (job.has_deadline())
        job.deadline = job.submit + to_sim_duration(Nanoseconds(job.deadline - job.submit) * part);
      others |= job.requested_time.count() > 0 || job.has_deadline();
      job.duration = options_.clip;
      ++clipped;
    }
    sentences_.push_back(fmt::format("durations clipped to {}: {} of {} jobs{}",
                                     describe_time_span(options_.clip), with_thousands(clipped),
                                     count(jobs().size()),
                                     others ? ", requested times and time to deadlines in proportion" : ""));
  }

  /// Moves a job, with all its instants, to another submission.
  static void move_to(Job& job, SimTime submit) {
    const SimDuration change = submit - job.submit;
    job.submit = submit;
    if (job.has_deadline()) job.deadline = std::max(SimTime{}, job.deadline + change);
    if (job.original_start != Job::kNoStart)
      job.original_start = std::max(SimTime{}, job.original_start + change);
  }

  void shift_origin() {
    if (!options_.shift_origin) return;
    const SimTime first = jobs().front().submit;
    for (Job& job : jobs())
      move_to(job, SimTime(job.submit - first));
    sentences_.push_back(
        fmt::format("the origin of time moved by {} to the first submission", instant(first)));
  }

  Result<void> scale_load() {
    double factor = options_.load_factor;
    if (auto known = need_durations("load", options_.load > 0); !known) return known;
    if (options_.load > 0) {
      const double offered = trace_totals(workload_).offered_load(options_.cluster);
      if (!(offered > 0)) {
        return fail(
            {.field = "load",
             .message = "no offered load: all jobs are submitted at one time, or none has a duration"});
      }
      factor = options_.load / offered;
    }
    if (factor == 1) return {};
    const SimTime first = jobs().front().submit;
    if (to_seconds(jobs().back().submit - first) / factor >
        to_seconds(kMaxTraceTime - first.time_since_epoch()))
      return fail({.field = options_.load > 0 ? "load" : "scale-load",
                   .message = "at this load the jobs take more than 100 years to arrive"});
    for (Job& job : jobs()) {
      const Nanoseconds since_first = Nanoseconds(job.submit - first) / factor;
      move_to(job, first + to_sim_duration(since_first));
    }
    sentences_.push_back(
        options_.load > 0
            ? fmt::format(
                  "submissions {:.4g} times as fast as recorded, for an offered load of {} on {} GPUs",
                  factor, options_.load, options_.cluster.value)
            : fmt::format("submissions {} times as fast as recorded", factor));
    return {};
  }

  Workload& workload_;
  const SliceOptions& options_;
  std::vector<std::string> sentences_;
};

}  // namespace

Result<std::vector<std::string>> slice_trace(Workload& workload, const SliceOptions& options) {
  return Slicer(workload, options).slice();
}

Result<std::vector<JobStatus>> parse_statuses(std::string_view text) {
  std::vector<JobStatus> statuses;
  for (const std::string_view part : split(text, ',')) {
    const auto status = parse_status(part);
    if (!status) return fail({.field = "statuses", .message = status.error().message});
    statuses.push_back(*status);
  }
  return statuses;
}

}  // namespace vtrain
