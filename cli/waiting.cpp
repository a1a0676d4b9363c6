#include "cli/waiting.h"

#include <unistd.h>

#include <cstdio>

namespace lathe::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds look{200};
constexpr seconds quiet{2}, between{10};

void write_out(const std::string& text) {
  [[maybe_unused]] ssize_t ignored = ::write(2, text.data(), text.size());
}

}  // namespace

Waiting::Waiting(bool silent) : live_(::isatty(2) == 1) {
  if (!silent) thread_ = std::thread([this] { watch(); });
}

Waiting::~Waiting() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    ended_ = true;
  }
  wake_.notify_one();
  thread_.join();
  clear();
}

void Waiting::begin(const std::string& phase) {
  std::lock_guard lock(mutex_);
  phase_ = phase;
  done_ = total_ = 0;
  begun_ = Clock::now();
  // The first plain line comes after two seconds, the next ones ten apart.
  said_ = begun_ + quiet - between;
}

void Waiting::reach(std::uint64_t done, std::uint64_t total) {
  std::lock_guard lock(mutex_);
  done_ = done;
  total_ = total;
}

void Waiting::clear() {
  std::lock_guard lock(mutex_);
  if (shown_) write_out("\r\033[K");
  shown_ = false;
}

std::string Waiting::line(Clock::time_point now) const {
  auto spent = std::chrono::duration_cast<seconds>(now - begun_).count();
  std::string text = "lathe: " + phase_ + ", " + std::to_string(spent) + " s";
  // Of less than a hundredth nobody can tell how long the rest takes.
  if (total_ == 0 || 100 * done_ < total_) return text;
  text += ", " + std::to_string(100 * done_ / total_) + " %";
  auto left = static_cast<std::uint64_t>(spent) * (total_ - std::min(done_, total_)) / done_;
  return text + ", about " + std::to_string(left) + " s left";
}

void Waiting::watch() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, look, [this] { return ended_; })) {
    Clock::time_point now = Clock::now();
    if (phase_.empty()) continue;
    if (live_ && now - begun_ > milliseconds(300)) {
      write_out("\r\033[K" + line(now));
      shown_ = true;
    } else if (!live_ && now - said_ >= between) {
      said_ = now;
      write_out(line(now) + "\n");
    }
  }
}

}  // namespace lathe::cli
