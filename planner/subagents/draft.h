#pragma once

// What the rewrites share: the site they look at, and a draft that collects edits and declares new
// registers under names that the text does not hold yet.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "planner/dataflow.h"
#include "planner/subagent.h"

namespace lathe::planner {

/// One entry of a module, looked at by every family.
struct Site {
  const ptx::Module& module;
  const Flow& flow;
  std::string_view target;
  const Contract* contract = nullptr;  // None: nothing is known of the parameters.
};

class Draft {
 public:
  explicit Draft(const Site& site);

  /// A new register of this type, "b32" or "pred".
  std::string fresh(std::string_view type);
  void replace(Index instruction, std::string text);
  void remove(Index instruction) { replace(instruction, ""); }
  /// Before the instruction, on a line of its own.
  void insert_before(Index instruction, std::string text);
  /// At the head of the body.
  void declare(std::string text) { declarations_ += "\n\t" + std::move(text); }
  std::string unused_name(std::string_view stem) const;

  /// All edits, with the declarations of what was made.
  std::vector<ptx::Edit> take();

 private:
  ptx::Span with_line(ptx::Span span) const;

  const Site& site_;
  std::string stem_;
  std::map<std::string, unsigned, std::less<>> made_;  // By type.
  std::map<Index, std::string> before_;
  std::map<Index, std::string> replaced_;
  std::string declarations_;
};

/// Each family adds the rewrites that it finds, the most promising first.
void tree_reductions(const Site& site, std::vector<Rewrite>& out);
void fewer_barriers(const Site& site, std::vector<Rewrite>& out);
void hoisted_loads(const Site& site, std::vector<Rewrite>& out);
void reciprocals(const Site& site, std::vector<Rewrite>& out);
void fused(const Site& site, std::vector<Rewrite>& out);
void wide_accesses(const Site& site, std::vector<Rewrite>& out);
void cached_accesses(const Site& site, std::vector<Rewrite>& out);

/// The text of an operand that is a plain register or number.
inline std::string operand_text(const ptx::Instruction& instruction, std::size_t operand) {
  return std::string(instruction.operands[operand].text);
}

}  // namespace lathe::planner
