/// Cases of a file that are read one by one.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.hpp"

namespace vtrain {

/// The cases of a file. One that cannot be read is kept with the error for what is missing.
template <class Case>
class CaseList {
 public:
  /// Adds a case, or one of this id that has nothing but the error.
  void add(Result<Case> read, std::string id) {
    if (read) {
      ++num_readable_;
      cases_.push_back(*std::move(read));
      return;
    }
    Case& unreadable = cases_.emplace_back();
    unreadable.id = std::move(id);
    unreadable.missing.push_back(read.error().describe());
    if (!first_error_) first_error_ = std::move(read.error());
  }

  /// The cases, or the first error if not one of them could be read.
  Result<std::vector<Case>> take() {
    if (num_readable_ == 0 && first_error_) return fail(*std::move(first_error_));
    return std::move(cases_);
  }

 private:
  std::vector<Case> cases_;
  std::size_t num_readable_ = 0;
  std::optional<Error> first_error_;
};

/// Refuses a document with more cases than a table may have lines, before one of them is read.
Result<void> check_number_of_cases(std::size_t num_cases, const std::string& file);

}  // namespace vtrain
