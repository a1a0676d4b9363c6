#pragma once

// The modifiers of PTX: groups that stand for one of several, and all others that a row may name.

#include <array>
#include <string_view>

namespace lathe::ptx {

/// A name in the notation that stands for one of several modifiers.
struct Group {
  std::string_view name;
  std::string_view words;  // Separated by blanks.
};

// clang-format off
inline constexpr std::array groups{
    Group{"rnd",
          "rn rz rm rp"},
    Group{"irnd",
          "rni rzi rmi rpi"},
    Group{"icmp",
          "eq ne lt le gt ge lo ls hi hs"},
    Group{"fcmp",
          "eq ne lt le gt ge equ neu ltu leu gtu geu num nan"},
    Group{"cmp",
          "eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan"},
    Group{"bop",
          "and or xor"},
    Group{"scope",
          "cta cluster gpu sys"},
    Group{"sem",
          "weak volatile relaxed acquire release acq_rel sc mmio"},
    Group{"space",
          "global shared local param const shared::cta shared::cluster param::entry param::func"},
    Group{"cop",
          "ca cg cs lu cv wb wt"},
    Group{"evict",
          "L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last L1::no_allocate"},
    Group{"evict2",
          "L2::evict_normal L2::evict_first L2::evict_last"},
    Group{"sectors",
          "L2::64B L2::128B L2::256B"},
    Group{"vec",
          "v2 v4 v8"},
    Group{"testp",
          "finite infinite number notanumber normal subnormal"},
    Group{"prmt",
          "f4e b4e rc8 ecl ecr rc16"},
    Group{"dim",
          "1d 2d 3d 4d 5d"},
    Group{"wgshape",
          "m64n8k8 m64n16k8 m64n24k8 m64n32k8 m64n40k8 m64n48k8 m64n56k8 m64n64k8 m64n72k8 "
          "m64n80k8 m64n88k8 m64n96k8 m64n104k8 m64n112k8 m64n120k8 m64n128k8 m64n136k8 "
          "m64n144k8 m64n152k8 m64n160k8 m64n168k8 m64n176k8 m64n184k8 m64n192k8 m64n200k8 "
          "m64n208k8 m64n216k8 m64n224k8 m64n232k8 m64n240k8 m64n248k8 m64n256k8 m64n8k16 "
          "m64n16k16 m64n24k16 m64n32k16 m64n40k16 m64n48k16 m64n56k16 m64n64k16 m64n72k16 "
          "m64n80k16 m64n88k16 m64n96k16 m64n104k16 m64n112k16 m64n120k16 m64n128k16 m64n136k16 "
          "m64n144k16 m64n152k16 m64n160k16 m64n168k16 m64n176k16 m64n184k16 m64n192k16 "
          "m64n200k16 m64n208k16 m64n216k16 m64n224k16 m64n232k16 m64n240k16 m64n248k16 "
          "m64n256k16 m64n8k32 m64n16k32 m64n24k32 m64n32k32 m64n40k32 m64n48k32 m64n56k32 "
          "m64n64k32 m64n72k32 m64n80k32 m64n88k32 m64n96k32 m64n104k32 m64n112k32 m64n120k32 "
          "m64n128k32 m64n136k32 m64n144k32 m64n152k32 m64n160k32 m64n168k32 m64n176k32 "
          "m64n184k32 m64n192k32 m64n200k32 m64n208k32 m64n216k32 m64n224k32 m64n232k32 "
          "m64n240k32 m64n248k32 m64n256k32"},
    Group{"wgshape1",
          "m64n8k256 m64n16k256 m64n24k256 m64n32k256 m64n48k256 m64n64k256 m64n80k256 "
          "m64n96k256 m64n112k256 m64n128k256 m64n144k256 m64n160k256 m64n176k256 "
          "m64n192k256 m64n208k256 m64n224k256 m64n240k256 m64n256k256"},
    Group{"wgsparse16",
          "m64n8k16 m64n16k16 m64n24k16 m64n32k16 m64n40k16 m64n48k16 m64n56k16 m64n64k16 "
          "m64n72k16 m64n80k16 m64n88k16 m64n96k16 m64n104k16 m64n112k16 m64n120k16 "
          "m64n128k16 m64n136k16 m64n144k16 m64n152k16 m64n160k16 m64n168k16 m64n176k16 "
          "m64n184k16 m64n192k16 m64n200k16 m64n208k16 m64n216k16 m64n224k16 m64n232k16 "
          "m64n240k16 m64n248k16 m64n256k16"},
    Group{"wgsparse32",
          "m64n8k32 m64n16k32 m64n24k32 m64n32k32 m64n40k32 m64n48k32 m64n56k32 m64n64k32 "
          "m64n72k32 m64n80k32 m64n88k32 m64n96k32 m64n104k32 m64n112k32 m64n120k32 "
          "m64n128k32 m64n136k32 m64n144k32 m64n152k32 m64n160k32 m64n168k32 m64n176k32 "
          "m64n184k32 m64n192k32 m64n200k32 m64n208k32 m64n216k32 m64n224k32 m64n232k32 "
          "m64n240k32 m64n248k32 m64n256k32"},
    Group{"wgsparse64",
          "m64n8k64 m64n16k64 m64n24k64 m64n32k64 m64n40k64 m64n48k64 m64n56k64 m64n64k64 "
          "m64n72k64 m64n80k64 m64n88k64 m64n96k64 m64n104k64 m64n112k64 m64n120k64 "
          "m64n128k64 m64n136k64 m64n144k64 m64n152k64 m64n160k64 m64n168k64 m64n176k64 "
          "m64n184k64 m64n192k64 m64n200k64 m64n208k64 m64n216k64 m64n224k64 m64n232k64 "
          "m64n240k64 m64n248k64 m64n256k64"},
    Group{"wgsparse8",
          "m64n8k64 m64n16k64 m64n24k64 m64n32k64 m64n48k64 m64n64k64 m64n80k64 m64n96k64 "
          "m64n112k64 m64n128k64 m64n144k64 m64n160k64 m64n176k64 m64n192k64 m64n208k64 "
          "m64n224k64 m64n240k64 m64n256k64"},
    Group{"tcshape",
          "32x32b 16x64b 16x128b 16x256b 16x32bx2"},
    Group{"acollector",
          "collector::a::fill collector::a::use collector::a::lastuse collector::a::discard"},
    Group{"tkind",
          "kind::f16 kind::tf32 kind::f8f6f4 kind::i8"},
    Group{"cta_group",
          "cta_group::1 cta_group::2"},
    Group{"decompress",
          "b6x16_p32 b4x16_p64"},
    Group{"collector",
          "collector::b0::fill collector::b0::use collector::b0::lastuse collector::b0::discard "
          "collector::b1::fill collector::b1::use collector::b1::lastuse collector::b1::discard "
          "collector::b2::fill collector::b2::use collector::b2::lastuse collector::b2::discard "
          "collector::b3::fill collector::b3::use collector::b3::lastuse collector::b3::discard"},
    Group{"count",
          "x1 x2 x4 x8 x16 x32 x64 x128"},
    Group{"aop",
          "add min max inc dec and or xor exch cas"},
    Group{"asem",
          "relaxed acquire release acq_rel"},
    Group{"wspace",
          "global shared shared::cta"},
    Group{"msem",
          "relaxed acquire"},
    Group{"near",
          "cta cluster"},
    Group{"rsem",
          "relaxed release"},
    Group{"fsem",
          "sc acq_rel acquire release"},
    Group{"aspace",
          "global shared shared::cta shared::cluster"},
};

/// Every other modifier that a row may name.
inline constexpr std::string_view known_words =
    " lo hi wide sat ftz cc wrap clamp l r approx full satfinite relu NaN xorsign abs rn rz rm "
    "rp rna rs rni rzi rmi rpi shiftamt trans x1 x2 x4 m8n8 m16n16 m8n16 m16n8 sync aligned up "
    "down bfly idx all any uni ballot eq ne weak volatile relaxed acquire release and or xor "
    "popc min max add mbarrier pack wait_group wait_all commit_group async bulk tensor ca cg "
    "warp arrive red gl init inval test_wait try_wait parity expect_tx complete_tx arrive_drop "
    "noComplete pending_count mbarrier::complete_tx::bytes bulk_group multicast::cluster "
    "L2::cache_hint L2 L1 row col m8n8k4 m8n8k16 m8n8k32 m16n8k4 m16n8k8 m16n8k16 m16n8k32 "
    "m16n8k64 sp kind::f16 kind::tf32 kind::f8f6f4 kind::i8 kind::mxf8f6f4 kind::mxf4 "
    "kind::mxf4nvf4 block_scale mma_async fence wait commit alloc dealloc "
    "relinquish_alloc_permit cp shift st ld mma cta_group::1 cta_group::2 proxy "
    "async.shared::cta alias tensormap::generic acq_rel sc cta cluster gpu sys inc dec "
    "launch_dependents to global shared local const shared::cta shared::cluster param read "
    "mbarrier::arrive::one b 32x32b 16x64b 16x128b 16x256b 16x32bx2 x8 x16 x32 x64 x128 "
    "pack::16b unpack::16b before_thread_sync after_thread_sync wait::ld wait::st noinc reduce "
    "prefetch ws mbarrier_init fractional range evict_last evict_normal L2::evict_last "
    "L2::evict_normal L2::evict_first L2::evict_unchanged evict_first im2col tile tile::gather4 "
    "tile::scatter4 oob fence::before_thread_sync fence::after_thread_sync noftz a1d replace "
    "global_address address mmio 128x256b 4x256b 128x128b 64x128b 32x128b warpx4 warpx2::02_13 "
    "warpx2::01_23 collector::a::fill collector::a::use collector::a::lastuse "
    "collector::a::discard ashift sync_restrict::shared::cta sync_restrict::shared::cluster "
    "tensormap proxy::async proxy::async::generic proxy::async.shared proxy::alias "
    "proxy::tensormap::generic shared::cta::async cancel ignore-src cvt xorsign.abs inc.u32 "
    "carry cvta e8m0 u8x4 s8x4 transposed param::entry param::func mbarrier::arrive::one::b64 "
    "async::generic mbarrier::complete_tx count1 evict_unchanged no_allocate "
    "cp_mask im2col_no_offs im2col::w im2col::w::128 b1024 cp_fenceproxy rank box_dim global_dim "
    "global_stride element_stride elemtype interleave_layout swizzle_mode swizzle_atomicity "
    "fill_mode ld_reduce acc::f32 "
    "acc::f16 scaled::n2::ue8m0 sp::ordered_metadata m8n8k32 m8n8k128 m16n16k16 m8n32k16 m32n8k16 "
    "m16n16k8 a c d load store m16n8k128 m16n8k256 b8x16 b6x16_p32 b4x16_p64 scale_vec::1X "
    "scale_vec::2X scale_vec::4X nc block16 block32 ignore_oob try_cancel query_cancel is_canceled "
    "get_first_ctaid "
    "get_first_ctaid::x get_first_ctaid::y get_first_ctaid::z multicast::cluster::all ";
// clang-format on

}  // namespace lathe::ptx
