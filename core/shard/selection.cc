// SPDX-License-Identifier: Apache-2.0
#include "core/shard/selection.h"

#include "core/base/check.h"
#include "core/base/mutant.h"

namespace pawl {

void Selection::passed_dead_letter(bool moving) {
  CHECK(!dead_letters_stay_, "queue {} gave a dead letter after one that stays", raw(queue_.id));
  if (!moving) {
    dead_letters_stay_ = true;
  } else if (!MUTANT(pass_dead_letter)) {
    row_ = 0;
  }
}

// --- standard queues ---

Selection::Choice Selection::next_in_turn() {
  if (dead_letters_stay_) {
    const Seq fresh = queue_.index.first_ready(SeqIndex::Set::fresh);
    return fresh == 0 ? Choice{} : in_index(fresh);
  }
  const bool grouped = queue_.groups && queue_.groups->any_ready();
  const bool ungrouped = queue_.index.ready() > 0;
  if (!grouped && !ungrouped) return {};
  queue_.grouped_last = grouped && (!ungrouped || !queue_.grouped_last);
  return queue_.grouped_last ? in_group(queue_.groups->next_fairly(queue_.in_flight, now_))
                             : next_ungrouped();
}

Selection::Choice Selection::next_ungrouped() {
  const Seq fresh = queue_.index.first_ready(SeqIndex::Set::fresh);
  const Seq returned = queue_.index.first_ready(SeqIndex::Set::returned);
  bool choose_returned = fresh == 0;
  if (fresh != 0 && returned != 0) {
    const Slot& slot = slots_[queue_.index.find(returned).slot()];
    choose_returned = slot.precedes(fresh, queue_.chose_returned, now_);
  }
  queue_.chose_returned = choose_returned;
  CHECK(fresh != 0 || returned != 0, "queue {} has no ready message", raw(queue_.id));
  return in_index(choose_returned ? returned : fresh);
}

// --- move tasks ---

Selection::Choice Selection::next_to_move() {
  if (queue_.index.ready() == 0) {
    CHECK(queue_.groups && queue_.groups->any_ready(), "queue {} has nothing to move",
          raw(queue_.id));
    return in_group(queue_.groups->is_fifo() ? queue_.groups->next_in_order()
                                             : queue_.groups->next_fairly(queue_.in_flight, now_));
  }
  const Seq fresh = queue_.index.first_ready(SeqIndex::Set::fresh);
  const Seq returned = queue_.index.first_ready(SeqIndex::Set::returned);
  const Seq seq = fresh == 0 || (returned != 0 && returned < fresh) ? returned : fresh;
  CHECK(seq != 0, "queue {} has nothing to move", raw(queue_.id));
  return in_index(seq);
}

}  // namespace pawl
