// The parameters of one SQS call, whichever protocol they came in.
//
// Filled by read_json() or read_query() from what the tables of sqs_model.h say the action takes;
// anything else in the request is ignored. A single SendMessage (DeleteMessage ...) is entry 0, so
// that singles and batches are checked by the same code.
//
// Limits: sqs_list_max members of a list, map or object; sqs_entries_max entries are kept, and
//         message_attributes_max attributes of each: the rest is counted.
// Errors: what cannot be read at all is a Refusal; ranges and rules are the actions' business.
// Owner:  all text is copied into the input's arena and holds until the next clear().
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/form.h"
#include "proto/sqs_errors.h"
#include "proto/sqs_model.h"

namespace pawl {

inline constexpr std::size_t sqs_list_max = 1024;
inline constexpr std::size_t sqs_entries_max = 10;

// Text that lives as long as one call. Keeps one block of up to keep_max bytes from call to call.
class SqsArena {
 public:
  static constexpr std::size_t block_bytes = 2048;
  static constexpr std::size_t keep_max = 64 << 10;

  std::string_view copy(std::string_view text);
  void reset();
  std::size_t memory() const;  // bytes of its blocks

 private:
  struct Block {
    std::unique_ptr<char[]> bytes;
    std::size_t size = 0;
  };
  std::vector<Block> blocks_;
  std::size_t used_ = 0;  // of the last block
};

struct SqsScalar {
  std::string_view text;  // as it was given, numbers too
  std::int64_t number = 0;
  bool present = false;
  bool is_number = false;  // the whole text is an integer that fits

  bool within(std::int64_t min, std::int64_t max) const {
    return is_number && number >= min && number <= max;
  }
};

struct SqsAttributeInput {
  std::string_view name;
  std::optional<std::string_view> type, text, bytes;  // bytes are decoded
  bool has_list = false;
};

// A piece of SqsInput::attributes.
struct SqsAttributeRange {
  std::uint32_t first = 0;
  std::uint32_t kept = 0;
  std::uint32_t given = 0;
};

struct SqsEntryInput {
  std::array<SqsScalar, sqs_entry_scalars> scalars;
  SqsAttributeRange attributes, system;

  const SqsScalar& operator[](SqsMember member) const {
    return scalars[static_cast<std::size_t>(member)];
  }
};

struct SqsInput {
  using Pair = std::pair<std::string_view, std::string_view>;

  std::array<SqsScalar, sqs_call_scalars> scalars;
  std::vector<std::string_view> attribute_names, system_attribute_names, message_attribute_names;
  std::vector<std::string_view> tag_keys, account_ids, action_names;
  std::vector<Pair> queue_attributes, tags;
  std::vector<SqsEntryInput> entries;  // of a batch; of a single, exactly one
  std::size_t entries_given = 0;
  std::vector<SqsAttributeInput> attributes;  // of all entries
  SqsArena arena;

  void clear();
  std::size_t memory() const;  // bytes besides its own size

  const SqsScalar& operator[](SqsMember member) const {
    return scalars[static_cast<std::size_t>(member) - sqs_entry_scalars];
  }
  const SqsEntryInput& single() const { return entries.front(); }

  // For the readers. A scalar is the entry's or the call's.
  SqsScalar& scalar_of(SqsMember member, SqsEntryInput& entry);
  std::vector<std::string_view>& list_of(SqsMember member);
  std::vector<Pair>& map_of(SqsMember member);
  void add_attribute(SqsAttributeRange& range, const SqsAttributeInput& attribute);
};

// A tag without a value counts as no tag: leaving it out in silence would hide the mistake.
[[nodiscard]] bool refuse_null_tag(Refusal& refusal);

// The first name, in byte order, that pairs of name and value have more than once.
template <typename Pairs>
std::optional<std::string_view> repeated_name(const Pairs& pairs) {
  std::vector<std::string_view> names;
  for (const auto& pair : pairs) names.push_back(pair.first);
  std::ranges::sort(names);
  const auto twin = std::ranges::adjacent_find(names);
  return twin == names.end() ? std::nullopt : std::optional(*twin);
}

// Both expect a cleared input. `body` must have 64 readable bytes behind it.
[[nodiscard]] bool read_json(std::string_view body, const SqsActionInfo& action, SqsInput& input,
                             Refusal& refusal);
[[nodiscard]] bool read_query(const Form& form, const SqsActionInfo& action, SqsInput& input,
                              Refusal& refusal);

}  // namespace pawl
