#pragma once

// What memory remembers for the order observer: of each word its last writer and the readers since,
// split into bytes only where an access was narrower. Pages are taken from a pool and given back at
// a block's end. Between blocks, a word remembers only which block wrote and which read it.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ptx/order_clock.h"

namespace lathe::ptx {

struct OrderCell {
  OrderStamp writer, reader;
  // The last plain write below strong ones: who is excused from the strong ones is not from it.
  std::unique_ptr<OrderStamp> plain;
  std::unique_ptr<std::vector<OrderStamp>> readers;  // Those that `reader` has no room for.
  std::unique_ptr<std::array<OrderCell, 4>> bytes;   // Where the word is split.

  bool has_readers() const { return readers && !readers->empty(); }
  /// A write, once it has met all that came before it. A strong one stands above a plain one.
  void write(const OrderStamp& stamp) {
    if (!stamp.strong) {
      plain.reset();
      if (readers) readers->clear();
      reader.lanes = 0;
    } else if (!writer.strong && writer.lanes != 0) {
      plain = std::make_unique<OrderStamp>(writer);
    }
    writer = stamp;
  }
};

/// Makes four cells of a word that was whole so far.
void split(OrderCell& cell);

class OrderCells {
 public:
  static constexpr std::uint64_t page_words = 256;

  OrderCell& word(std::uint64_t number) {
    std::uint64_t page = number / page_words;
    if (page != page_number_ || page_ == nullptr) find(page);
    return (*page_)[number % page_words];
  }
  void clear();

 private:
  using Page = std::array<OrderCell, page_words>;
  void find(std::uint64_t page);

  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
  std::vector<std::unique_ptr<Page>> spare_;
  std::uint64_t page_number_ = 0;
  Page* page_ = nullptr;
};

/// Which block wrote and which block read each byte of a buffer.
class OrderBlocks {
 public:
  struct Deed {
    std::uint32_t block = none, instruction = 0;
    bool atomic = false;
  };
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  static constexpr std::uint32_t several = none - 1;

  struct Conflict {
    Deed deed;
    bool write = false;
  };
  /// Records an access, and gives another block's deed that it conflicts with.
  std::optional<Conflict> record(std::uint64_t offset, std::uint32_t bytes, Deed deed, bool writes);

 private:
  struct Word {
    Deed writer, reader;
    std::uint8_t written = 0, seen = 0;  // One bit a byte.
    bool split = false;
  };
  std::optional<Conflict> record(Word& word, unsigned bytes, Deed deed, bool writes);

  static constexpr std::uint64_t page_words = 1024;
  std::unordered_map<std::uint64_t, std::vector<Word>> pages_;
  std::unordered_map<std::uint64_t, std::array<Word, 4>> split_;  // Words that blocks share.
};

}  // namespace lathe::ptx
