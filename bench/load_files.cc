// SPDX-License-Identifier: Apache-2.0
#include "bench/load_files.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "bench/load_html.h"
#include "core/base/check.h"

namespace pawl::load {
namespace {

// Writes the file of a flag. Returns the exit code.
template <typename Write>
int write_file(const char* flag, const std::string& path, std::FILE* err, Write&& write) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file) write(file);
  if (file && std::fclose(file) == 0) return 0;
  fmt::print(err, "error: cannot write {}; name a file in a directory that exists with {}\n", path,
             flag);
  return 1;
}

int write_hgrm(const std::string& path, const Histogram& latency, std::FILE* err) {
  return write_file("--hgrm", path, err, [&](std::FILE* file) { latency.write_hgrm(file); });
}

// False also for a symbolic link: /dev/stdout is one, and may lead to a regular file.
bool is_plain_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(std::filesystem::symlink_status(path, ignored));
}

int write_hgrm_files(const LoadOptions& options, const LoadResult& result, std::FILE* err) {
  int code = write_hgrm(options.hgrm, result.total.latency, err);
  if (options.rounds == 1 || !is_plain_file(options.hgrm)) return code;
  for (std::uint32_t i = 0; code == 0 && i < result.rounds.size(); ++i)
    code = write_hgrm(round_path(options.hgrm, i + 1), result.rounds[i].latency, err);
  return code;
}

int write_html_file(const LoadOptions& options, const LoadResult& result,
                    const MachineFacts& machine, std::FILE* err) {
  return write_file("--html", options.html, err, [&](std::FILE* file) {
    const std::string html = result_html(options, result, machine);
    std::fwrite(html.data(), 1, html.size(), file);
  });
}

}  // namespace

std::string round_path(const std::string& path, std::uint32_t round) {
  CHECK(round > 0, "rounds are counted from 1");
  std::filesystem::path made = path;
  const std::string extension = made.extension();
  made.replace_extension(fmt::format(".round-{:03}{}", round, extension));
  return made;
}

int write_files(const LoadOptions& options, const LoadResult& result, const MachineFacts& machine,
                std::FILE* err) {
  const int hgrm = options.hgrm.empty() ? 0 : write_hgrm_files(options, result, err);
  const int html = options.html.empty() ? 0 : write_html_file(options, result, machine, err);
  return std::max(hgrm, html);
}

}  // namespace pawl::load
