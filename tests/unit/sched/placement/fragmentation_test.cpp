#include "sched/placement/fragmentation.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/io/input.hpp"
#include "sched/placement/placement.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {
namespace {

/// The free GPUs of a node in a golden file, split into whole GPUs and parts.
struct ListedNode {
  std::int64_t cpu_milli = 0;
  std::vector<std::int16_t> gpus;

  NodeRoom room(std::vector<std::int16_t>& parts) const {
    NodeRoom room{.cpu_milli = cpu_milli};
    parts.clear();
    for (const std::int16_t gpu : gpus) {
      if (gpu == kWholeGpu) {
        ++room.whole_gpus;
      } else {
        parts.push_back(gpu);
      }
    }
    room.parts = parts;
    return room;
  }
};

double fragmentation_of(const ListedNode& node, const std::vector<TypicalSize>& sizes) {
  std::vector<std::int16_t> parts;
  const NodeRoom room = node.room(parts);
  return fragmentation(room, sizes);
}

}  // namespace

TEST_CASE("fragmentation: what is free and of no use, size by size") {
  // Half of the jobs need 600 of one GPU, half need two whole ones.
  const std::vector<TypicalSize> sizes = {{.num_gpus = 1, .gpu_share = 600, .types = {0}, .frequency = 0.5},
                                          {.num_gpus = 2, .types = {0}, .frequency = 0.5}};
  const std::vector<std::int16_t> parts = {500, 700};
  // For 600: 500 is too little, 700 and the whole GPU are not. For two whole ones: of no use at all.
  CHECK(fragmentation({.type = 0, .whole_gpus = 1, .parts = parts}, sizes) == 0.5 * 500 + 0.5 * 2200);
  // With two whole GPUs the parts are too little for the second size.
  CHECK(fragmentation({.type = 0, .whole_gpus = 2, .parts = parts}, sizes) == 0.5 * 500 + 0.5 * 1200);
  // No job may use this type.
  CHECK(fragmentation({.type = 1, .whole_gpus = 2, .parts = parts}, sizes) == 3200);
  CHECK(fragmentation({.type = 0, .whole_gpus = 2}, sizes) == 0);
}

TEST_CASE("fragmentation: typical sizes are the most frequent ones, ten at a time up to 60 %") {
  Workload workload;
  const auto add = [&workload](int count, std::int32_t num_gpus, std::int16_t gpu_share) {
    for (int i = 0; i < count; ++i) {
      Job job;
      job.num_gpus = GpuCount(num_gpus);
      job.gpu_share = gpu_share;
      workload.jobs.push_back(job);
    }
  };
  const GpuTypes types(*ClusterSpec::parse("2x8:a100+2x8:v100"), workload.gpu_types);
  CHECK(typical_sizes(workload, types).empty());
  // 50 of one size and 50 sizes with one job each: ten sizes have 59 of the 100 jobs, twenty 69.
  add(50, 8, 1000);
  for (std::int16_t share = 1; share <= 50; ++share)
    add(1, 1, share);
  const auto sizes = typical_sizes(workload, types);
  REQUIRE(sizes.size() == 20);
  CHECK(sizes[0].num_gpus == 8);
  CHECK(sizes[0].frequency == 50.0 / 69);
  CHECK(sizes[0].types == std::vector<std::uint32_t>{0, 1});
  CHECK(sizes[1].gpu_share == 1);
  CHECK(sizes[19].gpu_share == 19);
  CHECK(sizes[19].frequency == 1.0 / 69);
}

TEST_CASE("fragmentation: the change by a gang on part of a GPU, and by several") {
  std::vector<std::int16_t> left;
  const std::vector<std::int16_t> parts = {200, 500, 500};
  const NodeRoom room{.whole_gpus = 2, .parts = parts};
  const NodeRoom one = room_after(room, GpuCount(1), 300, 500, left);
  CHECK(left == std::vector<std::int16_t>{200, 200, 500});
  CHECK(one.whole_gpus == 2);
  const NodeRoom whole = room_after(room, GpuCount(1), 300, kWholeGpu, left);
  CHECK(left == std::vector<std::int16_t>{200, 500, 500, 700});
  CHECK(whole.whole_gpus == 1);
  const NodeRoom three = room_after(room, GpuCount(3), 300, 0, left);
  CHECK(left == std::vector<std::int16_t>{200, 200, 200, 700});
  CHECK(three.whole_gpus == 1);
}

TEST_CASE("fragmentation: equals the known answers of FGD, and so does its change by every candidate") {
  const std::string path = std::string(VTRAIN_SHARED_DIR) + "/algorithms/golden/micro/micro.json";
  const auto text = read_file(path, InputKind::Trace);
  if (!text) {
    MESSAGE("skipped: " << path << " absent");
    return;
  }
  const nlohmann::json golden = nlohmann::json::parse(*text).at("fgd");
  std::vector<TypicalSize> sizes;
  for (const auto& pod : golden.at("typical_pods")) {
    sizes.push_back({.num_gpus = pod.at("num"),
                     .gpu_share = pod.at("gpu"),
                     .cpu_milli = pod.at("cpu"),
                     .types = {0},
                     .frequency = pod.at("freq")});
  }
  std::vector<ListedNode> nodes;
  for (const auto& node : golden.at("nodes"))
    nodes.push_back({node.at("cpu"), node.at("gpu").get<std::vector<std::int16_t>>()});
  REQUIRE(nodes.size() == golden.at("frag_milli").size());
  for (std::size_t i = 0; i < nodes.size(); ++i)
    CHECK(fragmentation_of(nodes[i], sizes) ==
          doctest::Approx(golden.at("frag_milli")[i].get<double>()).epsilon(1e-12));

  int num_candidates = 0;
  for (const auto& placement : golden.at("placements")) {
    const auto& pod = placement.at("request");
    const GangRequest request{.num_gpus = GpuCount(pod.at("num").get<std::int32_t>()),
                              .gpu_share = pod.at("gpu").get<std::int16_t>()};
    for (const auto& candidate : placement.at("candidates")) {
      const ListedNode& node = nodes[candidate.at("node").get<std::size_t>()];
      const std::int16_t part = node.gpus[candidate.at("gpus")[0].get<std::size_t>()];
      std::vector<std::int16_t> parts;
      std::vector<std::int16_t> left;
      NodeRoom after = room_after(node.room(parts), request.num_gpus, request.gpu_share, part, left);
      after.cpu_milli -= pod.at("cpu").get<std::int64_t>();
      const double growth = fragmentation(after, sizes) - fragmentation_of(node, sizes);
      CHECK(growth == doctest::Approx(candidate.at("delta_frag").get<double>()).epsilon(1e-12));
      ++num_candidates;
    }
  }
  CHECK(num_candidates == 38);
}

}  // namespace vtrain
