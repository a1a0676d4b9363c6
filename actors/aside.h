#pragma once

// Blocking work (a child process, a model's reply) runs aside: never on the actors' own threads.

#include <caf/blocking_actor.hpp>
#include <caf/local_actor.hpp>
#include <functional>
#include <utility>

namespace lathe::actors {

/// Runs the work somewhere else, later. A simulation passes its own, and decides when.
using Aside = std::function<void(std::function<void()>)>;

/// `aside`, or, where there is none, a thread of its own.
inline void run_aside(caf::local_actor* self, const Aside& aside, std::function<void()> work) {
  if (aside) return aside(std::move(work));
  self->spawn<caf::detached>([work = std::move(work)](caf::blocking_actor*) { work(); });
}

}  // namespace lathe::actors
