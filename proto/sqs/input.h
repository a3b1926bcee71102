// SPDX-License-Identifier: Apache-2.0
// The parameters of one SQS call, in the same form for both protocols.
//
// read_json() or read_query() fills in the members that the tables of model.h list for the
// action; other members of the request are ignored. A single SendMessage (DeleteMessage ...) is
// entry 0, so that the same code checks singles and batches.
//
// Limits: sqs_list_max members of a list, map or object. sqs_entries_max entries are kept, with
//         message_attributes_max attributes each; further ones are only counted.
// Errors: unreadable input is a Refusal; the actions check ranges and rules.
// Owner:  all text is copied into the input's arena and stays valid until the next clear().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/aws/message_rules.h"
#include "proto/errors/sqs_errors.h"
#include "proto/sqs/model.h"
#include "proto/text/form.h"

namespace pawl {

inline constexpr std::size_t sqs_list_max = 1024;
inline constexpr std::size_t sqs_entries_max = 10;

// Memory for the texts of one call. It keeps one block of up to keep_max bytes for the next call.
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
  std::size_t used_ = 0;  // bytes used in the last block
};

struct SqsScalar {
  std::string_view text;  // as given, also for numbers
  std::int64_t number = 0;
  bool present = false;
  bool is_number = false;  // the whole text is an integer that fits into `number`

  bool within(std::int64_t min, std::int64_t max) const {
    return is_number && number >= min && number <= max;
  }
};

// A range of SqsInput::attributes: those of one entry.
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
  std::vector<SqsEntryInput> entries;  // entries of a batch; exactly one for a single
  std::size_t entries_given = 0;
  std::vector<AttributeInput> attributes;  // attributes of all entries
  SqsArena arena;

  void clear();
  std::size_t memory() const;  // allocated bytes, without its own size

  const SqsScalar& operator[](SqsMember member) const {
    return scalars[static_cast<std::size_t>(member) - sqs_entry_scalars];
  }
  const SqsEntryInput& single() const { return entries.front(); }

  // For the readers. scalar_of() returns a scalar of the entry or of the call.
  SqsScalar& scalar_of(SqsMember member, SqsEntryInput& entry);
  std::vector<std::string_view>& list_of(SqsMember member);
  std::vector<Pair>& map_of(SqsMember member);
  void add_attribute(SqsAttributeRange& range, const AttributeInput& attribute);
};

// Refuses a tag without a value: ignoring it would hide the client's mistake.
[[nodiscard]] bool refuse_null_tag(Refusal& refusal);

// Both expect a cleared input. `body` must be followed by 64 readable bytes.
[[nodiscard]] bool read_json(std::string_view body, const SqsActionInfo& action, SqsInput& input,
                             Refusal& refusal);
[[nodiscard]] bool read_query(const Form& form, const SqsActionInfo& action, SqsInput& input,
                              Refusal& refusal);

}  // namespace pawl
