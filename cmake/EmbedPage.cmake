# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors

# cmake -D FOLDER=FOLDER -D OUT=OUT.cpp -P EmbedPage.cmake
#
# Puts FOLDER/page.css and page.js into FOLDER/page.html, and writes the source of what page.hpp
# declares: the page, and the policy that allows these two by their hashes.
cmake_minimum_required(VERSION 3.25)

# base64_sha256(TEXT OUT): as a Content-Security-Policy has it.
function(base64_sha256 text out)
  set(letters ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)
  string(SHA256 digits "${text}")
  set(base64 "")
  # Three digits are two letters; the last one of the 64 is one letter more.
  foreach(at RANGE 0 60 3)
    string(SUBSTRING ${digits} ${at} 3 three)
    math(EXPR high "0x${three} >> 6")
    math(EXPR low "0x${three} & 63")
    string(SUBSTRING ${letters} ${high} 1 first)
    string(SUBSTRING ${letters} ${low} 1 second)
    string(APPEND base64 ${first}${second})
  endforeach()
  string(SUBSTRING ${digits} 63 1 last)
  math(EXPR high "0x${last} << 2")
  string(SUBSTRING ${letters} ${high} 1 first)
  set(${out} "${base64}${first}=" PARENT_SCOPE)
endfunction()

file(READ ${FOLDER}/page.html html)
set(policy "default-src 'none'; connect-src 'self'; img-src blob: data:; base-uri 'none'; \
form-action 'none'; frame-ancestors 'none'")
foreach(part css js)
  file(READ ${FOLDER}/page.${part} text)
  base64_sha256("${text}" hash)
  string(REPLACE "@page.${part}@" "${text}" html "${html}")
  if(part STREQUAL css)
    string(APPEND policy "; style-src 'sha256-${hash}'")
  else()
    string(APPEND policy "; script-src 'sha256-${hash}'")
  endif()
endforeach()
file(WRITE ${OUT} "// Made by EmbedPage.cmake.\n#include \"metrics/page.hpp\"\n
namespace batchcast::inline v0_1::metrics {
std::string_view page_html() noexcept {\n  return R\"~page~(${html})~page~\";\n}
std::string_view page_policy() noexcept {\n  return R\"~page~(${policy})~page~\";\n}
}  // namespace batchcast::inline v0_1::metrics\n")
