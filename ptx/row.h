#pragma once

// A row says all that we know of one instruction: how it is written, for which types it exists,
// from which ISA version and target on, and what it gives to its destination in one lane, or which
// effect on the machine it has.

#include "ptx/form.h"
#include "ptx/signature.h"

namespace lathe::ptx {

/// From when an instruction exists. A `specific` one exists on the named chip's `a` targets only
/// (and, where `family`, on those of its family).
struct Gate {
  std::uint16_t isa = 0;     // 86 is ISA 8.6.
  std::uint16_t target = 0;  // 90 is sm_90.
  bool specific = false;
};
constexpr Gate since(unsigned isa, unsigned target) {
  return {static_cast<std::uint16_t>(isa), static_cast<std::uint16_t>(target), false};
}
constexpr Gate only_on(unsigned isa, unsigned target) {
  return {static_cast<std::uint16_t>(isa), static_cast<std::uint16_t>(target), true};
}
inline constexpr Gate always{};

/// What an instruction does beyond one lane's registers. `none`: it has a meaning.
enum class Effect : std::uint8_t {
  none,
  convert,     // cvt: meanings by a pair of types.
  expand,      // Decoding makes it of other rows: set, slct, setp with a predicate, add.cc, ...
  unmodelled,  // Written so, but carrying it out is a trap.
  piece,       // Bytes from register to register.
  move,        // mov of scalars and vectors.
  permute,     // prmt
  load,
  store,
  atomic,
  prefetch,  // Hints that touch nothing: prefetch, applypriority, createpolicy.
  policy,
  copy_async,
  commit_async,
  wait_async,
  load_matrix,
  store_matrix,
  transpose_matrix,
  load_fragment,  // wmma.load and wmma.store
  store_fragment,
  multiply,
  shuffle,
  vote,
  match,
  reduce,
  active_mask,
  elect,
  barrier,
  warp_barrier,
  fence,
  mbarrier,
  branch,
  exit,
  trap,
  nothing,  // nanosleep, griddepcontrol, pmevent.
  cluster_barrier,
  map_address,  // mapa, getctarank
  bulk_copy,    // cp.async.bulk, also of tensors, and cp.reduce.async.bulk
  bulk_commit,
  bulk_wait,
  store_async,  // st.async, red.async
  stack,        // alloca, stacksave, stackrestore
  discard,
  fill,            // st.bulk
  launch_control,  // clusterlaunchcontrol
  tensor_map,      // tensormap.replace and its copy
  warpgroup,       // wgmma.fence, commit_group, wait_group
  tensor_memory,   // tcgen05.alloc, dealloc, relinquish_alloc_permit
  tensor_load,
  tensor_store,
  tensor_wait,
  tensor_multiply,
  tensor_commit,
  tensor_copy,  // tcgen05.cp, shift
};

// A chapter of the manual is a namespace with numbered rows of its own. (A tuple of 200 rows takes
// g++ 19 s and 0.8 GB, 600 do not compile; 600 numbered rows take seconds.) The number counts from
// the chapter's first row, so every file that includes the chapter sees the same rows.
//
// In a meaning, `a`, `b`, `c`, `e` are the sources as values of some domain, `T` is the type, `f`
// the form.
#define PTX_ROW(text, type_set, since_when, ...)                                 \
  template <>                                                                    \
  struct Row<__COUNTER__ - first_row> {                                          \
    static constexpr Signature signature = parse_signature(text);                \
    static constexpr Types types = type_set;                                     \
    static constexpr Types others = 0;                                           \
    static constexpr Gate gate = since_when;                                     \
    static constexpr Effect effect = Effect::none;                               \
    template <Type T, class A, class B, class C, class E>                        \
    static constexpr auto meaning([[maybe_unused]] Form f, [[maybe_unused]] A a, \
                                  [[maybe_unused]] B b, [[maybe_unused]] C c,    \
                                  [[maybe_unused]] E e) {                        \
      return __VA_ARGS__;                                                        \
    }                                                                            \
  };

#define PTX_EFFECT(text, type_set, other_set, since_when, what)   \
  template <>                                                     \
  struct Row<__COUNTER__ - first_row> {                           \
    static constexpr Signature signature = parse_signature(text); \
    static constexpr Types types = type_set;                      \
    static constexpr Types others = other_set;                    \
    static constexpr Gate gate = since_when;                      \
    static constexpr Effect effect = Effect::what;                \
  };

#define PTX_CHAPTER     \
  template <int number> \
  struct Row;           \
  constexpr int first_row = __COUNTER__ + 1;

#define PTX_CHAPTER_END                                       \
  struct Chapter {                                            \
    template <int number>                                     \
    using At = Row<number>;                                   \
    static constexpr int row_count = __COUNTER__ - first_row; \
  };

/// Two values side by side: how rows see f16x2 and its kin. Each operation is that of the halves.
template <class V>
struct Pair {
  V low, high;
};

#define PTX_PAIRWISE_1(name)                  \
  template <class V>                          \
  constexpr Pair<V> name(Form f, Pair<V> a) { \
    return {name(f, a.low), name(f, a.high)}; \
  }
#define PTX_PAIRWISE_2(name)                                 \
  template <class V>                                         \
  constexpr Pair<V> name(Form f, Pair<V> a, Pair<V> b) {     \
    return {name(f, a.low, b.low), name(f, a.high, b.high)}; \
  }
PTX_PAIRWISE_1(negate)
PTX_PAIRWISE_1(absolute)
PTX_PAIRWISE_1(exponential2)
PTX_PAIRWISE_1(hyperbolic_tangent)
PTX_PAIRWISE_2(add)
PTX_PAIRWISE_2(sub)
PTX_PAIRWISE_2(mul)
PTX_PAIRWISE_2(minimum)
PTX_PAIRWISE_2(maximum)
#undef PTX_PAIRWISE_1
#undef PTX_PAIRWISE_2
template <class V>
constexpr Pair<V> fused(Form f, Pair<V> a, Pair<V> b, Pair<V> c) {
  return {fused(f, a.low, b.low, c.low), fused(f, a.high, b.high, c.high)};
}
template <class V>
constexpr Pair<V> fused_filled(Form f, Pair<V> a, Pair<V> b, Pair<V> c) {
  return {fused_filled(f, a.low, b.low, c.low), fused_filled(f, a.high, b.high, c.high)};
}
template <class V>
constexpr Pair<V> operator+(Pair<V> a, Pair<V> b) {
  return {a.low + b.low, a.high + b.high};
}
template <class V>
constexpr Pair<V> literal(Pair<V> a, std::uint64_t bits) {
  return {literal(a.low, bits), literal(a.high, bits)};
}
/// The smaller or larger of two integers, in each half.
template <class V>
constexpr V smaller(V a, V b) {
  return select(a < b, a, b);
}
template <class V>
constexpr V larger(V a, V b) {
  return select(a < b, b, a);
}
template <class V>
constexpr Pair<V> smaller(Pair<V> a, Pair<V> b) {
  return {smaller(a.low, b.low), smaller(a.high, b.high)};
}
template <class V>
constexpr Pair<V> larger(Pair<V> a, Pair<V> b) {
  return {larger(a.low, b.low), larger(a.high, b.high)};
}

}  // namespace lathe::ptx
