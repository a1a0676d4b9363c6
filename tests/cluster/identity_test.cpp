#include "cluster/identity.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "base/files.h"
#include "cluster/certificate.h"

namespace lathe::cluster {
namespace {

namespace fs = std::filesystem;
constexpr std::uint64_t now_s = 1'790'000'000, day_s = 86'400;

struct Farm {
  Farm() { REQUIRE(init_cluster(directory, now_s)); }
  Result<Bundle> admit(const std::string& name, std::uint64_t when_s = now_s) {
    return admit_node(directory, name, "10.0.0.1:4700", bundle(name), when_s);
  }
  fs::path bundle(const std::string& name) const { return scratch.path() / (name + ".bundle"); }
  Scratch scratch;
  fs::path directory = scratch.path() / "cluster";
};

unsigned mode_of(const fs::path& path) {
  struct stat found {};
  ::stat(path.c_str(), &found);
  return found.st_mode & 0777;
}

TEST_CASE("a cluster is made once, and its files are for their owner alone") {
  Farm farm;
  CHECK_FALSE(init_cluster(farm.directory, now_s));
  CHECK(mode_of(farm.directory) == 0700);
  for (const char* name : {"authority.key", "coordinator.key", "curve.secret"})
    CHECK(mode_of(farm.directory / name) == 0600);
  Result<Cluster> cluster = open_cluster(farm.directory);
  REQUIRE(cluster);
  CHECK(cluster->admitted.empty());
  CHECK(cluster->curve.public_key.size() == 40);
}

TEST_CASE("a bundle holds all that a node needs, and only its owner reads it") {
  Farm farm;
  REQUIRE(farm.admit("gpu-7"));
  CHECK(mode_of(farm.bundle("gpu-7")) == 0600);
  Result<Bundle> bundle = open_bundle(farm.bundle("gpu-7"), now_s + day_s);
  REQUIRE(bundle);
  CHECK(bundle->name == "gpu-7");
  CHECK(bundle->address == "10.0.0.1:4700");
  CHECK(bundle->blob_address == "10.0.0.1:4701");
  CHECK(bundle->event_address == "10.0.0.1:4702");
  Result<Cluster> cluster = open_cluster(farm.directory);
  CHECK(bundle->coordinator_curve_public == cluster->curve.public_key);
  REQUIRE(cluster->admitted.size() == 1);
  CHECK(cluster->admitted[0].curve_public == bundle->curve_public);
}

TEST_CASE("a bundle that others can read is refused") {
  Farm farm;
  REQUIRE(farm.admit("gpu-7"));
  fs::permissions(farm.bundle("gpu-7"), fs::perms::group_read, fs::perm_options::add);
  Result<Bundle> bundle = open_bundle(farm.bundle("gpu-7"), now_s);
  REQUIRE_FALSE(bundle);
  CHECK(bundle.error().absent == Absent::permission);
}

TEST_CASE("a bundle is good to its last second") {
  Farm farm;
  REQUIRE(farm.admit("gpu-7"));
  CHECK(open_bundle(farm.bundle("gpu-7"), now_s + bundle_days * day_s - 1));
  Result<Bundle> expired = open_bundle(farm.bundle("gpu-7"), now_s + bundle_days * day_s);
  REQUIRE_FALSE(expired);
  CHECK(expired.error().absent == Absent::permission);
}

TEST_CASE("a missing, an empty and a foreign bundle are told apart from a good one") {
  Farm farm;
  CHECK(open_bundle(farm.bundle("nobody"), now_s).error().absent == Absent::file);
  fs::path file = farm.scratch.path() / "x";
  for (const char* text : {"", "rubbish"}) {
    std::ofstream(file) << text;
    fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
    CHECK(open_bundle(file, now_s).error().fault == Fault::malformed);
  }
}

TEST_CASE("a certificate of another cluster is not accepted, ours is") {
  Result<Certificate> ours = make_authority(now_s), theirs = make_authority(now_s);
  Result<Certificate> node = make_certificate(*ours, "n", now_s, 90);
  REQUIRE(node);
  CHECK(check_certificate(ours->certificate_pem, node->certificate_pem, now_s));
  CHECK_FALSE(check_certificate(theirs->certificate_pem, node->certificate_pem, now_s));
  CHECK_FALSE(check_certificate(ours->certificate_pem, node->certificate_pem, now_s + 91 * day_s));
  CHECK_FALSE(check_certificate(ours->certificate_pem, "rubbish", now_s));
}

TEST_CASE("a node's certificate makes no further certificates") {
  Result<Certificate> authority = make_authority(now_s);
  Result<Certificate> node = make_certificate(*authority, "n", now_s, 90);
  Result<Certificate> forged = make_certificate(*node, "forged", now_s, 90);
  REQUIRE(forged);
  CHECK_FALSE(check_certificate(authority->certificate_pem, forged->certificate_pem, now_s));
  CHECK_FALSE(check_certificate(node->certificate_pem, forged->certificate_pem, now_s));
}

TEST_CASE("a name is admitted once, and again after it was revoked or has expired") {
  Farm farm;
  REQUIRE(farm.admit("a"));
  CHECK_FALSE(farm.admit("a"));
  REQUIRE(revoke_node(farm.directory, "a"));
  CHECK(farm.admit("a"));
  CHECK(farm.admit("a", now_s + bundle_days * day_s));
}

TEST_CASE("names that would leave the directory are refused") {
  Farm farm;
  for (const char* name : {"", "../x", "a/b", ".hidden", "a b"}) CHECK_FALSE(farm.admit(name));
  CHECK_FALSE(revoke_node(farm.directory, "../curve.secret"));
}

TEST_CASE("a hello is believed with its own secret, and with no other") {
  Farm farm;
  Result<Bundle> a = farm.admit("a"), b = farm.admit("b");
  Result<Cluster> cluster = open_cluster(farm.directory);
  CHECK(check_hello(*cluster, "a", a->secret, now_s));
  CHECK_FALSE(check_hello(*cluster, "a", b->secret, now_s));
  CHECK_FALSE(check_hello(*cluster, "a", "", now_s));
  CHECK_FALSE(check_hello(*cluster, "stranger", a->secret, now_s));
  CHECK_FALSE(check_hello(*cluster, "a", a->secret, now_s + bundle_days * day_s));
}

TEST_CASE("a revoked node is refused, its neighbour is not") {
  Farm farm;
  Result<Bundle> a = farm.admit("a"), b = farm.admit("b");
  REQUIRE(revoke_node(farm.directory, "a"));
  CHECK_FALSE(revoke_node(farm.directory, "nobody"));
  Result<Cluster> cluster = open_cluster(farm.directory);
  CHECK(check_hello(*cluster, "a", a->secret, now_s).error().absent == Absent::permission);
  CHECK(check_hello(*cluster, "b", b->secret, now_s));
}

TEST_CASE("only the keys of nodes in good standing are let in") {
  Farm farm;
  REQUIRE(farm.admit("a"));
  REQUIRE(farm.admit("b", now_s + day_s));
  REQUIRE(farm.admit("c"));
  REQUIRE(revoke_node(farm.directory, "c"));
  Result<Cluster> cluster = open_cluster(farm.directory);
  CHECK(allowed_keys(*cluster, now_s).size() == 2);
  std::vector<AllowedKey> later = allowed_keys(*cluster, now_s + bundle_days * day_s);
  REQUIRE(later.size() == 1);
  CHECK(later[0].name == "b");
}

TEST_CASE("a cluster whose keys others can read is not used") {
  Farm farm;
  fs::permissions(farm.directory / "curve.secret", fs::perms::others_read, fs::perm_options::add);
  Result<Cluster> cluster = open_cluster(farm.directory);
  REQUIRE_FALSE(cluster);
  CHECK(cluster.error().absent == Absent::permission);
}

TEST_CASE("the files for TLS are written for their owner alone") {
  Farm farm;
  Result<Bundle> bundle = farm.admit("a");
  Result<TlsFiles> files = write_tls(*bundle, farm.scratch.path());
  REQUIRE(files);
  CHECK(mode_of(files->key) == 0600);
  CHECK(*read_file(files->certificate) == bundle->certificate_pem);
}

TEST_CASE("an address is a host and a port") {
  CHECK(*port_after("host:4700", 1) == "host:4701");
  CHECK(*port_after("[::1]:4700", 0) == "[::1]:4700");
  for (const char* wrong :
       {"", "host", ":1", "host:", "host:x", "host:0", "host:65535", "h:123456"})
    CHECK_FALSE(port_after(wrong, 1));
  CHECK(port_after("host:65535", 0));
}

TEST_CASE("the loopback is known, and nothing else is taken for it") {
  CHECK(is_loopback("127.0.0.1:1"));
  CHECK(is_loopback("localhost:1"));
  CHECK_FALSE(is_loopback("0.0.0.0:1"));
  CHECK_FALSE(is_loopback("localhost.example:1"));
  CHECK_FALSE(is_loopback("127.0.0.1.example:1"));
}

}  // namespace
}  // namespace lathe::cluster
