#include "tests/fuzz/check_trace.hpp"
#include "tests/support/temporary_folder.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const vtrain::testing::TemporaryFolder kFolder;
  static const auto kThroughputs =
      kFolder.write("throughputs.json", R"json({"v100": {"('LM (batch size 5)', 2)": {"null": 2.0}}})json");
  static const vtrain::ReadOptions kOptions{.throughputs = kThroughputs.string()};
  return vtrain::check_trace(
      vtrain::parse_trace({reinterpret_cast<const char*>(data), size}, "input", "gavel", kOptions));
}
