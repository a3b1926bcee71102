// SPDX-License-Identifier: Apache-2.0
// Whole loads against the fake server: its fixture, and a codec whose functions a test overrides.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/load.h"
#include "bench/load_codec.h"
#include "tests/client/fake_server.h"

namespace pawl {

class LoadRun : public testing::Test {
 protected:
  LoadRun() {
    options_.binary = "127.0.0.1:" + std::to_string(server_.port());
    options_.create = true;
    options_.json = true;
    options_.seconds = 0.3;
    options_.connections = 2;
    options_.depth = 4;
    options_.batch = 3;
    options_.body = 64;
  }
  static std::string text_of(std::FILE* file) {
    std::rewind(file);
    std::string text(1 << 16, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), file));
    std::fclose(file);
    return text;
  }
  // Runs the load; keeps both outputs and returns the exit code.
  template <typename Load>
  int kept(Load&& load) {
    std::FILE* out = std::tmpfile();
    std::FILE* err = std::tmpfile();
    const int code = load(out, err);
    out_ = text_of(out);
    err_ = text_of(err);
    return code;
  }
  int run() {
    return kept([this](auto* out, auto* err) { return run_load(options_, out, err); });
  }
  int run_at(const load::Target& target) {
    return kept([&](auto* out, auto* err) { return run_load_at(options_, target, out, err); });
  }
  // The number under `key` in the JSON line, -1 if there is none.
  double number(std::string_view key) const {
    const std::size_t at = out_.find("\"" + std::string(key) + "\":");
    return at == out_.npos ? -1 : std::stod(out_.substr(at + key.size() + 3));
  }
  // Runs the workload and returns the number under `key` in the JSON line that it prints.
  double run(LoadOptions::Workload workload, const char* key) {
    options_.workload = workload;
    EXPECT_EQ(run(), 0) << err_;
    EXPECT_NE(out_.find("\"errors\":0}\n"), out_.npos) << out_;
    EXPECT_GE(number(key), 0) << out_;
    return number(key);
  }

  FakeServer server_{[] {
    BinarySettings config;
    config.secret.fill(7);
    return config;
  }()};
  LoadOptions options_;
  std::string out_, err_;
};

// The codec of the binary protocol.
class WrappedCodec : public load::Codec {
 public:
  WrappedCodec(const LoadOptions& options, const load::Target& target)
      : inner_(load::make_binary_codec(options, target)) {}

  std::string prepare(load::Channel& channel, bool create) override {
    return inner_->prepare(channel, create);
  }
  bool created() const override { return inner_->created(); }
  std::string delete_queue(load::Channel& channel) override {
    return inner_->delete_queue(channel);
  }
  void append_send(std::string& out, std::uint32_t slot, const load::Mark& mark) override {
    inner_->append_send(out, slot, mark);
  }
  void append_receive(std::string& out, std::uint32_t slot, bool wait) override {
    inner_->append_receive(out, slot, wait);
  }
  void append_delete(std::string& out, std::uint32_t slot, const load::Delivered* first,
                     std::uint32_t count) override {
    inner_->append_delete(out, slot, first, count);
  }
  std::size_t parse(std::string_view bytes, std::vector<load::Reply>& replies,
                    std::vector<load::Delivered>& delivered) override {
    return inner_->parse(bytes, replies, delivered);
  }

 private:
  std::unique_ptr<load::Codec> inner_;
};

}  // namespace pawl
