// Replays a transcript: replies matched by round, branch and turn, in the order of the file.

#include <map>
#include <tuple>

#include "base/json.h"
#include "planner/provider.h"

namespace lathe::planner {
namespace {

struct Line {
  std::string request_sha256, reply;
  Usage usage;
};
using Key = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t>;

class Recorded : public Provider {
 public:
  explicit Recorded(std::map<Key, Line> lines) : lines_(std::move(lines)) {}

  Result<Reply> ask(const Request& request) override {
    auto line = lines_.find({request.round, request.branch, request.turn, request.request});
    if (line == lines_.end())
      return Error{Fault::unsupported,
                   "the transcript has no reply for round " + std::to_string(request.round) +
                       ", branch " + std::to_string(request.branch) + ", turn " +
                       std::to_string(request.turn) +
                       (request.request > 0 ? ", after a reply that did not apply" : ""),
                   "",
                   {}};
    Reply reply{line->second.reply, line->second.usage, ""};
    const std::string& recorded = line->second.request_sha256;
    if (!recorded.empty() && recorded != hex(digest_of(request)))
      reply.remark = "the prompt differs from the recorded one (" + recorded.substr(0, 16) +
                     " recorded, " + short_hex(digest_of(request)) + " asked)";
    return reply;
  }
  std::string model() const override { return "recorded"; }
  bool bills() const override { return false; }

 private:
  std::map<Key, Line> lines_;
};

struct Parsed {
  std::uint64_t round = 0, branch = 0, turn = 0, request = 0;
  Line line;
};

std::optional<std::uint64_t> number(const Json& object, const char* name) {
  auto member = object.find(name);
  if (member == object.end()) return 0;
  if (!member->is_number_unsigned()) return {};
  return member->get<std::uint64_t>();
}

Result<Parsed> parse_line(const std::string& text, const Place& place) {
  auto wrong = [&](const std::string& what) {
    return Error{Fault::malformed, what,
                 "a line is {\"round\": 1, \"branch\": 1, \"reply\": \"..\"}", place};
  };
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object()) return wrong("not a JSON object");
  Parsed parsed;
  if (!json.contains("round") || !json.contains("branch"))
    return wrong("a line without round and branch");
  const char* names[] = {"round", "branch", "turn", "request"};
  std::uint64_t* values[] = {&parsed.round, &parsed.branch, &parsed.turn, &parsed.request};
  for (int i = 0; i < 4; ++i) {
    auto value = number(json, names[i]);
    if (!value) return wrong(std::string("`") + names[i] + "` is not a number");
    *values[i] = *value;
  }
  auto reply = json.find("reply");
  if (reply == json.end() || !reply->is_string()) return wrong("a line without `reply`");
  parsed.line.reply = reply->get<std::string>();
  auto digest = json.find("request_sha256");
  if (digest != json.end() && digest->is_string())
    parsed.line.request_sha256 = digest->get<std::string>();
  auto usage = json.find("usage");
  parsed.line.usage.known = usage != json.end() && usage->is_object();
  if (!parsed.line.usage.known) return parsed;
  for (const char* name : {"prompt_tokens", "input_tokens"})
    parsed.line.usage.input_tokens += number(*usage, name).value_or(0);
  for (const char* name : {"completion_tokens", "output_tokens"})
    parsed.line.usage.output_tokens += number(*usage, name).value_or(0);
  return parsed;
}

}  // namespace

Result<std::unique_ptr<Provider>> make_recorded(std::string_view text, const std::string& file) {
  std::vector<Parsed> all;
  std::uint32_t number = 0;
  bool round_zero = false, branch_zero = false;
  while (!text.empty()) {
    std::size_t end = text.find('\n');
    std::string line(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    auto parsed = parse_line(line, {file, number, 1});
    if (!parsed) return parsed.error();
    round_zero |= parsed->round == 0;
    branch_zero |= parsed->branch == 0;
    all.push_back(*std::move(parsed));
  }
  if (all.empty()) return Error{Fault::malformed, "an empty transcript", "", {file, 0, 0}};
  std::map<Key, Line> lines;
  for (Parsed& parsed : all) {
    Key key{parsed.round + round_zero, parsed.branch + branch_zero, parsed.turn, parsed.request};
    lines.emplace(key, std::move(parsed.line));
  }
  return std::unique_ptr<Provider>(std::make_unique<Recorded>(std::move(lines)));
}

}  // namespace lathe::planner
