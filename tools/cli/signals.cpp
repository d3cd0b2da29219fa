#include "tools/cli/signals.hpp"

#include <signal.h>  // sigwait

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <utility>

#include "core/io/unfinished.hpp"

namespace vtrain {
namespace {

/// The function of `handle_interrupts`.
struct InterruptHandler {
  std::mutex mutex{};
  std::function<void(int)> handle{};  ///< guarded by `mutex`
};

InterruptHandler& interrupt_handler() {
  static InterruptHandler handler;
  return handler;
}

[[noreturn]] void end_at_once() {
  const bool all_undone = undo_unfinished_work();
  std::fputs(all_undone ? "\ninterrupted: no file is left half-written\n"
                        : "\ninterrupted: what was being written is incomplete\n",
             stderr);
  constexpr int kExitInterrupted = 130;
  std::_Exit(kExitInterrupted);
}

}  // namespace

void stop_cleanly_on_interrupt() {
  interrupt_handler();  // it outlives the thread
  // A file that may grow no further is then an error of the write.
  std::signal(SIGXFSZ, SIG_IGN);
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action {};
    sigaction(signal, nullptr, &action);
    // What nohup, or a shell that starts it in the background, has it ignore stays ignored.
    if (action.sa_handler != SIG_IGN) sigaddset(&signals, signal);
  }
  // Threads inherit the mask, so the signals reach only the thread that waits for them, which may take locks.
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread([signals] {
    for (;;) {
      int signal = 0;
      sigwait(&signals, &signal);
      InterruptHandler& handler = interrupt_handler();
      const std::lock_guard lock(handler.mutex);
      if (!handler.handle) end_at_once();
      handler.handle(signal);
    }
  }).detach();
}

void handle_interrupts(std::function<void(int signal)> handle) {
  InterruptHandler& handler = interrupt_handler();
  const std::lock_guard lock(handler.mutex);
  handler.handle = std::move(handle);
}

}  // namespace vtrain
