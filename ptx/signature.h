#pragma once

// How an instruction is written, in the manual's own notation:
//
//   "mad.lo{.sat}.type  d, a, b, c"     modifiers: required, {optional}
//   "ld{.scope}.space   d, [a]"         groups (`groups` below), and (.x|.y) or {.x|.y}: one of them
//   "shl.type           d, a, b:u32"    operands are of `.type` unless they say another: a type,
//   "mul.wide.type      d:wide, a, b"   `wide` of twice its width, or `other` of `.other`
//
// A misspelt modifier or type does not compile. The order of modifiers is free except that of types.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "ptx/type.h"

namespace lathe::ptx {

/// A name in the notation that stands for one of several modifiers.
struct Group {
  std::string_view name;
  std::string_view words;  // Separated by blanks.
};
// clang-format off
inline constexpr std::array groups{
    Group{"rnd", "rn rz rm rp"},
    Group{"irnd", "rni rzi rmi rpi"},
    Group{"icmp", "eq ne lt le gt ge lo ls hi hs"},
    Group{"fcmp", "eq ne lt le gt ge equ neu ltu leu gtu geu num nan"},
    Group{"cmp", "eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan"},
    Group{"bop", "and or xor"},
    Group{"scope", "cta cluster gpu sys"},
    Group{"sem", "weak volatile relaxed acquire release acq_rel sc mmio"},
    Group{"space", "global shared local param const shared::cta shared::cluster param::entry "
                   "param::func"},
    Group{"cop", "ca cg cs lu cv wb wt nc"},
    Group{"evict", "L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last "
                   "L1::no_allocate"},
    Group{"evict2", "L2::evict_normal L2::evict_first L2::evict_last"},
    Group{"prefetch", "L2::64B L2::128B L2::256B"},
    Group{"vec", "v2 v4 v8"},
    Group{"testp", "finite infinite number notanumber normal subnormal"},
    Group{"prmt", "f4e b4e rc8 ecl ecr rc16"},
    Group{"dim", "1d 2d 3d 4d 5d"},
    Group{"wgshape",
          "m64n8k8 m64n16k8 m64n24k8 m64n32k8 m64n40k8 m64n48k8 m64n56k8 m64n64k8 "
          "m64n72k8 m64n80k8 m64n88k8 m64n96k8 m64n104k8 m64n112k8 m64n120k8 m64n128k8 "
          "m64n136k8 m64n144k8 m64n152k8 m64n160k8 m64n168k8 m64n176k8 m64n184k8 "
          "m64n192k8 m64n200k8 m64n208k8 m64n216k8 m64n224k8 m64n232k8 m64n240k8 "
          "m64n248k8 m64n256k8 m64n8k16 m64n16k16 m64n24k16 m64n32k16 m64n40k16 m64n48k16 "
          "m64n56k16 m64n64k16 m64n72k16 m64n80k16 m64n88k16 m64n96k16 m64n104k16 "
          "m64n112k16 m64n120k16 m64n128k16 m64n136k16 m64n144k16 m64n152k16 m64n160k16 "
          "m64n168k16 m64n176k16 m64n184k16 m64n192k16 m64n200k16 m64n208k16 m64n216k16 "
          "m64n224k16 m64n232k16 m64n240k16 m64n248k16 m64n256k16 m64n8k32 m64n16k32 "
          "m64n24k32 m64n32k32 m64n40k32 m64n48k32 m64n56k32 m64n64k32 m64n72k32 "
          "m64n80k32 m64n88k32 m64n96k32 m64n104k32 m64n112k32 m64n120k32 m64n128k32 "
          "m64n136k32 m64n144k32 m64n152k32 m64n160k32 m64n168k32 m64n176k32 m64n184k32 "
          "m64n192k32 m64n200k32 m64n208k32 m64n216k32 m64n224k32 m64n232k32 m64n240k32 "
          "m64n248k32 m64n256k32"},
    Group{"tcshape", "32x32b 16x64b 16x128b 16x256b 16x32bx2"},
    Group{"count", "x1 x2 x4 x8 x16 x32 x64 x128"},
    Group{"aop", "add min max inc dec and or xor exch cas"},
};

/// Every other modifier that a row may name.
inline constexpr std::string_view known_words =
    " lo hi wide sat ftz cc wrap clamp l r approx full satfinite relu NaN xorsign abs rn rz rm rp rna "
    "rs rni rzi rmi rpi shiftamt trans x1 x2 x4 m8n8 m16n16 m8n16 m16n8 sync aligned up down bfly idx "
    "all any uni ballot eq ne weak volatile relaxed acquire release and or xor popc min max add mbarrier pack "
    "wait_group wait_all commit_group async bulk tensor ca cg warp arrive red gl "
    "init inval test_wait try_wait parity expect_tx complete_tx arrive_drop noComplete pending_count "
    "mbarrier::complete_tx::bytes bulk_group multicast::cluster L2::cache_hint L2 L1 row col "
    "m8n8k4 m8n8k16 m8n8k32 m16n8k4 m16n8k8 m16n8k16 m16n8k32 m16n8k64 sp kind::f16 kind::tf32 "
    "kind::f8f6f4 kind::i8 kind::mxf8f6f4 kind::mxf4 kind::mxf4nvf4 block_scale mma_async fence wait "
    "commit alloc dealloc relinquish_alloc_permit cp shift st ld mma cta_group::1 cta_group::2 proxy "
    "async.shared::cta alias tensormap::generic acq_rel sc cta cluster gpu sys "
    "idx inc dec launch_dependents to global shared local const shared::cta shared::cluster param read "
    "mbarrier::arrive::one b 32x32b 16x64b 16x128b 16x256b 16x32bx2 x8 x16 x32 x64 x128 pack::16b "
    "unpack::16b before_thread_sync after_thread_sync wait::ld wait::st noinc reduce prefetch ws "
    "mbarrier_init fractional range evict_last evict_normal L2::evict_last L2::evict_normal "
    "L2::evict_first L2::evict_unchanged evict_first im2col tile tile::gather4 tile::scatter4 oob "
    "fence::before_thread_sync fence::after_thread_sync noftz a1d replace global_address address mmio 128x256b 4x256b 128x128b 64x128b 32x128b warpx4 "
    "warpx2::02_13 warpx2::01_23 collector::a::fill collector::a::use collector::a::lastuse "
    "collector::a::discard ashift sync_restrict::shared::cta sync_restrict::shared::cluster "
    "tensormap proxy::async proxy::async::generic proxy::async.shared proxy::alias "
    "proxy::tensormap::generic shared::cta::async cancel ignore-src cvt xorsign.abs inc.u32 "
    "carry cvta e8m0 u8x4 s8x4 transposed param::entry param::func mbarrier::arrive::one::b64 "
    "async::generic mbarrier::complete_tx count1 evict_unchanged no_allocate ";
// clang-format on

constexpr std::string_view words_of_group(std::string_view name) {
  for (const Group& group : groups)
    if (group.name == name) return group.words;
  return {};
}

constexpr bool has_word(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    std::size_t end = words.find(' ');
    if (words.substr(0, end) == word) return true;
    if (end == std::string_view::npos) break;
    words.remove_prefix(end + 1);
  }
  return false;
}

constexpr std::optional<Type> type_named(std::string_view name) {
  for (std::size_t i = 0; i < type_count; ++i)
    if (type_names[i] == name) return static_cast<Type>(i);
  return std::nullopt;
}

/// An operand's own type; none means the instruction's `.type`.
struct OperandType {
  std::optional<Type> fixed;
  bool wide = false;
  bool other = false;
  constexpr Type in(Type form, Type second = Type::b32) const {
    if (wide) return twice(form);
    if (other) return second;
    return fixed.value_or(form);
  }
};

/// One modifier of the notation.
struct Element {
  enum class Kind : std::uint8_t { words, type, other, literal_type };
  Kind kind = Kind::words;
  bool optional = false;
  std::string_view text;  // Of words: "ftz", a group's name, or ".x|.y".
};

inline constexpr std::size_t elements_max = 18;
inline constexpr std::size_t sources_max = 4;

struct Signature {
  std::string_view text;
  std::string_view opcode;
  std::array<Element, elements_max> elements{};
  std::size_t element_count = 0;
  OperandType destination;
  std::array<OperandType, sources_max> sources{};
  std::size_t source_count = 0;
  std::uint8_t operands_min = 0, operands_max = 0;
};

/// Whether an element of the notation stands for this modifier.
constexpr bool stands_for(const Element& element, std::string_view word) {
  std::string_view text = element.text;
  if (std::string_view group = words_of_group(text); !group.empty()) return has_word(group, word);
  while (!text.empty()) {
    std::size_t end = text.find('|');
    std::string_view one = text.substr(0, end);
    if (one.starts_with('.')) one.remove_prefix(1);
    if (one == word) return true;
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return false;
}

namespace detail {

consteval bool known(std::string_view word) {
  if (type_named(word) || has_word(known_words.substr(1), word)) return true;
  if (!words_of_group(word).empty()) return true;
  for (const Group& group : groups)
    if (has_word(group.words, word)) return true;
  return false;
}

consteval Element make_element(std::string_view text, bool optional) {
  if (text == "type") return {Element::Kind::type, optional, text};
  if (text == "other") return {Element::Kind::other, optional, text};
  if (type_named(text)) return {Element::Kind::literal_type, optional, text};
  for (std::string_view rest = text; !rest.empty();) {
    std::size_t end = rest.find('|');
    std::string_view one = rest.substr(0, end);
    if (one.starts_with('.')) one.remove_prefix(1);
    if (!known(one)) throw "no PTX modifier or type has this name";
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  return {Element::Kind::words, optional, text};
}

/// "add{.sat}.type" and the like; leaves the operands in `text`.
consteval void take_modifiers(std::string_view& text, Signature& signature) {
  while (!text.empty() && text[0] != ' ') {
    bool optional = text[0] == '{', several = optional || text[0] == '(';
    text.remove_prefix(several ? 2 : 1);
    std::size_t end = text.find_first_of(several ? "})" : " .{(");
    std::string_view name = text.substr(0, end);
    text.remove_prefix(name.size() + (several ? 1 : 0));
    signature.elements[signature.element_count++] = make_element(name, optional);
  }
}

consteval OperandType operand_type(std::string_view text) {
  std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return {};
  std::string_view name = text.substr(colon + 1);
  if (name == "wide") return {.fixed = {}, .wide = true};
  if (name == "other") return {.fixed = {}, .wide = false, .other = true};
  std::optional<Type> type = type_named(name);
  if (!type) throw "no PTX type has this name";
  return {.fixed = type};
}

/// "d, [a]{, b}": operands, those in braces optional. A vector is written as one name.
consteval void take_operands(std::string_view text, Signature& signature) {
  bool optional = false;
  for (std::size_t number = 0; !text.empty(); ++number) {
    while (!text.empty() && (text[0] == ' ' || text[0] == ',' || text[0] == '{' || text[0] == '}')) {
      optional |= text[0] == '{';
      text.remove_prefix(1);
    }
    if (text.empty()) break;
    std::size_t end = std::min(text.find_first_of(",{}"), text.size());
    OperandType type = operand_type(text.substr(0, end));
    text.remove_prefix(end);
    if (number == 0)
      signature.destination = type;
    else if (number <= sources_max)
      signature.sources[signature.source_count++] = type;
    ++signature.operands_max;
    if (!optional) ++signature.operands_min;
  }
}

}  // namespace detail

consteval Signature parse_signature(std::string_view text) {
  Signature signature;
  signature.text = text;
  std::size_t end = std::min(text.find_first_of(" .{("), text.size());
  signature.opcode = text.substr(0, end);
  text.remove_prefix(end);
  detail::take_modifiers(text, signature);
  while (text.starts_with(' ')) text.remove_prefix(1);
  detail::take_operands(text, signature);
  return signature;
}

}  // namespace lathe::ptx
