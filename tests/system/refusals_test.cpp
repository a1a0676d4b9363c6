// Each refusal by exit status and place of its message, and a store that it left alone.

#include <sys/mount.h>

#include "base/json.h"
#include "store/export.h"
#include "store/store.h"
#include "tests/system/program.h"

namespace lathe {
namespace {

constexpr int usage = 64, bad_input = 65, unavailable = 69, io = 74, try_again = 75;

/// A store, and what it says before and after.
class KeptStore {
 public:
  KeptStore() {
    auto store = store::Store::open(path());
    REQUIRE(store.has_value());
  }
  std::string path() const { return (scratch_.path() / "store").string(); }
  std::string exported() const {
    ProcessEnd end = run_lathe({"store", "export", "--store", path()});
    CHECK(end.status == 0);
    return end.out;
  }

 private:
  Scratch scratch_;
};

/// `lathe lower` on a directory is refused with this status and message; the store stays as it was.
void lower_refuses(const std::string& directory, int status, const std::string& message) {
  KeptStore store;
  std::string before = store.exported();
  ProcessEnd end = run_lathe({"lower", directory, "--store", store.path(), "--rounds", "1"});
  INFO(end.err);
  CHECK(end.status == status);
  CHECK(end.err.find(message) != std::string::npos);
  CHECK(end.out.empty());
  CHECK(store.exported() == before);
}

TEST_CASE("a contract that is not there is refused with 74 and its path") {
  lower_refuses("/nowhere/at/all", io, "/nowhere/at/all/contract.toml");
  CHECK(run_lathe({"contract", "check", "/nowhere/at/all"}).status == io);
}

TEST_CASE("an empty contract is refused with 65") {
  ContractCopy copy;
  copy.write("contract.toml", "");
  lower_refuses(copy.path(), bad_input, "contract.toml");
}

TEST_CASE("a contract of 100 MB is refused with 65 before it is read whole") {
  ContractCopy copy;
  copy.write("contract.toml", std::string(std::size_t{100} << 20, '#'));
  lower_refuses(copy.path(), bad_input, "larger than");
}

TEST_CASE("binary garbage is refused with 65, as a contract and as a reference") {
  std::string garbage(
      "\x7f"
      "ELF\0\1\2\xff\xfe",
      9);
  ContractCopy copy;
  copy.write("contract.toml", garbage);
  lower_refuses(copy.path(), bad_input, "contract.toml");
  ContractCopy other;
  other.write("reference.ptx", garbage);
  lower_refuses(other.path(), bad_input, "reference.ptx");
}

TEST_CASE("an unknown target is refused with 65 at its line and column") {
  ContractCopy copy("sm_90a", "sm_77");
  lower_refuses(copy.path(), bad_input, "contract.toml:4:10: error: `target`");
}

TEST_CASE("an unknown key is refused with 65, a caret and the nearest name") {
  ContractCopy copy("dynamic_shared_bytes", "dynamic_shared_byte");
  ProcessEnd end = run_lathe({"contract", "check", copy.path()});
  CHECK(end.status == bad_input);
  has(end.err, "contract.toml:11:1: error: unknown key `launch.dynamic_shared_byte`");
  has(end.err, "\n  dynamic_shared_byte = ");
  has(end.err, "\n  ^\nhelp: did you mean `dynamic_shared_bytes`?");
  lower_refuses(copy.path(), bad_input, "unknown key");
}

TEST_CASE("fields that contradict are refused with 65") {
  ContractCopy copy("block = [", "block = [1024, 1, 1] # ");
  lower_refuses(copy.path(), bad_input, ".reqntid");
}

TEST_CASE("an entry that the reference lacks is refused with 65") {
  ContractCopy copy("entry = \"", "entry = \"x");
  lower_refuses(copy.path(), bad_input, "no entry");
}

TEST_CASE("wrong flags are refused with 64") {
  CHECK(run_lathe({}).status == usage);
  CHECK(run_lathe({"frobnicate"}).status == usage);
  CHECK(run_lathe({"lower"}).status == usage);
  CHECK(run_lathe({"lower", small_contract, "--rounds", "many"}).status == usage);
  CHECK(run_lathe({"contract", "check", small_contract, "--wide"}).status == usage);
  CHECK(run_lathe({"verify", "a.ptx"}).status == usage);
}

TEST_CASE("a launch that is none is refused with 64") {
  std::string reference = small_contract + "/reference.ptx";
  for (std::string launch : {"grid=0", "block=2x2x2x2", "shared=x", "gird=1", "grid"}) {
    INFO(launch);
    ProcessEnd end = run_lathe(
        {"verify", reference, reference, "--contract", small_contract, "--launch-b", launch});
    CHECK(end.status == usage);
    has(end.err, launch);
  }
}

TEST_CASE("PTX that is missing, empty, binary or too large is refused") {
  Scratch scratch;
  std::string file = (scratch.path() / "x.ptx").string();
  auto verify = [&] {
    return run_lathe(
        {"verify", small_contract + "/reference.ptx", file, "--contract", small_contract});
  };
  CHECK(verify().status == io);
  REQUIRE(write_file(file, "").has_value());
  CHECK(verify().status == bad_input);
  REQUIRE(write_file(file, std::string("\0\1\2", 3)).has_value());
  CHECK(verify().status == bad_input);
  REQUIRE(write_file(file, std::string(std::size_t{65} << 20, '\n')).has_value());
  CHECK(verify().status == bad_input);
  REQUIRE(write_file(file, ".version 8.7\n.target sm_90a\nnonsense\n").has_value());
  ProcessEnd end = verify();
  CHECK(end.status == bad_input);
  has(end.err, file + ":3:1: error:");
}

TEST_CASE("an assembler that nobody has is named, with 69") {
  Json doctor = Json::parse(run_lathe({"doctor", "--json"}).out);
  for (const Json& one : doctor["assemblers"])
    if (one["ptx_isa_max"] == "9.4") {
      std::puts("LATHE-SKIP: an assembler of the newest PTX is here");
      return;
    }
  ContractCopy copy("ptx_isa = \"9.0\"", "ptx_isa = \"9.4\"");
  std::string reference = copy.file("reference.ptx");
  ProcessEnd end = run_lathe({"test", reference, "--contract", copy.path()});
  CHECK(end.status == unavailable);
  has(end.err, "no assembler reads PTX 9.4");
}

TEST_CASE("a store that another process owns is refused with 75, and its owner is said") {
  Scratch scratch;
  std::string place = (scratch.path() / "store").string();
  store::StoreOptions options;
  options.program = "the test itself";
  auto owner = store::Store::open(place, options);
  REQUIRE(owner.has_value());
  auto before = store::export_text(**owner);
  ProcessEnd end = run_lathe({"lower", small_contract, "--store", place, "--rounds", "1"});
  CHECK(end.status == try_again);
  has(end.err, "the test itself");
  CHECK(*store::export_text(**owner) == *before);
}

TEST_CASE("a store that is not there is refused with 74") {
  ProcessEnd end = run_lathe({"frontier", "--store", "/nowhere/at/all"});
  CHECK(end.status == io);
  has(end.err, "/nowhere/at/all");
}

TEST_CASE("a full disk is refused with 74, and the store opens again as it was") {
  Scratch scratch;
  std::string disk = (scratch.path() / "disk").string();
  std::filesystem::create_directory(disk);
  if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=4m") != 0) {
    std::puts("LATHE-SKIP: a small file system cannot be mounted here");
    return;
  }
  ProcessEnd end =
      run_lathe({"lower", small_contract, "--store", disk + "/store", "--rounds", "1"});
  CHECK(end.status == io);
  CHECK(end.err.find("space") != std::string::npos);
  ::umount(disk.c_str());
}

TEST_CASE("lathe.toml with an unknown key is refused with 65 at its line") {
  Scratch scratch;
  REQUIRE(write_file(scratch.path() / "lathe.toml", "# mine\nrouns = 3\n").has_value());
  ProcessEnd end = run_lathe({"version"}, {}, scratch.path());
  CHECK(end.status == bad_input);
  has(end.err, "lathe.toml:2:1: error: unknown key `rouns`");
  has(end.err, "did you mean `rounds`?");
}

}  // namespace
}  // namespace lathe
