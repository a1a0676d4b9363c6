#pragma once

// A kernel decoded for running: operations over places of a warp's register file. One PTX
// instruction may become several operations (set, add.cc, packed comparisons); `line` and `column`
// name the instruction, and only its first operation has a cost class.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ptx/domain.h"
#include "ptx/fragment.h"
#include "ptx/isa.h"
#include "ptx/observer.h"

namespace lathe::ptx {

inline constexpr Spot no_spot = ~Spot{0};
inline constexpr std::uint64_t discarded_bytes = 128;
inline constexpr std::uint64_t stack_bytes_max = 4096;  // Of a thread.
inline constexpr std::uint32_t no_operation = ~std::uint32_t{0};

/// What an instruction costs; the model of a device gives each a rate.
enum class CostClass : std::uint8_t {
  none,  // A further operation of the same instruction.
  move,
  integer,   // Also logic, comparison and selection.
  multiply,  // Integer products.
  single,    // f32 add, mul, fma, min, max.
  half,      // f16 and bf16, packed or not.
  double_,
  special,  // ex2, lg2, rcp, sqrt, sin, tanh.
  divide,   // div, and rcp and sqrt with rounding: a sequence.
  convert,
  global_load,
  global_store,
  shared_load,  // ldmatrix too.
  shared_store,
  other_load,  // Parameters, constants, local memory.
  other_store,
  atomic,
  async_copy,
  matrix,  // mma
  shuffle,
  vote,
  reduce,
  barrier,
  fence,
  branch,
  other,
  count
};
std::string_view name_of(CostClass cost);

/// A register operand.
struct Slot {
  Spot place = no_spot;    // no_spot: the sink `_`, or an operand left out.
  std::uint8_t width = 0;  // Bytes of a lane.
  constexpr bool present() const { return place != no_spot; }
  constexpr Cell cell(unsigned lane, unsigned byte = 0) const {
    return {place, width, static_cast<std::uint8_t>(byte), static_cast<std::uint8_t>(lane)};
  }
};

/// `[base + offset]`; without a base the offset is the address.
struct Address {
  Slot base;
  std::int64_t offset = 0;
};

/// What an effect does beyond its form; each effect reads its own fields.
enum class Mode : std::uint8_t {
  none,
  up,
  down,
  butterfly,
  index,
  all,
  any,
  uniform,
  ballot,
  sync,
  arrive,
  popc,
  logical_and,
  logical_or,
  wait_group,
  wait_all,
  add,
  min,
  max,
  bit_and,
  bit_or,
  bit_xor,
  increment,
  decrement,
  exchange,
  compare_exchange,
  init,
  inval,
  arrive_expect,
  expect,
  complete,
  test_wait,
  try_wait,
  test_parity,
  try_parity,
  drop,
  drop_expect,
  pending_count,
  arrive_copies,
  ret,
  forward4,  // The modes of prmt.
  backward4,
  replicate8,
  edge_left,
  edge_right,
  replicate16,
  rows16,  // Matrices of bytes: ldmatrix .m16n16 and stmatrix .m16n8, and ldmatrix .m8n16.
  rows8,
};

/// What every instruction asks for stands first, in one line of the cache.
struct alignas(64) Operation {
  Form form;
  Effect effect = Effect::none;
  Mode mode = Mode::none;
  CostClass cost = CostClass::none;
  Definedness definedness = Definedness::all;
  bool guard_negated = false;
  Space space = Space::generic;
  AccessKind access = AccessKind::read;
  std::uint8_t element_bytes = 0;  // Of memory, each.
  std::uint8_t element_count = 0;
  bool multicast = false;  // multimem
  bool strong = false;     // .volatile, .relaxed, ..
  bool read_only = false;  // .nc
  bool flag = false;       // ldmatrix .trans; cp.async with ignore-src; barrier not .aligned.
  char scope = 0;
  Spot guard = no_spot;
  std::array<Spot, 5> places{};  // Of a meaning: destination, then sources.
  std::array<Slot, 4> fixed{};   // Of an effect: operands in the order of the instruction.
  Address address;               // Of an effect on memory; cp.async: the destination.
  Address source;                // cp.async: the source.
  std::uint32_t slot_begin = 0;  // Vectors and matrix fragments, in Program::slots.
  std::uint16_t slot_count = 0;
  std::uint32_t matrix = 0;             // Of multiply: in Program::matrices.
  std::uint32_t target = no_operation;  // Of a branch.
  std::uint32_t join = no_operation;    // Where diverged lanes meet again; none: at the exit.
  std::uint32_t line = 0, column = 0;
  std::uint32_t instruction = 0;  // Index into the function's instructions.
  std::uint32_t use_begin = 0;    // Registers written, then read: Program::uses.
  std::uint16_t written_count = 0, read_count = 0;
};

/// What a constant register holds when a warp starts.
struct Constant {
  enum class Kind : std::uint8_t { bits, shared, dynamic_shared, special, variable, stack };
  Spot place = 0;
  std::uint8_t width = 4;
  Kind kind = Kind::bits;
  /// bits: the value. shared: an offset from the shared window's begin (dynamic_shared only while
  /// decoding). special: a Special. variable: an index into Program::variables, and above bit 32 an
  /// offset. stack: nothing; the register is the stack pointer, which does not stay what it is.
  std::uint64_t bits = 0;
};

enum class Special : std::uint8_t {
  tid_x,
  tid_y,
  tid_z,
  ntid_x,
  ntid_y,
  ntid_z,
  ctaid_x,
  ctaid_y,
  ctaid_z,
  nctaid_x,
  nctaid_y,
  nctaid_z,
  laneid,
  warpid,
  nwarpid,
  lanemask_eq,
  lanemask_le,
  lanemask_lt,
  lanemask_ge,
  lanemask_gt,
  dynamic_shared,
  total_shared,
  zero,
  one,
  clusterid_x,
  clusterid_y,
  clusterid_z,
  nclusterid_x,
  nclusterid_y,
  nclusterid_z,
  cluster_ctaid_x,
  cluster_ctaid_y,
  cluster_ctaid_z,
  cluster_nctaid_x,
  cluster_nctaid_y,
  cluster_nctaid_z,
  cluster_ctarank,
  cluster_nctarank,
};

/// A module variable in .global or .const.
struct StaticVariable {
  std::string name;
  std::uint64_t bytes = 0;
  std::uint64_t align = 1;
  bool constant = false;
  std::vector<std::uint8_t> initial;
};

struct ParameterSlot {
  std::string name;
  std::uint32_t offset = 0, bytes = 0;
};

/// One mma with the cell of every element, in Mma's order.
struct Matrix {
  unsigned m = 0, n = 0, k = 0;
  Type d_type{}, a_type{}, b_type{}, c_type{};
  std::vector<Cell> a, b, c, d;
  bool exclusive = false;  // Bits: xor before they are counted.
  /// mma.sp: of how many columns of A half are stored (2, 4 or 8); 0 where A is dense. A then has
  /// k / 2 columns, and each thread's word of metadata says for which they stand.
  std::uint8_t chunk = 0;
  std::uint8_t selector = 0;
  bool ordered = false;
  Slot metadata{};
  /// Where the operands are whole registers: those of D, A, B and C one after the other, and in
  /// which of Program::orders their elements lie.
  std::vector<Spot> registers{};
  std::uint32_t order = no_operation;
};

/// The operands of an instruction of an asynchronous unit. Which of them are present says the rest.
struct AsyncForm {
  enum class Move : std::uint8_t { to_shared, to_global, to_cluster, hint };
  enum class Tile : std::uint8_t { none, tile, gather, scatter, im2col, im2col_wide };
  Move move = Move::to_shared;
  Tile tile = Tile::none;
  std::uint8_t dimensions = 0;
  bool reduces = false;
  bool replicates = false;  // tcgen05.cp: into several quarters of the lanes.
  Type type = Type::b32;    // Of a reduction, or of what st.async stores.
  std::string shape;        // Of tcgen05: "32x32b"; of tensormap.replace: the field.
  unsigned count = 1, group = 1;
  Slot size, multicast, byte_mask, value;
  std::array<Slot, 2> ignored;  // Of a bulk copy: bytes at either end that may not be there.
  Address barrier;
  std::vector<Slot> coordinates, offsets;
  // tcgen05.mma
  std::string kind;
  bool stationary = false;  // .ws
  bool shift = false;       // ld.pack::16b, st.unpack::16b; tcgen05.shift; the rows of A.
  Slot zero_columns;        // Of B.
  Slot a_descriptor, b_descriptor, descriptor, accumulate;
  Address a_tensor, metadata, a_scales, b_scales;
  bool a_in_tensor = false;
  bool sparse = false;
  unsigned blocks = 0;         // Along K, each with a scale; 0: nothing is scaled.
  unsigned packed_bits = 0;    // tcgen05.cp: of elements that become bytes, 4 or 6.
  std::vector<Slot> disabled;  // Lanes of the output: four words, eight of a pair.
  std::uint32_t scale_input = 0;
};

struct Program {
  std::string entry, file;
  Target target;
  std::vector<Operation> operations;
  std::vector<Slot> slots;
  std::vector<Matrix> matrices;
  std::vector<FragmentOrder> orders;   // One a shape.
  std::vector<AsyncForm> async_forms;  // By Operation::matrix.
  std::vector<Spot> uses;
  std::vector<Constant> constants;
  std::vector<StaticVariable> variables;
  std::vector<ParameterSlot> parameters;
  std::vector<std::string> texts;  // By instruction, as written: for traps.
  std::uint32_t register_bytes = 0;
  std::uint32_t parameter_bytes = 0;
  std::uint64_t static_shared_bytes = 0;            // The dynamic part begins here.
  std::uint64_t local_bytes = 0;                    // Of each thread.
  std::uint64_t stack_bytes = 0;                    // Of these the upper ones, for alloca.
  std::array<std::uint32_t, 3> required_threads{};  // .reqntid; zeros where there is none.

  std::span<const Spot> written(const Operation& op) const {
    return std::span(uses).subspan(op.use_begin, op.written_count);
  }
  const FragmentOrder* order_of(const Matrix& matrix) const {
    return matrix.order == no_operation ? nullptr : &orders[matrix.order];
  }
  std::span<const Spot> read(const Operation& op) const {
    return std::span(uses).subspan(op.use_begin + op.written_count, op.read_count);
  }
};

/// Resolves registers, constants, labels and points of reconvergence. An instruction that the table
/// has not is an operation that traps when it is reached; one that the table knows better is an
/// error with its place.
Result<Program> decode(const Module& module, std::string_view entry);

}  // namespace lathe::ptx
