#include "tools/serve/process_figures.hpp"

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

namespace vtrain::serve {

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

double resident_bytes() {
  double all_pages = 0;
  double resident_pages = 0;
  std::ifstream("/proc/self/statm") >> all_pages >> resident_pages;
  return resident_pages * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

double open_descriptors() {
  std::error_code none;
  const std::filesystem::directory_iterator entries("/proc/self/fd", none);
  if (none) return 0;
  return static_cast<double>(std::distance(begin(entries), end(entries)) - 1);  // without that of the folder
}

}  // namespace vtrain::serve
