#pragma once

// PTX ISA 9.7.3 to 9.7.5: floating point in f32 and f64, in f16 and bf16, and mixed.

#include "ptx/row.h"

namespace lathe::ptx::floating {

using enum Type;
inline constexpr Types single = any_of(f32), double_ = any_of(f64), two_singles = any_of(f32x2);
inline constexpr Types f16s = any_of(f16, f16x2), bf16s = any_of(bf16, bf16x2);

// clang-format off
PTX_CHAPTER
PTX_ROW("testp.testp.type d:pred, a",                 floats,      since(20, 20), is_special(f, a))
PTX_ROW("copysign.type d, a, b",                      floats,      since(20, 20), copysign_of(a, b))
PTX_ROW("add{.rnd}{.ftz}{.sat}.type d, a, b",         single,      always,        add(f, a, b))
PTX_ROW("add{.rnd}.type d, a, b",                     double_,     always,        add(f, a, b))
PTX_ROW("add{.rnd}{.ftz}.type d, a, b",               two_singles, since(86, 100), add(f, a, b))
PTX_ROW("add{.rn}{.ftz}{.sat}.type d, a, b",          f16s,        since(42, 53), add(f, a, b))
PTX_ROW("add{.rn}.type d, a, b",                      bf16s,       since(78, 90), add(f, a, b))
PTX_EFFECT("add{.rnd}{.sat}.type.other d, a, b", single, any_of(f16, bf16), since(86, 100), expand)
PTX_ROW("sub{.rnd}{.ftz}{.sat}.type d, a, b",         single,      always,        sub(f, a, b))
PTX_ROW("sub{.rnd}.type d, a, b",                     double_,     always,        sub(f, a, b))
PTX_ROW("sub{.rnd}{.ftz}.type d, a, b",               two_singles, since(86, 100), sub(f, a, b))
PTX_ROW("sub{.rn}{.ftz}{.sat}.type d, a, b",          f16s,        since(42, 53), sub(f, a, b))
PTX_ROW("sub{.rn}.type d, a, b",                      bf16s,       since(78, 90), sub(f, a, b))
PTX_EFFECT("sub{.rnd}{.sat}.type.other d, a, b", single, any_of(f16, bf16), since(86, 100), expand)
PTX_ROW("mul{.rnd}{.ftz}{.sat}.type d, a, b",         single,      always,        mul(f, a, b))
PTX_ROW("mul{.rnd}.type d, a, b",                     double_,     always,        mul(f, a, b))
PTX_ROW("mul{.rnd}{.ftz}.type d, a, b",               two_singles, since(86, 100), mul(f, a, b))
PTX_ROW("mul{.rn}{.ftz}{.sat}.type d, a, b",          f16s,        since(42, 53), mul(f, a, b))
PTX_ROW("mul{.rn}.type d, a, b",                      bf16s,       since(78, 90), mul(f, a, b))
PTX_ROW("fma.rnd{.ftz}{.sat}.type d, a, b, c",        single,      always,        fused(f, a, b, c))
PTX_ROW("fma.rnd.type d, a, b, c",                    double_,     always,        fused(f, a, b, c))
PTX_ROW("fma.rnd{.ftz}.type d, a, b, c", two_singles, since(86, 100), fused(f, a, b, c))
PTX_ROW("fma.rn{.ftz}{.sat}.type d, a, b, c",         f16s,        since(42, 53), fused(f, a, b, c))
PTX_ROW("fma.rn{.ftz}.relu.type d, a, b, c",          f16s,        since(70, 80), fused(f, a, b, c))
PTX_ROW("fma.rn{.relu}.type d, a, b, c",              bf16s,       since(70, 80), fused(f, a, b, c))
PTX_ROW("fma.rn.oob{.relu}.type d, a, b, c", halves, since(81, 90), fused_filled(f, a, b, c))
PTX_EFFECT("fma.rnd{.sat}.type.other d, a, b, c", single, any_of(f16, bf16), since(86, 100), expand)
PTX_ROW("mad.rnd{.ftz}{.sat}.type d, a, b, c",        single,      always,        fused(f, a, b, c))
PTX_ROW("mad.rnd.type d, a, b, c",                    double_,     always,        fused(f, a, b, c))
PTX_ROW("div(.approx|.full){.ftz}.type d, a, b",     single,      always,        divide(f, a, b))
PTX_ROW("div.rnd{.ftz}.type d, a, b",                 single,      since(14, 20), divide(f, a, b))
PTX_ROW("div.rnd.type d, a, b",                       double_,     since(14, 20), divide(f, a, b))
PTX_ROW("abs{.ftz}.type d, a",                        single,      always,        absolute(f, a))
PTX_ROW("abs.type d, a",                              double_,     always,        absolute(f, a))
PTX_ROW("abs{.ftz}.type d, a",                        f16s,        since(65, 53), absolute(f, a))
PTX_ROW("abs.type d, a",                              bf16s,       since(70, 80), absolute(f, a))
PTX_ROW("neg{.ftz}.type d, a",                        single,      always,        negate(f, a))
PTX_ROW("neg.type d, a",                              double_,     always,        negate(f, a))
PTX_ROW("neg{.ftz}.type d, a",                        f16s,        since(60, 53), negate(f, a))
PTX_ROW("neg.type d, a",                              bf16s,       since(70, 80), negate(f, a))
PTX_ROW("min{.ftz}.type d, a, b",                     single,      always,        minimum(f, a, b))
PTX_ROW("min{.ftz}{.NaN}{.xorsign}{.abs}.type d, a, b", single, since(70, 80), minimum(f, a, b))
PTX_ROW("min{.ftz}{.NaN}{.abs}.type d, a, b, c", single, since(88, 100),
        minimum(f, minimum(f, a, b), c))
PTX_ROW("min.type d, a, b",                           double_,     always,        minimum(f, a, b))
PTX_ROW("min{.ftz}{.NaN}{.xorsign}{.abs}.type d, a, b", f16s, since(70, 80), minimum(f, a, b))
PTX_ROW("min{.NaN}{.xorsign}{.abs}.type d, a, b", bf16s, since(70, 80), minimum(f, a, b))
PTX_ROW("max{.ftz}.type d, a, b",                     single,      always,        maximum(f, a, b))
PTX_ROW("max{.ftz}{.NaN}{.xorsign}{.abs}.type d, a, b", single, since(70, 80), maximum(f, a, b))
PTX_ROW("max{.ftz}{.NaN}{.abs}.type d, a, b, c", single, since(88, 100),
        maximum(f, maximum(f, a, b), c))
PTX_ROW("max.type d, a, b",                           double_,     always,        maximum(f, a, b))
PTX_ROW("max{.ftz}{.NaN}{.xorsign}{.abs}.type d, a, b", f16s, since(70, 80), maximum(f, a, b))
PTX_ROW("max{.NaN}{.xorsign}{.abs}.type d, a, b", bf16s, since(70, 80), maximum(f, a, b))
PTX_ROW("rcp.approx{.ftz}.type d, a",                 single,      always,        reciprocal(f, a))
PTX_ROW("rcp.rnd{.ftz}.type d, a",                    single,      since(14, 20), reciprocal(f, a))
PTX_ROW("rcp.rnd.type d, a",                          double_,     since(14, 20), reciprocal(f, a))
PTX_ROW("rcp.approx.ftz.type d, a",                   double_,     since(21, 20), reciprocal(f, a))
PTX_ROW("sqrt.approx{.ftz}.type d, a",                single,      always,        square_root(f, a))
PTX_ROW("sqrt.rnd{.ftz}.type d, a",                   single,      since(14, 20), square_root(f, a))
PTX_ROW("sqrt.rnd.type d, a",                         double_,     since(14, 20), square_root(f, a))
PTX_ROW("rsqrt.approx{.ftz}.type d, a", floats, always, reciprocal_root(f, a))
PTX_ROW("sin.approx{.ftz}.type d, a",                 single,      always,        sine(f, a))
PTX_ROW("cos.approx{.ftz}.type d, a",                 single,      always,        cosine(f, a))
PTX_ROW("lg2.approx{.ftz}.type d, a",                 single,      always,        logarithm2(f, a))
PTX_ROW("ex2.approx{.ftz}.type d, a", single, always, exponential2(f, a))
PTX_ROW("ex2.approx.type d, a", f16s, since(70, 75), exponential2(f, a))
PTX_ROW("ex2.approx.ftz.type d, a", bf16s, since(78, 90), exponential2(f, a))
PTX_ROW("tanh.approx.type d, a", single, since(70, 75), hyperbolic_tangent(f, a))
PTX_ROW("tanh.approx.type d, a", f16s, since(70, 75), hyperbolic_tangent(f, a))
PTX_ROW("tanh.approx.type d, a", bf16s, since(78, 90), hyperbolic_tangent(f, a))
PTX_CHAPTER_END
// clang-format on

}  // namespace lathe::ptx::floating
