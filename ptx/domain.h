#pragma once

// What a value domain gives to the machine. A domain is one class, D, that owns all state of a run
// (chain of primes, arena, buffers); the machine calls it, and instruction rows (ptx/isa/*.h)
// compute with D::Value<T> and the operations below, found by argument-dependent lookup.
//
// Three layers, from what only moves to what computes:
//
// 1. MOVES. ld, st, ldmatrix, cp.async, shfl, mov.b64 {..}, prmt move bytes. A byte lives in a
//    register file (Lanes) at a Cell, or in a Region (a global buffer, shared, local, parameters)
//    at an offset. Moves never look at what a byte means, so bits keep bytes, and the field keeps
//    byte fragments (exact, or byte k of a value) beside them.
// 2. CONTROL. Addresses, predicates, shift amounts, masks and descriptors must be bits: `exact`
//    gives them or nothing; nothing stops the run as `undecided`, with the reader's line.
// 3. VALUES. load<T> / store<T> take a Cell to a Value<T> and back; rows compute with Values.
//    Comparisons of any Values answer a bool: how is the domain's duty (the field: by shadows).
//
// Packed types (f16x2, bf16x2, f32x2) never reach a domain: the rows take them as two Values.
// Moves (mov, selp, ld, st, shfl) always use the untyped types b16, b32, b64, b128, whatever the
// instruction says, so Value<b32> must hold whatever a register may hold.
//
// What cannot be carried out: a domain records the first Complaint and gives any value; the
// machine looks after each instruction and ends the block with a Trap there. A domain with
// `static constexpr bool complains = false` is not asked.
//
// Undefined registers and memory are poison: may be moved, stored to shared memory and selected
// against; they must not decide an address or a branch or reach global memory. The bits domain
// keeps a mask of defined lanes beside each register (`settle` below tells it what a row read),
// where parts of a register are set alone one defined byte a byte, and the same for shared and
// local memory; `exact` of poison is nothing, and so is a store of it to a global buffer a
// Complaint.

// A domain may offer to do for a whole warp what is above for a lane: copy_all, copy_lanes,
// copy_part, read_all, write_all, read_matrix, put_all, put_lanes, exact_all, multiply_wide,
// multiply_tile. The
// machine asks for them where they exist; what answers bool may decline, having done nothing, and
// the lanes then go one by one.

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ptx/form.h"

namespace lathe::ptx {

inline constexpr unsigned lane_count = 32;
/// Lanes of a warp, lane 0 in the lowest bit.
using Mask = std::uint32_t;
inline constexpr Mask every_lane = ~Mask{0};

/// Where a register begins in the register file: `place + lane * width` is a lane's first byte, in
/// every domain. Places are multiples of 64, so place / 64 numbers registers (with gaps).
using Spot = std::uint32_t;

/// `byte` of a lane of a register whose lanes are `width` bytes (2, 4, 8 or 16) apart.
struct Cell {
  Spot place = 0;
  std::uint8_t width = 4;
  std::uint8_t byte = 0;
  std::uint8_t lane = 0;
  std::uint8_t bit = 0;  // Of an element of fewer than 8 bits: where it begins in its byte.
  constexpr std::size_t at() const { return place + std::size_t{lane} * width + byte; }
  constexpr std::uint32_t number() const { return place / 64; }
};

/// A global buffer as the machine sees it; its contents are the domain's.
struct Buffer {
  std::string name;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  bool writable = true;    // A store into another is a trap.
  bool multicast = false;  // For multimem instructions, and for nothing else.
};

enum class ComplaintKind : std::uint8_t {
  unsupported,  // The domain has no such operation.
  undecided,    // It has, but cannot say what comes out here.
  undefined,    // Poison was needed.
};

struct Complaint {
  ComplaintKind kind = ComplaintKind::undecided;
  std::string what;   // One sentence without a full stop.
  unsigned lane = 0;  // Where the domain knows it.
};

/// How settle derives which lanes of a result are defined.
enum class Definedness : std::uint8_t {
  all,     // Where all sources are.
  chosen,  // selp: the predicate and the source that it chose.
  halves,  // Of packed pairs: each half where the same half of all sources is.
  always,  // A constant, or a special register.
};

struct FragmentOrder;  // fragment.h

/// Scales of blocks along K, each a byte: of a row of A and of a column of B.
struct BlockScales {
  Type type{};              // ue8m0 or ue4m3.
  unsigned blocks = 0;      // Of K.
  const Cell* a = nullptr;  // m * blocks, row-major.
  const Cell* b = nullptr;  // blocks * n, row-major.
};

/// One whole-warp matrix product D = A * B + C (mma.sync). Each element's place is given, as a
/// Cell whose `place` is already that of the right register.
struct Mma {
  unsigned m = 0, n = 0, k = 0;
  Type a_type{}, b_type{}, c_type{}, d_type{};
  bool saturate = false;             // Integers: .satfinite.
  bool exclusive = false;            // Single bits: xor, not and, before they are counted.
  Rounding rounding = Rounding::rn;  // Of f64.
  unsigned architecture = 0;  // 89, 90, 100: tensor cores round differently (ptx.md section 3).
  bool warpgroup = false;     // wgmma, whose fp8 sums are narrower than mma.sync's.
  bool without_c = false;     // C is zero because it is not added: no exponent of its own counts.
  const Cell* a = nullptr;    // m * k, row-major.
  const Cell* b = nullptr;    // k * n, row-major.
  const Cell* c = nullptr;    // m * n
  const Cell* d = nullptr;    // m * n; may name the same cells as c: read c before writing.
  /// The same by registers, where all of them are whole operands: those of D, A, B and C one after
  /// the other. Null: by cells only.
  const FragmentOrder* order = nullptr;
  const Spot* registers = nullptr;
  const BlockScales* scales = nullptr;  // Null: A and B are as they are.
};

/// Sixteen rows, those of one warp, of a product with operands in shared memory. A domain may offer
/// multiply_wide(lanes, memory, product), which answers whether it carried it out.
struct WideMma {
  unsigned m = 0, n = 0, k = 0;
  Type a_type{}, b_type{}, c_type{}, d_type{};
  bool zero_c = false;  // C is not read.
  bool saturate = false;
  unsigned architecture = 0;
  const std::uint32_t* a_offsets = nullptr;  // m * k, row-major, into the memory; null: cells.
  const Cell* a = nullptr;
  const std::uint32_t* b_offsets = nullptr;  // k * n, row-major.
  const Cell* c = nullptr;                   // m * n
  const Cell* d = nullptr;
  /// Units of 16 bytes of the memory that A and B fill.
  std::span<const std::uint64_t> a_units, b_units;
  /// As Mma's, for each eight columns: registers of D (which are C's), and of A where it has cells.
  const FragmentOrder* order = nullptr;
  std::span<const Spot> d_registers, a_registers;
};

/// Sixteen rows by 8 to 32 columns of tensor memory's file: a row of A and of D, and a column
/// of B, is a lane: registers follow one another, each a word further to the right. A domain may
/// offer multiply_tile(lanes, tile), which answers whether it carried it out.
struct TileMma {
  struct Corner {
    Spot place = 0;     // The first register.
    unsigned lane = 0;  // The first lane, 0 or 16 (of B a multiple of 8).
  };
  Corner a, b, d;      // C lies where D does.
  Mma product;         // Without cells.
  unsigned words = 0;  // Registers of A and of B.
  /// From the corners, of eight columns: m * k, k * 8, m * 8, row-major.
  std::span<const std::uint16_t> a_offsets, b_offsets, d_offsets;
};

/// An atomic read-modify-write of one lane.
enum class AtomicKind : std::uint8_t {
  add,
  min,
  max,
  inc,
  dec,
  bit_and,
  bit_or,
  bit_xor,
  exch,
  cas
};

// clang-format off
template <class D>
concept Domain = requires(D& d, const D& constant, typename D::Lanes& lanes,
                          const typename D::Lanes& seen, typename D::Region& region,
                          Cell cell, Spot place, Mask mask, std::uint64_t offset, unsigned bytes,
                          std::uint64_t bits, const Mma& mma) {
  { D::complains } -> std::convertible_to<bool>;
  /// The first complaint since the run began, or null.
  { constant.complaint() } -> std::same_as<const Complaint*>;
  /// Records one (the first is kept). The machine complains so too, where exact() gave nothing.
  d.complain(ComplaintKind::undecided, std::string_view{}, unsigned{});

  /// A register file of so many bytes, all of it poison.
  { d.make_lanes(std::uint32_t{}) } -> std::same_as<typename D::Lanes>;
  /// Memory of so many bytes (shared, local, parameters), all of it poison.
  { d.make_region(bits) } -> std::same_as<typename D::Region>;
  /// The contents of global buffer number i of the launch.
  { d.buffer(std::size_t{}) } -> std::same_as<typename D::Region&>;

  // 1. Moves. No move crosses the end of a cell or region; `bytes` is 1, 2, 4, 8 or 16.
  d.read(region, offset, lanes, cell, bytes);         // Memory to register.
  d.write(region, offset, seen, cell, bytes);         // Register to memory.
  d.copy(lanes, cell, seen, cell, bytes);             // Register to register: to, from.
  d.transfer(region, offset, region, offset, bits);   // Memory to memory: to, from, byte count.
  d.zero(region, offset, bits);                       // Exact zero bytes.
  d.poison(region, offset, bits);                     // What an unfinished copy will overwrite.
  d.poke(region, offset, bytes, bits);                // Exact bytes of memory.
  d.put(lanes, cell, bytes, bits);                    // Exact bytes of a register.
  /// After memory gave fewer bytes than the register has: fills bytes [bytes, width) of the cell
  /// with zeros, or with copies of the sign bit.
  d.extend(lanes, cell, bytes, bool{});
  /// Whether a write would change nothing: the same bits, or the same value, are there already.
  { d.same(region, offset, seen, cell, bytes) } -> std::same_as<bool>;

  // 2. Control.
  { d.exact(seen, cell, bytes) } -> std::same_as<std::optional<std::uint64_t>>;
  /// Lanes whose 32-bit predicate is set, of those in `mask`; nothing where one is poison.
  { d.truths(seen, place, mask) } -> std::same_as<std::optional<Mask>>;

  // 3. Values. Written as d.template load<T>(lanes, cell), which gives D::Value<T>, and
  // d.template store<T>(lanes, cell, value); asked of every type that a row names.
  { d.template load<Type::u32>(seen, cell) } -> std::same_as<typename D::template Value<Type::u32>>;
  { d.template load<Type::b64>(seen, cell) } -> std::same_as<typename D::template Value<Type::b64>>;
  { d.template load<Type::f32>(seen, cell) } -> std::same_as<typename D::template Value<Type::f32>>;
  d.template store<Type::f32>(lanes, cell, d.template load<Type::f32>(seen, cell));
  /// A row writes register `place` of `bytes` a lane from four sources (unused ones repeat others).
  d.settle(lanes, Definedness::all, place, bytes, &place, mask);

  // 4. Whole warps.
  d.multiply(lanes, mma);
};
// clang-format on

// The operations of Values that rows use (V is D::Value<T>; f is the Form):
//
//   integers and untyped (all wrap; untyped count as unsigned)
//     a + b, a - b, a * b, -a, a & b, a | b, a ^ b, ~a
//     a < b, a == b (bool, by T's signedness)
//     select(bool, a, b), and select(Value<pred>, a, b)
//     shift_left(a, n), shift_right(a, n)   n: Value<u32> of any size; beyond the width: zero, or
//                                           for signed a the sign. A shift amount is exact.
//     widen(a)                              To twice the width, by signedness.
//     literal(a, bits)                      A Value of a's type with these bits.
//     exactly<Td>(f, fn, a, ...)            Any other pure function of bits: popc, clz, bfe, div,
//                                           rem, mul.hi, dp4a, .. `fn` takes each source's bits
//                                           as u64 and gives the result's bits. The field applies
//                                           it where all sources are exact; elsewhere it is a
//                                           lemma, an opaque function named by (f, sources) or a
//                                           complaint.
//
//   floats (f carries rounding, .ftz, .sat, .relu)
//     add(f, a, b), sub, mul, fused(f, a, b, c), divide(f, a, b), minimum(f, a, b), maximum(f, a,
//     b) negate(f, a), absolute(f, a), copysign_of(a, b) (the sign of a, the rest of b)
//     reciprocal(f, a), square_root(f, a), reciprocal_root(f, a), exponential2(f, a),
//     logarithm2(f, a), sine(f, a), cosine(f, a), hyperbolic_tangent(f, a)
//     compare(f, a, b)                      f.comparison, unordered forms included: bool.
//     is_special(f, a)                      testp, by f.constant (0 finite, 1 infinite, 2 number,
//                                           3 notanumber, 4 normal, 5 subnormal): bool.
//     select(bool, a, b)
//
//   Value<pred> has a & b, a | b, a ^ b, a == b, literal(a, 0 or 1); comparisons give bool, which
//   store<pred> takes too. A type narrower than its cell (8 bits in 16): load looks at the low
//   bits, store extends by the type's signedness.
//
//   convert<To>(f, a)                       cvt between any two types: ints, floats, e4m3, e5m2,
//                                           tf32; f.rounding, to_integer, sat, satfinite, relu,
//                                           ftz.
//   recast<To>(a)                           The same bits as another type of the same width.

}  // namespace lathe::ptx
