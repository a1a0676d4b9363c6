#pragma once

// What subcommands declare their options with. The parser behind it is CLI11, whose header takes
// seconds to read: app.cpp, main.cpp, settings.cpp and completion.cpp alone include it.

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace lathe::cli {

/// One option as declared; each word narrows what it takes.
class Option {
 public:
  /// `most` is what a whole number may be at most.
  explicit Option(CLI::Option* option, std::uint64_t most = 0) : option_(option), most_(most) {}
  Option required();
  Option between(int low, int high);
  Option between(double low, double high);
  /// A whole number from 1.
  Option positive();
  Option not_negative();
  Option one_of(std::initializer_list<std::string> values);
  /// How many values it takes.
  Option expected(int count);

 private:
  Option narrow(std::uint64_t low, std::uint64_t high);

  CLI::Option* option_;
  std::uint64_t most_;
};

/// A subcommand, or the program itself.
class App {
 public:
  explicit App(CLI::App& app) : app_(&app) {}
  App(const App&) = delete;
  App& operator=(const App&) = delete;

  /// "--name" is an option, "name" a word of the command line. The variable keeps its value where
  /// nothing is given.
  Option add_option(const std::string& name, std::string& value, const std::string& help);
  Option add_option(const std::string& name, std::vector<std::string>& value,
                    const std::string& help);
  Option add_option(const std::string& name, std::uint32_t& value, const std::string& help);
  Option add_option(const std::string& name, std::uint64_t& value, const std::string& help);
  Option add_option(const std::string& name, double& value, const std::string& help);
  Option add_option(const std::string& name, std::optional<std::uint32_t>& value,
                    const std::string& help);
  Option add_option(const std::string& name, std::optional<std::uint64_t>& value,
                    const std::string& help);
  void add_flag(const std::string& name, bool& value, const std::string& help);

  /// Owned by this one.
  App* add_subcommand(const std::string& name, const std::string& help, const std::string& example);
  /// One of the subcommands must be given.
  void require_subcommand();
  /// Whether the command line named it.
  bool parsed() const;

  /// The parser's own object of the whole program.
  CLI::App* program() const;

 private:
  CLI::App* app_;
  std::vector<std::unique_ptr<App>> owned_;
};

/// "lathe cluster admit": what a person types for it.
std::string command_of(const CLI::App& app);

}  // namespace lathe::cli
