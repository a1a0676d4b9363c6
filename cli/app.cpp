#include "cli/app.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <functional>
#include <limits>
#include <sstream>

#include "base/names.h"

namespace lathe::cli {
namespace {

constexpr const char* range = "range";  // The name of the check that `between` narrows.
constexpr double unbounded = std::numeric_limits<double>::max();

/// Whole numbers are digits: the parser itself would take -1 for the largest one.
std::function<std::string(const std::string&)> whole_number(std::uint64_t low, std::uint64_t high) {
  return [low, high](const std::string& text) -> std::string {
    bool hex = text.starts_with("0x");
    const char *begin = text.data() + (hex ? 2 : 0), *end = text.data() + text.size();
    std::uint64_t number = 0;
    auto [stop, code] = std::from_chars(begin, end, number, hex ? 16 : 10);
    if (code == std::errc{} && stop == end && low <= number && number <= high) return {};
    return "`" + text + "` is not a whole number from " + std::to_string(low) + " to " +
           std::to_string(high);
  };
}

std::string short_text(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

CLI::Validator real_number(double low, double high) {
  std::string accepted =
      " from " + short_text(low) + (high < unbounded ? " to " + short_text(high) : std::string());
  auto check = [low, high, accepted](const std::string& text) -> std::string {
    double number = 0;
    if (CLI::detail::lexical_cast(text, number) && low <= number && number <= high) return {};
    return "`" + text + "` is not a number" + accepted;
  };
  return CLI::Validator(check, accepted.substr(1));
}

template <class Value>
struct NumberOf {
  using Type = Value;
};
template <class Value>
struct NumberOf<std::optional<Value>> {
  using Type = Value;
};

template <class Value>
Option whole(CLI::App& app, const std::string& name, Value& value, const std::string& help) {
  constexpr std::uint64_t most = std::numeric_limits<typename NumberOf<Value>::Type>::max();
  CLI::Option* option = app.add_option(name, value, help);
  return Option(option->check(CLI::Validator(whole_number(0, most), "", range)), most);
}

}  // namespace

Option Option::required() {
  option_->required();
  return *this;
}
Option Option::narrow(std::uint64_t low, std::uint64_t high) {
  CLI::Validator& check = *option_->get_validator(range);
  check.operation(whole_number(low, high));
  check.description("from " + std::to_string(low) +
                    (high == most_ ? std::string() : " to " + std::to_string(high)));
  return *this;
}
Option Option::between(int low, int high) {
  return narrow(static_cast<std::uint64_t>(low), static_cast<std::uint64_t>(high));
}
Option Option::positive() { return narrow(1, most_); }
Option Option::between(double low, double high) {
  option_->check(real_number(low, high));
  return *this;
}
Option Option::not_negative() { return between(0.0, unbounded); }
Option Option::one_of(std::initializer_list<std::string> values) {
  std::vector<std::string> known(values);
  auto check = [known](const std::string& text) -> std::string {
    if (std::find(known.begin(), known.end(), text) != known.end()) return {};
    return "`" + text + "` is not " + list_names(known);
  };
  std::string all;
  for (const std::string& one : known) all += (all.empty() ? "" : ", ") + one;
  option_->check(CLI::Validator(check, all));
  return *this;
}
Option Option::expected(int count) {
  option_->expected(count);
  return *this;
}

Option App::add_option(const std::string& name, std::string& value, const std::string& help) {
  return Option(app_->add_option(name, value, help));
}
Option App::add_option(const std::string& name, std::vector<std::string>& value,
                       const std::string& help) {
  return Option(app_->add_option(name, value, help));
}
Option App::add_option(const std::string& name, std::uint32_t& value, const std::string& help) {
  return whole(*app_, name, value, help);
}
Option App::add_option(const std::string& name, std::uint64_t& value, const std::string& help) {
  return whole(*app_, name, value, help);
}
Option App::add_option(const std::string& name, double& value, const std::string& help) {
  return Option(app_->add_option(name, value, help));
}
Option App::add_option(const std::string& name, std::optional<std::uint32_t>& value,
                       const std::string& help) {
  return whole(*app_, name, value, help);
}
Option App::add_option(const std::string& name, std::optional<std::uint64_t>& value,
                       const std::string& help) {
  return whole(*app_, name, value, help);
}
void App::add_flag(const std::string& name, bool& value, const std::string& help) {
  app_->add_flag(name, value, help);
}

App* App::add_subcommand(const std::string& name, const std::string& help,
                         const std::string& example) {
  CLI::App* part = app_->add_subcommand(name, help);
  part->footer("Example: " + example);  // Else it were that of the whole.
  owned_.push_back(std::make_unique<App>(*part));
  return owned_.back().get();
}
void App::require_subcommand() { app_->require_subcommand(1); }
bool App::parsed() const { return app_->parsed(); }
CLI::App* App::program() const { return app_->get_parent(); }

std::string command_of(const CLI::App& app) {
  const CLI::App* parent = app.get_parent();
  return parent == nullptr ? "lathe" : command_of(*parent) + " " + app.get_name();
}

}  // namespace lathe::cli
