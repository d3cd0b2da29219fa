/// Appends to the log of the service, and the disk's own rate for comparison. Both write to the folder of
/// TMPDIR.
#include <fcntl.h>
#include <unistd.h>

#include <memory>
#include <string>

#include <benchmark/benchmark.h>

#include "tests/support/temporary_folder.hpp"
#include "tools/serve/store.hpp"

namespace vtrain::serve {
namespace {

/// An input of the size of a job.
Input job() {
  return {.time_ns = 1, .kind = "job", .tenant = "research", .key = "", .body = std::string(400, 'x')};
}

/// One page written and made durable.
void disk_sync(benchmark::State& state) {
  const testing::TemporaryFolder work;
  const int file = ::open((work / "file").c_str(), O_RDWR | O_CREAT, 0600);
  const std::string page(4096, 'x');
  off_t at = 0;
  for (auto _ : state) {
    if (::pwrite(file, page.data(), page.size(), at) < 0 || ::fdatasync(file) != 0)
      state.SkipWithError("no disk");
    at += static_cast<off_t>(page.size());
  }
  ::close(file);
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(disk_sync)->UseRealTime()->MinTime(2);

/// The store that the threads of a benchmark share.
struct OpenStore {
  testing::TemporaryFolder work;
  std::unique_ptr<Store> store = *Store::open(work / "state");
};
std::unique_ptr<OpenStore> shared;

/// Threads that each wait until their input is durable.
void append(benchmark::State& state) {
  if (state.thread_index() == 0) shared = std::make_unique<OpenStore>();
  for (auto _ : state) {
    if (!shared->store->append(job())) state.SkipWithError("append failed");
  }
  state.SetItemsProcessed(state.iterations());
  if (state.thread_index() == 0) shared.reset();
}
BENCHMARK(append)->Threads(1)->Threads(8)->Threads(64)->UseRealTime()->MinTime(2);

}  // namespace
}  // namespace vtrain::serve
