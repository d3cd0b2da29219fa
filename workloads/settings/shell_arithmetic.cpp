#include "workloads/settings/shell_arithmetic.hpp"

#include <array>
#include <cctype>
#include <charconv>
#include <limits>

#include "core/base/numbers.hpp"

namespace vtrain {
namespace {

using Number = std::optional<std::int64_t>;

/// Binary operators, those that bind least first.
constexpr std::array<std::array<std::string_view, 4>, 6> kOperators = {std::array<std::string_view, 4>{"||"},
                                                                       {"&&"},
                                                                       {"==", "!="},
                                                                       {"<=", ">=", "<", ">"},
                                                                       {"+", "-"},
                                                                       {"*", "/", "%"}};

Number apply_operator(std::string_view name, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (name == "||") return a != 0 || b != 0;
  if (name == "&&") return a != 0 && b != 0;
  if (name == "==") return a == b;
  if (name == "!=") return a != b;
  if (name == "<=") return a <= b;
  if (name == ">=") return a >= b;
  if (name == "<") return a < b;
  if (name == ">") return a > b;
  if (name == "+") return __builtin_add_overflow(a, b, &result) ? Number() : result;
  if (name == "-") return __builtin_sub_overflow(a, b, &result) ? Number() : result;
  if (name == "*") return __builtin_mul_overflow(a, b, &result) ? Number() : result;
  if (b == 0 || (b == -1 && a == std::numeric_limits<std::int64_t>::min())) return {};
  return name == "/" ? a / b : a % b;
}

class Arithmetic {
 public:
  Arithmetic(std::string_view text, const ShellNumbers& numbers) : text_(text), numbers_(numbers) {}

  Number value() {
    const Number all = choice(0);
    skip();
    return at_ == text_.size() ? all : Number();
  }

 private:
  static constexpr int kMostDepth = 64;

  void skip() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos)
      ++at_;
  }
  bool take(std::string_view symbol) {
    skip();
    if (symbol.empty() || !text_.substr(at_).starts_with(symbol)) return false;
    at_ += symbol.size();
    return true;
  }
  Number choice(int depth) {
    const Number condition = binary(0, depth);
    if (!condition || !take("?")) return condition;
    const Number yes = choice(depth + 1);
    if (!take(":")) return {};
    const Number no = choice(depth + 1);
    return *condition != 0 ? yes : no;
  }
  Number binary(std::size_t level, int depth) {
    if (depth > kMostDepth) return {};
    if (level == kOperators.size()) return single(depth);
    Number left = binary(level + 1, depth);
    while (left) {
      std::string_view found;
      for (const std::string_view name : kOperators.at(level)) {
        if (found.empty() && take(name)) found = name;
      }
      if (found.empty()) return left;
      const Number right = binary(level + 1, depth);
      left = right ? apply_operator(found, *left, *right) : Number();
    }
    return {};
  }
  Number single(int depth) {
    if (depth > kMostDepth) return {};
    if (take("(")) {
      const Number inner = choice(depth + 1);
      return take(")") ? inner : Number();
    }
    if (take("-")) {
      const Number inner = single(depth + 1);
      return inner ? apply_operator("-", 0, *inner) : inner;
    }
    if (take("!")) {
      const Number inner = single(depth + 1);
      return inner ? Number(*inner == 0) : inner;
    }
    take("$");
    std::size_t end = at_;
    while (end < text_.size() &&
           (text_[end] == '_' || std::isalnum(static_cast<unsigned char>(text_[end])) != 0))
      ++end;
    const std::string_view word = text_.substr(at_, end - at_);
    if (word.empty()) return {};
    at_ = end;
    if (std::isdigit(static_cast<unsigned char>(word.front())) == 0) return numbers_(word);
    std::int64_t number = 0;
    const auto [last, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    return error == std::errc() && last == word.data() + word.size() ? Number(number) : Number();
  }

  std::string_view text_;
  const ShellNumbers& numbers_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<std::int64_t> shell_number(std::string_view text) {
  constexpr std::int64_t kLargest = 1'000'000'000'000;
  const auto value = parse_integer(text, -kLargest, kLargest);
  return value ? std::optional(*value) : std::nullopt;
}

std::optional<std::int64_t> shell_arithmetic(std::string_view text, const ShellNumbers& numbers) {
  return Arithmetic(text, numbers).value();
}

}  // namespace vtrain
