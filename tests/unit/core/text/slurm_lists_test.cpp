#include "core/text/slurm_lists.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using vtrain::SlurmGpus;

namespace {

std::string gpus(const vtrain::Result<std::vector<SlurmGpus>>& parsed) {
  if (!parsed) return parsed.error().message;
  std::string text;
  for (const SlurmGpus& part : *parsed)
    text += (text.empty() ? "" : " ") + std::string(part.type) + ":" + std::to_string(part.count);
  return text;
}

std::string hosts(const std::string& list, std::size_t most = 100) {
  const auto names = vtrain::expand_host_list(list, most);
  if (!names) return names.error().message;
  std::string text;
  for (const std::string& name : *names)
    text += (text.empty() ? "" : " ") + name;
  return text;
}

}  // namespace

TEST_CASE("slurm_lists: lists of generic resources") {
  CHECK(gpus(vtrain::parse_gres("gpu:8")) == ":8");
  CHECK(gpus(vtrain::parse_gres("gpu")) == ":1");
  CHECK(gpus(vtrain::parse_gres("gpu:a100:8(S:0-1)")) == "a100:8");
  CHECK(gpus(vtrain::parse_gres("gres:gpu:h100:4")) == "h100:4");
  CHECK(gpus(vtrain::parse_gres("gres/gpu:h100:4")) == "h100:4");
  CHECK(gpus(vtrain::parse_gres("gpu:a100:no_consume:2")) == "a100:2");
  CHECK(gpus(vtrain::parse_gres("gpu:1080:2")) == "1080:2");
  CHECK(gpus(vtrain::parse_gres("gres/gpu=2,gres/gpu:a100=4")) == ":2 a100:4");
  CHECK(gpus(vtrain::parse_gres("gpu:3g.20gb")) == "3g.20gb:1");
  CHECK(gpus(vtrain::parse_gres("gpu:no_consume:2")) == ":2");
  CHECK(gpus(vtrain::parse_gres("craynetwork:4,gpu:a100:4(S:0,3),gpu:v100:2,gpu:a100:1,shard:16")) ==
        "a100:5 v100:2");
  CHECK(gpus(vtrain::parse_gres("(null)")).empty());
  CHECK(gpus(vtrain::parse_gres("")).empty());
  CHECK(gpus(vtrain::parse_gres("gpu:a100:0")).empty());
  CHECK(gpus(vtrain::parse_gres("gpu:a:b:1")) == "expected GPUs as gpu:a100:8, found 'gpu:a:b:1'");
  CHECK(gpus(vtrain::parse_gres("gpu:3000000000")).starts_with("expected a whole number"));
}

TEST_CASE("slurm_lists: requests say for what they count") {
  const auto request = vtrain::parse_gres_request(
      "gpu:8,shard:2 PER_NODE:gpu:SUPER_4:2,gpu:1,PER_JOB:gpu:1 PER_SOCKET:gpu:a100:1");
  REQUIRE(request.has_value());
  CHECK(gpus(request->per_job) == ":9");
  CHECK(gpus(request->per_node) == "SUPER_4:2 :1");
  CHECK(request->has_others);
  CHECK_FALSE(vtrain::parse_gres_request("PER_TASK:shard:1")->has_others);
  CHECK(vtrain::parse_gres_request("PER_").has_value());
  CHECK_FALSE(vtrain::parse_gres_request("PER_NODE:gpu:a:b:1").has_value());
}

TEST_CASE("slurm_lists: parts of GPUs") {
  for (const char* text : {"gres/shard=2", "cpu=1,gres/mps:v100=50", "shard:2(S:0)", "gpu:0,mps:100"}) {
    CAPTURE(text);
    CHECK(vtrain::names_gpu_shares(text));
  }
  for (const char* text : {"", "gres/shard=0", "shard:0", "sharded:2", "gpu:8", "cpu=4"}) {
    CAPTURE(text);
    CHECK_FALSE(vtrain::names_gpu_shares(text));
  }
}

TEST_CASE("slurm_lists: lists of trackable resources") {
  CHECK(gpus(vtrain::parse_tres("cpu=1,gres/gpu=8,gres/gpu:a100=8,gres/gpumem=1G")) == "a100:8");
  CHECK(gpus(vtrain::parse_tres("billing=8000,gres/gpu:mi100=6,gres/gpu:mi50=2,gres/gpu=8")) ==
        "mi100:6 mi50:2");
  CHECK(gpus(vtrain::parse_tres("cpu=1,gres/gpu=8")) == ":8");
  CHECK(gpus(vtrain::parse_tres("cpu=1")).empty());
  CHECK(gpus(vtrain::parse_tres("gres/gpu:a100=4,gres/gpu:v100=0,gres/gpu=4")) == "a100:4");
  // Slurm counts the types that it was told to; the others are in the plain entry alone.
  CHECK(gpus(vtrain::parse_tres("gres/gpu=4,gres/gpu:a100=1")) == "a100:1 :3");
  CHECK(gpus(vtrain::parse_tres("gres/gpu=x")).starts_with("expected a whole number"));
}

TEST_CASE("slurm_lists: lists of hosts") {
  CHECK(hosts("login") == "login");
  CHECK(hosts("gpu[001-003,08],login") == "gpu001 gpu002 gpu003 gpu08 login");
  CHECK(hosts("gpu[9-11]") == "gpu9 gpu10 gpu11");
  CHECK(hosts("r[1-2]n[1-2]-ib") == "r1n1-ib r1n2-ib r2n1-ib r2n2-ib");
  CHECK(hosts("").empty());
  for (const char* bad : {"gpu[1-2", "gpu[]", "gpu[a-b]", "gpu[1-]", "gpu[1-9999999999]"}) {
    CAPTURE(bad);
    CHECK(hosts(bad).starts_with("expected a list of hosts as gpu[001-004,8],login, found '"));
  }
  CHECK(hosts("gpu[3-1]").starts_with("expected ascending ranges of at most 100 hosts"));
  CHECK(hosts("gpu[0-100]").starts_with("expected ascending ranges of at most 100 hosts"));
  CHECK(hosts("a[0-9]b[0-9]c[0-1]").starts_with("expected ascending ranges of at most 100 hosts"));
  CHECK(hosts("a[1-60],b[1-60]").starts_with("expected at most 100 hosts"));
  CHECK(hosts(std::string(300, 'x') + "[1-2]").starts_with("expected a list of hosts"));
}
