#include "pipeline/forms.h"

#include "ptx/isa.h"

namespace lathe {

std::vector<Error> unmatched_forms(const ptx::Module& module, const std::string& target) {
  auto architecture = ptx::parse_target(target);
  if (!architecture) return {architecture.error()};
  auto version = ptx::parse_isa_version(module.version);
  if (!version) return {version.error()};
  std::vector<Error> errors;
  for (const ptx::Function& function : module.functions)
    for (const ptx::Instruction& instruction : function.instructions) {
      auto matched = ptx::match(instruction, *version, *architecture);
      if (matched) continue;
      errors.push_back(matched.error());
      errors.back().place = module.place(instruction.span);
    }
  return errors;
}

}  // namespace lathe
