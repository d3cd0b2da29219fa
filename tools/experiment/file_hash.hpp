/// Hashes of inputs, so that a result identifies its inputs exactly.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/base/result.hpp"

struct evp_md_ctx_st;  // OpenSSL's EVP_MD_CTX

namespace vtrain {

/// SHA-256 of the added bytes.
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

/// SHA-256 of an input. Empty for standard input (`-`), a pipe or the like, which can be read only once.
Result<std::string> hash_of_input(const std::string& path);

/// An input and its hash, as provenance shows them; explains an empty hash.
std::string describe_file(const std::string& path, const std::string& sha256);

}  // namespace vtrain
