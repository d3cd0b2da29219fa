#include "tools/live/slurm_files_now.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include <fmt/format.h>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/io/line_reader.hpp"
#include "core/text/calendar.hpp"
#include "policies/tenants/slurm/associations.hpp"
#include "policies/tenants/slurm/configuration.hpp"
#include "policies/tenants/slurm/quality_of_service.hpp"
#include "policies/tenants/slurm/table_text.hpp"

namespace vtrain {
namespace {

/// The first line that is neither blank nor a comment; empty without one.
std::string_view first_plain_line(std::string_view text) {
  LineReader lines(text, "");
  while (lines.next().value_or(false)) {
    if (!trim(lines.line()).starts_with('#')) return trim(lines.line());
  }
  return {};
}

/// True if some line begins with one of the keys that every slurm.conf has.
bool is_slurm_conf(std::string_view text) {
  constexpr std::array<std::string_view, 4> kKeys = {
      "clustername=", "slurmctldhost=", "controlmachine=", "selecttype="};
  LineReader lines(text, "");
  while (lines.next().value_or(false)) {
    const std::string line = lower_case(trim(lines.line()));
    if (std::ranges::any_of(kKeys, [&](std::string_view key) { return line.starts_with(key); })) return true;
  }
  return false;
}

/// True for a row of `squeue -h -o '%i|…'`: an id of a job, then other columns.
bool is_row_without_header(std::string_view line) {
  const std::vector<std::string_view> fields = split(line, '|');
  if (fields.size() < 3 || fields[0].empty()) return false;
  return std::ranges::all_of(fields[0], [](unsigned char c) {
    return std::isdigit(c) != 0 ||
           std::string_view("_+[]-,%:").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

bool has_columns(std::string_view line, std::initializer_list<std::string_view> names) {
  const std::vector<std::string_view> columns = split(line, '|');
  return std::ranges::all_of(
      names, [&](std::string_view name) { return std::ranges::find(columns, name) != columns.end(); });
}

/// Keeps a file for parameters of the policy.
Result<void> keep_file(LiveState& state, std::initializer_list<std::string_view> parameters,
                       const std::string& file, std::string_view text) {
  if (file == "-")
    return fail({.file = file, .message = "a file of the policy slurm can't come from standard input"});
  if (file.find(',') != std::string::npos)
    return fail({.file = file, .message = "a file of the policy slurm may have no comma in its path"});
  for (const std::string_view parameter : parameters) {
    const auto [known, is_new] = state.policy_files.emplace(parameter, file);
    if (!is_new)
      return fail(
          {.file = file, .message = fmt::format("of the kind of {}: one of them is enough", known->second)});
  }
  state.policy_texts.emplace(file, text);
  return {};
}

/// The whole of a table, whose rows must have the columns of the header.
Result<void> check_table(std::string_view text, const std::string& file) {
  auto table = slurm::TableText::open(text, file);
  if (!table) return fail(std::move(table.error()));
  for (;;) {
    const auto more = table->next();
    if (!more) return fail(more.error());
    if (!*more) return {};
  }
}

/// `scontrol show config`: its first line has the time.
Result<bool> add_config(std::string_view line, const std::string& file, LiveState& state) {
  constexpr std::string_view kBeginning = "Configuration data as of ";
  const auto time = parse_civil_time(line.substr(kBeginning.size()));
  if (!time) return fail({.file = file, .line = 1, .message = time.error().message});
  state.note_time(std::chrono::floor<std::chrono::seconds>(time->utc(state.zone)).time_since_epoch().count());
  state.remark("`scontrol show config` is read for its time; slurm.conf has the rules");
  return true;
}

/// `sdiag`: the time in its heading.
Result<bool> add_sdiag(std::string_view text, const std::string& file, LiveState& state) {
  const std::size_t at = text.find("sdiag output at");
  const std::string_view heading = text.substr(at, text.find('\n', at) - at);
  const std::size_t open = heading.find('(');
  const auto seconds =
      open == std::string_view::npos
          ? Result<std::int64_t>(fail({.message = expected_found("a time", heading)}))
          : parse_integer(heading.substr(open + 1, heading.find(')') - open - 1), 1, 7'258'118'400);
  if (!seconds) return fail({.file = file, .field = "sdiag output at", .message = seconds.error().message});
  state.note_time(*seconds);
  state.remark("`sdiag` is read for its time");
  return true;
}

}  // namespace

Result<bool> add_slurm_file(std::string_view text, const std::string& file, LiveState& state) {
  const std::string_view line = first_plain_line(text);
  const auto kept = [&](std::initializer_list<std::string_view> parameters,
                        Result<void> checked) -> Result<bool> {
    if (!checked) return fail(std::move(checked.error()));
    if (auto done = keep_file(state, parameters, file, text); !done) return fail(std::move(done.error()));
    return true;
  };
  slurm::TresNames names;
  if (has_columns(line, {"Account", "RawShares"})) return kept({"usage", "parents"}, check_table(text, file));
  if (has_columns(line, {"Account", "User", "Share"})) {
    const auto tree = slurm::parse_associations(text, file, names, {});
    return kept({"assoc"}, tree ? Result<void>() : fail(tree.error()));
  }
  if (has_columns(line, {"Name", "Priority", "Flags"})) {
    const auto qos = slurm::parse_qos(text, file, names);
    return kept({"qos"}, qos ? Result<void>() : fail(qos.error()));
  }
  if (line.starts_with("Cluster - ")) {
    const auto tree = slurm::parse_association_dump(text, file, names);
    return kept({"assoc"}, tree ? Result<void>() : fail(tree.error()));
  }
  if (line.starts_with("Current Association Manager state")) return kept({"usage"}, {});
  if (line.starts_with("Configuration data as of ")) return add_config(line, file, state);
  if (text.substr(0, 400).find("sdiag output at") != std::string_view::npos)
    return add_sdiag(text, file, state);
  if (line.starts_with("LicenseName=")) {
    state.remark("licences are not kept");
    return true;
  }
  const bool is_gres = line.starts_with("Name=") ||
                       (line.starts_with("NodeName=") && line.find(" Name=") != std::string_view::npos);
  if (is_gres) {
    state.remark("gres.conf is not used: nodes tell their GPUs");
    return true;
  }
  if (const auto [key, value] = split_once(line, '='); value && is_slurm_conf(text)) {
    constexpr std::string_view kAll[] = {"all"};
    const auto conf = slurm::parse_configuration(text, file, names, kAll);
    return kept({"conf"}, conf ? Result<void>() : fail(conf.error()));
  }
  if (is_row_without_header(line)) {
    state.remark("tables of squeue without a header are not read (leave out -h)");
    return true;
  }
  if (!line.empty() && std::ranges::all_of(line, [](unsigned char c) { return std::isdigit(c) != 0; })) {
    LineReader lines(text, file);
    while (lines.next().value_or(false)) {
      const auto seconds = parse_integer(trim(lines.line()), 1, 7'258'118'400);
      if (!seconds) return fail({.file = file, .line = lines.number(), .message = seconds.error().message});
      state.note_time(*seconds);
    }
    return true;
  }
  return false;
}

}  // namespace vtrain
