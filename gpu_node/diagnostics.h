#pragma once

// What ptxas printed, as data: complaints by line, and the resources of `-v`. ptxas gives no
// columns; the module knows where the instruction of a line begins.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/gates.h"

namespace lathe::gpu_node {

struct Diagnostic {
  enum class Severity : std::uint8_t { warning, error, fatal };
  Severity severity = Severity::error;
  std::uint32_t line = 0;  // 0: of the whole file.
  std::string text;
};

struct PtxasReport {
  std::vector<Diagnostic> diagnostics;  // In the order of lines, then of printing.
  Resources resources;                  // Of the entry that was asked for.
};

PtxasReport read_report(std::string_view standard_error, std::string_view entry);

/// The line of a text, counted from 1, without its end.
std::string_view source_line(std::string_view text, std::uint32_t line);

}  // namespace lathe::gpu_node
