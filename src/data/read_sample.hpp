// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/reason.hpp"

#include <batchcast/core/error.hpp>

#include <cxxabi.h>

#include <exception>
#include <new>

namespace batchcast::inline v0_1::detail {

/// Calls `read`, which reads one sample of a source. An exception of any type from a program's
/// source makes this sample bad: it becomes BadSample. SystemError, OutOfMemory and std::bad_alloc
/// stay what they are: faults of the environment.
template <class Read>
void read_sample(Read&& read) {
  try {
    read();
  } catch (const BadSample&) {
    throw;
  } catch (const SystemError&) {
    throw;
  } catch (const OutOfMemory&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& other) {
    throw BadSample(as_reason(other.what()));
  } catch (const abi::__forced_unwind&) {  // this thread ends
    throw;
  } catch (...) {
    throw BadSample("its source threw something that is no std::exception");
  }
}

}  // namespace batchcast::inline v0_1::detail
