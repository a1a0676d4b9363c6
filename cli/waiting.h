#pragma once

// What one command is at while nothing else is printed: one live line on a terminal, elsewhere a
// plain line once a phase has taken two seconds, and again every ten.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace lathe::cli {

class Waiting {
 public:
  /// Writes to standard error, or nothing at all.
  explicit Waiting(bool silent);
  ~Waiting();
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  /// What begins now. Ends the phase before it.
  void begin(const std::string& phase);
  /// How far it is.
  void reach(std::uint64_t done, std::uint64_t total);
  /// Takes the live line away: something else is printed next.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  void watch();
  std::string line(Clock::time_point now) const;

  bool live_ = false;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ended_ = false, shown_ = false;
  std::string phase_;
  std::uint64_t done_ = 0, total_ = 0;
  Clock::time_point begun_, said_;
  std::thread thread_;  // Last: it uses all of the above.
};

}  // namespace lathe::cli
