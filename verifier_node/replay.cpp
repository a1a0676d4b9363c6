// Runs in the bits domain.

#include "verifier_node/replay.h"

#include <algorithm>

#include "ptx/emulate.h"

namespace lathe::verifier_node {

using ptx::TrapKind;

Result<Done> Replay::use_inputs(InputClass input_class, std::uint64_t seed) {
  if (ready_ && class_ == input_class && seed_ == seed) return Done{};
  inputs_.assign(sides_->contract->tensors.size(), {});
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    Role role = sides_->contract->tensors[i].role;
    if (role != Role::input && role != Role::inout) continue;
    Result<std::string> bytes = make_input(*sides_->contract, i, input_class, seed);
    if (!bytes) return bytes.error();
    inputs_[i] = *std::move(bytes);
  }
  class_ = input_class;
  seed_ = seed;
  ready_ = true;
  return Done{};
}

Replayed Replay::run(Side side, const std::vector<std::uint64_t>& blocks,
                     ptx::AsyncSchedule schedule, bool watch_order, std::uint64_t steps_max) {
  Replayed out;
  std::size_t count = sides_->contract->tensors.size();
  out.bytes.resize(count);
  out.written.resize(count);
  std::vector<std::byte*> memory;
  ptx::FootprintObserver footprint;
  for (std::size_t i = 0; i < count; ++i) {
    const Tensor& tensor = sides_->contract->tensors[i];
    ptx::FootprintObserver::Marks marks;
    marks.address = sides_->buffers[i].address;
    marks.pages.resize(tensor.span_bytes() / ptx::FootprintObserver::page_bytes + 2);
    if (tensor.role == Role::input) {
      // The machine never stores into a buffer that is not writable.
      memory.push_back(reinterpret_cast<std::byte*>(inputs_[i].data()));
    } else {
      out.bytes[i] =
          tensor.role == Role::inout ? inputs_[i] : std::string(tensor.span_bytes(), '\xA5');
      out.written[i].assign(tensor.span_bytes(), '\0');
      marks.written = reinterpret_cast<std::uint8_t*>(out.written[i].data());
      memory.push_back(reinterpret_cast<std::byte*>(out.bytes[i].data()));
    }
    footprint.buffers.push_back(std::move(marks));
  }
  ptx::Run run{sides_->at(side).program,
               sides_->shape(side),
               sides_->buffers,
               std::as_bytes(std::span(sides_->parameters)),
               1024,
               schedule,
               steps_max};
  if (watch_order) {
    std::vector<bool> writable;
    for (const ptx::Buffer& buffer : sides_->buffers) writable.push_back(buffer.writable);
    ptx::OrderObserver order(std::move(writable), false);
    ptx::Both<ptx::FootprintObserver, ptx::OrderObserver> both(footprint, order);
    out.trap = emulate(run, memory, blocks, both).trap;
    out.races = order.findings();
    out.order_follows_all = order.follows_all();
  } else {
    out.trap = emulate(run, memory, blocks, footprint).trap;
  }
  return out;
}

std::optional<Mismatch> Replay::compare(const Replayed& reference,
                                        const Replayed& candidate) const {
  const Contract& contract = *sides_->contract;
  for (std::size_t t = 0; t < contract.tensors.size(); ++t) {
    const Tensor& tensor = contract.tensors[t];
    if (tensor.role != Role::output && tensor.role != Role::inout) continue;
    std::size_t width = std::max<std::size_t>(1, bits_of(tensor.dtype) / 8);
    const std::string& written = reference.written[t];
    std::vector<std::uint64_t> elements;
    for (std::size_t at = written.find('\1'); at != std::string::npos;
         at = written.find('\1', (at / width + 1) * width))
      elements.push_back(at / width);
    // The written elements in a row, compared by the contract's own rule.
    Contract row;
    row.tolerance = contract.tolerance;
    row.tensors.push_back(tensor);
    row.tensors[0].shape = {elements.size()};
    row.tensors[0].strides = {1};
    row.tensors[0].defined.clear();
    std::string left, right;
    for (std::uint64_t element : elements) {
      left.append(reference.bytes[t], element * width, width);
      right.append(candidate.bytes[t], element * width, width);
    }
    if (elements.empty()) continue;
    Comparison comparison = lathe::compare(row, 0, left, right, {}, {});
    if (!comparison.first) continue;
    Mismatch mismatch = *comparison.first;
    mismatch.tensor = t;
    mismatch.index = {elements[comparison.first->index[0]]};
    return mismatch;
  }
  return std::nullopt;
}

Result<std::optional<Witness>> try_input(Replay& replay, const Sides& sides, const StressPlan& plan,
                                         InputClass input_class, std::uint64_t seed) {
  Result<Done> ready = replay.use_inputs(input_class, seed);
  if (!ready) return ready.error();
  Replayed reference = replay.run(Side::reference, plan.reference_blocks);
  if (reference.trap)
    return Error{Fault::unsupported,
                 "the reference does not run on inputs of class " +
                     std::string(name_of(input_class)) + ": " + print(*reference.trap),
                 "",
                 {}};
  Replayed candidate = replay.run(Side::candidate, plan.candidate_blocks);
  if (candidate.trap) {
    // The bits domain follows undefined bits by whole registers: alone that refutes nothing.
    if (!refutes(candidate.trap->kind) || candidate.trap->kind == TrapKind::undefined_value)
      return Error{Fault::unsupported,
                   "the candidate does not run on inputs of class " +
                       std::string(name_of(input_class)) + ": " + print(*candidate.trap),
                   "",
                   {}};
    Witness witness = trap_witness(sides, *candidate.trap);
    witness.input_class = name_of(input_class);
    witness.input_seed = seed;
    witness.replayed = true;
    return std::optional<Witness>(witness);
  }
  std::optional<Mismatch> mismatch = replay.compare(reference, candidate);
  if (!mismatch) return std::optional<Witness>{};
  return std::optional<Witness>(value_witness(replay, sides, *mismatch));
}

std::string code_of(TrapKind kind) {
  switch (kind) {
    case TrapKind::out_of_bounds:
      return "bounds";
    case TrapKind::read_only:
      return "frame";
    case TrapKind::deadlock:
      return "deadlock";
    case TrapKind::misaligned:
    case TrapKind::divergent_barrier:
    case TrapKind::bad_operand:
    case TrapKind::trapped:
      return "fault";
    case TrapKind::undefined_value:
      return "poison";
    case TrapKind::exhausted:
      return "exhausted";
    case TrapKind::stopped:
      return "race";
    default:
      return "unsupported";
  }
}

bool refutes(TrapKind kind) {
  std::string code = code_of(kind);
  return code != "exhausted" && code != "unsupported" && code != "race";
}

}  // namespace lathe::verifier_node
