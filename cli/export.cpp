// lathe export: contracts and winners as FlashInfer-Trace documents.

#include <cstdio>

#include "base/files.h"
#include "cli/complaint.h"
#include "cli/document.h"
#include "cli/exit_status.h"
#include "cli/flashinfer.h"
#include "cli/store_place.h"
#include "cli/subcommand.h"
#include "pipeline/admission.h"

namespace lathe::cli {
namespace {

using flashinfer::Dataset;

struct Options {
  std::optional<std::uint64_t> run;
  std::string store, out, contract, file;
  std::vector<std::string> directories;
  std::uint64_t seed = 0;
  bool unproved = false, json = false;
};

/// What leaves, and which contracts have nothing that could.
struct Export {
  Dataset dataset;
  std::vector<std::string> without;
};

/// Contracts alone, without solutions.
Result<Export> dataset_of_directories(const std::vector<std::string>& directories) {
  Export all;
  for (const std::string& directory : directories) {
    Opened opened = open_contract(directory);
    if (opened.contract == nullptr) return opened.errors.front();
    Result<Dataset> one = flashinfer::dataset_of(*opened.contract);
    if (!one) {
      Error error = one.error();
      error.place.file = directory;
      return error;
    }
    all.dataset.merge(*std::move(one));
  }
  return all;
}

Result<Export> dataset_of_deployments(const Options& options) {
  Result<Chosen> chosen = Chosen{};
  if (!options.file.empty()) {
    chosen = deployment_of_file(options.file, options.contract, options.seed);
  } else {
    auto store = look_at_store(options.store);
    if (!store) return store.error();
    chosen = deployments_of_run(**store, options.run, options.contract, options.unproved);
  }
  if (!chosen) return chosen.error();
  Export all{{}, chosen->without};
  for (const Deployment& deployment : chosen->deployments) {
    Result<Dataset> one = flashinfer::dataset_of(deployment);
    if (!one) return one.error();
    all.dataset.merge(*std::move(one));
  }
  return all;
}

/// Nothing leaves that the schema would refuse.
std::vector<Error> check(const Dataset& dataset, const flashinfer::PythonCheck& python) {
  std::vector<Error> errors;
  for (const auto& [path, text] : dataset) {
    auto kind = flashinfer::kind_of(
        text.substr(0, path.ends_with(".jsonl") ? text.find('\n') : std::string::npos));
    if (!kind) continue;
    std::string one = *kind == flashinfer::Kind::trace ? text.substr(0, text.find('\n')) : text;
    for (const auto& complaint : flashinfer::check(*kind, one, python))
      errors.push_back({Fault::malformed,
                        complaint.rule + ": `" + complaint.where + "` " + complaint.what,
                        "a fault of the export",
                        {path, 0, 0}});
  }
  return errors;
}

int say(const Export& all, const Options& options) {
  for (const std::string& line : all.without) std::fprintf(stderr, "%s\n", line.c_str());
  if (all.dataset.empty()) std::fprintf(stderr, "nothing to export\n");
  Json json;
  json["schema"] = "lathe/flashinfer-export/1";
  json["folder"] = options.out;
  json["files"] = Json::array();
  for (const auto& [path, _] : all.dataset) {
    json["files"].push_back(path);
    if (!options.json) std::printf("%s/%s\n", options.out.c_str(), path.c_str());
  }
  json["without"] = all.without;
  int said = options.json ? print_document(json) : (std::fflush(stdout) == 0 ? exit_done : exit_io);
  return said == exit_done && all.dataset.empty() ? exit_no : said;
}

int run(const Options& options) {
  Form form = form_of(options.json);
  Result<Export> all = options.directories.empty() ? dataset_of_deployments(options)
                                                   : dataset_of_directories(options.directories);
  if (!all) return complain(all.error(), form);
  if (all->dataset.empty()) return say(*all, options);
  Result<flashinfer::PythonCheck> python = flashinfer::python_check();
  if (!python) return complain(python.error(), form);
  if (std::vector<Error> errors = check(all->dataset, *python); !errors.empty())
    return complain(errors, form);
  auto done = write_directory(options.out, [&](const std::filesystem::path& aside) -> Result<Done> {
    for (const auto& [path, text] : all->dataset) {
      std::error_code code;
      std::filesystem::create_directories((aside / path).parent_path(), code);
      if (auto written = write_file(aside / path, text); !written) return written;
    }
    return Done{};
  });
  if (!done) return complain(done.error(), form);
  return say(*all, options);
}

}  // namespace

Body declare_export(App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("run", options->run, "its number (lathe runs); the newest without one");
  app.add_option("--flashinfer-trace", options->out, "folder of the dataset to write").required();
  app.add_option("--store", options->store, "folder of the store");
  app.add_option("--contract", options->contract,
                 "only this one: name or first digits; of --file its directory");
  app.add_option("--directory", options->directories,
                 "contract directories: definitions and workloads, no solutions");
  app.add_option("--file", options->file, "your own PTX as the solution, after every gate");
  app.add_option("--seed", options->seed, "of --file's inputs and points");
  app.add_flag("--unproved", options->unproved, "candidates that nobody has proved too");
  app.add_flag("--json", options->json, "one JSON document on standard output");
  return [options] { return run(*options); };
}

}  // namespace lathe::cli
