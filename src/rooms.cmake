# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# The rooms of the library, from the ground up. A room is the folder of this name here and below
# include/batchcast, and may include what it names under DEPENDS, nothing else: tests/tidy reads it
# here.

# What everything stands on.
batchcast_room(core
  SOURCES named_thread.cpp usable_processors.cpp)

# What a trainer and the door say to each other: headers, and the producer's half.
batchcast_room(join
  DEPENDS core
  SOURCES bound_socket.cpp producer_messages.cpp)

# The shared memory: its layout, its writer.
batchcast_room(ring
  DEPENDS core
  PACKAGES Boost::headers
  SOURCES board.cpp memory_limit.cpp ring_plan.cpp row_plan.cpp segment_creation.cpp
          writer/consumer_admission.cpp writer/consumer_table.cpp writer/epoch_ledger.cpp
          writer/join_rules.cpp writer/overwrite_gate.cpp writer/publisher.cpp
          writer/row_arenas.cpp writer/row_claimer.cpp
          writer/space_claimer.cpp writer/stall_watch.cpp writer/status.cpp
          writer/stream_outcome.cpp writer/ticket_queue.cpp writer/trainer_attendance.cpp
          writer/writer.cpp)

# The driver's layer, and the kernels.
batchcast_room(cuda
  DEPENDS core
  SOURCES device_allocation.cpp finish_kernel.cpp probe.cpp)

# What torchrun, Slurm and the like tell a process of a job: headers.
batchcast_room(launcher
  DEPENDS core)

# Attaching to a stream and reading it; for a GPU, an interface: headers.
batchcast_room(consumer
  DEPENDS core ring join
  PACKAGES Boost::headers)

# That interface over the driver, which gpu.hpp brings: headers.
batchcast_room(delivery
  DEPENDS core ring join cuda consumer)

# A trainer's half of starting a stream, which start.hpp brings: headers.
batchcast_room(starting
  DEPENDS core join consumer)

# What a trainer calls, consumer.hpp and checkpoint.hpp: headers.
batchcast_room(trainer
  DEPENDS core ring join launcher consumer delivery starting)

# A stream on disk: its folder, its lock, the list.
batchcast_room(stream
  DEPENDS core join
  SOURCES all_users.cpp last_ends.cpp lock_holder.cpp place.cpp stream_directory.cpp stream_list.cpp
          try_stream_lock.cpp uninherited.cpp)

# Answers about a stream: ls, stop, stats.
batchcast_room(control
  DEPENDS core join
  PACKAGES cppzmq nlohmann_json::nlohmann_json
  SOURCES client.cpp control_server.cpp messenger.cpp own_descriptors.cpp)

# Admits consumers.
batchcast_room(door
  DEPENDS core join stream
  SOURCES clients.cpp consumers.cpp door_server.cpp entrance.cpp handshake.cpp listener.cpp)

# What sources, stages and pipelines share.
batchcast_room(data
  DEPENDS core
  PACKAGES batchcast_xxhash
  SOURCES fingerprint.cpp geometry.cpp order.cpp packed/block_arranger.cpp packed/packed_blocks.cpp
          portable_math.cpp)

# Images of another size, bit by bit as Pillow makes them.
batchcast_room(data/resample
  DEPENDS core data
  PACKAGES PkgConfig::libhwy
  SOURCES arrange.cpp axis.cpp coefficients.cpp elements.cpp horizontal.cpp resampler.cpp
          vertical.cpp)

# JPEG, PNG and WebP: a window of an encoded image becomes rows of pixels (docs/codec.md).
batchcast_room(data/codec
  DEPENDS core data
  PACKAGES PkgConfig::libhwy PkgConfig::libjpeg PkgConfig::libwebp PkgConfig::spng
  SOURCES decoder.cpp exif.cpp format.cpp jpeg/bitstream.cpp jpeg/color_conversion.cpp
          jpeg/downsampling.cpp jpeg/entropy.cpp jpeg/fast_codec.cpp jpeg/fast_decoder.cpp
          jpeg/forward_dct.cpp jpeg/forward_dct_block.cpp jpeg/huffman.cpp jpeg/inverse_dct.cpp
          jpeg/inverse_dct_block.cpp jpeg/jpeg_header.cpp jpeg/kept_blocks.cpp jpeg/kept_codec.cpp
          jpeg/kept_plain.cpp jpeg/kept_reader.cpp jpeg/kept_vbmi.cpp jpeg/kept_writer.cpp
          jpeg/libjpeg_codec.cpp jpeg/progressive.cpp jpeg/recompress.cpp jpeg/upsampling.cpp
          orientation.cpp png_decoder.cpp png_writer.cpp webp_decoder.cpp)

# What stages do to pixels: colours, blur, warps, as PIL does them.
batchcast_room(data/pixels
  DEPENDS core data data/resample
  PACKAGES PkgConfig::libhwy
  SOURCES box_blur.cpp box_blur_rows.cpp color_adjust.cpp gaussian_blur.cpp level_rows.cpp
          offset_warp.cpp tone_operations.cpp warp.cpp warp_filters.cpp warp_matrix.cpp
          weigh_rows.cpp)

# What a recipe says of its fields; fields of tensors, compiled.
batchcast_room(data/program
  DEPENDS core data
  SOURCES cast_stage.cpp draw_match.cpp naming.cpp placing.cpp resolve.cpp same_place.cpp
          shared_cuts.cpp tensor_program.cpp tensor_steps.cpp)

# Fields of images, compiled and run: a stage after another over pixels.
batchcast_room(data/image
  DEPENDS core data data/resample data/codec data/program
  SOURCES compile_field.cpp later_sizes.cpp pixel_mover.cpp plan.cpp runner.cpp
          step_chooser.cpp)

# Every stage of a recipe.
batchcast_room(data/stage
  DEPENDS core data data/resample data/codec data/pixels data/program data/image
  PACKAGES nlohmann_json::nlohmann_json
  SOURCES affine.cpp blur.cpp catalog.cpp color.cpp container.cpp crop.cpp crop_box.cpp
          elastic.cpp erasing.cpp finish.cpp geometry_stages.cpp ids.cpp jpeg.cpp keep_ratio.cpp
          letterbox.cpp
          level_noise.cpp noise.cpp padding.cpp parameter_table.cpp perspective.cpp policy.cpp
          policy_space.cpp scaling.cpp stage_choices.cpp tensor.cpp timm_policy.cpp timm_space.cpp
          tone.cpp warp_options.cpp)

# TOML and JSON, checked; presets/ is embedded by cmake/BatchcastPresets.cmake.
batchcast_room(data/recipe
  DEPENDS core data data/stage
  PACKAGES batchcast_tomlplusplus nlohmann_json::nlohmann_json
  SOURCES json.cpp parameters.cpp recipe.cpp recipe_reader.cpp toml.cpp torchvision_names.cpp
          value.cpp)

# Where samples come from: folders, arrays, records in files.
batchcast_room(data/source
  DEPENDS core data
  PACKAGES PkgConfig::libarchive nlohmann_json::nlohmann_json
  SOURCES cifar_source.cpp class_labels.cpp gunzip.cpp idx/idx_file.cpp idx/idx_source.cpp
          image_folder/class_folder.cpp image_folder/class_folder_reader.cpp
          image_folder/class_list.cpp image_folder/folder_index.cpp
          image_folder/image_folder_source.cpp image_folder/remarks.cpp json_parts.cpp
          known_format.cpp mapped_file.cpp megatron/megatron_index.cpp
          megatron/megatron_manifest.cpp megatron/megatron_source.cpp npy/npy_header.cpp
          npy/npy_source.cpp record_source.cpp row_offsets.cpp sample_cuts.cpp
          source_options.cpp token_limit.cpp tokens/token_file.cpp tokens/tokens_source.cpp)

# Shards: tar archives of samples, packed or not.
batchcast_room(data/webdataset
  DEPENDS core data data/source
  PACKAGES PkgConfig::libarchive
  SOURCES joiner.cpp parts.cpp pattern.cpp shard_files.cpp shard_index.cpp tar.cpp webdataset.cpp)

# What a user writes for a dataset, KIND:PLACE?OPTIONS, becomes the source of that kind.
batchcast_room(data/spec
  DEPENDS core data data/source data/webdataset
  SOURCES open_source.cpp remote_place.cpp)

# Samples without a dataset.
batchcast_room(data/synthetic
  DEPENDS core data
  PACKAGES nlohmann_json::nlohmann_json
  SOURCES maker.cpp synthetic.cpp synthetic_recipe.cpp)

# What entropy decoding gave, kept from one epoch to the next (docs/cache.md).
batchcast_room(data/cache
  DEPENDS core data data/codec data/source
  PACKAGES batchcast_xxhash
  SOURCES cache_directory.cpp cache_options.cpp cache_watch.cpp cached_source.cpp
          directory_store.cpp memory_store.cpp sample_cache.cpp segment.cpp segment_index.cpp)

# Positions in, samples out.
batchcast_room(data/pipeline
  DEPENDS core data data/cache data/resample data/program data/image data/stage data/recipe
          data/source
  PACKAGES nlohmann_json::nlohmann_json
  SOURCES bad_samples.cpp device_split.cpp pipeline.cpp pipeline_worker.cpp read_ahead.cpp)

# A ring that a stream serves: in host memory here, as `gpu` makes it on a GPU.
batchcast_room(served
  DEPENDS core join ring
  SOURCES host_ring.cpp)

# Rings in GPU memory, the mirror that fills them.
batchcast_room(gpu
  DEPENDS core data data/pipeline ring join cuda served
  SOURCES finish/make_finish_stage.cpp mirror/mirror.cpp mirror/mirror_copier.cpp
          mirror/mirror_pins.cpp mirror/mirror_seat.cpp mirror/mirror_source.cpp
          mirror/mirror_thread.cpp ring/device_ring.cpp ring/device_ring_layout.cpp
          ring/device_ring_memory.cpp)

# What a producer leaves of its stream in case it is killed.
batchcast_room(life
  DEPENDS core data
  PACKAGES nlohmann_json::nlohmann_json
  SOURCES life.cpp life_book.cpp life_files.cpp started_with.cpp)

# What is known of a stream that is served, on its way to who asks.
batchcast_room(observe
  DEPENDS core control
  PACKAGES nlohmann_json::nlohmann_json
  SOURCES ask_statistics.cpp chrome_trace.cpp grid.cpp keys.cpp limiter.cpp overview.cpp
          processors.cpp screen.cpp stream_json.cpp)

# A stream: its rings, admission, commands.
batchcast_room(producer
  DEPENDS core data ring join stream control door served gpu life observe
  PACKAGES cppzmq nlohmann_json::nlohmann_json
  SOURCES attendance.cpp awaited.cpp batch_counter.cpp commands.cpp forming_groups.cpp
          grid_checks.cpp group_reception.cpp head_maker.cpp head_places.cpp head_reception.cpp
          heads.cpp hello_checks.cpp late_reception.cpp late_rings.cpp left_grid.cpp life_notes.cpp
          producer.cpp producer_core.cpp producer_options.cpp producer_settings.cpp rank_checks.cpp
          reception.cpp returning_groups.cpp
          returning_members.cpp returning_reception.cpp ring_spans.cpp seated_groups.cpp
          served_rings.cpp settings.cpp slow_trainer.cpp statistics.cpp take_name.cpp tracing.cpp
          work_shares.cpp)

# Threads that fill it.
batchcast_room(feeder
  DEPENDS core data ring observe producer
  SOURCES feeder.cpp processor_room.cpp row_means.cpp stash.cpp worker_count.cpp worker_pool.cpp)

# A stream that a trainer starts.
batchcast_room(start
  DEPENDS core data data/stage data/recipe data/source data/spec data/synthetic data/pipeline
          join ring consumer starting stream life
  PACKAGES nlohmann_json::nlohmann_json
  SOURCES answer.cpp detached_process.cpp ensure.cpp given_up.cpp observation.cpp ray_worker.cpp
          recipe_check.cpp recipe_difference.cpp serve_log.cpp start_lock.cpp)

# The definitions of a trainer's headers, once for the library.
batchcast_room(compiled
  DEPENDS core ring join cuda launcher consumer delivery starting trainer
  PACKAGES Boost::headers Threads::Threads
  SOURCES compiled_consumer.cpp compiled_core.cpp compiled_cuda.cpp compiled_delivery.cpp
          compiled_join.cpp compiled_launcher.cpp compiled_ring.cpp compiled_starting.cpp
          compiled_trainer.cpp)
