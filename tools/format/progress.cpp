#include "tools/format/progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <utility>

#include <fmt/format.h>

#include "tools/format/text_format.hpp"

namespace vtrain {
namespace {

std::atomic<bool> is_silenced = false;

}  // namespace

void silence_progress() {
  is_silenced = true;
}

std::string progress_line(const std::string& what, const std::string& unit, std::int64_t done,
                          std::int64_t total, double rate) {
  constexpr int kWidth = 30;
  const double share = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 1;
  const int filled = static_cast<int>(share * kWidth);
  std::string line =
      fmt::format("{}  [{:<{}}]  {:3.0f} %", what, std::string(filled, '='), kWidth, share * 100);
  if (rate <= 0) return line;
  line += fmt::format("  {} {}/s", short_number(rate), unit);
  if (done < total) line += fmt::format("  {} left", as_duration(static_cast<double>(total - done) / rate));
  return line;
}

ProgressBar::ProgressBar(std::string what, std::string unit, std::int64_t total,
                         const std::atomic<std::int64_t>& done)
    : what_(std::move(what)), unit_(std::move(unit)), total_(total), done_(done), watcher_([this] {
        watch();
      }) {}

ProgressBar::~ProgressBar() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  stop_.notify_one();
  watcher_.join();
}

void ProgressBar::watch() {
  using namespace std::chrono_literals;
  const bool on_terminal = isatty(STDERR_FILENO) != 0;
  const auto start = std::chrono::steady_clock::now();
  auto wake = start + (on_terminal ? 1s : 60s);
  // The rate of the last seconds: one policy may be much faster than the next.
  constexpr auto kWindow = 5s;
  std::deque<std::pair<std::chrono::steady_clock::time_point, std::int64_t>> samples = {{start, 0}};
  bool shown = false;
  std::unique_lock lock(mutex_);
  while (!stop_.wait_until(lock, wake, [this] { return stopped_; })) {
    const auto now = std::chrono::steady_clock::now();
    const std::int64_t done = std::min(done_.load(), total_);
    while (samples.size() > 1 && now - samples[1].first >= kWindow)
      samples.pop_front();
    const auto [since, before] = samples.front();
    samples.emplace_back(now, done);
    const double rate =
        static_cast<double>(done - before) / std::chrono::duration<double>(now - since).count();
    wake += on_terminal ? 100ms : 60s;
    if (is_silenced) continue;
    const std::string line = progress_line(what_, unit_, done, total_, rate);
    // \r and \033[K: back to the start of the line, and wipe what was there.
    std::fputs(on_terminal ? ("\r" + line + "\033[K").c_str() : (line + "\n").c_str(), stderr);
    std::fflush(stderr);
    shown = true;
  }
  if (shown && on_terminal) std::fputs("\r\033[K", stderr);
}

}  // namespace vtrain
