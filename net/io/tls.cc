// SPDX-License-Identifier: Apache-2.0
#include "net/io/tls.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <malloc.h>
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "core/base/check.h"

namespace pawl {

// The BIO between OpenSSL and the buffers of a Tls: it copies only the bytes that OpenSSL asks for.
struct TlsBio {
  static Tls& of(BIO* bio) { return *static_cast<Tls*>(BIO_get_data(bio)); }

  static int read(BIO* bio, char* into, int size) {
    Tls& tls = of(bio);
    BIO_clear_retry_flags(bio);
    if (tls.received_.empty()) {
      BIO_set_retry_read(bio);
      return -1;
    }
    const std::size_t count = std::min(tls.received_.size(), static_cast<std::size_t>(size));
    std::memcpy(into, tls.received_.data(), count);
    tls.received_.remove_prefix(count);
    return static_cast<int>(count);
  }

  static int write(BIO* bio, const char* bytes, int size) {
    BIO_clear_retry_flags(bio);
    of(bio).out_.append(bytes, static_cast<std::size_t>(size));
    return size;
  }

  static long control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

  static BIO_METHOD* method() {
    static BIO_METHOD* const made = [] {
      BIO_METHOD* const m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "pawl");
      CHECK(m != nullptr, "OpenSSL: no memory");
      BIO_meth_set_read(m, read);
      BIO_meth_set_write(m, write);
      BIO_meth_set_ctrl(m, control);
      return m;
    }();
    return made;
  }
};

namespace {

// The bytes of the connection that OpenSSL works for on this thread; null: its allocations are for
// all connections.
thread_local std::int64_t* charged = nullptr;

// While it lives, allocations count in `held`; then the change counts in the account.
class Charge {
 public:
  Charge(std::int64_t& held, std::int64_t* account)
      : held_(held), before_(held), account_(account) {
    charged = &held;
  }
  ~Charge() {
    charged = nullptr;
    if (account_ != nullptr) *account_ += held_ - before_;
  }
  Charge(const Charge&) = delete;
  Charge& operator=(const Charge&) = delete;

 private:
  const std::int64_t& held_;
  const std::int64_t before_;
  std::int64_t* const account_;
};

void charge(std::int64_t bytes) {
  if (charged != nullptr) *charged += bytes;
}

std::int64_t bytes_of(void* memory) {
  return static_cast<std::int64_t>(malloc_usable_size(memory));
}

// The allocation functions of OpenSSL.
void* allocate(std::size_t size, const char*, int) {
  void* const memory = size == 0 ? nullptr : std::malloc(size);
  charge(bytes_of(memory));
  return memory;
}

void release(void* memory, const char*, int) {
  charge(-bytes_of(memory));
  std::free(memory);
}

void* reallocate(void* memory, std::size_t size, const char* file, int line) {
  if (size == 0) {
    release(memory, file, line);
    return nullptr;
  }
  const std::int64_t before = bytes_of(memory);
  void* const moved = std::realloc(memory, size);
  if (moved != nullptr) charge(bytes_of(moved) - before);
  return moved;
}

// This must run before OpenSSL's first allocation; later OpenSSL refuses it.
const bool counted = CRYPTO_set_mem_functions(allocate, reallocate, release) == 1;

constexpr std::size_t key_file_max = 64 << 10;

using Fault = std::unexpected<std::string>;

std::string openssl_reason() {
  const char* const reason = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return reason != nullptr ? reason : "unknown reason";
}

// The key's bytes, read from the same open file whose permissions were checked; wiped on
// destruction.
struct KeyBytes {
  std::string text;
  ~KeyBytes() { OPENSSL_cleanse(text.data(), text.size()); }
};

std::string unreadable_key(const std::string& path, std::string_view why) {
  return fmt::format("--tls-key {}: {}. Name a private key in PEM form that user {} can read.",
                     path, why, geteuid());
}

std::expected<void, std::string> read_key_file(const std::string& path, KeyBytes& key) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Fault(unreadable_key(path, std::strerror(errno)));
  struct stat info{};
  ssize_t count = -1;
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
    key.text.resize(key_file_max);
    count = ::read(fd, key.text.data(), key.text.size());
  }
  ::close(fd);
  if (count < 0) return Fault(unreadable_key(path, "not a readable file"));
  key.text.resize(static_cast<std::size_t>(count));
  if ((info.st_mode & S_IRWXO) != 0) {
    return Fault(
        fmt::format("--tls-key {}: every user of this machine can open it (mode {:04o}). Restrict "
                    "it with: chmod o= {}",
                    path, info.st_mode & 07777, path));
  }
  return {};
}

// Never asks for a passphrase: a server is started by scripts.
int no_passphrase(char*, int, int, void*) { return -1; }

std::expected<void, std::string> use_key(SSL_CTX* context, const std::string& path) {
  KeyBytes bytes;
  if (auto read = read_key_file(path, bytes); !read) return read;
  const std::unique_ptr<BIO, decltype(&BIO_free)> memory(
      BIO_new_mem_buf(bytes.text.data(), static_cast<int>(bytes.text.size())), BIO_free);
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      PEM_read_bio_PrivateKey(memory.get(), nullptr, no_passphrase, nullptr), EVP_PKEY_free);
  if (key == nullptr) {
    return Fault(
        fmt::format("--tls-key {}: it has no private key in PEM form without a passphrase ({}). "
                    "Remove a passphrase with: openssl pkey -in {} -out NEW",
                    path, openssl_reason(), path));
  }
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1) {
    return Fault(fmt::format(
        "--tls-key {}: it is not the key of the certificate ({}). Name the key that the "
        "certificate was made with.",
        path, openssl_reason()));
  }
  return {};
}

// A client that offers protocols must offer ours (RFC 7301); a client that offers none is accepted.
int choose_protocol(SSL* ssl, const unsigned char** chosen, unsigned char* size,
                    const unsigned char* offered, unsigned offered_size, void*) {
  const auto& tls = *static_cast<const Tls*>(SSL_get_app_data(ssl));
  for (unsigned at = 0; at < offered_size; at += 1u + offered[at]) {
    const std::string_view one(reinterpret_cast<const char*>(offered + at + 1), offered[at]);
    if (one != tls.protocol()) continue;
    *chosen = offered + at + 1;
    *size = offered[at];
    return SSL_TLSEXT_ERR_OK;
  }
  return SSL_TLSEXT_ERR_ALERT_FATAL;
}

void set_up(SSL_CTX* context) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(
      context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  // TLS 1.2 only with forward secrecy and AEAD; all ciphers of 1.3 have both.
  CHECK(SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1, "OpenSSL: ciphers");
  // An idle connection holds no record buffers, which saves 34 KiB each.
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);  // tickets keep no state here
  SSL_CTX_set_num_tickets(context, 1);
  SSL_CTX_set_alpn_select_cb(context, choose_protocol, nullptr);
}

}  // namespace

std::int64_t TlsContext::not_after_s() const {
  const X509* const certificate = SSL_CTX_get0_certificate(context_);
  CHECK(certificate != nullptr, "a context without a certificate");
  std::tm end{};
  CHECK(ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &end) == 1,
        "a certificate without an end");
  return timegm(&end);
}

std::expected<std::shared_ptr<const TlsContext>, std::string> TlsContext::load(
    const std::string& certificate, const std::string& key) {
  ERR_clear_error();
  CHECK(counted, "OpenSSL has allocated memory before it could be counted");
  SSL_CTX* const context = SSL_CTX_new(TLS_server_method());
  CHECK(context != nullptr, "OpenSSL: {}", openssl_reason());
  std::shared_ptr<const TlsContext> made(new TlsContext(context));
  set_up(context);
  if (::access(certificate.c_str(), R_OK) != 0)
    return Fault(fmt::format(
        "--tls-cert {}: {}. Name a certificate chain in PEM form that user {} can read.",
        certificate, std::strerror(errno), geteuid()));
  if (SSL_CTX_use_certificate_chain_file(context, certificate.c_str()) != 1) {
    return Fault(fmt::format(
        "--tls-cert {}: it has no certificate in PEM form ({}). Name one; for tests, create it "
        "with: openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -keyout KEY -out CERT",
        certificate, openssl_reason()));
  }
  if (auto used = use_key(context, key); !used) return Fault(used.error());
  return made;
}

TlsContext::~TlsContext() { SSL_CTX_free(context_); }

Tls::Tls(const TlsContext& context, std::string_view protocol, std::int64_t& account)
    : account_(&account), protocol_(protocol) {
  const Charge scope(held_, account_);
  ssl_ = SSL_new(context.context_);
  BIO* const bio = BIO_new(TlsBio::method());
  CHECK(ssl_ != nullptr && bio != nullptr, "OpenSSL: {}", openssl_reason());
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_, bio, bio);  // ssl_ owns the BIO from here on
  SSL_set_app_data(ssl_, this);
  SSL_set_accept_state(ssl_);
}

Tls::~Tls() {
  const Charge scope(held_, account_);
  SSL_free(ssl_);
}

void Tls::charge_to(std::int64_t* account) {
  if (account_ != nullptr) *account_ -= held_;
  account_ = account;
  if (account_ != nullptr) *account_ += held_;
}

Tls::Read Tls::read(std::span<char> into, std::size_t& count) {
  const Charge scope(held_, account_);
  ERR_clear_error();  // drops errors of other connections on this thread
  count = 0;
  const int done = SSL_read_ex(ssl_, into.data(), into.size(), &count);
  CHECK(count <= into.size(), "decrypted {} bytes into {}", count, into.size());
  established_ = SSL_is_init_finished(ssl_) == 1;
  if (done == 1) return Read::data;
  switch (SSL_get_error(ssl_, done)) {
    case SSL_ERROR_WANT_READ:
      return Read::want_more;
    case SSL_ERROR_ZERO_RETURN:
      return Read::closed;
    default:
      closed_ = true;
      ERR_clear_error();
      return Read::failed;
  }
}

std::size_t Tls::write(std::string_view plain) {
  if (closed_ || !established_) return 0;
  plain = plain.substr(0, seal_bytes_max);
  if (plain.empty()) return 0;
  const Charge scope(held_, account_);
  ERR_clear_error();
  out_.reserve(out_.size() + plain.size() + plain.size() / 256 + 512);  // a record adds about 22
  std::size_t written = 0;
  if (SSL_write_ex(ssl_, plain.data(), plain.size(), &written) == 1) {
    CHECK(written <= plain.size(), "encrypted {} of {} bytes", written, plain.size());
    return written;
  }
  closed_ = true;
  ERR_clear_error();
  return 0;
}

void Tls::close() {
  if (closed_) return;
  closed_ = true;
  if (!established_) return;
  const Charge scope(held_, account_);
  ERR_clear_error();
  SSL_shutdown(ssl_);
  ERR_clear_error();
}

}  // namespace pawl
