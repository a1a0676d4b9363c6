// Which provider a specification names.

#include "planner/provider.h"

#include <thread>

#include "base/environment.h"
#include "base/files.h"
#include "base/json.h"

namespace lathe::planner {
namespace {

std::vector<std::string> words(const std::string& text) {
  std::vector<std::string> words(1);
  for (char c : text) {
    if (c == ' ') {
      if (!words.back().empty()) words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

Result<std::unique_ptr<Provider>> openai_of(const std::string& model,
                                            const Surroundings& surroundings) {
  OpenaiOptions options;
  options.model = model;
  if (auto url = surroundings.environment("LATHE_OPENAI_BASE_URL")) options.base_url = *url;
  auto key = read_openai_key(surroundings.environment);
  if (!key) return key.error();
  options.key = *std::move(key);
  return make_openai(std::move(options), surroundings.sleep);
}

}  // namespace

Digest digest_of(const Request& request) {
  Json messages = Json::array();
  for (const Message& message : request.messages)
    messages.push_back({{"content", message.text}, {"role", message.role}});
  return sha256(messages.dump(-1, ' ', false, Json::error_handler_t::replace));
}

Environment process_environment() {
  return [](const std::string& name) { return environment_variable(name); };
}

Result<PriceTable> prices_of(const Environment& environment) {
  auto file = environment("LATHE_PRICES");
  if (!file) return shipped_prices();
  auto text = read_text(*file);
  if (!text) return text.error();
  auto table = read_prices(*text, *file);
  // A replay stays free of charge whatever the file says.
  if (table) table->models["recorded"] = {0, 0};
  return table;
}

Result<std::unique_ptr<Provider>> make_provider(const std::string& specification,
                                                const Surroundings& surroundings) {
  std::size_t colon = specification.find(':');
  std::string kind = specification.substr(0, colon);
  std::string rest = colon == std::string::npos ? "" : specification.substr(colon + 1);
  if (rest.empty() ||
      (kind != "openai" && kind != "recorded" && kind != "command" && kind != "folder"))
    return Error{kind == "anthropic" ? Fault::unsupported : Fault::malformed,
                 "no model provider `" + specification + "`",
                 "give openai:NAME, recorded:FILE, command:PROGRAM, folder:DIR or none",
                 {}};
  if (kind == "openai") return openai_of(rest, surroundings);
  if (kind == "command") {
    std::vector<std::string> command = words(rest);
    if (command.empty()) return Error{Fault::malformed, "an empty command", "", {}};
    return make_command(std::move(command), std::chrono::minutes(15));
  }
  if (kind == "folder") return make_folder(rest, surroundings.sleep, std::chrono::hours(12));
  auto text = read_text(rest);
  if (!text) return text.error();
  return make_recorded(*text, rest);
}

}  // namespace lathe::planner
