/// Files that are part of the program.
#pragma once

#include <string_view>

namespace vtrain {

/// A file and its content.
struct EmbeddedFile {
  std::string_view name;  ///< without folder and extension
  std::string_view text;
};

}  // namespace vtrain
