// Any bytes as a PTX module: the parser ends, its complaints are few, and what it accepts prints
// back byte for byte and has a normal form that is its own.

#include <bitset>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "ptx/module.h"

namespace {

#ifdef LATHE_PLANTED
// The seeds have 55 and 56 kinds of bytes, together 60.
constexpr std::size_t kinds_of_seeds = 60, kinds_of_crash = 76;

/// One branch for each kind more, so that each is seen as something new.
template <std::size_t kinds>
[[gnu::noinline]] void climb(std::size_t found) {
  if constexpr (kinds == kinds_of_crash)
    std::abort();
  else if (found > kinds)
    climb<kinds + 1>(found);
}
#endif

/// Built with LATHE_PLANTED this target holds a crash, so that the search for crashes is itself
/// tried: a text of more kinds of bytes than the seeds have, which no single change brings. Whoever
/// keeps an input that reached something new, and changes it again, has them after 200 to 2,800
/// runs; the seeds alone, changed and thrown away, did not have them in six times 200,000. Where it
/// is found, inputs are changed, what they reach is seen, and the corpus grows by it.
void plant([[maybe_unused]] const lathe::ptx::Module& module) {
#ifdef LATHE_PLANTED
  std::bitset<256> kinds;
  for (char byte : *module.text) kinds.set(static_cast<unsigned char>(byte));
  climb<kinds_of_seeds>(kinds.count());
#endif
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  std::string text(reinterpret_cast<const char*>(bytes), size);
  lathe::ptx::Parsed parsed = lathe::ptx::parse(text, "fuzz.ptx");
  if (parsed.errors.size() > 20) std::abort();
  plant(parsed.module);
  if (!parsed.errors.empty()) return 0;
  if (lathe::ptx::print(parsed.module) != text) std::abort();
  std::string normal = lathe::ptx::normal_form(parsed.module);
  lathe::ptx::Parsed again = lathe::ptx::parse(normal, "normal.ptx");
  if (again.errors.empty() && lathe::ptx::normal_form(again.module) != normal) std::abort();
  return 0;
}
