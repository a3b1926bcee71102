// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "net/events/event_log.h"
#include "net/server/dev_directory.h"
#include "net/server/server.h"
#include "net/server/service_manager.h"
#include "tools/commands.h"
#include "tools/config/config_file.h"
#include "tools/config/configuration.h"
#include "tools/config/environment.h"
#include "tools/config/serve_flags.h"
#include "tools/config/serve_keys.h"
#include "tools/config/server_options.h"
#include "tools/config/settings_reload.h"

namespace pawl {
namespace {

int refuse(const std::string& why) {
  fmt::print(stderr, "error: {}\n", why);
  return exit_usage;
}

GivenValues flags_and_variables(const ServeFlags& asked) {
  GivenValues given = asked.given();
  read_environment(given);
  return given;
}

std::expected<Configuration, std::string> configuration_of(const ServeFlags& asked) {
  std::string text;
  if (!asked.config.empty()) {
    auto file = read_config_file(asked.config);
    if (!file) return std::unexpected(file.error());
    text = std::move(*file);
  }
  Configuration read = read_configuration(flags_and_variables(asked), text, asked.config);
  if (!read.faults.empty()) return std::unexpected(read.faults.front());
  return read;
}

// Whether no variable is a mistyped setting.
bool check_variables() {
  const UnknownVariables unknown = unknown_variables();
  for (const std::string& warning : unknown.near) emit(Event{EventCode::unknown_variable, warning});
  for (const std::string& fault : unknown.refused) refuse(fault);
  return unknown.refused.empty();
}

std::string all_http(const ServerOptions& options) {
  std::string all = options.http;
  for (const std::string& more : options.more_http) all += ", " + more;
  return all;
}

// For the shell of the tests, and the line for which LocalStack's users wait.
void print_dev_settings(const Server& server, const ServerOptions& options) {
  const std::string& http = server.address(Protocol::http);
  const std::size_t colon = http.rfind(':');
  const bool any = http.starts_with("0.0.0.0:") || http.starts_with("[::]:");
  std::string all = http;
  for (std::size_t i = 1; !server.address(Protocol::http, i).empty(); ++i)
    all += fmt::format(" and {}", server.address(Protocol::http, i));
  fmt::print(stderr,
             "pawl serves tests at {}, with data in {}. Settings for their shell:\n"
             "export AWS_ENDPOINT_URL={}://{} AWS_REGION={} AWS_DEFAULT_REGION={}{}\n"
             "Ready.\n",
             all, options.data, options.tls_key.empty() ? "http" : "https",
             any ? "127.0.0.1" + http.substr(colon) : http, options.region, options.region,
             options.load_keys ? "" : " AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test");
}

int serve(const ServeFlags& asked) {
  auto read = configuration_of(asked);
  event_log().write_as(read ? log_format_of(read->options) : LogFormat::text);
  if (!check_variables()) return exit_usage;
  if (!read) return refuse(read.error());
  ServerOptions* const options = &read->options;
  options->insecure_no_auth = asked.insecure;
  options->version = PAWL_VERSION;
  options->settings = setting_texts(read->given, *options);
  if (std::filesystem::is_regular_file(asked.config)) options->config_file = asked.config;
  options->reload_settings = [again = SettingsReload(flags_and_variables(asked), asked.config,
                                                     options->settings)]() mutable {
    return again.read();
  };
  if (const auto exposed = check_exposure(*options, read->given); !exposed) {
    if (!asked.insecure && !options->dev) return refuse(exposed.error());
    emit(
        Event{EventCode::exposed_without_credentials,
              fmt::format("serving other machines without credentials ({}): http {}, binary {}",
                          asked.insecure ? "--insecure-no-auth" : "--dev, a server for tests alone",
                          all_http(*options), options->binary)});
  }
  if (!asked.insecure && !options->load_admin_token && reaches_others(options->admin))
    emit(Event{EventCode::admin_page_limit,
               fmt::format("the admin port {} answers /livez and /readyz alone, because other "
                           "machines can reach it",
                           options->admin)});
  if (const std::string warning = exposure_warning(*options); !warning.empty())
    emit(Event{EventCode::exposed_without_tls, warning});
  std::optional<DevDirectory> directory;  // deleted after the server has ended
  if (options->data.empty()) {
    auto made = DevDirectory::make();
    if (!made) {
      emit(Event{EventCode::start_failed, made.error()});
      return exit_failure;
    }
    options->data = directory.emplace(std::move(*made)).path();
    options->deletes_data = true;
  }
  auto server = Server::start(*options);
  if (!server) {
    service_manager().status("cannot start: " + server.error().text);
    emit(Event{EventCode::start_failed, server.error().text});
    switch (server.error().fault) {
      case StartFault::data:
        return exit_check_failed;
      case StartFault::declared:
        return exit_usage;
      case StartFault::machine:
        break;
    }
    return exit_failure;
  }
  fmt::print("{}\n", (*server)->ready_line());
  std::fflush(stdout);
  if (options->dev && options->log_format != LogFormat::json)
    print_dev_settings(**server, *options);
  return (*server)->run();
}

}  // namespace

void add_serve_command(CommandLine& line) {
  const auto asked = std::make_shared<ServeFlags>();
  Verb verb = line.add_verb("serve", "Runs the server until SIGTERM or SIGINT");
  add_serve_flags(verb, *asked);
  add_config_flag(verb, *asked);
  std::string footer =
      "Each setting can also be an environment variable or a key of the TOML file. A flag "
      "overrides a variable,\na variable overrides the file:\n";
  for (const ServeKey& key : serve_keys())
    footer += fmt::format("  {:<22} [{}] {}\n", variable_of(key), key.section, key.key);
  footer +=
      "A ready server prints one line of JSON with its addresses on stdout; everything else goes "
      "to stderr.\n"
      "SIGTERM stops the server, SIGUSR2 drains it first, SIGHUP reads certificate and keys "
      "again, and\nreports the settings that differ from the file.\n"
      "Sockets of a service manager (LISTEN_FDS) named http, admin, binary or unix replace the "
      "flag "
      "of that name.";
  verb.footer(footer);
  verb.on_given([asked] { return serve(*asked); });
}

}  // namespace pawl
