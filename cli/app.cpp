#include "cli/app.h"

#include <CLI/CLI.hpp>
#include <charconv>

namespace lathe::cli {
namespace {

/// Whole numbers are digits: the parser itself would take -1 for the largest one.
std::string check_whole(const std::string& text) {
  bool hex = text.starts_with("0x");
  const char *begin = text.data() + (hex ? 2 : 0), *end = text.data() + text.size();
  std::uint64_t number = 0;
  auto [stop, code] = std::from_chars(begin, end, number, hex ? 16 : 10);
  if (code == std::errc{} && stop == end) return {};
  return "`" + text + "` is not a whole number from 0 to 18446744073709551615";
}

template <class Value>
Option whole(CLI::App& app, const std::string& name, Value& value, const std::string& help) {
  return Option(app.add_option(name, value, help)->check(check_whole, ""));
}

}  // namespace

Option Option::required() { return Option(option_->required()); }
Option Option::between(int low, int high) { return Option(option_->check(CLI::Range(low, high))); }
Option Option::between(double low, double high) {
  return Option(option_->check(CLI::Range(low, high)));
}
Option Option::positive() { return Option(option_->check(CLI::PositiveNumber)); }
Option Option::not_negative() { return Option(option_->check(CLI::NonNegativeNumber)); }
Option Option::one_of(std::initializer_list<std::string> values) {
  return Option(option_->check(CLI::IsMember(std::vector<std::string>(values))));
}
Option Option::expected(int count) { return Option(option_->expected(count)); }

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

App* App::add_subcommand(const std::string& name, const std::string& help) {
  owned_.push_back(std::make_unique<App>(*app_->add_subcommand(name, help)));
  return owned_.back().get();
}
void App::require_subcommand() { app_->require_subcommand(1); }
bool App::parsed() const { return app_->parsed(); }
CLI::App* App::program() const { return app_->get_parent(); }

}  // namespace lathe::cli
