// Reading pairs, making kernels of them, and asking the verifier.

#include "soundness.h"

#include <algorithm>

#include "contract/inputs.h"
#include "tests/places.h"
#include "verifier_node/binding.h"
#include "verifier_node/replay.h"

namespace lathe::verifier_node::soundness {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);) parts.push_back(part);
  return parts;
}

/// With single blanks and without a comment, so that data need not copy a compiler's tabs.
std::string squeezed(const std::string& line) {
  std::string out;
  for (const std::string& word : words_of(line.substr(0, line.find("//"))))
    out += (out.empty() ? "" : " ") + word;
  return out;
}

Frame frame_of(const std::vector<std::string>& words, const std::string& place) {
  Frame frame;
  const std::map<std::string, std::string*> texts{
      {"kernel", &frame.kernel},     {"target", &frame.target},     {"version", &frame.version},
      {"absolute", &frame.absolute}, {"relative", &frame.relative}, {"align", &frame.aligned}};
  const std::map<std::string, std::uint32_t*> numbers{{"threads", &frame.threads},
                                                      {"blocks", &frame.blocks},
                                                      {"each", &frame.each},
                                                      {"shared", &frame.shared},
                                                      {"cluster", &frame.cluster}};
  for (std::size_t i = 1; i < words.size(); ++i) {
    std::size_t equals = words[i].find('=');
    std::string key = words[i].substr(0, equals);
    std::string value = equals == std::string::npos ? "" : words[i].substr(equals + 1);
    if (auto text = texts.find(key); text != texts.end()) {
      *text->second = value;
    } else if (auto number = numbers.find(key); number != numbers.end()) {
      *number->second = static_cast<std::uint32_t>(std::stoul(value));
    } else if (key == "bare") {
      frame.bare = true;
    } else if (key.size() <= 2 && !value.empty()) {
      bool written = key[0] == 'o' || key[0] == 'u' || key[0] == 'w';
      (written ? frame.outputs : frame.inputs).push_back({key, value});
    } else {
      FAIL(place << ": unknown word of a frame: " << words[i]);
    }
  }
  return frame;
}

unsigned bytes_of(const std::string& type) {
  return static_cast<unsigned>(std::stoul(type.substr(type.find_first_of("12368")))) / 8;
}

using Values = std::map<std::string, std::string>;

std::string tensor_text(const std::string& name, const std::string& type, const Frame& frame,
                        bool output, const Values& shown) {
  std::uint32_t elements = frame.threads * frame.blocks * frame.each;
  std::string text = "[[tensor]]\nname = \"" + name + "\"\ndtype = \"" + type + "\"\nshape = [" +
                     std::to_string(elements) + "]\nrole = \"" +
                     (!output          ? "input"
                      : name[0] == 'u' ? "inout"
                      : name[0] == 'w' ? "scratch"
                                       : "output") +
                     "\"\nalign = " + frame.aligned + "\n";
  if (output && name[0] != 'u') return text;
  if (auto value = shown.find(name); value != shown.end())
    return text + "values = " + value->second + "\n";
  if (auto value = frame.values.find(name); value != frame.values.end())
    return text + "values = " + value->second + "\n";
  return text;
}

std::string contract_text(const Frame& frame, const Values& shown) {
  std::string text = "format = 1\nname = \"pair\"\nentry = \"pair\"\ntarget = \"" + frame.target +
                     "\"\nptx_isa = \"9.0\"\n[launch]\ngrid = [" + std::to_string(frame.blocks) +
                     ", 1, 1]\nblock = [" + std::to_string(frame.threads) + ", 1, 1]\ncluster = [" +
                     std::to_string(frame.cluster) + ", 1, 1]\n";
  for (const auto* tensors : {&frame.inputs, &frame.outputs})
    for (const auto& [name, type] : *tensors)
      text += "[[parameter]]\nname = \"" + name + "\"\ntensor = \"" + name + "\"\n";
  for (const auto& [name, type] : frame.inputs)
    text += tensor_text(name, type, frame, false, shown);
  for (const auto& [name, type] : frame.outputs)
    text += tensor_text(name, type, frame, true, shown);
  return text + "[tolerance]\nabsolute = " + frame.absolute + "\nrelative = " + frame.relative +
         "\n";
}

std::string move_text(const std::string& operation, const std::string& type) {
  bool byte = bytes_of(type) == 1;
  return operation + ".global." +
         (byte ? (operation == "st" ? "b8" : type) : "b" + std::to_string(bytes_of(type) * 8)) +
         " ";
}

/// The body with what stands around it: addresses (%xp of x), values (%x), registers to use.
std::string module_text(const Frame& frame, const std::vector<std::string>& body) {
  std::string parameters, begin, end;
  for (const auto* tensors : {&frame.inputs, &frame.outputs})
    for (const auto& [name, type] : *tensors) {
      bool output = tensors == &frame.outputs;
      unsigned bytes = bytes_of(type);
      parameters += (parameters.empty() ? "" : ", ") + std::string(".param .u64 p") + name;
      begin += ".reg .b64 %" + name + "p;\n.reg .b" + std::to_string(std::max(16u, 8 * bytes)) +
               " %" + name + ";\nld.param.u64 %" + name + "p, [p" + name + "];\nmad.wide.u32 %" +
               name + "p, %i, " + std::to_string(bytes * frame.each) + ", %" + name + "p;\n";
      if (frame.bare) continue;
      if (output)
        end += move_text("st", type) + "[%" + name + "p], %" + name + ";\n";
      else
        begin += move_text("ld", type) + "%" + name + ", [%" + name + "p];\n";
    }
  auto of_module = [](const std::string& line) { return line.starts_with(".global "); };
  std::string text =
      ".version " + frame.version + "\n.target " + frame.target + "\n.address_size 64\n";
  for (const std::string& line : body)
    if (of_module(line)) text += line + "\n";
  text += ".visible .entry pair(" + parameters + ")\n{\n";
  if (frame.shared != 0)
    text += ".shared .align 128 .b8 s[" + std::to_string(frame.shared) + "];\n";
  text +=
      ".reg .b16 %h<40>;\n.reg .b32 %r<80>;\n.reg .b64 %d<40>;\n.reg .pred %p<40>;\n"
      ".reg .b32 %t, %c, %i;\nmov.u32 %t, %tid.x;\nmov.u32 %c, %ctaid.x;\n"
      "mad.lo.u32 %i, %c, " +
      std::to_string(frame.threads) + ", %t;\n" + begin;
  for (const std::string& line : body)
    if (!of_module(line)) text += line + "\n";
  return text + end + "ret;\n}\n";
}

/// Each `- line` of the edits must be there once (`-2 line`: at least so often, and the second is
/// meant; `-* line`: all of them), and gives way to the `+ lines` that follow it.
std::vector<std::string> edited_lines(std::vector<std::string> lines,
                                      const std::vector<std::string>& edits,
                                      const std::string& place) {
  for (std::size_t i = 0; i < edits.size();) {
    std::string edit = squeezed(edits[i]), which = edit.substr(1, edit.find(' ') - 1);
    INFO(place << ": " << edit);
    REQUIRE(edit[0] == '-');
    std::string wanted = edit.substr(edit.find(' ') + 1);
    std::vector<std::string> fresh;
    for (++i; i < edits.size() && squeezed(edits[i])[0] == '+'; ++i)
      fresh.push_back(squeezed(edits[i]).substr(2));
    std::vector<std::size_t> found;
    for (std::size_t at = 0; at < lines.size(); ++at)
      if (squeezed(lines[at]) == wanted) found.push_back(at);
    REQUIRE_FALSE(found.empty());
    if (which.empty()) REQUIRE(found.size() == 1);
    if (!which.empty() && which != "*") {
      std::size_t n = std::stoul(which);
      REQUIRE(n <= found.size());
      found = {found[n - 1]};
    }
    for (auto at = found.rbegin(); at != found.rend(); ++at) {
      auto begin = lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(*at));
      lines.insert(begin, fresh.begin(), fresh.end());
    }
  }
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

class Reader {
 public:
  explicit Reader(const fs::path& path) { file_.name = path.stem(); }

  void take(const std::string& line, std::uint32_t number) {
    std::vector<std::string> words = words_of(line);
    if (words.empty() || words[0][0] == '#') return;
    std::string place = file_.name + ":" + std::to_string(number);
    if (line[0] == ' ') {
      INFO(place);
      REQUIRE(!file_.pairs.empty());
      Pair& pair = file_.pairs.back();
      (pair.variants.empty() ? pair.body : pair.variants.back().lines).push_back(squeezed(line));
    } else if (words[0] == "about") {
      file_.about = line.substr(6);
    } else if (words[0] == "frame") {
      frame_ = frame_of(words, place);
    } else if (words[0] == "values") {
      frame_.values[words.at(1)] = behind_name(line, words);
    } else if (words[0] == "pair") {
      file_.pairs.push_back({file_.name, words.at(1), frame_, {}, {}});
    } else if (words[0] == "shown") {
      Variant& variant = file_.pairs.back().variants.back();
      variant.shown[words.at(1)] = behind_name(line, words);
    } else {
      add_variant(words, number, place);
    }
  }
  PairFile file_;

 private:
  static std::string behind_name(const std::string& line, const std::vector<std::string>& words) {
    return line.substr(line.find(" " + words[1] + " ") + words[1].size() + 2);
  }
  void add_variant(const std::vector<std::string>& words, std::uint32_t number,
                   const std::string& place) {
    INFO(place);
    REQUIRE((words[0] == "twin" || words[0] == "miss"));
    Variant variant;
    variant.name = words.at(1);
    variant.line = number;
    variant.miss = words[0] == "miss";
    if (variant.miss) REQUIRE(words.size() >= 4);
    if (words.size() >= 4) {
      variant.verdict = words[2];
      variant.reasons = split(words[3], '|');
    }
    variant.schedule = words.size() >= 5 && words[4] == "schedule";
    file_.pairs.back().variants.push_back(variant);
  }

  Frame frame_;
};

}  // namespace

std::size_t PairFile::count(bool misses) const {
  std::size_t count = 0;
  for (const Pair& pair : pairs)
    for (const Variant& variant : pair.variants) count += variant.miss == misses ? 1 : 0;
  return count;
}

PairFile read_pairs(const fs::path& path) {
  Reader reader(path);
  std::uint32_t number = 0;
  std::istringstream in(text_of(path));
  for (std::string line; std::getline(in, line);) reader.take(line, ++number);
  return reader.file_;
}

std::vector<fs::path> pair_files() {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(fs::path(source_folder) / "tests/soundness/pairs"))
    if (entry.path().extension() == ".pairs") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

Contract contract_of(const Pair& pair, const Values& shown) {
  if (!pair.frame.kernel.empty()) return small_contract(pair.frame.kernel);
  Result<Contract> contract = parse_contract(contract_text(pair.frame, shown), "pair.toml");
  if (!contract) FAIL(pair.file << ": " << pair.name << ": " << contract.error().what);
  contract->reference = module_text(pair.frame, pair.body);
  return *contract;
}

std::string candidate_of(const Pair& pair, const Variant& variant) {
  std::string place = pair.file + ":" + std::to_string(variant.line);
  bool edits = !variant.lines.empty() && variant.lines[0][0] == '-';
  if (!pair.frame.kernel.empty()) {
    std::vector<std::string> lines = split(small_contract(pair.frame.kernel).reference, '\n');
    return joined(edits ? edited_lines(lines, variant.lines, place) : lines);
  }
  return module_text(pair.frame,
                     edits ? edited_lines(pair.body, variant.lines, place) : variant.lines);
}

bool bits_differ(const Pair& pair, const Variant& variant) {
  Contract contract = contract_of(pair, variant.shown);
  ptx::Parsed reference = ptx::parse(contract.reference, "reference.ptx");
  ptx::Parsed candidate = ptx::parse(candidate_of(pair, variant), "candidate.ptx");
  Sides sides;
  sides.contract = &contract;
  sides.buffers = buffers_of(contract);
  sides.parameters = parameter_bytes(contract);
  sides.reference.launch = sides.candidate.launch = contract.launch;
  Result<ptx::Program> left = ptx::decode(reference.module, contract.entry);
  Result<ptx::Program> right = ptx::decode(candidate.module, contract.entry);
  if (!left || !right) return false;
  sides.reference.program = *std::move(left);
  sides.candidate.program = *std::move(right);
  Replay replay(sides);
  std::vector<std::uint64_t> blocks;
  for (std::uint64_t block = 0; block < contract.launch.blocks(); ++block) blocks.push_back(block);
  for (InputClass input_class : input_classes(contract))
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      if (!replay.use_inputs(input_class, seed)) continue;
      Replayed one = replay.run(Side::reference, blocks);
      Replayed other = replay.run(Side::candidate, blocks);
      if (one.trap) continue;
      if (other.trap || one.bytes != other.bytes || one.written != other.written) return true;
      other = replay.run(Side::candidate, blocks, ptx::AsyncSchedule::at_wait, true);
      if (other.trap || !other.races.empty() || one.bytes != other.bytes) return true;
    }
  return false;
}

Report answer(const Pair& pair, const Variant& variant) {
  Options options;
  options.steps_max = 20'000;  // All kernels here are short: more steps are a loop without end.
  return verified(contract_of(pair), candidate_of(pair, variant), options);
}

bool right(const Variant& variant, const Report& report) {
  return report.verdict == variant.verdict &&
         std::find(variant.reasons.begin(), variant.reasons.end(), report.reason_code) !=
             variant.reasons.end();
}

void check_variant(const Pair& pair, const Variant& variant) {
  INFO(pair.file << ":" << variant.line << ": " << pair.name << ", " << variant.name);
  Report report = answer(pair, variant);
  INFO(report.json);
  INFO("expected " << variant.verdict << " " << variant.reasons[0]);
  CHECK(right(variant, report));
  CHECK(report.reason.find("line 0") == std::string::npos);
  if (report.verdict == "refuted")
    CHECK(report.json.find("\"replayed\":true") != std::string::npos);
  else if (variant.miss && report.reason_code != "unsupported" && !variant.schedule)
    CHECK(bits_differ(pair, variant));
}

}  // namespace lathe::verifier_node::soundness
