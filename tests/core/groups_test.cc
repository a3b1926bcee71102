// SPDX-License-Identifier: Apache-2.0
// Groups against a model of deques that are searched linearly.
#include "core/queue/groups.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/sim/random.h"

namespace pawl {
namespace {

using State = Slot::State;

// Groups and a model of them, changed together and compared after each step.
class Both {
 public:
  Both(bool fifo, std::uint64_t seed) : fifo_(fifo), random_(seed), groups_(slots_, fifo, all_) {}

  void run(int steps, std::uint64_t most) {
    for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
      SCOPED_TRACE("step " + std::to_string(i));
      const std::uint64_t dice = random_.below(100);
      if (messages_.empty() || (dice < 40 && messages_.size() < most)) {
        join();
      } else if (dice < 60) {
        serve();
      } else if (dice < 85) {
        change(any(), random_.chance(1, 2) ? State::visible : State::in_flight);
      } else {
        leave(any());
      }
      check();
    }
  }

 private:
  struct Group {
    std::vector<std::uint32_t> messages;        // FIFO: all messages, by number
    std::deque<std::uint32_t> fresh, returned;  // standard: visible messages
    std::uint32_t count = 0, in_flight = 0;
  };

  static TextKey key(std::uint64_t name) { return {name, name % 3}; }  // the low halves collide
  std::uint32_t any() { return messages_[random_.below(messages_.size())]; }

  bool ready(const Group& group) {
    if (!fifo_) return !group.fresh.empty() || !group.returned.empty();
    return !group.messages.empty() && slots_[group.messages.front()].state == State::visible;
  }
  // Updates order_, the ready groups in the order in which they became ready.
  void refresh(std::uint64_t name) {
    const auto it = std::ranges::find(order_, name);
    if (ready(model_[name]) == (it != order_.end())) return;
    it == order_.end() ? order_.push_back(name) : static_cast<void>(order_.erase(it));
  }

  void join() {
    const std::uint32_t row = slots_.take();
    Slot& slot = slots_[row];
    slot = Slot{.state = State::sent};
    // Recovery may restore an older message after a newer one.
    do slot.seq = random_.chance(1, 4) ? 1 + random_.below(next_seq_) : next_seq_;
    while (!seqs_.insert(slot.seq).second);
    next_seq_ = std::max(next_seq_, slot.seq + 1);
    const std::uint64_t name = random_.below(12);
    ASSERT_TRUE(groups_.join(row, key(name)));
    Group& group = model_[name];
    name_[row] = name;
    messages_.push_back(row);
    ++group.count;
    if (fifo_) {
      group.messages.push_back(row);
      std::ranges::sort(group.messages, {}, [&](std::uint32_t r) { return slots_[r].seq; });
    }
    refresh(name);
    if (random_.chance(1, 2)) change(row, State::visible);
  }

  void change(std::uint32_t row, State state) {
    Slot& slot = slots_[row];
    Group& group = model_[name_[row]];
    const State before = slot.state;
    if (before == State::in_flight) --group.in_flight;
    if (state == State::in_flight) ++group.in_flight;
    if (!fifo_ && before == State::visible) {
      std::erase(group.fresh, row);
      std::erase(group.returned, row);
    }
    if (state == State::in_flight) slot.receive_count = (slot.receive_count + 1) & 0xFF;
    slot.state = state;
    groups_.changed(row, before);
    if (!fifo_ && state == State::visible)
      (slot.receive_count > 0 ? group.returned : group.fresh).push_back(row);
    refresh(name_[row]);
  }

  void leave(std::uint32_t row) {
    change(row, State::free);
    groups_.leave(row);
    const std::uint64_t name = name_[row];
    std::erase(model_[name].messages, row);
    if (--model_[name].count == 0) {
      std::erase(order_, name);
      model_.erase(name);
    } else {
      refresh(name);
    }
    std::erase(messages_, row);
    slots_.give(row);
  }

  void serve() {
    if (!groups_.any_ready()) return;
    std::uint32_t row = 0;
    if (fifo_) {
      row = groups_.next_in_order();
    } else {
      std::uint64_t in_flight = 0;
      for (const auto& [name, group] : model_) in_flight += group.in_flight;
      const std::uint64_t name = fair_choice(in_flight);
      row = groups_.next_fairly(in_flight, Instant{static_cast<std::int64_t>(random_.below(2000))});
      ASSERT_EQ(name_.at(row), name);
      const Group& group = model_[name];
      ASSERT_TRUE((!group.fresh.empty() && group.fresh.front() == row) ||
                  (!group.returned.empty() && group.returned.front() == row));
      std::erase(order_, name);
      order_.push_back(name);  // behind all others
    }
    change(row, State::in_flight);
  }

  std::uint64_t fair_choice(std::uint64_t in_flight) {
    const auto noisy = [&](std::uint64_t name) {
      return model_[name].in_flight >= 30 && model_[name].in_flight * 10 > in_flight;
    };
    const auto quiet = std::ranges::find_if_not(order_, noisy);
    if (quiet != order_.end()) return *quiet;
    return *std::ranges::min_element(order_, {},
                                     [&](std::uint64_t n) { return model_[n].in_flight; });
  }

  void check() {
    ASSERT_EQ(groups_.any_ready(), !order_.empty());
    ASSERT_EQ(groups_.size(), model_.size());
    const auto visible = std::ranges::count_if(
        messages_, [&](std::uint32_t row) { return slots_[row].state == State::visible; });
    ASSERT_EQ(groups_.visible(), static_cast<std::uint64_t>(visible));
    if (!fifo_ || order_.empty()) return;
    std::uint32_t row = groups_.next_in_order();
    for (const std::uint32_t expected : model_[order_.front()].messages) {
      ASSERT_EQ(row, expected);
      row = slots_[row].next_in_group;
    }
    ASSERT_EQ(row, 0u);
  }

  bool fifo_;
  sim::Random random_;
  Slab<Slot> slots_{100'000};
  std::uint64_t all_ = 0;
  Groups groups_;
  std::map<std::uint64_t, Group> model_;
  std::map<std::uint32_t, std::uint64_t> name_;
  std::vector<std::uint32_t> messages_;
  std::vector<std::uint64_t> order_;
  std::set<Seq> seqs_;
  Seq next_seq_ = 1;
};

TEST(Groups, OfAFifoQueueAreWhatDequesSay) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Both(true, seed).run(2000, seed % 2 == 0 ? 10 : 200);
  }
}

TEST(Groups, OfTenantsAreWhatDequesSay) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Both(false, seed).run(2000, seed % 2 == 0 ? 10 : 600);
  }
}

// --- x-fifo-delay=pass ---

// One group, served and deleted at random, while delays end in the order of their times.
class Passing {
 public:
  explicit Passing(std::uint64_t seed) : random_(seed) { groups_.order({}, true); }

  void run() {
    for (now_.ms = 1; now_.ms < 150; ++now_.ms) {
      send();
      end_delays();
      if (random_.chance(1, 2)) serve();
      if (random_.chance(1, 4)) give_back();
      if (random_.chance(1, 3) && !all_.empty()) remove(random_.below(all_.size()));
      ASSERT_EQ(in_order(), expected());
    }
  }

  // The groups as another startup makes them, of the same messages in the order of their numbers.
  void start_again() {
    give_back();
    Groups anew(slots_, true, bytes_);
    const std::vector<std::uint32_t> before = in_order();
    for (const std::uint32_t row : all_) groups_.leave(row);
    std::ranges::sort(all_, {}, [&](std::uint32_t row) { return slots_[row].seq; });
    for (const std::uint32_t row : all_) ASSERT_TRUE(anew.join(row, {1, 1}));
    std::vector<std::uint32_t> rows = all_;
    anew.order(rows, true);
    std::vector<std::uint32_t> after;
    for (std::uint32_t row = anew.first_of(1); row != 0; row = slots_[row].next_in_group)
      after.push_back(row);
    EXPECT_EQ(after, before);
  }

 private:
  void become(std::uint32_t row, State state) {
    const State before = std::exchange(slots_[row].state, state);
    groups_.changed(row, before);
  }

  void send() {
    const std::uint32_t row = slots_.take();
    slots_[row] = Slot{.state = State::sent};
    slots_[row].seq = ++newest_;
    slots_[row].deadline = now_ + milliseconds(random_.chance(1, 2) ? 0 : random_.below(30));
    ASSERT_TRUE(groups_.join(row, {1, 1}));
    all_.push_back(row);
    if (slots_[row].deadline > now_) become(row, State::delayed);
  }

  // A timer may be late: the later of two times may come first.
  void end_delays() {
    for (const std::uint32_t row : all_) {
      const Slot& slot = slots_[row];
      const bool waits = slot.state == State::delayed || slot.state == State::sent;
      if (waits && slot.deadline <= now_ && random_.chance(2, 3)) become(row, State::visible);
    }
  }

  void serve() {
    if (!groups_.any_ready()) return;
    const std::uint32_t row = groups_.next_in_order();
    slots_[row].nonce = static_cast<std::uint32_t>(now_.ms);
    slots_[row].deadline = now_;
    become(row, State::in_flight);
  }

  void give_back() {
    for (const std::uint32_t row : all_)
      if (slots_[row].state == State::in_flight) become(row, State::visible);
  }

  void remove(std::size_t at) {
    const std::uint32_t row = all_[at];
    if (all_.size() == 1) return;  // the group stays
    become(row, State::free);
    groups_.leave(row);
    slots_.give(row);
    all_.erase(all_.begin() + static_cast<std::ptrdiff_t>(at));
  }

  std::vector<std::uint32_t> in_order() const {
    std::vector<std::uint32_t> rows;
    for (std::uint32_t row = groups_.first_of(1); row != 0; row = slots_[row].next_in_group)
      rows.push_back(row);
    return rows;
  }

  std::vector<std::uint32_t> expected() const {
    std::vector<std::uint32_t> rows;
    std::ranges::copy_if(all_, std::back_inserter(rows), [&](std::uint32_t row) {
      return slots_[row].state == State::visible || slots_[row].nonce != 0;
    });
    std::ranges::sort(rows, {}, [&](std::uint32_t row) {
      const Slot& slot = slots_[row];
      const bool delivered = slot.nonce != 0;
      return std::tuple(!delivered, delivered ? 0 : slot.deadline.ms, slot.seq);
    });
    return rows;
  }

  sim::Random random_;
  Slab<Slot> slots_{100'000};
  std::uint64_t bytes_ = 0;
  Groups groups_{slots_, true, bytes_};
  std::vector<std::uint32_t> all_;
  Instant now_;
  Seq newest_ = 0;
};

TEST(Groups, LetMessagesPassDelayedOnes) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Passing passing(seed);
    passing.run();
    if (!testing::Test::HasFailure()) passing.start_again();
  }
}

}  // namespace
}  // namespace pawl
