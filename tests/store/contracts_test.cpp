// A contract comes back from the store with the identity that it had, its files included.

#include <catch2/catch.hpp>

#include "tests/contract/sample.h"
#include "tests/store/samples.h"

namespace lathe::store {
namespace {

Contract with_file(const std::string& bytes) {
  auto contract =
      parse_contract(sample_with("values = \"normal\"", "values = {file = \"x.bin\"}"), "toml");
  REQUIRE(contract.has_value());
  std::get<Values::File>(contract->tensors[0].values.kind).bytes =
      std::make_shared<const std::string>(bytes);
  return *std::move(contract);
}

TEST_CASE("a contract's files come back from the store with it") {
  auto store = Store::in_memory();
  Contract contract = with_file("some bytes");
  Batch batch;
  Digest identity = keep_contract(batch, contract);
  REQUIRE(store->commit(std::move(batch)));
  Result<Contract> back = kept_contract(*store, identity);
  REQUIRE(back.has_value());
  CHECK(back->identity() == identity);
  CHECK(*std::get<Values::File>(back->tensors[0].values.kind).bytes == "some bytes");
}

TEST_CASE("a contract whose file the store does not hold is not given back without it") {
  auto store = Store::in_memory();
  Contract contract = with_file("some bytes");
  std::get<Values::File>(contract.tensors[0].values.kind).bytes = nullptr;
  Batch batch;
  batch.put(ContractKey{digest_of("c")}, ContractRecord{"softmax",
                                                        "sm_90a",
                                                        batch.blob(print_contract(contract)),
                                                        batch.blob(contract.reference),
                                                        {}});
  REQUIRE(store->commit(std::move(batch)));
  Result<Contract> back = kept_contract(*store, digest_of("c"));
  REQUIRE_FALSE(back.has_value());
  CHECK(back.error().what.find("x.bin") != std::string::npos);
}

}  // namespace
}  // namespace lathe::store
