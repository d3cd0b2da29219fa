/// Bearer tokens: secrets that name a tenant and its role. A file keeps their hashes alone.
///
///     # id : tenant : role : salt : SHA-256 of salt and secret
///     3f9c2a51d0b7e684:research:submit:…:…
///
/// A token is `vt_ID_SECRET` with a secret of 256 random bits, so that a salted SHA-256 suffices: there is
/// nothing to guess that a slow hash would protect.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "tools/serve/http.hpp"

namespace vtrain::serve {

/// The name of a role: `read`, `submit`, `operate`.
std::string_view name_of(Role role);

/// A new token with its line of the file.
struct NewToken {
  std::string token;  ///< text for the client; nothing else keeps it
  std::string line;   ///< line of the file
};

/// Makes a token for `TENANT:ROLE`. Errors: an unusable name of a tenant; an unknown role.
Result<NewToken> make_token(std::string_view tenant_and_role);

/// The tokens of a file.
class Tokens {
 public:
  /// Reads a file. Errors name file, line and field.
  static Result<Tokens> read(const std::filesystem::path& file);
  /// Reads the text of a file.
  static Result<Tokens> parse(std::string_view text, const std::string& file);

  /// The caller of a token; none for an unknown one. Takes equally long for every secret.
  std::optional<Caller> find(std::string_view token) const;
  /// Number of tokens.
  std::size_t size() const { return by_id_.size(); }

 private:
  struct Entry {
    Caller caller;
    std::string salt;
    std::string hash;
  };
  std::map<std::string, Entry, std::less<>> by_id_;
};

}  // namespace vtrain::serve
