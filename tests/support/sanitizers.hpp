/// Limits that sanitizers set to tests.
#pragma once

#ifndef __has_feature  // g++ 12 has none
#define __has_feature(feature) 0
#endif

namespace vtrain::testing {

/// True where a process with several busy threads may fork. The allocator of LLVM 14's address sanitizer
/// keeps its locks over a fork, so that the child may wait for one for ever.
inline constexpr bool kMayForkWithThreads = !__has_feature(address_sanitizer);

}  // namespace vtrain::testing
