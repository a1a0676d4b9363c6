#pragma once

// Every subcommand: one file of its name, one line here. Each declares its options and gives back
// what runs it.

#include <array>
#include <functional>
#include <memory>
#include <string_view>

#include "cli/app.h"

namespace lathe::cli {

/// What runs a subcommand: gives the exit status (cli/exit_status.h).
using Body = std::function<int()>;

/// Declares a subcommand's options on its own (already named) app.
using Declare = Body (*)(App& app);

Body declare_bench(App& app);
Body declare_cluster(App& app);
Body declare_completion(App& app);
Body declare_contract(App& app);
Body declare_deploy(App& app);
Body declare_doctor(App& app);
Body declare_export(App& app);
Body declare_frontier(App& app);
Body declare_import(App& app);
Body declare_lower(App& app);
Body declare_node(App& app);
Body declare_prove(App& app);
Body declare_ptx(App& app);
Body declare_resume(App& app);
Body declare_runs(App& app);
Body declare_sanitize(App& app);
Body declare_show(App& app);
Body declare_store(App& app);
Body declare_test(App& app);
Body declare_try(App& app);
Body declare_verify(App& app);
Body declare_version(App& app);
Body declare_worker(App& app);

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
    Subcommand{"prove", "a candidate of a store once more, by the verifier alone",
               "lathe prove 1a2b3c4d --store S", declare_prove},
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
    Subcommand{"deploy", "write a run's winners for programs: with guards, for Triton, as cubin",
               "lathe deploy --store S --winners winners", declare_deploy},
    Subcommand{"export", "contracts and winners as FlashInfer-Trace documents",
               "lathe export --store S --flashinfer-trace dataset", declare_export},
    Subcommand{"import", "FlashInfer-Trace documents, checked, with programs for capture",
               "lathe import --flashinfer-trace definition.json workloads.jsonl --out imported",
               declare_import},
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
