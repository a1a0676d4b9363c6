#pragma once

// The bytes of registers or of memory, and what each of them is.

#include <cstdint>
#include <vector>

namespace lathe::ptx::field {

/// Of one byte: 0 is exact; otherwise number << 3 | which byte of it.
using Tag = std::uint32_t;
inline constexpr Tag poison_tag = 0xFFFFFFFFu;

struct Plane {
  std::vector<std::uint8_t> bits;
  std::vector<Tag> tags;
  explicit Plane(std::size_t bytes) : bits(bytes), tags(bytes, poison_tag) {}
};

/// What all lanes of a register hold, said once instead of byte by byte: that they are exact, or
/// the numbers `id + step * lane`.
struct Content {
  enum Kind : std::uint8_t { by_tags, exact, names };
  std::uint32_t id = 0;
  std::uint16_t step = 0;
  Kind kind = by_tags;
  std::uint8_t width = 4;  // Of names: bytes of a lane, 2 or 4.
  std::uint8_t part = 0;   // Which 64 bytes of the register these are.
  bool owned = false;      // Nobody else names the strip of these names.
};

/// The registers of a warp. A register has a form, or tags where nobody knows of one; who looks at
/// tags settles them first. Moving a few bytes of form for each register instead of its tags is
/// what keeps a warp's registers in the processor's cache.
class Registers : public Plane {
 public:
  static constexpr unsigned part_bytes = 64;

  explicit Registers(std::size_t bytes) : Plane(bytes), contents_(bytes / part_bytes + 1) {}

  /// From now on these bytes are said by tags.
  void settle(std::size_t at, std::size_t bytes) {
    for (std::size_t i = at / part_bytes; i <= (at + bytes - 1) / part_bytes; ++i)
      if (contents_[i].kind != Content::by_tags) write_out(i);
  }
  const Content& content(std::size_t place) const { return contents_[place / part_bytes]; }
  const std::vector<Content>& contents() const { return contents_; }
  /// Whether a register of so many bytes has one form.
  bool holds(std::size_t place, std::size_t bytes, Content::Kind kind) const {
    const Content* first = &contents_[place / part_bytes];
    for (unsigned i = 0; i < bytes / part_bytes; ++i)
      if (first[i].kind != kind || first[i].part != i || first[i].id != first->id ||
          first[i].step != first->step || first[i].width != first->width)
        return false;
    return true;
  }
  /// Whether its names are a strip's that nobody else names.
  bool owns(std::size_t place, std::size_t bytes) const {
    const Content* first = &contents_[place / part_bytes];
    for (unsigned i = 0; i < bytes / part_bytes; ++i)
      if (!first[i].owned) return false;
    return holds(place, bytes, Content::names);
  }
  void put(std::size_t place, std::size_t bytes, Content content) {
    Content* first = &contents_[place / part_bytes];
    for (unsigned i = 0; i < bytes / part_bytes; ++i) {
      content.part = static_cast<std::uint8_t>(i);
      first[i] = content;
    }
  }

 private:
  void write_out(std::size_t part);

  std::vector<Content> contents_;
};

}  // namespace lathe::ptx::field
