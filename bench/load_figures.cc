// SPDX-License-Identifier: Apache-2.0
#include "bench/load_figures.h"

#include <algorithm>

#include "core/base/check.h"

namespace pawl::load {
namespace {

constexpr std::uint64_t second_ns = 1'000'000'000;

}  // namespace

LoadFigures::LoadFigures(std::uint32_t rounds)
    : rounds_(std::size_t{1} + rounds), complete_rounds_(rounds) {
  CHECK(rounds > 0, "no round");
}

void LoadFigures::begin(std::uint64_t start, std::uint64_t measured, std::uint64_t deadline) {
  CHECK(start <= measured && measured <= deadline, "start {}, measured {}, deadline {}", start,
        measured, deadline);
  last_progress_ = round_begin_ = start;
  measured_ = round_end_ = measured;
  deadline_ = deadline;
  next_report_ = measured_ + second_ns;
  if (measured_ == start) end_round(start);
}

void LoadFigures::count_good(std::uint32_t messages, std::uint64_t now) {
  messages_ += messages;
  rounds_[round_].messages += messages;
  if (messages > 0) last_progress_ = now;
}

void LoadFigures::count_failed(std::uint64_t messages, const std::string& reason) {
  if (messages == 0) return;
  errors_ += messages;
  rounds_[round_].errors += messages;
  reasons_[reason] += messages;
}

std::uint64_t LoadFigures::next_end() const { return std::min(next_report_, round_end_); }

void LoadFigures::advance(std::uint64_t now, const SecondPassed& second_passed) {
  while (now >= round_end_) end_round(now);
  if (now >= next_report_) end_second(second_passed);
}

void LoadFigures::end_round(std::uint64_t now) {
  LoadRound& ended = rounds_[round_];
  ended.latency.merge(fresh_);
  ended.seconds = static_cast<double>(now - round_begin_) / 1e9;
  second_.merge(fresh_);
  fresh_.clear();
  if (round_ == 0) {
    second_.clear();
    reported_messages_ = messages_;
    reported_errors_ = errors_;
  }
  ++round_;
  const auto rounds = static_cast<std::uint32_t>(rounds_.size() - 1);
  CHECK(round_ <= rounds, "round {} of {}", round_, rounds);
  round_begin_ = now;
  round_end_ = round_ < rounds ? measured_ + (deadline_ - measured_) / rounds * round_ : UINT64_MAX;
}

void LoadFigures::end_second(const SecondPassed& second_passed) {
  rounds_[round_].latency.merge(fresh_);
  second_.merge(fresh_);
  fresh_.clear();
  second_passed({.second = (next_report_ - measured_) / second_ns,
                 .messages = messages_ - reported_messages_,
                 .errors = errors_ - reported_errors_,
                 .latency = &second_});
  reported_messages_ = messages_;
  reported_errors_ = errors_;
  second_.clear();
  next_report_ += second_ns;
}

void LoadFigures::interrupt() {
  complete_rounds_ = round_ > 0 ? round_ - 1 : 0;
  round_end_ = UINT64_MAX;
  if (round_ == 0) next_report_ = UINT64_MAX;
}

void LoadFigures::finish(std::uint64_t now) {
  LoadRound& last = rounds_[round_];
  last.latency.merge(fresh_);
  const std::uint64_t end = last.messages > 0 ? last_progress_ : now;
  last.seconds = static_cast<double>(std::max(end, round_begin_) - round_begin_) / 1e9;
}

}  // namespace pawl::load
