// uses: verifier_node
// Makes one-edit mutants of kernels and asks the verifier about each. None may be proved unless an
// argument apart from the field domain shows that it is the same kernel.
//   mutants_bench [--count N] [--seed S] [--kernels FOLDER [--blocks N]]... [--only TEXT]
//                 [--shard I/N] [--results FILE] [--until S] [--answers | --plan]
//   mutants_bench --table FILE..
// A folder's contracts are mutated whole, or as the first blocks of their grid alone. Shard I of N
// answers every N-th mutant; all shards together are the campaign. With --results each answer is a
// line of JSON, those that are there are not asked for again, and none is after the seconds of
// --until. --plan asks nothing: it prints how many mutants of each class there would be. --table
// prints the counts by class of edit, every survivor, and what of a campaign's demands is not met.

#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <unordered_set>

#include "base/json.h"
#include "tests/verifier_node/campaign.h"

namespace lathe::verifier_node::mutation {
namespace {

namespace fs = std::filesystem;

struct Kernels {
  fs::path folder;
  std::uint64_t blocks = 0;
};

struct Options {
  std::uint64_t count = 10'000, seed = 1, shard = 0, shards = 1;
  std::vector<Kernels> kernels;
  std::string only;
  fs::path results;
  double until = 1e9;
  bool all_answers = false, plan = false;
};

void print_table(const Tally& tally) {
  std::printf("%-22s %8s %8s %8s %8s %8s %8s\n", "class", "mutants", "refuted", "stated",
              "unstated", "same", "PROVED");
  Counts sum;
  for (std::size_t i = 0; i < edit_names.size(); ++i) {
    const Counts& c = tally.by_edit[i];
    std::printf("%-22s %8u %8u %8u %8u %8u %8u\n", edit_names[i], c.total(), c.refuted, c.stated,
                c.unstated, c.same, c.proved);
    sum += c;
  }
  double all = std::max(1u, sum.total());
  std::printf("%-22s %8u %8u %8u %8u %8u %8u\n", "all", sum.total(), sum.refuted, sum.stated,
              sum.unstated, sum.same, sum.proved);
  std::printf(
      "refuted %.1f %%, undecided with a stated difference %.1f %%, without one %.1f %%, "
      "shown to be the same %.1f %%, proved without an argument %.2f %%\n",
      100 * sum.refuted / all, 100 * sum.stated / all, 100 * sum.unstated / all,
      100 * sum.same / all, 100 * sum.proved / all);
  // Of those that are another kernel, or may be one.
  double others = std::max(1u, sum.total() - sum.same);
  std::printf(
      "of the %.0f not shown to be the same: refuted or undecided by a stated difference "
      "%.1f %%, undecided without one %.1f %%\n",
      others, 100 * (sum.refuted + sum.stated) / others, 100 * sum.unstated / others);
  for (const auto& [reason, count] : tally.unstated_reasons)
    std::printf("  undecided without a stated difference: %u %s\n", count, reason.c_str());
}

Json line_of(std::uint64_t number, const Answer& answer) {
  return Json{{"number", number},
              {"kernel", answer.kernel},
              {"edit", static_cast<unsigned>(answer.mutant.edit)},
              {"kind", static_cast<unsigned>(answer.kind)},
              {"line", answer.mutant.line},
              {"before", answer.mutant.before},
              {"after", answer.mutant.after},
              {"verdict", answer.verdict},
              {"reason_code", answer.reason_code},
              {"reason", answer.reason},
              {"argument", answer.argument}};
}

Answer answer_of(const Json& line) {
  Answer answer;
  answer.kernel = line["kernel"];
  answer.mutant.edit = static_cast<Edit>(line["edit"].get<unsigned>());
  answer.kind = static_cast<Kind>(line["kind"].get<unsigned>());
  answer.mutant.line = line["line"];
  answer.mutant.before = line["before"];
  answer.mutant.after = line["after"];
  answer.verdict = line["verdict"];
  answer.reason_code = line["reason_code"];
  answer.reason = line["reason"];
  answer.argument = line["argument"];
  return answer;
}

/// Answers by number; a line that was cut off in writing is none.
std::map<std::uint64_t, Answer> answers_in(const fs::path& file) {
  std::map<std::uint64_t, Answer> answers;
  std::ifstream in(file);
  for (std::string text; std::getline(in, text);) {
    Json line = Json::parse(text, nullptr, false);
    if (line.is_object()) answers[line["number"].get<std::uint64_t>()] = answer_of(line);
  }
  return answers;
}

/// What a campaign must show, in shares of itself; says what it does not.
bool holds(const Tally& tally, std::size_t kernels) {
  constexpr std::size_t kernels_min = 15;
  constexpr double stated_min = 0.95, unstated_max = 0.03, class_min = 0.05;
  Counts sum;
  for (const Counts& counts : tally.by_edit) sum += counts;
  double all = sum.total(), others = std::max(1u, sum.total() - sum.same);
  bool good = true;
  auto demand = [&](bool held, const std::string& what) {
    if (!held) std::printf("NOT HELD: %s\n", what.c_str());
    good &= held;
  };
  demand(sum.proved == 0, "none is proved without an argument");
  demand(sum.refuted + sum.stated >= stated_min * others, "95 % differ by a stated difference");
  demand(sum.unstated <= unstated_max * others, "at most 3 % are undecided without one");
  demand(kernels >= kernels_min, "the mutants are of 15 kernels");
  for (std::size_t i = 0; i < edit_names.size(); ++i)
    demand(tally.by_edit[i].total() >= class_min * all,
           "a class of edits is a twentieth of all: " + std::string(edit_names[i]));
  return good;
}

int table(const std::vector<std::string>& files) {
  Tally tally;
  std::map<std::string, Counts> kernels;
  for (const std::string& file : files)
    for (const auto& [number, answer] : answers_in(file)) {
      tally.take(answer);
      Tally one;
      one.take(answer);
      kernels[answer.kernel] += one.by_edit[static_cast<std::size_t>(answer.mutant.edit)];
      if (answer.kind == Kind::proved) std::printf("%s\n", answer.text().c_str());
    }
  for (const auto& [kernel, c] : kernels)
    std::printf("%-32s %6u mutants, %6u refuted, %4u stated, %4u unstated, %4u same, %4u proved\n",
                kernel.c_str(), c.total(), c.refuted, c.stated, c.unstated, c.same, c.proved);
  std::printf("%zu kernels\n", kernels.size());
  print_table(tally);
  return holds(tally, kernels.size()) ? 0 : 1;
}

std::vector<std::unique_ptr<Subject>> subjects_of(const Options& options) {
  std::vector<std::unique_ptr<Subject>> subjects;
  for (const Kernels& kernels : options.kernels) {
    std::vector<fs::path> folders;
    for (const fs::directory_entry& entry : fs::directory_iterator(kernels.folder))
      folders.push_back(entry.path());
    std::sort(folders.begin(), folders.end());
    for (const fs::path& folder : folders) {
      if (folder.filename().string().find(options.only) == std::string::npos) continue;
      Result<std::unique_ptr<Subject>> subject =
          Subject::read(folder, options.seed, kernels.blocks);
      // No argument could be given for mutants of a kernel whose functions are not interpreted.
      bool interpreted = subject && (*subject)->interpreted();
      if (interpreted)
        subjects.push_back(*std::move(subject));
      else
        std::printf(
            "%-32s left out: %s\n", folder.filename().c_str(),
            subject ? "a float function that is not interpreted" : subject.error().what.c_str());
    }
  }
  return subjects;
}

int plan(std::vector<std::unique_ptr<Subject>> subjects, std::uint64_t count) {
  Campaign campaign(std::move(subjects));
  std::array<std::uint64_t, edit_names.size()> mutants{};
  std::unordered_set<std::string> kernels;
  for (std::uint64_t i = 0; i < count; ++i)
    if (std::optional<Campaign::Drawn> drawn = campaign.next()) {
      ++mutants[static_cast<std::size_t>(drawn->mutant.edit)];
      kernels.insert(drawn->subject->name());
    }
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < mutants.size(); ++i) {
    std::printf("%-22s %8llu\n", edit_names[i], static_cast<unsigned long long>(mutants[i]));
    sum += mutants[i];
  }
  std::printf("%-22s %8llu of %zu kernels\n", "all", static_cast<unsigned long long>(sum),
              kernels.size());
  return 0;
}

int run(const Options& options) {
  auto begin = std::chrono::steady_clock::now();
  auto spent = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  std::vector<std::unique_ptr<Subject>> subjects = subjects_of(options);
  if (subjects.empty()) return 64;
  if (options.plan) return plan(std::move(subjects), options.count);
  Campaign campaign(std::move(subjects));
  std::map<std::uint64_t, Answer> answers = answers_in(options.results);
  std::ofstream out(options.results, std::ios::app);
  Tally tally;
  for (std::uint64_t i = 0; i < options.count; ++i) {
    std::optional<Campaign::Drawn> drawn = campaign.next();
    if (!drawn || i % options.shards != options.shard) continue;
    auto known = answers.find(i);
    if (known == answers.end() && spent() > options.until) break;
    Answer answer =
        known != answers.end() ? known->second : drawn->subject->answer(std::move(drawn->mutant));
    if (known == answers.end() && !options.results.empty())
      out << line_of(i, answer).dump() << std::endl;
    tally.take(answer);
    if (options.all_answers || answer.kind == Kind::proved || answer.kind == Kind::same)
      std::printf("%s\n", answer.text().c_str());
    std::fflush(stdout);
  }
  print_table(tally);
  return tally.proved() == 0 ? 0 : 1;
}

/// False where an option is not known.
bool take(Options& options, const std::string& name, const std::string& value) {
  if (name == "--count")
    options.count = std::stoull(value);
  else if (name == "--seed")
    options.seed = std::stoull(value);
  else if (name == "--kernels")
    options.kernels.push_back({value, 0});
  else if (name == "--blocks" && !options.kernels.empty())
    options.kernels.back().blocks = std::stoull(value);
  else if (name == "--only")
    options.only = value;
  else if (name == "--results")
    options.results = value;
  else if (name == "--until")
    options.until = std::stod(value);
  else if (name == "--shard" && value.find('/') != std::string::npos) {
    options.shard = std::stoull(value);
    options.shards = std::max<std::uint64_t>(1, std::stoull(value.substr(value.find('/') + 1)));
  } else
    return false;
  return true;
}

}  // namespace
}  // namespace lathe::verifier_node::mutation

int main(int count, char** arguments) {
  namespace mutation = lathe::verifier_node::mutation;
  mutation::Options options;
  if (count > 2 && std::string(arguments[1]) == "--table")
    return mutation::table({arguments + 2, arguments + count});
  for (int i = 1; i < count; ++i) {
    std::string name = arguments[i], value = i + 1 < count ? arguments[i + 1] : "";
    if (name == "--answers")
      options.all_answers = true;
    else if (name == "--plan")
      options.plan = true;
    else if (mutation::take(options, name, value))
      ++i;
    else
      return std::fprintf(stderr, "mutants_bench: unknown option %s\n", arguments[i]), 64;
  }
  if (options.kernels.empty())
    options.kernels.push_back({std::filesystem::path(LATHE_ROOT) / "tests/kernels/contracts", 0});
  return mutation::run(options);
}
