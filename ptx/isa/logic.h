#pragma once

// PTX ISA 9.7.6 to 9.7.8: comparison, selection, logic and shift.

#include "ptx/isa/functions.h"
#include "ptx/row.h"

namespace lathe::ptx::logic {

namespace fn = functions;
using enum Type;
inline constexpr Types comparable = integers | untyped;
inline constexpr Types bits_and_pred = untyped | any_of(pred);

/// An integer comparison as the form says, without a branch for each lane; lo, ls, hi, hs are asked
/// of unsigned types only.
template <class V>
constexpr bool ordered(Form f, V a, V b) {
  unsigned outcome = a < b ? 1u : a == b ? 2u : 4u;
  return (outcome & holds_for(f.comparison)) != 0;
}

// clang-format off
PTX_CHAPTER
PTX_ROW("$setp.type  d:pred, a, b",               comparable, always,        ordered(f, a, b))
PTX_ROW("$setp.type  d:pred, a, b", floats | any_of(f16, bf16), always, compare(f, a, b))
PTX_EFFECT("setp.icmp.type d, a, b",              comparable, 0, always, expand)
PTX_EFFECT("setp.icmp.bop.type d, a, b, c",       comparable, 0, always, expand)
PTX_EFFECT("setp.fcmp{.ftz}.type d, a, b",        floats, 0, always, expand)
PTX_EFFECT("setp.fcmp.bop{.ftz}.type d, a, b, c", floats, 0, always, expand)
PTX_EFFECT("setp.fcmp{.bop}{.ftz}.type d, a, b{, c}", any_of(f16, f16x2), 0, since(42, 53), expand)
PTX_EFFECT("setp.fcmp{.bop}.type d, a, b{, c}",   any_of(bf16, bf16x2), 0, since(78, 90), expand)
PTX_EFFECT("set.icmp.type.other d, a, b",         any_of(u32, s32, f32), comparable, always, expand)
PTX_EFFECT("set.icmp.bop.type.other d, a, b, c",  any_of(u32, s32, f32), comparable, always, expand)
PTX_EFFECT("set.fcmp{.ftz}.type.other d, a, b",   any_of(u32, s32, f32), floats, always, expand)
PTX_EFFECT("set.fcmp.bop{.ftz}.type.other d, a, b, c", any_of(u32, s32, f32), floats, always,
        expand)
PTX_EFFECT("set.fcmp{.bop}{.ftz}.type.other d, a, b{, c}", any_of(f16), any_of(f16, f32, f64),
        since(42, 53), expand)
PTX_EFFECT("set.icmp{.bop}.type.other d, a, b{, c}", any_of(f16), comparable, since(42, 53), expand)
PTX_EFFECT("set.fcmp{.bop}.type.other d, a, b{, c}", any_of(bf16), any_of(f16, bf16, f32, f64),
        since(78, 90), expand)
PTX_EFFECT("set.icmp{.bop}.type.other d, a, b{, c}", any_of(bf16), comparable, since(78, 90),
        expand)
PTX_EFFECT("set.fcmp{.bop}{.ftz}.type.other d, a, b{, c}", any_of(u16, s16, u32, s32), any_of(f16),
        since(65, 53), expand)
PTX_EFFECT("set.fcmp{.bop}.type.other d, a, b{, c}", any_of(u16, s16, u32, s32), any_of(bf16),
        since(78, 90), expand)
PTX_EFFECT("set.fcmp{.bop}{.ftz}.type.other d, a, b{, c}", any_of(f16x2), any_of(f16x2),
        since(42, 53), expand)
PTX_EFFECT("set.fcmp{.bop}{.ftz}.type.other d, a, b{, c}", any_of(u32, s32), any_of(f16x2),
        since(65, 53), expand)
PTX_EFFECT("set.fcmp{.bop}.type.other d, a, b{, c}", any_of(bf16x2, u32, s32), any_of(bf16x2),
        since(78, 90), expand)
PTX_ROW("$selp.type  d, a, b, c:pred",            bits_and_pred, always,     select(c, a, b))
PTX_EFFECT("selp.type d, a, b, c",                any, 0, always, expand)
PTX_EFFECT("slct{.ftz}.type.other d, a, b, c",    any, any_of(s32, f32), always, expand)
PTX_ROW("and.type    d, a, b",                    bits_and_pred, always,     a & b)
PTX_ROW("or.type     d, a, b",                    bits_and_pred, always,     a | b)
PTX_ROW("xor.type    d, a, b",                    bits_and_pred, always,     a ^ b)
PTX_ROW("not.type    d, a",                       untyped,    always,        ~a)
PTX_ROW("not.type    d, a",                       any_of(pred), always,      a ^ literal(a, 1))
PTX_ROW("cnot.type   d, a", untyped, always,
        select(a == literal(a, 0), literal(a, 1), literal(a, 0)))
PTX_ROW("$lop3.type  d, a, b, c", any_of(b32), always,
        exactly<T>(f, [f](fn::U x, fn::U y, fn::U z) { return fn::by_table(f.constant, x, y, z); },
            a, b, c))
PTX_EFFECT("lop3.b32 d, a, b, c, table",          0, 0, since(43, 50), expand)
PTX_EFFECT("lop3(.or|.and).b32 d, a, b, c, table, q", 0, 0, since(82, 70), expand)
PTX_ROW("shf(.l|.r)(.wrap|.clamp).type d, a, b, c:u32", any_of(b32), since(31, 32),
        exactly<T>(f, [f](fn::U x, fn::U y, fn::U z) { return fn::funnel(f.has(Flag::left),
            f.has(Flag::wrap), x, y, z); }, a, b, c))
PTX_ROW("shl.type    d, a, b:u32",                untyped,    always,        shift_left(a, b))
PTX_ROW("shr.type    d, a, b:u32",                comparable, always,        shift_right(a, b))
PTX_ROW("$prmt.type  d, a, b, c", any_of(b32), always,
        exactly<T>(f, [](fn::U x, fn::U y, fn::U z) { return fn::permuted(x, y, z); }, a, b, c))
PTX_EFFECT("prmt.b32{.prmt} d, a, b, c",          0, 0, since(20, 20), permute)
PTX_CHAPTER_END
// clang-format on

}  // namespace lathe::ptx::logic
