// Any bytes as a review of Kubernetes give an answer with the uid of the review, or a problem of the client.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "tools/serve/kubernetes_webhook.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using vtrain::serve::Request;
  using vtrain::serve::Response;
  const vtrain::serve::KubernetesWebhook webhook([](const Request& submission) {
    if (!nlohmann::json::parse(submission.body).is_object()) std::abort();
    return Response{.status = 201,
                    .body = R"({"id": "17", "state": "waiting", "deadline": null, "promised": false,
      "run_time_s": 60.0, "admitted": true, "reason": null, "time_limit_s": 120})"};
  });
  Request request{.body = std::string(reinterpret_cast<const char*>(data), size)};
  const Response response = webhook.validate(request);
  const auto answer = nlohmann::json::parse(response.body);
  constexpr int kFirstOfServer = 500;
  if (response.status == 200) {
    const auto review = nlohmann::json::parse(request.body);
    if (answer.at("response").at("uid") != review.at("request").at("uid")) std::abort();
    if (!answer["response"].at("allowed").is_boolean()) std::abort();
  } else if (response.status >= kFirstOfServer || answer.at("detail").get<std::string>().empty()) {
    std::abort();
  }
  return 0;
}
