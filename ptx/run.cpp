// What a trap is called, and how it reads.

#include "ptx/run.h"

namespace lathe::ptx {
namespace {

constexpr std::array trap_names{"unsupported"sv,       "undecided"sv,   "undefined_value"sv,
                                "out_of_bounds"sv,     "misaligned"sv,  "read_only"sv,
                                "divergent_barrier"sv, "bad_operand"sv, "deadlock"sv,
                                "trapped"sv,           "exhausted"sv,   "stopped"sv};
static_assert(trap_names.size() == static_cast<std::size_t>(TrapKind::count));

}  // namespace

std::string_view name_of(TrapKind kind) { return trap_names[static_cast<std::size_t>(kind)]; }

std::string print(const Trap& trap) {
  return std::string(name_of(trap.kind)) + " at line " + std::to_string(trap.line) + ", column " +
         std::to_string(trap.column) + ", block " + std::to_string(trap.block) + ", thread " +
         std::to_string(trap.thread) + ": " + trap.what;
}

}  // namespace lathe::ptx
