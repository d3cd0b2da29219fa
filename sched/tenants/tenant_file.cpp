#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "core/base/names.hpp"
#include "core/base/strings.hpp"
#include "core/io/json_reader.hpp"
#include "sched/tenants/tenant_tree.hpp"

namespace vtrain {
namespace {

using nlohmann::json;

constexpr std::int64_t kVersion = 1;
constexpr std::int64_t kMostTier = std::numeric_limits<std::int32_t>::max();
constexpr double kMostSeconds = 3.2e9;  // a hundred years
constexpr double kMostWeight = 1e12;

/// Reads one file; the first error ends it.
class TenantFileReader {
 public:
  TenantFileReader(const JsonDocument& document, const ClusterSpec& cluster) : document_(document) {
    for (const NodeGroup& group : cluster.groups) {
      if (!group.gpu_type.empty() && std::ranges::find(types_, group.gpu_type) == types_.end())
        types_.push_back(group.gpu_type);
    }
  }

  Result<TenantTree> read() {
    const json& root = document_.root();
    JsonFields fields(document_, root);
    fields.allow_only(std::array<std::string_view, 4>{"version", "tenants", "partitions", "qos"});
    const std::int64_t version = fields.integer("version", 0, kMostTier);
    if (!fields.error() && version != kVersion)
      fields.complain("version", expected_found(std::to_string(kVersion), std::to_string(version)));
    take(fields);
    each(root, "tenants", [this](const json& item) { read_tenant(item); });
    set_parents(root);
    each(root, "partitions", [this](const json& item) { read_partition(item); });
    each(root, "qos", [this](const json& item) { read_qos(item); });
    check_preempts(root);
    if (error_) return fail(*std::move(error_));
    return std::move(tree_);
  }

 private:
  void complain(const json& object, std::string_view key, std::string message) {
    if (!error_) error_ = document_.error_at(object, key, std::move(message));
  }
  void take(const JsonFields& fields) {
    if (!error_) error_ = fields.error();
  }

  /// Reads the objects of a list that may be absent.
  template <class Read>
  void each(const json& object, std::string_view key, const Read& read) {
    const auto list = object.is_object() ? object.find(key) : object.end();
    if (error_ || list == object.end()) return;
    if (!list->is_array()) return complain(object, key, expected_found("a list", list->type_name()));
    for (const json& item : *list) {
      if (error_) return;
      read(item);
    }
  }

  /// Texts of a list that may be absent.
  std::vector<std::string> texts(const json& object, std::string_view key) {
    std::vector<std::string> found;
    each(object, key, [&](const json& item) {
      if (!item.is_string()) return complain(object, key, expected_found("a list of names", item.dump()));
      found.push_back(item.get<std::string>());
    });
    return found;
  }

  /// A name that is unique among its kind.
  std::string new_name(JsonFields& fields, std::set<std::string>& taken) {
    std::string name = fields.string("name");
    if (!fields.error() && name.empty()) fields.complain("name", "expected a name, found ''");
    if (!fields.error() && !taken.insert(name).second)
      fields.complain("name", expected_found("a name that no other has", name));
    return name;
  }

  /// The type in the cluster's spelling.
  std::string known_type(const json& object, std::string_view key, const std::string& name) {
    const auto found =
        std::ranges::find_if(types_, [&](const std::string& type) { return equal_in_any_case(type, name); });
    if (found != types_.end()) return *found;
    const std::vector<std::string_view> names(types_.begin(), types_.end());
    complain(object, key,
             names.empty() ? expected_found("no GPU type, as the cluster names none", name)
                           : with_guess(expected_found("a GPU type of the cluster", name), name, names));
    return {};
  }

  static std::optional<std::int64_t> maybe_count(JsonFields& fields, std::string_view key) {
    if (!fields.has(key)) return std::nullopt;
    return fields.integer(key, 0, kMaxClusterGpus);
  }

  void read_tenant(const json& item) {
    JsonFields fields(document_, item);
    fields.allow_only(std::array<std::string_view, 4>{"name", "parent", "weight", "quotas"});
    Tenant tenant;
    tenant.name = new_name(fields, tenant_names_);
    tenant.weight = fields.number_or("weight", 0, kMostWeight, 1);
    parents_.push_back(fields.string_or("parent", ""));
    take(fields);
    each(item, "quotas", [&](const json& quota) { read_quota(quota, tenant); });
    tree_.tenants.push_back(std::move(tenant));
  }

  void read_quota(const json& item, Tenant& tenant) {
    JsonFields fields(document_, item);
    fields.allow_only(
        std::array<std::string_view, 4>{"gpu_type", "gpus", "borrowing_limit", "lending_limit"});
    Quota quota;
    const std::string type = fields.string_or("gpu_type", "");
    quota.nominal = fields.integer("gpus", 0, kMaxClusterGpus);
    quota.borrowing_limit = maybe_count(fields, "borrowing_limit");
    quota.lending_limit = maybe_count(fields, "lending_limit");
    if (quota.lending_limit && *quota.lending_limit > quota.nominal && !fields.error())
      fields.complain("lending_limit", expected_found(fmt::format("at most the quota, {}", quota.nominal),
                                                      std::to_string(*quota.lending_limit)));
    take(fields);
    if (!type.empty() && !error_) quota.gpu_type = known_type(item, "gpu_type", type);
    if (std::ranges::find(tenant.quotas, quota.gpu_type, &Quota::gpu_type) != tenant.quotas.end())
      complain(
          item, type.empty() ? "" : "gpu_type",
          fmt::format("tenant '{}' has a quota of {} twice", tenant.name, type.empty() ? "any GPUs" : type));
    tenant.quotas.push_back(std::move(quota));
  }

  /// Resolves the names of parents, and puts every parent before its children.
  void set_parents(const json& root) {
    if (error_) return;
    std::vector<Tenant>& tenants = tree_.tenants;
    std::map<std::string_view, std::uint32_t> numbers;
    for (std::uint32_t i = 0; i < tenants.size(); ++i)
      numbers.emplace(tenants[i].name, i);
    for (std::size_t i = 0; i < tenants.size(); ++i) {
      if (parents_[i].empty()) continue;
      const auto parent = numbers.find(parents_[i]);
      if (parent != numbers.end()) {
        tenants[i].parent = parent->second;
        continue;
      }
      const std::vector<std::string_view> names(tenant_names_.begin(), tenant_names_.end());
      return complain(root["tenants"][i], "parent",
                      with_guess(expected_found("the name of a tenant", parents_[i]), parents_[i], names));
    }
    std::vector<std::uint32_t> place(tenants.size());  // new one, once it has one
    std::vector<bool> placed(tenants.size());
    std::vector<bool> in_chain(tenants.size());
    std::vector<Tenant> ordered;
    for (std::uint32_t first = 0; first < tenants.size(); ++first) {
      std::vector<std::uint32_t> chain;
      for (std::optional<std::uint32_t> at = first; at && !placed[*at]; at = tenants[*at].parent) {
        if (in_chain[*at]) {
          std::string cycle;
          for (const std::uint32_t each : chain)
            cycle += fmt::format("'{}' below ", tenants[each].name);
          return complain(root["tenants"][*at], "parent",
                          fmt::format("expected a tree, found a cycle: {}'{}'", cycle, tenants[*at].name));
        }
        chain.push_back(*at);
        in_chain[*at] = true;
      }
      for (; !chain.empty(); chain.pop_back()) {
        Tenant tenant = tenants[chain.back()];
        if (tenant.parent) tenant.parent = place[*tenant.parent];
        place[chain.back()] = static_cast<std::uint32_t>(ordered.size());
        placed[chain.back()] = true;
        ordered.push_back(std::move(tenant));
      }
    }
    tenants = std::move(ordered);
  }

  void read_partition(const json& item) {
    JsonFields fields(document_, item);
    fields.allow_only(std::array<std::string_view, 6>{"name", "gpu_types", "tenants", "priority_tier",
                                                      "time_limit_s", "max_gpus"});
    Partition partition;
    partition.name = new_name(fields, partition_names_);
    partition.priority_tier = fields.integer_or("priority_tier", 0, kMostTier, 0);
    if (fields.has("time_limit_s"))
      partition.time_limit = to_sim_duration(Seconds(fields.number("time_limit_s", 1e-9, kMostSeconds)));
    partition.max_gpus = maybe_count(fields, "max_gpus");
    take(fields);
    for (const std::string& type : texts(item, "gpu_types")) {
      if (!error_) partition.gpu_types.push_back(known_type(item, "gpu_types", type));
    }
    partition.tenants = texts(item, "tenants");
    for (const std::string& tenant : partition.tenants) {
      if (!tenant_names_.contains(tenant))
        complain(item, "tenants", expected_found("names of tenants", tenant));
    }
    tree_.partitions.push_back(std::move(partition));
  }

  void read_qos(const json& item) {
    JsonFields fields(document_, item);
    fields.allow_only(std::array<std::string_view, 6>{"name", "priority", "preempts", "max_gpus",
                                                      "max_gpus_per_tenant", "max_gpus_per_user"});
    Qos qos;
    qos.name = new_name(fields, qos_names_);
    qos.priority = fields.integer_or("priority", -kMostTier, kMostTier, 0);
    qos.max_gpus = maybe_count(fields, "max_gpus");
    qos.max_gpus_per_tenant = maybe_count(fields, "max_gpus_per_tenant");
    qos.max_gpus_per_user = maybe_count(fields, "max_gpus_per_user");
    take(fields);
    qos.preempts = texts(item, "preempts");
    tree_.qos.push_back(std::move(qos));
  }

  /// Checks the QoS that QoS name: they may come later in the file.
  void check_preempts(const json& root) {
    for (std::size_t i = 0; i < tree_.qos.size() && !error_; ++i) {
      for (const std::string& name : tree_.qos[i].preempts) {
        if (!qos_names_.contains(name))
          complain(root["qos"][i], "preempts", expected_found("names of QoS", name));
      }
    }
  }

  const JsonDocument& document_;
  std::vector<std::string> types_;  ///< GPU types of the cluster
  TenantTree tree_;
  std::vector<std::string> parents_;  ///< [tenants]
  std::set<std::string> tenant_names_;
  std::set<std::string> partition_names_;
  std::set<std::string> qos_names_;
  std::optional<Error> error_;
};

}  // namespace

Result<TenantTree> parse_tenant_tree(std::string text, std::string file, const ClusterSpec& cluster) {
  const auto document = JsonDocument::parse(std::move(text), std::move(file));
  if (!document) return fail(document.error());
  return TenantFileReader(*document, cluster).read();
}

}  // namespace vtrain
