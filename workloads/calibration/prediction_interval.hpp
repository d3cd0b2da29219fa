/// Intervals of predictions, from the errors of validated runs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"

namespace vtrain {

struct GpuProfile;
struct TransformerModel;

/// Kinds of models whose errors differ.
enum class ModelKind : std::uint8_t {
  Dense,        ///< attention and an MLP in every layer
  Experts,      ///< layers with experts
  StateSpaces,  ///< layers with state spaces, with or without experts
};

/// `dense`, `experts`, `state-spaces`.
std::string_view name_of(ModelKind kind);
/// `dense models`, `experts`, `state spaces`.
std::string_view models_of(ModelKind kind);
/// The kind of a model.
ModelKind kind_of(const TransformerModel& model);

/// Who chose the settings of a run. Recipes are tuned until nothing but the modelled work takes time; runs of
/// users often wait for what no configuration tells.
enum class SetUp : std::uint8_t {
  Own,     ///< the user
  Recipe,  ///< a vendor or the author of a framework, who published the run
};

/// Names of the set-ups, in their order.
inline constexpr std::array<std::string_view, 2> kSetUpNames = {"own", "recipe"};
/// `own`, `recipe`.
std::string_view name_of(SetUp set_up);
/// The set-up of a name; the error lists the names.
Result<SetUp> parse_set_up(std::string_view name);

/// Generation of a GPU, from its number formats: `volta`, `ampere`, `hopper` or `blackwell`.
std::string_view generation_of(const GpuProfile& profile);

/// What tells how far a prediction is from validated runs.
struct RunTraits {
  SetUp set_up = SetUp::Own;          ///< who set the run up
  std::string stack{};                ///< name of the software stack
  std::string profile{};              ///< base name of the GPU profile
  std::string generation{};           ///< `generation_of` the profile
  ModelKind kind = ModelKind::Dense;  ///< kind of the model
};

/// A run that was measured and predicted.
struct ValidatedRun {
  std::string source{};                  ///< document that published the run
  std::string group{};                   ///< part of the source with one GPU and one kind of model
  RunTraits traits{};                    ///< what tells how far it is from others
  double time_ratio = 1;                 ///< measured over predicted time of an iteration
  std::optional<double> memory_ratio{};  ///< measured over predicted peak memory, if it was measured
};

/// The validated runs that come with the program (`validated_runs.csv`, made by `tools/validated_runs`).
std::span<const ValidatedRun> validated_runs();

/// Reads runs from a table. Errors name file, line and column.
Result<std::vector<ValidatedRun>> parse_validated_runs(std::string text, const std::string& file);

/// A range of factors on a prediction.
struct Interval {
  double low = 1;   ///< lower end
  double high = 1;  ///< upper end
};

/// Share of runs that an interval covers.
inline constexpr double kCoverage = 0.9;

/// Range in which nine of ten runs like this one lie.
struct Uncertainty {
  Interval time{};               ///< measured over predicted time
  Interval memory{};             ///< measured over predicted peak memory
  std::int64_t num_similar = 0;  ///< validated runs with this stack and kind of model
  /// Fewer than `kFewestSimilar` runs validate this stack with this kind of model: the interval is twice as
  /// wide as that of other runs.
  bool never_validated = false;
  std::int64_t num_own = 0;  ///< runs of the user's own that the interval of the time is made of; 0: none
};

/// Fewest runs that validate a stack with a kind of model.
inline constexpr std::int64_t kFewestSimilar = 3;

/// The interval of a prediction: quantiles 5 % and 95 % of the ratios of `runs`. A run counts less the
/// farther it is: its weight 1 is multiplied by 0.02 for another set-up, 0.5 for another stack of the same
/// framework and 0.3 for another framework, 0.6 for another GPU of the same generation and 0.4 for another
/// generation, and 0.5 for another kind of model. Runs whose `group` is `without`, and of users' runs whose
/// source is it, do not count, so that a validated run can be judged by the others.
///
/// Without any run the interval is a factor of 2 in both directions.
Uncertainty uncertainty_of(const RunTraits& traits, std::span<const ValidatedRun> runs = validated_runs(),
                           std::string_view without = {});

/// Fewest logs of a user's own runs that give an interval.
inline constexpr std::size_t kFewestLogs = 3;

/// The interval of the next run on a stack that was calibrated to a user's own runs: that of a normal
/// distribution of which only the logarithms of these ratios are known (Student's t, with as many degrees of
/// freedom as ratios less one). Needs `kFewestLogs` ratios.
Interval interval_of_logs(std::span<const double> log_ratios);

/// Share by which the errors of two plans of one job differ, in 90 % of 80 pairs of measured runs with equal
/// model, sequence length, batch, GPUs and stack (half of the pairs: 3.1 %). Plans that are closer cannot be
/// told apart.
inline constexpr double kPlanDifference = 0.07;

/// Text for users: `−8 … +35 %`, the interval as changes of the prediction.
std::string interval_text(const Interval& interval);

/// Text for users on a combination that no run validates, such as
/// `never validated: torchtitan with experts on b200; interval −20 … +70 %`; empty if runs validate it.
std::string never_validated_text(const RunTraits& traits, const Uncertainty& uncertainty);

}  // namespace vtrain
