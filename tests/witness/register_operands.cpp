// How the operands of instructions on registers are written, by row.

#include "tests/witness/kernel.h"

namespace lathe::ptx::witness {
namespace {

/// Operands as the row's notation has them: `.type` unless they say another.
Operands plain(const Instance& instance, bool sources_are_other) {
  const Signature& s = instance.row->signature;
  Operands list{out(s.destination.in(instance.type, instance.other))};
  for (std::size_t i = 0; i < s.source_count; ++i) {
    Type fallback = sources_are_other ? instance.other : instance.type;
    Type type = s.sources[i].in(fallback, instance.other);
    bool amount = s.sources[i].fixed && *s.sources[i].fixed == Type::u32;
    list.push_back(in(type, amount ? Use::amount : Use::value));
  }
  return list;
}

bool has_boolean(const Instance& instance) {
  return instance.has("and") || instance.has("or") || instance.has("xor");
}

std::vector<Operands> comparison(const Instance& instance) {
  Type compared = instance.row->others != 0 ? instance.other : instance.type;
  bool predicate = instance.opcode() == "setp";
  Operands list{out(predicate ? Type::pred : instance.type), in(compared), in(compared)};
  if (has_boolean(instance)) list.push_back(in(Type::pred));
  if (predicate) list[0].with_predicate = true;  // p|q
  return {list};
}

Part several(Part part, unsigned count) {
  part.count = count;
  return part;
}

/// mov of one register, and to and from a vector of its parts.
std::vector<Operands> moves(const Instance& instance) {
  Type type = instance.type;
  std::vector<Operands> all{{out(type), in(type)}};
  if (type == Type::b32 || type == Type::b64) {
    Type half = type == Type::b32 ? Type::b16 : Type::b32;
    all.push_back({out(type), several(in(half), 2)});
    all.push_back({several(out(half), 2), in(type)});
  }
  if (type == Type::b64) {
    all.push_back({out(type), several(in(Type::b16), 4)});
    all.push_back({several(out(Type::b16), 4), in(type)});
  }
  return all;
}

std::vector<Operands> table_lookup(const Instance& instance) {
  std::vector<Operands> all;
  for (const char* table : {"0xE8", "0x96", "0x1B", "0xFE", "0x80", "0xCA"}) {
    Operands list{out(Type::b32), in(Type::b32), in(Type::b32), in(Type::b32), fixed(table)};
    if (has_boolean(instance)) {
      list[0].with_predicate = true;
      list.push_back(in(Type::pred));
    }
    all.push_back(std::move(list));
  }
  return all;
}

std::vector<Operands> conversion(const Instance& instance) {
  Operands list = plain(instance, true);
  // The third source of cvt.rs is random bits, that of cvt.pack the word to pack into.
  const Signature& s = instance.row->signature;
  bool pack = instance.has("pack");
  std::size_t words_from = pack ? 3 : instance.has("rs") ? (list.size() - 1) : list.size();
  for (std::size_t i = words_from; i < list.size(); ++i)
    if (!s.sources[i - 1].fixed) list[i].type = Type::b32;
  if (pack) list[0].type = Type::b32;
  std::vector<Operands> all{list};
  if (list.size() > s.operands_min) {
    list.resize(s.operands_min);
    all.push_back(list);
  }
  // A wider register takes a narrow result, extended.
  if (is_integer(instance.type) && width_of(instance.type) < 32 && !pack) {
    all.push_back(all[0]);
    all.back()[0].type = Type::b32;
  }
  return all;
}

}  // namespace

std::vector<Operands> register_operands(const Instance& instance) {
  std::string_view opcode = instance.opcode();
  const Signature& s = instance.row->signature;
  Effect effect = instance.row->effect;
  if (opcode.starts_with('$') || s.text.find('[') != std::string_view::npos) return {};
  if (effect == Effect::convert || opcode == "cvt") return conversion(instance);
  if (opcode == "setp" || opcode == "set") return comparison(instance);
  if (opcode == "selp")
    return {{out(instance.type), in(instance.type), in(instance.type), in(Type::pred)}};
  if (opcode == "slct")
    return {{out(instance.type), in(instance.type), in(instance.type), in(instance.other)}};
  if (opcode == "lop3") return table_lookup(instance);
  if (opcode == "dp4a" || opcode == "dp2a")
    return {{out(Type::b32), in(Type::b32), in(Type::b32), in(Type::b32)}};
  if (opcode == "prmt")
    return {{out(Type::b32), in(Type::b32), in(Type::b32), in(Type::b32)},
            {out(Type::b32), in(Type::b32), in(Type::b32), in(Type::b32, Use::amount)}};
  if (opcode == "mov") return moves(instance);
  if (opcode == "cvta" || opcode == "isspacep" || opcode == "mapa" || opcode == "getctarank")
    return {};
  if (instance.has("cc") || opcode == "addc" || opcode == "subc" || opcode == "madc") return {};
  if (effect == Effect::none) return {plain(instance, false)};
  if (effect == Effect::expand && instance.row->others != 0) {  // add.f32.f16 and its kin.
    Operands list = plain(instance, false);
    for (std::size_t i = 1; i + 1 < list.size(); ++i) list[i].type = instance.other;
    return {list};
  }
  if (effect == Effect::expand) return {plain(instance, false)};
  // Rows without a meaning yet are run on the device too, so that one can be judged when it comes.
  if (effect == Effect::unmodelled && (opcode == "fns" || opcode == "fma" || opcode == "min" ||
                                       opcode == "max" || opcode == "mul" || opcode == "add"))
    return {plain(instance, false)};
  return {};
}

}  // namespace lathe::ptx::witness
