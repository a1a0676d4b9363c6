#pragma once

// PTX ISA 9.7.14.5 and 9.7.14.6: ldmatrix, stmatrix, movmatrix, mma.sync dense, sparse and
// scaled; 9.7.14.4, wmma, whose products are several of mma.sync's.

#include "ptx/row.h"

namespace lathe::ptx::matrix {

using enum Type;
inline constexpr Types bytes_in = any_of(u8, s8);
inline constexpr Types nibbles_in = any_of(u4, s4);
inline constexpr Types fp8_in = any_of(e4m3, e5m2);
inline constexpr Types small_in = any_of(e4m3, e5m2, e3m2, e2m3, e2m1);

/// A sparse product is written with either order of metadata.
#define PTX_SPARSE(text, type_set, other_set, target)                                    \
  PTX_EFFECT("mma.sp.sync.aligned" text " d, a, b, c, e, g", type_set, other_set,        \
             since(target >= 89 ? 84 : 71, target), multiply)                            \
  PTX_EFFECT("mma.sp::ordered_metadata.sync.aligned" text " d, a, b, c, e, g", type_set, \
             other_set, since(85, target), multiply)

// clang-format off
PTX_CHAPTER
PTX_EFFECT("ldmatrix.sync.aligned.m8n8(.x1|.x2|.x4){.trans}{.shared}{.shared::cta}.b16 d, [a]", 0,
        0, since(65, 75), load_matrix)
PTX_EFFECT("ldmatrix.sync.aligned.m16n16(.x1|.x2).trans{.shared}{.shared::cta}.b8 d, [a]", 0, 0,
        only_on(86, 100), load_matrix)
PTX_EFFECT("ldmatrix.sync.aligned.m16n16(.x1|.x2).trans{.shared}{.shared::cta}.b8x16(.b6x16_p32|"
        ".b4x16_p64) d, [a]", 0, 0, only_on(86, 100), load_matrix)
PTX_EFFECT("ldmatrix.sync.aligned.m8n16(.x1|.x2|.x4){.shared}{.shared::cta}.b8x16(.b6x16_p32|"
        ".b4x16_p64) d, [a]", 0, 0, only_on(86, 100), load_matrix)
PTX_EFFECT("stmatrix.sync.aligned.m8n8(.x1|.x2|.x4){.trans}{.shared}{.shared::cta}.b16 [a], b", 0,
        0, since(78, 90), store_matrix)
PTX_EFFECT("stmatrix.sync.aligned.m16n8(.x1|.x2|.x4).trans{.shared}{.shared::cta}.b8 [a], b", 0, 0,
        only_on(86, 100), store_matrix)
PTX_EFFECT("movmatrix.sync.aligned.m8n8.trans.b16 d, a", 0, 0, since(78, 75), transpose_matrix)
PTX_EFFECT("mma.sync.aligned.m8n8k4(.row|.col)(.row|.col).f16.f16.f16.f16 d, a, b, c", 0, 0,
        since(64, 70), multiply)
PTX_EFFECT("mma.sync.aligned.m8n8k4(.row|.col)(.row|.col).f32.f16.f16.type d, a, b, c",
        any_of(f16, f32), 0, since(64, 70), multiply)
PTX_EFFECT("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 d, a, b, c", 0, 0, since(65, 75),
        multiply)
PTX_EFFECT("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 d, a, b, c", 0, 0, since(65, 75),
        multiply)
PTX_EFFECT("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 d, a, b, c", 0, 0, since(70, 80),
        multiply)
PTX_EFFECT("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 d, a, b, c", 0, 0, since(70, 80),
        multiply)
PTX_EFFECT("mma.sync.aligned(.m16n8k8|.m16n8k16).row.col.f32.bf16.bf16.f32 d, a, b, c", 0, 0,
        since(70, 80), multiply)
PTX_EFFECT("mma.sync.aligned(.m16n8k4|.m16n8k8).row.col.f32.tf32.tf32.f32 d, a, b, c", 0, 0,
        since(70, 80), multiply)
PTX_EFFECT("mma.sync.aligned(.m16n8k16|.m16n8k32).row.col{.satfinite}.s32.type.other.s32 d, a, b,"
        " c", bytes_in, bytes_in, since(70, 80), multiply)
PTX_EFFECT("mma.sync.aligned.m8n8k16.row.col{.satfinite}.s32.type.other.s32 d, a, b, c", bytes_in,
        bytes_in, since(65, 75), multiply)
PTX_EFFECT("mma.sync.aligned.m8n8k32.row.col{.satfinite}.s32.type.other.s32 d, a, b, c",
        nibbles_in, nibbles_in, since(65, 75), multiply)
PTX_EFFECT("mma.sync.aligned(.m16n8k32|.m16n8k64).row.col{.satfinite}.s32.type.other.s32 d, a, b,"
        " c", nibbles_in, nibbles_in, since(70, 80), multiply)
PTX_EFFECT("mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc d, a, b, c", 0, 0,
        since(70, 75), multiply)
PTX_EFFECT("mma.sync.aligned(.m16n8k128|.m16n8k256).row.col.s32.b1.b1.s32.xor.popc d, a, b, c", 0,
        0, since(70, 80), multiply)
PTX_EFFECT("mma.sync.aligned(.m8n8k128|.m16n8k128|.m16n8k256).row.col.s32.b1.b1.s32.and.popc d, a,"
        " b, c", 0, 0, since(71, 80), multiply)
PTX_EFFECT("mma.sync.aligned.m16n8k32.row.col.f32.type.other.f32 d, a, b, c", fp8_in, fp8_in,
        since(84, 89), multiply)
PTX_EFFECT("mma.sync.aligned.m16n8k32.row.col.f16.type.other.f16 d, a, b, c", fp8_in, fp8_in,
        since(87, 89), multiply)
PTX_EFFECT("mma.sync.aligned.m16n8k16.row.col.f32.type.other.f32 d, a, b, c", fp8_in, fp8_in,
        since(87, 89), multiply)
PTX_EFFECT("mma.sync.aligned.m16n8k16.row.col.f16.type.other.f16 d, a, b, c", fp8_in, fp8_in,
        since(87, 89), multiply)
PTX_EFFECT("mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.type.other.f32 d, a, b, c",
        small_in, small_in, only_on(87, 120), multiply)
PTX_EFFECT("mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f16.type.other.f16 d, a, b, c",
        small_in, small_in, only_on(87, 120), multiply)
PTX_EFFECT("mma.sync.aligned.m8n8k4.row.col{.rnd}.f64.f64.f64.f64 d, a, b, c", 0, 0, since(70, 80),
        multiply)
PTX_EFFECT("mma.sync.aligned(.m16n8k4|.m16n8k8|.m16n8k16).row.col{.rnd}.f64.f64.f64.f64 d, a, b,"
        " c", 0, 0, since(78, 90), multiply)
PTX_EFFECT("mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale{.scale_vec::1X}.f32.type"
        ".other.f32.ue8m0 d, a, b, c, e, g, h, i", small_in, small_in, only_on(87, 120), unmodelled)
PTX_EFFECT("mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale{.scale_vec::2X}.f32.e2m1.e2m1"
        ".f32.ue8m0 d, a, b, c, e, g, h, i", 0, 0, only_on(87, 120), unmodelled)
PTX_EFFECT("mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1"
        ".e2m1.f32.ue8m0 d, a, b, c, e, g, h, i", 0, 0, only_on(87, 120), unmodelled)
PTX_EFFECT("mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1"
        ".e2m1.f32.ue4m3 d, a, b, c, e, g, h, i", 0, 0, only_on(87, 120), unmodelled)
PTX_SPARSE("(.m16n8k16|.m16n8k32).row.col.f16.f16.f16.f16", 0, 0, 80)
PTX_SPARSE("(.m16n8k16|.m16n8k32).row.col.f32.f16.f16.f32", 0, 0, 80)
PTX_SPARSE("(.m16n8k16|.m16n8k32).row.col.f32.bf16.bf16.f32", 0, 0, 80)
PTX_SPARSE("(.m16n8k8|.m16n8k16).row.col.f32.tf32.tf32.f32", 0, 0, 80)
PTX_SPARSE("(.m16n8k32|.m16n8k64).row.col{.satfinite}.s32.type.other.s32", bytes_in, bytes_in, 80)
PTX_SPARSE("(.m16n8k64|.m16n8k128).row.col{.satfinite}.s32.type.other.s32", nibbles_in, nibbles_in,
        80)
PTX_SPARSE(".m16n8k64.row.col.f32.type.other.f32", fp8_in, fp8_in, 89)
PTX_EFFECT("wmma.load(.a|.b).sync.aligned(.row|.col).m16n16k16{.wspace}.f16 d, [a]{, b}", 0, 0,
        since(60, 70), load_fragment)
PTX_EFFECT("wmma.load.c.sync.aligned(.row|.col).m16n16k16{.wspace}.type d, [a]{, b}",
        any_of(f16, f32), 0, since(60, 70), load_fragment)
PTX_EFFECT("wmma.store.d.sync.aligned(.row|.col).m16n16k16{.wspace}.type [a], b{, c}",
        any_of(f16, f32), 0, since(60, 70), store_fragment)
PTX_EFFECT("wmma.mma.sync.aligned(.row|.col)(.row|.col).m16n16k16.type.other d, a, b, c",
        any_of(f16, f32), any_of(f16, f32), since(60, 70), multiply)
PTX_EFFECT("wmma.load(.a|.b).sync.aligned(.row|.col)(.m8n32k16|.m32n8k16){.wspace}.f16 d, [a]"
        "{, b}", 0, 0, since(61, 70), load_fragment)
PTX_EFFECT("wmma.load.c.sync.aligned(.row|.col)(.m8n32k16|.m32n8k16){.wspace}.type d, [a]{, b}",
        any_of(f16, f32), 0, since(61, 70), load_fragment)
PTX_EFFECT("wmma.store.d.sync.aligned(.row|.col)(.m8n32k16|.m32n8k16){.wspace}.type [a], b{, c}",
        any_of(f16, f32), 0, since(61, 70), store_fragment)
PTX_EFFECT("wmma.mma.sync.aligned(.row|.col)(.row|.col)(.m8n32k16|.m32n8k16).type.other d, a, b, c",
        any_of(f16, f32), any_of(f16, f32), since(61, 70), multiply)
PTX_EFFECT("wmma.load(.a|.b).sync.aligned(.row|.col)(.m16n16k16|.m8n32k16|.m32n8k16){.wspace}.bf16"
        " d, [a]{, b}", 0, 0, since(70, 80), load_fragment)
PTX_EFFECT("wmma.mma.sync.aligned(.row|.col)(.row|.col)(.m16n16k16|.m8n32k16|.m32n8k16).f32.bf16"
        ".bf16.f32 d, a, b, c", 0, 0, since(70, 80), multiply)
PTX_EFFECT("wmma.load(.a|.b).sync.aligned(.row|.col).m16n16k8{.wspace}.tf32 d, [a]{, b}", 0, 0,
        since(70, 80), load_fragment)
PTX_EFFECT("wmma.load.c.sync.aligned(.row|.col).m16n16k8{.wspace}.f32 d, [a]{, b}", 0, 0,
        since(70, 80), load_fragment)
PTX_EFFECT("wmma.store.d.sync.aligned(.row|.col).m16n16k8{.wspace}.f32 [a], b{, c}", 0, 0,
        since(70, 80), store_fragment)
PTX_EFFECT("wmma.mma.sync.aligned(.row|.col)(.row|.col).m16n16k8.f32.tf32.tf32.f32 d, a, b, c", 0,
        0, since(70, 80), multiply)
PTX_EFFECT("wmma.load(.a|.b|.c).sync.aligned(.row|.col).m8n8k4{.wspace}.f64 d, [a]{, b}", 0, 0,
        since(70, 80), load_fragment)
PTX_EFFECT("wmma.store.d.sync.aligned(.row|.col).m8n8k4{.wspace}.f64 [a], b{, c}", 0, 0,
        since(70, 80), store_fragment)
PTX_EFFECT("wmma.mma.sync.aligned(.row|.col)(.row|.col).m8n8k4{.rnd}.f64.f64.f64.f64 d, a, b, c", 0,
        0, since(70, 80), multiply)
PTX_EFFECT("wmma.load(.a|.b).sync.aligned(.row|.col)(.m16n16k16|.m8n32k16|.m32n8k16){.wspace}.type"
        " d, [a]{, b}", bytes_in, 0, since(63, 72), load_fragment)
PTX_EFFECT("wmma.load.a.sync.aligned.row.m8n8k32{.wspace}.type d, [a]{, b}", nibbles_in, 0,
        since(63, 75), load_fragment)
PTX_EFFECT("wmma.load.b.sync.aligned.col.m8n8k32{.wspace}.type d, [a]{, b}", nibbles_in, 0,
        since(63, 75), load_fragment)
PTX_EFFECT("wmma.load.a.sync.aligned.row.m8n8k128{.wspace}.b1 d, [a]{, b}", 0, 0, since(63, 75),
        load_fragment)
PTX_EFFECT("wmma.load.b.sync.aligned.col.m8n8k128{.wspace}.b1 d, [a]{, b}", 0, 0, since(63, 75),
        load_fragment)
PTX_EFFECT("wmma.load.c.sync.aligned(.row|.col)(.m16n16k16|.m8n32k16|.m32n8k16){.wspace}.s32 d, [a]"
        "{, b}", 0, 0, since(63, 72), load_fragment)
PTX_EFFECT("wmma.load.c.sync.aligned(.row|.col)(.m8n8k32|.m8n8k128){.wspace}.s32 d, [a]{, b}", 0, 0,
        since(63, 75), load_fragment)
PTX_EFFECT("wmma.store.d.sync.aligned(.row|.col)(.m16n16k16|.m8n32k16|.m32n8k16){.wspace}.s32 [a],"
        " b{, c}", 0, 0, since(63, 72), store_fragment)
PTX_EFFECT("wmma.store.d.sync.aligned(.row|.col)(.m8n8k32|.m8n8k128){.wspace}.s32 [a], b{, c}", 0,
        0, since(63, 75), store_fragment)
PTX_EFFECT("wmma.mma.sync.aligned(.row|.col)(.row|.col)(.m16n16k16|.m8n32k16|.m32n8k16){.satfinite}"
        ".s32.s8.s8.s32 d, a, b, c", 0, 0, since(63, 72), multiply)
PTX_EFFECT("wmma.mma.sync.aligned(.row|.col)(.row|.col)(.m16n16k16|.m8n32k16|.m32n8k16){.satfinite}"
        ".s32.u8.u8.s32 d, a, b, c", 0, 0, since(63, 72), multiply)
PTX_EFFECT("wmma.mma.sync.aligned.row.col.m8n8k32{.satfinite}.s32.s4.s4.s32 d, a, b, c", 0, 0,
        since(63, 75), multiply)
PTX_EFFECT("wmma.mma.sync.aligned.row.col.m8n8k32{.satfinite}.s32.u4.u4.s32 d, a, b, c", 0, 0,
        since(63, 75), multiply)
PTX_EFFECT("wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 d, a, b, c", 0, 0,
        since(63, 75), multiply)
PTX_EFFECT("wmma.mma.and.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 d, a, b, c", 0, 0,
        since(71, 80), multiply)
PTX_CHAPTER_END
// clang-format on
#undef PTX_SPARSE

}  // namespace lathe::ptx::matrix
