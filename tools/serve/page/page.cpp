#include "tools/serve/page/page.hpp"

#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "tools/web/web.hpp"
#include "workloads/model/zoo.hpp"

namespace vtrain {

namespace embedded {
extern const std::string_view service_page_html;
extern const std::string_view service_page_css;
extern const std::string_view service_asking_js;
extern const std::string_view service_cluster_js;
extern const std::string_view service_jobs_js;
extern const std::string_view service_job_js;
extern const std::string_view service_form_js;
extern const std::string_view service_page_js;
}  // namespace embedded

namespace serve {
namespace {

/// Everything comes from files of the service, and nothing in them is made of text from clients: neither
/// script and style in elements and attributes, nor markup that a script puts together.
constexpr std::string_view kContentSecurityPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

/// The page, with the names of models that its form proposes.
std::string page_html() {
  std::string options;
  for (const ZooModel& model : model_zoo())
    options += fmt::format("<option value=\"{}\"></option>\n", model.name());
  constexpr std::string_view kPlace = "{{models}}\n";
  std::string html(embedded::service_page_html);
  html.replace(html.find(kPlace), kPlace.size(), options);
  return html;
}

std::string page_script() {
  std::string text;
  for (const std::string_view part :
       {embedded::format_js, embedded::service_asking_js, embedded::service_cluster_js,
        embedded::service_jobs_js, embedded::service_job_js, embedded::service_form_js,
        embedded::service_page_js})
    text += part;
  return text;
}

std::string chart_script() {
  return fmt::format("/*! {}\n*/\n{}", embedded::uplot_license, embedded::uplot_js);
}

Route file_route(std::string_view path, std::string_view media_type, std::string text) {
  Response response = {.body = std::move(text), .content_type = std::string(media_type)};
  response.headers = {{"Content-Security-Policy", std::string(kContentSecurityPolicy)},
                      {"Referrer-Policy", "no-referrer"}};
  return {.method = "GET",
          .path = path,
          .role = Role::None,
          .summary = "A file of the page",
          .media_type = media_type,
          .handler = [response = std::move(response)](const Request&) { return response; },
          .is_described = false};
}

}  // namespace

std::vector<Route> page_routes() {
  constexpr std::string_view kScript = "text/javascript; charset=utf-8";
  constexpr std::string_view kStyle = "text/css; charset=utf-8";
  std::vector<Route> routes;
  routes.push_back(file_route("/", "text/html; charset=utf-8", page_html()));
  routes.push_back(file_route("/page.js", kScript, page_script()));
  routes.push_back(file_route("/page.css", kStyle, std::string(embedded::service_page_css)));
  routes.push_back(file_route("/uplot.js", kScript, chart_script()));
  routes.push_back(file_route("/uplot.css", kStyle, std::string(embedded::uplot_css)));
  return routes;
}

}  // namespace serve
}  // namespace vtrain
