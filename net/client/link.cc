// SPDX-License-Identifier: Apache-2.0
#include "net/client/link.h"

#include <algorithm>
#include <cerrno>
#include <random>
#include <utility>

#include "core/base/check.h"
#include "net/client/answers.h"
#include "proto/binary/frames.h"
#include "proto/binary/payloads.h"

namespace pawl::client {
namespace {

using Code = Client::Code;

std::uint64_t random_seed() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

// True if the server has decided, so that the same request will be refused again.
bool is_final(Code code) {
  const auto number = static_cast<std::uint16_t>(code);
  return (number >= 1000 && number < 2000) || code == Code::unauthorized ||
         code == Code::protocol_version;
}

}  // namespace

Link::Link(const Endpoint& endpoint, std::vector<std::string> queues,
           std::chrono::milliseconds silence_max, Clock::time_point now)
    : endpoint_(endpoint),
      silence_max_(silence_max),
      backoff_(endpoint.backoff_min, endpoint.backoff_max, random_seed()),
      names_(std::move(queues)),
      deadline_(now) {
  CHECK(!names_.empty(), "a link without a queue");
  if (endpoint_.connection.queue.empty()) endpoint_.connection.queue = names_.front();
  if (endpoint_.addresses.empty())
    endpoint_.addresses.push_back({endpoint_.connection.host, endpoint_.connection.port});
}

Pipeline& Link::pipeline() {
  CHECK(up(), "the pipeline of a link in state {}", static_cast<int>(state_));
  return *pipeline_;
}

const OpenQueue& Link::queue(std::size_t index) const {
  CHECK(up(), "a queue of a link in state {}", static_cast<int>(state_));
  CHECK(index < queues_.size(), "queue {} of {}", index, queues_.size());
  return queues_[index];
}

std::optional<Client::Error> Link::take_refusal() { return std::exchange(refusal_, std::nullopt); }

void Link::turn(std::vector<Answer>& answers, Clock::time_point now) {
  ended_.reset();
  if (state_ == State::pausing && now >= deadline_) connect(now);
  if (state_ == State::connecting) on_connecting(now);
  if (state_ == State::opening) on_opening(now);
  if (state_ == State::up) on_up(answers, now);
}

Clock::time_point Link::deadline() const {
  if (state_ == State::connecting) return connecting_->deadline();
  if (state_ == State::up && pipeline_->failure()) return Clock::time_point::min();
  if (state_ == State::up && pipeline_->outstanding() == 0) return Clock::time_point::max();
  return deadline_;
}

void Link::watch(Readiness& readiness) {
  if (state_ != State::up) readiness.forget();
  if (state_ == State::pausing || (pipeline_ && pipeline_->failure()))
    return readiness.watch(-1, 0);
  if (state_ == State::connecting) {
    readiness.watch(connecting_->descriptor(), connecting_->events());
    return connecting_->watched_by(readiness.descriptor());
  }
  readiness.watch(pipeline_->descriptor(), pipeline_->events());
  pipeline_->watched_by(readiness.descriptor());
}

void Link::restart(Client::Error error) {
  if (up()) pipeline_->fail(error);
}

void Link::close() {
  connecting_.reset();
  pipeline_.reset();
  ended_.reset();
  state_ = State::pausing;
  deadline_ = Clock::time_point::max();
}

// --- failures ---

void Link::fail(Client::Error error, bool next_address, Clock::time_point now) {
  CHECK(state_ != State::pausing, "a link fails while it pauses");
  error_ = error;
  if (is_final(error.code)) refusal_ = error;
  connecting_.reset();
  ended_ = std::move(pipeline_);
  pipeline_.reset();
  queues_.clear();
  attributes_asked_ = false;
  pause(next_address, now);
}

void Link::pause(bool next_address, Clock::time_point now) {
  state_ = State::pausing;
  deadline_ = now;
  if (next_address) {
    address_ = (address_ + 1) % endpoint_.addresses.size();
    if (++tried_ < endpoint_.addresses.size()) return;
  }
  tried_ = 0;
  deadline_ = now + backoff_.next();
}

// --- connecting ---

void Link::connect(Clock::time_point now) {
  CHECK(!connecting_ && !pipeline_, "a link connects twice");
  const Endpoint::Address& address = endpoint_.addresses[address_];
  endpoint_.connection.host = address.host;
  endpoint_.connection.port = address.port;
  state_ = State::connecting;
  connecting_.emplace(endpoint_.connection, now);
}

void Link::on_connecting(Clock::time_point now) {
  connecting_->on_ready(now);
  if (!connecting_->ended()) return;
  if (connecting_->state() == Connecting::State::failed)
    return fail(connecting_->error(), true, now);
  Greeted greeted = connecting_->take();
  connecting_.reset();
  if (!greeted.groups) return fail(error_of(Code::not_supported), true, now);
  subscribes_ = greeted.subscriptions;
  sends_once_ = greeted.send_once;
  pipeline_.emplace(std::move(greeted.pipeline));
  state_ = State::opening;
  deadline_ = now + endpoint_.connection.connect_timeout;
  request_next(now);
}

// --- opening ---

// Opens the next queue. Of a FIFO queue, also asks for the attributes.
void Link::request_next(Clock::time_point now) {
  CHECK(state_ == State::opening, "a queue is opened in state {}", static_cast<int>(state_));
  attributes_asked_ = !queues_.empty() && queues_.back().fifo && !attributes_asked_;
  if (!attributes_asked_ && queues_.size() == names_.size()) {
    state_ = State::up;
    tried_ = 0;
    ++connections_;
    return;
  }
  if (attributes_asked_) {
    pipeline_->begin(BinaryOp::get_attributes, queues_.back().handle);
  } else {
    std::string& out = pipeline_->begin(BinaryOp::open_queue, 0);
    put_struct(out, payload::QueueAddress{.account = {}, .name = names_[queues_.size()]});
  }
  if (const auto ticket = pipeline_->finish(); !ticket) fail(ticket.error(), true, now);
}

void Link::on_opening(Clock::time_point now) {
  opening_answers_.clear();
  pipeline_->turn(opening_answers_, std::chrono::microseconds(0));
  for (const Answer& answer : opening_answers_) {
    if (answer.error.code != Code::ok) return fail(answer.error, true, now);
    if (!take_opened(answer)) return fail(error_of(Code::bad_answer), true, now);
    request_next(now);
    if (state_ != State::opening) return;
    pipeline_->flush();
  }
  if (now >= deadline_) fail(error_of(Code::timed_out, ETIMEDOUT), true, now);
}

// False: the response is invalid.
bool Link::take_opened(const Answer& answer) {
  if (attributes_asked_) {
    Client::QueueDescription description;
    if (!take_description(answer.payload, description)) return false;
    const std::pair<std::string, std::string> by_content{"ContentBasedDeduplication", "true"};
    queues_.back().content_based_deduplication =
        std::ranges::find(description.attributes, by_content) != description.attributes.end();
    return true;
  }
  Client::Queue summary;
  if (!take_queue(answer.payload, summary)) return false;
  queues_.push_back({.handle = answer.header.queue,
                     .maximum_message_size = summary.maximum_message_size,
                     .visibility = summary.visibility,
                     .fifo = names_[queues_.size()].ends_with(".fifo")});
  return true;
}

// --- up ---

void Link::on_up(std::vector<Answer>& answers, Clock::time_point now) {
  const std::size_t before = answers.size();
  const bool idle = pipeline_->outstanding() == 0;
  pipeline_->turn(answers, std::chrono::microseconds(0));
  if (answers.size() > before || idle) deadline_ = now + silence_max_;
  if (answers.size() > before && !pipeline_->failure()) backoff_.reset();
  if (!pipeline_->failure() && pipeline_->outstanding() > 0 && now >= deadline_) {
    pipeline_->fail(error_of(Code::timed_out, ETIMEDOUT));
    pipeline_->turn(answers, std::chrono::microseconds(0));
  }
  if (pipeline_->failure()) fail(*pipeline_->failure(), false, now);
}

}  // namespace pawl::client
