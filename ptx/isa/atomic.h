#pragma once

// PTX ISA 9.7.13.5 and 9.7.13.6, atom and red; 9.7.9.14, multimem.
//
// A multimem address names a multicast object, which here is that of one device: one location. A
// buffer says whether it is one (Buffer::multicast); multimem on another buffer, and any other
// access to a multicast one, is a trap.

#include "ptx/row.h"

namespace lathe::ptx::atomics {

using enum Type;
inline constexpr Types added = any_of(u32, s32, u64, f32, f64);
inline constexpr Types ordered = any_of(u32, s32, u64, s64);
inline constexpr Types masks = any_of(b32, b64);
inline constexpr Types half_words = any_of(f16, f16x2), brain_words = any_of(bf16, bf16x2);
inline constexpr Types half_vectors = any_of(f16, bf16), pair_vectors = any_of(f16x2, bf16x2);
inline constexpr Types multicast_words = masks | ordered;
inline constexpr Types multicast_floats = any_of(f16x2, bf16x2, f32, f64);
inline constexpr Types multicast_twos = any_of(f16, f16x2, bf16, bf16x2, f32);
inline constexpr Types small_twos = any_of(e5m2x2, e5m2x4, e4m3x2, e4m3x4);
inline constexpr Types small_fours = small_twos | any_of(e5m2, e4m3);
inline constexpr Types small_eights = any_of(e5m2, e4m3, e5m2x2, e4m3x2);

// clang-format off
PTX_CHAPTER
PTX_EFFECT("atom{.asem}{.scope}{.aspace}.add{.L2::cache_hint}.type d, [a], b{, c}", added, 0,
        since(11, 20), atomic)
PTX_EFFECT("atom{.asem}{.scope}{.aspace}(.min|.max){.L2::cache_hint}.type d, [a], b{, c}", ordered,
        0, since(31, 32), atomic)
PTX_EFFECT("atom{.asem}{.scope}{.aspace}(.inc|.dec){.L2::cache_hint}.type d, [a], b{, c}",
        any_of(u32), 0, since(11, 20), atomic)
PTX_EFFECT("atom{.asem}{.scope}{.aspace}(.and|.or|.xor){.L2::cache_hint}.type d, [a], b{, c}",
        masks, 0, since(11, 20), atomic)
PTX_EFFECT("atom{.asem}{.scope}{.aspace}.exch{.L2::cache_hint}.type d, [a], b{, c}", masks, 0,
        since(11, 20), atomic)
PTX_EFFECT("atom{.asem}{.scope}{.aspace}.exch{.L2::cache_hint}.type d, [a], b{, c}", any_of(b128),
        0, since(83, 90), atomic)
PTX_EFFECT("atom{.asem}{.scope}{.aspace}.cas.type d, [a], b, c", masks, 0,
        since(11, 20), atomic)
PTX_EFFECT("atom{.asem}{.scope}{.aspace}.cas.type d, [a], b, c", any_of(b16), 0, since(63, 70),
        atomic)
PTX_EFFECT("atom{.asem}{.scope}{.aspace}.cas.type d, [a], b, c", any_of(b128), 0, since(83, 90),
        atomic)
PTX_EFFECT("atom{.asem}{.scope}{.aspace}.add.noftz{.L2::cache_hint}.type d, [a], b{, c}",
        half_words, 0, since(63, 70), atomic)
PTX_EFFECT("atom{.asem}{.scope}{.aspace}.add.noftz{.L2::cache_hint}.type d, [a], b{, c}",
        brain_words, 0, since(78, 90), atomic)
PTX_EFFECT("atom{.asem}{.scope}{.global}.add{.L2::cache_hint}(.v2|.v4).type d, [a], b{, c}",
        any_of(f32), 0, since(81, 90), atomic)
PTX_EFFECT("atom{.asem}{.scope}{.global}(.add|.min|.max).noftz{.L2::cache_hint}.vec.type d, [a],"
        " b{, c}", half_vectors, 0, since(81, 90), atomic)
PTX_EFFECT("atom{.asem}{.scope}{.global}(.add|.min|.max).noftz{.L2::cache_hint}(.v2|.v4).type d,"
        " [a], b{, c}", pair_vectors, 0, since(81, 90), atomic)
PTX_EFFECT("red{.rsem}{.scope}{.aspace}.add{.L2::cache_hint}.type [a], b{, c}", added, 0,
        since(12, 20), atomic)
PTX_EFFECT("red{.rsem}{.scope}{.aspace}(.min|.max){.L2::cache_hint}.type [a], b{, c}", ordered, 0,
        since(31, 32), atomic)
PTX_EFFECT("red{.rsem}{.scope}{.aspace}(.inc|.dec){.L2::cache_hint}.type [a], b{, c}", any_of(u32),
        0, since(12, 20), atomic)
PTX_EFFECT("red{.rsem}{.scope}{.aspace}(.and|.or|.xor){.L2::cache_hint}.type [a], b{, c}", masks,
        0, since(12, 20), atomic)
PTX_EFFECT("red{.rsem}{.scope}{.aspace}.add.noftz{.L2::cache_hint}.type [a], b{, c}", half_words,
        0, since(63, 70), atomic)
PTX_EFFECT("red{.rsem}{.scope}{.aspace}.add.noftz{.L2::cache_hint}.type [a], b{, c}", brain_words,
        0, since(78, 90), atomic)
PTX_EFFECT("red{.rsem}{.scope}{.global}.add{.L2::cache_hint}(.v2|.v4).type [a], b{, c}",
        any_of(f32), 0, since(81, 90), atomic)
PTX_EFFECT("red{.rsem}{.scope}{.global}(.add|.min|.max).noftz{.L2::cache_hint}.vec.type [a], b{,"
        " c}", half_vectors, 0, since(81, 90), atomic)
PTX_EFFECT("red{.rsem}{.scope}{.global}(.add|.min|.max).noftz{.L2::cache_hint}(.v2|.v4).type [a],"
        " b{, c}", pair_vectors, 0, since(81, 90), atomic)
PTX_EFFECT("multimem.ld_reduce{.weak}{.global}(.add|.min|.max).type d, [a]", ordered, 0,
        since(81, 90), load)
PTX_EFFECT("multimem.ld_reduce{.weak}{.global}(.and|.or|.xor).type d, [a]", masks, 0,
        since(81, 90), load)
PTX_EFFECT("multimem.ld_reduce(.relaxed|.acquire).scope{.global}(.add|.min|.max).type d, [a]",
        ordered, 0, since(81, 90), load)
PTX_EFFECT("multimem.ld_reduce(.relaxed|.acquire).scope{.global}(.and|.or|.xor).type d, [a]",
        masks, 0, since(81, 90), load)
PTX_EFFECT("multimem.ld_reduce{.weak}{.relaxed}{.acquire}{.scope}{.global}.add.type d, [a]",
        any_of(f32, f64), 0, since(81, 90), load)
PTX_EFFECT("multimem.ld_reduce{.weak}{.relaxed}{.acquire}{.scope}{.global}(.add|.min|.max).type"
        " d, [a]", pair_vectors, 0, since(81, 90), load)
PTX_EFFECT("multimem.ld_reduce{.weak}{.relaxed}{.acquire}{.scope}{.global}(.add|.min|.max)"
        "(.v2|.v4).type d, [a]", half_vectors | pair_vectors, 0, since(81, 90), load)
PTX_EFFECT("multimem.ld_reduce{.weak}{.relaxed}{.acquire}{.scope}{.global}(.add|.min|.max).v8.type"
        " d, [a]", half_vectors, 0, since(81, 90), load)
PTX_EFFECT("multimem.ld_reduce{.weak}{.relaxed}{.acquire}{.scope}{.global}.add(.v2|.v4).type d,"
        " [a]", any_of(f32), 0, since(81, 90), load)
PTX_EFFECT("multimem.ld_reduce{.weak}{.relaxed}{.acquire}{.scope}{.global}.add.acc::f32.type d,"
        " [a]", pair_vectors, 0, since(82, 90), load)
PTX_EFFECT("multimem.ld_reduce{.weak}{.relaxed}{.acquire}{.scope}{.global}.add.acc::f32(.v2|.v4)"
        ".type d, [a]", half_vectors | pair_vectors, 0, since(82, 90), load)
PTX_EFFECT("multimem.ld_reduce{.weak}{.relaxed}{.acquire}{.scope}{.global}.add.acc::f32.v8.type d,"
        " [a]", half_vectors, 0, since(82, 90), load)
PTX_EFFECT("multimem.ld_reduce{.weak}{.relaxed}{.acquire}{.scope}{.global}(.add|.min|.max)"
        "{.acc::f16}.type d, [a]", any_of(e5m2x4, e4m3x4), 0, only_on(86, 100), load)
PTX_EFFECT("multimem.ld_reduce{.weak}{.relaxed}{.acquire}{.scope}{.global}(.add|.min|.max)"
        "{.acc::f16}.v2.type d, [a]", small_twos, 0, only_on(86, 100), load)
PTX_EFFECT("multimem.ld_reduce{.weak}{.relaxed}{.acquire}{.scope}{.global}(.add|.min|.max)"
        "{.acc::f16}.v4.type d, [a]", small_fours, 0, only_on(86, 100), load)
PTX_EFFECT("multimem.ld_reduce{.weak}{.relaxed}{.acquire}{.scope}{.global}(.add|.min|.max)"
        "{.acc::f16}.v8.type d, [a]", small_eights, 0, only_on(86, 100), load)
PTX_EFFECT("multimem.st{.weak}{.relaxed}{.release}{.scope}{.global}.type [a], b",
        multicast_words | multicast_floats, 0, since(81, 90), store)
PTX_EFFECT("multimem.st{.weak}{.relaxed}{.release}{.scope}{.global}(.v2|.v4).type [a], b",
        multicast_twos, 0, since(81, 90), store)
PTX_EFFECT("multimem.st{.weak}{.relaxed}{.release}{.scope}{.global}.v8.type [a], b", half_vectors,
        0, since(81, 90), store)
PTX_EFFECT("multimem.st{.weak}{.relaxed}{.release}{.scope}{.global}.type [a], b",
        any_of(e5m2x4, e4m3x4), 0, only_on(86, 100), store)
PTX_EFFECT("multimem.st{.weak}{.relaxed}{.release}{.scope}{.global}.v2.type [a], b", small_twos, 0,
        only_on(86, 100), store)
PTX_EFFECT("multimem.st{.weak}{.relaxed}{.release}{.scope}{.global}.v4.type [a], b", small_fours,
        0, only_on(86, 100), store)
PTX_EFFECT("multimem.st{.weak}{.relaxed}{.release}{.scope}{.global}.v8.type [a], b", small_eights,
        0, only_on(86, 100), store)
PTX_EFFECT("multimem.red{.relaxed}{.release}{.scope}{.global}.add.type [a], b",
        any_of(u32, s32, u64, f32, f64) | pair_vectors, 0, since(81, 90), atomic)
PTX_EFFECT("multimem.red{.relaxed}{.release}{.scope}{.global}(.min|.max).type [a], b", ordered, 0,
        since(81, 90), atomic)
PTX_EFFECT("multimem.red{.relaxed}{.release}{.scope}{.global}(.and|.or|.xor).type [a], b", masks,
        0, since(81, 90), atomic)
PTX_EFFECT("multimem.red{.relaxed}{.release}{.scope}{.global}.add(.v2|.v4).type [a], b",
        multicast_twos, 0, since(81, 90), atomic)
PTX_EFFECT("multimem.red{.relaxed}{.release}{.scope}{.global}.add.v8.type [a], b", half_vectors, 0,
        since(81, 90), atomic)
PTX_CHAPTER_END
// clang-format on

}  // namespace lathe::ptx::atomics
