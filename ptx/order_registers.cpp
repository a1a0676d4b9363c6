#include "ptx/order_registers.h"

#include <algorithm>

#include "ptx/program.h"

namespace lathe::ptx {
namespace {

bool is_product(const Operation& op) {
  return op.effect == Effect::multiply && op.mode == Mode::sync;
}

}  // namespace

void OrderRegisters::begin(const Program& program, std::uint32_t warps) {
  if (program_ != &program) {
    program_ = &program;
    uses_.clear();
    any_ = std::any_of(program.operations.begin(), program.operations.end(), is_product);
  }
  if (!any_) return;
  warps_.assign(warps, {});
  for (Warp& warp : warps_) warp.registers.resize(program.register_bytes / 64 + 1);
}

const std::vector<OrderRegisters::Use>& OrderRegisters::uses_of(std::uint32_t instruction) {
  auto [found, fresh] = uses_.try_emplace(instruction);
  std::vector<Use>& uses = found->second;
  if (!fresh) return uses;
  const Operation& op = program_->operations[instruction];
  auto add = [&](const std::vector<Cell>& cells, bool written) {
    for (const Cell& cell : cells) {
      auto same = [&](const Use& use) { return use.place == cell.place; };
      if (std::none_of(uses.begin(), uses.end(), same)) uses.push_back({cell.place, written});
    }
  };
  for (unsigned slice = 0; slice < op.element_count; ++slice)
    add(program_->matrices[op.matrix + slice].d, true);
  // A from registers: where it comes by descriptor, its cells are scratch.
  if (!op.fixed[0].present()) add(program_->matrices[op.matrix].a, false);
  return uses;
}

OrderRegisters::Fault OrderRegisters::issue(std::uint32_t w, std::uint32_t instruction) {
  Warp& warp = warps_[w];
  Fault fault;
  const Operation& op = program_->operations[instruction];
  if (warp.fences == 0) fault = {true, 0, instruction};
  for (const Use& use : uses_of(instruction)) {
    Register& one = warp.registers[use.place / 64];
    bool touched = one.touched == warp.fences + 1;
    // Products of one shape that add to the same registers follow one another.
    bool other_shape =
        one.writes != 0 && program_->operations[one.product].element_count != op.element_count;
    bool crossed = !use.written && one.writes != 0;
    if (!fault.found && (touched || other_shape || crossed))
      fault = {true, use.place, touched ? instruction : one.product};
    (use.written ? one.writes : one.reads) += 1;
    one.product = instruction;
    warp.open.push_back(use);
  }
  ++warp.under_way;
  return fault;
}

OrderRegisters::Fault OrderRegisters::touch(std::uint32_t w, std::uint32_t instruction) {
  const Operation& op = program_->operations[instruction];
  Fault fault;
  if (is_product(op)) return fault;
  Warp& warp = warps_[w];
  // Registers of A may be set anew: the assembler keeps what a product under way still reads.
  auto look = [&](std::span<const Spot> places) {
    for (Spot place : places) {
      Register& one = warp.registers[place / 64];
      one.touched = warp.fences + 1;
      if (!fault.found && one.writes != 0) fault = {true, place, one.product};
    }
  };
  look(program_->written(op));
  look(program_->read(op));
  return fault;
}

void OrderRegisters::fence(std::uint32_t warp) { ++warps_[warp].fences; }

void OrderRegisters::commit(std::uint32_t w) {
  Warp& warp = warps_[w];
  warp.groups.push_back(std::move(warp.open));
  warp.open.clear();
}

void OrderRegisters::wait(std::uint32_t w, std::uint32_t pending) {
  Warp& warp = warps_[w];
  while (warp.groups.size() > pending) {
    for (const Use& use : warp.groups.front()) {
      Register& one = warp.registers[use.place / 64];
      (use.written ? one.writes : one.reads) -= 1;
    }
    warp.groups.pop_front();
  }
}

}  // namespace lathe::ptx
