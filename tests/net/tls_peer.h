// SPDX-License-Identifier: Apache-2.0
// Helpers of the TLS tests: new certificates, and a client.
//
// Owner: each object belongs to its test.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>

namespace pawl {

struct CertificateFiles {
  std::string certificate, key;
};
// A self-signed certificate for `name` and 127.0.0.1, in two files of that directory.
CertificateFiles make_certificate(const std::string& directory, const std::string& name);

// A TLS connection to 127.0.0.1. It does not verify the server's certificate, but returns its name.
class TlsPeer {
 public:
  struct Options {
    int version_max = 0;  // TLS1_2_VERSION...; 0: the newest
    int version_min = 0;
    std::string protocols{};  // offered by ALPN, each after its length: "\x08http/1.1"
  };

  explicit TlsPeer(int fd) : TlsPeer(fd, Options()) {}
  TlsPeer(int fd, const Options& options);  // takes over the socket; handshakes
  ~TlsPeer();
  TlsPeer(const TlsPeer&) = delete;
  TlsPeer& operator=(const TlsPeer&) = delete;

  bool connected() const { return connected_; }
  std::string version() const { return SSL_get_version(ssl_.get()); }
  std::string protocol() const;
  std::string name() const;  // of the server's certificate
  bool send(const std::string& bytes);
  long read(char* into,
            std::size_t size);  // 0: the peer ended the stream; -1: it broke
  void say_goodbye() { SSL_shutdown(ssl_.get()); }

 private:
  struct Free {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  };
  int fd_;
  std::unique_ptr<SSL_CTX, Free> context_;
  std::unique_ptr<SSL, Free> ssl_;
  bool connected_ = false;
};

}  // namespace pawl
