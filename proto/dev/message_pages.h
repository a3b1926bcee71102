// SPDX-License-Identifier: Apache-2.0
// MessagePages: the messages of a queue in every state, without receiving them; for DevCall.
//
//   GET /_pawl/messages?queue=NAME[&account=ID][&state=STATE][&from=NUMBER][&limit=N]
//     {"messages":[{"MessageId":...,"Number":7,"State":"in_flight","VisibleAt":...}],"next":9}
//   GET or POST /_aws/sqs/messages?QueueUrl=URL[&ShowInvisible=true][&ShowDelayed=true]
//   GET or POST /_aws/sqs/messages/REGION/ACCOUNT/QUEUE
//     LocalStack's page: all messages in the response to ReceiveMessage, in XML, or in JSON by
//     the header Accept; for an SDK in its own protocol
//
// It asks for the messages slice after slice, and writes each slice when it arrives.
//
// Units:  epoch ms, as in SQS; `Number` counts the messages of a queue in the order of their sends.
// Limits: messages_max, bytes_max. The first page ends there with `next`; LocalStack's refuses.
// Errors: the status with a sentence, or with an error of SQS in LocalStack's form.
// Owner:  the DevCall. Memory used by the request stays valid until the next begin.
// Source: LocalStack's documentation, "SQS developer endpoints".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/queue/directory.h"
#include "core/queue/request.h"
#include "proto/aws/call_types.h"
#include "proto/http/parser.h"
#include "proto/pawl/peek_series.h"
#include "proto/sqs/result.h"
#include "proto/text/form.h"

namespace pawl {

class MessagePages {
 public:
  static constexpr std::size_t messages_max = 10'000, messages_default = 1'000;
  static constexpr std::size_t bytes_max = 16 << 20;  // of the messages as they are written
  static constexpr std::string_view localstack_path = "/_aws/sqs/messages";

  // `account`: the caller's.
  CallStep begin(const HttpRequest& http, std::string_view account, const Directory& directory,
                 const CallSettings& settings);
  CallRoute route() { return series_.route(); }
  CallStep resume();

  std::uint16_t status() const { return status_; }
  std::string_view content_type() const;
  std::string& body() { return body_; }
  std::size_t memory() const;  // approximate bytes held

 private:
  CallStep begin_own(const HttpRequest& http, std::string_view account, const Directory& directory);
  CallStep begin_localstack(const HttpRequest& http, const Directory& directory);
  bool read_own(const Form& form, std::string_view& queue, std::string_view& account);
  bool read_localstack(const HttpRequest& http, Form& form, std::string& url);
  CallStep find_by_path(std::string_view path, const Directory& directory);
  CallStep find_by_url(std::string_view url, const Directory& directory);
  CallStep look_into(const Directory& directory, std::string_view account, std::string_view name);
  bool shows(const PeekedMessage& message, const Delivery* delivery) const;
  CallStep finish();
  CallStep refuse(std::uint16_t status, std::string why);
  CallStep refuse(std::uint16_t status, std::string_view code, std::string_view why);

  const CallSettings* settings_ = nullptr;
  bool own_ = true;  // false: LocalStack's page
  SqsForm form_ = SqsForm::json;
  bool behind_ = true;  // also messages that wait for another of their group
  std::size_t limit_ = messages_max;
  Seq from_ = 0;
  std::uint32_t states_ = PeekSlice::all_states;
  PeekSeries series_;
  std::string items_, scratch_;
  std::size_t count_ = 0;
  std::uint16_t status_ = 200;
  std::string body_;
};

}  // namespace pawl
