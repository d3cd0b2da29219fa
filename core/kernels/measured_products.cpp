#include "core/kernels/measured_products.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/io/json_reader.hpp"

namespace vtrain {
namespace {

using nlohmann::json;

constexpr std::int64_t kLargest = std::int64_t{1} << 50;
constexpr std::size_t kMaxRows = 1'000'000;

/// Adds the rows of one list.
Result<void> read_list(const JsonDocument& document, const json& rows, Precision precision, ProductKind kind,
                       MeasuredProducts& products) {
  const auto expected = [&](const json& found) {
    return fail(document.error_at(
        found, "",
        expected_found("rows of m, n, k and ns, whole numbers of at least 1", found.dump().substr(0, 80))));
  };
  if (!rows.is_array() || rows.size() > kMaxRows) return expected(rows);
  for (const json& row : rows) {
    constexpr std::size_t kColumns = 4;
    if (!row.is_array() || row.size() != kColumns) return expected(row);
    std::array<std::int64_t, kColumns> numbers{};
    for (std::size_t i = 0; i < kColumns; ++i) {
      if (!row[i].is_number_unsigned() || row[i].get<std::uint64_t>() > static_cast<std::uint64_t>(kLargest))
        return expected(row);
      numbers[i] = row[i].get<std::int64_t>();
    }
    if (*std::min_element(numbers.begin(), numbers.end()) < 1) return expected(row);
    products.add(precision, kind, {numbers[0], numbers[1], numbers[2]},
                 Nanoseconds(static_cast<double>(numbers[3])));
  }
  return {};
}

}  // namespace

void MeasuredProducts::add(Precision precision, ProductKind kind, const Shape& shape, Nanoseconds time) {
  Times& times = products_[static_cast<std::size_t>(precision)][static_cast<std::size_t>(kind)][shape];
  times.sum += time;
  ++times.count;
}

std::optional<Nanoseconds> MeasuredProducts::time(Precision precision, ProductKind kind,
                                                  const Shape& shape) const {
  const ByShape& products = of(precision, kind);
  const auto found = products.find(shape);
  return found == products.end() ? std::nullopt : std::optional(found->second.mean());
}

bool MeasuredProducts::empty() const {
  return std::all_of(products_.begin(), products_.end(), [](const auto& kinds) {
    return std::all_of(kinds.begin(), kinds.end(), [](const ByShape& products) { return products.empty(); });
  });
}

Result<MeasuredProducts> read_products(const JsonDocument& document, const json& object) {
  MeasuredProducts products;
  if (!object.is_object()) return fail(document.error_at(object, "", "expected a JSON object"));
  for (const auto& [name, entry] : object.items()) {
    constexpr std::array<std::string_view, 3> kKeys = {"source", "plain", "weight_gradient"};
    JsonFields fields(document, entry);
    fields.allow_only(kKeys);
    fields.string("source");
    if (fields.error()) return fail(*fields.error());
    const auto precision = parse_precision(name);
    if (!precision) return fail(document.error_at(object, name, precision.error().message));
    for (const auto& [key, kind] :
         {std::pair(kKeys[1], ProductKind::Plain), std::pair(kKeys[2], ProductKind::WeightGradient)}) {
      const auto rows = entry.find(key);
      if (rows == entry.end()) continue;
      if (auto read = read_list(document, *rows, *precision, kind, products); !read)
        return fail(read.error());
    }
  }
  return products;
}

}  // namespace vtrain
