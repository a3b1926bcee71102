// SPDX-License-Identifier: Apache-2.0
// The messages of a queue by sequence number: the location of each, and whether it is ready.
//
//   absent --append--> stored --make_ready--> fresh --take--> (in flight, delayed: no bit set)
//                        |                      ^                  |
//                        \--(delayed)           \---- returned <---+      erase from any: absent
//
// Sequence numbers are dense, so two loads find a message: the page, then the entry. An entry is 8
// bytes: the log position of a waiting message, the slot of a tracked one, or its lease and its
// number there. Two bitmaps mark the ready messages, one for messages never received and one for
// returned messages. Making ready sets a bit, taking finds the first, and order repairs itself when
// an old message returns. A waiting message therefore costs 8 bytes and two bits.
//
// A page holds 1024 entries (8.4 KiB). It begins as a short list and grows into a full page with
// the ninth entry, or later if many queues do at once: a queue of a few messages costs 250 bytes. A
// page with at most sparse_max entries left becomes a list again, so that one straggler does not
// hold it. Empty pages are freed wherever they are, so that one straggler does not hold the pages
// behind it.
//
// Limits: 48-bit sequence numbers; the only message left in a page costs some 220 bytes.
// Owner:  one queue of one shard.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/ids.h"
#include "core/containers/ring_queue.h"

namespace pawl {

// The location of a message: in the log (it only waits), in the slab of tracked messages, or in a
// lease.
//
//   63      62      61        60        48      36       32       0
//   | slot | lease | 0       | 0       | 0      | member | row      |     of a slot, of a lease
//   | 0    | 0     | pending | durable | 0      | log position      |     of a waiting message
//
// A pending message is delayed for so long that its time is in the calendar of its queue.
class IndexEntry {
 public:
  static constexpr std::uint32_t members_max = 16;  // of a lease

  constexpr IndexEntry() = default;
  static constexpr IndexEntry log(LogPos position) { return IndexEntry(log_pos(position)); }
  static constexpr IndexEntry slot(std::uint32_t row) { return IndexEntry(slot_tag | row); }
  static constexpr IndexEntry lease(std::uint32_t row, std::uint32_t member) {
    CHECK(member < members_max, "member {}", member);
    return IndexEntry(lease_tag | std::uint64_t{member} << 32 | row);
  }
  static constexpr IndexEntry pending(LogPos position, bool durable) {
    return IndexEntry(pending_tag | (durable ? durable_tag : 0) | log_pos(position));
  }
  constexpr bool absent() const { return word_ == 0; }
  constexpr bool is_slot() const { return (word_ & slot_tag) != 0; }
  constexpr bool is_lease() const { return (word_ & lease_tag) != 0; }
  constexpr bool in_log() const { return !absent() && (word_ & (slot_tag | lease_tag)) == 0; }
  // In the log and not pending, if it is there at all.
  constexpr bool is_plain() const { return (word_ & (slot_tag | lease_tag | pending_tag)) == 0; }
  constexpr bool is_pending() const { return (word_ & pending_tag) != 0; }
  constexpr bool is_durable() const { return (word_ & durable_tag) != 0; }  // pending messages only
  constexpr LogPos position() const {
    CHECK((word_ & (slot_tag | lease_tag)) == 0, "the entry {} has no position", word_);
    return word_ & ~(pending_tag | durable_tag);
  }
  // The same message, relocated.
  constexpr IndexEntry moved_to(LogPos position) const {
    CHECK(in_log(), "the entry {} has no position", word_);
    return IndexEntry((word_ & (pending_tag | durable_tag)) | log_pos(position));
  }
  constexpr std::uint32_t slot() const {
    CHECK(is_slot(), "the entry {} is not a slot", word_);
    return static_cast<std::uint32_t>(word_);
  }
  constexpr std::uint32_t lease() const {  // its row
    CHECK(is_lease(), "the entry {} is not a lease", word_);
    return static_cast<std::uint32_t>(word_);
  }
  constexpr std::uint32_t member() const {
    return static_cast<std::uint32_t>(word_ >> 32) % members_max;
  }
  bool operator==(const IndexEntry&) const = default;

 private:
  static constexpr std::uint64_t slot_tag = std::uint64_t{1} << 63;
  static constexpr std::uint64_t lease_tag = std::uint64_t{1} << 62;
  static constexpr std::uint64_t pending_tag = std::uint64_t{1} << 61;
  static constexpr std::uint64_t durable_tag = std::uint64_t{1} << 60;
  constexpr explicit IndexEntry(std::uint64_t word) : word_(word) {}
  std::uint64_t word_ = 0;
};
static_assert(sizeof(IndexEntry) == 8);

// Unused full-size pages, all empty, so that taking one writes nothing. All queues of a shard share
// a pool: a queue that is mostly empty takes and returns a page without allocating.
class PagePool {
 public:
  static constexpr std::size_t page_entries = 1024;
  static constexpr std::size_t words = page_entries / 64;
  static constexpr std::size_t spares_max = 64;

  explicit PagePool(std::size_t spares = spares_max) : spares_kept_(spares) {}

  struct Page {
    std::array<IndexEntry, page_entries> entries{};
    std::array<std::array<std::uint64_t, words>, 2> ready{};
  };

  // An entry of a nearly empty page.
  struct Sparse {
    std::uint16_t index = 0;
    std::uint8_t ready = 0;  // 0 none, 1 fresh, 2 returned
    IndexEntry entry;
  };
  using SparseList = std::vector<Sparse>;

  std::unique_ptr<Page> take();
  void give(std::unique_ptr<Page> page);  // empty
  void drop(std::unique_ptr<Page> page);
  SparseList take_list();  // empty, with full capacity
  void give_list(SparseList list);
  static constexpr std::size_t list_max = 8;
  static constexpr std::size_t list_bytes = list_max * sizeof(Sparse);

  // A new page costs some 10 us, most of it the first touch of its memory. If many queues need one
  // in the same turn, the lists of some grow beyond list_max meanwhile.
  static constexpr std::size_t list_grown_max = 64;
  static constexpr std::size_t expansions_a_turn = 64;
  void begin_turn() { expansions_left_ = expansions_a_turn; }
  // True: a list of so many entries becomes a page now.
  bool may_expand(std::size_t entries);
  // Counts the memory of a list that has grown.
  void list_grew(std::size_t entries) { lists_grown_ += entries; }
  // Bytes of all pages and lists, in use or kept for reuse, and of the tables of pages.
  std::size_t bytes() const {
    return made_ * sizeof(Page) + lists_made_ * list_bytes + lists_grown_ * sizeof(Sparse) +
           rows_ * row_bytes + heap_bytes_;
  }
  void add_row() { ++rows_; }
  void drop_row() {
    CHECK(rows_ > 0);
    --rows_;
  }
  void add_heap(std::size_t bytes) { heap_bytes_ += bytes; }
  void drop_heap(std::size_t bytes) {
    CHECK(heap_bytes_ >= bytes, "{} bytes of {}", bytes, heap_bytes_);
    heap_bytes_ -= bytes;
  }
  static constexpr std::size_t row_bytes =
      2 * 48;  // twice a row: the ring of rows can be half empty

 private:
  std::size_t spares_kept_;
  std::size_t made_ = 0;  // allocated pages
  std::size_t lists_made_ = 0;
  std::size_t lists_grown_ = 0;  // entries beyond list_max for which there is memory
  std::size_t expansions_left_ = expansions_a_turn;
  std::size_t rows_ = 0;
  std::size_t heap_bytes_ = 0;  // heaps of numbers of pages with ready messages
  std::vector<std::unique_ptr<Page>> spares_;
  std::vector<SparseList> spare_lists_;
};

class SeqIndex {
 public:
  static constexpr std::size_t page_entries = PagePool::page_entries;
  static constexpr std::size_t sparse_max = PagePool::list_max;

  explicit SeqIndex(PagePool& pool) : pool_(&pool) {}

  enum class Set : std::uint8_t { fresh, returned };

  IndexEntry find(Seq seq) const;
  // Adds a message, or changes the entry of one that is present. Numbers may be skipped. A number
  // below the newest whose page is missing moves all pages above it: only recovery does that.
  void put(Seq seq, IndexEntry entry);
  void erase(Seq seq);  // absent is fine

  void make_ready(Seq seq, Set set);  // the message is present
  // Takes it out of either set; true if it was in one.
  bool make_unready(Seq seq);
  // Takes a ready message out of its set, and changes its entry.
  void take(Seq seq, IndexEntry entry);
  bool is_ready(Seq seq) const;
  // The first of a set, or 0. It stays in the set.
  Seq first_ready(Set set) {
    return with_ready_[static_cast<std::size_t>(set)].empty() ? 0 : first_listed(set);
  }

  // The first message present at or after `from`; 0 if there is none.
  Seq first_from(Seq from) const;
  Seq oldest() const { return first_from(0); }  // 0 if empty
  std::uint64_t size() const { return size_; }
  std::uint64_t ready(Set set) const { return ready_[static_cast<std::size_t>(set)]; }
  std::uint64_t ready() const { return ready_[0] + ready_[1]; }

  // Visits every present message in order of seq.
  template <typename Visit>
  void for_each(Visit&& visit) const;

  // Visits and drops the messages of the oldest page; false if there is none.
  template <typename Visit>
  bool drain_page(Visit&& visit);

  std::size_t memory() const {
    return pages_.size() * PagePool::row_bytes + dense_ * sizeof(Dense) +
           lists_ * PagePool::list_bytes + grown_ * sizeof(Sparse) + heap_bytes(0) + heap_bytes(1);
  }

 private:
  static constexpr std::size_t words = PagePool::words;
  static constexpr std::size_t empty_max = 16;  // or half of all pages
  using Dense = PagePool::Page;
  using Sparse = PagePool::Sparse;
  struct Page {
    std::uint64_t number = 0;
    std::unique_ptr<Dense> dense;  // null: sparse or empty
    PagePool::SparseList sparse;   // sorted by index
    std::uint16_t live = 0;
    std::array<std::uint16_t, 2> ready{};
    std::array<bool, 2> listed{};  // in with_ready_
  };
  static_assert(sizeof(Page) * 2 == PagePool::row_bytes);

  static std::uint64_t number(Seq seq) { return seq / page_entries; }
  static std::size_t index(Seq seq) { return seq % page_entries; }
  // Position of the first page with that number or above; one past the last if there is none.
  std::size_t position(std::uint64_t number) const {
    const std::uint64_t at = number - first_page_;  // while all numbers have a page
    return at < pages_.size() && pages_[at].number == number ? at : search(number);
  }
  std::size_t search(std::uint64_t number) const;
  const Page* page(Seq seq) const {
    const std::uint64_t at = number(seq) - first_page_;
    if (at < pages_.size() && pages_[at].number == number(seq)) return &pages_[at];
    return search_page(seq);
  }
  Page* page(Seq seq) { return const_cast<Page*>(std::as_const(*this).page(seq)); }
  const Page* search_page(Seq seq) const;
  static IndexEntry entry_at(const Page& page, std::size_t at);
  Page& page_for_put(Seq seq);
  static Sparse* find_sparse(Page& page, std::size_t at);
  bool set_ready(Seq seq, Page& page, int set_or_none);
  void list(Page& page, std::size_t set);
  std::size_t heap_bytes(std::size_t set) const {
    return with_ready_[set].capacity() * sizeof(std::uint64_t);
  }
  void drop_heap(std::size_t set);
  Seq first_listed(Set which);
  static Seq first_ready(const Page& page, std::size_t set);
  int ready_state(const Page& page, std::size_t at) const;
  void put_sparse(Page& page, const Sparse& entry);
  void expand(Page& page);  // sparse to dense
  void shrink(Page& page);
  void give_dense(Page& page);
  void give_list(Page& page);
  void trim();
  void drop_empty();

  PagePool* pool_;
  RingQueue<Page> pages_;         // in rising order of number, the first is not empty
  std::uint64_t first_page_ = 0;  // number of pages_[0]
  std::size_t empty_ = 0;         // empty pages
  std::size_t dense_ = 0;
  std::size_t lists_ = 0;
  std::size_t grown_ = 0;  // entries beyond PagePool::list_max in the memory of lists
  // Min-heaps of page numbers. Every page with a bit of the set is in its heap, once; a page
  // without bits leaves when it reaches the top.
  std::array<std::vector<std::uint64_t>, 2> with_ready_;
  std::array<std::uint64_t, 2> ready_{};
  std::uint64_t size_ = 0;
};

template <typename Visit>
void SeqIndex::for_each(Visit&& visit) const {
  for (std::size_t p = 0; p < pages_.size(); ++p) {
    const Page& page = pages_[p];
    const Seq base = page.number * page_entries;
    if (page.dense) {
      for (std::size_t i = 0; i < page_entries; ++i) {
        if (!page.dense->entries[i].absent()) visit(base + i, page.dense->entries[i]);
      }
    } else {
      for (const Sparse& sparse : page.sparse) visit(base + sparse.index, sparse.entry);
    }
  }
}

template <typename Visit>
bool SeqIndex::drain_page(Visit&& visit) {
  if (pages_.empty()) return false;
  Page& page = pages_.front();
  const Seq base = page.number * page_entries;
  if (page.dense) {
    for (std::size_t i = 0; i < page_entries; ++i) {
      if (!page.dense->entries[i].absent()) visit(base + i, page.dense->entries[i]);
    }
  } else {
    for (const Sparse& sparse : page.sparse) visit(base + sparse.index, sparse.entry);
  }
  CHECK(size_ >= page.live, "{} messages of {}", page.live, size_);
  size_ -= page.live;
  for (std::size_t set = 0; set < 2; ++set) {
    CHECK(ready_[set] >= page.ready[set], "{} ready of {}", page.ready[set], ready_[set]);
    ready_[set] -= page.ready[set];
  }
  if (page.dense) {
    CHECK(dense_ > 0);
    --dense_;
    pool_->drop(std::move(page.dense));
  }
  give_list(page);
  page.live = 0;
  ++empty_;
  trim();
  if (pages_.empty()) {
    drop_heap(0);
    drop_heap(1);
  }
  return true;
}

}  // namespace pawl
