// A contract's reference must be what contract.toml says it is.

#include "tests/pipeline/kernel.h"
#include "tests/places.h"

namespace lathe {
namespace {

Opened opened(const std::string& toml, const std::string& ptx) {
  Scratch scratch;
  REQUIRE(write_file(scratch.path() / "contract.toml", toml).has_value());
  REQUIRE(write_file(scratch.path() / "reference.ptx", ptx).has_value());
  return open_contract(scratch.path());
}

/// The one complaint, at the line of contract.toml that holds `at`.
void refused(const std::string& toml, const std::string& ptx, const std::string& what,
             const std::string& at) {
  Opened door = opened(toml, ptx);
  REQUIRE(door.errors.size() >= 1);
  INFO(door.errors[0].what);
  CHECK(door.contract == nullptr);
  CHECK(door.errors[0].what.find(what) != std::string::npos);
  CHECK(door.errors[0].place.file.ends_with("contract.toml"));
  CHECK(door.errors[0].place.line == line_in(toml, at));
}

TEST_CASE("a contract that fits its reference is opened") {
  Opened door = opened(kernel_toml, kernel_ptx);
  REQUIRE(door.errors.empty());
  CHECK(door.contract->reference == kernel_ptx);
}

TEST_CASE("every shipped contract is opened") {
  std::size_t count = 0;
  for (const char* folder : {"/suite/contracts", "/tests/kernels/contracts"})
    for (const auto& entry :
         std::filesystem::directory_iterator(std::string(source_folder) + folder)) {
      if (!entry.is_directory()) continue;
      INFO(entry.path());
      Opened door = open_contract(entry.path());
      for (const Error& error : door.errors) UNSCOPED_INFO(error.what);
      CHECK(door.errors.empty());
      ++count;
    }
  CHECK(count >= 12);
}

TEST_CASE("an entry that the reference lacks is refused, with the one it has") {
  std::string toml = edited(kernel_toml, "entry = \"twice\"", "entry = \"twise\"");
  refused(toml, kernel_ptx, "no entry `twise`", "twise");
}

TEST_CASE("a target or version that disagrees is refused") {
  refused(edited(kernel_toml, "sm_90a", "sm_89"), kernel_ptx, ".target is `sm_90a`", "sm_89");
  refused(edited(kernel_toml, "\"8.7\"", "\"8.6\""), kernel_ptx, "newer than", "8.6");
  CHECK(opened(edited(kernel_toml, "\"8.7\"", "\"9.0\""), kernel_ptx).errors.empty());
}

TEST_CASE("parameters must agree in number and size") {
  std::string third = "[[parameter]]\nname = \"n\"\ntype = \"u32\"\nvalue = 512\n";
  refused(edited(kernel_toml, third,
                 third + "\n[[parameter]]\nname = \"m\"\ntype = \"u32\"\nvalue = 1\n"),
          kernel_ptx, "has 3 parameters, but the contract has 4", "type = \"u32\"\nvalue = 1\n");
  refused(edited(kernel_toml, "type = \"u32\"", "type = \"u64\""), kernel_ptx, "is .u32",
          "type = ");
  refused(edited(kernel_toml, "type = \"u32\"\nvalue = 512", "type = \"f32\"\nvalue = 512"),
          kernel_ptx, "is .u32", "type = ");
}

TEST_CASE("signs and untyped parameters agree with anything of their size") {
  CHECK(opened(edited(kernel_toml, "type = \"u32\"", "type = \"s32\""), kernel_ptx).errors.empty());
  CHECK(opened(edited(kernel_toml, "type = \"u32\"", "type = \"b32\""), kernel_ptx).errors.empty());
  CHECK(opened(kernel_toml, kernel_with(".param .u32", ".param .b32")).errors.empty());
}

TEST_CASE("a parameter passed by value as a structure is unsupported") {
  Opened door = opened(kernel_toml, kernel_with(".param .u32 twice_param_2",
                                                ".param .align 64 .b8 twice_param_2[128]"));
  REQUIRE(door.errors.size() == 1);
  CHECK(door.errors[0].fault == Fault::unsupported);
}

TEST_CASE(".reqntid must be the block, and .maxntid must admit it") {
  refused(edited(kernel_toml, "block = [128, 1, 1]", "block = [256, 1, 1]"), kernel_ptx,
          ".reqntid is [128, 1, 1]", "block");
  CHECK(opened(kernel_toml, kernel_with(".reqntid 128, 1, 1", ".reqntid 128")).errors.empty());
  CHECK(opened(kernel_toml, kernel_with(".reqntid 128, 1, 1", ".maxntid 256")).errors.empty());
  refused(kernel_toml, kernel_with(".reqntid 128, 1, 1", ".maxntid 64"), "below the contract's",
          "block");
}

TEST_CASE("static and dynamic shared memory together must fit the target") {
  std::string shared = ".address_size 64\n.shared .align 16 .b8 buffer[232000];\n";
  std::string ptx = kernel_with(".address_size 64\n", shared);
  std::string block = "block = [128, 1, 1]\n";
  CHECK(opened(kernel_toml, ptx).errors.empty());
  refused(edited(kernel_toml, block, block + "dynamic_shared_bytes = 1024\n"), ptx,
          "233024 bytes of shared memory", "dynamic_shared_bytes");
}

TEST_CASE("a reference that does not parse is refused at its own place") {
  Opened door = opened(kernel_toml, kernel_with("ret;\n}", "ret;\n"));
  REQUIRE_FALSE(door.errors.empty());
  CHECK(door.errors[0].place.file.ends_with("reference.ptx"));
  CHECK(door.errors[0].place.line > 0);
}

TEST_CASE("several disagreements come at once") {
  std::string toml = edited(kernel_toml, "block = [128, 1, 1]", "block = [64, 1, 1]");
  CHECK(opened(edited(toml, "type = \"u32\"", "type = \"u16\""), kernel_ptx).errors.size() == 2);
}

}  // namespace
}  // namespace lathe
