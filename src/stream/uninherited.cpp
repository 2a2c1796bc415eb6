// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "stream/uninherited.hpp"

#include <batchcast/core/error.hpp>

#include <pthread.h>

#include <mutex>
#include <utility>

namespace batchcast::inline v0_1 {
namespace {

// Held while a descriptor comes or goes, and during fork(), so that a child gets no descriptor that
// it does not know of.
constinit std::mutex mutex;
constinit UninheritedDescriptor* first = nullptr;

}  // namespace

UninheritedDescriptor::UninheritedDescriptor() {
  static const int failure = ::pthread_atfork([] { mutex.lock(); }, [] { mutex.unlock(); },
                                              [] {
                                                close_in_child();
                                                mutex.unlock();
                                              });
  if (failure != 0) throw SystemError("batchcast: pthread_atfork", failure);
  const std::lock_guard lock(mutex);
  next_ = std::exchange(first, this);
}

UninheritedDescriptor::~UninheritedDescriptor() {
  const std::lock_guard lock(mutex);
  UninheritedDescriptor** at = &first;
  while (*at != this) at = &(*at)->next_;
  *at = next_;
  file_.reset();
}

bool UninheritedDescriptor::hold(const std::function<FileDescriptor()>& open) {
  const std::lock_guard lock(mutex);
  FileDescriptor file = open();
  if (!file) return false;
  file_ = std::move(file);
  return true;
}

void UninheritedDescriptor::close() noexcept {
  const std::lock_guard lock(mutex);
  file_.reset();
}

void UninheritedDescriptor::close_in_child() noexcept {
  for (auto* one = first; one != nullptr; one = one->next_) one->file_.reset();
}

}  // namespace batchcast::inline v0_1
