// SPDX-License-Identifier: Apache-2.0
#include "wal/format/queue_records.h"

#include <memory>
#include <string>
#include <utility>

#include "core/base/check.h"
#include "wal/format/record_codec.h"

namespace pawl {
namespace {

constexpr std::uint8_t config_gone = 1;

}  // namespace

void read_row(Decoder& in, RecordSink& sink) {
  RowRecord record;
  record.topic = QueueId{in.fixed<std::uint32_t>()};
  record.number = in.fixed<std::uint64_t>();
  record.text = in.rest();
  if (in.done()) sink.row(record);
}

Result<void> read_config(Decoder& in, RecordSink& sink) {
  auto config = std::make_shared<QueueConfig>();
  config->id = QueueId{in.fixed<std::uint32_t>()};
  config->owner = ShardId{in.fixed<std::uint8_t>()};
  const auto state = in.fixed<std::uint8_t>();
  const auto numbers = in.fixed<std::uint16_t>();
  config->created = Instant{in.fixed<std::int64_t>()};
  config->modified = Instant{in.fixed<std::int64_t>()};
  if (state > config_gone || numbers > number_attributes)
    return fail(Errc::version, "config record");
  for (std::uint16_t i = 0; i < numbers; ++i)
    if (!config->set_number(Attribute{static_cast<std::uint8_t>(i)}, in.fixed<std::int64_t>()))
      in.fail();
  const std::string_view account = in.text<std::uint16_t>();
  config->set_name(account, in.text<std::uint16_t>());
  const auto texts = in.fixed<std::uint16_t>();
  for (std::uint16_t i = 0; i < texts && in.ok(); ++i) {
    const auto attribute = Attribute{in.fixed<std::uint8_t>()};
    config->texts.emplace_back(attribute, in.text<std::uint32_t>());
  }
  const auto tags = in.fixed<std::uint16_t>();
  for (std::uint16_t i = 0; i < tags && in.ok(); ++i) {
    std::string key(in.text<std::uint16_t>());
    config->tags.emplace_back(std::move(key), in.text<std::uint16_t>());
  }
  if (in.done()) sink.config({std::move(config), state == config_gone});
  return {};
}

// An earlier program reads a config that does not use the numbers that it does not know.
std::uint16_t numbers_of(const QueueConfig& config) {
  constexpr std::uint16_t in_every_record = 16;
  std::uint16_t numbers = number_attributes;
  while (numbers > in_every_record &&
         config.number(Attribute{static_cast<std::uint8_t>(numbers - 1)}) == 0)
    --numbers;
  return numbers;
}

std::size_t config_bytes(const QueueConfig& config) {
  std::size_t bytes = head_bytes + 4 + 1 + 1 + 2 + 8 + 8 + std::size_t{8} * numbers_of(config);
  bytes += 2 + config.account.size() + 2 + config.name.size() + 2 + 2;
  for (const auto& [attribute, value] : config.texts) bytes += 1 + 4 + value.size();
  for (const auto& [key, value] : config.tags) bytes += 2 + key.size() + 2 + value.size();
  return align_record(bytes);
}

std::size_t row_bytes(std::string_view text) {
  return align_record(head_bytes + 4 + 8 + text.size());
}

std::size_t encode_row(std::byte* out, QueueId topic, std::uint64_t number, std::string_view text,
                       std::uint64_t stream) {
  Encoder to(out);
  to.fixed(raw(topic));
  to.fixed(number);
  to.bytes(text);
  return to.finish(RecordType::row, 0, stream);
}

std::size_t encode_config(std::byte* out, const ConfigRecord& record, std::uint64_t stream) {
  const QueueConfig& config = *record.config;
  CHECK(std::in_range<std::uint16_t>(config.texts.size()) &&
        std::in_range<std::uint16_t>(config.tags.size()));
  Encoder to(out);
  to.fixed(raw(config.id));
  to.fixed(static_cast<std::uint8_t>(raw(config.owner)));
  to.fixed(record.gone ? config_gone : std::uint8_t{0});
  const std::uint16_t numbers = numbers_of(config);
  to.fixed(numbers);
  to.fixed(config.created.ms);
  to.fixed(config.modified.ms);
  for (std::uint16_t i = 0; i < numbers; ++i)
    to.fixed(config.number(Attribute{static_cast<std::uint8_t>(i)}));
  to.text<std::uint16_t>(config.account);
  to.text<std::uint16_t>(config.name);
  to.fixed(static_cast<std::uint16_t>(config.texts.size()));
  for (const auto& [attribute, value] : config.texts) {
    to.fixed(static_cast<std::uint8_t>(attribute));
    to.text<std::uint32_t>(value);
  }
  to.fixed(static_cast<std::uint16_t>(config.tags.size()));
  for (const auto& [key, value] : config.tags) {
    to.text<std::uint16_t>(key);
    to.text<std::uint16_t>(value);
  }
  return to.finish(RecordType::config, 0, stream);
}

}  // namespace pawl
