// SPDX-License-Identifier: Apache-2.0
// Recovery: reads a log once, at startup, and makes the Log that continues from its end.
//
//   manifest -> segments (whole) -> latest checkpoint -> frames from its start -> first bad place
//                                   |-- acknowledged frames behind it: refuse
//                                   \-- none: the tail; a new epoch from here
//
// The steps are in recovery_steps.cc (segments), recovery_scan.cc (frames), recovery_tail.cc (the
// bad place and the new epoch) and recovery_records.cc (records).
//
// A frame was acknowledged if something written later proves it: the `durable` of a frame behind
// it, or a manifest. A frame without such proof was under way at the crash, not acknowledged.
//
// Limits: one extent is read at a time, directly into the image, which keeps its memory limit. The
//         checkpoint and the bytes behind the tail are read into a scratch extent.
// Errors: as for open_log(); `complaint` is a sentence for the operator.
// Owner:  open_log(), for the duration of the call.
// Source: wal/FORMAT.md, "The torn end".
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "wal/format/disk.h"
#include "wal/format/format.h"
#include "wal/format/records.h"
#include "wal/log.h"
#include "wal/recovery/recovery.h"

namespace pawl {

class Recovery final : private RecordSink {
 public:
  Recovery(Disk& disk, const LogOptions& options, RecoverySink& sink, RecoveryReport& report,
           std::string& complaint)
      : disk_(disk), options_(options), sink_(sink), report_(report), complaint_(complaint) {}

  ~Recovery() override;

  Result<std::unique_ptr<Log>> run();

 private:
  struct SegmentFile {
    std::uint64_t number = 0;
    std::uint64_t bytes = 0;
    FileId file = FileId::none;
    bool whole = false;  // full size, with the right header
    std::uint64_t usable = 0;
    Instant begun;         // when its first frame was written; 0: unknown
    bool adopted = false;  // the pool closes the file
  };
  // The check of a position where a frame may start.
  struct Found {
    Lsn at = 0;
    FrameCheck check;
  };

  std::string absence_text() const;
  Result<std::unique_ptr<Log>> create(std::unique_ptr<ManifestFiles> manifest,
                                      const std::vector<FileInfo>& listed);
  Result<void> open_segments(const std::vector<FileInfo>& listed);
  Result<bool> whole(SegmentFile& segment);
  Instant begun(std::span<const std::byte> beginning, std::uint64_t number) const;
  Result<void> adopt_segments();
  Result<void> adopt_older(SegmentFile& segment);

  Lsn begin() const;
  Result<void> recover_checkpoint();
  Result<void> recover_frames();
  Result<Found> next_frame();
  Result<Found> look(Lsn at);
  bool stale(const LogFrameHeader& header) const;
  Result<void> recover_frame(const Found& found);
  Result<std::byte*> load(std::uint64_t extent);
  Result<std::byte*> read_extent(std::uint64_t extent, std::byte* memory);
  Result<std::uint64_t> read(FileId file, std::uint64_t offset, std::span<std::byte> into);

  Result<void> look_ahead();
  Result<void> look_through(const SegmentFile& segment, std::uint64_t offset);
  void look_at(std::span<const std::byte> rest, const SegmentFile& segment, std::uint64_t offset);
  Result<void> judge(const Found& bad);
  Result<std::unique_ptr<Log>> finish();
  Result<void> clear_tail();
  Result<void> make_ahead();

  std::string describe(Lsn lsn) const;
  std::unexpected<Error> pass_on(Error error, std::string_view doing);
  std::unexpected<Error> refuse(Errc code, std::string complaint);

  // --- RecordSink (recovery_records.cc) ---
  void send(const StoredMessage& message, std::size_t offset) override;
  void receive(const ReceiveRecord& record) override;
  void delete_message(const DeleteRecord& record) override;
  void purge(const PurgeRecord& record) override;
  void config(const ConfigRecord& record) override;
  void row(const RowRecord& record) override;
  void head(const HeadRecord& record) override;
  void task(const TaskRecord& record) override;
  void forget_transfer(const ForgetTransferRecord& record) override;
  void number(const NumberRecord& record) override;
  void replay(const ReplayRecord& record) override;
  void checkpoint(const CheckpointRecord& record) override;
  void segment(const SegmentRecord& record) override;
  void unknown(const UnknownPart& part) override;
  void hold(LogPos position);
  void release_freed();

  Disk& disk_;
  const LogOptions& options_;
  RecoverySink& sink_;
  RecoveryReport& report_;
  std::string& complaint_;

  std::unique_ptr<Log> log_;
  static constexpr std::uint64_t none = UINT64_MAX;
  PageBlock scratch_;                    // one extent
  std::uint64_t scratch_extent_ = none;  // the extent in scratch_ while a checkpoint is read
  Geometry geometry_;
  Manifest manifest_;
  std::vector<SegmentFile> segments_;  // all segment files, rising; the pool owns the adopted ones
  std::uint64_t whole_end_ = 0;        // segments below it are whole and in the pool

  std::uint64_t read_ = 0;              // bytes read
  std::uint64_t to_read_ = 0;           // estimate of all bytes to read
  std::uint64_t checkpoint_bytes_ = 0;  // estimated size of the checkpoint
  bool of_checkpoint_ = false;          // only records of checkpoints are read
  bool bad_position_ = false;           // a checkpoint contains an impossible position
  Lsn tail_ = 0;                        // end of the last good frame
  Lsn last_frame_ = 0;                  // start of the last good frame; 0: none yet
  Lsn records_at_ = 0;                  // records of the frame being read
  Lsn records_end_ = 0;
  const std::byte* records_ = nullptr;
  std::uint64_t epoch_ = 0;
  std::uint64_t epoch_seen_ = 0;  // the highest on disk, also behind the tail
  std::string witness_;           // proof that more was acknowledged than can be read
  bool remains_ = false;          // frames behind the tail exist
  UnknownPart unknown_;           // the critical part that stopped the reading
  std::vector<LogPos> freed_;
  std::vector<std::uint64_t> damaged_headers_;  // numbers of segments older than the checkpoint
};

}  // namespace pawl
