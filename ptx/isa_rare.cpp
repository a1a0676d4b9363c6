// The words of instructions that have no row.

#include "ptx/isa_rare.h"

#include <algorithm>

namespace lathe::ptx {
namespace {

// clang-format off
constexpr std::array table{
    RareForm{"tensormap", "", "cp_fenceproxy global shared::cta tensormap::generic release gpu cta "
             "sys cluster sync aligned replace tile box_dim b1024 b32 b64 element_stride elemtype "
             "fill_mode global_address global_dim global_stride interleave_layout rank "
             "swizzle_mode "
             "swizzle_atomicity proxy", since(83, 90)},
    RareForm{"st", "mmio async bulk", "relaxed release weak sys gpu cluster global shared::cta "
             "shared::cluster mbarrier::complete_tx::bytes v2 v4 b8 b16 b32 b64 u8 u16 u32 u64 s8 "
             "s16 s32 s64 f32 f64", since(81, 90)},
    RareForm{"red", "async", "mmio release relaxed sys gpu cluster global shared::cluster add min "
             "max and or xor inc dec mbarrier::complete_tx::bytes b32 u32 s32 u64 s64",
             since(81, 90)},
    RareForm{"mbarrier", "arrive arrive_drop pending_count", "noComplete expect_tx release relaxed "
             "cta cluster shared shared::cta shared::cluster b64", since(70, 80)},
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

std::span<const RareForm> rare_forms() { return table; }

const RareForm* find_rare(const Instruction& instruction) {
  auto found = std::find_if(table.begin(), table.end(),
                            [&](const RareForm& form) { return belongs(form, instruction); });
  return found == table.end() ? nullptr : &*found;
}

}  // namespace lathe::ptx
