// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "metrics/site.hpp"

#include <batchcast/core/error.hpp>
#include "metrics/page.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdint>

namespace batchcast::inline v0_1::metrics {
namespace {

constexpr const char* metrics_type = "text/plain; version=0.0.4; charset=utf-8";

bool is_address(const std::string& host) noexcept {
  in6_addr address{};
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    return ::inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &address) == 1;
  }
  return ::inet_pton(AF_INET, host.c_str(), &address) == 1;
}

/// The name of `name:port`, in small letters.
std::string name_in(std::string_view host) {
  const std::size_t end = host.find_last_of(":]");
  if (end != std::string_view::npos && host[end] == ':') host = host.substr(0, end);
  std::string name(host);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

void add_headers(Response& response) {
  for (const auto& [name, value] :
       {std::pair{"Cache-Control", "no-store"}, std::pair{"X-Content-Type-Options", "nosniff"},
        std::pair{"Referrer-Policy", "no-referrer"},
        std::pair{"Cross-Origin-Resource-Policy", "same-origin"}}) {
    response.headers.emplace_back(name, value);
  }
}

Response page_response() {
  Response response{
      200, "text/html; charset=utf-8", std::make_shared<const std::string>(page_html()), {}};
  response.headers.emplace_back("Content-Security-Policy", std::string(page_policy()));
  response.headers.emplace_back("X-Frame-Options", "DENY");
  response.headers.emplace_back("Cross-Origin-Opener-Policy", "same-origin");
  return response;
}

}  // namespace

std::string Request::argument(std::string_view name) const {
  for (const auto& [key, value] : arguments) {
    if (key == name) return value;
  }
  return {};
}

Response plain_response(unsigned status, std::string text) {
  return {status,
          "text/plain; charset=utf-8",
          std::make_shared<const std::string>(std::move(text) + "\n"),
          {}};
}

bool is_own_host(std::string_view host, const std::vector<std::string>& names) {
  const std::string name = name_in(host);
  if (name == "localhost" || is_address(name)) return true;
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& one) { return name_in(one) == name; });
}

bool Site::has_token(const Request& request) const noexcept {
  constexpr std::string_view scheme = "Bearer ";
  std::string_view given = request.authorization;
  if (!given.starts_with(scheme)) return false;
  given.remove_prefix(scheme.size());
  if (given.size() != token_.size()) return false;
  // In a time that says nothing of where they differ.
  unsigned differ = 0;
  for (std::size_t i = 0; i < given.size(); ++i) {
    differ |= static_cast<unsigned>(static_cast<unsigned char>(given[i]) ^
                                    static_cast<unsigned char>(token_[i]));
  }
  return differ == 0;
}

Response Site::answer_for_token(const Request& request) const {
  const bool is_data = request.path == "/data";
  const bool is_sheet = request.path == "/sheet";
  if (!is_data && !is_sheet) {
    return plain_response(404, "There are /metrics for Prometheus, and a page at /.");
  }
  if (!has_token(request)) {
    Response refused = plain_response(
        401, "This needs the token of the address that `batchcast metrics` printed.");
    refused.headers.emplace_back("WWW-Authenticate", "Bearer");
    return refused;
  }
  if (is_sheet) return content_.sheet(request);
  return {200, "application/json", content_.data(), {}};
}

Response Site::answer(const Request& request) const {
  Response response;
  if (!is_own_host(request.host, names_)) {
    response = plain_response(
        403,
        "This host's name is not known here. Use the address that was printed, or start with "
        "--host-name NAME.");
  } else if (request.method != "GET" && request.method != "HEAD") {
    response = plain_response(405, "Only GET and HEAD are answered: nothing is changed from here.");
    response.headers.emplace_back("Allow", "GET, HEAD");
  } else if (request.path == "/metrics") {
    response = {200, metrics_type, content_.metrics(), {}};
  } else if (request.path == "/") {
    response = page_response();
  } else {
    response = answer_for_token(request);
  }
  add_headers(response);
  return response;
}

std::string random_token() {
  std::array<std::uint8_t, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw SystemError("batchcast: the kernel gives no random numbers", errno);
  }
  constexpr std::string_view digits = "0123456789abcdef";
  std::string token;
  for (const std::uint8_t byte : bytes) {
    token += digits[byte >> 4];
    token += digits[byte & 15];
  }
  return token;
}

}  // namespace batchcast::inline v0_1::metrics
