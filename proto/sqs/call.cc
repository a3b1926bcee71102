// SPDX-License-Identifier: Apache-2.0
#include "proto/sqs/call.h"

#include <utility>

#include "core/base/check.h"
#include "proto/http/page_marks.h"
#include "proto/sqs/access.h"
#include "proto/sqs/actions.h"

namespace pawl::sqs {
namespace {

using F = SqsFault;
using M = SqsMember;

constexpr std::string_view target_prefix = "AmazonSQS.";

// Finds the queue named by QueueUrl or, without one, by the request path.
bool find_queue(SqsState& s, const QueuePath& path) {
  const SqsScalar& url = s.input[M::queue_url];
  if (url.text.empty() && path.name.empty()) {
    return s.refusal.because(F::missing_parameter,
                             "The request must contain the parameter QueueUrl.");
  }
  const auto [account, name] = url.text.empty() ? path : queue_path(url.text);
  const ConfigPtr* queue = allowed_queue(s, account, name, url.text.empty() ? name : url.text);
  if (queue == nullptr) return false;
  s.use(**queue);
  return true;
}

CallStep start(SqsState& s, const QueuePath& path) {
  const SqsActionInfo& action = info(s.action);
  if (s.input.entries.size() > s.entries.size()) s.entries.resize(s.input.entries.size());
  CHECK(s.is_batch() || s.input.entries.size() == 1, "{} entries of a single",
        s.input.entries.size());
  if (action.on_queue && !find_queue(s, path)) return CallStep::respond;
  return handler(s.action).begin(s);
}

bool check_action(SqsState& s, SqsAction action, std::string_view name) {
  s.action = action;
  return action != SqsAction::none ||
         s.refusal.because(F::invalid_action, "The action {} is not valid for this endpoint.",
                           shown(name));
}

Errc outcome_of(const SqsState& s) {
  const Request& request = s.request;
  if (request.error != Errc::ok || s.is_batch()) return request.error;
  if (!request.sends.empty()) return request.sends.front().error;
  if (!request.receipts.empty()) return request.receipts.front().error;
  return Errc::ok;
}

// True if a change that conflicted with another one is to be retried on the queue's current config.
bool change_again(SqsState& s) {
  if (handler(s.action).change == nullptr || s.retries == change_retries_max) return false;
  ++s.retries;
  s.found = std::move(s.request.config);
  s.request.error = Errc::ok;
  return s.found != nullptr;
}

}  // namespace

SqsAction target_action(std::string_view target) {
  if (!target.starts_with(target_prefix)) return SqsAction::none;
  return action_named(target.substr(target_prefix.size()));
}

bool check_method(SqsState& s, const HttpRequest& http, std::string_view action) {
  const bool reads = action.starts_with("Get") || action.starts_with("List");
  if (reads || http.method == "POST" || s.config->keys != nullptr ||
      http.header(HeaderName::authorization) != nullptr)
    return true;
  const std::string_view mark = page_mark(http);
  if (mark.empty()) return true;
  s.query_mode = true;  // the status is 403, as in HttpCall::deny()
  return s.refusal.because(
      F::access_denied,
      "The action {} is not served to this {}: by its header {} a web page may "
      "have sent it, and nobody is asked for a signature here. Send it as "
      "POST, or start the server with --allow-origin and the page's origin.",
      shown(action), http.method, mark);
}

CallStep begin_json(SqsState& s, const HttpRequest& http, std::string_view target) {
  s.protocol = SqsProtocol::json;
  const bool ours = target.starts_with(target_prefix);
  const std::string_view name = ours ? target.substr(target_prefix.size()) : target;
  if (!check_action(s, ours ? action_named(name) : SqsAction::none, name) ||
      !check_method(s, http, name))
    return CallStep::respond;
  if (!read_json(http.body, info(s.action), s.input, s.refusal)) return CallStep::respond;
  return start(s, queue_path(http.path));
}

CallStep begin_query(SqsState& s, const HttpRequest& http, const Form& form,
                     std::string_view name) {
  s.protocol = SqsProtocol::query;
  if (!check_action(s, action_named(name), name)) return CallStep::respond;
  const SqsActionInfo& action = info(s.action);
  const QueuePath path = queue_path(http.path);
  if (!action.on_queue && s.action != SqsAction::get_queue_url && !path.account.empty()) {
    s.refusal.because(F::invalid_action, "The action {} is not valid for this endpoint.",
                      action.name);
    return CallStep::respond;
  }
  if (!check_method(s, http, action.name) || !read_query(form, action, s.input, s.refusal))
    return CallStep::respond;
  return start(s, path);
}

CallStep resume(SqsState& s) {
  CHECK(s.action != SqsAction::none && !s.refusal, "a call that was refused is resumed");
  if (s.request.op == Op::undeliver) return undeliver_rest(s);
  const Errc outcome = outcome_of(s);
  if (outcome == Errc::changed_meanwhile && change_again(s)) {
    return handler(s.action).change(s);
  }
  if (outcome != Errc::ok) {
    static const SqsEntryInput none;
    refuse(s.refusal, outcome,
           subjects_of(s, s.input.entries.empty() ? none : s.input.entries.front()));
  } else if (s.is_batch()) {
    settle_batch(s);
  } else if (s.action == SqsAction::receive_message) {
    return undeliver_rest(s);
  }
  return CallStep::respond;
}

}  // namespace pawl::sqs
