// The assemble gate: ptxas in a killable child for the contract's exact target.

#include <csignal>
#include <optional>
#include <utility>

#include "base/files.h"
#include "base/json.h"
#include "base/process.h"
#include "gpu_node/assembler.h"
#include "gpu_node/diagnostics.h"
#include "gpu_node/targets.h"
#include "ptx/isa.h"
#include "ptx/program.h"

namespace lathe::gpu_node {
namespace {

constexpr std::size_t complaints_max = 20;
constexpr std::size_t forms_max = 8;
constexpr const char* file_name = "candidate.ptx";

const ptx::Instruction* instruction_at(const ptx::Module& module, std::uint32_t line) {
  const ptx::Instruction* found = nullptr;
  for (const ptx::Function& function : module.functions)
    for (const ptx::Instruction& instruction : function.instructions)
      if (instruction.span.line <= line && (found == nullptr || found->span.line < line) &&
          instruction.span.line + 8 > line)
        found = &instruction;
  return found;
}

std::string_view name_of(Diagnostic::Severity severity) {
  if (severity == Diagnostic::Severity::warning) return "warning";
  return severity == Diagnostic::Severity::error ? "error" : "fatal";
}

/// What the instruction table says of the line, where it too refuses it.
void add_what_is_accepted(Json& entry, const ptx::Module& module, const ptx::Instruction& at,
                          const std::string& target_name) {
  Result<unsigned> version = ptx::parse_isa_version(module.version);
  Result<ptx::Target> target = ptx::parse_target(target_name);
  if (!version || !target) return;
  Result<ptx::FormMatch> match = ptx::match(at, *version, *target);
  if (match) return;
  entry["table"] = match.error().what;
  if (!match.error().remedy.empty()) entry["accepted"] = match.error().remedy;
  std::vector<std::string> forms = ptx::forms_of(at.opcode);
  if (forms.size() > forms_max) forms.resize(forms_max);
  if (!forms.empty()) entry["forms"] = forms;
}

Json describe(const Diagnostic& diagnostic, const Screened& candidate, std::uint32_t& column) {
  Json entry;
  if (diagnostic.line != 0) entry["line"] = diagnostic.line;
  const ptx::Instruction* at = diagnostic.line != 0 && candidate.module
                                   ? instruction_at(*candidate.module, diagnostic.line)
                                   : nullptr;
  if (at != nullptr && at->span.line == diagnostic.line) {
    column = at->span.column;
    entry["column"] = column;
  }
  entry["severity"] = name_of(diagnostic.severity);
  entry["text"] = diagnostic.text;
  if (diagnostic.line != 0)
    entry["source"] = std::string(source_line(candidate.ptx, diagnostic.line));
  if (at != nullptr && at->span.line == diagnostic.line)
    add_what_is_accepted(entry, *candidate.module, *at, candidate.contract->target);
  return entry;
}

/// What decoding says of the line, in whose words a name that is not declared is named.
std::string decoded_complaint(const Screened& candidate, std::uint32_t line) {
  if (line == 0 || !candidate.module) return {};
  Result<ptx::Program> program = ptx::decode(*candidate.module, candidate.contract->entry);
  if (program || program.error().place.line != line) return {};
  return program.error().what;
}

Evidence complaint(const std::vector<Diagnostic>& diagnostics, const Screened& candidate,
                   const Assembler& assembler) {
  Evidence evidence;
  evidence.code = "assemble";
  Json json;
  json["assembler"] = "ptxas " + assembler.version;
  json["target"] = candidate.contract->target;
  json["complaints"] = Json::array();
  std::size_t count = 0;
  for (const Diagnostic& diagnostic : diagnostics) {
    if (diagnostic.severity == Diagnostic::Severity::warning) continue;
    if (diagnostic.text == "Ptx assembly aborted due to errors") continue;
    if (count++ >= complaints_max) continue;
    std::uint32_t column = 0;
    json["complaints"].push_back(describe(diagnostic, candidate, column));
    if (!evidence.reason.empty()) continue;
    evidence.reason = "the assembler refuses it: " + diagnostic.text;
    if (std::string more = decoded_complaint(candidate, diagnostic.line); !more.empty())
      evidence.reason += "; " + more;
    evidence.place = {"", diagnostic.line, column};
  }
  json["complaints_total"] = count;
  if (evidence.reason.empty()) evidence.reason = "the assembler refuses it and does not say why";
  evidence.json = json.dump();
  return evidence;
}

Undecided unfinished(Reason reason, const std::string& what, const Assembler& assembler) {
  Json json;
  json["assembler"] = "ptxas " + assembler.version;
  return {reason, {"assemble", what, {}, json.dump()}};
}

/// ptxas's own troubles, which say nothing about the candidate.
bool is_host_trouble(const Diagnostic& diagnostic) {
  for (std::string_view sign : {"Could not open", "could not open", "No space left",
                                "Memory allocation failure", "cannot write"})
    if (diagnostic.text.find(sign) != std::string::npos) return true;
  return false;
}

/// What a launch would refuse, found before there is one.
std::optional<Evidence> refuse_launch(const Assembled& assembled) {
  const Contract& contract = *assembled.contract;
  std::optional<TargetLimits> limits = limits_of(contract.target);
  if (!limits) return {};
  std::uint64_t shared = contract.launch.dynamic_shared_bytes;
  if (assembled.resources.static_shared_bytes > 0)
    shared += static_cast<std::uint64_t>(assembled.resources.static_shared_bytes);
  Occupancy fit =
      occupancy(*limits, contract.launch.threads(), assembled.resources.registers, shared);
  if (fit.blocks > 0) return {};
  Json json;
  json["limited_by"] = fit.limited_by;
  json["registers"] = assembled.resources.registers;
  json["threads"] = contract.launch.threads();
  json["registers_max"] = limits->registers;
  json["shared_bytes"] = shared;
  json["shared_bytes_max"] = limits->shared_block_bytes;
  return Evidence{"launch",
                  "no block of it fits a multiprocessor of " + contract.target + ": too many " +
                      (fit.limited_by == "shared" ? "bytes of shared memory" : "registers"),
                  {},
                  json.dump()};
}

Step<Assembled> judge(Screened candidate, const Assembler& assembler, const Limits& limits,
                      const ProcessEnd& end, Result<std::string> cubin) {
  PtxasReport report = read_report(end.err, candidate.contract->entry);
  if (end.timed_out)
    return unfinished(
        Reason::exhausted,
        "the assembler did not end within " + std::to_string(limits.assemble_seconds) + " s",
        assembler);
  // 255 is ptxas's answer to every error; a shell or ptxas itself reports a signal as 128 and more.
  int signal =
      end.signal != 0 || end.status < 128 || end.status == 255 ? end.signal : end.status - 128;
  if (signal == SIGXCPU || signal == SIGKILL)
    return unfinished(Reason::exhausted, "the assembler reached a limit of its process", assembler);
  if (signal != 0)
    return unfinished(Reason::unsupported,
                      "the assembler crashed on it (signal " + std::to_string(signal) + ")",
                      assembler);
  if (end.status != 0) {
    for (const Diagnostic& diagnostic : report.diagnostics)
      if (is_host_trouble(diagnostic))
        return Error{Fault::unavailable, "ptxas cannot work here: " + diagnostic.text, "", {}};
    return Rejected{complaint(report.diagnostics, candidate, assembler)};
  }
  if (!cubin || cubin->size() < 64 ||
      cubin->substr(0, 4) !=
          "\x7f"
          "ELF")
    return Error{Fault::unavailable, "ptxas ended well but left no cubin", "", {}};
  if (report.resources.registers < 0)
    return unfinished(Reason::unsupported, "the assembler's report names no resources of the entry",
                      assembler);
  Assembled assembled{std::move(candidate), std::move(*cubin), report.resources,
                      "ptxas " + assembler.version};
  if (std::optional<Evidence> refusal = refuse_launch(assembled)) return Rejected{*refusal};
  return assembled;
}

}  // namespace

std::string print(const Limits& limits) {
  return "assemble_seconds=" + std::to_string(limits.assemble_seconds) +
         " steps_max=" + std::to_string(limits.steps_max) +
         " steps_factor=" + std::to_string(limits.steps_factor) +
         " blocks_max=" + std::to_string(limits.blocks_max) +
         " grid_steps_max=" + std::to_string(limits.grid_steps_max) +
         " seed=" + std::to_string(limits.seed);
}

Step<Assembled> assemble(Screened candidate, const Assembler& assembler, const Limits& limits) {
  if (candidate.module && compare_versions(candidate.module->version, assembler.ptx_isa_max) > 0) {
    Result<Assembler> needed =
        choose_assembler({assembler}, std::string(candidate.module->version));
    return needed.error();
  }
  Scratch scratch;
  Result<Done> written = write_file(scratch.path() / file_name, candidate.ptx);
  if (!written) return written.error();
  ProcessLimits bounds;
  bounds.wall = std::chrono::seconds(limits.assemble_seconds);
  bounds.cpu_seconds = limits.assemble_seconds + 5;
  bounds.memory_bytes = 16ull << 30;
  bounds.output_bytes = 4ull << 20;
  Result<ProcessEnd> end =
      run_process({assembler.program.string(), "-arch=" + candidate.contract->target, "-v", "-o",
                   "candidate.cubin", file_name},
                  "", bounds, scratch.path());
  if (!end) return end.error();
  Result<std::string> cubin = read_file(scratch.path() / "candidate.cubin");
  return judge(std::move(candidate), assembler, limits, *end, std::move(cubin));
}

}  // namespace lathe::gpu_node
