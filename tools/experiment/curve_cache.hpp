/// Throughput curves on disk, so that they are computed once.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "workloads/pricing/curve_store.hpp"

namespace vtrain {

/// A folder with one file for each key, under the hash of the key. Files are replaced as a whole, so that
/// processes may share the folder. What cannot be read or written is as if it were not there: a cache that
/// does not work only costs time.
class CurveCache : public CurveStore {
 public:
  /// The folder is made when something is saved.
  explicit CurveCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  std::optional<std::string> load(const std::string& key) override;
  void save(const std::string& key, const std::string& text) override;

 private:
  std::filesystem::path folder_;
};

/// `$XDG_CACHE_HOME/vtrain/curves`, or `~/.cache/vtrain/curves`; none when neither place is known. A relative
/// XDG_CACHE_HOME does not count (XDG Base Directory Specification).
std::optional<std::filesystem::path> curve_cache_folder();

}  // namespace vtrain
