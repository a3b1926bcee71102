// SPDX-License-Identifier: Apache-2.0
#include "net/client/pawl/pawl.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "net/client/pawl/client.h"

using pawl::Client;

struct pawl_client {
  Client client;
  std::vector<Client::Message> received;
};

namespace {

int number_of(Client::Code code) { return static_cast<int>(code); }

// The error of `call`; C has no exceptions, and containers throw when memory is used up.
template <typename Call>
int guarded(Call&& call) noexcept {
  try {
    return number_of(call());
  } catch (const std::bad_alloc&) {
    return number_of(Client::Code::no_memory);
  } catch (...) {
    return number_of(Client::Code::invalid);
  }
}

std::string_view text_of(const char* text) {
  return text == nullptr ? std::string_view() : std::string_view(text);
}

Client::Options options_of(const pawl_options& options) {
  Client::Options made;
  if (options.host != nullptr) made.host = options.host;
  made.port = options.port;
  made.name = text_of(options.name);
  made.connect_timeout = std::chrono::milliseconds(options.connect_timeout_ms);
  made.request_timeout = std::chrono::milliseconds(options.request_timeout_ms);
  made.key_id = text_of(options.key_id);
  made.secret = text_of(options.secret);
  made.tls = options.tls != 0;
  made.tls_verify = options.tls_verify != 0;
  made.ca_file = text_of(options.ca_file);
  return made;
}

Client::Queue queue_of(const pawl_queue& queue) {
  return {.handle = queue.handle,
          .maximum_message_size = queue.maximum_message_size,
          .client = queue.client};
}

Client::Code take_queue(const Client::Result<Client::Queue>& opened, pawl_queue& queue) {
  if (!opened) return opened.error().code;
  queue = {.client = opened->client,
           .handle = opened->handle,
           .maximum_message_size = opened->maximum_message_size};
  return Client::Code::ok;
}

pawl_message message_of(const Client::MessageView& view) {
  pawl_message made{.body = view.body.data(),
                    .body_size = view.body.size(),
                    .group = view.group.data(),
                    .group_size = view.group.size(),
                    .sequence = view.sequence,
                    .sent = view.sent,
                    .receive_count = view.receive_count,
                    .id = {},
                    .receipt = {}};
  std::ranges::copy(view.id, made.id);
  std::ranges::copy(view.receipt, made.receipt);
  return made;
}

}  // namespace

void pawl_options_init(pawl_options* options) {
  *options = {};
  options->port = 9326;
  options->connect_timeout_ms = 5'000;
  options->request_timeout_ms = 30'000;
  options->tls_verify = 1;
}

int pawl_connect(const pawl_options* options, pawl_client** client) {
  *client = nullptr;
  return guarded([&] {
    auto connected = Client::connect(options_of(*options));
    if (!connected) return connected.error().code;
    *client = new pawl_client{std::move(*connected), {}};
    return Client::Code::ok;
  });
}

void pawl_close(pawl_client* client) { delete client; }

int pawl_create_queue(pawl_client* client, const char* name, pawl_queue* queue) {
  return guarded([&] { return take_queue(client->client.create_queue(text_of(name)), *queue); });
}

int pawl_open_queue(pawl_client* client, const char* name, pawl_queue* queue) {
  return guarded([&] { return take_queue(client->client.open_queue(text_of(name)), *queue); });
}

int pawl_send(pawl_client* client, const pawl_queue* queue, const void* body, size_t body_size,
              const char* group, pawl_sent* sent) {
  return guarded([&] {
    const std::string_view bytes(static_cast<const char*>(body), body_size);
    const auto result =
        client->client.send(queue_of(*queue), {.body = bytes, .group = text_of(group)});
    if (!result) return result.error().code;
    if (sent != nullptr) {
      sent->sequence = result->sequence;
      std::ranges::copy(result->id, sent->id);
    }
    return Client::Code::ok;
  });
}

int pawl_receive(pawl_client* client, const pawl_queue* queue, uint32_t wait_ms,
                 pawl_message* messages, size_t max, size_t* count) {
  *count = 0;
  return guarded([&] {
    client->received.clear();
    if (max == 0) return Client::Code::invalid;
    auto received = client->client.receive(
        queue_of(*queue), {.max = static_cast<std::uint32_t>(std::min<std::size_t>(max, 1024)),
                           .wait = std::chrono::milliseconds(wait_ms)});
    if (!received) return received.error().code;
    client->received = std::move(*received);
    *count = std::min(max, client->received.size());
    std::transform(client->received.begin(),
                   client->received.begin() + static_cast<std::ptrdiff_t>(*count), messages,
                   message_of);
    return Client::Code::ok;
  });
}

int pawl_delete_message(pawl_client* client, const pawl_queue* queue, const pawl_message* message) {
  return guarded([&] {
    Client::Receipt receipt;
    std::ranges::copy(message->receipt, receipt.begin());
    const auto deleted = client->client.delete_message(queue_of(*queue), receipt);
    return deleted ? Client::Code::ok : deleted.error().code;
  });
}

const char* pawl_error_name(int error, char* name, size_t size) {
  const bool known = error >= 0 && error <= UINT16_MAX;
  const std::string_view text =
      known ? Client::name_of(static_cast<Client::Code>(error)) : "unknown";
  if (size == 0) return name;
  name[text.copy(name, size - 1)] = '\0';
  return name;
}
