// Memory whose address or contents a kernel may not rely on, witnessed by what it may: the stack of
// a thread, and what is written after a discard.

#include "base/random.h"
#include "tests/witness/kernel.h"

namespace lathe::ptx::witness {
namespace {

constexpr std::uint32_t threads = 128;

/// Whether two addresses are one.
void store_equal(Writer& w, const std::string& a, const std::string& b) {
  std::string p = w.declare(Type::pred);
  w.line("setp.eq.u64 " + p + ", " + a + ", " + b + ";");
  w.store(p, Type::pred);
}

/// An address of local memory, which instructions on 32 bits give in half a register.
std::string widened(Writer& w, Type type, const std::string& from) {
  if (type == Type::u64) return from;
  std::string to = w.declare(Type::b64);
  w.line("cvt.u64.u32 " + to + ", " + from + ";");
  return to;
}

std::string allocate(Writer& w, Type type, const std::string& rest) {
  std::string at = w.declare(type);
  w.line("alloca." + std::string(name_of(type)) + " " + at + ", " + rest + ";");
  return widened(w, type, at);
}

/// Two rooms at once: their words, that neither lies in the other, and how they are aligned.
std::vector<Kernel> allocations(const Instance& instance) {
  std::vector<Kernel> all;
  Type type = instance.type;
  for (unsigned align : {0u, 8u, 16u, 64u})
    for (bool drawn : {false, true}) {
      std::string end = align == 0 ? "" : ", " + std::to_string(align);
      Writer w(instance.mnemonic() + end + (drawn ? " of any size" : ""), instance.mnemonic(), 1,
               threads);
      std::string size = "32", low = w.declare(Type::b64), p = w.declare(Type::pred);
      if (drawn) {
        std::vector<std::uint64_t> sizes(threads);
        for (unsigned t = 0; t < threads; ++t) sizes[t] = 16 + 8 * (t % 13);
        size = w.load_given(type, sizes);
      }
      std::string x = w.load(Type::b64), y = w.load(Type::b64);
      std::string first = allocate(w, type, size + end);
      w.line("st.local.b64 [" + first + "], " + x + ";");
      w.line("st.local.b64 [" + first + "+8], " + y + ";");
      std::string second = allocate(w, type, size + end);
      w.line("st.local.b64 [" + second + "], " + y + ";");
      w.line("st.local.b64 [" + second + "+8], " + x + ";");
      for (const std::string& at : {first, second})
        for (const char* offset : {"", "+8"}) {
          std::string word = w.declare(Type::b64);
          w.line("ld.local.b64 " + word + ", [" + at + offset + "];");
          w.store(word, Type::b64);
        }
      for (const std::string& at : {first, second}) {
        w.line("and.b64 " + low + ", " + at + ", " + std::to_string(align == 0 ? 7 : align - 1) +
               ";");
        w.store(low, Type::b64);
      }
      w.line("setp.lt.u64 " + p + ", " + second + ", " + first + ";");
      w.store(p, Type::pred);
      all.push_back(w.finish(41, threads));
    }
  return all;
}

/// What is taken is given back: the pointer is the saved one again, and the next room the old one.
Kernel save_and_restore(const Instance& instance) {
  Writer w(instance.mnemonic(), instance.mnemonic(), 1, threads);
  Type type = instance.type;
  std::string name(name_of(type)), saved = w.declare(type), again = w.declare(type);
  std::string x = w.load(Type::b64), word = w.declare(Type::b64);
  w.line("stacksave." + name + " " + saved + ";");
  std::string first = allocate(w, type, "48");
  w.line("st.local.b64 [" + first + "+40], " + x + ";");
  w.line("ld.local.b64 " + word + ", [" + first + "+40];");
  w.store(word, Type::b64);
  w.line("stackrestore." + name + " " + saved + ";");
  w.line("stacksave." + name + " " + again + ";");
  store_equal(w, widened(w, type, saved), widened(w, type, again));
  std::string second = allocate(w, type, "48");
  store_equal(w, first, second);
  w.line("st.local.b64 [" + second + "], " + x + ";");
  w.line("ld.local.b64 " + word + ", [" + second + "];");
  w.store(word, Type::b64);
  return w.finish(42, threads);
}

/// A line of 128 bytes a thread: written, discarded, and written again.
Kernel discards(const Instance& instance) {
  constexpr unsigned line = 128;
  Writer w(instance.mnemonic(), instance.mnemonic(), 1, threads);
  std::string bytes(line * threads, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<char>(philox64(43, 4, i) >> 11);
  std::string from = w.input_area(line, bytes), to = w.output_area(line), x = w.load(Type::b64);
  for (unsigned at = 0; at < line; at += 8)
    w.line("st.global.b64 [" + to + "+" + std::to_string(at) + "], " + x + ";");
  w.line(instance.mnemonic() + " [" + to + "], 128;");
  for (unsigned at = 0; at < line; at += 8) {
    std::string word = w.declare(Type::b64), place = "+" + std::to_string(at) + "]";
    w.line("ld.global.b64 " + word + ", [" + from + place + ";");
    w.line("st.global.b64 [" + to + place + ", " + word + ";");
  }
  return w.finish(43, threads);
}

}  // namespace

std::vector<Kernel> stack_kernels(const Instance& instance) {
  std::string_view opcode = instance.opcode();
  if (opcode == "discard") return {discards(instance)};
  if (opcode == "alloca") return allocations(instance);
  if (opcode == "stacksave" || opcode == "stackrestore") return {save_and_restore(instance)};
  return {};
}

}  // namespace lathe::ptx::witness
