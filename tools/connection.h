// How a verb reaches a server: the binary port, with or without TLS, with an access key where one is asked for.
//
// The key is that of the environment, as SDKs and the AWS command line take it: AWS_ACCESS_KEY_ID and
// AWS_SECRET_ACCESS_KEY. A server that asks for none is told none.
//
// Errors: to stderr, as `error: what failed, the value, what to do`.
// Owner:  one verb.
#pragma once

#include <pawl/client.h>

#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace pawl {

struct ConnectionOptions {
  std::string binary = "127.0.0.1:9326";
  bool tls = false;
  std::string ca_file;  // with it, tls
};

// --binary, --tls, --tls-ca
void add_connection(CLI::App& verb, ConnectionOptions& options);

struct KeyOptions {
  std::string id, secret;  // empty: there is none
};
KeyOptions key_of_environment();

// `name` is shown by the server. None: it has been explained.
std::optional<Client> connect(const ConnectionOptions& options, const std::string& name);

}  // namespace pawl
