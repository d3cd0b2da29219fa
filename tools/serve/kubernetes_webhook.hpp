/// `POST /v1/kubernetes/validate`: the validating admission webhook of Kubernetes.
///
/// It decides on Jobs of `batch/v1`, JobSets and Workloads of Kueue that name the model of their training in
/// an annotation, as `vtrain eta` reads it, when they are created. All else is allowed untouched.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <utility>

#include "tools/serve/http.hpp"

namespace vtrain::serve {

/// Answers reviews by submissions to the service. Threads may share it.
class KubernetesWebhook {
 public:
  /// Answers `POST /v1/jobs`.
  using Submit = std::function<Response(const Request&)>;

  explicit KubernetesWebhook(Submit submit) : submit_(std::move(submit)) {}

  /// Body: an AdmissionReview of `admission.k8s.io/v1`. The review's uid is the idempotency key, the object's
  /// namespace the tenant, its pods at a time the gang. A review that says who asks but is wrong elsewhere is
  /// denied, another is a problem. Troubles of the service stay errors of HTTP, so that the webhook's
  /// `failurePolicy` decides.
  Response validate(const Request& request) const;

 private:
  Submit submit_;
};

/// The JSON Schema of the body and of the answer of `KubernetesWebhook::validate`.
nlohmann::ordered_json admission_review_schema();

}  // namespace vtrain::serve
