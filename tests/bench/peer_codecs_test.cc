// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "bench/peers/peer_codec.h"
#include "bench/peers/wire.h"

// The codecs of other brokers, fed with bytes of those brokers. A greeting is not sent here: the
// codecs do not depend on it.

namespace pawl {
namespace {

using namespace std::string_literals;
using load::Codec;
using load::Delivered;
using load::Reply;
using load::Target;

class PeerCodecs : public testing::Test {
 protected:
  PeerCodecs() {
    options_.body = 16;
    options_.depth = 2;
  }
  void make(const char* url) {
    Target target;
    ASSERT_EQ(load::parse_peer_url(url, target), "");
    codec_ = target.make(options_, target);
  }
  // Parses `bytes` whole, after each of its beginnings was found incomplete. `whole_units`: lengths
  // at which a beginning ends with a response.
  void parse(const std::string& bytes, const std::vector<std::size_t>& whole_units = {}) {
    for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
      if (!whole_units.empty() && cut >= whole_units.front()) break;
      replies_.clear();
      delivered_.clear();
      ASSERT_EQ(codec_->parse(std::string_view(bytes).substr(0, cut), replies_, delivered_), 0u)
          << cut;
      ASSERT_TRUE(replies_.empty()) << cut;
    }
    bytes_ = bytes;
    replies_.clear();
    delivered_.clear();
    ASSERT_EQ(codec_->parse(bytes_, replies_, delivered_), bytes.size());
  }
  void expect_reply(std::size_t index, std::uint32_t slot, std::uint32_t good,
                    std::uint32_t failed = 0) const {
    ASSERT_LT(index, replies_.size());
    EXPECT_EQ(replies_[index].slot, slot);
    EXPECT_EQ(replies_[index].good, good);
    EXPECT_EQ(replies_[index].failed, failed);
  }

  LoadOptions options_;
  std::unique_ptr<Codec> codec_;
  std::string out_, bytes_;
  std::vector<Reply> replies_;
  std::vector<Delivered> delivered_;
};

TEST_F(PeerCodecs, AreChosenByTheScheme) {
  for (const char* url : {"redis://h:1/q", "beanstalk://h:1/q", "nats://h:1/q", "postgres://h:1/q",
                          "amqp://h:1/q", "echo://h:1/q"})
    make(url);
  for (const char* url :
       {"", "q", "http://h:1/q", "redis://h/q", "redis://h:1", "redis://h:1/", "redis://:1/q"}) {
    Target target;
    EXPECT_NE(load::parse_peer_url(url, target), "") << url;
  }
}

TEST_F(PeerCodecs, RedisAddsReadsAndDeletesStreamEntries) {
  options_.batch = 2;
  make("redis://h:1/s");
  codec_->append_send(out_, 1, {.stamp = 0xAB});
  const std::string add =
      "*5\r\n$4\r\nXADD\r\n$1\r\ns\r\n$1\r\n*\r\n$1\r\nb\r\n$16\r\n00000000000000ab\r\n";
  EXPECT_EQ(out_, add + add);
  parse("$3\r\n1-0\r\n$3\r\n1-1\r\n", {9});
  ASSERT_EQ(replies_.size(), 1u);
  expect_reply(0, 1, 2);

  codec_->append_receive(out_, 0, false);
  parse(
      "*1\r\n*2\r\n$1\r\ns\r\n*2\r\n*2\r\n$3\r\n1-0\r\n*2\r\n$1\r\nb\r\n$16\r\n"
      "00000000000000ab\r\n*2\r\n$3\r\n1-1\r\n*2\r\n$1\r\nb\r\n$1\r\nx\r\n");
  expect_reply(0, 0, 2);
  ASSERT_EQ(delivered_.size(), 2u);
  EXPECT_EQ(delivered_[0].stamp, 0xABu);
  EXPECT_EQ(delivered_[1].receipt, "1-1");

  out_.clear();
  codec_->append_delete(out_, 0, delivered_.data(), 2);
  EXPECT_EQ(out_,
            "*5\r\n$4\r\nXACK\r\n$1\r\ns\r\n$5\r\ngroup\r\n$3\r\n1-0\r\n$3\r\n1-1\r\n"
            "*4\r\n$4\r\nXDEL\r\n$1\r\ns\r\n$3\r\n1-0\r\n$3\r\n1-1\r\n");
  parse(":2\r\n:2\r\n", {4});
  expect_reply(0, 0, 2);

  codec_->append_receive(out_, 1, false);
  parse("*-1\r\n");
  expect_reply(0, 1, 0);
  codec_->append_receive(out_, 1, false);
  parse("-OOM command not allowed\r\n");
  expect_reply(0, 1, 0, 1);
  EXPECT_EQ(replies_[0].reason, "OOM command not allowed");
  EXPECT_EQ(codec_->parse("+OK\r\n", replies_, delivered_), Codec::broken) << "nobody asked";
}

TEST_F(PeerCodecs, BeanstalkPutsReservesAndDeletesJobs) {
  make("beanstalk://h:1/t");
  codec_->append_send(out_, 0, {.stamp = 0xAB});
  EXPECT_EQ(out_, "put 1024 0 120 16\r\n00000000000000ab\r\n");
  parse("INSERTED 7\r\n");
  expect_reply(0, 0, 1);
  codec_->append_receive(out_, 1, true);
  parse("RESERVED 7 16\r\n00000000000000ab\r\n");
  expect_reply(0, 1, 1);
  EXPECT_EQ(delivered_.at(0).receipt, "7");
  EXPECT_EQ(delivered_.at(0).stamp, 0xABu);
  out_.clear();
  codec_->append_delete(out_, 1, delivered_.data(), 1);
  EXPECT_EQ(out_, "delete 7\r\n");
  parse("DELETED\r\n");
  expect_reply(0, 1, 1);
  codec_->append_receive(out_, 1, true);
  parse("TIMED_OUT\r\n");
  expect_reply(0, 1, 0);
  codec_->append_send(out_, 0, {});
  parse("DRAINING\r\n");
  expect_reply(0, 0, 0, 1);
}

TEST_F(PeerCodecs, NatsFindsTheSlotByTheSubscription) {
  make("nats://h:1/S");
  codec_->append_send(out_, 1, {.stamp = 0xAB});
  EXPECT_TRUE(out_.starts_with("PUB S.q _INBOX.")) << out_;
  EXPECT_TRUE(out_.ends_with(".1 16\r\n00000000000000ab\r\n")) << out_;
  codec_->append_receive(out_, 0, true);
  const std::string stored = "MSG _INBOX.x.1 2 25\r\n{\"stream\":\"S\", \"seq\":100}\r\n";
  parse(stored + "MSG S.q 1 $JS.ACK.S.worker.1.2.3 16\r\n00000000000000ab\r\n", {stored.size()});
  ASSERT_EQ(replies_.size(), 2u);
  expect_reply(0, 1, 1);
  expect_reply(1, 0, 1);
  EXPECT_EQ(delivered_.at(0).receipt, "$JS.ACK.S.worker.1.2.3");
  EXPECT_EQ(delivered_.at(0).stamp, 0xABu);
  out_.clear();
  codec_->append_delete(out_, 0, delivered_.data(), 1);
  EXPECT_TRUE(out_.starts_with("PUB $JS.ACK.S.worker.1.2.3 _INBOX.")) << out_;
  EXPECT_TRUE(out_.ends_with(".0 4\r\n+ACK\r\n")) << out_;
  parse("MSG _INBOX.x.0 1 0\r\n\r\n");
  expect_reply(0, 0, 1);

  codec_->append_receive(out_, 0, false);
  parse("HMSG _INBOX.x.0 1 28 28\r\nNATS/1.0 404 No Messages\r\n\r\n\r\n");
  expect_reply(0, 0, 0);
  codec_->append_send(out_, 0, {});
  parse("HMSG _INBOX.x.0 1 16 16\r\nNATS/1.0 503\r\n\r\n\r\n");
  expect_reply(0, 0, 0, 1);
  EXPECT_EQ(codec_->parse("MSG _INBOX.x.0 1 0\r\n\r\n", replies_, delivered_), Codec::broken)
      << "nobody asked";
  EXPECT_EQ(codec_->parse("-ERR 'Unknown'\r\n", replies_, delivered_), Codec::broken);
}

std::string message(char type, const std::string& payload) {
  std::string out(1, type);
  load::put_big(out, static_cast<std::uint32_t>(payload.size() + 4));
  return out + payload;
}

TEST_F(PeerCodecs, PostgresTakesOneAnswerForEachSync) {
  make("postgres://h:1/t");
  const std::string bound = message('2', ""), ready = message('Z', "I");
  codec_->append_send(out_, 0, {.stamp = 0xAB});
  EXPECT_EQ(out_, message('B', "\0send\0\0\0\0\1\0\0\0\x10"s + "00000000000000ab" + "\0\0"s) +
                      message('E', "\0\0\0\0\0"s) + message('S', ""));
  parse(bound + message('C', "INSERT 0 1\0"s) + ready);
  expect_reply(0, 0, 1);
  codec_->append_receive(out_, 1, true);
  parse(bound + message('D', "\0\2\0\0\0\2"s + "42" + "\0\0\0\x10"s + "00000000000000ab") +
        message('C', "UPDATE 1\0"s) + ready);
  expect_reply(0, 1, 1);
  EXPECT_EQ(delivered_.at(0).receipt, "42");
  EXPECT_EQ(delivered_.at(0).stamp, 0xABu);
  out_.clear();
  codec_->append_delete(out_, 1, delivered_.data(), 1);
  EXPECT_NE(out_.find("\0\0\0\2"s + "42"), out_.npos);
  parse(bound + message('C', "DELETE 1\0"s) + ready);
  expect_reply(0, 1, 1);
  codec_->append_receive(out_, 1, true);
  parse(bound + message('C', "UPDATE 0\0"s) + ready);
  expect_reply(0, 1, 0);
  EXPECT_FALSE(codec_->waits());
  codec_->append_send(out_, 0, {});
  parse(message('E', "SERROR\0Mdisk full\0\0"s) + ready);
  expect_reply(0, 0, 0, 1);
  EXPECT_EQ(replies_[0].reason, "disk full");
  EXPECT_EQ(codec_->parse(ready, replies_, delivered_), Codec::broken) << "nobody asked";
}

std::string frame(char type, const std::string& payload) {
  std::string out(1, type);
  load::put_big(out, std::uint16_t{1});
  load::put_big(out, static_cast<std::uint32_t>(payload.size()));
  return out + payload + '\xCE';
}
std::string number(std::uint64_t value) {
  std::string out;
  load::put_big(out, value);
  return out;
}

TEST_F(PeerCodecs, AmqpConfirmsPublishesAndHandsDeliveriesToWaitingSlots) {
  make("amqp://h:1/q");
  codec_->append_send(out_, 0, {.stamp = 0xAB});
  codec_->append_send(out_, 1, {});
  EXPECT_NE(out_.find(frame(3, "00000000000000ab")), out_.npos);
  parse(frame(1, "\0\x3C\0\x50"s + number(2) + "\1"));  // multiple: both
  ASSERT_EQ(replies_.size(), 2u);
  expect_reply(0, 0, 1);
  expect_reply(1, 1, 1);
  codec_->append_send(out_, 0, {});
  parse(frame(1, "\0\x3C\0\x78"s + number(3) + "\0"s));  // nack
  expect_reply(0, 0, 0, 1);

  out_.clear();
  codec_->append_receive(out_, 1, true);
  const std::string delivery = frame(1, "\0\x3C\0\x3C\5bench"s + number(9) + "\0\0\1q"s) +
                               frame(2, "\0\x3C\0\0"s + number(16) + "\x10\0\2"s) +
                               frame(3, "00000000000000ab");
  parse(delivery);
  expect_reply(0, 1, 1);
  EXPECT_EQ(delivered_.at(0).receipt, number(9));
  EXPECT_EQ(delivered_.at(0).stamp, 0xABu);
  EXPECT_FALSE(codec_->confirms_deletes());
  out_.clear();
  codec_->append_delete(out_, 1, delivered_.data(), 1);
  EXPECT_EQ(out_, frame(1, "\0\x3C\0\x50"s + number(9) + "\0"s));
  EXPECT_EQ(codec_->parse(delivery, replies_, delivered_), Codec::broken) << "nobody waits";
  EXPECT_EQ(codec_->parse(frame(1, "\0\x14\0\x28"s), replies_, delivered_), Codec::broken)
      << "the server closed the channel";
}

TEST_F(PeerCodecs, EchoTakesBackWhatItSent) {
  make("echo://h:1/x");
  codec_->append_send(out_, 1, {});
  parse(out_);
  expect_reply(0, 1, 1);
  EXPECT_EQ(codec_->parse(out_, replies_, delivered_), Codec::broken) << "nobody asked";
}

}  // namespace
}  // namespace pawl
