// SPDX-License-Identifier: Apache-2.0
#include "proto/binary/api_call.h"

#include <memory>
#include <string_view>
#include <utility>

#include "core/base/check.h"
#include "proto/binary/payloads.h"

namespace pawl::binary {
namespace {

BinaryNext route_next(BinaryCallState& s) {
  ApiCall& api = *s.api;
  CHECK(api.next < api.routes.size(), "route {} of {}", api.next, api.routes.size());
  const CallRoute& route = api.routes[api.next++];
  s.routed = route.request;
  s.target = route.target;
  return BinaryNext::route;
}

BinaryNext follow(BinaryCallState& s, CallStep step) {
  ApiCall& api = *s.api;
  if (step == CallStep::route) {
    api.routes = api.pawl.routes();
    api.next = 0;
    return route_next(s);
  }
  std::string scratch;
  const std::string_view body = api.sqs.refusal ? write_body(api.sqs, scratch) : api.pawl.body();
  put_struct(s.answer, payload::CallResponse{status_of(api.sqs), {body}});
  CHECK(s.answer.size() < frame_bytes_max, "a response of {} bytes", s.answer.size());
  return BinaryNext::respond;
}

}  // namespace

BinaryNext call_action(BinaryCallState& s, const BinaryArguments& call) {
  const CallSettings* const settings = call.config.api;
  if (settings == nullptr || settings->strict_sqs) return s.refuse(Status::unknown_op);
  const auto [action, members] = take_struct<payload::Call>(call.in);
  if (!call.in.finished() || action.empty()) return s.refuse(Status::bad_frame);
  if (members.text.size() > ApiCall::body_bytes_max) return s.refuse(Status::invalid);
  s.api = std::make_unique<ApiCall>();
  SqsState& sqs = s.api->sqs;
  sqs.protocol = SqsProtocol::json;
  sqs.directory = &call.directory;
  sqs.config = settings;
  sqs.account = call.session.account_or(call.config);
  const PawlRequest asked{.action = action, .body = members.text, .path = {}};
  return follow(s, s.api->pawl.begin(sqs, asked, call.session.now));
}

BinaryNext resume_action(BinaryCallState& s) {
  CHECK(s.api != nullptr, "a call without an action is resumed");
  if (s.api->next < s.api->routes.size()) return route_next(s);
  return follow(s, s.api->pawl.resume());
}

}  // namespace pawl::binary
