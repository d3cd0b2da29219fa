#include "tools/serve/event_log.hpp"

#include <fmt/chrono.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <chrono>
#include <nlohmann/json.hpp>

#include "core/io/json_reader.hpp"

namespace vtrain::serve {
namespace {

std::atomic<bool> requests_are_logged = false;

/// Universal time with milliseconds, as RFC 3339 writes it.
std::string time_of_event() {
  const auto now = std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:}{:06.3f}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(now)),
                     static_cast<double>(now.time_since_epoch().count() % 60'000) / 1000);
}

std::string_view name_of(Severity severity) {
  switch (severity) {
    case Severity::Info:
      return "info";
    case Severity::Warning:
      return "warning";
    case Severity::Error:
      break;
  }
  return "error";
}

std::string value_text(const LogValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return json_string(*text);
  if (const auto* number = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *number);
  return fmt::format("{:.6g}", std::get<double>(value));
}

}  // namespace

void open_event_log(bool requests_too) {
  requests_are_logged = requests_too;
  auto logger = std::make_shared<spdlog::logger>("serve", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern("%v");
  spdlog::set_default_logger(std::move(logger));
}

bool logs_requests() {
  return requests_are_logged;
}

void log_event(Severity severity, std::string_view event,
               const std::vector<std::pair<std::string_view, LogValue>>& fields) {
  std::string line = fmt::format(R"({{"time":"{}","level":"{}","event":{})", time_of_event(),
                                 name_of(severity), json_string(event));
  for (const auto& [name, value] : fields)
    line += fmt::format(",{}:{}", json_string(name), value_text(value));
  spdlog::default_logger_raw()->info(line + "}");
}

}  // namespace vtrain::serve
