// Any bytes give an error with a message, or models of jobs.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "tools/live/job_models.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto table = vtrain::JobModels::parse(text, "input");
  if (!table && table.error().message.empty()) std::abort();
  if (table) static_cast<void>(table->find({.id = "1", .name = text}, "1"));
  const auto work = vtrain::parse_training_work(text);
  if (!work && work.error().message.empty()) std::abort();
  return 0;
}
