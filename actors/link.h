#pragma once

// A node's end of the line: to its slots it is the dispatcher, and what they say it says to the
// coordinator's door.
//
//   connecting --welcome--> up --down, error--> connecting (after a pause)
//       \--refused--> ended
//
// A fresh handle is no proof of life: hello must be answered before anything else is said.

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <deque>
#include <functional>
#include <set>
#include <string>

#include "actors/interfaces.h"
#include "cluster/identity.h"

namespace lathe::actors {

struct LinkSettings {
  std::string host;
  std::uint16_t port = 0;
  std::string node, secret;
  std::uint64_t slots = 1;
  std::set<std::string> offers;                        // Of its slots; said once, with hello.
  std::chrono::milliseconds connect_wait_max{30'000};  // Until the first welcome.
  /// For a coordinator that was there and is gone: it may have been killed and be resumed.
  std::chrono::milliseconds return_wait_max{60'000};
  /// Where a large reply's bytes are; an error is tried again.
  std::function<Result<Digest>(const std::string& bytes)> put;
  std::function<void(const std::string& kind, const std::string& json)> tell;
  /// Once: Done where the coordinator said that the run is over.
  std::function<void(Result<Done>)> end;
};

struct LinkState {
  LinkState() = default;
  static inline const char* name = "link";

  LinkSettings settings;
  caf::actor door;  // None while connecting.
  bool welcomed_once = false, ended = false;
  std::chrono::milliseconds pause{100}, waited{0};
  std::string down;  // Why the line is down, as it was told last.
  std::deque<caf::typed_response_promise<Offer>> claims;  // Of slots, while connecting.
};

DispatcherActor::behavior_type link_actor(DispatcherActor::stateful_pointer<LinkState> self,
                                          LinkSettings settings);

/// A reply of more bytes than this goes as a blob.
inline constexpr std::size_t inline_reply_bytes_max = 48u << 10;

}  // namespace lathe::actors
