// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "options/consumer_options.hpp"

namespace batchcast::inline v0_1::options {
namespace {

using Consumer = ConsumerOptions;

Table<Window> window_options() {
  Table<Window> table;
  table.heading("The stream");
  table.add("extra", &Window::extra,
            "With a `window`: rows that each run shows besides, which are the first of the next; "
            "with 1, inputs and targets are views of one batch.");
  return table;
}

void add_stream(Table<Consumer>& table) {
  table.heading("The stream");
  table.add("stream", &Consumer::stream, "Name of the stream.").needed();
  table.add("batch_size", &Consumer::batch_size, "Samples of a batch, at most the ring's capacity.")
      .from(1);
  table.add("budget", &Consumer::budget,
            "Of a stream with axes: as many whole samples as have no more rows than this, such as "
            "tokens=16384; `batch_size` is then the most samples, if it is given.");
  table.add("oversize", &Consumer::oversize,
            "What becomes of a sample beyond the `budget`: `error`; `alone`, a batch by itself; "
            "`truncate`, its first rows alone; `drop`, it is left out.");
  table.add("window", &Consumer::window,
            "Of a stream with axes: batches of a number of runs of consecutive rows, cut "
            "through samples, such as tokens=2048x8; they have the fields of that axis alone.");
  table.include(&Consumer::window, window_options());
  table.add("name", &Consumer::name,
            "Name in lists of consumers; by default that of the script or program, of a rank its "
            "group's.");
}

void add_course(Table<Consumer>& table) {
  table.heading("Its course");
  table.add("pace", &Consumer::pace,
            "`lockstep`: the producer waits, and no sample is missed; `free`: it does not wait.");
  table.add("join", &Consumer::join,
            "Where to begin: `rewind`, at this epoch's start if a ring has it or a head can open "
            "there, else at the next's; "
            "`next_epoch`; `now`, within an epoch; `at`, the position `cursor`.");
  table.add("cursor", &Consumer::cursor, "Position to begin at, with `join` at.");
  table.add("cursor_row", &Consumer::cursor_row,
            "With `join` at and a `window`: the row inside the sample at `cursor`.");
  table.add("between_epochs", &Consumer::between_epochs,
            "`hold`: the producer waits between two loops as well; `let_go`: only inside a loop.");
  table.add("tail", &Consumer::tail,
            "What becomes of the samples at an epoch's end that fill no batch: `keep` gives a "
            "short batch, `drop` none, `pad` repeats samples.");
  table.add("group", &Consumer::group,
            "Take one rank's part of each batch of a group: NAME:RANK/WORLD; auto: as torchrun, "
            "Lightning, mpirun or srun say. It begins once all ranks are there.");
}

void add_memory(Table<Consumer>& table) {
  table.heading("Memory");
  table.add("access", &Consumer::access,
            "`shared`: batches show the stream's own memory; `private`: they are copies, which may "
            "be written to.");
  table.add("placement", &Consumer::placement,
            "Where the batches are: host, or a GPU that the stream is served on, such as cuda:0; "
            "cuda: the GPU of this process.");
  table.add("pin", &Consumer::pin, "Take batches in page-locked host memory, for copies to a GPU.");
  table.add("pin_device", &Consumer::pin_device, "With `pin`: the GPU that batches are copied to.")
      .only_python();
}

void add_waiting(Table<Consumer>& table) {
  table.heading("Waiting");
  table.add("on_miss", &Consumer::on_miss, "What `pace` free does when samples are missed.");
  table
      .milliseconds("connect_timeout", &Consumer::connect_timeout_ms,
                    "Seconds to wait for the stream to come up.")
      .or_forever()
      .command("connect-timeout,timeout");
  table
      .add("spin_us", &Consumer::spin_us,
           "Microseconds to look for samples before sleeping, at most.")
      .from(0, 100'000)  // above, it would never sleep, and notice no signal
      .command("spin");
  table.add("on_producer_gone", &Consumer::on_producer_gone,
            "When the producer dies in a stream that can be made again: `wait` for the next one, "
            "and go on with the next sample; `error`.");
  table
      .add("gone_timeout", &Consumer::gone_timeout_s,
           "Seconds to wait for the next producer; by default 300 with `start`, else 30.")
      .or_forever();
}

void add_surroundings(Table<Consumer>& table) {
  table.heading("Surroundings");
  table
      .path("directory", &Consumer::directory,
            "Where to look for the stream, instead of the usual places.")
      .only_python();
  table
      .add("allow_uids", &Consumer::allow_uids,
           "Users, besides this one and root, whose producers are trusted.")
      .command("allow-uid");
  table
      .add(
          "observes", &Consumer::observes,
          "Only look, with `newest`: the producer does not wait, and `wait_for` does not count it.")
      .only_python();
  table
      .add("explain_faults", &Consumer::explain_faults,
           "Keep writes into batches private, or explain them, by a SIGSEGV handler.")
      .only_python();
  table.object("log", "collections.abc.Callable[[str, str], object] | None",
               "Called as log(level, text) with what is no error; without, warnings go to stderr.");
  table.object("start", "Start | None",
               "A batchcast.Start: what to serve where no producer serves the stream.");
}

}  // namespace

const Table<ConsumerOptions>& consumer_options() {
  static const Table<ConsumerOptions> table = [] {
    Table<ConsumerOptions> made;
    add_stream(made);
    add_course(made);
    add_memory(made);
    add_waiting(made);
    add_surroundings(made);
    return made;
  }();
  return table;
}

}  // namespace batchcast::inline v0_1::options
