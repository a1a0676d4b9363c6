#pragma once

// How a function's instructions become operations. Used by decode (decode.cpp) alone; its methods
// are spread over decode_*.cpp by what they resolve.

#include <deque>
#include <initializer_list>
#include <optional>
#include <string>
#include <unordered_map>

#include "ptx/program.h"

namespace lathe::ptx {

struct FragmentShape;
struct FragmentMap;

class Decoder {
 public:
  Decoder(const Module& module, const Function& function);
  Result<Program> run();

 private:
  struct Named {
    enum class Kind : std::uint8_t { registers, shared, local, parameter, variable };
    Kind kind = Kind::registers;
    Spot place = 0;          // Of the first register.
    std::uint8_t width = 0;  // Bytes of a lane, or of a variable's element.
    bool predicate = false;
    std::uint32_t count = 0;   // 0: one register, without number.
    std::uint64_t offset = 0;  // Of a variable in its space, or its index.
    std::uint32_t lanes = 1;   // Of a register that is a vector.
    std::uint8_t bits = 0;     // Of a register's type: 8 lie in two bytes too.
  };
  using Scope = std::unordered_map<std::string_view, Named>;

  // decode.cpp: declarations, statements.
  void declare_parameters();
  void declare_module_variables();
  void declare_variable(const Variable& variable);
  void declare_registers(const Registers& registers);
  void read_directives();
  bool statement(const Statement& statement);
  bool instruction(const Instruction& instruction, std::uint32_t number);
  bool resolve_branches();
  void add_texts();

  // decode_call.cpp: device functions, whose bodies stand where they are called.
  const Function* callee_of(const Instruction& instruction) const;
  bool call_fits();
  bool leave(const FormMatch& match);
  bool call(const Instruction& instruction, const Function& callee);
  bool bind(const std::vector<Variable>& formal, const Operand* actual, Scope& scope);
  bool inline_body(const Function& callee, Scope scope);
  /// alloca, stacksave, stackrestore: the stack pointer is a register that the kernel cannot name.
  bool stack(const FormMatch& match);
  Slot stack_pointer();
  void restore_stack(Slot to);
  void place_stack();
  void protect_guard(std::size_t first);
  void note_uses(std::size_t first);
  Spot allocate(unsigned width);

  // decode_operand.cpp: operands to places.
  std::optional<Named> find(std::string_view name) const;
  std::optional<Named> element_named(std::string_view name) const;
  std::optional<Slot> register_named(std::string_view name) const;
  std::optional<std::uint64_t> special_named(std::string_view name) const;
  Slot constant(std::uint64_t bits, unsigned width, Constant::Kind kind = Constant::Kind::bits);
  Slot scratch(unsigned width);
  Slot symbol(const Operand& operand, unsigned width);
  /// A source of this type; complains and gives an absent slot where it cannot be.
  Slot source(const Operand& operand, Type type);
  Slot predicate(const Operand& operand);
  Slot destination(const Operand& operand, Type type);
  /// A register at least as wide as the type: memory, cvt.
  Slot loose_source(const Operand& operand, Type type);
  Slot loose_destination(const Operand& operand, Type type);
  std::vector<const Operand*> elements(const Operand& operand);
  bool address(const Operand& operand, Address& out);
  /// Whether an address is that of a variable in local memory.
  bool is_local(const Operand& operand) const;
  std::uint64_t immediate_bits(const Operand& operand, Type type);

  // decode_effect.cpp: instructions with effects.
  bool meaning(const FormMatch& match);
  bool effect(const FormMatch& match);
  bool move();
  bool memory(const FormMatch& match);
  bool copy_async();
  bool discard(const FormMatch& match);
  bool warpgroup_multiply(const FormMatch& match);
  bool warpgroup_metadata(Matrix& sparse);
  std::optional<FragmentShape> warpgroup_slice(const std::vector<Type>& types) const;
  bool warp_wide(const FormMatch& match);
  bool barrier();
  bool fence();
  bool warpgroup_sync(const FormMatch& match);

  // decode_async.cpp, decode_tensor.cpp: asynchronous units.
  bool asynchronous(const FormMatch& match);
  bool coordinates(const Operand& operand, Address& out, std::vector<Slot>& list);
  bool bulk_copy(const FormMatch& match);
  bool bulk_operands(AsyncForm& form, Address& to, Address& from, bool tensor, bool stores);
  bool prefetch_bulk(const FormMatch& match);
  void read_tile(AsyncForm& form) const;
  bool tile_fits(const AsyncForm& form);
  bool image_offsets(AsyncForm& form, std::size_t& next);
  bool store_async(const FormMatch& match);
  bool fill(const FormMatch& match);
  bool launch_control(const FormMatch& match);
  bool tensor_map(const FormMatch& match);
  bool map_address(const FormMatch& match);
  bool cluster_barrier(const FormMatch& match);
  bool tensor_memory(const FormMatch& match);
  bool tensor_move(const FormMatch& match);
  bool tensor_address(const Operand& operand, Address& out);
  bool tensor_factors(AsyncForm& form, Address& d, std::size_t& next);
  bool tensor_multiply(const FormMatch& match);
  bool tensor_commit(const FormMatch& match);
  bool tensor_copy(const FormMatch& match);
  Operation& emit_async(Effect effect, const FormMatch& match, AsyncForm form);
  void add_slots(Operation& op, const std::vector<Slot>& slots);
  bool mbarrier();
  bool branch();
  bool plain(const FormMatch& match);
  bool idle(const FormMatch& match);
  bool wait_async(const FormMatch& match);
  bool without_meaning(const FormMatch& match);

  // decode_lax.cpp: what the assembler does not look at.
  char kind_of(const Operand& operand) const;
  bool stores_any_count() const;
  bool has_unlooked_operand() const;

  // decode_convert.cpp
  bool convert(const FormMatch& match);
  bool convert_four(const FormMatch& match);

  // decode_atomic.cpp
  bool atomic(const FormMatch& match);
  bool ordering_fits();
  /// Of .cta, .cluster, .gpu or .sys, a letter as the observers have it.
  char scope() const;

  // decode_matrix.cpp, decode_fragment.cpp
  bool matrix(const FormMatch& match);
  bool product_shape(FragmentShape& shape);
  bool multiply(const FormMatch& match);
  bool multiply_scaled(const FormMatch& match);
  bool product_vector(const Operand& operand, unsigned count);
  bool multiply_sparse(const FormMatch& match, const FragmentShape& shape,
                       std::vector<Slot>& slots);
  bool fragment(const FormMatch& match);
  bool fragment_slots(const Operand& operand, unsigned count, bool written,
                      std::vector<Slot>& slots, Type type);
  bool move_fragment(const FormMatch& match, Matrix matrix, Type type, unsigned default_stride);
  bool multiply_fragments(const FormMatch& match);
  bool multiply_integers(const FormMatch& match);
  void add_slices(const FragmentShape& shape, unsigned slices, const std::vector<Slot>& a,
                  const std::vector<Slot>& b, const std::vector<Slot>& d, const Matrix& sparse);
  void set_order(Matrix& matrix, const FragmentShape& shape);
  Matrix& add_product(const FragmentShape& shape, const FragmentMap& map,
                      const std::vector<Slot>& slots);

  // decode_expand.cpp: one instruction as several operations.
  bool expand(const FormMatch& match);
  bool set_predicate(const FormMatch& match);
  bool set(const FormMatch& match);
  bool logic_of_three();
  bool select(const FormMatch& match);
  bool choose_by_sign(const FormMatch& match);
  bool carry(const FormMatch& match);
  bool mixed_float(const FormMatch& match);
  bool dot(const FormMatch& match);
  bool space_address(const FormMatch& match);
  bool is_space(const FormMatch& match);
  Slot compare(Form form, Type type, Slot a, Slot b);

  // Emission.
  Operation& emit(Effect effect, Form form = {});
  Operation& emit_row(std::string_view opcode, Form form, std::initializer_list<Slot> places);
  void emit_move(Slot to, Slot from);
  void emit_piece(Slot to, unsigned to_byte, Slot from, unsigned from_byte, unsigned bytes);
  bool complain(std::string what, std::string remedy = "");
  bool complain(const Operand& operand, std::string what, std::string remedy = "");
  bool has(std::string_view modifier) const;
  bool narrow_fits(const Operand& operand, Type type);
  CostClass cost_of(const FormMatch& match) const;
  CostClass cost_of_meaning(const FormMatch& match) const;
  Space space_of(const Instruction& instruction) const;

  const Module& module_;
  const Function* function_;            // Whose body is being decoded: the entry's or a callee's.
  std::uint32_t texts_begin_ = 0;       // Of its instructions in Program::texts.
  std::vector<const Function*> calls_;  // Under way, outermost first.
  std::vector<std::uint32_t> returns_;  // Operations that leave the innermost of them.
  Program program_;
  std::vector<Scope> scopes_;
  /// A label is known in its braces and those inside of them: Triton's waits all have the same.
  struct LabelScope {
    std::uint32_t around = 0;  // Index of the scope around; the body is its own.
    std::unordered_map<std::string_view, std::uint32_t> labels;
  };
  struct Branch {
    std::uint32_t operation;
    std::string_view label;
    std::uint32_t scope;
  };
  std::vector<LabelScope> label_scopes_{1};
  std::uint32_t label_scope_ = 0;
  std::vector<Branch> branches_;
  std::vector<Slot> free_scratch_;  // Reused from one instruction to the next.
  std::size_t scratch_used_ = 0;
  std::unordered_map<std::string, Slot> constants_;
  std::vector<Spot> written_, read_;
  /// `%v.x` and its kin, where an instruction names a vector register as a whole.
  std::deque<Operand> named_elements_;
  std::deque<std::string> element_names_;
  Slot carry32_, carry64_;
  Slot stack_;
  Target target_;
  unsigned isa_version_ = 0;
  const Instruction* now_ = nullptr;
  std::uint32_t number_ = 0;
  std::optional<Error> error_;
};

/// Sets Operation::join of each branch: the first operation that every path from it reaches.
void find_joins(std::vector<Operation>& operations);

}  // namespace lathe::ptx
