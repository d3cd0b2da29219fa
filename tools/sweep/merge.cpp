#include "tools/sweep/merge.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "core/io/file.hpp"
#include "core/io/unfinished.hpp"
#include "tools/database/file_lock.hpp"
#include "tools/sweep/result_store.hpp"

namespace vtrain {
namespace {

namespace fs = std::filesystem;

/// Subject of all parts, which must agree but for the shard.
Result<StoredSweep> common_subject(std::span<const fs::path> parts) {
  std::optional<StoredSweep> common;
  for (const fs::path& part : parts) {
    const auto results = open_results(part);
    if (!results) return fail(results.error());
    if (!common) {
      auto subject = read_stored_sweep(*results);
      if (!subject) return subject;
      common = *std::move(subject);
      continue;
    }
    StoredSweep wanted = *common;
    if (const auto subject = read_stored_sweep(*results); subject) wanted.shard = subject->shard;
    if (auto checked = check_stored_sweep(*results, wanted); !checked)
      return fail(std::move(checked.error()));
  }
  common->shard = {};
  return *std::move(common);
}

/// Writes the joined results to a file of another name.
Result<MergedResults> write_merged(const fs::path& file, const Grid& grid, const StoredSweep& sweep,
                                   std::span<const fs::path> parts) {
  auto store = ResultStore::open(file, grid, sweep, true);
  if (!store) return fail(std::move(store.error()));
  for (const fs::path& part : parts) {
    if (auto added = store->add_all_of(part); !added) return fail(std::move(added.error()));
  }
  const auto failed = store->num_errors();
  if (!failed) return fail(failed.error());
  const auto finished = store->finished();
  if (!finished) return fail(finished.error());
  if (auto closed = store->close(); !closed) return fail(std::move(closed.error()));
  const std::int64_t done = std::count(finished->begin(), finished->end(), true);
  return MergedResults{.grid_runs = grid.num_runs(), .runs = done - *failed, .failed = *failed};
}

}  // namespace

Result<MergedResults> merge_results(const fs::path& out, std::span<const fs::path> parts, bool replace) {
  std::vector<std::string> names = {out.string()};
  for (const fs::path& part : parts)
    names.push_back(part.string());
  if (auto checked = check_files_differ("results", names); !checked) return fail(std::move(checked.error()));
  std::error_code code;
  if (!replace && fs::exists(out, code))
    return fail({.file = out.string(), .message = "exists: name another file, or replace it with --force"});
  const auto sweep = common_subject(parts);
  if (!sweep) return fail(sweep.error());
  const auto spec = parse_sweep_spec(sweep->spec, parts.front());
  if (!spec) return fail(spec.error());
  const auto lock = FileLock::beside(out, kResultsInUse);
  if (!lock) return fail(lock.error());
  const fs::path temporary = fmt::format("{}.{}.tmp", out.string(), ::getpid());
  const UnfinishedWork unfinished([temporary] {
    std::error_code ignored;
    for (const char* const ending : {"-wal", "-shm", ""})
      fs::remove(temporary.string() + ending, ignored);
    return !fs::exists(temporary, ignored);
  });
  auto merged = write_merged(temporary, spec->grid, *sweep, parts);
  if (!merged) return merged;
  // Pages of a replaced file that it has not taken over.
  for (const char* const ending : {"-wal", "-shm"})
    fs::remove(out.string() + ending, code);
  fs::rename(temporary, out, code);
  if (code) return fail(io_error(out, "write", code.value()));
  return merged;
}

}  // namespace vtrain
