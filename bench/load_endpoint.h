// SPDX-License-Identifier: Apache-2.0
// The queue of a load at an SQS endpoint that is given without it: --url http://host --queue NAME.
//
// Errors: a sentence: the endpoint, its answer, the remedy.
// Owner:  values.
#pragma once

#include <expected>
#include <string>

#include "bench/load_options.h"

namespace pawl::load {

struct EndpointQueue {
  std::string url;  // http[s]://host:port/account/queue, at the address of options.url
  bool created = false;
};

// Blocks. Finds options.queue at options.url, or creates it with options.create.
std::expected<EndpointQueue, std::string> find_queue(const LoadOptions& options);

}  // namespace pawl::load
