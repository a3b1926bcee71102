// SPDX-License-Identifier: Apache-2.0
#include "net/sqs_client/curl_stream.h"

#include <array>
#include <utility>

#include "core/base/check.h"
#include "net/sqs_client/curl_library.h"
#include "proto/text/text.h"

namespace pawl::sqs_client {
namespace {

constexpr std::size_t curl_read_bytes = 64 << 10;

class CurlStream : public Stream {
 public:
  explicit CurlStream(const CurlLibrary& library) : library_(library), curl_(library.easy_init()) {}
  CurlStream(const CurlStream&) = delete;
  CurlStream& operator=(const CurlStream&) = delete;
  ~CurlStream() override {
    if (curl_ != nullptr) library_.easy_cleanup(curl_);
  }

  CurlCode connect(const Endpoint& endpoint, const StreamOptions& options);
  // The reason of a failure, for people.
  std::string reason_of(CurlCode code) const {
    std::string reason = error_[0] != 0 ? error_.data() : library_.easy_strerror(code);
    while (reason.ends_with('.') || reason.ends_with('\n')) reason.pop_back();
    make_printable(reason);
    return reason;
  }

  Count send(std::string_view bytes) override {
    std::size_t sent = 0;
    error_[0] = 0;
    const CurlCode code = library_.easy_send(curl_, bytes.data(), bytes.size(), &sent);
    CHECK(sent <= bytes.size(), "libcurl sent {} of {} bytes", sent, bytes.size());
    if (code == CurlCode::again) return 0;
    if (code != CurlCode::ok) return std::unexpected(reason_of(code));
    return sent;
  }

  Count receive(std::string& into) override {
    const std::size_t before = into.size();
    std::size_t got = 0;
    error_[0] = 0;
    into.resize(before + curl_read_bytes);
    const CurlCode code = library_.easy_recv(curl_, into.data() + before, curl_read_bytes, &got);
    CHECK(got <= curl_read_bytes, "libcurl received {} bytes", got);
    into.resize(before + (code == CurlCode::ok ? got : 0));
    if (code == CurlCode::again) return 0;
    if (code != CurlCode::ok) return std::unexpected(reason_of(code));
    if (got == 0) return std::unexpected("end of the stream");
    return got;
  }

  int descriptor() const override { return descriptor_; }

 private:
  CurlLibrary library_;
  void* curl_;
  int descriptor_ = -1;
  std::array<char, curl_error_bytes> error_{};
};

CurlCode CurlStream::connect(const Endpoint& endpoint, const StreamOptions& options) {
  if (curl_ == nullptr) return CurlCode::out_of_memory;
  CurlCode code = CurlCode::ok;
  const auto set = [&](CurlOption option, auto value) {
    if (code == CurlCode::ok) code = library_.easy_setopt(curl_, option, value);
  };
  const std::string url = url_of(endpoint) + "/";
  set(CurlOption::error_buffer, error_.data());
  set(CurlOption::url, url.c_str());  // copied by libcurl
  set(CurlOption::connect_only, 1L);
  set(CurlOption::connect_timeout_ms, static_cast<long>(options.connect_timeout.count()));
  set(CurlOption::http_version, curl_http_1_1);
  set(CurlOption::ssl_version, curl_tls_1_2);
  if (!options.ca_file.empty()) set(CurlOption::ca_file, options.ca_file.c_str());
  if (code == CurlCode::ok) code = library_.easy_perform(curl_);
  if (code == CurlCode::ok)
    code = library_.easy_getinfo(curl_, curl_info_active_socket, &descriptor_);
  return code;
}

CallError untrusted_error(const Endpoint& endpoint, const std::string& reason) {
  return {.kind = ErrorKind::untrusted,
          .text = "no TLS connection to " + url_of(endpoint) + ": " + reason +
                  ". Does the port speak TLS, and is its certificate for this host, from a CA of "
                  "this system or of the CA file (AWS_CA_BUNDLE names one)?"};
}

}  // namespace

OpenedStream open_curl_stream(const Endpoint& endpoint, const StreamOptions& options) {
  CHECK(endpoint.tls, "TLS to {}", url_of(endpoint));
  const auto library = CurlLibrary::load(options.libcurls);
  if (!library)
    return std::unexpected(
        CallError{.kind = ErrorKind::no_library,
                  .text = "cannot call " + url_of(endpoint) + ": " + library.error()});
  auto stream = std::make_unique<CurlStream>(*library);
  const CurlCode code = stream->connect(endpoint, options);
  switch (code) {
    case CurlCode::ok:
      CHECK(stream->descriptor() >= 0, "libcurl is connected without a socket");
      return stream;
    case CurlCode::ssl_connect_error:
    case CurlCode::peer_failed_verification:
    case CurlCode::bad_ca_file:
      return std::unexpected(untrusted_error(endpoint, stream->reason_of(code)));
    default:
      return std::unexpected(unreachable_error(endpoint, stream->reason_of(code)));
  }
}

}  // namespace pawl::sqs_client
