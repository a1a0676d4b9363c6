#pragma once

// Every actor's interface, one sentence a message. A message is told by its type. None of these
// leaves the process: between processes, cluster/wire.h carries bytes (actors/gateway.h).

#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/replies_to.hpp>
#include <caf/typed_actor.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "actors/work.h"
#include "base/digest.h"
#include "planner/planner.h"
#include "planner/subagent.h"
#include "store/deeds.h"
#include "store/store.h"

namespace lathe::actors {

/// Something to do with the store, alone and in turn. What it reads it leaves in what it captured.
struct Deed {
  std::function<Result<Done>(store::Store&)> run;
};
struct DeedEnd {
  Result<Done> result = Done{};
};

using StoreActor = caf::typed_actor<
    // Carries out the deed after all that came before it, and says how it ended.
    caf::replies_to<Deed>::with<DeedEnd>>;

/// A gate to run on a node; `key` names its result, and equal keys are one piece of work.
struct WorkOrder {
  store::ResultKey key;
  std::shared_ptr<const std::string> request;  // encode(WorkRequest)
  std::uint64_t run = 0;
  std::uint64_t priority = 0;
  std::set<std::string> needs;  // What a node must offer (actors/work.h).
};
/// Of an order: the reply whose verdict is committed, or the error that keeps it from ever coming.
struct WorkEnd {
  WorkReply reply;
};
struct Claim {
  std::string node;
  std::set<std::string> offers;
};
/// A leased piece of work. No item (`token` 0): nothing came in time, ask again.
struct Offer {
  Digest item;
  std::uint64_t token = 0;
  Gate gate = Gate::assemble;
  std::uint64_t lease_ms = 0;
  std::shared_ptr<const std::string> request;
  std::shared_ptr<const std::string> journal = {};  // Null: nobody has finished any of it.
};
struct Renew {
  std::string node;
  Digest item;
  std::uint64_t token = 0;
};
struct Renewed {
  bool held = false;
};
struct Complete {
  std::string node;
  Digest item;
  std::uint64_t token = 0;
  WorkReply reply;
};
struct Completed {
  store::Completion completion = store::Completion::stale;
};
/// A unit of leased work is finished, whatever becomes of the rest.
struct Note {
  std::string node;
  Digest item;
  std::uint64_t token = 0;
  std::shared_ptr<const std::string> unit;
};
struct NodeLost {
  std::string node;
};
struct Expire {};
struct Drain {};

using DispatcherActor = caf::typed_actor<
    // Has the gate run on some node and answers when its verdict is committed.
    caf::replies_to<WorkOrder>::with<WorkEnd>,
    // Answers with a lease as soon as there is work, or with none after a while.
    caf::replies_to<Claim>::with<Offer>,
    // Lengthens a lease that is still held.
    caf::replies_to<Renew>::with<Renewed>,
    // Commits a result, once, if its lease is still held.
    caf::replies_to<Complete>::with<Completed>,
    // Keeps the unit for the next holder, if the lease is still held.
    caf::replies_to<Note>::with<Renewed>,
    // Gives the node's work to others at once.
    caf::reacts_to<NodeLost>,
    // Looks for leases that have run out.
    caf::reacts_to<Expire>,
    // Hands out nothing more.
    caf::reacts_to<Drain>>;

/// From the child process that ran a gate.
struct ChildEnd {
  Digest item;
  std::uint64_t token = 0;
  WorkReply reply;
};
/// From the same, before its end.
struct UnitEnd {
  Digest item;
  std::uint64_t token = 0;
  std::shared_ptr<const std::string> unit;
};
struct Pull {};
struct Beat {};

using NodeActor = caf::typed_actor<
    // Asks the dispatcher for work.
    caf::reacts_to<Pull>,
    // Renews the lease of the work in hand.
    caf::reacts_to<Beat>,
    // Returns the result and asks for more.
    caf::reacts_to<ChildEnd>,
    // Passes on what the work has finished so far.
    caf::reacts_to<UnitEnd>,
    // Takes no new work and leaves when the work in hand is done.
    caf::reacts_to<Drain>>;

/// From a subagent to its planner.
struct SubagentEnd {
  planner::Assignment assignment;
  Result<planner::Proposal> proposal = Error{};
};
struct Begin {};
struct Steer {
  planner::Event event;
};

using PlannerActor = caf::typed_actor<
    // Starts the run, or goes on with it from what the store knows.
    caf::reacts_to<Begin>,
    // Commits a subagent's proposal and tells the planner.
    caf::reacts_to<SubagentEnd>,
    // A person's word to a running search.
    caf::reacts_to<Steer>>;

/// What people and other programs are told; `json` is one object.
struct Told {
  std::string kind;
  std::string json;
};

using PublisherActor = caf::typed_actor<
    // Numbers it and sends it to all who listen.
    caf::reacts_to<Told>>;

}  // namespace lathe::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lathe::actors::Deed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lathe::actors::DeedEnd)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lathe::actors::WorkOrder)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lathe::actors::WorkEnd)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lathe::actors::Claim)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lathe::actors::Offer)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lathe::actors::Renew)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lathe::actors::Renewed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lathe::actors::Complete)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lathe::actors::Completed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lathe::actors::Note)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lathe::actors::NodeLost)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lathe::actors::Expire)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lathe::actors::Drain)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lathe::actors::ChildEnd)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lathe::actors::UnitEnd)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lathe::actors::Pull)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lathe::actors::Beat)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lathe::actors::SubagentEnd)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lathe::actors::Begin)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lathe::actors::Steer)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lathe::actors::Told)
