#include "pipeline/abi.h"

#include <algorithm>

#include "base/names.h"
#include "pipeline/host_map.h"

namespace lathe {
namespace {

std::string print_extent(const std::array<std::uint32_t, 3>& extent) {
  return "[" + std::to_string(extent[0]) + ", " + std::to_string(extent[1]) + ", " +
         std::to_string(extent[2]) + "]";
}

bool is_float_type(std::string_view type) { return !type.empty() && type.front() == 'f'; }
bool is_untyped(std::string_view type) { return !type.empty() && type.front() == 'b'; }

class Comparison {
 public:
  Comparison(const Contract& contract, const ptx::Module& module, const std::string& subject)
      : contract_(contract), module_(module), subject_(subject) {}

  std::vector<Disagreement> run() {
    compare_head();
    const ptx::Function* entry = module_.find_entry(contract_.entry);
    if (entry == nullptr) {
      missing_entry();
      return std::move(found_);
    }
    compare_parameters(*entry);
    compare_launch(*entry);
    compare_shared();
    return std::move(found_);
  }

 private:
  void add(AbiField field, const ptx::Span& span, std::string what, std::string remedy,
           std::size_t parameter = 0) {
    found_.push_back(
        {field, parameter, span, Fault::malformed, std::move(what), std::move(remedy)});
  }

  void compare_head() {
    std::string target = module_.target.empty() ? "" : std::string(module_.target.front());
    if (target != contract_.target)
      add(AbiField::target, module_.target_span,
          subject_ + "'s .target is `" + target + "`, but the contract's is `" + contract_.target +
              "`",
          "write `.target " + contract_.target + "`");
    auto version = version_number(module_.version), most = version_number(contract_.ptx_isa);
    if (!version)
      add(AbiField::ptx_isa, module_.version_span,
          subject_ + "'s .version `" + std::string(module_.version) + "` is none",
          "write `.version " + contract_.ptx_isa + "` or an older one");
    else if (most && *version > *most)
      add(AbiField::ptx_isa, module_.version_span,
          subject_ + " declares .version " + std::string(module_.version) +
              ", newer than the contract's ptx_isa " + contract_.ptx_isa,
          "write `.version " + contract_.ptx_isa + "` or an older one");
    if (module_.address_size != 64)
      add(AbiField::target, module_.target_span, subject_ + " has 32-bit addresses",
          "write `.address_size 64`");
  }

  void missing_entry() {
    std::vector<std::string_view> names;
    for (const ptx::Function& function : module_.functions)
      if (function.entry && function.defined) names.push_back(function.name);
    std::string near = nearest_name(contract_.entry, names);
    std::string remedy = names.empty()  ? "define `.visible .entry " + contract_.entry + "`"
                         : near.empty() ? "its entries are " + list_names(names)
                                        : "it has `" + near + "`: the two must have one name";
    ptx::Span span = names.empty() || module_.functions.empty() ? module_.target_span
                                                                : module_.functions.front().span;
    add(AbiField::entry, span, subject_ + " has no entry `" + contract_.entry + "`", remedy);
  }

  void compare_parameters(const ptx::Function& entry) {
    std::size_t here = entry.parameters.size(), there = contract_.parameters.size();
    if (here != there)
      add(AbiField::parameter, here > there ? entry.parameters[there].span : entry.span,
          subject_ + "'s entry has " + std::to_string(here) + " parameters, but the contract has " +
              std::to_string(there),
          "keep number, order and size of the parameters, Triton's two trailing pointers included",
          std::min(here, there));
    for (std::size_t i = 0; i < std::min(here, there); ++i) compare_parameter(entry, i);
  }

  void compare_parameter(const ptx::Function& entry, std::size_t i) {
    const ptx::Variable& written = entry.parameters[i];
    const Parameter& promised = contract_.parameters[i];
    std::string type = "." + std::string(written.type);
    if (promised.map) return compare_map(written, promised, i);
    std::string both = subject_ + "'s parameter " + std::to_string(i) + " is " + type;
    std::string mine =
        ", but the contract's `" + promised.name + "` is " + std::string(name_of(promised.type));
    if (written.bytes != bytes_of(promised.type)) {
      if (written.bytes > 8) both += " of " + std::to_string(written.bytes) + " bytes";
      add(AbiField::parameter, written.span, both + mine,
          "give it " + std::to_string(bytes_of(promised.type)) + " bytes", i);
      // A structure by value: a tensor map, most often.
      if (written.bytes > 8) found_.back().fault = Fault::unsupported;
      return;
    }
    bool untyped = is_untyped(written.type) || is_untyped(name_of(promised.type));
    if (!untyped && is_float_type(written.type) != is_float(promised.type))
      add(AbiField::parameter, written.span, both + mine,
          "one is a float and the other is not; make them agree", i);
  }

  void compare_map(const ptx::Variable& written, const Parameter& promised, std::size_t i) {
    if (written.bytes != HostMap::bytes || written.align < HostMap::align)
      add(AbiField::parameter, written.span,
          subject_ + "'s parameter " + std::to_string(i) +
              " is no tensor map, but the contract's `" + promised.name + "` is",
          "write `.param .align 64 .b8 name[128]`", i);
    Result<ptx::TensorMapBytes> map = make_tensor_map(contract_, i, std::uint64_t{1} << 20);
    if (!map)
      add(AbiField::parameter, written.span,
          "the contract's `" + promised.name + "`: " + map.error().what,
          "give box, swizzle and strides that the driver would take", i);
  }

  void compare_launch(const ptx::Function& entry) {
    if (const ptx::Directive* required = find_directive(entry, ".reqntid")) {
      auto block = extent_of(required->text);
      if (block != contract_.launch.block)
        add(AbiField::block, required->span,
            subject_ + "'s .reqntid is " + print_extent(block) + ", but the contract's block is " +
                print_extent(contract_.launch.block),
            "write the contract's block");
      note_freedom("block");
    } else if (const ptx::Directive* most = find_directive(entry, ".maxntid")) {
      auto block = extent_of(most->text);
      if (std::uint64_t{block[0]} * block[1] * block[2] < contract_.launch.threads())
        add(AbiField::block, most->span,
            subject_ + "'s .maxntid " + print_extent(block) + " is below the contract's block " +
                print_extent(contract_.launch.block),
            "write at least the contract's block");
    }
    if (const ptx::Directive* cluster = find_directive(entry, ".reqnctapercluster")) {
      auto blocks = extent_of(cluster->text);
      if (blocks != contract_.launch.cluster)
        add(AbiField::cluster, cluster->span,
            subject_ + "'s .reqnctapercluster is " + print_extent(blocks) +
                ", but the contract's cluster is " + print_extent(contract_.launch.cluster),
            "write the contract's cluster");
      note_freedom("cluster");
    }
  }

  /// What the contract grants but nothing here can launch is not the candidate's fault.
  void note_freedom(std::string_view freedom) {
    const auto& allow = contract_.launch.allow;
    bool is_about =
        !found_.empty() &&
        found_.back().field == (freedom == "block" ? AbiField::block : AbiField::cluster);
    if (is_about && std::find(allow.begin(), allow.end(), freedom) != allow.end()) {
      found_.back().fault = Fault::unsupported;
      found_.back().remedy = "the contract grants this freedom, but a candidate cannot use it yet";
    }
  }

  void compare_shared() {
    std::uint64_t bytes = static_shared_bytes(module_) + contract_.launch.dynamic_shared_bytes;
    std::uint32_t most = shared_bytes_max(contract_.target);
    if (bytes <= most) return;
    ptx::Span span = module_.target_span;
    for (const ptx::Variable& variable : module_.variables)
      if (variable.space == "shared" && variable.bytes > 0) span = variable.span;
    add(AbiField::dynamic_shared_bytes, span,
        subject_ + " takes " + std::to_string(bytes) +
            " bytes of shared memory, static and dynamic together; a block of " + contract_.target +
            " has " + std::to_string(most),
        "use less shared memory");
  }

  const Contract& contract_;
  const ptx::Module& module_;
  const std::string& subject_;
  std::vector<Disagreement> found_;
};

}  // namespace

std::array<std::uint32_t, 3> extent_of(std::string_view directive) {
  std::array<std::uint32_t, 3> extent{1, 1, 1};
  std::size_t at = directive.find_first_of(" \t\n"), axis = 0;
  for (; at < directive.size() && axis < 3; ++axis) {
    while (at < directive.size() && (directive[at] < '0' || directive[at] > '9')) ++at;
    std::uint64_t number = 0;
    bool any = false;
    for (; at < directive.size() && directive[at] >= '0' && directive[at] <= '9'; ++at, any = true)
      number = std::min<std::uint64_t>(number * 10 + static_cast<unsigned>(directive[at] - '0'),
                                       0xFFFFFFFFu);
    if (any) extent[axis] = static_cast<std::uint32_t>(number);
  }
  return extent;
}

const ptx::Directive* find_directive(const ptx::Function& entry, std::string_view word) {
  for (const ptx::Directive& directive : entry.directives)
    if (directive.text.substr(0, directive.text.find_first_of(" \t\n")) == word) return &directive;
  return nullptr;
}

std::uint64_t static_shared_bytes(const ptx::Module& module) {
  std::uint64_t bytes = 0;
  auto add = [&](const std::vector<ptx::Variable>& variables) {
    for (const ptx::Variable& variable : variables) {
      if (!variable.space.starts_with("shared")) continue;
      std::uint64_t align = std::max<std::uint64_t>(1, variable.align);
      bytes = (bytes + align - 1) / align * align + variable.bytes;
    }
  };
  add(module.variables);
  for (const ptx::Function& function : module.functions) add(function.variables);
  return bytes;
}

std::vector<Disagreement> abi_disagreements(const Contract& contract, const ptx::Module& module,
                                            const std::string& subject) {
  return Comparison(contract, module, subject).run();
}

}  // namespace lathe
