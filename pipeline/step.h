#pragma once

// What a gate says: the candidate passed, it failed, we cannot tell, or no answer came (an Error).

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/result.h"

namespace lathe {

/// Evidence that a proposer can act on. `json` is a JSON object as text, in a stable order, without
/// clocks or paths.
struct Evidence {
  std::string code;    // "race", "value", "assemble", ..: cli.md lists those of the verifier.
  std::string reason;  // One sentence.
  Place place;         // In the candidate's PTX, where there is one.
  std::string json = "{}";
};

/// The candidate is at fault. The reason is stored and the candidate forgotten.
struct Rejected {
  Evidence evidence;
};

enum class Reason : std::uint8_t {
  unsupported,
  exhausted,
  unguarded,
  not_witnessed,
  precision,
  divisor,
  ambiguous,
  unmeasurable
};
std::string_view name_of(Reason reason);

/// We could not tell, and the same try would not either. Stored, and told to whoever proposed.
struct Undecided {
  Reason reason = Reason::unsupported;
  Evidence evidence;
};

template <class Next>
class [[nodiscard]] Step {
 public:
  Step(Next passed) : state_(std::move(passed)) {}
  Step(Rejected rejected) : state_(std::move(rejected)) {}
  Step(Undecided undecided) : state_(std::move(undecided)) {}
  Step(Error error) : state_(std::move(error)) {}

  const Next* passed() const { return std::get_if<Next>(&state_); }
  const Rejected* rejected() const { return std::get_if<Rejected>(&state_); }
  const Undecided* undecided() const { return std::get_if<Undecided>(&state_); }
  const Error* error() const { return std::get_if<Error>(&state_); }

  template <class Gate>
  auto then(Gate&& gate) && -> decltype(gate(std::declval<Next>())) {
    if (auto* rejected = std::get_if<Rejected>(&state_)) return std::move(*rejected);
    if (auto* undecided = std::get_if<Undecided>(&state_)) return std::move(*undecided);
    if (auto* error = std::get_if<Error>(&state_)) return std::move(*error);
    return gate(std::get<Next>(std::move(state_)));
  }

 private:
  std::variant<Next, Rejected, Undecided, Error> state_;
};

}  // namespace lathe
