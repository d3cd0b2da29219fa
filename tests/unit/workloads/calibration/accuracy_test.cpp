#include "workloads/calibration/accuracy.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

namespace vtrain {
namespace {

Outcome outcome(const std::string& configuration, double measured, double predicted,
                const std::string& choice = "a") {
  return {.id = configuration,
          .group = "g",
          .configuration = configuration,
          .choice = choice,
          .measured = Seconds(measured),
          .predicted = Seconds(predicted)};
}

TEST_CASE("accuracy: errors of three rows by hand") {
  // Errors +10 %, -20 %, 0 %: mean of absolutes 10, median 10, bias -10 / 3.
  const std::vector<Outcome> rows = {outcome("x", 10, 11), outcome("y", 20, 16), outcome("z", 30, 30)};
  const Accuracy accuracy = measure_accuracy(rows);
  CHECK(accuracy.num_rows == 3);
  CHECK(accuracy.num_distinct == 3);
  CHECK(accuracy.mape_percent == doctest::Approx(10));
  CHECK(accuracy.median_ape_percent == doctest::Approx(10));
  // Between the second and the third of 0, 10, 20 at 0.95 x 2 = 1.9: 10 + 0.9 x 10.
  CHECK(accuracy.p95_ape_percent == doctest::Approx(19));
  CHECK(accuracy.bias_percent == doctest::Approx(-10.0 / 3));
  // Residuals 1 + 16 + 0, deviations from the mean 20: 100 + 0 + 100.
  CHECK(accuracy.r2.value() == doctest::Approx(1 - 17.0 / 200));
  CHECK(accuracy.spearman.value() == doctest::Approx(1));
  CHECK(accuracy.top1_regret_percent.value() == doctest::Approx(0));
}

TEST_CASE("accuracy: Spearman gives equal values their mean rank") {
  // Ranks measured 0 1 2 3, predicted 0.5 0.5 3 2. Deviations -1.5 -.5 .5 1.5 and -1 -1 1.5 .5: the products
  // sum to 1.5 + 0.5 + 0.75 + 0.75 = 3.5, the squares to 5 and 4.5.
  const std::vector<Outcome> rows = {outcome("a", 1, 5), outcome("b", 2, 5), outcome("c", 3, 9),
                                     outcome("d", 4, 7)};
  CHECK(measure_accuracy(rows).spearman.value() == doctest::Approx(3.5 / std::sqrt(5 * 4.5)));
}

TEST_CASE("accuracy: top-1 regret counts each choice once and repetitions with their mean") {
  const std::vector<Outcome> rows = {
      // Predicted fastest is p (9), which was measured at 12 on average; the best measured is q at 10: 20 %.
      outcome("p", 11, 9), outcome("p", 13, 9), outcome("q", 10, 10),
      // The right choice: 0 %. A choice of one is none.
      outcome("r", 5, 5, "b"), outcome("s", 6, 6, "b"), outcome("t", 7, 70, "c")};
  const Accuracy accuracy = measure_accuracy(rows);
  CHECK(accuracy.num_choices == 2);
  CHECK(accuracy.top1_regret_percent.value() == doctest::Approx(10));
  CHECK(accuracy.num_distinct == 5);
}

TEST_CASE("accuracy: too little data gives no correlation, and none at all no figures") {
  const std::vector<Outcome> two = {outcome("a", 1, 1), outcome("b", 2, 2)};
  CHECK(!measure_accuracy(two).spearman);
  const std::vector<Outcome> equal = {outcome("a", 1, 1), outcome("b", 1, 2), outcome("c", 1, 3)};
  CHECK(!measure_accuracy(equal).spearman);
  CHECK(!measure_accuracy(equal).r2);
  CHECK(measure_accuracy({}).num_rows == 0);
}

TEST_CASE("accuracy: quantiles lie between the values") {
  CHECK(quantile_of({3, 1, 2}, 0) == 1);
  CHECK(quantile_of({3, 1, 2}, 1) == 3);
  CHECK(quantile_of({4, 1}, 0.25) == doctest::Approx(1.75));
  CHECK(quantile_of({7}, 0.5) == 7);
}

}  // namespace
}  // namespace vtrain
