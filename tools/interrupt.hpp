/// What Ctrl-C does.
#pragma once

namespace vtrain {

/// From now on SIGINT and SIGTERM end the program at once with exit code 130: half-written files are removed,
/// complete ones stay. To be called once, before any other thread is started.
void stop_cleanly_on_interrupt();

}  // namespace vtrain
