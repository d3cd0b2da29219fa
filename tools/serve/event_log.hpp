/// The log of the service: a line of JSON for each event, on standard error.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace vtrain::serve {

/// Weight of an event.
enum class Severity { Info, Warning, Error };

/// A value of a line.
using LogValue = std::variant<std::string, std::int64_t, double>;

/// Makes lines of JSON the form of the log, without the names and colours of other commands. Call it before
/// other threads start.
void open_event_log(bool requests_too);

/// True if each request has a line.
bool logs_requests();

/// Writes `{"time": ..., "level": ..., "event": ..., and the fields}`. Threads may call it.
void log_event(Severity severity, std::string_view event,
               const std::vector<std::pair<std::string_view, LogValue>>& fields = {});

}  // namespace vtrain::serve
