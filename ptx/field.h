#pragma once

// The field domain of the machine: a byte of a register or of memory is exact, or byte k of a
// number, or poison. Moves move bytes; float rows compute with numbers; integer rows need exact
// bits, but for the few that only move bytes or signs.

#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "ptx/domain.h"
#include "ptx/field_arithmetic.h"
#include "ptx/field_plane.h"
#include "ptx/field_turns.h"
#include "ptx/field_word.h"

namespace lathe::ptx {
struct Operation;
}

namespace lathe::ptx::field {

/// A number's name says where it is: below, in the arena; then lanes of strips, elements of tiles
/// of accumulators, words of integer data, elements of input tensors (numbers or words), which are
/// computed when somebody asks, and literals, which live as long as the domain.
inline constexpr std::uint32_t first_strip = 1u << 24;
inline constexpr std::uint32_t first_tile = 1u << 25;
inline constexpr std::uint32_t first_word = 1u << 26;
inline constexpr std::uint32_t first_input = first_word + (1u << 25);
inline constexpr std::uint32_t lasting = (1u << 29) - (1u << 21);
/// What an atomic gave that nobody knows but the last block.
inline constexpr std::uint32_t ticket_id = lasting + 1;

template <Type T>
constexpr bool is_number = holds_number(T);

template <Type T>
struct BitsValue;
template <Type T>
struct NumberValue;

class Strips;
class Tiles;
class Gathered;
struct TileOperand;
using Operand = std::shared_ptr<const TileOperand>;

/// Numbers that stay where they are while others are added.
class Arena {
 public:
  std::size_t size() const { return size_; }
  Number& operator[](std::uint32_t id) {
    return chunks_[id >> chunk_bits]->numbers[id & chunk_mask];
  }
  const Number& operator[](std::uint32_t id) const {
    return chunks_[id >> chunk_bits]->numbers[id & chunk_mask];
  }
  std::uint32_t add() {
    if (size_ >> chunk_bits == chunks_.size()) chunks_.push_back(std::make_unique<Chunk>());
    return static_cast<std::uint32_t>(size_++);
  }
  /// Number 0, which nobody has, is left.
  void clear() {
    size_ = 0;
    add();
  }

 private:
  static constexpr unsigned chunk_bits = 12, chunk_mask = (1u << chunk_bits) - 1;
  struct alignas(64) Chunk {
    std::array<Number, std::size_t{1} << chunk_bits> numbers;
  };
  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::size_t size_ = 0;
};

class Field {
 public:
  static constexpr bool complains = true;
  /// Meanings have effects here: lanes are computed one after another, and only active ones.
  static constexpr bool vectorises = false;
  template <Type T>
  using Value = std::conditional_t<is_number<T>, NumberValue<T>, BitsValue<T>>;

  struct Lanes {
    std::shared_ptr<Registers> registers;
    /// With tags that say what these bytes are.
    Registers& settled(std::size_t at, std::size_t bytes) const {
      registers->settle(at, bytes);
      return *registers;
    }
  };
  struct Region {
    std::shared_ptr<Plane> plane;  // Of shared, local and parameter memory.
    std::int64_t tensor = -1;      // Of a global buffer.
    std::unordered_map<std::uint64_t, std::shared_ptr<Plane>> pages;  // What a block wrote.
    /// When each piece of the plane was last written, by the field's clock.
    std::vector<std::uint64_t> stamps;
  };

  explicit Field(std::shared_ptr<const Point> point);
  ~Field();
  Field(const Field&) = delete;
  Field& operator=(const Field&) = delete;

  const Complaint* complaint() const { return complaint_ ? &*complaint_ : nullptr; }
  void complain(ComplaintKind kind, std::string_view what, unsigned lane) {
    if (!complaint_) complaint_ = Complaint{kind, std::string(what), lane};
  }
  void complain(ComplaintKind kind, std::string_view what) { complain(kind, what, lane_); }

  Lanes make_lanes(std::uint32_t bytes);
  Region make_region(std::uint64_t bytes) {
    return {new_plane(bytes + 16),
            -1,
            {},
            std::vector<std::uint64_t>(bytes / piece_bytes + 2, ++clock_)};
  }
  Region& buffer(std::size_t i) { return buffers_[i]; }

  void read(Region& from, std::uint64_t offset, Lanes& to, Cell cell, unsigned bytes);
  void write(Region& to, std::uint64_t offset, const Lanes& from, Cell cell, unsigned bytes);
  void copy(Lanes& to, Cell to_cell, const Lanes& from, Cell cell, unsigned bytes) {
    Registers &target = to.settled(to_cell.at(), bytes), &source = from.settled(cell.at(), bytes);
    std::memmove(&target.bits[to_cell.at()], &source.bits[cell.at()], bytes);
    std::memmove(&target.tags[to_cell.at()], &source.tags[cell.at()], bytes * sizeof(Tag));
  }
  void transfer(Region& to, std::uint64_t to_offset, Region& from, std::uint64_t offset,
                std::uint64_t bytes);
  void zero(Region& region, std::uint64_t offset, std::uint64_t bytes);
  void poison(Region& region, std::uint64_t offset, std::uint64_t bytes);
  void poke(Region& region, std::uint64_t offset, unsigned bytes, std::uint64_t bits);
  void put(Lanes& lanes, Cell cell, unsigned bytes, std::uint64_t bits) {
    Registers& to = lanes.settled(cell.at(), bytes);
    std::memset(&to.bits[cell.at()], 0, bytes);
    std::memcpy(&to.bits[cell.at()], &bits, std::min(bytes, 8u));
    std::memset(&to.tags[cell.at()], 0, bytes * sizeof(Tag));
  }
  /// A whole register for the lanes of a mask.
  void copy_all(Lanes& lanes, Spot to, Spot from, unsigned width, Mask mask) {
    if (mask == every_lane) return copy_register(lanes, to, lanes, from, width);
    for (std::uint8_t lane = 0; lane < lane_count; ++lane)
      if ((mask >> lane & 1) != 0)
        copy(lanes, {to, static_cast<std::uint8_t>(width), 0, lane}, lanes,
             {from, static_cast<std::uint8_t>(width), 0, lane}, width);
  }
  bool copy_across(Lanes& lanes, Spot to, const Lanes& from_lanes, Spot from, unsigned width) {
    copy_register(lanes, to, from_lanes, from, width);
    return true;
  }
  /// Before another block.
  void forget() {
    complaint_.reset();
    tickets_.clear();
    left_reads_.clear();
  }
  void set_turn(const Turn& turn) { turn_ = turn; }
  bool is_last() const { return turn_.last; }
  const std::vector<Ticket>& tickets() const { return tickets_; }
  /// Places of what other blocks left that were read.
  const std::vector<std::uint64_t>& left_reads() const { return left_reads_; }
  static bool is_ticket(Tag tag) { return tag >> 3 == ticket_id; }
  /// Whether the ticket is this number, which is the last.
  bool ticket_is(std::uint32_t value);
  void extend(Lanes& lanes, Cell cell, unsigned bytes, bool sign);
  bool same(Region& region, std::uint64_t offset, const Lanes& lanes, Cell cell, unsigned bytes);

  std::optional<std::uint64_t> exact(const Lanes& lanes, Cell cell, unsigned bytes) const {
    const Registers& from = *lanes.registers;
    if (from.content(cell.at()).kind != Content::exact) {
      const Tag* tags = &lanes.settled(cell.at(), bytes).tags[cell.at()];
      for (unsigned i = 0; i < bytes; ++i)
        if (tags[i] != 0) return std::nullopt;
    }
    std::uint64_t bits = 0;
    std::memcpy(&bits, &from.bits[cell.at()], bytes);
    return bits;
  }
  std::optional<Mask> truths(const Lanes& lanes, Spot place, Mask mask) const;

  // Whole warps (ptx/field_moves.h). False: lane by lane, which also names what is wrong.
  template <class Slots, class Places>
  bool read_all(Lanes& lanes, const Slots& slots, const Places& at, unsigned each, bool sign,
                Mask mask);
  template <bool compare, class Slots, class Places>
  bool write_all(const Lanes& lanes, const Slots& slots, const Places& at, unsigned each, Mask mask,
                 Mask& unchanged);
  bool exact_all(const Lanes& lanes, Spot place, unsigned width, Mask mask,
                 std::array<std::uint64_t, lane_count>& bits) const;
  /// Bits of each lane to a register of 32 bits.
  void put_lanes(Lanes& lanes, Spot place, const std::array<std::uint64_t, lane_count>& bits,
                 Mask mask);
  /// Whether the bytes of a register of the lanes of a mask are exact.
  static bool all_exact(const Lanes& lanes, Spot place, unsigned width, Mask mask);
  static void mark_exact(Lanes& lanes, Spot place, unsigned width, Mask mask);

  /// Inlined, so that the loads of sources that a row does not have vanish.
  template <Type T>
  [[gnu::always_inline]] Value<T> load(const Lanes& lanes, Cell cell) const;
  template <Type T>
  void store(Lanes& lanes, Cell cell, const Value<T>& value);
  template <Type T>
  void store(Lanes& lanes, Cell cell, bool truth) requires(T == Type::pred) {
    put(lanes, cell, 4, truth ? 1 : 0);
  }
  void settle(Lanes&, Definedness, Spot, unsigned, const Spot*, Mask) {}
  void multiply(Lanes& lanes, const Mma& mma);
  /// Sixteen rows of a product whose operands lie in `memory`; false: cells will do.
  bool multiply_wide(Lanes& lanes, Region& memory, const WideMma& mma);

  // What values and the verifier ask.

  Arithmetic& arithmetic() { return arithmetic_; }
  Number number(std::uint32_t id) const {
    return id < first_strip ? numbers_[id] : distant_number(id);
  }
  Strips& strips() { return *strips_; }
  std::uint32_t keep(const Number& number) {
    if (number.special == Special::poison) return poison_id();
    std::uint32_t id = new_id();
    numbers_[id] = number;
    return id;
  }
  /// What `make` gives, in this format, made where it is kept. `make` keeps nothing itself.
  template <class Make>
  std::uint32_t keep_made(Type type, bool exact, Make make) {
    std::uint32_t id = new_id();
    Number& number = *new (&numbers_[id]) Number(make());
    if (number.special == Special::poison) {
      free_.push_back(id);
      return poison_id();
    }
    Arithmetic::put_in_format(number, type, exact);
    if (number.finite()) arithmetic_.summary().note_magnitude(number.shadow);
    return id;
  }
  /// The number of this format in the arena whose bytes these are; null where it is elsewhere.
  template <std::size_t bytes>
  const Number* held(const std::array<Tag, bytes>& tags, Type type) const {
    Tag first = tags[0], differ = first & 7;
    for (unsigned i = 1; i < bytes; ++i) differ |= tags[i] ^ (first + i);
    std::uint32_t id = first >> 3;
    if (differ != 0 || id == 0 || id >= first_strip) return nullptr;
    const Number& number = numbers_[id];
    return number.type() == type ? &number : nullptr;
  }
  /// The number of a literal's bits; lasting.
  std::uint32_t literal(std::uint64_t bits, Type type);
  /// The number whose bytes these are, or 0 after a complaint.
  std::uint32_t read_number(const std::uint8_t* bits, const Tag* tags, Type type);
  std::uint32_t poison_id() const { return lasting; }

  // Integer data.

  Words& words() { return words_; }
  bool is_word(std::uint32_t id) const {
    return (id >= first_word && id < first_input) ||
           (any_symbolic_ && id >= first_input && id < lasting && recipe_of(id).symbolic);
  }
  /// A sum of an integer product, or an integer that was made of a float.
  bool is_whole(std::uint32_t id) const {
    return id != poison_id() && !is_word(id) && type_of(id) == Type::s32;
  }
  /// Rows that only move bits, where all operands but one are exact: bfe, bfi, brev, shf, lop3.
  static bool moves_bits(std::uint16_t row);
  Word word(std::uint32_t id);
  std::uint32_t keep(const Word& word);
  /// The word that these bytes make, where every byte is exact or of a word.
  std::optional<Word> word_of(const std::uint8_t* bits, const Tag* tags, unsigned bytes);
  std::optional<Number> number_of(const Word& word, Type as) {
    if (is_float_source(word.source)) return std::nullopt;
    return words_.number(word, as, element_bits(word.source));
  }

  // Bits of floats (field_bits.h); 0 is no number.

  /// Rows whose result has each bit from the same bit of the operands.
  static bool bit_by_bit(std::uint16_t row);
  /// The bits of a whole f32, as a word of it.
  std::optional<Word> float_word(const Tag* tags, unsigned bytes);
  /// Of a word that is the bits of its float unchanged: the float.
  std::uint32_t float_itself(const Word& word);
  std::optional<Word> float_plus(const Word& word, std::uint32_t addend);
  /// The float multiplied by 2 to the power of so many steps of the exponent.
  std::uint32_t float_times(const Tag* tags, const Number& steps, bool inverse);
  /// One is a sign that was taken out of a float's bits, and the other's sign is set or flipped.
  std::uint32_t with_sign_of(Words::Bitwise what, const Word& a, const Word& b);
  /// A float's bits plus a constant, of which a mask leaves the exponent and the sign.
  std::optional<Number> exponent_of(const std::optional<Word>& word, std::uint32_t mask);
  /// Where a float is whole because it is between 2^23 and 2^24: its bits as an integer, plus this.
  std::optional<Number> whole_float(const Tag* tags, std::uint32_t addend);
  std::optional<std::uint32_t> float_decided(const Tag* tags, std::uint64_t asked,
                                             std::uint64_t known);
  /// A word of a float, as the shadow has it.
  std::optional<std::uint32_t> word_decided(const Word& word, std::uint64_t asked,
                                            std::uint64_t known);
  /// Of two keys that one function of bits made, and whose order as integers is that of floats.
  std::optional<Word> extreme_float(const Word& a, const Word& b, bool larger, bool as_signed);

  void set_lemmas(const Lemmas* lemmas) { lemmas_ = lemmas; }
  /// Of the operation that is being carried out.
  const Lemma* lemma() const {
    if (lemmas_ == nullptr || lemmas_->empty()) return nullptr;
    auto found = lemmas_->find(static_cast<std::uint32_t>(arithmetic_.instruction()));
    return found == lemmas_->end() ? nullptr : &found->second;
  }

  /// An atomic sum of one lane, where it is one of floats on global memory; its result is unknown.
  bool reduce(Region& region, std::uint64_t offset, Lanes& lanes, const Operation& op,
              unsigned lane);
  /// Hands over what the block wrote, in order of tensor and element, and forgets the block.
  std::vector<Written> finish_block();
  /// Elements of tensors that change which the block read before it wrote them, each once: tensor,
  /// element. Forgets them.
  std::vector<std::pair<std::uint32_t, std::uint64_t>> initial_reads();

  /// Bits of the f32 literals that were read, sorted.
  std::vector<std::uint32_t> literals() const;

  static constexpr std::uint64_t page_bytes = 1024;
  static constexpr std::uint64_t piece_bytes = 256;
  static constexpr unsigned known_inputs_bits = 12;
  std::uint64_t peak_numbers() const { return peak_; }

 private:
  std::shared_ptr<Plane> new_plane(std::size_t bytes);
  Plane& page(Region& region, std::uint64_t offset);
  void fetch(Region& from, std::uint64_t offset, std::uint8_t* bits, Tag* tags, unsigned bytes);
  void fetch_input(std::size_t tensor, std::uint64_t offset, std::uint8_t* bits, Tag* tags,
                   unsigned bytes);
  void deposit(Region& to, std::uint64_t offset, const std::uint8_t* bits, const Tag* tags,
               unsigned bytes);
  bool same_number(std::uint32_t a, std::uint32_t b);
  void collect_if_large() {
    if (numbers_.size() - free_.size() >= collect_at_ && free_.empty()) collect();
  }
  void collect();
  Number number_settled(std::uint32_t id) { return arithmetic_.settled(number(id)); }
  Number distant_number(std::uint32_t id) const;
  Number input_number(std::uint32_t id) const {
    std::size_t tensor = tensor_of(id);
    return point_->input(tensor, id - inputs_[tensor]);
  }
  std::size_t tensor_of(std::uint32_t id) const;
  const Recipe& recipe_of(std::uint32_t id) const { return point_->recipes()[tensor_of(id)]; }
  std::uint64_t element_bits(std::uint32_t source) const;
  /// A word's source: an element of a tensor, or one of these.
  static bool is_float_source(std::uint32_t source) { return source < first_tile; }
  const Number* whole_at(const Tag* tags, std::uint32_t& id, Number& place) const;
  Word float_made(const Number& number, Pattern pattern);
  std::uint32_t keep_float(const Number& number);
  /// Bits that an exponent alone makes: a power of two.
  std::uint32_t float_of_steps(const Number& steps);
  std::uint32_t read_word(const std::uint8_t* bits, const Tag* tags, Type type);
  bool same_word(Tag a, Tag b);
  void finish_sums(std::vector<Written>& out);
  bool takes_ticket(const Region& region, std::uint64_t offset, Lanes& lanes, const Operation& op,
                    unsigned lane);
  bool fetch_left(std::size_t tensor, std::uint64_t offset, std::uint8_t* bits, Tag* tags,
                  unsigned bytes);
  bool written_integer(const Plane& plane, std::uint64_t at, Type type, Written& written);
  static bool whole_tile(const Plane& plane, const Mma& mma);
  static void settle(const Lanes& lanes, const Cell* cells, std::size_t count);
  std::uint32_t id_at(const Plane& plane, std::size_t at, Type type);
  std::uint32_t half_literal(std::uint16_t bits, Type type);
  Operand operand(unsigned k, Type type, bool is_a);
  Operand operand_at(const Plane& plane, const Cell* cells, unsigned k, Type type, bool is_a);
  Operand rows_of(Lanes& lanes, Region& memory, const WideMma& wide);
  const std::vector<Operand>& columns_of(Region& memory, const WideMma& wide);
  void stamp(Region& region, std::uint64_t offset, std::uint64_t bytes) {
    ++clock_;
    for (std::uint64_t at = offset / piece_bytes; at <= (offset + bytes - 1) / piece_bytes; ++at)
      region.stamps[at] = clock_;
  }
  std::vector<Number> numbers_of(const std::vector<std::uint32_t>& ids, Type type);
  void multiply_tile(Lanes& lanes, const Mma& mma, const TileOperand& a, const TileOperand& b,
                     bool zero_c);
  void multiply_each(Lanes& lanes, const Mma& mma, const std::vector<Number>& a,
                     const std::vector<Number>& b, bool zero_c);
  void multiply_scaled(Lanes& lanes, const Mma& mma);
  Number integer_of(std::uint32_t id, Type type);
  std::uint32_t integer_id_at(const Plane& plane, std::size_t at, Type type);
  bool integer_at(const Plane& plane, std::size_t at, Type type, std::int32_t& value,
                  unsigned bit = 0);
  /// False where an operand is integer data that is not exact.
  bool multiply_exactly(Lanes& lanes, const Mma& mma);
  bool multiply_exactly(Lanes& lanes, Region& memory, const WideMma& wide);
  void put_number(Lanes& lanes, Cell cell, const Number& number, Type type);
  void collect_tiles();
  void collect_strips();
  void copy_register(Lanes& to, Spot to_place, const Lanes& from, Spot place, unsigned width);
  void put_names(Registers& to, Spot place, std::uint32_t id, unsigned step, unsigned width,
                 bool owned);
  bool read_one(const Region& from, std::uint64_t offset, Registers& to, Spot place);
  void read_row(const Region& from, std::uint64_t offset, Registers& to, Spot place, unsigned each);
  static void take_place(Registers& to, Spot place, unsigned width, Mask mask);
  template <class Slots, class Places>
  bool read_register(const Region& from, std::uint32_t names, const Places& at, const Slots& slots,
                     unsigned each, Lanes& lanes);
  static constexpr unsigned step_max = 0xFFFF;
  std::uint32_t names_of(const Region& from, unsigned each) const;
  void copy_in(Region& from, std::uint64_t offset, Lanes& to, std::size_t at, unsigned bytes);
  void copy_out(Region& to, std::uint64_t offset, const Lanes& from, std::size_t at,
                unsigned bytes);
  friend class Strips;
  /// Which of `count` runs of `each` names, from `begin` on, a register or memory holds.
  /// `each` is a power of two.
  std::vector<bool> live(std::uint32_t begin, std::size_t count, unsigned each) const;
  std::size_t looked_at() const;
  Type type_of(std::uint32_t id) const {
    return id < first_strip ? numbers_[id].type() : distant_type(id);
  }
  Type distant_type(std::uint32_t id) const;

  std::shared_ptr<const Point> point_;
  Arithmetic arithmetic_;
  std::uint32_t new_id() {
    if (!free_.empty()) {
      std::uint32_t id = free_.back();
      free_.pop_back();
      return id;
    }
    peak_ = std::max<std::uint64_t>(peak_, numbers_.size() + 1);
    if (numbers_.size() < first_strip) return numbers_.add();
    complain(ComplaintKind::unsupported, "more numbers at once than a block may have");
    return 1;
  }
  Arena numbers_;
  std::vector<Number> lasting_numbers_;
  std::vector<std::uint32_t> ids_;  // Of the operand that is being gathered.
  std::unique_ptr<Strips> strips_;
  std::unique_ptr<Tiles> tiles_;
  std::unique_ptr<Gathered> gathered_;
  std::uint64_t clock_ = 0;            // Writes to memory of a block.
  std::vector<std::uint32_t> inputs_;  // The name of each tensor's first element; 0: none.
  bool any_symbolic_ = false;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> initial_reads_;
  Words words_{*point_};
  std::vector<Word> word_arena_;
  /// Floats whose bits became words: where they are, and which source each is.
  std::vector<std::uint32_t> float_sources_{0};
  std::set<std::pair<std::uint64_t, std::uint64_t>> exponents_;  // And whose they are, by key.
  std::unordered_map<std::uint32_t, std::uint32_t> float_names_;
  const Lemmas* lemmas_ = nullptr;
  Turn turn_;
  std::vector<Ticket> tickets_;
  std::vector<std::uint64_t> left_reads_;
  std::map<std::pair<std::size_t, std::uint64_t>, Number> sums_;  // Of atomics, by element.
  struct Known {
    std::uint32_t id = 0;
    Number number;
  };
  mutable std::vector<Known> known_inputs_ =
      std::vector<Known>(std::size_t{1} << known_inputs_bits);
  std::array<std::vector<std::uint32_t>, 2> half_literals_;  // f16 and bf16, by their bits.
  std::vector<std::uint32_t> free_;
  std::vector<std::weak_ptr<Plane>> planes_;
  std::vector<std::weak_ptr<Registers>> registers_;
  std::vector<Region> buffers_;
  std::unordered_map<std::uint64_t, std::uint32_t> literals_;
  struct Recent {
    std::uint64_t key = 0;
    std::uint32_t id = 0;
  };
  std::array<Recent, 64> recent_literals_{};
  std::optional<Complaint> complaint_;
  unsigned lane_ = 0;
  /// Few enough that the numbers in use stay in the processor's cache.
  static constexpr std::size_t collect_least = std::size_t{3} << 13;
  std::size_t collect_at_ = collect_least;
  std::uint64_t peak_ = 0;
};

}  // namespace lathe::ptx::field

#include "ptx/field_moves.h"
#include "ptx/field_value.h"
