// lathe prove: proves a candidate that a store knows once more, in full.

#include <algorithm>

#include "base/files.h"
#include "cli/complaint.h"
#include "cli/exit_status.h"
#include "cli/found_candidate.h"
#include "cli/store_place.h"
#include "cli/subcommand.h"
#include "cli/verification.h"
#include "store/deeds.h"

namespace lathe::cli {
namespace {

struct Options {
  std::string candidate, store;
  Verification how;
};

/// The contract as a directory: its text, its reference and the files that its values name.
Result<Done> write_contract(const Contract& contract, const std::filesystem::path& folder) {
  Result<Done> done = write_file(folder / "contract.toml", print_contract(contract));
  if (done) done = write_file(folder / "reference.ptx", contract.reference);
  auto write_values = [&](const std::vector<Tensor>& tensors) {
    for (const Tensor& tensor : tensors) {
      const auto* file = std::get_if<Values::File>(&tensor.values.kind);
      if (!done || file == nullptr || file->bytes == nullptr) continue;
      std::filesystem::path place = folder / file->path;
      std::error_code code;
      std::filesystem::create_directories(place.parent_path(), code);
      done = write_file(place, *file->bytes);
    }
  };
  write_values(contract.tensors);
  for (const Case& each : contract.cases) write_values(each.tensors);
  return done;
}

struct Subject {
  Digest candidate;
  std::string ptx;
  Contract contract;
};

Result<Subject> find(const store::Store& store, const std::string& digits) {
  Result<FoundCandidate> candidate = find_candidate(store, digits);
  if (!candidate) return candidate.error();
  Result<Contract> contract = store::kept_contract(store, candidate->key.contract);
  if (!contract) return contract.error();
  return Subject{candidate->key.candidate, std::move(candidate->ptx), *std::move(contract)};
}

int run(const Options& options) {
  Form form = form_of(options.how.json);
  if (auto wrong = no_digits(options.candidate)) return complain_with(exit_usage, *wrong, form);
  Result<std::unique_ptr<store::Store>> store = look_at_store(options.store);
  if (!store) return complain(store.error(), form);
  Result<Subject> subject = find(**store, options.candidate);
  if (!subject) return complain(subject.error(), form);
  store->reset();
  Scratch scratch;
  Result<Done> written = write_contract(subject->contract, scratch.path());
  if (written) written = write_file(scratch.path() / "candidate.ptx", subject->ptx);
  if (!written) return complain(written.error(), form);
  Verification how = options.how;
  how.contract = scratch.path().string();
  how.reference = (scratch.path() / "reference.ptx").string();
  how.candidate = (scratch.path() / "candidate.ptx").string();
  how.candidate_name = hex(subject->candidate);
  return verify_files(how);
}

}  // namespace

Body declare_prove(App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("candidate", options->candidate, "the first digits of its digest").required();
  app.add_option("--store", options->store, "folder of the store");
  add_verification_options(app, options->how);
  return [options] { return run(*options); };
}

}  // namespace lathe::cli
