#include "workloads/config/model_file.hpp"

#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/io/input.hpp"
#include "core/io/json_reader.hpp"
#include "workloads/config/hugging_face.hpp"
#include "workloads/config/model_json.hpp"
#include "workloads/model/zoo.hpp"

namespace vtrain {
namespace {

namespace fs = std::filesystem;

Result<ModelDescription> known_model(const std::string& name) {
  const auto known = find_model(name);
  if (!known) return fail(known.error());
  return ModelDescription{.model = known->model(),
                          .global_batch = known->global_batch,
                          .batch_is_published = known->batch_is_published,
                          .source = std::string(known->source),
                          .warnings = {}};
}

Result<ModelDescription> read_model_file(const fs::path& path, std::int64_t sequence_length) {
  auto text = read_file(path, InputKind::Model);
  if (!text) return fail(std::move(text.error()));
  const auto document = JsonDocument::parse(std::move(*text), path.string(), NonFinite::Null);
  if (!document) return fail(document.error());
  return describe_model(*document, document->root(), sequence_length);
}

/// `Llama-3-8B` of `Llama-3-8B/config.json`, `mine` of `mine.json`.
std::string name_after(const fs::path& path) {
  const std::string folder = path.parent_path().filename().string();
  return path.filename() == "config.json" && !folder.empty() ? folder : path.stem().string();
}

}  // namespace

bool is_model_path(const std::string& name) {
  return name.find('/') != std::string::npos || name.ends_with(".json");
}

Result<ModelDescription> describe_model(const JsonDocument& document, const nlohmann::json& object,
                                        std::int64_t sequence_length) {
  ModelDescription description;
  description.source = document.file();
  if (is_hugging_face_config(object)) {
    auto read = read_hugging_face_config(document, object, sequence_length);
    if (!read) return fail(std::move(read.error()));
    description.model = std::move(read->model);
    description.warnings = std::move(read->warnings);
  } else {
    auto read = read_model(document, object);
    if (!read) return fail(std::move(read.error()));
    description.model = std::move(*read);
    if (sequence_length > 0) description.model.sequence_length = sequence_length;
  }
  if (description.model.name.empty()) description.model.name = name_after(document.file());
  return description;
}

Result<ModelDescription> load_model(const std::string& name, std::int64_t sequence_length,
                                    const fs::path& folder) {
  std::error_code ignored;
  if (is_model_path(name)) {
    fs::path path = folder / name;
    if (fs::is_directory(path, ignored)) path /= "config.json";
    return read_model_file(path, sequence_length);
  }
  auto description = known_model(name);
  if (!description && !name.empty() && fs::exists(folder / name, ignored))
    description.error().message += fmt::format(" (the file or folder here is './{}')", name);
  if (description && sequence_length > 0) description->model.sequence_length = sequence_length;
  return description;
}

}  // namespace vtrain
