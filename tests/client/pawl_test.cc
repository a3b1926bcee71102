// SPDX-License-Identifier: Apache-2.0
#include "net/client/pawl/pawl.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <string_view>

#include "tests/client/client_fixture.h"

namespace pawl {
namespace {

std::string name_of(int error) {
  char name[PAWL_ERROR_NAME_SIZE];
  return pawl_error_name(error, name, sizeof name);
}

class InC : public ClientToServer {
 protected:
  void SetUp() override {
    pawl_options_init(&options_);
    options_.port = server_.port();
    ASSERT_EQ(pawl_connect(&options_, &client_), 0);
    ASSERT_EQ(pawl_create_queue(client_, "q", &queue_), 0);
  }
  void TearDown() override { pawl_close(client_); }

  int send(std::string_view body) {
    return pawl_send(client_, &queue_, body.data(), body.size(), nullptr, nullptr);
  }
  // Receives into two messages.
  std::size_t receive() {
    std::size_t count = 7;
    EXPECT_EQ(pawl_receive(client_, &queue_, 0, messages_.data(), messages_.size(), &count), 0);
    return count;
  }

  pawl_options options_;
  pawl_client* client_ = nullptr;
  pawl_queue queue_{};
  std::array<pawl_message, 2> messages_{};
};

TEST_F(InC, AMessageIsSentReceivedAndDeleted) {
  pawl_sent sent{};
  ASSERT_EQ(pawl_send(client_, &queue_, "hello", 5, nullptr, &sent), 0);
  ASSERT_EQ(receive(), 1u);
  EXPECT_EQ(std::string_view(messages_[0].body, messages_[0].body_size), "hello");
  EXPECT_EQ(messages_[0].sequence, sent.sequence);
  EXPECT_EQ(std::memcmp(messages_[0].id, sent.id, sizeof sent.id), 0);
  EXPECT_EQ(messages_[0].receive_count, 1u);
  EXPECT_EQ(messages_[0].group_size, 0u);
  EXPECT_EQ(pawl_delete_message(client_, &queue_, &messages_[0]), 0);
  EXPECT_EQ(receive(), 0u);
}

TEST_F(InC, NoMoreMessagesAreReceivedThanTheCallerHasSpaceFor) {
  for (const char* body : {"a", "b", "c"}) ASSERT_EQ(send(body), 0);
  EXPECT_EQ(receive(), 2u);
  EXPECT_EQ(receive(), 1u);
}

TEST_F(InC, ErrorsHaveNumbersAndNames) {
  pawl_queue other{};
  EXPECT_EQ(name_of(pawl_open_queue(client_, "absent", &other)), "no_such_queue");
  EXPECT_EQ(name_of(pawl_send(client_, &other, "x", 1, nullptr, nullptr)), "bad_handle");
  std::size_t count = 7;
  EXPECT_EQ(name_of(pawl_receive(client_, &queue_, 0, nullptr, 0, &count)), "invalid");
  EXPECT_EQ(count, 0u);
  EXPECT_EQ(name_of(-1), "unknown");
  EXPECT_EQ(name_of(1 << 20), "unknown");
}

TEST_F(InC, ANameIsCutToItsBuffer) {
  std::array<char, 4> name;
  EXPECT_STREQ(pawl_error_name(1100, name.data(), name.size()), "no_");
  EXPECT_EQ(pawl_error_name(1100, nullptr, 0), nullptr);
}

TEST_F(InC, AFailedConnectionLeavesNoClient) {
  pawl_client* none = client_;
  options_.host = "127.0.0.1";
  options_.port = 1;  // nobody listens there
  EXPECT_EQ(name_of(pawl_connect(&options_, &none)), "unreachable");
  EXPECT_EQ(none, nullptr);
  pawl_close(none);
}

}  // namespace
}  // namespace pawl
