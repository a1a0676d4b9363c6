#pragma once

// PTX ISA 9.7.9: moves, conversions, loads and stores, addresses.

#include "ptx/row.h"

namespace lathe::ptx::movement {

using enum Type;
inline constexpr Types scalar_any = any | any_of(pred, b128);
inline constexpr Types memory_types = any | any_of(b8, u8, s8, b128);
inline constexpr Types wide_types = any_of(b32, b64, u32, u64, s32, s64, f32, f64);
inline constexpr Types addresses = any_of(b32, b64, u32, u64, s32, s64);

// clang-format off
PTX_CHAPTER
PTX_EFFECT("mov.type d, a",                           scalar_any, 0, always, move)
PTX_EFFECT("$piece d, a",                             0, 0, always, piece)
PTX_EFFECT("cvta.space.type d, a",                    addresses, 0, since(20, 20), expand)
PTX_EFFECT("cvta.to.space.type d, a",                 addresses, 0, since(20, 20), expand)
PTX_EFFECT("isspacep.space d, a",                     0, 0, since(20, 20), expand)
PTX_EFFECT("mapa{.space}.type d, a, b",               addresses, 0, since(78, 90), map_address)
PTX_EFFECT("getctarank{.space}.type d, a",            addresses, 0, since(78, 90), map_address)
PTX_EFFECT("ld{.sem}{.scope}{.space}{.cop}{.evict}{.evict2}{.L2::cache_hint}{.sectors}{.vec}"
        ".type d, [a]{, policy}", memory_types, 0, always, load)
PTX_EFFECT("ld{.space}{.cop}.nc{.evict}{.evict2}{.L2::cache_hint}{.sectors}{.vec}.type d, [a]{,"
        " policy}", memory_types, 0, always, load)
PTX_EFFECT("ld.mmio.relaxed.sys{.global}.type d, [a]", any | any_of(b8, u8, s8), 0, since(82, 70),
        load)
PTX_EFFECT("ldu{.space}{.vec}.type d, [a]",           memory_types, 0, since(20, 20), load)
PTX_EFFECT("st{.sem}{.scope}{.space}{.cop}{.evict}{.evict2}{.L2::cache_hint}{.vec}.type [a], b{,"
        " policy}", memory_types, 0, always, store)
PTX_EFFECT("st.mmio.relaxed.sys{.global}.type [a], b", any | any_of(b8, u8, s8), 0, since(82, 70),
        store)
PTX_EFFECT("st.async{.weak}{.shared::cluster}.mbarrier::complete_tx::bytes{.v2}.type [a], b{, [c]}",
        wide_types, 0, since(81, 90), store_async)
PTX_EFFECT("st.async{.weak}{.shared::cluster}.mbarrier::complete_tx::bytes.v4.type [a], b{, [c]}",
        any_of(b32, u32, s32, f32), 0, since(81, 90), store_async)
PTX_EFFECT("st.async{.weak}{.shared::cluster}.mbarrier::complete_tx::bytes.type [a], b, [c]",
        any_of(b128), 0, since(94, 90), store_async)
PTX_EFFECT("st.async.release(.gpu|.sys){.global}.type [a], b{, [c]}", any, 0, only_on(87, 100),
        store_async)
PTX_EFFECT("st.async.mmio.release.sys{.global}.type [a], b{, [c]}", any, 0, only_on(87, 100),
        store_async)
PTX_EFFECT("st.bulk{.weak}{.shared::cta} [a], b:u64, n", 0, 0, since(86, 100), fill)
PTX_EFFECT("prefetch{.space}(.L1|.L2|.L2::evict_last|.L2::evict_normal) [a]", 0, 0, since(20, 20),
        prefetch)
PTX_EFFECT("prefetch{.space}.tensormap [a]",          0, 0, since(80, 90), prefetch)
PTX_EFFECT("prefetchu.L1 [a]",                        0, 0, since(20, 20), prefetch)
PTX_EFFECT("applypriority{.global}.L2::evict_normal [a], n", 0, 0, since(74, 80), prefetch)
PTX_EFFECT("discard{.global}.L2 [a], n",              0, 0, since(74, 80), discard)
PTX_EFFECT("createpolicy.fractional(.L2::evict_last|.L2::evict_normal|.L2::evict_first|"
        ".L2::evict_unchanged){.L2::evict_first|.L2::evict_unchanged}.b64 d:b64{, a:f32}", 0, 0,
        since(74, 80), policy)
PTX_EFFECT("createpolicy.range{.global}(.L2::evict_last|.L2::evict_normal|.L2::evict_first|"
        ".L2::evict_unchanged){.L2::evict_first|.L2::evict_unchanged}.b64 d:b64, [a], b:u32, c:u32",
        0, 0, since(74, 80), policy)
PTX_EFFECT("createpolicy.cvt.L2.b64 d:b64, a:b64",           0, 0, since(74, 80), policy)
PTX_EFFECT("cp.async(.ca|.cg){.shared}{.shared::cta}.global{.L2::cache_hint}{.sectors} [d], [a],"
        " b{, c, e}", 0, 0, since(70, 80), copy_async)
PTX_EFFECT("cp.async.commit_group",                   0, 0, since(70, 80), commit_async)
PTX_EFFECT("cp.async.wait_group n",                   0, 0, since(70, 80), wait_async)
PTX_EFFECT("cp.async.wait_all",                       0, 0, since(70, 80), wait_async)
PTX_EFFECT("cp.async.mbarrier.arrive{.noinc}{.shared}{.shared::cta}.b64 [a]", 0, 0, since(70, 80),
        mbarrier)
PTX_EFFECT("alloca.type d, a{, n}",                  any_of(u32, u64), 0, since(73, 52), stack)
PTX_EFFECT("stacksave.type d",                       any_of(u32, u64), 0, since(73, 52), stack)
PTX_EFFECT("stackrestore.type d",                    any_of(u32, u64), 0, since(73, 52), stack)
PTX_CHAPTER_END
// clang-format on

}  // namespace lathe::ptx::movement
