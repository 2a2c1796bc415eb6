// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// What a producer does at its door, for groups and for the members of earlier lives, as the
// simulation compiles it.
#include "door/door_server.hpp"
#include "life/life_book.cpp"
#include "producer/attendance.cpp"
#include "producer/batch_counter.cpp"
#include "producer/forming_groups.cpp"
#include "producer/grid_checks.cpp"
#include "producer/group_reception.cpp"
#include "producer/head_places.cpp"
#include "producer/head_reception.cpp"
#include "producer/hello_checks.cpp"
#include "producer/late_reception.cpp"
#include "producer/life_notes.cpp"
#include "producer/rank_checks.cpp"
#include "producer/reception.cpp"
#include "producer/returning_groups.cpp"
#include "producer/returning_members.cpp"
#include "producer/returning_reception.cpp"
#include "producer/seated_groups.cpp"
#include "producer/slow_trainer.cpp"

namespace batchcast::inline v0_1 {

std::string_view name_of(Leaving) noexcept { return "gone"; }

}  // namespace batchcast::inline v0_1
