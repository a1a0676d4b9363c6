// Five kernels that no test may let pass, made from a contract's own reference: each keeps the
// reference's addresses and control and spoils what it stores, so that it fails by its values.

#include <algorithm>
#include <optional>
#include <utility>

#include "gpu_node/gpu_node.h"
#include "ptx/patch.h"

namespace lathe::gpu_node {
namespace {

using ptx::Function;
using ptx::Instruction;
using ptx::Operand;

/// A store into global memory, and what is needed to write another in its place.
struct Store {
  const Instruction* instruction = nullptr;
  std::vector<std::string> values;  // Registers.
  std::string base;                 // Of the address.
  std::int64_t offset = 0;
  std::uint64_t bytes = 0;  // Of a lane.
};

struct Output {
  std::string parameter;
  std::uint64_t bytes = 0, rows = 1;
};

struct Reference {
  ptx::Module module;
  const Function* entry = nullptr;
  std::vector<Store> stores;
  std::vector<Output> outputs;
  std::string input;  // The parameter that a copy reads.
  std::uint64_t input_bytes = 0;
};

Error unsupported(const ptx::Module& module, const Instruction& instruction, std::string what) {
  return {Fault::unsupported, "no fake can be made: " + std::move(what), "",
          module.place(instruction.span)};
}

std::uint64_t bytes_of_type(std::string_view type) {
  if (type.size() < 2) return 0;
  std::uint64_t bits = 0;
  for (char digit : type.substr(1)) {
    if (digit < '0' || digit > '9') return 0;
    bits = bits * 10 + static_cast<std::uint64_t>(digit - '0');
  }
  return bits / 8;
}

bool has(const Instruction& instruction, std::string_view modifier) {
  return std::find(instruction.modifiers.begin(), instruction.modifiers.end(), modifier) !=
         instruction.modifiers.end();
}

bool writes_elsewhere(const Instruction& instruction) {
  bool bulk = instruction.opcode == "cp" && has(instruction, "bulk") &&
              !instruction.modifiers.empty() && has(instruction, "bulk_group");
  bool reduces = (instruction.opcode == "red" || instruction.opcode == "atom") &&
                 !has(instruction, "shared") && !has(instruction, "shared::cta");
  return bulk || reduces;
}

Result<Store> read_store(const ptx::Module& module, const Instruction& instruction) {
  if (instruction.operands.size() < 2 || instruction.operands[0].kind != Operand::Kind::address ||
      instruction.operands[0].parts.empty())
    return unsupported(module, instruction, "the store's address is not one register");
  Store store{&instruction,
              {},
              std::string(instruction.operands[0].parts[0].text),
              instruction.operands[0].offset,
              0};
  const Operand& value = instruction.operands[1];
  if (value.kind == Operand::Kind::vector)
    for (const Operand& part : value.parts) store.values.emplace_back(part.text);
  else
    store.values.emplace_back(value.text);
  for (const std::string& name : store.values)
    if (name.empty() || name[0] != '%')
      return unsupported(module, instruction, "it stores " + name + ", which is no register");
  store.bytes = bytes_of_type(instruction.modifiers.back()) * store.values.size();
  if (store.bytes == 0) return unsupported(module, instruction, "the store's type is not known");
  return store;
}

Result<Reference> read_reference(const Contract& contract) {
  ptx::Parsed parsed = ptx::parse(contract.reference, "reference.ptx");
  if (!parsed.errors.empty()) return parsed.errors[0];
  Reference reference{std::move(parsed.module), nullptr, {}, {}, {}, 0};
  reference.entry = reference.module.find_entry(contract.entry);
  if (reference.entry == nullptr ||
      reference.entry->parameters.size() != contract.parameters.size())
    return Error{Fault::malformed,
                 "the reference has no entry " + contract.entry + " with the contract's parameters",
                 "",
                 {}};
  for (const Instruction& instruction : reference.entry->instructions) {
    if (writes_elsewhere(instruction))
      return unsupported(reference.module, instruction,
                         "it writes global memory by " + std::string(instruction.opcode));
    if (instruction.opcode != "st" || !has(instruction, "global")) continue;
    Result<Store> store = read_store(reference.module, instruction);
    if (!store) return store.error();
    reference.stores.push_back(std::move(*store));
  }
  if (reference.stores.empty())
    return Error{Fault::unsupported, "no fake can be made: the reference has no st.global", "", {}};
  for (std::size_t i = 0; i < contract.parameters.size(); ++i) {
    if (!contract.parameters[i].tensor) continue;
    const Tensor& tensor = contract.tensors[*contract.parameters[i].tensor];
    std::string name(reference.entry->parameters[i].name);
    if (tensor.role == Role::output || tensor.role == Role::inout)
      reference.outputs.push_back(
          {name, tensor.span_bytes(), tensor.shape.size() > 1 ? tensor.shape[0] : 1});
    if (tensor.role == Role::input && tensor.span_bytes() > reference.input_bytes) {
      reference.input = name;
      reference.input_bytes = tensor.span_bytes();
    }
  }
  return reference;
}

std::string_view type_of_register(const Function& function, std::string_view name) {
  for (const ptx::Registers& declared : function.registers) {
    if (declared.count == 0 && declared.name == name) return declared.type;
    if (declared.count > 0 && name.starts_with(declared.name) &&
        name.find_first_not_of("0123456789", declared.name.size()) == std::string_view::npos)
      return declared.type;
  }
  return "b32";
}

/// Gives each stored register a pattern that is a small float in every format, in the lanes of
/// `predicate`, or in all.
std::string spoil(const Reference& reference, const Store& store, const std::string& predicate) {
  std::string text;
  for (const std::string& name : store.values) {
    std::string_view type = type_of_register(*reference.entry, name);
    std::uint64_t bytes = bytes_of_type(type);
    const char* value = bytes == 8 ? "0x3c343c343c343c34" : bytes == 4 ? "0x3c343c34" : "0x3c34";
    text += predicate + "mov.b" + std::to_string(bytes * 8) + " " + name + ", " + value + "; ";
  }
  return text;
}

std::string text_of(const Reference& reference, ptx::Span span) {
  return reference.module.text->substr(span.begin, span.end - span.begin);
}

/// Replaces each store by `rewrite(store)`.
template <class Rewrite>
Result<Fake> fake(const Reference& reference, std::string name, Rewrite&& rewrite) {
  std::vector<ptx::Edit> edits;
  for (const Store& store : reference.stores)
    edits.push_back({store.instruction->span.begin, store.instruction->span.end, rewrite(store)});
  Result<std::string> text = ptx::apply(reference.module, std::move(edits));
  if (!text) return text.error();
  return Fake{std::move(name), std::move(*text)};
}

Result<Fake> make_null(const Reference& reference) {
  ptx::Span body = reference.entry->body;
  Result<std::string> text = ptx::apply(reference.module, {{body.begin, body.end, "{\n\tret;\n}"}});
  if (!text) return text.error();
  return Fake{"null", std::move(*text)};
}

Result<Fake> make_constant(const Reference& reference) {
  return fake(reference, "constant", [&](const Store& store) {
    return spoil(reference, store, "") + text_of(reference, store.instruction->span);
  });
}

std::string guard_of(const Store& store) {
  const auto& guard = store.instruction->guard;
  if (!guard) return "";
  return std::string("@") + (guard->negated ? "!" : "") + std::string(guard->predicate) + " ";
}

std::string modifiers_of(const Store& store) {
  std::string text;
  for (const std::string_view& modifier : store.instruction->modifiers) {
    bool width = modifier == "v2" || modifier == "v4" || modifier == "v8";
    if (width || &modifier == &store.instruction->modifiers.back())
      text += "." + std::string(modifier);
  }
  return text;
}

std::string values_of(const Store& store) {
  std::string text = "{";
  for (const std::string& name : store.values) text += (text.size() > 1 ? ", " : "") + name;
  return text + "}";
}

std::string decimal(std::uint64_t value) { return std::to_string(value); }

/// Stores what the input holds at the output's own offset, round and round.
Result<Fake> make_copy(const Reference& reference) {
  return fake(reference, "copy", [&](const Store& store) {
    std::uint64_t whole = reference.input_bytes / store.bytes * store.bytes;
    if (whole == 0)
      return spoil(reference, store, "") + text_of(reference, store.instruction->span);
    std::string text = "{ .reg .b64 %fake_a, %fake_b; ";
    text += "ld.param.b64 %fake_a, [" + reference.outputs[0].parameter + "]; ";
    text += "add.s64 %fake_b, " + store.base + ", " + std::to_string(store.offset) + "; ";
    text += "sub.s64 %fake_b, %fake_b, %fake_a; ";
    text += "rem.u64 %fake_b, %fake_b, " + decimal(whole) + "; ";
    text += "ld.param.b64 %fake_a, [" + reference.input + "]; ";
    text += "add.s64 %fake_b, %fake_b, %fake_a; ";
    text += guard_of(store) + "ld.global" + modifiers_of(store) + " " +
            (store.values.size() > 1 ? values_of(store) : store.values[0]) + ", [%fake_b]; }\n\t";
    return text + text_of(reference, store.instruction->span);
  });
}

/// Right where the first block (of a grid of one: the first warp) writes, spoilt elsewhere.
Result<Fake> make_first_block(const Reference& reference, bool one_block) {
  return fake(reference, "first-block-only", [&](const Store& store) {
    std::string text = "{ .reg .pred %fake_p; .reg .b32 %fake_a, %fake_b; ";
    if (one_block) {
      text += "mov.u32 %fake_a, %tid.x; shr.u32 %fake_a, %fake_a, 5; ";
    } else {
      text += "mov.u32 %fake_a, %ctaid.x; mov.u32 %fake_b, %ctaid.y; ";
      text += "or.b32 %fake_a, %fake_a, %fake_b; mov.u32 %fake_b, %ctaid.z; ";
      text += "or.b32 %fake_a, %fake_a, %fake_b; ";
    }
    text += "setp.ne.u32 %fake_p, %fake_a, 0; ";
    return text + spoil(reference, store, "@%fake_p ") + "}\n\t" +
           text_of(reference, store.instruction->span);
  });
}

/// %fake_n becomes where the store of %fake_o (an offset into `output`) goes instead.
std::string move_within(const Output& output, std::uint64_t bytes) {
  std::uint64_t pieces = output.bytes / bytes;
  std::string text = "div.u64 %fake_i, %fake_o, " + decimal(bytes) + "; ";
  if (output.rows > 1 && pieces % output.rows == 0 && pieces != output.rows) {
    std::string columns = decimal(pieces / output.rows);
    text += "div.u64 %fake_r, %fake_i, " + columns + "; rem.u64 %fake_c, %fake_i, " + columns +
            "; mad.lo.s64 %fake_i, %fake_c, " + decimal(output.rows) + ", %fake_r; ";
  } else {
    text += "mov.b64 %fake_r, " + decimal(pieces > 0 ? pieces - 1 : 0) +
            "; sub.s64 %fake_i, %fake_r, %fake_i; ";
  }
  return text + "mad.lo.s64 %fake_n, %fake_i, " + decimal(bytes) + ", %fake_a; ";
}

Result<Fake> make_transposed(const Reference& reference) {
  return fake(reference, "transposed", [&](const Store& store) {
    std::string text =
        "{ .reg .pred %fake_p; .reg .b64 %fake_a, %fake_o, %fake_i, %fake_r, %fake_c, %fake_n, "
        "%fake_t; ";
    text += "add.s64 %fake_t, " + store.base + ", " + std::to_string(store.offset) + "; ";
    for (const Output& output : reference.outputs) {
      if (output.bytes < store.bytes) continue;
      text += "ld.param.b64 %fake_a, [" + output.parameter + "]; ";
      text += "sub.s64 %fake_o, %fake_t, %fake_a; ";
      text += "setp.lt.u64 %fake_p, %fake_o, " + decimal(output.bytes) + "; ";
      text += move_within(output, store.bytes);
      text += "selp.b64 %fake_t, %fake_n, %fake_t, %fake_p; ";
    }
    return text + guard_of(store) + "st.global" + modifiers_of(store) + " [%fake_t], " +
           (store.values.size() > 1 ? values_of(store) : store.values[0]) + "; }";
  });
}

}  // namespace

Result<std::vector<Fake>> make_fakes(const Contract& contract) {
  Result<Reference> reference = read_reference(contract);
  if (!reference) return reference.error();
  if (reference->outputs.empty())
    return Error{Fault::malformed, "the contract has no output", "", {}};
  std::vector<Fake> fakes;
  for (Result<Fake> one :
       {make_null(*reference), make_constant(*reference), make_copy(*reference),
        make_first_block(*reference, contract.launch.blocks() == 1), make_transposed(*reference)}) {
    if (!one) return one.error();
    fakes.push_back(std::move(*one));
  }
  return fakes;
}

namespace {

Result<Sanitized> as_candidate(const std::shared_ptr<const Contract>& contract,
                               const std::string& name, const std::string& text) {
  ptx::Parsed parsed = ptx::parse(text, name + ".ptx");
  if (!parsed.errors.empty()) return parsed.errors[0];
  Sanitized candidate;
  candidate.contract = contract;
  candidate.ptx = text;
  candidate.module = std::make_shared<const ptx::Module>(std::move(parsed.module));
  return candidate;
}

Error undecided(const std::string& name, const Evidence& evidence) {
  return {Fault::unsupported, "the kernel \"" + name + "\" cannot be tested: " + evidence.reason,
          "", evidence.place};
}

}  // namespace

Result<Done> check_fakes(const std::shared_ptr<const Contract>& contract, const Limits& limits) {
  Result<Sanitized> honest = as_candidate(contract, "reference", contract->reference);
  if (!honest) return honest.error();
  Step<Tested> passes = test(std::move(*honest), limits);
  if (passes.error() != nullptr) return *passes.error();
  if (passes.undecided() != nullptr) return undecided("reference", passes.undecided()->evidence);
  if (passes.rejected() != nullptr)
    return Error{Fault::malformed,
                 "the reference fails its own test: " + passes.rejected()->evidence.reason,
                 "",
                 {}};
  Result<std::vector<Fake>> fakes = make_fakes(*contract);
  if (!fakes) return fakes.error();
  for (const Fake& fake : *fakes) {
    Result<Sanitized> candidate = as_candidate(contract, fake.name, fake.ptx);
    if (!candidate) return candidate.error();
    Step<Tested> step = test(std::move(*candidate), limits);
    if (step.error() != nullptr) return *step.error();
    if (step.undecided() != nullptr) return undecided(fake.name, step.undecided()->evidence);
    if (step.passed() != nullptr)
      return Error{Fault::malformed,
                   "the test of this contract cannot tell the \"" + fake.name +
                       "\" kernel from the reference",
                   "choose inputs or a tolerance under which outputs differ",
                   {}};
  }
  return Done{};
}

}  // namespace lathe::gpu_node
