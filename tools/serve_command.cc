// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>
#include <string>

#include "net/server/server.h"
#include "tools/commands.h"
#include "tools/serve_config.h"

namespace pawl {
namespace {

struct Asked {
  std::map<std::string, std::string> flags;
  std::map<std::string, const CLI::Option*> options;  // by flag; count() > 0: it was given
  std::string config;
  bool insecure = false;
};

int refuse(const std::string& why) {
  fmt::print(stderr, "error: {}\n", why);
  return exit_usage;
}

std::expected<ServerOptions, std::string> options_of(const Asked& asked) {
  GivenValues given;
  for (const auto& [flag, text] : asked.flags) {
    const CLI::Option& option = *asked.options.at(flag);
    const bool alone = option.get_expected_min() == 0 && text.empty();  // a flag without a value
    if (option.count() > 0) given.try_emplace(flag, alone ? "yes" : text, "--" + flag);
  }
  read_environment(given);
  for (const std::string& name : unknown_variables()) fmt::print(stderr, "warning: {}\n", name);
  if (!asked.config.empty())
    if (const auto read = read_config_file(asked.config, given); !read)
      return std::unexpected(read.error());
  return make_server_options(given);
}

int serve(const Asked& asked) {
  auto options = options_of(asked);
  if (!options) return refuse(options.error());
  options->insecure_no_auth = asked.insecure;
  if (const auto exposed = check_exposure(*options); !exposed) {
    if (!asked.insecure) return refuse(exposed.error());
    fmt::print(stderr,
               "warning: serving others without credentials, as --insecure-no-auth asked: http {}, "
               "admin {}, binary {}\n",
               options->http, options->admin, options->binary);
  }
  if (const std::string warning = exposure_warning(*options); !warning.empty())
    fmt::print(stderr, "warning: {}\n", warning);
  auto server = Server::start(*options);
  if (!server) {
    fmt::print(stderr, "error: {}\n", server.error());
    return exit_failure;
  }
  fmt::print("{}\n", (*server)->ready_line());
  std::fflush(stdout);
  return (*server)->run();
}

}  // namespace

void add_serve_command(CLI::App& app, int& code) {
  const auto asked = std::make_shared<Asked>();
  CLI::App* verb = app.add_subcommand("serve", "Runs the server until SIGTERM or SIGINT");
  std::string footer =
      "Each setting can also be given as a variable or in the TOML file; a flag wins over a "
      "variable, a variable\nover the file:\n";
  for (const ServeKey& key : serve_keys()) {
    CLI::Option* const option =
        verb->add_option("--" + std::string(key.flag), asked->flags[key.flag],
                         fmt::format("{} (default: {})", key.help, key.preset))
            ->type_name(key.value);
    asked->options[key.flag] = option;
    if (std::string_view(key.value) == "yes|no")
      option->expected(0, 1);  // without a value it means yes
    if (key.repeats) option->multi_option_policy(CLI::MultiOptionPolicy::Join);
    footer += fmt::format("  {:<22} [{}] {}\n", variable_of(key), key.section, key.key);
  }
  verb->add_option("--config", asked->config, "A TOML file with these settings")->type_name("FILE");
  verb->add_flag("--insecure-no-auth", asked->insecure,
                 "Serve addresses that others can reach without asking for credentials");
  footer +=
      "Once requests are served, one line of JSON on stdout says where; everything else goes to "
      "stderr.";
  verb->footer(footer);
  verb->callback([asked, &code] { code = serve(*asked); });
}

}  // namespace pawl
