#include "sched/simulation/decision_json.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/names.hpp"
#include "core/io/json_reader.hpp"
#include "sched/cluster/cluster.hpp"

namespace vtrain {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

// The members of each value with their keys, listed once for writing and reading. A visitor receives a key
// and its member, and before them a flag that tells if the key is required.
constexpr bool kRequired = true;
constexpr bool kOptional = false;

template <class Visitor, class Value>
void visit_members(Visitor& visit, Value& of) {
  using Type = std::remove_const_t<Value>;
  if constexpr (std::is_same_v<Type, TypeView>) {
    visit(kRequired, "name", of.name);
    visit(kRequired, "gpus", of.gpus);
  } else if constexpr (std::is_same_v<Type, QuotaView>) {
    visit(kOptional, "gpu_type", of.gpu_type);
    visit(kRequired, "gpus", of.gpus);
    visit(kOptional, "borrowing_limit", of.borrowing_limit);
    visit(kOptional, "lending_limit", of.lending_limit);
  } else if constexpr (std::is_same_v<Type, TenantView>) {
    visit(kRequired, "name", of.name);
    visit(kOptional, "parent", of.parent);
    visit(kOptional, "weight", of.weight);
    visit(kOptional, "quotas", of.quotas);
  } else if constexpr (std::is_same_v<Type, ClusterView>) {
    visit(kRequired, "types", of.types);
    visit(kOptional, "tenants", of.tenants);
  } else if constexpr (std::is_same_v<Type, Allocation>) {
    visit(kRequired, "gpus", of.gpus);
    visit(kOptional, "type", of.type);
  } else if constexpr (std::is_same_v<Type, SpeedPoint>) {
    visit(kRequired, "gpus", of.gpus);
    visit(kRequired, "speed", of.speed);
  } else if constexpr (std::is_same_v<Type, JobView>) {
    visit(kRequired, "id", of.id);
    visit(kOptional, "name", of.name);
    visit(kOptional, "tenant", of.tenant);
    visit(kOptional, "user", of.user);
    visit(kOptional, "account", of.account);
    visit(kOptional, "queue", of.queue);
    visit(kOptional, "qos", of.qos);
    visit(kOptional, "priority", of.priority);
    visit(kOptional, "submit_ns", of.submit);
    visit(kOptional, "deadline_ns", of.deadline);
    visit(kRequired, "time_limit_ns", of.time_limit);
    visit(kOptional, "run_time_ns", of.run_time);
    visit(kRequired, "num_gpus", of.num_gpus);
    visit(kOptional, "max_gpus", of.max_gpus);
    visit(kOptional, "types", of.types);
    visit(kOptional, "num_nodes", of.num_nodes);
    visit(kOptional, "gpus_per_node", of.gpus_per_node);
    visit(kOptional, "node_features", of.node_features);
    visit(kOptional, "dependencies", of.dependencies);
    visit(kOptional, "gpu_share", of.gpu_share);
    visit(kOptional, "iterations", of.iterations);
    visit(kOptional, "speeds", of.speeds);
  } else if constexpr (std::is_same_v<Type, LiveView>) {
    visit(kRequired, "id", of.id);
    visit(kOptional, "holds", of.holds);
    visit(kOptional, "holds_since_ns", of.holds_since);
    visit(kOptional, "must_keep", of.must_keep);
    visit(kOptional, "work_done_ns", of.work_done);
    visit(kOptional, "planned_ns", of.planned);
    visit(kOptional, "iterations_left", of.iterations_left);
  } else if constexpr (std::is_same_v<Type, PassEvents>) {
    visit(kRequired, "version", of.version);
    visit(kRequired, "now_ns", of.now);
    visit(kOptional, "more_to_come", of.more_to_come);
    visit(kOptional, "disrupted", of.disrupted);
    visit(kOptional, "capacity_changed", of.capacity_changed);
    visit(kOptional, "arrived", of.arrived);
    visit(kOptional, "ended", of.ended);
    visit(kOptional, "interrupted", of.interrupted);
    visit(kOptional, "refused", of.refused);
    visit(kRequired, "usable", of.usable);
    visit(kOptional, "live", of.live);
  } else if constexpr (std::is_same_v<Type, Assignment>) {
    visit(kRequired, "job", of.job);
    visit(kRequired, "gpus", of.gpus);
  } else if constexpr (std::is_same_v<Type, Completion>) {
    visit(kRequired, "job", of.job);
    visit(kRequired, "end_ns", of.end);
    visit(kRequired, "finished_ns", of.finished);
  } else {
    static_assert(std::is_same_v<Type, Decision>);
    visit(kOptional, "complete", of.complete);
    visit(kOptional, "reject", of.reject);
    visit(kOptional, "run", of.run);
    visit(kOptional, "wake_at_ns", of.wake_at);
  }
}

template <class>
constexpr bool kIsVector = false;
template <class Element>
constexpr bool kIsVector<std::vector<Element>> = true;
template <class>
constexpr bool kIsOptional = false;
template <class Element>
constexpr bool kIsOptional<std::optional<Element>> = true;

template <class Value>
ordered_json json_of(const Value& value);

/// Writes members into an object, without optional members that are absent.
struct MemberWriter {
  ordered_json& object;

  template <class Value>
  void operator()(bool /*required*/, const char* key, const Value& value) {
    if constexpr (kIsOptional<Value>) {
      if (value) object[key] = json_of(*value);
    } else {
      object[key] = json_of(value);
    }
  }
};

template <class Value>
ordered_json json_of(const Value& value) {
  if constexpr (std::is_arithmetic_v<Value> || std::is_same_v<Value, std::string>) {
    return value;
  } else if constexpr (std::is_same_v<Value, SimTime>) {
    return value.time_since_epoch().count();
  } else if constexpr (std::is_same_v<Value, SimDuration>) {
    return value.count();
  } else if constexpr (std::is_same_v<Value, JobId> || std::is_same_v<Value, GpuCount>) {
    return value.value;
  } else if constexpr (kIsVector<Value>) {
    ordered_json list = ordered_json::array();
    for (const auto& element : value)
      list.push_back(json_of(element));
    return list;
  } else {
    ordered_json object = ordered_json::object();
    MemberWriter writer{object};
    visit_members(writer, value);
    return object;
  }
}

/// Reads values of a document. The first error is kept, and every later read does nothing.
class ValueReader {
 public:
  explicit ValueReader(const JsonDocument& document) : document_(document) {}

  template <class Value>
  void read(const json& from, Value& value) {
    if (error_) return;
    if constexpr (std::is_same_v<Value, bool>) {
      if (!from.is_boolean()) return complain(from, "true or false");
      value = from.get<bool>();
    } else if constexpr (std::is_same_v<Value, double>) {
      if (!from.is_number() || !std::isfinite(from.get<double>())) return complain(from, "a number");
      value = from.get<double>();
    } else if constexpr (std::is_same_v<Value, std::string>) {
      if (!from.is_string()) return complain(from, "a text");
      value = from.get<std::string>();
    } else if constexpr (std::is_integral_v<Value>) {
      value = static_cast<Value>(
          integer(from, std::numeric_limits<Value>::min(), std::numeric_limits<Value>::max()));
    } else if constexpr (std::is_same_v<Value, SimTime>) {
      value = SimTime(SimDuration(
          integer(from, std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max())));
    } else if constexpr (std::is_same_v<Value, SimDuration>) {
      value = SimDuration(integer(from, 0, std::numeric_limits<std::int64_t>::max()));
    } else if constexpr (std::is_same_v<Value, JobId>) {
      value = JobId(static_cast<std::uint32_t>(integer(from, 0, std::int64_t{JobId::kNone} - 1)));
    } else if constexpr (std::is_same_v<Value, GpuCount>) {
      value = GpuCount(static_cast<std::int32_t>(integer(from, 0, kMaxClusterGpus)));
    } else if constexpr (kIsOptional<Value>) {
      read(from, value.emplace());
    } else if constexpr (kIsVector<Value>) {
      if (!from.is_array()) return complain(from, "a list");
      value.clear();
      for (const json& element : from)
        read(element, value.emplace_back());
    } else {
      read_object(from, value);
    }
  }

  const std::optional<Error>& error() const { return error_; }

 private:
  /// Reads members of an object, and collects their keys.
  struct MemberReader {
    ValueReader& reader;
    const json& object;
    std::vector<std::string_view> known{};

    template <class Value>
    void operator()(bool required, const char* key, Value& value) {
      known.push_back(key);
      const auto found = object.find(key);
      if (found != object.end())
        reader.read(*found, value);
      else if (required)
        reader.complain_at(object, key, "missing");
    }
  };

  template <class Value>
  void read_object(const json& from, Value& value) {
    if (!from.is_object()) return complain(from, "an object");
    MemberReader members{*this, from};
    visit_members(members, value);
    for (const auto& item : from.items()) {
      if (std::ranges::find(members.known, item.key()) == members.known.end())
        complain_at(from, item.key(), "unknown key; " + suggest_name(item.key(), members.known));
    }
  }

  std::int64_t integer(const json& from, std::int64_t low, std::int64_t high) {
    const bool is_whole =
        from.is_number_integer() &&
        (!from.is_number_unsigned() ||
         from.get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
    const std::int64_t value = is_whole ? from.get<std::int64_t>() : 0;
    if (!is_whole || value < low || value > high) {
      complain(from, low == std::numeric_limits<std::int64_t>::min() &&
                             high == std::numeric_limits<std::int64_t>::max()
                         ? "a whole number"
                         : "a whole number from " + std::to_string(low) + " to " + std::to_string(high));
    }
    return value;
  }

  void complain(const json& at, std::string_view expected) {
    complain_at(at, "", expected_found(expected, at.is_string() ? at.get<std::string>() : at.dump()));
  }
  void complain_at(const json& object, std::string_view key, std::string message) {
    if (!error_) error_ = document_.error_at(object, key, std::move(message));
  }

  const JsonDocument& document_;
  std::optional<Error> error_;
};

template <class Value>
Result<Value> parse_value(std::string text, std::string file) {
  const auto document = JsonDocument::parse(std::move(text), std::move(file));
  if (!document) return fail(document.error());
  Value value;
  ValueReader reader(*document);
  reader.read(document->root(), value);
  if (reader.error()) return fail(*reader.error());
  if constexpr (std::is_same_v<Value, PassEvents>) {
    if (value.version != kDecisionVersion) {
      return fail(document->error_at(
          document->root(), "version",
          expected_found(std::to_string(kDecisionVersion), std::to_string(value.version))));
    }
  }
  return value;
}

}  // namespace

std::string to_json(const ClusterView& cluster) {
  return json_of(cluster).dump(-1, ' ', false, json::error_handler_t::replace);
}
std::string to_json(const PassEvents& events) {
  return json_of(events).dump(-1, ' ', false, json::error_handler_t::replace);
}
std::string to_json(const Decision& decision) {
  return json_of(decision).dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<ClusterView> parse_cluster_view(std::string text, std::string file) {
  return parse_value<ClusterView>(std::move(text), std::move(file));
}
Result<PassEvents> parse_pass_events(std::string text, std::string file) {
  return parse_value<PassEvents>(std::move(text), std::move(file));
}
Result<Decision> parse_decision(std::string text, std::string file) {
  return parse_value<Decision>(std::move(text), std::move(file));
}

}  // namespace vtrain
