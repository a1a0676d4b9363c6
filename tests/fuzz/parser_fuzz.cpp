// Any bytes as a PTX module: the parser ends, its complaints are few, and what it accepts prints
// back byte for byte and has a normal form that is its own.

#include <cstdint>
#include <cstdlib>
#include <string>

#include "ptx/module.h"

namespace {

/// Built with LATHE_PLANTED this target holds a crash, so that the search for crashes is itself
/// tried: a predicated instruction with a vector of three.
void plant([[maybe_unused]] const lathe::ptx::Module& module) {
#ifdef LATHE_PLANTED
  for (const lathe::ptx::Function& function : module.functions)
    for (const lathe::ptx::Instruction& instruction : function.instructions)
      for (const lathe::ptx::Operand& operand : instruction.operands)
        if (instruction.guard && operand.parts.size() == 3) std::abort();
#endif
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  std::string text(reinterpret_cast<const char*>(bytes), size);
  lathe::ptx::Parsed parsed = lathe::ptx::parse(text, "fuzz.ptx");
  if (parsed.errors.size() > 20) std::abort();
  plant(parsed.module);
  if (!parsed.errors.empty()) return 0;
  if (lathe::ptx::print(parsed.module) != text) std::abort();
  std::string normal = lathe::ptx::normal_form(parsed.module);
  lathe::ptx::Parsed again = lathe::ptx::parse(normal, "normal.ptx");
  if (again.errors.empty() && lathe::ptx::normal_form(again.module) != normal) std::abort();
  return 0;
}
