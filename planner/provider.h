#pragma once

// One interface to whatever answers a prompt: an endpoint, a transcript, a program, a person.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "planner/budget.h"

namespace lathe::planner {

struct Message {
  std::string role;  // "system", "user", "assistant"
  std::string text;
};

struct Request {
  std::vector<Message> messages;
  std::uint64_t output_tokens_max = 16'384;
  std::uint32_t round = 0, branch = 0, turn = 0;
  std::uint32_t request = 0;  // Within the turn: 0, then 1 after a reply that did not apply.
  std::uint64_t seed = 0;     // Of jitter.
};
/// Of the messages alone, as JSON with sorted members: what a transcript names.
Digest digest_of(const Request& request);

struct Reply {
  std::string text;
  Usage usage;
  std::string remark;  // "the prompt differs from the recorded one", "cut off at the limit", ..
};

class Provider {
 public:
  virtual ~Provider() = default;
  /// Errors: unavailable after bounded retries (permission where the key is refused), malformed
  /// where the answer is none, unsupported where this provider cannot answer this request.
  virtual Result<Reply> ask(const Request& request) = 0;
  /// For prices and records: the model's name, or the provider's.
  virtual std::string model() const = 0;
  /// Whether a request that got no answer may have cost something.
  virtual bool bills() const { return true; }
};

/// How a provider waits; tests give one that does not.
using Sleep = std::function<void(std::chrono::milliseconds)>;
using Environment = std::function<std::optional<std::string>(const std::string&)>;
/// Of this process.
Environment process_environment();

struct Surroundings {
  Environment environment;
  Sleep sleep;
};

/// "openai:NAME", "recorded:FILE", "command:PROGRAM", "folder:DIR". Errors: malformed for a name
/// that is none of these; unavailable where a file or a key is missing.
Result<std::unique_ptr<Provider>> make_provider(const std::string& specification,
                                                const Surroundings& surroundings);

/// The table in the file that LATHE_PRICES names, else the shipped one.
Result<PriceTable> prices_of(const Environment& environment);

struct OpenaiOptions {
  std::string base_url = "https://api.openai.com/v1";
  std::string model;
  std::string key;  // Sent as a header, and nowhere else.
  std::chrono::milliseconds connect{10'000}, first_byte{120'000}, idle{60'000}, whole{900'000};
  std::uint32_t attempts_max = 4;
  std::chrono::milliseconds backoff_min{500}, backoff_max{30'000};
  std::uint64_t reply_bytes_max = 16u << 20;
};
std::unique_ptr<Provider> make_openai(OpenaiOptions options, Sleep sleep);
/// From LATHE_OPENAI_API_KEY or OPENAI_API_KEY, or the file that LATHE_OPENAI_KEY_FILE names, which
/// nobody but its owner may read. The key is never printed, here or elsewhere.
Result<std::string> read_openai_key(const Environment& environment);

/// JSON lines: {"round": 1, "branch": 2, "reply": "..", "request_sha256": "..", "usage": {..}};
/// rounds and branches of a transcript that counts from 0 are counted from 1. `text` is the file's.
Result<std::unique_ptr<Provider>> make_recorded(std::string_view text, const std::string& file);

/// Starts a program with the prompt on its standard input; its standard output is the reply.
std::unique_ptr<Provider> make_command(std::vector<std::string> command,
                                       std::chrono::milliseconds wall);

/// Writes DIR/round-R-branch-B-turn-T-N.prompt.md and waits for .reply.md beside it.
std::unique_ptr<Provider> make_folder(std::filesystem::path folder, Sleep sleep,
                                      std::chrono::milliseconds wait_max);

}  // namespace lathe::planner
