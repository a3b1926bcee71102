// SPDX-License-Identifier: Apache-2.0
#include "tests/net/tls_peer.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "core/base/check.h"

namespace pawl {

CertificateFiles make_certificate(const std::string& directory, const std::string& name) {
  const CertificateFiles files{directory + "/" + name + ".pem", directory + "/" + name + ".key"};
  EVP_PKEY* const key = EVP_EC_gen("P-256");
  X509* const made = X509_new();
  X509_set_version(made, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(made), 1);
  X509_gmtime_adj(X509_getm_notBefore(made), -3600);
  X509_gmtime_adj(X509_getm_notAfter(made), 86400);
  X509_set_pubkey(made, key);
  X509_NAME* const subject = X509_get_subject_name(made);
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509_set_issuer_name(made, subject);
  X509_EXTENSION* const reached_as =
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "IP:127.0.0.1");
  CHECK(reached_as != nullptr && X509_add_ext(made, reached_as, -1) == 1);
  X509_EXTENSION_free(reached_as);
  CHECK(X509_sign(made, key, EVP_sha256()) > 0);
  std::FILE* file = std::fopen(files.certificate.c_str(), "w");
  CHECK(file != nullptr && PEM_write_X509(file, made) == 1);
  std::fclose(file);
  file = std::fopen(files.key.c_str(), "w");
  CHECK(file != nullptr &&
        PEM_write_PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr) == 1);
  std::fclose(file);
  CHECK(chmod(files.key.c_str(), 0600) == 0);
  X509_free(made);
  EVP_PKEY_free(key);
  return files;
}

TlsPeer::TlsPeer(int fd, const Options& options)
    : fd_(fd), context_(SSL_CTX_new(TLS_client_method())), ssl_(nullptr) {
  SSL_CTX_set_security_level(context_.get(), 0);  // the server itself must refuse old versions
  SSL_CTX_set_max_proto_version(context_.get(), options.version_max);
  SSL_CTX_set_min_proto_version(context_.get(), options.version_min);
  if (!options.protocols.empty()) {
    SSL_CTX_set_alpn_protos(context_.get(),
                            reinterpret_cast<const unsigned char*>(options.protocols.data()),
                            static_cast<unsigned>(options.protocols.size()));
  }
  ssl_.reset(SSL_new(context_.get()));
  SSL_set_fd(ssl_.get(), fd_);
  connected_ = SSL_connect(ssl_.get()) == 1;
}

TlsPeer::~TlsPeer() {
  ssl_.reset();
  ::close(fd_);
}

std::string TlsPeer::protocol() const {
  const unsigned char* chosen = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(ssl_.get(), &chosen, &size);
  return {reinterpret_cast<const char*>(chosen), size};
}

std::string TlsPeer::name() const {
  X509* const certificate = SSL_get1_peer_certificate(ssl_.get());
  char text[64] = "";
  if (certificate != nullptr) {
    X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, text,
                              sizeof text);
  }
  X509_free(certificate);
  return text;
}

bool TlsPeer::send(const std::string& bytes) {
  std::size_t sent = 0;
  return SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &sent) == 1;
}

long TlsPeer::read(char* into, std::size_t size) {
  std::size_t count = 0;
  if (SSL_read_ex(ssl_.get(), into, size, &count) == 1) return static_cast<long>(count);
  return SSL_get_error(ssl_.get(), 0) == SSL_ERROR_ZERO_RETURN ? 0 : -1;
}

}  // namespace pawl
