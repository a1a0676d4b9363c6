// lathe ptx: the instruction table and PTX files, for people and for proposers.

#include <charconv>
#include <cstdio>
#include <optional>

#include "cli/complaint.h"
#include "cli/exit_status.h"
#include "cli/input_file.h"
#include "cli/ptx_run.h"
#include "cli/subcommand.h"
#include "ptx/isa.h"
#include "ptx/reference.h"

namespace lathe::cli {
namespace {

struct Options {
  std::string file, opcode, target, isa = "9.4";
  bool document = false;
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
  for (const ptx::FormNote& note : ptx::notes_of(instruction.opcode))
    std::fprintf(stderr, "  %s\n", ptx::print(note).c_str());
  return exit_no;
}

/// The row that the words fit for some count of operands, or what is wrong.
Result<ptx::FormMatch> match_words(const std::string& words, unsigned isa,
                                   const ptx::Target& target) {
  Error error;
  for (std::size_t operands = 0; operands <= 10; ++operands) {
    auto matched = ptx::match(instruction_of(words, operands), isa, target);
    if (matched) return matched;
    // A wrong count of operands says nothing here; whatever else is wrong does.
    if (operands == 0 || matched.error().what.find(" operands") == std::string::npos)
      error = matched.error();
  }
  return error;
}

void print_match(const ptx::FormMatch& matched, const std::string& words) {
  if (matched.row->signature.text.empty())
    std::printf("%s  [known by its words; no meaning here]\n", words.c_str());
  else
    std::printf("%s\n", ptx::print(ptx::note_of(*matched.row)).c_str());
}

/// With modifiers: the form that fits, on the target that was asked for or any of those that exist.
/// Without: all forms of the opcode.
int reference(const Options& options) {
  if (options.document) {
    std::printf("%s", ptx::forms_document().c_str());
    return exit_done;
  }
  auto isa = ptx::parse_isa_version(options.isa);
  if (!isa) return complain(isa.error());
  ptx::Instruction bare = instruction_of(options.opcode, 0);
  if (bare.modifiers.empty()) {
    std::vector<ptx::FormNote> notes = ptx::notes_of(bare.opcode);
    for (const ptx::FormNote& note : notes) std::printf("%s\n", ptx::print(note).c_str());
    if (!notes.empty()) return exit_done;
  }
  std::vector<std::string> targets{"sm_100a", "sm_90a", "sm_120a"};
  if (!options.target.empty()) targets = {options.target};
  std::optional<Error> error;
  for (const std::string& name : targets) {
    auto target = ptx::parse_target(name);
    if (!target) return complain(target.error());
    auto matched = match_words(options.opcode, *isa, *target);
    if (matched) {
      print_match(*matched, options.opcode);
      return exit_done;
    }
    if (!error) error = matched.error();
  }
  return no_row(bare, *error);
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

/// FILE:LINE as the two; line 0 where the name has none.
unsigned take_line(std::string& file) {
  std::size_t colon = file.rfind(':');
  unsigned line = 0;
  if (colon == std::string::npos) return 0;
  const char* end = file.data() + file.size();
  auto [stop, code] = std::from_chars(file.data() + colon + 1, end, line);
  if (code != std::errc() || stop != end || line == 0) return 0;
  file.resize(colon);
  return line;
}

/// Every instruction, or those of one line, with the row that it takes, or why it takes none.
int explain(Options options) {
  ptx::Module module;
  unsigned line = take_line(options.file);
  if (int status = read(options, module)) return status;
  auto target = ptx::parse_target(module.target.front());
  if (!target) return complain(target.error());
  auto isa = ptx::parse_isa_version(module.version);
  if (!isa) return complain(isa.error());
  std::vector<Error> errors;
  for (const ptx::Function& function : module.functions)
    for (const ptx::Instruction& instruction : function.instructions) {
      if (line != 0 && instruction.span.line != line) continue;
      auto matched = ptx::match(instruction, *isa, *target);
      std::string text = module.text->substr(instruction.span.begin,
                                             instruction.span.end - instruction.span.begin);
      if (matched) {
        std::printf("%u\t%s\t", instruction.span.line, text.c_str());
        print_match(*matched, text);
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
  auto launch = std::make_shared<PtxRunOptions>();
  app.require_subcommand();
  App* references = app.add_subcommand("reference", "the forms of an instruction");
  references->add_option("opcode", options->opcode, "add, or with modifiers: add.rn.f32");
  references->add_option("--target", options->target, "sm_89, sm_90a, sm_100a; else any");
  references->add_option("--isa", options->isa, "the .version of the module");
  references->add_flag("--document", options->document, "the whole table as docs/FORMS.md");
  App* formats = app.add_subcommand("fmt", "a file's normal form");
  formats->add_option("file", options->file, "PTX, or - for standard input").required();
  App* explains = app.add_subcommand("explain", "each instruction with its form");
  explains->add_option("file", options->file, "PTX or PTX:LINE, or - for standard input")
      .required();
  App* runs = app.add_subcommand("run", "executes an entry on the emulated device");
  runs->add_option("file", launch->file, "PTX, or - for standard input").required();
  runs->add_option("--contract", launch->contract, "contract directory").required();
  runs->add_option("--out", launch->out, "where each output goes as raw bytes: DIR/<tensor>.bin");
  runs->add_option("--inputs", launch->inputs, "declared, or a class such as cancellation");
  runs->add_option("--seed", launch->seed, "of the inputs");
  runs->add_option("--blocks", launch->blocks, "runs so many blocks, not the whole grid");
  runs->add_flag("--json", launch->json, "one JSON document on standard output");
  return [options, launch, references, formats, runs] {
    if (references->parsed()) return reference(*options);
    if (runs->parsed()) return run_ptx(*launch);
    return formats->parsed() ? fmt(*options) : explain(*options);
  };
}

}  // namespace lathe::cli
