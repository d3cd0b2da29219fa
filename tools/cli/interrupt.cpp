#include "tools/cli/interrupt.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "core/io/file.hpp"

namespace vtrain {

void stop_cleanly_on_interrupt() {
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
    int signal = 0;
    sigwait(&signals, &signal);
    remove_unfinished_files();
    std::fputs("\ninterrupted: no file is left half-written\n", stderr);
    constexpr int kExitInterrupted = 130;
    std::_Exit(kExitInterrupted);
  }).detach();
}

}  // namespace vtrain
