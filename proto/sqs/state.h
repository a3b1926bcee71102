// SPDX-License-Identifier: Apache-2.0
// SqsState: the state of one call between begin() and write_response(), used by the actions.
//
// Owner:  the SqsCall. Memory is reused from call to call; large buffers shrink again.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/directory.h"
#include "core/request.h"
#include "proto/aws/message_attributes.h"
#include "proto/call.h"
#include "proto/errors/sqs_errors.h"
#include "proto/sns/call.h"
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
  sns,    // SNS in Query: `sns` has the whole state
  plain,  // neither: a health check, a wrong method
};

struct SqsState {
  // The form of the response.
  SqsProtocol protocol = SqsProtocol::plain;
  bool keep_alive = true;
  bool head_only = false;
  bool query_mode = false;    // a JSON client that expects the statuses of Query
  bool accepts_json = false;  // a Query client that wants JSON instead of XML
  int version_minor = 1;
  std::array<char, 36> request_id{};
  std::string_view host;  // the server's name as the client sees it; may be empty
  std::string_view scheme = "http";
  std::string_view trace;        // X-Amzn-Trace-Id, empty when absent
  std::string_view cors_origin;  // HttpRequest::cors_origin
  bool preflight = false;        // OPTIONS

  // The result of the signature check.
  AuthFault auth_fault{};
  bool verified = false;

  // The response of protocol `plain`: a short text or an empty body.
  std::uint16_t plain_status = 200;
  std::string_view plain_type, plain_body;

  SqsAction action = SqsAction::none;
  SqsInput input;
  Refusal refusal;

  // Valid in begin() only; data needed later is copied.
  const Directory* directory = nullptr;
  const QueueConfig* queue = nullptr;
  // Valid until the response.
  const SqsConfig* config = nullptr;
  std::string_view account;  // the caller's: owner of the created and listed queues
  std::string_view queue_name, queue_account;
  bool fifo = false;  // the queue is FIFO

  // The request and the data it points to.
  Request request;
  SqsRoute routed;
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
  std::uint32_t answered = 0;    // number of deliveries in the response
  std::string scratch;           // temporary texts of the response
  std::unique_ptr<SnsCall> sns;  // null until the first call of SNS

  void reset();

  bool is_batch() const { return info(action).entry_members != 0; }
  std::string_view request_id_text() const { return {request_id.data(), request_id.size()}; }

  // Sets the queue of the call.
  void use(const QueueConfig& the_queue);

  SqsCall::Next route(Op op, ShardId to) {
    request.op = op;
    routed = {&request, to};
    return SqsCall::Next::route;
  }
};

// The functions of an action, before and after the broker.
struct SqsHandler {
  // Validates and fills `request`. For an action on a queue, `queue` is already set.
  SqsCall::Next (*begin)(SqsState&) = nullptr;
  // Writes the members of the result. Null for an action without a result.
  void (*result)(SqsState&, SqsResult&) = nullptr;
  // Recomputes a change of tags or permissions from `found`. Null for other actions.
  SqsCall::Next (*change)(SqsState&) = nullptr;
};
const SqsHandler& handler(SqsAction action);

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

// Writes a SequenceNumber: 20 digits.
void write_sequence_number(std::array<char, 20>& out, Seq seq);

// The HTTP status, and the whole response.
std::uint16_t status_of(const SqsState& state);
void write_result(SqsState& state, std::string& out);  // the body of a response without a fault
void write_answer(SqsState& state, std::string& out, std::string_view date);

}  // namespace pawl
