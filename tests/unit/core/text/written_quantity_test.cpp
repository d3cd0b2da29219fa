#include "core/text/written_quantity.hpp"

#include <doctest/doctest.h>

namespace vtrain {

TEST_CASE("written_quantity: numbers with prefixes and units, or alone in the unit that is wanted") {
  CHECK(parse_quantity("10GB/s", "B/s") == 10e9);
  CHECK(parse_quantity("80Gbit/s", "B/s") == 10e9);
  CHECK(parse_quantity(" 1.5 TB/s ", "B/s") == 1.5e12);
  CHECK(parse_quantity("5e10", "B/s") == 5e10);
  CHECK(parse_quantity("80GB", "B") == 80e9);
  CHECK(parse_quantity("5us", "ns").value() == doctest::Approx(5000));
  CHECK(parse_quantity("900TFLOP/s", "FLOP/s") == 900e12);
  CHECK(parse_quantity("2k/s", "1/s") == 2000);
}

TEST_CASE("written_quantity: other units, prefixes and texts are none") {
  for (const char* text :
       {"", "GB/s", "10GB", "10XB/s", "10MGB/s", "10gb/s", "1,5GB/s", "nan", "10 GB/s fast"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_quantity(text, "B/s"));
  }
}

}  // namespace vtrain
