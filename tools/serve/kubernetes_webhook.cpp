#include "tools/serve/kubernetes_webhook.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/io/json_reader.hpp"
#include "tools/format/text_format.hpp"
#include "tools/serve/kubernetes_job.hpp"
#include "tools/serve/problem.hpp"

namespace vtrain::serve {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kVersion = "admission.k8s.io/v1";
constexpr std::string_view kReview = "AdmissionReview";

/// The answer to a review.
struct Verdict {
  bool allowed = true;
  int code = 403;                       ///< HTTP status of a denial
  std::string message{};                ///< why it is denied
  std::vector<std::string> warnings{};  ///< sentences that users see
  std::string job{};                    ///< id of the service's job; empty: none was made
};

Verdict denied(int code, std::string message) {
  return {.allowed = false, .code = code, .message = std::move(message)};
}

Verdict denied(const Error& error) {
  constexpr int kBadRequest = 400;
  return denied(kBadRequest,
                error.field.empty() ? error.message : fmt::format("{}: {}", error.field, error.message));
}

std::string_view reason_of(int code) {
  constexpr int kForbidden = 403;
  constexpr int kBadRequest = 400;
  return code == kForbidden ? "Forbidden" : code == kBadRequest ? "BadRequest" : "Invalid";
}

Response review_response(const std::string& uid, const Verdict& verdict) {
  ordered_json response = {{"uid", uid}, {"allowed", verdict.allowed}};
  if (!verdict.allowed)
    response["status"] = {{"status", "Failure"},
                          {"message", "vtrain: " + verdict.message},
                          {"reason", reason_of(verdict.code)},
                          {"code", verdict.code}};
  if (!verdict.warnings.empty()) response["warnings"] = verdict.warnings;
  if (!verdict.job.empty()) response["auditAnnotations"] = {{"job", verdict.job}};
  return {.body =
              json_text({{"apiVersion", kVersion}, {"kind", kReview}, {"response", std::move(response)}})};
}

/// The text under a key; empty without one.
std::string text_in(const nlohmann::json& object, std::string_view key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() && found->is_string() ? found->get<std::string>()
                                                                           : std::string();
}

/// The denial of a submission that has an error.
Verdict denial_of(const Response& response) {
  const nlohmann::json details = nlohmann::json::parse(response.body, nullptr, false);
  const std::string field = text_in(details, "field");
  std::string detail = text_in(details, "detail");
  if (detail.empty()) detail = std::string(status_text(response.status));
  return denied(response.status,
                field.empty() ? detail : fmt::format("{}: {}", place_in_object(field), detail));
}

/// The decision about a submission that was only tried: a document of `vtrain admit --json`.
Verdict verdict_on_trial(const nlohmann::json& answer) {
  Verdict verdict{.allowed = text_in(answer, "answer") == "yes"};
  const std::string sentence = text_in(answer, "sentence");
  if (verdict.allowed) {
    if (!sentence.empty()) verdict.warnings.push_back("vtrain: " + sentence);
    return verdict;
  }
  verdict.message = sentence.empty() ? "no" : sentence;
  for (const nlohmann::json& change : answer.value("changes", nlohmann::json::array())) {
    if (const auto seconds = change.find("earliest_deadline_s");
        seconds != change.end() && seconds->is_number())
      verdict.warnings.push_back(
          fmt::format("vtrain: the earliest deadline is {} from now", as_duration(seconds->get<double>())));
  }
  return verdict;
}

/// The decision that made a job of the service.
Verdict verdict_on_job(const nlohmann::json& job, const KubernetesJob& asked) {
  Verdict verdict{.allowed = text_in(job, "state") != "refused", .job = text_in(job, "id")};
  const std::string deadline = text_in(job, "deadline");
  if (!verdict.allowed) {
    verdict.message = text_in(job, "reason");
    if (verdict.message.empty()) verdict.message = "the job is refused";
    if (const std::string earliest = text_in(job, "earliest_deadline"); !earliest.empty())
      verdict.warnings.push_back("vtrain: the earliest deadline is " + earliest);
    return verdict;
  }
  if (deadline.empty())
    verdict.warnings.push_back(
        fmt::format("vtrain: job {} runs without a promise: it has no deadline", verdict.job));
  else if (job.value("promised", false))
    verdict.warnings.push_back(fmt::format("vtrain: job {} is promised to end by {}", verdict.job, deadline));
  else
    verdict.warnings.push_back(
        fmt::format("vtrain: job {} runs without a promise for {}", verdict.job, deadline));
  const auto run_time = job.find("run_time_s");
  if (asked.time_limit_s && run_time != job.end() && run_time->is_number() &&
      run_time->get<double>() > static_cast<double>(*asked.time_limit_s))
    verdict.warnings.push_back(fmt::format(
        "vtrain: its time limit of {} is below its predicted run time of {}",
        as_duration(static_cast<double>(*asked.time_limit_s)), as_duration(run_time->get<double>())));
  return verdict;
}

/// The request that submits a job for a review.
Request submission_of(const Request& review, const std::string& uid, const KubernetesJob& job,
                      bool is_trial) {
  Request request = review;
  request.head.method = "POST";
  request.head.path = "/v1/jobs";
  request.head.query.clear();
  request.head.content_type = "application/json";
  request.head.idempotency_key = uid;
  request.parameters.clear();
  ordered_json body = job.submission;
  // A token below the role has a tenant of its own.
  if (review.caller.tenant.empty() || review.caller.role == Role::Operate) body["tenant"] = job.tenant;
  body["dry_run"] = is_trial;
  request.body = body.dump();
  return request;
}

bool is_status(int status, int first) {
  constexpr int kClass = 100;
  return status >= first && status < first + kClass;
}

}  // namespace

Response KubernetesWebhook::validate(const Request& request) const {
  const auto document = JsonDocument::parse(request.body, "-");
  if (!document) return problem(document.error());
  const nlohmann::json& root = document->root();
  const nlohmann::json empty = nlohmann::json::object();
  const bool has_request = root.is_object() && root.contains("request");
  const nlohmann::json& review = has_request ? root["request"] : empty;
  const std::string uid = text_in(review, "uid");
  if (uid.empty()) {
    const Error error = has_request ? document->error_at(review, "uid", "expected the uid of a review")
                                    : Error{.field = "request", .message = "missing: the review's request"};
    return problem(error);
  }
  const auto answer = [&uid](const Verdict& verdict) { return review_response(uid, verdict); };
  if (text_in(root, "apiVersion") != kVersion || text_in(root, "kind") != kReview)
    return answer(denied(400, fmt::format("expected a {} of {}", kReview, kVersion)));
  const std::string operation = text_in(review, "operation");
  if (operation.empty()) return answer(denied(400, "request.operation: missing"));
  if (operation != "CREATE" || !text_in(review, "subResource").empty()) return answer({});
  const auto object = review.find("object");
  if (object == review.end() || !object->is_object())
    return answer(denied(400, "request.object: expected an object"));
  if (!is_for_vtrain(*object)) return answer({});
  const nlohmann::json kind = review.value("kind", nlohmann::json::object());
  Verdict untouched;
  const auto job =
      read_kubernetes_job(text_in(kind, "group"), text_in(kind, "kind"), *object, untouched.warnings);
  if (!job) return answer(denied(job.error()));
  if (!*job) return answer(untouched);
  const nlohmann::json dry_run = review.value("dryRun", nlohmann::json(false));
  const bool is_trial = dry_run.is_boolean() && dry_run.get<bool>();
  if (is_trial && !(*job)->submission.contains("deadline")) {
    untouched.warnings = (*job)->warnings;
    untouched.warnings.emplace_back("vtrain: a dry run without a deadline is not decided on");
    return answer(untouched);
  }
  Response decided = submit_(submission_of(request, uid, **job, is_trial));
  constexpr int kBusy = 429;
  if (is_status(decided.status, 500) || decided.status == kBusy) return decided;
  if (!is_status(decided.status, 200)) return answer(denial_of(decided));
  const nlohmann::json outcome = nlohmann::json::parse(decided.body, nullptr, false);
  if (!outcome.is_object()) return problem(500, "the service cannot answer; its log says why");
  Verdict verdict = is_trial ? verdict_on_trial(outcome) : verdict_on_job(outcome, **job);
  const auto& warnings = (*job)->warnings;
  verdict.warnings.insert(verdict.warnings.end(), warnings.begin(), warnings.end());
  return answer(verdict);
}

ordered_json admission_review_schema() {
  return {{"type", "object"},
          {"description", "AdmissionReview of admission.k8s.io/v1"},
          {"required", {"apiVersion", "kind"}},
          {"properties",
           {{"apiVersion", {{"const", kVersion}}},
            {"kind", {{"const", kReview}}},
            {"request", {{"type", "object"}}},
            {"response", {{"type", "object"}}}}}};
}

}  // namespace vtrain::serve
