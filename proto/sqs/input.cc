// SPDX-License-Identifier: Apache-2.0
#include "proto/sqs/input.h"

#include <algorithm>
#include <cstring>

#include "core/base/check.h"
#include "proto/aws/message_attributes.h"

namespace pawl {
namespace {

// Clears a vector, and frees its memory if a large call made it big.
template <typename T>
void clear_and_trim(std::vector<T>& v) {
  constexpr std::size_t keep_max = 256;
  v.clear();
  if (v.capacity() > keep_max) v.shrink_to_fit();
}

}  // namespace

bool refuse_null_tag(Refusal& refusal) {
  return refusal.because(SqsFault::missing_parameter,
                         "The request must contain the parameter Tags.");
}

std::string_view SqsArena::copy(std::string_view text) {
  if (text.empty()) return {};
  if (blocks_.empty() || blocks_.back().size - used_ < text.size()) {
    // Twice the previous block, so that the one block kept soon holds a whole call.
    const std::size_t grown = blocks_.empty() ? block_bytes : blocks_.back().size * 2;
    const std::size_t size = std::max(std::min(grown, keep_max), text.size());
    blocks_.push_back({std::make_unique_for_overwrite<char[]>(size), size});
    used_ = 0;
  }
  char* to = blocks_.back().bytes.get() + used_;
  std::memcpy(to, text.data(), text.size());
  used_ += text.size();
  return {to, text.size()};
}

void SqsArena::reset() {
  used_ = 0;
  if (blocks_.empty()) return;
  const auto fits = [](const Block& block) { return block.size <= keep_max; };
  auto kept = std::ranges::max_element(
      blocks_, {}, [&](const Block& block) { return fits(block) ? block.size : 0; });
  if (!fits(*kept)) return blocks_.clear();
  std::swap(*kept, blocks_.front());
  blocks_.resize(1);
}

std::size_t SqsArena::memory() const {
  std::size_t bytes = 0;
  for (const Block& block : blocks_) bytes += block.size;
  return bytes;
}

std::size_t SqsInput::memory() const {
  const auto bytes_of = [](const auto&... vectors) {
    return (... + (vectors.capacity() * sizeof(*vectors.data())));
  };
  return arena.memory() + bytes_of(attribute_names, system_attribute_names, message_attribute_names,
                                   tag_keys, account_ids, action_names, queue_attributes, tags,
                                   entries, attributes);
}

void SqsInput::clear() {
  scalars = {};
  clear_and_trim(attribute_names);
  clear_and_trim(system_attribute_names);
  clear_and_trim(message_attribute_names);
  clear_and_trim(tag_keys);
  clear_and_trim(account_ids);
  clear_and_trim(action_names);
  clear_and_trim(queue_attributes);
  clear_and_trim(tags);
  entries.clear();
  entries_given = 0;
  clear_and_trim(attributes);
  arena.reset();
}

SqsScalar& SqsInput::scalar_of(SqsMember member, SqsEntryInput& entry) {
  const auto i = static_cast<std::size_t>(member);
  return i < sqs_entry_scalars ? entry.scalars[i] : scalars[i - sqs_entry_scalars];
}

std::vector<std::string_view>& SqsInput::list_of(SqsMember member) {
  switch (member) {
    case SqsMember::attribute_names:
      return attribute_names;
    case SqsMember::system_attribute_names:
      return system_attribute_names;
    case SqsMember::message_attribute_names:
      return message_attribute_names;
    case SqsMember::tag_keys:
      return tag_keys;
    case SqsMember::account_ids:
      return account_ids;
    default:
      CHECK(member == SqsMember::action_names);
      return action_names;
  }
}

std::vector<SqsInput::Pair>& SqsInput::map_of(SqsMember member) {
  if (member == SqsMember::tags || member == SqsMember::new_tags) return tags;
  CHECK(member == SqsMember::queue_attributes);
  return queue_attributes;
}

void SqsInput::add_attribute(SqsAttributeRange& range, const AttributeInput& attribute) {
  if (range.given == 0) range.first = static_cast<std::uint32_t>(attributes.size());
  ++range.given;
  if (range.kept == message_attributes_max) return;
  ++range.kept;
  attributes.push_back(attribute);
}

}  // namespace pawl
