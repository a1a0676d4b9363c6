#pragma once

// Why a mutant that was proved is the same kernel: an argument that a machine checks and that does
// not rest on the field domain.

#include <map>
#include <set>

#include "ptx/module.h"
#include "tests/verifier_node/interpretation.h"
#include "tests/verifier_node/mutation.h"
#include "verifier_node/binding.h"
#include "verifier_node/replay.h"

namespace lathe::verifier_node::mutation {

class Sameness {
 public:
  /// `blocks`: the argument is of the first blocks only; 0: of all.
  Sameness(const Contract& contract, const ptx::Module& original, std::uint64_t blocks = 0)
      : contract_(&contract), original_(&original), blocks_(contract.launch.blocks()) {
    if (blocks != 0) blocks_ = std::min(blocks_, blocks);
    sides_.contract = &contract;
    sides_.buffers = buffers_of(contract);
    sides_.parameters = parameter_bytes(contract);
    sides_.reference.launch = sides_.candidate.launch = contract.launch;
    if (auto program = ptx::decode(original, contract.entry))
      sides_.reference.program = *std::move(program);
    find_index_only();
  }

  /// Whether all of its float functions may be any functions.
  bool interpreted() const { return Interpretation(1).of(*original_).has_value(); }

  /// The argument in words; empty where there is none.
  std::string argument(const Mutant& mutant) {
    ptx::Parsed other = ptx::parse(mutant.text, "mutant.ptx");
    if (ptx::normal_form(*original_) == ptx::normal_form(other.module)) return "one normal form";
    if (plain_form(*original_) == plain_form(other.module))
      return "one normal form without dead code, operands of commutative functions sorted";
    if (mutant.edit == Edit::neighbours && independent(mutant.instruction))
      return "neighbours of which one only sets a register, and neither what the other reads or "
             "sets";
    if (same_results(mutant))
      return "one result at every execution over all blocks, of operands that do not depend on "
             "data";
    const std::string under = "one term of every output under " + std::to_string(interpretations) +
                              " random interpretations of the float functions";
    if (same_terms(mutant.text, Sums::commutative)) return under + ", and no race";
    if (same_terms(mutant.text, Sums::of_a_group))
      return under + " in which sums are sums of integers, and no race";
    return "";
  }

 private:
  static std::vector<std::string> registers_in(const ptx::Operand& operand) {
    std::vector<std::string> names;
    if (operand.parts.empty()) {
      if (operand.kind == ptx::Operand::Kind::name) names.push_back(std::string(operand.text));
      return names;
    }
    for (const ptx::Operand& part : operand.parts)
      for (std::string& name : registers_in(part)) names.push_back(std::move(name));
    return names;
  }
  static bool begins(std::string_view op, std::initializer_list<const char*> with) {
    return std::any_of(with.begin(), with.end(),
                       [&](const char* start) { return op.starts_with(start); });
  }
  /// Writes registers and nothing else, and does so for one thread alone.
  static bool pure(std::string_view opcode) {
    return !begins(opcode,
                   {"st",    "ld",       "red",        "atom",     "bar",     "membar",     "fence",
                    "cp",    "mbarrier", "wgmma",      "tcgen05",  "bra",     "ret",        "exit",
                    "call",  "trap",     "mma",        "shfl",     "vote",    "activemask", "match",
                    "elect", "griddep",  "setmaxnreg", "prefetch", "discard", "nanosleep"}) &&
           opcode != "redux";
  }
  static bool commutes(std::string_view opcode) {
    return begins(opcode, {"add", "mul", "and", "or", "xor", "max", "min", "fma", "mad"});
  }

  /// Whether this instruction and the next may change places: one does nothing but set registers,
  /// and what either sets the other does not name. A store's address counts as set.
  bool independent(std::size_t at) const {
    const auto& all = original_->find_entry(contract_->entry)->instructions;
    if (at + 1 >= all.size() || (!pure(all[at].opcode) && !pure(all[at + 1].opcode))) return false;
    std::array<std::set<std::string>, 2> named, set;
    for (std::size_t i = 0; i < 2; ++i) {
      const ptx::Instruction& instruction = all[at + i];
      if (instruction.guard) named[i].insert(std::string(instruction.guard->predicate));
      for (std::size_t n = 0; n < instruction.operands.size(); ++n)
        for (std::string& name : registers_in(instruction.operands[n])) {
          if (n == 0) set[i].insert(name);
          named[i].insert(std::move(name));
        }
    }
    auto apart = [](const std::set<std::string>& a, const std::set<std::string>& b) {
      return std::none_of(a.begin(), a.end(), [&](const std::string& x) { return b.contains(x); });
    };
    return apart(set[0], named[1]) && apart(set[1], named[0]);
  }

  /// Whether all that this one writes is overwritten before anybody reads it: by those that follow
  /// without a label or branch between.
  static bool overwritten(const ptx::Function& function, std::size_t at) {
    const auto& all = function.instructions;
    std::vector<std::string> left = registers_in(all[at].operands[0]);
    for (std::size_t i = at + 1; i < all.size() && !left.empty(); ++i) {
      bool label =
          std::any_of(function.labels.begin(), function.labels.end(), [&](const ptx::Label& label) {
            return label.span.begin >= all[i - 1].span.end && label.span.end <= all[i].span.begin;
          });
      if (label || begins(all[i].opcode, {"bra", "brx", "ret", "exit", "call"})) return false;
      bool writes = pure(all[i].opcode) || all[i].opcode == "ld";
      std::set<std::string> read;
      if (all[i].guard) read.insert(std::string(all[i].guard->predicate));
      for (std::size_t n = writes && !all[i].guard ? 1 : 0; n < all[i].operands.size(); ++n)
        for (std::string& name : registers_in(all[i].operands[n])) read.insert(std::move(name));
      for (const std::string& name : left)
        if (read.contains(name)) return false;
      if (!writes || all[i].guard || all[i].operands.empty()) continue;
      std::vector<std::string> made = registers_in(all[i].operands[0]);
      std::erase_if(left, [&](const std::string& name) {
        return std::find(made.begin(), made.end(), name) != made.end();
      });
    }
    return left.empty();
  }

  /// The instructions one a line, without those whose results nobody reads.
  static std::string plain_form(const ptx::Module& module) {
    const ptx::Function& function = module.functions.back();
    std::vector<bool> dead(function.instructions.size());
    for (bool again = true; again;) {
      again = false;
      std::set<std::string> read;
      for (std::size_t i = 0; i < dead.size(); ++i) {
        const ptx::Instruction& instruction = function.instructions[i];
        if (dead[i]) continue;
        if (instruction.guard) read.insert(std::string(instruction.guard->predicate));
        for (std::size_t n = pure(instruction.opcode) ? 1 : 0; n < instruction.operands.size(); ++n)
          for (std::string& name : registers_in(instruction.operands[n])) read.insert(name);
      }
      for (std::size_t i = 0; i < dead.size(); ++i) {
        const ptx::Instruction& instruction = function.instructions[i];
        if (dead[i] || !pure(instruction.opcode) || instruction.operands.empty()) continue;
        std::vector<std::string> made = registers_in(instruction.operands[0]);
        if (std::any_of(made.begin(), made.end(),
                        [&](const std::string& name) { return read.contains(name); }) &&
            !overwritten(function, i))
          continue;
        dead[i] = again = true;
      }
    }
    std::map<std::uint32_t, std::string> lines;
    for (const ptx::Label& label : function.labels)
      lines[label.span.begin] = std::string(label.name) + ":";
    for (std::size_t i = 0; i < dead.size(); ++i) {
      if (dead[i]) continue;
      Parts parts(function.instructions[i]);
      if (commutes(parts.op) && parts.operands.size() >= 3 && parts.operands[2] < parts.operands[1])
        std::swap(parts.operands[1], parts.operands[2]);
      lines[function.instructions[i].span.begin] = parts.print();
    }
    std::string text;
    for (const auto& [at, line] : lines) text += line + "\n";
    return text;
  }

  /// Registers that are functions of indices and parameters only.
  void find_index_only() {
    const ptx::Function* function = original_->find_entry(contract_->entry);
    for (bool again = true; again;) {
      again = false;
      for (const ptx::Instruction& instruction : function->instructions) {
        bool space_of_parameters =
            !instruction.modifiers.empty() && instruction.modifiers[0] == "param";
        bool data = (begins(instruction.opcode, {"ld", "atom"}) && !space_of_parameters);
        if (instruction.guard) data |= depends(std::string(instruction.guard->predicate));
        for (std::size_t n = 1; n < instruction.operands.size(); ++n)
          for (const std::string& name : registers_in(instruction.operands[n]))
            data |= depends(name);
        if (!data || instruction.operands.empty()) continue;
        if (instruction.opcode == "bra") data_branches_ = true;
        for (const std::string& name : registers_in(instruction.operands[0]))
          again |= of_data_.insert(name).second;
      }
    }
    for (const ptx::Instruction& instruction : function->instructions)
      if (instruction.guard && begins(instruction.opcode, {"bra", "ret", "exit"}))
        data_branches_ |= depends(std::string(instruction.guard->predicate));
  }
  bool depends(const std::string& name) const { return of_data_.contains(name); }

  std::string type_of_register(const std::string& name) const {
    const ptx::Function* function = original_->find_entry(contract_->entry);
    for (const ptx::Registers& registers : function->registers)
      if (name.starts_with(registers.name) &&
          name.find_first_not_of("0123456789", registers.name.size()) == std::string::npos)
        return std::string(registers.type);
    return "";
  }

  /// Both instructions side by side in one kernel that traps where their results part, run over
  /// the whole grid. Operands do not depend on data, so every input gives the same run.
  bool same_results(const Mutant& mutant) {
    if (data_branches_) return false;
    const ptx::Function* function = original_->find_entry(contract_->entry);
    const ptx::Instruction& before = function->instructions[mutant.instruction];
    if (!pure(before.opcode) || before.operands.empty()) return false;
    std::string result(before.operands[0].text), type = type_of_register(result);
    if (type.empty()) return false;
    for (const std::string& text : {mutant.before, mutant.after}) {
      if (text.empty()) continue;
      ptx::Parsed one = ptx::parse(
          ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry "
          "one()\n{\n" +
              text + "\n}\n",
          "one.ptx");
      if (!one.errors.empty() || one.module.functions[0].instructions.size() != 1) return false;
      const ptx::Instruction& instruction = one.module.functions[0].instructions[0];
      if (!pure(instruction.opcode)) return false;
      if (instruction.guard && depends(std::string(instruction.guard->predicate))) return false;
      for (std::size_t n = 1; n < instruction.operands.size(); ++n)
        for (const std::string& name : registers_in(instruction.operands[n]))
          if (depends(name)) return false;
    }
    std::string compare =
        type == ".pred" || type == "pred"
            ? "xor.pred %same_p, %same_a, %same_b;"
            : "setp.ne.b" + type.substr(type.find_first_of("136")) + " %same_p, %same_a, %same_b;";
    if (type[0] != '.') type = "." + type;
    auto into = [&](std::string text, const std::string& name) {
      if (text.empty()) return "mov" + type + " " + name + ", " + result + ";";
      // Where a guard is false, what was there before stays.
      std::size_t at =
          text.find(result, text.find_first_of(" \t", text[0] == '@' ? text.find(' ') + 1 : 0));
      std::string keep = text[0] == '@' ? "mov" + type + " " + name + ", " + result + ";\n\t" : "";
      return keep + text.replace(at, result.size(), name);
    };
    std::string probe = "{\n\t.reg " + type + " %same_a, %same_b;\n\t.reg .pred %same_p;\n\t" +
                        into(mutant.before, "%same_a") + "\n\t" + into(mutant.after, "%same_b") +
                        "\n\t" + compare + "\n\t@%same_p trap;\n\t}\n\t" + mutant.before;
    std::string text = *original_->text;
    text.replace(before.span.begin, before.span.end - before.span.begin, probe);
    return runs(text, false);
  }

  static constexpr std::uint64_t interpretations = 6;

  /// No value can depend on a schedule, and the outputs are the same whatever the functions are.
  bool same_terms(const std::string& text, Sums sums) {
    ptx::Parsed other = ptx::parse(text, "mutant.ptx");
    if (!other.errors.empty() || !runs(text, true)) return false;
    Sides originals = sides_;
    bool same = true;
    for (std::uint64_t i = 0; i < interpretations && same; ++i) {
      Interpretation functions(philox64(0x7E12, 1, i), sums);
      auto left = functions.of(*original_), right = functions.of(other.module);
      same = left && right && same_bits(*left, *right, i + 1);
    }
    sides_ = std::move(originals);
    return same;
  }

  bool load(const std::string& text) {
    candidate_ = ptx::parse(text, "probe.ptx");
    if (!candidate_.errors.empty()) return false;
    Result<ptx::Program> program = ptx::decode(candidate_.module, contract_->entry);
    if (!program) return false;
    sides_.candidate.program = *std::move(program);
    return true;
  }
  std::vector<std::uint64_t> all_blocks() const {
    std::vector<std::uint64_t> blocks(blocks_);
    for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i] = i;
    return blocks;
  }
  bool runs(const std::string& text, bool ordered) {
    if (!load(text)) return false;
    Replay replay(sides_);
    if (!replay.use_inputs(InputClass::declared, 1)) return false;
    for (auto schedule : {ptx::AsyncSchedule::at_issue, ptx::AsyncSchedule::at_wait}) {
      Replayed run = replay.run(Side::candidate, all_blocks(), schedule, ordered);
      if (run.trap || !run.races.empty() || !run.order_follows_all) return false;
    }
    return true;
  }
  bool same_bits(const std::string& original, const std::string& text, std::uint64_t seed) {
    ptx::Parsed parsed = ptx::parse(original, "original.ptx");
    if (!parsed.errors.empty() || !load(text)) return false;
    Result<ptx::Program> program = ptx::decode(parsed.module, contract_->entry);
    if (!program) return false;
    sides_.reference.program = *std::move(program);
    Replay replay(sides_);
    if (!replay.use_inputs(InputClass::declared, seed)) return false;
    Replayed one = replay.run(Side::reference, all_blocks());
    for (auto schedule : {ptx::AsyncSchedule::at_issue, ptx::AsyncSchedule::at_wait}) {
      Replayed other = replay.run(Side::candidate, all_blocks(), schedule);
      if (one.trap || other.trap || one.bytes != other.bytes || one.written != other.written)
        return false;
    }
    return true;
  }

  const Contract* contract_;
  const ptx::Module* original_;
  std::uint64_t blocks_;
  ptx::Parsed candidate_;
  Sides sides_;
  std::set<std::string> of_data_;
  bool data_branches_ = false;
};

}  // namespace lathe::verifier_node::mutation
