/// `vtrain profile`: GPU profiles, what they hold, and how they are made from published tables.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "core/file.hpp"
#include "core/gpu_profile.hpp"
#include "core/profile_import.hpp"
#include "tools/command.hpp"

namespace vtrain {
namespace {

namespace fs = std::filesystem;

struct ImportArguments {
  fs::path folder;
  std::string device;
  fs::path devices;
  fs::path output;
};

Result<void> import_profile(const ImportArguments& arguments) {
  DeviceFile devices = embedded_device_file();
  std::string made_by =
      fmt::format("vtrain profile import {} --device {}", arguments.folder.string(), arguments.device);
  if (!arguments.devices.empty()) {
    auto text = read_file(arguments.devices);
    if (!text) return fail(text.error());
    devices = {.text = std::move(*text), .name = arguments.devices.string()};
    made_by += fmt::format(" --devices {}", arguments.devices.string());
  }
  const auto profile = import_gpu_profile(devices, arguments.device, arguments.folder, made_by);
  if (!profile) return fail(profile.error());
  if (!arguments.output.empty()) return write_file(arguments.output, *profile);
  fmt::print("{}", *profile);
  return {};
}

void add_import(CLI::App& command, Action& action) {
  CLI::App* import =
      command.add_subcommand("import", "Make a profile from published tables of measured kernels.");
  const auto arguments = std::make_shared<ImportArguments>();
  import->add_option("FOLDER", arguments->folder, "Folder that holds the tables")->required();
  import->add_option("--device", arguments->device, "Name of the device")->required();
  import->add_option("--devices", arguments->devices,
                     "JSON file that describes devices and names their tables");
  import->add_option("--out", arguments->output, "File to write; standard output by default");
  import->callback([=, &action] { action = [=] { return import_profile(*arguments);
};
}  // namespace
);
}  // namespace vtrain

}  // namespace

void add_profile_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("profile", "Show GPU profiles and make new ones.");
  command->require_subcommand(1);
  add_import(*command, action);
}

}  // namespace vtrain
