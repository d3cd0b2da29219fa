#include "tools/live/job_models.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/io/csv.hpp"
#include "core/io/input.hpp"
#include "tools/experiment/plan_spec.hpp"
#include "workloads/model/zoo.hpp"

namespace vtrain {
namespace {

constexpr std::array<std::string_view, 5> kWorkKeys = {"model", "global_batch", "tokens", "iterations",
                                                       "plan"};
/// Keys of comments: of the work, and for `vtrain serve`.
constexpr std::array<std::string_view, 7> kCommentKeys = {"model", "global_batch", "tokens", "iterations",
                                                          "plan",  "deadline",     "job"};

/// Texts of the keys of `kWorkKeys`, empty where there is none.
using WorkTexts = std::array<std::string_view, kWorkKeys.size()>;

Result<TrainingWork> work_of(const WorkTexts& texts) {
  const auto& [model, batch, tokens, iterations, plan] = texts;
  const auto bad = [](std::string_view key, std::string message) {
    return fail({.field = std::string(key), .message = std::move(message)});
  };
  TrainingWork work{.model = std::string(model), .plan = std::string(plan)};
  if (model.empty()) return bad("model", "missing");
  const auto known = find_model(model);
  if (!known) return bad("model", known.error().message);
  if (!batch.empty()) {
    const auto number = parse_integer(batch, 1, std::numeric_limits<std::int32_t>::max());
    if (!number) return bad("global_batch", number.error().message);
    work.global_batch = *number;
  }
  if (tokens.empty() == iterations.empty())
    return bad(
        tokens.empty() ? "tokens" : "iterations",
        tokens.empty() ? "missing, as are iterations" : "given as well as tokens: one of them is enough");
  constexpr std::int64_t kMostIterations = 1'000'000'000'000;
  if (!iterations.empty()) {
    const auto number = parse_integer(iterations, 1, kMostIterations);
    if (!number) return bad("iterations", number.error().message);
    work.iterations = *number;
  } else {
    const auto number = parse_large_count(tokens);
    if (!number) return bad("tokens", number.error().message);
    const auto sequences =
        static_cast<double>(work.global_batch > 0 ? work.global_batch : known->global_batch);
    const double steps = *number / (sequences * static_cast<double>(known->model().sequence_length));
    work.iterations = static_cast<std::int64_t>(std::ceil(std::min(steps, double{kMostIterations})));
  }
  if (!plan.empty()) {
    const auto parsed = parse_plan_spec(plan, {.micro_batch = 1});
    if (!parsed) return bad("plan", parsed.error().message);
  }
  return work;
}

/// Takes `key=value` off the front of a comment. A value may be in double quotes and has none inside.
Result<std::pair<std::string_view, std::string_view>> take_word(std::string_view& text) {
  const std::string_view word = text.substr(0, text.find(' '));
  const std::size_t equals = word.find('=');
  const std::string_view key = word.substr(0, equals);
  if (equals == std::string_view::npos || std::ranges::find(kCommentKeys, key) == kCommentKeys.end())
    return fail({.message = expected_found(
                     "model=, global_batch=, tokens=, iterations=, plan=, deadline= or job=", word)});
  std::string_view value = word.substr(equals + 1);
  std::string_view rest = text.substr(word.size());
  if (value.starts_with('"')) {
    const std::size_t begin = equals + 2;
    const std::size_t end = std::min(text.find('"', begin), text.size());
    value = text.substr(begin, end - begin);
    rest = text.substr(end).starts_with('"') ? text.substr(end + 1) : "\"";
  }
  if (value.find('"') != std::string_view::npos || !(rest.empty() || rest.starts_with(' ')))
    return fail({.field = std::string(key), .message = "expected quotes around the whole value or none"});
  text = trim(rest);
  return std::pair{key, value};
}

/// True if a name fits a pattern, in which `*` is any text.
bool matches(std::string_view pattern, std::string_view name) {
  std::size_t at = 0;
  std::size_t star = std::string_view::npos;
  std::size_t from = 0;
  std::size_t i = 0;
  while (i < name.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      from = i;
    } else if (at < pattern.size() && pattern[at] == name[i]) {
      ++at;
      ++i;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      i = ++from;
    } else {
      return false;
    }
  }
  while (at < pattern.size() && pattern[at] == '*')
    ++at;
  return at == pattern.size();
}

}  // namespace

Result<TrainingWork> parse_training_work(std::string_view text) {
  std::array<std::string_view, kCommentKeys.size()> texts;
  text = trim(text);
  while (!text.empty()) {
    const auto word = take_word(text);
    if (!word) return fail(word.error());
    const auto place = std::ranges::find(kCommentKeys, word->first) - kCommentKeys.begin();
    std::string_view& value = texts[static_cast<std::size_t>(place)];
    if (!value.empty())
      return fail({.field = std::string(word->first), .message = "expected once, found twice"});
    value = word->second;
  }
  WorkTexts work;
  std::ranges::copy_n(texts.begin(), std::ssize(work), work.begin());
  return work_of(work);
}

Result<JobModels> JobModels::read(const std::string& file) {
  const auto text = read_file(file, InputKind::Instance);
  if (!text) return fail(text.error());
  return parse(*text, file);
}

Result<JobModels> JobModels::parse(std::string_view text, const std::string& file) {
  auto rows = CsvReader::open(text, file);
  if (!rows) return fail(std::move(rows.error()));
  const auto job = rows->require_column("job");
  if (!job) return fail(job.error());
  if (const auto model = rows->require_column("model"); !model) return fail(model.error());
  std::array<int, kWorkKeys.size()> places{};
  for (std::size_t i = 0; i < kWorkKeys.size(); ++i)
    places[i] = rows->find_column(kWorkKeys[i]);
  for (const std::string& column : rows->columns()) {
    if (column != "job" && std::ranges::find(kWorkKeys, column) == kWorkKeys.end())
      return fail(
          {.file = file,
           .field = column,
           .message = expected_found("job, model, global_batch, tokens, iterations or plan", column)});
  }
  JobModels models;
  std::set<std::string, std::less<>> seen;
  for (;;) {
    const auto more = rows->next();
    if (!more) return fail(more.error());
    if (!*more) return models;
    const std::string_view name = trim(rows->field(*job));
    if (name.empty()) return fail(rows->error_at(*job, "missing"));
    if (!seen.emplace(name).second) return fail(rows->error_at(*job, fmt::format("'{}' comes twice", name)));
    WorkTexts texts;
    for (std::size_t i = 0; i < kWorkKeys.size(); ++i) {
      if (places[i] >= 0) texts[i] = trim(rows->field(places[i]));
    }
    auto work = work_of(texts);
    if (!work) {
      Error error = std::move(work.error());
      error.file = file;
      error.line = rows->line();
      return fail(std::move(error));
    }
    models.rows_.push_back({.job = std::string(name), .work = *std::move(work)});
  }
}

const TrainingWork* JobModels::find(const DumpedJob& job, std::string_view id) const {
  const auto use = [](const Row& row) {
    row.is_used = true;
    return &row.work;
  };
  for (const Row& row : rows_) {
    if (row.job == id || row.job == job.id || (job.array && row.job == job.array->job_id)) return use(row);
  }
  for (const Row& row : rows_) {
    if (!job.name.empty() && matches(row.job, job.name)) return use(row);
  }
  return nullptr;
}

std::int64_t JobModels::num_unused() const {
  return std::ranges::count(rows_, false, &Row::is_used);
}

std::optional<std::string_view> model_text(const DumpedJob& job) {
  if (!job.model.empty()) return job.model;
  constexpr std::string_view kPrefix = "vtrain:";
  const std::string_view comment = job.comment;
  const std::size_t at = comment.find(kPrefix);
  if (at == std::string_view::npos) return std::nullopt;
  return trim(comment.substr(at + kPrefix.size()));
}

}  // namespace vtrain
