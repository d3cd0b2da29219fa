/// Common parts of `vtrain replay`, `vtrain compare` and `vtrain size`: their arguments, their scenario, and the
/// runs with the files that they leave.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/io/staged_folder.hpp"
#include "tools/experiment/scenario.hpp"
#include "tools/experiment/seeds.hpp"
#include "tools/report/seed_tables.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace vtrain {

/// The policies that `compare` takes by default for a trace: one of each kind (in order, backfilling,
/// shortest first, deadline first). All give jobs the GPUs that they request.
inline constexpr std::string_view kTracePolicies = "fifo,easy,srtf,edf:resize=no";
/// Default policies for the embedded default, whose jobs all have a model and a deadline. The last two make
/// use of that: they resize jobs and turn away those that would be late.
inline constexpr std::string_view kGeneratedPolicies = "fifo,easy,srtf,elasticflow,deadline";
/// Default seeds of studies without a trace: enough to tell policies apart.
inline constexpr std::string_view kDefaultSeeds = "1-20";

/// Splits `fifo,las:timer=peer,queues=3250;7200,edf` into specs: a part with `=` but no `:` before it
/// continues the parameters of the previous policy. Blanks around specs are removed.
std::vector<std::string> split_policies(std::string_view list);

/// Arguments of `replay`, `compare` and `size`.
struct ReplayArguments {
  ScenarioSpec spec;
  std::filesystem::path spec_file;  ///< file of the spec; empty: the spec is in options
  std::filesystem::path out;        ///< empty: nothing is written
  bool json = false;
  unsigned threads = 0;
  std::string command;              ///< command line as typed
  std::filesystem::path decisions;  ///< file for the reasons of waiting jobs; empty: none
  std::optional<std::string> job;   ///< job whose story is printed
};

/// Result of `run_and_write`.
struct FinishedRuns {
  std::vector<RunResult> runs;
  std::optional<SeedStudy> study;       ///< the policies over several seeds, or beside a baseline
  std::optional<std::size_t> baseline;  ///< policy that the others are compared with
  double replay_s = 0;                  ///< time for all runs, seconds

  /// The comparison over several seeds, if there are any.
  std::optional<SeedComparison> seeds() const {
    return study && study->seeds.size() > 1 ? std::optional(SeedComparison{&*study, baseline}) : std::nullopt;
  }
};

/// Number of policies that a command takes.
enum class NumPolicies : std::uint8_t { One, Several };

/// Skipped rows of the trace, and assumptions.
nlohmann::ordered_json reading_to_json(const Scenario& scenario);

/// Begins the folder that `--out` names; reports it if another run is writing there.
Result<StagedFolder> begin_folder(const std::filesystem::path& out);

/// Position of a policy; none if it is not there.
std::optional<std::size_t> position_of(const std::vector<std::string>& policies, const std::string& policy);

/// The seeds of a comparison, ascending; empty: the one of its spec. Adds the baseline to the policies. The
/// runs that are written are those of the first seed.
Result<std::vector<std::uint64_t>> complete_comparison(ScenarioSpec& spec);

/// Checks the spec, prepares its scenario and logs the warnings.
Result<Scenario> prepare_spec(ScenarioSpec spec, NumPolicies num_policies);

/// The spec of the options, without a document, or of the file of `--spec`.
Result<SpecDocument<ScenarioSpec>> read_spec(const ReplayArguments& arguments);
/// An error in the options of a spec, with its place if the spec was read from a file.
Error locate_error(const SpecDocument<ScenarioSpec>& read, Error error);

/// Replays the jobs under every policy, and writes the results if there is a folder. Policies' files go to
/// `places` within it. Errors of writing to the folder are found before the work. `folder` is already begun,
/// or else the one that `--out` names is begun. Several `seeds` are replayed as well.
Result<FinishedRuns> run_and_write(const ReplayArguments& arguments, const Scenario& scenario,
                                   const std::vector<std::string>& places,
                                   std::optional<StagedFolder> folder = std::nullopt,
                                   const ReasonOptions& reasons = {},
                                   std::span<const std::uint64_t> seeds = {});

/// Places of these runs' report and timelines, with the timelines' size; a line each.
std::string written_lines(const std::filesystem::path& folder, const std::vector<std::string>& places);

/// Adds `--spec`, which excludes all options that `command` has so far, and the options on outputs of a run.
void add_spec_option(CLI::App& command, ReplayArguments& arguments);

}  // namespace vtrain
