/// Reviews of Kubernetes' API server, with a service that is a function.
#include "tools/serve/kubernetes_webhook.hpp"

#include <nlohmann/json.hpp>

#include <doctest/doctest.h>

#include "tools/serve/problem.hpp"

namespace vtrain::serve {
namespace {

using nlohmann::json;

/// Pods with some GPUs each.
json pod_template(const std::string& gpus) {
  return {
      {"spec", {{"containers", {{{"name", "c"}, {"resources", {{"limits", {{"nvidia.com/gpu", gpus}}}}}}}}}}};
}

/// A Job of four pods with eight GPUs each.
json batch_job(const json& annotations) {
  return {
      {"apiVersion", "batch/v1"},
      {"kind", "Job"},
      {"metadata",
       {{"name", "run-7"},
        {"namespace", "nlp"},
        {"annotations", annotations},
        {"creationTimestamp", "2026-11-28T17:00:00Z"},
        {"uid", "11-22"}}},
      {"spec", {{"parallelism", 4}, {"completions", 4}, {"suspend", true}, {"template", pod_template("8")}}}};
}

const json kAnnotations = {{"vtrain.dev/model", "model=llama2-7b global_batch=512 tokens=20B"},
                           {"vtrain.dev/deadline", "10d"}};

json review_of(const json& object, const std::string& group = "batch", const std::string& kind = "Job") {
  return {{"apiVersion", "admission.k8s.io/v1"},
          {"kind", "AdmissionReview"},
          {"request",
           {{"uid", "705ab4f5-6393-11e8-b7cc-42010a800002"},
            {"kind", {{"group", group}, {"version", "v1"}, {"kind", kind}}},
            {"operation", "CREATE"},
            {"namespace", "nlp"},
            {"object", object},
            {"oldObject", nullptr},
            {"dryRun", false}}}};
}

json accepted() {
  return {{"id", "17"},        {"state", "waiting"},    {"deadline", "2026-12-08T17:00:00Z"},
          {"promised", true},  {"run_time_s", 86400.0}, {"admitted", true},
          {"reason", nullptr}, {"time_limit_s", 97200}};
}

/// A webhook with a service that notes what it is asked and always answers alike.
struct Example {
  Response answer{.status = 201, .body = accepted().dump()};
  std::vector<Request> asked{};
  KubernetesWebhook webhook{[this](const Request& request) {
    asked.push_back(request);
    return answer;
  }};
  Caller caller{.tenant = "", .role = Role::Operate};

  Response send(const std::string& body) {
    Request request{.caller = caller, .body = body};
    request.head.method = "POST";
    request.head.path = "/v1/kubernetes/validate";
    return webhook.validate(request);
  }
  /// The response to a review, whose uid is checked.
  json review(const json& body) {
    const Response response = send(body.dump());
    REQUIRE(response.status == 200);
    const json answered = json::parse(response.body);
    CHECK(answered["apiVersion"] == "admission.k8s.io/v1");
    CHECK(answered["kind"] == "AdmissionReview");
    CHECK(answered["response"]["uid"] == body["request"]["uid"]);
    return answered["response"];
  }
  json submitted() const {
    REQUIRE(asked.size() == 1);
    return json::parse(asked[0].body);
  }
};

TEST_CASE("webhook: a Job with a model is submitted, and the answer has its promise") {
  Example example;
  const json response = example.review(review_of(batch_job(kAnnotations)));
  CHECK(response["allowed"] == true);
  CHECK(response["warnings"] == json{"vtrain: job 17 is promised to end by 2026-12-08T17:00:00Z"});
  CHECK(response["auditAnnotations"] == json{{"job", "17"}});
  CHECK(!response.contains("status"));
  // Four pods at a time with eight GPUs each are 32.
  CHECK(example.submitted() == json{{"model", "llama2-7b"},
                                    {"tokens", "20B"},
                                    {"global_batch", 512},
                                    {"deadline", "10d"},
                                    {"rigid", true},
                                    {"name", "nlp/job/run-7"},
                                    {"gpus", 32},
                                    {"tenant", "nlp"},
                                    {"dry_run", false}});
  const RequestHead& head = example.asked[0].head;
  CHECK(head.method == "POST");
  CHECK(head.path == "/v1/jobs");
  CHECK(head.content_type == "application/json");
  CHECK(head.idempotency_key == "705ab4f5-6393-11e8-b7cc-42010a800002");
}

TEST_CASE("webhook: a refused job is denied with its reason and the earliest deadline") {
  Example example;
  example.answer.body = json{{"id", "18"},
                             {"state", "refused"},
                             {"deadline", "2026-11-29T17:00:00Z"},
                             {"reason", "it would end after its deadline"},
                             {"earliest_deadline", "2026-12-01T09:00:00Z"}}
                            .dump();
  const json response = example.review(review_of(batch_job(kAnnotations)));
  CHECK(response["allowed"] == false);
  CHECK(response["status"] == json{{"status", "Failure"},
                                   {"message", "vtrain: it would end after its deadline"},
                                   {"reason", "Forbidden"},
                                   {"code", 403}});
  CHECK(response["warnings"] == json{"vtrain: the earliest deadline is 2026-12-01T09:00:00Z"});
}

TEST_CASE("webhook: a dry run is one of the service, too") {
  Example example;
  json review = review_of(batch_job(kAnnotations));
  review["request"]["dryRun"] = true;
  example.answer = {.status = 200, .body = R"({"answer": "yes", "sentence": "llama2-7b ends in 8 h"})"};
  json response = example.review(review);
  CHECK(example.submitted()["dry_run"] == true);
  CHECK(response["allowed"] == true);
  CHECK(response["warnings"] == json{"vtrain: llama2-7b ends in 8 h"});
  CHECK(!response.contains("auditAnnotations"));

  example.answer.body =
      R"({"answer": "no", "sentence": "no: too late", "changes": [{"change": "deadline", "earliest_deadline_s": 7200},
          {"change": "tokens"}]})";
  response = example.review(review);
  CHECK(response["allowed"] == false);
  CHECK(response["status"]["message"] == "vtrain: no: too late");
  CHECK(response["warnings"] == json{"vtrain: the earliest deadline is 2 h 00 m from now"});

  // Without a deadline there is no question.
  example.asked.clear();
  review["request"]["object"]["metadata"]["annotations"].erase("vtrain.dev/deadline");
  response = example.review(review);
  CHECK(response["allowed"] == true);
  CHECK(response["warnings"] == json{"vtrain: a dry run without a deadline is not decided on"});
  CHECK(example.asked.empty());
}

TEST_CASE("webhook: what is not for vtrain, or is no creation, is allowed untouched") {
  Example example;
  const json allowed = {{"uid", "705ab4f5-6393-11e8-b7cc-42010a800002"}, {"allowed", true}};
  CHECK(example.review(review_of(batch_job(json::object()))) == allowed);
  CHECK(example.review(review_of(batch_job({{"kueue.x-k8s.io/x", "y"}}))) == allowed);
  CHECK(example.review(review_of(batch_job(nullptr))) == allowed);
  for (const char* const operation : {"UPDATE", "DELETE", "CONNECT"}) {
    json review = review_of(batch_job(kAnnotations));
    review["request"]["operation"] = operation;
    if (review["request"]["operation"] == "DELETE") review["request"]["object"] = nullptr;
    CHECK(example.review(review) == allowed);
  }
  json status = review_of(batch_job(kAnnotations));
  status["request"]["subResource"] = "status";
  CHECK(example.review(status) == allowed);
  // Annotated, but not what is decided on: that is said.
  json response = example.review(review_of(batch_job(kAnnotations), "", "Pod"));
  CHECK(response["allowed"] == true);
  CHECK(response["warnings"][0] == "vtrain: a Pod is not decided on: annotate its Job, JobSet or Workload");
  json part = batch_job(kAnnotations);
  part["metadata"]["ownerReferences"] = {{{"apiVersion", "jobset.x-k8s.io/v1alpha2"},
                                          {"kind", "JobSet"},
                                          {"name", "all"},
                                          {"controller", true}}};
  response = example.review(review_of(part));
  CHECK(response["allowed"] == true);
  CHECK(response["warnings"][0] == "vtrain: part of JobSet all, so not decided on: annotate that");
  CHECK(example.asked.empty());
}

TEST_CASE("webhook: GPUs, types and times of Jobs, JobSets and Workloads") {
  Example example;
  SUBCASE("no more pods than a Job needs, of a type, elastic, without a deadline") {
    json job =
        batch_job({{"vtrain.dev/model", "model=llama2-7b iterations=100"}, {"vtrain.dev/elastic", "true"}});
    job["spec"]["completions"] = 2;
    job["spec"]["activeDeadlineSeconds"] = 3600;
    job["spec"]["template"]["spec"]["nodeSelector"] = {{"nvidia.com/gpu.product", "NVIDIA-H100-80GB-HBM3"}};
    json answer = accepted();
    answer["deadline"] = nullptr;
    answer["promised"] = false;
    example.answer.body = answer.dump();
    const json response = example.review(review_of(job));
    const json submitted = example.submitted();
    CHECK(submitted["gpus"] == 16);
    CHECK(submitted["gpu_type"] == "h100");
    CHECK(submitted["rigid"] == false);
    CHECK(!submitted.contains("deadline"));
    CHECK(!submitted.contains("global_batch"));
    CHECK(submitted["iterations"] == 100);
    CHECK(!submitted.contains("tokens"));
    CHECK(response["warnings"] ==
          json{"vtrain: job 17 runs without a promise: it has no deadline",
               "vtrain: its time limit of 1 h 00 m is below its predicted run time of 1 d 00 h"});
  }
  SUBCASE("a JobSet") {
    json set = batch_job(kAnnotations);
    set["spec"] = {{"replicatedJobs",
                    {{{"name", "workers"},
                      {"replicas", 2},
                      {"template", {{"spec", {{"parallelism", 3}, {"template", pod_template("4")}}}}}}}}};
    example.review(review_of(set, "jobset.x-k8s.io", "JobSet"));
    CHECK(example.submitted()["gpus"] == 24);
    CHECK(example.submitted()["name"] == "nlp/jobset/run-7");
  }
  SUBCASE("a Workload, whose name and time the server adds later") {
    json workload = batch_job(kAnnotations);
    workload["metadata"].erase("name");
    workload["metadata"]["generateName"] = "job-run-";
    workload["metadata"]["creationTimestamp"] = nullptr;
    workload["spec"] = {{"queueName", "train"},
                        {"podSets", {{{"name", "main"}, {"count", 5}, {"template", pod_template("8")}}}}};
    for (const char* const version : {"v1beta1", "v1beta2"}) {
      example.asked.clear();
      workload["apiVersion"] = std::string("kueue.x-k8s.io/") + version;
      example.review(review_of(workload, "kueue.x-k8s.io", "Workload"));
      CHECK(example.submitted()["gpus"] == 40);
      CHECK(example.submitted()["name"] == "nlp/job-run-");
    }
  }
  SUBCASE("annotations without effect are warnings") {
    json annotations = kAnnotations;
    annotations["vtrain.dev/model"] = "model=llama2-7b tokens=20B plan=tensor=8";
    annotations["vtrain.dev/dedline"] = "5d";
    const json response = example.review(review_of(batch_job(annotations)));
    REQUIRE(response["warnings"].size() == 3);
    CHECK(response["warnings"][1] == "vtrain: plan= has no effect here, the best plan is taken");
    CHECK(response["warnings"][2] ==
          "vtrain: the annotation vtrain.dev/dedline has no effect; did you mean 'vtrain.dev/deadline'?");
  }
}

TEST_CASE("webhook: a wrong object is denied with the place") {
  const auto message = [](const json& object) {
    Example example;
    const json response = example.review(review_of(object));
    CHECK(response["allowed"] == false);
    CHECK(response["status"]["code"] == 400);
    CHECK(example.asked.empty());
    return response["status"]["message"].get<std::string>();
  };
  CHECK(
      message(batch_job({{"vtrain.dev/deadline", "10d"}})).starts_with("vtrain: vtrain.dev/model: missing"));
  CHECK(message(batch_job({{"vtrain.dev/model", "model=lama2-7b tokens=1B"}}))
            .starts_with("vtrain: vtrain.dev/model: model: "));
  CHECK(message(batch_job({{"vtrain.dev/model", "model=llama2-7b"}}))
            .starts_with("vtrain: vtrain.dev/model: tokens: missing"));
  json job = batch_job(kAnnotations);
  job["metadata"]["annotations"]["vtrain.dev/elastic"] = "yes";
  CHECK(message(job) == "vtrain: vtrain.dev/elastic: expected true or false, found 'yes'");
  job = batch_job(kAnnotations);
  job["spec"]["template"] = pod_template("0");
  CHECK(message(job) == "vtrain: spec: expected whole GPUs in the requests of the pods, found none");
  job["spec"]["template"] = pod_template("-1");
  CHECK(message(job).find("spec.template.spec.containers[0].resources.limits") != std::string::npos);
  job = batch_job(kAnnotations);
  job.erase("spec");
  CHECK(message(job).starts_with("vtrain: spec: missing"));
  job = batch_job(kAnnotations);
  job["metadata"].erase("name");
  CHECK(message(job).starts_with("vtrain: metadata.name: missing"));
  job = batch_job(kAnnotations);
  job["spec"]["parallelism"] = "four";
  CHECK(message(job).starts_with("vtrain: spec.parallelism: "));
}

TEST_CASE("webhook: wrong reviews are denied where they say who asks, else a problem") {
  Example example;
  const auto denied = [&](json review) {
    const json response = example.review(review);
    CHECK(response["allowed"] == false);
    CHECK(response["status"]["code"] == 400);
  };
  json review = review_of(batch_job(kAnnotations));
  review["apiVersion"] = "admission.k8s.io/v1beta1";
  denied(review);
  review = review_of(batch_job(kAnnotations));
  review.erase("kind");
  denied(review);
  review = review_of(batch_job(kAnnotations));
  review["request"].erase("operation");
  denied(review);
  for (const json& object : {json(nullptr), json(5), json("text"), json::array()})
    denied(review_of(object));
  for (const char* const body :
       {"", "{", "[]", "5", "{}", R"({"request": 5})", R"({"request": {"uid": 5}})",
        R"({"request": {"uid": ""}})", R"({"request": {"uid": "a"}, "request": {}})"}) {
    CAPTURE(body);
    const Response response = example.send(body);
    CHECK(response.status == 400);
    CHECK(response.content_type == "application/problem+json");
  }
  CHECK(example.asked.empty());
}

TEST_CASE("webhook: problems of a submission are denials, troubles of the service stay errors") {
  Example example;
  const json review = review_of(batch_job(kAnnotations));
  example.answer = problem({.field = "deadline", .message = "expected a time in the future, found '-1d'"});
  json response = example.review(review);
  CHECK(response["allowed"] == false);
  CHECK(response["status"]["message"] ==
        "vtrain: vtrain.dev/deadline: expected a time in the future, found '-1d'");
  example.answer = problem({.kind = ErrorKind::Failed, .field = "gpus", .message = "no plan fits"});
  response = example.review(review);
  CHECK(response["status"]["code"] == 422);
  CHECK(response["status"]["message"] == "vtrain: GPUs of the pods: no plan fits");
  for (const Response& trouble : {busy(), problem(500, "no"), problem(429, "too many")}) {
    example.answer = trouble;
    CHECK(example.send(review.dump()).status == trouble.status);
  }
  example.answer = {.status = 201, .body = "no JSON"};
  CHECK(example.send(review.dump()).status == 500);
}

TEST_CASE("webhook: a token below the role operate has its own tenant") {
  Example example;
  example.caller = {.tenant = "research", .role = Role::Submit};
  example.review(review_of(batch_job(kAnnotations)));
  CHECK(!example.submitted().contains("tenant"));
  example.asked.clear();
  example.caller.role = Role::Operate;
  example.review(review_of(batch_job(kAnnotations)));
  CHECK(example.submitted()["tenant"] == "nlp");
}

}  // namespace
}  // namespace vtrain::serve
