// SPDX-License-Identifier: Apache-2.0
#include "bench/load_codec.h"

namespace pawl::load {
namespace {

constexpr std::uint32_t http_batch_max = 10;
constexpr std::uint32_t binary_batch_max = 1024;

}  // namespace

std::string parse_target(const LoadOptions& options, Target& target) {
  if (options.url.empty() == options.binary.empty()) return "give either --url or --binary";
  std::string_view rest = options.binary;
  target.queue = options.queue;
  target.tls = options.tls || !options.ca_file.empty();
  target.ca_file = options.ca_file;
  if (!options.url.empty()) {
    constexpr std::string_view plain = "http://", secure = "https://";
    rest = options.url;
    target.tls = rest.starts_with(secure);
    if (!target.tls && !rest.starts_with(plain))
      return "--url " + options.url + ": give a queue as http://host:port/account/queue";
    rest.remove_prefix(target.tls ? secure.size() : plain.size());
    target.http = true;
    const std::size_t slash = rest.find('/');
    const std::size_t last = rest.rfind('/');
    if (slash == rest.npos || last == slash || last + 1 == rest.size()) {
      return "--url " + options.url + ": give a queue as http://host:port/account/queue";
    }
    target.account = rest.substr(slash + 1, last - slash - 1);
    target.queue = rest.substr(last + 1);
    rest = rest.substr(0, slash);
  }
  const bool has_host = parse_address(rest, target);
  if (target.port.empty() && target.http) target.port = target.tls ? "443" : "80";
  if (!has_host || target.port.empty())
    return (target.http
                ? "--url " + options.url + ": give a queue as http://host:port/account/queue"
                : "--binary " + options.binary +
                      ": give host:port, as 127.0.0.1:9326, or the path "
                      "of a Unix socket");
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
  const bool v6 = text.starts_with('[');
  const std::size_t host_end = v6 ? text.find(']') : text.rfind(':');
  if (v6 && host_end == text.npos) return false;
  target.host = v6 ? text.substr(1, host_end - 1) : text.substr(0, host_end);
  const std::string_view rest = host_end == text.npos ? "" : text.substr(host_end + (v6 ? 1 : 0));
  target.port = rest.starts_with(':') ? rest.substr(1) : "";
  return !target.host.empty();
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
