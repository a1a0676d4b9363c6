#pragma once

// A small contract and its kernel, and edits of them.

#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "base/files.h"
#include "pipeline/admission.h"

namespace lathe {

inline const std::string kernel_toml = R"(format = 1
name = "twice"
entry = "twice"
target = "sm_90a"
ptx_isa = "8.7"

[launch]
grid = [4, 1, 1]
block = [128, 1, 1]

[[parameter]]
name = "x"
tensor = "x"

[[parameter]]
name = "y"
tensor = "y"

[[parameter]]
name = "n"
type = "u32"
value = 512

[[tensor]]
name = "x"
dtype = "f32"
shape = [512]
role = "input"

[[tensor]]
name = "y"
dtype = "f32"
shape = [512]
role = "output"

[tolerance]
absolute = 0
relative = 1e-6
)";

inline const std::string kernel_ptx = R"(.version 8.7
.target sm_90a
.address_size 64

.visible .entry twice(
  .param .u64 twice_param_0,
  .param .u64 twice_param_1,
  .param .u32 twice_param_2
)
.reqntid 128, 1, 1
{
  .reg .pred %p<2>;
  .reg .b32 %r<8>;
  .reg .f32 %f<4>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [twice_param_0];
  ld.param.u64 %rd2, [twice_param_1];
  ld.param.u32 %r1, [twice_param_2];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r2, 128, %r3;
  setp.ge.u32 %p1, %r4, %r1;
  @%p1 bra $L__end;
  mul.wide.u32 %rd3, %r4, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  ld.global.f32 %f1, [%rd4];
  add.f32 %f2, %f1, %f1;
  st.global.f32 [%rd5], %f2;
$L__end:
  ret;
}
)";

inline std::string edited(std::string text, const std::string& before, const std::string& after) {
  std::size_t at = text.find(before);
  INFO(before);
  REQUIRE(at != std::string::npos);
  return text.replace(at, before.size(), after);
}

/// The kernel with one text replaced.
inline std::string kernel_with(const std::string& before, const std::string& after) {
  return edited(kernel_ptx, before, after);
}

inline std::shared_ptr<const Contract> kernel_contract(const std::string& toml = kernel_toml,
                                                       const std::string& reference = kernel_ptx) {
  auto contract = parse_contract(toml, "contract.toml");
  if (!contract) FAIL(contract.error().what);
  contract->reference = reference;
  return std::make_shared<const Contract>(*std::move(contract));
}

inline std::uint32_t line_in(const std::string& text, const std::string& part) {
  std::size_t at = text.find(part);
  REQUIRE(at != std::string::npos);
  std::uint32_t line = 1;
  for (std::size_t i = 0; i < at; ++i) line += text[i] == '\n' ? 1 : 0;
  return line;
}

}  // namespace lathe
