// Chat completions: the request, its retries, and the answer, streamed or whole.

#include <sys/stat.h>

#include <algorithm>
#include <mutex>
#include <set>

#include "base/files.h"
#include "base/json.h"
#include "base/random.h"
#include "planner/provider.h"
#include "planner/providers/http.h"

namespace lathe::planner {
namespace {

using std::chrono::milliseconds;

Error unavailable(std::string what, std::string remedy = "", Absent absent = Absent::service) {
  return {Fault::unavailable, std::move(what), std::move(remedy), {}, absent};
}

/// A text of the endpoint, shortened and without line breaks, for a message. Some endpoints repeat
/// the key that they refuse: it is taken out.
std::string excerpt(std::string text, const std::string& key) {
  for (std::size_t at; !key.empty() && (at = text.find(key)) != std::string::npos;)
    text.replace(at, key.size(), "[key]");
  std::string line;
  for (char c : text.substr(0, 160)) line += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  return line;
}

void read_usage(const Json& root, Usage& usage) {
  auto member = root.find("usage");
  if (member == root.end() || !member->is_object()) return;
  auto count = [&](const char* name) -> std::optional<std::uint64_t> {
    auto value = member->find(name);
    if (value == member->end() || !value->is_number_unsigned()) return {};
    return value->get<std::uint64_t>();
  };
  auto input = count("prompt_tokens"), output = count("completion_tokens");
  if (!input || !output) return;
  usage = {*input, *output, true};
}

/// What both forms of answer put together.
struct Completion {
  Reply reply;
  std::string finish;
  std::string refusal;
  bool found = false;
  Completion() { reply.usage.known = false; }

  void read_choice(const Json& root, const char* part);
};

void Completion::read_choice(const Json& root, const char* part) {
  read_usage(root, reply.usage);
  auto choices = root.find("choices");
  if (choices == root.end() || !choices->is_array() || choices->empty()) return;
  const Json& choice = (*choices)[0];
  if (!choice.is_object()) return;
  auto reason = choice.find("finish_reason");
  if (reason != choice.end() && reason->is_string()) finish = reason->get<std::string>();
  auto message = choice.find(part);
  if (message == choice.end() || !message->is_object()) return;
  auto content = message->find("content");
  if (content != message->end() && content->is_string()) {
    reply.text += content->get<std::string>();
    found = true;
  }
  auto refused = message->find("refusal");
  if (refused != message->end() && refused->is_string()) refusal += refused->get<std::string>();
}

/// Server-sent events: `data: {..}` lines, ended by `data: [DONE]`.
bool read_stream(const std::string& body, Completion& completion) {
  bool done = false;
  for (std::size_t at = 0; at < body.size();) {
    std::size_t end = std::min(body.find('\n', at), body.size());
    std::string line = body.substr(at, end - at);
    at = end + 1;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (!line.starts_with("data:")) continue;
    line.erase(0, line.find_first_not_of(' ', 5));
    if (line == "[DONE]") {
      done = true;
      continue;
    }
    Json json = Json::parse(line, nullptr, false);
    if (json.is_discarded() || !json.is_object()) return false;
    completion.read_choice(json, "delta");
  }
  return done || !completion.finish.empty();
}

class Openai : public Provider {
 public:
  Openai(OpenaiOptions options, Sleep sleep)
      : options_(std::move(options)), sleep_(std::move(sleep)) {}

  Result<Reply> ask(const Request& request) override;
  std::string model() const override { return options_.model; }

 private:
  std::string body_of(const Request& request) const;
  Result<Reply> read(const http::Answer& answer) const;
  bool drop_parameter(const http::Answer& answer);
  milliseconds pause(const Request& request, std::uint32_t attempt, milliseconds said) const;

  OpenaiOptions options_;
  Sleep sleep_;
  mutable std::mutex mutex_;       // Several branches ask at once.
  std::set<std::string> dropped_;  // Parameters that this model refused by name.
};

std::string Openai::body_of(const Request& request) const {
  Json messages = Json::array();
  for (const Message& message : request.messages)
    messages.push_back({{"role", message.role}, {"content", message.text}});
  Json json = {{"model", options_.model}, {"messages", messages}};
  std::lock_guard lock(mutex_);
  if (!dropped_.contains("max_completion_tokens"))
    json["max_completion_tokens"] = request.output_tokens_max;
  else if (!dropped_.contains("max_tokens"))
    json["max_tokens"] = request.output_tokens_max;
  if (!dropped_.contains("stream")) {
    json["stream"] = true;
    if (!dropped_.contains("stream_options")) json["stream_options"] = {{"include_usage", true}};
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Reply> Openai::read(const http::Answer& answer) const {
  Completion completion;
  bool stream = answer.type.starts_with("text/event-stream");
  if (stream) {
    if (!read_stream(answer.body, completion))
      return unavailable("the endpoint's stream ended before the reply did");
  } else {
    Json json = Json::parse(answer.body, nullptr, false);
    if (json.is_discarded() || !json.is_object())
      return Error{Fault::malformed,
                   "the endpoint answered " + (answer.type.empty() ? "no type" : answer.type) +
                       " that is no completion: " + excerpt(answer.body, options_.key),
                   "check LATHE_OPENAI_BASE_URL",
                   {}};
    completion.read_choice(json, "message");
  }
  if (!completion.refusal.empty())
    return Error{Fault::unsupported,
                 "the model refused: " + excerpt(completion.refusal, options_.key),
                 "",
                 {}};
  if (!completion.found || completion.reply.text.empty())
    return Error{Fault::malformed, "the completion holds no text", "", {}};
  if (completion.finish == "length") completion.reply.remark = "cut off at the limit of tokens";
  return completion.reply;
}

/// A 400 that names an optional parameter: without it the request may pass. Remembered.
bool Openai::drop_parameter(const http::Answer& answer) {
  if (answer.status != 400) return false;
  Json json = Json::parse(answer.body, nullptr, false);
  std::string complaint = answer.body.substr(0, 4096);
  if (!json.is_discarded() && json.is_object() && json.contains("error") &&
      json["error"].is_object() && json["error"].contains("param") &&
      json["error"]["param"].is_string())
    complaint = json["error"]["param"].get<std::string>();
  std::lock_guard lock(mutex_);
  for (const char* name : {"stream_options", "max_completion_tokens", "max_tokens", "stream"})
    if (complaint.find(name) != std::string::npos && dropped_.insert(name).second) return true;
  return false;
}

milliseconds Openai::pause(const Request& request, std::uint32_t attempt, milliseconds said) const {
  auto longest = options_.backoff_max;
  auto base = std::min(options_.backoff_min * (1u << std::min(attempt, 10u)), longest);
  std::uint64_t stream = std::uint64_t{request.round} << 32 | request.branch << 8 | request.turn;
  double unit = static_cast<double>(philox64(request.seed, stream, attempt) >> 11) * 0x1p-53;
  auto jittered =
      milliseconds(static_cast<long>(static_cast<double>(base.count()) * (0.5 + 0.5 * unit)));
  return std::max(jittered, std::min(said, 4 * longest));
}

Result<Reply> Openai::ask(const Request& request) {
  std::vector<std::string> headers{"Content-Type: application/json",
                                   "Accept: text/event-stream, application/json", "Expect:"};
  if (!options_.key.empty()) headers.push_back("Authorization: Bearer " + options_.key);
  http::Limits limits{options_.connect, options_.first_byte, options_.idle, options_.whole,
                      options_.reply_bytes_max};
  std::string last = "no attempt was made";
  std::uint32_t attempt = 0;
  while (attempt < options_.attempts_max) {
    http::Answer answer =
        http::post(options_.base_url + "/chat/completions", headers, body_of(request), limits);
    if (answer.broken == http::Answer::Broken::too_large)
      return Error{Fault::malformed, "the endpoint's " + answer.what, "", {}};
    if (answer.broken == http::Answer::Broken::none) {
      if (answer.status == 200) {
        auto reply = read(answer);
        if (reply || reply.error().fault != Fault::unavailable) return reply;
        last = reply.error().what;
      } else if (drop_parameter(answer)) {
        continue;
      } else if (answer.status == 401 || answer.status == 403) {
        return unavailable("the endpoint refuses the key (" + std::to_string(answer.status) + ")",
                           "set LATHE_OPENAI_API_KEY or LATHE_OPENAI_KEY_FILE", Absent::permission);
      } else if (answer.status == 408 || answer.status == 409 || answer.status == 429 ||
                 answer.status >= 500) {
        last = "the endpoint answered " + std::to_string(answer.status);
      } else {
        return Error{Fault::malformed,
                     "the endpoint answered " + std::to_string(answer.status) + ": " +
                         excerpt(answer.body, options_.key),
                     "check the model's name and LATHE_OPENAI_BASE_URL",
                     {}};
      }
    } else {
      last = answer.what;
    }
    if (++attempt < options_.attempts_max) sleep_(pause(request, attempt - 1, answer.retry_after));
  }
  return unavailable("no reply from " + options_.model + " after " +
                         std::to_string(options_.attempts_max) + " attempts: " + last,
                     "lathe resume, when the endpoint is back");
}

}  // namespace

std::unique_ptr<Provider> make_openai(OpenaiOptions options, Sleep sleep) {
  while (options.base_url.ends_with('/')) options.base_url.pop_back();
  return std::make_unique<Openai>(std::move(options), std::move(sleep));
}

Result<std::string> read_openai_key(const Environment& environment) {
  for (const char* name : {"LATHE_OPENAI_API_KEY", "OPENAI_API_KEY"})
    if (auto key = environment(name)) return *key;
  auto file = environment("LATHE_OPENAI_KEY_FILE");
  if (!file) {
    // An endpoint of one's own may want none.
    if (environment("LATHE_OPENAI_BASE_URL")) return std::string();
    return unavailable("no key for the model",
                       "set LATHE_OPENAI_API_KEY, or LATHE_OPENAI_KEY_FILE to a file of mode 600",
                       Absent::permission);
  }
  struct stat status {};
  if (stat(file->c_str(), &status) != 0)
    return Error{Fault::unavailable,
                 "the key file cannot be read",
                 "check LATHE_OPENAI_KEY_FILE",
                 {*file, 0, 0},
                 Absent::file};
  if ((status.st_mode & 077) != 0)
    return Error{Fault::unavailable,
                 "the key file may be read by others",
                 "chmod 600 it",
                 {*file, 0, 0},
                 Absent::permission};
  auto text = read_file(*file, 4096);
  if (!text) return text.error();
  std::string key = *std::move(text);
  key.erase(key.find_last_not_of(" \t\r\n") + 1);
  if (key.empty() || key.find_first_of("\r\n") != std::string::npos)
    return Error{Fault::malformed, "the key file does not hold one line", "", {*file, 0, 0}};
  return key;
}

}  // namespace lathe::planner
