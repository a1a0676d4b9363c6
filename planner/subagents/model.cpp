// From a prompt to a proposal: asking, paying, reading the reply, and one word back.

#include "planner/subagents/model.h"

#include <algorithm>

namespace lathe::planner {
namespace {

constexpr std::uint32_t requests_max = 2;

std::string complaint(const Error& error) {
  std::string text = error.what;
  if (error.place.line != 0)
    text += " (line " + std::to_string(error.place.line) + " of the " + error.place.file + ")";
  if (!error.remedy.empty()) text += "; " + error.remedy;
  return text;
}

class Model : public Subagent {
 public:
  Model(Provider& provider, Purse& purse, PromptLimits limits)
      : provider_(provider), purse_(purse), limits_(limits) {}

  Result<Proposal> propose(const Assignment& assignment) override;

 private:
  Result<Reply> pay_and_ask(const Request& request, Proposal& proposal);

  Provider& provider_;
  Purse& purse_;
  PromptLimits limits_;
};

/// An error with fault `exhausted` is the budget's.
Result<Reply> Model::pay_and_ask(const Request& request, Proposal& proposal) {
  Expense expense{request.round, request.branch, request.turn * 16 + request.request};
  auto reserved = purse_.reserve(expense, provider_.model(), tokens_in(request.messages),
                                 request.output_tokens_max);
  if (!reserved) return reserved.error();
  auto reply = provider_.ask(request);
  if (!reply) {
    if (!provider_.bills()) purse_.release(expense);
    return reply.error();
  }
  auto settled = purse_.settle(expense, reply->usage);
  if (!settled) return settled.error();
  proposal.cost = proposal.cost + Cost{settled->settled_micro, settled->input_tokens,
                                       settled->output_tokens, 1, settled->price_known};
  return reply;
}

Result<Proposal> Model::propose(const Assignment& assignment) {
  Proposal proposal;
  proposal.family = assignment.family;
  Request request;
  request.round = assignment.round;
  request.branch = assignment.branch;
  request.turn = assignment.turn;
  request.seed = assignment.seed;
  request.messages = make_prompt(assignment, limits_);
  std::string unreadable;
  for (request.request = 0; request.request < requests_max; ++request.request) {
    proposal.prompt = request.messages.back().text;
    auto reply = pay_and_ask(request, proposal);
    if (!reply) {
      const Error& error = reply.error();
      if (!unreadable.empty() && error.fault != Fault::unavailable) break;
      if (error.fault == Fault::unavailable) return error;
      proposal.failure = Failure{error.fault == Fault::exhausted     ? "budget"
                                 : error.fault == Fault::unsupported ? "no_reply"
                                                                     : "unreadable_reply",
                                 complaint(error)};
      return proposal;
    }
    proposal.reply = reply->text;
    proposal.remark = reply->remark;
    proposal.explanation = explanation_of(reply->text);
    auto ptx = read_reply(ptx::print(*assignment.module), reply->text);
    if (ptx) {
      proposal.ptx = *std::move(ptx);
      return proposal;
    }
    unreadable = complaint(ptx.error());
    request.messages.push_back({"assistant", reply->text});
    request.messages.push_back(
        {"user", "Your reply does not apply: " + unreadable +
                     ".\nAnswer again: a corrected patch, or the whole PTX file.\n"});
  }
  proposal.failure = Failure{"unreadable_reply", unreadable};
  return proposal;
}

/// The fenced part that holds a change, where prose or other fences stand around it.
std::string payload_of(const std::string& reply) {
  if (reply.find("<<<<<<< SEARCH") != std::string::npos) return reply;
  std::string best;
  for (std::size_t at = reply.find("```"); at != std::string::npos;) {
    std::size_t begin = reply.find('\n', at);
    if (begin == std::string::npos) break;
    std::size_t end = reply.find("\n```", begin);
    if (end == std::string::npos) break;
    std::string part = reply.substr(begin + 1, end - begin);
    bool change =
        part.find(".version") != std::string::npos || part.find("@@ -") != std::string::npos;
    if (change && part.size() > best.size()) best = std::move(part);
    at = reply.find("```", end + 4);
  }
  return best.empty() ? reply : best;
}

}  // namespace

std::string explanation_of(std::string_view reply) {
  std::size_t end = reply.size();
  for (std::string_view mark : {"```", "<<<<<<< SEARCH", "\n--- ", "\n@@ -", ".version"})
    end = std::min(end, reply.find(mark));
  std::string text;
  for (char c : reply.substr(0, std::min<std::size_t>(end, 500))) {
    bool blank = c == ' ' || static_cast<unsigned char>(c) < 0x20;
    if (!blank || (!text.empty() && text.back() != ' ')) text += blank ? ' ' : c;
  }
  while (text.ends_with(' ')) text.pop_back();
  return text;
}

Result<std::string> read_reply(const std::string& parent, const std::string& reply) {
  std::string payload = payload_of(reply);
  auto condensed = ptx::apply_reply(condense(parent), payload);
  if (condensed) return condensed;
  auto whole = ptx::apply_reply(parent, payload);
  if (whole) return whole;
  return condensed.error();
}

std::unique_ptr<Subagent> make_model(Provider& provider, Purse& purse, PromptLimits limits) {
  return std::make_unique<Model>(provider, purse, limits);
}

}  // namespace lathe::planner
