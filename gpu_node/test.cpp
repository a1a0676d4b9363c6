// The test gate: candidate against reference on the emulated device, class of input by class.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <list>
#include <map>
#include <mutex>
#include <utility>

#include "base/json.h"
#include "contract/compare.h"
#include "gpu_node/diagnostics.h"
#include "gpu_node/emulator.h"
#include "pipeline/wide_result.h"

namespace lathe::gpu_node {
namespace {

/// What the reference left, and the pages it touched.
struct ReferenceRun {
  std::vector<std::uint64_t> blocks;
  Launched launched;
  std::vector<std::vector<std::uint8_t>> pages;
};

/// References of a process: a search tests many candidates against the same few.
class ReferenceCache {
 public:
  using Run = std::shared_ptr<const ReferenceRun>;
  Run find(const std::string& key) {
    std::scoped_lock lock(mutex_);
    for (auto& [name, run] : runs_)
      if (name == key) return run;
    return nullptr;
  }
  void keep(const std::string& key, Run run) {
    std::scoped_lock lock(mutex_);
    runs_.emplace_back(key, std::move(run));
    if (runs_.size() > entries_max) runs_.pop_front();
  }

 private:
  static constexpr std::size_t entries_max = 24;
  std::mutex mutex_;
  std::list<std::pair<std::string, Run>> runs_;
};

ReferenceCache& references() {
  static ReferenceCache cache;
  return cache;
}

struct Setting {
  std::shared_ptr<const Contract> contract;
  const ptx::Program* reference = nullptr;
  const ptx::Program* candidate = nullptr;
  std::string_view text;  // Of the candidate.
  Limits limits;
  std::string key;
};

/// Either all is well, or the gate's answer.
using Answer = std::optional<Step<Tested>>;

Step<Tested> refuse(const Error& error, const std::string& whose) {
  if (error.fault == Fault::unavailable) return error;
  Evidence evidence{"test", whose + ": " + error.what, error.place, "{}"};
  if (error.fault == Fault::malformed && whose == "the candidate") return Rejected{evidence};
  if (error.fault == Fault::malformed) return error;
  return Undecided{error.fault == Fault::exhausted ? Reason::exhausted : Reason::unsupported,
                   evidence};
}

/// The reference's own trap: never the candidate's fault.
Step<Tested> reference_trap(const ptx::Trap& trap) {
  bool exhausted = trap.kind == ptx::TrapKind::exhausted;
  Json json;
  json["fault"] = ptx::name_of(trap.kind);
  json["line"] = trap.line;
  json["what"] = trap.what;
  return Undecided{exhausted ? Reason::exhausted : Reason::unsupported,
                   {"test", "the reference cannot be run: " + ptx::print(trap), {}, json.dump()}};
}

Result<std::shared_ptr<const ReferenceRun>> run_reference(const Setting& setting,
                                                          InputClass input_class, bool whole) {
  std::string key = setting.key + "/" + std::string(name_of(input_class)) + (whole ? "/all" : "");
  if (auto known = references().find(key)) return known;
  EmulatedDevice device(setting.contract, input_class, setting.limits.seed);
  auto run = std::make_shared<ReferenceRun>();
  if (auto first = references().find(setting.key + "/declared" + (whole ? "/all" : ""))) {
    run->blocks = first->blocks;
    if (Result<Done> done = device.fill(first->pages); !done) return done.error();
  } else if (whole) {
    run->blocks = sample_blocks(setting.contract->launch, ~0ull, 0);
  } else {
    Result<std::vector<std::uint64_t>> blocks =
        device.choose_blocks(*setting.reference, setting.limits);
    if (!blocks) return blocks.error();
    run->blocks = std::move(*blocks);
  }
  LaunchOptions options{run->blocks, ptx::AsyncSchedule::at_issue, setting.limits.steps_max, {}};
  Result<Launched> launched = device.launch(*setting.reference, options);
  if (!launched) return launched.error();
  run->launched = std::move(*launched);
  run->pages = device.pages();
  std::shared_ptr<const ReferenceRun> shared = run;
  references().keep(key, shared);
  return shared;
}

/// Which bytes of the tensors only one of the two wrote.
struct Frame {
  struct Bytes {
    std::uint64_t count = 0;
    std::size_t tensor = 0;
    std::uint64_t offset = 0;  // Of the first.
    void add(std::size_t in, std::uint64_t at) {
      if (count++ == 0) tensor = in, offset = at;
    }
  };
  Bytes extra, missing;
  bool same() const { return extra.count == 0 && missing.count == 0; }
};

Frame frame_of(const Contract& contract, const ReferenceRun& reference, const Launched& candidate,
               const std::vector<std::vector<std::uint8_t>>& pages) {
  constexpr std::uint64_t page_bytes = ptx::FootprintObserver::page_bytes;
  Frame frame;
  for (std::size_t i = 0; i < contract.tensors.size(); ++i) {
    const HostMemory& r = reference.launched.written[i];
    const HostMemory& c = candidate.written[i];
    if (contract.tensors[i].role == Role::scratch || r.size() == 0) continue;
    for (std::uint64_t page = 0; page < pages[i].size(); ++page) {
      if (pages[i][page] == 0 && reference.pages[i][page] == 0) continue;
      std::uint64_t begin = page * page_bytes, end = std::min(r.size(), begin + page_bytes);
      if (std::memcmp(r.bytes() + begin, c.bytes() + begin, end - begin) == 0) continue;
      for (std::uint64_t at = begin; at < end; ++at) {
        if (r.bytes()[at] == c.bytes()[at]) continue;
        (c.bytes()[at] != std::byte{0} ? frame.extra : frame.missing).add(i, at);
      }
    }
  }
  return frame;
}

Evidence frame_evidence(const Setting& setting, InputClass input_class, const Frame& frame) {
  bool missing = frame.missing.count != 0;
  const Frame::Bytes& first = missing ? frame.missing : frame.extra;
  const Tensor& tensor = setting.contract->tensors[first.tensor];
  std::uint64_t element = first.offset * 8 / bits_of(tensor.dtype);
  Json json;
  json["class"] = name_of(input_class);
  json["seed"] = setting.limits.seed;
  json["tensor"] = tensor.name;
  json["element"] = element;
  json["bytes_missing"] = frame.missing.count;
  json["bytes_extra"] = frame.extra.count;
  return {missing ? "unwritten" : "frame",
          missing ? "it leaves element " + std::to_string(element) + " of " + tensor.name +
                        " unwritten, which the reference writes"
                  : "it writes element " + std::to_string(element) + " of " + tensor.name +
                        ", which the reference leaves alone",
          {},
          json.dump()};
}

/// A double as JSON has it: not-a-number and infinities as text.
Json value_of(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

std::string text_of(double value) {
  Json json = value_of(value);
  return json.is_string() ? json.get<std::string>() : json.dump();
}

Evidence value_evidence(const Setting& setting, InputClass input_class, const Comparison& found,
                        std::uint64_t blocks, bool wide) {
  const Mismatch& first = *found.first;
  const Tensor& tensor = setting.contract->tensors[first.tensor];
  Json json;
  json["class"] = name_of(input_class);
  json["seed"] = setting.limits.seed;
  json["tensor"] = tensor.name;
  json["index"] = first.index;
  json["reference"] = value_of(first.reference);
  json["candidate"] = value_of(first.candidate);
  json["allowed_difference"] = value_of(first.allowed);
  json["elements_failing"] = found.failing;
  json["elements_compared"] = found.compared;
  json["blocks"] = blocks;
  json["wide"] = wide ? value_of(first.wide) : Json();
  json["yardstick"] = wide ? "the reference in the wide domain" : "the reference's own result";
  std::string index;
  for (std::uint64_t i : first.index) index += (index.empty() ? "" : ", ") + std::to_string(i);
  return {
      "value",
      tensor.name + "[" + index + "] is " + text_of(first.candidate) + " where the reference has " +
          text_of(first.reference) + (wide ? " and the wide domain " + text_of(first.wide) : "") +
          " (inputs: " + std::string(name_of(input_class)) + "; " + std::to_string(found.failing) +
          " of " + std::to_string(found.compared) + " elements differ)",
      {},
      json.dump()};
}

/// Runs once more to see who wrote the failing element, and says so in the evidence.
void add_writer(const Setting& setting, EmulatedDevice& device, LaunchOptions options,
                std::size_t tensor, std::uint64_t element, Evidence& evidence) {
  options.watch.wanted = true;
  options.watch.buffer = static_cast<std::uint32_t>(tensor);
  options.watch.offset = element * bits_of(setting.contract->tensors[tensor].dtype) / 8;
  Result<Launched> again = device.launch(*setting.candidate, options);
  if (!again || !again->watch.seen) return;
  const ptx::Operation& operation = setting.candidate->operations[again->watch.instruction];
  evidence.place = {"", operation.line, operation.column};
  Json json = Json::parse(evidence.json);
  json["written_by"] = {{"line", operation.line},
                        {"column", operation.column},
                        {"source", std::string(source_line(setting.text, operation.line))},
                        {"block", again->watch.block},
                        {"thread", again->watch.thread}};
  evidence.json = json.dump();
}

std::uint64_t element_of(const Tensor& tensor, const std::vector<std::uint64_t>& index) {
  std::uint64_t element = 0;
  for (std::size_t i = 0; i < index.size() && i < tensor.strides.size(); ++i)
    element += index[i] * tensor.strides[i];
  return element;
}

/// The reference in the wide domain, on blocks that ran on this device; empty where it cannot say.
std::vector<double> wide_reference(const Setting& setting, const EmulatedDevice& device,
                                   std::vector<std::uint64_t> blocks, std::size_t tensor) {
  auto parameters = parameters_of(*setting.contract, *setting.reference, device.buffers());
  if (!parameters) return {};
  WideLaunch wide{setting.contract.get(), setting.reference,       device.buffers(), {}, {},
                  std::move(blocks),      setting.limits.steps_max};
  for (std::size_t i = 0; i < setting.contract->tensors.size(); ++i)
    wide.inputs.push_back({device.input(i).bytes(), device.input(i).size()});
  wide.parameters.assign(reinterpret_cast<const char*>(parameters->data()), parameters->size());
  return wide_result(wide, tensor);
}

/// What a difference comes to beside the wide domain: first on the block that wrote the element,
/// then, where it holds there, on all of them. Nothing where that cannot say.
std::optional<Comparison> compare_wide(const Setting& setting, InputClass input_class,
                                       const ReferenceRun& reference, const Launched& candidate,
                                       const HostMemory& written, EmulatedDevice& device,
                                       std::size_t tensor, const Comparison& found) {
  const Tensor& of = setting.contract->tensors[tensor];
  LaunchOptions options{
      reference.blocks, ptx::AsyncSchedule::at_issue, setting.limits.steps_max, {}};
  options.watch.wanted = true;
  options.watch.buffer = static_cast<std::uint32_t>(tensor);
  options.watch.offset = element_of(of, found.first->index) * bits_of(of.dtype) / 8;
  Result<Launched> again = device.launch(*setting.reference, options);
  std::uint64_t steps = reference.launched.steps, blocks = reference.blocks.size();
  if (!again || again->trap || !again->watch.seen || steps / blocks > wide_steps_max) return {};
  auto against = [&](std::vector<std::uint64_t> some) -> std::optional<Comparison> {
    std::vector<double> wide = wide_reference(setting, device, std::move(some), tensor);
    if (wide.empty()) return std::nullopt;
    return compare(*setting.contract, tensor, reference.launched.outputs[tensor].view(),
                   candidate.outputs[tensor].view(), wide, written.view(),
                   specials_of(*setting.contract, input_class));
  };
  std::optional<Comparison> one = against({again->watch.block});
  bool fails = one && one->first && one->first->index == found.first->index;
  if (!one || fails || steps > wide_steps_max) return fails ? one : std::nullopt;
  return against(reference.blocks);
}

/// Element by element where `written` says, by tensor. A difference from the reference's own result
/// counts where it is one from the wide domain's too.
Answer compare_all(const Setting& setting, InputClass input_class, const ReferenceRun& reference,
                   const Launched& candidate, const std::vector<HostMemory>& written,
                   EmulatedDevice& device, const LaunchOptions& options, Tested& tested) {
  for (std::size_t i = 0; i < setting.contract->tensors.size(); ++i) {
    const Tensor& tensor = setting.contract->tensors[i];
    if (tensor.role != Role::output && tensor.role != Role::inout) continue;
    Specials specials = specials_of(*setting.contract, input_class);
    Comparison found = compare(*setting.contract, i, reference.launched.outputs[i].view(),
                               candidate.outputs[i].view(), {}, written[i].view(), specials);
    tested.elements_compared += found.compared;
    tested.difference_max = std::max(tested.difference_max, found.difference_max);
    if (found.failing == 0 || !found.first) continue;
    auto wide =
        compare_wide(setting, input_class, reference, candidate, written[i], device, i, found);
    if (wide && (wide->failing == 0 || !wide->first)) {
      tested.candidate_error_max = std::max(tested.candidate_error_max, wide->candidate_error_max);
      tested.reference_error_max = std::max(tested.reference_error_max, wide->reference_error_max);
      continue;
    }
    Evidence evidence = value_evidence(setting, input_class, wide.value_or(found),
                                       reference.blocks.size(), wide.has_value());
    add_writer(setting, device, options, i, element_of(tensor, found.first->index), evidence);
    return Step<Tested>(Rejected{std::move(evidence)});
  }
  return {};
}

Answer candidate_trap(const Setting& setting, const ptx::Trap& trap, const EmulatedDevice& device) {
  TrapVerdict verdict = judge_trap(trap, device, *setting.candidate, setting.text, "");
  if (verdict.answer == TrapVerdict::Answer::rejected)
    return Step<Tested>(Rejected{verdict.evidence});
  return Step<Tested>(Undecided{
      verdict.answer == TrapVerdict::Answer::exhausted ? Reason::exhausted : Reason::unsupported,
      verdict.evidence});
}

/// Whether what a block leaves may be a part of a sum that other blocks add to.
bool adds_up(const ptx::Program& program) {
  return std::any_of(program.operations.begin(), program.operations.end(),
                     [](const ptx::Operation& operation) {
                       return operation.effect == ptx::Effect::atomic &&
                              operation.space != ptx::Space::shared;
                     }) ||
         std::any_of(program.async_forms.begin(), program.async_forms.end(),
                     [](const ptx::AsyncForm& form) { return form.reduces; });
}

/// By tensor, the bytes that both wrote.
std::vector<HostMemory> written_by_both(const Launched& reference, const Launched& candidate) {
  std::vector<HostMemory> both;
  for (std::size_t i = 0; i < reference.written.size(); ++i) {
    const HostMemory& r = reference.written[i];
    both.emplace_back(r.size());
    for (std::uint64_t at = 0; at < r.size(); ++at)
      if (r.bytes()[at] != std::byte{0}) both[i].bytes()[at] = candidate.written[i].bytes()[at];
  }
  return both;
}

/// A launch of the candidate, with as many steps as the reference's justify.
LaunchOptions as_allowed(const Setting& setting, const ReferenceRun& known,
                         std::vector<std::uint64_t> blocks) {
  return {std::move(blocks),
          ptx::AsyncSchedule::at_issue,
          steps_allowed(known.launched.steps, known.blocks.size(), setting.limits),
          {}};
}

/// All blocks of the candidate beside those of the reference that are known: what these write, no
/// block of the candidate may leave unwritten or write otherwise. Nothing where that cannot tell.
Answer test_own_grid(const Setting& setting, InputClass input_class, const ReferenceRun& known,
                     Tested& tested) {
  EmulatedDevice device(setting.contract, input_class, setting.limits.seed);
  if (Result<Done> done = device.fill(known.pages); !done)
    return refuse(done.error(), "the inputs");
  std::vector<std::uint64_t> all = sample_blocks(setting.contract->launch, ~0ull, 0);
  LaunchOptions options = as_allowed(setting, known, std::move(all));
  Result<Launched> launched = device.launch(*setting.candidate, options);
  if (!launched) return refuse(launched.error(), "the candidate");
  if (launched->trap) return candidate_trap(setting, *launched->trap, device);
  Frame frame = frame_of(*setting.contract, known, *launched, device.pages());
  if (frame.missing.count != 0)
    return Step<Tested>(Rejected{frame_evidence(setting, input_class, frame)});
  return compare_all(setting, input_class, known, *launched, known.launched.written, device,
                     options, tested);
}

Answer test_class(const Setting& setting, InputClass input_class, bool whole, Tested& tested);

/// Of a candidate whose blocks write elsewhere than the same blocks of the reference. Where both
/// wrote, values are compared. Then its whole grid tells what it never writes; at last, where that
/// can be afforded, both whole grids.
Answer test_elsewhere(const Setting& setting, InputClass input_class, const ReferenceRun& known,
                      const Launched& candidate, EmulatedDevice& device,
                      const LaunchOptions& options, Tested& tested) {
  if (!adds_up(*setting.reference) && !adds_up(*setting.candidate)) {
    Answer answer =
        compare_all(setting, input_class, known, candidate,
                    written_by_both(known.launched, candidate), device, options, tested);
    if (answer) return answer;
  }
  std::uint64_t all = setting.contract->launch.blocks();
  auto whole_of = [&](const Launched& launched) {
    return (launched.steps + known.blocks.size() - 1) / known.blocks.size() * all;
  };
  if (whole_of(candidate) * weight_of(*setting.candidate) <= setting.limits.grid_steps_max)
    if (Answer answer = test_own_grid(setting, input_class, known, tested)) return answer;
  if (whole_of(known.launched) <= setting.limits.grid_steps_max)
    return test_class(setting, input_class, true, tested);
  return Step<Tested>(
      Undecided{Reason::exhausted,
                {"elsewhere",
                 "its blocks write elsewhere than the reference's, and all " + std::to_string(all) +
                     " blocks are too many to run",
                 {},
                 frame_evidence(setting, input_class,
                                frame_of(*setting.contract, known, candidate, device.pages()))
                     .json}});
}

/// One class on some blocks, or on all of them.
Answer test_class(const Setting& setting, InputClass input_class, bool whole, Tested& tested) {
  Result<std::shared_ptr<const ReferenceRun>> reference =
      run_reference(setting, input_class, whole);
  if (!reference) return refuse(reference.error(), "the reference");
  const ReferenceRun& known = **reference;
  if (known.launched.trap) return reference_trap(*known.launched.trap);
  EmulatedDevice device(setting.contract, input_class, setting.limits.seed);
  if (Result<Done> done = device.fill(known.pages); !done)
    return refuse(done.error(), "the inputs");
  LaunchOptions options = as_allowed(setting, known, known.blocks);
  Result<Launched> launched = device.launch(*setting.candidate, options);
  if (!launched) return refuse(launched.error(), "the candidate");
  if (launched->trap) return candidate_trap(setting, *launched->trap, device);
  Frame frame = frame_of(*setting.contract, known, *launched, device.pages());
  if (frame.same())
    return compare_all(setting, input_class, known, *launched, known.launched.written, device,
                       options, tested);
  if (known.blocks.size() == setting.contract->launch.blocks())
    return Step<Tested>(Rejected{frame_evidence(setting, input_class, frame)});
  return test_elsewhere(setting, input_class, known, *launched, device, options, tested);
}

}  // namespace

Step<Tested> test(Sanitized candidate, const Limits& limits) {
  const Contract& contract = *candidate.contract;
  ptx::Parsed parsed = ptx::parse(contract.reference, "reference.ptx");
  if (!parsed.errors.empty()) return parsed.errors[0];
  Result<ptx::Program> reference = ptx::decode(parsed.module, contract.entry);
  if (!reference) return refuse(reference.error(), "the reference");
  Result<ptx::Program> program = ptx::decode(*candidate.module, contract.entry);
  if (!program) return refuse(program.error(), "the candidate");
  Setting setting{candidate.contract,
                  &*reference,
                  &*program,
                  candidate.ptx,
                  limits,
                  hex(contract.identity()) + "/" + std::to_string(limits.seed) + "/" +
                      std::to_string(limits.blocks_max)};
  Tested tested{candidate, {}, 0, 0, {}, {}};
  for (InputClass input_class : input_classes(contract)) {
    Answer answer = test_class(setting, input_class, false, tested);
    if (answer) return std::move(*answer);
    tested.inputs.emplace_back(name_of(input_class));
  }
  return tested;
}

}  // namespace lathe::gpu_node
