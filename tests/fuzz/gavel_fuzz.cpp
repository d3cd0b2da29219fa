#include <filesystem>
#include <fstream>

#include "tests/fuzz/check_trace.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const vtrain::ReadOptions kOptions = [] {
    const auto path = std::filesystem::temp_directory_path() / "vtrain_gavel_fuzz.json";
    std::ofstream(path) << R"json({"v100": {"('LM (batch size 5)', 2)": {"null": 2.0}}})json";
    return vtrain::ReadOptions{.throughputs = path.string()};
  }();
  return vtrain::check_trace(
      vtrain::parse_trace({reinterpret_cast<const char*>(data), size}, "input", "gavel", kOptions));
}
