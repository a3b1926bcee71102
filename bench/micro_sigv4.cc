// SPDX-License-Identifier: Apache-2.0
// Signatures: the cost of an accepted one with a cached key, and of a refused one with derivation.
#include <string>

#include "bench/micro.h"
#include "core/base/check.h"
#include "proto/auth/keys.h"
#include "proto/auth/sigv4.h"
#include "proto/http/parser.h"

namespace pawl::bench {
namespace {

constexpr Instant signed_at{1'767'323'045'000};  // 20260102T030405Z

constexpr std::string_view signed_body = R"({"QueueName":"q1"})";

// A request signed by botocore; the signature is valid for its original key and body only.
std::string request(std::string_view key, std::string_view body) {
  return "POST / HTTP/1.1\r\nHost: 127.0.0.1:9324\r\nX-Amz-Target: AmazonSQS.CreateQueue\r\n"
         "Content-Type: application/x-amz-json-1.0\r\nx-amzn-query-mode: true\r\n"
         "User-Agent: Boto3/1.43.11 md/Botocore#1.43.11 ua/2.1 os/linux md/arch#x86_64\r\n"
         "X-Amz-Date: 20260102T030405Z\r\n"
         "Authorization: AWS4-HMAC-SHA256 "
         "Credential=" +
         std::string(key) +
         "/20260102/us-east-1/sqs/aws4_request, "
         "SignedHeaders=content-type;host;x-amz-date;x-amz-target;x-amzn-query-mode, Signature="
         "3be409cfd28701b3cd9c38b763973042dc0a6dbb0650932d99e72dea78ae031c\r\n"
         "Content-Length: " +
         std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

void verify(benchmark::State& state, const std::string& text, AuthFault want) {
  Keyring keys;
  CHECK(keys.add({"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "111111111111"}) ==
        KeyFault::none);
  HttpParser parser;
  std::size_t taken = 0;
  CHECK(parser.feed(text, taken) == HttpParser::State::complete);
  SignatureVerifier verifier;
  Identity who;
  HttpParser other;  // the cache of an accepted request must not speed up a refusal
  CHECK(other.feed(request("AKIDEXAMPLE", signed_body), taken) == HttpParser::State::complete);
  CHECK(verifier.verify(other.request(), keys, signed_at, who) == AuthFault::none);
  const auto once = [&] { CHECK(verifier.verify(parser.request(), keys, signed_at, who) == want); };
  once();
  Allocations allocations(state);
  for (auto _ : state) once();
  allocations.done(state.iterations());
}

void sigv4_accepted(benchmark::State& state) {
  verify(state, request("AKIDEXAMPLE", signed_body), AuthFault::none);
}
BENCHMARK(sigv4_accepted);

// The cost of hashing a body and of the key derivation, which every refusal performs.
void sigv4_refused(benchmark::State& state) {
  const std::string body(static_cast<std::size_t>(state.range(0)), 'x');
  verify(state, request("AKIDEXAMPLE", body), AuthFault::mismatch);
}
BENCHMARK(sigv4_refused)->Arg(18)->Arg(1024)->Arg(16 << 10);

// Takes as long as a wrong signature, so that timing does not reveal existing keys.
void sigv4_unknown_key(benchmark::State& state) {
  verify(state, request("AKIDUNKNOWN", signed_body), AuthFault::mismatch);
}
BENCHMARK(sigv4_unknown_key);

}  // namespace
}  // namespace pawl::bench
