#include "tools/serve/tokens.hpp"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "core/base/names.hpp"
#include "core/base/strings.hpp"
#include "core/io/input.hpp"
#include "core/io/line_reader.hpp"
#include "tools/experiment/file_hash.hpp"

namespace vtrain::serve {
namespace {

constexpr std::array<std::string_view, 3> kRoleNames = {"read", "submit", "operate"};
constexpr std::string_view kPrefix = "vt_";
constexpr std::size_t kIdBytes = 8;
constexpr std::size_t kSaltBytes = 16;
constexpr std::size_t kSecretBytes = 32;
constexpr std::size_t kHashBytes = 32;

/// Random bytes in hexadecimal.
Result<std::string> random_hex(std::size_t num_bytes) {
  std::vector<unsigned char> bytes(num_bytes);
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1)
    return fail({.kind = ErrorKind::Failed, .message = "the system gives no random numbers"});
  return fmt::format("{:02x}", fmt::join(bytes, ""));
}

bool is_hex(std::string_view text, std::size_t num_bytes) {
  return text.size() == 2 * num_bytes && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_tenant_name(std::string_view name) {
  constexpr std::size_t kLongest = 128;
  return !name.empty() && name.size() <= kLongest && std::ranges::all_of(name, [](char letter) {
    return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
           (letter >= 'A' && letter <= 'Z') ||
           std::string_view("-_./@").find(letter) != std::string_view::npos;
  });
}

/// Reads tenant and role of a line.
Result<Caller> parse_caller(std::string_view tenant, std::string_view role) {
  if (!is_tenant_name(tenant))
    return fail(
        {.field = "tenant", .message = expected_found("letters, digits and -_./@, at most 128", tenant)});
  const auto place = parse_name<std::size_t>("", kRoleNames, role);
  if (!place) return fail({.field = "role", .message = place.error().message});
  return Caller{.tenant = std::string(tenant), .role = static_cast<Role>(*place + 1)};
}

}  // namespace

std::string_view name_of(Role role) {
  return role == Role::None ? "none" : kRoleNames[static_cast<std::size_t>(role) - 1];
}

Result<NewToken> make_token(std::string_view tenant_and_role) {
  const auto [tenant, role] = split_once(tenant_and_role, ':');
  const auto caller = parse_caller(tenant, role.value_or(""));
  if (!caller) return fail({.field = caller.error().field, .message = caller.error().message});
  const auto id = random_hex(kIdBytes);
  const auto salt = random_hex(kSaltBytes);
  const auto secret = random_hex(kSecretBytes);
  if (!id || !salt || !secret) return fail(secret ? (salt ? id.error() : salt.error()) : secret.error());
  return NewToken{.token = fmt::format("{}{}_{}", kPrefix, *id, *secret),
                  .line = fmt::format("{}:{}:{}:{}:{}\n", *id, caller->tenant, name_of(caller->role), *salt,
                                      sha256_of_text(*salt + *secret))};
}

Result<Tokens> Tokens::read(const std::filesystem::path& file) {
  const auto text = read_file(file, InputKind::Tenants);
  if (!text) return fail(text.error());
  return parse(*text, file.string());
}

Result<Tokens> Tokens::parse(std::string_view text, const std::string& file) {
  Tokens tokens;
  LineReader lines(text, file);
  for (;;) {
    const auto more = lines.next();
    if (!more) return fail(more.error());
    if (!*more) return tokens;
    if (lines.line().starts_with('#')) continue;
    const auto place = [&](std::string_view field, std::string message) {
      return fail(
          Error{.file = file, .line = lines.number(), .field = std::string(field), .message = message});
    };
    const std::vector<std::string_view> parts = split(lines.line(), ':');
    constexpr std::size_t kParts = 5;
    if (parts.size() != kParts)
      return place("", expected_found("id:tenant:role:salt:hash", fmt::format("{} parts", parts.size())));
    if (!is_hex(parts[0], kIdBytes)) return place("id", "expected 16 hexadecimal digits");
    const auto caller = parse_caller(parts[1], parts[2]);
    if (!caller) return place(caller.error().field, caller.error().message);
    if (!is_hex(parts[3], kSaltBytes)) return place("salt", "expected 32 hexadecimal digits");
    if (!is_hex(parts[4], kHashBytes)) return place("hash", "expected 64 hexadecimal digits");
    const Entry entry{*caller, std::string(parts[3]), std::string(parts[4])};
    if (!tokens.by_id_.emplace(std::string(parts[0]), entry).second) return place("id", "is there twice");
  }
}

std::optional<Caller> Tokens::find(std::string_view token) const {
  if (!token.starts_with(kPrefix)) return std::nullopt;
  const auto [id, secret] = split_once(token.substr(kPrefix.size()), '_');
  if (!secret || !is_hex(*secret, kSecretBytes)) return std::nullopt;
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return std::nullopt;
  const Entry& entry = found->second;
  const std::string hash = sha256_of_text(entry.salt + std::string(*secret));
  if (CRYPTO_memcmp(hash.data(), entry.hash.data(), hash.size()) != 0) return std::nullopt;
  return entry.caller;
}

}  // namespace vtrain::serve
