#pragma once

// What a process says at its end.

#include "base/result.h"

namespace lathe::cli {

enum Exit : int {
  exit_done = 0,  // What was asked for holds or was done.
  exit_no = 1,    // A definite no: refuted, rejected, check failed.
  exit_undecided = 2,
  exit_usage = 64,
  exit_bad_input = 65,
  exit_unavailable = 69,  // Something needed is not there.
  exit_own_fault = 70,
  exit_io = 74,
  exit_try_again = 75,  // The owner is busy.
  exit_not_permitted = 77,
  exit_interrupted = 130,
};

/// The status of an error: by its fault and, where something is not there, by what.
constexpr int exit_status(const Error& error) {
  switch (error.fault) {
    case Fault::malformed:
      return exit_bad_input;
    case Fault::unsupported:
      return exit_undecided;
    case Fault::exhausted:
      return exit_undecided;
    case Fault::unavailable:
      break;
  }
  switch (error.absent) {
    case Absent::service:
      return exit_unavailable;
    case Absent::file:
      return exit_io;
    case Absent::owner:
      return exit_try_again;
    case Absent::permission:
      return exit_not_permitted;
  }
  return exit_own_fault;
}

}  // namespace lathe::cli
