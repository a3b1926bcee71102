#include "core/seq_index.h"

#include <algorithm>
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
  if (spares_.size() >= spares_kept_) return drop(std::move(page));
  spares_.push_back(std::move(page));
}

void PagePool::drop(std::unique_ptr<Page> page) {
  page.reset();
  --made_;
}

PagePool::SparseList PagePool::take_list() {
  if (spare_lists_.empty()) return {};
  SparseList list = std::move(spare_lists_.back());
  spare_lists_.pop_back();
  return list;
}

void PagePool::give_list(SparseList list) {
  if (list.capacity() == 0 || spare_lists_.size() == spares_max) return;
  list.clear();
  spare_lists_.push_back(std::move(list));
}

const SeqIndex::Page* SeqIndex::page(Seq seq) const {
  const std::uint64_t n = number(seq);
  if (n < first_page_ || n - first_page_ >= pages_.size()) return nullptr;
  return &pages_[n - first_page_];
}

SeqIndex::Page* SeqIndex::page(Seq seq) {
  return const_cast<Page*>(std::as_const(*this).page(seq));
}

SeqIndex::Page& SeqIndex::page_for_put(Seq seq) {
  const std::uint64_t n = number(seq);
  if (pages_.empty()) first_page_ = n;
  while (n < first_page_) {  // only while a log is replayed
    pages_.push_front({});
    --first_page_;
  }
  while (n - first_page_ >= pages_.size()) pages_.push_back({});
  return pages_[n - first_page_];
}

SeqIndex::Sparse* SeqIndex::find_sparse(Page& page, std::size_t at) {
  for (Sparse& entry : page.sparse) {
    if (entry.index == at) return &entry;
  }
  return nullptr;
}

Place SeqIndex::find(Seq seq) const {
  const Page* const p = page(seq);
  if (p == nullptr) return {};
  if (p->dense) return p->dense->entries[index(seq)];
  for (const Sparse& entry : p->sparse) {
    if (entry.index == index(seq)) return entry.place;
  }
  return {};
}

void SeqIndex::put(Seq seq, Place place) {
  CHECK(seq != 0 && seq <= seq_max && !place.absent(), "seq {}", seq);
  Page& p = page_for_put(seq);
  const std::size_t at = index(seq);
  Sparse* const entry = find_sparse(p, at);
  if (entry != nullptr) {
    entry->place = place;
    return;
  }
  if (p.dense == nullptr && p.live == sparse_max) expand(p);
  if (p.dense != nullptr) {
    Place& there = p.dense->entries[at];
    if (!std::exchange(there, place).absent()) return;
  } else {
    put_sparse(p, {.index = static_cast<std::uint16_t>(at), .ready = 0, .place = place});
  }
  ++p.live;
  ++size_;
}

void SeqIndex::put_sparse(Page& page, const Sparse& entry) {
  if (page.live == 0) {
    page.sparse = pool_->take_list();
    page.sparse.reserve(sparse_max);
  }
  page.sparse.insert(std::ranges::upper_bound(page.sparse, entry.index, {}, &Sparse::index), entry);
}

void SeqIndex::expand(Page& page) {
  page.dense = pool_->take();
  for (const Sparse& entry : page.sparse) {
    page.dense->entries[entry.index] = entry.place;
    if (entry.ready == 0) continue;
    page.dense->ready[entry.ready - 1u][entry.index / 64] |= std::uint64_t{1} << (entry.index % 64);
  }
  pool_->give_list(std::exchange(page.sparse, {}));
}

void SeqIndex::erase(Seq seq) {
  Page* const p = page(seq);
  if (p == nullptr || find(seq).absent()) return;
  make_unready(seq);
  const std::size_t at = index(seq);
  if (p->dense) {
    p->dense->entries[at] = Place();
  } else {
    std::erase_if(p->sparse, [at](const Sparse& entry) { return entry.index == at; });
  }
  --p->live;
  --size_;
  if (p->live == 0) {
    if (p->dense) pool_->give(std::move(p->dense));
    pool_->give_list(std::exchange(p->sparse, {}));
    trim();
  } else if (p->dense && p->live <= sparse_max && p != &pages_.back()) {
    shrink(*p);  // the newest page will grow again
  }
}

void SeqIndex::shrink(Page& page) {
  page.sparse = pool_->take_list();
  page.sparse.reserve(sparse_max);
  for (std::size_t i = 0; i < page_entries; ++i) {
    if (page.dense->entries[i].absent()) continue;
    page.sparse.push_back({.index = static_cast<std::uint16_t>(i),
                           .ready = static_cast<std::uint8_t>(ready_state(page, i) + 1),
                           .place = page.dense->entries[i]});
    page.dense->entries[i] = Place();
  }
  page.dense->ready = {};
  pool_->give(std::move(page.dense));
}

// Pages that are empty at the old end go.
void SeqIndex::trim() {
  while (!pages_.empty() && pages_.front().live == 0) {
    pages_.pop_front();
    ++first_page_;
  }
}

int SeqIndex::ready_state(const Page& page, std::size_t at) const {
  if (page.dense) {
    for (int set = 0; set < 2; ++set) {
      if ((page.dense->ready[static_cast<std::size_t>(set)][at / 64] >> (at % 64) & 1) != 0)
        return set;
    }
    return -1;
  }
  for (const Sparse& entry : page.sparse) {
    if (entry.index == at) return entry.ready - 1;
  }
  return -1;
}

// Moves the message to `set`, or to none with -1.
void SeqIndex::set_ready(Seq seq, Page& page, int set_or_none) {
  const std::size_t at = index(seq);
  const int before = ready_state(page, at);
  if (before == set_or_none) return;
  if (before >= 0) {
    const auto set = static_cast<std::size_t>(before);
    if (page.dense) page.dense->ready[set][at / 64] &= ~(std::uint64_t{1} << (at % 64));
    --page.ready[set];
    --ready_[set];
  }
  if (set_or_none >= 0) {
    const auto set = static_cast<std::size_t>(set_or_none);
    if (page.dense) page.dense->ready[set][at / 64] |= std::uint64_t{1} << (at % 64);
    ++page.ready[set];
    ++ready_[set];
    hint_[set] = std::min(hint_[set], number(seq));
  }
  if (!page.dense) find_sparse(page, at)->ready = static_cast<std::uint8_t>(set_or_none + 1);
}

void SeqIndex::make_ready(Seq seq, Set set) {
  Page* const p = page(seq);
  CHECK(p != nullptr && !find(seq).absent(), "seq {}", seq);
  set_ready(seq, *p, static_cast<int>(set));
}

bool SeqIndex::make_unready(Seq seq) {
  Page* const p = page(seq);
  if (p == nullptr || ready_state(*p, index(seq)) < 0) return false;
  set_ready(seq, *p, -1);
  return true;
}

bool SeqIndex::is_ready(Seq seq) const {
  const Page* const p = page(seq);
  return p != nullptr && ready_state(*p, index(seq)) >= 0;
}

Seq SeqIndex::first_ready(Set which) {
  const auto set = static_cast<std::size_t>(which);
  if (ready_[set] == 0) {
    hint_[set] = first_page_ + pages_.size();  // the next bit set pulls it back
    return 0;
  }
  for (std::uint64_t n = std::max(hint_[set], first_page_);; ++n) {
    CHECK(n - first_page_ < pages_.size(), "{} ready, none found", ready_[set]);
    const Page& p = pages_[n - first_page_];
    if (p.ready[set] == 0) continue;
    hint_[set] = n;
    if (!p.dense) {
      for (const Sparse& entry : p.sparse) {
        if (entry.ready == set + 1) return n * page_entries + entry.index;
      }
    } else {
      for (std::size_t w = 0; w < words; ++w) {
        const std::uint64_t word = p.dense->ready[set][w];
        if (word != 0)
          return n * page_entries + w * 64 + static_cast<std::size_t>(std::countr_zero(word));
      }
    }
    CHECK(false, "page {} counts {} ready, none found", n, p.ready[set]);
  }
}

Seq SeqIndex::first_from(Seq from) const {
  std::size_t at = number(from) < first_page_ ? 0 : index(from);
  for (std::uint64_t n = std::max(number(from), first_page_); n - first_page_ < pages_.size();
       ++n) {
    const Page& p = pages_[n - first_page_];
    if (p.dense) {
      for (; at < page_entries; ++at) {
        if (!p.dense->entries[at].absent()) return n * page_entries + at;
      }
    }
    for (const Sparse& entry : p.sparse) {
      if (entry.index >= at) return n * page_entries + entry.index;
    }
    at = 0;
  }
  return 0;
}

std::size_t SeqIndex::memory() const {
  std::size_t bytes = pages_.size() * sizeof(Page);
  for (std::size_t i = 0; i < pages_.size(); ++i) {
    const Page& p = pages_[i];
    bytes += (p.dense ? sizeof(Dense) : 0) + p.sparse.capacity() * sizeof(Sparse);
  }
  return bytes;
}

}  // namespace pawl
