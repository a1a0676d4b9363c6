// The words of instructions that have no row.

#include "ptx/isa_rare.h"

#include <algorithm>

namespace lathe::ptx {
namespace {

constexpr std::string_view small_floats =
    "rn rz rp satfinite relu f32 f16x2 bf16x2 e4m3x2 e5m2x2 ue8m0x2 e2m1x2 e2m3x2 e3m2x2 f16 bf16";
constexpr std::string_view floats_and_integers =
    "f16 bf16 f32 f64 f16x2 bf16x2 b16 b32 b64 u16 u32 u64 s16 s32 s64 ftz and or xor eq ne lt le "
    "gt "
    "ge lo ls hi hs equ neu ltu leu gtu geu num nan";

// clang-format off
constexpr std::array rare_forms{
    RareForm{"clusterlaunchcontrol", "", "query_cancel get_first_ctaid get_first_ctaid::x "
             "get_first_ctaid::y get_first_ctaid::z v4 b32 b128 is_canceled pred try_cancel async "
             "mbarrier::complete_tx::bytes multicast::cluster::all shared::cta", since(86, 100)},
    RareForm{"multimem", "", "ld_reduce st red add min max and or xor acquire relaxed release weak "
             "cta cluster gpu sys global acc::f32 acc::f16 v2 v4 v8 f16 f16x2 bf16 bf16x2 f32 f64 "
             "b32 b64 s32 s64 u32 u64 e4m3 e5m2 e4m3x4 e5m2x4", since(81, 90)},
    RareForm{"tensormap", "", "cp_fenceproxy global shared::cta tensormap::generic release gpu cta "
             "sys cluster sync aligned replace tile box_dim b1024 b32 b64 element_stride elemtype "
             "fill_mode global_address global_dim global_stride interleave_layout rank "
             "swizzle_mode "
             "swizzle_atomicity proxy", since(83, 90)},
    RareForm{"cvt", "e2m1x2 e2m3x2 e3m2x2 ue8m0x2 scaled::n2::ue8m0 s2f6x2", small_floats,
             since(86, 100)},
    RareForm{"cvt", "bf16x2", "rn satfinite relu e4m3x2 e5m2x2", since(91, 100)},
    RareForm{"cvt", "rs", "e2m1x4 e2m3x4 e3m2x4 e4m3x4 e5m2x4 satfinite relu f32 f16x2 bf16x2",
             since(87, 100)},
    RareForm{"cvt", "pack", "sat s2 s4 s8 u2 u4 u8 s16 u16 s32 b32", since(65, 72)},
    RareForm{"ld", "mmio", "relaxed sys global b8 b16 b32 b64 u8 u16 u32 u64 s8 s16 s32 s64 f32 "
             "f64",
             since(82, 70)},
    RareForm{"st", "mmio async bulk", "relaxed release weak sys gpu cluster global shared::cta "
             "shared::cluster mbarrier::complete_tx::bytes v2 v4 b8 b16 b32 b64 u8 u16 u32 u64 s8 "
             "s16 s32 s64 f32 f64", since(81, 90)},
    RareForm{"red", "async", "mmio release relaxed sys gpu cluster global shared::cluster add min "
             "max and or xor inc dec mbarrier::complete_tx::bytes b32 u32 s32 u64 s64",
             since(81, 90)},
    RareForm{"set", "f16 bf16 f16x2 bf16x2 b16 b32 b64", floats_and_integers, since(42, 53)},
    RareForm{"ldmatrix", "b8x16 m16n16 m8n16", "sync aligned trans x1 x2 x4 shared shared::cta "
             "b6x16_p32 b4x16_p64", only_on(86, 100)},
    RareForm{"mbarrier", "arrive arrive_drop pending_count", "noComplete expect_tx release relaxed "
             "cta cluster shared shared::cta shared::cluster b64", since(70, 80)},
    RareForm{"mma", "sp sp::ordered_metadata m8n8k4 m8n8k16 m8n8k32 m8n8k128 m16n8k64 m16n8k128 "
             "m16n8k256 s4 u4 b1 e3m2 e2m3 e2m1 kind::f8f6f4 kind::mxf8f6f4 kind::mxf4 "
             "kind::mxf4nvf4", "sync aligned m16n8k8 m16n8k16 m16n8k32 row col and xor popc "
             "satfinite f16 bf16 tf32 f32 f64 s32 s8 u8 e4m3 e5m2 ue8m0 ue4m3 block_scale "
             "scale_vec::1X scale_vec::2X scale_vec::4X", since(65, 75)},
    RareForm{"wgmma", "mma_async", "sync aligned sp s32 b1 and popc satfinite f16 bf16 tf32 f32 "
             "e4m3 "
             "e5m2 s8 u8", only_on(80, 90)},
    RareForm{"tcgen05", "cp mma", "cta_group::1 cta_group::2 128x128b 128x256b 32x128b 64x128b "
             "4x256b warpx4 warpx2::01_23 warpx2::02_13 b8x16 b4x16_p64 b6x16_p32 kind::f16 "
             "kind::tf32 kind::i8 kind::f8f6f4 kind::mxf8f6f4 kind::mxf4 kind::mxf4nvf4 "
             "block_scale "
             "block16 block32 scale_vec::1X scale_vec::2X scale_vec::4X ws sp ashift "
             "collector::a::fill collector::a::use collector::a::lastuse collector::a::discard",
             only_on(86, 100)},
    RareForm{"cp", "bulk", "async global shared::cta shared::cluster bulk_group cp_mask "
             "prefetch L2 "
             "L2::cache_hint tensor 1d 2d 3d 4d 5d tile tile::gather4 tile::scatter4 im2col "
             "im2col::w "
             "im2col::w::128 im2col_no_offs mbarrier::complete_tx::bytes ignore_oob "
             "multicast::cluster cta_group::1 cta_group::2 reduce add min max inc dec and or xor "
             "noftz f16 bf16 f32 f64 u32 s32 u64 s64 b32 b64", since(80, 90)},
    RareForm{"createpolicy", "fractional range", "global L2::evict_first L2::evict_last "
             "L2::evict_normal L2::evict_unchanged b64", since(74, 80)},
};
// clang-format on

/// wgmma's shapes of one-bit and sparse operands: m64nNkK.
bool is_shape(std::string_view word) {
  return word.starts_with("m64n") && word.find('k') != std::string_view::npos;
}

bool belongs(const RareForm& form, const Instruction& instruction) {
  if (form.opcode != instruction.opcode) return false;
  bool marked = form.markers.empty();
  for (std::string_view word : instruction.modifiers) {
    bool marker = has_word(form.markers, word);
    marked |= marker;
    if (!marker && !has_word(form.others, word) && !(form.opcode == "wgmma" && is_shape(word)))
      return false;
  }
  return marked;
}

}  // namespace

const RareForm* find_rare(const Instruction& instruction) {
  auto found = std::find_if(rare_forms.begin(), rare_forms.end(),
                            [&](const RareForm& form) { return belongs(form, instruction); });
  return found == rare_forms.end() ? nullptr : &*found;
}

}  // namespace lathe::ptx
