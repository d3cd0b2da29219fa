/// GPUs and software that models are trained on, resolved from their names: the one place where profile,
/// nodes, stack and calibration come together.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "core/profile/gpu_profile.hpp"
#include "workloads/calibration/prediction_interval.hpp"
#include "workloads/release/release_config.hpp"
#include "workloads/stack/stack.hpp"

namespace vtrain {

struct Calibration;

/// The predictors.
enum class Semantics : std::uint8_t {
  Physical,  ///< the accurate one (`predict_physical`)
  Release,   ///< the arithmetic of the public vTrain release (`predict_vtrain`)
};

/// `physical`, `vtrain`.
std::string_view name_of(Semantics semantics);
/// The predictor of a name; the error lists the names.
Result<Semantics> parse_semantics(std::string_view name);

/// Inputs of the release's arithmetic.
struct ReleaseInputs {
  ReleaseMachine machine{};             ///< GPU, nodes and networks
  std::filesystem::path traces{};       ///< folder of kernel traces; empty: the machine's
  std::filesystem::path collectives{};  ///< folder of all-reduce tables; empty: one below the traces
};

/// Names of what a target consists of.
struct TargetNames {
  Semantics semantics = Semantics::Physical;  ///< predictor
  std::string profile{};   ///< name or file (`load_gpu_profile`); empty: that of `gpu_type`
  std::string gpu_type{};  ///< GPUs of a cluster; empty: not known, then `kDefaultProfile` is taken
  /// GPUs of a type without a profile use the default profile, and a note says so. If false, they are an
  /// error.
  bool assumes_profile = false;
  std::optional<NodeShape> nodes{};              ///< nodes of a cluster; none: those of the profile
  std::optional<BytesPerSecond> node_network{};  ///< network of a node; none: that of the profile
  std::string stack{};                           ///< empty: the default one of the GPU
  std::optional<Stack> changed_stack{};          ///< a stack in place of the named one
  std::string calibration{};  ///< file of `vtrain profile calibrate`, or `published`; empty: none
  SetUp set_up = SetUp::Own;  ///< who chose the settings of the runs that are predicted
  ReleaseInputs release{};    ///< read under `Semantics::Release` alone
};

/// A choice in the making of a target that its user may not expect.
struct TargetNote {
  /// Choices that a note explains.
  enum class Kind : std::uint8_t {
    OtherGpus,       ///< the named profile is not that of the cluster's GPUs
    AssumedProfile,  ///< there is no profile of the cluster's GPUs
    OtherNodes,      ///< the cluster's nodes are not those of the profile
  };
  Kind kind = Kind::OtherGpus;  ///< choice that was made
  std::string text{};           ///< a sentence
};

/// GPUs, their nodes and the software on them. Functions only read it, so that threads may share one.
struct Target {
  Semantics semantics = Semantics::Physical;  ///< predictor
  GpuProfile profile{};                       ///< GPU with the nodes and the network of the target
  bool network_is_given = false;              ///< the profile's network is `TargetNames::node_network`
  Stack stack{};                  ///< stack with the calibration's factors; without a name under `Release`
  bool stack_is_default = false;  ///< nothing named the stack
  std::string calibration{};      ///< file of the calibration, empty for none
  SetUp set_up = SetUp::Own;      ///< who chose the settings
  /// Logarithms of measured over predicted time of the runs that the calibration was fitted to, each
  /// predicted from the others (`CalibratedStack::left_out`).
  std::vector<double> left_out{};
  ReleaseInputs release{};          ///< read under `Semantics::Release` alone
  std::vector<TargetNote> notes{};  ///< choices that a user may not expect
};

/// Resolves names. `Semantics::Release` has neither stack nor calibration. Errors name `profile`, `gpu_type`
/// or `stack` as their field, or the file that is wrong.
Result<Target> resolve_target(const TargetNames& names);
/// Resolves names with a calibration that has been read, for many targets; `TargetNames::calibration` does
/// not count.
Result<Target> resolve_target(const TargetNames& names, const Calibration& calibration);

/// Text for users: `calibrated with published`, or that the file has no factors for this stack on this GPU;
/// empty without a calibration.
std::string describe_calibration(const std::string& calibration, const Stack& stack);

}  // namespace vtrain
