/// What Ctrl-C and other signals do.
#pragma once

namespace vtrain {

/// From now on SIGINT, SIGTERM and SIGHUP, unless they were ignored, end the program at once with exit code
/// 130: half-written files are removed, complete ones stay. A file that reaches the limit of its size is an
/// error. To be called once, before any other thread is started.
void stop_cleanly_on_interrupt();

}  // namespace vtrain
