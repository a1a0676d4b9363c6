// uses: gpu_node
// One contract of the suite on the emulated device. `suite_bench run CONTRACT OUT [BLOCKS [CLASS]]`
// leaves inputs, outputs and what was written in OUT, for an oracle to look at, and prints which
// forms of instructions were carried out. `suite_bench fakes CONTRACT` runs its five fakes through
// the test gate, which must reject them all, and prints one line of JSON; `scripts/fakes` collects
// these.

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "base/digest.h"
#include "base/files.h"
#include "base/json.h"
#include "gpu_node/emulator.h"

namespace lathe::gpu_node {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t seed = 20;
constexpr std::uint64_t steps_max = 4'000'000'000;

int fail(const Error& error) {
  std::fprintf(stderr, "%s\n", error.what.c_str());
  return 1;
}

std::optional<InputClass> class_named(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(InputClass::nans); ++i)
    if (name_of(static_cast<InputClass>(i)) == name) return static_cast<InputClass>(i);
  return {};
}

/// "ld.global.v4.b32": an instruction without its operands.
std::string form_of(const ptx::Instruction& instruction) {
  std::string form(instruction.opcode);
  for (std::string_view modifier : instruction.modifiers) form += "." + std::string(modifier);
  return form;
}

struct FormUse {
  bool in_table = false, executed = false;
  std::uint64_t instructions = 0;
};

Json forms_of(const ptx::Module& module, const Contract& contract, const ptx::Program& program,
              const std::vector<std::uint8_t>& executed) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, bool> places;
  for (std::size_t i = 0; i < executed.size(); ++i)
    if (executed[i] != 0) places[{program.operations[i].line, program.operations[i].column}] = true;
  ptx::Target target = *ptx::parse_target(contract.target);
  unsigned version = *ptx::parse_isa_version(module.version);
  std::map<std::string, FormUse> uses;
  for (const ptx::Instruction& instruction : module.find_entry(contract.entry)->instructions) {
    FormUse& use = uses[form_of(instruction)];
    Place place = module.place(instruction.span);
    ++use.instructions;
    use.in_table = bool(ptx::match(instruction, version, target));
    use.executed |= places.contains({place.line, place.column});
  }
  Json json = Json::array();
  for (const auto& [form, use] : uses)
    json.push_back({{"form", form},
                    {"instructions", use.instructions},
                    {"in_table", use.in_table},
                    {"executed", use.executed}});
  return json;
}

Result<Done> dump(const Contract& contract, InputClass input_class, const Launched& launched,
                  const fs::path& out) {
  for (std::size_t i = 0; i < contract.tensors.size(); ++i) {
    const Tensor& tensor = contract.tensors[i];
    if (tensor.role == Role::input || tensor.role == Role::inout) {
      Result<std::string> bytes = make_input(contract, i, input_class, seed);
      if (!bytes) return bytes.error();
      if (auto done = write_file(out / (tensor.name + ".in"), *bytes); !done) return done;
    }
    if (tensor.role == Role::input) continue;
    if (auto done = write_file(out / (tensor.name + ".out"), launched.outputs[i].view()); !done)
      return done;
    if (auto done = write_file(out / (tensor.name + ".written"), launched.written[i].view()); !done)
      return done;
  }
  return Done{};
}

int run(const fs::path& folder, const fs::path& out, std::uint64_t blocks, InputClass input_class) {
  Result<Contract> read = read_contract(folder);
  if (!read) return fail(read.error());
  auto contract = std::make_shared<const Contract>(std::move(*read));
  ptx::Parsed parsed = ptx::parse(contract->reference, "reference.ptx");
  Result<ptx::Program> program = ptx::decode(parsed.module, contract->entry);
  Json json{{"contract", folder.filename().string()},
            {"ptx_sha256", hex(sha256(contract->reference))},
            {"class", name_of(input_class)}};
  if (!program) {
    json["trap"] = program.error().what;
    std::printf("%s\n", json.dump().c_str());
    return 0;
  }
  EmulatedDevice device(contract, input_class, seed);
  LaunchOptions options{
      sample_blocks(contract->launch, blocks, seed), ptx::AsyncSchedule::at_issue, steps_max, {}};
  Result<Launched> launched = device.launch(*program, options);
  if (!launched) return fail(launched.error());
  json["blocks"] = options.blocks;
  if (launched->trap) json["trap"] = print(*launched->trap);
  json["forms"] = forms_of(parsed.module, *contract, *program, launched->executed);
  if (!launched->trap) {
    Result<Done> done = dump(*contract, input_class, *launched, out);
    if (!done) return fail(done.error());
  }
  std::printf("%s\n", json.dump().c_str());
  return 0;
}

/// What the test gate says of one fake: the reason of its rejection, or why there is none.
std::string answer_of(const std::shared_ptr<const Contract>& contract, const Fake& fake,
                      const Limits& limits) {
  Sanitized candidate;
  candidate.contract = contract;
  candidate.ptx = fake.ptx;
  ptx::Parsed parsed = ptx::parse(candidate.ptx, "candidate.ptx");
  if (!parsed.errors.empty()) return "error: " + parsed.errors[0].what;
  candidate.module = std::make_shared<const ptx::Module>(std::move(parsed.module));
  Step<Tested> step = test(std::move(candidate), limits);
  if (step.error() != nullptr) return "error: " + step.error()->what;
  if (step.undecided() != nullptr) return "undecided: " + step.undecided()->evidence.reason;
  return step.passed() != nullptr ? "passed" : step.rejected()->evidence.code;
}

/// Each fake with what the gate said, and whether all were rejected.
Result<Json> fakes_of(const fs::path& folder) {
  Result<Contract> read = read_contract(folder);
  if (!read) return read.error();
  auto contract = std::make_shared<const Contract>(std::move(*read));
  Limits limits;
  limits.seed = seed;
  Result<std::vector<Fake>> made = make_fakes(*contract);
  if (!made) return made.error();
  Json json{{"contract", folder.filename().string()},
            {"ptx_sha256", hex(sha256(contract->reference))}};
  bool passed = false, undecided = false;
  for (const Fake& fake : *made) {
    std::string answer = answer_of(contract, fake, limits);
    passed |= answer == "passed";
    undecided |= answer.find(':') != std::string::npos;
    json["fakes"][fake.name] = std::move(answer);
  }
  json["status"] = passed ? "wrong" : undecided ? "undecided" : "all rejected";
  return json;
}

int fakes(const fs::path& folder) {
  Result<Json> found = fakes_of(folder);
  Json wrong{{"contract", folder.filename().string()}, {"status", "error"}};
  if (!found) wrong["what"] = found.error().what;
  std::printf("%s\n", (found ? *found : wrong).dump().c_str());
  return 0;
}

int main(int count, char** words) {
  if (count >= 4 && std::string_view(words[1]) == "run") {
    auto input_class = class_named(count > 5 ? words[5] : "declared");
    if (!input_class) return 64;
    return run(words[2], words[3], count > 4 ? std::strtoull(words[4], nullptr, 10) : 8,
               *input_class);
  }
  if (count == 3 && std::string_view(words[1]) == "fakes") return fakes(words[2]);
  std::fputs("usage: suite_bench run CONTRACT OUT [BLOCKS [CLASS]] | fakes CONTRACT\n", stderr);
  return 64;
}

}  // namespace
}  // namespace lathe::gpu_node

int main(int count, char** words) { return lathe::gpu_node::main(count, words); }
