// SPDX-License-Identifier: Apache-2.0
#include "proto/pawl/call.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "core/base/check.h"
#include "proto/pawl/actions.h"
#include "proto/sqs/access.h"

namespace pawl {
namespace {

using F = SqsFault;

constexpr std::string_view peek_members[] = {"QueueUrl",       "States",         "MaxMessages",
                                             "From",           "MessageGroupId", "AttributeName",
                                             "AttributeValue", "FilterPolicy"};
constexpr std::string_view explain_members[] = {"QueueUrl", "MessageId", "Number", "From"};

constexpr std::string_view list_members[] = {"QueueNamePrefix", "MaxResults", "NextToken"};

constexpr std::string_view start_members[] = {
    "QueueUrl",         "From",         "To",           "MaxNumberOfMessagesPerSecond",
    "DestinationQueue", "FilterPolicy", "IncludeCopies"};
constexpr std::string_view queue_member[] = {"QueueUrl"};
constexpr std::string_view cancel_members[] = {"QueueUrl", "Number"};

constexpr SqsAction receiving = SqsAction::receive_message;

constexpr PawlAction pawl_actions[] = {
    {"PeekMessages", receiving, peek_members, peek_messages, peek_messages_result},
    {"ExplainMessage", receiving, explain_members, explain_message, explain_message_result},
    {"ListQueueStatistics", SqsAction::list_queues, list_members, list_queue_statistics,
     list_queue_statistics_result, false},
    {"StartReplay", SqsAction::start_message_move_task, start_members, start_replay,
     start_replay_result},
    {"ListReplays", SqsAction::list_message_move_tasks, queue_member, list_replays,
     list_replays_result},
    {"CancelReplay", SqsAction::cancel_message_move_task, cancel_members, cancel_replay,
     cancel_replay_result},
};

bool find_queue_of(PawlState& s, std::string_view path_of_call) {
  std::string_view url;
  if (!s.members.text("QueueUrl", url, s.refusal())) return false;
  const QueuePath path = queue_path(url.empty() ? path_of_call : url);
  if (path.name.empty())
    return s.refusal().because(F::missing_parameter,
                               "The request must contain the parameter QueueUrl.");
  const ConfigPtr* const queue =
      sqs::allowed_queue(*s.call, path.account, path.name, url.empty() ? path.name : url);
  if (queue == nullptr) return false;
  s.queue = *queue;
  return true;
}

}  // namespace

void PawlState::reset() {
  action = nullptr;
  call = nullptr;
  queue = nullptr;
  limit = count = 0;
  items.clear();
  body.clear();
  id.clear();
  found.reset();
  blocker.reset();
  expires.reset();
  more.clear();
  statistics.clear();
  next_token.clear();
  request = Request();
  replay = ReplayParams();
}

std::size_t PawlState::memory() const {
  return sizeof *this + series.memory() + statistics.memory() + items.capacity() +
         scratch.capacity() + body.capacity();
}

CallStep refuse_peek(PawlState& s, Errc error) {
  CHECK(error != Errc::ok, "nothing failed");
  refuse(s.refusal(), error, {.queue = s.queue->name});
  return CallStep::respond;
}

PawlCall::PawlCall() : state_(std::make_unique<PawlState>()) {}
PawlCall::~PawlCall() = default;

CallStep PawlCall::begin(SqsState& call, const PawlRequest& asked, Instant now) {
  CHECK(call.config != nullptr && call.directory != nullptr, "a call of {} without settings",
        asked.action);
  PawlState& s = *state_;
  s.reset();
  s.call = &call;
  s.now = now;
  const auto found = std::ranges::find(pawl_actions, asked.action, &PawlAction::name);
  if (found == std::end(pawl_actions) || asked.method != "POST") {
    std::vector<std::string_view> names;
    for (const PawlAction& action : pawl_actions) names.push_back(action.name);
    call.refusal.because(F::invalid_action,
                         "{} {}{} is not an action of this server. It has, with the method POST: "
                         "{}.",
                         asked.method, target_prefix, shown(asked.action), with_commas(names));
    return CallStep::respond;
  }
  s.action = found;
  call.action = found->permission;
  if (!s.members.read(asked.body, found->name, found->members, call.refusal) ||
      (found->of_queue && !find_queue_of(s, asked.path)))
    return CallStep::respond;
  return found->begin(s);
}

std::span<const CallRoute> PawlCall::routes() {
  CHECK(state_->action != nullptr, "a call that routed nothing has no routes");
  if (state_->statistics.begun()) return state_->statistics.routes();
  const bool own = state_->request.op != Op::none;
  route_ = own ? CallRoute{&state_->request, state_->request_home} : state_->series.route();
  return {&route_, 1};
}

CallStep PawlCall::resume() {
  CHECK(state_->action != nullptr, "a call without an action is resumed");
  return state_->action->resume(*state_);
}

std::string_view PawlCall::action() const {
  return state_->action == nullptr ? std::string_view() : state_->action->name;
}

std::string_view PawlCall::body() const {
  CHECK(!state_->body.empty(), "a response of {} without a body", action());
  return state_->body;
}
std::size_t PawlCall::memory() const { return state_->memory(); }

}  // namespace pawl
