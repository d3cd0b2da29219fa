// Any lines to the server of tools give responses of JSON-RPC, a line each, and nothing else.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "tools/mcp/session.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::mutex mutex;
  vtrain::mcp::Session session({}, 1, [&mutex](std::string_view line) {
    const std::scoped_lock lock(mutex);
    const auto message = nlohmann::json::parse(line);
    const nlohmann::json list = message.is_array() ? message : nlohmann::json::array({message});
    for (const auto& each : list) {
      const bool is_response = each.at("jsonrpc") == "2.0" && each.contains("id") &&
                               each.contains("result") != each.contains("error");
      if (!is_response || line.find('\n') != std::string_view::npos) std::abort();
    }
  });
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    session.receive(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  session.finish();
  return 0;
}
