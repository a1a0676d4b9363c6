// Runs in the bits domain.

#include "verifier_node/replay.h"

#include <algorithm>

#include "pipeline/wide_result.h"
#include "ptx/emulate.h"
#include "verifier_node/binding.h"

namespace lathe::verifier_node {

using ptx::TrapKind;

namespace {

constexpr std::uint64_t page_bytes = ptx::FootprintObserver::page_bytes;
/// Of a yardstick: so many blocks, and warp instructions of each.
constexpr std::size_t wide_blocks_max = 8;
constexpr std::uint64_t wide_steps_max = 4'000'000;

}  // namespace

/// Whatever is read is made when it is: large tensors are read in few places. What may be an
/// address is made at once.
Result<Done> Replay::use_inputs(InputClass input_class, std::uint64_t seed) {
  if (ready_ && class_ == input_class && seed_ == seed) return Done{};
  inputs_.resize(sides_->contract->tensors.size());
  class_ = input_class;
  seed_ = seed;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const Tensor& tensor = sides_->contract->tensors[i];
    if (tensor.role != Role::input && tensor.role != Role::inout) continue;
    Input& input = inputs_[i];
    std::size_t pages = (tensor.span_bytes() + page_bytes - 1) / page_bytes;
    input.bytes.resize(tensor.span_bytes());
    input.touched.resize(pages);
    if (!carried_as_numbers(tensor)) input.touched.assign(pages, 1);
    input.pages.assign(pages, 0);
  }
  ready_ = true;
  return fill();
}

/// Makes the pages that a run has touched; says how many were missing.
Result<std::uint64_t> Replay::fill_touched() {
  std::uint64_t made = 0;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    Input& input = inputs_[i];
    std::uint64_t bits = bits_of(sides_->contract->tensors[i].dtype);
    std::uint64_t each = page_bytes * 8 / bits, all = input.bytes.size() * 8 / bits;
    for (std::size_t page = 0; page < input.pages.size();) {
      std::size_t end = page;
      while (end < input.pages.size() && input.touched[end] != 0 && input.pages[end] == 0)
        input.pages[end++] = 1;
      if (end == page) {
        ++page;
        continue;
      }
      std::uint64_t first = page * each, count = std::min(all, end * each) - first;
      Result<std::string> part = make_input_part(*sides_->contract, i, class_, seed_, first, count);
      if (!part) return part.error();
      input.bytes.replace(page * page_bytes, part->size(), *part);
      made += end - page;
      page = end;
    }
  }
  return made;
}

Result<Done> Replay::fill() {
  Result<std::uint64_t> made = fill_touched();
  if (!made) return made.error();
  return Done{};
}

Replayed Replay::run(Side side, const std::vector<std::uint64_t>& blocks,
                     ptx::AsyncSchedule schedule, bool watch_order, std::uint64_t steps_max) {
  for (;;) {
    Replayed out = run_once(side, blocks, schedule, watch_order, steps_max);
    Result<std::uint64_t> made = fill_touched();
    if (made && *made == 0) return out;
    if (made) continue;  // It read what was not there yet.
    out.trap = ptx::Trap{};
    out.trap->kind = TrapKind::unsupported;
    out.trap->what = made.error().what;
    return out;
  }
}

std::shared_ptr<const Replayed> Replay::run_reference(const std::vector<std::uint64_t>& blocks) {
  if (kept_ == nullptr) return std::make_shared<Replayed>(run(Side::reference, blocks));
  Digest name = name_of_input(reference_, static_cast<unsigned>(class_), seed_, blocks);
  if (std::shared_ptr<const Replayed> known = kept_->run(name)) return known;
  auto made = std::make_shared<Replayed>(run(Side::reference, blocks));
  std::uint64_t bytes = 0;
  for (const auto* tensors : {&made->bytes, &made->written})
    for (const std::string& tensor : *tensors) bytes += tensor.size();
  if (!made->trap) kept_->keep(name, made, bytes);
  return made;
}

/// One run on what is there of the inputs; marks the pages that it touched.
Replayed Replay::run_once(Side side, const std::vector<std::uint64_t>& blocks,
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
      memory.push_back(reinterpret_cast<std::byte*>(inputs_[i].bytes.data()));
    } else {
      out.bytes[i] =
          tensor.role == Role::inout ? inputs_[i].bytes : std::string(tensor.span_bytes(), '\xA5');
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
    ptx::BitsEnd end = emulate(run, memory, blocks, both);
    out.trap = end.trap;
    out.steps = end.steps;
    out.races = order.findings();
    out.order_follows_all = order.follows_all();
  } else {
    ptx::BitsEnd end = emulate(run, memory, blocks, footprint);
    out.trap = end.trap;
    out.steps = end.steps;
  }
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t page = 0; page < inputs_[i].pages.size(); ++page)
      inputs_[i].touched[page] |= footprint.buffers[i].pages[page];
  return out;
}

/// What the reference's blocks give in the wide domain on the inputs in use; empty where that
/// cannot say, or where they are many.
std::vector<double> Replay::wide(const std::vector<std::uint64_t>& blocks,
                                 std::size_t tensor) const {
  if (blocks.size() > wide_blocks_max) return {};
  Contract contract = *sides_->contract;
  contract.launch = sides_->reference.launch;
  WideLaunch launch{
      &contract,     &sides_->reference.program, sides_->buffers, {}, sides_->parameters, blocks,
      wide_steps_max};
  for (const Input& input : inputs_) launch.inputs.push_back(std::as_bytes(std::span(input.bytes)));
  return wide_result(launch, tensor);
}

std::optional<Mismatch> Replay::compare(const Replayed& reference, const Replayed& candidate,
                                        const StressPlan& plan) const {
  const Contract& contract = *sides_->contract;
  for (std::size_t t = 0; t < contract.tensors.size(); ++t) {
    const Tensor& tensor = contract.tensors[t];
    if (tensor.role != Role::output && tensor.role != Role::inout) continue;
    std::size_t width = std::max<std::size_t>(1, bits_of(tensor.dtype) / 8);
    const std::string& written = reference.written[t];
    std::vector<std::uint64_t> elements;
    for (std::size_t at = written.find('\1'); at != std::string::npos;
         at = written.find('\1', (at / width + 1) * width))
      if (!plan.both_wrote || candidate.written[t][at] != 0) elements.push_back(at / width);
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
    Specials specials = specials_of(contract, class_);
    Comparison comparison = lathe::compare(row, 0, left, right, {}, {}, specials);
    if (comparison.first && specials == Specials::alike) {
      std::vector<double> all = wide(plan.reference_blocks, t), those;
      for (std::uint64_t element : elements)
        if (element < all.size()) those.push_back(all[element]);
      if (those.size() == elements.size())
        comparison = lathe::compare(row, 0, left, right, those, {}, specials);
    }
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
  std::shared_ptr<const Replayed> reference = replay.run_reference(plan.reference_blocks);
  if (reference->trap)
    return Error{Fault::unsupported,
                 "the reference does not run on inputs of class " +
                     std::string(name_of(input_class)) + ": " + print(*reference->trap),
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
  std::optional<Mismatch> mismatch = replay.compare(*reference, candidate, plan);
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
