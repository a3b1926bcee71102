// SPDX-License-Identifier: Apache-2.0
#include "core/queue/seq_index.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace pawl {

std::unique_ptr<PagePool::Page> PagePool::take() {
  if (spares_.empty()) {
    ++made_;
    return std::make_unique<Page>();
  }
  std::unique_ptr<Page> page = std::move(spares_.back());
  spares_.pop_back();
  return page;
}

void PagePool::give(std::unique_ptr<Page> page) {
  CHECK(page != nullptr && made_ > spares_.size(), "{} pages, {} spare", made_, spares_.size());
  if (spares_.size() >= spares_kept_) return drop(std::move(page));
  spares_.push_back(std::move(page));
}

void PagePool::drop(std::unique_ptr<Page> page) {
  CHECK(page != nullptr && made_ > 0);
  page.reset();
  --made_;
}

bool PagePool::may_expand(std::size_t entries) {
  if (entries >= list_grown_max || !spares_.empty()) return true;
  if (expansions_left_ == 0) return false;
  --expansions_left_;
  return true;
}

PagePool::SparseList PagePool::take_list() {
  SparseList list;
  if (spare_lists_.empty()) {
    ++lists_made_;
    list.reserve(list_max);
    return list;
  }
  list = std::move(spare_lists_.back());
  spare_lists_.pop_back();
  CHECK(list.empty() && list.capacity() >= list_max, "a spare list of {}", list.size());
  return list;
}

void PagePool::give_list(SparseList list) {
  CHECK(lists_made_ > spare_lists_.size(), "{} lists", lists_made_);
  const std::size_t grown = list.capacity() - list_max;
  CHECK(lists_grown_ >= grown, "{} entries of {}", grown, lists_grown_);
  if (grown > 0 || spare_lists_.size() == spares_max) {
    lists_grown_ -= grown;
    --lists_made_;
    return;
  }
  list.clear();
  spare_lists_.push_back(std::move(list));
}

// Two pages have at most as many pages between them as numbers. If each number between them has a
// page, the position follows without a search.
std::size_t SeqIndex::search(std::uint64_t number) const {
  const std::size_t size = pages_.size();
  if (size == 0 || number <= first_page_) return 0;
  const std::uint64_t last = pages_.back().number;
  if (number > last) return size;
  std::size_t low = size - 1 - std::min<std::uint64_t>(size - 1, last - number);
  if (pages_[low].number >= number) return low;
  std::size_t high = std::min<std::uint64_t>(size - 1, number - first_page_);
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    pages_[middle].number < number ? low = middle + 1 : high = middle;
  }
  return low;
}

const SeqIndex::Page* SeqIndex::search_page(Seq seq) const {
  const std::size_t at = search(number(seq));
  return at < pages_.size() && pages_[at].number == number(seq) ? &pages_[at] : nullptr;
}

SeqIndex::Page& SeqIndex::page_for_put(Seq seq) {
  if (Page* const there = page(seq); there != nullptr) return *there;
  const std::size_t at = search(number(seq));
  CHECK(at == pages_.size() || pages_[at].number > number(seq), "page of seq {}", seq);
  Page page;
  page.number = number(seq);
  at == 0 ? pages_.push_front(std::move(page)) : pages_.insert(at, std::move(page));
  pool_->add_row();
  ++empty_;
  first_page_ = pages_.front().number;
  return pages_[at];
}

SeqIndex::Sparse* SeqIndex::find_sparse(Page& page, std::size_t at) {
  for (Sparse& sparse : page.sparse) {
    if (sparse.index == at) return &sparse;
  }
  return nullptr;
}

IndexEntry SeqIndex::entry_at(const Page& page, std::size_t at) {
  if (page.dense) return page.dense->entries[at];
  for (const Sparse& sparse : page.sparse) {
    if (sparse.index == at) return sparse.entry;
  }
  return {};
}

IndexEntry SeqIndex::find(Seq seq) const {
  const Page* const p = page(seq);
  return p == nullptr ? IndexEntry() : entry_at(*p, index(seq));
}

void SeqIndex::put(Seq seq, IndexEntry entry) {
  CHECK(seq != 0 && seq <= seq_max && !entry.absent(), "seq {}", seq);
  Page& p = page_for_put(seq);
  const std::size_t at = index(seq);
  Sparse* const sparse = find_sparse(p, at);
  if (sparse != nullptr) {
    sparse->entry = entry;
    return;
  }
  if (p.dense == nullptr && p.live >= sparse_max && pool_->may_expand(p.live)) expand(p);
  if (p.dense != nullptr) {
    IndexEntry& there = p.dense->entries[at];
    if (!std::exchange(there, entry).absent()) return;
  } else {
    put_sparse(p, {.index = static_cast<std::uint16_t>(at), .ready = 0, .entry = entry});
  }
  CHECK(p.live < page_entries, "page {} is full", p.number);
  if (p.live++ == 0) {
    CHECK(empty_ > 0, "page {} was not counted as empty", p.number);
    --empty_;
  }
  ++size_;
}

void SeqIndex::put_sparse(Page& page, const Sparse& entry) {
  CHECK(page.sparse.size() == page.live && page.live < PagePool::list_grown_max,
        "{} entries, {} counted", page.sparse.size(), page.live);
  if (page.live == 0) {
    page.sparse = pool_->take_list();
    ++lists_;
  }
  const std::size_t before = page.sparse.capacity();
  page.sparse.insert(std::ranges::upper_bound(page.sparse, entry.index, {}, &Sparse::index), entry);
  if (const std::size_t grown = page.sparse.capacity() - before; grown > 0) {
    grown_ += grown;
    pool_->list_grew(grown);
  }
}

void SeqIndex::expand(Page& page) {
  CHECK(page.dense == nullptr && page.sparse.size() == page.live, "page {}", page.number);
  page.dense = pool_->take();
  ++dense_;
  for (const Sparse& sparse : page.sparse) {
    page.dense->entries[sparse.index] = sparse.entry;
    if (sparse.ready == 0) continue;
    page.dense->ready[sparse.ready - 1u][sparse.index / 64] |= std::uint64_t{1}
                                                               << (sparse.index % 64);
  }
  give_list(page);
}

void SeqIndex::give_dense(Page& page) {
  if (!page.dense) return;
  CHECK(dense_ > 0);
  --dense_;
  pool_->give(std::move(page.dense));
}

void SeqIndex::give_list(Page& page) {
  if (page.sparse.capacity() == 0) return;
  const std::size_t grown = page.sparse.capacity() - PagePool::list_max;
  CHECK(lists_ > 0 && grown_ >= grown, "{} lists, {} of {}", lists_, grown, grown_);
  --lists_;
  grown_ -= grown;
  pool_->give_list(std::exchange(page.sparse, {}));
}

void SeqIndex::erase(Seq seq) {
  Page* const p = page(seq);
  const std::size_t at = index(seq);
  if (p == nullptr || entry_at(*p, at).absent()) return;
  set_ready(seq, *p, -1);
  if (p->dense) {
    p->dense->entries[at] = IndexEntry();
  } else {
    std::erase_if(p->sparse, [at](const Sparse& sparse) { return sparse.index == at; });
  }
  CHECK(p->live > 0 && size_ >= p->live, "{} messages in the page, {} in all", p->live, size_);
  --p->live;
  --size_;
  if (p->live == 0) {
    give_dense(*p);
    give_list(*p);
    ++empty_;
    trim();
  } else if (p->dense && p->live <= sparse_max && p != &pages_.back()) {
    shrink(*p);  // the newest page will grow again
  }
}

void SeqIndex::shrink(Page& page) {
  page.sparse = pool_->take_list();
  ++lists_;
  for (std::size_t i = 0; i < page_entries; ++i) {
    if (page.dense->entries[i].absent()) continue;
    page.sparse.push_back({.index = static_cast<std::uint16_t>(i),
                           .ready = static_cast<std::uint8_t>(ready_state(page, i) + 1),
                           .entry = page.dense->entries[i]});
    page.dense->entries[i] = IndexEntry();
  }
  CHECK(page.sparse.size() == page.live, "{} entries, {} counted", page.sparse.size(), page.live);
  page.dense->ready = {};
  give_dense(page);
}

// Frees empty pages: those at the old end at once, the others when they are many, so that the
// move of the rest costs little for each.
void SeqIndex::trim() {
  while (!pages_.empty() && pages_.front().live == 0) {
    CHECK(empty_ > 0, "page {} was not counted as empty", pages_.front().number);
    pages_.pop_front();
    pool_->drop_row();
    --empty_;
  }
  if (!pages_.empty()) first_page_ = pages_.front().number;
  if (empty_ > empty_max && empty_ > pages_.size() / 2) drop_empty();
  pages_.fit();
}

void SeqIndex::drop_empty() {
  RingQueue<Page> kept;
  for (std::size_t i = 0; i < pages_.size(); ++i) {
    if (pages_[i].live > 0) {
      kept.push_back(std::move(pages_[i]));
    } else {
      pool_->drop_row();
    }
  }
  CHECK(kept.size() + empty_ == pages_.size(), "{} of {} pages kept", kept.size(), pages_.size());
  pages_ = std::move(kept);
  empty_ = 0;
}

int SeqIndex::ready_state(const Page& page, std::size_t at) const {
  if (page.dense) {
    for (int set = 0; set < 2; ++set) {
      if ((page.dense->ready[static_cast<std::size_t>(set)][at / 64] >> (at % 64) & 1) != 0)
        return set;
    }
    return -1;
  }
  for (const Sparse& sparse : page.sparse) {
    if (sparse.index == at) return sparse.ready - 1;
  }
  return -1;
}

// Moves the message to `set`, or to none with -1. False: there it was.
bool SeqIndex::set_ready(Seq seq, Page& page, int set_or_none) {
  const std::size_t at = index(seq);
  const int before = ready_state(page, at);
  if (before == set_or_none) return false;
  if (before >= 0) {
    const auto set = static_cast<std::size_t>(before);
    if (page.dense) page.dense->ready[set][at / 64] &= ~(std::uint64_t{1} << (at % 64));
    CHECK(page.ready[set] > 0 && ready_[set] >= page.ready[set], "{} ready in the page, {} in all",
          page.ready[set], ready_[set]);
    --page.ready[set];
    --ready_[set];
  }
  if (set_or_none >= 0) {
    const auto set = static_cast<std::size_t>(set_or_none);
    if (page.dense) page.dense->ready[set][at / 64] |= std::uint64_t{1} << (at % 64);
    ++page.ready[set];
    ++ready_[set];
    CHECK(page.ready[set] <= page.live, "{} ready of {}", page.ready[set], page.live);
    list(page, set);
  }
  if (!page.dense) {
    Sparse* const sparse = find_sparse(page, at);
    CHECK(sparse != nullptr, "seq {} has no entry", seq);
    sparse->ready = static_cast<std::uint8_t>(set_or_none + 1);
  }
  return true;
}

void SeqIndex::make_ready(Seq seq, Set set) {
  Page* const p = page(seq);
  CHECK(p != nullptr && !entry_at(*p, index(seq)).absent(), "seq {}", seq);
  set_ready(seq, *p, static_cast<int>(set));
}

bool SeqIndex::make_unready(Seq seq) {
  Page* const p = page(seq);
  return p != nullptr && set_ready(seq, *p, -1);
}

void SeqIndex::take(Seq seq, IndexEntry entry) {
  Page* const p = page(seq);
  CHECK(p != nullptr && !entry.absent(), "seq {}", seq);
  const bool was_ready = set_ready(seq, *p, -1);
  CHECK(was_ready, "seq {} is not ready", seq);
  (p->dense ? p->dense->entries[index(seq)] : find_sparse(*p, index(seq))->entry) = entry;
}

bool SeqIndex::is_ready(Seq seq) const {
  const Page* const p = page(seq);
  return p != nullptr && ready_state(*p, index(seq)) >= 0;
}

void SeqIndex::list(Page& page, std::size_t set) {
  if (std::exchange(page.listed[set], true)) return;
  CHECK(page.ready[set] > 0, "page {} has no ready message", page.number);
  const std::size_t before = heap_bytes(set);
  with_ready_[set].push_back(page.number);
  pool_->add_heap(heap_bytes(set) - before);
  std::ranges::push_heap(with_ready_[set], std::greater());
}

// Frees the list of pages with ready messages when no page is left.
void SeqIndex::drop_heap(std::size_t set) {
  pool_->drop_heap(heap_bytes(set));
  std::vector<std::uint64_t>().swap(with_ready_[set]);
}

Seq SeqIndex::first_listed(Set which) {
  const auto set = static_cast<std::size_t>(which);
  std::vector<std::uint64_t>& heap = with_ready_[set];
  while (!heap.empty()) {
    Page* const p = page(heap.front() * page_entries);
    if (p != nullptr && p->ready[set] > 0) return first_ready(*p, set);
    if (p != nullptr) p->listed[set] = false;
    std::ranges::pop_heap(heap, std::greater());
    heap.pop_back();
  }
  CHECK(ready_[set] == 0, "{} ready, none found", ready_[set]);
  return 0;
}

Seq SeqIndex::first_ready(const Page& page, std::size_t set) {
  const Seq base = page.number * page_entries;
  if (!page.dense) {
    for (const Sparse& sparse : page.sparse) {
      if (sparse.ready == set + 1) return base + sparse.index;
    }
  } else {
    for (std::size_t w = 0; w < words; ++w) {
      const std::uint64_t word = page.dense->ready[set][w];
      if (word != 0) return base + w * 64 + static_cast<std::size_t>(std::countr_zero(word));
    }
  }
  CHECK(false, "page {} counts {} ready, none found", page.number, page.ready[set]);
  return 0;
}

Seq SeqIndex::first_from(Seq from) const {
  for (std::size_t row = position(number(from)); row < pages_.size(); ++row) {
    const Page& p = pages_[row];
    std::size_t at = p.number == number(from) ? index(from) : 0;
    if (p.dense) {
      for (; at < page_entries; ++at) {
        if (!p.dense->entries[at].absent()) return p.number * page_entries + at;
      }
    }
    for (const Sparse& sparse : p.sparse) {
      if (sparse.index >= at) return p.number * page_entries + sparse.index;
    }
  }
  return 0;
}

}  // namespace pawl
