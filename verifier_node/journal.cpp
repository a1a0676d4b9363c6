#include "verifier_node/journal.h"

#include <vector>

#include "base/compress.h"
#include "base/record.h"
#include "verifier_node/kept.h"
#include "verifier_node/name_text.h"
#include "verifier_node/verify.h"

namespace lathe::verifier_node {
namespace {

/// Of one unit, compressed or not; and so many of them make a journal.
constexpr std::uint64_t unit_bytes_most = std::uint64_t{32} << 20;

struct Packed {
  static constexpr std::uint64_t version = 1;
  Digest name, whole, seal;
  std::uint64_t steps = 0;
  std::string bytes;
  static void fields(auto& self, auto&& field) {
    field("name", self.name);
    field("whole", self.whole);
    field("steps", self.steps);
    field("bytes", self.bytes);
    field("seal", self.seal);
  }
  Digest sealed() const { return name_of_all(name, whole, steps, bytes); }
};

}  // namespace

std::string encode(const Unit& unit) {
  Packed packed;
  packed.name = unit.name;
  packed.whole = unit.whole;
  packed.steps = unit.steps;
  packed.bytes = compress(unit.bytes);
  packed.seal = packed.sealed();
  return encode_record(packed);
}

Result<Unit> decode_unit(std::string_view bytes) {
  Result<Packed> packed = decode_record<Packed>(bytes, {16, 16, unit_bytes_most, 4});
  if (!packed) return packed.error();
  if (packed->sealed() != packed->seal)
    return Error{Fault::malformed, "a unit of a journal is damaged", "the proof begins again", {}};
  Result<std::string> whole = decompress(packed->bytes, unit_bytes_most);
  if (!whole) return whole.error();
  return Unit{packed->name, packed->whole, packed->steps, *std::move(whole)};
}

std::string framed(std::string_view unit) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8)
    out.push_back(static_cast<char>(unit.size() >> shift));
  return out.append(unit);
}

Result<std::vector<std::string>> frames_of(std::string_view journal) {
  std::vector<std::string> units;
  while (journal.size() >= 4) {
    std::uint64_t size = 0;
    for (std::size_t i = 0; i < 4; ++i) size = size << 8 | static_cast<std::uint8_t>(journal[i]);
    if (size > unit_bytes_most)
      return Error{Fault::malformed, "a journal is damaged", "the proof begins again", {}};
    if (journal.size() - 4 < size) break;
    units.emplace_back(journal.substr(4, size));
    journal.remove_prefix(4 + size);
  }
  return units;
}

Result<Done> Journal::take(std::string_view journal) {
  Result<std::vector<std::string>> frames = frames_of(journal);
  if (!frames) return frames.error();
  std::vector<Unit> units;
  for (const std::string& bytes : *frames) {
    Result<Unit> unit = decode_unit(bytes);
    if (!unit) return unit.error();
    units.push_back(*std::move(unit));
  }
  std::lock_guard<std::mutex> guard(lock_);
  for (Unit& unit : units) {
    std::uint64_t size = unit.bytes.size();
    keep(unit, {size, std::move(unit.bytes)});
  }
  return Done{};
}

/// The whole makes its parts needless.
void Journal::keep(const Unit& unit, Known known) {
  if (units_.contains(unit.name) || units_.contains(unit.whole)) return;
  auto [begin, end] = parts_.equal_range(unit.name);
  for (auto part = begin; part != end; ++part)
    if (auto found = units_.find(part->second); found != units_.end()) {
      bytes_ -= found->second.size;
      units_.erase(found);
    }
  parts_.erase(begin, end);
  bytes_ += known.size;
  if (unit.whole != Digest{}) parts_.emplace(unit.whole, unit.name);
  units_.emplace(unit.name, std::move(known));
}

std::optional<std::string> Journal::find(const Digest& name) {
  std::lock_guard<std::mutex> guard(lock_);
  auto found = units_.find(name);
  if (found == units_.end() || !found->second.bytes) return std::nullopt;
  ++found_;
  return found->second.bytes;
}

bool Journal::knows(const Digest& name) const {
  std::lock_guard<std::mutex> guard(lock_);
  return units_.contains(name);
}

void Journal::note(const Unit& unit) {
  std::lock_guard<std::mutex> guard(lock_);
  std::uint64_t size = unit.bytes.size();
  if (size > unit_bytes_most / 2 || bytes_ + size > bytes_max_ || units_.contains(unit.name))
    return;
  if (sink_) sink_(encode(unit));
  steps_ += unit.steps;
  keep(unit, {size, std::nullopt});
}

std::uint64_t Journal::found() const {
  std::lock_guard<std::mutex> guard(lock_);
  return found_;
}

std::uint64_t Journal::steps() const {
  std::lock_guard<std::mutex> guard(lock_);
  return steps_;
}

Digest name_of_question(const Sides& sides, const Options& options) {
  NameText text;
  text.put(options.version);
  text.put(name_of_reference(sides));
  text.put(sides.contract->identity());
  text.put(ptx::print(*sides.candidate.module));
  const Launch& launch = sides.candidate.launch;
  for (const auto& triple : {launch.grid, launch.block, launch.cluster})
    for (std::uint32_t extent : triple) text.put(extent);
  text.put(launch.dynamic_shared_bytes);
  for (std::uint64_t number : {options.seed, std::uint64_t{options.points}, options.stress_blocks,
                               options.steps_max, options.block_begin, options.block_end})
    text.put(number);
  return text.digest();
}

}  // namespace lathe::verifier_node
