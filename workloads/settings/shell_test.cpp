#include "workloads/settings/shell_test.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "workloads/settings/shell_arithmetic.hpp"

namespace vtrain {
namespace {

constexpr int kMostDepth = 40;

/// A test as in `[ a = b ]`.
class ShellTest {
 public:
  explicit ShellTest(const std::vector<ShellText>& words) : words_(words) {}

  Truth value() {
    const Truth all = any(0);
    return at_ == words_.size() ? all : Truth();
  }

 private:
  std::string word(std::size_t ahead = 0) const {
    return at_ + ahead < words_.size() ? words_[at_ + ahead].known() : std::string();
  }
  bool take(std::string_view a, std::string_view b) {
    if (at_ == words_.size() || (word() != a && word() != b)) return false;
    ++at_;
    return true;
  }
  Truth any(int depth) {
    Truth left = all(depth);
    while (take("||", "-o")) {
      const Truth right = all(depth);
      left = left && right                                   ? Truth(*left || *right)
             : left.value_or(false) || right.value_or(false) ? Truth(true)
                                                             : Truth();
    }
    return left;
  }
  Truth all(int depth) {
    Truth left = one(depth);
    while (take("&&", "-a")) {
      const Truth right = one(depth);
      left = left && right                                   ? Truth(*left && *right)
             : !left.value_or(true) || !right.value_or(true) ? Truth(false)
                                                             : Truth();
    }
    return left;
  }
  Truth one(int depth) {
    if (depth > kMostDepth || at_ == words_.size()) return {};
    if (words_.size() - at_ > 1 && take("!", "!")) {
      const Truth inner = one(depth + 1);
      return inner ? Truth(!*inner) : inner;
    }
    if (take("(", "(")) {
      const Truth inner = any(depth + 1);
      return take(")", ")") ? inner : Truth();
    }
    const std::string first = word();
    const std::string next = word(1);
    if (is_binary(next)) {
      const std::string second = word(2);
      at_ = std::min(at_ + 3, words_.size());
      return compare(first, next, second);
    }
    if (first.size() == 2 && first[0] == '-' && at_ + 1 < words_.size()) {
      at_ += 2;
      if (first == "-z") return next.empty();
      if (first == "-n") return !next.empty();
      if (first == "-v") return Truth();
      return Truth();  // files are not looked at
    }
    ++at_;
    return !first.empty();
  }
  static bool is_binary(std::string_view word) {
    constexpr std::array<std::string_view, 12> kKnown = {"=",   "==",  "!=",  "-eq", "-ne", "-gt",
                                                         "-ge", "-lt", "-le", "<",   ">",   "=~"};
    return std::find(kKnown.begin(), kKnown.end(), word) != kKnown.end();
  }
  static Truth compare(const std::string& a, std::string_view sign, const std::string& b) {
    if (sign == "=" || sign == "==") return matches_shell_pattern(b, a);
    if (sign == "!=") return !matches_shell_pattern(b, a);
    if (sign == "<") return a < b;
    if (sign == ">") return a > b;
    const auto x = shell_number(a);
    const auto y = shell_number(b);
    if (!x || !y || sign == "=~") return {};
    if (sign == "-eq") return *x == *y;
    if (sign == "-ne") return *x != *y;
    if (sign == "-gt") return *x > *y;
    if (sign == "-ge") return *x >= *y;
    return sign == "-lt" ? *x < *y : *x <= *y;
  }

  const std::vector<ShellText>& words_;
  std::size_t at_ = 0;
};

}  // namespace

Truth shell_test(const std::vector<ShellText>& words) {
  return ShellTest(words).value();
}

bool matches_shell_pattern(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t mark = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*')
    ++p;
  return p == pattern.size();
}

}  // namespace vtrain
