// SPDX-License-Identifier: Apache-2.0
// SQS in AWS's Query protocol, with any form: as a body or as the query of a GET.
//
// Input: one byte for the broker's response (sqs_harness.h), whose top bit selects GET; the form.
#include <cstdint>
#include <string_view>

#include "tests/fuzz/sqs_harness.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const pawl::fuzz::Body form({reinterpret_cast<const char*>(data) + 1, size - 1});
  pawl::HttpHeader headers[] = {
      {"Host",         "h:1"                              },
      {"Content-Type", "application/x-www-form-urlencoded"},
  };
  const bool get = (data[0] & 0x80) != 0;
  pawl::HttpRequest request;
  request.method = get ? "GET" : "POST";
  // Actions on move tasks are invalid on a queue's own path.
  request.target = request.path = form.view().contains("MoveTask") ? "/" : "/000000000000/q";
  (get ? request.query : request.body) = form.view();
  request.set_headers(headers);
  pawl::fuzz::serve(request, data[0] & 0x7f);
  return 0;
}
