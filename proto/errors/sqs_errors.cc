// SPDX-License-Identifier: Apache-2.0
#include "proto/errors/sqs_errors.h"

#include <fmt/core.h>

#include <chrono>

#include "core/base/check.h"
#include "core/base/ids.h"
#include "core/queue/directory.h"

namespace pawl {
namespace {

constexpr SqsFaultInfo sender(std::string_view shape, std::string_view code,
                              std::uint16_t status = 400) {
  return {shape, code, status, true};
}

// The order is that of SqsFault.
constexpr SqsFaultInfo faults[] = {
    {},
    sender("com.amazonaws.sqs#QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue"),
    sender("com.amazonaws.sqs#QueueNameExists", "QueueAlreadyExists"),
    sender("com.amazonaws.sqs#QueueDeletedRecently", "AWS.SimpleQueueService.QueueDeletedRecently"),
    sender("com.amazonaws.sqs#PurgeQueueInProgress", "AWS.SimpleQueueService.PurgeQueueInProgress",
           403),
    sender("com.amazonaws.sqs#OverLimit", "OverLimit", 403),
    // AWS's model has 403, but every SDK retries 429, by its number alone.
    sender("com.amazonaws.sqs#RequestThrottled", "RequestThrottled", 429),
    sender("com.amazonaws.sqs#ReceiptHandleIsInvalid", "ReceiptHandleIsInvalid", 404),
    sender("com.amazonaws.sqs#InvalidMessageContents", "InvalidMessageContents"),
    sender("com.amazonaws.sqs#InvalidAttributeName", "InvalidAttributeName"),
    sender("com.amazonaws.sqs#InvalidAttributeValue", "InvalidAttributeValue"),
    sender("com.amazonaws.sqs#EmptyBatchRequest", "AWS.SimpleQueueService.EmptyBatchRequest"),
    sender("com.amazonaws.sqs#TooManyEntriesInBatchRequest",
           "AWS.SimpleQueueService.TooManyEntriesInBatchRequest"),
    sender("com.amazonaws.sqs#BatchEntryIdsNotDistinct",
           "AWS.SimpleQueueService.BatchEntryIdsNotDistinct"),
    sender("com.amazonaws.sqs#InvalidBatchEntryId", "AWS.SimpleQueueService.InvalidBatchEntryId"),
    sender("com.amazonaws.sqs#BatchRequestTooLong", "AWS.SimpleQueueService.BatchRequestTooLong"),
    sender("com.amazonaws.sqs#UnsupportedOperation", "AWS.SimpleQueueService.UnsupportedOperation"),
    sender("com.amazon.coral.service#InvalidParameterValueException", "InvalidParameterValue"),
    sender("com.amazon.coral.service#MissingRequiredParameterException", "MissingParameter"),
    sender("com.amazon.coral.service#AccessDeniedException", "AccessDenied", 403),
    sender("com.amazon.coral.service#UnknownOperationException", "InvalidAction"),
    sender("com.amazon.coral.service#MissingAction", "MissingAction"),
    sender("com.amazon.coral.service#InvalidQueryParameter", "InvalidQueryParameter"),
    sender("com.amazon.coral.service#SerializationException", "SerializationException"),
    sender("com.amazonaws.sqs#ResourceNotFoundException", "ResourceNotFoundException", 404),
    sender("com.amazon.coral.service#MissingAuthenticationTokenException",
           "MissingAuthenticationToken", 403),
    sender("com.amazon.coral.service#IncompleteSignatureException", "IncompleteSignature"),
    sender("com.amazon.coral.service#InvalidSignatureException", "SignatureDoesNotMatch", 403),
    sender("com.amazon.coral.service#RequestEntityTooLargeException", "RequestEntityTooLarge", 413),
    sender("com.amazon.coral.service#UnsupportedMediaTypeException", "UnsupportedMediaType", 415),
    sender("com.amazonaws.sqs#PawlMessageInFlight", "PawlMessageInFlight"),
    {"com.amazon.coral.service#InternalFailure", "InternalFailure", 500, false},
};
static_assert(std::size(faults) == static_cast<std::size_t>(SqsFault::internal_failure) + 1);

}  // namespace

const SqsFaultInfo& info(SqsFault fault) {
  const auto index = static_cast<std::size_t>(fault);
  CHECK(index < std::size(faults), "SqsFault {}", index);
  return faults[index];
}

void Refusal::clear() {
  fault = SqsFault::none;
  text.clear();
  retry_ms = 0;
}

void refuse(Refusal& refusal, Errc code, const ErrcSubjects& about) {
  CHECK(code != Errc::ok);
  const ErrorRow& row = row_of(code);
  refusal.clear();
  refusal.fault = row.fault;
  refusal.retry_ms = row.sqs_retry_ms;
  refusal.text += fmt::format(
      fmt::runtime(row.text), fmt::arg("queue", about.queue),
      fmt::arg("attribute", about.attribute), fmt::arg("receipt", shown(about.receipt)),
      fmt::arg("visibility", shown(about.visibility)),
      fmt::arg("visibility_max", about.visibility_max_s),
      fmt::arg("in_flight_advice", about.in_flight_advice),
      fmt::arg("attempt", shown(about.attempt)),
      fmt::arg("message_size_max", about.message_size_max),
      fmt::arg("queue_ids_max", queue_ids_max), fmt::arg("seq_newest_max", seq_newest_max),
      fmt::arg("queues_max", Directory::queues_max),
      fmt::arg("directory_mib", Directory::bytes_max >> 20));
}

namespace {

// "20260101T000000Z".
std::string aws_date(Instant at) {
  const std::chrono::sys_time<std::chrono::milliseconds> time{std::chrono::milliseconds(at.ms)};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(std::chrono::floor<std::chrono::seconds>(time - day));
  return fmt::format("{:04}{:02}{:02}T{:02}{:02}{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

std::string amount_of(Duration valid) {
  const std::int64_t seconds = valid.ms / 1000;
  return seconds % 60 == 0 ? fmt::format("{} min.", seconds / 60) : fmt::format("{} sec.", seconds);
}

}  // namespace

void refuse(Refusal& refusal, AuthFault fault, const SignatureTime& time) {
  using F = SqsFault;
  struct Row {
    F fault;
    std::string_view text;
  };
  // The order is that of AuthFault.
  static constexpr Row rows[] = {
      {},
      {F::missing_token, "The request must be signed with an access key."},
      {F::incomplete_signature, "The request is signed more than once."},
      {F::invalid_query_parameter,
       "The query string has a parameter twice, an escape that is none, or too many parameters."},
      {F::incomplete_signature,
       "The signature must be AWS4-HMAC-SHA256 with Credential, SignedHeaders and Signature, each "
       "once."},
      {F::incomplete_signature,
       "The Credential must be <access key id>/<yyyymmdd>/<region>/sqs/aws4_request."},
      {F::incomplete_signature,
       "The request must have one X-Amz-Date, as yyyymmddThhmmssZ, on the day of its Credential."},
      {F::incomplete_signature, "X-Amz-Expires must be 1 to 604800 seconds."},
      {F::incomplete_signature,
       "SignedHeaders must be names in lower case, in order, each of a header that the request has "
       "once."},
      {F::signature_does_not_match,
       "'Host' and every 'X-Amz-' header of the request must be a 'SignedHeader' in the AWS "
       "Authorization."},
      // SDKs read these words, correct their clock by our Date and retry.
      {F::signature_does_not_match,
       "Signature expired: {signed_at} is now earlier than {earliest} ({now} - {valid})."},
      {F::signature_does_not_match,
       "Signature not yet current: {signed_at} is still later than {latest} ({now} + {valid})."},
      {F::signature_does_not_match, "X-Amz-Content-Sha256 is not the SHA-256 of the body."},
      // An unknown key gets this text too: guessing must not reveal which keys exist.
      {F::signature_does_not_match,
       "The request signature we calculated does not match the signature you provided. Check your "
       "AWS Secret Access Key and signing method. Consult the service documentation for details."},
  };
  static_assert(std::size(rows) == static_cast<std::size_t>(AuthFault::mismatch) + 1);
  const auto index = static_cast<std::size_t>(fault);
  CHECK(fault != AuthFault::none, "a refusal without a reason");
  CHECK(index < std::size(rows), "AuthFault {}", index);
  const Row& row = rows[index];
  refusal.because(row.fault, fmt::runtime(row.text),
                  fmt::arg("signed_at", aws_date(time.signed_at)),
                  fmt::arg("earliest", aws_date(time.now - time.valid)),
                  fmt::arg("latest", aws_date(time.now + time.valid)),
                  fmt::arg("now", aws_date(time.now)), fmt::arg("valid", amount_of(time.valid)));
}

std::string_view shown(std::string_view given) {
  constexpr std::size_t shown_max = 1024;
  if (given.size() <= shown_max) return given;
  std::size_t end = shown_max;
  // The cut never splits a UTF-8 character.
  while (end > 0 && (static_cast<unsigned char>(given[end]) & 0xC0) == 0x80) --end;
  return given.substr(0, end);
}

}  // namespace pawl
