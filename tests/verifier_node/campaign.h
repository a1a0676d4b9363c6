#pragma once

// A campaign of mutants: kernels, what the verifier answers about each mutant, and the tally.

#include <filesystem>
#include <map>
#include <memory>
#include <unordered_set>

#include "tests/verifier_node/mutation.h"
#include "tests/verifier_node/sameness.h"
#include "verifier_node/verify.h"

namespace lathe::verifier_node::mutation {

enum class Kind : std::uint8_t {
  refuted,
  stated,    // Undecided, and the answer says what is different.
  unstated,  // Undecided: a limit, an instruction without a model.
  same,      // Proved, and shown to be the same kernel.
  proved,    // Proved without an argument: a mistake of the verifier's, or an argument is missing.
};

struct Answer {
  Kind kind{};
  Mutant mutant;
  std::string kernel, verdict, reason_code, reason, argument;

  std::string text() const {
    return kernel + " line " + std::to_string(mutant.line) + ", " +
           edit_names[static_cast<std::size_t>(mutant.edit)] + ": `" + mutant.before + "` -> `" +
           mutant.after + "`: " + verdict + " " + reason_code + ": " +
           (verdict == "proved" ? (argument.empty() ? "NO ARGUMENT" : argument) : reason);
  }
};

struct Counts {
  unsigned refuted = 0, stated = 0, unstated = 0, same = 0, proved = 0;
  unsigned total() const { return refuted + stated + unstated + same + proved; }
  void operator+=(const Counts& other) {
    refuted += other.refuted;
    stated += other.stated;
    unstated += other.unstated;
    same += other.same;
    proved += other.proved;
  }
};

struct Tally {
  std::array<Counts, static_cast<std::size_t>(Edit::count)> by_edit{};
  std::map<std::string, unsigned> unstated_reasons;

  void take(const Answer& answer) {
    Counts& counts = by_edit[static_cast<std::size_t>(answer.mutant.edit)];
    switch (answer.kind) {
      case Kind::refuted:
        ++counts.refuted;
        break;
      case Kind::stated:
        ++counts.stated;
        break;
      case Kind::unstated:
        ++counts.unstated;
        ++unstated_reasons[answer.reason_code + ": " + answer.reason.substr(0, 60)];
        break;
      case Kind::same:
        ++counts.same;
        break;
      case Kind::proved:
        ++counts.proved;
        break;
    }
  }
  unsigned proved() const {
    unsigned sum = 0;
    for (const Counts& counts : by_edit) sum += counts.proved;
    return sum;
  }
};

/// A kernel that mutants are made of.
class Subject {
 public:
  /// `blocks`: only so many of the grid are run, by the verifier and by the arguments; 0: all.
  static Result<std::unique_ptr<Subject>> read(const std::filesystem::path& folder,
                                               std::uint64_t seed, std::uint64_t blocks = 0) {
    Result<Contract> contract = read_contract(folder);
    if (!contract) return contract.error();
    auto subject = std::unique_ptr<Subject>(new Subject(*std::move(contract), seed, blocks));
    subject->name_ = folder.filename();
    return subject;
  }
  /// And proves it against itself.
  static Result<std::unique_ptr<Subject>> make(const std::filesystem::path& folder,
                                               std::uint64_t seed) {
    Result<std::unique_ptr<Subject>> subject = read(folder, seed);
    if (!subject) return subject;
    Result<Report> report = (*subject)->verified((*subject)->reference_.module);
    if (!report) return report.error();
    if (report->verdict != "proved")
      return Error{Fault::unsupported, report->reason_code + ": " + report->reason, "", {}};
    return subject;
  }

  const std::string& name() const { return name_; }
  bool interpreted() const { return sameness_.interpreted(); }

  /// A mutant that this subject has not drawn before; nothing where none was found.
  static constexpr std::uint64_t attempts_max = 40;
  std::optional<Mutant> draw(Edit edit, std::uint64_t number) {
    for (std::uint64_t attempt = 0; attempt < attempts_max; ++attempt) {
      std::optional<Mutant> mutant = mutator_.draw(edit, number * attempts_max + attempt);
      if (!mutant || mutant->text == contract_.reference || !known_.insert(mutant->text).second)
        continue;
      ptx::Parsed parsed = ptx::parse(mutant->text, "mutant.ptx");
      // What ptxas turns away is no mutant.
      if (parsed.errors.empty() && ptx::decode(parsed.module, contract_.entry)) return mutant;
    }
    return std::nullopt;
  }
  Answer answer(Mutant mutant) {
    ptx::Parsed parsed = ptx::parse(mutant.text, "mutant.ptx");
    return answer(std::move(mutant), parsed.module);
  }
  std::optional<Answer> ask(Edit edit, std::uint64_t number) {
    std::optional<Mutant> mutant = draw(edit, number);
    if (!mutant) return std::nullopt;
    return answer(*std::move(mutant));
  }

 private:
  Subject(Contract contract, std::uint64_t seed, std::uint64_t blocks)
      : contract_(std::move(contract)),
        reference_(ptx::parse(contract_.reference, "reference.ptx")),
        mutator_(reference_.module, contract_.entry, seed),
        sameness_(contract_, reference_.module, blocks),
        seed_(seed),
        blocks_(blocks) {}

  Result<Report> verified(const ptx::Module& candidate) {
    verifier_node::Options options;
    options.seed = philox64(seed_, 0xBE7C4, 0);
    options.stress_blocks = 2;
    options.steps_max = 400'000;
    options.block_end = blocks_;
    return verify(reference_.module, candidate, contract_, options);
  }

  Answer answer(Mutant mutant, const ptx::Module& module) {
    Answer out;
    out.kernel = name_;
    Result<Report> report = verified(module);
    out.mutant = std::move(mutant);
    if (!report) {
      out.kind = Kind::unstated;
      out.verdict = "error";
      out.reason = report.error().what;
      return out;
    }
    out.verdict = report->verdict;
    out.reason_code = report->reason_code;
    out.reason = report->reason;
    if (out.verdict == "proved") {
      out.argument = sameness_.argument(out.mutant);
      out.kind = out.argument.empty() ? Kind::proved : Kind::same;
    } else if (out.verdict == "refuted") {
      out.kind = Kind::refuted;
    } else {
      static const std::unordered_set<std::string> without{"unsupported", "exhausted",
                                                           "one_schedule", "sampled"};
      out.kind = without.contains(out.reason_code) ? Kind::unstated : Kind::stated;
    }
    return out;
  }

  Contract contract_;
  ptx::Parsed reference_;
  Mutator mutator_;
  Sameness sameness_;
  std::uint64_t seed_, blocks_;
  std::string name_;
  std::unordered_set<std::string> known_;
};

/// The mutants of a campaign in their order, which their numbers and the seed decide: the classes
/// take turns as long as they have new mutants, and in each the subjects that have one.
class Campaign {
 public:
  explicit Campaign(std::vector<std::unique_ptr<Subject>> subjects)
      : subjects_(std::move(subjects)) {
    for (std::vector<Subject*>& live : live_)
      for (const auto& subject : subjects_) live.push_back(subject.get());
  }
  struct Drawn {
    Subject* subject = nullptr;
    Mutant mutant;
  };
  /// Nothing where no subject has a new mutant of any class.
  std::optional<Drawn> next() {
    for (std::size_t classes = 0; classes < edit_names.size(); ++classes)
      if (std::optional<Drawn> drawn = next_of(number_++ % edit_names.size())) return drawn;
    return std::nullopt;
  }

 private:
  std::optional<Drawn> next_of(std::size_t edit) {
    std::vector<Subject*>& live = live_[edit];
    while (!live.empty()) {
      std::size_t which = draws_[edit]++ % live.size();
      if (auto mutant = live[which]->draw(static_cast<Edit>(edit), draws_[edit]))
        return Drawn{live[which], *std::move(mutant)};
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(which));
    }
    return std::nullopt;
  }

  std::vector<std::unique_ptr<Subject>> subjects_;
  std::array<std::vector<Subject*>, static_cast<std::size_t>(Edit::count)> live_;
  std::array<std::uint64_t, static_cast<std::size_t>(Edit::count)> draws_{};
  std::uint64_t number_ = 0;
};

}  // namespace lathe::verifier_node::mutation
