// `vtrain profile record` as far as it goes without a GPU.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "tests/support/command_runner.hpp"

using vtrain::testing::run_vtrain;
using vtrain::testing::TemporaryFolder;

TEST_CASE("profile record: a dry run and its help need neither CUDA nor a GPU") {
  const TemporaryFolder work;
  const auto plan = run_vtrain("profile record --dry-run --hidden 4096:32 --tensor 1,8", work.path());
  CHECK(plan.exit_code == 0);
  CHECK(plan.out.find("  gemm bf16") != std::string::npos);
  CHECK(plan.out.find("in all on a GPU of") != std::string::npos);
  const auto help = run_vtrain("profile record --help", work.path());
  CHECK(help.exit_code == 0);
  CHECK(help.out.find("--time-limit SECONDS") != std::string::npos);
}

TEST_CASE("profile record: mistakes exit 2, a missing GPU exits 1, in one line each") {
  const TemporaryFolder work;
  const auto one_line = [](const std::string& text) {
    return std::count(text.begin(), text.end(), '\n') == 1;
  };
  const auto mistake = run_vtrain("profile record --hiden 4096", work.path());
  CHECK(mistake.exit_code == 2);
  CHECK(mistake.err == "error: unknown option '--hiden'; did you mean '--hidden'?\n");
  const auto missing =
      run_vtrain("profile record --out table --only operators --hidden 128 --time-limit 0.001", work.path());
  // On a machine with a GPU and a build with CUDA it would record.
  if (missing.exit_code == 0) return;
  CHECK(missing.exit_code == 1);
  CHECK(one_line(missing.err));
  CHECK(
      (missing.err.find("no CUDA") != std::string::npos || missing.err.find("no GPU") != std::string::npos));
  CHECK(!std::filesystem::exists(work.path() / "table"));
}
