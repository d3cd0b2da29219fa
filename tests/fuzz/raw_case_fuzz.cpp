// Any bytes give an error with a message, or records whose runs can be read again and say the same.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "docs/measured/normalise/normalised_json.hpp"
#include "docs/measured/normalise/raw_case.hpp"
#include "workloads/validation/measured_case.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace vtrain;
  const auto raw = parse_raw_cases(std::string(reinterpret_cast<const char*>(data), size), "input");
  if (!raw) {
    if (raw.error().message.empty()) std::abort();
    return 0;
  }
  const auto runs = parse_measured_cases(normalised_file(*raw).text, "output");
  if (!runs || runs->cases.size() != raw->cases.size()) std::abort();
  for (std::size_t i = 0; i < raw->cases.size(); ++i) {
    const MeasuredCase& written = runs->cases[i];
    if (!std::isfinite(raw->cases[i].measured.count())) std::abort();
    if (!raw->cases[i].missing.empty() && written.missing.empty()) std::abort();
    if (written.missing.empty() && written.configuration() != raw->cases[i].configuration()) std::abort();
  }
  return 0;
}
