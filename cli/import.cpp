// lathe import: FlashInfer-Trace documents, checked, as a dataset with contracts and programs for
// capture beside it.

#include <algorithm>
#include <cstdio>
#include <set>

#include "base/files.h"
#include "cli/complaint.h"
#include "cli/document.h"
#include "cli/exit_status.h"
#include "cli/flashinfer.h"
#include "cli/subcommand.h"
#include "pipeline/admission.h"

namespace lathe::cli {
namespace {

namespace fs = std::filesystem;
using flashinfer::Dataset;
using flashinfer::Kind;

struct Options {
  std::vector<std::string> sources;
  std::string out;
  bool json = false;
};

struct Document {
  Kind kind;
  std::string text;
  Place place;
};

struct Imported {
  std::vector<Document> documents;
  Dataset blobs;  // By their path from the dataset's root.
};

bool is_plain_name(const std::string& name) {
  return !name.empty() && name[0] != '.' && std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.';
  });
}

Result<Done> add_document(Imported& imported, std::string text, Place place) {
  auto kind = flashinfer::kind_of(text);
  if (!kind)
    return Error{Fault::malformed, "this is neither definition, workload, solution nor trace",
                 "give documents of FlashInfer-Trace", std::move(place)};
  imported.documents.push_back({*kind, std::move(text), std::move(place)});
  return Done{};
}

Result<Done> add_file(Imported& imported, const fs::path& file, const fs::path& root) {
  if (file.extension() == ".safetensors") {
    Result<std::string> bytes = read_file(file);
    if (!bytes) return bytes.error();
    imported.blobs[fs::relative(file, root).string()] = *std::move(bytes);
    return Done{};
  }
  Result<std::string> text = read_text(file);
  if (!text) return text.error();
  if (file.extension() != ".jsonl")
    return add_document(imported, *std::move(text), {file.string(), 1, 0});
  std::uint32_t line = 0;
  for (std::size_t at = 0; at < text->size();) {
    std::size_t end = std::min(text->find('\n', at), text->size());
    std::string one = text->substr(at, end - at);
    ++line;
    at = end + 1;
    if (one.find_first_not_of(" \t\r") == std::string::npos) continue;
    auto added = add_document(imported, std::move(one), {file.string(), line, 0});
    if (!added) return added;
  }
  return Done{};
}

Result<Imported> read_all(const std::vector<std::string>& sources) {
  Imported imported;
  for (const std::string& source : sources) {
    std::vector<fs::path> files;
    std::error_code code;
    if (fs::is_directory(source, code)) {
      for (const auto& entry : fs::recursive_directory_iterator(source, code))
        if (std::set<std::string>{".json", ".jsonl", ".safetensors"}.contains(
                entry.path().extension()))
          files.push_back(entry.path());
      std::sort(files.begin(), files.end());
    } else {
      files.push_back(source);
    }
    for (const fs::path& file : files)
      if (auto added = add_file(imported, file, source); !added) return added.error();
  }
  return imported;
}

class Import {
 public:
  explicit Import(Imported imported) : imported_(std::move(imported)) {}

  std::vector<Error> check(const flashinfer::PythonCheck& python) {
    std::vector<Error> errors;
    for (const Document& document : imported_.documents)
      if (document.kind == Kind::definition) {
        Json json = Json::parse(document.text, nullptr, false);
        std::string name = json.value("name", "");
        if (!definitions_.emplace(name, document.text).second)
          errors.push_back(
              {Fault::malformed, "a second definition of that name: " + name, "", document.place});
      }
    for (const Document& document : imported_.documents) {
      const std::string* about = nullptr;
      Json json = Json::parse(document.text, nullptr, false);
      if (document.kind != Kind::definition) {
        auto found = definitions_.find(json.value("definition", ""));
        if (found != definitions_.end()) about = &found->second;
      }
      for (const auto& one : flashinfer::check(document.kind, document.text, python, about))
        errors.push_back({Fault::malformed, one.rule + ": `" + one.where + "` " + one.what,
                          "the public schema refuses it", document.place});
      check_names(json, document, errors);
      if (document.kind != Kind::definition && about == nullptr)
        errors.push_back(
            {Fault::malformed,
             "no definition of the name " + json.value("definition", "") + " is imported with it",
             "give the definition's file too", document.place});
    }
    return errors;
  }

  Result<Done> write(const fs::path& folder) {
    Result<Done> laid = lay_out();
    if (!laid) return laid;
    return write_directory(folder, [&](const fs::path& aside) -> Result<Done> {
      for (const auto& [path, text] : files_) {
        std::error_code code;
        fs::create_directories((aside / path).parent_path(), code);
        if (auto done = write_file(aside / path, text); !done) return done;
      }
      for (const std::string& contract : contracts_) {
        Opened opened = open_contract(aside / contract);
        if (opened.contract == nullptr) return opened.errors.front();
      }
      return Done{};
    });
  }

  Json document(const std::string& folder) const {
    Json json;
    json["schema"] = "lathe/flashinfer-import/1";
    json["folder"] = folder;
    json["files"] = Json::array();
    for (const auto& [path, _] : files_)
      if (is_of_dataset(path)) json["files"].push_back(path);
    json["contracts"] = contracts_;
    json["programs"] = programs_;
    return json;
  }

  void say(const std::string& folder) const {
    for (const auto& [path, _] : files_)
      if (is_of_dataset(path)) std::printf("%s/%s\n", folder.c_str(), path.c_str());
    for (const std::string& contract : contracts_)
      std::printf("%s/%s: a contract\n", folder.c_str(), contract.c_str());
    for (const std::string& program : programs_)
      std::printf("%s/%s: for python -m lathe_triton capture\n", folder.c_str(), program.c_str());
  }

 private:
  /// Contracts and programs are made beside it.
  static bool is_of_dataset(const std::string& path) {
    return !path.starts_with("contracts/") && !path.starts_with("programs/");
  }

  static void check_names(const Json& json, const Document& document, std::vector<Error>& errors) {
    for (const char* key : {"name", "op_type", "author"})
      if (json.contains(key) && json[key].is_string() && !is_plain_name(json[key]))
        errors.push_back({Fault::malformed, "`" + std::string(key) + "` is no name for a file",
                          "use letters, digits, `_`, `-` and `.`", document.place});
  }

  Result<Done> lay_out() {
    files_ = imported_.blobs;
    for (const Document& document : imported_.documents) {
      Json json = Json::parse(document.text, nullptr, false);
      std::string about = document.kind == Kind::definition ? json["name"] : json["definition"];
      std::string op = Json::parse(definitions_.at(about), nullptr, false)["op_type"];
      std::string place = op + "/" + about;
      if (document.kind == Kind::definition) {
        files_["definitions/" + place + ".json"] = json.dump(2) + "\n";
      } else if (document.kind == Kind::solution) {
        std::string name = json["name"], author = json["author"];
        files_["solutions/" + author + "/" + place + "/" + name + ".json"] = json.dump(2) + "\n";
        solutions_.push_back(document.text);
      } else {
        bool bare = !json.contains("evaluation") || json["evaluation"].is_null();
        files_[(bare ? "workloads/" : "traces/") + place + ".jsonl"] += json.dump() + "\n";
        if (bare) workloads_[about].push_back(document.text);
      }
    }
    for (const std::string& solution : solutions_) lay_out_program(solution);
    for (const auto& [name, definition] : definitions_)
      if (auto done = lay_out_contract(name, definition); !done) return done;
    return Done{};
  }

  /// A solution that Python can call, and workloads to call it with.
  void lay_out_program(const std::string& solution) {
    Json json = Json::parse(solution, nullptr, false);
    std::string language = json["spec"]["language"], about = json["definition"];
    if ((language != "python" && language != "triton") || workloads_[about].empty()) return;
    std::string folder = "programs/" + json["name"].get<std::string>();
    for (const Json& source : json["sources"])
      files_[folder + "/" + source["path"].get<std::string>()] = source["content"];
    std::string program = folder + "/program_of_workloads.py";
    files_[program] = flashinfer::program_text(definitions_.at(about), solution, workloads_[about]);
    programs_.push_back(program);
  }

  Result<Done> lay_out_contract(const std::string& name, const std::string& definition) {
    auto contract = flashinfer::contract_of(definition, imported_.blobs);
    if (!contract) return contract.error();
    if (!*contract) return Done{};
    std::string folder = "contracts/" + name;
    contracts_.push_back(folder);
    files_[folder + "/contract.toml"] = print_contract(**contract);
    files_[folder + "/reference.ptx"] = (*contract)->reference;
    for (const Tensor& tensor : (*contract)->tensors)
      if (const auto* file = std::get_if<Values::File>(&tensor.values.kind))
        files_[folder + "/" + file->path] = *file->bytes;
    return Done{};
  }

  Imported imported_;
  std::map<std::string, std::string> definitions_;
  std::map<std::string, std::vector<std::string>> workloads_;
  std::vector<std::string> solutions_, contracts_, programs_;
  Dataset files_;
};

int run(const Options& options) {
  Form form = form_of(options.json);
  Result<Imported> imported = read_all(options.sources);
  if (!imported) return complain(imported.error(), form);
  if (imported->documents.empty())
    return complain(Error{Fault::malformed, "there is no document to import", "", {}}, form);
  Result<flashinfer::PythonCheck> python = flashinfer::python_check();
  if (!python) return complain(python.error(), form);
  Import import(*std::move(imported));
  if (std::vector<Error> errors = import.check(*python); !errors.empty())
    return complain(errors, form);
  if (Result<Done> done = import.write(options.out); !done) return complain(done.error(), form);
  if (options.json) return print_document(import.document(options.out));
  import.say(options.out);
  return std::fflush(stdout) == 0 ? exit_done : exit_io;
}

}  // namespace

Body declare_import(App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("--flashinfer-trace", options->sources,
                 "documents (.json, .jsonl) or a dataset's folder")
      .required();
  app.add_option("--out", options->out, "folder to write").required();
  app.add_flag("--json", options->json, "one JSON document on standard output");
  return [options] { return run(*options); };
}

}  // namespace lathe::cli
