// SPDX-License-Identifier: Apache-2.0
// SqsState: the state of one SQS call between its begin and its response, used by the actions.
//
// Owner:  the HttpCall. Memory is reused from call to call; large buffers shrink again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/queue/directory.h"
#include "core/queue/request.h"
#include "proto/aws/call_types.h"
#include "proto/aws/message_attributes.h"
#include "proto/errors/sqs_errors.h"
#include "proto/http/parser.h"
#include "proto/sqs/input.h"
#include "proto/sqs/message.h"
#include "proto/sqs/model.h"
#include "proto/sqs/queue_attributes.h"
#include "proto/sqs/result.h"

namespace pawl {

// One entry of a batch, or the only entry of a single.
struct SqsEntry {
  Refusal refusal;
  std::uint32_t slot = 0;  // index in `sends` or `receipts`, unless refused
  SqsMessage message;
};

enum class SqsProtocol : std::uint8_t {
  json,
  query,
};

struct SqsState {
  // The form of the response.
  SqsProtocol protocol = SqsProtocol::query;
  bool query_mode = false;    // a JSON client that expects the statuses of Query
  bool accepts_json = false;  // a Query client that wants JSON instead of XML
  std::array<char, 36> request_id{};
  std::string_view host;  // the server's name as the client sees it; may be empty
  std::string_view scheme = "http";
  std::string_view trace;  // X-Amzn-Trace-Id, empty when absent
  Instant now;             // engine time of the request

  SqsAction action = SqsAction::none;
  SqsInput input;
  Refusal refusal;

  // Valid in begin() only; data needed later is copied.
  const Directory* directory = nullptr;
  const QueueConfig* queue = nullptr;
  // Valid until the response.
  const CallSettings* config = nullptr;
  std::string_view account;  // the caller's: owner of the created and listed queues
  std::string_view queue_name, queue_account;
  bool fifo = false;                  // the queue is FIFO
  std::int64_t visibility_max_s = 0;  // QueueConfig::visibility_limit(); 0: no queue

  // The request and the data it points to.
  Request request;
  CallRoute routed;
  std::vector<SqsEntry> entries;  // at least as many as input.entries
  std::vector<SendEntry> sends;
  std::vector<ReceiptEntry> receipts;
  std::vector<Delivery> deliveries;
  QueueSpec spec;
  std::vector<AttributeChange> changes;
  Tags tags;             // TagQueue, UntagQueue: the queue's tags after the change
  unsigned retries = 0;  // retries of a change that conflicted with another change

  // Data that an action keeps for its result.
  ConfigPtr found;  // GetQueueUrl, GetQueueAttributes, ListQueueTags, move tasks; the base of
                    // a change
  std::vector<ConfigPtr> listed;   // ListQueues, ListDeadLetterSourceQueues
  bool more_listed = false;        // more queues follow the listed ones
  QueueAttributeSet selected = 0;  // GetQueueAttributes
  std::uint32_t system_names = 0;  // ReceiveMessage: one bit for each name
  AttributeFilter attribute_names;
  // ReceiveMessage: the result, kept while messages that do not fit return to their queue.
  std::string result;
  std::uint32_t answered = 0;  // number of deliveries in the response
  std::string envelopes;       // bodies of some deliveries
  std::string scratch;         // temporary texts of the response

  void reset();
  std::size_t memory() const;  // bytes held, approximately

  bool is_batch() const { return info(action).entry_members != 0; }
  std::string_view request_id_text() const { return {request_id.data(), request_id.size()}; }

  // Sets the queue of the call.
  void use(const QueueConfig& the_queue);

  CallStep route(Op op, ShardId to) {
    request.op = op;
    routed = {&request, to};
    return CallStep::route;
  }
};

// Account and name at the end of a queue URL or of a request path. Either may be empty.
struct QueuePath {
  std::string_view account, name;
};
QueuePath queue_path(std::string_view url_or_path);

// Appends "http://host", as the client can reach it.
void append_base_url(std::string& out, const SqsState& state);

// Appends "http://host/account/name", as the client can reach it.
void append_queue_url(std::string& out, const SqsState& state, std::string_view account,
                      std::string_view name);

// Headers that SQS adds to a response.
struct SqsHeaders {
  explicit SqsHeaders(const SqsState& s);

  std::string query_error, seconds, milliseconds, cancels;
  std::array<HttpHeader, 3> headers;
  std::size_t count = 0;
};

// The response: its status, its type, and its body, which is in `out` or in the state.
std::uint16_t status_of(const SqsState& state);
std::string_view content_type(const SqsState& state);
std::string_view write_body(SqsState& state, std::string& out);
// Appends the body of a response without a fault.
void write_result(SqsState& state, std::string& out);

}  // namespace pawl
