// The Python texts that go into FlashInfer-Trace documents: a launch of the kernel through the CUDA
// driver and PyTorch's tensors, and the program that runs a foreign solution for capture.

#include "base/json.h"
#include "cli/flashinfer.h"

namespace lathe::cli::flashinfer {
namespace {

/// Loading and launching; what goes before it defines ENTRY, IMAGE and FORMS.
constexpr const char* launcher = R"py(
_DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16,
           "float8_e4m3fn": torch.float8_e4m3fn, "float8_e5m2": torch.float8_e5m2,
           "int64": torch.int64, "int32": torch.int32, "int16": torch.int16, "int8": torch.int8,
           "bool": torch.bool}
_PACK = {"f64": "<d", "f32": "<f", "f16": "<e"}
_functions = {}


def _call(name, *arguments):
    code = getattr(_driver(), name)(*arguments)
    if code != 0:
        raise RuntimeError(f"{name}: CUDA error {code}")


def _driver():
    if "driver" not in _functions:
        _functions["driver"] = ctypes.CDLL("libcuda.so.1")
    return _functions["driver"]


def _function(device):
    if device not in _functions:
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        _call("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(IMAGE))
        _call("cuModuleGetFunction", ctypes.byref(function), module, ENTRY.encode())
        _call("cuFuncSetAttribute", function, 8, max(form["shared"] for form in FORMS))
        _functions[device] = function
    return _functions[device]


def _bits(kind, value, size):
    if kind in _PACK:
        return int.from_bytes(struct.pack(_PACK[kind], value), "little")
    return int(value) & ((1 << 8 * size) - 1)


def _fits(form, given):
    for name, tensor in form["tensors"].items():
        if tensor["role"] in ("input", "inout"):
            x = given[name]
            if list(x.shape) != tensor["shape"] or not x.is_contiguous() \
                    or x.data_ptr() % tensor["align"] != 0:
                return False
    return all(_bits(kind, given[name], size) == int(bits)
               for what, name, kind, size, bits in form["arguments"] if what == "scalar")


def _launch(given):
    form = next((form for form in FORMS if _fits(form, given)), None)
    if form is None:
        raise ValueError(f"{ENTRY} was made for other shapes or scalars")
    device = next(x.device for x in given.values() if hasattr(x, "device"))
    memory = {}
    for name, tensor in form["tensors"].items():
        if tensor["role"] == "input":
            memory[name] = given[name]
        elif tensor["role"] == "inout":
            memory[name] = given[name].clone()
        else:
            dtype = _DTYPES.get(tensor["dtype"], torch.uint8)
            memory[name] = torch.empty(tensor["shape"], dtype=dtype, device=device)
    cells = []
    for what, name, kind, size, bits in form["arguments"]:
        value = memory[name].data_ptr() if what == "tensor" else int(bits)
        cells.append({1: ctypes.c_uint8, 2: ctypes.c_uint16, 4: ctypes.c_uint32,
                      8: ctypes.c_uint64}[size](value))
    pointers = (ctypes.c_void_p * len(cells))(
        *(ctypes.cast(ctypes.pointer(cell), ctypes.c_void_p) for cell in cells))
    with torch.cuda.device(device):
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        _call("cuLaunchKernel", _function(device), *form["grid"], *form["block"],
              form["shared"], stream, pointers, None)
    out = tuple(memory[name] for name, tensor in form["tensors"].items()
                if tensor["role"] in ("output", "inout"))
    return out[0] if len(out) == 1 else out
)py";

Json form_json(const Form& form) {
  Json json;
  json["name"] = form.name;
  json["grid"] = form.launch.grid;
  json["block"] = form.launch.block;
  json["shared"] = form.launch.dynamic_shared_bytes;
  json["tensors"] = Json::object();
  for (const Tensor& tensor : form.tensors)
    json["tensors"][tensor.name] = {{"role", name_of(tensor.role)},
                                    {"dtype", dtype_name(tensor.dtype)},
                                    {"shape", tensor.shape},
                                    {"align", tensor.align}};
  json["arguments"] = Json::array();
  for (std::size_t i = 0; i < form.parameters.size(); ++i) {
    const Parameter& parameter = form.parameters[i];
    const char* what = parameter.tensor                        ? "tensor"
                       : is_runtime_scalar(form.parameters, i) ? "scalar"
                                                               : "constant";
    std::string name = parameter.tensor ? form.tensors[*parameter.tensor].name : parameter.name;
    json["arguments"].push_back({what, name, name_of(parameter.type), bytes_of(parameter.type),
                                 std::to_string(parameter.bits)});
  }
  return json;
}

/// JSON's escapes are Python's too, as long as everything is ASCII.
std::string literal(const std::string& text) {
  return Json(text).dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::string base64(std::string_view bytes) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    for (std::size_t k = 0; k < 3; ++k)
      group = group << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    for (std::size_t k = 0; k < 4; ++k)
      out += k <= count ? digits[group >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

std::string run_function(const Contract& contract) {
  std::string names;
  Form form = forms_of(contract).front();
  for (const Tensor& tensor : form.tensors)
    if (tensor.role == Role::input || tensor.role == Role::inout)
      names += (names.empty() ? "" : ", ") + tensor.name;
  for (std::size_t i = 0; i < form.parameters.size(); ++i)
    if (is_runtime_scalar(form.parameters, i))
      names += (names.empty() ? "" : ", ") + form.parameters[i].name;
  return "\n\ndef run(" + names + "):\n    return _launch(dict(locals()))\n";
}

std::string module_text(const Contract& contract, const std::string& what,
                        const std::string& constants) {
  Json forms = Json::array();
  for (const Form& form : forms_of(contract)) forms.push_back(form_json(form));
  return "\"\"\"" + what +
         "\"\"\"\n\nimport base64\nimport ctypes\nimport json\nimport struct\n\nimport torch\n\n" +
         "ENTRY = " + literal(contract.entry) + "\n" + constants + "FORMS = json.loads(" +
         literal(forms.dump()) + ")\n" + launcher + run_function(contract);
}

}  // namespace

std::string reference_text(const Contract& contract) {
  return module_text(contract, "What Triton compiled, launched as the contract says.",
                     "CONTRACT = " + literal(print_contract(contract)) + "\nREFERENCE = " +
                         literal(contract.reference) + "\nIMAGE = REFERENCE.encode() + b\"\\0\"\n");
}

std::string solution_text(const Deployment& deployment) {
  return module_text(
      deployment.contract(), "A kernel that Lathe found, assembled for one target.",
      "IMAGE = base64.b64decode(" + literal(base64(deployment.assembled.cubin)) + ")\n");
}

std::string program_text(const std::string& definition, const std::string& solution,
                         const std::vector<std::string>& workloads) {
  Json about = Json::parse(definition, nullptr, false);
  Json solved = Json::parse(solution, nullptr, false);
  std::string entry = solved["spec"]["entry_point"];
  std::size_t at = entry.find("::");
  Json lines = Json::array();
  for (const std::string& workload : workloads)
    lines.push_back(Json::parse(workload, nullptr, false)["workload"]);
  std::string text =
      "\"\"\"Gives each workload to the solution: run it with python -m lathe_triton "
      "capture.\"\"\"\n\nimport json\nimport sys\nfrom pathlib import Path\n\nimport torch\n\n";
  text += "HERE = Path(__file__).resolve().parent\nROOT = HERE.parents[1]\n";
  text += "FILE, FUNCTION = " + literal(entry.substr(0, at)) + ", " +
          literal(entry.substr(at + 2)) + "\nDEFINITION = json.loads(" +
          literal(Json{
              {"axes", about["axes"]}, {"inputs", about["inputs"]}, {"outputs", about["outputs"]}}
                      .dump()) +
          ")\nDESTINATIONS = " +
          (solved["spec"].value("destination_passing_style", true) ? "True" : "False") +
          "\nWORKLOADS = json.loads(" + literal(lines.dump()) + ")\n";
  return text + R"py(

def shape_of(tensor, axes):
    return [axes[n] if n in axes else DEFINITION["axes"][n]["value"] for n in tensor["shape"]]


def empty(tensor, axes):
    return torch.empty(shape_of(tensor, axes), dtype=getattr(torch, tensor["dtype"]),
                       device="cuda")


def value_of(name, tensor, how, axes):
    if how["type"] == "scalar":
        return how["value"]
    if how["type"] == "safetensors":
        from safetensors.torch import load_file
        return load_file(ROOT / how["path"])[how["tensor_key"]].cuda()
    out = empty(tensor, axes)
    if out.is_floating_point():
        return out.copy_(torch.randn(out.shape, device="cuda"))
    return out.copy_(torch.randint(0, 2, out.shape, device="cuda"))


def main():
    sys.path.insert(0, str(HERE))
    space = {"__name__": "solution", "__file__": str(HERE / FILE)}
    exec(compile((HERE / FILE).read_text(), str(HERE / FILE), "exec"), space)
    torch.manual_seed(0)
    for workload in WORKLOADS:
        axes = workload["axes"]
        given = [value_of(name, tensor, workload["inputs"][name], axes)
                 for name, tensor in DEFINITION["inputs"].items()]
        if DESTINATIONS:
            given += [empty(tensor, axes) for tensor in DEFINITION["outputs"].values()]
        space[FUNCTION](*given)
    torch.cuda.synchronize()


if __name__ == "__main__":
    main()
)py";
}

}  // namespace lathe::cli::flashinfer
