// SPDX-License-Identifier: Apache-2.0
// Configuration: the options of a server and what its file declares, of all sources together.
//
// Errors: all faults, those of the file in the order of their places.
// Owner:  values.
#pragma once

#include <string>
#include <string_view>

#include "net/server/server.h"
#include "tools/config/given_values.h"

namespace pawl {

struct Configuration {
  GivenValues given;
  ServerOptions options;  // `declared` is null without a file
  Faults faults;
};

// `given`: the values of flags and variables. `path` names the text in faults; empty: no file.
Configuration read_configuration(GivenValues given, std::string_view text, const std::string& path);

// All faults, also those that a server without queues would find in the declared queues, and the
// addresses that need credentials.
Faults all_faults(const Configuration& read, const std::string& path, bool insecure);

}  // namespace pawl
