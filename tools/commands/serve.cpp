/// `vtrain serve`: admission of jobs, predictions and plan searches over HTTP.
#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/io/file.hpp"
#include "core/io/input.hpp"
#include "core/text/quantities.hpp"
#include "tools/cli/signals.hpp"
#include "tools/cli/value_checks.hpp"
#include "tools/commands/commands.hpp"
#include "tools/format/text_format.hpp"
#include "tools/options/options.hpp"
#include "tools/serve/event_log.hpp"
#include "tools/serve/server.hpp"
#include "tools/serve/service.hpp"
#include "tools/serve/store.hpp"
#include "tools/serve/tokens.hpp"

namespace vtrain {
namespace {

using serve::log_event;
using serve::Severity;

struct ServeArguments {
  std::string listen = "127.0.0.1:8080";
  serve::ServiceOptions service{};
  serve::ServerOptions server{};
  std::string new_token;
  std::string backup;
  std::string every = "30s";
  std::int64_t drain_s = 30;
  unsigned threads = 0;
  std::string log = "requests";
};

/// Reads `127.0.0.1:8080` or `[::1]:8080`.
Result<void> read_address(const std::string& text, serve::ServerOptions& server) {
  const std::size_t colon = text.rfind(':');
  const auto port = parse_integer(colon == std::string::npos ? "" : text.substr(colon + 1), 0, UINT16_MAX);
  std::string address = text.substr(0, colon);
  if (address.starts_with('[') && address.ends_with(']')) address = address.substr(1, address.size() - 2);
  if (!port || address.empty())
    return fail(
        {.field = "--listen", .message = expected_found("ADDRESS:PORT, such as 127.0.0.1:8080", text)});
  server.address = address;
  server.port = static_cast<std::uint16_t>(*port);
  return {};
}

/// Appends a new token to the file of tokens and prints it: nothing else keeps it.
Result<void> add_token(const ServeArguments& arguments) {
  const std::string& file = arguments.service.tokens;
  if (file.empty()) return fail({.field = "--new-token", .message = "--tokens names the file to add it to"});
  auto token = serve::make_token(arguments.new_token);
  if (!token) {
    return fail({.field = "--new-token",
                 .message = fmt::format("{}: {}", token.error().field, token.error().message)});
  }
  std::string text;
  std::error_code none;
  if (std::filesystem::exists(file, none)) {
    if (auto checked = serve::Tokens::read(file); !checked) return fail(std::move(checked.error()));
    auto read = read_file(file, InputKind::Tenants);
    if (!read) return fail(std::move(read.error()));
    text = *std::move(read);
    if (!text.empty() && !text.ends_with('\n')) text += '\n';
  }
  if (auto written = write_file(file, text + token->line); !written) return written;
  print_text(stdout, "{}\n", token->token);
  return {};
}

Result<void> check_exposure(const ServeArguments& arguments) {
  if (arguments.server.certificate.empty() != arguments.server.key.empty())
    return fail({.field = "--certificate, --key", .message = "both or none"});
  if (serve::is_loopback(arguments.server.address)) return {};
  if (arguments.service.tokens.empty()) {
    return fail({.field = "--listen",
                 .message = "other machines can reach this address: it needs --tokens, so that not everybody "
                            "may do everything"});
  }
  if (arguments.server.certificate.empty())
    log_warning("tokens travel readable without TLS: --certificate and --key encrypt connections");
  return {};
}

/// Connections may take all descriptors that the system allows the process.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

/// Keeps what simulations gave back for all threads. By default glibc keeps it for each by itself, up to the
/// largest that each has ever simulated.
void share_free_memory() {
#ifdef __GLIBC__
  mallopt(M_ARENA_MAX, 2);
#endif
}

/// Stops on SIGTERM and SIGINT, reads files again on SIGHUP.
void handle_signal(int signal, serve::Service& service, serve::Server& server) {
  if (signal != SIGHUP) {
    log_event(Severity::Info, "stopping");
    service.stop_being_ready();
    server.stop();
    return;
  }
  for (const auto& reloaded : {service.reload(), server.reload_certificate()}) {
    if (!reloaded)
      log_event(Severity::Error, "cannot reload, the former stays", {{"what", reloaded.error().describe()}});
  }
  log_event(Severity::Info, "reloaded");
}

Result<void> run_service(ServeArguments arguments) {
  if (!arguments.backup.empty()) {
    if (arguments.service.state.empty())
      return fail({.field = "--backup", .message = "--state names the state to copy"});
    return serve::back_up(arguments.service.state, arguments.backup);
  }
  if (!arguments.new_token.empty()) return add_token(arguments);
  serve::ServerOptions& options = arguments.server;
  if (auto read = read_address(arguments.listen, options); !read) return read;
  if (auto checked = check_exposure(arguments); !checked) return checked;
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  const unsigned threads = arguments.threads == 0 ? cores : arguments.threads;
  options.threads[0] = options.threads[1] = threads;
  options.limits.drain = std::chrono::seconds(arguments.drain_s);
  const auto every = parse_time_span(arguments.every);
  if (!every || *every < std::chrono::seconds(1))
    return fail(
        {.field = "--every", .message = expected_found("a duration of at least 1s", arguments.every)});
  arguments.service.every = std::chrono::duration_cast<std::chrono::seconds>(*every);
  if (!arguments.service.follow.empty() && arguments.service.cluster.empty())
    return fail({.field = "--follow", .message = "needs --cluster and --state"});
  raise_descriptor_limit();
  share_free_memory();
  auto service = serve::Service::open(arguments.service);
  if (!service) return fail(std::move(service.error()));
  auto server =
      serve::Server::open(options, (*service)->router(),
                          [&service](const serve::Exchange& exchange) { (*service)->observe(exchange); });
  if (!server) {
    Error error = std::move(server.error());
    if (error.file.empty()) error.field = "--listen " + error.field;
    return fail(std::move(error));
  }
  (*service)->watch(**server);
  serve::open_event_log(arguments.log == "requests");
  handle_interrupts([&service, &server](int signal) { handle_signal(signal, **service, **server); });
  log_event(Severity::Info, "listening",
            {{"address", options.address},
             {"port", std::int64_t{(*server)->port()}},
             {"tls", options.certificate.empty() ? "no" : "yes"},
             {"tokens", arguments.service.tokens.empty() ? "no" : "yes"}});
  (*service)->begin_work();
  (*server)->run();
  (*service)->end_work();
  handle_interrupts({});
  log_event(Severity::Info, "stopped");
  return {};
}

}  // namespace

void add_serve_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "serve",
      "Admit training jobs with deadlines over HTTP, and answer predictions and plan searches.\n\n"
      "  vtrain serve --cluster 16x8:a100 --state vtrain.db\n"
      "  vtrain serve\n"
      "  vtrain serve --listen 0.0.0.0:8443 --tokens tokens --certificate cert.pem --key key.pem\n"
      "  vtrain serve --tokens tokens --new-token research:submit");
  const auto arguments = std::make_shared<ServeArguments>();
  ServeArguments& to = *arguments;
  command
      ->add_option("--listen", to.listen,
                   "Address and port; port 0: a free one, which the first line of the log names")
      ->capture_default_str();
  command->add_option("--tokens", to.service.tokens,
                      "File of bearer tokens. Without it, the service answers to this machine alone");
  command->add_option("--new-token", to.new_token,
                      "Add a token to the file and print it: TENANT:ROLE, with the roles read, submit and "
                      "operate");
  command->add_option("--certificate", to.server.certificate, "Certificates in PEM, for TLS 1.2 and 1.3");
  command->add_option("--key", to.server.key, "Key of the certificate in PEM");
  command
      ->add_option("--requests-per-second", to.service.requests_per_second,
                   "Requests of a tenant; 0: any number")
      ->transform(number_between(0, 1e9))
      ->capture_default_str();
  command->add_option("--cluster", to.service.cluster,
                      "Cluster of the jobs that are admitted, as NODESxGPUS:TYPE or a file");
  command->add_option("--state", to.service.state, "SQLite file that keeps accepted jobs, made when new");
  command
      ->add_option("--policy", to.service.jobs.policy,
                   "Policy that promises deadlines: deadline or elasticflow, with parameters")
      ->capture_default_str();
  command->add_option("--placement", to.service.jobs.placement, "Rule that chooses the GPUs of a gang")
      ->capture_default_str();
  command
      ->add_option("--interruption-cost", to.service.jobs.interruption_cost,
                   "Time that a preemption or a resize costs a job: none, a duration, checkpoint, or auto (a "
                   "checkpoint)")
      ->capture_default_str();
  command
      ->add_option(
          "--follow", to.service.follow,
          "Command of the cluster's own scheduler, such as 'squeue --json': what it shows is taken over; "
          "several are of one instant")
      ->type_name("COMMAND...");
  command->add_option("--every", to.every, "Time between its runs: 30s, 5m")->capture_default_str();
  command->add_flag("--simulated-clock", to.service.simulated_clock,
                    "Time of the jobs is what POST /v1/clock says: to try the service with a trace");
  CLI::Option* const backup =
      command->add_option("--backup", to.backup, "Copy the state to a new file, also of a running service");
  backup->check(plain_file());
  add_pricing_options(*command, to.service.pricing);
  command->add_option("--drain", to.drain_s, "Seconds that requests under way get after SIGTERM")
      ->transform(whole_number(0, 3600))
      ->capture_default_str();
  command
      ->add_option("--threads", to.threads, "Threads of predictions, and as many of searches; 0: all cores")
      ->transform(whole_number(0, 1024))
      ->capture_default_str();
  command->add_option("--log", to.log, "Lines of the log: requests, or events alone")
      ->check(one_of({"requests", "events"}))
      ->capture_default_str();
  command->callback([=, &action] { action = [arguments] { return run_service(*arguments); }; });
}

}  // namespace vtrain
