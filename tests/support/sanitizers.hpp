/// Limits of tests under sanitizers.
#pragma once

#ifndef __has_feature  // g++ 12 has none
#define __has_feature(feature) 0
#endif

namespace vtrain::testing {

/// True if a process with several busy threads may fork. The allocator of LLVM 14's address sanitizer keeps
/// its locks over a fork, so the child may wait for a lock for ever.
inline constexpr bool kMayForkWithThreads = !__has_feature(address_sanitizer);

}  // namespace vtrain::testing
