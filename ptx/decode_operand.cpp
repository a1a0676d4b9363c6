// Operands to places: registers, constants, special registers, symbols, addresses, vectors.

#include <bit>
#include <charconv>

#include "ptx/decoder.h"

namespace lathe::ptx {
namespace {

struct SpecialName {
  std::string_view name;
  Special special;
};
constexpr std::array special_names{
    SpecialName{"%tid.x", Special::tid_x},
    SpecialName{"%tid.y", Special::tid_y},
    SpecialName{"%tid.z", Special::tid_z},
    SpecialName{"%ntid.x", Special::ntid_x},
    SpecialName{"%ntid.y", Special::ntid_y},
    SpecialName{"%ntid.z", Special::ntid_z},
    SpecialName{"%ctaid.x", Special::ctaid_x},
    SpecialName{"%ctaid.y", Special::ctaid_y},
    SpecialName{"%ctaid.z", Special::ctaid_z},
    SpecialName{"%nctaid.x", Special::nctaid_x},
    SpecialName{"%nctaid.y", Special::nctaid_y},
    SpecialName{"%nctaid.z", Special::nctaid_z},
    SpecialName{"%clusterid.x", Special::clusterid_x},
    SpecialName{"%clusterid.y", Special::clusterid_y},
    SpecialName{"%clusterid.z", Special::clusterid_z},
    SpecialName{"%nclusterid.x", Special::nclusterid_x},
    SpecialName{"%nclusterid.y", Special::nclusterid_y},
    SpecialName{"%nclusterid.z", Special::nclusterid_z},
    SpecialName{"%cluster_ctaid.x", Special::cluster_ctaid_x},
    SpecialName{"%cluster_ctaid.y", Special::cluster_ctaid_y},
    SpecialName{"%cluster_ctaid.z", Special::cluster_ctaid_z},
    SpecialName{"%cluster_ctarank", Special::cluster_ctarank},
    SpecialName{"%cluster_nctaid.x", Special::cluster_nctaid_x},
    SpecialName{"%cluster_nctaid.y", Special::cluster_nctaid_y},
    SpecialName{"%cluster_nctaid.z", Special::cluster_nctaid_z},
    SpecialName{"%cluster_nctarank", Special::cluster_nctarank},
    SpecialName{"%laneid", Special::laneid},
    SpecialName{"%warpid", Special::warpid},
    SpecialName{"%nwarpid", Special::nwarpid},
    SpecialName{"%lanemask_eq", Special::lanemask_eq},
    SpecialName{"%lanemask_le", Special::lanemask_le},
    SpecialName{"%lanemask_lt", Special::lanemask_lt},
    SpecialName{"%lanemask_ge", Special::lanemask_ge},
    SpecialName{"%lanemask_gt", Special::lanemask_gt},
    SpecialName{"%dynamic_smem_size", Special::dynamic_shared},
    SpecialName{"%total_smem_size", Special::total_shared},
};

}  // namespace

bool Decoder::complain(std::string what, std::string remedy) {
  if (!error_)
    error_ = Error{Fault::malformed, std::move(what), std::move(remedy), module_.place(now_->span)};
  return false;
}

bool Decoder::complain(const Operand& operand, std::string what, std::string remedy) {
  if (!error_)
    error_ =
        Error{Fault::malformed, std::move(what), std::move(remedy), module_.place(operand.span)};
  return false;
}

std::optional<Decoder::Named> Decoder::find(std::string_view name) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
    if (auto found = scope->find(name); found != scope->end() && found->second.count == 0)
      return found->second;
  std::string_view stem = name;
  while (!stem.empty() && stem.back() >= '0' && stem.back() <= '9') {
    stem.remove_suffix(1);
    std::string_view digits = name.substr(stem.size());
    if (digits.size() > 1 && digits[0] == '0') continue;
    std::uint32_t number = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc()) break;
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      auto found = scope->find(stem);
      if (found == scope->end() || found->second.count <= number) continue;
      Named one = found->second;
      one.place += number * one.lanes * ((one.width * lane_count + 63) / 64 * 64);
      return one;
    }
  }
  return element_named(name);
}

/// `%v.x` or `%v.r` of a vector register.
std::optional<Decoder::Named> Decoder::element_named(std::string_view name) const {
  if (name.size() < 3 || name[name.size() - 2] != '.') return std::nullopt;
  std::size_t number = std::string_view("xyzwrgba").find(name.back());
  if (number == std::string_view::npos) return std::nullopt;
  std::optional<Named> vector = find(name.substr(0, name.size() - 2));
  if (!vector || vector->kind != Named::Kind::registers || number % 4 >= vector->lanes)
    return std::nullopt;
  vector->place += number % 4 * ((vector->width * lane_count + 63) / 64 * 64);
  vector->lanes = 1;
  return vector;
}

std::optional<Slot> Decoder::register_named(std::string_view name) const {
  std::optional<Named> named = find(name);
  if (!named || named->kind != Named::Kind::registers || named->lanes > 1) return std::nullopt;
  return Slot{named->place, named->width};
}

std::optional<std::uint64_t> Decoder::special_named(std::string_view name) const {
  for (const SpecialName& known : special_names)
    if (known.name == name) return static_cast<std::uint64_t>(known.special);
  return std::nullopt;
}

Slot Decoder::constant(std::uint64_t bits, unsigned width, Constant::Kind kind) {
  if (width < 8 && kind == Constant::Kind::bits) bits &= (std::uint64_t{1} << (8 * width)) - 1;
  std::string key = std::to_string(static_cast<int>(kind)) + ":" + std::to_string(width) + ":" +
                    std::to_string(bits);
  auto found = constants_.find(key);
  if (found != constants_.end()) return found->second;
  Slot slot{allocate(width), static_cast<std::uint8_t>(width)};
  program_.constants.push_back({slot.place, slot.width, kind, bits});
  constants_[key] = slot;
  return slot;
}

/// A register that lives within one instruction.
Slot Decoder::scratch(unsigned width) {
  for (std::size_t i = scratch_used_; i < free_scratch_.size(); ++i)
    if (free_scratch_[i].width == width) {
      std::swap(free_scratch_[i], free_scratch_[scratch_used_]);
      return free_scratch_[scratch_used_++];
    }
  Slot slot{allocate(width), static_cast<std::uint8_t>(width)};
  free_scratch_.push_back(slot);
  std::swap(free_scratch_.back(), free_scratch_[scratch_used_]);
  ++scratch_used_;
  return slot;
}

/// The address of a variable, in its own space.
Slot Decoder::symbol(const Operand& operand, unsigned width) {
  std::string_view name = operand.parts.empty() ? operand.text : operand.parts[0].text;
  std::optional<Named> named = find(name);
  auto offset = static_cast<std::uint64_t>(operand.offset);
  if (named && operand.parts.size() > 1) offset += operand.parts[1].bits * named->width;
  if (!named || named->kind == Named::Kind::registers) {
    complain(operand, "`" + std::string(name) + "` is not declared",
             "declare it as a register, a variable or a parameter");
    return {};
  }
  switch (named->kind) {
    case Named::Kind::shared:
      if (named->offset == ~std::uint64_t{0})
        return constant(offset, width, Constant::Kind::dynamic_shared);
      return constant(named->offset + offset, width, Constant::Kind::shared);
    case Named::Kind::variable:
      return constant(named->offset | offset << 32, width, Constant::Kind::variable);
    default:
      return constant(named->offset + offset, width);
  }
}

std::uint64_t Decoder::immediate_bits(const Operand& operand, Type type) {
  if (operand.kind == Operand::Kind::integer) return operand.bits;
  if (operand.width == 64 && width_of(type) == 32) {
    double value = std::bit_cast<double>(operand.bits);
    return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  }
  if (operand.width == 32 && type == Type::f64)
    return std::bit_cast<std::uint64_t>(
        static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(operand.bits))));
  return operand.bits;
}

Slot Decoder::source(const Operand& operand, Type type) {
  if (type == Type::pred) return predicate(operand);
  Slot slot = loose_source(operand, type);
  if (slot.present() && slot.width != cell_bytes(type))
    complain(operand, "`" + std::string(operand.text) + "` has " + std::to_string(8 * slot.width) +
                          " bits where ." + std::string(name_of(type)) + " is read");
  return slot;
}

Slot Decoder::loose_source(const Operand& operand, Type type) {
  unsigned width = cell_bytes(type);
  bool number = operand.kind == Operand::Kind::integer;
  if (number || operand.kind == Operand::Kind::float_bits) {
    bool single = type == Type::f32 || type == Type::f64, bits = is_untyped(type);
    bool fits = bits     ? number || operand.width == width_of(type)
                : number ? is_integer(type)
                         : single;
    if (!fits) {
      complain(operand,
               "`" + std::string(operand.text) + "` is no value of ." + std::string(name_of(type)));
      return {};
    }
    return constant(immediate_bits(operand, type), width);
  }
  if (operand.kind == Operand::Kind::vector && operand.parts.size() == 1)
    return loose_source(operand.parts[0], type);
  if (operand.kind != Operand::Kind::name) {
    complain(operand, "`" + std::string(operand.text) + "` cannot be read here",
             "a register or a number");
    return {};
  }
  if (operand.text == "WARP_SZ") return constant(32, width);
  if (auto special = special_named(operand.text))
    return constant(*special, width, Constant::Kind::special);
  if (operand.parts.empty())
    if (auto slot = register_named(operand.text)) {
      if (find(operand.text)->predicate) {
        complain(operand, "`" + std::string(operand.text) + "` is a predicate");
        return {};
      }
      read_.push_back(slot->place);
      return *slot;
    }
  if (operand.text.starts_with('%') && !find(operand.text)) {
    complain(operand, "`" + std::string(operand.text) + "` is no declared register",
             "clocks and performance counters are not modelled");
    return {};
  }
  return symbol(operand, width);
}

/// A predicate, `!p`, or an integer constant as one.
Slot Decoder::predicate(const Operand& operand) {
  if (operand.kind == Operand::Kind::integer) return constant(operand.bits != 0, 4);
  if (operand.kind == Operand::Kind::negated) {
    Slot plain = predicate(operand.parts[0]);
    if (!plain.present()) return {};
    Slot flipped = scratch(4);
    emit_row("not", Form{.type = Type::pred}, {flipped, plain});
    return flipped;
  }
  std::optional<Named> named = find(operand.text);
  if (!named || named->kind != Named::Kind::registers || !named->predicate) {
    complain(operand, "`" + std::string(operand.text) + "` is no predicate register");
    return {};
  }
  read_.push_back(named->place);
  return {named->place, named->width};
}

Slot Decoder::loose_destination(const Operand& operand, Type type) {
  if (operand.kind == Operand::Kind::vector && operand.parts.size() == 1)
    return loose_destination(operand.parts[0], type);
  if (operand.text == "_") return scratch(cell_bytes(type));
  std::optional<Named> named = operand.kind == Operand::Kind::name && operand.parts.empty()
                                   ? find(operand.text)
                                   : std::nullopt;
  if (!named || named->kind != Named::Kind::registers || named->lanes > 1) {
    complain(operand, "`" + std::string(operand.text) + "` cannot be written: no register");
    return {};
  }
  if (named->predicate != (type == Type::pred)) {
    complain(operand, "`" + std::string(operand.text) + "` is " +
                          (named->predicate ? "a predicate" : "no predicate"));
    return {};
  }
  written_.push_back(named->place);
  return {named->place, named->width};
}

Slot Decoder::destination(const Operand& operand, Type type) {
  Slot slot = loose_destination(operand, type);
  if (slot.present() && slot.width != cell_bytes(type))
    complain(operand, "`" + std::string(operand.text) + "` has " + std::to_string(8 * slot.width) +
                          " bits where ." + std::string(name_of(type)) + " is written");
  return slot;
}

/// Of a vector its parts, of a vector register its elements.
std::vector<const Operand*> Decoder::elements(const Operand& operand) {
  std::vector<const Operand*> list;
  std::optional<Named> named;
  if (operand.kind == Operand::Kind::name && operand.parts.empty()) named = find(operand.text);
  if (operand.kind == Operand::Kind::vector) {
    for (const Operand& part : operand.parts) list.push_back(&part);
  } else if (named && named->kind == Named::Kind::registers && named->lanes > 1) {
    for (std::uint32_t i = 0; i < named->lanes; ++i) {
      element_names_.push_back(std::string(operand.text) + "." + "xyzw"[i]);
      Operand& part = named_elements_.emplace_back(operand);
      part.text = element_names_.back();
      list.push_back(&part);
    }
  } else {
    list.push_back(&operand);
  }
  return list;
}

bool Decoder::address(const Operand& operand, Address& out) {
  if (operand.kind != Operand::Kind::address || operand.parts.empty())
    return complain(operand, "an address is expected", "write [%rd1+16]");
  if (operand.parts.size() > 1)
    return complain(operand, "an address with coordinates is not modelled");
  const Operand& base = operand.parts[0];
  out.offset = operand.offset;
  if (base.kind == Operand::Kind::integer) {
    out.offset += static_cast<std::int64_t>(base.bits);
    return true;
  }
  if (auto slot = register_named(base.text)) {
    if (slot->width < 4) return complain(operand, "an address has 32 or 64 bits");
    read_.push_back(slot->place);
    out.base = *slot;
    return true;
  }
  std::optional<Named> named = find(base.text);
  bool parameter = named && named->kind == Named::Kind::parameter;
  if (parameter && has_word("ld ldu st atom red prefetch", now_->opcode) && !has("param") &&
      !has("param::entry") && !has("param::func"))
    return complain(operand, "`" + std::string(base.text) + "` is a parameter", "write .param");
  out.base = symbol(base, 8);
  return out.base.present();
}

}  // namespace lathe::ptx
