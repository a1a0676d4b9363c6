#pragma once

// PTX ISA 9.7.12 and 9.7.13: control flow, barriers, fences, atomics, votes; 9.7.9.6, shuffles.

#include "ptx/row.h"

namespace lathe::ptx::control {

using enum Type;
inline constexpr Types atomic_types =
    any_of(b32, b64, b128, u32, u64, s32, s64, f32, f64, f16, bf16, f16x2, bf16x2, b16);

// clang-format off
PTX_CHAPTER
PTX_EFFECT("bra{.uni} a",                      0, 0, always, branch)
PTX_EFFECT("brx.idx{.uni} a:u32, label",       0, 0, since(60, 30), unmodelled)
PTX_EFFECT("call{.uni} a{, b, c, e}",          0, 0, always, unmodelled)
PTX_EFFECT("ret{.uni}",                        0, 0, always, exit)
PTX_EFFECT("exit",                             0, 0, always, exit)
PTX_EFFECT("trap",                             0, 0, always, trap)
PTX_EFFECT("brkpt",                            0, 0, always, trap)
PTX_EFFECT("bar{.cta}.sync a{, b}",            0, 0, always, barrier)
PTX_EFFECT("bar{.cta}.arrive a, b",            0, 0, since(20, 20), barrier)
PTX_EFFECT("bar{.cta}.red.popc.u32 d, a, b{, c}", 0, 0, since(20, 20), barrier)
PTX_EFFECT("bar{.cta}.red(.and|.or).pred d, a, b{, c}", 0, 0, since(20, 20), barrier)
PTX_EFFECT("barrier{.cta}.sync{.aligned} a{, b}", 0, 0, since(60, 30), barrier)
PTX_EFFECT("barrier{.cta}.arrive{.aligned} a, b", 0, 0, since(60, 30), barrier)
PTX_EFFECT("barrier{.cta}.red.popc{.aligned}.u32 d, a, b{, c}", 0, 0, since(60, 30), barrier)
PTX_EFFECT("barrier{.cta}.red(.and|.or){.aligned}.pred d, a, b{, c}", 0, 0, since(60, 30), barrier)
PTX_EFFECT("barrier.cluster.arrive{.sem}{.aligned}", 0, 0, since(78, 90), cluster_barrier)
PTX_EFFECT("barrier.cluster.wait{.acquire}{.aligned}", 0, 0, since(78, 90), cluster_barrier)
PTX_EFFECT("bar.warp.sync a",                  0, 0, since(60, 30), warp_barrier)
PTX_EFFECT("membar(.cta|.gl|.sys)",            0, 0, since(14, 20), fence)
PTX_EFFECT("fence{.fsem}.scope",               0, 0, since(60, 70), fence)
PTX_EFFECT("fence.mbarrier_init.release.cluster", 0, 0, since(80, 90), fence)
PTX_EFFECT("fence.proxy.alias",                0, 0, since(75, 70), fence)
PTX_EFFECT("fence.proxy.async",                0, 0, since(80, 90), fence)
PTX_EFFECT("fence.proxy.async(.global|.shared::cta|.shared::cluster|.shared)", 0, 0, since(80, 90),
        fence)
PTX_EFFECT("fence.proxy.tensormap::generic.release.scope{.global}", 0, 0, since(83, 90), fence)
PTX_EFFECT("fence.proxy.tensormap::generic.acquire.scope [a], n", 0, 0, since(83, 90), fence)
PTX_EFFECT("fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster", 0, 0,
        since(86, 90), fence)
PTX_EFFECT("fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster", 0, 0,
        since(86, 90), fence)
PTX_EFFECT("fence.acquire.sync_restrict::shared::cluster.cluster", 0, 0, since(86, 90), fence)
PTX_EFFECT("fence.release.sync_restrict::shared::cta.cluster", 0, 0, since(86, 90), fence)
PTX_EFFECT("red.async.relaxed.cluster{.shared::cluster}.mbarrier::complete_tx::bytes(.inc|.dec)"
        ".type [a], b{, [c]}", any_of(u32), 0, since(81, 90), store_async)
PTX_EFFECT("red.async.relaxed.cluster{.shared::cluster}.mbarrier::complete_tx::bytes(.min|.max)"
        ".type [a], b{, [c]}", any_of(u32, s32), 0, since(81, 90), store_async)
PTX_EFFECT("red.async.relaxed.cluster{.shared::cluster}.mbarrier::complete_tx::bytes(.and|.or|.xor)"
        ".type [a], b{, [c]}", any_of(b32), 0, since(81, 90), store_async)
PTX_EFFECT("red.async.relaxed.cluster{.shared::cluster}.mbarrier::complete_tx::bytes.add.type [a],"
        " b{, [c]}", any_of(u32, s32, u64), 0, since(81, 90), store_async)
PTX_EFFECT("red.async.release(.gpu|.sys){.global}.add.type [a], b{, [c]}", words_and_longs, 0,
        only_on(87, 100), store_async)
PTX_EFFECT("red.async.mmio.release.sys{.global}.add.type [a], b{, [c]}", words_and_longs, 0,
        only_on(87, 100), store_async)
PTX_EFFECT("vote.sync(.all|.any|.uni).pred d, a, b", 0, 0, since(60, 30), vote)
PTX_EFFECT("vote.sync.ballot.b32 d, a, b",     0, 0, since(60, 30), vote)
PTX_EFFECT("vote(.all|.any|.uni).pred d, a",   0, 0, since(12, 20), vote)
PTX_EFFECT("vote.ballot.b32 d, a",             0, 0, since(20, 20), vote)
PTX_EFFECT("match.any.sync.type d, a, b",      any_of(b32, b64), 0, since(60, 70), match)
PTX_EFFECT("match.all.sync.type d, a, b",      any_of(b32, b64), 0, since(60, 70), match)
PTX_EFFECT("activemask.b32 d",                 0, 0, since(62, 30), active_mask)
PTX_EFFECT("redux.sync(.add|.min|.max).type d, a, b", words, 0, since(70, 80), reduce)
PTX_EFFECT("redux.sync(.and|.or|.xor).type d, a, b", any_of(b32), 0, since(70, 80), reduce)
PTX_EFFECT("redux.sync(.min|.max){.abs}{.NaN}.type d, a, b", any_of(f32), 0, only_on(86, 100),
        reduce)
PTX_EFFECT("elect.sync d, a",                  0, 0, since(80, 90), elect)
PTX_EFFECT("shfl.sync(.up|.down|.bfly|.idx).b32 d, a, b, c, e", 0, 0, since(60, 30), shuffle)
PTX_EFFECT("shfl(.up|.down|.bfly|.idx).b32 d, a, b, c", 0, 0, since(30, 30), shuffle)
PTX_EFFECT("griddepcontrol(.launch_dependents|.wait)", 0, 0, since(78, 90), nothing)
PTX_EFFECT("nanosleep.u32 a:u32",              0, 0, since(63, 70), nothing)
PTX_EFFECT("pmevent n",                        0, 0, since(14, 20), nothing)
PTX_EFFECT("setmaxnreg(.inc|.dec).sync.aligned.u32 n", 0, 0, only_on(80, 90), nothing)
PTX_EFFECT("clusterlaunchcontrol.try_cancel.async{.shared::cta}.mbarrier::complete_tx::bytes"
        "{.multicast::cluster::all}.b128 [a], [b]", 0, 0, only_on(86, 100), launch_control)
PTX_EFFECT("clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 d:pred, a:b128", 0, 0,
        only_on(86, 100), launch_control)
PTX_EFFECT("clusterlaunchcontrol.query_cancel(.get_first_ctaid::x|.get_first_ctaid::y|"
        ".get_first_ctaid::z).b32.b128 d:b32, a:b128", 0, 0, only_on(86, 100), launch_control)
PTX_EFFECT("clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 d:b32, a:b128", 0, 0,
        only_on(86, 100), launch_control)
PTX_CHAPTER_END
// clang-format on

}  // namespace lathe::ptx::control
