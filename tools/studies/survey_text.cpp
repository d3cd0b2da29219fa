#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "core/base/numbers.hpp"
#include "tools/format/text_format.hpp"
#include "tools/format/trace_description.hpp"
#include "tools/report/page.hpp"
#include "tools/report/seed_cells.hpp"
#include "tools/studies/survey.hpp"

namespace vtrain {
namespace {

/// `2 combinations × 20 seeds × 4 policies`.
std::string size_of(const StudyGrid& grid) {
  std::vector<std::string> parts;
  if (!grid.variations.empty()) parts.push_back(count_of(grid.num_variants(), "combination"));
  parts.push_back(count_of(std::ssize(grid.seeds), "seed"));
  parts.push_back(grid.policies.size() == 1 ? "1 policy" : fmt::format("{} policies", grid.policies.size()));
  return fmt::format("{}", fmt::join(parts, " × "));
}

std::string runs_of(const Survey& survey) {
  return fmt::format("{} of {} finished", with_thousands(survey.finished), with_thousands(survey.expected));
}

/// `load 0.7, 0.9, 1.1`, with at most some of the values.
std::vector<std::string> options_of(const StudyGrid& grid) {
  constexpr std::size_t kMostValues = 8;
  std::vector<std::string> parts;
  for (const Variation& variation : grid.variations) {
    std::vector<std::string> values = variation.values;
    const std::size_t others = values.size() > kMostValues ? values.size() - kMostValues : 0;
    values.resize(values.size() - others);
    parts.push_back(fmt::format(
        "{} {}{}", variation.option, fmt::join(values, ", "),
        others > 0 ? fmt::format(" and {} more", with_thousands(static_cast<std::int64_t>(others))) : ""));
  }
  return parts;
}

/// The note on combinations that are not shown; empty if all are.
std::string more_note(const Survey& survey) {
  const std::int64_t shown = std::ssize(survey.shown.studies);
  if (shown == survey.combinations) return {};
  return fmt::format("the first {} of {} combinations", with_thousands(shown),
                     with_thousands(survey.combinations));
}

}  // namespace

std::string survey_text(const StudyResults& results, const Survey& survey) {
  const StudySubject& subject = results.subject();
  const StudyGrid& grid = results.grid();
  std::vector<std::string> about = {subject.name, size_of(grid)};
  if (!subject.program.empty()) about.push_back("made by vtrain " + subject.program);
  std::vector<std::string> jobs = {subject.trace};
  if (!subject.cluster.empty()) jobs.push_back("cluster " + subject.cluster);
  std::string text = fmt::format(
      "{}\n\n{}{}{}{}{}{}\n", wrap_text(survey.answer, text_columns()),
      labelled_lines(subject.is_sweep ? "sweep" : "folder", about), labelled_lines("runs", {runs_of(survey)}),
      labelled_lines("missing", gaps_in(results, survey)), labelled_lines("varied", options_of(grid)),
      labelled_lines("trace", jobs), labelled_lines("assumed", subject.notes));
  if (grid.variations.empty())
    return text + seed_tables_text(
                      {&survey.shown.studies.front().study, survey.shown.baseline, survey.shown.metrics});
  text += fmt::format("{}\n{}", varied_table_text(survey.shown), varied_answers(survey.shown));
  const std::string more = more_note(survey);
  if (!more.empty()) text += fmt::format("\n{}: --format csv prints all\n", more);
  return text;
}

std::string survey_page(const StudyResults& results, const Survey& survey, const std::string& command) {
  const StudySubject& subject = results.subject();
  const StudyGrid& grid = results.grid();
  const bool varies = !grid.variations.empty();
  const SeedComparison single{&survey.shown.studies.front().study, survey.shown.baseline,
                              survey.shown.metrics};
  const TableQueries queries =
      queries_of(results, survey,
                 varies || !survey.shown.metrics.empty() ? shown_anywhere(survey.shown, true)
                                                         : shown_metrics(*single.study, true));
  std::string sections =
      varies ? varied_section_html(survey.shown, queries) : report::seed_section_html(single, queries);
  if (const std::string more = more_note(survey); !more.empty())
    sections = fmt::format(
        "<p class=\"note\">Tables and pictures have {}; means.csv and differences.csv all.</p>\n{}",
        report::escape_html(more), sections);
  std::vector<std::string> assumptions = gaps_in(results, survey);
  assumptions.insert(assumptions.end(), subject.notes.begin(), subject.notes.end());
  std::vector<std::pair<std::string, std::string>> provenance = {{"results", subject.name}};
  provenance.insert(provenance.end(), subject.provenance.begin(), subject.provenance.end());
  provenance.emplace_back("replayed by", "vtrain " + subject.program);
  provenance.emplace_back("repeat with", command);
  std::string facts = fmt::format("{}: {} runs", size_of(grid), runs_of(survey));
  if (varies) facts += fmt::format("; {}", fmt::join(options_of(grid), "; "));
  if (!subject.cluster.empty()) facts += fmt::format("; cluster {}", subject.cluster);
  return report::render_page({.title = fmt::format("{}: {}", subject.trace, size_of(grid)),
                              .eyebrow = subject.trace,
                              .answer = survey.answer,
                              .facts = facts,
                              .summary_html = std::move(sections),
                              .assumptions = std::move(assumptions),
                              .provenance = std::move(provenance)},
                             nlohmann::json::object());
}

}  // namespace vtrain
