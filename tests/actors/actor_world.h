#pragma once

// An actor system without threads or time. The seed picks who runs next: an actor with mail, or
// work that runs aside. A failure comes back with its seed.

#include <algorithm>
#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/atom.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <stdexcept>
#include <vector>

#include "actors/aside.h"
#include "base/random.h"

namespace lathe::actors {

class ActorWorld {
 public:
  explicit ActorWorld(std::uint64_t seed = 0)
      : seed_(seed), system_(config_.set("scheduler.policy", caf::atom("testing"))) {}
  /// Everybody dies where they stand; what waits in a mailbox is never read.
  ~ActorWorld() { kill(); }
  ActorWorld(const ActorWorld&) = delete;
  ActorWorld& operator=(const ActorWorld&) = delete;

  caf::actor_system& system() { return system_; }

  template <class... Arguments>
  auto spawn(Arguments&&... arguments) {
    auto actor = system_.spawn(std::forward<Arguments>(arguments)...);
    actors_.push_back(caf::actor_cast<caf::actor>(actor));
    return actor;
  }

  void kill() {
    asides_.clear();
    for (const caf::actor& actor : actors_) caf::anon_send_exit(actor, caf::exit_reason::kill);
    actors_.clear();
    run();
  }

  /// Whether the actor would still read its mail.
  template <class Actor>
  bool lives(const Actor& actor) {
    bool down = false;
    auto watcher = spawn([actor, &down](caf::event_based_actor* self) {
      self->monitor(actor);
      self->set_down_handler([&down](const caf::down_msg&) { down = true; });
      self->become([](int) {});
    });
    run();
    caf::anon_send_exit(watcher, caf::exit_reason::kill);
    run();
    return !down;
  }

  /// Work that blocks waits here until the seed picks it.
  Aside aside() {
    return [this](std::function<void()> work) { asides_.push_back(std::move(work)); };
  }
  /// While false, work that runs aside does not end: a frozen machine.
  bool runs_asides = true;

  /// One message or one piece of work aside; false where nothing is left to do.
  bool step() {
    auto& ready = scheduler().jobs;
    std::size_t aside_count = runs_asides ? asides_.size() : 0;
    if (ready.size() + aside_count == 0) return false;
    std::size_t pick = draw(ready.size() + aside_count);
    if (pick < ready.size()) {
      std::swap(ready.front(), ready[pick]);
      scheduler().run_once();
    } else {
      auto work = asides_.begin() + static_cast<std::ptrdiff_t>(pick - ready.size());
      std::function<void()> chosen = std::move(*work);
      asides_.erase(work);
      chosen();
    }
    return true;
  }

  /// Until every mailbox is empty.
  void run() {
    while (step()) {
    }
  }

  /// Lets time pass, in small steps, with all that it brings about.
  void pass(std::chrono::milliseconds time) {
    using std::chrono::milliseconds;
    for (milliseconds left = time; left.count() > 0; left -= milliseconds(10)) {
      scheduler().advance_time(std::min(left, milliseconds(10)));
      run();
    }
  }

  /// The owner's clock of a dispatcher that lives here.
  std::function<std::uint64_t()> clock() {
    return [this] {
      return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                            scheduler().clock().now().time_since_epoch())
                                            .count());
    };
  }

  /// Asks now and looks for the answer later.
  template <class Answer>
  struct Pending {
    std::shared_ptr<std::optional<Answer>> answer = std::make_shared<std::optional<Answer>>();
    bool came() const { return answer->has_value(); }
    const Answer& operator*() const { return **answer; }
    const Answer* operator->() const { return &**answer; }
  };
  template <class Answer, class Actor, class Message>
  Pending<Answer> ask_later(const Actor& actor, Message message) {
    Pending<Answer> pending;
    spawn(
        [actor, message = std::move(message), slot = pending.answer](caf::event_based_actor* self) {
          self->request(actor, caf::infinite, message)
              .then([slot](const Answer& answer) { *slot = answer; }, [](const caf::error&) {});
        });
    return pending;
  }

  /// The answer of `actor`; a missing one fails the test.
  template <class Answer, class Actor, class Message>
  Answer ask(const Actor& actor, Message message) {
    Pending<Answer> pending = ask_later<Answer>(actor, std::move(message));
    run();
    if (!pending.came()) throw std::runtime_error("no answer came");
    return *pending;
  }

 private:
  caf::scheduler::test_coordinator& scheduler() {
    return dynamic_cast<caf::scheduler::test_coordinator&>(system_.scheduler());
  }
  std::size_t draw(std::size_t count) {
    return count < 2 || seed_ == 0 ? 0 : philox64(seed_, 0, ++drawn_) % count;
  }

  std::uint64_t seed_, drawn_ = 0;
  caf::actor_system_config config_;
  caf::actor_system system_;
  std::vector<caf::actor> actors_;
  std::deque<std::function<void()>> asides_;
};

}  // namespace lathe::actors
