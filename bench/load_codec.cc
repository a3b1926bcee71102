// SPDX-License-Identifier: Apache-2.0
#include "bench/load_codec.h"

#include <utility>

#include "net/sqs_client/endpoint.h"

namespace pawl::load {
namespace {

constexpr std::uint32_t http_batch_max = 10;
constexpr std::uint32_t binary_batch_max = 1024;

// False: the URL names neither an endpoint alone nor a queue of an account.
bool parse_queue_url(const std::string& url, Target& target) {
  const auto endpoint = sqs_client::parse_endpoint(url);
  if (!endpoint) return false;
  target.tls = endpoint->tls;
  target.host = endpoint->host;
  target.port = std::to_string(endpoint->port);
  target.host_header = host_header(*endpoint);
  if (endpoint->path.empty()) return true;
  const std::size_t last = endpoint->path.rfind('/');
  if (last == endpoint->path.npos || last + 1 == endpoint->path.size()) return false;
  target.account = endpoint->path.substr(0, last);
  target.queue = endpoint->path.substr(last + 1);
  return true;
}

}  // namespace

std::string parse_target(const LoadOptions& options, Target& target) {
  if (options.url.empty() == options.binary.empty()) return "give either --url or --binary";
  target.queue = options.queue;
  target.tls = options.tls || !options.ca_file.empty();
  target.ca_file = options.ca_file;
  target.http = !options.url.empty();
  if (target.http) {
    if (!parse_queue_url(options.url, target))
      return "--url " + options.url +
             ": give a queue as http://host:port/account/queue, or an endpoint as "
             "http://host:port with --queue";
    if (!target.account.empty() && options.queue != LoadOptions().queue &&
        options.queue != target.queue)
      return "--queue " + options.queue + " is not the queue of --url " + options.url +
             ": give the name in one place";
  } else if (!parse_address(options.binary, target) || target.port.empty()) {
    return "--binary " + options.binary +
           ": give host:port, as 127.0.0.1:9326, or the path of a Unix socket";
  }
  target.make = target.http ? make_http_codec : make_binary_codec;
  target.subscribes = !target.http;
  target.batch_max = target.http ? http_batch_max : binary_batch_max;
  return {};
}

bool parse_address(std::string_view text, Target& target) {
  if (text.starts_with('/')) {
    target.host = text;
    target.port = "unix";
    return true;
  }
  auto split = sqs_client::split_host_port(text);
  if (!split) return false;
  target.host = std::move(split->host);
  target.port = std::move(split->port);
  return true;
}

void write_stamp(char* at, std::uint64_t stamp) {
  constexpr char digits[] = "0123456789abcdef";
  for (std::size_t i = stamp_bytes; i-- > 0; stamp >>= 4) at[i] = digits[stamp & 15];
}

std::uint64_t read_stamp(std::string_view body) {
  if (body.size() < stamp_bytes) return 0;
  std::uint64_t stamp = 0;
  for (const char c : body.substr(0, stamp_bytes)) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit && !(c >= 'a' && c <= 'f')) return 0;
    stamp = stamp << 4 | static_cast<std::uint64_t>(digit ? c - '0' : c - 'a' + 10);
  }
  return stamp;
}

std::uint64_t read_sequence(std::string_view body) {
  return body.size() < 2 * stamp_bytes ? 0 : read_stamp(body.substr(stamp_bytes));
}

std::string make_body(std::uint32_t bytes) {
  std::string body(bytes, 'x');
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>('a' + i % 26);
  return body;
}

}  // namespace pawl::load
