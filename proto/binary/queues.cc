// SPDX-License-Identifier: Apache-2.0
#include "proto/binary/queues.h"

#include <algorithm>

#include "core/base/check.h"
#include "proto/aws/tags.h"
#include "proto/binary/payloads.h"
#include "proto/binary/queue_codec.h"

namespace pawl::binary {
namespace {

constexpr std::uint32_t names_max = 1000;  // queue names in one response

// Assigns a handle to the queue and writes its settings.
BinaryNext opened(BinaryCallState& s, BinarySessionState& session, const ConfigPtr& config,
                  const Directory& directory) {
  s.header.queue = session.intern(config, directory);
  if (s.header.queue == 0) return s.refuse(Status::overloaded);
  const auto word = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
  const std::int64_t size_max = config->number(Attribute::maximum_message_size);
  put_struct(s.answer, payload::QueueSummary{.id = raw(config->id),
                                             .shard = raw(config->owner),
                                             .maximum_message_size = word(size_max),
                                             .visibility = word(config->visibility().ms),
                                             .delay = word(config->delay().ms),
                                             .wait = word(config->wait().ms),
                                             .retention = word(config->retention().ms)});
  return BinaryNext::respond;
}

void put_names(BinaryCallState& s, const std::vector<ConfigPtr>& found, std::size_t max) {
  CHECK(max <= names_max, "{} names in a response", max);
  const std::size_t count = std::min(found.size(), max);
  put_struct(s.answer, payload::NamesResponse{found.size() > count});
  put_count<payload::Name>(s.answer, count);
  for (std::size_t i = 0; i < count; ++i) put_struct(s.answer, payload::Name{found[i]->name});
}

void put_counts(BinaryCallState& s) {
  const QueueCounts& counts = s.request.counts;
  put_struct(s.answer, payload::Counts{counts.visible, counts.in_flight, counts.delayed});
}

}  // namespace

BinaryNext open_queue(BinaryCallState& s, const BinaryArguments& call) {
  BinarySessionState& session = call.session;
  BinaryReader& in = call.in;
  const Directory& directory = call.directory;
  const BinarySettings& config = call.config;
  const auto [account, name] = take_struct<payload::QueueAddress>(in);
  if (!in.finished()) return s.refuse(Status::bad_frame);
  // A key does not learn whether another account's queue exists. Topics are in the directory too,
  // but they are not queues.
  const bool foreign = !account.empty() && !session.account.empty() && account != session.account;
  const ConfigPtr* found =
      foreign ? nullptr
              : directory.find(account.empty() ? session.account_or(config) : account, name);
  if (!found || !(*found)->is_queue()) return s.refuse(Status::no_such_queue);
  return opened(s, session, *found, directory);
}

BinaryNext create_queue(BinaryCallState& s, const BinaryArguments& call) {
  BinarySessionState& session = call.session;
  BinaryReader& in = call.in;
  const Directory& directory = call.directory;
  s.spec.account = session.account_or(call.config);
  s.spec.name = take_struct<payload::Name>(in).text;
  s.spec.changes.clear();
  s.spec.tags.clear();
  const ConfigPtr* there = directory.find(s.spec.account, s.spec.name);
  const AttributeSubject of{.directory = directory,
                            .account = s.spec.account,
                            .name = s.spec.name,
                            .fifo = s.spec.name.ends_with(".fifo"),
                            .queue = there ? there->get() : nullptr};
  const Status attributes = take_queue_attributes(in, of, s.spec.changes);
  const Status tags = take_tags(in, s.spec.tags);
  if (!in.finished()) return s.refuse(Status::bad_frame);
  if (const Status name = check_queue_name(s.spec.name); name != Status::ok) return s.refuse(name);
  if (attributes != Status::ok) return s.refuse(attributes);
  const bool fifo = std::ranges::find(s.spec.changes, Attribute::fifo_queue,
                                      &AttributeChange::attribute) != s.spec.changes.end();
  if (fifo != of.fifo) return s.refuse(Status::invalid);  // the name and the attribute must agree
  if (tags != Status::ok) return s.refuse(tags);
  if (session.full()) return s.refuse(Status::overloaded);
  s.request.spec = &s.spec;
  return s.route(Op::create_queue, control_shard);
}

BinaryNext create_queue_result(BinaryCallState& s, BinarySessionState& session,
                               const Directory& directory) {
  return opened(s, session, s.request.config, directory);
}

BinaryNext set_attributes(BinaryCallState& s, const BinaryArguments& call) {
  BinaryReader& in = call.in;
  const QueueConfig& queue = *call.opened;
  s.changes.clear();
  const AttributeSubject of{.directory = call.directory,
                            .account = queue.account,
                            .name = queue.name,
                            .fifo = queue.is_fifo(),
                            .queue = &queue};
  const Status status = take_queue_attributes(in, of, s.changes);
  if (!in.finished()) return s.refuse(Status::bad_frame);
  if (status != Status::ok) return s.refuse(status);
  if (s.changes.empty()) return s.refuse(Status::invalid);
  s.request.changes = s.changes;
  return s.route(Op::set_attributes, control_shard);
}

BinaryNext get_attributes(BinaryCallState& s, const BinaryArguments& call) {
  if (!call.in.finished()) return s.refuse(Status::bad_frame);
  s.described = call.opened;
  return s.route(Op::count, call.opened->owner);
}

BinaryNext get_attributes_result(BinaryCallState& s, BinarySessionState&, const Directory&) {
  CHECK(s.described != nullptr, "a description of no queue");
  const QueueConfig& config = *s.described;
  put_counts(s);
  put_struct(s.answer, payload::QueueTimes{s.config->shift->wall(config.created).ms,
                                           s.config->shift->wall(config.modified).ms});
  put_queue_attributes(s.answer, config);
  const bool fits = s.answer.size() <= frame_bytes_max - frame_header_bytes - frame_checksum_bytes;
  return fits ? BinaryNext::respond : s.refuse(Status::too_large);
}

BinaryNext delete_queue(BinaryCallState& s, const BinaryArguments& call) {
  if (!call.in.finished()) return s.refuse(Status::bad_frame);
  return s.route(Op::delete_queue, control_shard);
}

BinaryNext purge(BinaryCallState& s, const BinaryArguments& call) {
  if (!call.in.finished()) return s.refuse(Status::bad_frame);
  return s.route(Op::purge, call.opened->owner);
}

BinaryNext stats(BinaryCallState& s, const BinaryArguments& call) {
  if (!call.in.finished()) return s.refuse(Status::bad_frame);
  return s.route(Op::count, call.opened->owner);
}

BinaryNext stats_result(BinaryCallState& s, BinarySessionState& session, const Directory&) {
  put_counts(s);
  if (session.minor >= 2) put_struct(s.answer, payload::StateBytes{s.request.counts.state_bytes});
  return BinaryNext::respond;
}

BinaryNext list_queues(BinaryCallState& s, const BinaryArguments& call) {
  BinaryReader& in = call.in;
  const auto [prefix, after, max] = take_struct<payload::ListQueues>(in);
  if (!in.finished()) return s.refuse(Status::bad_frame);
  if (max < 1 || max > names_max) return s.refuse(Status::invalid);
  // One more than requested shows whether there are more.
  const std::vector<ConfigPtr> found = call.directory.list(call.session.account_or(call.config),
                                                           prefix, after, std::size_t{max} + 1);
  put_names(s, found, max);
  return BinaryNext::respond;
}

BinaryNext list_sources(BinaryCallState& s, const BinaryArguments& call) {
  BinaryReader& in = call.in;
  const QueueConfig& queue = *call.opened;
  const auto [after, max] = take_struct<payload::ListSources>(in);
  if (!in.finished()) return s.refuse(Status::bad_frame);
  if (max < 1 || max > names_max) return s.refuse(Status::invalid);
  put_names(s, call.directory.sources_of(queue.account, queue.name, after, std::size_t{max} + 1),
            max);
  return BinaryNext::respond;
}

BinaryNext get_tags(BinaryCallState& s, const BinaryArguments& call) {
  if (!call.in.finished()) return s.refuse(Status::bad_frame);
  const Tags& tags = call.opened->tags;
  CHECK(tags.size() <= UINT16_MAX, "{} tags", tags.size());
  put_count<payload::Tag>(s.answer, tags.size());
  for (const auto& [key, value] : tags) put_struct(s.answer, payload::Tag{key, value});
  return BinaryNext::respond;
}

// Sets some tags and deletes others; the rest is unchanged.
BinaryNext set_tags(BinaryCallState& s, const BinaryArguments& call) {
  BinaryReader& in = call.in;
  Tags set;
  const Status status = take_tags(in, set);
  std::vector<std::string_view> removed;
  take_rows<payload::Name>(in, [&](const payload::Name& key) { removed.push_back(key.text); });
  if (!in.finished()) return s.refuse(Status::bad_frame);
  if (status != Status::ok) return s.refuse(status);
  s.tags = call.opened->tags;
  std::erase_if(s.tags, [&](const auto& tag) {
    return std::ranges::find(removed, tag.first) != removed.end() ||
           std::ranges::find(set, tag.first, &Tags::value_type::first) != set.end();
  });
  s.tags.insert(s.tags.end(), set.begin(), set.end());
  std::ranges::sort(s.tags);
  if (s.tags.size() > tags_max) return s.refuse(Status::invalid);
  s.request.tags = &s.tags;
  s.request.based_on = call.opened;
  return s.route(Op::set_attributes, control_shard);
}

}  // namespace pawl::binary
