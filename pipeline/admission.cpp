// The two doors: a contract's, where its reference must be what it says, and the candidate's.

#include "pipeline/admission.h"

#include <algorithm>

#include "base/json.h"
#include "pipeline/abi.h"
#include "pipeline/forbidden.h"
#include "pipeline/forms.h"

namespace lathe {
namespace {

constexpr std::size_t source_line_max = 200;

const Place& place_in(const ContractPlaces& places, const Disagreement& found) {
  switch (found.field) {
    case AbiField::entry:
      return places.entry;
    case AbiField::target:
      return places.target;
    case AbiField::ptx_isa:
      return places.ptx_isa;
    case AbiField::block:
      return places.block;
    case AbiField::cluster:
      return places.cluster;
    case AbiField::dynamic_shared_bytes:
      return places.dynamic_shared_bytes;
    case AbiField::parameter:
      break;
  }
  if (places.parameters.empty()) return places.launch;
  return places.parameters[std::min(found.parameter, places.parameters.size() - 1)];
}

std::string source_line(const std::string& text, std::uint32_t offset) {
  if (offset > text.size()) return "";
  std::size_t begin = offset == 0 ? std::string::npos : text.rfind('\n', offset - 1);
  begin = begin == std::string::npos ? 0 : begin + 1;
  std::size_t end = std::min(text.find('\n', offset), text.size());
  return text.substr(begin, std::min(end - begin, source_line_max));
}

std::string line_at(const std::string& text, std::uint32_t line) {
  std::size_t at = 0;
  for (std::uint32_t i = 1; i < line && at != std::string::npos; ++i) {
    at = text.find('\n', at);
    if (at != std::string::npos) ++at;
  }
  return at == std::string::npos || line == 0 ? ""
                                              : source_line(text, static_cast<std::uint32_t>(at));
}

/// As JSON and terminals can show it: what is not ASCII becomes a dot.
std::string printable(std::string text) {
  for (char& c : text)
    if ((c < 0x20 && c != '\t') || c == 0x7f) c = '.';
  return text;
}

/// What the screen has against a candidate, in the order of the file.
class Charges {
 public:
  Charges(const ptx::Module& module, std::string code) : module_(module), code_(std::move(code)) {}

  void add(const ptx::Span& span, const std::string& what, const std::string& remedy) {
    add(Error{Fault::malformed, what, remedy, module_.place(span)},
        source_line(*module_.text, span.begin));
  }
  void add(const Error& error) { add(error, line_at(*module_.text, error.place.line)); }

  bool empty() const { return count_ == 0; }

  Evidence evidence() && {
    if (count_ > complaints_.size()) json_["complaints_total"] = count_;
    json_["complaints"] = std::move(complaints_);
    std::string reason = first_.what;
    if (!first_.remedy.empty()) reason += ": " + first_.remedy;
    return {code_, printable(std::move(reason)), first_.place, json_.dump()};
  }

 private:
  void add(const Error& error, const std::string& source) {
    if (++count_ == 1) first_ = error;
    if (complaints_.size() >= complaints_max) return;
    Json complaint;
    complaint["line"] = error.place.line;
    complaint["column"] = error.place.column;
    complaint["what"] = printable(error.what);
    if (!error.remedy.empty()) complaint["help"] = printable(error.remedy);
    if (!source.empty()) complaint["source"] = printable(source);
    complaints_.push_back(std::move(complaint));
  }

  const ptx::Module& module_;
  std::string code_;
  Error first_;
  std::size_t count_ = 0;
  Json json_ = Json::object(), complaints_ = Json::array();
};

/// Where some say "not allowed" and others "not known here", the former decides.
Step<Screened> answer(Charges rejected, Charges unsupported, Screened screened) {
  if (!rejected.empty()) return Rejected{std::move(rejected).evidence()};
  if (!unsupported.empty())
    return Undecided{Reason::unsupported, std::move(unsupported).evidence()};
  return screened;
}

/// Whether a Tensor Core carries it out.
bool is_tensor_operation(const ptx::Instruction& instruction) {
  std::string_view opcode = instruction.opcode;
  if (opcode == "mma" || opcode == "wmma") return true;
  if ((opcode != "wgmma" && opcode != "tcgen05") || instruction.modifiers.empty()) return false;
  return instruction.modifiers[0].starts_with("mma");
}

/// Tensor operations where the contract's source asks for IEEE arithmetic.
Charges unwanted_tensor_operations(const Contract& contract, const ptx::Module& module) {
  Charges charges(module, "precision");
  if (contract.precision.tensor_cores.value_or(true)) return charges;
  for (const ptx::Function& function : module.functions)
    for (const ptx::Instruction& instruction : function.instructions)
      if (is_tensor_operation(instruction))
        charges.add(instruction.opcode_span,
                    "`" + std::string(instruction.opcode) +
                        "` computes on a Tensor Core, and the contract has tensor_cores = false",
                    "use fma");
  return charges;
}

Step<Screened> judge(Screened screened, const ptx::Module& reference) {
  const ptx::Module& module = *screened.module;
  const Contract& contract = *screened.contract;
  Charges abi(module, "abi"), abi_unsupported(module, "abi");
  for (const Disagreement& found : abi_disagreements(contract, module, "the candidate"))
    (found.fault == Fault::unsupported ? abi_unsupported : abi)
        .add(found.span, found.what, found.remedy);
  if (!abi.empty() || !abi_unsupported.empty())
    return answer(std::move(abi), std::move(abi_unsupported), std::move(screened));
  Charges dropped(module, "launch");
  const ptx::Function* before = reference.find_entry(contract.entry);
  const ptx::Function* after = module.find_entry(contract.entry);
  for (std::string_view word : {".reqntid", ".reqnctapercluster", ".explicitcluster"})
    if (before != nullptr && find_directive(*before, word) != nullptr &&
        find_directive(*after, word) == nullptr)
      dropped.add(after->span, "the candidate drops the reference's " + std::string(word),
                  "keep the directive");
  if (!dropped.empty()) return Rejected{std::move(dropped).evidence()};
  Charges forbidden(module, "forbidden");
  for (const Offence& offence : offences(module, reference, contract.launch.pdl))
    forbidden.add(offence.span, offence.what, offence.remedy);
  if (!forbidden.empty()) return Rejected{std::move(forbidden).evidence()};
  Charges tensor = unwanted_tensor_operations(contract, module);
  if (!tensor.empty()) return Rejected{std::move(tensor).evidence()};
  Charges forms(module, "instruction"), unknown(module, "instruction");
  for (const Error& error : unmatched_forms(module, contract.target))
    (error.fault == Fault::unsupported ? unknown : forms).add(error);
  return answer(std::move(forms), std::move(unknown), std::move(screened));
}

}  // namespace

Opened open_contract(const std::filesystem::path& directory) {
  ParsedContract loaded = load_contract(directory);
  if (!loaded.errors.empty()) return {nullptr, std::move(loaded.errors)};
  std::filesystem::path file = directory / "reference.ptx";
  ptx::Parsed reference = ptx::parse(loaded.contract.reference, file.string());
  if (!reference.errors.empty()) return {nullptr, std::move(reference.errors)};
  std::vector<Error> errors;
  for (Disagreement& found :
       abi_disagreements(loaded.contract, reference.module, "the reference")) {
    if (errors.size() == complaints_max) break;
    if (found.span.line != 0)
      found.what += " (" + file.string() + ":" + std::to_string(found.span.line) + ")";
    errors.push_back({found.fault, std::move(found.what),
                      "correct this field, or take the reference that belongs to the contract",
                      place_in(loaded.places, found)});
  }
  if (!errors.empty()) return {nullptr, std::move(errors)};
  return {std::make_shared<const Contract>(std::move(loaded.contract)), {}};
}

Step<Screened> screen(Proposed candidate) {
  ptx::Parsed parsed = ptx::parse(candidate.ptx, "candidate.ptx");
  if (!parsed.errors.empty()) {
    Charges charges(parsed.module, "parse");
    for (const Error& error : parsed.errors) charges.add(error);
    if (parsed.errors.front().fault == Fault::exhausted)
      return Undecided{Reason::exhausted, std::move(charges).evidence()};
    return Rejected{std::move(charges).evidence()};
  }
  ptx::Parsed reference = ptx::parse(candidate.contract->reference, "reference.ptx");
  if (!reference.errors.empty()) return reference.errors.front();
  Screened screened;
  static_cast<Proposed&>(screened) = std::move(candidate);
  screened.candidate = sha256(ptx::normal_form(parsed.module));
  screened.module = std::make_shared<const ptx::Module>(std::move(parsed.module));
  return judge(std::move(screened), reference.module);
}

}  // namespace lathe
