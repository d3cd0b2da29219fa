// The backend of a build without CUDA.
#include "profiler/command.hpp"

namespace vtrain::profiler {

Backend node_backend() {
  return {};
}

}  // namespace vtrain::profiler
