// Contracts as FlashInfer-Trace definitions and workloads, and back.

#include <algorithm>
#include <set>

#include "base/json.h"
#include "cli/flashinfer.h"
#include "cli/safetensors.h"
#include "contract/inputs.h"

namespace lathe::cli::flashinfer {

std::string_view dtype_name(Dtype dtype) {
  switch (dtype) {
    case Dtype::f32:
      return "float32";
    case Dtype::f16:
      return "float16";
    case Dtype::bf16:
      return "bfloat16";
    case Dtype::e4m3:
      return "float8_e4m3fn";
    case Dtype::e5m2:
      return "float8_e5m2";
    case Dtype::s64:
      return "int64";
    case Dtype::s32:
      return "int32";
    case Dtype::s16:
      return "int16";
    case Dtype::s8:
      return "int8";
    default:
      return "";
  }
}

namespace {

Error cannot_say(std::string what) {
  return {Fault::unsupported, "FlashInfer-Trace cannot say it: " + std::move(what), "", {}};
}

std::string dtype_of(ParameterType type) {
  if (is_float(type)) return type == ParameterType::f16 ? "float16" : "float32";
  static const char* const names[]{"int8", "int16", "int32", "int64"};
  unsigned bytes = bytes_of(type);
  return names[bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3];
}

bool is_read(const Tensor& tensor) {
  return tensor.role == Role::input || tensor.role == Role::inout;
}
bool is_written(const Tensor& tensor) {
  return tensor.role == Role::output || tensor.role == Role::inout;
}
/// An input that is written in place comes out under another name.
std::string output_name(const Tensor& tensor) {
  return tensor.role == Role::inout ? tensor.name + "_out" : tensor.name;
}

bool is_contiguous(const Tensor& tensor) {
  std::uint64_t step = 1;
  for (std::size_t i = tensor.shape.size(); i-- > 0; step *= tensor.shape[i])
    if (tensor.shape[i] != 1 && tensor.strides[i] != step) return false;
  return true;
}

bool is_identifier(const std::string& name) {
  static const std::set<std::string> taken{"False", "None",   "True",  "and",    "as",    "def",
                                           "if",    "in",     "is",    "not",    "or",    "for",
                                           "class", "lambda", "while", "with",   "yield", "del",
                                           "from",  "global", "else",  "import", "pass",  "return"};
  auto letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; };
  return !name.empty() && letter(name[0]) && !taken.contains(name) &&
         std::all_of(name.begin(), name.end(), [&](char c) {
           return letter(c) || std::isdigit(static_cast<unsigned char>(c));
         });
}

std::optional<Error> unsayable(const Contract& contract) {
  for (const Form& form : forms_of(contract)) {
    bool plain = form.launch.cluster == std::array<std::uint32_t, 3>{1, 1, 1} && !form.launch.pdl &&
                 !form.launch.cooperative;
    if (!plain) return cannot_say("a launch with clusters or attributes");
    for (const Tensor& tensor : form.tensors) {
      if (!is_identifier(tensor.name)) return cannot_say("the name " + tensor.name);
      if (tensor.role == Role::scratch) continue;
      if (dtype_name(tensor.dtype).empty())
        return cannot_say("element type " + std::string(name_of(tensor.dtype)) + " of " +
                          tensor.name);
      if (!is_contiguous(tensor)) return cannot_say("the strides of " + tensor.name);
    }
    for (std::size_t i = 0; i < form.parameters.size(); ++i) {
      if (form.parameters[i].map) return cannot_say("a tensor map of the host");
      if (!is_runtime_scalar(form.parameters, i)) continue;
      if (form.parameters[i].type == ParameterType::f64)
        return cannot_say("the f64 scalar " + form.parameters[i].name);
      if (!is_identifier(form.parameters[i].name))
        return cannot_say("the name " + form.parameters[i].name);
    }
  }
  return std::nullopt;
}

/// Dimensions that have one extent in every form are one axis, so that an output's extents are
/// those of inputs wherever they go together.
struct Axes {
  std::vector<std::vector<std::uint64_t>> extents;  // One a form.
  std::vector<std::string> names;

  std::string name_of(const std::vector<std::uint64_t>& wanted, const std::string& fresh) {
    auto found = std::find(extents.begin(), extents.end(), wanted);
    if (found != extents.end()) return names[static_cast<std::size_t>(found - extents.begin())];
    extents.push_back(wanted);
    names.push_back(fresh);
    return fresh;
  }
  static bool is_variable(const std::vector<std::uint64_t>& extents) {
    return std::adjacent_find(extents.begin(), extents.end(), std::not_equal_to<>()) !=
           extents.end();
  }
};

class Writer {
 public:
  explicit Writer(const Contract& contract) : contract_(contract), forms_(forms_of(contract)) {}

  Result<Json> definition() {
    Json json;
    json["name"] = name();
    json["op_type"] = op_type();
    json["tags"] = {"lathe", "target:" + contract_.target};
    json["description"] = contract_.name + " as the contract " + short_hex(contract_.identity()) +
                          " says; the reference launches what Triton compiled.";
    Json inputs = Json::object(), outputs = Json::object();
    for (std::size_t i = 0; i < contract_.tensors.size(); ++i)
      if (is_read(contract_.tensors[i])) inputs[contract_.tensors[i].name] = spec(i);
    std::size_t bound = axes_.names.size();
    for (std::size_t i = 0; i < contract_.parameters.size(); ++i)
      if (is_runtime_scalar(contract_.parameters, i))
        inputs[contract_.parameters[i].name] = {{"shape", nullptr},
                                                {"dtype", dtype_of(contract_.parameters[i].type)}};
    for (std::size_t i = 0; i < contract_.tensors.size(); ++i)
      if (is_written(contract_.tensors[i])) outputs[output_name(contract_.tensors[i])] = spec(i);
    json["axes"] = Json::object();
    for (std::size_t i = 0; i < axes_.names.size(); ++i) {
      bool variable = Axes::is_variable(axes_.extents[i]);
      if (variable && i >= bound)
        return cannot_say("the extent " + axes_.names[i] + ", which no input has");
      if (variable)
        json["axes"][axes_.names[i]] = {{"type", "var"}};
      else
        json["axes"][axes_.names[i]] = {{"type", "const"}, {"value", axes_.extents[i][0]}};
    }
    json["inputs"] = std::move(inputs);
    json["outputs"] = std::move(outputs);
    json["reference"] = reference_text(contract_);
    return json;
  }

  /// After definition(): a workload a form; files of inputs that are not just any go to `dataset`.
  Result<std::string> workloads(Dataset& dataset) {
    std::string lines;
    for (std::size_t at = 0; at < forms_.size(); ++at) {
      Json workload;
      workload["uuid"] = uuid(at);
      workload["axes"] = Json::object();
      for (std::size_t i = 0; i < axes_.names.size(); ++i)
        if (Axes::is_variable(axes_.extents[i]))
          workload["axes"][axes_.names[i]] = axes_.extents[i][at];
      workload["inputs"] = Json::object();
      for (std::size_t i = 0; i < contract_.tensors.size(); ++i)
        if (is_read(contract_.tensors[i])) {
          Result<Json> input = input_of(at, i, workload["uuid"], dataset);
          if (!input) return input.error();
          workload["inputs"][contract_.tensors[i].name] = *std::move(input);
        }
      for (std::size_t i = 0; i < contract_.parameters.size(); ++i)
        if (is_runtime_scalar(contract_.parameters, i))
          workload["inputs"][contract_.parameters[i].name] = {
              {"type", "scalar"}, {"value", scalar(forms_[at].parameters[i])}};
      Json line{{"definition", name()},
                {"workload", std::move(workload)},
                {"solution", nullptr},
                {"evaluation", nullptr}};
      lines += line.dump() + "\n";
    }
    return lines;
  }

  std::string op_type() const {
    std::string out;
    for (char c : contract_.name)
      out += std::isalnum(static_cast<unsigned char>(c)) || c == '_' ? c : '_';
    return out.empty() ? "kernel" : out;
  }
  std::string name() const { return op_type() + "_" + hex(contract_.identity()).substr(0, 8); }

 private:
  Json spec(std::size_t tensor) {
    Json shape = Json::array();
    const Tensor& own = contract_.tensors[tensor];
    for (std::size_t d = 0; d < own.shape.size(); ++d) {
      std::vector<std::uint64_t> extents;
      for (const Form& form : forms_) extents.push_back(form.tensors[tensor].shape[d]);
      shape.push_back(axes_.name_of(extents, own.name + "_" + std::to_string(d)));
    }
    return {{"shape", shape}, {"dtype", dtype_name(own.dtype)}};
  }

  std::string uuid(std::size_t at) const {
    std::string digits =
        hex(sha256(hex(contract_.identity()) + "/" + std::to_string(at))).substr(0, 32);
    for (std::size_t place : {8, 13, 18, 23}) digits.insert(place, "-");
    return digits;
  }

  static Json scalar(const Parameter& parameter) {
    std::string bytes;
    for (unsigned i = 0; i < bytes_of(parameter.type); ++i)
      bytes += static_cast<char>(parameter.bits >> (8 * i) & 0xff);
    if (parameter.type == ParameterType::f32) return element_at(Dtype::f32, bytes, 0);
    if (parameter.type == ParameterType::f16) return element_at(Dtype::f16, bytes, 0);
    std::uint64_t sign = std::uint64_t{1} << (8 * bytes_of(parameter.type) - 1);
    return static_cast<std::int64_t>((parameter.bits ^ sign) - sign);
  }

  Result<Json> input_of(std::size_t at, std::size_t tensor, const std::string& uuid,
                        Dataset& dataset) {
    const Tensor& own = forms_[at].tensors[tensor];
    if (std::holds_alternative<Values::Normal>(own.values.kind)) return Json{{"type", "random"}};
    Contract form = contract_;
    form.tensors = forms_[at].tensors;
    Result<std::string> bytes = make_input(form, tensor, InputClass::declared, 0);
    if (!bytes) return bytes.error();
    Result<std::string> file = write_safetensors(own.name, own.dtype, own.shape, *bytes);
    if (!file) return file.error();
    std::string path =
        "blob/workloads/" + op_type() + "/" + name() + "/" + uuid + "_" + own.name + ".safetensors";
    dataset[path] = *std::move(file);
    return Json{{"type", "safetensors"}, {"path", path}, {"tensor_key", own.name}};
  }

  const Contract& contract_;
  std::vector<Form> forms_;
  Axes axes_;
};

/// The text of `NAME = "..."` in a module that reference_text wrote.
std::optional<std::string> constant_of(const std::string& module, const std::string& name) {
  std::size_t at = module.find("\n" + name + " = \"");
  if (at == std::string::npos) return std::nullopt;
  at += name.size() + 4;
  Json text = Json::parse(module.substr(at, module.find('\n', at) - at), nullptr, false);
  if (!text.is_string()) return std::nullopt;
  return text.get<std::string>();
}

/// The bytes of a file that `values` name, from the workload's safetensors.
Result<Done> place_files(Contract& contract, const std::string& definition_name,
                         const Dataset& dataset) {
  for (Tensor& tensor : contract.tensors) {
    auto* file = std::get_if<Values::File>(&tensor.values.kind);
    if (file == nullptr) continue;
    for (const auto& [path, bytes] : dataset) {
      if (path.find("/" + definition_name + "/") == std::string::npos ||
          !path.ends_with("_" + tensor.name + ".safetensors"))
        continue;
      Result<std::string> elements = read_safetensors(bytes, tensor.name);
      if (!elements) return elements.error();
      file->bytes = std::make_shared<const std::string>(*std::move(elements));
      break;
    }
    if (file->bytes == nullptr)
      return Error{Fault::malformed,
                   "the dataset has no safetensors file of " + tensor.name,
                   "import the dataset's blob folder with it",
                   {}};
  }
  return Done{};
}

}  // namespace

bool is_runtime_scalar(const std::vector<Parameter>& parameters, std::size_t at) {
  if (parameters[at].tensor) return false;
  bool trailing = at + 2 >= parameters.size();
  return !(trailing && parameters[at].type == ParameterType::u64 && parameters[at].bits == 0);
}

std::vector<Form> forms_of(const Contract& contract) {
  std::vector<Form> forms{{"own", contract.launch, contract.parameters, contract.tensors}};
  for (const Case& each : contract.cases)
    forms.push_back({each.name, each.launch, each.parameters, each.tensors});
  return forms;
}

Result<Dataset> dataset_of(const Contract& contract) {
  if (auto error = unsayable(contract)) return *error;
  Writer writer(contract);
  Result<Json> definition = writer.definition();
  if (!definition) return definition.error();
  Dataset dataset;
  Result<std::string> workloads = writer.workloads(dataset);
  if (!workloads) return workloads.error();
  std::string place = writer.op_type() + "/" + writer.name();
  dataset["definitions/" + place + ".json"] = definition->dump(2) + "\n";
  dataset["workloads/" + place + ".jsonl"] = *std::move(workloads);
  return dataset;
}

Result<Dataset> dataset_of(const Deployment& deployment) {
  const Contract& contract = deployment.contract();
  Result<Dataset> dataset = dataset_of(contract);
  if (!dataset) return dataset;
  Writer writer(contract);
  static const std::map<std::string, std::vector<std::string>> hardware{
      {"sm_89", {"NVIDIA_L4", "NVIDIA_L40S", "NVIDIA_RTX_4090"}},
      {"sm_90a", {"NVIDIA_H100", "NVIDIA_H200"}},
      {"sm_100a", {"NVIDIA_B200"}}};
  std::string name =
      "lathe_" + writer.name() + "_" + hex(deployment.assembled.candidate).substr(0, 8);
  Json solution;
  solution["name"] = name;
  solution["definition"] = writer.name();
  solution["author"] = "lathe";
  solution["description"] = std::string(deployment.proved ? "Proved" : "NOT proved") +
                            " equal to the reference over the reals; assembled by " +
                            deployment.assembled.assembler + ".";
  solution["spec"] = {{"language", "python"},
                      {"target_hardware", hardware.at(contract.target)},
                      {"entry_point", "main.py::run"},
                      {"dependencies", {"torch"}},
                      {"destination_passing_style", false}};
  solution["sources"] = {{{"path", "main.py"}, {"content", solution_text(deployment)}},
                         {{"path", "winner.ptx"}, {"content", deployment.assembled.ptx}}};
  (*dataset)["solutions/lathe/" + writer.op_type() + "/" + writer.name() + "/" + name + ".json"] =
      solution.dump(2) + "\n";
  return dataset;
}

Result<std::optional<Contract>> contract_of(const std::string& definition, const Dataset& dataset) {
  Json json = Json::parse(definition, nullptr, false);
  std::string module = json.value("reference", "");
  auto text = constant_of(module, "CONTRACT"), reference = constant_of(module, "REFERENCE");
  if (!text || !reference) return std::optional<Contract>{};
  Result<Contract> contract = parse_contract(*text, "contract.toml");
  if (!contract) return contract.error();
  contract->reference = *std::move(reference);
  Result<Done> placed = place_files(*contract, json.value("name", ""), dataset);
  if (!placed) return placed.error();
  Result<Dataset> again = dataset_of(*contract);
  if (!again) return again.error();
  bool same = std::any_of(again->begin(), again->end(), [&](const auto& file) {
    return file.first.starts_with("definitions/") &&
           Json::parse(file.second, nullptr, false) == json;
  });
  if (!same)
    return Error{Fault::malformed,
                 "the definition is not that of the contract in its reference",
                 "export it again, or take the contract out of the reference",
                 {}};
  return std::optional<Contract>{*std::move(contract)};
}

}  // namespace lathe::cli::flashinfer
