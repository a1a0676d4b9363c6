// A recorded transcript: one good patch and three that must not get by, two of them planted at a
// place that a seed chooses when the test runs. Each is stopped at its own gate, with evidence.

#include <algorithm>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

#include "base/files.h"
#include "base/json.h"
#include "base/random.h"
#include "living.h"
#include "ptx/patch.h"

namespace lathe::system_test {
namespace {

const std::string contract = small_contract("softmax_8x256_fp16_sm_90a");

std::string reference() {
  std::ifstream file(contract + "/reference.ptx");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Lines whose text holds all the parts, by number from 0.
std::vector<std::size_t> lines_with(const std::vector<std::string>& lines,
                                    const std::string& part) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (lines[i].find(part) != std::string::npos) found.push_back(i);
  return found;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}
std::string join(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

/// The registers of a line, in order.
std::vector<std::string> operands(const std::string& line) {
  std::vector<std::string> found;
  for (std::size_t at = line.find('%'); at != std::string::npos; at = line.find('%', at + 1))
    found.push_back(line.substr(at, line.find_first_of(",;", at) - at));
  return found;
}

/// The first three lines of such a chain over four elements become a tree.
void balance(std::vector<std::string>& lines, const std::string& opcode) {
  std::size_t first = lines_with(lines, opcode).front();
  std::vector<std::string> a = operands(lines[first]), b = operands(lines[first + 1]),
                           c = operands(lines[first + 2]);
  lines[first + 1] = "\t" + opcode + " \t" + b[0] + ", " + b[2] + ", " + c[2] + ";";
  lines[first + 2] = "\t" + opcode + " \t" + c[0] + ", " + a[0] + ", " + b[0] + ";";
}

/// One reciprocal for the four divisions of a row by its sum, and trees where there were chains.
std::string good() {
  std::vector<std::string> lines = split(reference());
  balance(lines, "max.f32");
  balance(lines, "add.f32");
  std::vector<std::size_t> divisions = lines_with(lines, "div.full.f32");
  REQUIRE(divisions.size() == 4);
  std::string sum = operands(lines[divisions[0]])[2];
  for (std::size_t at : divisions) {
    std::vector<std::string> words = operands(lines[at]);
    REQUIRE(words[2] == sum);
    lines[at] = "\tmul.f32 \t" + words[0] + ", " + words[1] + ", %inverse1;";
  }
  lines[divisions[0]] = "\trcp.approx.ftz.f32 \t%inverse1, " + sum + ";\n" + lines[divisions[0]];
  std::size_t declared = lines_with(lines, ".reg .b32").front();
  lines[declared] += "\n\t.reg .b32 \t%inverse<2>;";
  return join(lines);
}

/// One of the sums or divisions takes its neighbour's element once more.
std::string off_by_one(std::uint64_t seed) {
  std::vector<std::string> lines = split(reference());
  std::vector<std::size_t> sums = lines_with(lines, "add.f32");
  std::vector<std::size_t> divisions = lines_with(lines, "div.full.f32");
  REQUIRE(sums.size() > 3);
  REQUIRE(divisions.size() == 4);
  std::uint64_t draw = philox64(seed, 1, 0) % 5;
  bool divides = draw >= 2;
  std::size_t at = divides ? divisions[draw - 1] : sums[draw + 1];
  std::size_t element = divides ? 1 : 2;
  std::vector<std::string> own = operands(lines[at]), before = operands(lines[at - 1]);
  own[element] = before[element];
  lines[at] =
      lines[at].substr(0, lines[at].find('%')) + own[0] + ", " + own[1] + ", " + own[2] + ";";
  return join(lines);
}

/// One of the barriers is gone.
std::string racing(std::uint64_t seed) {
  std::vector<std::string> lines = split(reference());
  std::vector<std::size_t> barriers = lines_with(lines, "bar.sync");
  REQUIRE(barriers.size() == 5);
  lines.erase(lines.begin() +
              static_cast<std::ptrdiff_t>(barriers[philox64(seed, 2, 0) % barriers.size()]));
  return join(lines);
}

std::string unreadable(std::size_t& line) {
  std::vector<std::string> lines = split(reference());
  line = lines_with(lines, "div.full.f32").front() + 1;
  lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(line - 1), "\tadd.f32 %r1 %r2 ;;; {");
  return join(lines);
}

std::string fenced(const std::string& text) { return "Here it is.\n```ptx\n" + text + "```\n"; }

void write_transcript(const std::string& path, const std::vector<std::string>& replies) {
  std::ofstream file(path);
  for (std::size_t i = 0; i < replies.size(); ++i) {
    Json line;
    line["round"] = 1;
    line["branch"] = i + 1;
    line["reply"] = replies[i];
    line["usage"] = {{"prompt_tokens", 100}, {"completion_tokens", 10}};
    file << line.dump() << "\n";
  }
}

/// Verdicts of round 1 by branch: the last one told of each proposal.
struct Told {
  std::map<std::uint64_t, std::string> candidates;  // Of a branch.
  std::map<std::string, std::vector<Json>> verdicts;
};

Told told_by(const Program& program) {
  Told told;
  for (const std::string& line : program.lines()) {
    std::size_t space = line.find(' ');
    if (space == std::string::npos) continue;
    Json json = Json::parse(line.substr(space + 1), nullptr, false);
    if (json.is_discarded()) continue;
    if (line.starts_with("proposal ") && json.contains("candidate"))
      told.candidates[json["branch"].get<std::uint64_t>()] = json["candidate"];
    if (line.starts_with("verdict ")) told.verdicts[json["candidate"]].push_back(json);
  }
  return told;
}

const Json* refusal(const Told& told, std::uint64_t branch) {
  auto candidate = told.candidates.find(branch);
  if (candidate == told.candidates.end()) return nullptr;
  auto verdicts = told.verdicts.find(candidate->second);
  if (verdicts == told.verdicts.end()) return nullptr;
  for (const Json& verdict : verdicts->second)
    if (verdict["answer"] != "passed") return &verdict;
  return nullptr;
}

TEST_CASE("of a transcript the good patch is admitted and three are refused at the right gate") {
  std::uint64_t seed = std::random_device{}();
  CAPTURE(seed);
  Folder folder;
  std::size_t unreadable_line = 0;
  write_transcript(
      folder / "transcript.jsonl",
      {"One reciprocal will do.\n```diff\n" + ptx::diff(reference(), good()) + "```\n",
       fenced(unreadable(unreadable_line)), fenced(off_by_one(seed)), fenced(racing(seed))});
  Program program({"lower", contract, "--store", folder / "store", "--model",
                   "recorded:" + (folder / "transcript.jsonl"), "--rounds", "1", "--branches", "4",
                   "--device", "emulated", "--verbose"});
  int status = program.wait(seconds(120));
  INFO(program.err());
  INFO(program.out());
  REQUIRE(status == 0);
  Told told = told_by(program);
  REQUIRE(told.candidates.size() == 4);
  CHECK(refusal(told, 1) == nullptr);

  const Json* screen = refusal(told, 2);
  REQUIRE(screen != nullptr);
  CHECK((*screen)["gate"] == "screen");
  CHECK((*screen)["answer"] == "rejected");
  CHECK((*screen)["line"] == unreadable_line);

  const Json* value = refusal(told, 3);
  REQUIRE(value != nullptr);
  CHECK((*value)["gate"] == "test");
  CHECK((*value)["answer"] == "rejected");
  CHECK((*value)["evidence"].dump().find("index") != std::string::npos);

  const Json* race = refusal(told, 4);
  REQUIRE(race != nullptr);
  CHECK((*race)["gate"] == "sanitize");
  CHECK((*race)["answer"] == "rejected");
  CHECK((*race)["code"] == "race");
  CHECK((*race)["evidence"].dump().find("\"thread\"") != std::string::npos);
  CHECK(race->contains("line"));

  Ran frontier = ran({"frontier", "--store", folder / "store", "--json"});
  REQUIRE(frontier.status == 0);
  CHECK(frontier.out.find(told.candidates[1]) != std::string::npos);
  for (std::uint64_t branch : {2, 3, 4})
    CHECK(frontier.out.find(told.candidates[branch]) == std::string::npos);
}

TEST_CASE("a transcript that is killed halfway ends as a whole one does") {
  Folder folder;
  write_transcript(folder / "transcript.jsonl",
                   {fenced(good()), fenced(off_by_one(7)), fenced(racing(7))});
  auto lower = [&](const std::string& store) {
    return std::vector<std::string>{
        "lower",    contract,   "--store",
        store,      "--model",  "recorded:" + (folder / "transcript.jsonl"),
        "--rounds", "1",        "--branches",
        "3",        "--verbose"};
  };
  REQUIRE(ran(lower(folder / "whole")).status == 0);
  {
    Program program(lower(folder / "killed"));
    REQUIRE(program.read_until("proposal ", seconds(60)));
    program.kill(SIGKILL);
    program.wait(seconds(20));
  }
  REQUIRE(ran({"resume", "--store", folder / "killed"}).status == 0);
  CHECK(exported(folder / "killed") == exported(folder / "whole"));
}

}  // namespace
}  // namespace lathe::system_test
