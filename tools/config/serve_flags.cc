// SPDX-License-Identifier: Apache-2.0
#include "tools/config/serve_flags.h"

#include <fmt/core.h>

#include "core/base/check.h"
#include "tools/config/serve_keys.h"

namespace pawl {

GivenValues ServeFlags::given() const {
  CHECK(options.size() == serve_keys().size(), "{} flags", options.size());
  GivenValues given;
  for (const ServeKey& key : serve_keys()) {
    const std::string flag = key.flag;
    const std::string& text = texts.at(flag);
    const bool alone = is_yes_no(key) && text.empty();  // a flag without a value
    if (options.at(flag).given()) given.try_emplace(flag, alone ? "yes" : text, "--" + flag);
  }
  return given;
}

void add_serve_flags(Verb verb, ServeFlags& flags) {
  CHECK(flags.options.empty(), "the flags are added twice");
  for (const ServeKey& key : serve_keys()) {
    Option option = verb.option("--" + std::string(key.flag), flags.texts[key.flag],
                                fmt::format("{} (default: {})", key.help, key.preset))
                        .value_name(key.value);
    flags.options.emplace(key.flag, option);
    if (is_yes_no(key)) option.value_optional();
    if (key.repeats) option.join_repeats();
  }
  verb.flag("--insecure-no-auth", flags.insecure,
            "Serve addresses that other machines can reach without credentials");
}

void add_config_flag(Verb verb, ServeFlags& flags) {
  verb.option("--config", flags.config, "A TOML file with these settings").value_name("FILE");
}

}  // namespace pawl
