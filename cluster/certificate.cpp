#include "cluster/certificate.h"

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>

namespace lathe::cluster {
namespace {

template <auto free>
struct Free {
  template <class T>
  void operator()(T* thing) const {
    free(thing);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;
using Cert = std::unique_ptr<X509, Free<X509_free>>;
using Bio = std::unique_ptr<BIO, Free<BIO_free_all>>;

Error failed(const std::string& deed) {
  char text[256] = "unknown reason";
  if (unsigned long code = ERR_get_error()) ERR_error_string_n(code, text, sizeof text);
  ERR_clear_error();
  return {Fault::unavailable, "cannot " + deed + ": " + text, "", {}};
}

Bio reading(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::string text_of(BIO* bio) {
  char* bytes = nullptr;
  long size = BIO_get_mem_data(bio, &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

Cert read_certificate(const std::string& pem) {
  return Cert(PEM_read_bio_X509(reading(pem).get(), nullptr, nullptr, nullptr));
}

bool extend(X509* certificate, X509* issuer, int kind, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  std::unique_ptr<X509_EXTENSION, Free<X509_EXTENSION_free>> extension(
      X509V3_EXT_conf_nid(nullptr, &context, kind, value));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool set_serial(X509* certificate) {
  std::unique_ptr<BIGNUM, Free<BN_free>> number(BN_new());
  return number && BN_rand(number.get(), 120, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

/// All but issuer and signature. The clock of a joining host may be some minutes behind.
bool describe(X509* certificate, EVP_PKEY* key, const std::string& name, std::uint64_t now_s,
              std::uint64_t days) {
  auto* text = reinterpret_cast<const unsigned char*>(name.data());
  return X509_set_version(certificate, 2) == 1 && set_serial(certificate) &&
         ASN1_TIME_set(X509_getm_notBefore(certificate), static_cast<time_t>(now_s - 600)) &&
         ASN1_TIME_set(X509_getm_notAfter(certificate),
                       static_cast<time_t>(now_s + days * 86'400)) &&
         X509_set_pubkey(certificate, key) == 1 &&
         X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8, text,
                                    static_cast<int>(name.size()), -1, 0) == 1;
}

Result<Certificate> as_text(X509* certificate, EVP_PKEY* key) {
  Bio certificate_text(BIO_new(BIO_s_mem())), key_text(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509(certificate_text.get(), certificate) != 1 ||
      PEM_write_bio_PrivateKey(key_text.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1)
    return failed("write a certificate");
  return Certificate{text_of(certificate_text.get()), text_of(key_text.get())};
}

}  // namespace

Result<Certificate> make_authority(std::uint64_t now_s) {
  Key key(EVP_EC_gen("P-256"));
  Cert certificate(X509_new());
  if (!key || !certificate ||
      !describe(certificate.get(), key.get(), "lathe cluster authority", now_s, 3650) ||
      X509_set_issuer_name(certificate.get(), X509_get_subject_name(certificate.get())) != 1 ||
      !extend(certificate.get(), certificate.get(), NID_basic_constraints,
              "critical,CA:TRUE,pathlen:0") ||
      !extend(certificate.get(), certificate.get(), NID_key_usage,
              "critical,keyCertSign,cRLSign") ||
      !extend(certificate.get(), certificate.get(), NID_subject_key_identifier, "hash") ||
      X509_sign(certificate.get(), key.get(), EVP_sha256()) == 0)
    return failed("make the cluster's authority");
  return as_text(certificate.get(), key.get());
}

Result<Certificate> make_certificate(const Certificate& authority, const std::string& name,
                                     std::uint64_t now_s, std::uint64_t days) {
  Cert issuer = read_certificate(authority.certificate_pem);
  Key issuer_key(
      PEM_read_bio_PrivateKey(reading(authority.key_pem).get(), nullptr, nullptr, nullptr));
  if (!issuer || !issuer_key) return failed("read the cluster's authority");
  Key key(EVP_EC_gen("P-256"));
  Cert certificate(X509_new());
  if (!key || !certificate || !describe(certificate.get(), key.get(), name, now_s, days) ||
      X509_set_issuer_name(certificate.get(), X509_get_subject_name(issuer.get())) != 1 ||
      !extend(certificate.get(), issuer.get(), NID_basic_constraints, "critical,CA:FALSE") ||
      !extend(certificate.get(), issuer.get(), NID_key_usage, "critical,digitalSignature") ||
      !extend(certificate.get(), issuer.get(), NID_ext_key_usage, "serverAuth,clientAuth") ||
      !extend(certificate.get(), issuer.get(), NID_subject_key_identifier, "hash") ||
      !extend(certificate.get(), issuer.get(), NID_authority_key_identifier, "keyid:always") ||
      X509_sign(certificate.get(), issuer_key.get(), EVP_sha256()) == 0)
    return failed("make a certificate");
  return as_text(certificate.get(), key.get());
}

Result<Done> check_certificate(const std::string& authority_pem, const std::string& certificate_pem,
                               std::uint64_t now_s) {
  Cert authority = read_certificate(authority_pem), certificate = read_certificate(certificate_pem);
  if (!authority || !certificate) {
    ERR_clear_error();
    return Error{Fault::malformed, "not a certificate", "", {}};
  }
  std::unique_ptr<X509_STORE, Free<X509_STORE_free>> trusted(X509_STORE_new());
  std::unique_ptr<X509_STORE_CTX, Free<X509_STORE_CTX_free>> check(X509_STORE_CTX_new());
  if (!trusted || !check || X509_STORE_add_cert(trusted.get(), authority.get()) != 1 ||
      X509_STORE_CTX_init(check.get(), trusted.get(), certificate.get(), nullptr) != 1)
    return failed("check a certificate");
  X509_VERIFY_PARAM_set_time(X509_STORE_CTX_get0_param(check.get()), static_cast<time_t>(now_s));
  if (X509_verify_cert(check.get()) == 1) return Done{};
  const char* reason = X509_verify_cert_error_string(X509_STORE_CTX_get_error(check.get()));
  ERR_clear_error();
  return Error{Fault::unavailable,
               std::string("the certificate is not accepted: ") + reason,
               "ask for a new bundle",
               {},
               Absent::permission};
}

Result<std::string> random_hex(std::size_t bytes) {
  std::string raw(bytes, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(raw.data()), static_cast<int>(bytes)) != 1)
    return failed("draw random bytes");
  std::string text;
  for (unsigned char byte : raw) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

}  // namespace lathe::cluster
