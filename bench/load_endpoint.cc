// SPDX-License-Identifier: Apache-2.0
#include "bench/load_endpoint.h"

#include <optional>
#include <string_view>
#include <utility>

#include "core/base/check.h"
#include "net/sqs_client/sqs_client.h"
#include "proto/text/json.h"
#include "proto/text/json_dom.h"

namespace pawl::load {
namespace {

using sqs_client::SqsClient;

std::string queue_body(const std::string& name, bool create) {
  CHECK(!name.empty(), "a queue without a name");
  std::string body;
  JsonWriter json(body);
  json.begin_object();
  json.member("QueueName", name);
  if (create && name.ends_with(".fifo")) {
    json.key("Attributes");
    json.begin_object();
    json.member("FifoQueue", "true");
    json.end_object();
  }
  json.end_object();
  return body;
}

// The path of a queue URL: its host may be one that only other programs can reach.
std::expected<std::string, std::string> path_of(const std::string& response,
                                                const std::string& endpoint) {
  JsonDom dom;
  const auto document = dom.parse(response);
  const auto member = document ? document->member("QueueUrl") : std::nullopt;
  const auto url = member ? member->text() : std::nullopt;
  const auto queue =
      url ? sqs_client::parse_endpoint(*url) : std::unexpected(std::string("there is none"));
  if (queue && queue->path.find('/') != std::string::npos) return queue->path;
  return std::unexpected(endpoint +
                         " has sent no QueueUrl of a queue. Does --url name an SQS endpoint?");
}

}  // namespace

std::expected<EndpointQueue, std::string> find_queue(const LoadOptions& options) {
  CHECK(!options.queue.empty(), "a load of no queue at {}", options.url);
  sqs_client::ClientOptions asked;
  asked.url = options.url;
  asked.key = {options.key_id, options.secret, options.session_token};
  asked.region = options.region;
  asked.stream.ca_file = options.ca_file;
  auto client = SqsClient::make(std::move(asked));
  if (!client) return std::unexpected(client.error().text);
  bool create = false;
  auto response = client->call("GetQueueUrl", queue_body(options.queue, false));
  if (!response && response.error().code == "QueueDoesNotExist") {
    if (!options.create)
      return std::unexpected("there is no queue " + options.queue + "; --create creates it");
    create = true;
    response = client->call("CreateQueue", queue_body(options.queue, true));
  }
  if (!response) return std::unexpected(response.error().text);
  CHECK(!create || options.create, "{} was created unasked", options.queue);
  const std::string endpoint = url_of(client->endpoint());
  auto path = path_of(response->body, endpoint);
  if (!path) return std::unexpected(std::move(path.error()));
  return EndpointQueue{endpoint + "/" + *path, create};
}

}  // namespace pawl::load
