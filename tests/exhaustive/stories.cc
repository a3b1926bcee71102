// SPDX-License-Identifier: Apache-2.0
#include "tests/exhaustive/stories.h"

#include <array>

namespace pawl::exhaustive {
namespace {

constexpr ShardId zero{0}, one{1};
constexpr Duration hidden = seconds(20);

AttributeChange number(Attribute attribute, std::int64_t value) { return {attribute, value, {}}; }

void three_operations(StoryClient& c) {
  const auto q = c.make_queue("q", zero);
  c.send(q, 1, 100);
  c.wait();
  c.receive(q, 1, hidden);
  c.wait();
  c.delete_messages(c.take());
  c.wait();
}

// Pairs of sends with five sectors of bodies, then three sends that overlap on their way to the
// disk.
void sends(StoryClient& c) {
  const auto q = c.make_queue("q", zero);
  for (int i = 0; i < 4; ++i) {
    c.send(q, 1, 2000);
    c.send(q, 1, 300);
    c.wait();
  }
  c.send(q, 1, 3000);
  c.step_once();
  c.send(q, 1, 1000);
  c.step_once();
  c.send(q, 1, 10);
  c.wait();
}

void batches(StoryClient& c) {
  const auto q = c.make_queue("q", zero);
  c.send(q, 10, 100);
  c.wait();
  c.send(q, 10, 700);
  c.step_once();
  c.send(q, 3, 60);
  c.wait();
  c.receive(q, 10, hidden);
  c.wait();
  c.delete_messages(c.take());
  c.wait();
}

void deletes(StoryClient& c) {
  const auto q = c.make_queue("q", zero);
  for (int i = 0; i < 4; ++i) {
    c.send(q, 3, 400);
    c.wait();
    c.receive(q, 2, hidden);
    c.wait();
    c.delete_messages(c.take());
    c.step_once();
    c.send(q, 1, 500);
    c.wait();
  }
}

void visibility(StoryClient& c) {
  const auto q = c.make_queue("q", zero, {number(Attribute::visibility_timeout, 2)});
  c.send(q, 4, 200);
  c.wait();
  c.receive(q, 2, hidden);
  c.wait();
  const auto held = c.take();
  c.change(held, seconds(0));
  c.wait();
  c.receive(q, 4, seconds(1));
  c.wait();
  c.change(c.take(), seconds(25));
  c.wait();
  c.pass(seconds(3));
  c.send(q, 1, 200);
  c.receive(q, 4, hidden);
  c.wait();
  c.delete_messages(c.take());
  c.wait();
}

void fifo(StoryClient& c) {
  const auto q = c.make_queue("q", zero, {number(Attribute::fifo_queue, 1)});
  for (int i = 0; i < 3; ++i) {
    c.send(q, 2, 300, "a");
    c.send(q, 2, 300, "b");
    c.wait();
    c.send_again(static_cast<std::size_t>(i));
    c.receive(q, 3, hidden);
    c.wait();
    c.delete_messages(c.take());
    c.step_once();
    c.send(q, 1, 1200, "c");
    c.wait();
  }
}

void purges(StoryClient& c) {
  const auto q = c.make_queue("q", zero);
  const auto other = c.make_queue("other", zero);
  c.send(q, 5, 300);
  c.send(other, 2, 300);
  c.wait();
  c.receive(q, 2, hidden);
  c.wait();
  c.take();
  c.purge(q);
  c.step_once();
  c.wait();
  c.send(q, 3, 300);
  c.wait();
  c.delete_queue(other);
  c.wait();
  c.send(q, 1, 300);
  c.wait();
}

void dead_letters(StoryClient& c, ShardId from, ShardId to) {
  const auto target = c.make_queue("target", to);
  const auto q = c.make_queue("q", from,
                              {
                                  number(Attribute::max_receive_count, 1),
                                  {Attribute::dead_letter_target, -1, c.text(target)}
  });
  c.ledger().link(q, target);
  c.send(q, 3, 600);
  c.wait();
  c.receive(q, 3, hidden);
  c.wait();
  c.change(c.take(), seconds(0));
  c.wait();
  c.receive(q, 3, hidden);
  c.wait();
  c.send(q, 1, 700);
  c.wait();
  c.rest();
  c.receive(target, 2, hidden);
  c.wait();
  c.delete_messages(c.take());
  c.wait();
}
void dead_letters_here(StoryClient& c) { dead_letters(c, zero, zero); }
void dead_letters_away(StoryClient& c) { dead_letters(c, zero, one); }
void dead_letters_back(StoryClient& c) { dead_letters(c, one, zero); }

void moves(StoryClient& c) {
  const auto q = c.make_queue("q", zero);
  const auto target = c.make_queue("target", one);
  c.send(q, 5, 500);
  c.wait();
  c.ledger().link(q, target);
  c.start_move(q, c.text(target));
  c.wait();
  c.send(q, 1, 300);
  c.rest();
  c.receive(target, 2, hidden);
  c.wait();
  c.delete_messages(c.take());
  c.wait();
}

void two_shards(StoryClient& c) {
  const auto q = c.make_queue("q", zero);
  const auto far = c.make_queue("far", one);
  for (int i = 0; i < 2; ++i) {
    c.send(q, 1, 800);
    c.send(far, 1, 800);
    c.wait();
    c.receive(far, 1, hidden);
    c.receive(q, 1, hidden);
    c.wait();
    const auto held = c.take();
    for (const StoryClient::Held& message : held) c.delete_messages({message});
    c.wait();
  }
}

// Makes the log enter new segments and write checkpoints; the live rest of old segments is
// scattered.
void wear(StoryClient& c, std::size_t queue, int times, std::size_t bytes,
          const std::string& group = {}) {
  for (int i = 0; i < times; ++i) {
    c.send(queue, 2, bytes, group);
    c.wait();
    c.receive(queue, 2, hidden);
    c.wait();
    c.delete_messages(c.take());
    c.wait();
  }
}

void checkpoints(StoryClient& c) {
  const auto keep = c.make_queue("keep", zero);
  const auto q = c.make_queue("q", zero);
  c.send(keep, 3, 900);
  c.wait();
  c.receive(keep, 1, hidden);
  wear(c, q, 5, 6000);
  c.send(keep, 2, 100);
  c.step_once();
  c.take();
  wear(c, q, 3, 3000);
}

void fifo_checkpoints(StoryClient& c) {
  const auto keep = c.make_queue("keep", zero, {number(Attribute::fifo_queue, 1)});
  const auto q = c.make_queue("q", zero);
  c.send(keep, 3, 500, "a");
  c.send(keep, 1, 500, "b");
  c.wait();
  wear(c, q, 5, 6000);
  c.send_again(0);
  c.send(keep, 1, 100, "a");
  c.step_once();
  wear(c, q, 2, 3000);
}

void recycling(StoryClient& c) {
  const auto keep = c.make_queue("keep", zero);
  const auto q = c.make_queue("q", zero);
  c.send(keep, 1, 500);
  c.wait();
  wear(c, q, 16, 7000);
  c.send(keep, 1, 500);
  c.step_once();
  wear(c, q, 1, 200);
}

void stop_and_go(StoryClient& c) {
  const auto q = c.make_queue("q", zero);
  c.send(q, 3, 300);
  c.wait();
  c.receive(q, 1, hidden);
  c.wait();
  c.delete_messages(c.take());
  c.stop();
}

constexpr std::array all{
    Story{"three",            1, three_operations },
    Story{"sends",            1, sends            },
    Story{"batches",          1, batches          },
    Story{"deletes",          1, deletes          },
    Story{"visibility",       1, visibility       },
    Story{"fifo",             1, fifo             },
    Story{"purges",           1, purges           },
    Story{"letters",          1, dead_letters_here},
    Story{"letters_away",     2, dead_letters_away},
    Story{"letters_back",     2, dead_letters_back},
    Story{"moves",            2, moves            },
    Story{"two_shards",       2, two_shards       },
    Story{"checkpoints",      1, checkpoints      },
    Story{"fifo_checkpoints", 1, fifo_checkpoints },
    Story{"recycling",        1, recycling        },
    Story{"stop",             1, stop_and_go      },
};

}  // namespace

std::span<const Story> stories() { return all; }

const Story* story_named(std::string_view name) {
  for (const Story& story : all)
    if (story.name == name) return &story;
  return nullptr;
}

Scene scene_of(const Story& story, std::uint64_t seed) {
  Scene scene;
  scene.shards = story.shards;
  scene.seed = seed;
  return scene;
}

}  // namespace pawl::exhaustive
