// What one call knows between begin() and write_response(), and what the actions work on.
//
// Owner:  the SqsCall. Everything is reused from call to call; what a large call made big shrinks again.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/directory.h"
#include "core/request.h"
#include "proto/attributes.h"
#include "proto/sns.h"
#include "proto/sqs.h"
#include "proto/sqs_errors.h"
#include "proto/sqs_input.h"
#include "proto/sqs_message.h"
#include "proto/sqs_model.h"
#include "proto/sqs_queue_attributes.h"
#include "proto/sqs_result.h"

namespace pawl {

// One entry of a batch, or the one of a single.
struct SqsEntry {
  Refusal refusal;
  std::uint32_t slot = 0;  // where it is in `sends` or `receipts`, unless refused
  SqsMessage message;
};

enum class SqsProtocol : std::uint8_t {
  json,
  query,
  sns,    // Query of the other service: `sns` has all there is
  plain,  // neither: a health check, a wrong method
};

struct SqsState {
  // How the answer goes back.
  SqsProtocol protocol = SqsProtocol::plain;
  bool keep_alive = true;
  bool head_only = false;
  bool query_mode = false;    // a JSON client that knows the statuses of Query
  bool accepts_json = false;  // a Query client that wants JSON instead of XML
  int version_minor = 1;
  std::array<char, 36> request_id{};
  std::string_view host;  // as the client calls us; may be empty
  std::string_view scheme = "http";
  std::string_view trace;        // X-Amzn-Trace-Id, empty when absent
  std::string_view cors_origin;  // HttpRequest::cors_origin
  bool preflight = false;        // OPTIONS

  // Of the signature.
  AuthFault auth_fault{};
  bool verified = false;

  // An answer that is no result and no refusal: plain text, or nothing at all.
  std::uint16_t plain_status = 200;
  std::string_view plain_type, plain_body;

  SqsAction action = SqsAction::none;
  SqsInput input;
  Refusal refusal;

  // Valid in begin() only; what is needed later is copied.
  const Directory* directory = nullptr;
  const QueueConfig* queue = nullptr;
  // Valid until the answer.
  const SqsConfig* config = nullptr;
  std::string_view account;  // of the caller: whose queues are made and listed
  std::string_view queue_name, queue_account;
  bool fifo = false;  // the queue's kind

  // The request and all it points to.
  Request request;
  SqsRoute routed;
  std::vector<SqsEntry> entries;  // at least as many as input.entries
  std::vector<SendEntry> sends;
  std::vector<ReceiptEntry> receipts;
  std::vector<Delivery> deliveries;
  QueueSpec spec;
  std::vector<AttributeChange> changes;
  Tags tags;             // SetQueueAttributes' kin: TagQueue, UntagQueue
  unsigned retries = 0;  // changes of a queue that others changed meanwhile

  // What an action keeps for its result.
  ConfigPtr found;  // GetQueueUrl, GetQueueAttributes, ListQueueTags, move tasks; what a
                    // change is based on
  std::vector<ConfigPtr> listed;   // ListQueues, ListDeadLetterSourceQueues
  bool more_listed = false;        // there are queues after those
  QueueAttributeSet selected = 0;  // GetQueueAttributes
  std::uint32_t system_names = 0;  // ReceiveMessage: one bit for each name
  AttributeFilter attribute_names;
  // ReceiveMessage: the result, kept while the messages that do not fit go back to their queue.
  std::string result;
  std::uint32_t answered = 0;    // so many of the deliveries are in the answer
  std::string scratch;           // for texts on their way into the answer
  std::unique_ptr<SnsCall> sns;  // null until the first call of SNS

  void reset();

  bool is_batch() const { return info(action).entry_members != 0; }
  std::string_view request_id_text() const { return {request_id.data(), request_id.size()}; }

  // The call is about this queue.
  void use(const QueueConfig& the_queue);

  SqsCall::Next route(Op op, ShardId to) {
    request.op = op;
    routed = {&request, to};
    return SqsCall::Next::route;
  }
};

// An action: what it does before the broker, and how it tells the result.
struct SqsHandler {
  // Validates and fills `request`. Called with `queue` found, if the action is on a queue.
  SqsCall::Next (*begin)(SqsState&) = nullptr;
  // Writes the members of the result. Null for an action that answers none.
  void (*result)(SqsState&, SqsResult&) = nullptr;
  // Of an action that changes what a queue has already: makes the change anew, from `found`.
  SqsCall::Next (*change)(SqsState&) = nullptr;
};
const SqsHandler& handler(SqsAction action);

// The account and the name that a queue's URL, or the path of a request, ends in. Either may be empty.
struct QueuePath {
  std::string_view account, name;
};
QueuePath queue_path(std::string_view url_or_path);

// "http://host" as the client can reach it.
void append_base_url(std::string& out, const SqsState& state);

// "http://host/account/name" as the client can reach it.
void append_queue_url(std::string& out, const SqsState& state, std::string_view account,
                      std::string_view name);

// A SequenceNumber: 20 digits.
void write_sequence_number(std::array<char, 20>& out, Seq seq);

// The HTTP status of the answer, and the whole response.
std::uint16_t status_of(const SqsState& state);
void write_result(SqsState& state, std::string& out);  // the body of an answer without a fault
void write_answer(SqsState& state, std::string& out, std::string_view date);

}  // namespace pawl
