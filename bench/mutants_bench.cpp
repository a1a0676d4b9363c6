// uses: verifier_node
// Makes one-edit mutants of kernels and asks the verifier about each: `mutants_bench [--count N]
// [--seed S]
// [--kernels FOLDER] [--only TEXT]`. None may be proved unless an argument apart from the field
// domain shows that it is the same kernel. Prints counts by class of edit, and every survivor with
// its argument.

#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <unordered_set>

#include "tests/verifier_node/campaign.h"

namespace lathe::verifier_node::mutation {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::uint64_t count = 10'000, seed = 1;
  fs::path kernels = fs::path(LATHE_ROOT) / "tests/kernels/contracts";
  std::string only;
  bool all_answers = false;
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
  for (const auto& [reason, count] : tally.unstated_reasons)
    std::printf("  undecided without a stated difference: %u %s\n", count, reason.c_str());
}

int run(const Options& options) {
  std::vector<std::unique_ptr<Subject>> subjects;
  std::vector<fs::path> folders;
  for (const fs::directory_entry& entry : fs::directory_iterator(options.kernels))
    folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  for (const fs::path& folder : folders) {
    if (folder.filename().string().find(options.only) == std::string::npos) continue;
    Result<std::unique_ptr<Subject>> subject = Subject::make(folder, options.seed);
    if (!subject) {
      std::printf("%-32s left out: %s\n", folder.filename().c_str(), subject.error().what.c_str());
      continue;
    }
    std::printf("%-32s %.2f s a proof\n", folder.filename().c_str(), (*subject)->proof_seconds);
    subjects.push_back(*std::move(subject));
  }
  if (subjects.empty()) return 64;
  Tally tally;
  for (std::uint64_t i = 0; i < options.count; ++i) {
    Subject& subject = *subjects[i % subjects.size()];
    auto edit = static_cast<Edit>(i / subjects.size() % edit_names.size());
    std::optional<Answer> answer = subject.ask(edit, i);
    if (!answer) continue;
    tally.take(*answer);
    if (options.all_answers || answer->kind == Kind::proved || answer->kind == Kind::same)
      std::printf("%s\n", answer->text().c_str());
    if ((i + 1) % 500 == 0) {
      std::printf("%llu mutants asked for\n", static_cast<unsigned long long>(i + 1));
      std::fflush(stdout);
    }
  }
  print_table(tally);
  return tally.proved() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace lathe::verifier_node::mutation

int main(int count, char** arguments) {
  lathe::verifier_node::mutation::Options options;
  for (int i = 1; i < count; ++i) {
    std::string name = arguments[i], value = i + 1 < count ? arguments[i + 1] : "";
    if (name == "--count")
      options.count = std::stoull(value), ++i;
    else if (name == "--seed")
      options.seed = std::stoull(value), ++i;
    else if (name == "--kernels")
      options.kernels = value, ++i;
    else if (name == "--only")
      options.only = value, ++i;
    else if (name == "--answers")
      options.all_answers = true;
    else
      return std::fprintf(stderr, "mutants_bench: unknown option %s\n", arguments[i]), 64;
  }
  return lathe::verifier_node::mutation::run(options);
}
