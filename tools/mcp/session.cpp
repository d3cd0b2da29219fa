#include "tools/mcp/session.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <exception>
#include <optional>
#include <utility>

#include "core/base/names.hpp"
#include "core/io/json_reader.hpp"
#include "tools/mcp/tools.hpp"

namespace vtrain::mcp {
namespace {

using nlohmann::ordered_json;

/// Versions of the protocol, the newest first.
constexpr std::array<std::string_view, 2> kVersions = {"2025-06-18", "2025-03-26"};
/// The only version with batches.
constexpr std::string_view kVersionWithBatches = "2025-03-26";

constexpr std::string_view kInstructions =
    "vtrain predicts LLM training times, searches parallel plans, and simulates the queue of a GPU cluster. "
    "predict: the time of one iteration of a given plan. plan: the best plans on some GPUs. eta: when "
    "waiting "
    "jobs start, from the outputs of squeue, scontrol, sacct or kubectl. explain: why a plan is slow, or why "
    "a "
    "job waits. Give intervals and assumptions along with numbers.";

ordered_json list_tools() {
  ordered_json list = ordered_json::array();
  for (const Tool& tool : tools())
    list.push_back({{"name", tool.name},
                    {"title", tool.title},
                    {"description", tool.description},
                    {"inputSchema", tool.input_schema()},
                    {"outputSchema", tool.output_schema()},
                    {"annotations",
                     {{"title", tool.title},
                      {"readOnlyHint", true},
                      {"destructiveHint", false},
                      {"idempotentHint", true},
                      {"openWorldHint", false}}}});
  return {{"tools", std::move(list)}};
}

/// The place and the message of a tool's error, cut where it repeats a huge argument. Arguments are one line
/// without a name.
std::string text_of(Error error) {
  if (error.file == "-") {
    error.file.clear();
    error.line = 0;
  }
  std::string text = error.describe();
  constexpr std::size_t kKept = 400;
  if (text.size() > 2 * kKept + 1) text.replace(kKept, text.size() - 2 * kKept, "…");
  return text;
}

ordered_json text_content(std::string text) {
  return {{{"type", "text"}, {"text", std::move(text)}}};
}

ordered_json tool_result(const Result<ordered_json>& answer) {
  if (!answer) return {{"content", text_content(text_of(answer.error()))}, {"isError", true}};
  // Clients of older versions read the text alone.
  return {{"content", text_content(line_of(*answer))}, {"structuredContent", *answer}, {"isError", false}};
}

const Tool* find_tool(std::string_view name) {
  const auto all = tools();
  const auto found = std::ranges::find(all, name, &Tool::name);
  return found == all.end() ? nullptr : &*found;
}

std::string unknown_tool(std::string_view name) {
  std::array<std::string_view, 8> names{};
  const auto all = tools();
  const auto end = std::ranges::transform(all, names.begin(), &Tool::name).out;
  return fmt::format("Unknown tool: {}; {}", name, suggest_name(name, {names.begin(), end}));
}

/// A response to which all messages of a batch contribute. It is sent when the last of them is answered.
class BatchResponse {
 public:
  explicit BatchResponse(const std::function<void(std::string_view)>& send) : send_(send) {}
  BatchResponse(const BatchResponse&) = delete;
  BatchResponse& operator=(const BatchResponse&) = delete;
  ~BatchResponse() {
    if (!responses_.empty()) send_(line_of(responses_));
  }

  void add(ordered_json response) {
    const std::scoped_lock lock(mutex_);
    responses_.push_back(std::move(response));
  }

 private:
  const std::function<void(std::string_view)>& send_;
  std::mutex mutex_;
  ordered_json responses_ = ordered_json::array();
};

}  // namespace

Session::Session(Calibration calibration, unsigned threads, std::function<void(std::string_view line)> send)
    : calibration_(std::move(calibration)), send_(std::move(send)), queue_(threads) {}

void Session::refuse_line(std::string_view why) {
  send_(line_of(error_response({}, ErrorCode::ParseError, why)));
}

void Session::receive(std::string_view line) {
  if (line.find_first_not_of(" \t\r\n") == std::string_view::npos) return;
  const auto document = JsonDocument::parse(std::string(line), "");
  if (!document) return refuse_line(document.error().message);
  const nlohmann::json& root = document->root();
  if (root.is_array()) return receive_batch(root);
  const auto message = read_message(root);
  if (!message)
    return send_(line_of(error_response(id_of(root), ErrorCode::InvalidRequest, message.error().message)));
  if (message->kind == MessageKind::Response) return;
  if (message->kind == MessageKind::Notification) return take_notification(*message);
  if (message->method == "initialize") return send_(line_of(initialize(*message)));
  if (message->method == "tools/call")
    return start_call(*message, [this](const Json& response) { send_(line_of(response)); });
  send_(line_of(answer(*message)));
}

void Session::receive_batch(const nlohmann::json& batch) {
  const auto refuse = [this](std::string_view why) {
    send_(line_of(error_response({}, ErrorCode::InvalidRequest, why)));
  };
  if (version_ != kVersionWithBatches)
    return refuse(version_.empty() ? std::string("expected initialize first, found a batch")
                                   : fmt::format("version {} has no batches", version_));
  if (batch.empty()) return refuse("expected a message in the batch, found none");
  const auto responses = std::make_shared<BatchResponse>(send_);
  for (const nlohmann::json& each : batch) {
    const auto message = read_message(each);
    if (!message)
      responses->add(error_response(id_of(each), ErrorCode::InvalidRequest, message.error().message));
    else if (message->kind == MessageKind::Notification)
      take_notification(*message);
    else if (message->kind == MessageKind::Request && message->method == "tools/call")
      start_call(*message, [responses](Json response) { responses->add(std::move(response)); });
    else if (message->kind == MessageKind::Request)
      responses->add(answer(*message));
  }
}

Session::Json Session::answer(const Message& message) {
  if (message.method == "ping") return result_response(message.id, Json::object());
  if (message.method == "initialize")
    return error_response(message.id, ErrorCode::InvalidRequest, "initialize is the first message, alone");
  if (message.method != "tools/list")
    return error_response(message.id, ErrorCode::MethodNotFound,
                          fmt::format("Method not found: {}", message.method));
  if (version_.empty())
    return error_response(message.id, ErrorCode::InvalidRequest, "expected initialize first");
  if (const auto cursor = message.params.find("cursor"); cursor != message.params.end() && !cursor->is_null())
    return error_response(message.id, ErrorCode::InvalidParams, "cursor: the list has one page");
  return result_response(message.id, list_tools());
}

Session::Json Session::initialize(const Message& message) {
  if (!version_.empty())
    return error_response(message.id, ErrorCode::InvalidRequest, "expected initialize once, found it again");
  const auto asked = message.params.find("protocolVersion");
  if (asked == message.params.end() || !asked->is_string())
    return error_response(message.id, ErrorCode::InvalidParams, "protocolVersion: expected a text");
  // A client that asks for another version decides whether it goes on with ours.
  const auto known = std::ranges::find(kVersions, asked->get<std::string>());
  version_ = known == kVersions.end() ? kVersions.front() : *known;
  return result_response(
      message.id, {{"protocolVersion", version_},
                   {"capabilities", {{"tools", {{"listChanged", false}}}}},
                   {"serverInfo", {{"name", "vtrain"}, {"title", "vtrain"}, {"version", VTRAIN_VERSION}}},
                   {"instructions", kInstructions}});
}

void Session::take_notification(const Message& message) {
  if (message.method != "notifications/cancelled") return;
  const auto id = message.params.find("requestId");
  if (id == message.params.end()) return;
  const std::scoped_lock lock(mutex_);
  if (const auto found = calls_.find(Json(*id).dump()); found != calls_.end())
    found->second->is_cancelled = true;
}

std::shared_ptr<Session::Call> Session::open_call(const Json& id) {
  const std::scoped_lock lock(mutex_);
  const auto [place, is_new] = calls_.try_emplace(id.dump());
  if (!is_new) return nullptr;
  return place->second = std::make_shared<Call>();
}

void Session::close_call(const Json& id) {
  const std::scoped_lock lock(mutex_);
  calls_.erase(id.dump());
}

void Session::start_call(const Message& message, std::function<void(Json response)> done) {
  if (version_.empty())
    return done(error_response(message.id, ErrorCode::InvalidRequest, "expected initialize first"));
  const auto call = open_call(message.id);
  if (call == nullptr)
    return done(error_response(message.id, ErrorCode::InvalidRequest, "id: another request has it"));
  const bool is_added = queue_.add([this, message, call, done] {
    Json response = call->is_cancelled ? Json() : run_call(message, *call);
    close_call(message.id);
    if (!call->is_cancelled) done(std::move(response));
  });
  if (is_added) return;
  close_call(message.id);
  done(error_response(message.id, ErrorCode::InternalError, "too many calls wait"));
}

Session::Json Session::run_call(const Message& message, const Call& call) const try {
  const auto name = message.params.find("name");
  if (name == message.params.end() || !name->is_string())
    return error_response(message.id, ErrorCode::InvalidParams, "name: expected the name of a tool");
  const Tool* const tool = find_tool(name->get<std::string>());
  if (tool == nullptr)
    return error_response(message.id, ErrorCode::InvalidParams, unknown_tool(name->get<std::string>()));
  const auto arguments = message.params.find("arguments");
  if (arguments != message.params.end() && !arguments->is_object())
    return error_response(message.id, ErrorCode::InvalidParams, "arguments: expected an object");
  const std::string text = arguments == message.params.end() ? "{}" : arguments->dump();
  const CallContext context{.calibration = calibration_,
                            .is_cancelled = [&call] { return call.is_cancelled.load(); }};
  return result_response(message.id, tool_result(tool->call(text, context)));
} catch (const std::exception& error) {
  spdlog::error("a tool failed: {}", error.what());
  return error_response(message.id, ErrorCode::InternalError, "the tool failed; the log says why");
}

}  // namespace vtrain::mcp
