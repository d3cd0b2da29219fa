#include "workloads/model_zoo.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

namespace vtrain {
namespace {

TEST_CASE("model_zoo: every model is valid, named once, and as large as its name says") {
  std::set<std::string_view> names;
  for (const ZooModel& entry : model_zoo()) {
    CAPTURE(entry.name);
    CHECK(names.insert(entry.name).second);
    CHECK(check_model(entry.model()));
    CHECK(entry.global_batch > 0);
    CHECK(!entry.source.empty());
    const std::size_t dash = entry.name.rfind('-');
    REQUIRE(dash != std::string_view::npos);
    const std::string size(entry.name.substr(dash + 1));
    const double named = std::strtod(size.c_str(), nullptr) * (size.back() == 'm' ? 1e6 : 1e9);
    // Published sizes are rounded; GPT-3 760M counts a few per cent less.
    CHECK(static_cast<double>(entry.model().num_parameters()) == doctest::Approx(named).epsilon(0.035));
  }
}

TEST_CASE("model_zoo: a model by name") {
  const auto model = find_model("mtnlg-530b");
  REQUIRE(model);
  CHECK(model->model() == TransformerModel{"mtnlg-530b", 105, 20480, 128, 2048, 50257});
  CHECK(model->global_batch == 1920);
}

TEST_CASE("model_zoo: a misspelt name finds the nearest") {
  const auto model = find_model("gpt3-175");
  REQUIRE(!model);
  CHECK(model.error().kind == ErrorKind::NotFound);
  CHECK(model.error().message == "unknown model 'gpt3-175'; did you mean 'gpt3-175b'?");
  CHECK(find_model("qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq").error().message.find("'gpt3-125m'") !=
        std::string::npos);
}

}  // namespace
}  // namespace vtrain
