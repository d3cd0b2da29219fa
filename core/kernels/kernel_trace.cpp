#include "core/kernels/kernel_trace.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/io/line_reader.hpp"

namespace vtrain {

std::int64_t KernelSequence::duration_ns() const {
  return std::accumulate(kernels.begin(), kernels.end(), std::int64_t{0},
                         [](std::int64_t sum, const Kernel& kernel) { return sum + kernel.duration_ns; });
}

std::int64_t KernelSequence::inner_gap_ns() const {
  if (kernels.empty()) return 0;
  return std::accumulate(kernels.begin(), kernels.end() - 1, std::int64_t{0},
                         [](std::int64_t sum, const Kernel& kernel) { return sum + kernel.gap_ns; });
}

namespace {

/// Bounds that keep every sum of the file from overflow: 146 years since the clock's origin, 18 minutes for
/// one event, and a size of the file (4.5 million of the shortest kernel lines).
constexpr std::int64_t kMaxStart = std::int64_t{1} << 62;
constexpr std::int64_t kMaxDuration = std::int64_t{1} << 40;
constexpr std::size_t kMaxText = std::size_t{64} << 20;

/// The parts of one line that are used.
struct Event {
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
  std::string_view type;
  std::string_view detail;  ///< the fourth field: the call of a launch
  std::string_view last;    ///< correlation id, or the message of a TIMESTAMP
};

class TraceParser {
 public:
  TraceParser(std::string_view text, const std::string& file) : lines_(text, file) {}

  Result<TracedKernels> parse() {
    for (;;) {
      const auto more = lines_.next();
      if (!more) return fail(more.error());
      if (!*more) break;
      if (auto taken = take(lines_.line()); !taken) return fail(std::move(taken.error()));
      is_empty_ = false;
    }
    if (auto complete = check_complete(); !complete) return fail(std::move(complete.error()));
    TracedKernels table;
    for (auto& [name, number] : operators_) {
      if (!sequences_[number].kernels.empty()) table.emplace(name, std::move(sequences_[number]));
    }
    return table;
  }

 private:
  tl::unexpected<Error> complain(std::string_view field, std::string message) const {
    return fail({.file = lines_.file(),
                 .line = lines_.number(),
                 .field = std::string(field),
                 .message = std::move(message)});
  }

  Result<Event> split(std::string_view line) const {
    std::string_view fields[4];
    std::string_view rest = line;
    for (std::string_view& field : fields) {
      const std::size_t comma = rest.find(',');
      field = rest.substr(0, comma);
      if (comma == std::string_view::npos && &field != &fields[3]) {
        return complain("", expected_found("at least 4 fields (start, duration, type, ...)", line));
      }
      if (comma != std::string_view::npos) rest.remove_prefix(comma + 1);
    }
    if (std::count(line.begin(), line.end(), '"') % 2 != 0) {
      return complain("", expected_found("a closing quote", line));
    }
    const auto start = parse_integer(fields[0], 0, kMaxStart);
    if (!start) return complain("start", start.error().message);
    const bool is_kernel = fields[2] == "KERNEL";
    const auto duration = parse_integer(fields[1], is_kernel ? 1 : 0, kMaxDuration);
    if (!duration) return complain("duration", duration.error().message);
    return Event{*start, *duration, fields[2], fields[3], line.substr(line.rfind(',') + 1)};
  }

  Result<void> take(std::string_view line) {
    const auto event = split(line);
    if (!event) return fail(event.error());
    if (event->start_ns < previous_start_ns_) {
      return complain("start", fmt::format("expected events ordered by start, at least {}, found '{}'",
                                           previous_start_ns_, event->start_ns));
    }
    previous_start_ns_ = event->start_ns;
    if (event->type == "TIMESTAMP") return take_timestamp(*event);
    if (event->type == "RUNTIME" || event->type == "DRIVER") return take_launch(*event);
    if (event->type == "KERNEL") return take_kernel(*event);
    if (event->type == "MEMCPY" || event->type == "MEMSET") return {};
    return complain("type",
                    expected_found("TIMESTAMP, RUNTIME, DRIVER, KERNEL, MEMCPY or MEMSET", event->type));
  }

  Result<void> take_timestamp(const Event& event) {
    std::string_view message = event.last;
    while (message.starts_with('"'))
      message.remove_prefix(1);
    while (message.ends_with('"'))
      message.remove_suffix(1);
    const std::string_view operator_name = message.substr(message.rfind(' ') + 1);
    const auto says = [message](std::string_view words) {
      return message.find(words) != std::string_view::npos;
    };
    if (says("forward start")) {
      enter("Fwd_", operator_name);
    } else if (says("backward start")) {
      enter("Bwd_", operator_name);
    } else if (says("WU start")) {
      enter("WU_", operator_name);
    } else if (says("end")) {
      current_ = 0;
    }
    return {};
  }

  void enter(std::string_view prefix, std::string_view operator_name) {
    const auto [entry, is_new] =
        operators_.try_emplace(fmt::format("{}{}", prefix, operator_name), sequences_.size());
    if (is_new) sequences_.emplace_back();
    current_ = entry->second;
    current_name_ = entry->first;
    entered_line_ = lines_.number();
  }

  Result<std::int64_t> correlation_of(const Event& event) const {
    auto id = parse_integer(event.last, 0, kMaxStart);
    if (!id) return complain("correlation id", std::move(id.error().message));
    return id;
  }

  Result<void> take_launch(const Event& event) {
    const auto id = correlation_of(event);
    if (!id) return fail(id.error());
    launched_by_[*id] = current_;
    // CUPTI's numbers of cudaLaunchKernel and cuLaunchKernel (cupti_runtime_cbid.h, cupti_driver_cbid.h).
    const std::string_view kernel_launch = event.type == "RUNTIME" ? "211" : "307";
    if (event.detail == kernel_launch && current_ != 0) {
      last_launch_ = *id;
      last_launch_line_ = lines_.number();
      last_launch_ran_ = false;
    }
    return {};
  }

  Result<void> take_kernel(const Event& event) {
    const auto id = correlation_of(event);
    if (!id) return fail(id.error());
    const auto launch = launched_by_.find(*id);
    if (launch == launched_by_.end()) {
      return complain("correlation id", expected_found("the id of a launch earlier in the file", event.last));
    }
    if (previous_sequence_) {
      Kernel& previous = sequences_[*previous_sequence_].kernels.back();
      previous.gap_ns = event.start_ns - previous_kernel_end_ns_;
    }
    sequences_[launch->second].kernels.push_back({event.duration_ns, 0});
    previous_sequence_ = launch->second;
    previous_kernel_end_ns_ = event.start_ns + event.duration_ns;
    if (*id == last_launch_) last_launch_ran_ = true;
    return {};
  }

  Result<void> check_complete() const {
    if (is_empty_) return complain("", "empty: expected a kernel trace");
    if (current_ != 0) {
      return complain("", fmt::format("file ends inside {}, which starts on line {}: expected its end",
                                      current_name_, entered_line_));
    }
    if (!last_launch_ran_) {
      return complain("", fmt::format("file ends before the kernel launched on line {} (correlation id {})",
                                      last_launch_line_, last_launch_));
    }
    return {};
  }

  LineReader lines_;
  bool is_empty_ = true;                                       ///< no line was read yet
  std::map<std::string, std::size_t> operators_{{"NONE", 0}};  ///< name -> position in `sequences_`
  std::vector<KernelSequence> sequences_{1};
  std::size_t current_ = 0;  ///< the operator between whose timestamps we are, 0 outside
  std::string_view current_name_;
  std::int64_t entered_line_ = 0;
  std::int64_t previous_start_ns_ = 0;
  std::unordered_map<std::int64_t, std::size_t> launched_by_;  ///< correlation id -> operator
  std::optional<std::size_t> previous_sequence_;               ///< sequence of the last recorded kernel
  std::int64_t previous_kernel_end_ns_ = 0;
  std::int64_t last_launch_ = 0;
  std::int64_t last_launch_line_ = 0;
  bool last_launch_ran_ = true;
};

}  // namespace

Result<TracedKernels> parse_kernel_trace(std::string_view text, const std::string& file) {
  if (text.size() > kMaxText)
    return fail({.file = file, .message = fmt::format("larger than {} bytes", kMaxText)});
  return TraceParser(text, file).parse();
}

}  // namespace vtrain
