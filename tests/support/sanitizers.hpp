/// What tests may not do under sanitizers.
#pragma once

namespace vtrain::testing {

/// Whether a process with several busy threads may fork. The allocator of LLVM 14's address sanitizer keeps
/// its locks over a fork, so that the child may wait for one for ever.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool kMayForkWithThreads = false;
#else
inline constexpr bool kMayForkWithThreads = true;
#endif
#else
inline constexpr bool kMayForkWithThreads = true;
#endif

}  // namespace vtrain::testing
