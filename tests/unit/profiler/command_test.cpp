#include "profiler/command.hpp"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <stdexcept>

#include <doctest/doctest.h>

#include "core/kernels/kernel_trace.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/unit/profiler/fake_device.hpp"

namespace vtrain::profiler {
namespace {

namespace fs = std::filesystem;

struct Run {
  int code = 0;
  std::string out;
  std::string err;
};

Run run(const std::vector<std::string>& line, const Backend& backend = {}) {
  std::ostringstream out;
  std::ostringstream err;
  const int code = run_record("vtrain profile record", line, backend, out, err);
  return {code, out.str(), err.str()};
}

TEST_CASE("command: a build without CUDA says so in one line") {
  const Run made = run({"--out", "x"});
  CHECK(made.code == 1);
  CHECK(made.err.find("error: this build has no CUDA") == 0);
  CHECK(std::count(made.err.begin(), made.err.end(), '\n') == 1);
  CHECK(!fs::exists("x"));
}

TEST_CASE("command: a node without a GPU says so in one line") {
  Backend backend;
  backend.open_device = [](int) -> std::unique_ptr<Device> {
    throw std::runtime_error("no GPU on this machine");
  };
  const Run made = run({"--out", "x"}, backend);
  CHECK(made.code == 1);
  CHECK(made.err == "error: no GPU on this machine\n");
  CHECK(!fs::exists("x"));
}

TEST_CASE("command: help and mistakes") {
  CHECK(run({"--help"}).code == 0);
  CHECK(run({"--help"}).out.find("vtrain profile record --dry-run") != std::string::npos);
  CHECK(run({"--nonsense"}).code == 2);
  CHECK(run({"--dry-run", "--hidden", "1000:7"}).code == 2);
}

TEST_CASE("command: a dry run counts operators and time without a GPU") {
  const Run made =
      run({"--dry-run", "--hidden", "1024", "--sequence", "2048", "--micro-batch", "1", "--tensor", "1"});
  CHECK(made.code == 0);
  CHECK(made.out.find("combinations 1, operators that they need ") == 0);
  CHECK(made.out.find("  gemm bf16                 15, about ") != std::string::npos);
  const Run list = run({"--dry-run", "--list", "--hidden", "1024", "--sequence", "2048", "--tensor", "1"});
  CHECK(list.out.find("gemm forward bf16 m=2048 n=3072 k=1024\n") != std::string::npos);
}

TEST_CASE("command: records a table and its traces, then finds nothing left to do") {
  const testing::TemporaryFolder temporary;
  const fs::path folder = temporary / "recording";  // for the command to make
  std::uint64_t prepared = 0;
  Backend backend;
  backend.open_device = [&](int) {
    auto device = std::make_unique<FakeDevice>();
    device->refuses = [&prepared](const Operator&) {
      ++prepared;
      return false;
    };
    return device;
  };
  const std::vector<std::string> line = {"--out", folder.string(), "--hidden", "1024",     "--sequence",
                                         "2048",  "--micro-batch", "1,2",      "--tensor", "1,2"};
  const Run first = run(line, backend);
  CHECK(first.code == 0);
  CHECK(first.err.find("NVIDIA Fake: ") == 0);
  CHECK(first.err.find("skipped 1: built without NCCL") != std::string::npos);
  CHECK(first.out.find("4 traces") != std::string::npos);
  const KernelTable table = KernelTable::parse(read_whole(folder / "kernel_table.json"));
  CHECK(table.operators().size() == prepared);
  CHECK(vtrain::parse_kernel_trace(read_whole(folder / "traces" / "trace_1024_2_2"), "trace"));
  const std::uint64_t before = prepared;
  const Run second = run(line, backend);
  CHECK(second.code == 0);
  CHECK(prepared == before);
  CHECK(second.err.find(": 0 operators to measure") != std::string::npos);

  // Another driver's numbers do not belong into the same table.
  backend.open_device = [](int) {
    auto device = std::make_unique<FakeDevice>();
    device->driver = "2.0";
    return device;
  };
  const Run other = run(line, backend);
  CHECK(other.code == 2);
  CHECK(other.err.find("choose another folder") != std::string::npos);
}

TEST_CASE("command: an interrupted recording says how to go on") {
  const testing::TemporaryFolder temporary;
  const fs::path folder = temporary / "recording";  // for the command to make
  Backend backend;
  backend.open_device = [](int) { return std::make_unique<FakeDevice>(); };
  int asked = 0;
  backend.is_interrupted = [&asked] { return ++asked > 4; };
  const Run made = run({"--out", folder.string(), "--hidden", "1024", "--only", "operators"}, backend);
  CHECK(made.code == 0);
  CHECK(made.out.find("are left: run the same command again to go on") != std::string::npos);
  CHECK(KernelTable::parse(read_whole(folder / "kernel_table.json")).operators().size() == 4);
}

}  // namespace
}  // namespace vtrain::profiler
