// lathe ptx: the instruction table and PTX files, for people and for proposers.

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <optional>

#include "cli/complaint.h"
#include "cli/document.h"
#include "cli/exit_status.h"
#include "cli/input_file.h"
#include "cli/ptx_run.h"
#include "cli/subcommand.h"
#include "contract/isa_versions.h"
#include "ptx/isa.h"
#include "ptx/reference.h"

namespace lathe::cli {
namespace {

struct Options {
  std::string file, opcode, target, isa{known_ptx_isas.back()};
  bool document = false, json = false;
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

int no_row(const ptx::Instruction& instruction, const Error& error, Form form) {
  int status = complain_with(exit_no, error, form);
  for (const ptx::FormNote& note : ptx::notes_of(instruction.opcode))
    std::fprintf(stderr, "  %s\n", ptx::print(note).c_str());
  return status;
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

/// The form that words take. One that is known by its words alone has no meaning here.
ptx::FormNote note_of(const ptx::FormMatch& matched, const std::string& words) {
  if (!matched.row->signature.text.empty()) return ptx::note_of(*matched.row);
  ptx::FormNote note;
  note.text = words;
  return note;
}

Json json_of(const ptx::FormNote& note) {
  Json json;
  json["form"] = note.text;
  if (!note.types.empty()) json["types"] = note.types;
  if (!note.since.empty()) json["since"] = note.since;
  json["has_meaning"] = note.has_meaning;
  return json;
}

int say_forms(const Options& options, const std::vector<ptx::FormNote>& notes) {
  if (options.json) {
    Json json;
    json["schema"] = "lathe/ptx-reference/1";
    if (!options.document) json["opcode"] = options.opcode;
    json["forms"] = Json::array();
    for (const ptx::FormNote& note : notes) json["forms"].push_back(json_of(note));
    return print_document(json);
  }
  for (const ptx::FormNote& note : notes) std::printf("%s\n", ptx::print(note).c_str());
  return exit_done;
}

Error unknown_version(const std::string& isa) {
  return {Fault::malformed,
          "there is no PTX " + isa + " that lathe knows",
          "the newest is " + std::string(known_ptx_isas.back()),
          {}};
}

/// With modifiers: the form that fits, on the target that was asked for or any of those that exist.
/// Without: all forms of the opcode.
int reference(const Options& options) {
  Form form = form_of(options.json);
  if (options.document) {
    if (options.json) return say_forms(options, ptx::notes_of());
    std::printf("%s", ptx::forms_document().c_str());
    return exit_done;
  }
  auto isa = ptx::parse_isa_version(options.isa);
  if (!isa) return complain_with(exit_usage, isa.error(), form);
  if (*isa > *ptx::parse_isa_version(known_ptx_isas.back()))
    return complain_with(exit_usage, unknown_version(options.isa), form);
  std::vector<ptx::Target> targets;
  for (const std::string& name : options.target.empty()
                                     ? std::vector<std::string>{"sm_100a", "sm_90a", "sm_120a"}
                                     : std::vector<std::string>{options.target}) {
    auto target = ptx::parse_target(name);
    if (!target) return complain_with(exit_usage, target.error(), form);
    targets.push_back(*target);
  }
  ptx::Instruction bare = instruction_of(options.opcode, 0);
  if (bare.modifiers.empty())
    if (std::vector<ptx::FormNote> notes = ptx::notes_of(bare.opcode); !notes.empty())
      return say_forms(options, notes);
  std::optional<Error> error;
  for (const ptx::Target& target : targets) {
    auto matched = match_words(options.opcode, *isa, target);
    if (matched) return say_forms(options, {note_of(*matched, options.opcode)});
    if (!error) error = matched.error();
  }
  return no_row(bare, *error, form);
}

int read(const Options& options, ptx::Module& module) {
  Form form = form_of(options.json);
  Result<std::string> text = read_input(options.file);
  if (!text) return complain(text.error(), form);
  ptx::Parsed parsed = ptx::parse(*std::move(text), options.file);
  if (!parsed.errors.empty()) return complain(parsed.errors, form);
  module = std::move(parsed.module);
  return exit_done;
}

int fmt(const Options& options) {
  ptx::Module module;
  if (int status = read(options, module)) return status;
  std::string text = ptx::normal_form(module);
  if (options.json)
    return print_document(
        {{"schema", "lathe/ptx-fmt/1"}, {"file", options.file}, {"ptx", std::move(text)}});
  std::printf("%s", text.c_str());
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

std::size_t lines_of(const std::string& text) {
  auto ends = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  return text.ends_with('\n') ? ends : ends + 1;
}

struct Explained {
  unsigned line, column;
  std::string text;
  ptx::FormNote note;
};

int say_explained(const Options& options, const ptx::Module& module,
                  const std::vector<Explained>& all) {
  if (!options.json) {
    for (const Explained& one : all)
      std::printf("%u\t%s\t%s\n", one.line, one.text.c_str(), ptx::print(one.note).c_str());
    return exit_done;
  }
  Json json;
  json["schema"] = "lathe/ptx-explain/1";
  json["file"] = options.file;
  json["version"] = module.version;
  json["target"] = module.target.front();
  json["instructions"] = Json::array();
  for (const Explained& one : all) {
    Json instruction{{"line", one.line}, {"column", one.column}, {"text", one.text}};
    instruction.update(json_of(one.note));
    json["instructions"].push_back(std::move(instruction));
  }
  return print_document(json);
}

/// Every instruction, or those of one line, with the row that it takes, or why it takes none.
int explain(Options options) {
  Form form = form_of(options.json);
  ptx::Module module;
  unsigned line = take_line(options.file);
  if (int status = read(options, module)) return status;
  if (line > lines_of(*module.text))
    return complain_with(exit_usage,
                         Error{Fault::malformed,
                               "there is no line " + std::to_string(line) + ": the file has " +
                                   std::to_string(lines_of(*module.text)),
                               "",
                               {options.file, 0, 0}},
                         form);
  auto target = ptx::parse_target(module.target.front());
  if (!target) return complain(target.error(), form);
  auto isa = ptx::parse_isa_version(module.version);
  if (!isa) return complain(isa.error(), form);
  std::vector<Explained> explained;
  std::vector<Error> errors;
  for (const ptx::Function& function : module.functions)
    for (const ptx::Instruction& instruction : function.instructions) {
      if (line != 0 && instruction.span.line != line) continue;
      auto matched = ptx::match(instruction, *isa, *target);
      std::string text = module.text->substr(instruction.span.begin,
                                             instruction.span.end - instruction.span.begin);
      if (matched) {
        explained.push_back(
            {instruction.span.line, instruction.span.column, text, note_of(*matched, text)});
      } else {
        errors.push_back(matched.error());
        errors.back().place = module.place(instruction.span);
      }
    }
  // One document: that of the complaints, where there are any.
  if (errors.empty() && explained.empty() && line != 0)
    std::fprintf(stderr, "lathe: line %u of %s holds no instruction\n", line, options.file.c_str());
  if (errors.empty()) return say_explained(options, module, explained);
  if (!options.json) say_explained(options, module, explained);
  return complain(errors, form);
}

}  // namespace

Body declare_ptx(App& app) {
  auto options = std::make_shared<Options>();
  auto launch = std::make_shared<PtxRunOptions>();
  app.require_subcommand();
  App* references = app.add_subcommand("reference", "the forms of an instruction",
                                       "lathe ptx reference add.rn.f32");
  references->add_option("opcode", options->opcode, "add, or with modifiers: add.rn.f32");
  references->add_option("--target", options->target, "sm_89, sm_90a, sm_100a; else any");
  references->add_option("--isa", options->isa, "the .version of the module");
  references->add_flag("--document", options->document, "the whole table as docs/FORMS.md");
  App* formats = app.add_subcommand("fmt", "a file's normal form", "lathe ptx fmt kernel.ptx");
  formats->add_option("file", options->file, "PTX, or - for standard input").required();
  App* explains = app.add_subcommand("explain", "each instruction with its form",
                                     "lathe ptx explain kernel.ptx:42");
  explains->add_option("file", options->file, "PTX or PTX:LINE, or - for standard input")
      .required();
  for (App* one : {references, formats, explains})
    one->add_flag("--json", options->json, "one JSON document on standard output");
  App* runs = app.add_subcommand("run", "executes an entry on the emulated device",
                                 "lathe ptx run kernel.ptx --contract DIR --blocks 1");
  runs->add_option("file", launch->file, "PTX, or - for standard input").required();
  runs->add_option("--contract", launch->contract, "contract directory").required();
  runs->add_option("--out", launch->out, "where each output goes as raw bytes: DIR/<tensor>.bin");
  runs->add_option("--inputs", launch->inputs, "declared, or a class such as cancellation");
  runs->add_option("--seed", launch->seed, "of the inputs");
  runs->add_option("--blocks", launch->blocks, "runs so many blocks, not the whole grid");
  runs->add_option("--steps", launch->steps, "warp instructions of a block at most; 0: no limit");
  runs->add_flag("--json", launch->json, "one JSON document on standard output");
  return [options, launch, references, formats, runs] {
    if (references->parsed()) return reference(*options);
    if (runs->parsed()) return run_ptx(*launch);
    return formats->parsed() ? fmt(*options) : explain(*options);
  };
}

}  // namespace lathe::cli
