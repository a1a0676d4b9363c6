#include "actors/work.h"

#include <charconv>
#include <cstdio>

#include "actors/settings.h"
#include "base/pack.h"
#include "gpu_node/gpu_node.h"
#include "pipeline/codec.h"
#include "pipeline/figures.h"
#include "verifier_node/journal.h"
#include "verifier_node/verify.h"

namespace lathe::actors {
namespace {

const std::string memory_prefix = "memory:";

/// What a request and a reply may hold: a cubin and two PTX files, with room.
constexpr PackLimits message_limits{1u << 12, 1u << 8, 512u << 20, 8};

struct PackedRequest {
  std::uint32_t v = 1;
  std::uint32_t gate = 0;
  std::string payload, incumbent, ptx_isa, assembler;
  std::uint64_t seed = 0, steps_max = 0;
  MSGPACK_DEFINE_MAP(v, gate, payload, incumbent, ptx_isa, assembler, seed, steps_max)
};

struct PackedReply {
  std::uint32_t v = 1;
  std::uint32_t outcome = 0, fault = 0, absent = 0;
  std::string verdict, passed, what, remedy;
  MSGPACK_DEFINE_MAP(v, outcome, fault, absent, verdict, passed, what, remedy)
};

gpu_node::Limits device_limits(const WorkRequest& request) {
  gpu_node::Limits limits;
  limits.seed = request.seed;
  if (request.steps_max != 0) limits.steps_max = request.steps_max;
  return limits;
}

WorkReply failed(Error error) {
  WorkReply reply;
  reply.error = std::move(error);
  return reply;
}

/// The run's own assembler and no other: it is part of the result's key.
Result<gpu_node::Assembler> find_assembler(const WorkRequest& request) {
  if (request.assembler.empty()) return gpu_node::choose_assembler(request.ptx_isa);
  for (const gpu_node::Assembler& assembler : gpu_node::find_assemblers())
    if ("ptxas " + assembler.version == request.assembler) return assembler;
  return Error{Fault::unavailable, "this node has no " + request.assembler, "install it there", {}};
}

/// Turns a step into a reply; `passed` encodes what passed and `evidence` gives its figures.
template <class Next>
WorkReply reply_of(const WorkRequest& request, const Step<Next>& step, auto passed, auto evidence) {
  WorkReply reply;
  reply.verdict.gate = request.gate;
  reply.verdict.limits = limits_of(request);
  if (const Next* next = step.passed()) {
    reply.outcome = WorkReply::Outcome::passed;
    reply.verdict.answer = Verdict::Answer::passed;
    reply.verdict.evidence = {"passed", "passed", {}, evidence(*next)};
    reply.passed = passed(*next);
  } else if (const Rejected* rejected = step.rejected()) {
    reply.outcome = WorkReply::Outcome::rejected;
    reply.verdict.answer = Verdict::Answer::rejected;
    reply.verdict.evidence = rejected->evidence;
  } else if (const Undecided* undecided = step.undecided()) {
    reply.outcome = WorkReply::Outcome::undecided;
    reply.verdict.answer = Verdict::Answer::undecided;
    reply.verdict.reason_code = undecided->reason;
    reply.verdict.evidence = undecided->evidence;
  } else {
    return failed(*step.error());
  }
  // A verdict names no path: the candidate is known by its digest.
  reply.verdict.evidence.place.file.clear();
  return reply;
}

template <class Next>
WorkReply reply_of(const WorkRequest& request, const Step<Next>& step) {
  return reply_of(
      request, step, [](const Next& next) { return encode(next); },
      [](const Next& next) { return figures(next); });
}

WorkReply run_assemble(const WorkRequest& request) {
  Result<Screened> screened = decode_screened(request.payload);
  if (!screened) return failed(screened.error());
  Result<gpu_node::Assembler> assembler = find_assembler(request);
  if (!assembler) return failed(assembler.error());
  return reply_of(request,
                  gpu_node::assemble(*std::move(screened), *assembler, device_limits(request)));
}

WorkReply run_sanitize(const WorkRequest& request) {
  Result<Assembled> assembled = decode_assembled(request.payload);
  if (!assembled) return failed(assembled.error());
  return reply_of(request, gpu_node::sanitize(*std::move(assembled), device_limits(request)));
}

WorkReply run_test(const WorkRequest& request) {
  Result<Sanitized> sanitized = decode_sanitized(request.payload);
  if (!sanitized) return failed(sanitized.error());
  return reply_of(request, gpu_node::test(*std::move(sanitized), device_limits(request)));
}

/// A journal that is damaged is nobody's: the proof begins again.
std::shared_ptr<verifier_node::Journal> journal_of(const Errand& errand) {
  auto journal = std::make_shared<verifier_node::Journal>(errand.note);
  if (Result<Done> taken = journal->take(errand.journal); !taken)
    std::fprintf(stderr, "lathe worker: %s\n", taken.error().what.c_str());
  return journal;
}

WorkReply run_verify(const WorkRequest& request, const Errand& errand) {
  Result<Tested> tested = decode_tested(request.payload);
  if (!tested) return failed(tested.error());
  verifier_node::Options options;
  options.seed = request.seed;
  options.steps_max = request.steps_max;
  options.version = engine_version();
  if (errand.note || !errand.journal.empty()) options.journal = journal_of(errand);
  return reply_of(
      request, verifier_node::prove(*std::move(tested), options),
      [](const Proved& proved) { return encode(proved.proof); },
      [](const Proved& proved) { return figures(proved.proof); });
}

WorkReply run_benchmark(const WorkRequest& request) {
  Result<Tested> tested = decode_tested(request.payload);
  if (!tested) return failed(tested.error());
  Result<gpu_node::Assembler> assembler = find_assembler(request);
  if (!assembler) return failed(assembler.error());
  return reply_of(
      request,
      gpu_node::benchmark(*std::move(tested), request.incumbent, *assembler,
                          device_limits(request)),
      [](const Timed& timed) { return encode(timed.timing); },
      [](const Timed& timed) { return figures(timed.timing); });
}

}  // namespace

std::string encode(const WorkRequest& request) {
  PackedRequest packed;
  packed.gate = static_cast<std::uint32_t>(request.gate);
  packed.payload = request.payload;
  packed.incumbent = request.incumbent;
  packed.ptx_isa = request.ptx_isa;
  packed.assembler = request.assembler;
  packed.seed = request.seed;
  packed.steps_max = request.steps_max;
  return pack(packed);
}

Result<WorkRequest> decode_request(std::string_view bytes) {
  Result<PackedRequest> packed = unpack<PackedRequest>(bytes, message_limits);
  if (!packed) return packed.error();
  if (packed->v != 1 || packed->gate < 1 || packed->gate > 8)
    return Error{Fault::malformed, "a work request of another version", "", {}};
  return WorkRequest{static_cast<Gate>(packed->gate),
                     std::move(packed->payload),
                     std::move(packed->incumbent),
                     packed->seed,
                     std::move(packed->ptx_isa),
                     std::move(packed->assembler),
                     packed->steps_max};
}

std::string encode(const WorkReply& reply) {
  PackedReply packed;
  packed.outcome = static_cast<std::uint32_t>(reply.outcome);
  if (reply.outcome != WorkReply::Outcome::error) packed.verdict = encode(reply.verdict);
  packed.passed = reply.passed;
  packed.fault = static_cast<std::uint32_t>(reply.error.fault);
  packed.absent = static_cast<std::uint32_t>(reply.error.absent);
  packed.what = reply.error.what;
  packed.remedy = reply.error.remedy;
  return pack(packed);
}

Result<WorkReply> decode_reply(std::string_view bytes) {
  Result<PackedReply> packed = unpack<PackedReply>(bytes, message_limits);
  if (!packed) return packed.error();
  if (packed->v != 1 || packed->outcome < 1 || packed->outcome > 4 || packed->fault > 3 ||
      packed->absent > 3)
    return Error{Fault::malformed, "a work reply of another version", "", {}};
  WorkReply reply;
  reply.outcome = static_cast<WorkReply::Outcome>(packed->outcome);
  if (reply.outcome != WorkReply::Outcome::error) {
    Result<Verdict> verdict = decode_verdict(packed->verdict);
    if (!verdict) return verdict.error();
    reply.verdict = *std::move(verdict);
  }
  reply.passed = std::move(packed->passed);
  reply.error = {static_cast<Fault>(packed->fault),
                 std::move(packed->what),
                 std::move(packed->remedy),
                 {},
                 static_cast<Absent>(packed->absent)};
  return reply;
}

std::set<std::string> needs_of(const WorkRequest& request) {
  std::set<std::string> needs{"gate:" + std::string(name_of(request.gate))};
  bool assembles = request.gate == Gate::assemble || request.gate == Gate::benchmark;
  if (assembles && !request.assembler.empty()) needs.insert("tool:" + request.assembler);
  return needs;
}

std::uint64_t memory_in(const std::set<std::string>& offers) {
  auto found = offers.lower_bound(memory_prefix);
  std::uint64_t bytes = 0;
  if (found == offers.end() || !found->starts_with(memory_prefix)) return UINT64_MAX;
  const char* end = found->data() + found->size();
  auto [rest, code] = std::from_chars(found->data() + memory_prefix.size(), end, bytes);
  return code == std::errc{} && rest == end ? bytes : 0;
}

std::set<std::string> offers_here(std::uint64_t memory_bytes) {
  std::set<std::string> offers;
  if (memory_bytes != 0) offers.insert(memory_prefix + std::to_string(memory_bytes));
  for (Gate gate : {Gate::assemble, Gate::sanitize, Gate::test, Gate::verify, Gate::benchmark})
    offers.insert("gate:" + std::string(name_of(gate)));
  for (const gpu_node::Assembler& assembler : gpu_node::find_assemblers())
    offers.insert("tool:ptxas " + assembler.version);
  return offers;
}

WorkReply run_work(const WorkRequest& request, const Errand& errand) {
  switch (request.gate) {
    case Gate::assemble:
      return run_assemble(request);
    case Gate::sanitize:
      return run_sanitize(request);
    case Gate::test:
      return run_test(request);
    case Gate::verify:
      return run_verify(request, errand);
    case Gate::benchmark:
      return run_benchmark(request);
    default:
      return failed({Fault::unsupported,
                     "no node runs the gate " + std::string(name_of(request.gate)),
                     "",
                     {}});
  }
}

std::string limits_of(const WorkRequest& request) {
  if (request.gate != Gate::verify) return gpu_node::print(device_limits(request));
  return "seed=" + std::to_string(request.seed) + " steps_max=" + std::to_string(request.steps_max);
}

}  // namespace lathe::actors
