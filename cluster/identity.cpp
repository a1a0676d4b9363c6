#include "cluster/identity.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/files.h"
#include "base/record.h"
#include "cluster/certificate.h"

namespace lathe::cluster {
namespace {

namespace fs = std::filesystem;

Error refused(std::string what, std::string remedy, const fs::path& path = {}) {
  return {Fault::unavailable,
          std::move(what),
          std::move(remedy),
          {path.string(), 0, 0},
          Absent::permission};
}

Error file_error(const fs::path& path, const std::string& deed) {
  return {Fault::unavailable,
          "cannot " + deed + ": " + std::strerror(errno),
          "",
          {path.string(), 0, 0},
          Absent::file};
}

/// Like write_file, and never readable by others, not even for a moment.
Result<Done> write_private(const fs::path& path, std::string_view bytes) {
  fs::path aside = path.string() + ".part";
  ::unlink(aside.c_str());
  int fd = ::open(aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return file_error(path, "write");
  bool written = ::write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()) &&
                 ::fsync(fd) == 0;
  if (written) written = ::rename(aside.c_str(), path.c_str()) == 0;
  Error error = file_error(path, "write");
  ::close(fd);
  if (written) return Done{};
  ::unlink(aside.c_str());
  return error;
}

Result<std::string> read_private(const fs::path& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return file_error(path, "read");
  if ((found.st_mode & 077) != 0)
    return refused("others can read the file, which holds keys", "chmod 600 it, or make new keys",
                   path);
  return read_file(path, 1 << 20);
}

bool is_name(std::string_view name) {
  auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  };
  return !name.empty() && name.size() <= 63 && name[0] != '.' &&
         std::all_of(name.begin(), name.end(), allowed);
}

fs::path admission_file(const fs::path& directory, const std::string& name) {
  return directory / "nodes" / name;
}

/// Finds out in constant time: a wrong guess says nothing of the right one.
bool same_secret(const Digest& left, const Digest& right) {
  unsigned difference = 0;
  for (std::size_t i = 0; i < left.bytes.size(); ++i)
    difference |= static_cast<unsigned>(left.bytes[i] ^ right.bytes[i]);
  return difference == 0;
}

Result<Done> fill_cluster(const fs::path& directory, std::uint64_t now_s) {
  Result<Certificate> authority = make_authority(now_s);
  if (!authority) return authority.error();
  Result<Certificate> own = make_certificate(*authority, "coordinator", now_s, 3650);
  if (!own) return own.error();
  CurveKeys curve = make_curve_keys();
  std::error_code code;
  fs::permissions(directory, fs::perms::owner_all, code);
  fs::create_directory(directory / "nodes", code);
  if (code) {
    errno = code.value();
    return file_error(directory, "make");
  }
  const std::pair<const char*, const std::string*> files[] = {
      {"authority.pem", &authority->certificate_pem},
      {"authority.key", &authority->key_pem},
      {"coordinator.pem", &own->certificate_pem},
      {"coordinator.key", &own->key_pem},
      {"curve.public", &curve.public_key},
      {"curve.secret", &curve.secret_key}};
  for (const auto& [name, text] : files)
    if (Result<Done> written = write_private(directory / name, *text); !written) return written;
  return Done{};
}

Result<Certificate> read_authority(const fs::path& directory) {
  Result<std::string> certificate = read_private(directory / "authority.pem");
  if (!certificate) return certificate.error();
  Result<std::string> key = read_private(directory / "authority.key");
  if (!key) return key.error();
  return Certificate{*std::move(certificate), *std::move(key)};
}

Result<Admission> read_admission(const fs::path& file) {
  Result<std::string> bytes = read_private(file);
  if (!bytes) return bytes.error();
  return decode_record<Admission>(*bytes);
}

Result<Bundle> make_bundle(const fs::path& directory, const std::string& name,
                           const std::string& address, std::uint64_t now_s) {
  Result<std::string> blobs = port_after(address, 1), events = port_after(address, 2);
  if (!blobs) return blobs.error();
  if (!events) return events.error();
  Result<Certificate> authority = read_authority(directory);
  if (!authority) return authority.error();
  Result<std::string> coordinator = read_private(directory / "curve.public");
  if (!coordinator) return coordinator.error();
  Result<Certificate> certificate = make_certificate(*authority, name, now_s, bundle_days);
  if (!certificate) return certificate.error();
  Result<std::string> secret = random_hex(32);
  if (!secret) return secret.error();
  CurveKeys curve = make_curve_keys();
  return Bundle{name,
                authority->certificate_pem,
                certificate->certificate_pem,
                certificate->key_pem,
                curve.public_key,
                curve.secret_key,
                *coordinator,
                address,
                *blobs,
                *events,
                *secret,
                now_s + bundle_days * 86'400};
}

}  // namespace

CurveKeys make_curve_keys() {
  char public_key[41] = {}, secret_key[41] = {};
  zmq_curve_keypair(public_key, secret_key);
  return {public_key, secret_key};
}

Result<Done> init_cluster(const fs::path& directory, std::uint64_t now_s) {
  return write_directory(directory,
                         [&](const fs::path& aside) { return fill_cluster(aside, now_s); });
}

Result<Bundle> admit_node(const fs::path& directory, const std::string& name,
                          const std::string& address, const fs::path& bundle_file,
                          std::uint64_t now_s) {
  if (!is_name(name))
    return Error{Fault::malformed,
                 "a node's name has 1 to 63 letters, digits, dots, dashes and underscores",
                 "name it after its machine, for instance node1",
                 {}};
  fs::path file = admission_file(directory, name);
  std::error_code code;
  if (fs::exists(file, code)) {
    Result<Admission> earlier = read_admission(file);
    if (!earlier) return earlier.error();
    if (!earlier->revoked && earlier->expires_s > now_s)
      return Error{Fault::malformed,
                   "a node named " + name + " is admitted already",
                   "revoke it, or choose another name",
                   {}};
  }
  Result<Bundle> bundle = make_bundle(directory, name, address, now_s);
  if (!bundle) return bundle;
  Admission admission{name, bundle->curve_public, sha256(bundle->secret), bundle->expires_s, false};
  // The bundle first: a node that is remembered but has no bundle would block its name.
  if (Result<Done> written = write_private(bundle_file, encode_record(*bundle)); !written)
    return written.error();
  if (Result<Done> written = write_private(file, encode_record(admission)); !written)
    return written.error();
  return bundle;
}

Result<Done> revoke_node(const fs::path& directory, const std::string& name) {
  fs::path file = admission_file(directory, name);
  std::error_code code;
  if (!is_name(name) || !fs::exists(file, code))
    return Error{Fault::malformed,
                 "no node named " + name + " was admitted",
                 "nodes/ in the farm's folder has a file for each that was",
                 {}};
  Result<Admission> admission = read_admission(file);
  if (!admission) return admission.error();
  admission->revoked = true;
  return write_private(file, encode_record(*admission));
}

Result<Cluster> open_cluster(const fs::path& directory) {
  Cluster cluster;
  cluster.tls = {directory / "coordinator.pem", directory / "coordinator.key",
                 directory / "authority.pem"};
  for (const fs::path& file : {cluster.tls.certificate, cluster.tls.key, cluster.tls.authority})
    if (Result<std::string> read = read_private(file); !read) return read.error();
  Result<std::string> public_key = read_private(directory / "curve.public");
  if (!public_key) return public_key.error();
  Result<std::string> secret_key = read_private(directory / "curve.secret");
  if (!secret_key) return secret_key.error();
  cluster.curve = {*public_key, *secret_key};
  std::error_code code;
  for (fs::directory_iterator entry(directory / "nodes", code), end; !code && entry != end;
       entry.increment(code)) {
    if (entry->path().extension() == ".part") continue;
    Result<Admission> admission = read_admission(entry->path());
    if (!admission) return admission.error();
    cluster.admitted.push_back(*std::move(admission));
  }
  if (code) {
    errno = code.value();
    return file_error(directory / "nodes", "read");
  }
  std::sort(cluster.admitted.begin(), cluster.admitted.end(),
            [](const Admission& left, const Admission& right) { return left.name < right.name; });
  return cluster;
}

Result<Bundle> open_bundle(const fs::path& file, std::uint64_t now_s) {
  Result<std::string> bytes = read_private(file);
  if (!bytes) return bytes.error();
  Result<Bundle> bundle = decode_record<Bundle>(*bytes);
  if (!bundle) {
    Error error = bundle.error();
    error.what = "not a node's bundle: " + error.what;
    error.remedy = "lathe cluster admit writes bundles";
    error.place.file = file.string();
    return error;
  }
  if (bundle->expires_s <= now_s)
    return refused("the bundle has expired", "ask for a new one: lathe cluster admit", file);
  if (Result<Done> good = check_certificate(bundle->authority_pem, bundle->certificate_pem, now_s);
      !good)
    return good.error();
  return bundle;
}

Result<TlsFiles> write_tls(const Bundle& bundle, const fs::path& directory) {
  TlsFiles files{directory / "node.pem", directory / "node.key", directory / "authority.pem"};
  const std::pair<const fs::path*, const std::string*> texts[] = {
      {&files.certificate, &bundle.certificate_pem},
      {&files.key, &bundle.key_pem},
      {&files.authority, &bundle.authority_pem}};
  for (const auto& [path, text] : texts)
    if (Result<Done> written = write_private(*path, *text); !written) return written.error();
  return files;
}

Result<Done> check_hello(const Cluster& cluster, std::string_view node, std::string_view secret,
                         std::uint64_t now_s) {
  for (const Admission& admission : cluster.admitted) {
    if (admission.name != node) continue;
    if (!same_secret(admission.secret, sha256(secret)))
      return refused("the node's secret is wrong", "use the bundle that was written for it");
    if (admission.revoked) return refused("the node was revoked", "ask for a new bundle");
    if (admission.expires_s <= now_s)
      return refused("the node's bundle has expired", "ask for a new bundle");
    return Done{};
  }
  return refused("the node was never admitted", "lathe cluster admit");
}

std::vector<AllowedKey> allowed_keys(const Cluster& cluster, std::uint64_t now_s) {
  std::vector<AllowedKey> keys;
  for (const Admission& admission : cluster.admitted)
    if (!admission.revoked && admission.expires_s > now_s)
      keys.push_back({admission.name, admission.curve_public});
  return keys;
}

AllowedKeys keys_of_directory(const fs::path& directory, std::function<std::uint64_t()> now_s) {
  return [directory, now_s]() -> std::optional<std::vector<AllowedKey>> {
    Result<Cluster> cluster = open_cluster(directory);
    if (!cluster) return {};
    return allowed_keys(*cluster, now_s ? now_s() : 0);
  };
}

Result<std::string> port_after(std::string_view address, unsigned steps) {
  Error wrong{Fault::malformed,
              "not an address of the form HOST:PORT: " + std::string(address),
              "for instance 10.0.0.1:4700",
              {}};
  std::size_t colon = address.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return wrong;
  std::string_view digits = address.substr(colon + 1);
  if (digits.empty() || digits.size() > 5) return wrong;
  unsigned port = 0;
  for (char digit : digits) {
    if (digit < '0' || digit > '9') return wrong;
    port = port * 10 + static_cast<unsigned>(digit - '0');
  }
  if (port == 0 || port + steps > 65'535) return wrong;
  return std::string(address.substr(0, colon + 1)) + std::to_string(port + steps);
}

bool is_loopback(std::string_view address) {
  std::string_view host = address.substr(0, address.rfind(':'));
  if (host == "localhost" || host == "[::1]") return true;
  // A name may begin with these digits too; only an address is made of digits and dots.
  return host.starts_with("127.") &&
         host.find_first_not_of("0123456789.") == std::string_view::npos;
}

}  // namespace lathe::cluster
