#pragma once

// PTX ISA 9.7.9.21 and 9.7.9.22: cvt between all formats, and cvt.pack.

#include "ptx/isa/functions.h"
#include "ptx/row.h"

namespace lathe::ptx::conversion {

namespace fn = functions;
using enum Type;
inline constexpr Types small = any_of(u8, s8, u16, s16, u32, s32, u64, s64);
inline constexpr Types cvt_floats = any_of(f16, bf16, f32, f64);
inline constexpr Types half_pairs = any_of(f16x2, bf16x2);
inline constexpr Types bytes_x2 = any_of(e4m3x2, e5m2x2);
inline constexpr Types narrow_x2 = any_of(e2m1x2, e2m3x2, e3m2x2);
inline constexpr Types packed_x4 = any_of(e4m3x4, e5m2x4, e2m1x4, e2m3x4, e3m2x4);

// clang-format off
PTX_CHAPTER
PTX_EFFECT("cvt{.sat}.type.other d, a",               small, small, always, convert)
PTX_EFFECT("cvt.irnd{.ftz}{.sat}.type.other d, a",    small, cvt_floats, always, convert)
PTX_EFFECT("cvt.rnd{.ftz}{.sat}.type.other d, a",     cvt_floats, small, always, convert)
PTX_EFFECT("cvt.irnd{.ftz}{.sat}.type.other d, a",    cvt_floats, cvt_floats, always, convert)
PTX_EFFECT("cvt{.ftz}{.sat}.type.other d, a",         cvt_floats, cvt_floats, always, convert)
PTX_EFFECT("cvt.rnd{.ftz}{.sat}.type.other d, a",     cvt_floats, cvt_floats, always, convert)
PTX_EFFECT("cvt(.rn|.rz){.satfinite}{.relu}.type.other d, a", any_of(f16, bf16), any_of(f32),
        since(70, 80), convert)
PTX_EFFECT("cvt(.rn|.rz){.satfinite}{.relu}.type.other d, a, b", half_pairs, any_of(f32),
        since(70, 80), convert)
PTX_EFFECT("cvt.rs{.satfinite}{.relu}.type.other d, a, b, c", half_pairs, any_of(f32),
        only_on(87, 100), convert)
PTX_EFFECT("cvt.rna{.satfinite}.type.other d, a", any_of(tf32), any_of(f32), since(70, 80), convert)
PTX_EFFECT("cvt(.rn|.rz){.relu}.type.other d, a", any_of(tf32), any_of(f32), since(78, 90), convert)
PTX_EFFECT("cvt(.rn|.rz).satfinite{.relu}.type.other d, a", any_of(tf32), any_of(f32),
        since(86, 100), convert)
PTX_EFFECT("cvt.rn.satfinite{.relu}.type.other d, a, b", bytes_x2, any_of(f32), since(81, 89),
        convert)
PTX_EFFECT("cvt.rn.satfinite{.relu}.type.other d, a, b", bytes_x2, any_of(f32), since(78, 90),
        convert)
PTX_EFFECT("cvt.rn.satfinite{.relu}.type.other d, a", bytes_x2, any_of(f16x2), since(81, 89),
        convert)
PTX_EFFECT("cvt.rn.satfinite{.relu}.type.other d, a", bytes_x2, any_of(f16x2), since(78, 90),
        convert)
PTX_EFFECT("cvt.rn.satfinite{.relu}.type.other d, a", bytes_x2, any_of(bf16x2), only_on(91, 100),
        convert)
PTX_EFFECT("cvt.rn{.relu}.type.other d, a", any_of(f16x2), bytes_x2, since(81, 89), convert)
PTX_EFFECT("cvt.rn{.relu}.type.other d, a", any_of(f16x2), bytes_x2, since(78, 90), convert)
PTX_EFFECT("cvt.rn{.satfinite}{.relu}.type.other d, a", any_of(bf16x2), bytes_x2 | narrow_x2,
        only_on(92, 100), convert)
PTX_EFFECT("cvt.rn{.satfinite}{.relu}.scaled::n2::ue8m0.type.other d, a, b", any_of(bf16x2),
        bytes_x2 | narrow_x2, only_on(92, 100), convert)
PTX_EFFECT("cvt.rs{.relu}.satfinite.type.other d, a, b", packed_x4, any_of(f32), only_on(87, 100),
        convert)
PTX_EFFECT("cvt.rn.satfinite{.relu}.type.other d, a, b", narrow_x2, any_of(f32), only_on(86, 100),
        convert)
PTX_EFFECT("cvt.rn.satfinite{.relu}.type.other d, a", narrow_x2, half_pairs, only_on(91, 100),
        convert)
PTX_EFFECT("cvt.rn{.relu}.type.other d, a", any_of(f16x2), narrow_x2, only_on(86, 100), convert)
PTX_EFFECT("cvt(.rz|.rp){.satfinite}.type.other d, a, b", any_of(ue8m0x2), any_of(f32),
        only_on(86, 100), convert)
PTX_EFFECT("cvt(.rz|.rp){.satfinite}.type.other d, a", any_of(ue8m0x2), any_of(bf16x2),
        only_on(86, 100), convert)
PTX_EFFECT("cvt.rn.type.other d, a", any_of(bf16x2), any_of(ue8m0x2), only_on(86, 100), convert)
PTX_EFFECT("cvt.rn.satfinite{.relu}.type.other d, a, b", any_of(s2f6x2), any_of(f32),
        only_on(91, 100), convert)
PTX_EFFECT("cvt.rn.satfinite{.relu}.scaled::n2::ue8m0.type.other d, a, b, c", any_of(s2f6x2),
        any_of(f32), only_on(91, 100), convert)
PTX_EFFECT("cvt.rn.satfinite{.relu}.type.other d, a", any_of(s2f6x2), any_of(bf16x2),
        only_on(91, 100), convert)
PTX_EFFECT("cvt.rn.satfinite{.relu}.scaled::n2::ue8m0.type.other d, a, b", any_of(s2f6x2),
        any_of(bf16x2), only_on(91, 100), convert)
PTX_EFFECT("cvt.rn{.satfinite}{.relu}.type.other d, a", any_of(bf16x2), any_of(s2f6x2),
        only_on(91, 100), convert)
PTX_EFFECT("cvt.rn{.satfinite}{.relu}.scaled::n2::ue8m0.type.other d, a, b", any_of(bf16x2),
        any_of(s2f6x2), only_on(91, 100), convert)
PTX_ROW("cvt.pack.sat.type.s32 d:u32, a:s32, b:s32", any_of(u16, s16), since(65, 72),
        exactly<u32>(f, [](fn::U x, fn::U y) { return fn::packed<T>(x, y, 0); }, a, b))
PTX_ROW("cvt.pack.sat.type.s32.b32 d:u32, a:s32, b:s32, c:b32", any_of(u8, s8), since(65, 72),
        exactly<u32>(f, [](fn::U x, fn::U y, fn::U z) { return fn::packed<T>(x, y, z); }, a, b, c))
PTX_ROW("cvt.pack.sat.type.s32.b32 d:u32, a:s32, b:s32, c:b32", any_of(u4, s4, u2, s2),
        since(65, 75),
        exactly<u32>(f, [](fn::U x, fn::U y, fn::U z) { return fn::packed<T>(x, y, z); }, a, b, c))
PTX_CHAPTER_END
// clang-format on

}  // namespace lathe::ptx::conversion
