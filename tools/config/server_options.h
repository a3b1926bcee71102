// SPDX-License-Identifier: Apache-2.0
// The options of the server, made of the given values of its settings.
//
// Errors: one sentence that names the source (flag, variable, file:line:column), the value and the
//         allowed values. A value with a fault leaves the option at its default.
// Owner:  values.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "net/admin/settings_page.h"
#include "net/server/server.h"
#include "tools/config/given_values.h"
#include "tools/config/serve_keys.h"

namespace pawl {

struct MadeOptions {
  ServerOptions options;
  Faults faults;
};
// With --dev and without --data the name of the directory is empty.
MadeOptions make_server_options(const GivenValues& given);

// All settings as they are shown, in the order of the table.
std::vector<ToldSetting> setting_texts(const GivenValues& given, const ServerOptions& options);

bool reaches_others(const std::string& address);  // not of loopback
// Refuses an http or binary listener that other machines can reach and that requires no
// credentials. --dev and --insecure-no-auth serve it all the same.
std::expected<void, std::string> check_exposure(const ServerOptions& options,
                                                const GivenValues& given);
// A warning about an http or binary port that other machines can reach without TLS; empty: none. A
// development server has no need of TLS.
std::string exposure_warning(const ServerOptions& options);

}  // namespace pawl
