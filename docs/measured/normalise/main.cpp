/// `normalise`: turns measured runs, in the forms that their sources have, into runs that `vtrain validate`
/// reads.
#include <CLI/CLI.hpp>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <map>
#include <string>

#include <fmt/format.h>

#include "core/base/result.hpp"
#include "core/base/utf8.hpp"
#include "core/io/file.hpp"
#include "docs/measured/normalise/normalised_json.hpp"
#include "docs/measured/normalise/raw_case.hpp"

namespace {

using namespace vtrain;

constexpr int kExitFailed = 1;
constexpr int kExitBadInput = 2;

/// `305 records, 8 incomplete; not read, by number of records: system.nics (3)`.
std::string summary(const RawCases& raw, const NormalisedFile& written) {
  std::map<std::string, std::int64_t> unread;
  for (const RawCase& record : raw.cases) {
    for (const std::string& key : record.unread)
      ++unread[key];
  }
  std::string text = fmt::format("{} records, {} incomplete", raw.cases.size(), written.num_incomplete);
  const char* separator = "; not read, by number of records: ";
  for (const auto& [key, count] : unread) {
    text += fmt::format("{}{} ({})", separator, printable(key), count);
    separator = ", ";
  }
  return text;
}

Result<void> normalise(const std::string& input, const std::string& output) {
  const auto raw = read_raw_cases(input);
  if (!raw) return fail(raw.error());
  const NormalisedFile written = normalised_file(*raw);
  if (auto done = write_file(output, written.text); !done) return done;
  fmt::print(stderr, "{}\n", summary(*raw, written));
  return {};
}

int run(int argc, char** argv) {
  CLI::App app(
      "Turn measured training runs, in the forms that their sources have, into runs that `vtrain validate` "
      "reads.\n\n"
      "  normalise cases.json --out runs.json\n"
      "  normalise ground_truth_multi.csv | vtrain validate -",
      "normalise");
  std::string input;
  std::string output = "/dev/stdout";
  app.add_option("FILE", input, "JSON file of records, or a table of the public vTrain release")->required();
  app.add_option("--out", output, "File to write; default: standard output");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kExitBadInput;
  }
  if (const auto done = normalise(input, output); !done) {
    fmt::print(stderr, "error: {}\n", done.error().describe());
    return done.error().kind == ErrorKind::Failed ? kExitFailed : kExitBadInput;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fputs("error: ", stderr);
    std::fputs(error.what(), stderr);
    std::fputs("\n", stderr);
    return kExitFailed;
  }
}
