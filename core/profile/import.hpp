/// GPU profiles from a description of a device and published tables of kernels.
///
/// A device file (schema `vtrain-gpu-devices`, version 1) holds the shared constants of its devices under
/// `constants`, and the devices by name under `devices`:
///
///   {"description": "...",
///    "extends": "a100",               a profile that is part of the program; then no tables but
///                                     `gemm`, of SimuMax's operators, and `attention`
///    "constants": {"memory_capacity": {"value": 8e10, "unit": "B", "source": "..."}, ...},
///    "tables": {
///      "gemm": {"source": "...", "files": ["folder/gemm.csv.gz", ...]},
///      "attention": {"flash2": {"source": "...", "files": [...], "head_size_rates": {"64": 0.8}},
///                    "flash1": {"source": "...", "kernel": "flash2", "from_profile": "a100",
///                               "relative_rate": 0.55}},
///      "attention_backward": {"source": "...", "files": [...]},
///      "collectives": {"source": "...", "files": [...]},
///      "old_collectives": {"source": "...", "files": [...]}}}
///
/// Each file is the table of one software stack; `surface_fit.hpp` describes how they are joined. A rate
/// under `head_size_rates` is for an unmeasured head size, relative to the nearest measured one.
#pragma once

#include <filesystem>
#include <string>

#include "core/base/result.hpp"

namespace vtrain {

/// A device file with its name for errors.
struct DeviceFile {
  std::string text;
  std::string name;
};

/// The devices that are part of the program.
DeviceFile embedded_device_file();

/// The profile of one device as JSON text, the same bytes for the same input. The files of its tables are
/// relative to `folder`. `made_by` is the command that repeats the import.
Result<std::string> import_gpu_profile(const DeviceFile& devices, const std::string& device,
                                       const std::filesystem::path& folder, const std::string& made_by);

}  // namespace vtrain
