#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

/// Suppressions for the leak sanitizer: CoinUtils 2.11, below the solver Cbc, never frees a few arrays of its
/// presolve (`implied_free_action::presolve`).
extern "C" const char* __lsan_default_suppressions();  // NOLINT(bugprone-reserved-identifier)
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libCoinUtils.so\n";
}
