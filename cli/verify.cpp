// lathe verify: does one PTX compute what another does, over the contract's inputs?

#include <sys/resource.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "base/files.h"
#include "base/json.h"
#include "cli/complaint.h"
#include "cli/exit_status.h"
#include "cli/input_file.h"
#include "cli/kept_journal.h"
#include "cli/subcommand.h"
#include "cli/verification.h"
#include "cli/verify_split.h"
#include "cli/version.h"
#include "cli/waiting.h"
#include "pipeline/abi.h"
#include "pipeline/admission.h"
#include "verifier_node/verify.h"

namespace lathe::cli {
namespace {

using Options = Verification;

Error bad_launch(const std::string& text) {
  return {Fault::malformed,
          "`" + text + "` is no launch",
          "write grid=4096x1x1,block=256x1x1,shared=32; parts may be left out",
          {}};
}

/// "256x1x1"; what is left out is 1.
bool read_extent(std::string_view text, std::array<std::uint32_t, 3>& extent) {
  extent = {1, 1, 1};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    std::size_t end = text.find('x');
    std::string_view one = text.substr(0, end);
    auto [stop, code] = std::from_chars(one.data(), one.data() + one.size(), extent[axis]);
    if (code != std::errc() || stop != one.data() + one.size() || extent[axis] == 0) return false;
    if (end == std::string_view::npos) return true;
    text.remove_prefix(end + 1);
  }
  return false;
}

Result<Launch> launch_of_flag(const std::string& flag, Launch launch) {
  std::string_view rest = flag;
  while (!rest.empty()) {
    std::size_t end = rest.find(',');
    std::string_view part = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    std::string_view value = part.substr(std::min(part.size(), part.find('=') + 1));
    bool good = false;
    if (part.starts_with("grid=")) good = read_extent(value, launch.grid);
    if (part.starts_with("block=")) good = read_extent(value, launch.block);
    if (part.starts_with("cluster=")) good = read_extent(value, launch.cluster);
    if (part.starts_with("shared=")) {
      auto [stop, code] =
          std::from_chars(value.data(), value.data() + value.size(), launch.dynamic_shared_bytes);
      good = code == std::errc() && stop == value.data() + value.size();
    }
    if (!good) return bad_launch(flag);
  }
  return launch;
}

/// The flag, else FILE.toml beside FILE.ptx, else the file's .reqntid, else the contract.
Result<Launch> launch_of(const std::string& flag, const std::string& file,
                         const ptx::Module& module, const Contract& contract) {
  Launch launch = contract.launch;
  if (const ptx::Function* entry = module.find_entry(contract.entry))
    if (const ptx::Directive* required = find_directive(*entry, ".reqntid"))
      launch.block = extent_of(required->text);
  if (!flag.empty()) return launch_of_flag(flag, launch);
  std::filesystem::path beside = std::filesystem::path(file).replace_extension(".toml");
  std::error_code code;
  if (file == "-" || !std::filesystem::exists(beside, code)) return launch;
  Result<std::string> text = read_text(beside);
  if (!text) return text.error();
  return parse_launch(*text, beside.string(), contract.target, launch);
}

struct Side {
  std::string file, sha256;
  ptx::Module module;
  Launch launch;
};

/// The first of the disagreements that no launch flag can mend. What is right may be PTX of another
/// target; what is asked about would never run there.
std::optional<Error> disagreement_of(const Side& side, const Contract& contract, bool candidate) {
  for (const Disagreement& found : abi_disagreements(contract, side.module, "this file")) {
    bool of_head = found.field == AbiField::target || found.field == AbiField::ptx_isa;
    if ((candidate && of_head) || found.field == AbiField::parameter)
      return Error{Fault::malformed, found.what, found.remedy, side.module.place(found.span)};
  }
  return std::nullopt;
}

/// What is wrong with the range of blocks for this grid.
std::optional<Error> bad_range(const Options& options, std::uint64_t blocks) {
  std::uint64_t end = options.block_end == 0 ? blocks : options.block_end;
  if (options.block_begin < end && end <= blocks) return std::nullopt;
  return Error{Fault::malformed,
               "there are no blocks from " + std::to_string(options.block_begin) + " to before " +
                   std::to_string(end) + ": the grid has " + std::to_string(blocks),
               "--block-begin is below --block-end, which is at most " + std::to_string(blocks),
               {}};
}

/// Says what is wrong and gives the status, or 0.
int read_side(Side& side, const std::string& file, const std::string& flag,
              const Contract& contract, bool candidate, Form form) {
  side.file = file;
  Result<std::string> text = read_input(file);
  if (!text) return complain(text.error(), form);
  side.sha256 = hex(sha256(*text));
  ptx::Parsed parsed = ptx::parse(*std::move(text), file);
  if (!parsed.errors.empty()) return complain(parsed.errors, form);
  side.module = std::move(parsed.module);
  if (side.module.find_entry(contract.entry) == nullptr)
    return complain(Error{Fault::malformed,
                          "there is no entry `" + contract.entry + "`",
                          "the contract names the entry that both files must have",
                          {file, 1, 1}},
                    form);
  if (std::optional<Error> other = disagreement_of(side, contract, candidate))
    return complain(*other, form);
  Result<Launch> launch = launch_of(flag, file, side.module, contract);
  if (!launch) {
    const Error& error = launch.error();
    return error.place.file.empty() ? complain_with(exit_usage, error, form)
                                    : complain(error, form);
  }
  side.launch = *std::move(launch);
  return exit_done;
}

Json document(const verifier_node::Report& report, const Side& reference, const Side& candidate,
              double seconds) {
  Json said = Json::parse(report.json, nullptr, false), json;
  if (!said.is_object()) said = Json::object();
  json["schema"] = "lathe/verify/1";
  json["verdict"] = report.verdict;
  json["reason_code"] = report.reason_code;
  json["reason"] = report.reason;
  json["reference"] = {{"file", reference.file}, {"sha256", reference.sha256}};
  json["candidate"] = {{"file", candidate.file}, {"sha256", candidate.sha256}};
  for (auto& [key, value] : said.items())
    if (!json.contains(key)) json[key] = value;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  json["cost"]["seconds"] = seconds;
  json["cost"]["peak_bytes"] = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  return json;
}

unsigned long long number(const Json& json, const char* name) {
  return json.value(name, std::uint64_t{0});
}

/// A value that differs, with both: what a person looks for first.
void print_witness(const Json& witness) {
  if (witness.value("kind", "") != "value" || !witness.contains("reference_value")) return;
  auto text = [&](const char* name) {
    const Json& value = witness[name];
    return value.is_string() ? value.get<std::string>() : value.dump();
  };
  std::string index;
  for (const Json& each : witness.value("index", Json::array()))
    index += (index.empty() ? "" : ", ") + each.dump();
  std::printf("witness: %s[%s] is %s where the reference has %s (inputs: %s, seed %llu)\n",
              witness.value("tensor", "").c_str(), index.c_str(), text("candidate_value").c_str(),
              text("reference_value").c_str(), witness.value("input_class", "").c_str(),
              number(witness, "input_seed"));
}

void print_figures(const Json& said) {
  if (auto found = said.find("witness"); found != said.end()) print_witness(*found);
  if (auto found = said.find("scope"); found != said.end())
    std::printf(
        "blocks %llu of %llu, outputs compared %llu, points %llu, blocks on stress inputs %llu\n",
        number(*found, "blocks"), number(*found, "blocks_total"),
        number(*found, "outputs_compared"), number(*found, "points"),
        number(*found, "stress_blocks"));
  if (auto found = said.find("bound"); found != said.end() && said["verdict"] == "proved")
    std::printf("bound: failure probability %.3g (degree %llu, primes of %llu bits%s)\n",
                found->value("failure_probability", 1.0), number(*found, "degree"),
                number(*found, "prime_bits"), found->value("rigorous", false) ? ", rigorous" : "");
  if (auto found = said.find("assumed"); found != said.end())
    for (const Json& assumption : *found)
      std::printf("assumed: %s\n", assumption.get<std::string>().c_str());
}

int say(const Options& options, const Json& said) {
  std::string verdict = said["verdict"], code = said["reason_code"], reason = said["reason"];
  if (options.json) {
    std::printf("%s\n", said.dump(2).c_str());
  } else if (!options.quiet) {
    std::printf("%s (%s): %s\n", verdict.c_str(), code.c_str(), reason.c_str());
    print_figures(said);
    std::printf("%.1f s\n", said["cost"].value("seconds", 0.0));
  }
  if (verdict == "proved") return exit_done;
  return verdict == "refuted" ? exit_no : exit_undecided;
}

/// Whether ranges of blocks can be proved by themselves. Blocks of one cluster are run together,
/// and what blocks do to one place by atomics is known of all of them only.
bool falls_apart(const Side& a, const Side& b, const Contract& contract) {
  constexpr std::array<std::uint32_t, 3> single{1, 1, 1};
  if (a.launch.cluster != single || b.launch.cluster != single || !contract.cases.empty() ||
      a.launch.grid != b.launch.grid)
    return false;
  for (const Side* side : {&a, &b})
    for (const ptx::Instruction& instruction :
         side->module.find_entry(contract.entry)->instructions)
      if (instruction.opcode == "atom" || instruction.opcode == "red") return false;
  return true;
}

/// One folder a question: other files, launches or options are another one.
std::filesystem::path kept_place(const Options& options, const Side& a, const Side& b,
                                 const Contract& contract) {
  std::string question = version_text() + "\n" + a.sha256 + "\n" + b.sha256 + "\n" +
                         hex(contract.identity()) + "\n" + options.reference_launch + "\n" +
                         options.candidate_launch;
  for (std::uint64_t value :
       {std::uint64_t{options.points}, options.seed, options.steps, options.stress_blocks})
    question += "\n" + std::to_string(value);
  for (const Side* side : {&a, &b}) {
    for (const auto& extent : {side->launch.grid, side->launch.block})
      for (std::uint32_t each : extent) question += " " + std::to_string(each);
    question += " " + std::to_string(side->launch.dynamic_shared_bytes);
  }
  return std::filesystem::path(options.kept) / hex(sha256(question));
}

/// The journal of a range, or of the whole; nothing where none is kept.
Result<std::unique_ptr<KeptJournal>> open_journal(const Options& options,
                                                  const std::filesystem::path& folder) {
  if (options.kept.empty()) return std::unique_ptr<KeptJournal>();
  return KeptJournal::open(folder / (std::to_string(options.block_begin) + "-" +
                                     std::to_string(options.block_end) + ".journal"));
}

/// The proof in this process, with what it cost.
Result<Json> verify_here(const Options& options, const Side& a, const Side& b,
                         const Contract& contract, verifier_node::Options how) {
  auto begin = std::chrono::steady_clock::now();
  Result<std::unique_ptr<KeptJournal>> kept =
      open_journal(options, kept_place(options, a, b, contract));
  if (!kept) return kept.error();
  how.version = version_text();
  if (*kept) how.journal = (*kept)->journal();
  Result<verifier_node::Report> report = verifier_node::verify(a.module, b.module, contract, how);
  if (!report) return report.error();
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  Json said = document(*report, a, b, seconds);
  if (*kept) {
    said["cost"]["units_found"] = how.journal->found();
    said["cost"]["warp_instructions"] = how.journal->steps();
    (*kept)->remove();
  }
  return said;
}

/// The answer with the candidate's own name.
Json named(const Options& options, Json said) {
  if (options.candidate_name.empty()) return said;
  said["candidate"]["file"] = options.candidate_name;
  said["reference"]["file"] = "reference.ptx";
  return said;
}

/// The same question as a child process is asked it; its ranges are added by the split.
std::vector<std::string> words_of(const Options& options) {
  std::vector<std::string> words{options.reference, options.candidate, "--contract",
                                 options.contract};
  auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {name, value});
  };
  add("--launch-a", options.reference_launch);
  add("--launch-b", options.candidate_launch);
  add("--points", std::to_string(options.points));
  add("--seed", std::to_string(options.seed));
  add("--steps", std::to_string(options.steps));
  add("--stress-blocks", std::to_string(options.stress_blocks));
  add("--keep", options.kept);
  return words;
}

}  // namespace

int verify_files(const Options& options) {
  Form form = form_of(options.json);
  if (options.reference == "-" && options.candidate == "-")
    return complain_with(exit_usage,
                         Error{Fault::malformed,
                               "standard input cannot be both files",
                               "name a file for one of the two",
                               {}},
                         form);
  Opened opened = open_contract(options.contract);
  if (opened.contract == nullptr) return complain(opened.errors, form);
  Side a, b;
  if (int status =
          read_side(a, options.reference, options.reference_launch, *opened.contract, false, form))
    return status;
  if (int status =
          read_side(b, options.candidate, options.candidate_launch, *opened.contract, true, form))
    return status;
  if (auto error = bad_range(options, a.launch.blocks()))
    return complain_with(exit_usage, *error, form);
  verifier_node::Options how;
  how.seed = options.seed;
  how.points = options.points;
  how.steps_max = options.steps;
  how.stress_blocks = options.stress_blocks;
  how.block_begin = options.block_begin;
  how.block_end = options.block_end;
  if (!(a.launch == opened.contract->launch)) how.reference_launch = a.launch;
  if (!(b.launch == opened.contract->launch)) how.candidate_launch = b.launch;
  Waiting waiting(options.quiet);
  waiting.begin("verify");
  // A file that is read once only cannot be given to several children.
  bool files = options.reference != "-" && options.candidate != "-";
  bool ranged = options.block_begin != 0 || options.block_end != 0;
  if (options.threads > 1 && files && !ranged && falls_apart(a, b, *opened.contract)) {
    Split split;
    split.words = words_of(options);
    split.blocks = a.launch.blocks();
    split.threads = options.threads;
    if (!options.kept.empty()) split.kept = kept_place(options, a, b, *opened.contract);
    split.progress = [&](std::uint64_t done, std::uint64_t total) { waiting.reach(done, total); };
    Result<std::optional<Json>> answer = verify_split(split);
    waiting.clear();
    if (!answer) return complain(answer.error(), form);
    if (*answer) return waiting.begin(""), say(options, named(options, **answer));
    waiting.begin("verify, whole");
  }
  how.progress = [&](std::uint64_t done, std::uint64_t total) { waiting.reach(done, total); };
  Result<Json> said = verify_here(options, a, b, *opened.contract, how);
  waiting.begin("");
  waiting.clear();
  if (!said) return complain(said.error(), form);
  return say(options, named(options, *std::move(said)));
}

void add_verification_options(App& app, Verification& options) {
  app.add_option("--points", options.points, "points of evaluation; 0: as many as are needed");
  app.add_option("--seed", options.seed, "of the points and inputs");
  app.add_option("--steps", options.steps, "warp instructions of a block at most; 0: no limit");
  app.add_option("--threads", options.threads, "processes that share the grid").between(1, 1024);
  app.add_option("--stress-blocks", options.stress_blocks,
                 "blocks that are also run on stress inputs");
  app.add_option("--keep", options.kept,
                 "folder for what a proof has finished, so that one which was ended goes on where "
                 "it stopped");
  app.add_flag("--json", options.json, "one JSON document on standard output");
  app.add_flag("--quiet", options.quiet, "the exit status alone");
}

Body declare_verify(App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("reference", options->reference, "A.ptx: what is right").required();
  app.add_option("candidate", options->candidate, "B.ptx: what is asked about").required();
  app.add_option("--contract", options->contract, "contract directory").required();
  app.add_option("--launch-a", options->reference_launch, "grid=..,block=..,shared=.. of A");
  app.add_option("--launch-b", options->candidate_launch,
                 "of B; else B.toml beside it, else its .reqntid, else the contract's");
  app.add_option("--block-begin", options->block_begin, "the first block of a range");
  app.add_option("--block-end", options->block_end, "behind the last block of a range; 0: all");
  add_verification_options(app, *options);
  return [options] { return verify_files(*options); };
}

}  // namespace lathe::cli
