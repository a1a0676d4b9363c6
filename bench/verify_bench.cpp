// uses: verifier_node
// Proves shipped kernels against their other configurations, whole grid, and prints how long each
// proof took: `verify_bench` for the small contracts and for the figures that are asked for
// (`--figures`: those alone), `verify_bench NAME..` for contracts of suite/contracts by name, and
// for what `lathe_triton export --configs 2 --out ..` wrote to
// DIR = ../suite/contracts:
//   verify_bench --configs DIR [NAME..] [--results FILE] [--jobs N] [--limit S] [--until S]
// runs each proof in a process of its own, N at a time, with S seconds of processor time, and
// starts none after the seconds of --until. A proof is a line of JSON in FILE; those that are there
// are not run again (--retry: those that a limit ended are), and the table is of all of them.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>

#include "base/json.h"
#include "base/process.h"
#include "bench/alternative.h"
#include "verifier_node/kept.h"
#include "verifier_node/verify.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;

struct Answer {
  std::string verdict, reason_code, reason;
  Proof proof;
  double seconds = 0;
};

Answer prove_one(const Contract& contract, const fs::path& file,
                 verifier_node::Options options = {}) {
  ptx::Parsed reference = ptx::parse(contract.reference, "reference.ptx");
  ptx::Parsed candidate = ptx::parse(text_of(file), file.string());
  options.seed = 1;
  options.candidate_launch = launch_beside(contract, file);
  std::clock_t begin = std::clock();
  Result<verifier_node::Report> report =
      verifier_node::verify(reference.module, candidate.module, contract, options);
  Answer out;
  out.seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  if (report) {
    out.verdict = report->verdict;
    out.reason_code = report->reason_code;
    out.reason = report->reason;
    out.proof = report->proof;
  } else {
    out.verdict = "error";
    out.reason = report.error().what;
  }
  return out;
}

/// Configurations that are another program than the contract's, and than one another.
std::vector<fs::path> other_programs(const Contract& contract, const fs::path& configurations) {
  std::vector<fs::path> files, out;
  std::error_code code;
  for (const fs::directory_entry& entry : fs::directory_iterator(configurations, code))
    if (entry.path().extension() == ".ptx") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::set<std::string> known{contract.reference};
  for (const fs::path& file : files)
    if (known.insert(text_of(file)).second) out.push_back(file);
  return out;
}

/// How many other configurations were proved, of how many.
struct Tally {
  unsigned proved = 0, tried = 0;
  bool enough() const { return proved >= 2 || (tried != 0 && proved == tried); }
};

/// Proves a contract's kernel against every other configuration in a folder, whole grid, and prints
/// a line each.
Tally prove_all(const fs::path& contract_folder, const fs::path& configurations) {
  Tally tally;
  std::string name = contract_folder.filename().string();
  Result<Contract> contract = read_contract(contract_folder);
  if (!contract) {
    std::printf("%s: %s\n", name.c_str(), contract.error().what.c_str());
    return tally;
  }
  for (const fs::path& file : other_programs(*contract, configurations)) {
    Answer one = prove_one(*contract, file);
    std::printf("%-30s %-24s %8.2f s CPU  %s (%s): %s", name.c_str(), file.stem().c_str(),
                one.seconds, one.verdict.c_str(), one.reason_code.c_str(), one.reason.c_str());
    if (one.verdict == "proved") std::printf("; bound %.1e", one.proof.failure_probability);
    std::printf("\n");
    std::fflush(stdout);
    ++tally.tried;
    tally.proved += one.verdict == "proved" ? 1 : 0;
  }
  return tally;
}

// Figures that are asked for, on one core.

struct Figure {
  std::string what, contract;  // Its folder below the root.
  std::string candidate;  // Below tests/kernels/alternatives/CONTRACT; empty: the reference itself.
  double seconds_max;
  std::uint64_t blocks = 0;  // Of the grid; 0: all.
};

/// Candidates of one contract share what its reference gave: the second costs its own runs only.
bool print_figures(const fs::path& root) {
  const std::string suite = "suite/contracts/", gemm = suite + "gemm_fp16_sm_90a",
                    attention = suite + "attention_fp16_sm_90a",
                    head = "bench/figures/attention_1024x64_fp16_sm_90a";
  const std::vector<Figure> figures{
      {"GEMM 4096x4096x4096", gemm, "tile128x128_warps8", 120},
      {"a second candidate for it", gemm, "tile64x128_warps4", 60},
      {"the same, half of its blocks", gemm, "", 60, 256},
      {"softmax 4096x4096", suite + "softmax_fp16_sm_90a", "warps8", 15},
      {"attention, a head of 1024x64", head, "tile64x64_warps4", 10},
      {"512 queries of 2048 keys", attention, "", 10, 4},
      {"the same, twice as many queries", attention, "", 20, 8}};
  auto kept = std::make_shared<verifier_node::Kept>(std::uint64_t{2} << 30);
  bool good = true;
  for (const Figure& figure : figures) {
    Result<Contract> contract = read_contract(root / figure.contract);
    if (!contract) {
      std::printf("%s: %s\n", figure.contract.c_str(), contract.error().what.c_str());
      return false;
    }
    fs::path file = figure.candidate.empty()
                        ? root / figure.contract / "reference.ptx"
                        : root / "tests/kernels/alternatives" /
                              fs::path(figure.contract).filename() / (figure.candidate + ".ptx");
    verifier_node::Options options;
    options.kept = kept;
    options.block_end = figure.blocks;
    Answer one = prove_one(*contract, file, options);
    std::printf("%-34s %8.2f s CPU of %.0f asked  %s, %llu of %llu blocks", figure.what.c_str(),
                one.seconds, figure.seconds_max, one.verdict.c_str(),
                static_cast<unsigned long long>(one.proof.blocks),
                static_cast<unsigned long long>(one.proof.blocks_total));
    if (one.verdict == "proved")
      std::printf("; failure probability below %.1e", one.proof.failure_probability);
    else
      std::printf(" (%s): %s", one.reason_code.c_str(), one.reason.c_str());
    std::printf("\n");
    std::fflush(stdout);
    good &= one.verdict == "proved" && one.seconds <= figure.seconds_max;
  }
  return good;
}

// The suite, a process a proof.

struct Sweep {
  fs::path folder, results;
  std::vector<std::string> names;
  unsigned jobs = 1;
  std::uint64_t limit = 0;  // Seconds of processor time of a proof; 0: none.
  double until = 1e9;       // Seconds after which no proof is started.
  bool retry = false;
};

Json line_of(const std::string& contract, const std::string& configuration, const Answer& one) {
  const Proof& proof = one.proof;
  return Json{{"contract", contract},
              {"configuration", configuration},
              {"verdict", one.verdict},
              {"reason_code", one.reason_code},
              {"reason", one.reason},
              {"cpu_seconds", one.seconds},
              {"blocks", proof.blocks},
              {"blocks_total", proof.blocks_total},
              {"outputs", proof.outputs_compared},
              {"points", proof.points},
              {"degree", proof.degree},
              {"failure_probability", proof.failure_probability},
              {"rigorous", proof.rigorous}};
}

/// What a child prints: one line of JSON.
int print_one(const fs::path& contract_folder, const fs::path& file) {
  Answer one;
  Result<Contract> contract = read_contract(contract_folder);
  if (contract) {
    one = prove_one(*contract, file);
  } else {
    one.verdict = "error";
    one.reason = contract.error().what;
  }
  std::printf(
      "%s\n",
      line_of(contract_folder.filename().string(), file.stem().string(), one).dump().c_str());
  return 0;
}

struct Item {
  fs::path contract, configuration;
  std::string name() const {
    return contract.filename().string() + " " + configuration.stem().string();
  }
};

/// First of every contract its first other program, then its second, so that a sweep that is cut
/// has seen all kernels.
std::vector<Item> items_of(const Sweep& sweep, std::map<std::string, Tally>& tallies) {
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(sweep.folder))
    if (sweep.names.empty() || std::find(sweep.names.begin(), sweep.names.end(),
                                         entry.path().filename()) != sweep.names.end())
      found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  std::vector<std::pair<std::size_t, Item>> ranked;
  for (const fs::path& folder : found) {
    tallies[folder.filename()];
    Result<Contract> contract = read_contract(folder);
    if (!contract) continue;
    std::size_t rank = 0;
    for (const fs::path& file : other_programs(*contract, folder / "configs"))
      ranked.push_back({rank++, {folder, file}});
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Item> items;
  for (auto& [rank, item] : ranked) items.push_back(std::move(item));
  return items;
}

std::map<std::string, Json> lines_in(const fs::path& results) {
  std::map<std::string, Json> lines;
  std::ifstream in(results);
  for (std::string text; std::getline(in, text);) {
    Json line = Json::parse(text, nullptr, false);
    if (!line.is_object()) continue;  // Cut off in writing.
    lines[line["contract"].get<std::string>() + " " + line["configuration"].get<std::string>()] =
        line;
  }
  return lines;
}

/// A proof in a process of its own; what a limit ended says so.
Json run_item(const Item& item, std::uint64_t limit) {
  ProcessLimits limits;
  limits.wall = std::chrono::seconds(limit == 0 ? 86'400 : 2 * limit);
  limits.memory_bytes = 8ull << 30;
  limits.cpu_seconds = limit;
  auto end = run_process(
      {own_program().string(), "--one", item.contract.string(), item.configuration.string()}, "",
      limits);
  if (end && end->signal == 0 && end->status == 0) {
    Json line = Json::parse(end->out, nullptr, false);
    if (line.is_object()) return line;
  }
  Answer none;
  none.verdict = "undecided";
  none.reason_code = "exhausted";
  none.reason = !end ? end.error().what
                     : "ended by signal " + std::to_string(end->signal) + " after at most " +
                           std::to_string(limit) + " s";
  none.seconds = static_cast<double>(limit);
  return line_of(item.contract.filename().string(), item.configuration.stem().string(), none);
}

void run_items(const Sweep& sweep, const std::vector<Item>& items) {
  auto begin = std::chrono::steady_clock::now();
  std::atomic<std::size_t> next{0};
  std::mutex lock;
  std::ofstream out(sweep.results, std::ios::app);
  auto work = [&] {
    for (;;) {
      double spent =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      std::size_t i = next++;
      if (i >= items.size() || spent > sweep.until) return;
      Json line = run_item(items[i], sweep.limit);
      std::lock_guard<std::mutex> guard(lock);
      out << line.dump() << std::endl;
      std::printf("%-56s %8.1f s  %s %s\n", items[i].name().c_str(),
                  line["cpu_seconds"].get<double>(), line["verdict"].get<std::string>().c_str(),
                  line["verdict"] == "proved" ? "" : line["reason"].get<std::string>().c_str());
      std::fflush(stdout);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < sweep.jobs; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
}

/// Counted over (kernel, precision, target): contracts proved equal to two others, or to all there
/// are; and why the others were not.
int print_table(const std::vector<Item>& items, std::map<std::string, Tally> tallies,
                const std::map<std::string, Json>& lines) {
  std::map<std::string, std::vector<std::string>> reasons;
  unsigned missing = 0;
  for (const Item& item : items) {
    Tally& tally = tallies[item.contract.filename()];
    ++tally.tried;
    auto found = lines.find(item.name());
    if (found == lines.end()) {
      ++missing;
      continue;
    }
    const Json& line = found->second;
    if (line["verdict"] == "proved") {
      ++tally.proved;
      continue;
    }
    reasons[line["verdict"].get<std::string>() + " " + line["reason_code"].get<std::string>()]
        .push_back(item.name() + ": " + line["reason"].get<std::string>());
  }
  for (const auto& [reason, texts] : reasons) {
    std::printf("%s: %zu\n", reason.c_str(), texts.size());
    for (const std::string& text : texts) std::printf("  %s\n", text.c_str());
  }
  unsigned enough = 0, alone = 0;
  std::map<std::string, std::pair<unsigned, unsigned>> targets;
  for (const auto& [contract, tally] : tallies) {
    alone += tally.tried == 0 ? 1 : 0;
    enough += tally.enough() ? 1 : 0;
    auto& target = targets[contract.substr(contract.find("_sm_") + 1)];
    ++target.second;
    target.first += tally.enough() ? 1 : 0;
    if (!tally.enough() && tally.tried != 0)
      std::printf("%s: %u of %u proved\n", contract.c_str(), tally.proved, tally.tried);
  }
  for (const auto& [target, of] : targets)
    std::printf("%s: %u of %u contracts\n", target.c_str(), of.first, of.second);
  std::printf(
      "%u of %zu contracts proved equal to two other configurations, or to all there are; %u have "
      "no other program; %u proofs were not run\n",
      enough, tallies.size(), alone, missing);
  return enough + alone == tallies.size() ? 0 : 1;
}

int prove_suite(const Sweep& sweep) {
  std::map<std::string, Tally> tallies;
  std::vector<Item> items = items_of(sweep, tallies), todo;
  std::map<std::string, Json> lines = lines_in(sweep.results);
  for (const Item& item : items) {
    auto known = lines.find(item.name());
    if (known == lines.end() || (sweep.retry && known->second["reason_code"] == "exhausted"))
      todo.push_back(item);
  }
  std::stable_partition(todo.begin(), todo.end(),
                        [&](const Item& item) { return !lines.contains(item.name()); });
  run_items(sweep, todo);
  return print_table(items, tallies, lines_in(sweep.results));
}

int usage(const std::string& what) {
  std::fprintf(stderr, "verify_bench: unknown option %s\n", what.c_str());
  return 64;
}

int sweep_of(const std::vector<std::string>& words) {
  Sweep sweep;
  sweep.results = "verify.jsonl";
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    bool more = i + 1 < words.size();
    if (word == "--configs" && more)
      sweep.folder = words[++i];
    else if (word == "--results" && more)
      sweep.results = words[++i];
    else if (word == "--jobs" && more)
      sweep.jobs = static_cast<unsigned>(std::stoul(words[++i]));
    else if (word == "--limit" && more)
      sweep.limit = std::stoull(words[++i]);
    else if (word == "--until" && more)
      sweep.until = std::stod(words[++i]);
    else if (word == "--retry")
      sweep.retry = true;
    else if (word.starts_with("--"))
      return usage(word);
    else
      sweep.names.push_back(word);
  }
  return prove_suite(sweep);
}

}  // namespace
}  // namespace lathe

int main(int count, char** words) {
  namespace fs = std::filesystem;
  fs::path root(LATHE_ROOT);
  std::vector<std::string> names(words + 1, words + count);
  if (names.size() == 3 && names[0] == "--one") return lathe::print_one(names[1], names[2]);
  if (!names.empty() && names[0] == "--configs") return lathe::sweep_of(names);
  if (names.size() == 1 && names[0] == "--figures") return lathe::print_figures(root) ? 0 : 1;
  bool good = true;
  auto prove = [&](const fs::path& contracts, const std::string& name) {
    lathe::Tally tally =
        lathe::prove_all(contracts / name, root / "tests/kernels/alternatives" / name);
    good &= tally.tried != 0 && tally.proved == tally.tried;
  };
  for (const std::string& name : names) prove(root / "suite/contracts", name);
  if (!names.empty()) return good ? 0 : 1;
  for (const char* kernel : {"sum_8x512", "silu_4x512", "softmax_8x256", "gemm_256x256x128"})
    for (const char* target : {"sm_89", "sm_90a", "sm_100a"}) {
      if (std::string(kernel).starts_with("gemm") && std::string(target) != "sm_89") continue;
      prove(root / "tests/kernels/contracts", std::string(kernel) + "_fp16_" + target);
    }
  good &= lathe::print_figures(root);
  return good ? 0 : 1;
}
