#pragma once

// Integer data as functions of bits. A word is a pattern over the bits of one
// element of an integer tensor: while it has more than eight of them, one wire
// a bit (a constant, or a bit of the element, perhaps inverted); with fewer, a
// table of all its values, to which any operation applies entry by entry. As a
// number it is its multilinear extension, with a residue for each bit of the
// element: two patterns are equal for every element exactly if their extensions
// are. The bits of a float that inputs decide are a word too, of two halves: one
// pattern where the sign bit is clear and one where it is set.

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "ptx/field_point.h"

namespace lathe::ptx::field {

using Pattern = std::uint32_t;

/// The value of a float's bits.
double float_value(std::uint64_t bits, Type type);

/// How a float's bits were changed, where each bit but the sign's is kept or each is inverted.
struct KeyShape {
  struct Half {
    bool inverted = false, top = false;
  };
  std::array<Half, 2> halves;  // Of a clear sign bit, and of one that is set.
};

/// A word: which element (no_source: a constant), and how its bits make it.
struct Word {
  static constexpr std::uint32_t no_source = ~std::uint32_t{0};
  std::uint32_t source = no_source;
  Pattern pattern = 0;
};

class Words {
 public:
  static constexpr unsigned table_bits_max = 8, word_bits_max = 64;
  /// 0 and 1 are constants; 2 + 2 b is bit b of the element, 3 + 2 b its
  /// inverse.
  using Wire = std::uint8_t;
  static constexpr Wire wire_of(unsigned bit) { return static_cast<Wire>(2 + 2 * bit); }

  explicit Words(const Point& point);

  Pattern constant(std::uint64_t bits, unsigned width);
  unsigned width(Pattern pattern) const { return bodies_[pattern].width; }
  /// The bits of a word that does not depend on its element.
  std::optional<std::uint64_t> known_bits(Pattern pattern) const {
    const Body& body = bodies_[pattern];
    if (!body.table || body.mask != 0) return std::nullopt;
    return body.values[0];
  }
  Pattern identity(unsigned width);
  /// The bits of an f32 themselves.
  Pattern float_bits();
  /// An f32's bits as an integer, plus a constant.
  Pattern float_plus(std::uint32_t addend);
  /// That constant, where it is one.
  std::optional<std::uint32_t> addend_of(Pattern pattern) const {
    const Body& body = bodies_[pattern];
    return body.addend == 0 ? std::optional<std::uint32_t>() : body.addend;
  }
  std::optional<KeyShape> key_shape(Pattern pattern) const;
  /// What the halves of a float's word are, where both are constant.
  std::optional<std::array<std::uint64_t, 2>> known_halves(Pattern pattern) const;
  /// The bytes of several words of one element, one after the other.
  std::optional<Word> joined(std::span<const Word> words, std::span<const std::uint8_t> bytes);

  /// Any function of the operands' bits. `name` names the function; nothing
  /// where the operands are of different elements, or too wide for it.
  using Function = std::function<std::uint64_t(std::span<const std::uint64_t>)>;
  std::optional<Word> apply(std::uint64_t name, std::span<const Word> operands, unsigned width,
                            const Function& function);
  /// A function of one word that only moves, inverts, clears and sets bits.
  std::optional<Word> moved(std::uint64_t name, Word a, unsigned width,
                            const std::function<std::uint64_t(std::uint64_t)>& function);
  enum class Bitwise : std::uint8_t { both, either, differ };
  std::optional<Word> bitwise(Bitwise what, Word a, Word b);
  /// A function of each bit by itself.
  std::optional<Word> by_bits(std::uint64_t name, std::span<const Word> operands, unsigned width,
                              const Function& function);
  /// Left by a positive number of bits, right by a negative one.
  std::optional<Word> shifted(Word a, int by, bool sign);
  std::optional<Word> resized(Word a, unsigned width, bool sign);

  /// The real number that the word is: as an integer, or as the bits of a
  /// format.
  std::optional<Number> number(Word word, Type as, std::uint64_t element_bits);
  /// What the word is for a float of these bits.
  std::uint64_t float_value_of(Pattern pattern, std::uint32_t bits) const {
    const Body& body = bodies_[pattern];
    if (body.addend != 0) return static_cast<std::uint32_t>(bits + body.addend);
    return value(body.split ? body.halves[bits >> 31] : pattern, bits);
  }
  /// What the word is for this element.
  std::uint64_t value(Pattern pattern, std::uint64_t element_bits) const;

 private:
  struct Body {
    unsigned width = 32;
    bool table = false;
    std::array<Wire, word_bits_max> wires{};
    std::uint64_t mask = 0;             // Of a table: the bits that it depends on.
    std::vector<std::uint64_t> values;  // By those bits, the lowest first.
    bool split = false;                 // Of a float: by its sign bit one of the halves.
    std::array<Pattern, 2> halves{};
    std::uint32_t addend = 0;  // Not 0: a float's bits plus this, and nothing else.
    bool operator<(const Body& other) const;
  };
  struct Values {
    std::vector<Residues> residues;
    std::vector<double> reals;
  };

  Pattern known(Body body);
  Pattern of_halves(Pattern clear, Pattern set);
  template <class Compute>
  std::optional<Pattern> on_halves(std::span<const Word> operands, Compute compute);
  std::optional<Pattern> entries(std::span<const Word> operands, unsigned width,
                                 const Function& function);
  std::optional<Pattern> wires_of_both(Bitwise what, Pattern a, Pattern b);
  std::uint64_t mask_of(const Body& body) const;
  std::optional<Body> wired(Pattern pattern) const;
  const Values* values_of(Pattern pattern, Type as);
  Residues bit_residues(std::uint32_t source, unsigned bit) const;
  static std::optional<std::uint32_t> source_of(std::span<const Word> words);
  /// What `compute` made of these patterns the first time.
  template <class Compute>
  std::optional<Word> remembered(std::uint64_t name, std::span<const Word> operands,
                                 Compute compute);

  /// 128 bits that name an operation and its operands.
  struct Key {
    std::uint64_t low, high;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const { return key.low; }
  };

  const Point* point_;
  std::vector<Body> bodies_;
  std::optional<Pattern> float_bits_;
  std::map<Body, Pattern> by_body_;
  std::unordered_map<Key, std::optional<Pattern>, KeyHash> remembered_;
  std::unordered_map<std::uint64_t, Values> values_;  // By pattern and type.
};

}  // namespace lathe::ptx::field
