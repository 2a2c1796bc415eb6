// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What a server answers, as a function of the request, without a socket.
namespace batchcast::inline v0_1::metrics {

struct Request {
  std::string method = {};
  std::string path = {};
  std::string host = {};  ///< empty: there is no such header
  std::string authorization = {};
  std::vector<std::pair<std::string, std::string>> arguments = {};

  [[nodiscard]] std::string argument(std::string_view name) const;
};

struct Response {
  unsigned status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::shared_ptr<const std::string> body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
};
[[nodiscard]] Response plain_response(unsigned status, std::string text);

/// The parts of a site. All but `metrics` need the token.
struct SiteContent {
  std::function<std::shared_ptr<const std::string>()> metrics;
  std::function<std::shared_ptr<const std::string>()> data;  ///< JSON
  std::function<Response(const Request&)> sheet;             ///< a PNG
};

/// `/metrics` for Prometheus, and a page at `/`, whose data and pictures need a token. Only GET and
/// HEAD are answered, for a host that is an address, `localhost`, or one of `names`. So a page of
/// another site, whose name is made to lead here, gets nothing. Any thread may ask.
class Site {
 public:
  Site(SiteContent content, std::string token, std::vector<std::string> names)
      : content_(std::move(content)), token_(std::move(token)), names_(std::move(names)) {}

  [[nodiscard]] Response answer(const Request& request) const;

 private:
  [[nodiscard]] Response answer_for_token(const Request& request) const;
  [[nodiscard]] bool has_token(const Request& request) const noexcept;

  const SiteContent content_;
  const std::string token_;
  const std::vector<std::string> names_;
};

/// Whether that header names an address, `localhost` or one of `names`, with any port or none.
[[nodiscard]] bool is_own_host(std::string_view host, const std::vector<std::string>& names);

/// 128 random bits, as hexadecimal digits. Throws SystemError.
[[nodiscard]] std::string random_token();

}  // namespace batchcast::inline v0_1::metrics
