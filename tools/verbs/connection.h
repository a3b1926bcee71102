// SPDX-License-Identifier: Apache-2.0
// The connection of a verb to a server: the binary port, with or without TLS and access key.
//
// The key comes from the environment or a profile (net/sqs_client/profile.h). It is not sent to a
// server that requires none; the binary port has no use for a session token.
//
// Errors: to stderr, as `error: what failed, the value, what to do`.
// Owner:  one verb.
#pragma once

#include <pawl/client.h>

#include <expected>
#include <string>

#include "tools/command_line.h"

namespace pawl {

struct ConnectionOptions {
  std::string binary = "127.0.0.1:9326";
  bool tls = false;
  std::string ca_file;  // not empty: TLS is used even if `tls` is false
  std::string profile;  // empty: that of AWS_PROFILE, else "default"
};

// --binary, --tls, --tls-ca, --profile
void add_connection(Verb verb, ConnectionOptions& options);

// The server shows `name` for this connection. An error was already printed: the exit code.
std::expected<Client, ExitCode> connect(const ConnectionOptions& options, const std::string& name);

}  // namespace pawl
