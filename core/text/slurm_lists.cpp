#include "core/text/slurm_lists.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"

namespace vtrain {
namespace {

/// The parts of a list; commas in brackets or parentheses do not separate.
std::vector<std::string_view> split_list(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    if (c == '[' || c == '(') ++depth;
    if (c == ']' || c == ')') --depth;
    if (i < text.size() && (c != ',' || depth > 0)) continue;
    if (const std::string_view part = trim(text.substr(first, i - first)); !part.empty())
      parts.push_back(part);
    first = i + 1;
  }
  return parts;
}

/// An entry of a list of resources, without its prefix.
std::string_view gres_name(std::string_view item) {
  for (const std::string_view prefix : {"gres:", "gres/"}) {
    if (item.starts_with(prefix)) item.remove_prefix(prefix.size());
  }
  return item;
}

/// Position of the next part (`PER_`) of a request after the first character; the end of the text without
/// one.
std::size_t find_next_part(std::string_view text) {
  for (std::size_t at = text.find("PER_", 1); at != std::string_view::npos; at = text.find("PER_", at + 1)) {
    if (text[at - 1] == ' ' || text[at - 1] == ',') return at;
  }
  return text.size();
}

bool is_number(std::string_view word) {
  return std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// A number of GPUs.
Result<std::int64_t> parse_count(std::string_view text) {
  return parse_integer(text, 0, std::numeric_limits<std::int32_t>::max());
}

/// Adds to the GPUs of a type; zero GPUs add no entry.
void add_gpus(std::vector<SlurmGpus>& gpus, std::string_view type, std::int64_t count) {
  if (count <= 0) return;
  const auto found =
      std::find_if(gpus.begin(), gpus.end(), [type](const SlurmGpus& known) { return known.type == type; });
  if (found == gpus.end()) {
    gpus.push_back({.type = type, .count = count});
  } else {
    found->count += count;
  }
}

/// `7` of width 3 as `007`.
void append_padded(std::string& out, std::uint64_t number, std::size_t width) {
  const std::string digits = std::to_string(number);
  out.append(width - std::min(width, digits.size()), '0');
  out += digits;
}

tl::unexpected<Error> bad_host_list(std::string_view found) {
  return fail({.message = expected_found("a list of hosts as gpu[001-004,8],login", found)});
}

/// A number of up to 9 digits.
bool parse_digits(std::string_view text, std::uint64_t& to) {
  const auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), to);
  return !text.empty() && text.size() <= 9 && code == std::errc() && stop == text.data() + text.size();
}

/// Appends to each prefix each number in the ranges between brackets.
Result<std::vector<std::string>> append_ranges(const std::vector<std::string>& prefixes,
                                               std::string_view ranges, std::size_t most) {
  std::vector<std::string> names;
  for (const std::string& prefix : prefixes) {
    for (const std::string_view range : split_list(ranges)) {
      // Leading zeros count, which a whole number would lose.
      const auto [low_text, high_text] = split_once(range, '-');
      std::uint64_t low = 0;
      std::uint64_t high = 0;
      if (!parse_digits(low_text, low) || !parse_digits(high_text.value_or(low_text), high))
        return bad_host_list(ranges);
      if (high < low || high - low >= most - std::min(most, names.size())) {
        return fail(
            {.message = expected_found(fmt::format("ascending ranges of at most {} hosts", most), ranges)});
      }
      for (std::uint64_t number = low; number <= high; ++number)
        append_padded(names.emplace_back(prefix), number, low_text.size());
    }
  }
  if (names.empty()) return bad_host_list(ranges);
  return names;
}

}  // namespace

Result<std::vector<SlurmGpus>> parse_gres(std::string_view text) {
  std::vector<SlurmGpus> gpus;
  for (std::string_view item : split_list(text)) {
    item = gres_name(item.substr(0, item.find('(')));  // without sockets or indices
    const auto [name, number_of_name] = split_once(item, '=');
    auto words = split(name, ':');
    if (words.front() != "gpu") continue;
    if (number_of_name) words.push_back(*number_of_name);
    std::string_view type;
    std::int64_t count = 1;
    for (std::size_t i = 1; i < words.size(); ++i) {
      if (words[i].empty() || words[i] == "no_consume") continue;
      if (i + 1 == words.size() && is_number(words[i])) {
        const auto number = parse_count(words[i]);
        if (!number) return fail(number.error());
        count = *number;
      } else if (type.empty()) {
        type = words[i];
      } else {
        return fail({.message = expected_found("GPUs as gpu:a100:8", item)});
      }
    }
    add_gpus(gpus, type, count);
  }
  return gpus;
}

Result<SlurmGresRequest> parse_gres_request(std::string_view text) {
  SlurmGresRequest request;
  while (!text.empty()) {
    std::string_view part = text.substr(0, find_next_part(text));
    text.remove_prefix(part.size());
    std::string_view unit;
    if (part.starts_with("PER_")) {
      unit = part.substr(0, part.find(':'));
      part.remove_prefix(std::min(unit.size() + 1, part.size()));
    }
    const auto gpus = parse_gres(part);
    if (!gpus) return fail(gpus.error());
    const bool is_per_node = unit == "PER_NODE";
    if (unit.empty() || unit == "PER_JOB" || is_per_node) {
      for (const SlurmGpus& each : *gpus)
        add_gpus(is_per_node ? request.per_node : request.per_job, each.type, each.count);
    } else {
      request.has_others |= !gpus->empty();
    }
  }
  return request;
}

bool names_gpu_shares(std::string_view text) {
  const std::vector<std::string_view> items = split_list(text);
  return std::any_of(items.begin(), items.end(), [](std::string_view item) {
    const std::string_view name = gres_name(item.substr(0, item.find('(')));
    const std::string_view kind = name.substr(0, name.find_first_of(":="));
    return (kind == "shard" || kind == "mps") && !name.ends_with(":0") && !name.ends_with("=0");
  });
}

Result<std::vector<SlurmGpus>> parse_tres(std::string_view text) {
  constexpr std::string_view kGpu = "gres/gpu";
  std::vector<SlurmGpus> gpus;
  std::int64_t typed = 0;
  std::int64_t all = 0;
  for (const std::string_view item : split_list(text)) {
    const std::size_t equals = item.find('=');
    if (!item.starts_with(kGpu) || equals == std::string_view::npos) continue;
    const std::string_view type = trim(item.substr(kGpu.size(), equals - kGpu.size()));
    if (!type.empty() && !type.starts_with(':')) continue;  // gres/gpumem and others
    const auto count = parse_count(item.substr(equals + 1));
    if (!count) return fail(count.error());
    if (type.empty()) {
      all = *count;
    } else {
      typed += *count;
      add_gpus(gpus, type.substr(1), *count);
    }
  }
  add_gpus(gpus, "", all - typed);
  return gpus;
}

bool keeps_jobs_away(std::string_view state) {
  constexpr std::array<std::string_view, 8> kBeginnings = {"down",  "drain",  "drng",    "fail",
                                                           "maint", "future", "unknown", "not_responding"};
  const std::string lower = lower_case(state);
  const std::vector<std::string_view> flags = split(lower, '+');
  return std::any_of(flags.begin(), flags.end(), [&](std::string_view flag) {
    return flag.ends_with('*') || flag.ends_with('$') ||
           std::any_of(kBeginnings.begin(), kBeginnings.end(),
                       [flag](std::string_view beginning) { return flag.starts_with(beginning); });
  });
}

Result<std::vector<std::string>> expand_host_list(std::string_view text, std::size_t most) {
  constexpr std::size_t kMostBytes = 255;  // of a host name: RFC 1035, section 2.3.4
  std::vector<std::string> all;
  for (const std::string_view item : split_list(text)) {
    std::vector<std::string> names = {""};
    for (std::string_view rest = item; !rest.empty();) {
      const std::size_t open = std::min(rest.find('['), rest.size());
      for (std::string& name : names) {
        if (name.size() + open > kMostBytes) return bad_host_list(item);
        name += rest.substr(0, open);
      }
      rest.remove_prefix(open);
      if (rest.empty()) break;
      const std::size_t close = rest.find(']');
      if (close == std::string_view::npos) return bad_host_list(item);
      auto longer = append_ranges(names, rest.substr(1, close - 1), most);
      if (!longer) return longer;
      names = *std::move(longer);
      rest.remove_prefix(close + 1);
    }
    if (all.size() + names.size() > most) {
      return fail({.message = expected_found(fmt::format("at most {} hosts", most), text)});
    }
    all.insert(all.end(), std::make_move_iterator(names.begin()), std::make_move_iterator(names.end()));
  }
  return all;
}

}  // namespace vtrain
