// SPDX-License-Identifier: Apache-2.0
// The flags of `pawl serve`, which `pawl config` takes too.
//
// Owner:  the verb; the flags must live until the command line has run.
#pragma once

#include <map>
#include <string>

#include "tools/command_line.h"
#include "tools/config/given_values.h"

namespace pawl {

struct ServeFlags {
  std::map<std::string, std::string> texts;  // by flag
  std::map<std::string, Option> options;     // by flag
  std::string config;
  bool insecure = false;

  // The values of the given flags.
  GivenValues given() const;
};

// A flag for each setting, and --insecure-no-auth.
void add_serve_flags(Verb verb, ServeFlags& flags);
// --config
void add_config_flag(Verb verb, ServeFlags& flags);

}  // namespace pawl
