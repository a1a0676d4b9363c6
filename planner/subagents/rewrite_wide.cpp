// Accesses of one thread to adjacent places of global memory become one wider access, where the
// address is known to be aligned for it.

#include <algorithm>
#include <optional>
#include <set>

#include "planner/subagents/alignment.h"

namespace lathe::planner {
namespace {

using ptx::Instruction;
using ptx::Operand;

constexpr std::uint32_t bytes_max = 16;

/// An access by a register's value and a constant.
struct Access {
  Index index = 0;
  RegisterId root = 0;
  Index root_maker = 0;
  std::int64_t offset = 0;
  std::uint32_t element = 0;          // Bytes.
  std::vector<std::string> elements;  // Registers that are loaded or stored.
  std::string kind;                   // The opcode without `.v2`: equal for what may be joined.
  std::uint32_t bytes() const { return element * static_cast<std::uint32_t>(elements.size()); }
};

std::size_t data_place(const Instruction& instruction) {
  return instruction.opcode == "ld" ? 0 : 1;
}

std::uint32_t element_bytes(std::string_view type) {
  if (type.ends_with("64")) return 8;
  if (type.ends_with("32")) return 4;
  if (type.ends_with("16")) return 2;
  return type.ends_with("8") ? 1 : 0;
}

class Finder {
 public:
  explicit Finder(const Site& site) : site_(site), flow_(site.flow), alignment_(site) {}

  /// Runs of adjacent accesses that may become one, in the order of the text.
  std::vector<std::vector<Access>> runs() {
    std::vector<std::vector<Access>> out;
    for (const Block& block : flow_.blocks()) {
      std::vector<Access> accesses;
      for (Index i = block.begin; i < block.end; ++i)
        if (auto access = read(i)) accesses.push_back(std::move(*access));
      std::set<Index> taken;
      for (const Access& first : accesses) {
        if (taken.contains(first.index)) continue;
        std::vector<Access> run = grow(first, accesses, taken);
        if (run.size() < 2) continue;
        for (const Access& one : run) taken.insert(one.index);
        out.push_back(std::move(run));
      }
    }
    return out;
  }

 private:
  std::optional<Access> read(Index index) {
    const Instruction& instruction = flow_.at(index);
    Touch touch = touch_of(instruction);
    if ((instruction.opcode != "ld" && instruction.opcode != "st") || !touch.global ||
        touch.orders || instruction.guard || !flow_.outermost(index) ||
        instruction.operands.size() != 2)
      return std::nullopt;
    Access access;
    access.index = index;
    access.element = element_bytes(instruction.modifiers.back());
    access.kind = instruction.opcode;
    for (std::string_view modifier : instruction.modifiers)
      if (modifier != "v2" && modifier != "v4") access.kind += "." + std::string(modifier);
    const Operand& data = instruction.operands[data_place(instruction)];
    const Operand& address = instruction.operands[1 - data_place(instruction)];
    if (access.element == 0 || address.kind != Operand::Kind::address ||
        address.parts.size() != 1 || address.parts[0].kind != Operand::Kind::name)
      return std::nullopt;
    std::vector<Operand> single{data};
    for (const Operand& part : data.kind == Operand::Kind::vector ? data.parts : single) {
      if (part.kind != Operand::Kind::name || part.text == "_" || !flow_.find(index, part.text))
        return std::nullopt;
      access.elements.push_back(std::string(part.text));
    }
    access.offset = address.offset;
    return rooted(access, address.parts[0]) ? std::optional(access) : std::nullopt;
  }

  /// Through sums with constants to the register that they start from.
  bool rooted(Access& access, const Operand& base) {
    Index at = access.index;
    const Operand* name = &base;
    for (unsigned step = 0; step < 64; ++step) {
      auto id = flow_.find(at, name->text);
      auto maker = id ? flow_.reaching(*id, at) : std::nullopt;
      if (!maker) return false;
      access.root = *id;
      access.root_maker = *maker;
      const Instruction& add = flow_.at(*maker);
      if (add.opcode != "add" || add.operands.size() != 3 || add.modifiers.size() != 1 ||
          !add.modifiers[0].ends_with("64") || add.operands[2].kind != Operand::Kind::integer ||
          add.operands[1].kind != Operand::Kind::name)
        return true;
      access.offset += static_cast<std::int64_t>(add.operands[2].bits);
      at = *maker;
      name = &add.operands[1];
    }
    return false;
  }

  /// The longest aligned run of power-of-two size that begins with `first`.
  std::vector<Access> grow(const Access& first, const std::vector<Access>& accesses,
                           const std::set<Index>& taken) {
    std::vector<Access> run{first}, best;
    std::uint32_t bytes = first.bytes();
    std::size_t elements = first.elements.size();
    for (bool grown = true; grown;) {
      grown = false;
      for (const Access& next : accesses) {
        if (next.root != first.root || next.root_maker != first.root_maker ||
            next.kind != first.kind || next.offset != first.offset + bytes ||
            taken.contains(next.index) || bytes + next.bytes() > bytes_max ||
            elements + next.elements.size() > 4)
          continue;
        run.push_back(next);
        bytes += next.bytes();
        elements += next.elements.size();
        grown = true;
        if ((elements == 2 || elements == 4) && is_aligned(first, bytes) && is_free(run))
          best = run;
        break;
      }
    }
    return best;
  }

  bool is_aligned(const Access& first, std::uint32_t bytes) {
    unsigned zeros = alignment_.zeros_of(first.root, first.index);
    std::uint64_t aligned = zeros >= 6 ? 64 : std::uint64_t{1} << zeros;
    return aligned % bytes == 0 && first.offset % bytes == 0;
  }

  /// Nothing between the first and the last of the run minds that they happen together: loads where
  /// the first was, stores where the last was.
  bool is_free(const std::vector<Access>& run) const {
    Index first = run.front().index, last = run.front().index;
    std::set<Index> members;
    for (const Access& one : run) {
      first = std::min(first, one.index);
      last = std::max(last, one.index);
      members.insert(one.index);
    }
    bool loads = flow_.at(first).opcode == "ld";
    auto address = flow_.find(run.front().index, base_of(run.front().index));
    Index place = loads ? first : last;
    // The joined access uses the address register of the lowest place.
    if (!address || !available(*address, run.front().index, place)) return false;
    for (Index i = first + 1; i < last; ++i) {
      if (members.contains(i)) continue;
      Touch touch = touch_of(flow_.at(i));
      if (touch.orders || (touch.writes && !touch.shared)) return false;
      if (!loads && touch.reads && !touch.shared) return false;
    }
    for (const Access& one : run)
      for (const std::string& element : one.elements) {
        auto id = flow_.find(one.index, element);
        if (!id || !moves(*id, one.index, place, loads)) return false;
      }
    return true;
  }

  std::string_view base_of(Index index) const {
    const Instruction& instruction = flow_.at(index);
    return instruction.operands[1 - data_place(instruction)].parts[0].text;
  }

  /// The register holds at `place` what it holds at `index`.
  bool available(RegisterId id, Index index, Index place) const {
    auto [low, high] = std::minmax(index, place);
    if (low == high) return true;
    auto maker = flow_.reaching(id, index);
    return maker && (*maker < low || flow_.block_of(*maker) != flow_.block_of(low)) &&
           !flow_.written_between(id, low - (low > 0), high);
  }

  bool moves(RegisterId id, Index index, Index place, bool loads) const {
    if (!loads) return index == place || !flow_.written_between(id, index, place);
    // Moving a load up: nobody reads or writes its register on the way.
    if (index == place) return true;
    if (flow_.written_between(id, place - (place > 0), index)) return false;
    return !flow_.read_between(id, place, index + 1);
  }

  const Site& site_;
  const Flow& flow_;
  Alignment alignment_;
};

void write_run(const Site& site, Draft& draft, const std::vector<Access>& run) {
  Index place = run.front().index;
  bool loads = site.flow.at(place).opcode == "ld";
  std::string list;
  std::size_t elements = 0;
  for (const Access& one : run) {
    place = loads ? std::min(place, one.index) : std::max(place, one.index);
    for (const std::string& element : one.elements) list += (elements++ > 0 ? ", " : "") + element;
  }
  const Instruction& lowest = site.flow.at(run.front().index);
  std::string opcode(lowest.opcode);
  for (std::size_t i = 0; i + 1 < lowest.modifiers.size(); ++i)
    if (lowest.modifiers[i] != "v2" && lowest.modifiers[i] != "v4")
      opcode += "." + std::string(lowest.modifiers[i]);
  opcode += ".v" + std::to_string(elements) + "." + std::string(lowest.modifiers.back());
  std::string address(lowest.operands[1 - data_place(lowest)].text);
  for (const Access& one : run) draft.remove(one.index);
  draft.replace(place, loads ? opcode + " \t{" + list + "}, " + address + ";"
                             : opcode + " \t" + address + ", {" + list + "};");
}

}  // namespace

void wide_accesses(const Site& site, std::vector<Rewrite>& out) {
  std::vector<std::vector<Access>> runs = Finder(site).runs();
  if (runs.empty()) return;
  Draft draft(site);
  std::size_t before = 0;
  for (const std::vector<Access>& run : runs) {
    write_run(site, draft, run);
    before += run.size();
  }
  out.push_back(
      {std::string(family::wide_access),
       "the accesses lie side by side, their address is a multiple of the joined size in "
       "every launch, and nothing between them may touch the same memory",
       std::to_string(before) + " accesses of global memory become " + std::to_string(runs.size()),
       draft.take()});
}

}  // namespace lathe::planner
