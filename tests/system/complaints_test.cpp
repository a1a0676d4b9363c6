// What a person does wrong with words and files, and what the program says to it.

#include <sys/stat.h>

#include <algorithm>
#include <thread>

#include "tests/json_schema.h"
#include "tests/places.h"
#include "tests/system/program.h"

namespace lathe {
namespace {

constexpr int usage = 64, bad_input = 65, io = 74, try_again = 75;

const std::string reference = small_contract + "/reference.ptx";

/// The error document of a command that fails so.
Json error_of(const std::vector<std::string>& words, int status) {
  ProcessEnd end = run_lathe(words);
  INFO(end.err);
  CHECK(end.status == status);
  CHECK_FALSE(end.err.empty());
  Json json = Json::parse(end.out, nullptr, false);
  REQUIRE(json.is_object());
  CHECK(json.begin().key() == "schema");
  for (const std::string& complaint : JsonSchema::of("error").complaints(json))
    FAIL_CHECK(complaint);
  CHECK(json["exit_status"] == status);
  return json;
}

TEST_CASE("an unknown subcommand is named, with the one that is near") {
  ProcessEnd end = run_lathe({"verfy", "a", "b"});
  CHECK(end.status == usage);
  has(end.err, "there is no subcommand `verfy`");
  has(end.err, "did you mean `verify`?");
  has(run_lathe({"qqqqqqqq"}).err, "lathe --help");
}

TEST_CASE("an unknown subcommand of a subcommand is named too") {
  ProcessEnd end = run_lathe({"ptx", "foo"});
  CHECK(end.status == usage);
  has(end.err, "there is no subcommand `foo` of `lathe ptx`");
  has(run_lathe({"contract", "chek", small_contract}).err, "did you mean `check`?");
  has(run_lathe({"ptx"}).err, "subcommand");
}

TEST_CASE("a pipe under the name of a contract's file is refused, not waited for") {
  Scratch folder;
  REQUIRE(::mkfifo((folder.path() / "contract.toml").c_str(), 0600) == 0);
  ProcessEnd end = run_lathe({"contract", "check", folder.path().string()});
  CHECK(end.status == bad_input);
  has(end.err, "plain files");
}

TEST_CASE("what could not be written is a fault, wherever in the text it happened") {
  ProcessLimits limits;
  limits.wall = std::chrono::minutes(1);
  auto end =
      run_process({"/bin/sh", "-c", std::string(build_folder) + "/bin/lathe --help-all >/dev/full"},
                  "", limits, source_folder);
  REQUIRE(end.has_value());
  CHECK(end->status == io);
  has(end->err, "standard output cannot be written");
}

TEST_CASE("what is printed goes into no other file where standard output is closed") {
  ProcessLimits limits;
  limits.wall = std::chrono::minutes(1);
  auto run = [&](const std::string& words) {
    auto end = run_process(
        {"/bin/bash", "-o", "pipefail", "-c", std::string(build_folder) + "/bin/lathe " + words},
        "", limits, source_folder);
    REQUIRE(end.has_value());
    return *end;
  };
  ProcessEnd closed = run("contract show " + small_contract + " >&-");
  CHECK(closed.status == io);
  has(closed.err, "standard output cannot be written");
  // A reader that has heard enough is nobody to complain to.
  ProcessEnd heard = run("--help-all | true");
  CHECK(heard.err.empty());
}

TEST_CASE("standard input cannot be both files of a question") {
  ProcessEnd end = run_lathe({"verify", "-", "-", "--contract", small_contract}, {}, source_folder,
                             text_of(reference));
  CHECK(end.status == usage);
  has(end.err, "standard input cannot be both files");
  CHECK(run_lathe({"verify", reference, "-", "--contract", small_contract}, {}, source_folder,
                  text_of(reference))
            .status == 0);
}

/// The reference with the first of some words put another way, in a file.
std::string planted(const Scratch& scratch, const std::string& from, const std::string& to) {
  std::string file = (scratch.path() / "b.ptx").string(), ptx = text_of(reference);
  std::size_t at = ptx.find(from);
  REQUIRE(at != std::string::npos);
  REQUIRE(write_file(file, ptx.replace(at, from.size(), to)).has_value());
  return file;
}

TEST_CASE("a value that differs is said with what it should be") {
  Scratch scratch;
  std::string file = planted(scratch, "add.f32", "sub.f32");
  ProcessEnd end = run_lathe({"verify", reference, file, "--contract", small_contract});
  CHECK(end.status == 1);
  has(end.out, "witness: y[");
  has(end.out, " where the reference has ");
  has(end.out, "(inputs: ");
}

TEST_CASE("a kernel without end stops at its limit when it is run") {
  Scratch scratch;
  std::string file = planted(scratch, "ret;", "forever:\nbra forever;");
  auto run = [&](const std::string& of) {
    return run_lathe(
        {"ptx", "run", of, "--contract", small_contract, "--blocks", "1", "--steps", "100000"});
  };
  ProcessEnd end = run(file);
  CHECK(end.status == 2);
  has(end.err, "is there a loop without end? --steps allows more");
  CHECK(run(reference).status == 0);
}

TEST_CASE("a missing word is called as the help calls it") {
  ProcessEnd end = run_lathe({"lower", "--rounds", "1"});
  CHECK(end.status == usage);
  has(end.err, "DIR is required");
  has(end.err, "see lathe lower --help");
}

TEST_CASE("the help that is named is that of the innermost subcommand, and says what lacks") {
  ProcessEnd end = run_lathe({"cluster", "admit", "ada", "--address", "h:1"});
  CHECK(end.status == usage);
  has(end.err, "--dir is required");
  has(end.err, "help: see lathe cluster admit --help");
  has(run_lathe({"cluster", "admit", "--help"}).out, "--dir");
  has(run_lathe({"contract", "check"}).err, "see lathe contract check --help");
  has(run_lathe({"ptx", "explain", "--wide"}).err, "see lathe ptx explain --help");
  has(run_lathe({"store", "export", "--wide"}).err, "see lathe store export --help");
  has(run_lathe({"cluster"}).err, "see lathe cluster --help");
  has(run_lathe({"--wide"}).err, "see lathe --help");
}

TEST_CASE("a range of blocks that the grid does not have is wrong usage, with the grid's size") {
  auto verify = [](const std::string& begin, const std::string& end) {
    return run_lathe({"verify", reference, reference, "--contract", small_contract, "--block-begin",
                      begin, "--block-end", end});
  };
  for (auto [begin, end] :
       {std::pair{"300", "0"}, {"8", "0"}, {"5", "3"}, {"3", "3"}, {"0", "9"}}) {
    ProcessEnd refused = verify(begin, end);
    INFO(begin << " " << end);
    CHECK(refused.status == usage);
    has(refused.err, "the grid has 8");
  }
  CHECK(verify("7", "0").status == 0);
  CHECK(verify("3", "5").status == 0);
  CHECK(verify("0", "8").status == 0);
}

TEST_CASE("a candidate that no assembler would take is refused at its line, not proved") {
  Scratch scratch;
  std::string file = (scratch.path() / "b.ptx").string(), ptx = text_of(reference);
  auto verify = [&](const std::string& text) {
    REQUIRE(write_file(file, text).has_value());
    return run_lathe({"verify", reference, file, "--contract", small_contract});
  };
  ProcessEnd twice = verify(ptx + ptx);
  CHECK(twice.status == bad_input);
  has(twice.err, "is defined again: line ");
  std::size_t at = ptx.find(".version 8"), end = ptx.find('\n', at);
  REQUIRE(at != std::string::npos);
  ProcessEnd newer = verify(std::string(ptx).replace(at, end - at, ".version 9.9"));
  CHECK(newer.status == bad_input);
  has(newer.err, "newer than the contract's ptx_isa");
  CHECK(verify(std::string(ptx).replace(at, end - at, ".version 9.0")).status == 0);
}

TEST_CASE("a target, a version or a line that does not exist is wrong usage, with what does") {
  ProcessEnd target = run_lathe({"ptx", "reference", "mma", "--target", "sm_12"});
  CHECK(target.status == usage);
  has(target.err, "`sm_12` is no target");
  has(target.err, "sm_90[a]");
  CHECK(run_lathe({"ptx", "reference", "mma", "--target", "sm_89a"}).status == usage);
  CHECK(run_lathe({"ptx", "reference", "mma", "--target", "sm_89"}).status == 0);
  has(run_lathe({"ptx", "reference", "mma", "--isa", "99.9"}).err, "the newest is 9.4");
  CHECK(run_lathe({"ptx", "reference", "mma", "--isa", "8.0"}).status == 0);
  std::string ptx = text_of(reference);
  auto lines = std::to_string(std::count(ptx.begin(), ptx.end(), '\n'));
  ProcessEnd line = run_lathe({"ptx", "explain", reference + ":99999"});
  CHECK(line.status == usage);
  has(line.err, "there is no line 99999: the file has " + lines);
  ProcessEnd last = run_lathe({"ptx", "explain", reference + ":" + lines});
  CHECK(last.status == 0);
  has(last.err, "holds no instruction");
}

TEST_CASE("a contract for a PTX that does not exist is refused with what does") {
  ContractCopy copy("ptx_isa = \"9.0\"", "ptx_isa = \"99.9\"");
  ProcessEnd end = run_lathe({"contract", "check", copy.path()});
  CHECK(end.status == bad_input);
  has(end.err, "contract.toml:5:11: error: `ptx_isa`: there is no PTX 99.9");
  has(end.err, "\"8.0\" to \"9.4\"");
  ContractCopy newest("ptx_isa = \"9.0\"", "ptx_isa = \"9.4\"");
  CHECK(run_lathe({"contract", "check", newest.path()}).status == 0);
}

TEST_CASE("a number below zero is no seed, and nothing runs") {
  Scratch scratch;
  std::string store = (scratch.path() / "store").string();
  for (std::string number : {"-1", "1e3", "18446744073709551616", "0x", ""}) {
    ProcessEnd end = run_lathe({"lower", small_contract, "--store", store, "--seed=" + number});
    INFO(number);
    CHECK(end.status == usage);
    CHECK_FALSE(std::filesystem::exists(store));
  }
  CHECK(run_lathe({"verify", reference, reference, "--contract", small_contract, "--seed",
                   "18446744073709551615", "--quiet"})
            .status == 0);
}

TEST_CASE("a class of inputs that the contract has not is wrong usage") {
  ProcessEnd end =
      run_lathe({"ptx", "run", reference, "--contract", small_contract, "--inputs", "nonsense"});
  CHECK(end.status == usage);
  has(end.err, "no inputs of class `nonsense`");
}

TEST_CASE("a verdict says on how many blocks stress inputs were run") {
  ProcessEnd end = run_lathe({"verify", reference, reference, "--contract", small_contract});
  CHECK(end.status == 0);
  has(end.out, "blocks on stress inputs ");
  CHECK(end.out.find("blocks on stress inputs 0") == std::string::npos);
}

TEST_CASE("the script of the README says how it is called, and runs nothing for a wrong word") {
  for (auto [word, status] : {std::pair{"--help", 0}, {"--uptade", usage}, {"--last", usage}}) {
    auto end = run_process({source_folder + std::string("/scripts/readme"), word}, "", {});
    REQUIRE(end.has_value());
    CHECK(end->status == status);
    has(end->out + end->err, "usage: scripts/readme");
  }
}

TEST_CASE("of the flags --cluster and --listen one without the other is wrong usage") {
  ProcessEnd end = run_lathe({"lower", small_contract, "--store", "/nowhere/s", "--cluster", "f"});
  CHECK(end.status == usage);
  has(end.err, "belong together");
  CHECK(run_lathe({"lower", small_contract, "--store", "/nowhere/s", "--cluster", "f", "--listen",
                   "nowhere"})
            .status == usage);
  CHECK(run_lathe({"resume", "--store", "/nowhere/s", "--slots", "0"}).status == usage);
}

TEST_CASE("what cannot begin a digest is wrong usage, before any store is looked at") {
  for (std::string digits : {"", "xyz", "12 34"}) {
    INFO(digits);
    CHECK(run_lathe({"show", digits, "--store", "/nowhere"}).status == usage);
  }
  CHECK(run_lathe({"show", "12ab", "--store", "/nowhere"}).status == io);
}

TEST_CASE("resuming where there is no store makes none") {
  Scratch scratch;
  std::string store = (scratch.path() / "store").string();
  ProcessEnd end = run_lathe({"resume", "--store", store});
  CHECK(end.status == 74);
  has(end.err, "no run to go on with");
  CHECK_FALSE(std::filesystem::exists(store));
}

TEST_CASE("a place that keeps no files is not called a full disk") {
  ProcessEnd end = run_lathe({"lower", small_contract, "--store", "/proc/x", "--rounds", "1"});
  CHECK(end.status == io);
  has(end.err, "/proc/x: error: no file can be kept there");
  CHECK(end.err.find("full") == std::string::npos);
}

TEST_CASE("with --json a complaint is a document too") {
  Json json =
      error_of({"verify", reference, "/nowhere.ptx", "--contract", small_contract, "--json"}, io);
  CHECK(json["errors"][0]["file"] == "/nowhere.ptx");
  ContractCopy bad("sm_90a", "sm_77");
  json = error_of({"lower", bad.path(), "--store", "/nowhere/s", "--json", "--quiet"}, bad_input);
  CHECK(json["errors"][0]["line"] == 4);
  CHECK(json["errors"][0]["column"] == 10);
  error_of({"test", "/nowhere.ptx", "--contract", small_contract, "--json"}, io);
  error_of({"frontier", "--store", "/nowhere", "--json"}, io);
  error_of({"runs", "--store", "/nowhere", "--json"}, io);
  error_of({"show", "12ab", "--store", "/nowhere", "--json"}, io);
  error_of({"contract", "show", "/nowhere", "--json"}, io);
  error_of({"try", "/nowhere.ptx", "--contract", small_contract, "--json"}, io);
}

TEST_CASE("with --json wrong usage is a document too") {
  CHECK(error_of({"frobnicate", "--json"}, usage)["errors"][0]["what"] ==
        "there is no subcommand `frobnicate`");
  error_of({"verify", "a.ptx", "--json"}, usage);
  error_of({"verify", reference, reference, "--contract", small_contract, "--launch-b", "gird=1",
            "--json"},
           usage);
}

TEST_CASE("PTX of another target is no candidate of this contract, but may be what is right") {
  std::string other =
      std::string(source_folder) + "/tests/kernels/contracts/sum_8x512_fp16_sm_89/reference.ptx";
  ProcessEnd end = run_lathe({"verify", reference, other, "--contract", small_contract});
  CHECK(end.status == bad_input);
  has(end.err, ".target is `sm_89`, but the contract's is `sm_90a`");
  has(end.err, "help: write `.target sm_90a`");
  CHECK(run_lathe({"verify", other, reference, "--contract", small_contract, "--quiet"}).status ==
        0);
  CHECK(run_lathe({"test", other, "--contract", small_contract, "--quiet"}).status == 1);
}

TEST_CASE("an undecided proof ends with 2") {
  ProcessEnd end = run_lathe(
      {"verify", reference, reference, "--contract", small_contract, "--steps", "50", "--json"});
  CHECK(end.status == 2);
  CHECK(Json::parse(end.out)["reason_code"] == "exhausted");
}

TEST_CASE("stress runs count the blocks that they cover, not each class anew") {
  ProcessEnd end =
      run_lathe({"verify", reference, reference, "--contract", small_contract, "--json"});
  CHECK(Json::parse(end.out)["scope"]["stress_blocks"] == 8);
}

TEST_CASE("a grid that reaches beyond its tensors is refused at the reference's line") {
  ContractCopy wide("grid = [8, 1, 1]", "grid = [9, 1, 1]");
  ProcessEnd end = run_lathe({"contract", "check", wide.path()});
  CHECK(end.status == bad_input);
  has(end.err, "reference.ptx:");
  has(end.err, "block 8");
  CHECK(run_lathe({"contract", "check", small_contract}).status == 0);
}

TEST_CASE("a proof that processes share is the proof of one, and a mistake in any range ends it") {
  auto answer = [&](const std::string& candidate, const std::string& threads) {
    return Json::parse(run_lathe({"verify", reference, candidate, "--contract", small_contract,
                                  "--threads", threads, "--seed", "5", "--json"})
                           .out);
  };
  Json one = answer(reference, "1"), three = answer(reference, "3");
  CHECK(three["verdict"] == "proved");
  CHECK(three["scope"]["blocks"] == 8);
  CHECK(three["scope"]["outputs_compared"] == one["scope"]["outputs_compared"]);
  CHECK(three["bound"] == one["bound"]);
  for (const std::string& complaint : JsonSchema::of("verify").complaints(three))
    FAIL_CHECK(complaint);
  // Of the last block only.
  std::string wrong =
      text_of(std::string(source_folder) + "/tests/kernels/mistakes/sum_last_block.ptx");
  std::size_t at = wrong.find("sm_89");
  REQUIRE(at != std::string::npos);
  wrong.replace(at, 5, "sm_90a");
  Scratch scratch;
  std::string file = (scratch.path() / "wrong.ptx").string();
  REQUIRE(write_file(file, wrong).has_value());
  CHECK(answer(file, "3")["verdict"] == "refuted");
}

TEST_CASE("two who want one store at once are told so, and nobody sees the engine's words") {
  Scratch scratch;
  std::string store = (scratch.path() / "store").string();
  std::string ptx = (scratch.path() / "bad.ptx").string();
  REQUIRE(write_file(ptx, "nonsense\n").has_value());
  REQUIRE(run_lathe({"try", ptx, "--contract", small_contract, "--store", store}).status == 1);
  std::vector<ProcessEnd> ends(16);
  std::vector<std::thread> threads;
  for (std::size_t side = 0; side < 2; ++side)
    threads.emplace_back([&, side] {
      for (std::size_t i = side; i < ends.size(); i += 2)
        if (auto end = run_process({std::string(build_folder) + "/bin/lathe", "try", ptx,
                                    "--contract", small_contract, "--store", store},
                                   "", {}, source_folder))
          ends[i] = *end;
    });
  for (std::thread& thread : threads) thread.join();
  for (const ProcessEnd& end : ends) {
    INFO(end.err);
    CHECK((end.status == 1 || end.status == try_again));
    CHECK(end.err.find("IO error") == std::string::npos);
  }
}

}  // namespace
}  // namespace lathe
