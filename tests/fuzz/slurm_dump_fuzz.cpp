/// Dumps of Slurm's commands, to the cluster that `vtrain eta` simulates.
#include <cstddef>
#include <cstdint>
#include <string>

#include "tools/live/cluster_now.hpp"
#include "tools/live/read_state.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace vtrain;
  LiveState state;
  if (!add_dump(std::string(reinterpret_cast<const char*>(data), size), "fuzz", state)) return 0;
  RunTimeBook book;
  for (const DumpedJob& job : state.jobs)
    book.add(job);
  for (const PlacementKind placement : {PlacementKind::Count, PlacementKind::Yarn}) {
    const auto made = make_cluster_now(state, book, {.placement = placement});
    if (made && made->question.run_times.size() != made->question.workload.jobs.size()) __builtin_trap();
  }
  return 0;
}
