#include "tools/experiment/file_hash.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "core/io/input.hpp"

namespace vtrain {
namespace {

void require(int result_of_openssl) {
  if (result_of_openssl != 1) throw std::runtime_error("OpenSSL cannot compute SHA-256");
}

}  // namespace

Sha256::Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
  require(context_ != nullptr ? EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) : 0);
}

void Sha256::add(std::string_view bytes) {
  require(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()));
}

std::string Sha256::finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  require(EVP_DigestFinal_ex(context_.get(), digest.data(), &size));
  std::string text;
  for (unsigned i = 0; i < size; ++i)
    text += fmt::format("{:02x}", digest[i]);
  return text;
}

Result<std::string> sha256_of_file(const std::string& path) {
  auto file = InputFile::open(path);
  if (!file) return fail(std::move(file.error()));
  Sha256 hash;
  std::array<char, 1 << 16> piece;
  for (;;) {
    const auto got = file->read(piece);
    if (!got) return fail(got.error());
    if (*got == 0) return hash.finish();
    hash.add({piece.data(), *got});
  }
}

std::string sha256_of_text(std::string_view text) {
  Sha256 hash;
  hash.add(text);
  return hash.finish();
}

Result<std::string> hash_of_input(const std::string& path) {
  std::error_code ignored;
  const bool is_stream = path == "-" || (std::filesystem::exists(path, ignored) &&
                                         !std::filesystem::is_regular_file(path, ignored));
  return is_stream ? Result<std::string>("") : sha256_of_file(path);
}

std::string describe_file(const std::string& path, const std::string& sha256) {
  const std::string name = path == "-" ? "standard input" : path;
  if (sha256.empty()) return name + ", not a regular file, which cannot be read again for its hash";
  return fmt::format("{}, sha256 {}", name, sha256);
}

}  // namespace vtrain
