#include "pipeline/forbidden.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

namespace lathe {
namespace {

enum class Part : std::uint8_t { opcode, modifier, name };
enum class Reference : std::uint8_t { irrelevant, excuses };

struct Ban {
  Part part;
  std::string_view word;  // A trailing * stands for anything.
  Reference reference;
  std::string_view why;
  std::string_view instead;
};

constexpr std::string_view clock_why = "reads a clock, so that what it does may depend on time";
constexpr std::string_view place_why = "asks where or as which launch it runs";
constexpr std::string_view cache_why = "leaves the caches changed for whoever runs next";
constexpr std::string_view stop_why = "stops or delays the kernel";
constexpr std::string_view plain = "use a plain load or .L2::evict_first";
constexpr std::string_view remove = "remove it";
constexpr std::string_view load = "load the value where it is used";
constexpr std::string_view driver_why = "reads what the driver set";
constexpr std::string_view stack_why = "takes local memory of any size";
constexpr std::string_view registers = "use registers or shared memory";
constexpr std::string_view texture_why = "reads a texture, which no contract has";
constexpr std::string_view surface_why = "uses a surface, which no contract has";
constexpr std::string_view global = "use ld.global, st.global or red.global";
using enum Reference;

// clang-format off
constexpr std::array<Ban, 32> bans{{
    {Part::name, "%clock",             irrelevant, clock_why, remove},
    {Part::name, "%clock64",           irrelevant, clock_why, remove},
    {Part::name, "%clock_hi",          irrelevant, clock_why, remove},
    {Part::name, "%globaltimer*",      irrelevant, clock_why, remove},
    {Part::name, "%pm*",               irrelevant, "reads a performance counter", remove},
    {Part::name, "%envreg*",           irrelevant, driver_why, remove},
    {Part::name, "%reserved_*",        irrelevant, driver_why, remove},
    {Part::name, "%gridid",            irrelevant, place_why, remove},
    {Part::name, "%current_graph_exec", irrelevant, place_why, remove},
    {Part::name, "%smid",              excuses, place_why, "use %ctaid"},
    {Part::name, "%nsmid",             excuses, place_why, "use %nctaid"},
    {Part::name, "%warpid",            excuses, place_why, "compute it from %tid"},
    {Part::name, "%nwarpid",           excuses, place_why, "compute it from %ntid"},
    {Part::opcode, "trap",             excuses, stop_why, remove},
    {Part::opcode, "brkpt",            irrelevant, stop_why, remove},
    {Part::opcode, "nanosleep",        excuses, stop_why, "wait on a barrier"},
    {Part::opcode, "pmevent",          irrelevant, "triggers the profiler", remove},
    {Part::opcode, "discard",          irrelevant, cache_why, remove},
    {Part::opcode, "applypriority",    irrelevant, cache_why, remove},
    {Part::opcode, "prefetch",         excuses, cache_why, load},
    {Part::opcode, "prefetchu",        excuses, cache_why, load},
    {Part::modifier, "evict_last",     excuses, cache_why, plain},
    {Part::modifier, "L1::evict_last", excuses, cache_why, plain},
    {Part::modifier, "L2::evict_last", excuses, cache_why, plain},
    {Part::modifier, "prefetch",       excuses, cache_why, load},
    {Part::opcode, "alloca",           irrelevant, stack_why, registers},
    {Part::opcode, "stackrestore",     irrelevant, stack_why, registers},
    {Part::opcode, "tex",              irrelevant, texture_why, global},
    {Part::opcode, "tld4",             irrelevant, texture_why, global},
    {Part::opcode, "suld",             irrelevant, surface_why, global},
    {Part::opcode, "sust",             irrelevant, surface_why, global},
    {Part::opcode, "sured",            irrelevant, surface_why, global},
}};

constexpr std::array<std::string_view, 3> known_pragmas{"nounroll", "used_bytes_mask",
                                                        "enable_smem_spilling"};
constexpr std::array<std::string_view, 12> known_directives{
    ".reqntid", ".maxntid", ".minnctapersm", ".maxnctapersm", ".maxnreg", ".reqnctapercluster",
    ".explicitcluster", ".maxclusterrank", ".blocksareclusters", ".noreturn", ".pragma",
    ".abi_preserve"};
constexpr std::uint64_t local_bytes_max = 16384;
// clang-format on

bool matches(std::string_view pattern, std::string_view word) {
  if (pattern.back() == '*') return word.starts_with(pattern.substr(0, pattern.size() - 1));
  return word == pattern;
}

/// Every name in an operand, those inside of vectors and addresses too.
template <class Use>
void for_each_name(const ptx::Operand& operand, Use&& use) {
  if (operand.kind == ptx::Operand::Kind::name) use(operand.text, operand.span);
  for (const ptx::Operand& part : operand.parts) for_each_name(part, use);
}

std::string_view base_name(std::string_view name) {
  std::size_t end = name.find('.', 1);
  return name.starts_with("%") && end != std::string_view::npos ? name.substr(0, end) : name;
}

/// Calls `use(part, word, span)` for whatever the table may speak of.
template <class Use>
void for_each_word(const ptx::Module& module, Use&& use) {
  for (const ptx::Function& function : module.functions)
    for (const ptx::Instruction& instruction : function.instructions) {
      use(Part::opcode, instruction.opcode, instruction.opcode_span);
      for (std::string_view modifier : instruction.modifiers)
        use(Part::modifier, modifier, instruction.opcode_span);
      for (const ptx::Operand& operand : instruction.operands)
        for_each_name(operand, [&](std::string_view name, const ptx::Span& span) {
          use(Part::name, base_name(name), span.line != 0 ? span : instruction.span);
        });
    }
}

class Inspection {
 public:
  Inspection(const ptx::Module& candidate, const ptx::Module& reference, bool pdl)
      : module_(candidate), reference_(reference), pdl_(pdl) {
    for_each_word(reference,
                  [&](Part, std::string_view word, const ptx::Span&) { excused_.insert(word); });
  }

  std::vector<Offence> run() {
    inspect_words();
    inspect_state();
    inspect_functions();
    for (const ptx::Directive& directive : module_.directives) inspect_pragma(directive);
    std::stable_sort(found_.begin(), found_.end(), [](const Offence& a, const Offence& b) {
      return a.span.begin < b.span.begin;
    });
    return std::move(found_);
  }

 private:
  void add(const ptx::Span& span, std::string what, std::string_view remedy) {
    found_.push_back({span, std::move(what), std::string(remedy)});
  }

  void inspect_words() {
    for_each_word(module_, [&](Part part, std::string_view word, const ptx::Span& span) {
      for (const Ban& ban : bans) {
        if (ban.part != part || !matches(ban.word, word)) continue;
        if (ban.reference == Reference::excuses && excused_.contains(word)) continue;
        add(span, "`" + std::string(word) + "` " + std::string(ban.why), ban.instead);
      }
    });
  }

  /// Memory of the module's own outlives the launch. It may be read by name, so that nothing can
  /// write it; taking its address could.
  void inspect_state() {
    std::set<std::string_view> globals;
    for (const ptx::Variable& variable : module_.variables) {
      bool is_extern = std::find(variable.attributes.begin(), variable.attributes.end(),
                                 "extern") != variable.attributes.end();
      if (variable.space == "global") globals.insert(variable.name);
      if ((variable.space == "global" || variable.space == "const") && is_extern)
        add(variable.span, "`" + std::string(variable.name) + "` is memory of another module",
            "take everything from the parameters");
      if (variable.space == "tex" || variable.type.ends_with("ref"))
        add(variable.span, "`" + std::string(variable.name) + "` is a texture or surface",
            "take everything from the parameters");
    }
    for (const ptx::Function& function : module_.functions) {
      for (const ptx::Variable& variable : function.variables)
        if (variable.space == "global") globals.insert(variable.name);
      for (const ptx::Instruction& instruction : function.instructions)
        inspect_use(instruction, globals);
    }
  }

  void inspect_use(const ptx::Instruction& instruction, const std::set<std::string_view>& globals) {
    bool is_load = instruction.opcode == "ld" || instruction.opcode == "ldu";
    for (std::size_t i = 0; i < instruction.operands.size(); ++i)
      for_each_name(instruction.operands[i], [&](std::string_view name, const ptx::Span&) {
        if (!globals.contains(name) || (is_load && i == 1)) return;
        add(instruction.span,
            "`" + std::string(name) +
                "` is .global memory of the module, which keeps its bytes from launch to launch",
            "read it by name with ld only, or use registers and shared memory");
      });
  }

  /// A policy written as a number could be any; one that createpolicy made says what it is.
  void inspect_hints(const ptx::Function& function) {
    if (excused_.contains("L2::cache_hint")) return;
    std::set<std::string_view> policies, others;
    for (const ptx::Instruction& instruction : function.instructions)
      if (!instruction.operands.empty())
        for_each_name(instruction.operands[0], [&](std::string_view name, const ptx::Span&) {
          (instruction.opcode == "createpolicy" ? policies : others).insert(name);
        });
    for (const ptx::Instruction& instruction : function.instructions) {
      bool hinted = std::find(instruction.modifiers.begin(), instruction.modifiers.end(),
                              "L2::cache_hint") != instruction.modifiers.end();
      if (!hinted || instruction.operands.empty()) continue;
      std::string_view policy = instruction.operands.back().text;
      if (!policies.contains(policy) || others.contains(policy))
        add(instruction.span,
            "the cache policy `" + std::string(policy) + "` does not come from createpolicy alone",
            "make it with createpolicy, with evict_first or evict_unchanged");
    }
  }

  void inspect_functions() {
    std::set<std::string_view> defined;
    for (const ptx::Function& function : module_.functions)
      if (function.defined && !function.entry) defined.insert(function.name);
    bool first_entry = true;
    for (const ptx::Function& function : module_.functions) {
      if (function.entry && !first_entry)
        add(function.span, "a second entry, `" + std::string(function.name) + "`", remove);
      if (function.entry) first_entry = false;
      inspect_function(function, defined);
    }
  }

  void inspect_function(const ptx::Function& function, const std::set<std::string_view>& defined) {
    std::uint64_t local = 0;
    for (const ptx::Variable& variable : function.variables)
      if (variable.space == "local") local += variable.bytes;
    if (local > local_bytes_max)
      add(function.span,
          std::to_string(local) + " bytes of .local memory a thread, more than " +
              std::to_string(local_bytes_max),
          "use registers or shared memory");
    for (const ptx::Directive& directive : function.directives) {
      std::string_view word = directive.text.substr(0, directive.text.find_first_of(" \t\n,"));
      if (std::find(known_directives.begin(), known_directives.end(), word) ==
          known_directives.end())
        add(directive.span, "unknown directive `" + std::string(word) + "`", remove);
      inspect_pragma(directive);
    }
    for (const ptx::Directive& directive : function.body_directives) inspect_pragma(directive);
    inspect_hints(function);
    for (const ptx::Instruction& instruction : function.instructions) {
      if (instruction.opcode == "call") inspect_call(instruction, defined);
      if (instruction.opcode == "griddepcontrol") inspect_dependents(function, instruction);
    }
  }

  void inspect_call(const ptx::Instruction& call, const std::set<std::string_view>& defined) {
    bool known = false;
    for (const ptx::Operand& operand : call.operands)
      for_each_name(operand, [&](std::string_view name, const ptx::Span&) {
        known |= defined.contains(name);
      });
    if (!known)
      add(call.span, "a call of a function that the module does not define",
          "define the function or write its body here");
  }

  void inspect_dependents(const ptx::Function& function, const ptx::Instruction& instruction) {
    auto has = [](const ptx::Instruction& each, std::string_view word) {
      return each.opcode == "griddepcontrol" &&
             std::find(each.modifiers.begin(), each.modifiers.end(), word) != each.modifiers.end();
    };
    if (!has(instruction, "launch_dependents") || excused_.contains("launch_dependents")) return;
    bool waits = std::any_of(function.instructions.begin(), function.instructions.end(),
                             [&](const ptx::Instruction& each) { return has(each, "wait"); });
    if (!pdl_ || !waits)
      add(instruction.span,
          "lets dependents start, though the launch is no dependent one or never waits",
          "remove it, or add griddepcontrol.wait where the contract says `pdl = true`");
  }

  void inspect_pragma(const ptx::Directive& directive) {
    if (!directive.text.starts_with(".pragma")) return;
    std::size_t open = directive.text.find('"');
    std::string_view text = open == std::string_view::npos ? "" : directive.text.substr(open + 1);
    text = text.substr(0, text.find('"'));
    bool known = std::any_of(known_pragmas.begin(), known_pragmas.end(),
                             [&](std::string_view name) { return text.starts_with(name); });
    if (!known)
      add(directive.span, "unknown pragma `" + std::string(text.substr(0, 40)) + "`", remove);
  }

  const ptx::Module& module_;
  const ptx::Module& reference_;
  bool pdl_;
  std::set<std::string_view> excused_;
  std::vector<Offence> found_;
};

}  // namespace

std::vector<Offence> offences(const ptx::Module& candidate, const ptx::Module& reference,
                              bool pdl) {
  return Inspection(candidate, reference, pdl).run();
}

}  // namespace lathe
