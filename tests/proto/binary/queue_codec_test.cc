// SPDX-License-Identifier: Apache-2.0
#include "proto/binary/queue_codec.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "proto/aws/tags.h"

namespace pawl::binary {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

std::string attributes_of(const Pairs& pairs) {
  std::string out;
  put(out, static_cast<std::uint16_t>(pairs.size()));
  for (const auto& [name, value] : pairs) {
    put_short(out, name);
    put_long(out, value);
  }
  return out;
}

std::string tags_of(const Pairs& pairs) {
  std::string out;
  put(out, static_cast<std::uint16_t>(pairs.size()));
  for (const auto& [key, value] : pairs) {
    put_short(out, key);
    put_short(out, value);
  }
  return out;
}

Status take_attributes(std::string_view bytes, std::vector<AttributeChange>& changes) {
  const Directory directory;
  const QueueConfig queue;
  BinaryReader in(bytes);
  return take_queue_attributes(
      in, {.directory = directory, .account = "1", .name = "q", .queue = &queue}, changes);
}

TEST(QueueCodec, ReadsTheAttributesThatItWrites) {
  QueueConfig config;
  config.apply({Attribute::visibility_timeout, 90, {}});
  config.apply({Attribute::policy, -1, R"({"Statement":[]})"});
  std::string bytes = "before";
  put_queue_attributes(bytes, config);
  std::vector<AttributeChange> changes;
  ASSERT_EQ(take_attributes(std::string_view(bytes).substr(6), changes), Status::ok);
  QueueConfig copy;
  for (const AttributeChange& change : changes) copy.apply(change);
  EXPECT_EQ(copy.numbers, config.numbers);
  EXPECT_EQ(copy.texts, config.texts);
}

TEST(QueueCodec, RefusesAttributesThatSqsRefuses) {
  std::vector<AttributeChange> changes;
  for (const Pairs& pairs : {
           Pairs{{"VisibilityTimeout", "43201"}},
           Pairs{{"Unknown", "1"}},
           Pairs{{"DelaySeconds", "1"}, {"DelaySeconds", "1"}}
  })
    EXPECT_EQ(take_attributes(attributes_of(pairs), changes), Status::bad_attributes)
        << pairs[0].first;
  EXPECT_EQ(take_attributes(attributes_of({}), changes), Status::ok);
}

TEST(QueueCodec, RefusesEveryTruncatedListOfAttributes) {
  const std::string bytes = attributes_of({
      {"VisibilityTimeout", "90"},
      {"DelaySeconds",      "1" }
  });
  std::vector<AttributeChange> changes;
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_EQ(take_attributes(std::string_view(bytes).substr(0, size), changes), Status::bad_frame)
        << size;
}

TEST(QueueCodec, SortsTagsAndRefusesAKeyThatIsGivenTwice) {
  const auto take = [](const Pairs& pairs, Tags& tags) {
    const std::string bytes = tags_of(pairs);
    BinaryReader in(bytes);
    const Status status = take_tags(in, tags);
    EXPECT_TRUE(in.finished());
    return status;
  };
  Tags tags;
  ASSERT_EQ(take(
                {
                    {"b", "2"},
                    {"a", "" }
  },
                tags),
            Status::ok);
  EXPECT_EQ(tags, (Tags{
                      {"a", "" },
                      {"b", "2"}
  }));
  Tags other;
  EXPECT_EQ(take(
                {
                    {"a", "1"},
                    {"a", "2"}
  },
                other),
            Status::invalid);
  other.clear();
  EXPECT_EQ(take(
                {
                    {"aws:a", "1"}
  },
                other),
            Status::invalid);

  Pairs many;
  for (std::size_t i = 0; i <= tags_max; ++i) many.push_back({"k" + std::to_string(i), "v"});
  other.clear();
  EXPECT_EQ(take(many, other), Status::invalid);
  many.pop_back();
  other.clear();
  EXPECT_EQ(take(many, other), Status::ok);
}

TEST(QueueCodec, AcceptsTheNamesOfSqs) {
  const std::string longest(80, 'a'), longest_fifo = std::string(75, 'a') + ".fifo";
  for (const std::string& name :
       {std::string("q"), std::string("a-Z_9"), std::string("q.fifo"), longest, longest_fifo})
    EXPECT_EQ(check_queue_name(name), Status::ok) << name;
  for (const std::string& name :
       {std::string(), longest + "a", "a" + longest_fifo, std::string(".fifo"), std::string("a.b"),
        std::string("a b"), std::string("q.FIFO"), std::string("\xc3\xa9")})
    EXPECT_EQ(check_queue_name(name), Status::invalid) << name;
}

}  // namespace
}  // namespace pawl::binary
