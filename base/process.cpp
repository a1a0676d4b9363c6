#include "base/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace lathe {
namespace {

using Clock = std::chrono::steady_clock;

struct Pipe {
  std::array<int, 2> ends{-1, -1};
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  void close_end(std::size_t end) {
    if (ends[end] >= 0) ::close(ends[end]);
    ends[end] = -1;
  }
  bool open() { return ::pipe2(ends.data(), O_CLOEXEC) == 0; }
};

/// A child that closes its input early must not end this process. Of this thread alone: others may
/// run children at the same time.
class QuietPipes {
 public:
  QuietPipes() {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~QuietPipes() {
    timespec now{};
    if (!::sigismember(&before_, SIGPIPE))
      while (::sigtimedwait(&pipe_, nullptr, &now) == SIGPIPE) {
      }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  QuietPipes(const QuietPipes&) = delete;
  QuietPipes& operator=(const QuietPipes&) = delete;

 private:
  sigset_t pipe_{}, before_{};
};

void limit(int resource, std::uint64_t value) {
  if (value == 0) return;
  rlimit bound{value, value};
  ::setrlimit(static_cast<__rlimit_resource>(resource), &bound);
}

/// Runs in the child between fork and exec: only calls that are safe there.
[[noreturn]] void become(const std::vector<char*>& arguments, const ProcessLimits& limits,
                         const char* folder, pid_t parent, int in, int out, int err, int report) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);
  ::dup2(in, 0);
  ::dup2(out, 1);
  ::dup2(err, 2);
  limit(RLIMIT_AS, limits.memory_bytes);
  limit(RLIMIT_CPU, limits.cpu_seconds);
  rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  sigset_t every;
  ::sigemptyset(&every);
  ::sigprocmask(SIG_SETMASK, &every, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  if (folder == nullptr || ::chdir(folder) == 0) ::execvp(arguments[0], arguments.data());
  int code = errno;
  [[maybe_unused]] ssize_t ignored = ::write(report, &code, sizeof code);
  ::_exit(127);
}

/// Moves bytes until all pipes are closed, the child ends or a limit is reached; true where a limit
/// ended it.
bool exchange(Pipe& in, Pipe& out, Pipe& err, std::string_view input, const ProcessLimits& limits,
              ProcessEnd& end) {
  Clock::time_point deadline = Clock::now() + limits.wall;
  std::size_t written = 0;
  char buffer[1 << 16];
  if (input.empty()) in.close_end(1);
  while (out.ends[0] >= 0 || err.ends[0] >= 0 || in.ends[1] >= 0) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0 || (limits.stop != nullptr && *limits.stop)) return true;
    std::array<pollfd, 3> polled{
        {{in.ends[1], POLLOUT, 0}, {out.ends[0], POLLIN, 0}, {err.ends[0], POLLIN, 0}}};
    if (::poll(polled.data(), polled.size(),
               static_cast<int>(
                   std::min<long long>(left.count(), limits.stop == nullptr ? 1000 : 50))) < 0 &&
        errno != EINTR)
      return true;
    if ((polled[0].revents & (POLLERR | POLLHUP)) != 0) in.close_end(1);
    if ((polled[0].revents & POLLOUT) != 0 && in.ends[1] >= 0) {
      ssize_t count = ::write(in.ends[1], input.data() + written, input.size() - written);
      if (count > 0) written += static_cast<std::size_t>(count);
      if ((count < 0 && errno != EAGAIN && errno != EINTR) || written == input.size())
        in.close_end(1);
    }
    for (auto [pipe, text, events] : {std::tuple{&out, &end.out, polled[1].revents},
                                      std::tuple{&err, &end.err, polled[2].revents}}) {
      if (events == 0) continue;
      ssize_t count = ::read(pipe->ends[0], buffer, sizeof buffer);
      if (count > 0 && text == &end.out && limits.take_out)
        limits.take_out({buffer, static_cast<std::size_t>(count)});
      else if (count > 0)
        text->append(buffer, static_cast<std::size_t>(count));
      if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) pipe->close_end(0);
      if (text->size() > limits.output_bytes) return true;
    }
  }
  return false;
}

}  // namespace

Result<ProcessEnd> run_process(const std::vector<std::string>& command, std::string_view input,
                               const ProcessLimits& limits, const std::filesystem::path& folder) {
  Pipe in, out, err, report;
  if (!in.open() || !out.open() || !err.open() || !report.open())
    return Error{
        Fault::unavailable, std::string("cannot open a pipe: ") + std::strerror(errno), "", {}};
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t parent = ::getpid();
  pid_t child = ::fork();
  if (child < 0)
    return Error{
        Fault::unavailable, std::string("cannot start a process: ") + std::strerror(errno), "", {}};
  if (child == 0)
    become(arguments, limits, folder.empty() ? nullptr : folder.c_str(), parent, in.ends[0],
           out.ends[1], err.ends[1], report.ends[1]);
  in.close_end(0);
  out.close_end(1);
  err.close_end(1);
  report.close_end(1);
  ::fcntl(in.ends[1], F_SETFL, O_NONBLOCK);
  ProcessEnd end;
  {
    QuietPipes quiet;
    end.timed_out = exchange(in, out, err, input, limits, end);
  }
  if (end.timed_out) ::kill(-child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  ::kill(-child, SIGKILL);
  int code = 0;
  if (::read(report.ends[0], &code, sizeof code) == static_cast<ssize_t>(sizeof code))
    return Error{
        Fault::unavailable, "cannot run " + command[0] + ": " + std::strerror(code), "", {}};
  if (WIFEXITED(status)) end.status = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  return end;
}

std::filesystem::path own_program() {
  std::error_code code;
  return std::filesystem::read_symlink("/proc/self/exe", code);
}

}  // namespace lathe
