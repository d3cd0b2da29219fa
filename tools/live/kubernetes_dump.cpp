#include "tools/live/kubernetes_dump.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/base/names.hpp"
#include "core/base/strings.hpp"
#include "tools/live/kubernetes_readers.hpp"

namespace vtrain {
namespace {

using nlohmann::json;

constexpr int kMostListLevels = 4;

/// Reads the objects of one document into a state.
class DumpReader {
 public:
  DumpReader(const JsonDocument& document, LiveState& state)
      : document_(document), fields_(document), state_(state), all_(state.kubernetes) {}

  Result<void> read() {
    read_object(document_.root(), "", "", 0);
    if (fields_.error()) return fail(*fields_.error());
    return {};
  }

 private:
  struct Kind {
    std::string_view group;
    std::string_view name;
    void (DumpReader::*read)(const json& object);
  };
  static const std::array<Kind, 13> kKinds;

  /// Reads an object, or each of a list. Items of a list such as `NodeList` may lack kind and version.
  void read_object(const json& object, const std::string& list_kind, const std::string& list_version,
                   int level) {
    if (fields_.error()) return;
    if (!object.is_object()) return fields_.complain(object, "", "expected an object");
    kind_ = fields_.text(object, "kind");
    version_ = fields_.text(object, "apiVersion");
    if (kind_.empty()) kind_ = list_kind;
    if (version_.empty()) version_ = list_version;
    if (kind_.empty()) return fields_.complain(object, "kind", "missing");
    if (kind_.ends_with("List") && level < kMostListLevels) return read_list(object, level);
    const auto [group, version] = split_once(version_, '/');
    const std::string_view group_name = version ? group : "";
    const auto found = std::ranges::find_if(
        kKinds, [&](const Kind& each) { return each.name == kind_ && each.group == group_name; });
    if (found != kKinds.end()) {
      see_times(object);
      return (this->*found->read)(object);
    }
    state_.remark(group_name.empty()
                      ? fmt::format("objects of the kind {} are not read", kind_)
                      : fmt::format("objects of the kind {}, {}, are not read", kind_, group_name));
  }

  /// Notes times that have passed when the dump was made.
  void see_times(const json& object) {
    const auto see = [this](const json& in, std::string_view key) {
      const auto time = fields_.instant(in, key);
      if (time && (!all_.latest || *time > *all_.latest)) all_.latest = time;
    };
    see(fields_.object(object, "metadata"), "creationTimestamp");
    for (const json& each : fields_.objects(fields_.object(object, "status"), "conditions")) {
      see(each, "lastTransitionTime");
      see(each, "lastHeartbeatTime");
    }
  }

  void read_list(const json& list, int level) {
    const std::string kind = kind_ == "List" ? "" : kind_.substr(0, kind_.size() - 4);
    const std::string version = kind.empty() ? "" : version_;
    if (!KubernetesFields::has(list, "items")) return fields_.complain(list, "items", "missing");
    for (const json& each : fields_.objects(list, "items"))
      read_object(each, kind, version, level + 1);
  }

  /// True if an object is the first of its name; one that another dump has is counted, one that this dump has
  /// is an error.
  bool is_new(const json& object, const std::string& name_space, const std::string& name) {
    if (fields_.error()) return false;
    const std::string full = kueue::full_name(name_space, name);
    const std::string key = fmt::format("{} {} {}", version_.substr(0, version_.find('/')), kind_, full);
    if (!here_.insert(key).second) {
      fields_.complain(object["metadata"], "name", fmt::format("the {} '{}' stands twice", kind_, full));
      return false;
    }
    if (all_.known.insert(key).second) return true;
    state_.remark("objects that several files have: the first is taken");
    return false;
  }

  template <class Object>
  void add(std::vector<Object>& list, Object&& read, const json& object, const std::string& name_space,
           const std::string& name) {
    if (is_new(object, name_space, name)) list.push_back(std::forward<Object>(read));
  }

  void read_workload(const json& object) {
    constexpr std::string_view kVersions[] = {"kueue.x-k8s.io/v1beta1", "kueue.x-k8s.io/v1beta2"};
    if (std::ranges::find(kVersions, version_) == std::end(kVersions))
      return fields_.complain(object, "apiVersion",
                              expected_found("one of " + list_names(kVersions), version_));
    LiveWorkload read = read_kueue_workload(fields_, object);
    const std::string name_space = read.workload.name_space;
    const std::string name = read.workload.name;
    add(all_.workloads, std::move(read), object, name_space, name);
  }
  void add_job(LiveBatchJob&& read, const json& object) {
    const std::string name_space = read.name_space;
    const std::string name = read.name;
    add(all_.jobs, std::move(read), object, name_space, name);
  }
  void read_job(const json& object) { add_job(read_batch_job(fields_, object), object); }
  void read_set(const json& object) { add_job(read_job_set(fields_, object), object); }
  void add_group(LivePodGroup&& read, const json& object) {
    const std::string name_space = read.name_space;
    const std::string name = read.name;
    add(all_.pod_groups, std::move(read), object, name_space, name);
  }
  void read_volcano_group(const json& object) { add_group(read_volcano_pod_group(fields_, object), object); }
  void read_group(const json& object) { add_group(read_pod_group(fields_, object), object); }
  void read_gang(const json& object) {
    LiveGangWorkload read = read_gang_workload(fields_, object);
    const std::string name_space = read.name_space;
    const std::string name = read.name;
    add(all_.gang_workloads, std::move(read), object, name_space, name);
  }
  void read_node(const json& object) {
    LiveKubernetesNode read = read_kubernetes_node(fields_, object);
    const std::string name = read.name;
    add(all_.nodes, std::move(read), object, "", name);
  }

  /// Keeps an object whose meaning depends on those of other files.
  void keep_queue_object(const json& object) {
    const std::string name = read_name(fields_, object);
    const std::string name_space = kind_ == "LocalQueue" ? read_namespace(fields_, object) : "";
    const bool has_status = kind_ == "ClusterQueue" || kind_ == "LocalQueue";
    LiveQueueStatus status;
    if (has_status) status = read_queue_status(fields_, object, kind_);
    if (!is_new(object, name_space, name)) return;
    if (has_status) all_.queue_statuses.push_back(std::move(status));
    const Error place = document_.error_at(object, "", "");
    // Annotations often hold the object once more, and the status is read.
    json copy = object;
    copy["kind"] = kind_;
    copy["apiVersion"] = version_;
    copy.erase("status");
    for (const char* const key : {"annotations", "managedFields", "finalizers"})
      copy["metadata"].erase(key);
    all_.queue_objects.push_back(
        {.text = copy.dump(), .file = document_.file(), .line = place.line, .field = place.field});
  }

  const JsonDocument& document_;
  KubernetesFields fields_;
  LiveState& state_;
  KubernetesObjects& all_;
  std::string kind_;            ///< kind of the object that is read
  std::string version_;         ///< version of that object
  std::set<std::string> here_;  ///< objects of this dump
};

const std::array<DumpReader::Kind, 13> DumpReader::kKinds = {
    {{"kueue.x-k8s.io", "Workload", &DumpReader::read_workload},
     {"kueue.x-k8s.io", "ClusterQueue", &DumpReader::keep_queue_object},
     {"kueue.x-k8s.io", "LocalQueue", &DumpReader::keep_queue_object},
     {"kueue.x-k8s.io", "Cohort", &DumpReader::keep_queue_object},
     {"kueue.x-k8s.io", "ResourceFlavor", &DumpReader::keep_queue_object},
     {"kueue.x-k8s.io", "WorkloadPriorityClass", &DumpReader::keep_queue_object},
     {"", "Namespace", &DumpReader::keep_queue_object},
     {"", "Node", &DumpReader::read_node},
     {"batch", "Job", &DumpReader::read_job},
     {"jobset.x-k8s.io", "JobSet", &DumpReader::read_set},
     {"scheduling.volcano.sh", "PodGroup", &DumpReader::read_volcano_group},
     {"scheduling.k8s.io", "PodGroup", &DumpReader::read_group},
     {"scheduling.k8s.io", "Workload", &DumpReader::read_gang}}};

}  // namespace

bool is_kubernetes_dump(const JsonDocument& document) {
  const json& root = document.root();
  return root.is_object() && root.contains("kind") && (root.contains("apiVersion") || root.contains("items"));
}

Result<void> add_kubernetes_dump(const JsonDocument& document, LiveState& state) {
  return DumpReader(document, state).read();
}

}  // namespace vtrain
