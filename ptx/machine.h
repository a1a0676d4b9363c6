#pragma once

// Runs a block of a kernel in any domain, watched by any observer: warps, diverged lanes that meet
// again at post-dominators, memories, barriers, asynchronous copies. One canonical schedule: each
// warp runs until it waits, in order; the diverged parts of a warp go on independently, so that one
// part may wait for another.
//
// The blocks of a cluster run as one: their warps are numbered through, and what each block has of
// its own is in `Block`. What instructions do is in the other machine_*.h.

#include <bit>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "ptx/common_place.h"
#include "ptx/isa/functions.h"
#include "ptx/machine_wide.h"
#include "ptx/rules.h"
#include "ptx/run.h"
#include "ptx/several.h"
#include "ptx/shared_matrix.h"
#include "ptx/tensor_map.h"
#include "ptx/window.h"

namespace lathe::ptx {

struct SharedMatrix;  // shared_matrix.h
struct TensorPlace;   // machine_tensor.h

/// The domain whose rules are carried out: D's own, or those that it borrows.
template <class D>
struct RulesFor {
  using type = D;
};
template <class D>
requires requires { typename D::Ruled; }
struct RulesFor<D> {
  using type = typename D::Ruled;
};

/// A domain that wants to know what is asked for as bits.
template <class D>
concept NotesControl = requires(D& d) {
  d.note_control(0u, std::uint64_t{});
};

/// A domain that tells of one execution of those that hardware may choose: where a value is
/// nobody's to know, it takes one.
template <class D>
concept TellsOne = requires {
  requires D::tells_one;
};

template <class D, class O>
class Machine {
 public:
  using Ruled = typename RulesFor<D>::type;
  using Lanes = typename D::Lanes;
  using Region = typename D::Region;

  Machine(D& domain, O& observer, const Run& run)
      : d_(domain), o_(observer), run_(run), program_(run.program), rules_(rules_of<Ruled>()) {
    for (const Operation& op : program_.operations) row_rules_.push_back(rule_of(op));
    row_rules_.push_back(nullptr);
  }

  /// Runs one block (and the others of its cluster, of which the first one asked for runs all) to
  /// its end, or to the trap that ended it.
  std::optional<Trap> run_block(std::uint64_t block);
  /// Warp instructions of all blocks so far.
  std::uint64_t steps() const { return steps_; }

 private:
  enum class State : std::uint8_t { ready, children, barrier, mbarrier, cluster, allocation, dead };
  static constexpr std::uint32_t none = ~0u;

  /// Lanes of a warp that run together.
  struct Part {
    std::uint32_t pc = 0;
    std::uint32_t join = none;  // Where it ends and its parent goes on.
    Mask mask = 0;
    std::uint32_t parent = none;
    std::uint32_t children = 0;
    State state = State::ready;
    std::uint32_t waits_at = 0;     // The operation.
    std::uint64_t waits_for = 0;    // A barrier's number or an mbarrier's key.
    std::uint64_t waits_phase = 0;  // Of an mbarrier.
  };
  struct Copy {
    std::uint64_t to = 0, from = 0;
    std::uint32_t group = 0, buffer = 0;
    std::uint8_t lane = 0, bytes = 0, taken = 0;
    std::uint64_t number = 0;
  };
  struct Warp {
    Lanes lanes;
    std::vector<Part> parts;
    Mask live = 0;
    std::array<std::uint32_t, lane_count> groups{};  // Committed by each lane.
    std::vector<Copy> copies;                        // Under way, in the order of issue.
    std::uint64_t copies_made = 0;
    std::array<std::uint32_t, lane_count> cluster_phase{};  // Of the barrier that it arrived at.
    Mask arrived_cluster = 0;
    std::set<std::array<std::uint64_t, 3>> given_up;  // Waits, by operation, mbarrier and phase.
    std::uint32_t polled = none;                      // The part that gave way last.
    std::array<std::uint32_t, lane_count> bulk_open{}, bulk_groups{};  // Of each lane.
  };
  struct Waiting {
    std::uint32_t warp = 0, part = 0, operation = 0;
    Mask mask = 0;
  };
  struct Barrier {
    std::uint32_t needed = 0;  // Threads; 0: all of the block.
    std::uint32_t counted = 0;
    bool used = false;
    std::vector<Mask> arrived, waiting;
    std::vector<Waiting> parts;
    std::uint32_t population = 0;
    bool all = true, any = false;
  };
  struct MemoryBarrier {
    std::uint64_t phase = 0;
    std::int64_t pending = 0, expected = 0, transactions = 0;
  };
  /// Tensor memory: 128 lanes of 512 columns, as registers of a file whose last ones hold operands.
  struct TensorMemory {
    explicit TensorMemory(Lanes given) : lanes(std::move(given)) {}
    Lanes lanes;
    std::map<std::uint32_t, std::uint32_t> allocations;  // First column, columns.
    bool relinquished = false;
  };
  /// What each block of a cluster has of its own.
  struct Block {
    std::uint64_t number = 0;
    std::array<std::uint32_t, 3> index{};
    std::optional<Region> shared;
    std::array<Barrier, 16> barriers;
    std::map<std::uint64_t, MemoryBarrier> mbarriers;  // By offset.
    std::optional<TensorMemory> tensor;
    bool refused = false;  // One of its threads has seen that no cluster was cancelled.
  };
  /// Asynchronous work that the schedule has put off.
  struct Flight {
    std::uint32_t warp = 0, lane = 0, group = 0;
    bool bulk = false;  // Of a bulk group of the thread.
    std::function<void()> carry_out;
  };
  /// Where an address lies.
  struct Location {
    Region* region = nullptr;
    std::uint64_t offset = 0;
    Space space = Space::global;
    std::uint32_t buffer = 0;
    std::uint32_t rank = 0;  // Of shared: whose.
    /// How observers number a place in shared memory.
    std::uint64_t key() const { return offset | std::uint64_t{rank} << rank_shift; }
  };
  using Addresses = std::array<std::uint64_t, lane_count>;
  using Locations = std::array<Location, lane_count>;
  using Common = CommonPlace<Region>;

  // machine_block.h
  void begin(std::uint64_t block);
  void make_blocks(std::uint64_t first);
  void make_variables();
  void fill_constants(std::uint32_t w);
  std::uint64_t special(Special which, std::uint32_t w, unsigned lane) const;
  std::uint64_t special_of_cluster(Special which, std::uint32_t rank) const;
  void report_deadlock();
  void check_end();
  Block& block_of(std::uint32_t w) { return blocks_[w / warps_each_]; }
  Block& here() { return block_of(now_warp_); }
  std::uint32_t rank() const { return now_warp_ / warps_each_; }
  void launch(Flight flight);
  bool fly();

  // machine_run.h
  bool run_warp(std::uint32_t w);
  void run_part(std::uint32_t w, std::uint32_t p);
  void run_rows(Warp& warp, std::uint32_t w, Part& part);
  bool run_doubted(Warp& warp, std::uint32_t w, Part& part);
  /// After an operation.
  void went(const Operation& op) {
    bool well = true;
    if constexpr (D::complains) well = d_.complaint() == nullptr;
    if constexpr (O::active) well = well && o_.good();
    if (!well) [[unlikely]]
      went_wrong(op);
  }
  void went_wrong(const Operation& op);
  Rule<Ruled> rule_of(const Operation& op) const;
  void apply(Rule<Ruled> rule, Lanes& lanes, const Operation& op, Mask active) {
    if constexpr (requires { d_.carry_out(rule, lanes, op, active); })
      d_.carry_out(rule, lanes, op, active);
    else
      rule(d_, lanes, op, active);
  }
  // machine.h
  void carry_out(Warp& warp, std::uint32_t w, std::uint32_t p, const Operation& op, Mask active);

  // machine_control.h
  void trap(TrapKind kind, std::string what, const Operation& op, unsigned lane,
            std::uint64_t address = 0);
  std::uint32_t number(const Operation& op) const {
    return static_cast<std::uint32_t>(&op - program_.operations.data());
  }
  UnitEvent unit_event(UnitEvent::Kind kind, Unit unit, const Operation& op, Mask mask) const {
    return {kind, unit, now_warp_, number(op), mask};
  }
  static Proxy fence_proxy(const Operation& op);
  static unsigned first_lane(Mask mask) { return static_cast<unsigned>(std::countr_zero(mask)); }
  /// The bits of a control operand; a trap and nothing where they are not exact.
  std::optional<std::uint64_t> control(const Lanes& lanes, Slot slot, unsigned lane,
                                       const Operation& op, const char* what);
  /// The same of all active lanes; false after a trap.
  bool controls(const Lanes& lanes, Slot slot, Mask active, const Operation& op, const char* what,
                Addresses& bits);
  /// The same, told to no domain.
  std::optional<std::uint64_t> bits_of(const Lanes& lanes, Slot slot, unsigned lane,
                                       const Operation& op, const char* what);
  bool bits_of(const Lanes& lanes, Slot slot, Mask active, const Operation& op, const char* what,
               Addresses& bits);

  // machine_flow.h
  void diverge(Warp& warp, std::uint32_t p, const Operation& op, Mask taken);
  void finish(Warp& warp, std::uint32_t p);
  void leave(std::uint32_t w, Mask mask, const Operation& op);

  // machine_memory.h
  bool locate(Space space, std::uint64_t address, unsigned bytes, bool write, const Operation& op,
              unsigned lane, Location& out);
  bool find_buffer(std::uint64_t address, unsigned bytes, Location& out);
  bool read_addresses(Warp& warp, const Operation& op, const Address& address, Mask active,
                      Addresses& out);
  bool addresses_of(Warp& warp, const Operation& op, const Address& address, Mask active,
                    Addresses& out);
  bool locate_all(Warp& warp, const Operation& op, Mask active, unsigned bytes, Addresses& where,
                  Locations& out, bool write);
  bool locate_all(Warp& warp, const Operation& op, Mask active, unsigned bytes, Addresses& where,
                  Locations& out) {
    return locate_all(warp, op, active, bytes, where, out, op.access != AccessKind::read);
  }
  bool locate_plain(Space space, const Operation& op, Mask active, unsigned bytes, bool write,
                    const Addresses& where, Locations& out);
  bool locate_common(Space space, const Operation& op, Mask active, unsigned bytes, bool write,
                     const Addresses& where, Common& out);
  bool locate_each(const Operation& op, Mask active, unsigned bytes, const Addresses& where,
                   Locations& out, bool write);
  void tell_common(const Operation& op, Mask active, unsigned bytes, const Common& at,
                   AccessKind kind, Mask unchanged);
  void tell(const Operation& op, Mask active, unsigned bytes, const Locations& at,
            const Addresses& where, AccessKind kind, Mask unchanged, bool asynchronous);
  void load(Warp& warp, const Operation& op, Mask active);
  void store(Warp& warp, const Operation& op, Mask active);
  bool bytes_taken(Warp& warp, const Operation& op, Mask active, Addresses& taken);
  bool locate_sources(const Operation& op, Mask reads, const Addresses& taken,
                      const Addresses& from, Locations& source);
  void copy_async(Warp& warp, const Operation& op, Mask active);
  void land(Warp& warp, const Copy& copy);
  void wait_async(Warp& warp, const Operation& op, Mask active);

  // machine_atomic.h
  template <Type T>
  void combine(Lanes& lanes, const Operation& op, unsigned lane, bool flush);
  void combine(Lanes& lanes, const Operation& op, unsigned lane, bool flush);
  void combine_by_type(Lanes& lanes, const Operation& op, unsigned lane, bool flush);
  void combine_wide(Lanes& lanes, const Operation& op, unsigned lane);
  void atomic_element(Warp& warp, const Operation& op, Mask active, const Locations& at,
                      unsigned offset);
  void atomic(Warp& warp, const Operation& op, Mask active);

  // machine_matrix.h
  void load_matrix(Warp& warp, const Operation& op, Mask active);
  bool read_element(Warp& warp, const Operation& op, const Location& row, unsigned column, Cell to);
  void load_bytes_matrix(Warp& warp, const Operation& op);
  void store_matrix(Warp& warp, const Operation& op, Mask active);
  void transpose_matrix(Warp& warp, const Operation& op, Mask active);
  void fragment(Warp& warp, const Operation& op, Mask active);
  Mma product_of(const Operation& op, const Matrix& matrix) const;
  void multiply(Warp& warp, const Operation& op, Mask active);
  void multiply_one(Lanes& lanes, const Operation& op, const Matrix& matrix,
                    bool without_c = false);
  void multiply_sparse(Warp& warp, const Operation& op, const Matrix& matrix,
                       bool without_c = false);

  // machine_warp.h
  bool whole(Warp& warp, const Operation& op, Mask active, const char* what);
  template <class Use>
  void by_groups(Warp& warp, const Operation& op, Mask active, Use use);
  void together(Warp& warp, const Operation& op, Mask group);
  void copy_register(Lanes& lanes, Slot to, Slot from, Mask active);
  void move(Warp& warp, const Operation& op, Mask active);
  void permute(Warp& warp, const Operation& op, Mask active);
  void shuffle(Warp& warp, const Operation& op, Mask active);
  void vote(Warp& warp, const Operation& op, Mask active);
  void match(Warp& warp, const Operation& op, Mask active);
  void reduce(Warp& warp, const Operation& op, Mask active);
  template <Type T>
  void reduce_as(Warp& warp, const Operation& op, Mask active);
  void put_all(Warp& warp, Slot slot, std::uint64_t bits, Mask mask);

  // machine_wgmma.h
  std::optional<std::uint64_t> uniform(Warp& warp, const Operation& op, Slot slot,
                                       const char* what);
  void flip_signs(Lanes& lanes, const Operation& op, const std::vector<Cell>& cells, Type type,
                  std::uint8_t signs = 0x80);
  bool gather(Warp& warp, const Operation& op, const SharedMatrix& matrix,
              const std::vector<Cell>& cells, unsigned mn_begin, bool a_operand, unsigned k_count,
              std::vector<std::uint64_t>& units);
  void tell_units(const Operation& op, std::vector<std::uint64_t>& units, Unit unit, unsigned lane,
                  std::uint32_t rank);
  bool sparse_fits(const Operation& op, const Matrix& matrix, const SharedMatrix& b);
  void warpgroup_multiply(Warp& warp, const Operation& op, Mask active);
  void warpgroup(Warp& warp, const Operation& op, Mask active);

  // machine_sync.h
  void barrier(Warp& warp, std::uint32_t w, std::uint32_t p, const Operation& op, Mask active);
  bool complete(Block& block, std::uint32_t id);
  void complete_barriers(std::uint32_t w);
  void mbarrier(Warp& warp, std::uint32_t p, const Operation& op, Mask active);
  void mbarrier_wait(Warp& warp, std::uint32_t p, const Operation& op, Mask active,
                     const Locations& at);
  bool mbarrier_one(Warp& warp, const Operation& op, unsigned lane, const Location& at,
                    std::uint64_t where);
  bool gives_up(Warp& warp, const Operation& op, Mask active, std::uint64_t key,
                std::uint64_t phase);
  MemoryBarrier* find_mbarrier(std::uint64_t key);
  void arrive(std::uint64_t key, std::int64_t count, std::int64_t bytes);
  void wake_mbarriers();
  void warp_barrier(Warp& warp, const Operation& op, Mask active);
  bool arrive_copies(Warp& warp, const Operation& op, unsigned lane, std::uint64_t key);
  void tell_mbarrier(const Operation& op, Mask mask, std::uint64_t key, AccessKind kind);

  // machine_cluster.h
  void cluster_barrier(Warp& warp, std::uint32_t p, const Operation& op, Mask active);
  void complete_cluster();
  void map_address(Warp& warp, const Operation& op, Mask active);

  // machine_bulk.h, machine_box.h
  struct Piece {               // Contiguous bytes of a copy.
    std::uint64_t shared = 0;  // Offset.
    std::uint64_t global = 0;  // Offset in its buffer.
    std::uint32_t bytes = 0;
    bool inside = true;  // Of the tensor: else it is filled, or left out.
  };
  struct BulkCopy {
    const AsyncForm* form = nullptr;
    const Operation* op = nullptr;
    std::uint32_t warp = 0, lane = 0, shared_rank = 0, buffer = 0;
    std::vector<std::uint32_t> ranks;  // Blocks whose shared memory receives it.
    std::uint64_t barrier = 0;         // Key of the mbarrier, without rank.
    std::uint32_t barrier_rank = 0;
    bool signals_own = true;  // Each receiving block's mbarrier, or `barrier_rank`'s.
    std::uint64_t bytes = 0;  // That the mbarrier is told of.
    std::uint64_t from = 0;   // Of a copy within the cluster: the source's offset.
    bool nan_fill = false, unknown_fill = false;  // Of what is not inside; else zeros.
    bool rounds = false;                          // To tf32, what goes to shared memory.
    Type type = Type::b32;                        // Of a reduction.
    unsigned element_bytes = 1;
    std::uint16_t byte_mask = 0xFFFF;
    std::vector<Piece> pieces;
  };
  void bulk_copy(Warp& warp, const Operation& op, Mask active);
  bool resolve_bulk(Warp& warp, const Operation& op, unsigned lane, BulkCopy& copy);
  bool resolve_plain(Warp& warp, const Operation& op, unsigned lane, BulkCopy& copy,
                     std::uint64_t shared, std::uint64_t global);
  bool resolve_ends(Warp& warp, const Operation& op, unsigned lane, BulkCopy& copy,
                    const Location& to, std::uint64_t from, std::uint32_t bytes);
  bool resolve_tensor(Warp& warp, const Operation& op, unsigned lane, BulkCopy& copy,
                      std::uint64_t shared, std::uint64_t map);
  bool resolve_signal(Warp& warp, const Operation& op, unsigned lane, BulkCopy& copy);
  bool read_map(const Operation& op, unsigned lane, std::uint64_t address, TensorMap& map);
  void carry_out_bulk(const BulkCopy& copy);
  void move_piece(const BulkCopy& copy, const Piece& piece, std::uint32_t rank);
  void combine_piece(const BulkCopy& copy, const Piece& piece, Region& to, std::uint64_t offset);
  void round_piece(const BulkCopy& copy, const Piece& piece, Region& shared);
  void tell_bulk(const BulkCopy& copy);
  void tell_completion(const Operation& op, unsigned lane, std::uint64_t key);
  void tell_pieces(const BulkCopy& copy, Space space, std::uint32_t rank, AccessKind kind);
  void bulk_commit(Warp& warp, const Operation& op, Mask active);
  void bulk_wait(Warp& warp, const Operation& op, Mask active);
  void store_async(Warp& warp, const Operation& op, Mask active);
  void release_async(Warp& warp, const Operation& op, Mask active);
  void launch_store(Warp& warp, const Operation& op, unsigned lane, const Location& at,
                    std::optional<std::uint64_t> barrier);
  void tensor_map(Warp& warp, const Operation& op, Mask active);

  // machine_stack.h
  void stack(Warp& warp, const Operation& op, Mask active);
  bool allocate_stack(Warp& warp, const Operation& op, unsigned lane, std::uint64_t top,
                      std::uint64_t bytes);
  bool restore_stack(Warp& warp, const Operation& op, unsigned lane, std::uint64_t top,
                     std::uint64_t to);

  // machine_range.h
  void discard(Warp& warp, const Operation& op, Mask active);
  void fill(Warp& warp, const Operation& op, Mask active);

  // machine_launch.h
  void launch_control(Warp& warp, const Operation& op, Mask active);
  void try_cancel(Warp& warp, const Operation& op, unsigned lane);
  void query_cancel(Warp& warp, const Operation& op, unsigned lane);

  // machine_tensor.h
  void tensor_memory(Warp& warp, std::uint32_t p, const Operation& op, Mask active);
  void tensor_allocate(Warp& warp, std::uint32_t p, const Operation& op);
  bool tensor_columns(const Operation& op, TensorMemory* memory, std::uint32_t begin,
                      std::uint32_t count);
  void tensor_move(Warp& warp, const Operation& op, Mask active);
  bool tensor_column(Warp& warp, TensorMemory& memory, const Slot& own, unsigned lane,
                     unsigned column, bool load);
  void tensor_wait(Warp& warp, const Operation& op, Mask active);
  void tensor_multiply(Warp& warp, const Operation& op, Mask active);
  void tensor_commit(Warp& warp, const Operation& op, Mask active);
  void tensor_copy(Warp& warp, const Operation& op, Mask active);
  void tensor_copy_block(const Operation& op, unsigned lane, const SharedMatrix& matrix,
                         unsigned column, std::uint32_t rank);
  void tensor_shift(const Operation& op, unsigned lane, std::uint32_t address, std::uint32_t rank);
  bool unpack(const Operation& op, unsigned lane, Block& from, Lanes& lanes, std::uint64_t unit,
              unsigned i, unsigned bits, Cell to);
  struct TensorProduct;
  bool read_descriptor(TensorProduct& product, std::uint64_t bits);
  bool read_places(Warp& warp, TensorProduct& product);
  bool tensor_unpack(const TensorProduct& product, Block& from, Lanes& lanes,
                     const SharedMatrix& matrix, Type type, unsigned rows, unsigned first_cell,
                     std::vector<std::uint64_t>& units);
  void tensor_special(const TensorProduct& product, Lanes& lanes, const Operation& op,
                      const Matrix& tile, unsigned row, unsigned column, TensorPlace corner);
  void tensor_kept(const TensorProduct& product, Lanes& lanes, const Mma& whole, BlockScales scales,
                   TensorPlace corner);
  bool read_columns(Warp& warp, TensorProduct& product);
  bool read_product(Warp& warp, TensorProduct& product);
  bool tensor_gather(const TensorProduct& product, Block& from, Lanes& lanes,
                     const SharedMatrix& matrix, bool mn_major, unsigned rows, unsigned first_cell,
                     Type type, std::vector<std::uint64_t>& units);
  void scale_down(Lanes& lanes, Cell cell, Type type, std::uint32_t by);
  bool tensor_blank(const TensorProduct& product, Block& from, Lanes& lanes,
                    const SharedMatrix& matrix, bool mn_major, unsigned rows, unsigned first_cell,
                    unsigned bytes);
  bool tensor_operands(TensorProduct& product, std::uint32_t rank);
  bool tensor_words(Block& from, Lanes& lanes, const SharedMatrix& matrix, unsigned es,
                    unsigned rows, unsigned first_cell, unsigned bytes,
                    std::vector<std::uint64_t>& units);
  struct TileOffsets;
  struct TileCells;
  void tensor_tiles(TensorProduct& product, std::uint32_t rank);
  bool tensor_tile(const TensorProduct& product, Lanes& lanes, const TileOffsets& offsets,
                   unsigned row, unsigned column, unsigned width);
  void tensor_elements(const TensorProduct& product, Lanes& lanes, TileCells& cells, unsigned row,
                       unsigned column, TensorPlace corner);
  void tell_tensor(const Operation& op, Unit unit, unsigned lane, std::uint32_t rank,
                   std::vector<std::uint64_t>& granules, AccessKind kind);

  D& d_;
  O& o_;
  const Run& run_;
  const Program& program_;
  const Rules<Ruled>& rules_;
  std::vector<Rule<Ruled>> row_rules_;  // By operation; null where it has an effect.
  std::uint64_t steps_ = 0, steps_end_ = 0;
  std::uint32_t now_warp_ = 0, warps_each_ = 1;  // Warps of a block.
  std::vector<Block> blocks_;
  std::vector<Warp> warps_;
  std::set<std::uint64_t> clusters_;  // That have run.
  std::uint32_t cluster_phase_ = 0;
  bool gave_way_ = false;  // A part polled in vain: others go first.
  std::deque<Flight> flights_;
  std::uint64_t flights_made_ = 0;
  std::optional<Region> local_, parameters_;
  std::vector<Region> variables_;
  std::vector<std::uint64_t> variable_addresses_;
  std::uint64_t shared_bytes_ = 0, last_buffer_ = 0;
  WideProducts wide_;
  std::optional<Trap> trap_;
};

}  // namespace lathe::ptx

#include "ptx/machine_atomic.h"
#include "ptx/machine_block.h"
#include "ptx/machine_box.h"
#include "ptx/machine_bulk.h"
#include "ptx/machine_cluster.h"
#include "ptx/machine_control.h"
#include "ptx/machine_flow.h"
#include "ptx/machine_launch.h"
#include "ptx/machine_matrix.h"
#include "ptx/machine_memory.h"
#include "ptx/machine_product.h"
#include "ptx/machine_range.h"
#include "ptx/machine_run.h"
#include "ptx/machine_sparse.h"
#include "ptx/machine_stack.h"
#include "ptx/machine_sync.h"
#include "ptx/machine_warp.h"
#include "ptx/machine_wgmma.h"
