#include "cli/gate_run.h"

#include <cstdio>
#include <memory>
#include <vector>

#include "base/json.h"
#include "cli/complaint.h"
#include "cli/exit_status.h"
#include "cli/input_file.h"
#include "cli/waiting.h"
#include "gpu_node/gpu_node.h"
#include "pipeline/admission.h"
#include "pipeline/figures.h"

namespace lathe::cli {
namespace {

class GateRun {
 public:
  GateRun(const GateOptions& options, std::string_view name)
      : options_(options), waiting_(options.quiet) {
    json_["schema"] = "lathe/" + std::string(name) + "/1";
    limits_.seed = options.seed;
    limits_.blocks_max = options.blocks;
  }

  int run(Gate last) {
    Opened opened = open_contract(options_.contract);
    if (opened.contract == nullptr) return complain(opened.errors, form_of(options_.json));
    Result<std::string> ptx = read_input(options_.file);
    if (!ptx) return complain(ptx.error(), form_of(options_.json));
    Result<std::string> incumbent = opened.contract->reference;
    if (!options_.incumbent.empty()) incumbent = read_input(options_.incumbent);
    if (!incumbent) return complain(incumbent.error(), form_of(options_.json));
    json_["contract"] = hex(opened.contract->identity());
    json_["gates"] = Json::array();
    Step<Screened> screened = screen({opened.contract, *std::move(ptx)});
    if (const Screened* passed =
            said(Gate::screen, screened, [](const Screened&) { return std::string("{}"); })) {
      json_["candidate"] = hex(passed->candidate);
      from_screened(*passed, last, *incumbent);
    }
    return finish();
  }

 private:
  void from_screened(const Screened& screened, Gate last, const std::string& incumbent) {
    auto figures_of = [](const auto& passed) { return figures(passed); };
    auto assembler = gpu_node::choose_assembler(screened.contract->ptx_isa);
    if (!assembler) return fail(assembler.error());
    begin(Gate::assemble);
    auto assembled = gpu_node::assemble(screened, *assembler, limits_);
    const Assembled* a = said(Gate::assemble, assembled, figures_of);
    if (a == nullptr) return;
    begin(Gate::sanitize);
    auto sanitized = gpu_node::sanitize(*a, limits_);
    const Sanitized* s = said(Gate::sanitize, sanitized, figures_of);
    if (s == nullptr || last == Gate::sanitize) return;
    begin(Gate::test);
    auto tested = gpu_node::test(*s, limits_);
    const Tested* t = said(Gate::test, tested, figures_of);
    if (t == nullptr || last == Gate::test) return;
    begin(Gate::benchmark);
    auto timed = gpu_node::benchmark(*t, incumbent, *assembler, limits_);
    said(Gate::benchmark, timed, [](const Timed& passed) { return figures(passed.timing); });
  }

  void fail(const Error& error) {
    waiting_.clear();
    status_ = complain(error, form_of(options_.json));
    answered_ = false;
  }

  /// Writes down what a gate answered; what it passed, else null.
  template <class Next, class Figures>
  const Next* said(Gate gate, const Step<Next>& step, Figures figures_of) {
    if (step.error() != nullptr) {
      fail(*step.error());
      return nullptr;
    }
    Json json;
    json["gate"] = name_of(gate);
    if (const Next* passed = step.passed()) {
      json["answer"] = name_of(Verdict::Answer::passed);
      json["figures"] = Json::parse(figures_of(*passed));
      add(std::move(json));
      return passed;
    }
    bool rejected = step.rejected() != nullptr;
    const Evidence& evidence = rejected ? step.rejected()->evidence : step.undecided()->evidence;
    json["answer"] = name_of(rejected ? Verdict::Answer::rejected : Verdict::Answer::undecided);
    if (!rejected) json["reason_code"] = name_of(step.undecided()->reason);
    json["code"] = evidence.code;
    json["reason"] = evidence.reason;
    if (evidence.place.line != 0) json["line"] = evidence.place.line;
    if (evidence.place.column != 0) json["column"] = evidence.place.column;
    json["evidence"] = Json::parse(evidence.json, nullptr, false);
    add(std::move(json));
    status_ = rejected ? exit_no : exit_undecided;
    return nullptr;
  }

  void add(Json json) {
    json_["answer"] = json["answer"];
    if (!options_.json && !options_.quiet) print(json);
    json_["gates"].push_back(std::move(json));
  }

  void print(const Json& json) {
    std::string text = json["gate"].get<std::string>() + ": " + json["answer"].get<std::string>();
    if (json.contains("reason")) {
      text += ", " + json["code"].get<std::string>() + ": " + json["reason"].get<std::string>();
      if (json.contains("line"))
        text += " (" + options_.file + ":" + std::to_string(json["line"].get<unsigned>()) + ")";
    } else if (!json["figures"].empty()) {
      text += " " + json["figures"].dump();
    }
    waiting_.clear();
    std::printf("%s\n", text.c_str());
    std::fflush(stdout);
  }

  int finish() {
    waiting_.begin("");
    waiting_.clear();
    if (options_.json && answered_) std::printf("%s\n", json_.dump(2).c_str());
    return status_;
  }

  void begin(Gate gate) { waiting_.begin(std::string(name_of(gate))); }

  const GateOptions& options_;
  Waiting waiting_;
  gpu_node::Limits limits_;
  Json json_;
  int status_ = exit_done;
  bool answered_ = true;
};

}  // namespace

void add_gate_options(App& app, GateOptions& options) {
  app.add_option("file", options.file, "the candidate's PTX, or - for standard input").required();
  app.add_option("--contract", options.contract, "contract directory").required();
  app.add_option("--seed", options.seed, "of the inputs and of which blocks are sampled");
  app.add_option("--blocks", options.blocks, "blocks at most that are run of a large grid")
      .positive();
  app.add_flag("--json", options.json, "one JSON document on standard output");
  app.add_flag("--quiet", options.quiet, "say nothing but complaints");
}

int run_gates(const GateOptions& options, Gate last, std::string_view name) {
  return GateRun(options, name).run(last);
}

}  // namespace lathe::cli
