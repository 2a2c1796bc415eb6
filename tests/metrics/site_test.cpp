// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "metrics/site.hpp"

#include <batchcast/core/error.hpp>
#include "metrics/listening.hpp"
#include "metrics/page.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "catch.hpp"

using namespace batchcast;
using namespace batchcast::metrics;

namespace {

const std::string token = "0123456789abcdef0123456789abcdef";

Site made_site() {
  const auto body = [](const char* text) { return std::make_shared<const std::string>(text); };
  return Site({[=] { return body("the metrics"); }, [=] { return body("the data"); },
               [=](const Request& request) {
                 return Response{200, "image/png", body(request.argument("stream").c_str()), {}};
               }},
              token, {"Server", "metrics.example"});
}

Request get(const std::string& path, const std::string& given = "") {
  Request request;
  request.method = "GET";
  request.path = path;
  request.host = "127.0.0.1:9464";
  if (!given.empty()) request.authorization = "Bearer " + given;
  return request;
}

std::string header_of(const Response& response, const std::string& name) {
  for (const auto& [key, value] : response.headers) {
    if (key == name) return value;
  }
  return "absent";
}

}  // namespace

TEST_CASE("metrics and the page need no token, data and pictures do", "[metrics]") {
  const Site site = made_site();
  CHECK(*site.answer(get("/metrics")).body == "the metrics");
  CHECK(site.answer(get("/")).status == 200);
  for (const char* path : {"/data", "/sheet"}) {
    CHECK(site.answer(get(path)).status == 401);
    CHECK(site.answer(get(path, token.substr(1))).status == 401);
    CHECK(site.answer(get(path, token + "0")).status == 401);
    CHECK(site.answer(get(path, "1" + token.substr(1))).status == 401);
    CHECK(site.answer(get(path, token)).status == 200);
  }
  Request picture = get("/sheet", token);
  picture.arguments.emplace_back("stream", "images");
  CHECK(*site.answer(picture).body == "images");
  CHECK(site.answer(get("/other", token)).status == 404);
}

TEST_CASE("only GET and HEAD are answered", "[metrics]") {
  const Site site = made_site();
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "TRACE", "get"}) {
    Request request = get("/data", token);
    request.method = method;
    CHECK(site.answer(request).status == 405);
  }
  Request request = get("/data", token);
  request.method = "HEAD";
  CHECK(site.answer(request).status == 200);
}

TEST_CASE("a host of another name gets nothing", "[metrics]") {
  const Site site = made_site();
  for (const char* host : {"", "evil.example", "127.0.0.1.evil.example", "evil.example:9464",
                           "localhost.evil.example", "server.evil.example", "[::1", "::1]"}) {
    Request request = get("/metrics");
    request.host = host;
    CHECK(site.answer(request).status == 403);
  }
  for (const char* host : {"127.0.0.1", "127.0.0.1:1", "[::1]", "[::1]:9464", "localhost",
                           "LOCALHOST:80", "10.1.2.3:9464", "server:9464", "metrics.EXAMPLE"}) {
    Request request = get("/metrics");
    request.host = host;
    CHECK(site.answer(request).status == 200);
  }
}

TEST_CASE("the page allows its own script and style, and no page of another site", "[metrics]") {
  const Response page = made_site().answer(get("/"));
  const std::string policy = header_of(page, "Content-Security-Policy");
  CHECK(policy.starts_with("default-src 'none'"));
  CHECK(policy.find("script-src 'sha256-") != std::string::npos);
  CHECK(policy.find("unsafe") == std::string::npos);
  CHECK(header_of(page, "Access-Control-Allow-Origin") == "absent");
  CHECK(header_of(page, "X-Frame-Options") == "DENY");
  CHECK(header_of(page, "Cache-Control") == "no-store");
  CHECK(page.body->find(token) == std::string::npos);
  // The name of SVG's elements is the only address in it.
  std::string rest = *page.body;
  const std::string svg = "http://www.w3.org/2000/svg";
  for (std::size_t at; (at = rest.find(svg)) != std::string::npos;) rest.erase(at, svg.size());
  CHECK(rest.find("http:") == std::string::npos);
  CHECK(rest.find("https:") == std::string::npos);
  CHECK(page.body->find("@page.") == std::string::npos);
}

TEST_CASE("tokens differ", "[metrics]") {
  CHECK(random_token().size() == 32);
  CHECK(random_token() != random_token());
}

TEST_CASE("where to listen is read, or refused in words", "[metrics]") {
  CHECK(parse_listen_address("127.0.0.1:9464").port == 9464);
  CHECK(parse_listen_address("localhost:0").host == "localhost");
  CHECK(parse_listen_address("[::1]:80").host == "::1");
  for (const char* wrong : {"", "9464", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536",
                            "127.0.0.1:-1", ":80", "[]:80", "::1:80", "127.0.0.1:80x"}) {
    CHECK_THROWS_AS(parse_listen_address(wrong), InvalidArgument);
  }
}

TEST_CASE("a port that is taken is refused, and a free one is said", "[metrics]") {
  const FileDescriptor first = listen_at({"127.0.0.1", 0});
  const std::string url = url_of(first);
  REQUIRE(url.starts_with("http://127.0.0.1:"));
  const int port = std::atoi(url.c_str() + std::string("http://127.0.0.1:").size());
  REQUIRE(port > 0);
  try {
    static_cast<void>(listen_at({"127.0.0.1", static_cast<std::uint16_t>(port)}));
    FAIL("it listens twice");
  } catch (const SystemError& error) {
    CHECK(std::string(error.what()).find("is taken") != std::string::npos);
  }
  CHECK_THROWS_AS(listen_at({"no.such.host.invalid", 0}), InvalidArgument);
  CHECK(url_of(listen_at({"0.0.0.0", 0})).starts_with("http://127.0.0.1:"));
}
