// SPDX-License-Identifier: Apache-2.0
#include <string_view>

#include "bench/peers/peer_codec.h"

namespace pawl::load {
namespace {

struct Scheme {
  std::string_view name;
  MakeCodec make;
  std::uint32_t batch_max;
};
constexpr Scheme schemes[] = {
    {"redis",     make_redis_codec,     1024},
    {"beanstalk", make_beanstalk_codec, 1   },
    {"nats",      make_nats_codec,      1   },
    {"postgres",  make_postgres_codec,  1   },
    {"amqp",      make_amqp_codec,      1   },
    {"echo",      make_echo_codec,      1   },
};

}  // namespace

std::string parse_peer_url(const std::string& url, Target& target) {
  const std::size_t colon = url.find("://");
  const std::size_t slash = colon == url.npos ? url.npos : url.find('/', colon + 3);
  if (slash != url.npos && slash + 1 < url.size()) {
    target.queue = url.substr(slash + 1);
    const std::string_view address(url.data() + colon + 3, slash - colon - 3);
    for (const Scheme& scheme : schemes) {
      if (std::string_view(url).substr(0, colon) != scheme.name) continue;
      target.make = scheme.make;
      target.batch_max = scheme.batch_max;
      if (parse_address(address, target) && !target.port.empty()) return {};
    }
  }
  return "--url " + url +
         ": give redis, beanstalk, nats, postgres, amqp or echo as scheme://host:port/queue";
}

}  // namespace pawl::load
