#include "tests/bench/memory_peak.hpp"

#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace {

std::size_t allocated = 0;
std::size_t at_reset = 0;
std::size_t peak = 0;

}  // namespace

void* operator new(std::size_t size) {
  void* const block = std::malloc(size);
  if (block == nullptr) throw std::bad_alloc();
  allocated += malloc_usable_size(block);
  peak = std::max(peak, allocated);
  return block;
}

void operator delete(void* block) noexcept {
  if (block != nullptr) allocated -= malloc_usable_size(block);
  std::free(block);
}

void operator delete(void* block, std::size_t) noexcept {
  operator delete(block);
}

namespace vtrain {

void reset_peak() {
  at_reset = allocated;
  peak = allocated;
}

std::size_t peak_bytes() {
  return peak - at_reset;
}

}  // namespace vtrain
