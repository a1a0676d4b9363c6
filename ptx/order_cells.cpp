#include "ptx/order_cells.h"

#include <algorithm>

namespace lathe::ptx {

void OrderCells::find(std::uint64_t number) {
  std::unique_ptr<Page>& page = pages_[number];
  if (!page) {
    if (spare_.empty()) {
      page = std::make_unique<Page>();
    } else {
      page = std::move(spare_.back());
      spare_.pop_back();
    }
  }
  page_number_ = number;
  page_ = page.get();
}

void OrderCells::clear() {
  for (auto& [number, page] : pages_) {
    for (OrderCell& cell : *page) {
      cell.writer = cell.reader = {};
      cell.plain.reset();
      if (cell.readers) cell.readers.reset();
      if (cell.bytes) cell.bytes.reset();
    }
    spare_.push_back(std::move(page));
  }
  pages_.clear();
  page_ = nullptr;
}

std::optional<OrderBlocks::Conflict> OrderBlocks::record(Word& word, unsigned bytes, Deed deed,
                                                         bool writes) {
  std::optional<Conflict> conflict;
  if (word.writer.block != none && word.writer.block != deed.block && (word.written & bytes) != 0 &&
      !(word.writer.atomic && deed.atomic))
    conflict = Conflict{word.writer, true};
  if (writes && !conflict && word.reader.block != none && word.reader.block != deed.block &&
      (word.seen & bytes) != 0)
    conflict = Conflict{word.reader, false};
  auto all = static_cast<std::uint8_t>(bytes);
  if (writes) {
    bool same = word.writer.block == deed.block;
    word.written = same || (word.writer.atomic && deed.atomic) ? word.written | all : all;
    // Atomics of several blocks are beside any one block's plain access; a plain write is not
    // hidden by its own block's atomic.
    if (!same && word.writer.block != none && word.writer.atomic && deed.atomic)
      word.writer = {several, deed.instruction, true};
    else if (!(same && deed.atomic && !word.writer.atomic))
      word.writer = deed;
  } else {
    bool same = word.reader.block == none || word.reader.block == deed.block;
    word.seen |= all;
    word.reader = same ? deed : Deed{several, deed.instruction};
  }
  return conflict;
}

std::optional<OrderBlocks::Conflict> OrderBlocks::record(std::uint64_t offset, std::uint32_t bytes,
                                                         Deed deed, bool writes) {
  std::optional<Conflict> first;
  for (std::uint64_t at = offset; at < offset + bytes;) {
    std::uint64_t number = at / 4;
    std::uint64_t end = std::min(offset + bytes, (number + 1) * 4);
    unsigned mask = ((1u << (end - at)) - 1) << (at % 4);
    at = end;
    std::vector<Word>& page = pages_[number / page_words];
    if (page.empty()) page.resize(page_words);
    Word& word = page[number % page_words];
    bool shared_word = word.writer.block != none && word.writer.block != deed.block &&
                       (word.written & ~mask & 15) != 0;
    if (writes && shared_word && !word.split) {
      word.split = true;
      split_[number].fill(word);
    }
    std::optional<Conflict> found;
    if (!word.split) {
      found = record(word, mask, deed, writes);
    } else {
      std::array<Word, 4>& parts = split_[number];
      for (unsigned byte = 0; byte < 4; ++byte)
        if ((mask >> byte & 1) != 0)
          if (auto one = record(parts[byte], 1u << byte, deed, writes); one && !found) found = one;
    }
    if (found && !first) first = found;
  }
  return first;
}

}  // namespace lathe::ptx
