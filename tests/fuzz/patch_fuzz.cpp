// Any bytes as a proposer's reply against a small module: it applies or is refused, and what was
// applied differs from the parent by what diff says.

#include <cstdint>
#include <cstdlib>
#include <string>

#include "ptx/patch.h"

namespace {

const std::string parent =
    ".version 8.7\n.target sm_90a\n.address_size 64\n"
    ".visible .entry k(.param .u64 out)\n{\n.reg .b64 %rd<3>;\n.reg .b32 %r<4>;\n"
    "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nadd.s32 %r2, %r1, 1;\n"
    "mul.lo.s32 %r3, %r2, %r1;\nst.global.u32 [%rd1], %r3;\nret;\n}\n";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  std::string reply(reinterpret_cast<const char*>(bytes), size);
  lathe::Result<std::string> changed = lathe::ptx::apply_reply(parent, reply);
  if (!changed) {
    if (changed.error().what.empty()) std::abort();  // A refusal has its reason.
    return 0;
  }
  std::string difference = lathe::ptx::diff(parent, *changed);
  if (difference.empty() != (*changed == parent)) std::abort();
  // A diff of ours is a reply that gives the same text again.
  if (difference.empty() || changed->find('\0') != std::string::npos) return 0;
  lathe::Result<std::string> again = lathe::ptx::apply_reply(parent, difference);
  if (again && *again != *changed) std::abort();
  return 0;
}
