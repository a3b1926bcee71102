#include "proto/sqs_errors.h"

#include "core/check.h"
#include "core/directory.h"
#include "core/ids.h"
#include "proto/sigv4.h"

namespace pawl {
namespace {

constexpr SqsFaultInfo sender(std::string_view shape, std::string_view code,
                              std::uint16_t status = 400) {
  return {shape, code, status, true};
}

// In the order of SqsFault.
constexpr SqsFaultInfo faults[] = {
    {},
    sender("com.amazonaws.sqs#QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue"),
    sender("com.amazonaws.sqs#QueueNameExists", "QueueAlreadyExists"),
    sender("com.amazonaws.sqs#QueueDeletedRecently", "AWS.SimpleQueueService.QueueDeletedRecently"),
    sender("com.amazonaws.sqs#PurgeQueueInProgress", "AWS.SimpleQueueService.PurgeQueueInProgress",
           403),
    sender("com.amazonaws.sqs#OverLimit", "OverLimit", 403),
    // AWS's model says 403; 429 is retried by every SDK, and by its number alone.
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
    // SDKs know it for a wrong clock, correct theirs by our Date and try again.
    sender("com.amazon.coral.service#RequestExpired", "RequestExpired"),
    sender("com.amazon.coral.service#RequestEntityTooLargeException", "RequestEntityTooLarge", 413),
    sender("com.amazon.coral.service#UnsupportedMediaTypeException", "UnsupportedMediaType", 415),
    {"com.amazon.coral.service#InternalFailure", "InternalFailure", 500, false},
};
static_assert(std::size(faults) == static_cast<std::size_t>(SqsFault::internal_failure) + 1);

void throttle(Refusal& refusal, std::uint32_t retry_ms, const char* text) {
  refusal.because(SqsFault::request_throttled, "{}", text);
  refusal.retry_ms = retry_ms;
}

}  // namespace

const SqsFaultInfo& info(SqsFault fault) { return faults[static_cast<std::size_t>(fault)]; }

void Refusal::clear() {
  fault = SqsFault::none;
  text.clear();
  retry_ms = 0;
}

void refuse(Refusal& refusal, Errc code, const ErrcSubjects& about) {
  using F = SqsFault;
  switch (code) {
    case Errc::ok:
      break;
    case Errc::no_such_queue:
      refusal.because(F::queue_does_not_exist, "The specified queue does not exist.");
      return;
    case Errc::queue_exists:
      refusal.because(F::queue_name_exists,
                      "A queue already exists with the same name and a different value for "
                      "attribute {}",
                      about.attribute);
      return;
    case Errc::receipt_invalid:
      refusal.because(F::receipt_handle_is_invalid,
                      "The input receipt handle \"{}\" is not a valid receipt handle.",
                      shown(about.receipt));
      return;
    case Errc::message_gone:
      refusal.because(F::invalid_parameter_value,
                      "Value {} for parameter ReceiptHandle is invalid. Reason: Message does not "
                      "exist or is not available for visibility timeout change.",
                      shown(about.receipt));
      return;
    case Errc::visibility_beyond_max:
      refusal.because(F::invalid_parameter_value,
                      "Value {} for parameter VisibilityTimeout is invalid. Reason: Total "
                      "VisibilityTimeout for the message is beyond the limit [43200 seconds]",
                      shown(about.visibility));
      return;
    case Errc::over_in_flight:
      refusal.because(F::over_limit,
                      "Too many messages of the queue {} are in flight. Delete some, or wait until "
                      "their visibility timeouts end.",
                      about.queue);
      return;
    case Errc::queue_deleted_recently:
      refusal.because(F::queue_deleted_recently,
                      "You must wait 60 seconds after deleting a queue before you can create "
                      "another with the same name.");
      return;
    case Errc::purge_in_progress:
      refusal.because(F::purge_queue_in_progress,
                      "Only one PurgeQueue operation on {} is allowed every 60 seconds.",
                      about.queue);
      return;
    case Errc::receipt_expired:
      refusal.because(F::invalid_parameter_value,
                      "Value {} for parameter ReceiptHandle is invalid. Reason: The receipt handle "
                      "has expired.",
                      shown(about.receipt));
      return;
    case Errc::attempt_not_retryable:
      refusal.because(F::invalid_parameter_value,
                      "Value {} for parameter ReceiveRequestAttemptId is invalid. Reason: The "
                      "receiveRequestAttemptId is not valid anymore since the receive call is not "
                      "retryable.",
                      shown(about.attempt));
      return;
    case Errc::changed_meanwhile:
      return throttle(refusal, 100, "The queue was changed by others meanwhile. Retry.");
    case Errc::task_running:
      refusal.because(F::invalid_parameter_value,
                      "There is already a task running. Only one active task is allowed for a "
                      "source queue arn at a given time.");
      return;
    case Errc::no_such_task:
      refusal.because(F::resource_not_found, "Task does not exist.");
      return;
    case Errc::task_ended:
      refusal.because(F::invalid_parameter_value,
                      "Value for parameter TaskHandle is invalid. Reason: The task is not running "
                      "any more.");
      return;
    case Errc::source_unknown:
      refusal.because(F::invalid_parameter_value,
                      "The message does not say which queue it was dead-lettered from.");
      return;
    case Errc::not_kept:
      refusal.because(F::invalid_parameter_value,
                      "Nothing that was sent to the queue is kept: its x-replay-retention is 0.");
      return;
    case Errc::too_large:
      refusal.because(F::invalid_parameter_value,
                      "One or more parameters are invalid. Reason: Message must be shorter than {} "
                      "bytes.",
                      about.message_size_max);
      return;
    case Errc::queue_ids_used_up:
      refusal.because(F::unsupported_operation,
                      "All {} queue ids of this data directory were used: no more queues can be "
                      "created in it. Move to a new data directory.",
                      queue_ids_max);
      return;
    case Errc::message_numbers_used_up:
      refusal.because(F::unsupported_operation,
                      "All {} message numbers of the queue {} were used: it takes no more "
                      "messages. Receive what is left in it, and send to a new queue.",
                      seq_newest_max, about.queue);
      return;
    case Errc::directory_full:
      refusal.because(F::over_limit,
                      "There is no room for it: {} queues and topics may be there, those of one "
                      "account up to its limit (--max-queues-per-account), and {} MiB of their "
                      "names, attributes, tags and subscriptions. Delete queues that are not used.",
                      Directory::queues_max, Directory::bytes_max >> 20);
      return;
    case Errc::not_supported:
      refusal.because(F::unsupported_operation, "This version of pawl does not do this.");
      return;
    case Errc::overloaded:
      return throttle(refusal, 200,
                      "A table of the broker is full. Send fewer requests at a time, and retry.");
    case Errc::no_memory:
      return throttle(refusal, 1000,
                      "The memory for message bodies is used up. Receive and delete messages, or "
                      "give the broker more memory, and retry.");
    case Errc::no_space:
      return throttle(refusal, 5000,
                      "The broker's disk is full. Receive and delete messages, or make room on the "
                      "disk, and retry.");
    case Errc::not_ready:
      return throttle(refusal, 1000, "The broker is starting or stopping. Retry in a moment.");
    case Errc::io:
      refusal.because(F::internal_failure, "The broker's disk failed; its log says more.");
      return;
    case Errc::corrupt:
      refusal.because(F::internal_failure, "Stored data is damaged; the broker's log says more.");
      return;
    case Errc::version:
      refusal.because(F::internal_failure, "Stored data was written by a newer version of pawl.");
      return;
    case Errc::invalid:
      refusal.because(F::invalid_parameter_value, "One or more parameters are invalid.");
      return;
    case Errc::unauthorized:
      refusal.because(F::access_denied, "Access to the resource {} is denied.", about.queue);
      return;
  }
  CHECK(false, "not an error: {}", static_cast<int>(code));
}

void refuse(Refusal& refusal, AuthFault fault) {
  using F = SqsFault;
  struct Row {
    F fault;
    std::string_view text;
  };
  // In the order of AuthFault.
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
      {F::request_expired, "Signature expired: the server's clock is past what it is valid for."},
      {F::request_expired,
       "Signature not yet current: it is more than 15 minutes ahead of the server's clock."},
      {F::signature_does_not_match, "X-Amz-Content-Sha256 is not the SHA-256 of the body."},
      // For an unknown key as well: who guesses must not learn which of the two it was.
      {F::signature_does_not_match,
       "The request signature we calculated does not match the signature you provided. Check your "
       "AWS Secret Access Key and signing method. Consult the service documentation for details."},
  };
  static_assert(std::size(rows) == static_cast<std::size_t>(AuthFault::mismatch) + 1);
  const Row& row = rows[static_cast<std::size_t>(fault)];
  refusal.because(row.fault, "{}", row.text);
}

std::string_view shown(std::string_view given) {
  constexpr std::size_t shown_max = 1024;
  if (given.size() <= shown_max) return given;
  std::size_t end = shown_max;
  while (end > 0 && (static_cast<unsigned char>(given[end]) & 0xC0) == 0x80) --end;  // whole UTF-8
  return given.substr(0, end);
}

}  // namespace pawl
