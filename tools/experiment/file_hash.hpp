/// Hashes of inputs, so that a result names exactly what it came from.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/base/result.hpp"

struct evp_md_ctx_st;  // OpenSSL's EVP_MD_CTX

namespace vtrain {

/// SHA-256 of what is added.
class Sha256 {
 public:
  Sha256();
  void add(std::string_view bytes);
  /// The hash in hexadecimal; nothing may be added afterwards.
  std::string finish();

 private:
  std::unique_ptr<evp_md_ctx_st, void (*)(evp_md_ctx_st*)> context_;
};

/// SHA-256 of a file's bytes as they are on disk, in hexadecimal. Error: a file that cannot be read to its
/// end.
Result<std::string> sha256_of_file(const std::string& path);

/// SHA-256 of a text, in hexadecimal.
std::string sha256_of_text(std::string_view text);

/// A file and its hash, as provenance shows them. Of standard input (`-`), a pipe or the like, which is gone
/// once it is read, it says that there is none.
Result<std::string> path_and_hash(const std::string& path);

}  // namespace vtrain
