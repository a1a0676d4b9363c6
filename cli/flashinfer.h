#pragma once

// FlashInfer-Trace, the exchange format of definitions, workloads, solutions and traces: a
// validator made from its public schema (flashinfer-bench 0.1.2), and both ways to contracts.
// Documents are texts here, so that this header stays light.

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/deployment.h"

namespace lathe::cli::flashinfer {

enum class Kind : std::uint8_t { definition, solution, trace };
std::string_view name_of(Kind kind);

/// What a Python text must be: a module with a top-level function `run`, any module, or one
/// expression.
enum class Python : std::uint8_t { run_module, module, expression };
/// Why it is not; nothing where it is.
using PythonCheck = std::function<std::optional<std::string>(const std::string& text, Python)>;
/// Asks a python3 of the PATH; its absence is unavailable.
Result<PythonCheck> python_check();

/// The format's name of a type; empty where it has none.
std::string_view dtype_name(Dtype dtype);

/// One rule that a document breaks.
struct Complaint {
  std::string rule;   // "axis-undefined", ..: each is named once in flashinfer_check.cpp.
  std::string where;  // "inputs.x.shape[1]"
  std::string what;
};

/// Which kind a document is, by its members.
std::optional<Kind> kind_of(std::string_view document);

/// All complaints; none means that the public schema accepts it. A trace without solution and
/// evaluation is a workload; `definition`, where it is known, is what traces and solutions are
/// about.
std::vector<Complaint> check(Kind kind, std::string_view document, const PythonCheck& python,
                             const std::string* definition = nullptr);

/// A dataset by its files' paths: definitions/, workloads/, solutions/, blob/.
using Dataset = std::map<std::string, std::string>;

/// A contract as definition and workloads (its own launch and each case). Errors: unsupported,
/// with what the format cannot say.
Result<Dataset> dataset_of(const Contract& contract);

/// The same with the deployment as a solution of it.
Result<Dataset> dataset_of(const Deployment& deployment);

/// The contract that a definition made by dataset_of carries, and the files of its values from
/// `dataset`. Nothing where it carries none. Errors: malformed where the two disagree.
Result<std::optional<Contract>> contract_of(const std::string& definition, const Dataset& dataset);

/// A program that gives each workload to a solution in Python or Triton: what `lathe_triton
/// capture` runs to get contracts of foreign definitions.
std::string program_text(const std::string& definition, const std::string& solution,
                         const std::vector<std::string>& workloads);

// Parts of the above, for its own files.

/// A scalar that the program gives, not Triton's two trailing pointers.
bool is_runtime_scalar(const std::vector<Parameter>& parameters, std::size_t at);
/// One launch of a contract: its own, or a case's.
struct Form {
  std::string name;
  const Launch& launch;
  const std::vector<Parameter>& parameters;
  const std::vector<Tensor>& tensors;
};
std::vector<Form> forms_of(const Contract& contract);

/// The Python module that launches a contract's kernel through the CUDA driver: as a definition's
/// reference (with PTX and contract inside) or as a solution (with the cubin).
std::string reference_text(const Contract& contract);
std::string solution_text(const Deployment& deployment);

}  // namespace lathe::cli::flashinfer
