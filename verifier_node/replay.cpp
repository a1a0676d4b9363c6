// Runs in the bits domain.

#include "verifier_node/replay.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <span>

#include "pipeline/wide_result.h"
#include "ptx/emulate.h"
#include "verifier_node/binding.h"

namespace lathe::verifier_node {

using ptx::TrapKind;

namespace {

constexpr std::uint64_t page_bytes = ptx::FootprintObserver::page_bytes;
/// A tensor of at most so many bytes is made whole: a run that finds some missing is run again.
constexpr std::uint64_t made_whole_max = std::uint64_t{1} << 17;
/// Inputs of at most so many bytes are kept beside what a reference gave on them.
constexpr std::uint64_t kept_inputs_max = std::uint64_t{1} << 23;

/// Of large ones the system gives a page when it is first touched.
std::shared_ptr<char> zeros(std::size_t bytes) {
  void* memory = std::calloc(bytes, 1);
  if (memory == nullptr) throw std::bad_alloc();
  return {static_cast<char*>(memory), std::free};
}

}  // namespace

/// Of tensors that are read, none of whose pages are made.
void Replay::prepare(Inputs& inputs) const {
  inputs.resize(sides_->contract->tensors.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& tensor = sides_->contract->tensors[i];
    if (tensor.role != Role::input && tensor.role != Role::inout) continue;
    Input& input = inputs[i];
    std::size_t pages = (tensor.span_bytes() + page_bytes - 1) / page_bytes;
    if (!input.bytes) input.bytes = zeros(tensor.span_bytes());
    input.size = tensor.span_bytes();
    input.touched.resize(pages);
    input.whole = !carried_as_numbers(tensor) || input.size <= made_whole_max;
    if (input.whole) input.touched.assign(pages, 1);
    input.pages.assign(pages, 0);
  }
}

/// Whatever is read is made when it is: large tensors are read in few places. What may be an
/// address is made at once.
Result<Done> Replay::use_inputs(InputClass input_class, std::uint64_t seed) {
  if (ready_ && class_ == input_class && seed_ == seed) return Done{};
  if (seed_ != seed) others_.clear(), beforehand_.clear();
  class_ = input_class;
  seed_ = seed;
  if (auto made = others_.extract(input_class); !made.empty()) {
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      made.mapped()[i].touched = std::move(inputs_[i].touched);
    inputs_ = std::move(made.mapped());
  } else {
    prepare(inputs_);
  }
  ready_ = true;
  // The others may be kept.
  Result<std::uint64_t> made = fill_touched(kept_ == nullptr);
  if (!made) return made.error();
  return Done{};
}

/// Makes the pages that a run has touched, of all tensors or of those that are made at once; says
/// how many were missing.
Result<std::uint64_t> Replay::fill(Inputs& inputs, InputClass input_class, bool all_tensors) {
  std::uint64_t made = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Input& input = inputs[i];
    const std::vector<std::uint8_t>& touched = inputs_[i].touched;
    if (!all_tensors && !input.whole) continue;
    std::uint64_t bits = bits_of(sides_->contract->tensors[i].dtype);
    std::uint64_t each = page_bytes * 8 / bits, all = input.size * 8 / bits;
    for (std::size_t page = 0; page < input.pages.size();) {
      std::size_t end = page;
      while (end < input.pages.size() && touched[end] != 0 && input.pages[end] == 0)
        input.pages[end++] = 1;
      if (end == page) {
        ++page;
        continue;
      }
      std::uint64_t first = page * each, count = std::min(all, end * each) - first;
      Result<std::string> part =
          make_input_part(*sides_->contract, i, input_class, seed_, first, count);
      if (!part) return part.error();
      std::memcpy(input.bytes.get() + page * page_bytes, part->data(), part->size());
      made += end - page;
      page = end;
    }
  }
  return made;
}

std::vector<Replayed::Made> Replay::made_inputs() const {
  std::vector<Replayed::Made> out;
  for (const Input& input : inputs_) {
    Replayed::Made& made = out.emplace_back();
    made.pages = input.pages;
    for (std::size_t page = 0; page < input.pages.size(); ++page)
      if (input.pages[page] != 0)
        made.bytes.append(input.bytes.get() + page * page_bytes,
                          std::min<std::size_t>(page_bytes, input.size - page * page_bytes));
  }
  return out;
}

/// The candidate is likely to read the same.
void Replay::take_inputs(Inputs& into, const std::vector<Replayed::Made>& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Input& input = into[i];
    const char* from = inputs[i].bytes.data();
    for (std::size_t page = 0; page < inputs[i].pages.size(); ++page) {
      if (inputs[i].pages[page] == 0) continue;
      std::size_t bytes = std::min<std::size_t>(page_bytes, input.size - page * page_bytes);
      std::memcpy(input.bytes.get() + page * page_bytes, from, bytes);
      input.pages[page] = inputs_[i].touched[page] = 1;
      from += bytes;
    }
  }
}

std::shared_ptr<const Replayed> Replay::run_reference(const std::vector<std::uint64_t>& blocks) {
  if (kept_ == nullptr) return std::make_shared<Replayed>(run(Side::reference, blocks));
  Digest name = name_of_input(reference_, static_cast<unsigned>(class_), seed_, blocks);
  if (std::shared_ptr<const Replayed> known = kept_->run(name)) {
    take_inputs(inputs_, known->inputs);
    return known;
  }
  auto made = std::make_shared<Replayed>(run(Side::reference, blocks));
  std::uint64_t bytes = 0, input_bytes = 0;
  for (const auto* tensors : {&made->bytes, &made->written})
    for (const std::string& tensor : *tensors) bytes += tensor.size();
  for (const Input& input : inputs_)
    for (std::uint8_t page : input.pages) input_bytes += 1 + page * page_bytes;
  if (input_bytes <= kept_inputs_max) {
    made->inputs = made_inputs();
    bytes += input_bytes;
  }
  if (!made->trap) kept_->keep(name, made, bytes);
  return made;
}

std::shared_ptr<const Replayed> Replay::run_candidate(
    const std::vector<std::uint64_t>& blocks, const std::shared_ptr<const Replayed>& reference,
    const std::vector<std::uint64_t>& reference_blocks) {
  if (one_program_ && blocks == reference_blocks) return reference;
  return std::make_shared<Replayed>(run(Side::candidate, blocks));
}

/// Memory as it is before any block.
Replayed Replay::blank(const Inputs& inputs) const {
  Replayed out;
  for (std::size_t i = 0; i < sides_->contract->tensors.size(); ++i) {
    const Tensor& tensor = sides_->contract->tensors[i];
    bool changes = tensor.role == Role::inout, writes = tensor.role != Role::input;
    out.bytes.push_back(changes  ? std::string(inputs[i].bytes.get(), inputs[i].size)
                        : writes ? std::string(tensor.span_bytes(), '\xA5')
                                 : std::string());
    out.written.emplace_back(writes ? tensor.span_bytes() : 0, '\0');
  }
  return out;
}

/// Where buffers lie in a run over the memory of `part`. The machine never stores into one that is
/// not writable.
Replay::Memory Replay::memory_of(const Inputs& inputs, Replayed& part) const {
  Memory memory;
  for (std::size_t i = 0; i < sides_->contract->tensors.size(); ++i)
    memory.push_back(reinterpret_cast<std::byte*>(sides_->contract->tensors[i].role == Role::input
                                                      ? inputs[i].bytes.get()
                                                      : part.bytes[i].data()));
  return memory;
}

ptx::FootprintObserver Replay::footprint_of(Replayed& part) const {
  ptx::FootprintObserver footprint;
  for (std::size_t i = 0; i < sides_->contract->tensors.size(); ++i) {
    const Tensor& tensor = sides_->contract->tensors[i];
    ptx::FootprintObserver::Marks marks;
    marks.address = sides_->buffers[i].address;
    marks.pages.resize(tensor.span_bytes() / ptx::FootprintObserver::page_bytes + 2);
    if (tensor.role != Role::input)
      marks.written = reinterpret_cast<std::uint8_t*>(part.written[i].data());
    footprint.buffers.push_back(std::move(marks));
  }
  return footprint;
}

ptx::Run Replay::run_of(const How& how) const {
  return {sides_->at(how.side).program,
          sides_->shape(how.side),
          sides_->buffers,
          std::as_bytes(std::span(sides_->parameters)),
          1024,
          how.schedule,
          how.steps_max};
}

/// Marks the pages that a run touched.
void Replay::take_pages(const ptx::FootprintObserver& footprint) {
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    for (std::size_t page = 0; page < inputs_[i].pages.size(); ++page)
      inputs_[i].touched[page] |= footprint.buffers[i].pages[page];
}

/// One run on what is there of the inputs, over the memory of `part`.
void Replay::run_once(Blocks blocks, const How& how, Replayed& part) {
  Memory memory = memory_of(inputs_, part);
  ptx::FootprintObserver footprint = footprint_of(part);
  ptx::Run run = run_of(how);
  ptx::BitsEnd end;
  if (how.watch_order) {
    std::vector<bool> writable;
    for (const ptx::Buffer& buffer : sides_->buffers) writable.push_back(buffer.writable);
    ptx::OrderObserver order(std::move(writable), false);
    ptx::Both<ptx::FootprintObserver, ptx::OrderObserver> both(footprint, order);
    end = emulate(run, memory, blocks, both);
    part.races = order.findings();
    part.order_follows_all = order.follows_all();
  } else {
    end = emulate(run, memory, blocks, footprint);
  }
  part.trap = end.trap;
  part.steps = end.steps;
  take_pages(footprint);
}

/// The elements of a tensor that are compared, in a row, with what both sides gave.
struct Replay::Row {
  Contract contract;  // Of the row as its only tensor, with the contract's own rule.
  std::size_t tensor = 0;
  std::vector<std::uint64_t> elements;
  std::string reference, candidate;
};

Replay::Row Replay::row_of(std::size_t tensor, const Replayed& reference, const Replayed& candidate,
                           bool both_wrote) const {
  Row row;
  row.tensor = tensor;
  const Tensor& of = sides_->contract->tensors[tensor];
  std::size_t width = std::max<std::size_t>(1, bits_of(of.dtype) / 8);
  const std::string& written = reference.written[tensor];
  for (std::size_t at = written.find('\1'); at != std::string::npos;
       at = written.find('\1', (at / width + 1) * width))
    if (!both_wrote || candidate.written[tensor][at] != 0) row.elements.push_back(at / width);
  row.contract.tolerance = sides_->contract->tolerance;
  Tensor& one = row.contract.tensors.emplace_back(of);
  one.shape = {row.elements.size()};
  one.strides = {1};
  one.defined.clear();
  for (std::uint64_t element : row.elements) {
    row.reference.append(reference.bytes[tensor], element * width, width);
    row.candidate.append(candidate.bytes[tensor], element * width, width);
  }
  return row;
}

Comparison Replay::compare_row(const Row& row, const std::vector<double>& wide) const {
  return lathe::compare(row.contract, 0, row.reference, row.candidate, wide, {},
                        specials_of(*sides_->contract, class_));
}

/// Block by block, until what differs first does so from the wide domain, or nothing does.
void Replay::compare_wide(const Row& row, const Replayed& reference, const StressPlan& plan,
                          Comparison& comparison) {
  if (reference.steps > wide_steps_max) return;
  // What was kept may have come without the inputs that it was made of.
  if (kept_ != nullptr && reference.inputs.empty()) run(Side::reference, plan.reference_blocks);
  Contract launched = *sides_->contract;
  launched.launch = sides_->reference.launch;
  WideLaunch launch{
      &launched,     &sides_->reference.program, sides_->buffers, {}, sides_->parameters, {},
      wide_steps_max};
  for (const Input& input : inputs_)
    launch.inputs.push_back(std::as_bytes(std::span(input.bytes.get(), input.size)));
  std::vector<double> wide(row.elements.size(), std::numeric_limits<double>::quiet_NaN());
  for (std::uint64_t block : plan.reference_blocks) {
    launch.blocks = {block};
    std::optional<std::vector<ptx::WideValue>> values = wide_values(launch);
    if (!values) return;
    for (const ptx::WideValue& value : *values) {
      auto at = std::lower_bound(row.elements.begin(), row.elements.end(), value.element);
      if (value.tensor == row.tensor && at != row.elements.end() && *at == value.element)
        wide[static_cast<std::size_t>(at - row.elements.begin())] = value.value;
    }
    comparison = compare_row(row, wide);
    if (!comparison.first || std::isfinite(wide[comparison.first->index[0]])) return;
  }
}

std::optional<Mismatch> Replay::compare(const Replayed& reference, const Replayed& candidate,
                                        const StressPlan& plan) {
  const std::vector<Tensor>& tensors = sides_->contract->tensors;
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    if (tensors[t].role != Role::output && tensors[t].role != Role::inout) continue;
    Row row = row_of(t, reference, candidate, plan.both_wrote);
    if (row.elements.empty()) continue;
    Comparison comparison = compare_row(row, {});
    if (comparison.first) compare_wide(row, reference, plan, comparison);
    if (!comparison.first) continue;
    Mismatch mismatch = *comparison.first;
    mismatch.tensor = t;
    mismatch.index = {row.elements[comparison.first->index[0]]};
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
  std::shared_ptr<const Replayed> run =
      replay.run_candidate(plan.candidate_blocks, reference, plan.reference_blocks);
  const Replayed& candidate = *run;
  if (candidate.trap) {
    // The bits domain follows undefined bits by whole registers: alone that refutes nothing.
    bool undefined = candidate.trap->kind == TrapKind::undefined_value;
    if (!refutes(candidate.trap->kind) || undefined)
      return Error{undefined ? Fault::malformed : Fault::unsupported,
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
