// Contracts in the store: their canonical text and their reference, as blobs.

#include "store/deeds.h"

namespace lathe::store {

Digest keep_contract(Batch& batch, const Contract& contract) {
  Digest identity = contract.identity();
  ContractRecord record{contract.name, contract.target, batch.blob(print_contract(contract)),
                        batch.blob(contract.reference)};
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
  if (read) read->reference = *std::move(reference);
  return read;
}

}  // namespace lathe::store
