#pragma once

// PTX ISA 9.7.9.25 and later, 9.7.13.15, 9.7.14 to 9.7.16: bulk copies, mbarrier, and matrices by
// mma, wgmma and tcgen05.

#include "ptx/row.h"

namespace lathe::ptx::tensor {

using enum Type;
inline constexpr Types half_in = any_of(f16, bf16);
inline constexpr Types bytes_in = any_of(u8, s8);
inline constexpr Types fp8_in = any_of(e4m3, e5m2);

// clang-format off
PTX_CHAPTER
PTX_EFFECT("mbarrier.init{.shared}{.shared::cta}.b64 [a], b", 0, 0, since(70, 80), mbarrier)
PTX_EFFECT("mbarrier.inval{.shared}{.shared::cta}.b64 [a]", 0, 0, since(70, 80), mbarrier)
PTX_EFFECT("mbarrier.arrive{.rsem}{.near}{.shared}{.shared::cta}.b64 d, [a]{, b}", 0, 0,
        since(70, 80), mbarrier)
PTX_EFFECT("mbarrier.arrive.noComplete{.release}{.cta}{.shared}{.shared::cta}.b64 d, [a], b", 0, 0,
        since(70, 80), mbarrier)
PTX_EFFECT("mbarrier.arrive{.rsem}{.near}.shared::cluster.b64 d, [a]{, b}", 0, 0, since(80, 90),
        mbarrier)
PTX_EFFECT("mbarrier.arrive.expect_tx{.rsem}{.near}{.shared}{.shared::cta}{.shared::cluster}.b64"
        " d, [a], b", 0, 0, since(80, 90), mbarrier)
PTX_EFFECT("mbarrier.arrive_drop{.rsem}{.near}{.shared}{.shared::cta}{.shared::cluster}.b64 d,"
        " [a]{, b}", 0, 0, since(70, 80), mbarrier)
PTX_EFFECT("mbarrier.arrive_drop.noComplete{.release}{.cta}{.shared}{.shared::cta}.b64 d, [a], b",
        0, 0, since(70, 80), mbarrier)
PTX_EFFECT("mbarrier.arrive_drop.expect_tx{.rsem}{.near}{.shared}{.shared::cta}{.shared::cluster}"
        ".b64 d, [a], b", 0, 0, since(80, 90), mbarrier)
PTX_EFFECT("mbarrier.pending_count.b64 d, a", 0, 0, since(70, 80), mbarrier)
PTX_EFFECT("mbarrier.expect_tx{.relaxed}{.near}{.shared}{.shared::cta}{.shared::cluster}.b64"
        " [a], b", 0, 0, since(80, 90), mbarrier)
PTX_EFFECT("mbarrier.complete_tx{.relaxed}{.near}{.shared}{.shared::cta}{.shared::cluster}.b64"
        " [a], b", 0, 0, since(80, 90), mbarrier)
PTX_EFFECT("mbarrier(.test_wait|.try_wait){.msem}{.near}{.shared}{.shared::cta}.b64 d, [a], b{,"
        " c}", 0, 0, since(70, 80), mbarrier)
PTX_EFFECT("mbarrier(.test_wait|.try_wait).parity{.msem}{.near}{.shared}{.shared::cta}.b64 d,"
        " [a], b{, c}", 0, 0, since(71, 80), mbarrier)
PTX_EFFECT("cp.async.bulk(.shared::cta|.shared::cluster).global.mbarrier::complete_tx::bytes{"
        ".multicast::cluster}{.L2::cache_hint} [d], [a], b, [c]{, e, g}", 0, 0, since(80, 90),
        bulk_copy)
PTX_EFFECT("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [d], [a], b,"
        " [c]", 0, 0, since(80, 90), bulk_copy)
PTX_EFFECT("cp.async.bulk.global.shared::cta.bulk_group{.L2::cache_hint}{.cp_mask} [d], [a], b{, c,"
        " e}", 0, 0, since(80, 90), bulk_copy)
PTX_EFFECT("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes{.L2::cache_hint}"
        ".ignore_oob [d], [a], b, c, e, [g]{, h}", 0, 0, since(92, 90), bulk_copy)
PTX_EFFECT("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes(.and|.or|"
        ".xor).type [d], [a], b, [c]", any_of(b32), 0, since(80, 90), bulk_copy)
PTX_EFFECT("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.type"
        " [d], [a], b, [c]", any_of(u32, s32, u64), 0, since(80, 90), bulk_copy)
PTX_EFFECT("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes(.min|"
        ".max).type [d], [a], b, [c]", any_of(u32, s32), 0, since(80, 90), bulk_copy)
PTX_EFFECT("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes(.inc|"
        ".dec).type [d], [a], b, [c]", any_of(u32), 0, since(80, 90), bulk_copy)
PTX_EFFECT("cp.reduce.async.bulk.global.shared::cta.bulk_group{.L2::cache_hint}(.and|.or|.xor).type"
        " [d], [a], b{, c}", any_of(b32, b64), 0, since(80, 90), bulk_copy)
PTX_EFFECT("cp.reduce.async.bulk.global.shared::cta.bulk_group{.L2::cache_hint}.add.type [d], [a],"
        " b{, c}", any_of(u32, s32, u64, f32, f64), 0, since(80, 90), bulk_copy)
PTX_EFFECT("cp.reduce.async.bulk.global.shared::cta.bulk_group{.L2::cache_hint}(.inc|.dec).type"
        " [d], [a], b{, c}", any_of(u32), 0, since(80, 90), bulk_copy)
PTX_EFFECT("cp.reduce.async.bulk.global.shared::cta.bulk_group{.L2::cache_hint}(.min|.max).type"
        " [d], [a], b{, c}", words_and_longs | half_in, 0, since(80, 90), bulk_copy)
PTX_EFFECT("cp.reduce.async.bulk.global.shared::cta.bulk_group{.L2::cache_hint}.add.noftz.type [d],"
        " [a], b{, c}", half_in, 0, since(80, 90), bulk_copy)
PTX_EFFECT("cp.async.bulk.prefetch.L2.global{.L2::cache_hint} [a], b:u32{, c:b64}", 0, 0,
        since(80, 90), prefetch)
PTX_EFFECT("cp.async.bulk.commit_group",  0, 0, since(80, 90), bulk_commit)
PTX_EFFECT("cp.async.bulk.wait_group{.read} n", 0, 0, since(80, 90), bulk_wait)
PTX_EFFECT("cp.async.bulk.tensor.dim(.shared::cta|.shared::cluster).global{.tile|.tile::gather4|"
        ".im2col|.im2col::w|.im2col::w::128}.mbarrier::complete_tx::bytes{.multicast::cluster}{"
        ".cta_group::1|.cta_group::2}{.L2::cache_hint} [d], [a], [b]{, c, e, g}", 0, 0,
        since(80, 90), bulk_copy)
PTX_EFFECT("cp.async.bulk.tensor.dim.global.shared::cta{.tile|.tile::scatter4|.im2col_no_offs}"
        ".bulk_group{.L2::cache_hint} [d], [a]{, c}", 0, 0, since(80, 90), bulk_copy)
PTX_EFFECT("cp.async.bulk.prefetch.tensor.dim.L2.global{.tile|.tile::gather4|.im2col|.im2col::w|"
        ".im2col::w::128}{.L2::cache_hint} [a]{, c, e}", 0, 0, since(80, 90), prefetch)
PTX_EFFECT("cp.reduce.async.bulk.tensor.dim.global.shared::cta(.add|.min|.max|.inc|.dec|.and|.or|"
        ".xor){.tile|.im2col_no_offs}.bulk_group{.L2::cache_hint} [d], [a]{, c}", 0, 0,
        since(80, 90), bulk_copy)
PTX_EFFECT("tensormap.replace.tile.global_address{.global}{.shared::cta}.b1024.b64 [a], b:b64", 0,
        0, only_on(83, 90), tensor_map)
PTX_EFFECT("tensormap.replace.tile.rank{.global}{.shared::cta}.b1024.b32 [a], b:b32", 0, 0,
        only_on(83, 90), tensor_map)
PTX_EFFECT("tensormap.replace.tile(.box_dim|.global_dim|.element_stride){.global}{.shared::cta}"
        ".b1024.b32 [a], n, b:b32", 0, 0, only_on(83, 90), tensor_map)
PTX_EFFECT("tensormap.replace.tile.global_stride{.global}{.shared::cta}.b1024.b64 [a], n, b:b64", 0,
        0, only_on(83, 90), tensor_map)
PTX_EFFECT("tensormap.replace.tile(.elemtype|.interleave_layout|.swizzle_mode|"
        ".fill_mode){.global}{.shared::cta}.b1024.b32 [a], n", 0, 0, only_on(83, 90), tensor_map)
PTX_EFFECT("tensormap.replace.tile.global_address{.global}{.shared::cta}.b1024.b64 [a], b:b64", 0,
        0, only_on(86, 100), tensor_map)
PTX_EFFECT("tensormap.replace.tile.rank{.global}{.shared::cta}.b1024.b32 [a], b:b32", 0, 0,
        only_on(86, 100), tensor_map)
PTX_EFFECT("tensormap.replace.tile(.box_dim|.global_dim|.element_stride){.global}{.shared::cta}"
        ".b1024.b32 [a], n, b:b32", 0, 0, only_on(86, 100), tensor_map)
PTX_EFFECT("tensormap.replace.tile.global_stride{.global}{.shared::cta}.b1024.b64 [a], n, b:b64", 0,
        0, only_on(86, 100), tensor_map)
PTX_EFFECT("tensormap.replace.tile(.elemtype|.interleave_layout|.swizzle_mode|.swizzle_atomicity|"
        ".fill_mode){.global}{.shared::cta}.b1024.b32 [a], n", 0, 0, only_on(86, 100), tensor_map)
PTX_EFFECT("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.scope.sync"
        ".aligned [d], [a], n", 0, 0, since(83, 90), tensor_map)
PTX_EFFECT("wgmma.fence.sync{.aligned}",           0, 0, only_on(80, 90), warpgroup)
PTX_EFFECT("wgmma.commit_group.sync{.aligned}",    0, 0, only_on(80, 90), warpgroup)
PTX_EFFECT("wgmma.wait_group.sync{.aligned} n",    0, 0, only_on(80, 90), warpgroup)
PTX_EFFECT("wgmma.mma_async.sync{.aligned}.wgshape.f32.type.other d, a, b, c, e, g{, h, i}",
        half_in, half_in, only_on(80, 90), multiply)
PTX_EFFECT("wgmma.mma_async.sync{.aligned}.wgshape.f16.f16.f16 d, a, b, c, e, g{, h, i}", 0, 0,
        only_on(80, 90), multiply)
PTX_EFFECT("wgmma.mma_async.sync{.aligned}.wgshape.f32.tf32.tf32 d, a, b, c, e, g", 0, 0,
        only_on(80, 90), multiply)
PTX_EFFECT("wgmma.mma_async.sync{.aligned}.wgshape(.f16|.f32).type.other d, a, b, c, e, g", fp8_in,
        fp8_in, only_on(80, 90), multiply)
PTX_EFFECT("wgmma.mma_async.sync{.aligned}.wgshape{.satfinite}.s32.type.other d, a, b, c", bytes_in,
        bytes_in, only_on(80, 90), multiply)
PTX_EFFECT("wgmma.mma_async.sync{.aligned}.wgshape1.s32.b1.b1.and.popc d, a, b, c", 0, 0,
        only_on(80, 90), multiply)
PTX_EFFECT("wgmma.mma_async.sp.sync{.aligned}.wgsparse32.f32.type.other d, a, b, c, n, e, g, h{,"
        " i, j}", half_in, half_in, only_on(82, 90), multiply)
PTX_EFFECT("wgmma.mma_async.sp.sync{.aligned}.wgsparse32.f16.f16.f16 d, a, b, c, n, e, g, h{, i,"
        " j}", 0, 0, only_on(82, 90), multiply)
PTX_EFFECT("wgmma.mma_async.sp.sync{.aligned}.wgsparse16.f32.tf32.tf32 d, a, b, c, n, e, g, h", 0,
        0, only_on(82, 90), multiply)
PTX_EFFECT("wgmma.mma_async.sp.sync{.aligned}.wgsparse64(.f16|.f32).type.other d, a, b, c, n, e,"
        " g, h", fp8_in, fp8_in, only_on(82, 90), multiply)
PTX_EFFECT("wgmma.mma_async.sp.sync{.aligned}.wgsparse8{.satfinite}.s32.type.other d, a, b, c, n,"
        " e", bytes_in, bytes_in, only_on(82, 90), multiply)
PTX_EFFECT("tcgen05.alloc(.cta_group::1|.cta_group::2).sync.aligned{.shared::cta}.b32 [a], b", 0, 0,
        only_on(86, 100), tensor_memory)
PTX_EFFECT("tcgen05.dealloc(.cta_group::1|.cta_group::2).sync.aligned.b32 a, b", 0, 0,
        only_on(86, 100), tensor_memory)
PTX_EFFECT("tcgen05.relinquish_alloc_permit(.cta_group::1|.cta_group::2).sync.aligned", 0, 0,
        only_on(86, 100), tensor_memory)
PTX_EFFECT("tcgen05.ld.sync.aligned.tcshape.count{.pack::16b}.b32 d, [a]{, b}", 0, 0,
        only_on(86, 100), tensor_load)
PTX_EFFECT("tcgen05.st.sync.aligned.tcshape.count{.unpack::16b}.b32 [a], b{, c}", 0, 0,
        only_on(86, 100), tensor_store)
PTX_EFFECT("tcgen05(.wait::ld|.wait::st).sync.aligned", 0, 0, only_on(86, 100), tensor_wait)
PTX_EFFECT("tcgen05.mma.cta_group.tkind{.acollector} [d], a, b, c, e{, g, h}", 0, 0,
        only_on(86, 100), tensor_multiply)
PTX_EFFECT("tcgen05.mma.ws.cta_group::1.tkind{.collector} [d], a, b, c, e", 0, 0,
        only_on(86, 100), tensor_multiply)
PTX_EFFECT("tcgen05.mma.ws.cta_group::1.tkind{.collector} [d], a, b, c, e, g", 0, 0,
        only_on(86, 100), tensor_multiply)
PTX_EFFECT("tcgen05.mma.cta_group.tkind.ashift{.collector::a::lastuse|.collector::a::discard} [d],"
        " [a], b, c, e{, g, h}", 0, 0, only_on(86, 100), tensor_multiply)
PTX_EFFECT("tcgen05.mma.cta_group.kind::mxf8f6f4.block_scale{.scale_vec::1X|.block32}{.acollector}"
        " [d], a, b, c, [e], [g], h", 0, 0, only_on(86, 100), tensor_multiply)
PTX_EFFECT("tcgen05.mma.cta_group.kind::mxf4.block_scale{.scale_vec::2X|.block32}{.acollector}"
        " [d], a, b, c, [e], [g], h", 0, 0, only_on(86, 100), tensor_multiply)
PTX_EFFECT("tcgen05.mma.cta_group.kind::mxf4nvf4.block_scale(.scale_vec::2X|.scale_vec::4X|"
        ".block16|.block32){.acollector} [d], a, b, c, [e], [g], h", 0, 0, only_on(86, 100),
        tensor_multiply)
PTX_EFFECT("tcgen05.mma.sp.cta_group.tkind{.acollector} [d], a, b, [m], c, e{, g, h}", 0, 0,
        only_on(86, 100), tensor_multiply)
PTX_EFFECT("tcgen05.mma.sp.cta_group.tkind.ashift{.collector::a::lastuse|.collector::a::discard}"
        " [d], [a], b, [m], c, e{, g, h}", 0, 0, only_on(86, 100), tensor_multiply)
PTX_EFFECT("tcgen05.mma.sp.cta_group.kind::mxf8f6f4.block_scale{.scale_vec::1X|.block32}"
        "{.acollector} [d], a, b, [m], c, [e], [g], h", 0, 0, only_on(86, 100), tensor_multiply)
PTX_EFFECT("tcgen05.mma.sp.cta_group.kind::mxf4.block_scale{.scale_vec::2X|.block32}{.acollector}"
        " [d], a, b, [m], c, [e], [g], h", 0, 0, only_on(86, 100), tensor_multiply)
PTX_EFFECT("tcgen05.mma.sp.cta_group.kind::mxf4nvf4.block_scale(.scale_vec::2X|.scale_vec::4X|"
        ".block16|.block32){.acollector} [d], a, b, [m], c, [e], [g], h", 0, 0, only_on(86, 100),
        tensor_multiply)
PTX_EFFECT("tcgen05.mma.ws.sp.cta_group::1.tkind{.collector} [d], a, b, [m], c, e", 0, 0,
        only_on(86, 100), tensor_multiply)
PTX_EFFECT("tcgen05.mma.ws.sp.cta_group::1.tkind{.collector} [d], a, b, [m], c, e, g", 0, 0,
        only_on(86, 100), tensor_multiply)
PTX_EFFECT("tcgen05.commit.cta_group.mbarrier::arrive::one{.shared::cluster}{.multicast::cluster}"
        ".b64 [a]{, b}", 0, 0, only_on(86, 100), tensor_commit)
PTX_EFFECT("tcgen05.cp.cta_group(.128x256b|.4x256b|.128x128b|.64x128b|"
        ".32x128b){.warpx4|.warpx2::02_13|.warpx2::01_23} [a], b", 0, 0, only_on(86, 100),
        tensor_copy)
PTX_EFFECT("tcgen05.cp.cta_group(.128x256b|.4x256b|.128x128b|.64x128b|.32x128b){.warpx4|"
        ".warpx2::02_13|.warpx2::01_23}.b8x16.decompress [a], b", 0, 0, only_on(86, 100),
        tensor_copy)
PTX_EFFECT("tcgen05.fence::before_thread_sync", 0, 0, only_on(86, 100), nothing)
PTX_EFFECT("tcgen05.fence::after_thread_sync", 0, 0, only_on(86, 100), nothing)
PTX_EFFECT("tcgen05.shift.cta_group.down [a]", 0, 0, only_on(86, 100), tensor_copy)
PTX_CHAPTER_END
// clang-format on

}  // namespace lathe::ptx::tensor
