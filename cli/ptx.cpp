// lathe ptx: the instruction table and PTX files, for people and for proposers.

#include <cstdio>

#include "cli/complaint.h"
#include "cli/exit_status.h"
#include "cli/input_file.h"
#include "cli/subcommand.h"
#include "ptx/isa.h"

namespace lathe::cli {
namespace {

struct Options {
  std::string file, opcode, target = "sm_100a", isa = "9.0";
};

/// Operands that no row could mistake: match() only counts them here.
ptx::Instruction instruction_of(const std::string& text, std::size_t operands) {
  ptx::Instruction instruction;
  std::string_view rest = text;
  instruction.opcode = rest.substr(0, rest.find('.'));
  while (rest.find('.') != std::string_view::npos) {
    rest.remove_prefix(rest.find('.') + 1);
    std::size_t end = rest.find('.');
    instruction.modifiers.push_back(rest.substr(0, end));
  }
  ptx::Operand operand;
  operand.text = "%r1";
  instruction.operands.assign(operands, operand);
  return instruction;
}

int no_row(const ptx::Instruction& instruction, const Error& error) {
  std::fprintf(stderr, "lathe: error: %s\n", error.what.c_str());
  if (!error.remedy.empty()) std::fprintf(stderr, "help: %s\n", error.remedy.c_str());
  for (const std::string& form : ptx::forms_of(instruction.opcode))
    std::fprintf(stderr, "  %s\n", form.c_str());
  return exit_no;
}

/// With modifiers: the one form that fits. Without: all forms of the opcode.
int reference(const Options& options) {
  auto target = ptx::parse_target(options.target);
  if (!target) return complain(target.error());
  auto isa = ptx::parse_isa_version(options.isa);
  if (!isa) return complain(isa.error());
  ptx::Instruction bare = instruction_of(options.opcode, 0);
  if (bare.modifiers.empty()) {
    auto forms = ptx::forms_of(bare.opcode);
    if (!forms.empty() && !bare.opcode.starts_with('$')) {
      for (const std::string& form : forms) std::printf("%s\n", form.c_str());
      return exit_done;
    }
  }
  Error error;
  for (std::size_t operands = 0; operands <= 8; ++operands) {
    ptx::Instruction instruction = instruction_of(options.opcode, operands);
    auto matched = ptx::match(instruction, *isa, *target);
    if (matched) {
      std::printf("%s\n", std::string(matched->row->signature.text).c_str());
      return exit_done;
    }
    // A wrong count of operands says nothing here; whatever else is wrong does.
    if (operands == 0 || matched.error().what.find(" operands") == std::string::npos)
      error = matched.error();
  }
  return no_row(bare, error);
}

int read(const Options& options, ptx::Module& module) {
  Result<std::string> text = read_input(options.file);
  if (!text) return complain(text.error());
  ptx::Parsed parsed = ptx::parse(*std::move(text), options.file);
  if (!parsed.errors.empty()) return complain(parsed.errors);
  module = std::move(parsed.module);
  return exit_done;
}

int fmt(const Options& options) {
  ptx::Module module;
  if (int status = read(options, module)) return status;
  std::printf("%s", ptx::normal_form(module).c_str());
  return exit_done;
}

/// Every instruction with the row that it takes, or why it takes none.
int explain(const Options& options) {
  ptx::Module module;
  if (int status = read(options, module)) return status;
  auto target = ptx::parse_target(module.target.front());
  if (!target) return complain(target.error());
  auto isa = ptx::parse_isa_version(module.version);
  if (!isa) return complain(isa.error());
  std::vector<Error> errors;
  for (const ptx::Function& function : module.functions)
    for (const ptx::Instruction& instruction : function.instructions) {
      auto matched = ptx::match(instruction, *isa, *target);
      std::string text = module.text->substr(instruction.span.begin,
                                             instruction.span.end - instruction.span.begin);
      if (matched) {
        std::printf("%u\t%s\t%s\n", instruction.span.line, text.c_str(),
                    std::string(matched->row->signature.text).c_str());
      } else {
        errors.push_back(matched.error());
        errors.back().place = module.place(instruction.span);
      }
    }
  return errors.empty() ? static_cast<int>(exit_done) : complain(errors);
}

}  // namespace

Body declare_ptx(App& app) {
  auto options = std::make_shared<Options>();
  app.require_subcommand();
  App* references = app.add_subcommand("reference", "the forms of an instruction");
  references->add_option("opcode", options->opcode, "add, or with modifiers: add.rn.f32")
      .required();
  references->add_option("--target", options->target, "sm_89, sm_90a, sm_100a");
  references->add_option("--isa", options->isa, "the .version of the module");
  App* formats = app.add_subcommand("fmt", "a file's normal form");
  formats->add_option("file", options->file, "PTX, or - for standard input").required();
  App* explains = app.add_subcommand("explain", "each instruction with its form");
  explains->add_option("file", options->file, "PTX, or - for standard input").required();
  return [options, references, formats] {
    if (references->parsed()) return reference(*options);
    return formats->parsed() ? fmt(*options) : explain(*options);
  };
}

}  // namespace lathe::cli
