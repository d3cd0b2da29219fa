/// `vtrain profile`: GPU profiles, their contents, and making them from published tables or from a GPU.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/base/utf8.hpp"
#include "core/io/file.hpp"
#include "core/io/input.hpp"
#include "core/kernels/kernel_recording.hpp"
#include "core/profile/gpu_profile.hpp"
#include "core/profile/import.hpp"
#include "core/profile/recording_profile.hpp"
#include "profiler/command.hpp"
#include "profiler/error.hpp"
#include "tools/commands/commands.hpp"
#include "tools/format/profile_description.hpp"
#include "tools/format/text_format.hpp"

namespace vtrain {
namespace {

namespace fs = std::filesystem;

struct ImportArguments {
  fs::path folder;
  std::string device;
  fs::path devices;
  std::string base;
  fs::path output;
};

/// Writes a profile to the requested file, or prints it.
Result<void> deliver(const std::string& profile, const fs::path& output) {
  if (!output.empty()) return write_file(output, profile);
  print_text(stdout, "{}", profile);
  return {};
}

/// Profile made of the measurements of `vtrain profile record`.
Result<void> import_recording(const ImportArguments& arguments) {
  auto text = read_file(recording_file(arguments.folder), InputKind::Profile);
  if (!text) return fail(text.error());
  const auto recording = parse_kernel_recording(std::move(*text), recording_file(arguments.folder).string());
  if (!recording) return fail(recording.error());
  const std::string base =
      arguments.base.empty() ? std::string(embedded_profile_of(recording->device.name)) : arguments.base;
  if (base.empty()) {
    return fail({.field = "--base",
                 .message = fmt::format("no profile of the program is of '{}'; say which one to extend",
                                        printable(recording->device.name))});
  }
  const auto profile = recording_to_profile(
      *recording, base,
      fmt::format("vtrain profile import {} --base {}", printable(arguments.folder.string()), base));
  if (!profile) return fail(profile.error());
  return deliver(*profile, arguments.output);
}

Result<void> import_profile(const ImportArguments& arguments) {
  if (!fs::exists(arguments.folder))
    return fail({.kind = ErrorKind::NotFound,
                 .file = arguments.folder.string(),
                 .message = "cannot open: no such folder"});
  if (fs::exists(recording_file(arguments.folder))) return import_recording(arguments);
  if (arguments.device.empty())
    return fail({.field = "--device", .message = "expected the name of a device in the description"});
  DeviceFile devices = embedded_device_file();
  std::string made_by = fmt::format("vtrain profile import {} --device {}",
                                    printable(arguments.folder.string()), arguments.device);
  if (!arguments.devices.empty()) {
    auto text = read_file(arguments.devices, InputKind::Devices);
    if (!text) return fail(text.error());
    devices = {.text = std::move(*text), .name = arguments.devices.string()};
    made_by += fmt::format(" --devices {}", printable(arguments.devices.string()));
  }
  const auto profile = import_gpu_profile(devices, arguments.device, arguments.folder, made_by);
  if (!profile) return fail(profile.error());
  return deliver(*profile, arguments.output);
}

Result<void> list_embedded(bool json) {
  std::vector<GpuProfile> profiles;
  for (const std::string_view name : embedded_profile_names()) {
    auto profile = load_gpu_profile(std::string(name));
    if (!profile) return fail(profile.error());
    profiles.push_back(std::move(*profile));
  }
  if (!json) {
    print_text(stdout, "{}\n`vtrain profile show NAME` says where each number comes from.\n",
               list_profiles(profiles));
    return {};
  }
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const GpuProfile& profile : profiles)
    list.push_back(profile_summary_to_json(profile));
  print_json(list);
  return {};
}

Result<void> show_profile(const std::string& name, bool json) {
  const auto profile = load_gpu_profile(name);
  if (!profile) return fail(profile.error());
  print_text(stdout, "{}", json ? json_text(profile_to_json(*profile)) : describe_profile(*profile));
  return {};
}

void add_list(CLI::App& command, Action& action) {
  CLI::App* list = command.add_subcommand("list",
                                          "List the GPU profiles that come with the program.\n\n  vtrain "
                                          "profile list\n  vtrain profile list --json");
  const auto json = std::make_shared<bool>(false);
  list->add_flag("--json", *json, "Print one JSON document");
  list->callback([=, &action] { action = [=] { return list_embedded(*json); }; });
}

void add_show(CLI::App& command, Action& action) {
  CLI::App* show = command.add_subcommand(
      "show",
      "Show a GPU profile: constants with their sources, errors of its tables, and rates of kernels and "
      "collectives by size.\n\n  vtrain profile show h100\n  vtrain profile show my_profile.json --json");
  const auto name = std::make_shared<std::string>();
  const auto json = std::make_shared<bool>(false);
  show->add_option("PROFILE", *name, "Name of a profile, or the path of a JSON file")->required();
  show->add_flag("--json", *json, "Print one JSON document");
  show->callback([=, &action] { action = [=] { return show_profile(*name, *json); }; });
}

void add_import(CLI::App& command, Action& action) {
  CLI::App* importer = command.add_subcommand(
      "import",
      "Make a GPU profile from what `vtrain profile record` measured, or from published tables of measured "
      "kernels: AIConfigurator's GEMM, attention and NCCL tables, SimuMax's operator efficiencies, and the "
      "all-reduce tables of the public vTrain release. For published tables the device's description names "
      "the files and holds what data sheets say.\n\n"
      "  vtrain profile import recordings/h200 --out h200-recorded.json\n"
      "  vtrain profile import data --device h100 --out h100.json");
  const auto arguments = std::make_shared<ImportArguments>();
  importer
      ->add_option("FOLDER", arguments->folder,
                   "Folder of a recording, or folder that the tables' names in the description start from")
      ->required();
  importer->add_option("--device", arguments->device, "Name of the device in the description");
  importer->add_option(
      "--devices", arguments->devices,
      "Descriptions of devices (JSON); default: those of the profiles that come with the program");
  importer->add_option(
      "--base", arguments->base,
      "Profile that completes a recording; default: the profile of the GPU that was recorded");
  importer->add_option("--out", arguments->output, "File to write; by default the profile is printed");
  importer->callback([=, &action] { action = [=] { return import_profile(*arguments); }; });
}

/// Turns exceptions of the profiler, which has no `Result`, into errors.
Result<void> record_profile(const std::vector<std::string>& arguments) {
  profiler::Backend backend = profiler::node_backend();
  backend.progress_on_terminal = isatty(STDERR_FILENO) != 0;
  try {
    profiler::record("vtrain profile record", arguments, backend, std::cout, std::cerr);
  } catch (const profiler::InputError& error) {
    return fail({.message = error.what()});
  } catch (const std::exception& error) {
    return fail({.kind = ErrorKind::Failed, .message = error.what()});
  }
  std::cout.flush();
  return {};
}

void add_record(CLI::App& command, Action& action) {
  CLI::App* record =
      command.add_subcommand("record",
                             "Measure GPU kernels and collectives on this node and write a table "
                             "of them; `vtrain profile record --help` lists the options.\n\n"
                             "  vtrain profile record --out h200\n"
                             "  vtrain profile record --dry-run");
  // It reads its own options, those of the stand-alone `vtrain-profile`.
  record->set_help_flag();
  record->prefix_command();
  record->callback([=, &action] { action = [=] { return record_profile(record->remaining()); }; });
}

}  // namespace

void add_profile_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("profile",
                         "Show, make and record GPU profiles: the constants and tables that predictions "
                         "use.\n\n  vtrain profile list\n  vtrain profile show h100");
  command->require_subcommand(1);
  add_list(*command, action);
  add_show(*command, action);
  add_import(*command, action);
  add_calibrate_command(*command, action);
  add_record(*command, action);
}

}  // namespace vtrain
