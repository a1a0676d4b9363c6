// Any bytes as a contract: read or refused, and what was read prints as text that reads the same.

#include <cstdint>
#include <cstdlib>
#include <string>

#include "contract/contract.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  std::string text(reinterpret_cast<const char*>(bytes), size);
  lathe::Result<lathe::Contract> contract = lathe::parse_contract(text, "fuzz.toml");
  if (!contract) {
    if (contract.error().what.empty()) std::abort();
    return 0;
  }
  std::string printed = lathe::print_contract(*contract);
  lathe::Result<lathe::Contract> again = lathe::parse_contract(printed, "printed.toml");
  if (!again || lathe::print_contract(*again) != printed) std::abort();
  return 0;
}
