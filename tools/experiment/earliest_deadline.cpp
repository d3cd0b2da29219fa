#include "tools/experiment/earliest_deadline.hpp"

#include <cstdint>
#include <utility>

namespace vtrain {

Result<std::optional<AdmissionAnswer>> find_earliest_deadline(const Admission& admission,
                                                              std::string_view name, Job& job,
                                                              SimDuration step, SimTime latest) {
  const auto answer_at = [&](std::int64_t steps) {
    job.deadline = job.submit + steps * step;
    return admission.consider(name, job);
  };
  std::int64_t no = 0;
  std::int64_t yes = (latest - job.submit) / step;
  auto best = answer_at(yes);
  if (!best) return fail(std::move(best.error()));
  if (!best->is_yes()) return std::optional<AdmissionAnswer>();
  // Many policies let a job finish at the time at which it does without a deadline.
  const SimDuration run = best->course.outcome.finished - job.submit;
  for (std::int64_t guess = run / step + 1; guess + 1 >= run / step && guess > no && guess < yes; --guess) {
    auto answer = answer_at(guess);
    if (!answer) return fail(std::move(answer.error()));
    if (!answer->is_yes()) {
      no = guess;
      break;
    }
    yes = guess;
    best = std::move(answer);
  }
  // A promise is quick to find, and counts after a look at all other jobs.
  for (const bool in_full : {false, true}) {
    std::int64_t not_yet = no;
    std::int64_t found = yes;
    while (found - not_yet > 1) {
      const std::int64_t middle = not_yet + (found - not_yet) / 2;
      job.deadline = job.submit + middle * step;
      auto is_yes = admission.would_admit(name, job);
      if (in_full && is_yes && *is_yes) {
        auto answer = answer_at(middle);
        if (!answer) return fail(std::move(answer.error()));
        is_yes = answer->is_yes();
        if (*is_yes) best = std::move(answer);
      }
      if (!is_yes) return fail(std::move(is_yes.error()));
      (*is_yes ? found : not_yet) = middle;
    }
    auto answer = answer_at(found);
    if (!answer) return fail(std::move(answer.error()));
    if (answer->is_yes()) return std::optional(*std::move(answer));
    no = found;
  }
  return std::optional<AdmissionAnswer>();
}

}  // namespace vtrain
