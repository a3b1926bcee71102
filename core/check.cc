#include "core/check.h"

#include <cstdio>
#include <cstdlib>

#include "core/result.h"

namespace pawl {

void check_failed(const char* file, int line, const char* condition, std::string_view message) {
  std::fprintf(stderr, "%s:%d: CHECK(%s) failed%s%.*s\n", file, line, condition,
               message.empty() ? "" : ": ", static_cast<int>(message.size()), message.data());
  std::fflush(stderr);
  std::abort();
}

std::string_view name_of(Errc code) {
  switch (code) {
    case Errc::ok:
      return "ok";
    case Errc::no_such_queue:
      return "no_such_queue";
    case Errc::queue_exists:
      return "queue_exists";
    case Errc::receipt_invalid:
      return "receipt_invalid";
    case Errc::message_gone:
      return "message_gone";
    case Errc::visibility_beyond_max:
      return "visibility_beyond_max";
    case Errc::over_in_flight:
      return "over_in_flight";
    case Errc::purge_in_progress:
      return "purge_in_progress";
    case Errc::receipt_expired:
      return "receipt_expired";
    case Errc::attempt_not_retryable:
      return "attempt_not_retryable";
    case Errc::queue_deleted_recently:
      return "queue_deleted_recently";
    case Errc::message_numbers_used_up:
      return "message_numbers_used_up";
    case Errc::changed_meanwhile:
      return "changed_meanwhile";
    case Errc::task_running:
      return "task_running";
    case Errc::no_such_task:
      return "no_such_task";
    case Errc::task_ended:
      return "task_ended";
    case Errc::source_unknown:
      return "source_unknown";
    case Errc::not_kept:
      return "not_kept";
    case Errc::too_large:
      return "too_large";
    case Errc::queue_ids_used_up:
      return "queue_ids_used_up";
    case Errc::directory_full:
      return "directory_full";
    case Errc::not_supported:
      return "not_supported";
    case Errc::overloaded:
      return "overloaded";
    case Errc::no_memory:
      return "no_memory";
    case Errc::no_space:
      return "no_space";
    case Errc::not_ready:
      return "not_ready";
    case Errc::io:
      return "io";
    case Errc::corrupt:
      return "corrupt";
    case Errc::version:
      return "version";
    case Errc::invalid:
      return "invalid";
    case Errc::unauthorized:
      return "unauthorized";
  }
  return "unknown";
}

}  // namespace pawl
