// Seeded mistakes: the simulator proves that it would notice by breaking the code on purpose.
//
// MUTANT(name) is a constant false everywhere but in the simulator's own build of the libraries
// (PAWL_MUTANTS), where a test names the one mistake that is made.
#pragma once

#ifdef PAWL_MUTANTS

#include <cstdint>

namespace pawl {

enum class Mutant : std::uint8_t {
  none,
  ack_before_flush,        // a reply that waits for the log leaves at once
  skip_checksum,           // recovery believes a frame without looking at its hash
  forget_directory_sync,   // a new segment's name is not made durable
  fire_timer_twice,        // a stale timer entry is taken for a live one
  lose_wakeup,             // a message that comes back does not wake a long poll
  durable_not_contiguous,  // the newest finished write counts, whatever is before it
  ignore_epoch,            // recovery accepts frames of an older epoch behind the tail
  forget_remove_record,    // a delete is not logged
  deliver_before_durable,  // a message is handed out before its record is on disk
  lose_receive_count,      // a delivery does not count
  reuse_segment_early,     // a segment with live messages is reused
  forget_head,             // sequence numbers start again when old segments are gone
  forget_purge_record,     // a purge is not logged
  forget_config_record,    // a new queue is not logged
  forget_deletion,         // a start forgets which names wait after a delete
  ignore_old_handle,       // the latest handle alone changes the visibility
  count_undelivered,       // a delivery that was given back counts
  leak_in_flight,          // what is in flight is never taken off the count
  forget_retention,        // messages never expire
  fire_too_soon,           // a millisecond early
  drop_when_full,          // what does not fit into a ring of the mesh is lost
  sleep_blindly,           // a shard goes to sleep without a second look
  tell_nobody,             // a new queue is announced before the other shards know it
  reclaim_before_durable,  // segments go while the deletes that emptied them are not on disk
  keep_epoch,              // recovery goes on in the epoch it found
  ignore_write_error,      // a failed write counts as done
  forget_lazy,             // lazy records wait for ever
  header_before_fill,      // a segment looks whole before its zeros are on disk
  fill_under_tail,         // the tail writes where zeros are under way
  manifest_in_cache,       // segments go while the manifest that says so is not on disk
  cut_anything,            // recovery takes damage for a torn tail
  park_cancelled,          // a long poll that is cancelled on its way parks all the same
  wake_nobody,             // a shard that sleeps is not told of a message
  forget_dedup,            // a message is not deduplicated by what came before a restart
  restart_window,          // a duplicate begins the window of deduplication anew
  overtake,                // a message is handed out behind one of its group that is in flight
  fifo_reply_early,        // a receive from a FIFO queue is answered before its record is on disk
  settle_early,  // a target forgets where a message came from while the source's removal is not on disk
  land_early,           // a source lets go of a message while the target does not have it on disk
  forget_held_delete,   // a delete of a message on its way does not reach the target
  forget_unsettled,     // what has moved is not taken out of its source at a start
  count_apart,          // what a task has moved is not in the record of the removal
  count_again,          // what a task has moved is counted again at a start
  purge_keeps_dedup,    // a purge leaves the window of deduplication
  group_sleeps,         // a delete does not wake who waits for what was behind it
  forget_letter_count,  // a dead letter begins with one delivery
  forget_letter_age,    // a dead letter of a standard queue is kept as if it were new
  ignore_rate,          // a move task is as fast as it can be
  obey_expired,         // a handle of a FIFO queue deletes when its time is over
  let_bodies_go,        // a message that is being read does not hold its segment
  believe_bodies,       // a body that comes back from the disk is not looked at
  forget_places,        // a checkpoint leaves out messages that only wait
  forget_states,        // and those with a state of their own
  checkpoint_too_soon,  // a checkpoint counts before its last slice
  forget_relocation,    // a start believes that a message is where it was
  relocate_too_soon,    // its old segment goes while its new place is not on disk
  forget_reserved,      // numbers are given out early that a start does not know of
  believe_wall,         // a start takes the wall clock's word
  forget_made,          // a log that is lost is made anew
  ignore_start,         // a manifest of another start is believed
  outlive_window,       // an async queue is answered however far the log is behind
  forget_vouch,         // nothing vouches for the last frame of a log at rest
  forget_wrap,          // a position behind 2^48 is taken for the one 2^48 bytes before it
  forget_delay_anew,    // a new delay of a FIFO queue leaves what is in it as it was
  scope_at_once,        // a changed deduplication scope holds at once
  forget_scope_change,  // a start forgets when the deduplication scope was changed
  forget_replay_step,   // the progress of a replay task is not logged
  replay_copies,        // a replay task sends copies again though nobody asked for them
  forget_kept,          // a segment that a queue keeps for replay is used again
  stay_full,            // memory that was once full counts as full for ever
};

inline Mutant active_mutant = Mutant::none;

}  // namespace pawl

#define MUTANT(name) (::pawl::active_mutant == ::pawl::Mutant::name)

#else

#define MUTANT(name) false

#endif
