// SPDX-License-Identifier: Apache-2.0
#include "net/client/secure.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "core/base/check.h"
#include "proto/text/network.h"

namespace pawl::client {
namespace {

int descriptor_of(BIO* bio) {
  return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
}

int read_socket(BIO* bio, char* into, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t n = ::recv(descriptor_of(bio), into, static_cast<std::size_t>(size), MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
  return static_cast<int>(n);
}

int write_socket(BIO* bio, const char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t n = ::send(descriptor_of(bio), bytes, static_cast<std::size_t>(size),
                           MSG_DONTWAIT | MSG_NOSIGNAL);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
  return static_cast<int>(n);
}

long control_socket(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

BIO* make_bio(int descriptor) {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* const made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "pawl");
    if (made == nullptr) return made;
    BIO_meth_set_read(made, read_socket);
    BIO_meth_set_write(made, write_socket);
    BIO_meth_set_ctrl(made, control_socket);
    return made;
  }();
  BIO* const bio = method != nullptr ? BIO_new(method) : nullptr;
  if (bio == nullptr) return nullptr;
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor)));
  BIO_set_init(bio, 1);
  return bio;
}

}  // namespace

Secure::~Secure() {
  if (ssl_ != nullptr && SSL_is_init_finished(ssl_) == 1) {
    ERR_clear_error();
    SSL_shutdown(ssl_);
    ERR_clear_error();
  }
  SSL_free(ssl_);
  SSL_CTX_free(context_);
}

bool Secure::set_up(int descriptor, const TlsOptions& options) {
  CHECK(context_ == nullptr, "TLS is set up twice");
  context_ = SSL_CTX_new(TLS_client_method());
  if (context_ == nullptr) return false;
  SSL_CTX_set_min_proto_version(context_, TLS1_2_VERSION);
  SSL_CTX_set_mode(context_, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  if (options.verify) {
    SSL_CTX_set_verify(context_, SSL_VERIFY_PEER, nullptr);
    const bool trusts = options.ca_file.empty()
                            ? SSL_CTX_set_default_verify_paths(context_) == 1
                            : SSL_CTX_load_verify_file(context_, options.ca_file.c_str()) == 1;
    if (!trusts) return false;
  }
  ssl_ = SSL_new(context_);
  BIO* const bio = ssl_ != nullptr ? make_bio(descriptor) : nullptr;
  if (bio == nullptr) return false;
  SSL_set_bio(ssl_, bio, bio);
  const std::string offer = static_cast<char>(options.protocol.size()) + options.protocol;
  bool ready = SSL_set_alpn_protos(ssl_, reinterpret_cast<const unsigned char*>(offer.data()),
                                   static_cast<unsigned>(offer.size())) == 0;
  if (is_address(options.host)) {
    ready = ready && X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_), options.host.c_str()) == 1;
  } else {
    ready = ready && SSL_set1_host(ssl_, options.host.c_str()) == 1 &&
            SSL_set_tlsext_host_name(ssl_, options.host.c_str()) == 1;
  }
  SSL_set_connect_state(ssl_);
  return ready;
}

std::unique_ptr<Secure> Secure::begin(int descriptor, const TlsOptions& options) {
  std::unique_ptr<Secure> made(new Secure);
  ERR_clear_error();
  const bool ready = made->set_up(descriptor, options);
  ERR_clear_error();
  return ready ? std::move(made) : nullptr;
}

Handshake Secure::handshake() {
  CHECK(ssl_ != nullptr, "a handshake without begin()");
  ERR_clear_error();
  const int done = SSL_do_handshake(ssl_);
  if (done == 1) return Handshake::done;
  const int error = SSL_get_error(ssl_, done);
  ERR_clear_error();
  if (error == SSL_ERROR_WANT_READ) return Handshake::want_read;
  return error == SSL_ERROR_WANT_WRITE ? Handshake::want_write : Handshake::failed;
}

std::expected<std::size_t, int> Secure::outcome(int done, std::size_t count) {
  if (done == 1) return count;
  const int system = errno;
  switch (SSL_get_error(ssl_, done)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      return 0;
    case SSL_ERROR_ZERO_RETURN:
      return std::unexpected(ECONNRESET);
    case SSL_ERROR_SYSCALL:
      return std::unexpected(system != 0 ? system : ECONNRESET);
    default:
      return std::unexpected(EPROTO);
  }
}

std::expected<std::size_t, int> Secure::write(std::string_view bytes) {
  std::size_t count = 0;
  ERR_clear_error();
  errno = 0;
  const int done = SSL_write_ex(ssl_, bytes.data(), bytes.size(), &count);
  CHECK(count <= bytes.size(), "encrypted {} of {} bytes", count, bytes.size());
  return outcome(done, count);
}

std::expected<std::size_t, int> Secure::read(std::span<char> into) {
  std::size_t count = 0;
  ERR_clear_error();
  errno = 0;
  const int done = SSL_read_ex(ssl_, into.data(), into.size(), &count);
  CHECK(count <= into.size(), "decrypted {} bytes into {}", count, into.size());
  return outcome(done, count);
}

std::size_t Secure::pending() const { return static_cast<std::size_t>(SSL_pending(ssl_)); }

}  // namespace pawl::client
