#include "tools/wal_repair.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "core/check.h"
#include "tools/wal_append.h"
#include "tools/wal_frames.h"
#include "tools/wal_known.h"
#include "tools/wal_manifests.h"
#include "tools/wal_report.h"
#include "tools/wal_salvage.h"
#include "tools/wal_sink.h"
#include "wal/log.h"
#include "wal/records.h"

namespace pawl {
namespace {

// The least that a message, or the settings of a queue, take in the log: so many at most were lost in so many bytes.
constexpr std::uint64_t send_bytes_least = 32, config_bytes_least = 128;

// What a record is about, as far as one that is left from an earlier use of the file gives itself away.
class Age final : public QuietSink {
 public:
  explicit Age(const Known& known) : known_(known) {}
  bool stale = false;

  void send(const StoredMessage& message, std::size_t) override {
    const Known::Queue* const queue = known_.find(message.queue);
    if (queue == nullptr) return;
    const bool expected = !message.relocated || !queue->messages.contains(message.seq);
    stale |= expected && message.seq < queue->next;
  }
  void config(const ConfigRecord& record) override {
    const auto it = known_.configs().find(record.config->id);
    stale |= it != known_.configs().end() &&
             (it->second.gone || record.config->modified < it->second.config->modified);
  }

 private:
  const Known& known_;
};

class Planner {
 public:
  Planner(const RepairRequest& request, RepairPlan& plan, const Manifest& manifest, bool made_anew,
          bool doubtful)
      : request_(request),
        plan_(plan),
        content_(plan.content),
        at_(content_.geometry()),
        manifest_(manifest),
        made_anew_(made_anew),
        doubtful_(doubtful) {}

  Result<void> run(std::vector<LogFrameHeader> frames) {
    for (const LogFrameHeader& frame : frames) epoch_seen_ = std::max(epoch_seen_, frame.epoch);
    drop_stale(frames, made_anew_ ? Manifest{} : manifest_);
    frames_ = std::move(frames);
    if (auto walked = walk(); !walked) return walked;
    if (!plan_.refused.empty()) return {};
    make_segments_whole();
    if (auto read = read_as_a_start(); !read) return read;
    return finish();
  }

 private:
  Lsn begin() const {
    return manifest_.checkpoint != 0 ? manifest_.checkpoint
                                     : at_.frame_place(at_.segment_base(manifest_.first));
  }
  bool older(std::uint64_t number) const { return number < manifest_.first; }
  bool follows(const LogFrameHeader& frame) const {
    return last_ && frame.epoch >= last_->epoch && frame.lsn - frame.prev == last_->lsn &&
           (frame.lsn == at_.frame_place(tail_) ||
            frame.lsn == at_.frame_place(at_.extent_end(tail_ - 1)));
  }

  // --- what follows what ---

  Result<void> walk();
  Result<void> close_gap(Lsn from, Lsn to, const LogFrameHeader* next);
  Result<void> close_piece(Lsn from, Lsn to, Lsn piece_end, Lsn last_start,
                           const LogFrameHeader* next);
  Result<void> rebuild(Lsn from, Lsn to, bool exact, const LogFrameHeader* next);
  Result<void> take(const LogFrameHeader& header, bool rebuilt);
  Lsn origin() const;
  void make_segments_whole();

  // --- what a start knows ---

  Result<void> read_as_a_start();
  Result<bool> readable(QueueId queue, Seq seq, LogPos position);
  bool served(QueueId id) const;
  Result<void> find_lost();
  Result<void> find_forgotten();

  Result<void> finish();
  void append_numbers(Appendix& appendix);
  Result<void> append_forgotten(Appendix& appendix);

  const RepairRequest& request_;
  RepairPlan& plan_;
  LogContent& content_;
  const Geometry at_;
  Manifest manifest_;
  bool made_anew_;  // out of the segments
  bool doubtful_;   // the checkpoint may not be whole
  std::vector<LogFrameHeader> frames_;
  std::uint32_t epoch_seen_ = 0;

  std::vector<std::pair<LogFrameHeader, bool>> log_;  // frames as they will be; rebuilt
  std::optional<LogFrameHeader> last_;
  Lsn tail_ = 0;
  Known all_;    // by all records there are
  Known start_;  // by those a start reads
  std::optional<std::map<QueueId, Known::Given>>
      before_;                               // numbers given out where a start begins to read
  std::uint64_t lost_bytes_ = 0;             // of what a start reads
  std::uint64_t lost_checkpoint_bytes_ = 0;  // of these, in the checkpoint
  MessageList unreadable_, forgotten_;
  std::map<std::pair<QueueId, Seq>, LogPos> forgotten_at_;
  std::vector<ConfigRecord> forgotten_settings_;
  std::uint64_t kept_ = 0;  // records, in damaged frames
};

// Where the first frame should be.
Lsn Planner::origin() const {
  for (const auto& [number, file] : content_.files()) {
    if (!older(number)) break;
    const Lsn base = at_.segment_base(number);
    const auto frame = std::ranges::lower_bound(frames_, base, {}, &LogFrameHeader::lsn);
    if (frame != frames_.end() && frame->lsn < base + at_.segment_bytes)
      return at_.frame_place(base);
  }
  return at_.frame_place(at_.segment_base(manifest_.first));
}

Result<void> Planner::walk() {
  // What is vouched for from each frame on.
  std::vector<Lsn> proven(frames_.size() + 1, std::max(manifest_.durable, manifest_.clean));
  for (std::size_t i = frames_.size(); i-- > 0;)
    proven[i] = std::max(proven[i + 1], frames_[i].durable);
  all_.begin(Known::Part::log);
  tail_ = origin();
  for (std::size_t i = 0; i < frames_.size(); ++i) {
    const LogFrameHeader& frame = frames_[i];
    const bool first = !last_ && frame.lsn == tail_;
    if (!first && !follows(frame)) {
      if (tail_ >= begin() && proven[i] <= tail_) break;  // torn
      if (auto closed = close_gap(tail_, frame.lsn, &frame); !closed) return closed;
      if (!plan_.refused.empty()) return {};
    }
    if (auto taken = take(frame, false); !taken) return taken;
  }
  const Lsn promised = align_up(proven[0], block_bytes);
  return tail_ < promised ? close_gap(tail_, promised, nullptr) : Result<void>{};
}

// `next` begins at `to`, or nothing does and the log is to reach so far.
Result<void> Planner::close_gap(Lsn from, Lsn to, const LogFrameHeader* next) {
  const Lsn last_start = next != nullptr && next->prev != 0 ? next->lsn - next->prev : 0;
  bool joined = true;
  for (Lsn lsn = from; lsn < to;) {
    const std::uint64_t number = at_.segment_of(lsn);
    if (older(number) && !content_.there(number)) {
      lsn = at_.segment_base(number + 1);
      joined = false;
      continue;
    }
    const Lsn piece = at_.frame_place(lsn);
    const Lsn piece_end = std::min(at_.extent_end(lsn), to);
    if (piece < piece_end) {
      if (auto closed = close_piece(piece, to, piece_end, last_start, next); !closed) return closed;
      joined = true;
    }
    lsn = at_.extent_end(lsn);
  }
  const bool chained = next == nullptr || !joined || !last_ || last_->lsn == last_start ||
                       at_.segment_of(last_->lsn) + 1 < at_.segment_of(to);
  if (!chained) {
    plan_.refused = fmt::format("{}: the frame does not follow any place a frame can have begun at",
                                place_in(at_, to));
  }
  return {};
}

// The part of a gap that lies in one extent.
Result<void> Planner::close_piece(Lsn from, Lsn to, Lsn piece_end, Lsn last_start,
                                  const LogFrameHeader* next) {
  const auto bytes = content_.from(from);
  if (!bytes) return std::unexpected(bytes.error());
  const std::uint32_t epoch = last_ ? last_->epoch : 0;
  std::vector<Lsn> starts = suspected_frames(bytes->first(piece_end - from), from, at_, epoch);
  // Behind the place of the frame before the next one, none begins; it begins there.
  if (last_start >= from && last_start < piece_end) {
    std::erase_if(starts, [&](Lsn lsn) { return lsn >= last_start; });
    starts.push_back(last_start);
  }
  const bool begins_extent = from == at_.frame_place(at_.extent_of(from) * at_.extent_bytes);
  const bool exact = piece_end == to;
  if (starts.empty() && !begins_extent && !exact) return {};
  if (starts.empty() || starts.front() != from) starts.insert(starts.begin(), from);
  // A frame is not longer than that; one that begins where a frame is known to have begun is as long as it was.
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const Lsn end = i + 1 < starts.size() ? starts[i + 1] : piece_end;
    const bool known = starts[i] == last_start || (i + 1 == starts.size() && !exact);
    if (end - starts[i] > log_frame_bytes_max && !known)
      starts.insert(starts.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                    starts[i] + log_frame_bytes_max);
  }
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const bool last = i + 1 == starts.size();
    if (auto rebuilt = rebuild(starts[i], last ? piece_end : starts[i + 1], !last || exact, next);
        !rebuilt)
      return rebuilt;
  }
  return {};
}

// A frame with what is whole of the records in [from, to).
Result<void> Planner::rebuild(Lsn from, Lsn to, bool exact, const LogFrameHeader* next) {
  const auto found = content_.from(from);
  if (!found) return std::unexpected(found.error());
  const std::vector<std::byte> damaged(found->begin(),
                                       found->begin() + static_cast<std::ptrdiff_t>(to - from));
  LogFrameHeader was;
  std::memcpy(&was, damaged.data(), sizeof was);
  const std::uint32_t epoch = last_ ? last_->epoch : 0;
  const bool suspected = suspected_frame(damaged, from, at_, epoch);
  const bool told = suspected && was.length > log_frame_header_bytes && was.length <= to - from &&
                    (!exact || align_up(was.length, block_bytes) == to - from);
  Salvage salvage;
  if (suspected || exact) {
    salvage = salvage_frame(damaged, told ? was.length : 0, exact, at_.stream,
                            [&](std::span<const std::byte> record) {
                              Age age(all_);
                              return decode_records(record, 1, at_.stream, age) && !age.stale;
                            });
  } else {
    salvage.frame.resize(log_frame_header_bytes);
    salvage.lost_bytes = salvage.lost.untold_bytes = to - from;
  }
  LogFrameHeader header;
  header.length = static_cast<std::uint32_t>(salvage.frame.size());
  header.lsn = from;
  header.stream = at_.stream;
  header.epoch = last_ ? last_->epoch : next != nullptr ? next->epoch : 1;
  header.prev = last_                 ? static_cast<std::uint32_t>(from - last_->lsn)
                : from == block_bytes ? 0
                                      : static_cast<std::uint32_t>(block_bytes);
  header.records = salvage.records;
  header.wall_ms = last_ ? last_->wall_ms : next != nullptr ? next->wall_ms : 0;
  header.durable = from;
  std::memcpy(salvage.frame.data(), &header, sizeof header);
  seal_frame(salvage.frame);
  std::memcpy(&header, salvage.frame.data(), sizeof header);
  salvage.frame.resize(to - from);
  content_.put(from, std::move(salvage.frame));

  kept_ += salvage.kept;
  plan_.lost += salvage.lost_bytes;
  if (to > begin()) lost_bytes_ += salvage.lost_bytes;
  if (from >= manifest_.checkpoint && from < manifest_.checkpoint_end)
    lost_checkpoint_bytes_ += salvage.lost_bytes;
  if (!content_.there(at_.segment_of(from)))
    return take(header, true);  // it is missing, which is said
  const std::string what = describe_guess(salvage.lost);
  plan_.said.push_back(
      fmt::format("{}: {}", place_in(at_, from),
                  what.empty() ? "nothing is lost" : "lost, by what it says of itself: " + what));
  if (salvage.kept > 0) plan_.said.back() += fmt::format("; records kept: {}", salvage.kept);
  return take(header, true);
}

Result<void> Planner::take(const LogFrameHeader& header, bool rebuilt) {
  const auto bytes = content_.from(header.lsn);
  if (!bytes) return std::unexpected(bytes.error());
  // Unless a segment is missing before it, all numbers up to here are known.
  if (header.lsn >= begin() && !before_ && last_ && header.lsn - header.prev == last_->lsn)
    before_ = all_.given();
  if (header.lsn >= begin() && !before_) before_.emplace();
  all_.at(header.lsn + log_frame_header_bytes);
  const auto read = decode_records(records_of(*bytes, header), header.records, at_.stream, all_);
  if (!read && read.error().code == Errc::version) return read;
  if (!read) {
    plan_.refused = fmt::format("{}: a whole frame holds a record that cannot be read ({})",
                                place_in(at_, header.lsn), read.error().what);
    return {};
  }
  log_.emplace_back(header, rebuilt);
  last_ = header;
  tail_ = end_of(header);
  return {};
}

// All that a start reads, up to the last that is whole; and older ones in which there is something.
void Planner::make_segments_whole() {
  std::uint64_t end = at_.segment_of(std::max(tail_, begin() + 1) - 1);
  for (const auto& [number, file] : content_.files()) {
    if (file.is_another >= 0 && !older(number) && number <= end) {
      plan_.refused =
          fmt::format("{} is {} by its header: give it its name back first", segment_name(number),
                      segment_name(static_cast<std::uint64_t>(file.is_another)));
    }
    if (file.header)
      end = std::max(end, number);  // each before it is to be there, and all are full size
  }
  for (std::uint64_t n = manifest_.first; n <= end; ++n) content_.make_whole(n);
  for (const auto& [frame, rebuilt] : log_) {
    const std::uint64_t number = at_.segment_of(frame.lsn);
    if (older(number)) content_.make_whole(number);
  }
  for (const std::uint64_t number : content_.made_whole()) {
    const auto file = content_.files().find(number);
    const std::uint64_t bytes = file == content_.files().end() ? 0 : file->second.bytes;
    if (bytes == at_.segment_bytes) {
      plan_.said.push_back(
          fmt::format("{} has no header of this log: gets one", segment_name(number)));
      continue;
    }
    plan_.said.push_back(fmt::format(
        "{} {}: what was {} is lost, and nothing says what it was unless it is said here",
        segment_name(number),
        bytes == 0 ? "is missing, and is made anew" : "is not full size, and gets it back",
        bytes == 0 ? "in it" : fmt::format("behind byte {}", bytes)));
    if (!older(number) && bytes < at_.segment_bytes) lost_bytes_ += at_.segment_bytes - bytes;
  }
}

// --- what a start knows ---

Result<void> Planner::read_as_a_start() {
  const auto read = [&](const LogFrameHeader& frame) -> Result<void> {
    const auto bytes = content_.from(frame.lsn);
    if (!bytes) return std::unexpected(bytes.error());
    start_.at(frame.lsn + log_frame_header_bytes);
    return decode_records(records_of(*bytes, frame), frame.records, at_.stream, start_);
  };
  if (manifest_.checkpoint != 0) start_.begin(Known::Part::checkpoint);
  for (const auto& [frame, rebuilt] : log_) {
    if (frame.lsn < manifest_.checkpoint || frame.lsn >= manifest_.checkpoint_end) continue;
    if (auto done = read(frame); !done) return done;
  }
  start_.begin(Known::Part::log);
  if (before_) start_.go_on_from(*before_);
  if (manifest_.checkpoint == 0 && manifest_.first == 0) start_.from_the_first();
  for (const auto& [frame, rebuilt] : log_) {
    if (frame.lsn < begin()) continue;
    if (rebuilt) start_.damaged();
    if (auto done = read(frame); !done) return done;
  }
  if (doubtful_ || lost_checkpoint_bytes_ > 0) {
    if (auto found = find_forgotten(); !found) return found;
  }
  return find_lost();
}

bool Planner::served(QueueId id) const {
  if (request_.queues) return request_.queues->contains(id);
  if (start_.live(id)) return true;
  return std::ranges::any_of(forgotten_settings_,
                             [&](const ConfigRecord& r) { return r.config->id == id; });
}

Result<bool> Planner::readable(QueueId queue, Seq seq, LogPos position) {
  const auto bytes = content_.from(position);
  if (!bytes) return std::unexpected(bytes.error());
  const auto message = decode_send(*bytes, at_.stream);
  return message && message->queue == queue && message->seq == seq;
}

// Messages that a start would know and nobody can read.
Result<void> Planner::find_lost() {
  std::vector<std::pair<LogPos, std::pair<QueueId, Seq>>> by_position;
  MessageList without_queue, missing;
  for (const auto& [id, queue] : start_.queues()) {
    const bool is_served = served(id);
    for (const auto& [seq, position] : queue.messages) {
      if (is_served)
        by_position.push_back({
            position, {id, seq}
        });
      if (!is_served) without_queue[id].insert(seq);
    }
    if (is_served && !queue.missing.empty()) missing[id] = queue.missing;
  }
  std::ranges::sort(by_position);
  for (const auto& [position, message] : by_position) {
    const auto is_readable = readable(message.first, message.second, position);
    if (!is_readable) return std::unexpected(is_readable.error());
    if (!*is_readable) unreadable_[message.first].insert(message.second);
  }
  const auto say = [&](const MessageList& list, const char* what) {
    for (const auto& [id, seqs] : list)
      plan_.said.push_back(fmt::format(fmt::runtime(what), seqs.size(), seqs.size() == 1 ? "" : "s",
                                       raw(id), numbers(seqs)));
  };
  say(unreadable_, "lost: {} message{} of queue {}, damaged where it is: {}");
  say(missing, "lost: {} message{} of queue {}, by the numbers that are missing: {}");
  if (lost_bytes_ > 0 || request_.settings_lost)
    say(without_queue,
        "not served: {} message{} of queue {}, whose settings are not there (deleted, or lost): "
        "{}");
  for (const MessageList* list : {&unreadable_, &missing})
    for (const auto& [id, seqs] : *list) plan_.lost += seqs.size();
  return {};
}

// What the damaged part of the checkpoint may have named: it was sent, and nothing that can be read says that it is gone.
Result<void> Planner::find_forgotten() {
  for (const auto& [id, config] : all_.configs()) {
    const bool known = start_.configs().contains(id);
    if (!known && !config.gone && !request_.queues) forgotten_settings_.push_back(config);
  }
  for (const auto& [id, queue] : all_.queues()) {
    if (!served(id)) continue;
    const Known::Queue* const there = start_.find(id);
    for (const auto& [seq, position] : queue.messages) {
      if (position >= begin() || (there && (there->messages.contains(seq) || seq < there->low)))
        continue;
      const auto is_readable = readable(id, seq, position);
      if (!is_readable) return std::unexpected(is_readable.error());
      if (!*is_readable) continue;
      forgotten_[id].insert(seq);
      forgotten_at_[{id, seq}] = position;
    }
  }
  for (const ConfigRecord& record : forgotten_settings_)
    plan_.said.push_back(fmt::format("back, as they once were: the settings of queue {} {}",
                                     raw(record.config->id), record.config->name));
  for (const auto& [id, seqs] : forgotten_)
    plan_.said.push_back(
        fmt::format("back, also if it was deleted: {} message{} of queue {}, written again: {}",
                    seqs.size(), seqs.size() == 1 ? "" : "s", raw(id), numbers(seqs)));
  return {};
}

// --- what is appended ---

// No number is given out twice: of a message, or of a queue.
void Planner::append_numbers(Appendix& appendix) {
  if (lost_bytes_ == 0) return;
  std::vector<HeadRecord> heads{{}};  // of no queue first: they are guessed (tools/wal_known.h)
  for (const auto& [id, queue] : start_.queues()) {
    if (id == QueueId::none || !served(id)) continue;
    const Known::Queue* const all = all_.find(id);
    const Seq next = std::max(queue.next, all != nullptr ? all->next : 1);
    heads.push_back({id, std::min(next + lost_bytes_ / send_bytes_least, seq_max)});
  }
  appendix.heads(heads);
  if (request_.shard != control_shard) return;
  auto config = std::make_shared<QueueConfig>();
  const std::uint32_t end =
      std::max({start_.queue_ids_end(), all_.queue_ids_end(), request_.queue_ids_end});
  config->id = QueueId{end + static_cast<std::uint32_t>(lost_bytes_ / config_bytes_least)};
  appendix.config({std::move(config), true});
}

Result<void> Planner::append_forgotten(Appendix& appendix) {
  for (const ConfigRecord& record : forgotten_settings_) appendix.config(record);
  for (const auto& [message, position] : forgotten_at_) {
    const auto bytes = content_.from(position);
    if (!bytes) return std::unexpected(bytes.error());
    const std::size_t length = record_length(bytes->data());
    appendix.copy({bytes->begin(), bytes->begin() + static_cast<std::ptrdiff_t>(length)});
  }
  return {};
}

Result<void> Planner::finish() {
  if (kept_ > 0)
    plan_.said.push_back(
        fmt::format("kept of damaged frames: {} record{}, besides all that is whole", kept_,
                    kept_ == 1 ? "" : "s"));
  plan_.records_lost = lost_bytes_ > 0;
  if (made_anew_ && manifest_.durable == 0) {
    plan_.said.push_back(fmt::format(
        "{}: taken for the end of the log, for nothing vouches for more", place_in(at_, tail_)));
    lost_bytes_ +=
        at_.segment_bytes;  // so that the numbers of what may have been there are not given out again
  }
  plan_.queue_ids_end = std::max(start_.queue_ids_end(), all_.queue_ids_end());
  for (const auto& [id, config] : start_.configs())
    if (!config.gone) plan_.queues.insert(id);
  for (const ConfigRecord& record : forgotten_settings_) plan_.queues.insert(record.config->id);
  Manifest next = manifest_;
  next.epoch = std::max<std::uint64_t>(next.epoch, epoch_seen_) + 1;
  Appendix appendix(content_, {.tail = tail_,
                               .last = last_ ? last_->lsn : 0,
                               .epoch = static_cast<std::uint32_t>(next.epoch),
                               .wall_ms = last_ ? last_->wall_ms : 0});
  if (auto appended = append_forgotten(appendix); !appended) return appended;
  append_numbers(appendix);
  for (const auto& [id, seqs] : unreadable_) appendix.removes(id, seqs);
  appendix.finish();
  if (appendix.begin() != 0) plan_.appended = appendix.begin();
  if (appendix.begin() == 0 && !made_anew_) return {};
  next.durable = appendix.begin() != 0 ? appendix.end() : tail_;
  next.clean = 0;
  plan_.manifest = next;
  return {};
}

// One plan, with this manifest.
Result<RepairPlan> plan_with(const RepairRequest& request, const Manifest& manifest, bool made_anew,
                             bool doubtful) {
  RepairPlan plan(LogContent(request.directory,
                             {manifest.stream, manifest.segment_bytes, manifest.extent_bytes}));
  if (auto opened = plan.content.open(); !opened) return std::unexpected(opened.error());
  auto frames = whole_frames(plan.content);
  if (!frames) return std::unexpected(frames.error());
  if (auto done = Planner(request, plan, manifest, made_anew, doubtful).run(std::move(*frames));
      !done)
    return std::unexpected(done.error());
  return plan;
}

// The one that loses least of those that the segments allow. `older` is the manifest that is there, if one is.
Result<std::optional<RepairPlan>> plan_anew(const RepairRequest& request, const Manifest& older) {
  const std::uint64_t extent = std::min<std::uint64_t>(
      LogOptions{}.extent_bytes, request.segment_bytes & (~request.segment_bytes + 1));
  const Geometry geometry{request.stream, request.segment_bytes, extent};
  LogContent content(request.directory, geometry);
  if (auto opened = content.open(); !opened) return std::unexpected(opened.error());
  auto frames = whole_frames(content);
  if (!frames) return std::unexpected(frames.error());
  drop_stale(*frames, Manifest{});
  const auto likely = likely_manifests(content, *frames);
  if (!likely) return std::unexpected(likely.error());
  std::optional<RepairPlan> best;
  for (LikelyManifest guess : *likely) {
    guess.manifest.generation = older.generation;
    guess.manifest.durable = std::max(older.durable, older.clean);  // it still vouches for that
    auto plan = plan_with(request, guess.manifest, true, !guess.whole_checkpoint);
    if (!plan) return std::unexpected(plan.error());
    if (!best || !best->refused.empty() || (plan->refused.empty() && plan->lost < best->lost))
      best = std::move(*plan);
  }
  if (best)
    best->said.insert(
        best->said.begin(),
        fmt::format("MANIFEST.a and MANIFEST.b: made anew, with {}",
                    best->manifest && best->manifest->checkpoint != 0
                        ? fmt::format("the checkpoint at lsn {}", best->manifest->checkpoint)
                        : "no checkpoint"));
  return best;
}

}  // namespace

Result<RepairPlan> plan_repair(const RepairRequest& request) {
  const auto manifests = read_manifests(request.directory);
  if (!manifests) return std::unexpected(manifests.error());
  RepairPlan empty(LogContent(request.directory, {request.stream, request.segment_bytes, 0}));
  if (manifests->newest && manifests->newest->stream != request.stream) {
    empty.refused = "the manifest is another log's";
    return empty;
  }
  if (manifests->newest && manifests->newest->epoch == 0) return empty;  // nothing was ever in it
  std::optional<RepairPlan> plan;
  if (manifests->newest) {
    auto made = plan_with(request, *manifests->newest, false, false);
    if (!made) return made;
    plan = std::move(*made);
    // The newer one may be the damaged one, and what the older one needs used for something else.
    if (manifests->whole == 2 || plan->lost == 0) return std::move(*plan);
  }
  auto anew = plan_anew(request, manifests->newest.value_or(Manifest{}));
  if (!anew) return std::unexpected(anew.error());
  const bool better = *anew && (*anew)->refused.empty() &&
                      (!plan || !plan->refused.empty() || (*anew)->lost < plan->lost);
  if (better) return std::move(**anew);
  if (plan) return std::move(*plan);
  if (!segments_in(request.directory).empty())
    empty.refused = "neither a manifest nor a frame of this log is whole";
  return empty;
}

}  // namespace pawl
