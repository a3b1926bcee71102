// SPDX-License-Identifier: Apache-2.0
#include "net/admin/gzip_slices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace pawl {
namespace {

// A page whose slices are known before.
class KnownSlices final : public ShardSlices {
 public:
  explicit KnownSlices(std::vector<std::string> slices, std::size_t refused_at = SIZE_MAX)
      : slices_(std::move(slices)), refused_at_(refused_at) {}
  std::string_view content_type() const override { return "a/b"; }
  const AdminAnswer* refusal() const override { return at_ > refused_at_ ? &refusal_ : nullptr; }
  Next next() override { return at_ == slices_.size() ? Next() : Next{&request_, ShardId{3}}; }
  void append(std::string& body) override { body += slices_[at_++]; }
  std::size_t memory() const override { return 1000; }

 private:
  std::vector<std::string> slices_;
  std::size_t refused_at_, at_ = 0;
  AdminAnswer refusal_{.status = 404};
  Request request_{.op = Op::list_queues};
};

// The text of a gzip file, by the program of that name.
std::string unzipped(const std::string& zipped) {
  char path[] = "/tmp/pawl-gzip-XXXXXX";
  ::close(mkstemp(path));
  std::ofstream(path, std::ios::binary) << zipped;
  FILE* const pipe = popen((std::string("gzip -dc < ") + path).c_str(), "r");
  std::string text;
  std::array<char, 4096> bytes;
  for (std::size_t n; (n = fread(bytes.data(), 1, bytes.size(), pipe)) > 0;)
    text.append(bytes.data(), n);
  EXPECT_EQ(pclose(pipe), 0);
  std::remove(path);
  return text;
}

// Lines that differ, as those of metrics.
std::string slice_text(std::size_t lines, int seed) {
  std::string text;
  for (std::size_t i = 0; i < lines; ++i)
    text +=
        "pawl_x{queue=\"q" + std::to_string(i) + "\"} " + std::to_string(i * 7919 + seed) + "\n";
  return text;
}

TEST(GzipSlices, KeepTheBytesOfAllSlices) {
  const std::vector<std::vector<std::string>> bodies = {
      {""},
      {"", "", "x"},
      {"x", "", ""},
      {std::string(GzipSlices::piece_max, 'x')},
      {std::string(GzipSlices::piece_max + 1, 'x')},
      {"", slice_text(9000, 1), slice_text(1, 2), "", slice_text(5000, 3), ""},
  };
  for (const auto& slices : bodies) {
    std::string plain, zipped;
    for (const std::string& slice : slices) plain += slice;
    GzipSlices page(std::make_unique<KnownSlices>(slices));
    EXPECT_EQ(page.content_encoding(), "gzip");
    EXPECT_EQ(page.content_type(), "a/b");
    int asked = 0, pauses = 0;
    for (auto next = page.next(); next.request != nullptr; next = page.next()) {
      EXPECT_EQ(page.next().request, next.request) << "the same until it is answered";
      ++(next.request->op == Op::none ? pauses : asked);
      const std::size_t before = zipped.size();
      page.append(zipped);
      EXPECT_LE(zipped.size() - before, 2 * GzipSlices::piece_max);
    }
    EXPECT_EQ(unzipped(zipped), plain);
    EXPECT_EQ(asked, static_cast<int>(slices.size()));
    int pieces = 0;
    for (const std::string& slice : slices)
      pieces +=
          static_cast<int>(std::max<std::size_t>(slice.size() + GzipSlices::piece_max - 1, 1) /
                           GzipSlices::piece_max);
    EXPECT_GE(pauses + asked, pieces) << "no more than a piece at once";
    EXPECT_GE(page.memory(), 1000 + GzipSlices::state_bytes);
  }
}

TEST(GzipSlices, WriteNothingBeforeTheFirstByte) {
  GzipSlices page(std::make_unique<KnownSlices>(std::vector<std::string>{"", "x"}));
  std::string zipped;
  page.append(zipped);
  EXPECT_EQ(zipped, "");
}

TEST(GzipSlices, AreRefusedWithTheirPage) {
  GzipSlices page(std::make_unique<KnownSlices>(std::vector<std::string>{"", "", "x"}, 1));
  std::string zipped;
  page.append(zipped);
  EXPECT_EQ(page.refusal(), nullptr);
  page.append(zipped);
  ASSERT_NE(page.refusal(), nullptr);
  EXPECT_EQ(page.refusal()->status, 404);
  EXPECT_EQ(zipped, "");
}

}  // namespace
}  // namespace pawl
