// SPDX-License-Identifier: Apache-2.0
// Seeded mistakes: the simulator proves that it would notice by breaking the code on purpose.
//
// MUTANT(name) is a constant false everywhere but in the simulator's own build of the libraries
// (PAWL_MUTANTS), where a test selects one mistake.
#pragma once

#ifdef PAWL_MUTANTS

#include <cstdint>

namespace pawl {

enum class Mutant : std::uint8_t {
  none,
  ack_before_flush,          // a response that waits for the log is sent at once
  skip_checksum,             // recovery accepts a frame without checking its hash
  forget_directory_sync,     // a new segment's name is not made durable
  fire_timer_twice,          // a stale timer entry is taken for a live one
  lose_wakeup,               // a message that comes back does not wake a long poll
  durable_not_contiguous,    // the newest finished write counts despite unfinished earlier ones
  ignore_epoch,              // recovery accepts frames of an older epoch behind the tail
  forget_delete_record,      // a delete is not logged
  deliver_before_durable,    // a message is delivered before its record is on disk
  lose_receive_count,        // a delivery does not count
  reuse_segment_early,       // a segment with live messages is reused
  forget_head,               // sequence numbers restart when old segments are freed
  forget_purge_record,       // a purge is not logged
  forget_config_record,      // a new queue is not logged
  forget_deletion,           // recovery forgets the names that wait after a delete
  ignore_old_handle,         // the latest handle alone changes the visibility
  count_undelivered,         // an undelivered message's receive counts
  leak_in_flight,            // the in-flight count never decreases
  forget_retention,          // messages never expire
  fire_too_soon,             // a millisecond early
  drop_when_full,            // items that do not fit into a mesh ring are lost
  sleep_blindly,             // a shard goes to sleep without a second look
  tell_nobody,               // a new queue is announced before the other shards know it
  reclaim_before_durable,    // segments are freed before the deletes that emptied them are on disk
  keep_epoch,                // recovery goes on in the epoch it found
  ignore_write_error,        // a failed write counts as done
  forget_lazy,               // lazy records wait for ever
  header_before_fill,        // a segment looks whole before its zeros are on disk
  fill_under_tail,           // the tail writes where zeros are under way
  manifest_in_cache,         // segments are freed before the manifest is on disk
  cut_anything,              // recovery takes damage for a torn tail
  park_cancelled,            // a long poll that is cancelled on its way parks all the same
  wake_nobody,               // a sleeping shard is not woken for a message of the mesh
  forget_dedup,              // deduplication ignores messages from before a restart
  forget_numbers,            // recovery forgets which numbers a FIFO topic gave
  repeat_publish,            // a standard queue gets a message again that is published again
  restart_window,            // a duplicate begins the window of deduplication anew
  pass_dead_letter,          // a message is delivered behind a dead letter that is on its way
  overtake,                  // a message is delivered behind an in-flight one of its group
  hold_group,                // a delayed message holds its group, with x-fifo-delay=pass too
  forget_place,              // a delayed message is placed by its number, not by its time
  fifo_reply_early,          // a receive from a FIFO queue is answered before its record is on disk
  forget_transfer_early,     // a target forgets a source key before the source's delete is on disk
  commit_transfer_early,     // a source deletes a message before the target has it on disk
  forget_held_delete,        // a delete of a message on its way does not reach the target
  forget_unsettled,          // recovery leaves moved messages in their source
  count_apart,               // a task's moved count is not in the record of the deletes
  count_again,               // recovery counts a task's moved messages again
  purge_keeps_dedup,         // a purge leaves the window of deduplication
  group_sleeps,              // a delete does not wake receives that wait for messages behind it
  forget_dead_letter_count,  // a dead letter begins with one delivery
  forget_dead_letter_age,    // a dead letter of a standard queue is kept as if it were new
  ignore_rate,               // a move task is as fast as it can be
  obey_expired,              // a handle of a FIFO queue deletes when its time is over
  let_bodies_go,             // a message that is being read does not hold its segment
  believe_bodies,            // a body read from the disk is not checked
  forget_index_entries,      // a checkpoint leaves out messages that only wait
  forget_tracked_messages,   // a checkpoint leaves out tracked messages
  checkpoint_too_soon,       // a checkpoint counts before its last slice
  forget_relocation,         // recovery uses a message's position from before its relocation
  relocate_too_soon,         // the old segment is freed before the relocated message is on disk
  forget_reserved,           // numbers are given out early that recovery does not know
  believe_wall,              // startup trusts the wall clock
  forget_made,               // a lost log is created anew
  ignore_start,              // a manifest of another startup is accepted
  outlive_window,            // an async queue is answered however far the log is behind
  forget_vouch,              // nothing vouches for the last frame of a log at rest
  forget_wrap,               // a position behind 2^48 is taken for the one 2^48 bytes before it
  forget_delay_anew,         // a new delay of a FIFO queue does not apply to its messages
  scope_at_once,             // a changed deduplication scope holds at once
  forget_scope_change,       // recovery forgets the time of a deduplication scope change
  forget_replay_step,        // the progress of a replay task is not logged
  replay_copies,             // a replay task sends copies again without `copies`
  forget_kept,               // a segment retained for replay is reused
  rest_forever,              // once enough space is ahead of the log, no more is made
  forget_to_count_delete,    // the statistics keep a message that is deleted
  forget_asked_space,        // no space is made for a request larger than that of a log at rest
  forget_producers,          // recovery forgets the senders of messages after the checkpoint
  forget_producers_record,   // a checkpoint leaves out the producers
  forget_missed,             // a schedule leaves out the fires that the server missed
  drop_refused_fire,         // a message of a schedule is not sent again when it was refused
  forget_fire,               // a shard does not remember the fires of schedules
  forget_fires_record,       // a checkpoint leaves out the fires of schedules
  accept_gaps,               // a message before its producer's newest one counts as accepted
  purge_forgets_producers,   // a purge ends the window of resent messages
  duplicate_reply_early,     // a duplicate is answered before its original is on disk
  stay_full,                 // memory that was once full counts as full for ever
  reuse_lease_timer,         // the timer of an ended lease ends the next lease of its row
  forget_lease_member,       // the last message of a lease does not come back at its timeout
  forget_lease_relocation,   // a leased message's position stays as before its relocation
  free_shared_body,          // the body of a fan-out goes with the first of its messages
  count_shared_body_twice,   // the body of a fan-out counts each of its messages twice
  skip_listed_queue,         // a slice of the list of queues begins behind its first queue
  peek_leases_as_visible,    // a peek shows leased messages as visible
  forget_consumer,           // a receive is noted as another consumer's
  forget_backoff,            // a returned message is visible at once, whatever its queue's policy
  forget_spent_lease,        // the end of its last lease does not move a message
  forget_final_deadline,     // a record does not tell that no back-off follows its deadline
  forget_cancel,             // a message cancelled in flight is not deleted when it comes back
  forget_cancel_mark,        // a record does not tell that a message in flight is cancelled
  forget_cancel_record,      // the log has no record of a cancelled message
  forget_reschedule,         // the log has no record of a new delivery time
  count_snooze,              // a delivery returned as uncounted counts
  forget_delivery_age,       // the retention of a delayed message counts from its send
  forget_time_to_live,       // a time to live has no end
  forget_expired,            // a message whose time ended in flight lives on
  revive_expired,            // and one that is given back is visible again
  forget_expired_mark,       // the log does not say that the time of a message has ended
  forget_ttl_ends,           // a checkpoint has no ends of times to live
  keep_expired_age,          // an expired dead letter keeps its age
  forget_pending,            // a message delayed for long is dropped when its time comes near
  deliver_pending_early,     // such a message is visible as soon as its time comes near
  forget_pending_record,     // a checkpoint leaves out messages that are delayed for long
  skip_peeked_message,       // a slice of a peek begins behind its first message
  // Work of a part that nothing arms: of the log (LogPart), or of the shard (ShardPart).
  forget_to_arm_checkpoint,  // a checkpoint is due, or its manifest
  forget_to_arm_rest,        // the log rests
  forget_to_arm_reclaim,     // a segment has no message
  forget_to_arm_tidy,        // messages are gone
  forget_to_arm_segments,    // a segment is to be made
  forget_to_arm_bodies,      // a body is to be read
  forget_to_arm_relocation,  // a segment is to be emptied
  forget_to_arm_replay,      // a replay task reads the log
  forget_to_arm_purged,      // a purged queue is to be freed
  forget_to_arm_moves,       // the start of a move task is durable
  forget_to_arm_match,       // a waiting receive may be served
  forget_to_arm_replays,     // a replay task runs, or a queue keeps messages for one
  forget_to_arm_memory,      // the shares of the memory are to be looked at
};

inline Mutant active_mutant = Mutant::none;

}  // namespace pawl

#define MUTANT(name) (::pawl::active_mutant == ::pawl::Mutant::name)

#else

#define MUTANT(name) false

#endif
