// Any bytes as an input or a job of the service's state give an error with a message, or values that read
// back as they are written.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "core/io/json_reader.hpp"
#include "tools/serve/drift.hpp"
#include "tools/serve/job_inputs.hpp"
#include "tools/serve/served_job.hpp"

namespace {

template <class Read, class Write>
void check(Read read, Write write, const vtrain::JsonDocument& document) {
  const auto value = read(document, document.root());
  if (!value) {
    if (value.error().message.empty()) std::abort();
    return;
  }
  const std::string text = write(*value).dump();
  const auto written = vtrain::JsonDocument::parse(text, "written");
  if (!written) std::abort();
  const auto again = read(*written, written->root());
  if (!again || write(*again).dump() != text) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace vtrain::serve;
  const auto document =
      vtrain::JsonDocument::parse(std::string(reinterpret_cast<const char*>(data), size), "input");
  if (!document) return 0;
  const auto write = [](const auto& value) { return to_json(value); };
  check(setup_from, write, *document);
  check(logged_job_from, write, *document);
  check(drift_from, write, *document);
  check(served_job_from, to_kept_json, *document);
  return 0;
}
