/// Figures of this process, as the system counts them.
#pragma once

namespace vtrain::serve {

/// Time of now.
double seconds_since_1970();
/// Resident memory in bytes; 0 where the system does not tell.
double resident_bytes();
/// Number of open file descriptors; 0 where the system does not tell.
double open_descriptors();

}  // namespace vtrain::serve
