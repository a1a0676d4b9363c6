// Contracts in the store: their canonical text, their reference and the files that their `values`
// name, as blobs.

#include <algorithm>

#include "store/deeds.h"

namespace lathe::store {
namespace {

void keep_files(Batch& batch, const std::vector<Tensor>& tensors, std::vector<KeptFile>& files) {
  for (const Tensor& tensor : tensors) {
    const auto* file = std::get_if<Values::File>(&tensor.values.kind);
    if (file == nullptr || file->bytes == nullptr) continue;
    bool known = std::any_of(files.begin(), files.end(),
                             [&](const KeptFile& other) { return other.name == file->path; });
    if (!known) files.push_back({file->path, batch.blob(*file->bytes)});
  }
}

Result<Done> place_files(const Store& store, std::vector<Tensor>& tensors,
                         const std::vector<KeptFile>& files) {
  for (Tensor& tensor : tensors) {
    auto* file = std::get_if<Values::File>(&tensor.values.kind);
    if (file == nullptr) continue;
    auto kept = std::find_if(files.begin(), files.end(),
                             [&](const KeptFile& other) { return other.name == file->path; });
    if (kept == files.end())
      return Error{Fault::malformed,
                   "the store holds the contract without its file " + file->path,
                   "start the run again from the contract's directory",
                   {store.path().string(), 0, 0}};
    Result<std::string> bytes = store.blob(kept->bytes);
    if (!bytes) return bytes.error();
    file->bytes = std::make_shared<const std::string>(*std::move(bytes));
  }
  return Done{};
}

}  // namespace

Digest keep_contract(Batch& batch, const Contract& contract) {
  Digest identity = contract.identity();
  ContractRecord record{contract.name,
                        contract.target,
                        batch.blob(print_contract(contract)),
                        batch.blob(contract.reference),
                        {}};
  keep_files(batch, contract.tensors, record.files);
  for (const Case& each : contract.cases) keep_files(batch, each.tensors, record.files);
  batch.put(ContractKey{identity}, record);
  return identity;
}

Result<Contract> kept_contract(const Store& store, const Digest& contract) {
  Result<std::optional<ContractRecord>> record = store.get(ContractKey{contract});
  if (!record) return record.error();
  if (!*record)
    return Error{Fault::malformed,
                 "the store knows no contract " + short_hex(contract),
                 "",
                 {store.path().string(), 0, 0}};
  Result<std::string> text = store.blob((*record)->text);
  if (!text) return text.error();
  Result<std::string> reference = store.blob((*record)->reference);
  if (!reference) return reference.error();
  Result<Contract> read = parse_contract(*text, "contract " + short_hex(contract));
  if (!read) return read;
  read->reference = *std::move(reference);
  Result<Done> placed = place_files(store, read->tensors, (*record)->files);
  for (Case& each : read->cases)
    if (placed) placed = place_files(store, each.tensors, (*record)->files);
  if (!placed) return placed.error();
  return read;
}

}  // namespace lathe::store
