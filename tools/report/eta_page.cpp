#include "tools/report/eta_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>

#include "core/base/numbers.hpp"
#include "tools/format/text_format.hpp"
#include "tools/report/chart_data.hpp"
#include "tools/report/page.hpp"

namespace vtrain {
namespace report {
namespace {

constexpr std::size_t kDrawn = 200;
constexpr std::size_t kListed = 2'000;

/// Geometry of the time line, in units of the picture.
constexpr double kWidth = 1160;
constexpr double kLeft = 220;
constexpr double kRight = 12;
constexpr double kRow = 22;
constexpr double kTop = 30;
constexpr double kBar = 10;

constexpr double kMinute = 60;
constexpr double kHour = 60 * kMinute;
constexpr double kDay = 24 * kHour;

/// Distance between the ticks of an axis that covers some seconds: at most eight of them.
double tick_step(double seconds) {
  constexpr std::array kSteps = {1.0,          5.0,      15.0,      kMinute,   5 * kMinute, 15 * kMinute,
                                 30 * kMinute, kHour,    2 * kHour, 6 * kHour, 12 * kHour,  kDay,
                                 2 * kDay,     7 * kDay, 14 * kDay, 28 * kDay, 91 * kDay};
  for (const double step : kSteps) {
    if (seconds / step <= 8) return step;
  }
  return 91 * kDay * std::ceil(seconds / 8 / (91 * kDay));
}

/// The last instant on the time line.
double range_of(std::span<const EtaPageJob> jobs) {
  double last = 1;
  for (const EtaPageJob& job : jobs) {
    for (const auto& time : {job.start_p50_s, job.start_p90_s, job.end_p50_s, job.end_p90_s})
      last = std::max(last, time.value_or(0));
  }
  return last;
}

std::string time_text(const std::optional<double>& seconds) {
  return seconds ? as_duration(*seconds) : "never";
}

std::string tooltip_of(const EtaPageJob& job) {
  return fmt::format("{}: starts in {} (nine in ten times within {}), ends in {} (within {})", job.job,
                     time_text(job.start_p50_s), time_text(job.start_p90_s), time_text(job.end_p50_s),
                     time_text(job.end_p90_s));
}

std::string timeline_svg(std::span<const EtaPageJob> jobs) {
  const double last = range_of(jobs);
  const auto x_of = [last](double seconds) { return kLeft + (kWidth - kLeft - kRight) * seconds / last; };
  const double height = kTop + kRow * static_cast<double>(jobs.size()) + 4;
  std::string svg = fmt::format(
      "<svg class=\"strip\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"Time line of the pending "
      "jobs\">\n",
      kWidth, height);
  const double step = tick_step(last);
  for (double at = 0; at <= last; at += step) {
    svg += fmt::format(
        "<line class=\"tick\" x1=\"{0:.1f}\" y1=\"{1:.0f}\" x2=\"{0:.1f}\" y2=\"{2:.0f}\"/><text "
        "x=\"{0:.1f}\" "
        "y=\"14\" text-anchor=\"{3}\">{4}</text>\n",
        x_of(at), kTop - 8, height, x_of(at) > kWidth - 60 ? "end" : "middle",
        at == 0 ? "now" : escape_html(as_duration(at)));
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const EtaPageJob& job = jobs[i];
    const double y = kTop + kRow * (static_cast<double>(i) + 0.5);
    svg += fmt::format("<g><title>{}</title><text x=\"0\" y=\"{:.1f}\">{}</text>\n",
                       escape_html(tooltip_of(job)), y + 4,
                       escape_html(short_name(fmt::format("{} {}", job.job, job.user))));
    if (!job.start_p50_s) {
      svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">never in half of the simulations</text></g>\n",
                         kLeft + 4, y + 4);
      continue;
    }
    const double start = x_of(*job.start_p50_s);
    const double latest_start = x_of(job.start_p90_s.value_or(last));
    const double end = x_of(job.end_p50_s.value_or(last));
    const double latest_end = x_of(job.end_p90_s.value_or(last));
    const auto bar = [&](std::string_view name, double from, double to) {
      svg += fmt::format("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.0f}\"/>",
                         name, from, y - kBar / 2, std::max(to - from, 1.0), kBar);
    };
    bar("likely", start, end);
    if (latest_end > end) bar("late", end, latest_end);
    svg += fmt::format(
        "<line class=\"interval\" x1=\"{0:.1f}\" y1=\"{2:.1f}\" x2=\"{1:.1f}\" y2=\"{2:.1f}\"/></g>\n", start,
        std::max(latest_start, start + 1), y);
  }
  return svg + "</svg>\n";
}

std::string timeline_html(std::span<const EtaPageJob> jobs) {
  const std::span<const EtaPageJob> drawn = jobs.first(std::min(jobs.size(), kDrawn));
  std::string html = fmt::format(
      "<figure><figcaption>Bars are from start to end as half of the simulations have them; their light "
      "parts reach "
      "to the end in nine of ten. Lines are from the start in half of the simulations to that in nine of "
      "ten.{}</figcaption>\n{}</figure>\n",
      jobs.size() > kDrawn
          ? fmt::format(" The first {} of {} jobs are drawn.", kDrawn, with_thousands(std::ssize(jobs)))
          : "",
      timeline_svg(drawn));
  return html;
}

std::string jobs_html(std::span<const EtaPageJob> jobs) {
  std::vector<std::vector<std::string>> rows;
  for (const EtaPageJob& job : jobs.first(std::min(jobs.size(), kListed)))
    rows.push_back({fmt::format("<span>{}</span>", escape_html(job.job)), job.user, with_thousands(job.gpus),
                    time_text(job.start_p50_s), time_text(job.start_p90_s), time_text(job.end_p50_s),
                    time_text(job.end_p90_s), job.why});
  const std::array<std::string, 8> header = {"job",         "user",      "GPUs",      "starts in, p50",
                                             "starts, p90", "ends, p50", "ends, p90", "why it waits"};
  std::string html = table_html("", "Pending jobs", header, rows);
  if (jobs.size() > kListed)
    html += fmt::format("<p class=\"note\">{} more start later.</p>\n",
                        with_thousands(static_cast<std::int64_t>(jobs.size() - kListed)));
  return html;
}

std::string stuck_html(const EtaPageInput& input) {
  if (input.stuck.empty()) return {};
  std::vector<std::vector<std::string>> rows;
  for (const auto& [job, reason] : input.stuck)
    rows.push_back({fmt::format("<span>{}</span>", escape_html(job)), reason});
  const std::array<std::string, 2> header = {"job", "needs somebody to act"};
  return "<h2>Jobs that cannot start</h2>\n" + table_html("", "Jobs that need somebody to act", header, rows);
}

}  // namespace
}  // namespace report

std::string render_eta_page(const EtaPageInput& input) {
  using namespace report;
  std::vector<EtaPageJob> jobs = input.jobs;
  std::ranges::stable_sort(jobs, {}, [](const EtaPageJob& job) {
    return job.start_p50_s.value_or(std::numeric_limits<double>::infinity());
  });
  std::string summary;
  if (!jobs.empty()) summary = timeline_html(jobs) + jobs_html(jobs);
  return render_page({.title = input.subject,
                      .eyebrow = input.subject,
                      .answer = input.answer,
                      .facts = input.facts,
                      .summary_html = summary + stuck_html(input),
                      .assumptions = input.assumptions,
                      .provenance = input.provenance},
                     {{"policies", nlohmann::json::array()}, {"totalGpus", 0}});
}

}  // namespace vtrain
