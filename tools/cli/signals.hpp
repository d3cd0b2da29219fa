/// Signals that end the program, and programs that decide otherwise.
#pragma once

#include <functional>

namespace vtrain {

/// Makes SIGINT, SIGTERM and SIGHUP, unless ignored, end the program at once with exit code 130. Half-written
/// files and folders are removed, complete ones stay. Reaching the limit of a file's size becomes an error.
/// Call it once, before any other thread is started.
void stop_cleanly_on_interrupt();

/// Has these signals call `handle` in place of that, in a thread of its own, for a program that runs until a
/// signal stops it. An empty function restores the end at once.
void handle_interrupts(std::function<void(int signal)> handle);

}  // namespace vtrain
