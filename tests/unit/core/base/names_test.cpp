#include "core/base/names.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace vtrain {
namespace {

TEST_CASE("names: words of a sentence") {
  CHECK(join_with_and({}).empty());
  CHECK(join_with_and(std::vector<std::string>{"a"}) == "a");
  CHECK(join_with_and(std::vector<std::string>{"a", "b"}) == "a and b");
  CHECK(join_with_and(std::vector<std::string>{"a", "b", "c"}) == "a, b and c");
}

TEST_CASE("names: the nearest name") {
  constexpr std::array<std::string_view, 3> kNames = {"fifo", "edf", "easy"};
  CHECK(nearest_name("edff", kNames) == "edf");
  CHECK(nearest_name("fif", kNames) == "fifo");
  CHECK(nearest_name("gandiva", kNames).empty());
  CHECK(list_names(kNames) == "'fifo', 'edf' and 'easy'");
  CHECK(list_names({}).empty());
  constexpr std::array<std::string_view, 6> kModels = {"llama3-8b", "llama3-70b", "gpt3-125m",
                                                       "gpt3-1.3b", "gpt3-13b",   "gpt3-175b"};
  CHECK(did_you_mean("llama3", kModels) == "did you mean one of 'llama3-8b' and 'llama3-70b'?");
  CHECK(did_you_mean("gpt3-13", kModels) == "did you mean 'gpt3-13b'?");  // the nearest comes first
  CHECK(did_you_mean("125m", kModels) == "did you mean 'gpt3-125m'?");
  CHECK(did_you_mean("-", kModels).empty());
  // Nearer by letters is another GPU.
  CHECK(nearest_name("srft", std::vector<std::string_view>{"sjf", "srtf", "srsf"}) == "srtf");
  CHECK(did_you_mean("V100", std::vector<std::string_view>{"v100-pcie", "v100-sxm3", "a100"}) ==
        "did you mean one of 'v100-pcie' and 'v100-sxm3'?");
  CHECK(did_you_mean("foo", std::vector<std::string_view>{"fgd", "count"}).empty());
  CHECK(did_you_mean("opt", kModels).empty());
  CHECK(suggest_name("edff", kNames) == "did you mean 'edf'?");
  CHECK(suggest_name("gandiva", kNames) == "known are 'fifo', 'edf' and 'easy'");
  // A huge word is near to none, which takes no time.
  CHECK(nearest_name(std::string(std::size_t{1} << 24, 'f'), kNames).empty());
}

}  // namespace
}  // namespace vtrain
