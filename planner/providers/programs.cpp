// Providers that are not endpoints: a program that reads the prompt, and a folder in which people
// or other machines leave replies.

#include <filesystem>

#include "base/files.h"
#include "base/process.h"
#include "planner/provider.h"

namespace lathe::planner {
namespace {

std::string as_text(const Request& request) {
  std::string text;
  for (const Message& message : request.messages) {
    if (message.role == "assistant") text += "\n---- your earlier reply ----\n\n";
    text += message.text;
    text += "\n";
  }
  return text;
}

class Command : public Provider {
 public:
  Command(std::vector<std::string> command, std::chrono::milliseconds wall)
      : command_(std::move(command)), wall_(wall) {}

  Result<Reply> ask(const Request& request) override {
    ProcessLimits limits;
    limits.wall = wall_;
    limits.output_bytes = 16u << 20;
    auto end = run_process(command_, as_text(request), limits);
    if (!end) return end.error();
    auto failed = [&](const std::string& how) {
      return Error{Fault::unavailable,
                   "the model program " + command_[0] + " " + how,
                   "run it by hand with a prompt on standard input",
                   {}};
    };
    if (end->timed_out) return failed("did not answer in time");
    if (end->signal != 0) return failed("ended by signal " + std::to_string(end->signal));
    if (end->status != 0) return failed("ended with status " + std::to_string(end->status));
    if (end->out.empty()) return failed("gave an empty reply");
    Usage usage;
    usage.known = false;
    return Reply{std::move(end->out), usage, ""};
  }
  std::string model() const override {
    return "command:" + std::filesystem::path(command_[0]).filename().string();
  }

 private:
  std::vector<std::string> command_;
  std::chrono::milliseconds wall_;
};

class Folder : public Provider {
 public:
  Folder(std::filesystem::path folder, Sleep sleep, std::chrono::milliseconds wait_max)
      : folder_(std::move(folder)), sleep_(std::move(sleep)), wait_max_(wait_max) {}

  Result<Reply> ask(const Request& request) override {
    std::string name = "round-" + std::to_string(request.round) + "-branch-" +
                       std::to_string(request.branch) + "-turn-" + std::to_string(request.turn) +
                       "-" + std::to_string(request.request);
    std::error_code code;
    std::filesystem::create_directories(folder_, code);
    auto written = write_file(folder_ / (name + ".prompt.md"), as_text(request));
    if (!written) return written.error();
    const std::chrono::milliseconds step{500};
    for (std::chrono::milliseconds waited{0};; waited += step) {
      auto reply = read_text(folder_ / (name + ".reply.md"));
      Usage usage;
      usage.known = false;
      if (reply) return Reply{*std::move(reply), usage, ""};
      if (waited >= wait_max_) break;
      sleep_(step);
    }
    return Error{
        Fault::unavailable, "nobody wrote " + name + ".reply.md", "write it, then resume", {}};
  }
  std::string model() const override { return "folder"; }

 private:
  std::filesystem::path folder_;
  Sleep sleep_;
  std::chrono::milliseconds wait_max_;
};

}  // namespace

std::unique_ptr<Provider> make_command(std::vector<std::string> command,
                                       std::chrono::milliseconds wall) {
  return std::make_unique<Command>(std::move(command), wall);
}

std::unique_ptr<Provider> make_folder(std::filesystem::path folder, Sleep sleep,
                                      std::chrono::milliseconds wait_max) {
  return std::make_unique<Folder>(std::move(folder), std::move(sleep), wait_max);
}

}  // namespace lathe::planner
