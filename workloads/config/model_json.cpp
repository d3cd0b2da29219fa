#include "workloads/config/model_json.hpp"

#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/utf8.hpp"
#include "core/io/json_reader.hpp"
#include "workloads/config/field_json.hpp"
#include "workloads/model/model_fields.hpp"
#include "workloads/model/zoo.hpp"

namespace vtrain {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::string_view kDropoutKey = "dropout";

/// Reads a part of a model, if there is one.
template <class Part>
Result<void> read_part(const JsonDocument& document, const json& object, const ModelPart<Part>& row,
                       TransformerModel& model) {
  const auto found = object.find(row.key);
  if (found == object.end() || found->is_null()) return {};
  JsonFields fields(document, *found);
  fields.allow_only(keys_of(row.fields()));
  Part& part = model.*row.member;
  for (Field<Part> field : row.fields()) {
    if (!row.is_in(model) && field.low > 0) {  // without the part its sizes say nothing
      field.required = false;
      field.low = 0;
    }
    read_field(fields, field, part);
  }
  if (fields.error()) return fail(*fields.error());
  return {};
}

/// Reads the dropout. Values that the object does not name are as in the base, or not dropped.
Result<void> read_dropout(const JsonDocument& document, const json& object, TransformerModel& model) {
  const auto found = object.find(kDropoutKey);
  if (found == object.end() || found->is_null()) return {};
  JsonFields fields(document, *found);
  fields.allow_only(keys_of(dropout_fields()));
  if (!model.dropout) model.dropout.emplace();
  read_fields(fields, dropout_fields(), *model.dropout);
  if (fields.error()) return fail(*fields.error());
  return {};
}

/// All keys of a model.
std::vector<std::string_view> model_keys() {
  std::vector<std::string_view> keys = {"base"};
  for (const Field<TransformerModel>& field : model_fields())
    keys.push_back(field.key);
  for_each_part([&keys](const auto& part) { keys.push_back(part.key); });
  keys.push_back(kDropoutKey);
  return keys;
}

}  // namespace

Result<TransformerModel> read_model(const JsonDocument& document, const json& object) {
  JsonFields fields(document, object);
  TransformerModel model;
  if (fields.has("base")) {
    const auto base = find_model(fields.string("base"));
    if (!fields.error() && !base) return fail(document.error_at(object, "base", base.error().message));
    if (base) model = base->model();
  } else {
    model.vocab_size = 0;  // no default: it must be given
  }
  fields.allow_only(model_keys());
  read_fields(fields, model_fields(), model);
  if (!is_plain_text(model.name))
    fields.complain("name", expected_found("text without control characters", printable(model.name)));
  if (fields.error()) return fail(*fields.error());
  Result<void> parts;
  for_each_part([&](const auto& part) {
    if (parts) parts = read_part(document, object, part, model);
  });
  if (parts) parts = read_dropout(document, object, model);
  if (!parts) return fail(std::move(parts.error()));
  if (const auto checked = check_model(model); !checked)
    return fail(document.error_at(object, checked.error().field, checked.error().message));
  return model;
}

ordered_json model_to_json(const TransformerModel& model) {
  ordered_json object = fields_to_json(model_fields(), model);
  // The description leaves out parts that the model lacks.
  for_each_part([&](const auto& part) {
    if (part.is_in(model)) object[std::string(part.key)] = fields_to_json(part.fields(), model.*part.member);
  });
  if (model.dropout) object[std::string(kDropoutKey)] = fields_to_json(dropout_fields(), *model.dropout);
  return object;
}

Result<TransformerModel> parse_model(std::string text, const std::string& file) {
  const auto document = JsonDocument::parse(std::move(text), file);
  if (!document) return fail(document.error());
  return read_model(*document, document->root());
}

}  // namespace vtrain
