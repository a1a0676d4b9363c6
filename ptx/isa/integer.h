#pragma once

// PTX ISA 9.7.1 and 9.7.2: integer arithmetic, extended precision, in the manual's order.

#include "ptx/isa/functions.h"
#include "ptx/row.h"

namespace lathe::ptx::integer {

namespace fn = functions;
using enum Type;
inline constexpr Types packed = any_of(u16x2, s16x2);
inline constexpr Types bits32_64 = any_of(b32, b64);

// clang-format off
PTX_CHAPTER
PTX_ROW("add.type         d, a, b",           integers,        always, a + b)
PTX_ROW("add.sat.type     d, a, b", any_of(s32), always,
        exactly<T>(f, [](fn::U x, fn::U y) { return fn::clamped_to_s32(fn::extended(x, 32) +
            fn::extended(y, 32)); }, a, b))
PTX_ROW("add.type         d, a, b",           packed,          since(80, 90), a + b)
PTX_ROW("sub.type         d, a, b",           integers,        always, a - b)
PTX_ROW("sub.sat.type     d, a, b", any_of(s32), always,
        exactly<T>(f, [](fn::U x, fn::U y) { return fn::clamped_to_s32(fn::extended(x, 32) -
            fn::extended(y, 32)); }, a, b))
PTX_ROW("mul.lo.type      d, a, b",           integers,        always, a * b)
PTX_ROW("mul.hi.type      d, a, b", integers, always,
        exactly<T>(f, [](fn::U x, fn::U y) { return fn::high_product<T>(x, y); }, a, b))
PTX_ROW("mul.wide.type    d:wide, a, b",      narrow_integers, always, widen(a) * widen(b))
PTX_ROW("mad.lo.type      d, a, b, c",        integers,        always, a * b + c)
PTX_ROW("mad.hi.type      d, a, b, c", integers, always,
        exactly<T>(f, [](fn::U x, fn::U y) { return fn::high_product<T>(x, y); }, a, b) + c)
PTX_ROW("mad.hi.sat.type  d, a, b, c", any_of(s32), always,
        exactly<T>(f, [](fn::U x, fn::U y, fn::U z) { return
            fn::clamped_to_s32(fn::extended(fn::high_product<T>(x, y), 32) + fn::extended(z, 32));
            }, a, b, c))
PTX_ROW("mad.wide.type    d:wide, a, b, c:wide", narrow_integers, always, widen(a) * widen(b) + c)
PTX_ROW("mul24(.lo|.hi).type d, a, b", words, always,
        exactly<T>(f, [f](fn::U x, fn::U y) { return fn::product24<T>(f.has(Flag::high), x, y); },
            a, b))
PTX_ROW("mad24(.lo|.hi).type d, a, b, c", words, always,
        exactly<T>(f, [f](fn::U x, fn::U y) { return fn::product24<T>(f.has(Flag::high), x, y); },
            a, b) + c)
PTX_ROW("mad24.hi.sat.type d, a, b, c", any_of(s32), always,
        exactly<T>(f, [](fn::U x, fn::U y, fn::U z) { return
            fn::clamped_to_s32(fn::extended(fn::product24<T>(true, x, y), 32) + fn::extended(z,
            32)); }, a, b, c))
PTX_ROW("sad.type         d, a, b, c", integers, always,
        exactly<T>(f, [](fn::U x, fn::U y) { return fn::absolute_difference<T>(x, y); }, a, b) + c)
PTX_ROW("div.type         d, a, b", integers, always,
        exactly<T>(f, [](fn::U x, fn::U y) { return fn::quotient<T>(x, y); }, a, b))
PTX_ROW("rem.type         d, a, b", integers, always,
        exactly<T>(f, [](fn::U x, fn::U y) { return fn::remainder<T>(x, y); }, a, b))
PTX_ROW("abs.type         d, a", any_of(s16, s32, s64), always, select(a < literal(a, 0), -a, a))
PTX_ROW("neg.type         d, a",              any_of(s16, s32, s64), always, -a)
PTX_ROW("min.type         d, a, b",           integers,        always, smaller(a, b))
PTX_ROW("max.type         d, a, b",           integers,        always, larger(a, b))
PTX_ROW("min.relu.type    d, a, b", any_of(s32, s16x2), since(80, 90),
        larger(smaller(a, b), literal(a, 0)))
PTX_ROW("max.relu.type    d, a, b", any_of(s32, s16x2), since(80, 90),
        larger(larger(a, b), literal(a, 0)))
PTX_ROW("min.type         d, a, b",           packed,          since(80, 90), smaller(a, b))
PTX_ROW("max.type         d, a, b",           packed,          since(80, 90), larger(a, b))
PTX_ROW("popc.type        d:u32, a", bits32_64, since(20, 20),
        exactly<u32>(f, [](fn::U x) { return static_cast<fn::U>(std::popcount(x)); }, a))
PTX_ROW("clz.type         d:u32, a", bits32_64, since(20, 20),
        exactly<u32>(f, [](fn::U x) { return fn::leading_zeros<width_of(T)>(x); }, a))
PTX_ROW("bfind{.shiftamt}.type d:u32, a", words_and_longs, since(20, 20),
        exactly<u32>(f, [f](fn::U x) { return fn::top_bit<T>(f.constant != 0, x); }, a))
PTX_ROW("brev.type        d, a", bits32_64, since(20, 20),
        exactly<T>(f, [](fn::U x) { return fn::reversed<width_of(T)>(x); }, a))
PTX_ROW("bfe.type         d, a, b:u32, c:u32", words_and_longs, since(20, 20),
        exactly<T>(f, [](fn::U x, fn::U y, fn::U z) { return fn::field_of<T>(x, y, z); }, a, b, c))
PTX_ROW("bfi.type         d, a, b, c:u32, e:u32", bits32_64, since(20, 20),
        exactly<T>(f, [](fn::U x, fn::U y, fn::U z, fn::U w) { return fn::inserted<width_of(T)>(x,
            y, z, w); }, a, b, c, e))
PTX_ROW("szext(.wrap|.clamp).type d, a, b:u32", words, since(76, 70),
        exactly<T>(f, [f](fn::U x, fn::U y) { return fn::low_bits_extended<T>(f.has(Flag::wrap), x,
            y); }, a, b))
PTX_ROW("bmsk(.wrap|.clamp).type d, a:u32, b:u32", any_of(b32), since(76, 70),
        exactly<T>(f, [f](fn::U x, fn::U y) { return fn::bit_mask(f.has(Flag::wrap), x, y); }, a,
            b))
PTX_ROW("fns.type         d:b32, a:b32, b:b32, c:s32", any_of(b32), since(60, 30),
        exactly<b32>(f, [](fn::U x, fn::U y, fn::U z) { return fn::nth_set_bit(x, y, z); }, a, b,
            c))
PTX_ROW("$dot4.type       d, a, b, c", words, always,
        exactly<T>(f, [f](fn::U x, fn::U y, fn::U z) { return fn::dot4((f.constant & 1) != 0,
            (f.constant & 2) != 0, x, y, z); }, a, b, c))
PTX_ROW("$dot2.type       d, a, b, c", words, always,
        exactly<T>(f, [f](fn::U x, fn::U y, fn::U z) { return fn::dot2((f.constant & 1) != 0,
            (f.constant & 2) != 0, (f.constant & 4) != 0, x, y, z); }, a, b, c))
PTX_EFFECT("dp4a.type.other d, a, b, c",      words, words,    since(50, 61), expand)
PTX_EFFECT("dp2a(.lo|.hi).type.other d, a, b, c", words, words, since(50, 61), expand)
PTX_EFFECT("add.cc.type   d, a, b",           words_and_longs, 0, always, expand)
PTX_EFFECT("addc{.cc}.type d, a, b",          words_and_longs, 0, always, expand)
PTX_EFFECT("sub.cc.type   d, a, b",           words_and_longs, 0, always, expand)
PTX_EFFECT("subc{.cc}.type d, a, b",          words_and_longs, 0, always, expand)
PTX_EFFECT("mad(.lo|.hi).cc.type d, a, b, c", words_and_longs, 0, always, expand)
PTX_EFFECT("madc(.lo|.hi){.cc}.type d, a, b, c", words_and_longs, 0, always, expand)
PTX_ROW("$add.carry.type  d, a, b, c", any_of(u32, u64), always,
        exactly<T>(f, [](fn::U x, fn::U y, fn::U z) { return fn::carry_of(width_of(T), x, y, z); },
            a, b, c))
PTX_ROW("$sub.carry.type  d, a, b, c", any_of(u32, u64), always,
        exactly<T>(f, [](fn::U x, fn::U y, fn::U z) { return fn::borrow_of(x, y, z); }, a, b, c))
PTX_CHAPTER_END
// clang-format on

}  // namespace lathe::ptx::integer
