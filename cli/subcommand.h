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

Body declare_cluster(CLI::App& app);
Body declare_frontier(CLI::App& app);
Body declare_lower(CLI::App& app);
Body declare_node(CLI::App& app);
Body declare_resume(CLI::App& app);
Body declare_runs(CLI::App& app);
Body declare_show(CLI::App& app);
Body declare_store(CLI::App& app);
Body declare_try(CLI::App& app);
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
    Subcommand{"cluster", "make a farm's identity and admit its nodes", "lathe cluster init farm",
               declare_cluster},
    Subcommand{"node", "take work from a coordinator", "lathe node --join gpu1.bundle",
               declare_node},
    Subcommand{"worker", "run one gate for a node", "", declare_worker, true},
};

}  // namespace lathe::cli
