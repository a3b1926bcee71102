// SPDX-License-Identifier: Apache-2.0
// The mutants of core/base/mutant.h by name.
#pragma once

#include <string_view>

#include "core/base/mutant.h"

namespace pawl::sim {

struct MutantName {
  Mutant mutant;
  std::string_view name;
};

#define PAWL_MUTANT_NAME(name) {Mutant::name, #name}
inline constexpr MutantName mutant_names[] = {
    PAWL_MUTANT_NAME(ack_before_flush),
    PAWL_MUTANT_NAME(skip_checksum),
    PAWL_MUTANT_NAME(forget_directory_sync),
    PAWL_MUTANT_NAME(fire_timer_twice),
    PAWL_MUTANT_NAME(lose_wakeup),
    PAWL_MUTANT_NAME(durable_not_contiguous),
    PAWL_MUTANT_NAME(ignore_epoch),
    PAWL_MUTANT_NAME(forget_delete_record),
    PAWL_MUTANT_NAME(deliver_before_durable),
    PAWL_MUTANT_NAME(lose_receive_count),
    PAWL_MUTANT_NAME(reuse_segment_early),
    PAWL_MUTANT_NAME(forget_head),
    PAWL_MUTANT_NAME(forget_purge_record),
    PAWL_MUTANT_NAME(forget_config_record),
    PAWL_MUTANT_NAME(ignore_old_handle),
    PAWL_MUTANT_NAME(count_undelivered),
    PAWL_MUTANT_NAME(leak_in_flight),
    PAWL_MUTANT_NAME(forget_retention),
    PAWL_MUTANT_NAME(fire_too_soon),
    PAWL_MUTANT_NAME(drop_when_full),
    PAWL_MUTANT_NAME(sleep_blindly),
    PAWL_MUTANT_NAME(tell_nobody),
    PAWL_MUTANT_NAME(reclaim_before_durable),
    PAWL_MUTANT_NAME(keep_epoch),
    PAWL_MUTANT_NAME(ignore_write_error),
    PAWL_MUTANT_NAME(forget_lazy),
    PAWL_MUTANT_NAME(header_before_fill),
    PAWL_MUTANT_NAME(fill_under_tail),
    PAWL_MUTANT_NAME(manifest_in_cache),
    PAWL_MUTANT_NAME(cut_anything),
    PAWL_MUTANT_NAME(park_cancelled),
    PAWL_MUTANT_NAME(wake_nobody),
    PAWL_MUTANT_NAME(forget_dedup),
    PAWL_MUTANT_NAME(restart_window),
    PAWL_MUTANT_NAME(overtake),
    PAWL_MUTANT_NAME(pass_dead_letter),
    PAWL_MUTANT_NAME(fifo_reply_early),
    PAWL_MUTANT_NAME(forget_transfer_early),
    PAWL_MUTANT_NAME(commit_transfer_early),
    PAWL_MUTANT_NAME(forget_held_delete),
    PAWL_MUTANT_NAME(forget_unsettled),
    PAWL_MUTANT_NAME(count_apart),
    PAWL_MUTANT_NAME(count_again),
    PAWL_MUTANT_NAME(purge_keeps_dedup),
    PAWL_MUTANT_NAME(group_sleeps),
    PAWL_MUTANT_NAME(forget_dead_letter_count),
    PAWL_MUTANT_NAME(forget_dead_letter_age),
    PAWL_MUTANT_NAME(ignore_rate),
    PAWL_MUTANT_NAME(obey_expired),
    PAWL_MUTANT_NAME(let_bodies_go),
    PAWL_MUTANT_NAME(believe_bodies),
    PAWL_MUTANT_NAME(forget_index_entries),
    PAWL_MUTANT_NAME(forget_tracked_messages),
    PAWL_MUTANT_NAME(checkpoint_too_soon),
    PAWL_MUTANT_NAME(forget_relocation),
    PAWL_MUTANT_NAME(relocate_too_soon),
    PAWL_MUTANT_NAME(forget_reserved),
    PAWL_MUTANT_NAME(believe_wall),
    PAWL_MUTANT_NAME(forget_deletion),
    PAWL_MUTANT_NAME(forget_made),
    PAWL_MUTANT_NAME(ignore_start),
    PAWL_MUTANT_NAME(outlive_window),
    PAWL_MUTANT_NAME(forget_vouch),
    PAWL_MUTANT_NAME(forget_wrap),
    PAWL_MUTANT_NAME(forget_delay_anew),
    PAWL_MUTANT_NAME(scope_at_once),
    PAWL_MUTANT_NAME(forget_scope_change),
    PAWL_MUTANT_NAME(forget_replay_step),
    PAWL_MUTANT_NAME(replay_copies),
    PAWL_MUTANT_NAME(forget_kept),
    PAWL_MUTANT_NAME(rest_forever),
    PAWL_MUTANT_NAME(forget_producers),
    PAWL_MUTANT_NAME(forget_producers_record),
    PAWL_MUTANT_NAME(accept_gaps),
    PAWL_MUTANT_NAME(purge_forgets_producers),
    PAWL_MUTANT_NAME(duplicate_reply_early),
    PAWL_MUTANT_NAME(stay_full),
    PAWL_MUTANT_NAME(reuse_lease_timer),
    PAWL_MUTANT_NAME(forget_lease_member),
    PAWL_MUTANT_NAME(forget_lease_relocation),
    PAWL_MUTANT_NAME(free_shared_body),
    PAWL_MUTANT_NAME(count_shared_body_twice),
    PAWL_MUTANT_NAME(forget_numbers),
    PAWL_MUTANT_NAME(repeat_publish),
};
#undef PAWL_MUTANT_NAME

}  // namespace pawl::sim
