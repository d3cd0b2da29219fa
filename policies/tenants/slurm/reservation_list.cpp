#include "policies/tenants/slurm/reservation_list.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/io/line_reader.hpp"
#include "core/text/calendar.hpp"
#include "core/text/slurm_conf_lines.hpp"
#include "core/text/slurm_lists.hpp"

namespace vtrain::slurm {
namespace {

constexpr std::int64_t kMostSeconds = 3'153'600'000;  ///< 100 years
constexpr std::size_t kMostReservedNodes = 100'000;

/// An instant of the trace: `now+20`, `now+5minutes`, `1200`; a date where the origin is known.
std::optional<SimTime> parse_trace_time(std::string_view text, std::optional<std::int64_t> origin) {
  if (origin) {
    if (const auto date = parse_civil_time(text))
      return SimTime(std::chrono::seconds(seconds_since_1970(*date) - *origin));
  }
  std::string lower = lower_case(text);
  std::int64_t unit = 1;
  if (lower == "now") return SimTime{};
  if (lower.starts_with("now+")) lower.erase(0, 4);
  constexpr std::pair<std::string_view, std::int64_t> kUnits[] = {
      {"seconds", 1},  {"second", 1},  {"minutes", 60}, {"minute", 60},
      {"hours", 3600}, {"hour", 3600}, {"days", 86400}, {"day", 86400}};
  for (const auto& [name, seconds] : kUnits) {
    if (!lower.ends_with(name)) continue;
    lower.resize(lower.size() - name.size());
    unit = seconds;
    break;
  }
  const auto number = parse_integer(lower, 0, kMostSeconds / unit);
  if (!number) return std::nullopt;
  return SimTime(std::chrono::seconds(*number * unit));
}

/// The nodes of some names. The error carries only the message.
Result<NodeSet> nodes_named(const std::vector<std::string>& names, const Configuration& configuration) {
  NodeSet nodes(configuration.nodes.size());
  for (const std::string& name : names) {
    const auto found = std::ranges::find(configuration.nodes, name, &NodeConf::name);
    if (found == configuration.nodes.end())
      return fail({.message = expected_found("a node of slurm.conf", name)});
    nodes.add(static_cast<std::uint32_t>(found - configuration.nodes.begin()));
  }
  return nodes;
}

Result<NodeSet> parse_node_set(std::string_view text, const Configuration& configuration) {
  NodeSet nodes(configuration.nodes.size());
  if (equal_in_any_case(text, "ALL")) {
    for (std::uint32_t i = 0; i < configuration.nodes.size(); ++i)
      nodes.add(i);
    return nodes;
  }
  const auto names = expand_host_list(text, kMostReservedNodes);
  if (!names) return fail(names.error());
  return nodes_named(*names, configuration);
}

/// Reads one line. Errors carry field and message.
Result<Reservation> read_reservation(const std::vector<SlurmConfEntry>& pairs,
                                     const Configuration& configuration, std::optional<std::int64_t> origin) {
  Reservation reservation{.nodes = NodeSet(configuration.nodes.size())};
  std::optional<SimTime> start;
  std::optional<SimTime> end;
  std::optional<SimDuration> duration;
  bool has_nodes = false;
  const auto complain = [](std::string_view field, std::string message) {
    return fail({.field = std::string(field), .message = std::move(message)});
  };
  for (const auto& [key, value] : pairs) {
    const std::string name = lower_case(key);
    if (value == "(null)") continue;
    if (name == "reservationname" || name == "reservation") {
      reservation.name = value;
    } else if (name == "starttime" || name == "endtime") {
      const auto time = parse_trace_time(value, origin);
      if (!time)
        return complain(key,
                        expected_found(origin ? "now+SECONDS, seconds of the trace, or a date"
                                              : "now+SECONDS, or seconds of the trace (origin= for dates)",
                                       value));
      (name == "starttime" ? start : end) = *time;
    } else if (name == "duration") {
      const auto seconds = parse_slurm_seconds(value);
      if (!seconds) return complain(key, seconds.error().message);
      duration = std::chrono::seconds(std::min(seconds->value_or(kMostSeconds), kMostSeconds));
    } else if (name == "nodes") {
      auto nodes = parse_node_set(value, configuration);
      if (!nodes) return complain(key, nodes.error().message);
      reservation.nodes = *std::move(nodes);
      has_nodes = true;
    } else if (name == "users" || name == "accounts") {
      for (const std::string_view word : split(value, ','))
        (name == "users" ? reservation.users : reservation.accounts).emplace_back(word);
    } else if (name == "flags") {
      constexpr std::string_view kPlain[] = {"maint",   "ignore_jobs", "spec_nodes",
                                             "overlap", "all_nodes",   ""};
      for (const std::string_view word : split(value, ',')) {
        if (std::ranges::find(kPlain, lower_case(word)) == std::end(kPlain))
          return complain(key, expected_found("MAINT, IGNORE_JOBS, OVERLAP, SPEC_NODES or ALL_NODES", word));
      }
    }
  }
  if (reservation.name.empty()) return complain("ReservationName", "missing");
  if (!start) return complain("StartTime", "missing");
  if (!end && duration) end = *start + *duration;
  if (!end) return complain("EndTime", "missing, as is Duration");
  if (!has_nodes) return complain("Nodes", "missing");
  reservation.start = *start;
  reservation.end = *end;
  return reservation;
}

}  // namespace

bool Reservation::admits(std::string_view user, std::string_view account) const {
  const auto has = [](const std::vector<std::string>& names, std::string_view wanted) {
    return std::ranges::find(names, wanted) != names.end();
  };
  return has(users, user) || has(accounts, account);
}

Result<Reservation> reservation_of(const NodeReservation& kept, const Configuration& configuration) {
  auto nodes = nodes_named(kept.nodes, configuration);
  if (!nodes)
    return fail({.field = fmt::format("reservation {}", kept.name), .message = nodes.error().message});
  return Reservation{.name = kept.name,
                     .start = kept.start,
                     .end = kept.end,
                     .nodes = *std::move(nodes),
                     .users = kept.users,
                     .accounts = kept.accounts};
}

Result<std::vector<Reservation>> parse_reservations(std::string_view text, const std::string& file,
                                                    const Configuration& configuration,
                                                    std::optional<std::int64_t> origin) {
  std::vector<Reservation> list;
  LineReader lines(text, file);
  for (;;) {
    const auto more = lines.next();
    if (!more) return fail(more.error());
    if (!*more) return list;
    if (trim(lines.line()).starts_with('#')) continue;
    const std::vector<SlurmConfEntry> pairs = slurm_pairs(lines.line());
    if (pairs.empty()) continue;
    auto reservation = read_reservation(pairs, configuration, origin);
    if (!reservation) {
      Error error = std::move(reservation.error());
      error.file = file;
      error.line = lines.number();
      return fail(std::move(error));
    }
    reservation->line = lines.number();
    list.push_back(*std::move(reservation));
  }
}

}  // namespace vtrain::slurm
