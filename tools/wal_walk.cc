#include "tools/wal_walk.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <optional>

#include "wal/records.h"

namespace pawl {
namespace {

// Reads up to `bytes`; fewer at the end of the file.
Result<std::vector<std::byte>> read_file(const std::string& path, std::uint64_t offset,
                                         std::size_t bytes) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return fail(Errc::io, "open", errno);
  std::vector<std::byte> content(bytes);
  std::size_t done = 0;
  int error = 0;
  while (done < bytes) {
    const ssize_t n =
        pread(file, content.data() + done, bytes - done, static_cast<off_t>(offset + done));
    if (n < 0) error = errno;
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  ::close(file);
  if (error != 0) return fail(Errc::io, "read", error);
  content.resize(done);
  return content;
}

Result<Manifest> newest_manifest(const std::string& directory) {
  std::optional<Manifest> newest;
  for (const std::string_view name : manifest_names) {
    const auto content = read_file(directory + "/" + std::string(name), 0, block_bytes);
    if (!content && content.error().sys == ENOENT) continue;
    if (!content) return std::unexpected(content.error());
    if (content->size() < block_bytes) continue;
    const auto manifest = read_manifest(ConstBlock(content->data(), block_bytes));
    if (!manifest && manifest.error().code == Errc::version) return manifest;
    if (manifest && (!newest || manifest->generation > newest->generation)) newest = *manifest;
  }
  if (!newest) return fail(Errc::corrupt, "neither manifest is whole");
  return *newest;
}

class Walk {
 public:
  Walk(const std::string& directory, const FrameVisitor& visit, WalkReport& report)
      : directory_(directory),
        visit_(visit),
        report_(report),
        at_{report.manifest.stream, report.manifest.segment_bytes, report.manifest.extent_bytes} {}

  Result<void> run() {
    if (!at_.valid()) return fail(Errc::corrupt, "the manifest's geometry");
    Lsn lsn = at_.frame_place(at_.segment_base(report_.manifest.first));
    report_.end = lsn;
    bool first_of_walk = true;
    while (true) {
      if (at_.segment_of(lsn) != segment_ && !enter(at_.segment_of(lsn))) break;
      FrameCheck check = look(lsn);
      if (check.fault == LogFault::none && !first_of_walk) {
        if (check.header.epoch < last_.epoch)
          check.fault = LogFault::epoch;
        else if (check.header.prev != lsn - last_.lsn)
          check.fault = LogFault::prev;
      }
      if (check.fault == LogFault::none) {
        take(check.header, lsn);
        first_of_walk = false;
        lsn = at_.frame_place(lsn + align_up(check.header.length, block_bytes));
        continue;
      }
      // The rest of an extent is left empty when the next frame did not fit.
      const Lsn next = at_.frame_place(at_.extent_end(lsn));
      if (lsn != at_.frame_place(at_.extent_of(lsn) * at_.extent_bytes) && follows(next)) {
        lsn = next;
        continue;
      }
      judge(lsn, check.fault);
      break;
    }
    return {};
  }

 private:
  // False: there is no such segment, or it is not one.
  bool enter(std::uint64_t number) {
    const std::string name = segment_name(number);
    const auto content = read_file(directory_ + "/" + name, 0, at_.segment_bytes);
    const Lsn base = at_.segment_base(number);
    std::string fault;
    if (!content)
      fault = "cannot be read";
    else if (content->size() < at_.segment_bytes)
      fault = "is shorter than a segment";
    else if (const auto header = read_segment_header(ConstBlock(content->data(), block_bytes));
             !header || header->stream != at_.stream || header->number != number)
      fault = "has no header of this log";
    if (fault.empty()) {
      segment_ = number;
      content_ = *content;
      return true;
    }
    if (base < durable())
      report_.damage.push_back(
          fmt::format("{}: {}, but the log was durable up to {}", name, fault, durable()));
    return false;
  }

  Lsn durable() const {
    return std::max({report_.manifest.durable, report_.manifest.clean, last_.durable});
  }

  std::span<const std::byte> extent_from(Lsn lsn) const {
    return std::span(content_).subspan(at_.offset_of(lsn), at_.extent_end(lsn) - lsn);
  }

  FrameCheck look(Lsn lsn) const { return check_frame(extent_from(lsn), at_.stream, lsn); }

  // Whether the frame after the last one is at `lsn`, which may be in the next segment.
  bool follows(Lsn lsn) {
    const std::uint64_t segment = segment_;
    if (at_.segment_of(lsn) != segment && !enter(at_.segment_of(lsn))) return false;
    const FrameCheck check = look(lsn);
    const bool found = check.fault == LogFault::none && check.header.epoch >= last_.epoch &&
                       check.header.prev == lsn - last_.lsn;
    if (!found && segment_ != segment) enter(segment);
    return found;
  }

  void take(const LogFrameHeader& header, Lsn lsn) {
    if (report_.frames == 0 || at_.segment_of(lsn) != at_.segment_of(last_.lsn)) ++report_.segments;
    last_ = header;
    ++report_.frames;
    report_.records += header.records;
    report_.bytes += header.length;
    report_.end = lsn + align_up(header.length, block_bytes);
    visit_(header, extent_from(lsn).first(header.length).subspan(log_frame_header_bytes));
  }

  // No frame follows at `lsn`: a tail, or damage?
  void judge(Lsn lsn, LogFault fault) {
    // Other bytes are no sign: a segment that is used again is full of old ones.
    report_.torn =
        fault == LogFault::length || fault == LogFault::hash || fault == LogFault::padding;
    Lsn proven = durable();
    for (Lsn later = lsn + block_bytes; at_.segment_of(later) == segment_; later += block_bytes) {
      const FrameCheck check = look(later);
      if (check.fault == LogFault::none && check.header.epoch >= last_.epoch)
        proven = std::max(proven, check.header.durable);
    }
    if (proven > lsn)
      report_.damage.push_back(
          fmt::format("{} at byte {} (lsn {}): {}, but the log was durable up to {}",
                      segment_name(segment_), at_.offset_of(lsn), lsn, describe(fault), proven));
  }

  const std::string& directory_;
  const FrameVisitor& visit_;
  WalkReport& report_;
  const Geometry at_;
  std::uint64_t segment_ = UINT64_MAX;
  std::vector<std::byte> content_;
  LogFrameHeader last_{};
};

bool holds_manifest(const std::filesystem::path& directory) {
  return std::any_of(
      std::begin(manifest_names), std::end(manifest_names),
      [&](std::string_view name) { return std::filesystem::exists(directory / name); });
}

}  // namespace

Result<WalkReport> walk_log(const std::string& directory, const FrameVisitor& visit) {
  if (!holds_manifest(directory)) return fail(Errc::invalid, "no log in this directory");
  const auto manifest = newest_manifest(directory);
  if (!manifest) return std::unexpected(manifest.error());
  WalkReport report{.manifest = *manifest};
  Walk walk(directory, visit, report);
  if (const auto done = walk.run(); !done) return std::unexpected(done.error());
  return report;
}

std::vector<std::string> logs_below(const std::string& directory) {
  if (holds_manifest(directory)) return {directory};
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error))
    if (entry.is_directory() && holds_manifest(entry.path()))
      found.push_back(entry.path().string());
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace pawl
