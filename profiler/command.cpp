#include "profiler/command.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <iomanip>
#include <map>
#include <ostream>
#include <stdexcept>

#include "profiler/arguments.hpp"
#include "profiler/error.hpp"
#include "profiler/recording.hpp"
#include "profiler/trace_writer.hpp"

namespace vtrain::profiler {
namespace {

constexpr int kExitFailed = 1;
constexpr int kExitBadInput = 2;
constexpr double kProgressIntervalS = 60;  ///< interval of progress lines in a log

std::string duration_text(double seconds) {
  const long long whole = std::llround(std::ceil(seconds));
  if (whole < 60) return std::to_string(whole) + " s";
  if (whole < 3600) return std::to_string(whole / 60) + " min " + std::to_string(whole % 60) + " s";
  return std::to_string(whole / 3600) + " h " + std::to_string(whole % 3600 / 60) + " min";
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

double steady_now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string command_line(const std::string& program, const std::vector<std::string>& arguments) {
  std::string line = program;
  for (const std::string& argument : arguments)
    line += " " + argument;
  return line;
}

/// Progress for people: one changing line on a terminal, a line per minute elsewhere.
class Progress {
 public:
  Progress(std::ostream& err, bool on_terminal) : err_(err), on_terminal_(on_terminal) {}

  void show(std::string_view what, std::size_t done, std::size_t total, double remaining_s) {
    const double now = steady_now_s();
    if (now - shown_s_ < (on_terminal_ ? 0.2 : kProgressIntervalS)) return;
    shown_s_ = now;
    err_ << (on_terminal_ ? "\r" : "") << what << " " << done << " of " << total;
    if (remaining_s > 0) err_ << ", about " << duration_text(remaining_s) << " left";
    err_ << (on_terminal_ ? "\x1b[K" : "\n") << std::flush;
    is_open_ = on_terminal_;
  }

  void close() {
    if (is_open_) err_ << "\n";
    is_open_ = false;
  }

 private:
  std::ostream& err_;
  bool on_terminal_;
  bool is_open_ = false;
  double shown_s_ = steady_now_s();
};

double total_cost_s(const std::vector<Operator>& operators, const DeviceRates& rates,
                    const Protocol& protocol) {
  double total = 0;
  for (const Operator& op : operators)
    total += estimated_cost_s(op, rates, protocol);
  return total;
}

void report_left_out(const GridPoints& grid, std::ostream& err) {
  constexpr std::size_t kShown = 5;
  for (std::size_t i = 0; i < std::min(kShown, grid.left_out.size()); ++i)
    err << "left out: " << grid.left_out[i] << "\n";
  if (grid.left_out.size() > kShown)
    err << "left out: " << grid.left_out.size() - kShown << " more like these\n";
  if (grid.points.empty()) throw InputError("none of these combinations is a model");
}

/// Planned measurements, by kind of operator.
void describe_plan(const RecordArguments& arguments, const GridPoints& grid, std::ostream& out) {
  const std::vector<Operator> necessary = necessary_operators(grid.points);
  std::vector<Operator> missing = necessary;
  const auto file = arguments.folder / "kernel_table.json";
  if (!arguments.folder.empty() && std::filesystem::exists(file)) {
    missing = missing_operators(necessary, KernelTable::parse(read_whole(file)));
  }
  const DeviceRates rates = DeviceRates::assumed();
  sort_by_cost(missing, rates, arguments.protocol);
  if (arguments.list) {
    for (const Operator& op : missing)
      out << key_of(op) << "\n";
    return;
  }
  std::map<std::string, std::vector<Operator>> kinds;
  for (const Operator& op : missing)
    kinds[std::string(name_of(op.kind)) + " " + std::string(name_of(op.format))].push_back(op);
  out << "combinations " << grid.points.size() << ", operators that they need " << necessary.size()
      << ", of these measured " << necessary.size() - missing.size() << "\n";
  for (const auto& [name, operators] : kinds) {
    std::string line = "  " + name;
    line.resize(24, ' ');
    out << line << std::setw(6) << operators.size() << ", about "
        << duration_text(total_cost_s(operators, rates, arguments.protocol)) << "\n";
  }
  out << "about " << duration_text(total_cost_s(missing, rates, arguments.protocol))
      << " in all on a GPU of 1000 TFLOP/s and 3.35 TB/s (assumed: a dry run asks no GPU)\n";
}

class Recording {
 public:
  Recording(const std::string& program, const std::vector<std::string>& line,
            const RecordArguments& arguments, const Backend& backend, std::ostream& out, std::ostream& err)
      : made_by_(command_line(program, line)),
        arguments_(arguments),
        backend_(backend),
        out_(out),
        err_(err),
        progress_(err, backend.progress_on_terminal) {}

  /// Measures and writes; returns the remaining work.
  std::size_t run() {
    const std::unique_ptr<Device> device = backend_.open_device(arguments_.device);
    std::unique_ptr<CollectiveRunner> runner;
    if (arguments_.collectives && backend_.open_collectives) runner = backend_.open_collectives();
    const bool is_leader = runner == nullptr || runner->is_leader();
    // Only the leader's disk has the table: other processes count along in memory.
    KernelTable table = is_leader ? open_table(file(), made_by_, device->facts(), device->software())
                                  : KernelTable(made_by_, device->facts(), device->software());
    Session session;
    session.started = session.ended = utc_now();
    table.begin_session(std::move(session));
    const double started_s = steady_now_s();
    std::size_t remaining = 0;
    if (arguments_.operators && is_leader) remaining += record_layers(*device, table);
    if (arguments_.collectives) remaining += sweep(runner.get(), table, steady_now_s() - started_s);
    if (!is_leader) return 0;
    const std::size_t traces = arguments_.operators ? write_traces(table) : 0;
    progress_.close();
    out_ << file().string() << ": " << table.operators().size() << " operators, "
         << table.collectives().size() << " collectives, " << table.skipped().size() << " skipped; " << traces
         << " traces\n";
    report_skipped(table);
    return remaining;
  }

 private:
  std::filesystem::path file() const { return arguments_.folder / "kernel_table.json"; }

  RecordingContext context(std::string_view what, double used_s) {
    RecordingContext context;
    context.file = file();
    context.now_s = steady_now_s;
    context.utc_now = utc_now;
    context.is_interrupted = backend_.is_interrupted ? backend_.is_interrupted : [] { return false; };
    context.on_progress = [this, what](std::size_t done, std::size_t total, double remaining_s) {
      progress_.show(what, done, total, remaining_s);
    };
    // A limit that is used up must not read as none.
    if (arguments_.time_limit_s > 0) context.time_limit_s = std::max(1e-3, arguments_.time_limit_s - used_s);
    return context;
  }

  std::size_t record_layers(Device& device, KernelTable& table) {
    const GridPoints grid = points_of(arguments_.grid);
    report_left_out(grid, err_);
    std::vector<Operator> missing = missing_operators(necessary_operators(grid.points), table);
    const DeviceRates rates = rates_of(device.facts());
    sort_by_cost(missing, rates, arguments_.protocol);
    err_ << device.facts().name << ": " << missing.size() << " operators to measure, about "
         << duration_text(total_cost_s(missing, rates, arguments_.protocol)) << "\n";
    return record_operators(device, missing, arguments_.protocol, table, context("operator", 0)).remaining;
  }

  std::size_t sweep(CollectiveRunner* runner, KernelTable& table, double used_s) {
    if (runner != nullptr) {
      return record_collectives(*runner, arguments_.sweep, table, context("collective", used_s)).remaining;
    }
    table.add(SkippedRow{"collectives", "built without NCCL"});
    write_whole(file(), table.to_json());
    return 0;
  }

  /// Writes a trace for each complete width, degree and micro-batch, at the grid's first sequence length and
  /// kinds of kernels. The format's file names have no room for more.
  std::size_t write_traces(const KernelTable& table) const {
    GridSpec spec = arguments_.grid;
    spec.sequences.resize(1);
    spec.formats.resize(1);
    spec.gradients.resize(1);
    spec.attentions.resize(1);
    std::size_t written = 0;
    for (const ModelPoint& point : points_of(spec).points) {
      if (point.sequence_parallel || !missing_keys(table, point).empty()) continue;
      write_whole(arguments_.folder / "traces" / trace_name(point), kernel_trace(table, point));
      ++written;
    }
    return written;
  }

  /// The most frequent reasons, with their counts.
  void report_skipped(const KernelTable& table) const {
    std::map<std::string, std::size_t> reasons;
    for (const SkippedRow& row : table.skipped())
      ++reasons[row.reason];
    for (const auto& [reason, count] : reasons)
      err_ << "skipped " << count << ": " << reason << "\n";
  }

  std::string made_by_;
  const RecordArguments& arguments_;
  const Backend& backend_;
  std::ostream& out_;
  std::ostream& err_;
  Progress progress_;
};

}  // namespace

void record(const std::string& program, const std::vector<std::string>& line, const Backend& backend,
            std::ostream& out, std::ostream& err) {
  RecordArguments arguments;
  const ArgumentParser parser = record_parser(program, arguments);
  if (!parser.parse(line)) {
    out << parser.help();
    return;
  }
  check(arguments);
  if (arguments.dry_run) {
    const GridPoints grid = points_of(arguments.grid);
    report_left_out(grid, err);
    describe_plan(arguments, grid, out);
    return;
  }
  if (!backend.open_device) {
    throw std::runtime_error(
        "this build has no CUDA: configure with the preset 'cuda', or build vtrain-profile alone with `cmake "
        "-S "
        "profiler` on the GPU node");
  }
  if (const std::size_t remaining = Recording(program, line, arguments, backend, out, err).run();
      remaining > 0) {
    out << remaining << " are left: run the same command again to go on\n";
  }
}

int run_record(const std::string& program, const std::vector<std::string>& line, const Backend& backend,
               std::ostream& out, std::ostream& err) try {
  record(program, line, backend, out, err);
  return out.flush() ? 0 : kExitFailed;
} catch (const InputError& error) {
  err << "error: " << error.what() << "\n";
  return kExitBadInput;
} catch (const std::exception& error) {
  err << "error: " << error.what() << "\n";
  return kExitFailed;
}

}  // namespace vtrain::profiler
