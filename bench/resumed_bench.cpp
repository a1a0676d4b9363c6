// uses: verifier_node
// What a proof costs whose process is killed on the way, in user seconds of its processes:
//   resumed_bench [--at PERCENT] [CONTRACT CANDIDATE]
// proves CANDIDATE (below tests/kernels/alternatives/CONTRACT) against suite/contracts/CONTRACT
// without a journal, with one, and killed (SIGKILL) at PERCENT of that time and gone on with from
// what its journal holds. CONTRACT may also be a small one of tests/kernels/contracts.

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "bench/alternative.h"
#include "verifier_node/journal.h"
#include "verifier_node/verify.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;

struct Question {
  Contract contract;
  fs::path candidate;
};

/// The kernel ends this process once it has used so much of the processor.
void die_after(double seconds) {
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGKILL;
  timer_t timer{};
  itimerspec when{};
  when.it_value.tv_sec = static_cast<time_t>(seconds);
  when.it_value.tv_nsec =
      static_cast<long>((seconds - static_cast<double>(when.it_value.tv_sec)) * 1e9);
  if (::timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer) != 0 ||
      ::timer_settime(timer, 0, &when, nullptr) != 0)
    std::abort();
}

/// In the child: writes units down the pipe as they come.
[[noreturn]] void prove(const Question& question, const std::string& before, bool notes, int out) {
  verifier_node::Options options;
  options.seed = 1;
  options.version = "bench";
  options.candidate_launch = launch_beside(question.contract, question.candidate);
  if (notes)
    options.journal = std::make_shared<verifier_node::Journal>([out](const std::string& unit) {
      std::string frame = verifier_node::framed(unit);
      for (std::size_t at = 0; at < frame.size();) {
        ssize_t count = ::write(out, frame.data() + at, frame.size() - at);
        if (count <= 0) std::abort();
        at += static_cast<std::size_t>(count);
      }
    });
  if (notes && !options.journal->take(before)) std::abort();
  ptx::Parsed reference = ptx::parse(question.contract.reference, "reference.ptx");
  ptx::Parsed candidate = ptx::parse(text_of(question.candidate), "candidate.ptx");
  auto report =
      verifier_node::verify(reference.module, candidate.module, question.contract, options);
  ::_exit(report && report->verdict == "proved" ? 0 : 1);
}

struct Life {
  double seconds = 0;
  bool killed = false, proved = false;
  std::string journal;
};

Life live(const Question& question, const std::string& before, bool notes, double seconds_max) {
  int ends[2];
  if (::pipe(ends) != 0) std::abort();
  pid_t child = ::fork();
  if (child == 0) {
    if (seconds_max > 0) die_after(seconds_max);
    prove(question, before, notes, ends[1]);
  }
  ::close(ends[1]);
  Life life;
  char buffer[1 << 16];
  for (ssize_t count; (count = ::read(ends[0], buffer, sizeof buffer)) > 0;)
    life.journal.append(buffer, static_cast<std::size_t>(count));
  ::close(ends[0]);
  int status = 0;
  rusage usage{};
  if (::wait4(child, &status, 0, &usage) != child) std::abort();
  life.seconds = static_cast<double>(usage.ru_utime.tv_sec) +
                 static_cast<double>(usage.ru_utime.tv_usec) * 1e-6;
  life.killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  life.proved = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return life;
}

int print(const Question& question, unsigned percent) {
  auto said = [](const Life& life) { return life.proved ? "proved" : "NOT PROVED"; };
  Life plain = live(question, "", false, 0);
  std::printf("without a journal        %8.2f s user  %s\n", plain.seconds, said(plain));
  std::fflush(stdout);
  Life whole = live(question, "", true, 0);
  auto units = verifier_node::frames_of(whole.journal);
  std::printf("undisturbed, noting      %8.2f s user  %s, %zu units, %.1f MiB\n", whole.seconds,
              said(whole), units ? units->size() : 0,
              static_cast<double>(whole.journal.size()) / (1 << 20));
  std::fflush(stdout);
  Life first = live(question, "", true, whole.seconds * percent / 100);
  std::printf("killed at %3u %%          %8.2f s user  %s\n", percent, first.seconds,
              first.killed ? "killed" : "NOT KILLED");
  std::fflush(stdout);
  Life second = live(question, first.journal, true, 0);
  double ratio = (first.seconds + second.seconds) / whole.seconds;
  std::printf("the rest                 %8.2f s user  %s\n", second.seconds, said(second));
  std::printf(
      "both                     %8.2f s user  %.1f %% of the undisturbed, %.1f %% of that "
      "without a journal\n",
      first.seconds + second.seconds, 100 * ratio,
      100 * (first.seconds + second.seconds) / plain.seconds);
  return whole.proved && second.proved && first.killed && ratio < 1.2 ? 0 : 1;
}

}  // namespace
}  // namespace lathe

int main(int count, char** words) {
  namespace fs = std::filesystem;
  std::vector<std::string> names(words + 1, words + count);
  unsigned percent = 50;
  if (names.size() >= 2 && names[0] == "--at") {
    percent = static_cast<unsigned>(std::stoul(names[1]));
    names.erase(names.begin(), names.begin() + 2);
  }
  if (names.empty()) names = {"gemm_fp16_sm_90a", "tile128x128_warps8"};
  if (names.size() != 2 || percent == 0 || percent > 99) {
    std::fprintf(stderr, "usage: resumed_bench [--at PERCENT] [CONTRACT CANDIDATE]\n");
    return 64;
  }
  fs::path root(LATHE_ROOT), folder = root / "suite/contracts" / names[0];
  if (!fs::exists(folder)) folder = root / "tests/kernels/contracts" / names[0];
  lathe::Result<lathe::Contract> contract = lathe::read_contract(folder);
  if (!contract) {
    std::fprintf(stderr, "%s\n", contract.error().what.c_str());
    return 66;
  }
  return lathe::print(
      {*contract, root / "tests/kernels/alternatives" / names[0] / (names[1] + ".ptx")}, percent);
}
