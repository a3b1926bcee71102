// SPDX-License-Identifier: Apache-2.0
// Stories: small workloads, each about one duty of a log.
//
// Owner:  none. A story uses a StoryClient, and runs to its end even if the client is dead.
#pragma once

#include <span>
#include <string_view>

#include "tests/exhaustive/story_client.h"

namespace pawl::exhaustive {

struct Story {
  std::string_view name;
  std::uint32_t shards = 1;
  void (*tell)(StoryClient& client) = nullptr;
};

std::span<const Story> stories();
const Story* story_named(std::string_view name);
Scene scene_of(const Story& story, std::uint64_t seed);

}  // namespace pawl::exhaustive
