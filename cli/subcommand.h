#pragma once

// Every subcommand: one file of its name, one line here. Each declares its options and gives back
// what runs it.

#include <CLI/CLI.hpp>
#include <array>
#include <functional>
#include <string_view>

namespace lathe::cli {

/// What runs a subcommand: gives the exit status (cli/exit_status.h).
using Body = std::function<int()>;

/// Declares a subcommand's options on its own (already named) app.
using Declare = Body (*)(CLI::App& app);

Body declare_bench(CLI::App& app);
Body declare_cluster(CLI::App& app);
Body declare_completion(CLI::App& app);
Body declare_contract(CLI::App& app);
Body declare_doctor(CLI::App& app);
Body declare_frontier(CLI::App& app);
Body declare_lower(CLI::App& app);
Body declare_node(CLI::App& app);
Body declare_ptx(CLI::App& app);
Body declare_resume(CLI::App& app);
Body declare_runs(CLI::App& app);
Body declare_sanitize(CLI::App& app);
Body declare_show(CLI::App& app);
Body declare_store(CLI::App& app);
Body declare_test(CLI::App& app);
Body declare_try(CLI::App& app);
Body declare_verify(CLI::App& app);
Body declare_version(CLI::App& app);
Body declare_worker(CLI::App& app);

struct Subcommand {
  std::string_view name, what, example;
  Declare declare;
  bool hidden = false;
};

inline constexpr std::array subcommands{
    Subcommand{"lower", "search from contract directories; ends with the frontier",
               "lathe lower suite/contracts/sum_fp16_sm_90a --rounds 3", declare_lower},
    Subcommand{"resume", "go on with an interrupted run", "lathe resume --store S", declare_resume},
    Subcommand{"try", "a person's own PTX through every gate", "lathe try mine.ptx --contract DIR",
               declare_try},
    Subcommand{"runs", "the runs of a store", "lathe runs --store S", declare_runs},
    Subcommand{"frontier", "the admitted candidates of each contract", "lathe frontier --store S",
               declare_frontier},
    Subcommand{"show", "one candidate: verdicts, proof, timing, difference",
               "lathe show 1a2b3c4d --store S", declare_show},
    Subcommand{"store", "export what a store knows", "lathe store export --store S", declare_store},
    Subcommand{"verify", "whether one PTX computes what another does",
               "lathe verify A.ptx B.ptx --contract DIR", declare_verify},
    Subcommand{"sanitize", "bounds, races and uninitialised reads of one file",
               "lathe sanitize mine.ptx --contract DIR", declare_sanitize},
    Subcommand{"test", "one file against the reference on the contract's inputs",
               "lathe test mine.ptx --contract DIR", declare_test},
    Subcommand{"bench", "the time of one file against the reference or an incumbent",
               "lathe bench mine.ptx --contract DIR", declare_bench},
    Subcommand{"contract", "check or show a contract",
               "lathe contract check suite/contracts/sum_fp16_sm_90a", declare_contract},
    Subcommand{"ptx", "the instruction table, and PTX files", "lathe ptx reference add",
               declare_ptx},
    Subcommand{"doctor", "what is there, what is not, and where each setting came from",
               "lathe doctor", declare_doctor},
    Subcommand{"version", "the program, its build and its assemblers", "lathe version",
               declare_version},
    Subcommand{"completion", "a completion script for a shell",
               "lathe completion bash > ~/.local/share/bash-completion/completions/lathe",
               declare_completion},
    Subcommand{"cluster", "make a farm's identity and admit its nodes", "lathe cluster init farm",
               declare_cluster},
    Subcommand{"node", "take work from a coordinator", "lathe node --join gpu1.bundle",
               declare_node},
    Subcommand{"worker", "run one gate for a node", "", declare_worker, true},
};

}  // namespace lathe::cli
