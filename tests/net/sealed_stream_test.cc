// SPDX-License-Identifier: Apache-2.0
// The TLS side of a connection, against OpenSSL's own client in memory.
#include "net/connection/sealed_stream.h"

#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "tests/net/tls_peer.h"

namespace pawl {
namespace {

class SealedStreamTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "pawl-sealed-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    directory_ = name;
    const CertificateFiles files = make_certificate(directory_, "stream");
    auto loaded = TlsContext::load(files.certificate, files.key);
    ASSERT_TRUE(loaded) << loaded.error();
    context_ = *loaded;
    stream_ = std::make_unique<SealedStream>(*context_, "pawl", account_);
    client_context_.reset(SSL_CTX_new(TLS_client_method()));
    client_.reset(SSL_new(client_context_.get()));
    from_server_ = BIO_new(BIO_s_mem());
    to_server_ = BIO_new(BIO_s_mem());
    SSL_set_bio(client_.get(), from_server_, to_server_);
    SSL_set_connect_state(client_.get());
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  // The bytes that the client has for the server.
  std::string from_client() {
    std::string bytes(BIO_ctrl_pending(to_server_), '\0');
    if (!bytes.empty()) BIO_read(to_server_, bytes.data(), static_cast<int>(bytes.size()));
    return bytes;
  }
  void to_client() {
    std::string& out = stream_->out();
    if (!out.empty()) BIO_write(from_server_, out.data(), static_cast<int>(out.size()));
    out.clear();
  }
  SealedStream::Input open(std::string_view bytes) {
    return stream_->open(bytes, [this](std::string_view plain) {
      plain_.append(plain);
      return plain_.size() < wanted_;
    });
  }
  void shake_hands() {
    for (int i = 0; i < 4; ++i) {
      SSL_do_handshake(client_.get());
      EXPECT_EQ(open(from_client()), SealedStream::Input::taken);
      to_client();
    }
    ASSERT_TRUE(SSL_is_init_finished(client_.get()));
    ASSERT_TRUE(stream_->established());
  }
  // All that the client can decrypt now.
  std::string read_by_client() {
    std::string all, part(1 << 16, '\0');
    for (int n = 1; n > 0;) {
      n = SSL_read(client_.get(), part.data(), static_cast<int>(part.size()));
      if (n > 0) all.append(part.data(), static_cast<std::size_t>(n));
    }
    return all;
  }

  struct Free {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  };
  std::string directory_;
  std::shared_ptr<const TlsContext> context_;
  std::int64_t account_ = 0;
  std::unique_ptr<SealedStream> stream_;
  std::unique_ptr<SSL_CTX, Free> client_context_;
  std::unique_ptr<SSL, Free> client_;
  BIO* from_server_ = nullptr;
  BIO* to_server_ = nullptr;
  std::string plain_;  // decrypted
  std::size_t wanted_ = SIZE_MAX;
};

TEST_F(SealedStreamTest, KeepsTheFirstBytesUntilTheTurnOfTheHandshake) {
  EXPECT_TRUE(stream_->unasked());
  stream_->wait_for_turn();
  EXPECT_FALSE(stream_->unasked());
  SSL_do_handshake(client_.get());
  const std::string hello = from_client();
  EXPECT_TRUE(stream_->keep(hello.substr(0, 10)));
  EXPECT_TRUE(stream_->keep(hello.substr(10)));
  EXPECT_GE(stream_->memory(), hello.size());
  const std::string early = stream_->admit();
  EXPECT_EQ(early, hello);
  EXPECT_TRUE(stream_->admitted());
  EXPECT_FALSE(stream_->begun());
  EXPECT_EQ(open(early), SealedStream::Input::taken);
  EXPECT_TRUE(stream_->begun());
  EXPECT_FALSE(stream_->out().empty()) << "the server's part of the handshake";
  to_client();
  shake_hands();
}

TEST_F(SealedStreamTest, DoesNotKeepMoreThanItsLimit) {
  stream_->wait_for_turn();
  EXPECT_TRUE(stream_->keep(std::string(Tls::pending_max, 'x')));
  EXPECT_FALSE(stream_->keep("x"));
}

TEST_F(SealedStreamTest, EncryptsALongOutputSliceBySlice) {
  stream_->admit();
  shake_hands();
  std::string output;
  for (int i = 0; output.size() < 3 * Tls::seal_bytes_max; ++i) output += std::to_string(i);
  const std::string whole = output;
  std::string received;
  int slices = 0;
  for (; !output.empty(); ++slices) {
    ASSERT_LT(slices, 10);
    ASSERT_TRUE(stream_->seal(output));
    EXPECT_LE(stream_->sealed(), output.size());
    if (slices == 0) {
      EXPECT_EQ(stream_->sealed(), Tls::seal_bytes_max);
    }
    to_client();
    received += read_by_client();
  }
  EXPECT_EQ(stream_->sealed(), 0u);
  EXPECT_GT(slices, 2);
  EXPECT_EQ(received, whole);
}

TEST_F(SealedStreamTest, StopsAtATakerThatWantsNoMore) {
  stream_->admit();
  shake_hands();
  wanted_ = 1;
  for (int i = 0; i < 3; ++i) SSL_write(client_.get(), "record", 6);
  EXPECT_EQ(open(from_client()), SealedStream::Input::taken);
  EXPECT_EQ(plain_, "record") << "the first record";
}

TEST_F(SealedStreamTest, ReportsTheEndAndBytesThatAreNotTls) {
  stream_->admit();
  shake_hands();
  SSL_write(client_.get(), "last", 4);
  SSL_shutdown(client_.get());
  EXPECT_EQ(open(from_client()), SealedStream::Input::peer_closed);
  EXPECT_EQ(plain_, "last");
  stream_->close();
  EXPECT_TRUE(stream_->closed());

  SealedStream other(*context_, "pawl", account_);
  other.admit();
  const auto taken = [](std::string_view) { return true; };
  EXPECT_EQ(other.open("this is not a record of TLS", taken), SealedStream::Input::failed);
  std::string output = "an answer";
  EXPECT_FALSE(other.seal(output));
  EXPECT_TRUE(output.empty()) << "it cannot be sent";
}

}  // namespace
}  // namespace pawl
