// The sanitize gate on the emulated device: what a run does that no correct kernel does, whether or
// not it came out right.

#include <cstring>
#include <utility>

#include "base/json.h"
#include "gpu_node/diagnostics.h"
#include "gpu_node/emulator.h"

namespace lathe::gpu_node {
namespace {

struct Site {
  std::uint32_t line = 0, column = 0;
};

Site site_of(const ptx::Program& program, std::uint32_t instruction) {
  const ptx::Operation& operation = program.operations[instruction];
  return {operation.line, operation.column};
}

Json describe(const ptx::OrderAccess& access, const ptx::Program& program, std::string_view text) {
  Site site = site_of(program, access.instruction);
  Json json;
  json["line"] = site.line;
  json["column"] = site.column;
  json["source"] = std::string(source_line(text, site.line));
  json["block"] = access.block;
  json["thread"] = access.thread;
  json["access"] = access.write ? "write" : "read";
  return json;
}

Json describe(const ptx::OrderFinding& finding, const ptx::Program& program,
              const std::vector<ptx::Buffer>& buffers, std::string_view text) {
  Json json;
  json["fault"] = name_of(finding.kind);
  json["space"] = finding.space == ptx::Space::shared    ? "shared"
                  : finding.space == ptx::Space::tensor  ? "tensor"
                  : finding.space == ptx::Space::generic ? "register"
                                                         : "global";
  if (finding.space != ptx::Space::global) {
    json["offset_bytes"] = finding.address;
  } else if (finding.buffer < buffers.size()) {
    json["tensor"] = buffers[finding.buffer].name;
    json["offset_bytes"] = finding.address - buffers[finding.buffer].address;
  }
  if (finding.kind != ptx::OrderFinding::Kind::uninitialised)
    json["first"] = describe(finding.first, program, text);
  json["second"] = describe(finding.second, program, text);
  json["count"] = finding.count;
  return json;
}

/// "wgmma.mma_async" of all its modifiers: what tells asynchronous work by its name.
std::string opcode_of(const ptx::Program& program, std::uint32_t instruction) {
  const ptx::Operation& operation = program.operations[instruction];
  if (operation.instruction >= program.texts.size()) return "asynchronous work";
  std::string_view text = program.texts[operation.instruction];
  if (text.starts_with('@')) text.remove_prefix(std::min(text.find(' ') + 1, text.size()));
  text = text.substr(0, text.find_first_of(" \t;"));
  bool bulk = text.starts_with("cp.async.bulk");
  std::size_t end = text.find('.', text.find('.') + 1);
  if (bulk && end != std::string_view::npos) end = text.find('.', end + 1);
  return std::string(text.substr(0, end));
}

std::string sentence(const ptx::OrderFinding& finding, const ptx::Program& program) {
  std::string first = std::to_string(site_of(program, finding.first.instruction).line);
  std::string second = std::to_string(site_of(program, finding.second.instruction).line);
  std::string unit = "the " + opcode_of(program, finding.first.instruction) + " of line " + first;
  if (finding.kind == ptx::OrderFinding::Kind::early_read)
    return "line " + second + " reads what " + unit +
           " has not brought yet: no wait stands between";
  if (finding.kind == ptx::OrderFinding::Kind::early_write)
    return "line " + second + " writes where " + unit + " may still be " +
           (finding.first.write ? "writing" : "reading") + ": no wait stands between";
  if (finding.kind == ptx::OrderFinding::Kind::barrier)
    return "the arrivals of lines " + first + " and " + second + " at barrier " +
           std::to_string(finding.address) +
           " may come in either order, so that it may complete without one of them";
  if (std::string_view why = explain(finding.kind); !why.empty())
    return "line " + second + " after line " + first + ": " + std::string(why);
  std::string place = finding.space == ptx::Space::shared   ? "shared"
                      : finding.space == ptx::Space::tensor ? "tensor"
                                                            : "global";
  bool across = finding.first.block != finding.second.block;
  // Which of the two comes first is what nothing decides.
  return std::string("race on ") + place + " memory: the " +
         (finding.first.write ? "write" : "read") + " of line " + first + " (thread " +
         std::to_string(finding.first.thread) + ") and the " +
         (finding.second.write ? "write" : "read") + " of line " + second +
         (across ? " in another block" : "") + " (thread " + std::to_string(finding.second.thread) +
         ") have no order between them";
}

Evidence evidence_of(const std::vector<ptx::OrderFinding>& findings, const ptx::Program& program,
                     const std::vector<ptx::Buffer>& buffers, std::string_view text) {
  const ptx::OrderFinding& first = findings.front();
  Site site = site_of(program, first.second.instruction);
  Json json;
  json["findings"] = Json::array();
  for (const ptx::OrderFinding& finding : findings)
    json["findings"].push_back(describe(finding, program, buffers, text));
  return {"race", sentence(first, program), {"", site.line, site.column}, json.dump()};
}

/// A trap's verdict, with the uninitialised reads that may have led to an undefined value.
TrapVerdict judge(const ptx::Trap& trap, const ptx::OrderObserver& order,
                  const ptx::Program& program, const EmulatedDevice& device,
                  std::string_view text) {
  bool undefined = trap.kind == ptx::TrapKind::undefined_value;
  TrapVerdict verdict = judge_trap(trap, device, program, text, undefined ? "uninitialised" : "");
  if (!undefined || order.uninitialised().empty()) return verdict;
  Json json = Json::parse(verdict.evidence.json);
  json["uninitialised_reads"] = Json::array();
  for (const ptx::OrderFinding& finding : order.uninitialised())
    json["uninitialised_reads"].push_back(describe(finding, program, device.buffers(), text));
  verdict.evidence.json = json.dump();
  return verdict;
}

template <class Next>
Step<Next> step_of(TrapVerdict verdict) {
  if (verdict.answer == TrapVerdict::Answer::rejected) return Rejected{std::move(verdict.evidence)};
  return Undecided{
      verdict.answer == TrapVerdict::Answer::exhausted ? Reason::exhausted : Reason::unsupported,
      std::move(verdict.evidence)};
}

bool has_copies(const ptx::Program& program) {
  for (const ptx::Operation& operation : program.operations)
    if (operation.cost == ptx::CostClass::async_copy) return true;
  return false;
}

/// Where two launches left different bytes: the tensor, or nothing.
std::optional<std::string> difference(const Launched& a, const Launched& b,
                                      const std::vector<ptx::Buffer>& buffers) {
  for (std::size_t i = 0; i < a.outputs.size(); ++i)
    if (a.outputs[i].size() != 0 &&
        std::memcmp(a.outputs[i].bytes(), b.outputs[i].bytes(), a.outputs[i].size()) != 0)
      return buffers[i].name;
  return {};
}

/// One watched launch: its end, or why it is at fault.
Result<std::optional<Step<Sanitized>>> watch(EmulatedDevice& device, const ptx::Program& program,
                                             const LaunchOptions& options, std::string_view text,
                                             Launched& launched) {
  std::vector<bool> writable;
  for (const ptx::Buffer& buffer : device.buffers()) writable.push_back(buffer.writable);
  ptx::OrderObserver order(writable);
  Result<Launched> end = device.launch(program, options, &order);
  if (!end) return end.error();
  launched = std::move(*end);
  if (!order.findings().empty()) {
    Evidence evidence = evidence_of(order.findings(), program, device.buffers(), text);
    if (order.follows_all()) return {Step<Sanitized>(Rejected{std::move(evidence)})};
    evidence.reason += "; the kernel orders by fences or strong accesses, which are not followed";
    return {Step<Sanitized>(Undecided{Reason::unsupported, std::move(evidence)})};
  }
  if (launched.trap)
    return {step_of<Sanitized>(judge(*launched.trap, order, program, device, text))};
  return std::optional<Step<Sanitized>>{};
}

/// Blocks and limit by the reference's own steps; by the candidate's, where the reference does not
/// run.
Result<LaunchOptions> choose_launch(EmulatedDevice& device, const Contract& contract,
                                    const ptx::Program& program, const Limits& limits) {
  LaunchOptions options{{}, ptx::AsyncSchedule::at_issue, limits.steps_max, {}};
  ptx::Parsed parsed = ptx::parse(contract.reference, "reference.ptx");
  if (parsed.errors.empty())
    if (Result<ptx::Program> reference = ptx::decode(parsed.module, contract.entry))
      if (Result<std::vector<std::uint64_t>> blocks = device.choose_blocks(*reference, limits)) {
        options.blocks = *std::move(blocks);
        Result<Launched> known = device.launch(*reference, options);
        if (known && !known->trap) {
          options.steps_max = steps_allowed(known->steps, options.blocks.size(), limits);
          return options;
        }
      }
  Result<std::vector<std::uint64_t>> blocks = device.choose_blocks(program, limits);
  if (!blocks) return blocks.error();
  options.blocks = *std::move(blocks);
  return options;
}

/// Turns a Result's error into what a gate says.
Step<Sanitized> refuse(const Error& error) {
  if (error.fault == Fault::unavailable) return error;
  Evidence evidence{"sanitize", error.what, error.place, "{}"};
  if (error.fault == Fault::malformed) return Rejected{std::move(evidence)};
  return Undecided{error.fault == Fault::exhausted ? Reason::exhausted : Reason::unsupported,
                   std::move(evidence)};
}

}  // namespace

Step<Sanitized> sanitize(Assembled candidate, const Limits& limits) {
  Result<ptx::Program> program = ptx::decode(*candidate.module, candidate.contract->entry);
  if (!program) return refuse(program.error());
  EmulatedDevice device(candidate.contract, InputClass::declared, limits.seed);
  Result<LaunchOptions> chosen = choose_launch(device, *candidate.contract, *program, limits);
  if (!chosen) return refuse(chosen.error());
  LaunchOptions options = *std::move(chosen);
  Launched early, late;
  Result<std::optional<Step<Sanitized>>> fault =
      watch(device, *program, options, candidate.ptx, early);
  if (!fault) return refuse(fault.error());
  if (*fault) return std::move(**fault);
  std::vector<std::string> checks{"bounds", "alignment",     "inputs unchanged",
                                  "races",  "uninitialised", "deadlock"};
  if (has_copies(*program)) {
    options.schedule = ptx::AsyncSchedule::at_wait;
    fault = watch(device, *program, options, candidate.ptx, late);
    if (!fault) return refuse(fault.error());
    if (*fault) return std::move(**fault);
    if (std::optional<std::string> tensor = difference(early, late, device.buffers())) {
      Json json;
      json["fault"] = "race";
      json["tensor"] = *tensor;
      return Rejected{
          {"race",
           "what it writes to " + *tensor + " depends on when its asynchronous copies arrive",
           {},
           json.dump()}};
    }
    checks.emplace_back("late copies");
  }
  Sanitized sanitized{std::move(candidate), std::move(checks), options.blocks.size()};
  return sanitized;
}

}  // namespace lathe::gpu_node
