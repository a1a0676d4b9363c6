// Proposals as bytes, and the arithmetic of their cost.

#include "base/pack.h"
#include "planner/subagent.h"

namespace lathe::planner {
namespace {

struct ProposalMap {
  std::uint32_t version = 1;
  std::string ptx, family, explanation, prompt, reply, remark;
  std::string failure_code, failure_reason;
  bool failed = false, price_known = true;
  std::uint64_t micro_dollars = 0, input_tokens = 0, output_tokens = 0, requests = 0;
  MSGPACK_DEFINE_MAP(version, ptx, family, explanation, prompt, reply, remark, failure_code,
                     failure_reason, failed, price_known, micro_dollars, input_tokens,
                     output_tokens, requests)
};

}  // namespace

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::rewrite:
      return "rewrite";
    case Kind::model:
      return "model";
    case Kind::person:
      return "person";
  }
  return "unknown";
}

Cost operator+(Cost left, const Cost& right) {
  left.micro_dollars += right.micro_dollars;
  left.input_tokens += right.input_tokens;
  left.output_tokens += right.output_tokens;
  left.requests += right.requests;
  left.price_known = left.price_known && right.price_known;
  return left;
}

std::string encode(const Proposal& proposal) {
  ProposalMap map;
  map.ptx = proposal.ptx;
  map.family = proposal.family;
  map.explanation = proposal.explanation;
  map.prompt = proposal.prompt;
  map.reply = proposal.reply;
  map.remark = proposal.remark;
  map.failed = proposal.failure.has_value();
  if (proposal.failure) {
    map.failure_code = proposal.failure->code;
    map.failure_reason = proposal.failure->reason;
  }
  map.price_known = proposal.cost.price_known;
  map.micro_dollars = proposal.cost.micro_dollars;
  map.input_tokens = proposal.cost.input_tokens;
  map.output_tokens = proposal.cost.output_tokens;
  map.requests = proposal.cost.requests;
  return pack(map);
}

Result<Proposal> decode_proposal(std::string_view bytes) {
  auto map = unpack<ProposalMap>(bytes);
  if (!map) return map.error();
  if (map->version != 1)
    return Error{Fault::unsupported,
                 "a proposal of version " + std::to_string(map->version),
                 "read it with the version of lathe that wrote it",
                 {}};
  Proposal proposal;
  proposal.ptx = map->ptx;
  proposal.family = map->family;
  proposal.explanation = map->explanation;
  proposal.prompt = map->prompt;
  proposal.reply = map->reply;
  proposal.remark = map->remark;
  if (map->failed) proposal.failure = Failure{map->failure_code, map->failure_reason};
  proposal.cost = {map->micro_dollars, map->input_tokens, map->output_tokens, map->requests,
                   map->price_known};
  return proposal;
}

}  // namespace lathe::planner
