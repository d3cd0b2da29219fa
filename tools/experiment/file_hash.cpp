#include "tools/experiment/file_hash.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>

namespace vtrain {
namespace {

/// SHA-256 of what is added.
class Sha256 {
 public:
  Sha256() { require(context_ != nullptr ? EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) : 0); }
  void add(std::string_view bytes) { require(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size())); }
  std::string finish() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    require(EVP_DigestFinal_ex(context_.get(), digest.data(), &size));
    std::string text;
    for (unsigned i = 0; i < size; ++i)
      text += fmt::format("{:02x}", digest[i]);
    return text;
  }

 private:
  static void require(int result_of_openssl) {
    if (result_of_openssl != 1) throw std::runtime_error("OpenSSL cannot compute SHA-256");
  }

  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_{EVP_MD_CTX_new(), EVP_MD_CTX_free};
};

}  // namespace

Result<std::string> sha256_of_file(const std::string& path) {
  const Error unreadable{.kind = ErrorKind::Io, .file = path, .message = "cannot read the file to hash it"};
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return fail(unreadable);
  Sha256 hash;
  std::array<char, 1 << 16> piece;
  while (stream.read(piece.data(), piece.size()) || stream.gcount() > 0) {
    hash.add({piece.data(), static_cast<std::size_t>(stream.gcount())});
  }
  if (stream.bad()) return fail(unreadable);  // not at its end: the rest could not be read
  return hash.finish();
}

std::string sha256_of_text(std::string_view text) {
  Sha256 hash;
  hash.add(text);
  return hash.finish();
}

Result<std::string> path_and_hash(const std::string& path) {
  std::error_code ignored;
  const bool is_stream = path == "-" || (std::filesystem::exists(path, ignored) &&
                                         !std::filesystem::is_regular_file(path, ignored));
  if (is_stream) {
    return fmt::format("{}, not a regular file, which cannot be read again for its hash",
                       path == "-" ? "standard input" : path);
  }
  return sha256_of_file(path).map(
      [&](const std::string& hash) { return fmt::format("{}, sha256 {}", path, hash); });
}

}  // namespace vtrain
