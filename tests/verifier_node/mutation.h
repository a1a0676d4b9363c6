#pragma once

// One-edit mutants of a kernel: each differs from its text in one instruction (or in the order of
// two), in one of twelve classes of edits. What an edit becomes is drawn from a seed.

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "ptx/module.h"

namespace lathe::verifier_node::mutation {

enum class Edit : std::uint8_t {
  synchronisation,  // A barrier, fence, wait or commit dropped, weakened or moved; a parity.
  swapped_operands,
  shifted_address,
  changed_constant,
  swizzle,  // A shift, mask or exclusive or of an address by another amount.
  signedness,
  modifier,  // Another comparison, shuffle, rounding, width.
  dropped,
  other_register,
  other_opcode,
  guard,  // Turned, dropped, added.
  neighbours,
  count
};
inline constexpr std::array<const char*, static_cast<std::size_t>(Edit::count)> edit_names{
    "synchronisation", "swapped operands", "shifted address", "changed constant",
    "swizzle",         "signedness",       "modifier",        "dropped instruction",
    "other register",  "other opcode",     "guard",           "neighbours exchanged"};

struct Mutant {
  Edit edit{};
  std::string text;
  std::size_t instruction = 0;  // Of the original.
  std::string before, after;    // The instruction's text; `after` empty: dropped.
  std::uint32_t line = 0;
};

/// An instruction in pieces that can be put together again.
struct Parts {
  std::string guard, op;
  std::vector<std::string> operands;

  explicit Parts(const ptx::Instruction& from) {
    if (from.guard)
      guard = "@" + std::string(from.guard->negated ? "!" : "") +
              std::string(from.guard->predicate) + " ";
    op = std::string(from.opcode);
    for (std::string_view modifier : from.modifiers) op += "." + std::string(modifier);
    for (const ptx::Operand& operand : from.operands) operands.push_back(std::string(operand.text));
  }
  std::string print() const {
    std::string text = guard + op;
    for (std::size_t i = 0; i < operands.size(); ++i) text += (i == 0 ? " " : ", ") + operands[i];
    return text + ";";
  }
};

class Mutator {
 public:
  Mutator(const ptx::Module& module, const std::string& entry, std::uint64_t seed)
      : module_(&module), function_(module.find_entry(entry)), seed_(seed) {}

  /// The `number`-th draw of a class; nothing where the drawn instruction has no such edit.
  std::optional<Mutant> draw(Edit edit, std::uint64_t number) {
    counter_ = 0;
    stream_ = number * static_cast<std::uint64_t>(Edit::count) + static_cast<std::uint64_t>(edit);
    const auto& instructions = function_->instructions;
    std::size_t at = below(instructions.size());
    // The class's sites may be few: the first from here on that has the edit.
    for (std::size_t i = 0; i < instructions.size(); ++i) {
      std::size_t site = (at + i) % instructions.size();
      if (auto mutant = edited(edit, site)) return mutant;
    }
    return std::nullopt;
  }

 private:
  std::uint64_t below(std::uint64_t n) { return philox64(seed_, stream_, counter_++) % n; }
  template <std::size_t N>
  const char* one_of(const char* const (&list)[N]) {
    return list[below(N)];
  }
  static bool begins(const std::string& text, std::initializer_list<const char*> with) {
    return std::any_of(with.begin(), with.end(),
                       [&](const char* start) { return text.starts_with(start); });
  }
  bool control(const std::string& op) const {
    return begins(op, {"bra", "ret", "exit", "call", "trap", "brx"});
  }

  std::optional<Mutant> made(Edit edit, std::size_t site, std::vector<std::string> fresh) {
    const ptx::Instruction& from = function_->instructions[site];
    const std::string& text = *module_->text;
    Mutant mutant;
    mutant.edit = edit;
    mutant.instruction = site;
    mutant.line = from.span.line;
    mutant.before = text.substr(from.span.begin, from.span.end - from.span.begin);
    for (const std::string& line : fresh) mutant.after += (mutant.after.empty() ? "" : " ") + line;
    mutant.text = text.substr(0, from.span.begin) + mutant.after + text.substr(from.span.end);
    return mutant;
  }

  std::optional<Mutant> edited(Edit edit, std::size_t site) {
    Parts parts(function_->instructions[site]);
    std::vector<std::string> fresh;
    bool done = false;
    switch (edit) {
      case Edit::synchronisation:
        return synchronisation(site, parts);
      case Edit::neighbours:
        return neighbours(site);
      case Edit::dropped:
        done = !control(parts.op) && !synchronises(parts.op);
        return done ? made(edit, site, {}) : std::nullopt;
      case Edit::swapped_operands:
        done = swapped(parts);
        break;
      case Edit::shifted_address:
        done = shifted(site, parts);
        break;
      case Edit::changed_constant:
        done = constant(site, parts);
        break;
      case Edit::swizzle:
        done = swizzled(site, parts);
        break;
      case Edit::signedness:
        done = signedness(parts);
        break;
      case Edit::modifier:
        done = modifier(parts);
        break;
      case Edit::other_register:
        done = other_register(site, parts);
        break;
      case Edit::other_opcode:
        done = other_opcode(parts);
        break;
      default:
        done = guard(site, parts);
    }
    return done ? made(edit, site, {parts.print()}) : std::nullopt;
  }

  static bool synchronises(const std::string& op) {
    return begins(op,
                  {"bar.", "barrier.", "membar", "fence", "cp.async.wait", "cp.async.commit",
                   "cp.async.bulk.wait", "cp.async.bulk.commit", "wgmma.fence", "wgmma.commit",
                   "wgmma.wait", "mbarrier", "tcgen05.wait", "tcgen05.fence", "tcgen05.commit"});
  }

  std::optional<Mutant> synchronisation(std::size_t site, Parts parts) {
    if (!synchronises(parts.op)) return std::nullopt;
    switch (below(5)) {
      case 0:
        if (begins(parts.op, {"bar.sync", "barrier"}))
          return made(Edit::synchronisation, site, {"bar.warp.sync -1;"});
        return made(Edit::synchronisation, site, {});
      case 1:
        if (begins(parts.op, {"bar.sync", "barrier"}))
          return made(Edit::synchronisation, site, {"membar.cta;"});
        if (!parts.operands.empty() &&
            parts.operands.back().find_first_not_of("0123456789") == std::string::npos) {
          parts.operands.back() = std::to_string(std::stoul(parts.operands.back()) + 1);
          return made(Edit::synchronisation, site, {parts.print()});
        }
        return made(Edit::synchronisation, site, {});
      case 2:
        return made(Edit::synchronisation, site, {});
      default:
        return moved(site, parts, below(2) == 0, 1 + below(12));
    }
  }

  /// The instruction some way further up or down, as far as no label or branch stands between.
  std::optional<Mutant> moved(std::size_t site, const Parts& parts, bool up, std::size_t by) {
    const auto& all = function_->instructions;
    std::size_t to = site;
    for (; by > 0; --by) {
      if (up ? to == 0 : to + 1 == all.size()) break;
      std::size_t next = up ? to - 1 : to + 1;
      if (control(std::string(all[next].opcode)) || label_between(std::min(to, next))) break;
      to = next;
    }
    if (to == site) return made(Edit::synchronisation, site, {});
    std::string text = *module_->text;
    const ptx::Span &own = all[site].span, &other = all[to].span;
    std::optional<Mutant> mutant = made(Edit::synchronisation, site, {});
    mutant->after =
        parts.print() + (up ? " before line " : " after line ") + std::to_string(other.line);
    if (up) {
      text.erase(own.begin, own.end - own.begin);
      text.insert(other.begin, parts.print() + "\n\t");
    } else {
      text.insert(other.end, "\n\t" + parts.print());
      text.erase(own.begin, own.end - own.begin);
    }
    mutant->text = text;
    return mutant;
  }

  bool label_between(std::size_t site) const {
    std::uint32_t from = function_->instructions[site].span.end,
                  to = function_->instructions[site + 1].span.begin;
    return std::any_of(
        function_->labels.begin(), function_->labels.end(),
        [&](const ptx::Label& label) { return label.span.begin >= from && label.span.end <= to; });
  }

  std::optional<Mutant> neighbours(std::size_t site) {
    const auto& all = function_->instructions;
    if (site + 1 >= all.size() || label_between(site)) return std::nullopt;
    Parts first(all[site]), second(all[site + 1]);
    if (control(first.op) || control(second.op)) return std::nullopt;
    // Only two of which the second reads or overwrites something of the first; or memory.
    bool related =
        begins(second.op, {"bar", "cp.async", "st."}) || begins(first.op, {"bar", "cp."});
    if (!first.operands.empty())
      for (std::size_t i = 0; i < second.operands.size(); ++i)
        related |= second.operands[i].find(first.operands[0]) != std::string::npos;
    if (!related) return std::nullopt;
    std::optional<Mutant> mutant = made(Edit::neighbours, site, {second.print()});
    std::string text = *module_->text;
    text.replace(all[site + 1].span.begin, all[site + 1].span.end - all[site + 1].span.begin,
                 first.print());
    text.replace(all[site].span.begin, all[site].span.end - all[site].span.begin, second.print());
    mutant->text = text;
    return mutant;
  }

  bool swapped(Parts& parts) {
    if (synchronises(parts.op) || control(parts.op)) return false;
    std::size_t count = parts.operands.size();
    if (begins(parts.op, {"st.", "ld.", "cp.", "atom", "red", "cvta", "mbarrier"})) {
      // The parts of a vector change places.
      for (std::string& operand : parts.operands) {
        std::size_t open = operand.find('{'), comma = operand.find(','), end = operand.find('}');
        if (open == std::string::npos || comma == std::string::npos) continue;
        std::size_t next = std::min(operand.find(',', comma + 1), end);
        std::string a = operand.substr(open + 1, comma - open - 1);
        std::string b = operand.substr(comma + 1, next - comma - 1);
        operand = "{" + b + "," + a + operand.substr(next);
        return true;
      }
      return false;
    }
    if (count < 3) return false;
    std::size_t i = 1 + below(count - 1), j = 1 + below(count - 1);
    if (i == j || parts.operands[i] == parts.operands[j]) return false;
    std::swap(parts.operands[i], parts.operands[j]);
    return true;
  }

  bool shifted(std::size_t site, Parts& parts) {
    const auto& operands = function_->instructions[site].operands;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].kind != ptx::Operand::Kind::address || parts.op.starts_with("ld.param"))
        continue;
      static const std::int64_t steps[] = {2, -2, 4, 8, 16, -16, 32, 64, 128, 256, 1024, 1};
      std::int64_t offset = operands[i].offset + steps[below(12)];
      std::string base(operands[i].parts.empty() ? "" : operands[i].parts[0].text);
      if (base.empty() || operands[i].parts.size() > 1) continue;
      base = base.substr(0, base.find_first_of(" +"));
      parts.operands[i] = "[" + base + "+" + std::to_string(offset) + "]";
      return true;
    }
    return false;
  }

  bool constant(std::size_t site, Parts& parts) {
    const auto& operands = function_->instructions[site].operands;
    for (std::size_t n = operands.size(); n > 0; --n) {
      const ptx::Operand& operand = operands[n - 1];
      if (operand.kind == ptx::Operand::Kind::float_bits && operand.width == 32) {
        static const std::uint32_t changes[] = {1, 2, 0x10, 0x1000, 0x00800000, 0x80000000};
        std::uint32_t bits = static_cast<std::uint32_t>(operand.bits) ^ changes[below(6)];
        char text[16];
        std::snprintf(text, sizeof text, "0f%08X", bits);
        parts.operands[n - 1] = text;
        return true;
      }
      if (operand.kind == ptx::Operand::Kind::integer) {
        auto value = static_cast<std::int64_t>(operand.bits);
        static const std::int64_t factors[] = {1, 1, 2, 1, 1, 4};
        static const std::int64_t addends[] = {1, -1, 0, 2, 16, 0};
        std::size_t choice = below(6);
        std::int64_t other = value * factors[choice] + addends[choice];
        if (other == value) other = value + 1;
        parts.operands[n - 1] = std::to_string(other);
        return true;
      }
    }
    return false;
  }

  bool swizzled(std::size_t site, Parts& parts) {
    if (!begins(parts.op, {"xor.b", "and.b", "or.b", "shl.b", "shr.", "bfe", "bfi", "lop3"}))
      return false;
    const auto& operands = function_->instructions[site].operands;
    for (std::size_t n = operands.size(); n > 1; --n) {
      const ptx::Operand& operand = operands[n - 1];
      if (operand.kind != ptx::Operand::Kind::integer) continue;
      std::uint64_t value = operand.bits;
      bool shift = begins(parts.op, {"shl", "shr", "bf"});
      std::uint64_t other = shift           ? (below(2) == 0 ? value + 1 : value - 1)
                            : below(3) == 0 ? value << 1
                            : below(2) == 0 ? value >> 1
                                            : value ^ (std::uint64_t{1} << below(8));
      if (other == value) other = value + 1;
      if (shift) other &= 31;
      if (parts.op.starts_with("lop3")) other &= 255;
      parts.operands[n - 1] = std::to_string(static_cast<std::int64_t>(other));
      return true;
    }
    if (below(2) == 0 || !parts.op.starts_with("xor.b")) return false;
    parts.op.replace(0, 3, "or");
    return true;
  }

  bool signedness(Parts& parts) {
    if (!begins(parts.op, {"setp", "shr", "max", "min", "div", "rem", "mul.wide", "mul.hi", "cvt",
                           "mad.wide", "bfe", "abs", "ld.", "redux", "set."}))
      return false;
    for (const auto& [from, to] : {std::pair{".s32", ".u32"},
                                   {".u32", ".s32"},
                                   {".s64", ".u64"},
                                   {".u64", ".s64"},
                                   {".s16", ".u16"},
                                   {".u16", ".s16"},
                                   {".u8", ".s8"},
                                   {".s8", ".u8"}})
      if (std::size_t at = parts.op.rfind(from); at != std::string::npos) {
        parts.op.replace(at, std::string(from).size(), to);
        // Of a float's bits in max and min, too.
        return true;
      }
    if (begins(parts.op, {"max.f32", "min.f32"})) {
      parts.op.replace(4, 3, below(2) == 0 ? "s32" : "u32");
      return true;
    }
    return false;
  }

  bool replace_one(Parts& parts, std::initializer_list<std::pair<const char*, const char*>> pairs) {
    std::size_t skip = below(pairs.size());
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const auto& [from, to] = pairs.begin()[(i + skip) % pairs.size()];
      std::size_t at = parts.op.find(from);
      std::size_t end = at + std::string(from).size();
      if (at == std::string::npos || (end < parts.op.size() && parts.op[end] != '.')) continue;
      parts.op.replace(at, end - at, to);
      return true;
    }
    return false;
  }

  bool modifier(Parts& parts) {
    return replace_one(
        parts, {{".lt", ".le"},     {".lt", ".gt"},   {".le", ".lt"},       {".gt", ".ge"},
                {".ge", ".gt"},     {".eq", ".ne"},   {".ne", ".eq"},       {".gt", ".lt"},
                {".bfly", ".down"}, {".bfly", ".up"}, {".idx", ".bfly"},    {".lo", ".hi"},
                {".wide", ".lo"},   {".row", ".col"}, {".trans", ""},       {".x4", ".x4.trans"},
                {".v4", ".v2"},     {".b32", ".b16"}, {".approx", ".full"}, {".wrap", ".clamp"},
                {".xor", ".add"},   {".any", ".all"}});
  }

  bool other_register(std::size_t site, Parts& parts) {
    const auto& all = function_->instructions;
    if (synchronises(parts.op) || control(parts.op) || parts.operands.size() < 2) return false;
    std::size_t n = 1 + below(parts.operands.size() - 1);
    const std::string& operand = parts.operands[n];
    if (operand.empty() || operand[0] != '%') return false;
    std::string kind = operand.substr(0, operand.find_first_of("0123456789"));
    // A register of the same kind that an instruction nearby uses.
    for (std::size_t tries = 0; tries < 8; ++tries) {
      std::size_t near =
          std::min(all.size() - 1, site - std::min<std::size_t>(site, 12) + below(24));
      for (const ptx::Operand& other : all[near].operands) {
        std::string text(other.text);
        if (!text.starts_with(kind) || text == operand || text.size() <= kind.size()) continue;
        if (text.find_first_not_of("0123456789", kind.size()) != std::string::npos) continue;
        parts.operands[n] = text;
        return true;
      }
    }
    return false;
  }

  bool other_opcode(Parts& parts) {
    for (const auto& [from, to] : {std::pair{"add.", "sub."},
                                   {"sub.", "add."},
                                   {"max.", "min."},
                                   {"min.", "max."},
                                   {"and.", "or."},
                                   {"or.", "and."},
                                   {"xor.", "or."},
                                   {"shl.b32", "shr.b32"},
                                   {"neg.", "abs."},
                                   {"abs.", "neg."},
                                   {"selp.b32", "selp.b32"}}) {
      if (!parts.op.starts_with(from)) continue;
      std::string whole = parts.op;
      parts.op.replace(0, std::string(from).size(), to);
      if (parts.op == "shr.b32") parts.op = "shr.u32";
      if (parts.op != whole) return true;
      if (parts.operands.size() != 4) return false;
      std::swap(parts.operands[1], parts.operands[2]);
      return true;
    }
    if (parts.op == "mul.f32") {
      parts.op = below(2) == 0 ? "add.f32" : "div.full.f32";
      return true;
    }
    if (parts.op.starts_with("ex2.approx")) {
      parts.op.replace(0, 3, below(2) == 0 ? "lg2" : "rsqrt");
      return true;
    }
    if (parts.op.starts_with("div.full") || parts.op.starts_with("div.rn")) {
      parts.op = "mul.f32";
      return true;
    }
    return false;
  }

  bool guard(std::size_t site, Parts& parts) {
    if (!parts.guard.empty()) {
      if (parts.op == "bra" || below(2) == 0) {
        parts.guard =
            parts.guard[1] == '!' ? "@" + parts.guard.substr(2) : "@!" + parts.guard.substr(1);
      } else {
        parts.guard.clear();
      }
      return true;
    }
    if (control(parts.op) || synchronises(parts.op) || below(8) != 0) return false;
    // One of another instruction before it.
    for (std::size_t i = site; i > 0; --i)
      if (const auto& other = function_->instructions[i - 1].guard) {
        parts.guard = (below(2) == 0 ? "@" : "@!") + std::string(other->predicate) + " ";
        return true;
      }
    return false;
  }

  const ptx::Module* module_;
  const ptx::Function* function_;
  std::uint64_t seed_, stream_ = 0, counter_ = 0;
};

}  // namespace lathe::verifier_node::mutation
