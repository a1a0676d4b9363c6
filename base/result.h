#pragma once

// Result<T>: a value, or the Error that took its place. It has the part of
// std::expected's interface that we use, so that C++23 can replace this file.

#include <cassert>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

namespace lathe {

/// Each fault has its own remedy; two errors with one remedy share a fault.
enum class Fault : std::uint8_t {
  malformed,    // The input is not what it claims to be. Drop it and say so.
  unsupported,  // Well-formed, but outside what we model. A gate turns it into Undecided.
  exhausted,    // A limit was reached. A larger budget may succeed. A gate turns it into Undecided.
  unavailable,  // A node, device, file or permission is not there. Try elsewhere; never stored.
};

/// Which thing an `unavailable` error lacks; it decides the exit status (cli/exit_status.h).
enum class Absent : std::uint8_t { service, file, owner, permission };

/// A place in a file, counted from 1; 0 is unknown.
struct Place {
  std::string file;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

struct Error {
  Fault fault = Fault::malformed;
  std::string what;    // One sentence without a full stop: what is wrong.
  std::string remedy;  // What to do; may be empty.
  Place place;         // Where; may be empty.
  Absent absent = Absent::service;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  const T& operator*() const& {
    assert(has_value());
    return *std::get_if<0>(&state_);
  }
  T& operator*() & {
    assert(has_value());
    return *std::get_if<0>(&state_);
  }
  T&& operator*() && {
    assert(has_value());
    return std::move(*std::get_if<0>(&state_));
  }
  const T* operator->() const { return &**this; }
  T* operator->() { return &**this; }
  const Error& error() const {
    assert(!has_value());
    return *std::get_if<1>(&state_);
  }

  /// Feeds the value to `next`; an error passes by.
  template <class Next>
  auto and_then(Next&& next) && -> decltype(next(std::declval<T>())) {
    if (!has_value()) return error();
    return next(*std::move(*this));
  }

 private:
  std::variant<T, Error> state_;
};

/// The value of an operation that has none to give: `Result<Done>`.
struct Done {};

}  // namespace lathe
