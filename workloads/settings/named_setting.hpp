/// Settings of training frameworks by name: arguments of a launch script or of a log, keys of TOML and YAML.
///
/// A format has tables: rows that copy a setting into a member of plan or model, and rows on settings that
/// are not copied (`SettingRow`). Its function computes what depends on several settings.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "core/base/fields.hpp"
#include "core/base/result.hpp"

namespace vtrain {

/// One setting of a training framework.
struct NamedSetting {
  std::string name;       ///< name as written, for messages: `--num-layers`, `training.seq_len`
  std::string value;      ///< text of the value; empty for a flag without one
  std::int64_t line = 0;  ///< line of the file; 0 when unknown
  std::string alias{};    ///< name in the format's tables; empty: that of `name`
};

/// Effect of a setting that no member of plan or model holds.
enum class SettingEffect : std::uint8_t {
  None,        ///< it changes nothing that is modelled
  NotCounted,  ///< it changes time or memory a little, which is not modelled
  Refused,     ///< it changes time or memory, and a prediction without it would be wrong
};

/// A row on settings that are not read.
struct SettingRow {
  std::string_view name{};  ///< name; one that ends in `*` holds for all that begin so
  SettingEffect effect = SettingEffect::None;
  std::string_view reason{};    ///< the rest of a sentence that begins with the name and its value
  std::string_view harmless{};  ///< values without effect, separated by `|`, beside None, false and nothing
};

/// A row that copies a setting into a member of a struct with a table of fields.
struct SettingField {
  std::string_view name{};  ///< name of the setting
  std::string_view key{};   ///< key of the field
};

/// Place of a setting that gave a field its value.
struct SettingPlace {
  std::string name;
  std::int64_t line = 0;
};

/// Notes on settings that were read: the source of an error that is found later, and what was ignored.
struct SettingNotes {
  std::string format{};                          ///< format, for people: `Megatron-LM's arguments`
  std::string file{};                            ///< file of the settings
  std::map<std::string, SettingPlace> places{};  ///< places of fields of plan and model, by key
  std::vector<std::string> without_effect{};     ///< settings that change nothing that is modelled
  std::vector<std::string> unknown{};            ///< settings that no table has
  std::vector<std::string> remarks{};            ///< assumptions and effects not counted, a sentence each
};

/// Values from outside a file that its reading needs.
struct ConfigOptions {
  std::int64_t num_gpus = 0;             ///< all GPUs; 0: the file's
  std::string model{};                   ///< name or path of a model; empty: the file's
  std::int64_t sequence_length = 0;      ///< tokens of a sequence; 0: the file's
  std::vector<NamedSetting> plan{};      ///< fields of the plan (`find_plan_field`) in place of the file's
  std::vector<NamedSetting> settings{};  ///< options of Megatron-LM in place of the file's
};

/// Names of Megatron-LM in one spelling: `--num-layers` and `num_layers` are `num_layers`.
std::string plain_setting_name(std::string_view name);

/// Typed access to settings. Records those that were read, and keeps the first error. `None`, `null` and `~`
/// mean that a setting is absent. Of several settings of a name, the last one counts.
class SettingReader {
 public:
  /// `file` is used in errors. Settings without alias are found under `plain_setting_name`.
  SettingReader(std::span<const NamedSetting> settings, std::string format, std::string file);

  /// True if a setting is present with a value.
  bool has(std::string_view name);
  /// A whole number in [low, high]; `absent` if the setting is absent.
  std::int64_t integer(std::string_view name, std::int64_t low, std::int64_t high, std::int64_t absent);
  /// A number in [low, high]; `absent` if the setting is absent.
  double number(std::string_view name, double low, double high, double absent);
  /// True or false; a setting without a value is true. `absent` if it is absent.
  bool flag(std::string_view name, bool absent = false);
  /// A text; `absent` if the setting is absent.
  std::string text(std::string_view name, std::string_view absent = "");
  /// The words of a text, without commas, quotes and brackets; none if the setting is absent.
  std::vector<std::string> words(std::string_view name);
  /// Value of a text by its names; an error lists them. `absent` if the setting is absent.
  template <class Value>
  Value choice(std::string_view name, std::span<const std::pair<std::string_view, Value>> values,
               Value absent) {
    if (!has(name)) return absent;
    const std::string given = text(name);
    std::string known;
    for (const auto& [value_name, value] : values) {
      if (value_name == given) return value;
      known += (known.empty() ? "" : ", ") + std::string(value_name);
    }
    complain(name, expected_found("one of " + known, given));
    return absent;
  }

  /// Copies settings into members of a struct, and notes their places under `prefix` and the key.
  template <class Struct>
  void copy(std::span<const SettingField> rows, std::span<const Field<Struct>> fields, Struct& to,
            std::string_view prefix = "") {
    for (const SettingField& row : rows) {
      if (!has(row.name)) continue;
      for (const Field<Struct>& field : fields) {
        if (field.key != row.key) continue;
        if (const auto* member = std::get_if<bool Struct::*>(&field.member)) {
          to.** member = flag(row.name);
        } else if (auto set = set_field(field, to, text(row.name)); !set) {
          complain(row.name, set.error().message);
        }
      }
      note_place(std::string(prefix) + std::string(row.key), row.name);
    }
  }

  /// Notes that a field has its value from a setting, if that is present.
  void note_place(std::string_view field, std::string_view name);
  /// Adds a remark, a sentence.
  void remark(std::string sentence) { notes_.remarks.push_back(std::move(sentence)); }
  /// Remembers an error at a setting, unless there is one already.
  void complain(std::string_view name, std::string message);
  /// Remembers an error in an option of the command line, unless there is one already.
  void fail_at_option(std::string_view option, std::string message);
  /// Treats settings that were not read by the tables: a refused one is an error.
  void judge_the_rest(std::span<const SettingRow> rows);
  /// Name of a setting as it was written; `name` if it is absent.
  std::string written(std::string_view name) const;

  /// The first error, if any.
  const std::optional<Error>& error() const { return error_; }
  /// The notes so far.
  SettingNotes& notes() { return notes_; }

 private:
  /// The last setting of a name; null if it is absent. Marks it as read.
  const NamedSetting* find(std::string_view name);

  std::map<std::string, const NamedSetting*, std::less<>> settings_;
  std::set<std::string, std::less<>> seen_;
  SettingNotes notes_;
  std::optional<Error> error_;
};

}  // namespace vtrain
