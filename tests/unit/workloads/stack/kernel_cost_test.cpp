#include "workloads/stack/kernel_cost.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <stdexcept>

#include "core/io/input.hpp"
#include "core/profile/import.hpp"
#include "core/profile/surface_fit.hpp"
#include "tests/unit/workloads/plain_a100.hpp"

namespace vtrain {
namespace {

using testing::a100;

constexpr double kMebibyte = 1048576.0;

GpuProfile profile_of(const std::string& name) {
  return load_gpu_profile(name).value();
}

/// The profile without effects of a power limit, as in its tables.
GpuProfile in_bursts(GpuProfile profile) {
  profile.sustained_rate = profile.sustained_rate_fp8 = FlopsPerSecond(0);
  return profile;
}

double tflops(const AttentionShape& shape, Nanoseconds time, double products = 1) {
  const double flops = 2.0 * static_cast<double>(shape.heads) * static_cast<double>(shape.sequence) *
                       static_cast<double>(shape.queries) * static_cast<double>(shape.head_size);
  return products * flops / Seconds(time).count() / 1e12;
}

AttentionShape attention_shape(std::int64_t sequence, std::int64_t heads, std::int64_t head_size) {
  return {.sequence = sequence,
          .queries = sequence,
          .heads = heads,
          .head_size = head_size,
          .value_head_size = head_size};
}

TEST_CASE("kernel_cost: a modelled GEMM takes whole waves of tiles") {
  // 4096^3: 16 x 32 = 512 tiles of 256 x 128 in ceil(512 / 108) = 5 waves, so the busiest multiprocessor
  // computes 163,840 elements; no other tile does better (64 x 64: 38 waves x 4096 / 0.936 = 166,291). Each
  // element takes 4096 + 104 multiply-adds at 257e12 / 108 FLOP/s: 2 x 163,840 x 4200 / 2.37963e12 = 578.35
  // us, and 3 us of overhead.
  const auto time_of = [](const GemmShape& shape) {
    return modelled_gemm_time(a100(), Precision::Fp16, shape).time;
  };
  CHECK(time_of({4096, 4096, 4096}).count() == doctest::Approx(581'349.1).epsilon(1e-6));
  // One tile row more costs a whole wave more only when the last wave is full: 6 waves of 108 tiles hold 648.
  CHECK(time_of({26 * 256, 24 * 128, 4096}) == time_of({27 * 256, 24 * 128, 4096}));
  CHECK(time_of({28 * 256, 24 * 128, 4096}) > time_of({27 * 256, 24 * 128, 4096}));
  // Bound by memory: 2 (8192^2 + 8192 + 8192) bytes = 134,250,496 at 0.85 x 2039e9 B/s = 77.4604 us, and 3
  // us.
  CHECK(time_of({8192, 1, 8192}).count() == doctest::Approx(80'460.4).epsilon(1e-5));
}

TEST_CASE(
    "kernel_cost: attention to a window takes its share of the scores, and a fixed number for each token") {
  AttentionShape shape = attention_shape(4096, 128, 128);
  const auto forward = [&shape] {
    return attention_forward_time(a100(), AttentionKernel::Flash2, shape).time.count();
  };
  const auto backward = [&shape] {
    return attention_backward_time(a100(), AttentionKernel::Flash2, shape).time.count();
  };
  const double whole = forward();
  const double whole_backward = backward();
  shape.window = 4096;
  CHECK(forward() == whole);
  // Of 4096 / 2 scores a token on average, 128 - 128^2 / 8192 = 126 are in the window; 512 more.
  shape.window = 128;
  CHECK(forward() == doctest::Approx(whole * (126.0 + 512) / 2048));
  CHECK(backward() == doctest::Approx(whole_backward * (126.0 + 512) / 2048));
  // Never more than without.
  shape.window = 3000;
  CHECK(forward() == whole);
}

TEST_CASE("kernel_cost: without table and tile model a GEMM takes a part of its roofline") {
  GpuProfile profile = a100();
  profile.gemm = {};
  profile.tiles.rate = FlopsPerSecond(0);
  profile.tiles_fp32.rate = FlopsPerSecond(0);
  // 2 x 4096^3 at 312e12 FLOP/s = 440.5 us, over 0.75, and 3 us. A batch of 8 at half the peak.
  const KernelTime one = gemm_time(profile, Precision::Bf16, {4096, 4096, 4096});
  CHECK(one.time.count() == doctest::Approx(137'438'953'472.0 / 312e3 / 0.75 + 3000));
  CHECK(one.evidence == Evidence::Modelled);
  CHECK(gemm_time(profile, Precision::Bf16, {4096, 4096, 4096, 8}).time.count() ==
        doctest::Approx(8 * 137'438'953'472.0 / 312e3 / 0.5 + 3000));
  // No tensor cores for fp8: as bf16. For fp32 there are none at all: 19.5e12 FLOP/s.
  CHECK(gemm_time(profile, Precision::Fp8, {4096, 4096, 4096}).time == one.time);
  CHECK(gemm_time(profile, Precision::Fp32, {4096, 4096, 4096}).time.count() ==
        doctest::Approx(137'438'953'472.0 / 19.5e3 / 0.75 + 3000));
}

TEST_CASE("kernel_cost: single precision runs on CUDA cores, in tiles of its own") {
  // 4096^3: 512 tiles of 256 x 128 in ceil(512 / 108) = 5 waves, 163,840 elements on the busiest of 108
  // multiprocessors (128 x 64: 19 waves x 8192 / 0.82 = 189,815). Each takes 4096 + 6 multiply-adds
  // at 18.3e12 / 108 FLOP/s: 2 x 163,840 x 4102 / 169.444e9 = 7,932.7 us, and 3 us of overhead.
  const KernelTime time = gemm_time(a100(), Precision::Fp32, {4096, 4096, 4096});
  CHECK(time.time.count() == doctest::Approx(7'935'666).epsilon(1e-5));
  CHECK(time.evidence == Evidence::Modelled);
  CHECK(weight_gradient_time(a100(), Precision::Fp32, {4096, 4096, 4096}).time == time.time);
  // Several products at once take tiles of at least 128 x 128 on the A100: with 64 columns half of each is
  // idle. 24 x 16 tiles in 4 waves of 16,384 elements, 2048 + 6 deep: 1,588.8 us; NeuSight measured 1,555.
  CHECK(gemm_time(a100(), Precision::Fp32, {2048, 64, 2048, 24}).time.count() ==
        doctest::Approx(1'591'847).epsilon(1e-5));
  // On the H100 they do not: 24 products of 64 columns take half as long as 24 of 128.
  const GpuProfile h100 = profile_of("h100");
  const Nanoseconds narrow = gemm_time(h100, Precision::Fp32, {4096, 64, 4096, 48}).time;
  const Nanoseconds wide = gemm_time(h100, Precision::Fp32, {4096, 128, 4096, 48}).time;
  CHECK(narrow / wide == doctest::Approx(0.5).epsilon(0.05));
}

TEST_CASE("kernel_cost: attention both ways is twice the work of causal attention") {
  AttentionShape shape = attention_shape(4096, 128, 128);
  const Nanoseconds forward = attention_forward_time(a100(), AttentionKernel::Flash2, shape).time;
  const Nanoseconds backward = attention_backward_time(a100(), AttentionKernel::Flash2, shape).time;
  shape.is_bidirectional = true;
  CHECK(attention_forward_time(a100(), AttentionKernel::Flash2, shape).time.count() ==
        doctest::Approx(2 * forward.count()));
  CHECK(attention_backward_time(a100(), AttentionKernel::Flash2, shape).time.count() ==
        doctest::Approx(2 * backward.count()));
}

TEST_CASE("kernel_cost: a GEMM says what it rests on") {
  CHECK(gemm_time(a100(), Precision::Bf16, {4096, 4096, 4096}).evidence == Evidence::Measured);
  CHECK(gemm_time(a100(), Precision::Bf16, {4096, 4096, 4100}).evidence == Evidence::Interpolated);
  CHECK(gemm_time(a100(), Precision::Bf16, {65536, 4096, 4096}).evidence == Evidence::Extrapolated);
  CHECK(gemm_time(a100(), Precision::Bf16, {4096, 4096, 4096, 2}).evidence == Evidence::Modelled);
  CHECK(gemm_time(a100(), Precision::Fp16, {4096, 4096, 4096}).time ==
        gemm_time(a100(), Precision::Bf16, {4096, 4096, 4096}).time);
}

TEST_CASE("kernel_cost: a weight gradient is the permuted product and adds up in memory") {
  const KernelTime plain = gemm_time(a100(), Precision::Bf16, {6144, 2048, 8192});
  CHECK(weight_gradient_time(a100(), Precision::Bf16, {8192, 6144, 2048}).time.count() ==
        doctest::Approx(1.07 * plain.time.count()));
}

TEST_CASE("kernel_cost: a large product is no faster than the power limit allows") {
  const GpuProfile h100 = profile_of("h100");
  const GpuProfile h100_in_bursts = in_bursts(h100);
  // 2 x 16384 x 7168 x 8192 FLOPs at 720 TFLOP/s, and at 1,280 in fp8.
  const GemmShape large = {16384, 7168, 8192};
  const KernelTime half = gemm_time(h100, Precision::Bf16, large);
  CHECK(half.time.count() == doctest::Approx(1'924'145'348'608.0 / 720e3));
  CHECK(half.evidence == gemm_time(h100_in_bursts, Precision::Bf16, large).evidence);
  CHECK(gemm_time(h100_in_bursts, Precision::Bf16, large).time < half.time);
  CHECK(gemm_time(h100, Precision::Fp8, large).time.count() >= 1'924'145'348'608.0 / 1280e3);
  CHECK(modelled_gemm_time(h100, Precision::Bf16, large).time.count() ==
        doctest::Approx(1'924'145'348'608.0 / 720e3 + 3000));
  // With half of the multiprocessors the burst takes twice as long, which the limit does not reach.
  CHECK(gemm_time(h100, Precision::Bf16, large, 0.5).time.count() ==
        doctest::Approx(2 * gemm_time(h100_in_bursts, Precision::Bf16, large).time.count()));
  CHECK(gemm_time(h100, Precision::Bf16, large, 0.99).time == half.time);
  // A product that keeps few multiprocessors busy is not limited, nor is one on CUDA cores.
  for (const Precision precision : {Precision::Bf16, Precision::Fp8})
    CHECK(gemm_time(h100, precision, {512, 1024, 1024}).time ==
          gemm_time(h100_in_bursts, precision, {512, 1024, 1024}).time);
  CHECK(gemm_time(h100, Precision::Fp32, large).time ==
        gemm_time(h100_in_bursts, Precision::Fp32, large).time);
  // With less power the limit is lower.
  CHECK(gemm_time(profile_of("h100-500w"), Precision::Bf16, large).time.count() ==
        doctest::Approx(1'924'145'348'608.0 / 569e3));
}

TEST_CASE("kernel_cost: on Hopper products of the backward pass accumulate exactly in 8 bits") {
  const GemmShape forward = {8192, 6144, 2048};
  const GroupedGemmShape grouped{.rows = 8192, .n = 6144, .k = 2048, .num_experts = 8};
  const auto check = [&](const char* name, Precision precision, double factor) {
    CAPTURE(name);
    const GpuProfile profile = profile_of(name);
    const auto plain = [&](const GemmShape& shape) {
      return gemm_time(profile, precision, shape).time.count();
    };
    CHECK(input_gradient_time(profile, precision, forward).time.count() ==
          doctest::Approx(factor * plain({8192, 2048, 6144})));
    CHECK(weight_gradient_time(profile, precision, forward).time.count() ==
          doctest::Approx(1.07 * factor * plain({6144, 2048, 8192})));
    CHECK(
        grouped_input_gradient_time(profile, precision, grouped).time.count() ==
        doctest::Approx(factor * grouped_gemm_time(profile, precision, {8192, 2048, 6144, 8}).time.count()));
  };
  check("h100", Precision::Fp8, 1.15);
  check("h100", Precision::Bf16, 1);
  check("b200", Precision::Fp8, 1);
}

TEST_CASE("kernel_cost: experts with few rows waste tiles") {
  const GpuProfile h100 = profile_of("h100");
  // 4096 rows and 160 for each of 8 experts.
  const KernelTime one = gemm_time(h100, Precision::Bf16, {4096 + 8 * 160, 2048, 4096});
  const GroupedGemmShape shape{.rows = 4096, .n = 2048, .k = 4096, .num_experts = 8};
  CHECK(grouped_gemm_time(h100, Precision::Bf16, shape).time.count() == doctest::Approx(one.time.count()));
  // The weight gradients read and write 8 bytes for each of 8 x 2048 x 4096 weights at 0.85 x 3350e9 B/s.
  CHECK(grouped_weight_gradient_time(h100, Precision::Bf16, shape).time.count() ==
        doctest::Approx(one.time.count() + 8.0 * 67'108'864 / (0.85 * 3350)));
}

TEST_CASE("kernel_cost: more rows of experts take more time") {
  for (const char* name : {"a100", "h100", "gb200"}) {
    const GpuProfile profile = profile_of(name);
    Nanoseconds before(0);
    for (std::int64_t rows = 64; rows <= 65'536; rows *= 2) {
      const KernelTime time = grouped_gemm_time(profile, Precision::Bf16, {rows, 1'536, 2'048, 64});
      CHECK(time.time > before);
      before = time.time;
    }
  }
}

TEST_CASE("kernel_cost: memory kernels reach their fraction of the bandwidth") {
  // 2039e6 bytes take 1 ms at full bandwidth.
  const Bytes traffic(2039e6);
  CHECK(memory_kernel_time(a100(), MemoryKernel::Elementwise, traffic, 1).count() ==
        doctest::Approx(1e6 / 0.85 + 3000));
  CHECK(memory_kernel_time(a100(), MemoryKernel::LayerNorm, traffic, 4).count() ==
        doctest::Approx(1e6 / 0.55 + 12000));
}

TEST_CASE("kernel_cost: kernels that do not vectorise are bound by elements or by traffic") {
  GpuProfile profile = a100();
  profile.memory_bandwidth = BytesPerSecond(1e12);
  profile.elementwise_efficiency = 0.5;
  profile.num_multiprocessors = 100;
  profile.strided_element_rate = 1e9;
  profile.kernel_overhead = Nanoseconds(3000);
  // 2e9 elements pass at 1e11 a second: 20 ms. Their 4e9 bytes at 5e11 a second take 8 ms, 1e9 elements of 6
  // bytes in the other kernels 12 ms.
  EagerWork work{.strided_passes = 2, .strided_traffic = 2, .traffic = 6, .num_kernels = 4};
  CHECK(eager_kernel_time(profile, 1e9, work).count() == doctest::Approx(20e6 + 12e6 + 4 * 3000));
  work.strided_traffic = 8;  // 16e9 bytes: 32 ms
  CHECK(eager_kernel_time(profile, 1e9, work).count() == doctest::Approx(32e6 + 12e6 + 4 * 3000));
  work.strided_traffic = 2;
  profile.strided_element_rate = 0;  // unknown: traffic alone
  CHECK(eager_kernel_time(profile, 1e9, work).count() == doctest::Approx(8e6 + 12e6 + 4 * 3000));
}

TEST_CASE("kernel_cost: attention of a generation without a table runs like the nearest older one") {
  const AttentionShape shape = attention_shape(4096, 64, 128);
  const KernelTime flash2 = attention_forward_time(a100(), AttentionKernel::Flash2, shape);
  const KernelTime flash3 = attention_forward_time(a100(), AttentionKernel::Flash3, shape);
  CHECK(flash2.evidence == Evidence::Measured);
  CHECK(flash3.time == flash2.time);
  CHECK(flash3.evidence == Evidence::Modelled);
  // Only the third generation was measured on Blackwell.
  const GpuProfile b200 = profile_of("b200");
  CHECK(attention_forward_time(b200, AttentionKernel::Flash1, shape).time ==
        attention_forward_time(b200, AttentionKernel::Flash3, shape).time);
  CHECK_THROWS_AS(attention_forward_time(a100(), AttentionKernel::Unfused, shape), std::logic_error);
}

TEST_CASE("kernel_cost: attention over a split sequence does its share of the products") {
  // A quarter of the queries of 16384 tokens: the rate at 4096, a quarter of the FLOPs of 16384^2.
  const AttentionShape whole = attention_shape(4096, 32, 128);
  AttentionShape split = whole;
  split.sequence = 16384;
  CHECK(attention_forward_time(a100(), AttentionKernel::Flash2, split).time.count() ==
        doctest::Approx(4 * attention_forward_time(a100(), AttentionKernel::Flash2, whole).time.count()));
}

TEST_CASE("kernel_cost: latent attention is slower per product") {
  AttentionShape latent = attention_shape(4096, 32, 128);
  const KernelTime plain = attention_forward_time(a100(), AttentionKernel::Flash2, latent);
  const KernelTime plain_backward = attention_backward_time(a100(), AttentionKernel::Flash2, latent);
  latent.head_size = 192;
  // (192 + 128) / (128 + 128) of the FLOPs at 0.95 and 0.75 of the rate.
  CHECK(attention_forward_time(a100(), AttentionKernel::Flash2, latent).time.count() ==
        doctest::Approx(plain.time.count() * 1.25 / 0.95));
  CHECK(attention_backward_time(a100(), AttentionKernel::Flash2, latent).time.count() ==
        doctest::Approx(plain_backward.time.count() * 1.25 / 0.75));
}

TEST_CASE("kernel_cost: collectives come from tables within a node and from link rates beyond") {
  GpuProfile profile = a100();
  profile.collectives.set(Collective::AllReduce, 8, MessageTable({{64 * kMebibyte, 579'600}}));
  const Bytes size(64 * kMebibyte);
  CHECK(collective_time(profile, Collective::AllReduce, {1, 1}, size, Libraries::Current).time.count() == 0);
  CHECK(collective_time(profile, Collective::AllReduce, {8, 8}, size, Libraries::Current).time.count() ==
        579'600);
  // 16 GPUs on two nodes: 2 x 15 / 16 x 64 MiB at 0.85 x 200e9 B/s, and 30 steps of 5 us.
  CHECK(collective_time(profile, Collective::AllReduce, {16, 8}, size, Libraries::Current).time.count() ==
        doctest::Approx(1.875 * 67'108'864 / 170 + 150'000));
  // 2 x 8 are two nodes, where two groups share 170e9 B/s. A tree between two nodes takes less than a ring of
  // 2 x 7 / 8 x 64 MiB: once 64 MiB at 85e9 B/s, 2 x 3 / 4 x 64 MiB at 240e9 B/s within a node, 14 steps.
  CHECK(collective_time(profile, Collective::AllReduce, {8, 4}, size, Libraries::Current).time.count() ==
        doctest::Approx(67'108'864.0 / 85 + 1.5 * 67'108'864 / 240 + 70'000));
  CHECK(collective_time(profile, Collective::AllReduce, {8, 4}, size, Libraries::Current).evidence ==
        Evidence::Modelled);
  // No faster than NVLink, 0.8 x 300e9 B/s, however fast the network.
  profile.node_network_bandwidth = BytesPerSecond(1e13);
  CHECK(collective_time(profile, Collective::AllReduce, {16, 8}, size, Libraries::Current).time.count() ==
        doctest::Approx(1.875 * 67'108'864 / 240 + 150'000));
  // Nothing measured: a ring over NVLink.
  profile.collectives = {};
  CHECK(collective_time(profile, Collective::AllGather, {4, 8}, size, Libraries::Current).time.count() ==
        doctest::Approx(0.75 * 67'108'864 / 240 + 15'000));
}

TEST_CASE("kernel_cost: old libraries take tables of their own within a node, where there are any") {
  GpuProfile profile = a100();
  profile.collectives.set(Collective::AllReduce, 8, MessageTable({{64 * kMebibyte, 579'600}}));
  profile.old_collectives = {};
  const auto time = [&](Libraries libraries, GpuGroup group) {
    return collective_time(profile, Collective::AllReduce, group, Bytes(64 * kMebibyte), libraries)
        .time.count();
  };
  CHECK(time(Libraries::Old, {8, 8}) == 579'600);
  profile.old_collectives.set(Collective::AllReduce, 8, MessageTable({{64 * kMebibyte, 612'300}}));
  CHECK(time(Libraries::Old, {8, 8}) == 612'300);
  CHECK(time(Libraries::Current, {8, 8}) == 579'600);
  CHECK(time(Libraries::Old, {16, 8}) == time(Libraries::Current, {16, 8}));
  // Smaller and larger messages than were measured are left to the current libraries.
  profile.old_collectives.set(Collective::AllReduce, 8, MessageTable({{128 * kMebibyte, 1'200'000}}));
  CHECK(time(Libraries::Old, {8, 8}) == 579'600);
}

TEST_CASE("kernel_cost: old rings between nodes pay for their way to the adapter") {
  // Groups over four nodes or more of 8 GPUs. 2 x (n - 1) / n of 64 MiB at the members' share of 170e9 B/s.
  const auto time = [](Libraries libraries, GpuGroup group) {
    return collective_time(a100(), Collective::AllReduce, group, Bytes(64 * kMebibyte), libraries)
        .time.count();
  };
  const auto ring = [](double size, double share) {
    return 2 * (size - 1) / size * 67'108'864 / (170 * share);
  };
  const auto latency = [](double size) { return 2 * (size - 1) * 5'000; };
  // Members side by side, 2 and 4 apart, and one a node.
  CHECK(time(Libraries::Old, {32, 8}) == doctest::Approx(ring(32, 1) + latency(32)));
  CHECK(time(Libraries::Old, {16, 4}) == doctest::Approx(1.5 * ring(16, 0.5) + latency(16)));
  CHECK(time(Libraries::Old, {8, 2}) == doctest::Approx(1.5 * ring(8, 0.25) + latency(8)));
  CHECK(time(Libraries::Old, {4, 1}) == doctest::Approx(ring(4, 0.125) + latency(4)));
  for (const GpuGroup group : {GpuGroup{32, 8}, {16, 4}, {8, 2}, {4, 1}}) {
    const auto members = static_cast<double>(group.per_node);
    const auto size = static_cast<double>(group.size);
    CHECK(time(Libraries::Current, group) == doctest::Approx(ring(size, members / 8) + latency(size)));
  }
  // Every member of a domain larger than a node has an adapter beside it.
  const GpuProfile gb200 = load_gpu_profile("gb200").value();
  const auto of_rack = [&gb200](Libraries libraries) {
    return collective_time(gb200, Collective::AllReduce, {36, 9}, Bytes(64 * kMebibyte), libraries)
        .time.count();
  };
  CHECK(of_rack(Libraries::Old) == of_rack(Libraries::Current));
}

TEST_CASE("kernel_cost: a send takes NVLink within a node and a share of the network beyond") {
  const Bytes activations(80 * kMebibyte);
  // 0.7 x 300e9 B/s, or an eighth of 0.85 x 200e9 B/s, and 20 us.
  CHECK(send_time(a100(), true, activations).time.count() == doctest::Approx(83'886'080 / 210.0 + 20'000));
  CHECK(send_time(a100(), false, activations).time.count() == doctest::Approx(83'886'080 / 21.25 + 20'000));
}

/// The profile with its tables fitted again to the published ones, without rounding or thinning; nothing if
/// they are absent.
std::optional<GpuProfile> full_profile(const std::string& name, const std::string& folder,
                                       const std::vector<std::string>& gemm_files) {
  namespace fs = std::filesystem;
  const fs::path tables = fs::path(VTRAIN_SHARED_DIR "/data/kernel_tables/aiconfigurator") / folder;
  if (!fs::exists(tables)) return std::nullopt;
  std::vector<std::vector<GemmSample>> stacks;
  for (const std::string& file : gemm_files) {
    stacks.push_back(
        parse_gemm_table(read_file(tables / file, InputKind::KernelTable).value(), file).value());
  }
  GpuProfile profile = profile_of(name);
  for (std::size_t i = 0; i < kNumPrecisions; ++i) {
    const auto precision = static_cast<Precision>(i);
    if (profile.gemm[i] == nullptr || precision == Precision::Fp16) continue;
    profile.gemm[i] =
        std::make_shared<const KernelSurface>(fit_gemm(profile, precision, stacks).value().surface);
  }
  return profile;
}

struct GemmCase {
  const char* profile;
  const char* folder;
  std::vector<std::string> files;
  Precision precision;
  GemmShape shape;
  double milliseconds;
};

TEST_CASE("kernel_cost: GEMMs as a second implementation computed them from the published tables") {
  const std::vector<std::string> a100_files = {"gemm_perf__sglang_0.5.10.csv.gz",
                                               "gemm_perf__vllm_0.14.0.csv.gz"};
  const std::vector<std::string> files = {"gemm_perf__trtllm_1.3.0rc20.csv.gz",
                                          "gemm_perf__vllm_0.24.0.csv.gz"};
  const std::vector<GemmCase> cases = {
      {"a100", "a100_sxm", a100_files, Precision::Bf16, {8192, 15360, 5120}, 4.7801},
      {"a100", "a100_sxm", a100_files, Precision::Bf16, {65536, 8192, 2048}, 8.5436},
      {"h100", "h100_sxm", files, Precision::Bf16, {16384, 28672, 8192}, 10.0372},
      {"h100", "h100_sxm", files, Precision::Fp8, {8192, 13312, 16384}, 2.5834},
      {"b200", "b200_sxm", files, Precision::Fp8, {16384, 28672, 4096}, 1.3503},
      {"gb200", "gb200", files, Precision::Fp4, {8192, 26624, 16384}, 1.6315}};
  for (const GemmCase& test : cases) {
    CAPTURE(test.profile);
    const double expected = test.milliseconds * 1e6;
    const GpuProfile profile = in_bursts(profile_of(test.profile));
    const KernelTime embedded = gemm_time(profile, test.precision, test.shape);
    CHECK(embedded.time.count() == doctest::Approx(expected).epsilon(5e-4));
    const auto full = full_profile(test.profile, test.folder, test.files);
    if (!full) {
      MESSAGE("skipped: published tables absent");
      continue;
    }
    // To half a unit of the last of the digits given.
    CHECK(std::abs(gemm_time(in_bursts(*full), test.precision, test.shape).time.count() - expected) < 51);
  }
}

TEST_CASE("kernel_cost: attention as a second implementation computed it from the published tables") {
  const GpuProfile h100 = profile_of("h100");
  const GpuProfile gb200 = profile_of("gb200");
  const auto rate = [](const GpuProfile& profile, AttentionKernel kernel, const AttentionShape& shape) {
    return tflops(shape, attention_forward_time(profile, kernel, shape).time);
  };
  const AttentionShape short_shape = attention_shape(2048, 64, 128);
  const AttentionShape long_shape = attention_shape(8192, 32, 128);
  const AttentionShape small_heads = attention_shape(2048, 64, 64);
  CHECK(std::abs(rate(a100(), AttentionKernel::Flash2, short_shape) - 149) < 0.5);
  CHECK(std::abs(rate(a100(), AttentionKernel::Flash1, long_shape) - 101) < 0.5);
  CHECK(std::abs(rate(h100, AttentionKernel::Flash3, long_shape) - 594) < 0.5);
  CHECK(std::abs(rate(h100, AttentionKernel::Flash2, long_shape) - 320) < 0.5);
  CHECK(std::abs(rate(gb200, AttentionKernel::Flash3, long_shape) - 1080) < 0.5);
  CHECK(std::abs(rate(a100(), AttentionKernel::Flash2, small_heads) - 119) < 0.5);
}

TEST_CASE("kernel_cost: collectives as a second implementation computed them from the published tables") {
  const auto milliseconds = [](const char* profile, Collective collective, GpuGroup group, double bytes) {
    return collective_time(profile_of(profile), collective, group, Bytes(bytes), Libraries::Current)
               .time.count() /
           1e6;
  };
  const auto close = [](double value, double expected) { return std::abs(value - expected) < 5.1e-5; };
  CHECK(close(milliseconds("h100", Collective::AllGather, {8, 8}, 134'217'728), 0.3928));
  CHECK(close(milliseconds("h100", Collective::ReduceScatter, {4, 8}, 67'108'864), 0.1946));
  CHECK(close(milliseconds("a100", Collective::AllGather, {64, 8}, 4e8), 2.6312));
  CHECK(close(milliseconds("h100", Collective::ReduceScatter, {128, 8}, 1.2e9), 4.1368));
  CHECK(close(milliseconds("gb200", Collective::AllGather, {64, 64}, 5e8), 0.8733));
  CHECK(close(milliseconds("a100", Collective::AllReduce, {8, 8}, 33'554'432), 0.3670));
}

}  // namespace
}  // namespace vtrain
