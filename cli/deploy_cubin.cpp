// A launch for programs in C and C++: cubin, header, loader. Scalars are the contract's; tensors
// are arguments, checked for their alignment.

#include <cctype>

#include "base/files.h"
#include "cli/deployment.h"

namespace lathe::cli {
namespace {

std::string identifier(const std::string& name) {
  std::string out;
  for (char c : name) out += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (out.empty() || std::isdigit(static_cast<unsigned char>(out[0]))) out = "_" + out;
  return out;
}

std::string prefix_of(const Contract& contract) { return "lathe_" + identifier(contract.entry); }

/// One launch: the contract's own has no number.
struct Form {
  std::string name, what;
  const Launch& launch;
  const std::vector<Parameter>& parameters;
  const std::vector<Tensor>& tensors;
};

std::vector<Form> forms_of(const Contract& contract) {
  std::vector<Form> forms{{prefix_of(contract) + "_launch", "the contract's own launch",
                           contract.launch, contract.parameters, contract.tensors}};
  for (std::size_t i = 0; i < contract.cases.size(); ++i) {
    const Case& each = contract.cases[i];
    forms.push_back({prefix_of(contract) + "_launch_" + std::to_string(i + 1), "case " + each.name,
                     each.launch, each.parameters, each.tensors});
  }
  return forms;
}

std::string argument(const Tensor& tensor) { return "tensor_" + identifier(tensor.name); }

std::string signature(const Form& form) {
  std::string text = "CUresult " + form.name + "(CUfunction function, CUstream stream";
  for (const Tensor& tensor : form.tensors) text += ", CUdeviceptr " + argument(tensor);
  return text + ")";
}

std::string tensor_lines(const Form& form) {
  std::string text;
  for (const Tensor& tensor : form.tensors) {
    text += " *   " + argument(tensor) + ": " + std::string(name_of(tensor.role)) + ", " +
            std::string(name_of(tensor.dtype)) + "[";
    for (std::size_t i = 0; i < tensor.shape.size(); ++i)
      text += (i == 0 ? "" : ", ") + std::to_string(tensor.shape[i]);
    text += "], strides [";
    for (std::size_t i = 0; i < tensor.strides.size(); ++i)
      text += (i == 0 ? "" : ", ") + std::to_string(tensor.strides[i]);
    text += "], aligned to " + std::to_string(tensor.align) + " bytes\n";
  }
  return text;
}

std::string scalar_type(const Parameter& parameter) {
  return "uint" + std::to_string(8 * bytes_of(parameter.type)) + "_t";
}

std::string parameter_lines(const Form& form) {
  std::string text, list;
  for (std::size_t i = 0; i < form.parameters.size(); ++i) {
    const Parameter& parameter = form.parameters[i];
    std::string name;
    if (parameter.tensor) {
      name = argument(form.tensors[*parameter.tensor]);
    } else {
      name = "scalar_" + std::to_string(i);
      text += "  " + scalar_type(parameter) + " " + name + " = " + std::to_string(parameter.bits) +
              "u" + (bytes_of(parameter.type) == 8 ? "ll" : "") + ";  /* " + parameter.name +
              " */\n";
    }
    list += (i == 0 ? "&" : ", &") + name;
  }
  return text + "  void* parameters[] = {" + list + "};\n";
}

void attribute(std::string& text, const std::string& id, const std::string& value) {
  text += "  attributes[count].id = " + id + ";\n  " + value + "\n  ++count;\n";
}

std::string config_lines(const Launch& launch) {
  std::string text =
      "  CUlaunchAttribute attributes[3];\n  CUlaunchConfig config;\n  unsigned count = 0;\n"
      "  memset(&config, 0, sizeof config);\n  memset(attributes, 0, sizeof attributes);\n";
  const char* axes = "XYZ";
  for (std::size_t i = 0; i < 3; ++i)
    text += std::string("  config.gridDim") + axes[i] + " = " + std::to_string(launch.grid[i]) +
            "u;\n  config.blockDim" + axes[i] + " = " + std::to_string(launch.block[i]) + "u;\n";
  text += "  config.sharedMemBytes = " + std::to_string(launch.dynamic_shared_bytes) +
          "u;\n  config.hStream = stream;\n";
  if (launch.cluster != std::array<std::uint32_t, 3>{1, 1, 1}) {
    std::string value;
    for (std::size_t i = 0; i < 3; ++i)
      value += std::string("attributes[count].value.clusterDim.") +
               static_cast<char>('x' + static_cast<int>(i)) + " = " +
               std::to_string(launch.cluster[i]) + "u; ";
    attribute(text, "CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION", value);
  }
  if (launch.pdl)
    attribute(text, "CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION",
              "attributes[count].value.programmaticStreamSerializationAllowed = 1;");
  if (launch.cooperative)
    attribute(text, "CU_LAUNCH_ATTRIBUTE_COOPERATIVE", "attributes[count].value.cooperative = 1;");
  return text + "  config.attrs = attributes;\n  config.numAttrs = count;\n";
}

std::string definition(const Form& form) {
  std::string text = signature(form) + " {\n";
  for (const Tensor& tensor : form.tensors)
    text += "  if (" + argument(tensor) + " % " + std::to_string(tensor.align) +
            "u != 0) return CUDA_ERROR_MISALIGNED_ADDRESS;\n";
  text += parameter_lines(form) + config_lines(form.launch);
  return text + "  return cuLaunchKernelEx(&config, function, parameters, NULL);\n}\n";
}

}  // namespace

std::string header_text(const Deployment& deployment) {
  const Contract& contract = deployment.contract();
  std::string guard = "LATHE_" + identifier(contract.entry) + "_H", prefix = prefix_of(contract);
  std::string text = "/* " + contract.name + " for " + contract.target + ", candidate " +
                     short_hex(deployment.assembled.candidate) + " of contract " +
                     short_hex(contract.identity()) + ", " +
                     (deployment.proved ? "proved" : "NOT proved") + ", assembled by " +
                     deployment.assembled.assembler + ".\n * Scalars are the contract's own. */\n";
  text += "#ifndef " + guard + "\n#define " + guard +
          "\n\n#include <cuda.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
  text +=
      "/* Loads the cubin into the current context, and lets the kernel have its shared memory. "
      "*/\nCUresult " +
      prefix + "_load(const char* cubin, CUmodule* module, CUfunction* function);\n";
  for (const Form& form : forms_of(contract))
    text += "\n/* " + form.what + ":\n" + tensor_lines(form) + " */\n" + signature(form) + ";\n";
  return text + "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
}

std::string loader_text(const Deployment& deployment) {
  const Contract& contract = deployment.contract();
  std::string name = identifier(contract.entry), prefix = prefix_of(contract);
  std::uint32_t shared = contract.launch.dynamic_shared_bytes;
  for (const Case& each : contract.cases)
    shared = std::max(shared, each.launch.dynamic_shared_bytes);
  std::string text = "/* Loads and launches " + contract.entry +
                     ". Link with the CUDA driver (-lcuda). */\n#include \"" + name +
                     ".h\"\n\n#include <stdint.h>\n#include <string.h>\n\n";
  text += "CUresult " + prefix +
          "_load(const char* cubin, CUmodule* module, CUfunction* function) {\n"
          "  CUresult result = cuModuleLoad(module, cubin);\n"
          "  if (result != CUDA_SUCCESS) return result;\n"
          "  result = cuModuleGetFunction(function, *module, \"" +
          contract.entry +
          "\");\n  if (result == CUDA_SUCCESS)\n    result = cuFuncSetAttribute("
          "*function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, " +
          std::to_string(shared) +
          ");\n  if (result != CUDA_SUCCESS) cuModuleUnload(*module);\n  return result;\n}\n";
  for (const Form& form : forms_of(contract)) text += "\n" + definition(form);
  return text;
}

Result<Done> write_cubin(const Chosen& chosen, const std::filesystem::path& folder) {
  for (const Deployment& deployment : chosen.deployments)
    for (const Parameter& parameter : deployment.contract().parameters)
      if (parameter.map)
        return Error{Fault::unsupported,
                     "the parameter " + parameter.name + " of " + deployment.contract().name +
                         " is a tensor map, which the loader does not make",
                     "python -m lathe_triton run --winners DIR leaves such launches to Triton",
                     {}};
  return write_directory(folder, [&](const std::filesystem::path& aside) -> Result<Done> {
    for (const Deployment& deployment : chosen.deployments) {
      std::filesystem::path own = aside / deployment.folder();
      std::error_code code;
      std::filesystem::create_directories(own, code);
      std::string name = identifier(deployment.contract().entry);
      auto done = write_file(own / (name + ".cubin"), deployment.assembled.cubin);
      if (done) done = write_file(own / (name + ".h"), header_text(deployment));
      if (done) done = write_file(own / (name + ".c"), loader_text(deployment));
      if (!done) return done;
    }
    return Done{};
  });
}

}  // namespace lathe::cli
