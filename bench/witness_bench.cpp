// uses: witness_parts
// Makes the kernels of the witness, packs what a device gave for them, and replays an archive:
//   witness_bench make FOLDER [KNOWN [OPCODES]]  cubins, inputs and a list for tests/witness/run.py
//   witness_bench try FOLDER [WORDS]       runs what was made here; says what stops
//   witness_bench pack FOLDER RESULTS ARCHIVE [KNOWN]
//   witness_bench replay ARCHIVE [WORDS]   says what differs
//   witness_bench differ ARCHIVE NAME      each word of a kernel's results that differs
//   witness_bench page ARCHIVE [PAGE]      writes docs/WITNESS.md
//   witness_bench agree LINES SEED [OPCODE]  asks the assembler and the table of so many lines, or
//   of an opcode so many a row, and shows every line in which they differ

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <map>
#include <set>
#include <thread>

#include "base/digest.h"
#include "base/files.h"
#include "base/process.h"
#include "tests/witness/agreement.h"
#include "tests/witness/archive.h"
#include "tests/witness/coverage.h"
#include "tests/witness/kernel.h"
#include "tests/witness/replay.h"
#include "tests/witness/written.h"

using namespace lathe;
using namespace lathe::ptx::witness;
namespace fs = std::filesystem;

namespace {

constexpr std::size_t module_kernels = 80;

int fail(const Error& error) {
  std::fprintf(stderr, "witness_bench: %s\n", error.what.c_str());
  return 1;
}

Result<Archive> read_archive(const fs::path& path) {
  Result<std::string> bytes = read_file(path);
  if (!bytes) return bytes.error();
  return unpack(*bytes);
}

/// Kernels of one module, each with its first line there.
struct Batch {
  std::vector<Kernel> kernels;
  std::vector<std::size_t> lines;

  std::string text() {
    std::string text(module_header);
    std::set<std::string> variables;
    for (const Kernel& kernel : kernels)
      if (variables.insert(kernel.variables).second) text += kernel.variables;
    lines.clear();
    auto count = [&] {
      return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    };
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      lines.push_back(count() + 1);
      text += entry_text(kernels[i], "w" + std::to_string(i));
    }
    return text;
  }
  /// The kernels that an assembler's messages name leave the batch.
  std::size_t drop(const std::string& messages, std::string& refused) {
    std::map<std::size_t, std::string> bad;
    for (std::size_t at = messages.find(", line "); at != std::string::npos;
         at = messages.find(", line ", at + 1)) {
      std::size_t line = std::strtoul(messages.c_str() + at + 7, nullptr, 10), i = lines.size();
      while (i > 0 && lines[i - 1] > line) --i;
      std::string message = messages.substr(at, messages.find('\n', at) - at);
      bool counts =
          message.find("error") != std::string::npos || message.find("fatal") != std::string::npos;
      if (i > 0 && counts) bad.emplace(i - 1, message);
    }
    // Kernels that use a generic address of 32 bits are named in a warning of another form.
    const std::string narrow = "32-bit address on line '";
    for (std::size_t at = messages.find(narrow); at != std::string::npos;
         at = messages.find(narrow, at + 1)) {
      std::size_t line = std::strtoul(messages.c_str() + at + narrow.size(), nullptr, 10);
      std::size_t i = lines.size();
      while (i > 0 && lines[i - 1] > line) --i;
      if (i > 0) bad.emplace(i - 1, "32-bit address");
    }
    for (auto it = bad.rbegin(); it != bad.rend(); ++it) {
      auto begin = kernels.begin() + static_cast<std::ptrdiff_t>(it->first);
      refused += begin->name + "\t" + it->second + "\n";
      kernels.erase(begin);
    }
    return bad.size();
  }
};

/// Assembles, leaving out what the assembler refuses.
bool assemble(Batch& batch, const fs::path& cubin, std::string& refused) {
  fs::path source = cubin;
  source.replace_extension(".ptx");
  while (!batch.kernels.empty()) {
    if (!write_file(source, batch.text())) return false;
    auto end = run_process({"ptxas", "-arch=sm_90a", "-O1", source.string(), "-o", cubin.string()},
                           "", {std::chrono::minutes(5), 0, 0, 64u << 20});
    if (!end) return false;
    if (end->status == 0 && end->signal == 0) return true;
    if (batch.drop(end->err, refused) == 0) {
      std::fprintf(stderr, "%s: %s\n", source.c_str(), end->err.substr(0, 2000).c_str());
      batch.kernels.clear();
    }
  }
  return true;
}

Record record_of(Kernel& kernel) {
  Record record;
  record.name = kernel.name, record.mnemonic = kernel.mnemonic;
  record.variables = kernel.variables, record.body = kernel.body;
  record.blocks = kernel.blocks, record.threads = kernel.threads, record.vectors = kernel.vectors;
  record.launch = print(kernel.launch);
  record.output.assign(kernel.output_bytes, '\0');
  return record;
}

std::string cubin_name(std::size_t module) { return "m" + std::to_string(module) + ".cubin"; }

bool assemble_all(std::vector<Batch>& batches, const fs::path& folder,
                  std::vector<std::string>& refusals) {
  std::atomic<std::size_t> next{0};
  std::atomic<bool> good{true};
  auto work = [&] {
    for (std::size_t i = next++; i < batches.size(); i = next++)
      if (!assemble(batches[i], folder / cubin_name(i), refusals[i])) good = false;
  };
  std::vector<std::thread> threads(
      std::min<std::size_t>(std::thread::hardware_concurrency(), batches.size()));
  for (std::thread& each : threads) each = std::thread(work);
  for (std::thread& each : threads) each.join();
  return good;
}

std::string identity(const Record& record, const std::string& input) {
  return hex(sha256(record.variables + record.body + record.launch + "\n" + input));
}

int make(const fs::path& folder, const std::string& known_file, const std::string& opcode) {
  fs::create_directories(folder);
  std::set<std::string> known;
  if (!known_file.empty() && known_file != "-") {
    Result<Archive> archive = read_archive(known_file);
    if (!archive) return fail(archive.error());
    for (const Record& record : archive->records)
      known.insert(identity(record, archive->inputs[record.input]));
  }
  Archive archive;
  std::map<std::string, std::size_t> inputs;
  std::vector<Kernel> todo;
  for (Kernel& kernel : all_kernels(opcode))
    if (!known.contains(identity(record_of(kernel), kernel.input)))
      todo.push_back(std::move(kernel));
  std::printf("%zu kernels to run, %zu known\n", todo.size(), known.size());
  std::vector<Batch> batches((todo.size() + module_kernels - 1) / module_kernels);
  for (std::size_t i = 0; i < todo.size(); ++i)
    batches[i / module_kernels].kernels.push_back(std::move(todo[i]));
  std::vector<std::string> refusals(batches.size());
  if (!assemble_all(batches, folder, refusals)) return 1;
  std::string refused, list;
  for (std::size_t module = 0; module < batches.size(); ++module) {
    refused += refusals[module];
    for (std::size_t i = 0; i < batches[module].kernels.size(); ++i) {
      Kernel& kernel = batches[module].kernels[i];
      Record record = record_of(kernel);
      record.input = inputs.emplace(kernel.input, inputs.size()).first->second;
      if (record.input == archive.inputs.size()) archive.inputs.push_back(kernel.input);
      list += std::to_string(archive.records.size()) + " " + cubin_name(module) + " w" +
              std::to_string(i) + " " + std::to_string(record.blocks) + " " +
              std::to_string(record.threads) + " " + std::to_string(record.input) + " " +
              std::to_string(record.output.size()) + " " +
              (record.launch.empty() ? "1" : record.launch) + "\n";
      archive.records.push_back(std::move(record));
    }
  }
  std::string bytes, places;
  for (const std::string& input : archive.inputs) {
    places += std::to_string(bytes.size()) + " " + std::to_string(input.size()) + "\n";
    bytes += input;
  }
  for (const auto& [name, text] : {std::pair<const char*, std::string>{"inputs.bin", bytes},
                                   {"inputs.txt", places},
                                   {"list.txt", list},
                                   {"refused.txt", refused},
                                   {"kernels.bin", pack(archive)}})
    if (auto done = write_file(folder / name, text); !done) return fail(done.error());
  std::printf("%zu kernels, %zu inputs of %zu bytes; the assembler refused %zu\n",
              archive.records.size(), archive.inputs.size(), bytes.size(),
              static_cast<std::size_t>(std::count(refused.begin(), refused.end(), '\n')));
  return 0;
}

/// RESULTS holds, one after the other: number, length (32 bits each), bytes; length ~0 is a
/// failure.
int pack_results(const fs::path& folder, const fs::path& results, const fs::path& to,
                 const std::string& known_file) {
  Result<Archive> made = read_archive(folder / "kernels.bin");
  if (!made) return fail(made.error());
  Result<std::string> bytes = read_file(results, 1u << 30);
  if (!bytes) return fail(bytes.error());
  Archive all;
  if (!known_file.empty()) {
    Result<Archive> known = read_archive(known_file);
    if (!known) return fail(known.error());
    all = std::move(*known);
  }
  std::map<std::string, std::size_t> inputs, names;
  for (std::size_t i = 0; i < all.inputs.size(); ++i) inputs.emplace(all.inputs[i], i);
  for (std::size_t i = 0; i < all.records.size(); ++i) names.emplace(all.records[i].name, i);
  std::size_t failed = 0, taken = 0;
  for (std::size_t at = 0; at + 8 <= bytes->size();) {
    std::uint32_t head[2];
    std::memcpy(head, bytes->data() + at, 8);
    at += 8;
    if (head[1] == ~std::uint32_t{0}) {
      ++failed;
      if (head[0] < made->records.size())
        std::printf("failed on the device: %s\n", made->records[head[0]].name.c_str());
      continue;
    }
    if (at + head[1] > bytes->size() || head[0] >= made->records.size()) break;
    Record record = made->records[head[0]];
    const std::string& input = made->inputs[record.input];
    record.output = bytes->substr(at, head[1]);
    at += head[1];
    record.input = inputs.emplace(input, all.inputs.size()).first->second;
    if (record.input == all.inputs.size()) all.inputs.push_back(input);
    auto [place, fresh] = names.emplace(record.name, all.records.size());
    if (fresh)
      all.records.push_back(std::move(record));
    else
      all.records[place->second] = std::move(record);
    ++taken;
  }
  if (Result<std::string> device = read_file(folder / "device.txt")) all.device = *device;
  std::string packed = pack(all);
  if (auto done = write_file(to, packed); !done) return fail(done.error());
  std::printf("%zu results, %zu failed; %zu records in %zu bytes\n", taken, failed,
              all.records.size(), packed.size());
  return 0;
}

int replay_all(const fs::path& path, const std::string& words) {
  Result<Archive> archive = read_archive(path);
  if (!archive) return fail(archive.error());
  std::map<Agreement, std::size_t> counts;
  std::size_t vectors = 0;
  std::set<std::string> forms, approximate;
  std::clock_t begin = std::clock();
  for (const Record& record : archive->records) {
    if (!words.empty() && record.name.find(words) == std::string::npos) continue;
    Replayed done = replay(*archive, record);
    ++counts[done.agreement];
    bool good = done.agreement == Agreement::same || done.agreement == Agreement::near;
    if (good) forms.insert(record.mnemonic), vectors += record.vectors;
    if (done.agreement == Agreement::near) approximate.insert(record.mnemonic);
    static constexpr const char* names[] = {"same", "near", "DIFFERENT", "unmodelled", "FAILED"};
    if (done.agreement != Agreement::same)
      std::printf("%s\t%s\t%s\n", names[static_cast<int>(done.agreement)], record.name.c_str(),
                  done.detail.c_str());
  }
  std::printf(
      "%zu forms and %zu vectors agree (%zu kernels same, %zu near of %zu forms); "
      "%zu different, %zu failed, %zu unmodelled; %.1f s; %s\n",
      forms.size(), vectors, counts[Agreement::same], counts[Agreement::near], approximate.size(),
      counts[Agreement::different], counts[Agreement::failed], counts[Agreement::unmodelled],
      static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, archive->device.c_str());
  return counts[Agreement::different] + counts[Agreement::failed] == 0 ? 0 : 1;
}

/// What does not run here has no place on a device: it would stop there too, or mean nothing.
int try_all(const fs::path& folder, const std::string& words) {
  Result<Archive> made = read_archive(folder / "kernels.bin");
  if (!made) return fail(made.error());
  std::size_t ran = 0, stopped = 0;
  for (const Record& record : made->records) {
    if (!words.empty() && record.name.find(words) == std::string::npos) continue;
    Replayed done = replay(*made, record);
    bool bad = done.agreement == Agreement::failed || done.agreement == Agreement::unmodelled;
    if (bad) std::printf("%s\t%s\n", record.name.c_str(), done.detail.c_str());
    ++(bad ? stopped : ran);
  }
  std::printf("%zu kernels run here, %zu stop\n", ran, stopped);
  return stopped == 0 ? 0 : 1;
}

/// Words by number and by column: a column has one for each thread.
int differ(const fs::path& path, const std::string& name) {
  Result<Archive> archive = read_archive(path);
  if (!archive) return fail(archive.error());
  for (const Record& record : archive->records) {
    if (record.name != name) continue;
    std::string ours = replayed_output(*archive, record);
    std::size_t threads = std::size_t{record.blocks} * record.threads, count = 0;
    for (std::size_t at = 0; at + 4 <= ours.size(); at += 4) {
      std::uint32_t here = 0, there = 0;
      std::memcpy(&here, ours.data() + at, 4);
      std::memcpy(&there, record.output.data() + at, 4);
      if (here == there) continue;
      std::printf("word %zu (column %zu, thread %zu): here %08x, there %08x\n", at / 4,
                  at / 4 / threads, at / 4 % threads, here, there);
      ++count;
    }
    std::printf("%zu of %zu words differ\n", count, ours.size() / 4);
    return count == 0 ? 0 : 1;
  }
  return fail(Error{Fault::malformed, "the archive has no kernel \"" + name + "\"", "", {}});
}

int page(const fs::path& archive_file, const fs::path& to) {
  Result<Archive> archive = read_archive(archive_file);
  if (!archive) return fail(archive.error());
  if (auto done = write_file(to, witness_page(*archive)); !done) return fail(done.error());
  return 0;
}

/// Every row has its share, and no form fewer than twenty lines.
std::size_t lines_a_row(std::size_t lines) {
  std::size_t count = 0;
  for (const lathe::ptx::RowText& row : lathe::ptx::rows())
    count += !row.signature.opcode.starts_with('$') && row.gate.isa <= assembler_version;
  // Of the few rows no drawn line is legal: the others have two more.
  return std::max<std::size_t>(20, (lines + count - 1) / count + 2);
}

int agree(const std::string& lines, const std::string& seed, const std::string& opcode) {
  std::size_t a_row = opcode.empty() ? lines_a_row(std::stoul(lines)) : std::stoul(lines);
  Result<Tally> tally = compare_with_assembler(a_row, std::stoul(seed), opcode);
  if (!tally) return fail(tally.error());
  std::printf("%s", print(*tally, 1000).c_str());
  return tally->table_share() >= 0.999 && tally->assembler_share() >= 0.999 ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<std::string> given(arguments + 1, arguments + count);
  auto at = [&](std::size_t i) { return i < given.size() ? given[i] : std::string(); };
  if (at(0) == "make" && given.size() >= 2) return make(at(1), at(2), at(3));
  if (at(0) == "pack" && given.size() >= 4) return pack_results(at(1), at(2), at(3), at(4));
  if (at(0) == "replay" && given.size() >= 2) return replay_all(at(1), at(2));
  if (at(0) == "try" && given.size() >= 2) return try_all(at(1), at(2));
  if (at(0) == "differ" && given.size() >= 3) return differ(at(1), at(2));
  if (at(0) == "page" && given.size() >= 2)
    return page(at(1), given.size() > 2 ? at(2) : "docs/WITNESS.md");
  if (at(0) == "agree" && given.size() >= 3) return agree(at(1), at(2), at(3));
  std::fprintf(stderr,
               "usage: witness_bench make FOLDER [KNOWN [OPCODES]] | try FOLDER [WORDS] | "
               "pack FOLDER RESULTS ARCHIVE [KNOWN] | replay ARCHIVE [WORDS] | "
               "differ ARCHIVE NAME | page ARCHIVE [PAGE] | agree LINES SEED [OPCODE]\n");
  return 64;
}
