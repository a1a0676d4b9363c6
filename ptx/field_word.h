#pragma once

// Integer data as functions of bits. A word is a pattern over the bits of one
// element of an integer tensor: while it has more than eight of them, one wire
// a bit (a constant, or a bit of the element, perhaps inverted); with fewer, a
// table of all its values, to which any operation applies entry by entry. As a
// number it is its multilinear extension, with a residue for each bit of the
// element: two patterns are equal for every element exactly if their extensions
// are.

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
  /// Left by a positive number of bits, right by a negative one.
  std::optional<Word> shifted(Word a, int by, bool sign);
  std::optional<Word> resized(Word a, unsigned width, bool sign);

  /// The real number that the word is: as an integer, or as the bits of a
  /// format.
  std::optional<Number> number(Word word, Type as, std::uint64_t element_bits);
  /// What the word is for this element.
  std::uint64_t value(Pattern pattern, std::uint64_t element_bits) const;

 private:
  struct Body {
    unsigned width = 32;
    bool table = false;
    std::array<Wire, word_bits_max> wires{};
    std::uint64_t mask = 0;             // Of a table: the bits that it depends on.
    std::vector<std::uint64_t> values;  // By those bits, the lowest first.
    bool operator<(const Body& other) const;
  };
  struct Values {
    std::vector<Residues> residues;
    std::vector<double> reals;
  };

  Pattern known(Body body);
  Pattern normal(Body body);
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
  std::map<Body, Pattern> by_body_;
  std::map<Body, Pattern> by_written_;  // What was made of bodies as they were given.
  std::unordered_map<Key, std::optional<Pattern>, KeyHash> remembered_;
  std::unordered_map<std::uint64_t, Values> values_;  // By pattern and type.
};

}  // namespace lathe::ptx::field
