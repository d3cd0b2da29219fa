#include "tools/sweep/ranks.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "core/base/numbers.hpp"

namespace vtrain {
namespace {

/// Library with MPI. The program loads it only among several ranks, so that it needs no MPI otherwise.
constexpr const char* kLibrary = "libvtrain_mpi.so";

bool is_set(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

/// The number in an environment variable, 1 without one.
std::int64_t number_in(const char* name) {
  constexpr std::int64_t kMostRanks = 100'000'000;
  const char* const value = std::getenv(name);
  return value == nullptr ? 1 : parse_integer(value, 1, kMostRanks).value_or(1);
}

/// Place of the library: the folder of the program, where it is built, or lib, where it is installed.
std::string library_path() {
  std::error_code code;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", code);
  const std::filesystem::path folder = program.parent_path();
  for (const std::filesystem::path& place : {folder, folder.parent_path() / "lib" / "vtrain"}) {
    if (std::filesystem::exists(place / kLibrary, code)) return (place / kLibrary).string();
  }
  return {};
}

Error cannot_connect(const std::string& why) {
  return {.kind = ErrorKind::NotFound, .field = "MPI", .message = why};
}

}  // namespace

Result<std::unique_ptr<Ranks>> open_ranks() {
  const bool is_rank = number_in("OMPI_COMM_WORLD_SIZE") > 1 || is_set("PMIX_RANK");
  if (!is_rank) {
    if (number_in("SLURM_STEP_NUM_TASKS") > 1 && is_set("SLURM_PROCID"))
      return fail(
          cannot_connect("srun started several tasks that do not know each other: start them with srun "
                         "--mpi=pmix or mpirun"));
    return nullptr;
  }
  const std::string path = library_path();
  if (path.empty())
    return fail(
        cannot_connect("started as one of several ranks, but this program was built without MPI (Debian: "
                       "libboost-mpi1.81-dev, "
                       "openmpi-bin); build it with MPI, or start parts with --shard"));
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) return fail(cannot_connect(::dlerror()));
  // What a library of the system gives as an object pointer is a function (POSIX, dlsym).
  using Open = Ranks* (*)();
  const auto open = reinterpret_cast<Open>(::dlsym(library, "vtrain_open_ranks"));
  if (open == nullptr) return fail(cannot_connect(path + " is of another version"));
  std::unique_ptr<Ranks> ranks(open());
  if (ranks->size() == 1) return nullptr;
  return ranks;
}

}  // namespace vtrain
