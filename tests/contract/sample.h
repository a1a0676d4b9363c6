#pragma once

// The sample of docs/CONTRACT.md, and edits of it for near-misses.

#include <catch2/catch.hpp>
#include <string>

#include "base/files.h"
#include "contract/contract.h"
#include "tests/places.h"

namespace lathe {

inline std::string sample_text() {
  auto text = read_text(std::string(source_folder) + "/docs/CONTRACT.md");
  REQUIRE(text.has_value());
  std::size_t begin = text->find("```toml\n");
  REQUIRE(begin != std::string::npos);
  begin += 8;
  return text->substr(begin, text->find("```", begin) - begin);
}

/// The sample with one text replaced, which must be there.
inline std::string sample_with(const std::string& before, const std::string& after) {
  std::string text = sample_text();
  std::size_t at = text.find(before);
  REQUIRE(at != std::string::npos);
  return text.replace(at, before.size(), after);
}

inline Contract sample_contract() {
  auto contract = parse_contract(sample_text(), "contract.toml");
  REQUIRE(contract.has_value());
  return *std::move(contract);
}

inline std::uint32_t line_of(const std::string& text, const std::string& part) {
  std::size_t at = text.find(part);
  REQUIRE(at != std::string::npos);
  return static_cast<std::uint32_t>(
      std::count(text.begin(), text.begin() + static_cast<long>(at), '\n') + 1);
}

}  // namespace lathe
